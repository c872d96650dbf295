"""Sets of numbers as ranges, for many questions at once."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from kdissect.model import Int64s

Flags = npt.NDArray[np.bool_]

MANY: Final = 1 << 16
"""Ranges that are gathered before they are put in order."""


class Ranges:
    """A growing set of ranges, both ends included."""

    def __init__(self) -> None:
        self._new: list[tuple[int, int]] = []
        self._starts: Int64s = np.zeros(0, np.int64)
        self._ends: Int64s = np.zeros(0, np.int64)

    def add(self, first: int, last: int) -> None:
        """Puts a range into the set."""
        self._new.append((first, last))
        if len(self._new) >= MANY:
            self._merge()

    def holds(self, numbers: Int64s) -> Flags:
        """Which of the numbers are in the set."""
        self._merge()
        if not len(self._starts):
            return np.zeros(len(numbers), np.bool_)
        at = np.searchsorted(self._starts, numbers, "right") - 1
        found: Flags = (at >= 0) & (numbers <= self._ends[np.maximum(at, 0)])
        return found

    def touches(self, first: int, last: int) -> bool:
        """Whether any number from ``first`` to ``last`` is in the set."""
        self._merge()
        at = int(np.searchsorted(self._starts, last, "right")) - 1
        return at >= 0 and int(self._ends[at]) >= first

    def clip(self, first: int, last: int) -> list[tuple[int, int]]:
        """The parts of the set from ``first`` to ``last``."""
        self._merge()
        low = int(np.searchsorted(self._ends, first, "left"))
        high = int(np.searchsorted(self._starts, last, "right"))
        pairs = zip(self._starts[low:high].tolist(), self._ends[low:high].tolist(), strict=True)
        return [(max(start, first), min(end, last)) for start, end in pairs]

    def _merge(self) -> None:
        if not self._new:
            return
        fresh = np.array(self._new, np.int64)
        self._new = []
        starts = np.concatenate([self._starts, fresh[:, 0]])
        ends = np.concatenate([self._ends, fresh[:, 1]])
        order = np.argsort(starts, kind="stable")
        starts, reach = starts[order], np.maximum.accumulate(ends[order])
        opens = np.ones(len(starts), np.bool_)
        opens[1:] = starts[1:] > reach[:-1] + 1
        first = np.flatnonzero(opens)
        self._starts = starts[first]
        self._ends = reach[np.append(first[1:], len(starts)) - 1]
