"""Message sets of magic 0 and 1, plain and compressed."""

from __future__ import annotations

import gzip
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.wire.records import read_records
from kdissect.wire.records_writer import write_message_set
from tests.wire.record_samples import LEGACY_CODECS, T0, record_lists, sample_records

KEYS = {
    0: ["base_offset", "batch_length", "magic", "crc", "crc_valid", "compression", "records"],
    1: ["base_offset", "batch_length", "magic", "crc", "crc_valid", "compression", "timestamp_type", "max_timestamp", "records"],
}


def flat(batches):
    return [record for batch in batches for record in batch["records"]]


@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_every_codec_gives_back_what_was_written(magic, codec):
    records = sample_records(120, magic=magic, first_offset=1000)
    batches, faults = read_records(write_message_set(records, magic=magic, compression=codec))
    assert faults == []
    assert len(batches) == (120 if codec == "none" else 1)
    assert list(batches[0]) == KEYS[magic]
    assert batches[-1]["base_offset"] == 1119
    assert {batch["compression"] for batch in batches} == {codec}
    assert flat(batches) == records
    if magic:
        assert batches[-1]["max_timestamp"] == T0 + 119 * 37


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(LEGACY_CODECS), st.sampled_from([0, 1]))
def test_random_records_round_trip(data, codec, magic):
    records = data.draw(record_lists(magic=magic, min_size=1))
    batches, faults = read_records(write_message_set(records, magic=magic, compression=codec))
    assert faults == []
    assert flat(batches) == records


def test_a_message_byte_by_byte():
    body = bytes.fromhex("01" "08" "0000000000000005" "ffffffff" "00000001" "41")  # fmt: skip
    data = struct.pack(">qiI", 9, len(body) + 4, zlib.crc32(body)) + body
    assert read_records(data) == (
        [
            {
                "base_offset": 9, "batch_length": 23, "magic": 1, "crc": zlib.crc32(body), "crc_valid": True,
                "compression": "none", "timestamp_type": "log_append_time", "max_timestamp": 5,
                "records": [{"offset": 9, "timestamp": 5, "key": None, "value": b"A", "headers": []}],
            }
        ],
        [],
    )  # fmt: skip


def test_relative_offsets_count_back_from_the_wrappers():
    """KIP-31: the broker sets the wrapper's offset alone, to that of the last record; holes stay holes."""
    records = [{"offset": offset, "timestamp": T0} for offset in (0, 3, 7)]
    batches, _ = read_records(write_message_set(records, magic=1, compression="gzip", wrapper_offset=507))
    assert [record["offset"] for record in flat(batches)] == [500, 503, 507]


def test_a_wrapper_offset_that_no_broker_has_set_leaves_offsets_relative():
    batches, _ = read_records(write_message_set(sample_records(3, magic=1), magic=1, compression="gzip", wrapper_offset=0))
    assert [record["offset"] for record in flat(batches)] == [0, 1, 2]


def test_offsets_of_magic_0_are_absolute_whatever_the_wrapper_says():
    data = write_message_set(sample_records(3, magic=0, first_offset=40), magic=0, compression="gzip", wrapper_offset=99)
    assert [record["offset"] for record in flat(read_records(data)[0])] == [40, 41, 42]


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_log_append_time_of_the_wrapper_is_everyones(codec):
    batches, _ = read_records(write_message_set(sample_records(5, magic=1), magic=1, compression=codec, log_append_time=T0 + 9))
    assert {batch["timestamp_type"] for batch in batches} == {"log_append_time"}
    assert {record["timestamp"] for record in flat(batches)} == {T0 + 9}


@pytest.mark.parametrize("magic", [0, 1])
def test_a_set_compressed_twice_is_a_fault_and_not_unpacked(magic):
    inner = write_message_set(sample_records(3, magic=magic), magic=magic, compression="gzip")
    wrapper = wrap(inner, magic)
    (batch,), (fault,) = read_records(wrapper)
    assert fault.code == "frame.malformed"
    assert "compressed again" in fault.text
    assert len(batch["records"]) == 1
    assert batch["records"][0]["value"].startswith(b"\x1f\x8b")


def test_a_damaged_inner_message_is_told_and_its_neighbours_kept():
    records = sample_records(3, magic=1)
    inner = bytearray(write_message_set([dict(r, offset=i) for i, r in enumerate(records)], magic=1))
    inner[-1] ^= 1
    wrapper = wrap(bytes(inner), 1)
    (batch,), (fault,) = read_records(wrapper)
    assert (fault.code, batch["crc_valid"]) == ("records.bad_crc", True)
    assert batch["records"][:2] == records[:2]
    assert len(batch["records"]) == 3


@pytest.mark.parametrize("cut", [1, 5, 11, 12, 20, 33, 35])
def test_a_set_that_ends_within_a_message_is_a_fault(cut):
    inner = write_message_set(sample_records(3, magic=1), magic=1)
    wrapper = wrap(inner[:-cut], 1)
    (batch,), (fault,) = read_records(wrapper)
    assert fault.code == "frame.malformed"
    assert [record["value"] for record in batch["records"]] == [b"", b"\x01"]


def test_another_magic_within_a_set_is_a_fault():
    inner = write_message_set(sample_records(1, magic=0), magic=0)
    wrapper = wrap(inner, 1)
    (batch,), (fault,) = read_records(wrapper)
    assert (fault.code, batch["records"]) == ("frame.malformed", [])


def test_a_wrapper_without_a_value_cannot_be_decompressed():
    body = bytes.fromhex("00" "01" "ffffffff" "ffffffff")  # fmt: skip
    (batch,), (fault,) = read_records(struct.pack(">qiI", 9, len(body) + 4, zlib.crc32(body)) + body)
    assert (fault.code, batch["records"]) == ("records.undecompressable", None)


def wrap(inner: bytes, magic: int) -> bytes:
    """A wrapper message at offset 2 whose set is ``inner`` as it is."""
    return write_message_set(
        [{"offset": 2, "timestamp": T0}], magic=magic, compression="gzip", compressor=lambda _: gzip.compress(inner)
    )
