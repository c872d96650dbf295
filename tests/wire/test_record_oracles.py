"""Two clients' own record code as oracles, in both directions: aiokafka's and kafka-python's."""

from __future__ import annotations

import aiokafka.record.default_records as aiokafka_default
import aiokafka.record.legacy_records as aiokafka_legacy
import aiokafka.record.memory_records as aiokafka_memory
import kafka.record.default_records as kafka_default
import kafka.record.legacy_records as kafka_legacy
import kafka.record.memory_records as kafka_memory
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.wire.compression import CODEC_NAMES
from kdissect.wire.records import read_records
from kdissect.wire.records_writer import write_batch, write_message_set
from tests.wire.record_samples import CODECS, LEGACY_CODECS, T0, record_lists, sample_records

DEFAULT = {"aiokafka": aiokafka_default, "kafka-python": kafka_default}
LEGACY = {"aiokafka": aiokafka_legacy, "kafka-python": kafka_legacy}
READERS = {"aiokafka": aiokafka_memory.MemoryRecords, "kafka-python": kafka_memory.MemoryRecords}


def codec_is_theirs(client: str, codec: str, magic: int) -> bool:
    """kafka-python has no snappy without another package; aiokafka refuses lz4 in magic 0."""
    return not (client == "kafka-python" and codec == "snappy") and not (client == "aiokafka" and codec == "lz4" and magic == 0)


MODERN = [(client, codec) for client in DEFAULT for codec in CODECS if codec_is_theirs(client, codec, 2)]
OLD = [(c, codec, magic) for c in LEGACY for codec in LEGACY_CODECS for magic in (0, 1) if codec_is_theirs(c, codec, magic)]


def as_pairs(records):
    """Headers as those clients have them: a list of pairs."""
    return [dict(record, headers=[(header["key"], header["value"]) for header in record["headers"]]) for record in records]


def theirs(client: str, data: bytes):
    """The records that a client reads; both leave header keys as str."""
    found, reader = [], READERS[client](data)
    while reader.has_next():
        batch = reader.next_batch()
        assert batch.validate_crc()
        batch_magic = data[16]
        for record in batch:
            key, value = record.key, record.value
            # aiokafka turns the absent timestamp of magic 1 into None.
            time = -1 if record.timestamp is None and batch_magic else record.timestamp
            found.append({
                "offset": record.offset, "timestamp": time, "key": None if key is None else bytes(key),
                "value": None if value is None else bytes(value),
                "headers": [(k, None if v is None else bytes(v)) for k, v in record.headers],
            })  # fmt: skip
    return found


def ours(data: bytes):
    batches, faults = read_records(data)
    assert faults == []
    return batches, as_pairs([record for batch in batches for record in batch["records"]])


@pytest.mark.parametrize(("client", "codec"), MODERN)
def test_reads_their_batches(client, codec):
    builder = DEFAULT[client].DefaultRecordBatchBuilder(2, CODEC_NAMES.index(codec), 1, 4000, 12, 77, 1 << 22)
    records = sample_records(250)
    for record, pairs in zip(records, as_pairs(records), strict=True):
        assert builder.append(record["offset"], record["timestamp"], record["key"], record["value"], pairs["headers"])
    data = bytes(builder.build())
    batches, found = ours(data)
    assert found == as_pairs(records) == theirs(client, data)
    (batch,) = batches
    assert (batch["compression"], batch["is_transactional"], batch["record_count"]) == (codec, True, 250)
    assert (batch["producer_id"], batch["producer_epoch"], batch["base_sequence"]) == (4000, 12, 77)


@pytest.mark.parametrize(("client", "codec"), MODERN)
@settings(max_examples=25, deadline=None)
@given(records=record_lists(min_size=1))
def test_they_read_our_batches(client, codec, records):
    assert theirs(client, write_batch(records, compression=codec)) == as_pairs(records)


@pytest.mark.parametrize(("client", "codec", "magic"), OLD)
def test_reads_their_message_sets(client, codec, magic):
    builder = LEGACY[client].LegacyRecordBatchBuilder(magic, CODEC_NAMES.index(codec), 1 << 22)
    records = sample_records(60, magic=magic)
    for record in records:
        assert builder.append(record["offset"], record["timestamp"] or T0, record["key"], record["value"])
    batches, found = ours(bytes(builder.build()))
    assert found == as_pairs(records)
    assert {batch["compression"] for batch in batches} == {codec}


@pytest.mark.parametrize(("client", "codec", "magic"), OLD)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_they_read_our_message_sets(client, codec, magic, data):
    records = data.draw(record_lists(magic=magic, min_size=1))
    assert theirs(client, write_message_set(records, magic=magic, compression=codec)) == as_pairs(records)


@pytest.mark.parametrize("client", READERS)
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_log_append_time_as_they_read_it(client, codec):
    records = sample_records(5, magic=1, first_offset=70)
    for data in (
        write_message_set(records, magic=1, compression=codec, log_append_time=T0 + 99),
        write_batch(records, compression=codec, log_append_time=T0 + 99),
    ):
        assert theirs(client, data) == ours(data)[1]
