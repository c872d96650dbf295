"""How TCP connections begin and end: round trips of handshakes, refusals, resets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdissect.model import ACK, FIN, RST, SYN, UNSTAMPED, Bytes, Int32s, SegmentBatch
from kdissect.stream.bulk import grouping


@dataclass(slots=True)
class Lifetime:
    """What the flags of one connection's segments tell.

    Times are nanoseconds since the epoch, sides those of the table of connections.
    """

    first_ns: int | None = None
    last_ns: int | None = None
    opener: int | None = None
    """The side whose SYN was seen; None where the connection was open before the capture."""
    syn_ns: int | None = None
    accepted_ns: int | None = None
    """Time of the SYN's answer."""
    confirmed_ns: int | None = None
    """Time of the first ACK after it."""
    fin: int | None = None
    """The side that closed first."""
    reset: int | None = None
    """The side that reset."""
    refused: bool = False
    """The first SYN was answered by a reset (RFC 9293, section 3.5.2)."""
    quiet_reset: bool = False
    """The reset came after a FIN: the connection was over, and only late bytes are turned away."""

    @property
    def far_ns(self) -> int | None:
        """Round trip between the capture and the side that accepted: from SYN to its answer."""
        return None if self.syn_ns is None or self.accepted_ns is None else max(0, self.accepted_ns - self.syn_ns)

    @property
    def rtt_ns(self) -> int | None:
        """Round trip between both ends, wherever the capture was taken: from SYN to the handshake's last ACK."""
        return None if self.syn_ns is None or self.confirmed_ns is None else max(0, self.confirmed_ns - self.syn_ns)


class Lifetimes:
    """Follows the connections of a call, batch by batch."""

    def __init__(self) -> None:
        self._of: list[Lifetime] = []
        self._waiting: set[int] = set()
        """Connections whose SYN was answered and not confirmed yet."""

    def __getitem__(self, owner: int) -> Lifetime:
        while len(self._of) <= owner:
            self._of.append(Lifetime())
        return self._of[owner]

    def feed(self, segments: SegmentBatch, owners: Int32s, sides: Bytes) -> None:
        """Take the segments of a batch with their connections' indexes and their sides."""
        if not len(segments):
            return
        self._span(segments, owners)
        overdue = set(self._waiting)
        for row in np.flatnonzero((segments.flags & (SYN | FIN | RST)) != 0).tolist():
            self._flag(int(owners[row]), int(sides[row]), int(segments.flags[row]), int(segments.time_ns[row]))
        if self._waiting:
            self._confirm(segments, owners, sides)
            # What was not confirmed a batch later is not in the capture.
            self._waiting -= overdue

    def _span(self, segments: SegmentBatch, owners: Int32s) -> None:
        stamped = segments.time_ns != UNSTAMPED
        owner, times = owners[stamped], segments.time_ns[stamped]
        if not len(owner):
            return
        order = grouping(owner)
        begins = np.flatnonzero(np.concatenate([[True], np.diff(owner[order]) != 0]))
        earliest, latest = (ufunc.reduceat(times[order], begins) for ufunc in (np.minimum, np.maximum))
        ids = owner[order][begins]
        for one, first, last in zip(ids.tolist(), earliest.tolist(), latest.tolist(), strict=True):
            life = self[one]
            life.first_ns = first if life.first_ns is None else min(life.first_ns, first)
            life.last_ns = last if life.last_ns is None else max(life.last_ns, last)

    def _flag(self, owner: int, side: int, flags: int, time_ns: int) -> None:
        life = self[owner]
        stamp = None if time_ns == UNSTAMPED else time_ns
        if flags & SYN:
            if not flags & ACK and life.opener is None:
                life.opener, life.syn_ns = side, stamp
            elif flags & ACK and life.opener == 1 - side and life.accepted_ns is None:
                life.accepted_ns = stamp
                self._waiting.add(owner)
        if flags & FIN and life.fin is None:
            life.fin = side
        if flags & RST and life.reset is None:
            life.reset = side
            life.refused = life.opener == 1 - side and life.accepted_ns is None
            life.quiet_reset = life.fin is not None

    def _confirm(self, segments: SegmentBatch, owners: Int32s, sides: Bytes) -> None:
        """Find the ACK that ends each open handshake."""
        waiting = np.array(sorted(self._waiting), np.int64)
        rows = np.flatnonzero(np.isin(owners, waiting) & ((segments.flags & (SYN | ACK | RST)) == ACK))
        for row in rows.tolist():
            owner = int(owners[row])
            life = self[owner]
            time_ns = int(segments.time_ns[row])
            if owner in self._waiting and life.opener == int(sides[row]) and time_ns >= (life.accepted_ns or 0):
                life.confirmed_ns = time_ns
                self._waiting.discard(owner)
