"""Captures of generated conversations: TCP with handshakes, acknowledgments and segmentation, as classic pcap."""

from __future__ import annotations

import heapq
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from tests.bench.conversations import KINDS, Messages, rounds

START_S = 1_790_000_000.0
MSS, OFFLOADED = 1460, 65000
"""Payload of a segment on the wire, and of one that segmentation offload hands to the capture."""

_FIN, _SYN, _PSH, _ACK = 1, 2, 8, 16
_TCP = struct.Struct(">HHIIBBHHH").pack
_IP4 = struct.Struct(">BBHHHBBH4s4s").pack
_IP6 = struct.Struct(">IHBB16s16s").pack
_RECORD = struct.Struct("<IIII").pack
_INT32 = struct.Struct(">i").pack

Sent = tuple[float, bytes]


class _Wire:
    """One TCP connection as its packets."""

    def __init__(self, client: str, client_port: int, broker: str, rng: random.Random, mss: int) -> None:
        self.addresses = [ip_address(client).packed, ip_address(broker).packed]
        self.ports = [client_port, 9092]
        self.seq = [rng.getrandbits(32), rng.getrandbits(32)]
        self.mss = mss

    def packet(self, side: int, flags: int, payload: bytes = b"") -> bytes:
        other = 1 - side
        ack = self.seq[other] if flags & _ACK else 0
        tcp = _TCP(self.ports[side], self.ports[other], self.seq[side], ack, 0x50, flags, 0xFFFF, 0, 0) + payload
        self.seq[side] = (self.seq[side] + len(payload) + bool(flags & (_SYN | _FIN))) & 0xFFFFFFFF
        source, target = self.addresses[side], self.addresses[other]
        if len(source) == 4:
            head = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + _IP4(0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, source, target)
        else:
            head = b"\2\0\0\0\0\1\2\0\0\0\0\2\x86\xdd" + _IP6(6 << 28, len(tcp), 6, 64, source, target)
        return head + tcp

    def message(self, side: int, data: bytes, now: float) -> Iterator[Sent]:
        """Segments, the other side acknowledging every second one that is not the last."""
        for index, at in enumerate(range(0, len(data), self.mss)):
            part = data[at : at + self.mss]
            last = at + self.mss >= len(data)
            now += 0.000012
            yield now, self.packet(side, _ACK | _PSH * last, part)
            if index % 2 and not last:
                now += 0.000002
                yield now, self.packet(1 - side, _ACK)


def _connection(wire: _Wire, messages: Messages, role: str, client_id: str, start: float, count: int) -> Iterator[Sent]:
    """The packets of one connection in order of time; ``count`` rounds, 0 for no end."""
    rng = messages.rng
    now = start
    for side, flags in ((0, _SYN), (1, _SYN | _ACK), (0, _ACK)):
        yield now, wire.packet(side, flags)
        now += 0.0002
    correlation = 0
    for number, exchanges in enumerate(rounds(messages, role, client_id), 1):
        replies = []
        for asked, answered, delay in exchanges:
            correlation += 1
            id = _INT32(correlation)
            for sent in wire.message(0, asked[:8] + id + asked[12:], now):
                yield sent
                now = sent[0]
            replies.append((answered[:4] + id + answered[8:], delay))
        for reply, delay in replies:
            now += delay
            for sent in wire.message(1, reply, now):
                yield sent
                now = sent[0]
        now += 0.0001
        if rng.random() < 0.6:  # else the acknowledgment rides on the next request
            yield now, wire.packet(0, _ACK)
        if number == count:
            break
        now += rng.expovariate(1 / messages.kind.think_s)
    for side, flags in ((0, _FIN | _ACK), (1, _FIN | _ACK), (0, _ACK)):
        now += 0.0001
        yield now, wire.packet(side, flags)


@dataclass(frozen=True)
class Plan:
    """How much traffic of which kind."""

    kind: str
    size: int
    """Bytes of the capture at which generation stops."""
    connections: int = 24
    rounds: int = 0
    """Rounds of requests of each connection before it closes and the next takes its place; 0: it stays open."""
    seed: int = 1


def generate(plan: Plan, path: Path) -> int:
    """Writes the capture; returns its number of packets.  The same plan gives the same bytes."""
    messages = Messages(KINDS[plan.kind], plan.seed)
    rng = random.Random(plan.seed)
    serial = 0

    def opened(start: float) -> Iterator[Sent]:
        nonlocal serial
        serial += 1
        n = serial
        role = "producer" if n % 2 else "consumer"
        port, host = 1025 + n % 60000, n // 60000
        if n % 8 == 0:
            ends = f"2001:db8::{host:x}:{n % 30 + 10:x}", f"2001:db8::{n % 3 + 1:x}"
        else:
            ends = f"10.{host}.1.{n % 30 + 10}", f"10.0.0.{n % 3 + 1}"
        wire = _Wire(ends[0], port, ends[1], rng, OFFLOADED if n % 6 == 5 else MSS)
        return _connection(wire, messages, role, f"{role}-{n % 40}", start, plan.rounds)

    count = size = 0
    with path.open("wb", 1 << 20) as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        size = 24
        running = [opened(START_S + index * 0.0007) for index in range(plan.connections)]
        queue = [(*next(packets), index, packets) for index, packets in enumerate(running)]
        queue = [(now, index, packet, packets) for now, packet, index, packets in queue]
        heapq.heapify(queue)
        while queue and size < plan.size:
            now, index, packet, packets = queue[0]
            seconds = int(now)
            out.write(_RECORD(seconds, int((now - seconds) * 1e6), len(packet), len(packet)))
            out.write(packet)
            count += 1
            size += 16 + len(packet)
            following = next(packets, None)
            if following is None:
                packets = opened(now + 0.001)
                following = next(packets)
            heapq.heapreplace(queue, (following[0], index, following[1], packets))
    return count
