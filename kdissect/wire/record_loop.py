"""The records of a batch of magic 2: one loop, written for speed.

Layout of a record (KIP-98): varint length, int8 attributes (unused), varlong
timestamp delta, varint offset delta, varint key length and key, varint value
length and value, varint header count, then each header's key and value with
their varint lengths.  A length of -1 is null; all varints are zigzag.
"""

from __future__ import annotations

from kdissect.wire.faults import Malformed, Reading
from kdissect.wire.record_columns import NotPlain, read_plain_records
from kdissect.wire.varint import read_varint

SMALLEST_RECORD = 7
"""Bytes of a record with null key and value and no headers, its length included."""

COLUMNS_FROM = 150
"""Number of records from which reading them in columns is the faster way."""

_INT64 = 1 << 63


def read_batch_records(
    data: bytes, at: int, end: int, count: int, base_offset: int, base_timestamp: int, append_time: int | None, reading: Reading
) -> tuple[list[dict[str, object]], Malformed | None]:
    """The ``count`` records that ``data[at:end]`` should be exactly, and what is wrong with them, if anything.

    Offsets and timestamps are absolute; ``append_time`` replaces the latter.
    Records before a fault are kept.  Each record is
    ``{"offset", "timestamp", "key", "value", "headers": [{"key", "value"}]}``.
    """
    if count >= COLUMNS_FROM:
        plain = _read_in_columns(data, at, end, count, base_offset, base_timestamp, append_time, reading)
        if plain is not None:
            return plain, None
    records: list[dict[str, object]] = []
    fault: Malformed | None = None
    start = at
    # Sums past 64 bits wrap as in Java; only a base near the edge or a delta of nine bytes can make one.
    wraps = not (-_INT64 >> 1 < base_offset < _INT64 >> 1 and -_INT64 >> 1 < base_timestamp < _INT64 >> 1)
    add = records.append
    try:
        for _ in range(count):
            start = at
            # Varints of one and two bytes are read in place, all others by read_varint.
            x = data[at]
            at += 1
            if x > 127:
                y = data[at]
                if y < 128:
                    x = x & 127 | y << 7
                    at += 1
                    size = ~(x >> 1) if x & 1 else x >> 1
                else:
                    size, at = read_varint(data, at - 1, 5)
            else:
                size = ~(x >> 1) if x & 1 else x >> 1
            record_end = at + size
            if size < 6 or record_end > end:
                raise Malformed(f"a record of {size} bytes where {end - at} are left", start)
            at += 1

            x = data[at]
            at += 1
            if x > 127:
                y = data[at]
                if y < 128:
                    x = x & 127 | y << 7
                    at += 1
                    timestamp = base_timestamp + (~(x >> 1) if x & 1 else x >> 1)
                else:
                    timestamp, at = read_varint(data, at - 1, 10)
                    if not -_INT64 >> 1 < timestamp < _INT64 >> 1:
                        wraps = True
                    timestamp += base_timestamp
            else:
                timestamp = base_timestamp + (~(x >> 1) if x & 1 else x >> 1)

            x = data[at]
            at += 1
            if x > 127:
                y = data[at]
                if y < 128:
                    x = x & 127 | y << 7
                    at += 1
                    offset = base_offset + (~(x >> 1) if x & 1 else x >> 1)
                else:
                    offset, at = read_varint(data, at - 1, 5)
                    offset += base_offset
            else:
                offset = base_offset + (~(x >> 1) if x & 1 else x >> 1)

            x = data[at]
            at += 1
            key: bytes | None
            if x == 1:
                key = None
            else:
                if x > 127:
                    y = data[at]
                    if y < 128:
                        x = x & 127 | y << 7
                        at += 1
                        size = ~(x >> 1) if x & 1 else x >> 1
                    else:
                        size, at = read_varint(data, at - 1, 5)
                else:
                    size = ~(x >> 1) if x & 1 else x >> 1
                if size < 0:
                    raise Malformed(f"a key of {size} bytes", start)
                key = data[at : at + size]
                at += size

            x = data[at]
            at += 1
            value: bytes | None
            if x == 1:
                value = None
            else:
                if x > 127:
                    y = data[at]
                    if y < 128:
                        x = x & 127 | y << 7
                        at += 1
                        size = ~(x >> 1) if x & 1 else x >> 1
                    else:
                        size, at = read_varint(data, at - 1, 5)
                else:
                    size = ~(x >> 1) if x & 1 else x >> 1
                if size < 0:
                    raise Malformed(f"a value of {size} bytes", start)
                value = data[at : at + size]
                at += size

            x = data[at]
            at += 1
            headers: list[dict[str, object]] = []
            if x:
                at = read_headers(data, at - 1, record_end, headers, reading)
            if at != record_end:
                raise Malformed(f"the record's fields end {abs(record_end - at)} bytes {_side(at, record_end)} its end", start)
            add({"offset": offset, "timestamp": timestamp, "key": key, "value": value, "headers": headers})
        if at != end:
            fault = Malformed(f"{end - at} bytes after the last of {count} records", at)
    except IndexError:
        fault = Malformed(f"cut off in record {len(records)} of {count}", start)
    except Malformed as error:
        fault = error
    if append_time is not None:
        for record in records:
            record["timestamp"] = append_time
    if wraps:
        for record in records:
            for name in ("offset", "timestamp"):
                number = record[name]
                assert isinstance(number, int)
                record[name] = (number + _INT64) % (2 * _INT64) - _INT64
    return records, fault


def _read_in_columns(
    data: bytes, at: int, end: int, count: int, base_offset: int, base_timestamp: int, append_time: int | None, reading: Reading
) -> list[dict[str, object]] | None:
    """All records, or None and the budget as it was where anything is out of the ordinary."""
    objects_left = reading.budget.objects_left
    try:
        records, headed = read_plain_records(data, at, end, count, base_offset, base_timestamp, append_time)
        for record, headers_at, record_end in headed:
            headers = records[record]["headers"]
            assert isinstance(headers, list)
            if read_headers(data, headers_at, record_end, headers, reading) != record_end:
                raise NotPlain
    except (NotPlain, Malformed, IndexError):
        reading.budget.objects_left = objects_left
        return None
    return records


def read_headers(data: bytes, at: int, end: int, headers: list[dict[str, object]], reading: Reading) -> int:
    """Appends the headers counted and standing at ``at``; the offset after them."""
    # Numbers of one byte that are not negative are read in place.
    count = data[at]
    if count & 0x81:
        count, at = read_varint(data, at, 5)
    else:
        count >>= 1
        at += 1
    if not 0 <= count <= (end - at) // 2:
        raise Malformed(f"{count} headers where {end - at} bytes are left", at)
    reading.budget.objects_left -= count
    if reading.budget.objects_left < 0:
        raise Malformed("more headers than the limit on objects permits", at)
    for _ in range(count):
        size = data[at]
        if size & 0x81:
            size, at = read_varint(data, at, 5)
        else:
            size >>= 1
            at += 1
        if not 0 <= size <= end - at:
            raise Malformed(f"a header key of {size} bytes where {end - at} are left", at)
        raw = data[at : at + size]
        at += size
        try:
            key: str | bytes = raw.decode()
        except UnicodeDecodeError:
            key = raw
        size = data[at]
        if size & 0x81:
            size, at = read_varint(data, at, 5)
            if size == -1:
                headers.append({"key": key, "value": None})
                continue
        else:
            size >>= 1
            at += 1
        if not 0 <= size <= end - at:
            raise Malformed(f"a header value of {size} bytes where {end - at} are left", at)
        headers.append({"key": key, "value": data[at : at + size]})
        at += size
    return at


def _side(at: int, end: int) -> str:
    return "before" if at < end else "after"
