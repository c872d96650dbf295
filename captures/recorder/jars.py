"""Kafka's published jars, resolved by Maven into ``captures/work/jars``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from recorder.python_clients import WORK

_KAFKA = "org.apache.kafka"
# slf4j's simple binding prints a broker's log; newer brokers bring no binding of their own.
_LOG = ("org.slf4j:slf4j-simple:1.7.36",)
# The client of 2.0.1, 3.4.13, cannot read addresses as Java 14 and newer print them (ZOOKEEPER-3779).
_ZOOKEEPER = ("org.apache.zookeeper:zookeeper:3.4.10",)
# Java 11 and newer no longer bring what broker 0.10 encodes its cluster id with.
_XML_BIND = ("javax.xml.bind:jaxb-api:2.3.1",)
# The coordinates of each set of jars.
_SETS: dict[str, tuple[str, ...]] = {
    "0.8.2.2": (f"{_KAFKA}:kafka_2.11:0.8.2.2",),
    "0.10.1.1": (f"{_KAFKA}:kafka_2.11:0.10.1.1", *_XML_BIND),
    "2.0.1": (f"{_KAFKA}:kafka_2.12:2.0.1", *_ZOOKEEPER, *_LOG),
    "2.6.3": (f"{_KAFKA}:kafka_2.13:2.6.3", *_LOG),
    "3.3.2": (f"{_KAFKA}:kafka_2.13:3.3.2", f"{_KAFKA}:kafka-tools:3.3.2"),
    "3.9.2": (f"{_KAFKA}:kafka_2.13:3.9.2", f"{_KAFKA}:kafka-tools:3.9.2"),
    "4.0.1": (f"{_KAFKA}:kafka_2.13:4.0.1", *_LOG),
    # 4.4.0 is published without its tools and streams: those of 4.3.1 speak to it.
    "4.4.0": (f"{_KAFKA}:kafka_2.13:4.4.0", f"{_KAFKA}:kafka-tools-api:4.3.1", *_LOG),
    "tools-4.3.1": (f"{_KAFKA}:kafka_2.13:4.3.1", f"{_KAFKA}:kafka-tools:4.3.1", *_LOG),
    "streams-4.3.1": (f"{_KAFKA}:kafka-streams:4.3.1", *_LOG),
    # An agent that writes the secrets of a Java machine's TLS connections to a file.
    "tls-secrets": ("name.neykov:extract-tls-secrets:4.0.0",),
}
# What Maven shall leave out: not published, or part of the Java machine since Java 9.
_LEFT_OUT = {"4.4.0": f"{_KAFKA}:kafka-tools-api", "tls-secrets": "com.sun:tools"}


def _dependency(coordinates: str, excluded: str | None) -> str:
    group, artifact, version = coordinates.split(":")
    parts = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
    if excluded is not None:
        group, artifact = excluded.split(":")
        inner = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        parts += f"<exclusions><exclusion>{inner}</exclusion></exclusions>"
    return f"<dependency>{parts}</dependency>"


def classpath(name: str) -> str:
    """The class path of a set of jars, resolved at the first call.

    Args:
        name: a Kafka version, or another key of the table above.

    Raises:
        SystemExit: Maven could not resolve the jars; its first error line is shown.
    """
    folder = WORK / "jars" / name
    done = folder / "resolved"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        dependencies = "".join(_dependency(each, _LEFT_OUT.get(name)) for each in _SETS[name])
        (folder / "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>recorder</groupId><artifactId>jars</artifactId><version>1</version>"
            f"<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
        )
        goal = ["mvn", "-B", "-q", "dependency:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime"]
        result = subprocess.run(goal, cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            reason = next((line for line in result.stdout.splitlines() if "ERROR" in line), result.stdout)
            sys.exit(f"recorder: Maven could not resolve Kafka {name}: {reason}")
        done.touch()
    return f"{folder / 'lib'}/*"


def library(name: str, prefix: str) -> Path:
    """One jar of a set, by the beginning of its file name."""
    classpath(name)
    return next((WORK / "jars" / name / "lib").glob(f"{prefix}*.jar"))
