"""Decompression: every framing that Kafka's clients write, against other libraries, and its bounds."""

from __future__ import annotations

import gzip
import random
import struct
import tracemalloc
import zlib

import cramjam
import kafka.codec
import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.wire.compression import (
    CODEC_NAMES,
    GZIP,
    LZ4,
    SNAPPY,
    XERIAL_MAGIC,
    ZSTD,
    Undecompressable,
    break_lz4_header,
    codec_name,
    compress,
    decompress,
    xerial,
)

MIB = 1 << 20
TEXT = b"".join(b"line %d of some text; " % (i * i) for i in range(30_000))
NOISE = random.Random(7).randbytes(300_000)
CODECS = (GZIP, SNAPPY, LZ4, ZSTD)


def expand(codec: int, data: bytes, limit: int = 64 * MIB, magic: int = 2) -> bytes:
    return decompress(codec, memoryview(data), limit, magic=magic)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", [b"", b"a", TEXT, NOISE], ids=["empty", "one", "text", "noise"])
def test_round_trip(codec, data):
    assert expand(codec, compress(codec, data)) == data


@pytest.mark.parametrize("data", [b"a", TEXT, NOISE], ids=["one", "text", "noise"])
def test_other_libraries_read_what_is_written(data):
    assert gzip.decompress(compress(GZIP, data)) == data
    assert lz4.frame.decompress(compress(LZ4, data)) == data
    assert zstandard.ZstdDecompressor().decompressobj().decompress(compress(ZSTD, data)) == data
    assert kafka.codec.lz4_decode_old_kafka(compress(LZ4, data, magic=0)) == data


def test_gzip_of_several_members():
    assert expand(GZIP, gzip.compress(TEXT, 1) + gzip.compress(b"") + gzip.compress(NOISE, 9)) == TEXT + NOISE


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("block_size", [lz4.frame.BLOCKSIZE_MAX64KB, lz4.frame.BLOCKSIZE_MAX4MB])
@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_lz4_frames_of_every_make(linked, block_size, sums, magic):
    frame = lz4.frame.compress(
        TEXT + NOISE, block_linked=linked, block_size=block_size, content_checksum=sums, block_checksum=sums, store_size=sums
    )
    assert expand(LZ4, frame, magic=magic) == TEXT + NOISE


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_lz4_frames_one_after_the_other_with_a_skippable_one(magic):
    frames = (
        lz4.frame.compress(TEXT, content_checksum=True),
        lz4.frame.compress(b""),
        lz4.frame.compress(NOISE, block_checksum=True),
    )
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"12345"
    assert expand(LZ4, skippable.join(frames), magic=magic) == TEXT + NOISE


@pytest.mark.parametrize("sums", [False, True])
def test_wrong_lz4_header_checksums_pass_in_magic_0_only(sums):
    """KAFKA-3160, in every one of several frames."""
    text = TEXT[:100_000]
    frame = lz4.frame.compress(text, content_checksum=sums, block_checksum=sums, store_size=sums)
    broken = break_lz4_header(frame)
    assert broken != frame
    assert expand(LZ4, broken + frame + broken, magic=0) == text * 3
    for magic in (1, 2):
        with pytest.raises(Undecompressable):
            expand(LZ4, broken, magic=magic)


def test_lz4_frames_as_another_client_breaks_them():
    assert expand(LZ4, kafka.codec.lz4_encode_old_kafka(TEXT), magic=0) == TEXT


def test_snappy_raw():
    assert expand(SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_snappy_in_hundreds_of_xerial_blocks():
    data = xerial(TEXT, 1024)
    assert len(TEXT) > 500 * 1024
    assert expand(SNAPPY, data) == TEXT


def test_xerial_header_as_written_by_snappy_java():
    assert xerial(b"")[:16] == bytes.fromhex("82534e4150505900" "00000001" "00000001")  # fmt: skip


def test_xerial_streams_one_after_the_other():
    assert expand(SNAPPY, xerial(TEXT) + xerial(NOISE)) == TEXT + NOISE


@pytest.mark.parametrize(
    "tail", [b"\0", b"\0\0\0\0", b"\0\0\0\5abc", b"\xff\xff\xff\xff", XERIAL_MAGIC, XERIAL_MAGIC + b"\0\0\0"]
)
def test_xerial_with_a_bad_tail(tail):
    with pytest.raises(Undecompressable):
        expand(SNAPPY, xerial(TEXT) + tail)


def test_zstd_frames_without_content_size_and_one_after_the_other():
    writer = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compressobj()
    streamed = writer.compress(TEXT) + writer.flush()
    assert zstandard.get_frame_parameters(streamed).content_size == zstandard.CONTENTSIZE_UNKNOWN
    skippable = struct.pack("<II", 0x184D2A50, 3) + b"123"
    assert expand(ZSTD, streamed + skippable + zstandard.compress(NOISE)) == TEXT + NOISE


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_exact(codec):
    data = compress(codec, TEXT)
    assert expand(codec, data, len(TEXT)) == TEXT
    with pytest.raises(Undecompressable, match="more than the"):
        expand(codec, data, len(TEXT) - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_every_truncation_is_told(codec):
    """But for xerial's framing, whose end is wherever a block ends."""
    data = bytes(cramjam.snappy.compress_raw(TEXT[:2000])) if codec == SNAPPY else compress(codec, TEXT[:2000])
    for cut in range(len(data)):
        with pytest.raises(Undecompressable):
            expand(codec, data[:cut])


def test_a_raw_snappy_block_that_claims_four_gigabytes():
    with pytest.raises(Undecompressable):
        expand(SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\0a", 2**33)


def test_unknown_codecs_are_refused_by_name():
    assert [codec_name(codec) for codec in range(8)] == [*CODEC_NAMES, "unknown(5)", "unknown(6)", "unknown(7)"]
    for codec in (0, 5, 6, 7):
        with pytest.raises(Undecompressable):
            expand(codec, b"abc")
    with pytest.raises(ValueError):
        compress(5, b"abc")


@pytest.mark.parametrize("magic", [0, 2])
@pytest.mark.parametrize("codec", CODECS)
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_arbitrary_and_damaged_bytes_raise_nothing_else(codec, magic, data):
    start = data.draw(st.sampled_from([b"", compress(codec, TEXT[:500], magic=magic), XERIAL_MAGIC]))
    mutated = bytearray(start[: data.draw(st.integers(0, len(start)))] + data.draw(st.binary(max_size=60)))
    for at in data.draw(st.lists(st.integers(0, max(0, len(mutated) - 1)), max_size=4)):
        if mutated:
            mutated[at] = data.draw(st.integers(0, 255))
    try:
        assert len(expand(codec, bytes(mutated), MIB, magic=magic)) <= MIB
    except Undecompressable as error:
        assert str(error)


BOMBS = {
    "gzip": (GZIP, lambda zeros: gzip.compress(zeros, 9)),
    "gzip members": (GZIP, lambda zeros: gzip.compress(zeros[:MIB]) * 190),
    "lz4": (LZ4, lz4.frame.compress),
    "zstd": (ZSTD, zstandard.compress),
    "snappy": (SNAPPY, lambda zeros: bytes(cramjam.snappy.compress_raw(zeros))),
    "xerial": (SNAPPY, lambda zeros: xerial(zeros, MIB)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_at_the_limit(name):
    codec, make = BOMBS[name]
    data = make(bytes(200_000_000))
    tracemalloc.start()
    with pytest.raises(Undecompressable, match=r"more than the \d+ bytes permitted"):
        expand(codec, data, 50 * MIB)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 51 * MIB


def test_many_empty_gzip_members():
    """In linear time: handing the rest on from member to member would copy 2 TB here."""
    assert expand(GZIP, gzip.compress(b"") * 200_000 + gzip.compress(b"x")) == b"x"


def test_gzip_with_a_wrong_checksum_is_told():
    data = bytearray(gzip.compress(TEXT))
    data[-6] ^= 1
    with pytest.raises(Undecompressable):
        expand(GZIP, bytes(data))
    assert zlib.decompress(bytes(data)[10:-8], wbits=-15) == TEXT
