"""Writes record batches and message sets: the counterpart of :mod:`kdissect.wire.records`.

Records are given as that module gives them: mappings with ``offset``,
``timestamp`` (milliseconds), ``key``, ``value`` and ``headers``, of which any may
be left out.  An offset left out is one more than the one before (0 at first).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence

from kdissect.wire.batches import BATCH_HEAD, CONTROL, CRC_AT, CRC_FROM, LOG_APPEND_TIME, TRANSACTIONAL
from kdissect.wire.checksums import crc32, crc32c
from kdissect.wire.compression import CODEC_NAMES, NONE, compress
from kdissect.wire.varint import write_varint

Record = Mapping[str, object]
Compressor = Callable[[bytes], bytes]

NO_TIMESTAMP = -1
_UINT32 = struct.Struct(">I")
_INT32 = struct.Struct(">i")


def write_batch(
    records: Iterable[Record],
    *,
    compression: str = "none",
    compressor: Compressor | None = None,
    base_offset: int | None = None,
    partition_leader_epoch: int = -1,
    log_append_time: int | None = None,
    is_transactional: bool = False,
    is_control: bool = False,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """One batch of magic 2.

    ``compressor`` replaces the framing that :func:`~kdissect.wire.compression.compress`
    has for the codec named by ``compression``.  ``base_offset`` defaults to the
    first record's offset; ``log_append_time``, in milliseconds, becomes the
    batch's max timestamp and its timestamp type says so.

    Raises ValueError for an unknown codec's name, struct.error for values too large.
    """
    codec = CODEC_NAMES.index(compression)
    numbered = _numbered(records)
    base = base_offset if base_offset is not None else (numbered[0][0] if numbered else 0)
    last = numbered[-1][0] if numbered else base - 1
    base_timestamp = _timestamp(numbered[0][1]) if numbered else NO_TIMESTAMP
    latest = max((_timestamp(record) for _, record in numbered), default=NO_TIMESTAMP)
    body = b"".join(_record(record, offset - base, base_timestamp) for offset, record in numbered)
    if numbered:
        body = compressor(body) if compressor else compress(codec, body)
    attributes = codec
    attributes |= LOG_APPEND_TIME if log_append_time is not None else 0
    attributes |= TRANSACTIONAL if is_transactional else 0
    attributes |= CONTROL if is_control else 0
    batch = bytearray(
        BATCH_HEAD.pack(
            base,
            BATCH_HEAD.size - 12 + len(body),
            partition_leader_epoch,
            2,
            0,
            attributes,
            last - base,
            base_timestamp,
            latest if log_append_time is None else log_append_time,
            producer_id,
            producer_epoch,
            base_sequence,
            len(numbered),
        )
    )
    batch += body
    _UINT32.pack_into(batch, CRC_AT, crc32c(bytes(batch), CRC_FROM, len(batch)))
    return bytes(batch)


def write_message_set(
    records: Iterable[Record],
    *,
    magic: int,
    compression: str = "none",
    compressor: Compressor | None = None,
    wrapper_offset: int | None = None,
    log_append_time: int | None = None,
) -> bytes:
    """A message set of magic 0 or 1; headers, and in magic 0 timestamps, have no place in it and are not written.

    Compressed, it is one wrapper message, in whose set the offsets are absolute in magic 0 and relative in magic 1;
    ``wrapper_offset`` defaults to the last record's offset.  Magic 0 with LZ4 gets Kafka's wrong frame headers.

    Raises ValueError for another magic, an unknown codec's name, and a compressed set of no records.
    """
    if magic not in (0, 1):
        raise ValueError(f"message sets are of magic 0 and 1, not {magic}")
    codec = CODEC_NAMES.index(compression)
    numbered = _numbered(records)
    if codec == NONE:
        return b"".join(_message(offset, record, magic, NONE, log_append_time) for offset, record in numbered)
    if not numbered:
        raise ValueError("a compressed message set needs a record")
    base = numbered[0][0] if magic else 0
    inner = b"".join(_message(offset - base, record, magic, NONE, None) for offset, record in numbered)
    wrapper: Record = {
        "timestamp": max(_timestamp(record) for _, record in numbered),
        "value": compressor(inner) if compressor else compress(codec, inner, magic=magic),
    }
    return _message(numbered[-1][0] if wrapper_offset is None else wrapper_offset, wrapper, magic, codec, log_append_time)


def _numbered(records: Iterable[Record]) -> list[tuple[int, Record]]:
    numbered: list[tuple[int, Record]] = []
    offset = -1
    for record in records:
        given = record.get("offset")
        offset = given if isinstance(given, int) else offset + 1
        numbered.append((offset, record))
    return numbered


def _timestamp(record: Record) -> int:
    given = record.get("timestamp")
    return given if isinstance(given, int) else NO_TIMESTAMP


def _bytes(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    raise TypeError(f"keys and values are bytes or None, not {type(value).__name__}")


def _record(record: Record, offset_delta: int, base_timestamp: int) -> bytes:
    headers = record.get("headers") or ()
    assert isinstance(headers, Sequence)
    parts = [
        b"\x00",
        write_varint(_wrapped(_timestamp(record) - base_timestamp)),
        write_varint(offset_delta),
        *_sized(_bytes(record.get("key"))),
        *_sized(_bytes(record.get("value"))),
        write_varint(len(headers)),
    ]
    for header in headers:
        key = header["key"]
        parts += _sized(key.encode() if isinstance(key, str) else key)
        parts += _sized(_bytes(header["value"]))
    body = b"".join(parts)
    return write_varint(len(body)) + body


def _wrapped(number: int) -> int:
    """The difference of two int64 as Java has it: wrapped around where it needs a 65th bit."""
    return (number + 2**63) % 2**64 - 2**63


def _sized(value: bytes | None) -> tuple[bytes, bytes]:
    return (write_varint(-1), b"") if value is None else (write_varint(len(value)), value)


def _message(offset: int, record: Record, magic: int, codec: int, log_append_time: int | None) -> bytes:
    attributes = codec
    head = bytes((magic,))
    if magic:
        attributes |= LOG_APPEND_TIME if log_append_time is not None else 0
        timestamp = _timestamp(record) if log_append_time is None else log_append_time
        head += bytes((attributes,)) + struct.pack(">q", timestamp)
    else:
        head += bytes((attributes,))
    content = head + _int32_sized(_bytes(record.get("key"))) + _int32_sized(_bytes(record.get("value")))
    return struct.pack(">qiI", offset, len(content) + 4, crc32(content, 0, len(content))) + content


def _int32_sized(value: bytes | None) -> bytes:
    return _INT32.pack(-1) if value is None else _INT32.pack(len(value)) + value
