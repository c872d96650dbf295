"""The bounds that keep hostile and endless traffic from using all memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be kept; all sizes in bytes, all times in nanoseconds of the capture's clock."""

    message: int = 256 << 20
    """Of one message; of a longer one this much is decoded and the rest passed over."""
    held: int = 16 << 20
    """Behind a hole, one direction; more, and the hole counts as lost."""
    backlog: int = 8 << 20
    """While looking for a frame boundary, one direction."""
    total: int = 1 << 30
    """Over all connections; beyond, the connection that keeps most is made to let go."""
    pending: int = 100_000
    """Requests of one connection that wait for an answer; beyond, the oldest is unanswered."""
    reorder_segments: int = 64
    """A hole whose bytes the receiver has acknowledged is lost once the connection has sent this many more segments."""
    reorder_ns: int = 1_000_000_000
    """...or once this much time has passed."""
    retransmit_ns: int = 120_000_000_000
    """How long a hole that nobody acknowledged may wait for its retransmission."""
    answer_ns: int = 600_000_000_000
    """How long a request may wait for its answer (the documented time limit of "timeout"): twice the
    default of max.poll.interval.ms, for which a JoinGroup may rightly wait."""
    linger_ns: int = 60_000_000_000
    """How long a closed connection is kept for packets that come late."""


DEFAULT = Limits()
