"""Cuts many streams into frames at once, where every segment is the next one of its stream.

The counterpart in columns of :mod:`kdissect.stream.reassembly` and
:mod:`kdissect.stream.framing`, and exact: what it cannot take for certain as
these would take it, it leaves to them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kdissect.columns import SLACK, unaligned
from kdissect.model import ACK, FIN, RST, SYN, Bytes, Int32s, Int64s, SegmentBatch
from kdissect.stream.framing import HEAD, LARGEST, _Assembly

Flags = npt.NDArray[np.bool_]

UNKNOWN = -(1 << 62)
"""An acknowledgment that is not known, in columns."""
_MASK, _HALF = 0xFFFFFFFF, 0x80000000
_LEAST = 8
"""Bytes of the smallest frame with a correlation id."""


def grouping(keys: npt.NDArray[np.integer]) -> Int64s:
    """The order that sorts small non-negative keys, stable: a radix sort where they fit in 16 bits."""
    narrow = keys.astype(np.uint16) if len(keys) and int(keys.max()) < 1 << 16 else keys
    order: Int64s = np.argsort(narrow, kind="stable")
    return order


def irregular(segments: SegmentBatch, owners: Int32s, sides: Bytes) -> Flags:
    """Which segments are not plainly the next of their stream: SYN, FIN, RST, cut, repeated, out of order."""
    odd: Flags = (segments.flags & (SYN | FIN | RST)) != 0
    odd |= segments.size != segments.length
    carrying = np.flatnonzero(segments.length > 0)
    key = owners[carrying].astype(np.int64) * 2 + sides[carrying]
    rows = carrying[grouping(key)]
    stream = owners[rows].astype(np.int64) * 2 + sides[rows]
    after = (segments.seq[rows] + segments.length[rows]) & _MASK
    odd[rows[1:]] |= (stream[1:] == stream[:-1]) & (segments.seq[rows[1:]] != after[:-1])
    return odd


@dataclass(slots=True)
class Streams:
    """Where each stream stands before; stream 2 * g + side belongs to the g-th connection of a :class:`Stretch`."""

    pos: Int64s
    seq: Int64s
    assemblies: list[_Assembly | None]
    """Unfinished frames, with their heads admitted and nothing missing."""
    limit: int
    """Bytes above which a frame is left to the framer."""


@dataclass(slots=True)
class Stretch:
    """Segments of several connections, each one's together and in order of packets, none of them irregular."""

    row: Int64s
    """Row in ``segments``."""
    group: Int64s
    """Number of the connection, ascending from 0."""
    side: Int64s
    segments: SegmentBatch


@dataclass(slots=True)
class Frames:
    """Frames as columns; ``lead``, ``last``: rows in the segment batch, -1 - i for the i-th carried-over frame's."""

    stream: Int64s
    start: Int64s
    """Offset of the size prefix in the buffer of number ``buffer``."""
    buffer: Int64s
    size: Int64s
    offset: Int64s
    lead: Int64s
    last: Int64s
    acked: Int64s
    """What the sender had received when it sent the first byte; :data:`UNKNOWN` where not known."""

    def __len__(self) -> int:
        return len(self.start)

    def pick(self, which: Int64s | Flags) -> Frames:
        """Some of them."""
        return Frames(*(getattr(self, name)[which] for name in self.__slots__))


@dataclass(slots=True)
class Arena:
    """The bytes of frames that lie in more than one segment, gathered."""

    parts: list[memoryview] = field(default_factory=list)
    size: int = 0

    def add(self, parts: list[memoryview], size: int) -> int:
        """Takes the parts of one frame; returns where it begins."""
        at = self.size
        self.parts += parts
        self.size += size
        return at

    def joined(self) -> Bytes:
        """All of it, with slack behind."""
        return np.frombuffer(b"".join([*self.parts, memoryview(bytes(SLACK))]), np.uint8)


class Unfinished(NamedTuple):
    """A frame whose end is still to come; of packets it knows only those from before."""

    assembly: _Assembly
    lead: int
    """Row of the segment that holds its first byte; -1 when that came before."""
    acked: int
    last: int
    """Row of the last segment."""


@dataclass(slots=True)
class Cut:
    """What became of a :class:`Stretch`."""

    frames: Frames
    """Those that are finished, by stream and in its order."""
    carried: list[_Assembly]
    """The unfinished frames of before that are finished now (their bytes are in the arena)."""
    unfinished: dict[int, Unfinished]
    """By stream."""
    fault: Int64s
    """For each connection the first row of the batch that is not to be taken in bulk; beyond the batch where all are."""
    pos: Int64s
    """By stream, after."""
    heard: Int64s
    """By stream, how far it was acknowledged; :data:`UNKNOWN` without news."""
    payload: Int64s
    """By stream, bytes taken."""


def cut(stretch: Stretch, before: Streams, arena: Arena) -> Cut:
    """Cut the streams of a stretch into frames."""
    segments, row, group, side = stretch.segments, stretch.row, stretch.group, stretch.side
    count = len(before.pos)
    far = len(segments)
    fault = np.full(count // 2, far, np.int64)
    stream = 2 * group + side
    size = segments.size[row].astype(np.int64)

    acked, heard = _acknowledged(stretch, before, stream, size)
    carrying = np.flatnonzero(size)
    carrying = carrying[grouping(stream[carrying])]
    stream, size, rows = stream[carrying], size[carrying], row[carrying]
    acked = acked[carrying]
    bounds = np.searchsorted(stream, np.arange(count + 1))
    total = np.concatenate([[0], np.cumsum(size)])
    payload = total[bounds[1:]] - total[bounds[:-1]]
    begin = before.pos[stream] + total[:-1] - total[bounds[stream]]
    end = begin + size

    first = np.flatnonzero(bounds[1:] > bounds[:-1])
    wrong = first[segments.seq[rows[bounds[first]]] != before.seq[first]]
    np.minimum.at(fault, wrong // 2, rows[bounds[wrong]])

    start = segments.start[rows]
    whole = (size >= _LEAST) & (unaligned(segments.data, ">u4")[start].astype(np.int64) + 4 == size) & (size <= before.limit)
    cutter = _Cutter(segments.data.data, start, size, begin, end, rows, acked, whole, before, arena)
    for number in first.tolist():
        bad = cutter.stream(number, int(bounds[number]), int(bounds[number + 1]))
        if bad is not None:
            fault[number // 2] = min(fault[number // 2], bad)
    return Cut(cutter.frames(stream), cutter.carried, cutter.unfinished, fault, before.pos + payload, heard, payload)


def _acknowledged(stretch: Stretch, before: Streams, stream: Int64s, size: Int64s) -> tuple[Int64s, Int64s]:
    """For each segment the stream offset of the other direction that it acknowledges, and the furthest by stream."""
    segments, row, side = stretch.segments, stretch.row, stretch.side
    sums = np.stack([np.cumsum(size * (side == 0)), np.cumsum(size * (side == 1))])
    begins = np.searchsorted(stretch.group, np.arange(len(before.pos) // 2))
    base = np.where(begins > 0, sums[:, np.maximum(begins, 1) - 1], 0)
    other = stream ^ 1
    # The other side's bytes so far; a segment's own payload is of this side and does not count.
    so_far = sums[1 - side, np.arange(len(row))] - base[1 - side, stretch.group]
    seq = before.seq[other] + so_far
    acked = before.pos[other] + so_far + ((segments.ack[row] - seq + _HALF) & _MASK) - _HALF
    acked = np.where(segments.flags[row] & ACK != 0, acked, UNKNOWN)
    heard = np.full(len(before.pos), UNKNOWN, np.int64)
    np.maximum.at(heard, other, acked)
    return acked, heard


class _Cutter:
    """Goes through the streams one by one; segments that are one frame each are passed over together."""

    def __init__(
        self,
        data: memoryview,
        start: Int64s,
        size: Int64s,
        begin: Int64s,
        end: Int64s,
        rows: Int64s,
        acked: Int64s,
        whole: Flags,
        before: Streams,
        arena: Arena,
    ) -> None:
        self.data, self.arena, self.before = data, arena, before
        self.columns = (start, size, begin, rows, acked)
        self.rows, self.acked = rows, acked
        count = len(start)
        self.next_odd = np.minimum.accumulate(np.where(whole, count, np.arange(count))[::-1])[::-1].tolist() if count else []
        self.start, self.size, self.begin, self.end = start.tolist(), size.tolist(), begin.tolist(), end.tolist()
        self.spans: list[tuple[int, int]] = []
        """Segments (from, to) that are one frame each."""
        self.made: list[tuple[int, int, int, int, int, int]] = []
        """Other frames: first segment, start, buffer, size, offset, last segment."""
        self.joined: list[tuple[int, int, int, int]] = []
        """Carried-over frames that are finished: stream, start in the arena, last segment, number."""
        self.carried: list[_Assembly] = []
        self.unfinished: dict[int, Unfinished] = {}

    def stream(self, number: int, low: int, high: int) -> int | None:
        """Cut one stream; returns the row of the batch at which it is beyond this, if any."""
        begin, end, start, next_odd = self.begin, self.end, self.start, self.next_odd
        at, i = begin[low], low
        assembly = self.before.assemblies[number]
        if assembly is not None:
            at = assembly.offset + assembly.total
            j = bisect_left(end, at, low, high)
            if j == high:
                self.unfinished[number] = self._grown(assembly, low, high)
                return None
            parts = self._parts(begin[low], at, low, j)
            where = self.arena.add([*assembly.parts, *parts], assembly.total)
            self.joined.append((number, where, j, len(self.carried)))
            self.carried.append(assembly)
            i = j + (end[j] == at)
        while i < high:
            if at == begin[i]:
                j = min(next_odd[i], high)
                if j > i:
                    self.spans.append((i, j))
                    at, i = end[j - 1], j
                    continue
            left = end[i] - at
            if left >= 4:
                where = start[i] + at - begin[i]
                total = int.from_bytes(self.data[where : where + 4]) + 4
            elif end[high - 1] - at >= 4:
                total = int.from_bytes(b"".join(self._parts(at, at + 4, i, high - 1))) + 4
            else:
                self.unfinished[number] = self._begun(at, 0, i, high)
                return None
            if not _LEAST <= total <= self.before.limit or total - 4 > LARGEST:
                return int(self.rows[i])
            stop = at + total
            if stop <= end[i]:
                self.made.append((i, start[i] + at - begin[i], 0, total, at, i))
                i += stop == end[i]
            else:
                j = bisect_left(end, stop, i, high)
                if j == high:
                    self.unfinished[number] = self._begun(at, total, i, high)
                    return None
                self.made.append((i, self.arena.add(self._parts(at, stop, i, j), total), 1, total, at, j))
                i = j + (end[j] == stop)
            at = stop
        return None

    def _parts(self, at: int, stop: int, i: int, j: int) -> list[memoryview]:
        """The bytes of a stream from ``at`` to ``stop``, which lie in the segments ``i`` to ``j``."""
        data, start, begin, end = self.data, self.start, self.begin, self.end
        j = min(j, bisect_left(end, stop, i, j + 1))
        if i == j:
            return [data[start[i] + at - begin[i] : start[i] + stop - begin[i]]]
        middle = [data[a : a + n] for a, n in zip(start[i + 1 : j], self.size[i + 1 : j], strict=True)]
        first = data[start[i] + at - begin[i] : start[i] + self.size[i]]
        return [first, *middle, data[start[j] : start[j] + stop - begin[j]]]

    def _begun(self, at: int, total: int, i: int, high: int) -> Unfinished:
        """A frame that begins here."""
        assembly = _Assembly(at, self.before.limit)
        stop = self.end[high - 1]
        assembly.parts = self._parts(at, stop, i, high - 1)
        assembly.seen = assembly.captured = assembly.held = stop - at
        assembly.total = total
        assembly.admitted = total > 0 and assembly.seen >= min(HEAD, total)
        return Unfinished(assembly, int(self.rows[i]), int(self.acked[i]), int(self.rows[high - 1]))

    def _grown(self, assembly: _Assembly, low: int, high: int) -> Unfinished:
        """The same unfinished frame with more bytes (a copy: nothing is settled yet)."""
        more = _Assembly(assembly.offset, assembly.limit)
        for name in ("total", "admitted", "lead", "first", "last"):
            setattr(more, name, getattr(assembly, name))
        stop = self.end[high - 1]
        more.parts = [*assembly.parts, *self._parts(self.begin[low], stop, low, high - 1)]
        more.seen = more.captured = more.held = stop - assembly.offset
        return Unfinished(more, -1, UNKNOWN, int(self.rows[high - 1]))

    def frames(self, stream: Int64s) -> Frames:
        """Everything cut, by stream and in its order."""
        start, size, begin, rows, acked = self.columns
        plain = np.concatenate([np.arange(a, b) for a, b in self.spans]) if self.spans else np.zeros(0, np.int64)
        made = np.array(self.made, np.int64).reshape(-1, 6)
        lead = np.concatenate([plain, made[:, 0]])
        last = np.concatenate([plain, made[:, 5]])
        zero = np.zeros(len(plain), np.int64)
        frames = Frames(
            stream=stream[lead],
            start=np.concatenate([start[plain], made[:, 1]]),
            buffer=np.concatenate([zero, made[:, 2]]),
            size=np.concatenate([size[plain], made[:, 3]]),
            offset=np.concatenate([begin[plain], made[:, 4]]),
            lead=rows[lead],
            last=rows[last],
            acked=acked[lead],
        )
        if self.joined:
            number, where, end, index = (np.array(column, np.int64) for column in zip(*self.joined, strict=True))
            before = self.carried
            known = [UNKNOWN if a.lead is None or a.lead.acked is None else a.lead.acked for a in before]
            joined = Frames(
                stream=number,
                start=where,
                buffer=np.ones(len(number), np.int64),
                size=np.array([a.total for a in before], np.int64),
                offset=np.array([a.offset for a in before], np.int64),
                lead=-1 - index,
                last=rows[end],
                acked=np.array(known, np.int64),
            )
            frames = Frames(*(np.concatenate([getattr(x, n) for x in (frames, joined)]) for n in Frames.__slots__))
        return frames.pick(np.lexsort((frames.offset, frames.stream)))
