"""Pairs the responses of one connection with its requests.

A broker answers in the order of the requests (Kafka protocol guide), so order
and correlation id must agree: ids may be constant, negative or used again.  A
response can only answer what its sender had received when it sent it, which TCP's
acknowledgment number tells exactly; that decides between "the request was
lost by the capture" and "the request comes later in the capture".
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from kdissect.protocol.heads import RequestHead, response_head
from kdissect.protocol.produce import expects_no_reply
from kdissect.stream.framing import Frame
from kdissect.stream.limits import Limits

ANSWERED, NO_REPLY, UNANSWERED, REQUEST_MISSING = "answered", "no_reply_expected", "unanswered", "request_missing"
PRODUCE = 0
LATE_REQUESTS = 256
"""So many responses may wait for requests of a direction of which nothing was seen yet."""


@dataclass(slots=True, eq=False)
class Asked:
    """A request that was seen; ``head`` is None for a raw SASL token."""

    frame: Frame
    head: RequestHead | None
    gaps: int
    """Gaps of the response direction before it was sent."""


@dataclass(slots=True, eq=False)
class Settled:
    """One exchange, as final as the capture allows (or a raw SASL token pair, with ``head`` None)."""

    request: Frame | None
    head: RequestHead | None
    response: Frame | None
    outcome: str
    reason: str | None
    ordinal: int
    """Packet at which it was settled."""
    reused: bool = False
    """Another request with the same id was waiting at the same time."""
    out_of_order: bool = False
    """The answer overtook one to an earlier request."""


class Correlator:
    """The requests and responses of one connection, in the order of their streams."""

    def __init__(self, limits: Limits, behind: Callable[[int | None], bool | None], response_gaps: Callable[[], int]) -> None:
        """``behind`` tells whether requests up to a stream offset are still to come (None: that direction was never seen)."""
        self._limits = limits
        self._behind = behind
        self._response_gaps = response_gaps
        self.pending: deque[Asked] = deque()
        self._ids: Counter[int] = Counter()
        self.early: deque[Frame] = deque()
        self.settled: list[Settled] = []
        self.raw_sasl = False
        """SaslHandshake v0 was sent: frames without a Kafka header are tokens (KIP-43)."""
        self.client_ids: set[bytes] = set()
        self.overflow = 0
        """Requests that were given up because too many waited."""

    def outstanding(self) -> set[int]:
        """The correlation ids that a response may carry."""
        return {key for key, count in self._ids.items() if count}

    def expects_token(self) -> bool:
        """Whether the next response may be a raw SASL token."""
        return bool(self.pending) and self.pending[0].head is None

    def asked(self, correlation_id: int) -> Asked | None:
        """The first request that waits under this id."""
        if not self._ids[correlation_id]:
            return None
        return next((a for a in self.pending if a.head is not None and a.head.correlation_id == correlation_id), None)

    def request(self, frame: Frame, head: RequestHead | None, now: int) -> None:
        """Register a request from its header alone."""
        if head is not None and head.client_id:
            self.client_ids.add(head.client_id)
        if head is not None and head.api_key == PRODUCE and expects_no_reply(frame.data, head):
            self.settled.append(Settled(frame, head, None, NO_REPLY, None, now))
            return
        self.pending.append(Asked(frame, head, self._response_gaps()))
        if head is not None:
            self._ids[head.correlation_id] += 1
        if len(self.pending) > self._limits.pending:
            self.overflow += 1
            self._unanswered(self._pop(0), "timeout", now)

    def response(self, frame: Frame) -> None:
        """Take the next response; :meth:`pump` then pairs what can be paired."""
        self.early.append(frame)

    def pump(self, now: int, *, final: bool = False) -> None:
        """Pair the waiting responses, as far as that is decided (``final``: nothing will come any more)."""
        while self.early:
            frame = self.early[0]
            head = response_head(frame.data)
            index = None if head is None else self._index(head[1], frame.acked)
            if self.expects_token() and (index is None or not self._plain(index)):
                self._match(0, frame, now)
            elif index is not None:
                self._match(index, frame, now)
            elif not final and self._undecided(frame):
                return
            else:
                self.settled.append(Settled(None, None, frame, REQUEST_MISSING, None, now))
            self.early.popleft()

    def _plain(self, index: int) -> bool:
        """Whether all before this request are tokens, so that the login is over."""
        return all(self.pending[i].head is None for i in range(index))

    def _index(self, correlation_id: int, acked: int | None) -> int | None:
        if not self._ids[correlation_id]:
            return None
        for index, asked in enumerate(self.pending):
            if asked.head is not None and asked.head.correlation_id == correlation_id:
                frame = asked.frame
                return index if acked is None or frame.offset + frame.size <= acked else None
        return None

    def _undecided(self, frame: Frame) -> bool:
        """Whether the request may still come: the capture has not yet shown all that the broker had received."""
        behind = self._behind(frame.acked)
        if behind is None:
            return len(self.early) < LATE_REQUESTS
        return behind and sum(len(f.data) for f in self.early) < self._limits.backlog

    def _match(self, index: int, frame: Frame, now: int) -> None:
        asked = self.pending[index]
        earlier = [self.pending[i] for i in range(index)]
        overtaken = False
        for before in earlier:
            if before.head is None:
                self._pop(0)
                self.settled.append(Settled(before.frame, None, None, UNANSWERED, None, now))
            elif self._response_gaps() > before.gaps:
                self._pop(self.pending.index(before))
                self._unanswered(before, "gap", now)
            else:
                overtaken = True
        self._pop(self.pending.index(asked))
        reused = asked.head is not None and self._ids[asked.head.correlation_id] > 0
        self.settled.append(Settled(asked.frame, asked.head, frame, ANSWERED, None, now, reused, overtaken))

    def _pop(self, index: int) -> Asked:
        asked = self.pending[index]
        del self.pending[index]
        if asked.head is not None:
            left = self._ids[asked.head.correlation_id] - 1
            if left:
                self._ids[asked.head.correlation_id] = left
            else:
                del self._ids[asked.head.correlation_id]
        return asked

    def _unanswered(self, asked: Asked, reason: str, now: int) -> None:
        self.settled.append(Settled(asked.frame, asked.head, None, UNANSWERED, reason, now))

    def expire(self, now: int, time_ns: int) -> None:
        """Settle the requests whose time limit has passed."""
        while self.pending and self.pending[0].frame.last.time_ns + self._limits.answer_ns < time_ns:
            self._unanswered(self._pop(0), "timeout", now)

    def buffered(self) -> int:
        """Bytes of the messages that wait."""
        return sum(len(asked.frame.data) for asked in self.pending) + sum(len(frame.data) for frame in self.early)

    def shed(self, keep: int) -> None:
        """Keep only so many bytes of each message that waits."""
        for frame in [asked.frame for asked in self.pending] + list(self.early):
            frame.data = memoryview(bytes(frame.data[:keep]))

    def detach(self) -> None:
        """Copy the frames that wait and whose bytes are still borrowed from the batch of packets."""
        for frame in [asked.frame for asked in self.pending] + list(self.early):
            if not isinstance(frame.data.obj, bytes):
                frame.data = memoryview(bytes(frame.data))

    def close(self, now: int, reason: str) -> None:
        """Nothing more will be answered."""
        self.pump(now, final=True)
        gaps = self._response_gaps()
        while self.pending:
            asked = self._pop(0)
            self._unanswered(asked, "gap" if gaps > asked.gaps else reason, now)


LONG_POLLS = frozenset({1, 11, 14, 78})
"""Fetch, JoinGroup, SyncGroup, ShareFetch: the broker may rightly keep these waiting."""
