"""The seam between reassembly and framing: a stream may be transformed, and messages still name the packets of the wire."""

from __future__ import annotations

from kdissect.protocol.session import Session
from kdissect.stream.connections import Incarnation
from kdissect.stream.limits import DEFAULT
from kdissect.stream.reassembly import Packet, Piece
from tests.support.conversation import ACK, PSH, SYN, heartbeat


class Unmask:
    """Undoes an XOR, and drops the byte that stands before every segment on the wire."""

    def __init__(self) -> None:
        self.offset = 0

    def feed(self, piece: Piece) -> list[Piece]:
        assert piece.data is not None
        plain = memoryview(bytes(byte ^ 0x5A for byte in piece.data[1:]))
        out = Piece(self.offset, len(plain), plain, piece.packet)
        self.offset += len(plain)
        return [out]


def test_messages_come_out_of_a_transformed_stream() -> None:
    session = Session(Incarnation(1, (0, 1), 0, [None, None]), DEFAULT)
    session.transforms = [Unmask(), Unmask()]
    number = 0
    seq = [100, 900]

    def send(side: int, payload: bytes, flags: int = ACK | PSH) -> None:
        nonlocal number
        number += 1
        packet = Packet(number, number * 1000, number, 0, None)
        session.feed(side, seq[side], seq[1 - side], flags, memoryview(payload), len(payload), packet)
        seq[side] += len(payload) + bool(flags & SYN)

    send(0, b"", SYN)
    send(1, b"", SYN | ACK)
    for correlation_id in (1, 2):
        for side, message in enumerate(heartbeat(correlation_id)):
            for part in (message[:9], message[9:]):
                send(side, b"\x17" + bytes(byte ^ 0x5A for byte in part))
    settled = session.take()
    assert [(s.outcome, s.head.correlation_id if s.head else None) for s in settled] == [("answered", 1), ("answered", 2)]
    first = settled[0].request
    assert first is not None and bytes(first.data) == heartbeat(1)[0]
    assert (first.first.number, first.last.number) == (3, 4)
    assert session.client == 0 and session.protocol == "kafka"
