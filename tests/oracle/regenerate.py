"""Writes the committed files of this directory anew from Kafka's jars; needs Java and Maven.

Usage: python -m tests.oracle.regenerate [vectors] [facts] [blobs]
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.oracle import oracle_facts
from tests.oracle.oracle_jars import jars, write_blobs, write_vectors
from tests.oracle.oracle_vectors import BLOBS, RELEASES, path


def vectors() -> None:
    for release in RELEASES:
        path(release).write_bytes(lzma.compress(lines(release), preset=9 | lzma.PRESET_EXTREME))


def facts() -> None:
    oracle_facts.TABLE.write_text(oracle_facts.table((release, jars(release)) for release in RELEASES), encoding="utf-8")


def blobs() -> None:
    BLOBS.write_bytes(lzma.compress(blob_lines(), preset=9 | lzma.PRESET_EXTREME))


def lines(release: str) -> bytes:
    """The lines of one release's vectors."""
    with TemporaryDirectory() as folder:
        output = Path(folder) / "vectors"
        write_vectors(release, output)
        return output.read_bytes()


def blob_lines() -> bytes:
    """The lines of what Streams and Connect tell."""
    with TemporaryDirectory() as folder:
        output = Path(folder) / "blobs"
        write_blobs(output)
        return output.read_bytes()


if __name__ == "__main__":
    for what in sys.argv[1:] or ["vectors", "facts", "blobs"]:
        {"vectors": vectors, "facts": facts, "blobs": blobs}[what]()
