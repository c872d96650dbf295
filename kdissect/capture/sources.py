"""Where a capture's bytes come from."""

from __future__ import annotations

import io
import os
import select
import stat
import time
from typing import Protocol

LINGER_SECONDS = 0.02
"""How long a pipe is listened to for more bytes before what came is dissected."""


class Source(Protocol):
    """A stream of bytes read once from the front."""

    live: bool
    """Bytes may come slowly, and only once."""

    def read_into(self, target: memoryview) -> int:
        """Fills ``target`` from the front and returns how many bytes came.

        Fewer than fit only at the end or when no more come soon; 0 only at the end.  Raises OSError, also where
        compressed bytes are corrupt.
        """

    def close(self) -> None: ...


class FileSource:
    """A regular file, or a pipe, terminal or other stream that gives bytes as they come."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self.live = not stat.S_ISREG(os.fstat(raw.fileno()).st_mode)

    def read_into(self, target: memoryview) -> int:
        count = self._read(target)
        if not count:
            return 0
        deadline = time.monotonic() + LINGER_SECONDS
        while count < len(target) and (not self.live or self._ready(deadline)):
            more = self._read(target[count:])
            if not more:
                break
            count += more
        return count

    def _read(self, target: memoryview) -> int:
        return self._raw.readinto(target) or 0

    def _ready(self, deadline: float) -> bool:
        wait = deadline - time.monotonic()
        return wait > 0 and bool(select.select([self._raw.fileno()], [], [], wait)[0])

    def close(self) -> None:
        self._raw.close()


class Prefixed:
    """A source whose first bytes were read already, to look at them."""

    def __init__(self, head: bytes, source: Source) -> None:
        self._head = head
        self._source = source
        self.live = source.live

    def read_into(self, target: memoryview) -> int:
        if not self._head:
            return self._source.read_into(target)
        count = min(len(self._head), len(target))
        target[:count] = self._head[:count]
        self._head = self._head[count:]
        if count < len(target) and not self.live:
            count += self._source.read_into(target[count:])
        return count

    def close(self) -> None:
        self._source.close()


def read_head(source: Source, size: int) -> bytes:
    """The first ``size`` bytes of ``source``, fewer when it ends before."""
    head = bytearray(size)
    count = 0
    while count < size and (more := source.read_into(memoryview(head)[count:])):
        count += more
    return bytes(head[:count])


def open_source(name: str) -> FileSource:
    """The bytes of the file ``name``, of standard input for ``-``.  Raises OSError."""
    if name == "-":
        return FileSource(io.FileIO(0, closefd=False))
    if os.path.isdir(name):
        raise IsADirectoryError("is a directory; give the capture files in it")
    return FileSource(io.FileIO(name))


def fault(error: OSError) -> str:
    """What went wrong, without numbers and paths."""
    return error.strerror or str(error)


def reason(error: OSError) -> str:
    """The error as half a sentence that goes behind a file's name."""
    match error:
        case IsADirectoryError():
            return "is a directory; give the capture files in it"
        case FileNotFoundError():
            return "no such file"
        case PermissionError():
            return "permission denied"
    return f"cannot be read: {fault(error)}"
