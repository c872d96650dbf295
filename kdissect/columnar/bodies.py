"""The bodies of exchanges in columns as JSON text, where nothing is to be said about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import orjson

from kdissect.columnar.flat import Spoken
from kdissect.columnar.record_text import OutOfTheOrdinary, batches_as_json
from kdissect.model import Int64s
from kdissect.protocol.bulk import Rows, Sent
from kdissect.protocol.contents.records import INTERNAL_LOGS
from kdissect.protocol.contents.unfold import PUSH_TELEMETRY, unfold_contents
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response
from kdissect.schema.records_field import RawRecords
from kdissect.wire.json import dumps, plain
from kdissect.wire.limits import Budget

Naming = Callable[[str], str | None]


def write_bodies(rows: Rows, spoken: Spoken, decoding: DecodeOptions, name_of: Naming) -> list[bytes]:
    """For each exchange ``"request":...,"response":...``; empty where ``spoken.left`` says, or comes to say, that it must be
    looked at by itself.

    ``name_of`` gives the name of a topic id as far as it is known by now; exchanges with others are left.
    """
    quick = replace(decoding, records="skip")
    nameless = [any(m.is_id and name_of(m.text) is None for m in mentions) for mentions in spoken.topic_lists]
    spoken.left |= np.array(nameless, bool)[spoken.topics]
    internal = [any((name_of(m.text) if m.is_id else m.text) in INTERNAL_LOGS for m in each) for each in spoken.topic_lists]
    opened = np.array(internal, bool)[spoken.topics] | (rows.api_key == PUSH_TELEMETRY)
    texts = [b""] * len(rows)
    requests, responses = _frames(rows, rows.request), _frames(rows, rows.response)
    keys, versions, answered = rows.api_key.tolist(), rows.api_version.tolist(), rows.answered.tolist()
    left: list[int] = []

    def text(decode: Callable[[DecodeOptions], Message], size: int, looked_into: bool) -> bytes | None:
        if not looked_into:
            try:
                return _quick_text(decode(quick), Budget(size, decoding.limits))
            except OutOfTheOrdinary:
                pass
        return _text(decode(decoding), decoding, name_of)

    for row in np.flatnonzero(~spoken.left).tolist():
        sent = requests(row)
        asked = text(lambda options, sent=sent: decode_request(sent, options=options), len(sent), opened[row])  # type: ignore[misc]
        told: bytes | None = b"null"
        if answered[row] and asked is not None:
            got, key, version = responses(row), keys[row], versions[row]
            told = text(
                lambda options, got=got, key=key, version=version: decode_response(got, key, version, options=options),  # type: ignore[misc]
                len(got),
                opened[row],
            )
        if asked is None or told is None:
            left.append(row)
        else:
            texts[row] = b'"request":%b,"response":%b' % (asked, told)
    spoken.left[np.array(left, np.int64)] = True
    return texts


def _quick_text(message: Message, budget: Budget) -> bytes | None:
    """The body with its records written straight to text; raises :class:`OutOfTheOrdinary` where that will not do."""
    if message.fault is not None or message.trailing:
        return None

    def told(value: object) -> object:
        return batches_as_json(value, budget) if isinstance(value, RawRecords) else plain(value)

    try:
        return orjson.dumps(message.body, told)
    except orjson.JSONEncodeError as error:
        if isinstance(error.__cause__, OutOfTheOrdinary):
            raise error.__cause__ from None
        raise


def _text(message: Message, decoding: DecodeOptions, name_of: Naming) -> bytes | None:
    if message.fault is not None or message.trailing or message.record_faults:
        return None
    unfold_contents(message, name_of, show_secrets=decoding.show_secrets)
    return dumps(message.body)


def _frames(rows: Rows, sent: Sent) -> Callable[[int], bytes]:
    """The messages without their size prefix."""
    buffers = [data.data for data in rows.buffers]
    buffer: list[int] = sent.buffer.tolist()
    start: list[int] = (sent.start + 4).tolist()
    end: list[int] = _ends(sent).tolist()
    return lambda row: bytes(buffers[buffer[row]][start[row] : end[row]])


def _ends(sent: Sent) -> Int64s:
    return sent.start + sent.size
