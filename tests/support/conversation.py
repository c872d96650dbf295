"""TCP conversations as captured packets, byte by byte under the test's control."""

from __future__ import annotations

from dataclasses import dataclass, field

from kdissect.schema.encode import encode_request, encode_response
from tests.support.packets import T0, Packet, ethernet, ip4, ip6, tcp

SYN, ACK, FIN, RST, PSH = 2, 16, 1, 4, 8
STEP = 1_000_000


@dataclass
class Conversation:
    """Two ends that talk; ``packets`` grows with every call. Side 0 is the one that opens."""

    ends: tuple[str, str] = ("10.0.0.5", "10.0.0.9")
    ports: tuple[int, int] = (50000, 9092)
    isn: tuple[int, int] = (1000, 900_000)
    start_ns: int = T0
    packets: list[Packet] = field(default_factory=list)
    sent: list[int] = field(default_factory=lambda: [0, 0])
    """Bytes that each side has sent so far; its next byte has sequence number isn + 1 + sent."""

    def segment(
        self, side: int, payload: bytes = b"", flags: int = ACK | PSH, *, at: int | None = None, cut: int | None = None
    ) -> None:
        """Add one packet. ``at``: stream offset, if not the next byte; ``cut``: captured payload bytes."""
        offset = self.sent[side] if at is None else at
        first = (self.isn[side] + (0 if flags & SYN else 1) + offset) & 0xFFFFFFFF
        acked = (self.isn[1 - side] + 1 + self.sent[1 - side]) & 0xFFFFFFFF if flags & ACK else 0
        body = tcp(payload, source=self.ports[side], target=self.ports[1 - side], seq=first, ack=acked, flags=flags)
        wrap = ip6 if ":" in self.ends[0] else ip4
        data = ethernet(wrap(body, source=self.ends[side], target=self.ends[1 - side]), 0x86DD if ":" in self.ends[0] else 0x0800)
        length = len(data)
        if cut is not None:
            data = data[: len(data) - len(payload) + cut]
        self.packets.append(Packet(data, self.start_ns + STEP * len(self.packets), length))
        if at is None:
            self.sent[side] += len(payload)

    def open(self) -> Conversation:
        self.segment(0, flags=SYN)
        self.segment(1, flags=SYN | ACK)
        self.segment(0, flags=ACK)
        return self

    def say(self, side: int, payload: bytes, size: int = 1460) -> Conversation:
        """Send bytes in segments of at most ``size``."""
        for at in range(0, len(payload), size):
            self.segment(side, payload[at : at + size])
        return self

    def close(self) -> Conversation:
        self.segment(0, flags=FIN | ACK)
        self.segment(1, flags=FIN | ACK)
        self.segment(0, flags=ACK)
        return self


def heartbeat(correlation_id: int, client_id: str | None = "tester", group: str = "group-1") -> tuple[bytes, bytes]:
    """A Heartbeat v3 exchange as it stands on the wire, size prefixes included."""
    body = {"group_id": group, "generation_id": 5, "member_id": "member-1", "group_instance_id": None}
    answer = {"throttle_time_ms": 0, "error_code": 0}
    return encode_request(12, 3, correlation_id, client_id, body), encode_response(12, 3, correlation_id, answer)


def metadata(correlation_id: int, topics: int = 30, client_id: str | None = "tester") -> tuple[bytes, bytes]:
    """A Metadata v1 exchange; the response is as long as there are topics."""
    body = {
        "brokers": [{"node_id": 1, "host": "broker-1", "port": 9092, "rack": None}],
        "controller_id": 1,
        "topics": [{"error_code": 0, "name": f"topic-{n}", "is_internal": False, "partitions": []} for n in range(topics)],
    }
    return encode_request(3, 1, correlation_id, client_id, {"topics": None}), encode_response(3, 1, correlation_id, body)
