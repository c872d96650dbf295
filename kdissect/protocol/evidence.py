"""Whether bytes really are the Kafka message that their header promises.

The proof is decoding: a message of known API and version either comes out exact
to its last byte or it does not.  A prefix can at least be shown to hold nothing wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from kdissect.protocol.heads import RequestHead
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response

_SKIP = DecodeOptions(records="skip")
_QUICK = DecodeOptions(records="skip", explain=False)
CONVINCING_PREFIX = 64 << 10
"""So many bytes without a fault convince even before the message's end is there."""

GLANCE = 160
"""Bytes that are looked at before a longer candidate is decoded as a whole: what is none fails early."""
PADDING = 4
"""So many zero bytes behind the last field are forgiven: librdkafka sends them with ApiVersions v0 and Metadata."""


class Verdict(Enum):
    """What the bytes at a place say of a frame that might start there."""

    NO = 0
    WAIT = 1
    """Nothing is wrong so far, but its end is not there yet."""
    YES = 2
    """Exact to the last byte, but for zeros that clients are known to add."""


def judge_request(data: bytes | bytearray, at: int, head: RequestHead, *, thorough: bool = True) -> Verdict:
    """Judge the request at ``at``, of which :func:`~kdissect.protocol.heads.sane_request` found the head.

    Not ``thorough``: of one whose end is not there, only the beginning is looked at, for there may be many candidates.
    """
    return _judge(data, at, head.size, thorough, lambda body, options: decode_request(body, options=options))


def judge_response(
    data: bytes | bytearray, at: int, size: int, api_key: int, api_version: int, *, thorough: bool = True
) -> Verdict:
    """Judge the response of ``size`` bytes (prefix included) at ``at`` as the answer to a request of this API and version."""
    return _judge(data, at, size, thorough, lambda body, options: decode_response(body, api_key, api_version, options=options))


def _judge(
    data: bytes | bytearray, at: int, size: int, thorough: bool, decode: Callable[[bytes, DecodeOptions], Message]
) -> Verdict:
    have = min(size, len(data) - at)
    if have > GLANCE:
        body = bytes(data[at + 4 : at + GLANCE])
        verdict = _verdict(decode(body, _SKIP), body, size - 4)
        if verdict is Verdict.NO or (have < size and not thorough):
            return verdict
    body = bytes(data[at + 4 : at + have])
    # Of a whole message only matters whether it fits; of a beginning, why not.
    return _verdict(decode(body, _QUICK if have == size else _SKIP), body, size - 4)


def _verdict(message: Message, body: bytes, size: int) -> Verdict:
    fault = message.fault
    if len(body) < size:
        return Verdict.WAIT if fault is not None and fault.kind == "more" else Verdict.NO
    if fault is not None or message.trailing > PADDING or any(body[size - message.trailing :]):
        return Verdict.NO
    return Verdict.YES
