"""Record batches: magic 2, since Kafka 0.11 (KIP-98; org.apache.kafka.common.record.DefaultRecordBatch)."""

from __future__ import annotations

import struct

from kdissect.wire.checksums import crc32c
from kdissect.wire.compression import NONE, Undecompressable, codec_name, decompress
from kdissect.wire.faults import Reading
from kdissect.wire.record_loop import SMALLEST_RECORD, read_batch_records

# base offset, batch length, partition leader epoch, magic, CRC, attributes, last offset delta, base and max timestamp,
# producer id and epoch, base sequence, record count
BATCH_HEAD = struct.Struct(">qiibIhiqqqhii")
CRC_AT, CRC_FROM = 17, 21

CODEC_BITS, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
"""Attributes.  Bit 6, not shown, says that the base timestamp is a delete horizon (KIP-534); deltas still count from it."""

TIMESTAMP_TYPES = ("create_time", "log_append_time")


def read_batch(data: bytes, start: int, end: int, reading: Reading) -> dict[str, object]:
    """The batch that is ``data[start:end]``, of at least the head's size; faults go to ``reading``."""
    (
        base_offset,
        batch_length,
        partition_leader_epoch,
        magic,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    ) = BATCH_HEAD.unpack_from(data, start)
    computed = crc32c(data, start + CRC_FROM, end)
    if computed != crc:
        reading.fault("records.bad_crc", f"batch at offset {base_offset}: CRC-32C is {computed:08x}, not {crc:08x}", start)
    codec = attributes & CODEC_BITS
    append_time = max_timestamp if attributes & LOG_APPEND_TIME else None
    batch: dict[str, object] = {
        "base_offset": base_offset,
        "batch_length": batch_length,
        "partition_leader_epoch": partition_leader_epoch,
        "magic": magic,
        "crc": crc,
        "crc_valid": computed == crc,
        "compression": codec_name(codec),
        "timestamp_type": TIMESTAMP_TYPES[append_time is not None],
        "is_transactional": bool(attributes & TRANSACTIONAL),
        "is_control": bool(attributes & CONTROL),
        "last_offset_delta": last_offset_delta,
        "base_timestamp": base_timestamp,
        "max_timestamp": max_timestamp,
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "base_sequence": base_sequence,
        "record_count": record_count,
    }
    if not reading.decode:
        return batch
    at = start + BATCH_HEAD.size
    compressed = codec != NONE and (record_count or at != end)
    if compressed:
        try:
            content = decompress(codec, memoryview(data)[at:end], reading.budget.next_batch)
        except Undecompressable as error:
            reading.fault("records.undecompressable", f"batch at offset {base_offset}: {error}", start)
            batch["records"] = None
            return batch
        reading.budget.bytes_left -= len(content)
        at, end = 0, len(content)
    else:
        content = data

    # No more records than there can be, nor than are permitted: a claimed count reserves nothing.
    possible = min(max(record_count, 0), (end - at) // SMALLEST_RECORD + 1)
    permitted = min(possible, reading.budget.objects_left)
    reading.budget.objects_left -= permitted
    records, fault = read_batch_records(content, at, end, permitted, base_offset, base_timestamp, append_time, reading)
    batch["records"] = records
    if permitted < possible and len(records) == permitted:
        text = f"batch at offset {base_offset}: only the first {permitted} of {record_count} records read, the limit on objects"
        reading.fault("records.undecompressable", text, start)
    elif fault is not None:
        reading.fault("frame.malformed", f"batch at offset {base_offset}: {fault.text}", start if compressed else fault.offset)
    elif record_count != len(records):
        text = f"batch at offset {base_offset}: {len(records)} records where it counts {record_count}"
        reading.fault("frame.malformed", text, start)
    return batch
