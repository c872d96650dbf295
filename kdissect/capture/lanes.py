"""Walking a chain of records from many places at once.

Where a record begins is known only from the length of the one before it, and following one length after the other
costs Python some 300 ns a record.  So likely beginnings are looked for all over the chunk, and the chains from there
are followed in lockstep.  A chain counts only if the records before it lead exactly to its beginning: what is guessed
wrong costs time, never a packet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from kdissect.model import Bytes, Int64s

LEAST = 1 << 20
"""Chunks below this many bytes are walked plainly."""
_SPACING = 1 << 15
_SEARCH = 1 << 11
"""Bytes that are searched for the beginning of each chain."""
_MAX_STEPS = 1 << 10
_STEPS_UNCHECKED = 16


class Lanes:
    """Chains of records found in one chunk."""

    def __init__(self, beginnings: Int64s, records: Int64s, offsets: Int64s, ends: Int64s) -> None:
        """Chain *i* has the records ``records[offsets[i]:offsets[i + 1]]`` and stops at ``ends[i]``."""
        self._beginnings: list[int] = beginnings.tolist()
        self._records = records
        self._offsets: list[int] = offsets.tolist()
        self._ends: list[int] = ends.tolist()
        # Chains after which the next does not go on seamlessly.
        self._breaks: list[int] = [*np.flatnonzero(ends[:-1] != beginnings[1:]).tolist(), len(beginnings) - 1]

    def at(self, at: int) -> tuple[Int64s, int] | None:
        """The records from ``at`` on as far as chains lead, and where they stop; ``None`` when no chain begins there."""
        lane = bisect_right(self._beginnings, at) - 1
        if lane < 0 or self._beginnings[lane] != at:
            return None
        last = self._breaks[bisect_right(self._breaks, lane - 1)]
        if self._ends[last] == at:
            return None
        return self._records[self._offsets[lane] : self._offsets[last + 1]], self._ends[last]

    def after(self, at: int) -> int | None:
        """Where the first chain behind ``at`` begins."""
        lane = bisect_right(self._beginnings, at)
        return self._beginnings[lane] if lane < len(self._beginnings) else None


_NOTHING = np.zeros(0, np.int64)
NONE = Lanes(_NOTHING, _NOTHING, np.zeros(1, np.int64), _NOTHING)


def find(data: Bytes, lo: int, hi: int, pattern: bytes) -> Int64s:
    """Where ``pattern`` stands first behind each of many places in ``data[lo:hi]``."""
    found = []
    view = data.data
    for spot in range(lo + _SPACING, hi - _SPACING, _SPACING):
        at = view[spot : spot + _SEARCH].tobytes().find(pattern)
        if at >= 0:
            found.append(spot + at)
    return np.array(found, np.int64)


def follow(beginnings: Int64s, last: int, advance: Callable[[Int64s], Int64s]) -> Lanes:
    """Follows the chains from ``beginnings`` (ascending) on, each up to where the next begins, the last one to ``last``.

    ``advance`` gives for each position of a record the position of the next, or the same where there is no sound one;
    it is also asked about positions up to ``last + 1``, and its answer for those does not matter.
    """
    if not len(beginnings):
        return NONE
    ends = np.append(beginnings[1:], last + 1)
    at = beginnings
    steps = [at]
    while len(steps) < _MAX_STEPS:
        for _ in range(_STEPS_UNCHECKED):
            at = advance(np.minimum(at, last + 1))
            steps.append(at)
        if ((at >= ends) | (at == steps[-2])).all():
            break
    table = np.array(steps, np.int64)
    # A chain may have gone on behind its end, or have come to a stop and repeat its last position.
    inside = table < ends
    inside[1:] &= table[1:] > table[:-1]
    counts = np.count_nonzero(inside, axis=0)
    stops = table[np.minimum(counts, len(table) - 1), np.arange(len(ends))]
    # The record at which a chain stops was not followed: it may be no sound one.
    early = stops < ends
    counts -= early
    inside = np.arange(len(table))[:, None] < counts
    records = table.T[inside.T]
    return Lanes(beginnings, records, np.concatenate([[0], np.cumsum(counts)]), stops)
