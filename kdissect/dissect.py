"""From captures to exchanges: the stages, wired. A good place to start reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from kdissect.capture import CaptureReader, open_captures
from kdissect.columnar.release import Plain, Releaser, booked, sift
from kdissect.columnar.sample import Sampler
from kdissect.describe import Describer, connection_findings
from kdissect.exchange import Exchange, Finding
from kdissect.ledger import Ledger
from kdissect.lookahead import can_look_ahead, topic_names
from kdissect.model import UNSTAMPED, Bytes, Int32s, Int64s, PacketBatch, SegmentBatch
from kdissect.protocol.bulk_parts import Parts, Timers
from kdissect.protocol.correlate import Settled
from kdissect.protocol.session import Session
from kdissect.protocol.state import State
from kdissect.schema.message import DecodeOptions
from kdissect.stream.connections import ConnectionTable
from kdissect.stream.endpoints import Endpoints
from kdissect.stream.lifetimes import Lifetime, Lifetimes
from kdissect.stream.limits import DEFAULT, Limits
from kdissect.stream.reassembly import Packet
from kdissect.stream.segments import Segmenter

if TYPE_CHECKING:
    from kdissect.filter import Filter


_CHUNK_WITH_BODIES = 4 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """What a dissection is to deliver."""

    records: Literal["full", "heads", "skip"] = "full"
    """``full``: record batches with their records; ``heads``: batches are checked but their records left out;
    ``skip``: not even that."""
    show_secrets: bool = False
    since_ns: int | None = None
    until_ns: int | None = None
    """Exchanges outside are left out (by request time, else response time); their indexes stay."""
    filter: Filter | None = None
    """Exchanges that do not pass are left out; their indexes stay."""
    sort: str | None = None
    """``request_time``: in order of requests, at the cost of keeping all in memory."""
    chunk_bytes: int = 8 << 20
    limits: Limits = DEFAULT
    guess_versions: bool = False
    """Read API versions newer than the schema as the newest that it has, where that fits; ``api.unknown_version`` stays."""
    flat: bool = False
    """Only the contract's fields of exchanges are wanted: most come without frames and what was observed of them, and, unless
    ``records`` is ``full``, without messages.
    Has no effect together with a filter, a time window or sorting."""
    sample: bool = False
    """With ``flat``: exchanges are decoded as far as shares can be told from them (:mod:`kdissect.columnar.sample`)."""
    bulk: bool = True
    """Take in columns what is in perfect order; False: feed all segments one by one, with the same results, slowly."""


@dataclass(slots=True)
class Connection:
    """One TCP connection of the call."""

    number: int
    id: str
    client: str
    broker: str
    protocol: str
    """``kafka``, ``tls``, ``http``, ... or ``unknown``."""
    exchanges: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    findings: list[Finding] = field(default_factory=list)
    """What is to be said of the connection as a whole, such as limits that were met."""
    broker_id: int | None = None
    """Which broker it leads to, as far as the whole capture tells; known at its end."""
    lifetime: Lifetime = field(default_factory=Lifetime)
    """How it began and ended on the TCP level."""
    client_side: int = 0
    """The client's side in :attr:`lifetime`."""


@dataclass(slots=True)
class CaptureInfo:
    """What the captures held."""

    files: list[str]
    packets: int = 0
    tcp_packets: int = 0
    first_time_ns: int | None = None
    last_time_ns: int | None = None
    time_digits: int = 6
    errors: list[str] = field(default_factory=list)
    """One line for each input that could not be read as a capture."""


class Describes(Protocol):
    """Takes what was settled, in order of release."""

    def describe(self, settled: Settled, session: Session, ledger: Ledger) -> Exchange | None:
        """An exchange, or None where there is none to tell of."""


class Dissection:
    """Dissects captures; iterate :meth:`batches` once, then read the totals.

    Exchanges come in order of release: the packet at which they are settled and
    their connection is recognised as Kafka, then connection, then stream offset.
    """

    def __init__(
        self,
        paths: Sequence[str],
        options: Options,
        on_warning: Callable[[str], None],
        *,
        describer: Describes | None = None,
    ) -> None:
        """``describer`` replaces the one that makes exchanges, for whoever wants less than exchanges."""
        self.options = options
        # Decoded bodies take many times the room of their bytes.
        chunk_bytes = min(options.chunk_bytes, _CHUNK_WITH_BODIES) if options.records == "full" else options.chunk_bytes
        self.reader: CaptureReader = open_captures(paths, chunk_bytes=chunk_bytes, on_warning=on_warning)
        self.endpoints = Endpoints()
        self.segmenter = Segmenter(self.endpoints)
        self.table = ConnectionTable()
        self.lifetimes = Lifetimes()
        self.capture = CaptureInfo(list(paths))
        self.connections: list[Connection] = []
        self.ledger = Ledger()
        decoding = self._decoding = DecodeOptions(
            show_secrets=options.show_secrets, records=options.records, guess_versions=options.guess_versions
        )
        rereadable = describer is None and can_look_ahead(paths)
        self.state = State((lambda: topic_names(paths, options)) if rereadable else None)
        self._describer = describer or Describer(decoding, self.reader.files, self.endpoints, self.state)
        self._sessions: dict[int, Session] = {}
        self._latest: dict[tuple[int, int], int] = {}
        self._timers = Timers(options.limits)
        self._parts = Parts(self._sessions, self._timers, options.bulk)
        whole = options.since_ns is None and options.until_ns is None and options.filter is None and options.sort is None
        flat = options.flat and whole and describer is None
        self._releaser = Releaser(self.reader.files, self.endpoints, self.state) if flat else None
        self._sampler = Sampler() if flat and options.sample else None
        self._plain: list[Plain] = []
        self._clock = UNSTAMPED
        self._buffered: dict[int, int] = {}
        self._buffered_total = 0
        self._released = 0
        self._filter = copy(options.filter)  # Of its own, for it learns when this capture begins.
        self._ordinal = 0

    def __iter__(self) -> Iterator[Exchange]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[Sequence[Exchange]]:
        """The exchanges, a list for each batch of packets."""
        if self.options.sort:
            everything = [exchange for batch in self._stream() for exchange in batch]
            everything.sort(key=lambda e: (_when(e) is None, _when(e) or 0, e.index))
            yield everything
            return
        yield from self._stream()

    def _stream(self) -> Iterator[Sequence[Exchange]]:
        for packets in self.reader:
            yield self._release(self._feed(packets))
            self._account()
        done: list[tuple[Settled, Session]] = []
        for index in list(self._sessions):
            done += self._finish(index, "capture_end")
        yield self._release(done)
        for connection in self.connections:
            if connection.protocol == "kafka":
                connection.broker_id = self.state.brokers.at(connection.broker)
        self._account()

    def _feed(self, packets: PacketBatch) -> list[tuple[Settled, Session]]:
        """Run one batch of packets through the stages; return what it settled."""
        segments = self.segmenter.feed(packets)
        owners, sides = self.table.assign(segments)
        self.lifetimes.feed(segments, owners, sides)
        done: list[tuple[Settled, Session]] = []
        touched: set[Session] = set()
        clock = np.maximum(np.maximum.accumulate(segments.time_ns), self._clock) if len(segments) else segments.time_ns

        def tick(ordinal: int, time_ns: int) -> None:
            self._clock = time_ns
            done.extend(self._tick(ordinal, time_ns))

        for part in self._parts.of(segments, owners, sides, clock, tick):
            touched.update(part.advanced)
            for rows in part.settled:
                if self._releaser is not None:
                    plain, others = sift(rows, self._decoding, self.state, self._sampler)
                    self._plain.append(plain)
                    done += others
                else:
                    done += [(rows.settled(row), rows.sessions[rows.session[row]]) for row in range(len(rows))]
            self._feed_singly(segments, owners, sides, clock, part.singles, done, touched)
        if len(segments):
            self._clock, self._ordinal = int(clock[-1]), int(segments.ordinal[-1])
        for session in touched:
            session.detach()
        done += self._bound(touched)
        return done

    def _feed_singly(
        self,
        segments: SegmentBatch,
        owners: Int32s,
        sides: Bytes,
        clock: Int64s,
        rows: Int64s,
        done: list[tuple[Settled, Session]],
        touched: set[Session],
    ) -> None:
        """Feed some segments to their connections, one by one."""
        data = segments.data.data
        columns = (
            clock, owners, sides, segments.seq, segments.ack, segments.flags, segments.start, segments.size, segments.length,
            segments.ordinal, segments.time_ns, segments.number, segments.file,
        )  # fmt: skip
        for now, owner, side, seq, ack, flags, start, size, length, ordinal, time_ns, number, file in zip(
            *(column[rows].tolist() for column in columns), strict=True
        ):
            self._clock, self._ordinal = now, ordinal
            session = self._sessions.get(owner)
            if session is None:
                if owner < len(self.connections):
                    # Long closed: what still comes belongs to no message.
                    late = self.connections[owner].ledger
                    late.captured += size
                    late.skipped += size
                    continue
                session, ended = self._open(owner)
                done += ended
            session.feed(side, seq, ack, flags, data[start : start + size], length, Packet(ordinal, time_ns, number, file, None))
            if session.correlator.settled:
                done += [(settled, session) for settled in session.take()]
            touched.add(session)

    def _bound(self, touched: set[Session]) -> list[tuple[Settled, Session]]:
        """Keep what all connections hold under the limit: those that hold most let go first."""
        for session in touched:
            held = session.buffered()
            number = session.incarnation.number - 1
            self._buffered_total += held - self._buffered.pop(number, 0)
            if held:
                self._buffered[number] = held
        done: list[tuple[Settled, Session]] = []
        while self._buffered_total > self.options.limits.total:
            number = max(self._buffered, key=self._buffered.__getitem__)
            session = self._sessions[number]
            session.shed(self._ordinal)
            done += [(settled, session) for settled in session.take()]
            left, before = session.buffered(), self._buffered[number]
            self._buffered_total += left - before
            self._buffered[number] = left
            if left >= before:
                break
        return done

    def _open(self, owner: int) -> tuple[Session, list[tuple[Settled, Session]]]:
        incarnation = self.table.incarnations[owner]
        previous = self._latest.get(incarnation.endpoints)
        ended = self._finish(previous, "closed") if previous is not None and previous in self._sessions else []
        session = self._sessions[owner] = Session(incarnation, self.options.limits)
        self._latest[incarnation.endpoints] = owner
        first, second = (self.endpoints.text(end) for end in incarnation.endpoints)
        self.connections.append(Connection(incarnation.number, session.identity(first, second), first, second, "unknown"))
        self._timers.wind(owner, self._clock)
        return session, ended

    # Time

    def _tick(self, ordinal: int, time_ns: int) -> list[tuple[Settled, Session]]:
        done: list[tuple[Settled, Session]] = []
        for owner in self._timers.due(time_ns):
            session = self._sessions.get(owner)
            if session is None:
                continue
            self._ordinal = ordinal
            if session.over and session.quiet_since(time_ns, self.options.limits.linger_ns):
                done += self._finish(owner, "closed")
                continue
            session.let_time_pass(ordinal, time_ns)
            done += [(settled, session) for settled in session.take()]
            self._timers.wind(owner, time_ns)
        return done

    def _finish(self, owner: int, reason: str) -> list[tuple[Settled, Session]]:
        session = self._sessions.pop(owner)
        self._buffered_total -= self._buffered.pop(owner, 0)
        session.finish(self._ordinal, reason)
        connection = self.connections[session.incarnation.number - 1]
        connection.protocol = session.protocol
        ends, client = session.incarnation.endpoints, session.client or 0
        connection.client, connection.broker = self.endpoints.text(ends[client]), self.endpoints.text(ends[1 - client])
        connection.id = session.identity(connection.client, connection.broker)
        session.account(connection.ledger)
        connection.lifetime, connection.client_side = self.lifetimes[owner], client
        connection.findings = connection_findings(session)
        return [(settled, session) for settled in session.take()]

    # Out

    def _release(self, done: list[tuple[Settled, Session]]) -> Sequence[Exchange]:
        """Number and describe what was settled, in order of release."""
        if self._releaser is not None and self._plain:
            return self._release_columns(self._releaser, done)
        done.sort(key=_release_order)
        since, until = self.options.since_ns, self.options.until_ns
        out: list[Exchange] = []
        for settled, session in done:
            connection = self.connections[session.incarnation.number - 1]
            exchange = self._describer.describe(settled, session, connection.ledger)
            if exchange is None:
                continue
            self._released += 1
            exchange.index = self._released
            connection.exchanges += 1
            when = _when(exchange)
            if (since is None and until is None) or (
                when is not None and (since is None or when >= since) and (until is None or when <= until)
            ):
                out.append(exchange)
        if self._filter is None:
            return out
        self._filter.start_ns = self.segmenter.first_time_ns
        return self._filter.keep(out)

    def _release_columns(self, releaser: Releaser, done: list[tuple[Settled, Session]]) -> Sequence[Exchange]:
        plain, self._plain = self._plain, []

        def describe(settled: Settled, session: Session, index: int) -> Exchange | None:
            connection = self.connections[session.incarnation.number - 1]
            exchange = self._describer.describe(settled, session, connection.ledger)
            if exchange is not None:
                exchange.index = index
                connection.exchanges += 1
            return exchange

        batch, kept = releaser.release(done, plain, self._released + 1, describe)
        for session, exchanges, size in booked(kept):
            connection = self.connections[session.incarnation.number - 1]
            connection.exchanges += exchanges
            connection.ledger.decoded += size
        self._released += len(batch)
        return batch

    def _account(self) -> None:
        """Bring the totals up to date."""
        capture, segmenter = self.capture, self.segmenter
        capture.packets, capture.tcp_packets = segmenter.packets, segmenter.tcp_packets
        capture.first_time_ns, capture.last_time_ns = segmenter.first_time_ns, segmenter.last_time_ns
        capture.errors = [file.error for file in self.reader.files if file.error is not None]
        self.ledger = Ledger()
        for connection in self.connections:
            if connection.protocol == "kafka":
                self.ledger.add(connection.ledger)


def _when(exchange: Exchange) -> int | None:
    return exchange.request_time_ns if exchange.request_time_ns is not None else exchange.response_time_ns


def _release_order(item: tuple[Settled, Session]) -> tuple[int, int, int]:
    settled, session = item
    frame = settled.request or settled.response
    return settled.ordinal, session.incarnation.number, frame.offset if frame else 0
