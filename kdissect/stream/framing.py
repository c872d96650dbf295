"""One direction's bytes cut into Kafka's size-prefixed frames.

Sans-io and incremental: what comes out depends on the pieces alone, not on how
they were batched.  A framer is either *synced* (it knows that a frame starts at
its position) or *lost* (after a gap that swallowed a frame boundary, at a start
in the middle of a message, after a senseless size).  While lost it keeps what
arrives in a :class:`Backlog` until somebody who knows Kafka's headers finds the
next true boundary and calls :meth:`Framer.resume`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kdissect.stream.reassembly import Packet, Piece

HEAD = 12
"""Bytes of a frame that its admission looks at: size, api_key, api_version, correlation_id (or size and correlation_id)."""

Admit = Callable[[memoryview, int, Packet], bool]

LARGEST = 1 << 30
"""No size above this is believed (Kafka's own default limit is socket.request.max.bytes, 100 MiB)."""


@dataclass(slots=True, eq=False)
class Frame:
    """A size prefix and that many bytes, as far as they were captured."""

    data: memoryview
    """The bytes from the size prefix on, up to the first that is missing."""
    size: int
    """Bytes of the whole frame, prefix included."""
    captured: int
    """Bytes of it in the capture, those behind a hole included."""
    offset: int
    """Stream offset of the size prefix."""
    first: Packet
    """The earliest and the latest packet among the first copies of its bytes; the latest completes it."""
    last: Packet
    acked: int | None
    """How much of the other direction the sender had received when it sent the frame's first byte."""
    conflict: bool = False
    """Some of its bytes were captured twice, and differently."""

    @property
    def complete(self) -> bool:
        return len(self.data) == self.size


class _Assembly:
    """A frame that lies in more than one piece."""

    __slots__ = ("admitted", "captured", "cut", "first", "held", "last", "lead", "limit", "offset", "parts", "seen", "total")

    def __init__(self, offset: int, limit: int) -> None:
        self.offset = offset
        self.limit = limit
        self.total = 0
        self.parts: list[memoryview] = []
        self.held = 0
        self.seen = 0
        self.captured = 0
        self.cut = False
        self.admitted = False
        self.lead: Packet | None = None
        self.first: Packet | None = None
        self.last: Packet | None = None

    def add(self, part: memoryview, packet: Packet) -> None:
        size = len(part)
        self.seen += size
        self.captured += size
        if self.lead is None:
            self.lead = self.first = self.last = packet
        else:
            assert self.first is not None and self.last is not None
            if packet.ordinal < self.first.ordinal:
                self.first = packet
            if packet.ordinal > self.last.ordinal:
                self.last = packet
        if not self.cut:
            if self.total > self.limit and self.held + size > self.limit:
                part = part[: self.limit - self.held]
                self.cut = True
            self.parts.append(part)
            self.held += len(part)

    def head(self, size: int) -> memoryview:
        if len(self.parts) > 1:
            self.parts = [memoryview(b"".join(self.parts))]
        return self.parts[0][:size] if self.parts else memoryview(b"")

    def frame(self) -> Frame:
        assert self.lead is not None and self.first is not None and self.last is not None
        data = self.parts[0] if len(self.parts) == 1 else memoryview(b"".join(self.parts))
        return Frame(data, self.total, self.captured, self.offset, self.first, self.last, self.lead.acked)

    def detach(self) -> None:
        self.parts = [memoryview(b"".join(self.parts))]


class Run:
    """Contiguous bytes of a backlog, with the packets that carried them."""

    __slots__ = ("data", "marks", "offset", "scanned")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.data = bytearray()
        self.marks: list[tuple[int, Packet]] = []
        """(stream offset of the first byte, packet), ascending."""
        self.scanned = 0
        """Bytes from the start of which it is settled that no frame starts there."""

    def pieces(self, start: int) -> list[Piece]:
        """The run again as pieces, from a stream offset on."""
        data = memoryview(bytes(self.data))
        out = []
        ends = [offset for offset, _ in self.marks[1:]] + [self.offset + len(data)]
        for (offset, packet), end in zip(self.marks, ends, strict=False):
            if end > start:
                offset = max(offset, start)
                out.append(Piece(offset, end - offset, data[offset - self.offset : end - self.offset], packet))
        return out


class Framer:
    """Cuts one direction into frames.

    ``admit(head, size, packet)`` is asked once for each frame, with its first
    :data:`HEAD` bytes (fewer for a shorter frame) and the packet of the first of them: False
    means that no frame can start there, and the framer is lost.
    """

    __slots__ = ("_admit", "_assembly", "backlog", "frames", "gaps", "limit", "missing", "position", "skipped", "synced")

    def __init__(self, admit: Admit, limit: int) -> None:
        self._admit = admit
        self._assembly: _Assembly | None = None
        self.limit = limit
        """Bytes of one frame that are kept; what is longer is cut there."""
        self.synced = False
        self.position = 0
        """Stream offset of the next byte to come."""
        self.backlog: list[Run] = []
        self.frames: list[Frame] = []
        """What was cut and not yet taken."""
        self.gaps = 0
        self.missing = 0
        self.skipped = 0

    @property
    def backlog_bytes(self) -> int:
        return sum(len(run.data) for run in self.backlog)

    @property
    def framed(self) -> int:
        """Stream offset up to which all frames came out."""
        if self._assembly is not None:
            return self._assembly.offset
        if self.synced or not self.backlog:
            return self.position
        return self.backlog[0].offset

    @property
    def buffered_bytes(self) -> int:
        return self.backlog_bytes + (self._assembly.held if self._assembly else 0)

    def take(self) -> list[Frame]:
        """Hand over the frames cut so far."""
        frames, self.frames = self.frames, []
        return frames

    def feed(self, piece: Piece) -> None:
        """Take the next piece of the stream."""
        if piece.data is None:
            self._miss(piece)
        elif self.synced:
            self._cut(piece.data, piece)
        else:
            self._keep(piece.offset, piece.data, piece)
        self.position = piece.offset + piece.length

    def _cut(self, data: memoryview, piece: Piece) -> None:
        packet = piece.packet
        assert packet is not None
        at, end = 0, len(data)
        while at < end:
            assembly = self._assembly
            if assembly is None:
                left = end - at
                if left >= 4:
                    total = int.from_bytes(data[at : at + 4]) + 4
                    if total <= left and total <= self.limit:
                        if not self._admit(data[at : at + min(HEAD, total)], total, packet):
                            self._lose(piece.offset + at, [(data[at:], packet)])
                            return
                        self.frames.append(
                            Frame(data[at : at + total], total, total, piece.offset + at, packet, packet, packet.acked)
                        )
                        at += total
                        continue
                assembly = self._assembly = _Assembly(piece.offset + at, self.limit)
            at = self._extend(assembly, data, at, packet)
            if at < 0:
                return

    def _extend(self, assembly: _Assembly, data: memoryview, at: int, packet: Packet) -> int:
        """Give the unfinished frame more bytes; return where it ends in ``data``, or -1 when lost."""
        while at < len(data):
            want = assembly.total or 4
            if not assembly.admitted and assembly.total:
                want = min(HEAD, assembly.total)
            step = data[at : at + max(0, want - assembly.seen)]
            assembly.add(step, packet)
            at += len(step)
            if assembly.seen < want:
                break
            if not assembly.total:
                assembly.total = int.from_bytes(assembly.head(4)) + 4
                if assembly.total - 4 > LARGEST:
                    return self._abandon(assembly, data[at:], packet)
            if not assembly.admitted and assembly.seen >= min(HEAD, assembly.total):
                if assembly.cut or self._admit(assembly.head(HEAD), assembly.total, assembly.lead or packet):
                    assembly.admitted = True
                else:
                    return self._abandon(assembly, data[at:], packet)
            if assembly.seen == assembly.total:
                self._finish(assembly)
                break
        return at

    def _abandon(self, assembly: _Assembly, rest: memoryview, packet: Packet) -> int:
        self._assembly = None
        assert assembly.lead is not None
        self._lose(assembly.offset, [(part, assembly.lead) for part in assembly.parts] + [(rest, packet)])
        return -1

    def _finish(self, assembly: _Assembly) -> None:
        self._assembly = None
        self.frames.append(assembly.frame())

    def _miss(self, piece: Piece) -> None:
        self.gaps += 1
        self.missing += piece.length
        if not self.synced:
            if not self.backlog or self.backlog[-1].data:
                self.backlog.append(Run(piece.offset + piece.length))
            else:
                self.backlog[-1].offset = piece.offset + piece.length
            return
        assembly = self._assembly
        left = piece.length
        if assembly is not None and assembly.total:
            step = min(left, assembly.total - assembly.seen)
            assembly.seen += step
            assembly.cut = True
            left -= step
            if assembly.seen == assembly.total:
                self._finish(assembly)
        elif assembly is not None:
            self.skipped += assembly.captured
            self._assembly = None
        if left:
            self._lose(piece.offset + piece.length, [])

    def _lose(self, offset: int, parts: list[tuple[memoryview, Packet]]) -> None:
        self.synced = False
        self.backlog = [Run(offset)]
        for part, packet in parts:
            if len(part):
                self._keep(offset, part, Piece(offset, len(part), part, packet))
                offset += len(part)

    def _keep(self, offset: int, data: memoryview, piece: Piece) -> None:
        if not self.backlog:
            self.backlog.append(Run(offset))
        run = self.backlog[-1]
        assert piece.packet is not None
        run.marks.append((offset, piece.packet))
        run.data += data

    def resume(self, offset: int) -> None:
        """A frame starts at this offset of the backlog: skip what stands before and go on from there."""
        runs, self.backlog = self.backlog, []
        self.synced = True
        for index, run in enumerate(runs):
            end = run.offset + len(run.data)
            if end <= offset:
                self.skipped += len(run.data)
                continue
            self.skipped += max(0, offset - run.offset)
            for piece in run.pieces(offset):
                self.feed(piece)
            following = runs[index + 1] if index + 1 < len(runs) else None
            if following is not None and following.offset > end:
                self.missing -= following.offset - end
                self.gaps -= 1
                self.feed(Piece(end, following.offset - end, None, None))

    def discard(self, run: Run, keep: int = 0) -> None:
        """Pass over a run of the backlog, but for its last ``keep`` bytes."""
        drop = len(run.data) - keep
        if drop <= 0:
            return
        self.skipped += drop
        if not keep:
            self.backlog.remove(run)
            if not self.backlog:
                self.backlog.append(Run(run.offset + drop))
            return
        tail = run.pieces(run.offset + drop)
        run.offset += drop
        run.scanned = max(0, run.scanned - drop)
        run.data = run.data[drop:]
        assert all(piece.packet is not None for piece in tail)
        run.marks = [(piece.offset, piece.packet) for piece in tail if piece.packet is not None]

    def end(self) -> None:
        """The stream is over: what is unfinished comes out as it is."""
        if self._assembly is not None:
            assembly, self._assembly = self._assembly, None
            if assembly.total:
                self.frames.append(assembly.frame())
            else:
                self.skipped += assembly.captured
        for run in self.backlog:
            self.skipped += len(run.data)
        self.backlog = []

    def contradicts(self, offset: int, data: memoryview) -> bool:
        """Whether these bytes differ from those held of the unfinished frame at the same stream offset."""
        assembly = self._assembly
        return assembly is not None and differs(assembly.head(assembly.held), assembly.offset, data, offset)

    def shed(self, keep: int) -> None:
        """Let go of all but ``keep`` bytes of the unfinished frame and of the backlog."""
        if self._assembly is not None and self._assembly.held > keep:
            self._assembly.parts = [memoryview(bytes(self._assembly.head(keep)))]
            self._assembly.held, self._assembly.cut = keep, True
        while self.backlog and self.backlog_bytes > keep:
            self.discard(self.backlog[0], 0 if len(self.backlog) > 1 else keep)

    def detach(self) -> None:
        """Copy what is still borrowed from the batch."""
        if self._assembly is not None:
            self._assembly.detach()


def differs(first: memoryview, at: int, second: memoryview, offset: int) -> bool:
    """Whether two runs of bytes, at stream offsets ``at`` and ``offset``, differ where they overlap."""
    start, end = max(at, offset), min(at + len(first), offset + len(second))
    return start < end and first[start - at : end - at] != second[start - offset : end - offset]
