"""Kafka's codecs, with a bound on what comes out.

Codec numbers are bits 0-2 of a batch's or message's attributes.  Every
decompressor writes into a buffer of the permitted size, so that no length
claimed by the data is ever believed: pages of the buffer that stay unwritten
cost no memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import cramjam
import numpy as np

from kdissect.wire.checksums import xxh32_short

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

CODEC_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""Names by codec number, as the ``compression.type`` setting has them."""

# The most that one byte of input can become: of deflate 1,032, of an LZ4 sequence 255, of a zstd RLE block 128 kiB / 4.
_EXPANSION = {GZIP: 1040, LZ4: 256, ZSTD: 32768}
_SLACK = 1 << 17

# Framing of xerial's snappy-java (SnappyCodec): magic, version, lowest compatible version; then blocks with an int32 size.
XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER = XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_INT32 = struct.Struct(">i")

_LZ4_MAGIC = 0x184D2204
_LZ4_SKIPPABLE = 0x184D2A50
_UINT32_LE = struct.Struct("<I")


class Undecompressable(Exception):
    """Compressed data that is damaged, of an unknown codec, or larger than permitted; the text says which."""


def codec_name(codec: int) -> str:
    """The codec's name, ``"unknown(5)"`` for numbers that Kafka has not given out."""
    return CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else f"unknown({codec})"


def decompress(codec: int, data: memoryview, limit: int, *, magic: int = 2) -> bytes:
    """The bytes that ``data`` expands to; at most ``limit`` of them.

    ``magic`` is the format of the message around them: LZ4 frames of magic 0
    may have a wrong header checksum (KAFKA-3160).  Gzip members and LZ4 and
    zstd frames may be concatenated; snappy may be raw or in xerial's blocks.

    Raises :class:`Undecompressable`, and nothing else, whatever the bytes.
    """
    try:
        if codec == SNAPPY:
            return _unsnap(data, limit)
        if codec == LZ4 and magic == 0:
            data = memoryview(_mend_lz4_headers(data))
        if codec == GZIP:
            expand = cramjam.gzip.decompress_into
        elif codec == LZ4:
            expand = cramjam.lz4.decompress_into
        elif codec == ZSTD:
            expand = cramjam.zstd.decompress_into
        else:
            raise Undecompressable(f"unknown codec {codec}")
        out = np.empty(min(limit, len(data) * _EXPANSION[codec] + _SLACK), np.uint8).data
        size = int(expand(data, out))
    except cramjam.DecompressionError as error:
        if "write whole buffer" in str(error):
            raise _too_large(codec, limit) from None
        raise Undecompressable(f"{codec_name(codec)}: {error}") from None
    return out[:size].tobytes()


def compress(codec: int, data: bytes, *, magic: int = 2) -> bytes:
    """``data`` as Kafka's Java client compresses it for messages of ``magic``; snappy in xerial's blocks of 32 KiB."""
    if codec == NONE:
        return data
    if codec == GZIP:
        return bytes(cramjam.gzip.compress(data))
    if codec == SNAPPY:
        return xerial(data)
    if codec == LZ4:
        frame = bytes(cramjam.lz4.compress(data))
        return break_lz4_header(frame) if magic == 0 else frame
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(data, 3))
    raise ValueError(f"no codec has the number {codec}")


def xerial(data: bytes, block_size: int = 32768) -> bytes:
    """``data`` in xerial's framing: a header, then raw snappy blocks each with its size before it."""
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), block_size):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + block_size]))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def break_lz4_header(frame: bytes) -> bytes:
    """The LZ4 frame with the header checksum that Kafka's clients wrote in magic 0: it covers the frame's magic too."""
    end = _descriptor_end(memoryview(frame), 0)
    return frame[:end] + bytes([xxh32_short(frame[:end]) >> 8 & 0xFF]) + frame[end + 1 :]


def _too_large(codec: int, limit: int) -> Undecompressable:
    return Undecompressable(f"{codec_name(codec)}: expands to more than the {limit} bytes permitted")


def _unsnap(data: memoryview, limit: int) -> bytes:
    # Two passes over the blocks, so that no list of them is held: five bytes may be a block.
    total = sum(int(cramjam.snappy.decompress_raw_len(block)) for block in _snappy_blocks(data))
    if total > limit:
        raise _too_large(SNAPPY, limit)
    out = np.empty(total, np.uint8).data
    at = 0
    for block in _snappy_blocks(data):
        size = int(cramjam.snappy.decompress_raw_len(block))
        if size:
            cramjam.snappy.decompress_raw_into(block, out[at : at + size])
        at += size
    return out.tobytes()


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """The raw snappy blocks; in xerial's framing a new header may stand between blocks, where streams were concatenated."""
    if bytes(data[:8]) != XERIAL_MAGIC:
        if not data:
            raise Undecompressable("snappy: not even a size")
        yield data
        return
    at, end = 0, len(data)
    while at < end:
        if bytes(data[at : at + 8]) == XERIAL_MAGIC:
            at += len(_XERIAL_HEADER)
            if at > end:
                raise Undecompressable("snappy: cut off in the xerial header")
            continue
        if end - at < 4:
            raise Undecompressable("snappy: cut off in a block's size")
        (size,) = _INT32.unpack_from(data, at)
        at += 4
        if not 0 < size <= end - at:
            raise Undecompressable(f"snappy: a block of {size} bytes where {end - at} are left")
        yield data[at : at + size]
        at += size


def _mend_lz4_headers(data: memoryview) -> bytes:
    """The same frames with right header checksums, so that a strict reader takes them."""
    mended = bytearray(data)
    at, end = 0, len(data)
    while end - at >= 7:
        (magic,) = _UINT32_LE.unpack_from(data, at)
        if magic & 0xFFFFFFF0 == _LZ4_SKIPPABLE:
            at += 8 + _UINT32_LE.unpack_from(data, at + 4)[0] if end - at >= 8 else 8
            continue
        if magic != _LZ4_MAGIC:
            break
        flags = data[at + 4]
        checksum_at = _descriptor_end(data, at)
        if checksum_at >= end:
            break
        mended[checksum_at] = xxh32_short(bytes(data[at + 4 : checksum_at])) >> 8 & 0xFF
        at = checksum_at + 1
        while end - at >= 4:
            size = _UINT32_LE.unpack_from(data, at)[0] & 0x7FFFFFFF
            at += 4
            if not size:
                break
            at += size + (4 if flags & 0x10 else 0)
        at += 4 if flags & 0x04 else 0
    return bytes(mended)


def _descriptor_end(data: memoryview, at: int) -> int:
    """Where the header checksum stands of the LZ4 frame at ``at``: after FLG, BD, content size and dictionary id."""
    flags = data[at + 4]
    return at + 6 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
