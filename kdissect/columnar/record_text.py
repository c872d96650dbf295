"""Record batches straight to JSON text: the same as decoding and writing them, for batches in perfect order."""

from __future__ import annotations

import struct

import orjson

from kdissect.schema.records_field import RawRecords
from kdissect.wire.batches import BATCH_HEAD, CODEC_BITS, LOG_APPEND_TIME, read_batch
from kdissect.wire.compression import NONE, Undecompressable, decompress
from kdissect.wire.faults import Malformed, Reading
from kdissect.wire.json import dumps, texts
from kdissect.wire.limits import Budget
from kdissect.wire.record_columns import NotPlain, read_plain_columns, slices
from kdissect.wire.record_loop import read_batch_records, read_headers

MANY = 40
"""Records of a batch from which it pays to write them column by column."""
_MAGIC_AT, _ATTRIBUTES_AT, _SIZE_FROM = 16, 21, 12
_OFFSET_AND_SIZE = struct.Struct(">qi")


class OutOfTheOrdinary(Exception):
    """These records must be decoded by themselves: something is to be said about them, or they hold more than bytes."""


def batches_as_json(raw: RawRecords, budget: Budget) -> list[dict[str, object]]:
    """The batches of a field, ready for :func:`orjson.dumps`; raises :class:`OutOfTheOrdinary`."""
    data = bytes(raw.data)
    out: list[dict[str, object]] = []
    at, end = 0, len(data)
    while at < end:
        if end - at < BATCH_HEAD.size or data[at + _MAGIC_AT] != 2:
            raise OutOfTheOrdinary
        size = _OFFSET_AND_SIZE.unpack_from(data, at)[1] + _SIZE_FROM
        if not BATCH_HEAD.size <= size <= end - at:
            raise OutOfTheOrdinary
        budget.objects_left -= 1
        out.append(_batch(data, at, at + size, budget))
        at += size
    return out


def _batch(data: bytes, start: int, end: int, budget: Budget) -> dict[str, object]:
    heads = Reading(budget, False)
    batch = read_batch(data, start, end, heads)
    count = batch["record_count"]
    assert isinstance(count, int)
    if heads.faults or batch["is_control"] or count < 0:
        raise OutOfTheOrdinary
    budget.objects_left -= count
    if budget.objects_left < 0:
        raise OutOfTheOrdinary
    attributes = int.from_bytes(data[start + _ATTRIBUTES_AT : start + _ATTRIBUTES_AT + 2])
    at, codec = start + BATCH_HEAD.size, attributes & CODEC_BITS
    if codec != NONE and (count or at != end):
        try:
            data = decompress(codec, memoryview(data)[at:end], budget.next_batch)
        except Undecompressable:
            raise OutOfTheOrdinary from None
        budget.bytes_left -= len(data)
        at, end = 0, len(data)
    base_offset, base_timestamp, latest = batch["base_offset"], batch["base_timestamp"], batch["max_timestamp"]
    assert isinstance(base_offset, int) and isinstance(base_timestamp, int) and isinstance(latest, int)
    append_time = latest if attributes & LOG_APPEND_TIME else None
    if count >= MANY:
        text = _text(data, at, end, count, base_offset, base_timestamp, append_time, budget)
        batch["records"] = orjson.Fragment(text)
        return batch
    reading = Reading(budget, True)
    records, fault = read_batch_records(data, at, end, count, base_offset, base_timestamp, append_time, reading)
    if fault is not None or len(records) != count:
        raise OutOfTheOrdinary
    batch["records"] = records
    return batch


def _text(
    data: bytes, at: int, end: int, count: int, base_offset: int, base_timestamp: int, append_time: int | None, budget: Budget
) -> bytes:
    try:
        columns = read_plain_columns(data, at, end, count, base_offset, base_timestamp, append_time)
    except NotPlain:
        raise OutOfTheOrdinary from None
    keys, values = texts(slices(data, *columns.keys)), texts(slices(data, *columns.values))
    headers: list[list[dict[str, object]]] = [[] for _ in range(count)] if columns.headed else [[]] * count
    reading = Reading(budget, True)
    for record, headers_at, record_end in columns.headed:
        try:
            if read_headers(data, headers_at, record_end, headers[record], reading) != record_end:
                raise OutOfTheOrdinary
        except (Malformed, IndexError):
            raise OutOfTheOrdinary from None
    return dumps(
        [
            {"offset": offset, "timestamp": timestamp, "key": key, "value": value, "headers": of_record}
            for offset, timestamp, key, value, of_record in zip(
                columns.offsets, columns.timestamps, keys, values, headers, strict=True
            )
        ]
    )
