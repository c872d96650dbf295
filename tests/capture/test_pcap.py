"""Classic pcap in all its variants."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from kdissect.capture.packets import MAX_PACKET
from tests.support.packets import T0, Packet, ethernet, ip4, pcap, read, read_bytes, tcp

PACKETS = [Packet(ethernet(ip4(tcp(bytes([i]) * i * 7, seq=i))), T0 + i * 1_000_001_000) for i in range(20)]


@pytest.mark.parametrize("order, nano, modified", list(itertools.product("<>", (False, True), (False, True))))
def test_byte_orders_and_resolutions(tmp_path: Path, order: str, nano: bool, modified: bool) -> None:
    packets = [Packet(p.data, p.time_ns + 789) for p in PACKETS]
    got = read_bytes(tmp_path / "x.pcap", pcap(packets, order=order, nano=nano, modified=modified))
    keep = 789 if nano and not modified else 0
    assert got.packets == [(0, i + 1, p.time_ns + keep, len(p.data), 1, p.data) for i, p in enumerate(PACKETS)]
    info = got.reader.files[0]
    assert (info.format, info.packets, info.truncated, info.error) == ("pcap", 20, False, None)
    assert (info.first_time_ns, info.last_time_ns) == (PACKETS[0].time_ns + keep, PACKETS[-1].time_ns + keep)
    assert info.time_digits == (9 if nano and not modified else 6)
    assert not got.warnings


def test_a_packet_cut_by_the_snap_length_keeps_its_length(tmp_path: Path) -> None:
    whole = ethernet(ip4(tcp(b"x" * 100)))
    got = read_bytes(tmp_path / "x.pcap", pcap([Packet(whole[:64], length=len(whole))]))
    assert got.packets[0][3:] == (154, 1, whole[:64])
    assert got.segments[0]["payload"] == b"x" * 10
    assert got.segments[0]["length"] == 100


def test_a_length_on_the_wire_below_what_was_captured_is_not_believed(tmp_path: Path) -> None:
    assert read_bytes(tmp_path / "x.pcap", pcap([Packet(bytes(60), length=3)])).packets[0][3] == 60


def test_a_length_beyond_31_bits_is_clipped(tmp_path: Path) -> None:
    assert read_bytes(tmp_path / "x.pcap", pcap([Packet(bytes(60), length=2**32 - 1)])).packets[0][3] == 2**31 - 1


def test_the_upper_half_of_the_link_type_is_ignored(tmp_path: Path) -> None:
    got = read_bytes(tmp_path / "x.pcap", pcap(PACKETS, link=0x5400_0001))
    assert {p[4] for p in got.packets} == {1}


def test_times_after_2038(tmp_path: Path) -> None:
    late = (2**32 - 1) * 10**9
    assert read_bytes(tmp_path / "x.pcap", pcap([Packet(bytes(60), late)])).packets[0][2] == late


@pytest.mark.parametrize("chunk", [1, 24, 25, 100, 101, 1000, 4096])
def test_chunks_change_nothing(tmp_path: Path, chunk: int) -> None:
    capture = pcap(PACKETS)
    whole = read_bytes(tmp_path / "x.pcap", capture)
    pieces = read_bytes(tmp_path / "x.pcap", capture, chunk_bytes=chunk)
    assert (pieces.packets, pieces.segments) == (whole.packets, whole.segments)
    assert whole.batches == 1
    assert pieces.batches > 1 or chunk == 4096


def test_a_cut_anywhere_keeps_the_whole_packets_before_it(tmp_path: Path) -> None:
    capture = pcap(PACKETS[:4])
    ends = [24]
    for p in PACKETS[:4]:
        ends.append(ends[-1] + 16 + len(p.data))
    for size in range(4, len(capture)):
        got = read_bytes(tmp_path / "x.pcap", capture[:size])
        assert not got.errors
        assert len(got.packets) == sum(end <= size for end in ends[1:])
        info = got.reader.files[0]
        assert info.truncated == (size not in ends)
        assert len(got.warnings) == (size not in ends)
        if size not in ends:
            assert f"cut off after packet {len(got.packets)}, at byte {size}" in got.warnings[0]


def test_a_corrupt_length_ends_the_capture_with_a_warning(tmp_path: Path) -> None:
    good = pcap(PACKETS[:3])
    for size in (MAX_PACKET + 1, 2**32 - 1):
        bad = good + b"\0" * 8 + size.to_bytes(4, "little") * 2 + bytes(1000)
        for chunk in (50, 1 << 20):
            got = read_bytes(tmp_path / "x.pcap", bad, chunk_bytes=chunk)
            assert len(got.packets) == 3
            assert got.reader.files[0].truncated
            [warning] = got.warnings
            assert f"packet 4 at byte {len(good)} claims {size} captured bytes" in warning


def test_a_large_packet_is_read_with_small_chunks(tmp_path: Path) -> None:
    big = Packet(bytes(range(256)) * 8192)
    got = read_bytes(tmp_path / "x.pcap", pcap([*PACKETS, big, *PACKETS]), chunk_bytes=1000)
    assert [p[5] for p in got.packets] == [p.data for p in (*PACKETS, big, *PACKETS)]


def test_a_capture_without_packets(tmp_path: Path) -> None:
    got = read_bytes(tmp_path / "x.pcap", pcap([]))
    assert not got.packets and not got.errors and not got.warnings
    assert got.reader.files[0].first_time_ns is None


def test_memory_stays_bounded_when_a_length_lies(tmp_path: Path) -> None:
    """A record that claims 16 MiB in a file of some bytes makes no buffer of 16 MiB grow: it is just cut off."""
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(PACKETS[:1]) + b"\0" * 8 + MAX_PACKET.to_bytes(4, "little") * 2 + bytes(10))
    got = read([path], chunk_bytes=100)
    assert len(got.packets) == 1
    assert got.reader.files[0].truncated
