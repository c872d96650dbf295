"""Captures of rare formats, converted by Wireshark's editcap while they are read."""

from __future__ import annotations

import io
import shutil
from typing import TYPE_CHECKING

from kdissect.capture.sources import FileSource, Prefixed, read_head

if TYPE_CHECKING:
    import subprocess

_HEAD = 4


class ConvertedSource(Prefixed):
    """The file as editcap writes it in pcapng."""

    def __init__(self, head: bytes, source: FileSource, process: subprocess.Popen[bytes]) -> None:
        super().__init__(head, source)
        self._process = process

    def close(self) -> None:
        super().close()
        self._process.kill()
        self._process.wait()


def converted(path: str) -> ConvertedSource | None:
    """The capture at ``path`` in pcapng, ``None`` where editcap is missing or does not know the format either."""
    editcap = shutil.which("editcap")
    if editcap is None:
        return None
    import subprocess  # rarely needed, and slow to import

    # A path that begins with a dash would be taken for an option.
    argument = path if not path.startswith("-") else f"./{path}"
    process = subprocess.Popen(
        [editcap, "-F", "pcapng", argument, "-"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    assert isinstance(process.stdout, io.FileIO)
    source = FileSource(process.stdout)
    head = read_head(source, _HEAD)
    result = ConvertedSource(head, source, process)
    if not head:
        result.close()
        return None
    return result
