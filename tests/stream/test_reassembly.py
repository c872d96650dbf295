"""One direction of TCP: whatever the order, overlap and loss, the stream comes out right and every byte is counted."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from kdissect.stream.reassembly import Packet, Piece, Reassembler

BASE = 0xFFFFFF00  # sequence numbers wrap after 256 bytes


def feed(stream: Reassembler, offset: int, data: bytes, ordinal: int = 0, length: int | None = None) -> list[Piece]:
    packet = Packet(ordinal, ordinal, ordinal, 0, None)
    return stream.feed((BASE + offset) & 0xFFFFFFFF, memoryview(data), len(data) if length is None else length, packet)


def started() -> Reassembler:
    stream = Reassembler()
    stream.start(BASE, certain=True)
    return stream


def joined(pieces: list[Piece]) -> bytes:
    """The bytes of contiguous pieces; a missing one counts as that many dots."""
    at = pieces[0].offset if pieces else 0
    out = b""
    for piece in pieces:
        assert piece.offset == at
        out += b"." * piece.length if piece.data is None else bytes(piece.data)
        at += piece.length
    return out


@given(st.binary(min_size=1, max_size=900), st.randoms(use_true_random=False))
def test_any_order_and_overlap_gives_the_stream(content: bytes, rng: random.Random) -> None:
    cuts = sorted({0, len(content), *(rng.randrange(len(content)) for _ in range(12))})
    parts = list(itertools.pairwise(cuts))
    parts += [tuple(sorted((rng.randrange(len(content)), rng.randrange(len(content) + 1)))) for _ in range(6)]
    rng.shuffle(parts)
    stream = started()
    pieces: list[Piece] = []
    for ordinal, (a, b) in enumerate(parts):
        if a < b:
            pieces += feed(stream, a, content[a:b], ordinal)
    assert joined(pieces) == content
    assert stream.captured == len(content) + stream.duplicate
    assert not stream.held and not stream.conflicts


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), max_size=30))
def test_every_captured_byte_is_delivered_or_duplicate(parts: list[tuple[int, int]]) -> None:
    content = bytes(i % 251 for i in range(500))
    stream = started()
    pieces: list[Piece] = []
    for ordinal, (at, size) in enumerate(parts):
        pieces += feed(stream, at, content[at : at + size], ordinal)
    while stream.held:
        pieces += stream.give_up()
    held = sum(len(piece.data) for piece in pieces if piece.data is not None)
    assert stream.captured == held + stream.duplicate
    covered = {i for at, size in parts for i in range(at, at + size)}
    end = max(covered, default=-1) + 1
    assert joined(pieces) == bytes(content[i] if i in covered else ord(".") for i in range(end))


def test_the_first_copy_is_kept_and_a_different_second_one_is_noticed() -> None:
    stream = started()
    assert feed(stream, 10, b"later") == []
    assert feed(stream, 10, b"LATER") == []
    assert stream.conflicts == [10]
    assert joined(feed(stream, 0, b"0123456789")) == b"0123456789later"
    assert stream.duplicate == 5


def test_a_packet_cut_by_the_snap_length_leaves_a_hole_of_known_size() -> None:
    stream = started()
    pieces = feed(stream, 0, b"head", length=10) + feed(stream, 10, b"next")
    assert joined(pieces) == b"head......next"


def test_a_cut_packet_behind_a_hole() -> None:
    stream = started()
    assert feed(stream, 4, b"cd", length=6) == []
    assert joined(feed(stream, 0, b"ab..")) == b"ab..cd...."


def test_keep_alive_probe_is_a_duplicate() -> None:
    stream = started()
    feed(stream, 0, b"hello")
    assert feed(stream, 4, b"o") == []
    assert stream.duplicate == 1 and stream.pos == 5


def test_data_far_from_the_window_is_stray() -> None:
    stream = started()
    feed(stream, 0, b"hello")
    assert feed(stream, 2_000_000_000, b"x") == []
    assert stream.stray == 1 and not stream.held


def test_pieces_remember_the_packet_that_brought_them() -> None:
    stream = started()
    feed(stream, 3, b"def", 1)
    pieces = feed(stream, 0, b"abc", 2)
    assert [piece.packet.ordinal for piece in pieces if piece.packet] == [2, 1]
