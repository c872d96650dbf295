"""The bodies of exchanges in columns as JSON text, where nothing is to be said about them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdissect.columnar.flat import Spoken
from kdissect.model import Int64s
from kdissect.protocol.bulk import Rows, Sent
from kdissect.protocol.contents.unfold import unfold_contents
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response
from kdissect.wire.json import dumps

Naming = Callable[[str], str | None]


def write_bodies(rows: Rows, spoken: Spoken, decoding: DecodeOptions, name_of: Naming) -> list[bytes]:
    """For each exchange ``"request":...,"response":...``; empty where ``spoken.left`` says, or comes to say, that it must be
    looked at by itself.

    ``name_of`` gives the name of a topic id as far as it is known by now; exchanges with others are left.
    """
    nameless = [any(m.is_id and name_of(m.text) is None for m in mentions) for mentions in spoken.topic_lists]
    spoken.left |= np.array(nameless, bool)[spoken.topics]
    texts = [b""] * len(rows)
    requests, responses = _frames(rows, rows.request), _frames(rows, rows.response)
    keys, versions, answered = rows.api_key.tolist(), rows.api_version.tolist(), rows.answered.tolist()
    left: list[int] = []
    for row in np.flatnonzero(~spoken.left).tolist():
        asked = _text(decode_request(requests(row), options=decoding), decoding, name_of)
        told: bytes | None = b"null"
        if answered[row] and asked is not None:
            told = _text(decode_response(responses(row), keys[row], versions[row], options=decoding), decoding, name_of)
        if asked is None or told is None:
            left.append(row)
        else:
            texts[row] = b'"request":%b,"response":%b' % (asked, told)
    spoken.left[np.array(left, np.int64)] = True
    return texts


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
