"""pcapng: sections, interfaces, resolutions, every packet block, what stands between, and corruption."""

from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.capture.times import Resolution
from kdissect.model import UNSTAMPED
from tests.support.packets import (
    T0,
    Packet,
    block,
    enhanced,
    ethernet,
    interface,
    ip4,
    obsolete,
    option,
    pcapng,
    read,
    read_bytes,
    section,
    simple,
    tcp,
)

FRAMES = [ethernet(ip4(tcp(bytes([i]) * (i * 5 + 1), seq=i))) for i in range(12)]
PACKETS = [Packet(f, T0 + i * 1_000_000_007) for i, f in enumerate(FRAMES)]


def numbers_and_bytes(got: object) -> list[tuple[int, bytes]]:
    return [(p[1], p[5]) for p in got.packets]  # type: ignore[attr-defined]


@pytest.mark.parametrize("order", "<>")
def test_both_byte_orders(tmp_path: Path, order: str) -> None:
    got = read_bytes(tmp_path / "x.pcapng", pcapng(PACKETS, order=order))
    assert got.packets == [(0, i + 1, p.time_ns, len(p.data), 1, p.data) for i, p in enumerate(PACKETS)]
    info = got.reader.files[0]
    assert (info.format, info.packets, info.time_digits, info.truncated) == ("pcapng", 12, 9, False)
    assert not got.warnings


def test_sections_of_different_byte_order_with_interfaces_of_their_own(tmp_path: Path) -> None:
    capture = (
        section("<")
        + interface(1)
        + interface(101, tsresol=9)
        + enhanced(FRAMES[0], 1_000_000)
        + enhanced(FRAMES[1][14:], 2_000_000_000, interface=1)
        + section(">")
        + interface(113, tsresol=3, order=">")
        + enhanced(FRAMES[2], 3000, order=">")
    )
    got = read_bytes(tmp_path / "x.pcapng", capture)
    assert [(p[1], p[2], p[4]) for p in got.packets] == [(1, 10**9, 1), (2, 2 * 10**9, 101), (3, 3 * 10**9, 113)]
    assert [(i.link, i.time_digits) for i in got.reader.files[0].interfaces] == [(1, 6), (101, 9), (113, 3)]


def test_interleaved_interfaces_of_different_resolution_and_link(tmp_path: Path) -> None:
    capture = section() + interface(1, tsresol=6) + interface(101, tsresol=0x80 | 10)
    for i in range(6):
        capture += enhanced(FRAMES[i], (i + 1) * (1024 if i % 2 else 10**6), interface=i % 2)
    got = read_bytes(tmp_path / "x.pcapng", capture)
    assert [(p[2], p[4]) for p in got.packets] == [((i + 1) * 10**9, 101 if i % 2 else 1) for i in range(6)]


@settings(deadline=None)
@given(
    st.integers(0, 2**64 - 1),
    st.integers(0, 127),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1) | st.integers(-2_000_000_000, 2_000_000_000),
)
def test_every_resolution_and_offset(units: int, exponent: int, binary: bool, offset: int) -> None:
    resolution = Resolution.from_option(exponent | 0x80 * binary, offset)
    got = int(resolution.nanoseconds(np.array([units], np.uint64))[0])
    exact = Fraction(units, (2 if binary else 10) ** exponent)
    limit = 2**63 // 10**9 - 1
    if exact < limit and -limit < offset < limit and -limit < exact + offset < limit:
        want = (exact + offset) * 10**9
        assert want - 2 < got <= want
    else:
        assert abs(got) <= 2**63 - 1


def test_options_of_interfaces(tmp_path: Path) -> None:
    capture = section() + interface(1, tsresol=9, tsoffset=1_700_000_000, name="eth0", snaplen=99) + enhanced(FRAMES[0], 5)
    got = read_bytes(tmp_path / "x.pcapng", capture)
    assert got.packets[0][2] == T0 + 5
    [card] = got.reader.files[0].interfaces
    assert (card.name, card.snaplen, card.time_digits) == ("eth0", 99, 9)


@pytest.mark.parametrize("order", "<>")
def test_simple_and_obsolete_packet_blocks_keep_their_place(tmp_path: Path, order: str) -> None:
    capture = (
        section(order)
        + interface(1, snaplen=40, order=order)
        + interface(101, order=order)
        + simple(FRAMES[0][:40], length=len(FRAMES[0]), order=order)
        + enhanced(FRAMES[1], 1, order=order)
        + obsolete(FRAMES[2], 2, interface=1, order=order)
        + simple(FRAMES[3][:7], order=order)
        + obsolete(FRAMES[4], 3, order=order)
    )
    got = read_bytes(tmp_path / "x.pcapng", capture)
    assert [(p[1], p[2], p[3], p[4], p[5]) for p in got.packets] == [
        (1, UNSTAMPED, len(FRAMES[0]), 1, FRAMES[0][:40]),
        (2, 1000, len(FRAMES[1]), 1, FRAMES[1]),
        (3, 2000, len(FRAMES[2]), 101, FRAMES[2]),
        (4, UNSTAMPED, 7, 1, FRAMES[3][:7]),
        (5, 3000, len(FRAMES[4]), 1, FRAMES[4]),
    ]
    assert (got.reader.files[0].first_time_ns, got.reader.files[0].last_time_ns) == (1000, 3000)


def test_blocks_without_packets_are_passed_over_and_numbered_as_wireshark_does(tmp_path: Path) -> None:
    capture = (
        section(options=option(1, b"a comment") + option(0, b""))
        + interface()
        + block(4, option(1, b"\x0a\0\0\1host\0"))  # name resolution
        + enhanced(FRAMES[0], 1, options=option(1, b"comment on a packet") + option(0, b""))
        + block(0xBAD, struct.pack("<I", 32473) + b"custom!!")  # takes a number, as in Wireshark
        + enhanced(FRAMES[1], 2)
        + block(0x1234, b"of no known type")  # takes none
        + enhanced(FRAMES[2], 3)
        + block(9, b"__REALTIME_TIMESTAMP=1\n")  # a journal entry takes one
        + enhanced(FRAMES[3], 4)
    )
    got = read_bytes(tmp_path / "x.pcapng", capture)
    assert numbers_and_bytes(got) == [(1, FRAMES[0]), (3, FRAMES[1]), (4, FRAMES[2]), (6, FRAMES[3])]
    assert not got.warnings


def test_secrets_and_drop_counts_are_kept(tmp_path: Path) -> None:
    keys = b"CLIENT_RANDOM 00 11\n"
    statistics = struct.pack("<III", 0, 0, 0) + option(5, struct.pack("<Q", 3)) + option(7, struct.pack("<Q", 4))
    capture = (
        section()
        + interface()
        + block(10, struct.pack("<II", 0x544C534B, len(keys)) + keys)
        + enhanced(FRAMES[0], 1)
        + block(5, struct.pack("<III", 0, 0, 0) + option(5, struct.pack("<Q", 1)))
        + block(5, statistics + option(0, b""))
    )
    got = read_bytes(tmp_path / "x.pcapng", capture)
    assert got.reader.secrets == [(0x544C534B, keys)]
    assert got.reader.files[0].dropped == 7
    assert read_bytes(tmp_path / "y.pcapng", section() + interface()).reader.files[0].dropped is None


@pytest.mark.parametrize("chunk", [1, 28, 29, 100, 333, 4096])
def test_chunks_change_nothing(tmp_path: Path, chunk: int) -> None:
    capture = pcapng(PACKETS) + block(0xBAD, bytes(500)) + pcapng(PACKETS, order=">") + simple(FRAMES[0], order=">")
    whole = read_bytes(tmp_path / "x.pcapng", capture)
    pieces = read_bytes(tmp_path / "x.pcapng", capture, chunk_bytes=chunk)
    assert (pieces.packets, pieces.segments) == (whole.packets, whole.segments)
    assert len(whole.packets) == 25


def test_a_cut_anywhere_keeps_the_whole_packets_before_it(tmp_path: Path) -> None:
    head = section() + interface(tsresol=9)
    blocks = [enhanced(p.data, p.time_ns) for p in PACKETS[:3]] + [simple(FRAMES[0]), block(5, bytes(12))]
    capture = head + b"".join(blocks)
    ends = [len(section()), len(head)]
    for b in blocks:
        ends.append(ends[-1] + len(b))
    for size in range(4, len(capture)):
        got = read_bytes(tmp_path / "x.pcapng", capture[:size])
        assert not got.errors
        assert len(got.packets) == sum(end <= size for end in ends[2:6])
        assert got.reader.files[0].truncated == (size not in ends)


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(b"\xff" * 64, id="garbage"),
        pytest.param(bytes(4096), id="a hole of zeros"),
        pytest.param(struct.pack("<II", 6, 4), id="too small"),
        pytest.param(struct.pack("<II", 6, 2**31), id="far too large"),
        pytest.param(struct.pack("<II", 6, 1001) + bytes(56), id="not a multiple of 4"),
        pytest.param(struct.pack("<II", 4, 64) + bytes(56), id="lengths in front and behind differ"),
        pytest.param(b"\x0a\x0d\x0d\x0a" + struct.pack("<II", 28, 0) + bytes(16), id="section of no byte order"),
        pytest.param(struct.pack("<III", 6, 5000, 0), id="claims to reach behind the end"),
    ],
)
def test_reading_goes_on_behind_a_corrupt_block(tmp_path: Path, fault: bytes, chunk: int) -> None:
    capture = section() + interface() + enhanced(FRAMES[0], 1) + fault
    at = len(section() + interface() + enhanced(FRAMES[0], 1))
    capture += enhanced(FRAMES[1], 2) + enhanced(FRAMES[2], 3) + (bytes(3000) if b"\x88\x13" in fault[:8] else b"")
    got = read_bytes(tmp_path / "x.pcapng", capture, chunk_bytes=chunk)
    assert not got.errors
    assert got.packets[0][5] == FRAMES[0]
    if b"\x88\x13" in fault[:8]:  # nothing shows that this one is corrupt but the file's end
        assert got.reader.files[0].truncated
        return
    assert numbers_and_bytes(got) == [(1, FRAMES[0]), (2, FRAMES[1]), (3, FRAMES[2])]
    assert f"byte {at}, after packet 1," in got.warnings[0]
    assert f"reading goes on at byte {at + len(fault)}" in got.warnings[1]


@pytest.mark.parametrize("which", ["captured", "interface"])
def test_a_packet_block_with_bad_fields_is_passed_over_but_counted(tmp_path: Path, which: str) -> None:
    bad = bytearray(enhanced(FRAMES[1], 2))
    struct.pack_into("<I", bad, 20 if which == "captured" else 8, 10_000)
    capture = section() + interface() + enhanced(FRAMES[0], 1) + bytes(bad) + enhanced(FRAMES[2], 3)
    got = read_bytes(tmp_path / "x.pcapng", capture)
    assert numbers_and_bytes(got) == [(1, FRAMES[0]), (3, FRAMES[2])]
    [warning] = got.warnings
    assert "packet 2 at byte" in warning


def test_packets_before_any_interface(tmp_path: Path) -> None:
    got = read_bytes(
        tmp_path / "x.pcapng", section() + simple(FRAMES[0]) + enhanced(FRAMES[1], 1) + interface() + simple(FRAMES[2])
    )
    assert numbers_and_bytes(got) == [(3, FRAMES[2])]
    assert len(got.warnings) == 2


def test_a_huge_block_that_is_no_packet_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    size = 64 << 20
    with path.open("wb") as f:
        f.write(section() + interface() + enhanced(FRAMES[0], 1) + struct.pack("<II", 0xBAD, size))
        f.seek(size - 12, 1)  # a sparse file
        f.write(struct.pack("<I", size) + enhanced(FRAMES[1], 2))
    got = read([path])
    assert [p[5] for p in got.packets] == [FRAMES[0], FRAMES[1]]
    assert "passed over" in got.warnings[0]


def test_warnings_of_one_file_are_limited(tmp_path: Path) -> None:
    capture = section() + interface() + (bytes(16) + enhanced(FRAMES[0], 1)) * 1000
    got = read_bytes(tmp_path / "x.pcapng", capture)
    assert len(got.packets) == 1000
    assert len(got.warnings) == 21
    assert "further" in got.warnings[-1]
