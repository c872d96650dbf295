"""What scapy and tshark make of the same packets."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.packets import Packet, Read, ethernet, fragments4, ip4, pcap, read, read_bytes, tcp

scapy: Any = pytest.importorskip("scapy.all", reason="scapy is not installed")


def random_packet(rng: random.Random) -> Any:
    """A packet with a TCP segment behind random layers, built by scapy."""
    payload = rng.randbytes(rng.choice([0, 0, 1, 10, 300]))
    options = rng.choice([[], [("MSS", 1460), ("SAckOK", b""), ("Timestamp", (1, 2)), ("NOP", None), ("WScale", 7)]])
    segment = scapy.TCP(
        sport=rng.randrange(65536),
        dport=9092,
        seq=rng.randrange(2**32),
        ack=rng.randrange(2**32),
        flags=rng.choice(["S", "SA", "A", "PA", "FA", "R"]),
        options=options,
    )
    packet = segment / scapy.Raw(payload) if payload else segment

    def network(inner: Any) -> Any:
        if rng.random() < 0.5:
            ip = scapy.IP(src=f"10.0.{rng.randrange(9)}.{rng.randrange(9)}", dst="10.9.9.9")
            return ip / inner
        ip = scapy.IPv6(src=f"2001:db8::{rng.randrange(1, 9)}", dst="2001:db8::9")
        if rng.random() < 0.3:
            ip = ip / scapy.IPv6ExtHdrHopByHop() / scapy.IPv6ExtHdrDestOpt()
        return ip / inner

    def link(inner: Any) -> Any:
        frame = scapy.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        for _ in range(rng.choice([0, 0, 1, 2])):
            frame = frame / scapy.Dot1Q(vlan=rng.randrange(4095))
        return frame / inner

    packet = network(packet)
    tunnel = rng.random()
    if tunnel < 0.1:
        packet = network(scapy.GRE() / packet)
    elif tunnel < 0.2:
        packet = network(scapy.UDP(sport=1, dport=4789) / scapy.VXLAN(vni=7, flags=8) / link(packet))
    return link(packet)


def by_scapy(path: Path) -> list[tuple[Any, ...]]:
    """(number, ports, seq, ack, flags, payload) of every segment."""
    out = []
    for number, packet in enumerate(scapy.rdpcap(str(path)), 1):
        if scapy.TCP in packet:
            t = packet[scapy.TCP]
            payload = bytes(t.payload.original) if not isinstance(t.payload, scapy.NoPayload) else b""
            padding = len(packet[scapy.Padding].load) if scapy.Padding in packet else 0
            payload = payload[: len(payload) - padding] if padding and payload.endswith(bytes(padding)) else payload
            out.append((number, t.sport, t.dport, t.seq, t.ack, int(t.flags), payload))
    return out


def ours(got: Read) -> list[tuple[Any, ...]]:
    def port(text: str) -> int:
        return int(text.rpartition(":")[2])

    return [
        (s["number"], port(s["source"]), port(s["target"]), s["seq"], s["ack"], s["flags"], s["payload"]) for s in got.segments
    ]


@pytest.mark.parametrize("seed", range(5))
def test_scapy_sees_the_same_segments(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "x.pcap"
    scapy.wrpcap(str(path), [random_packet(rng) for _ in range(60)])
    got = read([path])
    assert ours(got) == by_scapy(path)
    assert len(got.segments) == 60


@pytest.mark.parametrize("link", [113, 276, 101, 0])
def test_scapy_writes_other_link_types(tmp_path: Path, link: int) -> None:
    rng = random.Random(link)
    layer = {
        113: lambda p: scapy.CookedLinux(proto=0x86DD if scapy.IPv6 in p else 0x800) / p,
        276: lambda p: scapy.CookedLinuxV2(proto=0x86DD if scapy.IPv6 in p else 0x800) / p,
        101: lambda p: p,
        0: lambda p: scapy.Loopback(type=30 if scapy.IPv6 in p else 2) / p,
    }[link]
    packets = []
    while len(packets) < 40:
        frame = random_packet(rng)
        inner = frame[scapy.IP] if frame.haslayer(scapy.IP) and not frame.haslayer(scapy.IPv6) else None
        inner = frame[scapy.IPv6] if frame.haslayer(scapy.IPv6) and not frame.haslayer(scapy.IP) else inner
        if inner is not None:
            packets.append(layer(inner))
    path = tmp_path / "x.pcap"
    scapy.wrpcap(str(path), packets, linktype=link)
    got = read([path])
    assert len(got.segments) == 40
    assert [x[1:6] for x in ours(got)] == [
        (p[scapy.TCP].sport, p[scapy.TCP].dport, p[scapy.TCP].seq, p[scapy.TCP].ack, int(p[scapy.TCP].flags)) for p in packets
    ]


@pytest.mark.parametrize("version", [4, 6])
def test_scapy_fragments(tmp_path: Path, version: int) -> None:
    payload = random.Random(3).randbytes(5000)
    segment = scapy.TCP(sport=1, dport=2, seq=3) / scapy.Raw(payload)
    if version == 4:
        pieces = scapy.fragment(scapy.IP(src="10.0.0.1", dst="10.0.0.2", id=9) / segment, fragsize=1000)
    else:
        whole = scapy.IPv6(src="fd00::1", dst="fd00::2") / scapy.IPv6ExtHdrFragment(id=9) / segment
        pieces = scapy.fragment6(whole, 1280)
    assert len(pieces) >= 4
    path = tmp_path / "x.pcap"
    scapy.wrpcap(str(path), [scapy.Ether() / p for p in pieces])
    assert read([path]).payloads == [payload]


def test_scapy_dissects_the_link_types_that_we_do_not(tmp_path: Path) -> None:
    """802.11 with a radiotap header (127): one segment, one beacon, one packet of nonsense."""
    dot11 = scapy.Dot11(type=2, subtype=0, FCfield=1) / scapy.LLC() / scapy.SNAP() / scapy.IP(ip4(tcp(b"over the air")))
    packets = [bytes(scapy.RadioTap() / p) for p in (dot11, scapy.Dot11(type=0, subtype=8) / scapy.Dot11Beacon())]
    got = read_bytes(tmp_path / "x", pcap([Packet(p) for p in [*packets, b"\xff" * 30, b""]], link=127))
    assert [(s["number"], s["payload"], s["source"]) for s in got.segments] == [(1, b"over the air", "10.0.0.5:50000")]
    assert got.segmenter.non_ip == 3
    [warning] = got.warnings
    assert "link type 127 are dissected by scapy" in warning


def test_link_types_that_nobody_knows_are_counted(tmp_path: Path) -> None:
    got = read_bytes(tmp_path / "x", pcap([Packet(bytes(60))] * 3, link=9999))
    assert got.segmenter.unsupported_link == {9999: 3}
    [warning] = got.warnings
    assert "link type 9999 are passed over" in warning


def test_link_types_without_scapy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError

    monkeypatch.setattr("importlib.import_module", missing)
    got = read_bytes(tmp_path / "x", pcap([Packet(bytes(60))], link=127))
    assert got.segmenter.unsupported_link == {127: 1}
    assert "with scapy installed" in got.warnings[0]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("seed", range(3))
def test_tshark_sees_the_same_packets_times_and_segments(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    packets = []
    for i in range(80):
        frame = bytes(random_packet(rng))
        cut = frame[: rng.choice([len(frame), len(frame), 70])]
        packets.append(Packet(cut, 1_700_000_000_123_456_000 + i * 1_000_000, length=len(frame)))
    packets += [Packet(ethernet(p), 1_700_000_001_000_000_000) for p in fragments4(tcp(bytes(4000)), 1480)]
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(packets))
    fields = ["frame.number", "frame.time_epoch", "frame.cap_len", "frame.len", "tcp.seq_raw", "tcp.ack_raw", "tcp.len"]
    command = ["tshark", "-r", str(path), "-T", "fields", "-o", "tcp.relative_sequence_numbers:FALSE"]
    command += ["-o", "ip.defragment:TRUE", *(x for f in fields for x in ("-e", f))]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    got = read([path])
    assert [
        (str(p[1]), f"{p[2] // 10**9}.{p[2] % 10**9:09}", str(len(p[5])), str(p[3])) for p in got.packets
    ] == [tuple(r[:4]) for r in rows]  # fmt: skip
    theirs = {int(r[0]): (int(r[4]), int(r[5]), int(r[6])) for r in rows if r[6]}
    mine = {s["number"]: (s["seq"], s["ack"], s["length"]) for s in got.segments}
    # A TCP header that is cut before its flags has no length in tshark, and gives no segment here.
    assert mine == theirs
