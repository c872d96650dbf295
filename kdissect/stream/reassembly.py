"""One direction of a TCP connection: segments in any order in, bytes and gaps in stream order out.

Stream offsets count from 0 at the first byte (the one after the SYN, or the
first that the capture shows) and never wrap.  Of overlapping segments the
first copy seen is kept (what Kafka itself did cannot be known; Wireshark does
the same), the others are counted as duplicate.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import NamedTuple

_MASK = 0xFFFFFFFF
_HALF = 0x80000000
WINDOW = 1 << 30
"""The largest TCP window (RFC 7323): data further away belongs to no byte of this connection."""


class Packet(NamedTuple):
    """What a delivered byte remembers of the packet that carried it."""

    ordinal: int
    time_ns: int
    number: int
    file: int
    acked: int | None
    """How much of the other direction (stream offset) the sender had received, where known."""


class Piece(NamedTuple):
    """A run of consecutive stream bytes, held (``data``) or missing (``data`` is None)."""

    offset: int
    length: int
    data: memoryview | None
    packet: Packet | None


class Reassembler:
    """Puts the segments of one direction in order.

    Bytes behind a hole are held (copied) until the hole is filled or
    :meth:`give_up` declares it lost.
    """

    __slots__ = (
        "acked", "captured", "certain", "conflicts", "duplicate", "fin", "held", "held_bytes", "hole_acked_at",
        "hole_since", "known", "overlaps", "pos", "seq", "starting", "stray",
    )  # fmt: skip

    def __init__(self) -> None:
        self.known = False
        self.certain = False
        """Offset 0 is the first byte of the connection (its SYN was seen)."""
        self.starting = False
        """The first byte is not settled yet: earlier ones may still come."""
        self.pos = 0
        self.seq = 0
        self.held: list[Piece] = []
        self.held_bytes = 0
        self.fin: int | None = None
        self.acked: int | None = None
        self.hole_since: tuple[int, int] | None = None
        """(segment count of the connection, time) when the first hole opened."""
        self.hole_acked_at: tuple[int, int] | None = None
        """The same when the receiver was first seen to have what the capture lacks."""
        self.captured = 0
        self.duplicate = 0
        self.stray = 0
        self.conflicts: list[int] = []
        """Stream offsets at which a second copy said something else than the first, which was still held."""
        self.overlaps: list[tuple[int, memoryview]] = []
        """Second copies of bytes already delivered: (stream offset, bytes), for whoever still holds the first."""

    def start(self, seq: int, *, certain: bool) -> list[Piece]:
        """Declare that the stream begins with this sequence number; return what can be delivered thereby.

        A certain start is a SYN's.  An uncertain one is the first that the capture shows: what arrives
        is held for a moment, in case the capture holds earlier packets later.
        """
        seq &= _MASK
        if certain and self.starting:
            self._settle(self.offset_of(seq))
            self.certain = True
            return self._drain()
        if not self.known:
            self.known, self.seq, self.certain, self.starting = True, seq, certain, not certain
        return []

    def _settle(self, first: int) -> None:
        """Make this offset the stream's 0."""
        self.seq = (self.seq + first - self.pos) & _MASK
        before = [piece for piece in self.held if piece.offset < first]
        self.stray += sum(len(piece.data or b"") for piece in before)
        self.held = [piece._replace(offset=piece.offset - first) for piece in self.held[len(before) :]]
        if self.fin is not None:
            self.fin -= first
        self.conflicts = [offset - first for offset in self.conflicts]
        self.pos = 0
        self.starting = False

    def offset_of(self, seq: int) -> int:
        """Stream offset of a sequence number near the current position."""
        return self.pos + ((seq - self.seq + _HALF) & _MASK) - _HALF

    def note_ack(self, ack: int) -> int | None:
        """Note how far the receiver has acknowledged; return it as a stream offset."""
        if not self.known or self.starting:
            return None
        offset = self.offset_of(ack)
        if self.acked is None or offset > self.acked:
            self.acked = offset
        return offset

    def feed(self, seq: int, data: memoryview, length: int, packet: Packet) -> list[Piece]:
        """Take one segment whose payload is ``length`` bytes on the wire, of which ``data`` was captured."""
        size = len(data)
        self.captured += size
        if seq == self.seq and not self.held and not self.starting:
            offset = self.pos
            self.pos += length
            self.seq = (seq + length) & _MASK
            if size == length:
                return [Piece(offset, length, data, packet)]
            return self._cut(Piece(offset, length, data, packet))
        offset = self.offset_of(seq)
        if not -WINDOW < offset - self.pos < WINDOW:
            self.stray += size
            return []
        if self.starting:
            self._hold(offset, length, data, packet)
            return []
        if offset < self.pos:
            old = min(self.pos - offset, length)
            self.duplicate += min(old, size)
            self.overlaps.append((offset, data[:old]))
            if old == length:
                return []
            offset += old
            length -= old
            data = data[old:]
        self._hold(offset, length, data, packet)
        return self._drain()

    @staticmethod
    def _cut(piece: Piece) -> list[Piece]:
        """A packet cut by the snap length: what it holds, then what it lacks."""
        assert piece.data is not None
        have = len(piece.data)
        lacking = Piece(piece.offset + have, piece.length - have, None, None)
        return [Piece(piece.offset, have, piece.data, piece.packet), lacking] if have else [lacking]

    def _hold(self, offset: int, length: int, data: memoryview, packet: Packet) -> None:
        """Keep the parts of a segment that no held piece covers already."""
        end = offset + length
        index = bisect_right(self.held, offset, key=lambda piece: piece.offset)
        if index and self.held[index - 1].offset + self.held[index - 1].length > offset:
            index -= 1
        at = offset
        fresh: list[Piece] = []
        while at < end:
            piece = self.held[index] if index < len(self.held) else None
            if piece is None or piece.offset >= end:
                stop = end
            elif piece.offset > at:
                stop = piece.offset
            else:
                stop = min(end, piece.offset + piece.length)
                copy = data[at - offset : stop - offset]
                self.duplicate += len(copy)
                if piece.data is not None:
                    first = piece.data[at - piece.offset : stop - piece.offset]
                    common = min(len(first), len(copy))
                    if first[:common] != copy[:common]:
                        self.conflicts.append(at)
                at = stop
                index += 1
                continue
            # Copied: the batch that holds the bytes may be gone when the hole is filled.
            part = memoryview(bytes(data[at - offset : stop - offset]))
            fresh.append(Piece(at, stop - at, part, packet))
            self.held_bytes += len(part)
            at = stop
        for piece in fresh:
            insort(self.held, piece, key=lambda piece: piece.offset)

    def _drain(self) -> list[Piece]:
        """Deliver what has become contiguous."""
        out: list[Piece] = []
        taken = 0
        for piece in self.held:
            if piece.offset != self.pos:
                break
            assert piece.data is not None
            taken += 1
            self.held_bytes -= len(piece.data)
            self._advance(piece.length)
            if len(piece.data) == piece.length:
                out.append(piece)
            else:
                out += self._cut(piece)
        if taken:
            del self.held[:taken]
            self.hole_since = self.hole_acked_at = None
        return out

    def _advance(self, length: int) -> None:
        self.pos += length
        self.seq = (self.seq + length) & _MASK

    def give_up(self) -> list[Piece]:
        """Declare the first hole lost: a missing piece, then what stood behind it."""
        if not self.held:
            return []
        if self.starting:
            self._settle(self.held[0].offset)
            return self._drain()
        gap = self.held[0].offset - self.pos
        lost = Piece(self.pos, gap, None, None)
        self._advance(gap)
        return [lost, *self._drain()]
