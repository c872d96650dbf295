"""One TCP connection, from its segments to its exchanges.

Sans-io and incremental: segments go in one by one in packet order, settled
exchanges come out, and nothing depends on how the segments were batched.
Between reassembly and framing stands the seam where a stream may be transformed
(:attr:`Session.transforms`): a TLS layer takes pieces of ciphertext and gives
pieces of plaintext that remember the packets of the wire.
"""

from __future__ import annotations

from typing import Protocol

from kdissect.ledger import Ledger
from kdissect.model import ACK, FIN, RST, SYN, UNSTAMPED
from kdissect.protocol import detect, resync
from kdissect.protocol.correlate import Correlator, Settled
from kdissect.protocol.heads import HANDSHAKE, RequestHead, known, request_head, response_head
from kdissect.stream.connections import Incarnation
from kdissect.stream.framing import Admit, Frame, Framer, differs
from kdissect.stream.limits import Limits
from kdissect.stream.reassembly import Packet, Piece, Reassembler

LARGEST_TOKEN = 1 << 20
"""A raw SASL token is never larger (sasl.server.max.receive.size is 512 kB)."""
PRIVATE_KEYS = 10_000
"""Keys up to here may be a vendor's own API; above, the bytes are no header."""
PRIVATE_VERSIONS = 100
KEPT_WHEN_SHORT = 4096
"""Bytes kept of each message when memory is short: enough for its header and what stands first."""


class Transform(Protocol):
    """Turns wire pieces of one direction into plaintext pieces."""

    def feed(self, piece: Piece) -> list[Piece]: ...


class Session:
    """Everything known about one connection.

    ``client`` is the direction (0 or 1) in which requests flow, None until the
    connection is recognised as Kafka; ``protocol`` names what it speaks.
    """

    def __init__(self, incarnation: Incarnation, limits: Limits) -> None:
        self.incarnation = incarnation
        self.limits = limits
        self.streams = (Reassembler(), Reassembler())
        self.framers = (Framer(self._admitter(0), limits.message), Framer(self._admitter(1), limits.message))
        self.transforms: list[Transform | None] = [None, None]
        self.client: int | None = None
        self.protocol = "unknown"
        self.ignored = False
        self.reset = False
        self.closed: str | None = None
        """Why nothing more will come, once all that was open is settled."""
        self.correlator = Correlator(limits, self.requests_behind, self._response_gaps)
        self.detection = detect.Detection()
        self.opaque = 0
        """Bytes before the first message that belong to it: PROXY prefix, raw SASL tokens."""
        self.segments = 0
        self.last_time_ns = UNSTAMPED
        self.dropped_holes = 0
        """Holes given up because too much waited behind them."""
        self.shed_bytes = 0
        """Bytes let go because all connections together kept too much."""

    # Input

    def feed(self, side: int, seq: int, ack: int, flags: int, data: memoryview, length: int, packet: Packet) -> None:
        """Take one segment; ``packet.acked`` is filled in here."""
        stream, other = self.streams[side], self.streams[1 - side]
        self.segments += 1
        self.last_time_ns = max(self.last_time_ns, packet.time_ns)
        if flags & SYN:
            seq = (seq + 1) & 0xFFFFFFFF
        if not stream.known or (stream.starting and flags & SYN):
            if flags & RST and not length:
                self.reset = True
                return
            for piece in stream.start(seq, certain=bool(flags & SYN)):
                self._deliver(side, piece)
        if flags & ACK:
            acked = other.note_ack(ack)
            if acked is not None:
                packet = packet._replace(acked=acked)
        if length:
            if self.ignored:
                stream.captured += len(data)
                return
            for piece in stream.feed(seq, data, length, packet):
                self._deliver(side, piece)
            if stream.overlaps:
                self._compare(side)
            self._advance(packet.ordinal)
        if stream.held or other.held:
            self._check_holes(packet)
        if flags & FIN:
            stream.fin = stream.offset_of(seq) + length
        if flags & RST:
            self.reset = True
        if stream.fin is not None or other.fin is not None:
            self._close_if_complete(packet.ordinal)

    def _close_if_complete(self, now: int) -> None:
        """Settle what is open once all is there that the broker sent before its FIN."""
        if self.client is None or self.closed is not None:
            return
        response = self.streams[1 - self.client]
        # A hole may still be filled, and a response may wait for a request that comes late.
        open_ends = self.correlator.early or any(stream.held or stream.starting for stream in self.streams)
        if response.fin is not None and response.pos >= response.fin and not open_ends:
            self._close(now, "closed")

    def let_time_pass(self, now: int, time_ns: int) -> None:
        """Settle what time decides on a silent connection: answers overdue, and all that was open at a reset.

        A reset does not settle at once, for the capture may hold segments behind it that were sent before.
        """
        if self.reset and self.closed is None and self.client is not None and self.quiet_since(time_ns, self.limits.reorder_ns):
            self._flush(now)
            self._close(now, "closed")
        self.correlator.expire(now, time_ns)

    @property
    def over(self) -> bool:
        """Whether the connection was closed on both sides, or reset."""
        return self.reset or self.closed is not None or all(stream.fin is not None for stream in self.streams)

    def quiet_since(self, time_ns: int, interval: int) -> bool:
        """Whether the last segment is older than this."""
        return self.last_time_ns + interval < time_ns

    def _close(self, now: int, reason: str) -> None:
        """Nothing more will be answered: a response that is not there in full is what there is."""
        assert self.client is not None
        self.closed = reason
        self.framers[1 - self.client].end()
        self.collect(now)
        self.correlator.close(now, reason)

    def finish(self, now: int, reason: str = "capture_end") -> None:
        """The connection is over (capture end, or another incarnation took its place): let everything out."""
        if self.ignored:
            return
        self._flush(now)
        if self.client is None:
            detect.recognise(self, now, final=True)
        if self.client is not None:
            self._advance(now, final=True)
            for framer in self.framers:
                framer.end()
            self.collect(now)
            self._close(now, "closed" if self.reset else reason)

    # Holes

    def _flush(self, now: int) -> None:
        """Give up every hole."""
        for side in (0, 1):
            while self.streams[side].held:
                for piece in self.streams[side].give_up():
                    self._deliver(side, piece)
                self._advance(now)

    def _check_holes(self, packet: Packet) -> None:
        for side in (0, 1):
            stream = self.streams[side]
            while stream.held and self._lost(stream, packet):
                for piece in stream.give_up():
                    self._deliver(side, piece)
                self._advance(packet.ordinal)

    def _lost(self, stream: Reassembler, packet: Packet) -> bool:
        """Whether the first hole of this direction will never be filled."""
        limits = self.limits
        here = (self.segments, self.last_time_ns)
        if stream.hole_since is None:
            stream.hole_since = here
        if stream.held_bytes > limits.held:
            self.dropped_holes += 1
            return True
        if stream.hole_acked_at is None:
            other = self.streams[0] if stream is self.streams[1] else self.streams[1]
            acked = stream.acked is not None and stream.acked >= stream.held[0].offset
            if acked or stream.starting or not other.known:
                stream.hole_acked_at = here
        if stream.hole_acked_at is not None:
            segments, time_ns = stream.hole_acked_at
            return self.segments - segments >= limits.reorder_segments or here[1] - time_ns > limits.reorder_ns
        return here[1] - stream.hole_since[1] > limits.retransmit_ns

    def _compare(self, side: int) -> None:
        """Hold second copies against the first ones, where those are still there: unfinished and unanswered messages."""
        stream = self.streams[side]
        for offset, data in stream.overlaps:
            if self.framers[side].contradicts(offset, data):
                stream.conflicts.append(offset)
            if side == self.client:
                for asked in self.correlator.pending:
                    asked.frame.conflict |= differs(asked.frame.data, asked.frame.offset, data, offset)
        stream.overlaps.clear()

    def buffered(self) -> int:
        """Bytes kept for this connection."""
        return (
            sum(stream.held_bytes for stream in self.streams)
            + sum(framer.buffered_bytes for framer in self.framers)
            + self.correlator.buffered()
        )

    def shed(self, now: int) -> None:
        """Let go of most of what is kept: memory is short."""
        self.shed_bytes += self.buffered()
        self._flush(now)
        for framer in self.framers:
            framer.shed(KEPT_WHEN_SHORT)
        self.correlator.shed(KEPT_WHEN_SHORT)

    # From pieces to exchanges

    def _deliver(self, side: int, piece: Piece) -> None:
        transform = self.transforms[side]
        for plain in (piece,) if transform is None else transform.feed(piece):
            self.framers[side].feed(plain)

    def _advance(self, now: int, *, final: bool = False) -> None:
        """Take what the framers cut, and look for boundaries where they are lost."""
        if self.client is None:
            if not final:
                detect.recognise(self, now)
            if self.client is None:
                return
        self.collect(now)
        requests, responses = self.framers[self.client], self.framers[1 - self.client]
        while not requests.synced and resync.requests(self, final=final):
            self.collect(now)
        while not responses.synced and resync.responses(self, final=final):
            self.collect(now)

    def collect(self, now: int) -> None:
        assert self.client is not None
        correlator = self.correlator
        for frame in self._taken(self.client):
            head = request_head(frame.data)
            if correlator.raw_sasl and frame.complete and not _kafka_like(head):
                head = None
            elif head is None:
                # Its very header is lost: nothing can be said of it.
                self.framers[self.client].skipped += frame.captured
                continue
            correlator.request(frame, head, now)
        for frame in self._taken(1 - self.client):
            correlator.response(frame)
        correlator.pump(now)

    def _taken(self, side: int) -> list[Frame]:
        frames = self.framers[side].take()
        conflicts = self.streams[side].conflicts
        if conflicts:
            for frame in frames:
                frame.conflict = any(frame.offset <= offset < frame.offset + frame.size for offset in conflicts)
        return frames

    def take(self) -> list[Settled]:
        """Hand over the exchanges settled so far."""
        settled, self.correlator.settled = self.correlator.settled, []
        return settled

    # Accounts

    def identity(self, client: str, broker: str) -> str:
        """The connection's name, the same in every engine: its ends and the time of its first packet."""
        time_ns = self.incarnation.first_time_ns
        return f"{client}-{broker}@{0 if time_ns == UNSTAMPED else time_ns}"

    def account(self, ledger: Ledger) -> None:
        """Book what never became part of a message; call once, after :meth:`finish`."""
        for stream, framer in zip(self.streams, self.framers, strict=True):
            ledger.captured += stream.captured
            ledger.duplicate += stream.duplicate
            ledger.skipped += stream.stray + framer.skipped
            ledger.missing += framer.missing
        ledger.opaque += self.opaque

    def detach(self) -> None:
        """Copy what is still borrowed from the batch of packets."""
        for framer in self.framers:
            framer.detach()
        self.correlator.detach()

    # What frames may look like

    def _admitter(self, side: int) -> Admit:
        def admit(head: memoryview, size: int, packet: Packet) -> bool:
            return self._admit_request(head, size) if side == self.client else self._admit_response(head, size, packet)

        return admit

    def _admit_request(self, data: memoryview, size: int) -> bool:
        head = request_head(data)
        if head is None:
            return self.correlator.raw_sasl
        if (head.api_key, head.api_version) == HANDSHAKE:
            self.correlator.raw_sasl = True
        if known(head.api_key, head.api_version):
            return True
        if self.correlator.raw_sasl and size <= LARGEST_TOKEN:
            return True
        return 0 <= head.api_key < PRIVATE_KEYS and 0 <= head.api_version < PRIVATE_VERSIONS and size >= 14

    def _admit_response(self, data: memoryview, size: int, packet: Packet) -> bool:
        correlator = self.correlator
        if correlator.raw_sasl and correlator.expects_token():
            return size <= LARGEST_TOKEN
        head = response_head(data)
        if head is None:
            return False
        if correlator.asked(head[1]) is not None:
            return True
        # An unknown id is believed only where its request can have been missed, or is still to come.
        assert self.client is not None
        requests, stream = self.framers[self.client], self.streams[self.client]
        return requests.gaps > 0 or not stream.certain or self.requests_behind(packet.acked) is not False

    def framed(self) -> int | None:
        """Up to which stream offset all requests are known."""
        assert self.client is not None
        return self.framers[self.client].framed if self.streams[self.client].known else None

    def requests_behind(self, acked: int | None) -> bool | None:
        """Whether requests up to this stream offset are still to come; None while nothing is known of that direction."""
        framed = self.framed()
        if framed is None or self.client is None:
            return None
        if acked is None:
            return bool(self.streams[self.client].held) or not self.framers[self.client].synced
        return framed < acked

    def _response_gaps(self) -> int:
        return 0 if self.client is None else self.framers[1 - self.client].gaps


def _kafka_like(head: RequestHead | None) -> bool:
    return head is not None and known(head.api_key, head.api_version)
