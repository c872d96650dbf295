"""Message sets: magic 0, and magic 1 since Kafka 0.10 (KIP-31, KIP-32; org.apache.kafka.common.record.LegacyRecord).

A message: int64 offset, int32 size of what follows, CRC-32 of what follows
itself, int8 magic, int8 attributes, int64 timestamp (magic 1 only), key and
value as bytes with an int32 length, -1 for null.  A compressed set is the
value of one wrapper message.
"""

from __future__ import annotations

import struct

from kdissect.wire.batches import TIMESTAMP_TYPES
from kdissect.wire.checksums import crc32
from kdissect.wire.compression import NONE, Undecompressable, codec_name, decompress
from kdissect.wire.faults import Malformed, Reading

MESSAGE_HEAD = struct.Struct(">qiIbb")
CRC_FROM = 16

SMALLEST_MESSAGE = (26, 34)
"""Bytes of a message with null key and value, by magic."""

_CODEC_BITS, _LOG_APPEND_TIME = 0x07, 0x08
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_OFFSET_AND_SIZE = struct.Struct(">qi")


def read_message(data: bytes, start: int, end: int, reading: Reading) -> dict[str, object]:
    """The top-level message that is ``data[start:end]``, of at least its magic's smallest size.

    Its object has what a message has: ``base_offset`` (the wire's offset),
    ``batch_length`` (its size field), ``magic``, ``crc``, ``crc_valid``,
    ``compression``, in magic 1 also ``timestamp_type`` and ``max_timestamp``
    (its timestamp), and ``records``: one, or those of the set that it wraps.
    Records of magic 0 have the timestamp None.
    """
    offset, size, crc, magic, attributes = MESSAGE_HEAD.unpack_from(data, start)
    codec = attributes & _CODEC_BITS
    message: dict[str, object] = {
        "base_offset": offset,
        "batch_length": size,
        "magic": magic,
        "crc": crc,
        "crc_valid": _crc_holds(data, start, end, crc, "message", start, reading),
        "compression": codec_name(codec),
    }
    append_time: int | None = None
    if magic:
        (timestamp,) = _INT64.unpack_from(data, start + MESSAGE_HEAD.size)
        append_time = timestamp if attributes & _LOG_APPEND_TIME else None
        message["timestamp_type"] = TIMESTAMP_TYPES[append_time is not None]
        message["max_timestamp"] = timestamp
    if not reading.decode:
        return message
    records: list[dict[str, object]] = []
    message["records"] = records
    try:
        if codec == NONE:
            records.append(_read_record(data, start, end, magic))
            return message
        wrapped = _read_record(data, start, end, magic)["value"]
    except Malformed as error:
        reading.fault("frame.malformed", f"message at offset {offset}: {error.text}", error.offset)
        return message
    try:
        if not isinstance(wrapped, bytes):
            raise Undecompressable(f"{codec_name(codec)}: the value that should be a message set is null")
        content = decompress(codec, memoryview(wrapped), reading.budget.next_batch, magic=magic)
    except Undecompressable as error:
        reading.fault("records.undecompressable", f"message at offset {offset}: {error}", start)
        message["records"] = None
        return message
    reading.budget.bytes_left -= len(content)
    try:
        _read_inner_set(content, magic, records, start, reading)
    except Malformed as error:
        reading.fault("frame.malformed", f"message at offset {offset}: in its set, byte {error.offset}: {error.text}", start)
    _make_absolute(records, offset, magic, append_time)
    return message


def _read_inner_set(content: bytes, magic: int, records: list[dict[str, object]], wrapper: int, reading: Reading) -> None:
    """Appends the records of a decompressed set; ``wrapper`` is where to report faults that spoil one message only.

    Kafka permits one level: an inner message that is compressed itself is a
    fault, and becomes a record with the compressed bytes as its value.
    """
    at, end = 0, len(content)
    while at < end:
        if end - at < SMALLEST_MESSAGE[magic]:
            raise Malformed(f"{end - at} bytes left where a message should be", at)
        offset, size, crc, inner_magic, attributes = MESSAGE_HEAD.unpack_from(content, at)
        message_end = at + _OFFSET_AND_SIZE.size + size
        if inner_magic != magic:
            raise Malformed(f"a message of magic {inner_magic} in a set of magic {magic}", at)
        if not at + SMALLEST_MESSAGE[magic] <= message_end <= end:
            raise Malformed(f"a message of {size} bytes where {end - at - _OFFSET_AND_SIZE.size} are left", at)
        if reading.budget.objects_left <= 0:
            text = f"only the first {len(records)} messages of a compressed set read, the limit on objects"
            reading.fault("records.undecompressable", text, wrapper)
            return
        reading.budget.objects_left -= 1
        _crc_holds(content, at, message_end, crc, "inner message", wrapper, reading)
        records.append(_read_record(content, at, message_end, magic))
        if attributes & _CODEC_BITS:
            text = f"inner message at offset {offset} is compressed again, which Kafka does not permit; left compressed"
            reading.fault("frame.malformed", text, wrapper)
        at = message_end


def _make_absolute(records: list[dict[str, object]], wrapper_offset: int, magic: int, append_time: int | None) -> None:
    """Inner offsets of magic 1 are relative: the wrapper's is that of the last one (KIP-31).

    The wrapper's log append time is everyone's (KIP-32).  Where a client leaves the
    wrapper's offset 0 for the broker to set, offsets stay relative.
    """
    if not magic or not records:
        return
    last = records[-1]["offset"]
    assert isinstance(last, int)
    base = wrapper_offset - last
    for record in records:
        offset = record["offset"]
        assert isinstance(offset, int)
        if base > 0:
            record["offset"] = (base + offset + 2**63) % 2**64 - 2**63
        if append_time is not None:
            record["timestamp"] = append_time


def _read_record(data: bytes, start: int, end: int, magic: int) -> dict[str, object]:
    """The message as a record; its bytes must end where it ends, else :class:`Malformed`."""
    (offset,) = _INT64.unpack_from(data, start)
    at = start + MESSAGE_HEAD.size
    timestamp: int | None = None
    if magic:
        (timestamp,) = _INT64.unpack_from(data, at)
        at += 8
    key, at = _read_bytes(data, at, end, "key")
    value, at = _read_bytes(data, at, end, "value")
    if at != end:
        raise Malformed(f"{end - at} bytes after the value", at)
    return {"offset": offset, "timestamp": timestamp, "key": key, "value": value, "headers": []}


def _read_bytes(data: bytes, at: int, end: int, what: str) -> tuple[bytes | None, int]:
    if end - at < 4:
        raise Malformed(f"cut off in the length of the {what}", at)
    (size,) = _INT32.unpack_from(data, at)
    at += 4
    if size == -1:
        return None, at
    if not 0 <= size <= end - at:
        raise Malformed(f"a {what} of {size} bytes where {end - at} are left", at - 4)
    return data[at : at + size], at + size


def _crc_holds(data: bytes, start: int, end: int, crc: int, what: str, where: int, reading: Reading) -> bool:
    computed = crc32(data, start + CRC_FROM, end)
    if computed == crc:
        return True
    (offset,) = _INT64.unpack_from(data, start)
    reading.fault("records.bad_crc", f"{what} at offset {offset}: CRC-32 is {computed:08x}, not {crc:08x}", where)
    return False
