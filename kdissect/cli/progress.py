"""How far a long run is: one line on standard error, only on a terminal, gone when it ends."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from kdissect.report.human import duration_ms, size

if TYPE_CHECKING:
    from kdissect.dissect import Dissection

Item = TypeVar("Item")

PATIENCE: Final = 0.7
"""Seconds before anything is shown."""
EVERY: Final = 0.1
_BAR: Final = 20


class Progress:
    """Watches the files that are being read; says how much of them, how fast, and how long it will take."""

    def __init__(self, dissection: Dissection, wanted: bool) -> None:
        self._dissection = dissection
        files = dissection.capture.files
        self._total = total_bytes(files) if wanted and sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else 0
        self._position: Callable[[], int | None] = Position(files) if self._total else lambda: None
        self._start = self._last = time.monotonic()
        self._drawn = False

    def over(self, batches: Iterable[Item]) -> Iterator[Item]:
        """The same batches, with the line drawn between them."""
        if not self._total:
            yield from batches
            return
        try:
            for batch in batches:
                self._draw()
                yield batch
        finally:
            self.clear()

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._start < PATIENCE or now - self._last < EVERY:
            return
        self._last = now
        line = line_of(self._position(), self._total, now - self._start, self._dissection.segmenter.packets)
        sys.stderr.write(f"\r\x1b[K{line[: _columns() - 1]}")
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Takes the line away."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False


def line_of(done: int | None, total: int, seconds: float, packets: int) -> str:
    """``█████▌       27%  1.20 GB of 4.50 GB  210 MB/s  16 s left  1,234,567 packets``."""
    if done is None:
        return f"{packets:,} packets  {packets / seconds if seconds else 0:,.0f}/s"
    share = min(1.0, done / total)
    eighths = round(share * _BAR * 8)
    bar = "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")
    rate = done / seconds if seconds else 0.0
    words = [f"{bar:<{_BAR}} {share:4.0%}", f"{size(min(done, total))} of {size(total)}", f"{size(round(rate))}/s"]
    if rate and done < total:
        words.append(f"{duration_ms(round((total - done) / rate) * 1000)} left")
    return "  ".join([*words, f"{packets:,} packets"])


def total_bytes(files: Iterable[str]) -> int:
    """Bytes of all the files; 0 where one of them is no file."""
    total = 0
    for name in files:
        try:
            info = os.stat(name)
        except (OSError, ValueError):
            return 0
        if not stat.S_ISREG(info.st_mode):
            return 0
        total += info.st_size
    return total


class Position:
    """How many bytes of the files have been read, as the system tells (Linux); None where it does not."""

    def __init__(self, files: Sequence[str]) -> None:
        self._sizes = {os.path.realpath(name): os.stat(name).st_size for name in files}
        self._opened: set[str] = set()

    def __call__(self) -> int | None:
        now: dict[str, int] = {}
        try:
            entries = os.listdir("/proc/self/fd")
        except OSError:
            return None
        for entry in entries:
            with suppress(OSError):
                target = os.readlink(f"/proc/self/fd/{entry}")
                if target in self._sizes:
                    now[target] = os.lseek(int(entry), 0, os.SEEK_CUR)
        self._opened |= set(now)
        # What was open and is no more has been read to its end.
        return sum(now.get(name, self._sizes[name]) for name in self._opened)


def _columns() -> int:
    from shutil import get_terminal_size

    return get_terminal_size((80, 24)).columns
