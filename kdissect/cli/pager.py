"""Long output through a pager, as git does it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import IO, BinaryIO, cast

from kdissect.report.sink import Sink


def command() -> list[str] | None:
    """The pager to use: ``$KDISSECT_PAGER``, ``$PAGER`` or less; none where it is empty, ``cat`` or not installed."""
    if os.environ.get("TERM") == "dumb":
        return None
    try:
        words = shlex.split(os.environ.get("KDISSECT_PAGER", os.environ.get("PAGER", "less")))
    except ValueError:
        return None
    if not words or words == ["cat"] or shutil.which(words[0]) is None:
        return None
    return words


@contextmanager
def paged(sink: Sink, wanted: bool) -> Iterator[Sink]:
    """``sink`` itself, or one whose bytes go through the pager, which starts with the first of them.

    Waits until the user leaves the pager; leaving it early ends the listing like a closed pipe.
    """
    words = command() if wanted and sys.stdout.isatty() and not sink.eager else None
    if words is None:
        yield sink
        return
    stream = _PagerStream(words, sink.stream)
    try:
        yield replace(sink, stream=cast(BinaryIO, stream))
    finally:
        stream.end()


class _PagerStream:
    """Starts the pager when there is something to show."""

    def __init__(self, words: list[str], instead: BinaryIO) -> None:
        self._words, self._stream = words, cast("IO[bytes]", instead)
        self._process: subprocess.Popen[bytes] | None = None
        self._tried = False

    def write(self, data: bytes) -> int:
        if not self._tried:
            self._start()
        return self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()

    def _start(self) -> None:
        self._tried = True
        # As git has it: leave at once when all fits on a screen, pass colours on, do not clear the screen.
        environment = {"LESS": "FRX", "LV": "-c", **os.environ}
        with suppress(OSError):
            self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, env=environment)
            assert self._process.stdin is not None
            self._stream = self._process.stdin

    def end(self) -> None:
        """Tells the pager that this is all, and waits for the user; Ctrl-C is the pager's meanwhile."""
        if self._process is None:
            return
        with suppress(OSError):
            self._stream.close()
        while True:
            try:
                self._process.wait()
                return
            except KeyboardInterrupt:
                continue
