"""TCP inside of tunnels and in fragments."""

from __future__ import annotations

import itertools
import random
import struct
from pathlib import Path

import pytest

from kdissect.stream import ip_fragments
from tests.support.packets import T0, Packet, ethernet, fragments4, fragments6, ip4, ip6, mpls, pcap, read_bytes, tcp, udp, vlan

PAYLOAD = b"inside of something else"
INNER = ip4(tcp(PAYLOAD), source="192.168.1.1", target="192.168.1.2")
INNER6 = ip6(tcp(PAYLOAD), source="fd00::1", target="fd00::2")
FRAME = ethernet(INNER)


def gre(payload: bytes, kind: int, flags: int = 0, fields: bytes = b"") -> bytes:
    return struct.pack(">HH", flags, kind) + fields + payload


def vxlan(frame: bytes) -> bytes:
    return b"\x08" + bytes(3) + b"\0\0\x2a\0" + frame


def geneve(payload: bytes, kind: int = 0x6558, options: bytes = b"") -> bytes:
    return struct.pack(">BBHI", len(options) // 4, 0, kind, 42 << 8) + options + payload


@pytest.mark.parametrize(
    "packet",
    [
        pytest.param(ip4(INNER, 4), id="IP in IP"),
        pytest.param(ip4(gre(INNER, 0x800), 47), id="GRE"),
        pytest.param(ip4(gre(INNER, 0x800, 0x8000, bytes(4)), 47), id="GRE with checksum"),
        pytest.param(ip4(gre(INNER, 0x800, 0x2000, bytes(4)), 47), id="GRE with key"),
        pytest.param(ip4(gre(INNER, 0x800, 0xB000, bytes(12)), 47), id="GRE with all fields"),
        pytest.param(ip4(gre(FRAME, 0x6558), 47), id="Ethernet in GRE"),
        pytest.param(ip4(gre(ethernet(vlan(INNER), 0x8100), 0x6558), 47), id="Ethernet with VLAN in GRE"),
        pytest.param(ip4(gre(mpls(INNER, 5), 0x8847), 47), id="MPLS in GRE"),
        pytest.param(ip4(gre(b"\xff\x03\0\x21" + INNER, 0x880B, 0x3081, bytes(12)), 47), id="PPTP"),
        pytest.param(ip4(gre(FRAME, 0x88BE), 47), id="ERSPAN I"),
        pytest.param(ip4(gre(bytes(8) + FRAME, 0x88BE, 0x1000, bytes(4)), 47), id="ERSPAN II"),
        pytest.param(ip4(gre(bytes(12) + FRAME, 0x22EB, 0x1000, bytes(4)), 47), id="ERSPAN III"),
        pytest.param(ip4(gre(bytes(11) + b"\1" + bytes(8) + FRAME, 0x22EB, 0x1000, bytes(4)), 47), id="ERSPAN III, subheader"),
        pytest.param(ip4(udp(vxlan(FRAME), 4789), 17), id="VXLAN"),
        pytest.param(ip4(udp(vxlan(FRAME), 8472), 17), id="VXLAN, old port"),
        pytest.param(ip4(udp(geneve(FRAME), 6081), 17), id="Geneve"),
        pytest.param(ip4(udp(geneve(INNER, 0x800, bytes(12)), 6081), 17), id="Geneve with options, IP"),
        pytest.param(ip4(ip4(ip4(INNER, 4), 4), 4), id="four times IP"),
        pytest.param(ip4(udp(vxlan(ethernet(ip4(gre(FRAME, 0x6558), 47))), 4789), 17), id="GRE in VXLAN"),
    ],
)
def test_tunnels(tmp_path: Path, packet: bytes) -> None:
    plain = Packet(ethernet(ip4(tcp(b"plain"))))
    got = read_bytes(tmp_path / "x", pcap([plain, Packet(ethernet(packet) + bytes(9)), plain]))
    assert [(s["number"], s["payload"]) for s in got.segments] == [(1, b"plain"), (2, PAYLOAD), (3, b"plain")]
    assert (got.segments[1]["source"], got.segments[1]["target"]) == ("192.168.1.1:50000", "192.168.1.2:9092")
    assert got.segmenter.non_ip == 0
    for size in range(len(packet)):  # cut anywhere: never more than was captured
        cut = read_bytes(tmp_path / "y", pcap([Packet(ethernet(packet)[: 14 + size], length=14 + len(packet))]))
        assert all(PAYLOAD.startswith(s["payload"]) and s["length"] == len(PAYLOAD) for s in cut.segments)


@pytest.mark.parametrize(
    "packet",
    [
        pytest.param(ip6(INNER6, 41), id="6 in 6"),
        pytest.param(ip4(INNER6, 41), id="6 in 4"),
        pytest.param(ip6(gre(INNER6, 0x86DD), 47), id="GRE over 6"),
        pytest.param(ip6(udp(vxlan(ethernet(INNER6, 0x86DD)), 4789), 17), id="VXLAN over 6"),
        pytest.param(ip6(udp(geneve(INNER6, 0x86DD), 6081), 17), id="Geneve over 6"),
    ],
)
def test_ip6_in_tunnels(tmp_path: Path, packet: bytes) -> None:
    kind = 0x86DD if packet[0] >> 4 == 6 else 0x800
    got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(packet, kind))]))
    assert [(s["source"], s["payload"]) for s in got.segments] == [("[fd00::1]:50000", PAYLOAD)]


@pytest.mark.parametrize(
    "packet",
    [
        ip4(udp(b"\0" + vxlan(FRAME)[1:], 4789), 17),  # no valid network identifier
        ip4(udp(vxlan(FRAME), 4790), 17),
        ip4(gre(INNER, 0x800, 0x4000, bytes(4)), 47),  # source routing
        ip4(gre(INNER, 0x800, 2), 47),  # no known version
        ip4(udp(b"", 4789), 17),
        ip4(b"", 47),
    ],
)
def test_what_only_looks_like_a_tunnel(tmp_path: Path, packet: bytes) -> None:
    assert not read_bytes(tmp_path / "x", pcap([Packet(ethernet(packet))])).segments


BIG = random.Random(7).randbytes(3000)


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("seed", range(8))
def test_fragments_in_any_order_with_duplicates(tmp_path: Path, version: int, seed: int) -> None:
    rng = random.Random(seed)
    make, kind = (fragments4, 0x800) if version == 4 else (fragments6, 0x86DD)
    pieces = make(tcp(BIG), rng.choice([8, 64, 1000, 1480]))
    rng.shuffle(pieces)
    pieces += rng.sample(pieces, min(3, len(pieces)))[: rng.randrange(3)]
    whole = len(set(pieces))
    packets = [Packet(ethernet(p, kind) + bytes(rng.randrange(4))) for p in pieces]
    for chunk in (1, 1 << 20):
        got = read_bytes(tmp_path / "x", pcap(packets), chunk_bytes=chunk)
        assert [(s["number"], s["payload"], s["length"]) for s in got.segments] == [(whole, BIG, 3000)]


def test_datagrams_of_different_identification_or_ends_do_not_mix(tmp_path: Path) -> None:
    first = fragments4(tcp(BIG), 1480, identification=1)
    second = fragments4(tcp(BIG[::-1]), 1480, identification=2)
    mixed = [p for pair in zip(first, second, strict=True) for p in pair]
    got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(p)) for p in mixed]))
    assert got.payloads == [BIG, BIG[::-1]]


def test_segments_from_fragments_stand_at_their_last_fragment(tmp_path: Path) -> None:
    pieces = fragments4(tcp(BIG), 1480)
    plain = ethernet(ip4(tcp(b"plain")))
    frames = [plain, ethernet(pieces[0]), plain, ethernet(pieces[1]), plain, ethernet(pieces[2]), plain]
    got = read_bytes(tmp_path / "x", pcap([Packet(f) for f in frames]))
    assert [(s["number"], len(s["payload"])) for s in got.segments] == [(1, 5), (3, 5), (5, 5), (6, 3000), (7, 5)]


def test_the_first_bytes_seen_stay_where_fragments_overlap(tmp_path: Path) -> None:
    payload = tcp(b"A" * 60)  # 80 bytes
    pieces = [
        ip4(payload[:40], fragment=0x2000),
        ip4(b"B" * 48, fragment=0x2000 | 3),  # bytes 24 to 72
        ip4(payload[64:], fragment=8),
    ]
    for order in itertools.permutations(pieces):
        got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(p)) for p in order]))
        segment = bytearray(80)
        for piece, at in sorted(zip(pieces, (0, 24, 64), strict=True), key=lambda x: order.index(x[0]), reverse=True):
            segment[at : at + len(piece) - 20] = piece[20:]
        assert got.payloads == [bytes(segment[20:])]


def test_fragments_cut_by_the_snap_length_give_what_was_captured(tmp_path: Path) -> None:
    pieces = fragments4(tcp(BIG), 1480)
    frames = [ethernet(p) for p in pieces]
    packets = [Packet(frames[0]), Packet(frames[1][:1000], length=len(frames[1])), Packet(frames[2])]
    [segment] = read_bytes(tmp_path / "x", pcap(packets)).segments
    assert segment["length"] == 3000
    assert BIG.startswith(segment["payload"])
    assert 1480 - 20 + (1000 - 34) - 8 <= len(segment["payload"]) <= 1480 - 20 + 1000 - 34


def test_a_tunnel_whose_packets_are_fragmented(tmp_path: Path) -> None:
    inner = ethernet(ip4(tcp(BIG), source="192.168.1.1", target="192.168.1.2"))
    pieces = fragments4(udp(vxlan(inner), 4789), 1480, protocol=17)
    got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(p)) for p in pieces]))
    assert got.payloads == [BIG]


def test_extension_headers_behind_a_fragment_header(tmp_path: Path) -> None:
    pieces = fragments6(bytes([6, 0] + [0] * 6) + tcp(BIG), 1400, following=60)
    got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(p, 0x86DD)) for p in pieces]))
    assert got.payloads == [BIG]


def test_pieces_more_than_a_minute_apart_do_not_belong_together(tmp_path: Path) -> None:
    pieces = fragments4(tcp(BIG), 1480)
    for seconds, count in ((59, 1), (61, 0)):
        packets = [Packet(ethernet(p), T0 + (i == 2) * seconds * 10**9) for i, p in enumerate(pieces)]
        got = read_bytes(tmp_path / "x", pcap(packets))
        assert len(got.segments) == count
        assert got.segmenter.fragments_dropped == 1 - count


def test_a_flood_of_first_fragments_is_held_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ip_fragments, "MAX_DATAGRAMS", 100)
    monkeypatch.setattr(ip_fragments, "MAX_BYTES", 100_000)
    flood = [fragments4(tcp(bytes(1400)), 1000, identification=i)[0] for i in range(1000)]
    got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(p)) for p in flood + fragments4(tcp(BIG), 1480)]))
    assert got.payloads == [BIG]
    assert 800 < got.segmenter.fragments_dropped < 1000
    table = got.segmenter._fragments
    assert table._bytes <= 100_000
    assert table._bytes == sum(len(d.data) for d in table._waiting.values())


@pytest.mark.parametrize(
    "bad",
    [
        ip4(bytes(16), fragment=0x1FFF),  # reaches behind the largest datagram
        ip4(bytes(13), fragment=0x2000),  # not the last, and no multiple of 8
        ip4(b"", fragment=0x2001),
    ],
)
def test_impossible_fragments_are_left_out(tmp_path: Path, bad: bytes) -> None:
    pieces = fragments4(tcp(BIG), 1480)
    got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(p)) for p in [bad, *pieces[:2], bad, pieces[2], bad]]))
    assert got.payloads == [BIG]
