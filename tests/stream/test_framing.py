"""Frames out of pieces: independent of how the stream was cut, exact about what is missing."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from kdissect.stream.framing import Frame, Framer
from kdissect.stream.reassembly import Packet, Piece


def packet(ordinal: int) -> Packet:
    return Packet(ordinal, ordinal * 1000, ordinal, 0, None)


def framer(limit: int = 1 << 20, admit: bool = True) -> Framer:
    made = Framer(lambda head, size, packet: admit, limit)
    made.synced = True
    return made


def message(size: int, fill: int = 0) -> bytes:
    return size.to_bytes(4) + bytes([fill % 256]) * size


def pieces(stream: bytes, cuts: list[int], missing: range = range(0)) -> list[Piece]:
    out = []
    edges = sorted({0, len(stream), *cuts, *([missing.start, missing.stop] if missing else [])})
    for number, (a, b) in enumerate(itertools.pairwise(edges), 1):
        lost = missing and missing.start <= a < missing.stop
        out.append(Piece(a, b - a, None, None) if lost else Piece(a, b - a, memoryview(stream[a:b]), packet(number)))
    return out


def shapes(frames: list[Frame]) -> list[tuple[int, bytes]]:
    return [(frame.offset, bytes(frame.data)) for frame in frames]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_any_cut_gives_the_same_frames(sizes: list[int], rng: random.Random) -> None:
    stream = b"".join(message(size, n) for n, size in enumerate(sizes))
    whole = framer()
    for piece in pieces(stream, []):
        whole.feed(piece)
    torn = framer()
    for piece in pieces(stream, [rng.randrange(len(stream)) for _ in range(25)]):
        torn.feed(piece)
        torn.detach()
    assert shapes(torn.take()) == shapes(whole.frames)
    assert [len(data) - 4 for _, data in shapes(whole.frames)] == sizes
    assert torn.framed == len(stream)


def test_every_cut_of_one_frame_names_its_first_and_last_packet() -> None:
    stream = message(9)
    for cut in range(1, len(stream)):
        made = framer()
        for piece in pieces(stream, [cut]):
            made.feed(piece)
        (frame,) = made.take()
        assert (frame.first.number, frame.last.number, frame.complete) == (1, 2, True)


@given(st.lists(st.integers(8, 40), min_size=3, max_size=10), st.data())
def test_a_gap_inside_a_frame_keeps_the_boundary(sizes: list[int], data: st.DataObject) -> None:
    victim = data.draw(st.integers(0, len(sizes) - 1))
    start = sum(size + 4 for size in sizes[:victim])
    a = data.draw(st.integers(start + 4, start + 3 + sizes[victim]))
    b = data.draw(st.integers(a + 1, start + 4 + sizes[victim]))
    stream = b"".join(message(size, n) for n, size in enumerate(sizes))
    made = framer()
    for piece in pieces(stream, [], range(a, b)):
        made.feed(piece)
    frames = made.take()
    assert [frame.size - 4 for frame in frames] == sizes
    assert [frame.complete for frame in frames] == [n != victim for n in range(len(sizes))]
    cut = frames[victim]
    assert bytes(cut.data) == stream[start:a]
    assert cut.captured == sizes[victim] + 4 - (b - a)
    assert made.missing == b - a and made.skipped == 0 and made.synced


def test_a_gap_over_a_boundary_loses_sync_and_resume_finds_it_again() -> None:
    stream = message(10, 1) + message(10, 2) + message(10, 3)
    made = framer()
    for piece in pieces(stream, [], range(10, 20)):
        made.feed(piece)
    (cut,) = made.take()
    assert cut.offset == 0 and not cut.complete and not made.synced
    assert made.framed == 20 and made.backlog_bytes == len(stream) - 20
    made.resume(28)
    assert shapes(made.take()) == [(28, message(10, 3))]
    assert made.skipped == 8 and made.missing == 10


def test_a_gap_inside_the_size_prefix_skips_its_remains() -> None:
    stream = message(10) + message(10)
    made = framer()
    for piece in pieces(stream, [], range(16, 20)):
        made.feed(piece)
    assert len(made.take()) == 1
    assert made.skipped == 2 and not made.synced


def test_a_senseless_size_loses_sync_at_the_frame() -> None:
    for cut in range(1, 8):
        made = framer()
        for piece in pieces(message(5) + b"\xff\xff\xff\xff" + bytes(20), [9 + cut]):
            made.feed(piece)
        assert len(made.take()) == 1
        assert not made.synced and made.framed == 9 and made.backlog_bytes == 24


def test_a_head_that_is_not_admitted_loses_sync_whatever_the_cut() -> None:
    stream = message(30)
    for cut in range(1, len(stream)):
        made = framer(admit=False)
        for piece in pieces(stream, [cut]):
            made.feed(piece)
        assert made.take() == [] and not made.synced
        assert made.framed == 0 and bytes(made.backlog[0].data) == stream


def test_a_message_over_the_limit_is_cut_there_and_the_next_one_is_whole() -> None:
    stream = message(5000, 1) + message(10, 2)
    made = framer(limit=1000)
    for piece in pieces(stream, list(range(0, 5000, 700))):
        made.feed(piece)
    big, small = made.take()
    assert (len(big.data), big.size, big.captured, big.complete) == (1000, 5004, 5004, False)
    assert small.complete and bytes(small.data) == message(10, 2)


def test_the_end_gives_what_is_unfinished() -> None:
    made = framer()
    for piece in pieces(message(10)[:8], []):
        made.feed(piece)
    made.end()
    (frame,) = made.take()
    assert not frame.complete and frame.captured == 8
    made = framer()
    for piece in pieces(b"\0\0", []):
        made.feed(piece)
    made.end()
    assert made.take() == [] and made.skipped == 2
