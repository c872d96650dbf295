"""``--scrub``: which bytes of the chosen packets may be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kdissect.dissect import Dissection, Options
from kdissect.report.packets.places import BROKER, CLIENT, Places
from kdissect.report.packets.ranges import Ranges
from kdissect.report.packets.secrets import Kind, secret_stretches

if TYPE_CHECKING:
    from kdissect.exchange import Exchange
    from kdissect.ledger import Ledger
    from kdissect.protocol.correlate import Settled
    from kdissect.protocol.session import Session
    from kdissect.stream.framing import Frame

SEQUENCE: Final = 1 << 32
"""TCP's sequence numbers wrap here (RFC 9293)."""


class Clearance:
    """Per direction of a connection, the sequence numbers whose bytes may be shown: those of messages, secrets left out."""

    def __init__(self) -> None:
        self._ways: dict[tuple[int, int], Ranges] = {}

    def add(self, connection: int, role: int, start: int, stop: int) -> None:
        """Clears ``start`` up to, not including, ``stop``; they may be beyond what wraps."""
        if stop <= start:
            return
        way = self._ways.setdefault((connection, role), Ranges())
        first, last = start % SEQUENCE, start % SEQUENCE + stop - start - 1
        way.add(first, min(last, SEQUENCE - 1))
        if last >= SEQUENCE:
            way.add(0, last - SEQUENCE)

    def blank(self, connection: int, role: int, seq: int, payload: memoryview, mark: int) -> None:
        """Overwrites the bytes of a segment's payload that are not cleared."""
        size = len(payload)
        shown = bytearray(payload)
        payload[:] = bytes([mark]) * size
        way = self._ways.get((connection, role))
        if way is None:
            return
        # A segment around the wrap has its end at the small numbers.
        for low, shift in ((seq, 0), (0, SEQUENCE - seq)):
            high = min(seq + size, SEQUENCE) - 1 if not shift else seq + size - SEQUENCE - 1
            for first, last in way.clip(low, high) if high >= low else ():
                at = first - low + shift
                payload[at : at + last - first + 1] = shown[at : at + last - first + 1]


class Tracer:
    """Sees every message on its way to the describer, and clears what lies in the chosen packets."""

    def __init__(self, chosen: Ranges, places: Places) -> None:
        self._chosen, self._places = chosen, places
        self.clearance = Clearance()

    def describe(self, settled: Settled, session: Session, ledger: Ledger) -> Exchange | None:
        """Clears the bytes of both messages; describes none.  Raw SASL tokens and what nobody can read stay uncleared."""
        if settled.head is not None and session.incarnation.number in self._places.slots:
            side = session.client or 0
            key, version = settled.head.api_key, settled.head.api_version
            for frame, way, role, kind in (
                (settled.request, side, CLIENT, "request"),
                (settled.response, 1 - side, BROKER, "response"),
            ):
                if frame is not None:
                    self._clear(frame, session, way, role, kind, key, version)  # type: ignore[arg-type]
        return None

    def _clear(self, frame: Frame, session: Session, side: int, role: int, kind: Kind, key: int, version: int) -> None:
        connection = session.incarnation.number
        slot = self._places.slots[connection]
        first, last = (self._places.place(slot, role, packet.file, packet.number) for packet in (frame.first, frame.last))
        if not self._chosen.touches(min(first, last), max(first, last)):
            return
        stream = session.streams[side]
        begin = stream.seq - stream.pos + frame.offset
        # The bytes from the size prefix on; behind what is held, nothing can be judged.
        at, held = 0, bytes(frame.data[4:])
        for start, size in [*sorted(secret_stretches(held, kind, key, version)), (len(held), 0)]:
            self.clearance.add(connection, role, begin + at, begin + 4 + start)
            at = max(at, 4 + start + size)


def trace(files: Sequence[str], chosen: Ranges, places: Places) -> Clearance:
    """Reads the captures once more, segment by segment, for the places of messages in the chosen packets."""
    tracer = Tracer(chosen, places)
    for _ in Dissection(files, Options(bulk=False), lambda text: None, describer=tracer).batches():
        pass
    return tracer.clearance
