"""Packets to TCP segments: link layers, IP headers, TCP headers, and what gives no segment."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.support.packets import (
    Packet,
    enhanced,
    ethernet,
    interface,
    ip4,
    ip6,
    mpls,
    pcap,
    read_bytes,
    section,
    sll,
    sll2,
    tcp,
    udp,
    vlan,
)

PAYLOAD = b"kafka says hello"
V4, V6 = ip4(tcp(PAYLOAD, seq=123456789)), ip6(tcp(PAYLOAD, seq=123456789))
ENDS = {4: ("10.0.0.5:50000", "10.0.0.9:9092"), 6: ("[2001:db8::5]:50000", "[2001:db8::9]:9092")}


def check(tmp_path: Path, link: int, frame: bytes, version: int = 4, payload: bytes = PAYLOAD) -> None:
    """The frame alone, and among plain ones, gives one segment with everything right."""
    got = read_bytes(tmp_path / "x.pcap", pcap([Packet(frame)], link=link))
    assert len(got.segments) == 1
    [segment] = got.segments
    assert (segment["source"], segment["target"]) == ENDS[version]
    assert (segment["payload"], segment["length"]) == (payload, len(payload))
    assert (segment["seq"], segment["ack"], segment["flags"]) == (123456789, 2000, 0x18)
    assert (got.segmenter.packets, got.segmenter.tcp_packets, got.segmenter.non_ip) == (1, 1, 0)
    among = section() + interface(1) + interface(link)
    plain = ethernet(ip4(tcp(b"plain")))
    for one in (plain, frame, plain, plain, frame):
        among += enhanced(one, 0, interface=int(one is not plain))
    got = read_bytes(tmp_path / "y.pcapng", among)
    assert [(s["number"], s["payload"]) for s in got.segments] == [
        (1, b"plain"), (2, payload), (3, b"plain"), (4, b"plain"), (5, payload)
    ]  # fmt: skip


@pytest.mark.parametrize("version, packet, kind", [(4, V4, 0x0800), (6, V6, 0x86DD)])
class TestLinkLayers:
    def test_ethernet(self, tmp_path: Path, version: int, packet: bytes, kind: int) -> None:
        check(tmp_path, 1, ethernet(packet, kind), version)

    def test_ethernet_padding_is_no_payload(self, tmp_path: Path, version: int, packet: bytes, kind: int) -> None:
        check(tmp_path, 1, ethernet(packet, kind) + bytes(40), version)

    @pytest.mark.parametrize("outer", [0x8100, 0x88A8, 0x9100])
    def test_one_two_and_three_vlan_tags(self, tmp_path: Path, version: int, packet: bytes, kind: int, outer: int) -> None:
        check(tmp_path, 1, ethernet(vlan(packet, kind), outer), version)
        check(tmp_path, 1, ethernet(vlan(vlan(packet, kind), 0x8100), outer), version)
        check(tmp_path, 1, ethernet(vlan(vlan(vlan(packet, kind), 0x8100), 0x88A8), outer), version)

    def test_mpls_labels(self, tmp_path: Path, version: int, packet: bytes, kind: int) -> None:
        check(tmp_path, 1, ethernet(mpls(packet, 16), 0x8847), version)
        check(tmp_path, 1, ethernet(vlan(mpls(packet, 16, 17, 18), 0x8848), 0x8100), version)

    def test_ethernet_below_mpls_with_and_without_control_word(
        self, tmp_path: Path, version: int, packet: bytes, kind: int
    ) -> None:
        # Without a control word only a frame whose first half-byte is no IP version can be told from IP.
        inner = b"\xa2" + ethernet(packet, kind)[1:]
        check(tmp_path, 1, ethernet(mpls(inner, 99), 0x8847), version)
        check(tmp_path, 1, ethernet(mpls(bytes(4) + ethernet(packet, kind), 99), 0x8847), version)

    def test_snap(self, tmp_path: Path, version: int, packet: bytes, kind: int) -> None:
        llc = b"\xaa\xaa\x03\0\0\0" + struct.pack(">H", kind) + packet
        check(tmp_path, 1, ethernet(llc, len(llc)), version)
        check(tmp_path, 1, ethernet(vlan(llc, len(llc)), 0x8100), version)

    def test_pppoe(self, tmp_path: Path, version: int, packet: bytes, kind: int) -> None:
        protocol = b"\0\x21" if version == 4 else b"\0\x57"
        head = struct.pack(">BBHH", 0x11, 0, 1, len(packet) + 2)
        check(tmp_path, 1, ethernet(head + protocol + packet, 0x8864), version)
        check(tmp_path, 1, ethernet(head + protocol[1:] + packet, 0x8864), version)

    def test_ppp(self, tmp_path: Path, version: int, packet: bytes, kind: int) -> None:
        protocol = b"\0\x21" if version == 4 else b"\0\x57"
        check(tmp_path, 9, b"\xff\x03" + protocol + packet, version)
        check(tmp_path, 9, protocol + packet, version)

    def test_linux_cooked(self, tmp_path: Path, version: int, packet: bytes, kind: int) -> None:
        check(tmp_path, 113, sll(packet, kind), version)
        check(tmp_path, 276, sll2(packet, kind), version)
        check(tmp_path, 113, sll(vlan(packet, kind), 0x8100), version)

    def test_loopback(self, tmp_path: Path, version: int, packet: bytes, kind: int) -> None:
        for family in (2,) if version == 4 else (10, 24, 28, 30):
            for order in "<>":
                check(tmp_path, 0, struct.pack(order + "I", family) + packet, version)
            check(tmp_path, 108, struct.pack(">I", family) + packet, version)

    @pytest.mark.parametrize("link", [12, 14, 101])
    def test_raw(self, tmp_path: Path, version: int, packet: bytes, kind: int, link: int) -> None:
        check(tmp_path, link, packet, version)
        check(tmp_path, 228 if version == 4 else 229, packet, version)


class TestIp:
    @pytest.mark.parametrize("size", [4, 20, 40])
    def test_ip4_options(self, tmp_path: Path, size: int) -> None:
        check(tmp_path, 1, ethernet(ip4(tcp(PAYLOAD, seq=123456789), options=b"\x01" * size)))

    def test_total_length_0_means_what_is_captured(self, tmp_path: Path) -> None:
        check(tmp_path, 1, ethernet(ip4(tcp(PAYLOAD, seq=123456789), total=0)))
        long = bytes(100_000)
        check(tmp_path, 1, ethernet(ip4(tcp(long, seq=123456789), total=0)), payload=long)
        check(tmp_path, 1, ethernet(ip6(tcp(long, seq=123456789), size=0), 0x86DD), 6, payload=long)

    def test_total_length_0_of_a_cut_packet_takes_the_length_on_the_wire(self, tmp_path: Path) -> None:
        frame = ethernet(ip4(tcp(bytes(5000)), total=0))
        got = read_bytes(tmp_path / "x", pcap([Packet(frame[:80], length=len(frame))]))
        assert [(len(s["payload"]), s["length"]) for s in got.segments] == [(26, 5000)]

    @pytest.mark.parametrize(
        "chain",
        [
            [(0, 8)],
            [(60, 16)],
            [(43, 24)],
            [(0, 8), (60, 8), (43, 40), (60, 24)],
            [(135, 8), (139, 8), (140, 8)],
            [(51, 24)],
            [(51, 12), (60, 8)],
            [(44, 8)],
            [(0, 8), (44, 8), (60, 16)],
        ],
    )
    def test_ip6_extension_headers(self, tmp_path: Path, chain: list[tuple[int, int]]) -> None:
        content, following = tcp(PAYLOAD, seq=123456789), 6
        for kind, size in reversed(chain):
            units = {51: size // 4 - 2, 44: 0}.get(kind, size // 8 - 1)  # 44 is a fragment header of a whole datagram
            content = bytes([following, units]) + bytes(size - 2) + content
            following = kind
        check(tmp_path, 1, ethernet(ip6(content, following), 0x86DD), 6)

    def test_a_chain_of_extension_headers_has_an_end(self, tmp_path: Path) -> None:
        endless = bytes([0, 0] + [0] * 6) * 3000
        got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(ip6(endless, 0), 0x86DD))]))
        assert not got.segments


class TestTcp:
    def test_options_are_no_payload(self, tmp_path: Path) -> None:
        for size in (4, 12, 40):
            check(tmp_path, 1, ethernet(ip4(tcp(PAYLOAD, seq=123456789, options=b"\x01" * size))))

    def test_segments_without_payload_are_kept(self, tmp_path: Path) -> None:
        flags = [0x02, 0x12, 0x10, 0x11, 0x04]
        got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(ip4(tcp(flags=f))) + bytes(6)) for f in flags]))
        assert [(s["flags"], s["payload"], s["length"]) for s in got.segments] == [(f, b"", 0) for f in flags]

    def test_the_sequence_number_is_unsigned(self, tmp_path: Path) -> None:
        got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(ip4(tcp(seq=2**32 - 1, ack=2**31))))]))
        assert [(s["seq"], s["ack"]) for s in got.segments] == [(2**32 - 1, 2**31)]

    def test_every_cut(self, tmp_path: Path) -> None:
        """A packet cut anywhere: no segment before the TCP flags, the captured payload behind it, always the true length."""
        frame = ethernet(ip4(tcp(PAYLOAD, options=b"\x01" * 12), options=b"\x01" * 4))
        header = 14 + 24 + 14  # up to the flags
        packets = [Packet(frame[:size], length=len(frame)) for size in range(len(frame) + 1)]
        got = read_bytes(tmp_path / "x", pcap(packets))
        assert [s["number"] for s in got.segments] == list(range(header + 1, len(frame) + 2))
        for s in got.segments:
            assert s["payload"] == PAYLOAD[: max(0, s["number"] - 1 - header - 6 - 12)]
            assert s["length"] == len(PAYLOAD)

    @pytest.mark.parametrize(
        "packet",
        [
            pytest.param(ip4(tcp(offset=4)), id="data offset below 5"),
            pytest.param(ip4(tcp(offset=15)), id="data offset behind the datagram"),
            pytest.param(ip4(tcp()[:19]), id="total length inside the TCP header"),
            pytest.param(ip4(tcp(), total=19), id="total length below the header's"),
            pytest.param(b"\x44" + ip4(tcp())[1:], id="IP header length below 5"),
            pytest.param(b"\x55" + ip4(tcp())[1:], id="IP version 5"),
            pytest.param(ip4(udp(b"x", 53), 17), id="UDP"),
            pytest.param(ip4(b"", 6), id="nothing behind the IP header"),
            pytest.param(ip4(tcp(), 1), id="ICMP"),
            pytest.param(b"", id="nothing behind the Ethernet header"),
        ],
    )
    def test_what_is_no_segment(self, tmp_path: Path, packet: bytes) -> None:
        good = Packet(ethernet(ip4(tcp(PAYLOAD))))
        got = read_bytes(tmp_path / "x", pcap([good, Packet(ethernet(packet)), good]))
        assert [s["number"] for s in got.segments] == [1, 3]
        assert got.segmenter.tcp_packets == 2


def test_what_leads_to_no_ip_packet_is_counted(tmp_path: Path) -> None:
    frames = [ethernet(bytes(46), 0x0806), ethernet(vlan(bytes(46), 0x0806), 0x8100), ethernet(bytes(40), 40), b"short", b""]
    got = read_bytes(tmp_path / "x", pcap([Packet(f) for f in [*frames, ethernet(V4)]]))
    assert (got.segmenter.packets, got.segmenter.non_ip, got.segmenter.tcp_packets) == (6, 5, 1)


def test_an_endless_stack_of_tags_does_not_hide_the_packets_beside_it(tmp_path: Path) -> None:
    deep = V4
    for _ in range(200):
        deep = vlan(deep, 0x8100)
    got = read_bytes(tmp_path / "x", pcap([Packet(ethernet(V4)), Packet(ethernet(deep, 0x8100)), Packet(ethernet(V4))]))
    assert [s["number"] for s in got.segments] == [1, 3]


def test_first_and_last_time_over_all_packets(tmp_path: Path) -> None:
    frames = [Packet(ethernet(b"", 0x0806), 500_000), Packet(ethernet(V4), 300_000), Packet(ethernet(b"", 0x0806), 400_000)]
    got = read_bytes(tmp_path / "x", pcap(frames), chunk_bytes=1)
    assert (got.segmenter.first_time_ns, got.segmenter.last_time_ns) == (300_000, 500_000)
    assert [(s["ordinal"], s["time_ns"]) for s in got.segments] == [(1, 300_000)]
