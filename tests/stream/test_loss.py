"""Real captures with packets dropped, repeated and reordered: what survived is reported as before, and nothing else."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kdissect.exchange import Exchange
from tests.support.disturb import Original, Raw, dissect, disturb, load, write

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("groups-4.4.0", "produce-4.4.0", "brokers-4.4.0", "mock-aiokafka", "streams-4.4.0")
RATES = (0.001, 0.01, 0.03, 0.1)


@functools.cache
def original(name: str) -> Original:
    return load(CAPTURES / f"{name}.pcapng")


@dataclass
class Outcome:
    """What became of one disturbed capture."""

    wanted: int = 0
    lost: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    unbalanced: list[str] = field(default_factory=list)


def name_of(exchange: Exchange) -> tuple[object, ...]:
    return exchange.client, exchange.broker, exchange.api, exchange.api_version, exchange.correlation_id


def values(exchange: Exchange) -> tuple[object, ...]:
    assert exchange.request is not None
    bodies = exchange.request.body, exchange.response.body if exchange.response else None
    return exchange.request_bytes, exchange.response_bytes, exchange.error_codes, exchange.throttle_time_ms, bodies


def compare(before: Original, packets: list[Raw], path: Path) -> Outcome:
    """Dissect the disturbed packets and hold the result against the undisturbed capture."""
    exchanges, dissection = dissect([write(path, packets)])
    number = [packet.number for packet in packets]
    survived = set(number)
    out = Outcome()
    out.unbalanced = [c.id for c in dissection.connections if c.protocol == "kafka" and not c.ledger.balanced]
    found: dict[tuple[object, ...], Exchange] = {}
    known = {name_of(e) for e in before.exchanges}
    ids = {(e.client, e.broker, e.correlation_id) for e in before.exchanges}
    for exchange in exchanges:
        if exchange.request_packets is None:
            if (exchange.client, exchange.broker, exchange.correlation_id) not in ids:
                out.invented.append(str(name_of(exchange)))
            continue
        if name_of(exchange) not in known:
            out.invented.append(str(name_of(exchange)))
        span = tuple(sorted(number[at - 1] for at in exchange.request_packets))
        found[(*name_of(exchange), span)] = exchange
    for exchange in before.exchanges:
        if exchange.outcome not in ("answered", "no_reply_expected") or not before.needed(exchange) <= survived:
            continue
        out.wanted += 1
        match = found.get((*name_of(exchange), exchange.request_packets))
        if match is None or match.outcome != exchange.outcome:
            out.lost.append(str(name_of(exchange)))
        elif values(match) != values(exchange):
            out.changed.append(str(name_of(exchange)))
    return out


def run(seeds: range, path: Path) -> None:
    wanted = dict.fromkeys(RATES, 0)
    lost = dict.fromkeys(RATES, 0)
    for seed in seeds:
        rng = random.Random(seed)
        before = original(rng.choice(NAMES))
        rate = rng.choice(RATES)
        drop, repeat, shuffle = (rate if rng.random() < 0.7 else 0.0 for _ in range(3))
        out = compare(before, disturb(before.packets, rng, drop, repeat, shuffle), path)
        assert not out.invented, (seed, out.invented)
        assert not out.changed, (seed, out.changed)
        assert not out.unbalanced, (seed, out.unbalanced)
        wanted[rate] += out.wanted
        lost[rate] += len(out.lost)
    for rate in RATES:
        share = 1 - lost[rate] / max(1, wanted[rate])
        print(f"at {rate:.1%}: {wanted[rate] - lost[rate]} of {wanted[rate]} surviving exchanges reported ({share:.3%})")
        assert share >= 0.99, rate
    assert sum(wanted.values()) > 100 * len(seeds) / 2


def test_survivors_are_reported_and_nothing_is_invented(tmp_path: Path) -> None:
    run(range(40), tmp_path / "disturbed.pcap")


@pytest.mark.slow
def test_survivors_of_two_hundred_disturbances(tmp_path: Path) -> None:
    run(range(1000, 1200), tmp_path / "disturbed.pcap")


@pytest.mark.parametrize("seed", range(12))
def test_a_start_in_the_middle_decodes_from_the_first_whole_message_on(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    before = original(rng.choice(NAMES))
    start = rng.randrange(len(before.packets) // 2)
    out = compare(before, before.packets[start:], tmp_path / "late.pcap")
    assert (out.invented, out.changed, out.unbalanced) == ([], [], [])
    assert out.wanted > 10 and len(out.lost) <= out.wanted * 0.01, out.lost


@pytest.mark.parametrize("name", NAMES)
def test_each_lost_packet_costs_only_its_own_exchanges(tmp_path: Path, name: str) -> None:
    before = original(name)
    carrying = sorted({n for numbers in before.payload.values() for n in numbers})
    for victim in random.Random(name).sample(carrying, 15):
        packets = [packet for packet in before.packets if packet.number != victim]
        out = compare(before, packets, tmp_path / "gap.pcap")
        assert (out.lost, out.invented, out.changed, out.unbalanced) == ([], [], [], []), victim


@pytest.mark.parametrize("name", ("groups-4.4.0", "mock-aiokafka"))
@pytest.mark.parametrize("snap", (80, 120, 200))
def test_packets_cut_by_a_snap_length_are_shown_as_far_as_they_go(tmp_path: Path, name: str, snap: int) -> None:
    before = original(name)
    exchanges, dissection = dissect([write(tmp_path / "snap.pcap", before.packets, snap)])
    assert all(c.ledger.balanced for c in dissection.connections if c.protocol == "kafka")
    seen = {name_of(exchange) for exchange in exchanges if exchange.api is not None}
    assert seen <= {name_of(exchange) for exchange in before.exchanges}
    assert len(seen) >= (0.9 if snap >= 120 else 0.3) * len(before.exchanges)
    cut = [e for e in exchanges if any(f.code == "frame.truncated" for f in e.findings)]
    assert cut and dissection.ledger.missing > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chunk", (1000, 10_000))
def test_chunks_do_not_matter(tmp_path: Path, name: str, chunk: int) -> None:
    before = original(name)
    rng = random.Random(7)
    path = write(tmp_path / "torn.pcap", disturb(before.packets, rng, 0.02, 0.02, 0.02))
    whole, first = dissect([path])
    torn, second = dissect([path], chunk_bytes=chunk)
    assert [e.to_contract() for e in torn] == [e.to_contract() for e in whole]
    assert first.ledger == second.ledger
    assert [(c.id, c.ledger) for c in first.connections] == [(c.id, c.ledger) for c in second.connections]
