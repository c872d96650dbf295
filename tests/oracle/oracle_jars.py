"""Kafka's own jars, got by Maven, and the program that makes their classes write messages."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
WORK = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kdissect-oracle"


_ARTIFACTS = ("clients", "group-coordinator", "transaction-coordinator", "metadata", "raft", "storage", "server-common")
_SINCE_4 = ("share-coordinator",)
_JACKSON = "2.17.2"


def available() -> bool:
    """Whether Java and Maven are there."""
    return all(shutil.which(tool) for tool in ("java", "javac", "mvn"))


def jars(release: str) -> Path:
    """A directory with the jars of a release and of Jackson; Maven fills it at the first call."""
    folder = WORK / release
    done = folder / "resolved"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        names = _ARTIFACTS + (() if release < "4" else _SINCE_4)
        wanted = [("org.apache.kafka", f"kafka-{name}", release) for name in names]
        wanted.append(("com.fasterxml.jackson.core", "jackson-databind", _JACKSON))
        parts = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
            for group, name, version in wanted
        )
        (folder / "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>oracle</groupId><artifactId>jars</artifactId><version>1</version>"
            f"<packaging>pom</packaging><dependencies>{parts}</dependencies></project>"
        )
        goal = ["mvn", "-B", "-q", "dependency:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime"]
        subprocess.run(goal, cwd=folder, check=True)
        done.touch()
    return folder / "lib"


def write_vectors(release: str, output: Path) -> None:
    """What the classes of a release write, as lines of JSON: see ``Oracle.java``."""
    lib = jars(release)
    classes = WORK / release / "classes"
    classes.mkdir(exist_ok=True)
    path = f"{lib}/*"
    subprocess.run(["javac", "-nowarn", "-Xlint:none", "-d", classes, "-cp", path, HERE / "Oracle.java"], check=True)
    subprocess.run(["java", "-Xmx512m", "-cp", f"{classes}:{path}", "Oracle", lib, output], check=True)
