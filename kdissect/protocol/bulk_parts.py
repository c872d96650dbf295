"""Divides a batch of segments into parts, and each part into what is taken in bulk and what goes to sessions one by one."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from kdissect.model import FIN, RST, Bytes, Int32s, Int64s, SegmentBatch
from kdissect.protocol.bulk import Candidate, Rows, advance, steady
from kdissect.protocol.session import Session
from kdissect.stream.bulk import Flags, grouping, irregular
from kdissect.stream.limits import Limits

SHORTEST = 8
"""Segments of a connection that are worth being taken in bulk."""
FIRST_STRIDE, LEAST_STRIDE, LARGEST_STRIDE = 256, 2048, 1 << 20
"""Segments of a part: few while connections are new, as many as there are when all is in step."""


class Part(NamedTuple):
    """Consecutive segments of a batch; what is bulk of them is done."""

    singles: Int64s
    """Rows to be fed to their sessions, in order."""
    settled: list[Rows]
    advanced: list[Session]
    """Sessions that took segments in bulk."""


class Timers:
    """When to look at which connection again, in the time of the capture."""

    def __init__(self, limits: Limits) -> None:
        self.period = min(limits.linger_ns, limits.answer_ns) // 2
        self._answer_ns = limits.answer_ns
        self._heap: list[tuple[int, int]] = []

    def wind(self, owner: int, now_ns: int) -> None:
        """Look at this connection when the earliest of its limits can have passed."""
        heapq.heappush(self._heap, (now_ns + self.period, owner))

    def due(self, now_ns: int) -> Iterator[int]:
        """Take the connections whose time has come."""
        while self._heap and self._heap[0][0] < now_ns:
            yield heapq.heappop(self._heap)[1]

    def pass_over(
        self, sessions: Mapping[int, Session], ending: set[int], times: Int64s, clock: Int64s, low: int, high: int
    ) -> int:
        """Wind on, within the segments ``low`` to ``high``, what nothing can have become of by then.

        Returns where the first connection is due of which something may; ``ending`` are those that close in this batch.
        """
        last, earliest = int(clock[high - 1]), int(times[low:high].min())
        while self._heap and self._heap[0][0] < last:
            due, owner = self._heap[0]
            session = sessions.get(owner)
            if session is None:
                heapq.heappop(self._heap)
                continue
            row = low + int(np.searchsorted(clock[low:high], due, "right"))
            pending = session.correlator.pending
            oldest = min(earliest, pending[0].frame.last.time_ns) if pending else earliest
            if owner in ending or session.over or oldest + self._answer_ns < last:
                return row
            heapq.heapreplace(self._heap, (int(clock[row]) + self.period, owner))
        return high


class Parts:
    """Feeds batches; how large the parts are adapts to what the traffic is like."""

    def __init__(self, sessions: Mapping[int, Session], timers: Timers, bulk: bool) -> None:
        """``bulk``: False to leave everything to the sessions."""
        self._sessions = sessions
        self._shortest = SHORTEST if bulk else 1 << 62
        self._timers = timers
        self._stride = FIRST_STRIDE

    def of(
        self, segments: SegmentBatch, owners: Int32s, sides: Bytes, clock: Int64s, tick: Callable[[int, int], None]
    ) -> Iterator[Part]:
        """The parts of a batch; the singles of each must be fed before the next one is asked for.

        ``clock`` is the latest time up to each segment; ``tick`` is called with ordinal and time where timers are due.
        """
        odd = irregular(segments, owners, sides)
        ending = set(owners[(segments.flags & (FIN | RST)) != 0].tolist())
        times = segments.time_ns
        low = 0
        while low < len(segments):
            high = min(len(segments), low + self._stride)
            # Timers that are wound within a part are due behind it.
            high = low + max(1, int(np.searchsorted(clock[low:high], int(clock[low]) + self._timers.period)))
            until = self._timers.pass_over(self._sessions, ending, times, clock, low, high)
            if until == low:
                tick(int(segments.ordinal[low]), int(clock[low]))
                until = self._timers.pass_over(self._sessions, ending, times, clock, low, high)
            high = max(low + 1, until)
            part = self._take(segments, owners, sides, odd, low, high)
            yield part
            self._adapt(len(part.singles) / (high - low))
            low = high

    def _adapt(self, single: float) -> None:
        if single < 0.1:
            self._stride = min(4 * self._stride, LARGEST_STRIDE)
        elif single > 0.4:
            self._stride = max(self._stride // 2, LEAST_STRIDE)

    def _take(self, segments: SegmentBatch, owners: Int32s, sides: Bytes, odd: Flags, low: int, high: int) -> Part:
        order = grouping(owners[low:high]) + low
        owner = owners[order]
        begins = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
        ends = np.append(begins[1:], len(order))
        place = np.where(odd[order], np.arange(len(order)), len(order))
        stops = np.minimum(np.minimum.reduceat(place, begins), ends)
        single = np.ones(high - low, bool)
        candidates: list[Candidate] = []
        worth = np.flatnonzero(stops - begins >= self._shortest)
        for one, begin, stop in zip(owner[begins[worth]].tolist(), begins[worth].tolist(), stops[worth].tolist(), strict=True):
            session = self._sessions.get(one)
            if session is not None and steady(session):
                rows = order[begin:stop]
                candidates.append(Candidate(session, rows))
                single[rows - low] = False
        if not candidates:
            return Part(np.arange(low, high), [], [])
        settled, left = advance(segments, sides, candidates)
        for rows in left:
            single[rows - low] = True
        return Part(np.flatnonzero(single) + low, settled, [candidate.session for candidate in candidates])
