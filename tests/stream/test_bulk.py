"""The way in columns gives what the way segment by segment gives, whatever the traffic and the size of chunks."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kdissect.dissect import Dissection, Options
from kdissect.protocol.bulk import Rows
from kdissect.stream.limits import Limits
from kdissect.wire.json import dumps
from tests.bench.conversations import KINDS
from tests.bench.traffic import Plan, generate
from tests.support.packets import Packet, pcap

CAPTURES = sorted((Path(__file__).parents[2] / "captures").glob("*.pcapng"))


def told(path: Path, **options: Any) -> tuple[list[bytes], list[bytes]]:
    """Every exchange and every connection with its ledger, as JSON."""
    dissection = Dissection([str(path)], Options(**options), lambda _: None)
    exchanges = [dumps(exchange.to_contract()) for exchange in dissection]
    connections = [dumps([c.id, c.broker, c.protocol, c.exchanges, c.ledger.to_contract()]) for c in dissection.connections]
    return exchanges, connections


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_committed_captures(path: Path) -> None:
    expected = told(path, bulk=False, records="heads")
    for chunk_bytes in (4096, 65536, 16 << 20):
        assert told(path, chunk_bytes=chunk_bytes, records="heads") == expected


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A capture of each kind of traffic, also one of many short connections."""
    directory = tmp_path_factory.mktemp("generated")
    plans = {kind: Plan(kind, 3_000_000, connections=6) for kind in KINDS}
    plans["short"] = Plan("chatty", 1_500_000, connections=30, rounds=6)
    for name, plan in plans.items():
        generate(plan, directory / name)
    return {name: directory / name for name in plans}


@pytest.mark.parametrize("kind", [*KINDS, "short"])
def test_generated_traffic(kind: str, generated: dict[str, Path]) -> None:
    expected = told(generated[kind], bulk=False)
    assert len(expected[0]) >= 10
    for chunk_bytes in (65536, 1 << 20, 16 << 20):
        assert told(generated[kind], chunk_bytes=chunk_bytes) == expected


def test_most_of_generated_traffic_is_taken_in_bulk(generated: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0
    settled = Rows.settled

    def counting(rows: Rows, row: int) -> Any:
        nonlocal taken
        taken += 1
        return settled(rows, row)

    monkeypatch.setattr(Rows, "settled", counting)
    exchanges, _ = told(generated["chatty"], records="heads")
    assert taken > 0.8 * len(exchanges)


def read(path: Path) -> list[Packet]:
    """The packets of a classic pcap as written by the generator."""
    data, at, packets = path.read_bytes(), 24, []
    while at < len(data):
        seconds, micros, size, length = (int.from_bytes(data[at + i : at + i + 4], "little") for i in (0, 4, 8, 12))
        packets.append(Packet(data[at + 16 : at + 16 + size], seconds * 10**9 + micros * 1000, length))
        at += 16 + size
    return packets


def lose(packets: list[Packet], rng: random.Random) -> list[Packet]:
    return [packet for packet in packets if rng.random() > 0.002]


def repeat(packets: list[Packet], rng: random.Random) -> list[Packet]:
    out = []
    for packet in packets:
        out.append(packet)
        if rng.random() < 0.003:
            out.insert(max(0, len(out) - rng.randrange(1, 40)), packet)
            out.append(rng.choice(out[-50:]))
    return out


def reorder(packets: list[Packet], rng: random.Random) -> list[Packet]:
    keyed = [(index + (rng.uniform(0, 8) if rng.random() < 0.01 else 0), packet) for index, packet in enumerate(packets)]
    return [packet for _, packet in sorted(keyed, key=lambda pair: pair[0])]


def snap(packets: list[Packet], rng: random.Random) -> list[Packet]:
    return [
        Packet(packet.data[: rng.randrange(60, 300)], packet.time_ns, len(packet.data)) if rng.random() < 0.003 else packet
        for packet in packets
    ]


def late_start(packets: list[Packet], rng: random.Random) -> list[Packet]:
    return packets[len(packets) // 3 :]


def slow(packets: list[Packet], rng: random.Random) -> list[Packet]:
    """The same over an hour, so that timers and time limits play their part."""
    first = packets[0].time_ns
    factor = 3_600_000_000_000 // (packets[-1].time_ns - first)
    return [Packet(packet.data, first + (packet.time_ns - first) * factor, packet.length) for packet in packets]


def jump(packets: list[Packet], rng: random.Random) -> list[Packet]:
    """Clocks that jump to and fro."""
    return [
        Packet(p.data, p.time_ns + (rng.randrange(-(10**12), 10**12) if rng.random() < 0.002 else 0), p.length) for p in packets
    ]


@pytest.mark.parametrize("disturb", [lose, repeat, reorder, snap, late_start, slow, jump], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", ["chatty", "bulk-old", "short"])
def test_disturbed_traffic(kind: str, disturb: Any, generated: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "disturbed.pcap"
    path.write_bytes(pcap(disturb(read(generated[kind]), random.Random(7))))
    limits = Limits(answer_ns=20_000_000_000, linger_ns=10_000_000_000) if disturb is slow else Limits()
    expected = told(path, bulk=False, records="skip", limits=limits)
    for chunk_bytes in (200_000, 16 << 20):
        assert told(path, chunk_bytes=chunk_bytes, records="skip", limits=limits) == expected
