"""Record batches of magic 2: what the reader gives for what was written."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.wire.records import read_records
from kdissect.wire.records_writer import write_batch, write_message_set
from tests.wire.record_samples import CODECS, T0, record_lists, sample_records

BATCH_KEYS = [
    "base_offset", "batch_length", "partition_leader_epoch", "magic", "crc", "crc_valid", "compression", "timestamp_type",
    "is_transactional", "is_control", "last_offset_delta", "base_timestamp", "max_timestamp", "producer_id", "producer_epoch",
    "base_sequence", "record_count", "records",
]  # fmt: skip


def read_one(data: bytes, **options):
    batches, faults = read_records(data, **options)
    assert faults == []
    assert len(batches) == 1
    return batches[0]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_gives_back_what_was_written(codec):
    records = sample_records(300, first_offset=2**40)
    batch = read_one(write_batch(records, compression=codec, partition_leader_epoch=7))
    assert list(batch) == BATCH_KEYS
    assert batch["records"] == records
    assert batch["compression"] == codec
    assert batch["crc_valid"] is True
    assert (batch["base_offset"], batch["last_offset_delta"], batch["record_count"]) == (2**40, 299, 300)
    assert (batch["base_timestamp"], batch["max_timestamp"]) == (T0, T0 + 299 * 37)
    assert batch["partition_leader_epoch"] == 7


@settings(max_examples=150, deadline=None)
@given(record_lists(), st.sampled_from(CODECS))
def test_random_records_round_trip(records, codec):
    batch = read_one(write_batch(records, compression=codec))
    assert batch["records"] == records
    assert [list(record) for record in batch["records"]] == [["offset", "timestamp", "key", "value", "headers"]] * len(records)


def test_a_batch_byte_by_byte():
    data = bytes.fromhex(
        "0000000000000064"  # base offset 100
        "00000042"  # batch length 66
        "00000003"  # partition leader epoch
        "02"  # magic
        "00000000"  # CRC, below
        "0030"  # transactional, control
        "00000001"  # last offset delta
        "0000000000000005" "0000000000000006"  # base and max timestamp
        "0000000000000007" "0008"  # producer id and epoch
        "00000009"  # base sequence
        "00000002"  # records
        "0e" "00" "00" "00" "00" "02" "41" "00"  # 7 bytes: empty key, value A
        "10" "00" "02" "02" "01" "01" "02" "00" "01"  # 8 bytes: null key and value, one header: empty key, null value
    )  # fmt: skip
    assert len(data) == 78
    (batch,), (fault,) = read_records(data)
    assert (fault.code, fault.offset) == ("records.bad_crc", 0)
    assert batch == {
        "base_offset": 100, "batch_length": 66, "partition_leader_epoch": 3, "magic": 2, "crc": 0, "crc_valid": False,
        "compression": "none", "timestamp_type": "create_time", "is_transactional": True, "is_control": True,
        "last_offset_delta": 1, "base_timestamp": 5, "max_timestamp": 6, "producer_id": 7, "producer_epoch": 8,
        "base_sequence": 9, "record_count": 2,
        "records": [
            {"offset": 100, "timestamp": 5, "key": b"", "value": b"A", "headers": []},
            {"offset": 101, "timestamp": 6, "key": None, "value": None, "headers": [{"key": "", "value": None}]},
        ],
    }  # fmt: skip


def test_an_empty_field_holds_no_batches():
    assert read_records(b"") == ([], [])


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_without_records(codec):
    assert read_one(write_batch([], compression=codec, base_offset=5))["records"] == []


def test_log_append_time_is_the_time_of_every_record():
    batch = read_one(write_batch(sample_records(20), log_append_time=T0 + 5_000_000))
    assert batch["timestamp_type"] == "log_append_time"
    assert {record["timestamp"] for record in batch["records"]} == {T0 + 5_000_000}


def test_no_timestamp_stays_minus_one():
    batch = read_one(write_batch([{"value": b"a"}, {"value": b"b"}]))
    assert [record["timestamp"] for record in batch["records"]] == [-1, -1]


def test_a_control_batch():
    commit = struct.pack(">hh", 0, 1)
    batch = read_one(
        write_batch(
            [{"key": commit, "value": b"\0" * 6}], is_control=True, is_transactional=True, producer_id=4000, producer_epoch=3
        )
    )
    assert (batch["is_control"], batch["is_transactional"]) == (True, True)
    assert (batch["producer_id"], batch["producer_epoch"], batch["base_sequence"]) == (4000, 3, -1)
    assert batch["records"][0]["key"] == commit


def test_a_header_key_that_is_no_utf8_stays_bytes():
    batch = read_one(write_batch([{"headers": [{"key": b"\xff\xfe", "value": b"\xff"}]}]))
    assert batch["records"][0]["headers"] == [{"key": b"\xff\xfe", "value": b"\xff"}]


def test_more_headers_than_one_byte_counts():
    headers = [{"key": f"k{i}", "value": b"%d" % i} for i in range(200)]
    assert read_one(write_batch([{"headers": headers}]))["records"][0]["headers"] == headers


def test_sums_past_64_bits_wrap_as_in_java():
    data = bytearray(write_batch([{"offset": 0, "timestamp": 0}, {"offset": 1, "timestamp": 5}]))
    struct.pack_into(">q", data, 0, 2**63 - 1)
    struct.pack_into(">q", data, 27, 2**63 - 1)
    (batch,), _ = read_records(bytes(data))
    assert [(r["offset"], r["timestamp"]) for r in batch["records"]] == [(2**63 - 1, 2**63 - 1), (-(2**63), -(2**63) + 4)]


def test_timestamps_at_both_ends_of_their_range():
    records = [{"timestamp": time} for time in (-(2**63), 2**63 - 1, 0, -1)]
    assert [r["timestamp"] for r in read_one(write_batch(records))["records"]] == [-(2**63), 2**63 - 1, 0, -1]


def test_offsets_and_times_may_go_back():
    records = [{"offset": 10, "timestamp": T0}, {"offset": 8, "timestamp": T0 - 10**6}]
    assert [(r["offset"], r["timestamp"]) for r in read_one(write_batch(records))["records"]] == [(10, T0), (8, T0 - 10**6)]


def test_several_batches_of_several_magics_in_one_field():
    parts = [
        write_message_set(sample_records(2, magic=0, first_offset=0), magic=0),
        write_message_set(sample_records(3, magic=1, first_offset=2), magic=1, compression="gzip"),
        write_batch(sample_records(4, first_offset=5), compression="zstd"),
        write_batch(sample_records(5, first_offset=9)),
    ]
    batches, faults = read_records(b"".join(parts))
    assert faults == []
    assert [batch["magic"] for batch in batches] == [0, 0, 1, 2, 2]
    assert [record["offset"] for batch in batches for record in batch["records"]] == list(range(14))


def test_heads_only():
    data = write_batch(sample_records(5), compression="gzip") + write_message_set(sample_records(2, magic=1), magic=1)
    batches, faults = read_records(data, decode=False)
    assert faults == []
    assert [list(batch)[-1] for batch in batches] == ["record_count", "max_timestamp", "max_timestamp"]
    full, _ = read_records(data)
    for batch in full:
        del batch["records"]
    assert batches == full


def test_heads_only_checks_the_crc():
    data = bytearray(write_batch(sample_records(5), compression="gzip"))
    data[-1] ^= 1
    (batch,), (fault,) = read_records(bytes(data), decode=False)
    assert (batch["crc_valid"], fault.code) == (False, "records.bad_crc")


def test_any_buffer_is_read():
    data = write_batch(sample_records(30))
    for buffer in (bytearray(data), memoryview(data), memoryview(bytearray(b"x" + data + b"y"))[1:-1]):
        assert read_records(buffer) == read_records(data)


def test_records_of_more_than_two_length_bytes():
    records = [{"offset": i, "timestamp": T0 + i * 10**9, "key": b"k" * size, "value": b"v" * size, "headers": []}
               for i, size in enumerate((8191, 8192, 16383, 16384, 1 << 20, 1 << 21))]  # fmt: skip
    assert read_one(write_batch(records))["records"] == records


def test_an_unknown_codec_is_told():
    data = bytearray(write_batch(sample_records(3)))
    data[22] |= 5
    (batch,), faults = read_records(bytes(data))
    assert (batch["compression"], batch["records"]) == ("unknown(5)", None)
    assert [fault.code for fault in faults] == ["records.bad_crc", "records.undecompressable"]
