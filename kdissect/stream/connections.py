"""Which connection, and which of its two directions, every TCP segment belongs to."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kdissect.model import ACK, RST, SYN, Bytes, Int32s, Int64s, SegmentBatch

_MASK = 0xFFFFFFFF

LATE_SYN = 1 << 20
"""A SYN whose sequence number lies at most so far before the first byte seen opens no new connection: initial
sequence numbers of one address pair grow with time (RFC 6528)."""

FirstSeqs = list[int | None]
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Incarnation:
    """One life of an address pair: from its SYN (or first packet) until a SYN with another initial sequence number."""

    number: int
    """1-based among all TCP connections of the call, in order of first packet."""
    endpoints: tuple[int, int]
    """Endpoint ids; direction 0 is sent by the first, direction 1 by the second."""
    first_time_ns: int
    first_seq: FirstSeqs
    """The sequence number of each direction's first byte (32 bit), as far as its first segment tells."""


class ConnectionTable:
    """Assigns segments to connections.

    A port that is used again is a new connection: a SYN whose sequence number
    does not belong to the running one starts it (RFC 9293, section 3.6.1).
    A repeated SYN, or one that the capture holds after the first data, does not.
    """

    def __init__(self) -> None:
        self.incarnations: list[Incarnation] = []
        self._current: dict[int, int] = {}

    def assign(self, segments: SegmentBatch) -> tuple[Int32s, Bytes]:
        """Return for every segment the index of its incarnation and its direction (0 or 1)."""
        source = segments.source.astype(np.int64)
        target = segments.target.astype(np.int64)
        low, high = np.minimum(source, target), np.maximum(source, target)
        direction = (source != low).astype(np.uint8)
        pairs, inverse = np.unique((low << 32) | high, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        bounds = np.searchsorted(inverse[order], np.arange(len(pairs) + 1))
        syn = (segments.flags & SYN) != 0
        syn_pairs = set(inverse[syn].tolist())
        owner = np.empty(len(segments), np.int32)
        # Runs of one incarnation, found pair by pair but numbered in order of their first packet.
        fresh: list[tuple[int, int, Int64s]] = []
        for pair, key in enumerate(pairs.tolist()):
            rows = order[bounds[pair] : bounds[pair + 1]]
            current = self._current.get(key, -1)
            if current >= 0 and pair not in syn_pairs:
                owner[rows] = current
                continue
            for first, run in self._runs(segments, rows, direction, syn, current):
                if first:
                    fresh.append((int(run[0]), key, run))
                else:
                    owner[run] = current
        fresh.sort(key=lambda item: item[0])
        for _, key, run in fresh:
            owner[run] = self._open(segments, key, run, direction)
        return owner, direction

    def _runs(
        self, segments: SegmentBatch, rows: Int64s, direction: Bytes, syn: Flags, current: int
    ) -> list[tuple[bool, Int64s]]:
        """Split one pair's segments where a new incarnation starts; True marks a run that opens one."""
        first: FirstSeqs = [None, None]
        if current >= 0:
            first = self.incarnations[current].first_seq
        cuts = [] if current >= 0 else [0]
        begin = 0
        for position in np.flatnonzero(syn[rows]).tolist():
            self._learn(first, segments, rows[begin:position], direction)
            row = rows[position]
            side = int(direction[row])
            if self._opens(segments, rows[begin:position], row, first[side], first[1 - side]):
                if position:
                    cuts.append(position)
                first = [None, None]
                begin = position
        if begin == 0 and current >= 0:
            self._learn(first, segments, rows, direction)
        cuts.append(len(rows))
        runs = [(True, rows[a:b]) for a, b in itertools.pairwise(cuts)]
        return [(False, rows[: cuts[0]]), *runs] if cuts[0] else runs

    @staticmethod
    def _opens(segments: SegmentBatch, earlier: Int64s, row: int, own: int | None, other: int | None) -> bool:
        """Whether the SYN at ``row`` starts another incarnation than the one whose first numbers are known."""
        after = (int(segments.seq[row]) + 1) & _MASK
        if own is not None:
            # A SYN right before the first known byte is this connection's own, repeated or captured late.
            return ((own - after) & _MASK) >= LATE_SYN
        if other is None or segments.flags[row] & ACK:
            return False
        # A bare SYN opens a connection, unless the other side has acknowledged it already: then it was captured late.
        acked = (segments.flags[earlier] & ACK) != 0
        return not bool((((segments.ack[earlier] - after) & _MASK < LATE_SYN) & acked).any())

    @staticmethod
    def _learn(first: FirstSeqs, segments: SegmentBatch, rows: Int64s, direction: Bytes) -> None:
        """Note the first sequence number of each direction that is not known yet."""
        for side in (0, 1):
            if first[side] is None:
                spoken = rows[(direction[rows] == side) & ((segments.flags[rows] & RST) == 0)]
                if len(spoken):
                    row = spoken[0]
                    first[side] = (int(segments.seq[row]) + bool(segments.flags[row] & SYN)) & _MASK

    def _open(self, segments: SegmentBatch, key: int, run: Int64s, direction: Bytes) -> int:
        first: FirstSeqs = [None, None]
        self._learn(first, segments, run, direction)
        index = len(self.incarnations)
        self.incarnations.append(Incarnation(index + 1, (key >> 32, key & _MASK), int(segments.time_ns[run[0]]), first))
        self._current[key] = index
        return index
