"""The view of records: what ``kdissect records`` lists, one row a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kdissect.exchange import rfc3339
from kdissect.report.escape import escape, shorten
from kdissect.report.human import Clock
from kdissect.report.partitions import Partition, TopicNames, partitions
from kdissect.report.select import as_text
from kdissect.report.values import bytes_text
from kdissect.report.view import Cell, Column, View
from kdissect.schema.error_codes import error_name

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

MS: Final = 1_000_000
LONG: Final = 120
"""Characters of a key or value that a table needs at most."""

Decode = Callable[[str | None, str, bytes, str | None], object]
"""``(topic, "key" | "value" | "header", bytes, header key)`` -> JSON-ready value, None for bytes to be shown as they are."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record on its way: written by a producer, or read by a consumer or follower."""

    exchange: Exchange
    direction: str
    """``produced`` or ``fetched``."""
    topic: str | None
    partition: int | None
    offset: int | None
    """In the partition; None where a producer got no answer that tells it."""
    error: str | None
    """Why the broker refused it."""
    batch: Mapping[str, Any]
    values: Mapping[str, Any]
    key: object
    """Bytes, or JSON-ready as a decoder made it."""
    value: object
    headers: tuple[tuple[str, object], ...]


def records(batch: Sequence[Exchange], names: TopicNames, decode: Decode) -> Iterator[Record]:
    """The records in exchanges, decoded; their batches must have been read in full."""
    for exchange in batch:
        yield from _produced(exchange, names, decode)
        for part in partitions(exchange.response, names):
            for one in part.batches or ():
                for values in one.get("records") or ():
                    yield _record(exchange, "fetched", part, values.get("offset"), None, one, values, decode)


def _produced(exchange: Exchange, names: TopicNames, decode: Decode) -> Iterator[Record]:
    answers: dict[tuple[str | None, int | None], Partition] | None = None
    for part in partitions(exchange.request, names):
        if not part.batches:
            continue
        if answers is None:
            answers = {(each.topic, each.partition): each for each in partitions(exchange.response, names)}
        answer = answers.get((part.topic, part.partition))
        # The offsets in a request count from 0; the broker tells the first one's (-1 where it refused).
        first = answer.values.get("base_offset", -1) if answer is not None and not answer.error_code else -1
        error = error_name(answer.error_code) if answer is not None and answer.error_code else None
        count = 0
        for one in part.batches:
            for values in one.get("records") or ():
                yield _record(exchange, "produced", part, first + count if first >= 0 else None, error, one, values, decode)
                count += 1


def _record(
    exchange: Exchange,
    direction: str,
    part: Partition,
    offset: int | None,
    error: str | None,
    batch: Mapping[str, Any],
    values: Mapping[str, Any],
    decode: Decode,
) -> Record:
    def read(name: str, value: Any, header: str | None = None) -> object:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            return value
        decoded = decode(part.topic, name, bytes(value), header)
        return bytes(value) if decoded is None else decoded

    headers = []
    for each in values.get("headers") or ():
        name = each["key"] if isinstance(each["key"], str) else bytes(each["key"]).decode(errors="backslashreplace")
        headers.append((name, read("header", each["value"], name)))
    key, value = read("key", values.get("key")), read("value", values.get("value"))
    return Record(exchange, direction, part.topic, part.partition, offset, error, batch, values, key, value, tuple(headers))


def _timestamp(row: Record) -> int | None:
    stamp = row.values.get("timestamp")
    return stamp * MS if isinstance(stamp, int) and stamp >= 0 else None


def _when(row: Record) -> int | None:
    """When it was seen on the wire: as a request of a producer, or in a response."""
    asked, answered = row.exchange.request_time_ns, row.exchange.response_time_ns
    first, second = (asked, answered) if row.direction == "produced" else (answered, asked)
    return first if first is not None else second


def _size(row: Record, part: str) -> int | None:
    raw = row.values.get(part)
    return len(raw) if isinstance(raw, (bytes, bytearray, memoryview)) else raw.get("redacted") if isinstance(raw, dict) else None


def said(value: object, full: bool) -> Cell:
    """A key or value for people."""
    if value is None:
        return Cell("null", "quiet")
    if isinstance(value, dict) and set(value) == {"redacted"}:
        return Cell(f"({value['redacted']} bytes)", "quiet")
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        return Cell(_bare(bytes_text(raw if full else raw[: 4 * LONG], full)), "text")
    text = as_text(value)
    return Cell(escape(text) if full else shorten(text, LONG), "text")


def _bare(text: str) -> str:
    """Without the quotation marks that :func:`bytes_text` puts around text: the column says what it is."""
    return text[1:-1] if len(text) > 2 and text[0] in "\"'" and text[-1] == text[0] else text


def _headers(row: Record, full: bool) -> str:
    return ", ".join(f"{shorten(name, LONG)}={said(value, full).text}" for name, value in row.headers)


def _time_cell(row: Record, clock: Clock) -> Cell:
    moment = _timestamp(row)
    return Cell("-" if moment is None else clock.time(moment), "time")


def _full_time(row: Record, clock: Clock) -> str:
    moment = _timestamp(row)
    return "-" if moment is None else clock.full(moment, 3)


def _direction(row: Record, _: Clock) -> Cell:
    if row.error is not None:
        return Cell(escape(row.error), "error")
    return Cell(row.direction, "good" if row.direction == "produced" else "note")


def _by(row: Record) -> str:
    return row.exchange.client_id or row.exchange.client


def _to_json(row: Record, _: bool) -> dict[str, object]:
    exchange, batch = row.exchange, row.batch
    return {
        "exchange": exchange.index,
        "file": exchange.file,
        "connection_id": exchange.connection_id,
        "direction": row.direction,
        "time": rfc3339(_when(row), exchange.time_digits),
        "client": exchange.client,
        "broker": exchange.broker,
        "client_id": exchange.client_id,
        "principal": exchange.principal,
        "topic": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "error_code": row.error,
        "timestamp": rfc3339(_timestamp(row), 3),
        "timestamp_type": batch.get("timestamp_type"),
        "key": row.key,
        "value": row.value,
        "headers": [{"key": name, "value": value} for name, value in row.headers],
        "key_bytes": _size(row, "key"),
        "value_bytes": _size(row, "value"),
        "magic": batch.get("magic"),
        "compression": batch.get("compression"),
        "producer_id": batch.get("producer_id"),
        "producer_epoch": batch.get("producer_epoch"),
        "is_transactional": batch.get("is_transactional"),
        "is_control": batch.get("is_control"),
    }


RECORDS: View[Record] = View(
    name="records",
    columns=(
        Column("#", lambda r, _: Cell(str(r.exchange.index), "quiet"), rank=15, right=True, comfort=5, key="exchange"),
        Column("topic", lambda r, _: Cell(shorten(r.topic or "?", 249), "name"), rank=0, minimum=10, comfort=16, maximum=40),
        Column("part", lambda r, _: Cell("?" if r.partition is None else str(r.partition)), rank=0, right=True, key="partition"),
        Column("offset", lambda r, _: Cell("-" if r.offset is None else str(r.offset)), rank=0, right=True, comfort=6),
        Column("timestamp", _time_cell, rank=45, plain=_full_time),
        Column("direction", _direction, rank=60, minimum=8, comfort=8, maximum=30),
        Column(
            "by",
            lambda r, _: Cell(shorten(_by(r), 60), "address"),
            rank=40,
            minimum=8,
            comfort=14,
            maximum=24,
            key="client_id",
            plain=lambda r, _: escape(_by(r)),
        ),
        Column(
            "key",
            lambda r, _: said(r.key, False),
            rank=70,
            minimum=6,
            comfort=12,
            maximum=40,
            plain=lambda r, _: said(r.key, True).text,
        ),
        Column(
            "value",
            lambda r, _: said(r.value, False),
            rank=0,
            minimum=14,
            comfort=30,
            maximum=200,
            plain=lambda r, _: said(r.value, True).text,
        ),
        Column(
            "headers",
            lambda r, _: Cell(_headers(r, False), "quiet"),
            rank=20,
            spare=True,
            minimum=8,
            comfort=10,
            maximum=60,
            plain=lambda r, _: _headers(r, True) or "-",
        ),
    ),
    keys=(
        *("exchange", "file", "connection_id", "direction", "time", "client", "broker", "client_id", "principal", "topic"),
        *("partition", "offset", "error_code", "timestamp", "timestamp_type", "key", "value", "headers", "key_bytes"),
        *("value_bytes", "magic", "compression", "producer_id", "producer_epoch", "is_transactional", "is_control"),
    ),
    to_json=_to_json,
    moment=_timestamp,
    kinds={
        **dict.fromkeys(("exchange", "partition", "offset", "key_bytes", "value_bytes", "magic"), "integer"),
        **dict.fromkeys(("producer_id", "producer_epoch"), "integer"),
        **dict.fromkeys(("time", "timestamp"), "time"),
        **dict.fromkeys(("key", "value", "headers"), "json"),
        **dict.fromkeys(("is_transactional", "is_control"), "boolean"),
    },
)
"""One row a record."""
