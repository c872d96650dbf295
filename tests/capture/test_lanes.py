"""Walking records from many places at once finds what walking them one by one finds, whatever the bytes look like."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kdissect.capture import lanes
from tests.support.packets import T0, Packet, Read, block, enhanced, interface, pcap, pcapng, read, section, simple


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], Read]:
    """Reads a capture in lanes set close together, and plainly; returns the former after comparing."""

    def compare(capture: bytes, chunk_bytes: int = 1 << 20) -> Read:
        path = tmp_path / "x"
        path.write_bytes(capture)
        results = []
        for least in (1 << 60, 0):
            monkeypatch.setattr(lanes, "LEAST", least)
            results.append(read([path], chunk_bytes=chunk_bytes))
        plain, laned = results
        assert laned.packets == plain.packets
        assert laned.warnings == plain.warnings
        return laned

    monkeypatch.setattr(lanes, "_SPACING", 256)
    monkeypatch.setattr(lanes, "_SEARCH", 200)
    monkeypatch.setattr(lanes, "_MAX_STEPS", 40)
    return compare


def packets(rng: random.Random, count: int, payload: Callable[[], bytes]) -> list[Packet]:
    return [Packet(payload(), T0 + i * rng.choice([0, 1000, 10**9])) for i in range(count)]


PAYLOADS = {
    "small": lambda rng: rng.randbytes(rng.randrange(40)),
    "mixed": lambda rng: rng.randbytes(rng.choice([0, 0, 5, 60, 300, 1500])),
    "zeros": lambda rng: bytes(rng.randrange(300)),
    "empty": lambda rng: b"",
    "captures": lambda rng: pcap([Packet(bytes(9), T0)] * 5) + pcapng([Packet(bytes(10), T0)] * 5),
    "half captures": lambda rng: pcapng([Packet(bytes(10), T0)] * 5)[: rng.randrange(300)] + pcap([Packet(b"", T0)] * 9)[24:],
    "large": lambda rng: bytes(rng.choice([10, 20_000])),
}


@pytest.mark.parametrize("kind", PAYLOADS)
@pytest.mark.parametrize("order", "<>")
def test_records_of_every_shape(both: Callable[..., Read], kind: str, order: str) -> None:
    for seed in range(4):
        rng = random.Random(seed)
        data = packets(rng, 300, lambda rng=rng: PAYLOADS[kind](rng))  # type: ignore[misc]
        for capture in (pcap(data, order=order), pcapng(data, order=order)):
            got = both(capture, rng.choice([1 << 20, 5000]))
            assert [p[5] for p in got.packets] == [p.data for p in data]
            assert not got.warnings


def test_lanes_are_really_taken(both: Callable[..., Read], monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0
    original = lanes.Lanes.at

    def count(self: lanes.Lanes, at: int) -> object:
        nonlocal taken
        found = original(self, at)
        taken += 0 if found is None else len(found[0])
        return found

    monkeypatch.setattr(lanes.Lanes, "at", count)
    data = packets(random.Random(1), 300, lambda: bytes(50))
    for capture in (pcap(data), pcapng(data)):
        taken = 0
        both(capture)
        assert taken > 250


@pytest.mark.parametrize("seed", range(20))
def test_damage(both: Callable[..., Read], seed: int) -> None:
    rng = random.Random(seed)
    data = packets(rng, 200, lambda: rng.randbytes(rng.randrange(100)))
    for capture in (pcap(data), pcapng(data)):
        damaged = bytearray(capture)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(damaged))
            damaged[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", bytes(4), rng.randbytes(4), b"\x10\0\0\0"])
        both(bytes(damaged))
        both(bytes(damaged[: rng.randrange(len(damaged))]), 3000)


def test_other_blocks_and_sections_between(both: Callable[..., Read]) -> None:
    rng = random.Random(9)
    capture = b""
    for order in "<><>":
        capture += section(order) + interface(order=order)
        for i in range(150):
            capture += enhanced(bytes(rng.randrange(90)), i, order=order)
            if rng.random() < 0.05:
                capture += rng.choice([simple(b"abc", order=order), block(4, b"", order), interface(order=order)])
            if rng.random() < 0.02:
                capture += bytes(8)
    got = both(capture)
    assert len(got.packets) >= 600


def test_times_that_jump(both: Callable[..., Read]) -> None:
    rng = random.Random(4)
    data = [Packet(bytes(rng.randrange(60)), rng.choice([0, T0, T0 + 10**15, 2**31 * 10**9])) for _ in range(400)]
    assert len(both(pcap(data)).packets) == 400
