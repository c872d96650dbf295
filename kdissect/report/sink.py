"""Where output goes and what can be shown there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import BinaryIO

from kdissect.report.human import Clock


@dataclass(frozen=True, slots=True)
class Sink:
    """A byte stream with the facts that decide how things are written to it."""

    stream: BinaryIO
    terminal: bool = False
    """Somebody is looking: nothing may reach the stream that a terminal would act upon."""
    color: bool = False
    width: int = 120
    """Columns of the terminal; meaningless for machine formats."""
    height: int = 40
    eager: bool = False
    """Write at the end of every batch instead of in big blocks: the reader or the source is live."""
    bodies: bool = True
    """Machine formats include the decoded request and response."""
    clock: Clock = field(default_factory=lambda: Clock(utc=True))


class Output:
    """Gathers text and writes it in big blocks."""

    BLOCK = 1 << 20

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Takes ``data``; it reaches the stream at the next full block, :meth:`settle` or :meth:`flush`."""
        self._parts.append(data)
        self._size += len(data)
        if self._size >= self.BLOCK:
            self._drain()

    def settle(self) -> None:
        """The end of a batch: what was taken is written if somebody waits for it."""
        if self._sink.eager or self._sink.terminal:
            self.flush()

    def flush(self) -> None:
        """Everything taken is written now."""
        self._drain()
        self._sink.stream.flush()

    def _drain(self) -> None:
        if self._parts:
            data = memoryview(b"".join(self._parts))
            self._parts.clear()
            self._size = 0
            while data:
                # An unbuffered standard output (PYTHONUNBUFFERED) may take less than it is given.
                data = data[self._sink.stream.write(data) :]
