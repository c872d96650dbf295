"""Whether bytes really are the Kafka message that their header promises.

The proof is decoding: a message of known API and version either comes out exact
to its last byte or it does not.  A prefix can at least be shown to hold nothing wrong.
"""

from __future__ import annotations

from enum import Enum

from kdissect.protocol.heads import RequestHead
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response

_SKIP = DecodeOptions(records="skip")
CONVINCING_PREFIX = 64 << 10
"""So many bytes without a fault convince even before the message's end is there."""

PADDING = 4
"""So many zero bytes behind the last field are forgiven: librdkafka sends them with ApiVersions v0 and Metadata."""


class Verdict(Enum):
    """What the bytes at a place say of a frame that might start there."""

    NO = 0
    WAIT = 1
    """Nothing is wrong so far, but its end is not there yet."""
    YES = 2
    """Exact to the last byte, but for zeros that clients are known to add."""


def judge_request(data: bytes | bytearray, at: int, head: RequestHead) -> Verdict:
    """Judge the request at ``at``, of which :func:`~kdissect.protocol.heads.sane_request` found the head."""
    body = bytes(data[at + 4 : at + head.size])
    return _verdict(decode_request(body, options=_SKIP), body, head.size - 4)


def judge_response(data: bytes | bytearray, at: int, size: int, api_key: int, api_version: int) -> Verdict:
    """Judge the response of ``size`` bytes (prefix included) at ``at`` as the answer to a request of this API and version."""
    body = bytes(data[at + 4 : at + size])
    return _verdict(decode_response(body, api_key, api_version, options=_SKIP), body, size - 4)


def _verdict(message: Message, body: bytes, size: int) -> Verdict:
    fault = message.fault
    if len(body) < size:
        return Verdict.WAIT if fault is not None and fault.kind == "more" else Verdict.NO
    if fault is not None or message.trailing > PADDING or any(body[size - message.trailing :]):
        return Verdict.NO
    return Verdict.YES
