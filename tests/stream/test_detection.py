"""What is not Kafka is never taken for it; what is, always, on any port."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kdissect.dissect import Connection
from tests.support.conversation import Conversation, heartbeat
from tests.support.disturb import dissect
from tests.support.foreign import NAMED, PROTOCOLS, small_integers
from tests.support.packets import Packet, pcap

CAPTURES = sorted((Path(__file__).parents[2] / "captures").glob("*.pcapng"))


def connections(tmp_path: Path, packets: list[Packet]) -> list[Connection]:
    path = tmp_path / "foreign.pcap"
    path.write_bytes(pcap(packets, nano=True))
    exchanges, dissection = dissect([path])
    kafka = {c.number for c in dissection.connections if c.protocol == "kafka"}
    assert {e.connection for e in exchanges} <= kafka
    return dissection.connections


def talk(protocol: str, seed: int, port: int, whole: bool) -> list[Packet]:
    """A conversation on a Kafka port, from its SYN on or joined in the middle."""
    rng = random.Random(f"{protocol} {seed}")
    conversation = Conversation(ports=(port, 9092), isn=(rng.getrandbits(32), rng.getrandbits(32)))
    if whole:
        conversation.open()
    for side, data in PROTOCOLS[protocol](rng):
        conversation.say(side, data)
    return conversation.packets if whole else conversation.packets[rng.randrange(3) :]


def measure(tmp_path: Path, protocol: str, seeds: range) -> tuple[list[Connection], int]:
    packets = [packet for seed in seeds for packet in talk(protocol, seed, 20000 + seed % 40000, seed % 2 == 0)]
    return connections(tmp_path, packets), sum(len(packet.data) for packet in packets)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_other_protocols_are_never_kafka(tmp_path: Path, protocol: str) -> None:
    found, _ = measure(tmp_path, protocol, range(60))
    assert len(found) == 60 and not [c for c in found if c.protocol == "kafka"]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_lot_of_other_protocols_is_never_kafka(tmp_path: Path, protocol: str) -> None:
    found, size = measure(tmp_path, protocol, range(600))
    print(f"{protocol}: {len(found)} connections, {size / 1e6:.0f} MB, none taken for Kafka")
    assert not [c for c in found if c.protocol == "kafka"]


@pytest.mark.parametrize("protocol", NAMED)
def test_known_protocols_are_named_from_their_start(tmp_path: Path, protocol: str) -> None:
    for seed in range(10):
        (connection,) = connections(tmp_path, talk(protocol, seed, 50000, True))
        assert connection.protocol == protocol


def test_unknown_protocols_are_called_unknown(tmp_path: Path) -> None:
    for seed in range(10):
        assert [c.protocol for c in connections(tmp_path, talk("noise", seed, 50000, True))] == ["unknown"]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_every_plaintext_connection_with_data_of_the_captures_is_kafka_at_any_port(path: Path) -> None:
    _, dissection = dissect([path])
    spoken = [c for c in dissection.connections if c.ledger.captured]
    assert spoken
    encrypted = "tls" in path.stem
    odd = [c for c in spoken if c.protocol not in ({"kafka", "tls"} if encrypted else {"kafka"})]
    assert not odd, odd


def test_a_kafka_client_among_noise_is_found(tmp_path: Path) -> None:
    conversation = Conversation(ports=(50000, 443)).open()
    for number in range(3):
        asked, reply = heartbeat(number)
        conversation.say(0, asked).say(1, reply)
    rng = random.Random(1)
    other = Conversation(ports=(50001, 9092)).open()
    for side, data in small_integers(rng):
        other.say(side, data)
    assert [c.protocol for c in connections(tmp_path, conversation.packets + other.packets)] == ["kafka", "unknown"]
