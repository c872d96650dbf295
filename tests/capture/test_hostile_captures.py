"""Damaged captures of every kind: never an exception, a hang or much memory, and nothing that depends on chunks."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.capture import open_captures
from kdissect.stream.endpoints import Endpoints
from kdissect.stream.segments import Segmenter
from tests.support.packets import (
    T0,
    Packet,
    block,
    enhanced,
    ethernet,
    fragments4,
    fragments6,
    interface,
    ip4,
    ip6,
    mpls,
    obsolete,
    option,
    pcap,
    pcapng,
    read,
    read_bytes,
    section,
    simple,
    sll,
    sll2,
    tcp,
    udp,
    vlan,
)

_RNG = random.Random(11)
_INNER = ethernet(ip4(tcp(b"x" * 30)))
FRAMES = [
    ethernet(ip4(tcp(b"y" * 100, options=b"\1" * 12))),
    ethernet(vlan(ip6(tcp(b"z" * 20)), 0x86DD), 0x8100),
    ethernet(mpls(ip4(tcp(b"m")), 3, 4), 0x8847),
    ethernet(ip4(udp(b"\x08" + bytes(7) + _INNER, 4789), 17)),
    ethernet(ip4(struct.pack(">HHI", 0x2000, 0x6558, 1) + _INNER, 47)),
    ethernet(ip4(struct.pack(">HHI", 0x1000, 0x88BE, 1) + bytes(8) + _INNER, 47)),
    ethernet(ip6(bytes([60, 0] + [0] * 6) + bytes([6, 0] + [0] * 6) + tcp(b"e"), 0), 0x86DD),
    *(ethernet(p) for p in fragments4(tcp(bytes(200)), 64)),
    *(ethernet(p, 0x86DD) for p in fragments6(tcp(bytes(200)), 64)),
]
PCAP = pcap([Packet(f, T0 + i) for i, f in enumerate(FRAMES)])
PCAPNG = (
    pcapng([Packet(f, T0 + i) for i, f in enumerate(FRAMES)])
    + block(10, struct.pack("<II", 1, 8) + b"secrets!")
    + interface(113, tsresol=0x8A, tsoffset=5, name="any")
    + enhanced(sll(ip4(tcp(b"s"))), 7, interface=1)
    + block(5, struct.pack("<III", 1, 0, 0) + option(5, bytes(8)))
    + section(">")
    + interface(276, order=">", snaplen=99)
    + simple(sll2(ip4(tcp(b"t"))), order=">")
    + obsolete(sll2(ip4(tcp(b"u"))), 9, order=">")
    + block(0xBAD, bytes(8), ">")
)


def check(tmp_path: Path, capture: bytes, chunks: tuple[int, ...] = (1 << 20, 37)) -> None:
    """The reader and the segmenter come to the same end with any chunks, within bounds."""
    path = tmp_path / "x"
    path.write_bytes(capture)
    results = [read([path], chunk_bytes=chunk) for chunk in chunks]
    first = results[0]
    for p in first.packets:
        assert len(p[5]) <= p[3] < 2**31
    assert sum(len(p[5]) for p in first.packets) <= len(capture)
    assert len(first.segments) <= len(first.packets)
    for s in first.segments:
        assert len(s["payload"]) <= s["length"]
    for other in results[1:]:
        assert (other.packets, other.segments, other.errors) == (first.packets, first.segments, first.errors)


@pytest.mark.parametrize("capture", [PCAP, PCAPNG], ids=["pcap", "pcapng"])
def test_a_cut_at_every_byte(tmp_path: Path, capture: bytes) -> None:
    for size in range(len(capture)):
        check(tmp_path, capture[:size], (1 << 20,))


@pytest.mark.parametrize("capture", [PCAP, PCAPNG], ids=["pcap", "pcapng"])
def test_every_byte_changed(tmp_path: Path, capture: bytes) -> None:
    for at in range(len(capture)):
        bad = bytearray(capture)
        bad[at] ^= _RNG.choice([0xFF, 0x80, 0x01, 0x10])
        check(tmp_path, bytes(bad), (1 << 20, 1 + at % 300) if at % 16 == 0 else (1 << 20,))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([PCAP, PCAPNG]),
    st.lists(
        st.tuples(
            st.sampled_from(["set", "cut", "insert", "repeat", "word"]),
            st.integers(0, 4000),
            st.integers(0, 2**32 - 1) | st.sampled_from([0, 1, 4, 12, 2**31, 2**32 - 1, 65535, 16 << 20]),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_any_damage(tmp_path_factory: pytest.TempPathFactory, capture: bytes, damage: list[tuple[str, int, int]]) -> None:
    data = bytearray(capture)
    for what, at, value in damage:
        at %= len(data) or 1
        match what:
            case "set":
                data[at : at + 1] = bytes([value & 255])
            case "cut":
                del data[at : at + value % 200]
            case "insert":
                data[at:at] = random.Random(value).randbytes(value % 100)
            case "repeat":
                data[at:at] = data[at : at + value % 300]
            case "word":
                data[at : at + 4] = struct.pack("<I", value)
    check(tmp_path_factory.mktemp("damage"), bytes(data))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([0, 1, 9, 12, 101, 108, 113, 228, 229, 276]), st.lists(st.binary(max_size=120), max_size=10))
def test_random_packets_of_any_link_type(tmp_path_factory: pytest.TempPathFactory, link: int, packets: list[bytes]) -> None:
    check(tmp_path_factory.mktemp("random"), pcap([Packet(p) for p in packets], link=link))


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(enhanced(b"", 0) + bytes(4), id="a fault behind every block"),
        pytest.param(block(5, bytes(12)) + enhanced(b"", 0), id="statistics between packets"),
        pytest.param(interface() + enhanced(b"", 0), id="an interface for each packet"),
        pytest.param(section() + enhanced(b"", 0), id="a section for each packet"),
        pytest.param(enhanced(b"", 0) + simple(b"") + obsolete(b"", 0), id="block types in turns"),
        pytest.param(struct.pack("<II", 6, 1 << 20), id="lengths that reach far"),
        pytest.param(struct.pack("<II", 5, 12) + b"\xff\xff\xff\xff", id="lengths that differ"),
        pytest.param(section()[:12], id="beginnings of sections"),
    ],
)
def test_what_is_slow_to_read_is_not_too_slow(tmp_path: Path, unit: bytes) -> None:
    """A megabyte of the worst blocks.  The bound is far above what it takes: only a quadratic reader exceeds it."""
    path = tmp_path / "x.pcapng"
    path.write_bytes(section() + interface() + unit * ((1 << 20) // len(unit)))
    begin = time.process_time()
    segmenter = Segmenter(Endpoints())
    for batch in open_captures([str(path)], on_warning=lambda _: None):
        segmenter.feed(batch)
    assert time.process_time() - begin < 30


def test_lengths_that_lie_claim_no_memory(tmp_path: Path) -> None:
    lies = [
        pcap([]) + struct.pack("<IIII", 0, 0, 16 << 20, 16 << 20) + bytes(50),
        section() + interface() + struct.pack("<II", 6, 16 << 20) + bytes(50),
        section() + interface() + struct.pack("<II", 0xBAD, 2**32 - 4) + bytes(50),
        section() + struct.pack("<II", 1, 17 << 20) + bytes(50),
    ]
    for lie in lies:
        tracemalloc.start()
        got = read_bytes(tmp_path / "x", lie, chunk_bytes=1000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert not got.packets and got.reader.files[0].truncated
        assert peak < 1 << 20
