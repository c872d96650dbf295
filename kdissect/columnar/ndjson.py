"""Writes a batch of exchanges as NDJSON, column by column; the same bytes as one by one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import orjson

from kdissect import schema
from kdissect.columnar.batch import Columns, ExchangeBatch, latency_ms
from kdissect.columnar.flat import ABSENT
from kdissect.model import Int64s
from kdissect.wire.json import dumps

_SECOND = 1_000_000_000
_YEARS = range(-30_000_000_000, 250_000_000_000)
"""Seconds since the epoch, within the years of four digits; any other time is written one by one."""


def write_lines(batch: ExchangeBatch, bodies: bool) -> bytes:
    """Every exchange of the batch on a line of its own; ``bodies`` only where the columns have them."""
    columns = batch.columns
    if not len(columns) or not _plain_times(columns):
        return b"".join(_line(batch, place, bodies) for place in range(len(batch)))
    lines = [line.encode() for line in _lines(columns)]
    if bodies and columns.bodies is not None:
        lines = [b"%b,%b}\n" % pair for pair in zip(lines, columns.bodies, strict=True)]
    else:
        lines = [line + b"}\n" for line in lines]
    if not batch.objects:
        return b"".join(lines)
    out: list[bytes] = []
    begin = 0
    places = columns.place
    for place in sorted(batch.objects):
        end = int(np.searchsorted(places, place))
        if end > begin:
            out += lines[begin:end]
        out.append(_line(batch, place, bodies))
        begin = end
    return b"".join([*out, *lines[begin:]])


def _line(batch: ExchangeBatch, place: int, bodies: bool) -> bytes:
    return dumps(batch[place].to_contract(bodies)) + b"\n"


def _plain_times(columns: Columns) -> bool:
    used = {columns.files[number].time_digits for number in np.unique(columns.file).tolist()}
    times = np.concatenate([columns.request_time_ns, columns.response_time_ns]) // _SECOND
    return len(used) == 1 and min(used) > 0 and int(times.min()) in _YEARS and int(times.max()) in _YEARS


def _text(value: object) -> str:
    return orjson.dumps(value).decode()


def _texts(values: Sequence[object]) -> list[str]:
    return [_text(value) for value in values]


def _lines(c: Columns) -> list[str]:
    """The exchanges in columns, each up to its bodies.

    Most of a line is the same for all exchanges of a connection, an API, a topic: such pieces are written once,
    and a line is put together from them and a few numbers.
    """
    digits = c.files[int(c.file[0])].time_digits
    whose = _whose(c)
    asked_at, answered_at = _times(c.request_time_ns, digits), _times(c.response_time_ns, digits)
    latency = np.full(len(c), "null", object)
    answered = c.answered
    if answered.any():
        latency[answered] = orjson.dumps(latency_ms(c, answered))[1:-1].decode().split(",")
    kinds, kind = np.unique(c.api_key << 16 | c.api_version, return_inverse=True)
    apis = [
        f'"api":{_text(schema.api_name(k >> 16))},"api_key":{k >> 16},"api_version":{k & 0xFFFF},"correlation_id":'
        for k in kinds.tolist()
    ]
    clients = _texts(c.client_ids)
    tails, tail = _tails(c)
    row = zip(
        c.index.tolist(),
        whose,
        *asked_at,
        *answered_at,
        latency.tolist(),
        kind.tolist(),
        c.correlation_id.tolist(),
        c.client_id.tolist(),
        c.request_bytes.tolist(),
        c.response_bytes.tolist(),
        c.request_first.tolist(),
        c.request_last.tolist(),
        c.response_first.tolist(),
        c.response_last.tolist(),
        answered.tolist(),
        tail,
        strict=True,
    )
    fraction = f"%0{digits}d"
    both = (
        '{"index":%d%s"request_time":"%s.' + fraction + 'Z","response_time":"%s.' + fraction + 'Z","latency_ms":%s,%s%d,'
        '"client_id":%s,"request_bytes":%d,"response_bytes":%d,"request_packets":[%d,%d],"response_packets":[%d,%d],'
        '"outcome":"answered",%s'
    )
    alone = (
        '{"index":%d%s"request_time":"%s.' + fraction + 'Z","response_time":null,"latency_ms":null,%s%d,'
        '"client_id":%s,"request_bytes":%d,"response_bytes":null,"request_packets":[%d,%d],"response_packets":null,'
        '"outcome":"no_reply_expected",%s'
    )
    return [
        both % (i, w, s, f, t, g, ms, apis[k], id, clients[who], n, m, a, b, x, y, tails[end])
        if pair
        else alone % (i, w, s, f, apis[k], id, clients[who], n, a, b, tails[end])
        for i, w, s, f, t, g, ms, k, id, who, n, m, a, b, x, y, pair, end in row
    ]


def _whose(c: Columns) -> list[str]:
    """File and connection of every exchange."""
    response_file = np.where(c.answered, c.response_file, c.file)
    pieces: dict[tuple[int, int, int], str] = {}
    out = []
    for key in zip(c.file.tolist(), response_file.tolist(), c.connection.tolist(), strict=True):
        piece = pieces.get(key)
        if piece is None:
            file, other, connection = key
            whose = c.connections[connection]
            row: dict[str, object] = {"file": c.files[file].name}
            if other != file:
                row["response_file"] = c.files[other].name
            row |= {"connection": whose.number, "connection_id": whose.id, "client": whose.client, "broker": whose.broker}
            piece = pieces[key] = f",{_text(row)[1:-1]},"
        out.append(piece)
    return out


def _times(time_ns: Int64s, digits: int) -> tuple[list[str], list[int]]:
    """The times up to the second as text, and the fractions in units of the last digit."""
    seconds = time_ns // _SECOND
    distinct, which = np.unique(seconds, return_inverse=True)
    moments = [datetime.fromtimestamp(second, UTC) for second in distinct.tolist()]
    texts = [f"{moment.year:04}-{moment:%m-%dT%H:%M:%S}" for moment in moments]
    return [texts[n] for n in which.tolist()], ((time_ns - seconds * _SECOND) // 10 ** (9 - digits)).tolist()


def _tails(c: Columns) -> tuple[list[str], list[int]]:
    """What stands behind the outcome (errors, throttling, topics, groups, principal), each once, and which every exchange has."""
    principals = np.array([connection.number for connection in c.connections], np.int64)
    named = np.array([connection.principal is not None for connection in c.connections], bool)
    who = np.where(named[c.connection], principals[c.connection], -1)
    columns = (c.errors, c.throttle_ms, c.topics, c.groups, who)
    pieces: dict[tuple[int, ...], int] = {}
    texts: list[str] = []
    out = []
    principal_of = {connection.number: connection.principal for connection in c.connections}
    for key in zip(*(column.tolist() for column in columns), strict=True):
        number = pieces.get(key)
        if number is None:
            number = pieces[key] = len(texts)
            errors, throttle, topics, groups, connection = key
            row = {
                "unanswered_reason": None,
                "error_codes": c.error_lists[errors],
                "throttle_time_ms": None if throttle == ABSENT else throttle,
                "topics": c.topic_lists[topics],
                "groups": c.group_lists[groups],
                "principal": principal_of.get(connection),
                "findings": [],
            }
            texts.append(_text(row)[1:-1])
        out.append(number)
    return texts, out
