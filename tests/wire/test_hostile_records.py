"""Cut, damaged, invented and exploding records fields: never an exception, never a wrong whole."""

from __future__ import annotations

import gzip
import struct
import tracemalloc

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.wire.checksums import crc32c
from kdissect.wire.limits import Budget, Limits
from kdissect.wire.records import read_records
from kdissect.wire.records_writer import write_batch, write_message_set
from kdissect.wire.varint import write_varint
from tests.wire.record_samples import CODECS, LEGACY_CODECS, T0, sample_records

CODES = {"records.bad_crc", "records.undecompressable", "frame.malformed"}
HEAD = 61

FIELDS = {
    **{f"2 {codec}": write_batch(sample_records(9), compression=codec) for codec in CODECS},
    **{
        f"{magic} {codec}": write_message_set(sample_records(9, magic=magic), magic=magic, compression=codec)
        for magic in (0, 1)
        for codec in LEGACY_CODECS
    },
}
SMALL_FIELDS = {name: data for name, data in FIELDS.items() if "none" not in name} | {
    "2 none": write_batch([{"key": b"k", "value": b"value", "headers": [{"key": "h", "value": b"1"}]}, {"value": b"x"}]),
    "1 none": write_message_set([{"key": b"k", "value": b"value"}], magic=1),
    "0 none": write_message_set([{"key": b"k", "value": b"value"}], magic=0),
}


def read(data: bytes, **options):
    batches, faults = read_records(data, **options)
    assert {fault.code for fault in faults} <= CODES
    assert all(0 <= fault.offset <= len(data) and fault.text for fault in faults)
    return batches, faults


def rewritten(data: bytes, at: int, replacement: bytes) -> bytes:
    """A batch with some bytes replaced and its length and CRC made right again."""
    changed = bytearray(data)
    changed[at : at + len(replacement)] = replacement
    return sealed(changed)


def sealed(batch: bytearray) -> bytes:
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch), 21, len(batch)))
    return bytes(batch)


def with_payload(payload: bytes, count: int) -> bytes:
    batch = bytearray(write_batch([], base_offset=0)) + payload
    struct.pack_into(">i", batch, 57, count)
    return sealed(batch)


@pytest.mark.parametrize("name", FIELDS)
def test_every_cut_is_partial_and_keeps_what_is_whole(name):
    whole = write_batch(sample_records(2), compression="gzip")
    expected, _ = read_records(whole)
    for cut in range(1, len(FIELDS[name])):
        tail = FIELDS[name][:cut]
        batches, faults = read(whole + tail, partial_ok=True)
        assert (batches[:1], faults) == (expected, [])
        complete, fragment = batches[1:-1], batches[-1]
        if "partial" not in fragment:  # a cut between two messages
            complete, fragment = batches[1:], None
        assert complete == read_records(FIELDS[name])[0][: len(complete)]
        consumed = sum(batch["batch_length"] + 12 for batch in complete)
        left = cut - consumed
        if left == 0:
            assert fragment is None
        elif left < 12:
            assert fragment == {"partial": True}
        else:
            offset, length = struct.unpack_from(">qi", tail, consumed)
            assert list(fragment.items()) == [("base_offset", offset), ("batch_length", length), ("partial", True)]
        strict_batches, strict_faults = read(whole + tail)
        assert strict_batches == batches
        assert [fault.code for fault in strict_faults] == (["frame.malformed"] if left else [])


@pytest.mark.parametrize("name", SMALL_FIELDS)
def test_every_flipped_bit_under_the_checksum_is_told(name):
    data = SMALL_FIELDS[name]
    # Outside the checksum: the offset, and in magic 2 the leader epoch.
    uncovered = set(range(8)) | (set(range(12, 16)) if name[0] == "2" else set())
    for at in set(range(len(data))) - uncovered:
        for bit in range(8):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            batches, faults = read(bytes(changed))
            assert faults, f"byte {at} bit {bit}"
            assert all(batch.get("crc_valid") is not True for batch in batches)


@pytest.mark.parametrize("name", [name for name in SMALL_FIELDS if name[0] == "2"])
def test_damage_under_a_right_checksum_raises_nothing(name):
    data = SMALL_FIELDS[name]
    for at in range(21, len(data)):
        for value in (0x00, 0x01, 0x7F, 0x80, 0xFF, data[at] ^ 0x40):
            read(rewritten(data, at, bytes((value,))))


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_arbitrary_bytes_raise_nothing(data):
    head = data.draw(st.sampled_from([b"", *SMALL_FIELDS.values()]))
    start = head[: data.draw(st.integers(0, len(head)))]
    field = bytearray(start + data.draw(st.binary(max_size=120)))
    for at in data.draw(st.lists(st.integers(0, max(0, len(field) - 1)), max_size=5)):
        if field:
            field[at] = data.draw(st.integers(0, 255))
    batches, _ = read(bytes(field), partial_ok=data.draw(st.booleans()))
    heads, _ = read(bytes(field), decode=False)
    assert [{k: v for k, v in batch.items() if k != "records"} for batch in batches] == [
        {k: v for k, v in head.items() if k != "records"} for head in heads
    ]


@settings(max_examples=600, deadline=None)
@given(st.binary(max_size=150), st.integers(-(2**31), 2**31 - 1))
def test_arbitrary_records_under_a_right_checksum_raise_nothing(payload, count):
    (batch,), faults = read(with_payload(payload, count))
    assert batch["crc_valid"]
    assert (len(batch["records"]) == count) or faults


@pytest.mark.parametrize("length", [-(2**31), -12, -1, 0, 4, 13, 48])
def test_impossible_batch_lengths(length):
    data = bytearray(write_batch(sample_records(3)))
    struct.pack_into(">i", data, 8, length)
    batches, faults = read(bytes(data), partial_ok=True)
    assert (batches, [fault.code for fault in faults]) == ([], ["frame.malformed"])


@pytest.mark.parametrize(("magic", "length"), [(0, 13), (1, 21)])
def test_messages_smaller_than_any(magic, length):
    data = bytearray(write_message_set(sample_records(3, magic=magic), magic=magic))
    struct.pack_into(">i", data, 8, length)
    assert read(bytes(data), partial_ok=True)[1][0].code == "frame.malformed"


def test_an_unknown_magic_is_passed_over():
    strange = bytearray(write_batch(sample_records(3)))
    strange[16] = 3
    batches, faults = read(bytes(strange) + write_batch(sample_records(2)))
    assert list(batches[0]) == ["base_offset", "batch_length", "magic", "records"]
    assert (batches[0]["magic"], batches[0]["records"]) == (3, None)
    assert len(batches[1]["records"]) == 2
    assert [fault.code for fault in faults] == ["frame.malformed"]


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"\x0c\0\0\0\x03\x01\0", "a key of -2 bytes"),
        (b"\x0c\0\0\0\x01\x05\0", "a value of -3 bytes"),
        (b"\x0c\0\0\0\x01\x01\x01", "-1 headers"),
        (b"\x0c\0\0\0\x01\x01\x7e", "63 headers"),
        (b"\x10\0\0\0\x01\x01\x02\x01\x01", "a header key of -1 bytes"),
        (b"\x10\0\0\0\x01\x01\x02\0\x03", "a header value of -2 bytes"),
        (b"\x10\0\0\0\x01\x01\x02\0\x7e", "a header value of 63 bytes"),
        (b"\x0e\0\0\0\x01\x01\0\0", "1 bytes before its end"),
        (b"\x0c\0\0\0\x7e" + b"x" * 63 + b"\x01\0", "after its end"),
        (b"\x0a\0\0\0\x01\x01\0", "a record of 5 bytes"),
        (b"\x7e\0\0\0\x01\x01\0", "a record of 63 bytes"),
        (b"\xff\xff\xff\xff\xff\x01", "more than 5 bytes"),
        (b"\xfe\xff\xff\xff\x1f" + bytes(20), "too large"),
        (b"\x0c\0\x80\x80", "a record of 6 bytes where 3 are left"),
    ],
)
def test_records_that_cannot_be(payload, text):
    first = b"\x0e\0\0\0\x01\x02A\0"
    (batch,), (fault,) = read(with_payload(first + payload, 2))
    assert [record["value"] for record in batch["records"]] == [b"A"]
    assert (fault.code, fault.offset >= HEAD) == ("frame.malformed", True)
    assert text in fault.text


@pytest.mark.parametrize("count", [2**31 - 1, 4, -1, -(2**31)])
def test_a_wrong_record_count(count):
    data = rewritten(write_batch([{"value": b"%d" % i} for i in range(3)]), 57, struct.pack(">i", count))
    (batch,), (fault,) = read(data)
    assert fault.code == "frame.malformed"
    assert batch["record_count"] == count
    assert [record["value"] for record in batch["records"]] == ([b"0", b"1", b"2"] if count > 0 else [])


def test_a_smaller_record_count_leaves_bytes_over():
    data = rewritten(write_batch(sample_records(3)), 57, struct.pack(">i", 2))
    (batch,), (fault,) = read(data)
    assert (len(batch["records"]), fault.code) == (2, "frame.malformed")
    assert "after the last of 2 records" in fault.text


def test_a_record_does_not_reach_into_the_next_batch():
    first = with_payload(b"\x0e\0\0\0\x01\x04A\0", 1)
    (one, two), (fault,) = read(first + write_batch(sample_records(2)))
    assert (one["records"], len(two["records"])) == ([], 2)
    assert fault.code == "frame.malformed"


def test_a_gzip_bomb_of_195_kb_is_told_in_bounded_memory():
    bomb = gzip.compress(bytes(200_000_000), 9)
    assert 190_000 < len(bomb) < 200_000
    for data in (
        write_batch([{"value": b""}], compression="gzip", compressor=lambda _: bomb),
        write_message_set([{"timestamp": T0}], magic=1, compression="gzip", compressor=lambda _: bomb),
    ):
        tracemalloc.start()
        (batch,), (fault,) = read(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (batch["records"], fault.code) == (None, "records.undecompressable")
        assert peak < 260 * len(data)


def test_a_bomb_of_tiny_records_stops_at_the_limit_on_objects():
    tiny = b"\x0c\0\0\0\x01\x01\0"
    data = with_payload(tiny * 5000, 5000)
    (batch,), (fault,) = read(data, limits=Limits(objects=1000))
    assert (len(batch["records"]), fault.code) == (999, "records.undecompressable")
    assert "limit on objects" in fault.text


def test_a_bomb_of_headers_stops_at_the_limit_on_objects():
    headers = write_varint(3000) + b"\0\x01" * 3000
    body = b"\0\0\0\x01\x01" + headers
    data = with_payload((write_varint(len(body)) + body) * 3, 3)
    (batch,), (fault,) = read(data, limits=Limits(objects=5000))
    assert (len(batch["records"]), fault.code) == (1, "frame.malformed")


def test_a_bomb_of_messages_stops_at_the_limit_on_objects():
    plain = write_message_set(sample_records(300, magic=1), magic=1)
    batches, (fault,) = read(plain, limits=Limits(objects=100))
    assert (len(batches), fault.code) == (100, "records.undecompressable")
    wrapped = write_message_set(sample_records(300, magic=1), magic=1, compression="gzip")
    (batch,), (fault,) = read(wrapped, limits=Limits(objects=100))
    assert (len(batch["records"]), fault.code) == (99, "records.undecompressable")


def test_many_small_bombs_share_one_budget():
    bomb = write_batch([{"value": b""}], compression="zstd", compressor=lambda _: zstandard.compress(bytes(1 << 20)))
    limits = Limits(free_bytes=10 << 20, expansion=1)
    _, faults = read(bomb * 20, limits=limits)
    assert [fault.code for fault in faults].count("records.undecompressable") == 10
    budget = Budget(len(bomb) * 20, limits)
    told = [fault.code for _ in range(20) for fault in read(bomb, budget=budget)[1]]
    assert told.count("records.undecompressable") == 10


def test_a_batch_of_100_mb():
    records = [{"offset": i, "timestamp": T0, "key": None, "value": b"%08d" % i * 1280, "headers": []} for i in range(10_000)]
    for codec in ("none", "lz4"):
        (batch,), faults = read(write_batch(records, compression=codec))
        assert faults == []
        assert batch["records"] == records
