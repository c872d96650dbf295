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

GROUPS = "4.3.1"
"""The release whose Streams and Connect are asked; 4.4.0 is published without them."""


def available() -> bool:
    """Whether Java and Maven are there."""
    return all(shutil.which(tool) for tool in ("java", "javac", "mvn"))


def jars(release: str) -> Path:
    """A directory with the jars of a release and of Jackson; Maven fills it at the first call."""
    names = _ARTIFACTS + (() if release < "4" else _SINCE_4)
    return _resolved(release, [("org.apache.kafka", f"kafka-{name}", release) for name in names], alone=False)


def group_jars() -> Path:
    """A directory with the jars of Streams and Connect, without what their other classes need."""
    wanted = [("org.apache.kafka", name, GROUPS) for name in ("kafka-clients", "kafka-streams", "connect-runtime", "connect-api")]
    return _resolved(f"groups-{GROUPS}", [*wanted, ("org.slf4j", "slf4j-api", "1.7.36")], alone=True)


def _resolved(name: str, wanted: list[tuple[str, str, str]], alone: bool) -> Path:
    folder = WORK / name
    done = folder / "resolved"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        nothing_else = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
        jackson = ("com.fasterxml.jackson.core", "jackson-databind", _JACKSON)
        parts = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
            f"{nothing_else if alone and group != jackson[0] else ''}</dependency>"
            for group, artifact, version in (*wanted, jackson)
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
    _run("Oracle", lib, lib, output)


def write_blobs(output: Path) -> None:
    """What Streams and Connect write, as lines of JSON: see ``Blobs.java``."""
    _run("Blobs", group_jars(), output)


def _run(program: str, lib: Path, *arguments: Path) -> None:
    classes = lib.parent / "classes"
    classes.mkdir(exist_ok=True)
    subprocess.run(["javac", "-nowarn", "-Xlint:none", "-d", classes, "-cp", f"{lib}/*", HERE / f"{program}.java"], check=True)
    subprocess.run(["java", "-Xmx512m", "-cp", f"{classes}:{lib}/*", program, *arguments], check=True)
