"""Reading a batch in columns gives what the loop gives, or leaves it to the loop."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.wire import record_loop
from kdissect.wire.faults import Reading
from kdissect.wire.limits import Budget, Limits
from kdissect.wire.record_columns import NotPlain, read_plain_records
from kdissect.wire.records_writer import write_batch
from tests.wire.record_samples import T0, record_lists, sample_records

HEAD = 61


def read(data: bytes, count: int, columns_from: int, append_time: int | None, base_offset: int, objects: int):
    reading = Reading(Budget(len(data), Limits(objects=objects)), True)
    before, record_loop.COLUMNS_FROM = record_loop.COLUMNS_FROM, columns_from
    try:
        records, fault = record_loop.read_batch_records(data, HEAD, len(data) - 1, count, base_offset, T0, append_time, reading)
    finally:
        record_loop.COLUMNS_FROM = before
    return records, fault and (fault.text, fault.offset), reading.budget.objects_left


def both(data: bytes, count: int, append_time: int | None = None, base_offset: int = 0, objects: int = 1000):
    """The same through columns and through the loop; one byte of something else follows the batch."""
    in_columns = read(data + b"\2", count, 1, append_time, base_offset, objects)
    assert in_columns == read(data + b"\2", count, 10**9, append_time, base_offset, objects)
    return in_columns


@settings(max_examples=300, deadline=None)
@given(record_lists(min_size=1), st.one_of(st.none(), st.integers(0, 2**62)), st.sampled_from([0, 2**61, 2**63 - 1, -(2**63)]))
def test_random_records(records, append_time, base_offset):
    read_records, fault, _ = both(write_batch(records), len(records), append_time, base_offset)
    assert fault is None
    assert [record["value"] for record in read_records] == [record["value"] for record in records]


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_damaged_records(data):
    records = data.draw(record_lists(min_size=1))
    batch = bytearray(write_batch(records))
    for at in data.draw(st.lists(st.integers(HEAD, len(batch) - 1), min_size=1, max_size=3)):
        batch[at] = data.draw(st.sampled_from([0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFF]) | st.integers(0, 255))
    batch = batch[: data.draw(st.integers(HEAD, len(batch)))]
    both(bytes(batch), max(1, len(records) + data.draw(st.integers(-1, 1))), objects=data.draw(st.sampled_from([0, 2, 1000])))


def test_every_byte_damaged():
    records = sample_records(6)
    data = write_batch(records)
    for at in range(HEAD, HEAD + 120):
        for value in (0, 1, 0x7F, 0x80, 0x81, 0xFF, data[at] ^ 1, data[at] ^ 0x80):
            both(data[:at] + bytes((value,)) + data[at + 1 :], 6)


def test_large_plain_batches_are_read_in_columns():
    """Else the tests above would compare the loop with itself."""
    records = sample_records(400)
    data = write_batch(records)
    found, headed = read_plain_records(data, HEAD, len(data), 400, 0, T0, None)
    assert [record for record, _, _ in headed] == [i for i in range(400) if i % 4 == 1]
    assert [dict(record, headers=[]) for record in records] == found
    assert both(data, 400)[0] == records


def test_a_record_longer_than_the_columns_take_is_left_to_the_loop():
    records = [{"offset": 0, "timestamp": T0, "key": None, "value": bytes(1 << 21), "headers": []}]
    data = write_batch(records)
    with pytest.raises(NotPlain):
        read_plain_records(data, HEAD, len(data), 1, 0, T0, None)
    assert both(data, 1)[0] == records
