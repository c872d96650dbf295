"""Many bytes as JSON values at once, and record batches straight to text, are what they are one by one."""

from __future__ import annotations

import random

import pytest

from kdissect.columnar.record_text import MANY, OutOfTheOrdinary, batches_as_json
from kdissect.schema.records_field import RawRecords
from kdissect.wire.json import bytes_value, dumps, texts
from kdissect.wire.limits import DEFAULT_LIMITS, Budget
from kdissect.wire.records import read_records
from kdissect.wire.records_writer import write_batch

PIECES = [
    b"",
    b"a",
    b"text \n",
    b"\t",
    b"\x7f",
    b"\xc2\x80",
    b"\xc2\x9f",
    b"\xc2\xa0",
    b"\0",
    b"\xff",
    "é€😀".encode(),
    b"\xc2",
    b"\x80",
]


def test_texts() -> None:
    rng = random.Random(3)
    for _ in range(20_000):
        values = [
            None if rng.random() < 0.2 else b"".join(rng.choices(PIECES, k=rng.randrange(3))) for _ in range(rng.randrange(4))
        ]
        assert texts(values) == [None if value is None else bytes_value(value) for value in values], values


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("count", [0, 1, MANY - 1, MANY, 300])
def test_batches(codec: str, count: int) -> None:
    rng = random.Random(count)
    records = [
        {
            "offset": 1000 + 2 * n,
            "timestamp": 1_700_000_000_000 + n,
            "key": rng.choice((None, b"", b"key", rng.randbytes(5))),
            "value": rng.choice((None, b"v" * rng.randrange(300), rng.randbytes(3))),
            "headers": [{"key": "h", "value": rng.choice((None, b"x", b"\xff"))}] * rng.randrange(3),
        }
        for n in range(count)
    ]
    for time in (None, 1_700_000_009_999):
        data = write_batch(records, compression=codec, log_append_time=time) * 2
        expected, faults = read_records(data)
        assert not faults
        raw = RawRecords(memoryview(data), 0, False)
        assert dumps(batches_as_json(raw, Budget(len(data), DEFAULT_LIMITS))) == dumps(expected)


def test_damage_is_left_to_the_decoder() -> None:
    """What is damaged anywhere either raises or says the same as the decoder, which then has nothing to complain of."""
    sound = write_batch([{"key": b"k", "value": b"v" * 20, "headers": [{"key": "a", "value": b"b"}]}] * (MANY + 5))
    refused = 0
    for at in range(0, len(sound), 7):
        damaged = bytearray(sound)
        damaged[at] ^= 0x41
        for data in (bytes(damaged), sound[:at]):
            try:
                text = dumps(batches_as_json(RawRecords(memoryview(data), 0, True), Budget(len(data), DEFAULT_LIMITS)))
            except OutOfTheOrdinary:
                refused += 1
                continue
            expected, faults = read_records(data, partial_ok=True)
            assert not faults and text == dumps(expected)
    assert refused > 50
