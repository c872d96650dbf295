"""A capture as a list of packets that a test can drop, repeat and reorder, and what must survive that."""

from __future__ import annotations

import random
import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kdissect.capture import open_captures
from kdissect.dissect import Dissection, Options
from kdissect.exchange import Exchange
from kdissect.stream.connections import ConnectionTable
from kdissect.stream.endpoints import Endpoints
from kdissect.stream.segments import Segmenter


@dataclass(frozen=True)
class Raw:
    """One packet as captured."""

    number: int
    time_ns: int
    length: int
    link: int
    data: bytes


@dataclass
class Original:
    """A capture, its exchanges, and which packets each connection's directions consist of."""

    packets: list[Raw]
    exchanges: list[Exchange]
    payload: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    """(sender, receiver) -> numbers of the packets that carry payload."""

    def needed(self, exchange: Exchange) -> set[int]:
        """The packets that carry this exchange's bytes."""
        out: set[int] = set()
        ways = (
            (exchange.client, exchange.broker, exchange.request_packets),
            (exchange.broker, exchange.client, exchange.response_packets),
        )
        for source, target, span in ways:
            if span is not None:
                out |= {n for n in self.payload[source, target] if span[0] <= n <= span[1]}
        return out


def load(path: Path) -> Original:
    """Read a capture and dissect it undisturbed."""
    packets: list[Raw] = []
    endpoints = Endpoints()
    segmenter, table = Segmenter(endpoints), ConnectionTable()
    original = Original(packets, dissect([path])[0])
    for batch in open_captures([str(path)], on_warning=_refuse):
        rows = zip(batch.number, batch.time_ns, batch.length, batch.link, batch.start, batch.captured, strict=True)
        for number, time_ns, length, link, start, captured in rows:
            raw = batch.data[start : start + captured].tobytes()
            packets.append(Raw(int(number), int(time_ns), int(length), int(link), raw))
        segments = segmenter.feed(batch)
        table.assign(segments)
        for source, target, number, size in zip(segments.source, segments.target, segments.number, segments.length, strict=True):
            if size:
                original.payload[endpoints.text(int(source)), endpoints.text(int(target))].append(int(number))
    return original


def _refuse(warning: str) -> None:
    raise AssertionError(warning)


def write(path: Path, packets: Iterable[Raw], snap: int = 1 << 18) -> Path:
    """Write packets as a nanosecond pcap (all of one link type)."""
    chosen = list(packets)
    link = chosen[0].link if chosen else 1
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, link)]
    for packet in chosen:
        data = packet.data[:snap]
        seconds, fraction = divmod(packet.time_ns, 1_000_000_000)
        parts += [struct.pack("<IIII", seconds, fraction, len(data), packet.length), data]
    path.write_bytes(b"".join(parts))
    return path


def dissect(paths: Iterable[Path], **options: object) -> tuple[list[Exchange], Dissection]:
    """All exchanges and the finished dissection."""
    dissection = Dissection([str(path) for path in paths], Options(**options), lambda warning: None)  # type: ignore[arg-type]
    return [exchange for batch in dissection.batches() for exchange in batch], dissection


def disturb(packets: list[Raw], rng: random.Random, drop: float, repeat: float, shuffle: float) -> list[Raw]:
    """Drop, repeat and displace (by up to eight places) packets with these probabilities."""
    kept: list[tuple[float, Raw]] = []
    for place, packet in enumerate(packets):
        if rng.random() < drop:
            continue
        moved = rng.uniform(-8, 8) if rng.random() < shuffle else 0.0
        kept.append((place + moved, packet))
        if rng.random() < repeat:
            kept.append((place + moved + rng.uniform(0, 8), packet))
    return [packet for _, packet in sorted(kept, key=lambda item: item[0])]
