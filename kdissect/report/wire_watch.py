"""What the packets of some connections show beside their messages: opening, closing, resets, and bytes never captured."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from kdissect.model import FIN, RST, SYN, UNSTAMPED, Bytes, Int32s, SegmentBatch
from kdissect.stream.connections import ConnectionTable, Incarnation

MAX_PIECES: Final = 100_000
"""Separate runs of captured bytes of one direction that are remembered."""
_MASK: Final = 0xFFFFFFFF
_HALF: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class WireEvent:
    """Something at one packet."""

    kind: Literal["syn", "fin", "rst", "gap"]
    side: int
    """Direction: 0 from the first endpoint of the incarnation, 1 from the second."""
    time_ns: int | None
    packet: int
    size: int = 0
    """Bytes of a gap."""


@dataclass(slots=True)
class _Direction:
    base: int | None = None
    last: int = 0
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    marks: list[tuple[int | None, int]] = field(default_factory=list)
    """Of each run, the time and number of the packet that began it."""
    told: set[str] = field(default_factory=set)


class Watch:
    """One connection as its packets show it."""

    def __init__(self, incarnation: Incarnation) -> None:
        self.incarnation = incarnation
        self.events: list[WireEvent] = []
        self._directions = (_Direction(), _Direction())

    def segment(self, side: int, seq: int, flags: int, size: int, length: int, time_ns: int | None, packet: int) -> None:
        """Takes one segment of the connection, in packet order."""
        way = self._directions[side]
        for bit, kind in ((SYN, "syn"), (FIN, "fin"), (RST, "rst")):
            if flags & bit and kind not in way.told:
                way.told.add(kind)
                self.events.append(WireEvent(kind, side, time_ns, packet))  # type: ignore[arg-type]
        if flags & SYN:
            seq = (seq + 1) & _MASK
        if way.base is None or (flags & SYN and not way.starts):
            if flags & RST and not length:
                return
            way.base, way.last = seq, 0
            if flags & SYN:
                way.starts, way.ends, way.marks = [0], [0], [(time_ns, packet)]
        if not length:
            return
        start = way.last + ((seq - way.base - way.last + _HALF) & _MASK) - _HALF
        way.last = start
        self._cover(way, start, start + size, time_ns, packet)

    @staticmethod
    def _cover(way: _Direction, start: int, end: int, time_ns: int | None, packet: int) -> None:
        at = bisect_right(way.starts, start)
        if at and way.ends[at - 1] >= start:
            at -= 1
            way.ends[at] = max(way.ends[at], end)
        elif len(way.starts) < MAX_PIECES:
            way.starts.insert(at, start)
            way.ends.insert(at, end)
            way.marks.insert(at, (time_ns, packet))
        else:
            return
        while at + 1 < len(way.starts) and way.starts[at + 1] <= way.ends[at]:
            way.ends[at] = max(way.ends[at], way.ends[at + 1])
            del way.starts[at + 1], way.ends[at + 1], way.marks[at + 1]

    def finish(self) -> list[WireEvent]:
        """All events; a gap stands where the bytes behind it were captured."""
        events = list(self.events)
        for side, way in enumerate(self._directions):
            for at in range(1, len(way.starts)):
                time_ns, packet = way.marks[at]
                events.append(WireEvent("gap", side, time_ns, packet, way.starts[at] - way.ends[at - 1]))
        return events


class WatchingTable(ConnectionTable):
    """A connection table that lets somebody watch the segments of the connections that it asks for."""

    def __init__(self, wanted: Callable[[Incarnation], bool]) -> None:
        super().__init__()
        self._wanted = wanted
        self._decided = 0
        self.watches: dict[int, Watch] = {}
        """By index of the incarnation."""

    def assign(self, segments: SegmentBatch) -> tuple[Int32s, Bytes]:
        owners, sides = super().assign(segments)
        for index in range(self._decided, len(self.incarnations)):
            if self._wanted(self.incarnations[index]):
                self.watches[index] = Watch(self.incarnations[index])
        self._decided = len(self.incarnations)
        if self.watches:
            rows = np.flatnonzero(np.isin(owners, list(self.watches)))
            columns = (
                owners,
                sides,
                segments.seq,
                segments.flags,
                segments.size,
                segments.length,
                segments.time_ns,
                segments.number,
            )
            for owner, side, seq, flags, size, length, time_ns, number in zip(*(c[rows].tolist() for c in columns), strict=True):
                time = None if time_ns == UNSTAMPED else time_ns
                self.watches[owner].segment(side, seq, flags, size, length, time, number)
        return owners, sides
