"""What the first bytes of a frame say, without decoding its body.

A request begins with size int32, api_key int16, api_version int16,
correlation_id int32 and (but for ControlledShutdown v0) client_id, an int16
length and that many bytes; a response with size int32 and correlation_id int32
(RequestHeader.json, ResponseHeader.json, KIP-482).
"""

from __future__ import annotations

import functools
import struct
from typing import NamedTuple

import numpy as np

from kdissect import schema
from kdissect.model import Int16s

LONGEST_CLIENT_ID = 1024
LARGEST_SOUGHT = 128 << 20
"""The largest size believed while *searching* for a frame; a synced stream may carry larger ones."""

_request = struct.Struct(">ihhi").unpack_from
_response = struct.Struct(">ii").unpack_from
_int16 = struct.Struct(">h").unpack_from

CONTROLLED_SHUTDOWN = 7
HANDSHAKE = (17, 0)
"""SaslHandshake v0, after which raw tokens follow (KIP-43)."""


class RequestHead(NamedTuple):
    """The fixed part of a request's header; ``client_id`` is None when null, absent or cut off."""

    size: int
    """Bytes of the whole frame with its prefix."""
    api_key: int
    api_version: int
    correlation_id: int
    client_id: bytes | None
    cut: bool
    """The client_id is not there in full."""


@functools.cache
def _tables() -> tuple[Int16s, Int16s]:
    low, high, _ = schema.version_table()
    return low, high


@functools.cache
def _versions() -> tuple[list[int], list[int]]:
    low, high = _tables()
    return low.tolist(), high.tolist()


def known(api_key: int, api_version: int) -> bool:
    """Whether Kafka ever released this version of this API."""
    low, high = _versions()
    return 0 <= api_key < len(low) and 0 <= low[api_key] <= api_version <= high[api_key]


def request_head(data: memoryview | bytes | bytearray, at: int = 0) -> RequestHead | None:
    """Read the header that starts at ``at``; None with fewer than 12 bytes there."""
    left = len(data) - at
    if left < 12:
        return None
    size, api_key, api_version, correlation_id = _request(data, at)
    size += 4
    if (api_key == CONTROLLED_SHUTDOWN and api_version == 0) or size < 14:
        return RequestHead(size, api_key, api_version, correlation_id, None, False)
    if left < 14:
        return RequestHead(size, api_key, api_version, correlation_id, None, True)
    length = _int16(data, at + 12)[0]
    if length < 0:
        return RequestHead(size, api_key, api_version, correlation_id, None, False)
    client_id = bytes(data[at + 14 : at + 14 + length])
    if len(client_id) < length:
        return RequestHead(size, api_key, api_version, correlation_id, None, True)
    return RequestHead(size, api_key, api_version, correlation_id, client_id, False)


def response_head(data: memoryview | bytes | bytearray, at: int = 0) -> tuple[int, int] | None:
    """Whole size and correlation id of the response that starts at ``at``; None with fewer than 8 bytes there."""
    if len(data) - at < 8:
        return None
    size, correlation_id = _response(data, at)
    return size + 4, correlation_id


def sane_request(data: memoryview | bytes | bytearray, at: int = 0, largest: int = LARGEST_SOUGHT) -> RequestHead | None:
    """The header at ``at`` if it is one that a Kafka client could have sent: a known API and version, a client_id of text."""
    head = request_head(data, at)
    if head is None or not known(head.api_key, head.api_version) or not 12 <= head.size <= largest:
        return None
    if head.size < 14 and not (head.api_key == CONTROLLED_SHUTDOWN and head.api_version == 0):
        return None
    if not head.cut and head.client_id is None and head.size >= 14:
        controlled = head.api_key == CONTROLLED_SHUTDOWN and head.api_version == 0
        if not controlled and _int16(data, at + 12)[0] != -1:
            return None
    if head.client_id is not None and (14 + len(head.client_id) > head.size or not is_text(head.client_id)):
        return None
    if head.cut and len(data) - at >= 14 and not 0 <= _int16(data, at + 12)[0] <= min(LONGEST_CLIENT_ID, head.size - 14):
        return None
    return head


def is_text(client_id: bytes) -> bool:
    """Whether these bytes can be a client_id: UTF-8 without control characters, of sensible length."""
    if len(client_id) > LONGEST_CLIENT_ID:
        return False
    try:
        return client_id.decode().isprintable()
    except UnicodeDecodeError:
        return False


def request_candidates(data: bytearray, start: int) -> list[int]:
    """Every offset from ``start`` on at which a sane request header *could* stand, by its fixed fields (vectorised)."""
    n = len(data) - 13 - start
    if n <= 0:
        return []
    low, high = _tables()
    window = bytes(data[start:])
    size = np.ndarray((n,), ">i4", window, 0, (1,))
    key = np.ndarray((n,), ">i2", window, 4, (1,))
    at = np.flatnonzero((key >= 0) & (key < len(low)) & (size >= 8) & (size <= LARGEST_SOUGHT))
    if len(at):
        version = np.ndarray((n,), ">i2", window, 6, (1,))[at]
        keys = key[at].astype(np.intp)
        at = at[(version >= low[keys]) & (version <= high[keys]) & (low[keys] >= 0)]
    if len(at):
        length = np.ndarray((n,), ">i2", window, 12, (1,))[at]
        shutdown = (key[at] == CONTROLLED_SHUTDOWN) & (np.ndarray((n,), ">i2", window, 6, (1,))[at] == 0)
        at = at[shutdown | ((length >= -1) & (length <= LONGEST_CLIENT_ID) & (length <= size[at] - 10))]
    return [int(offset) + start for offset in at]


def response_candidates(data: bytearray, start: int, correlation_ids: set[int]) -> list[int]:
    """Every offset from ``start`` on at which a response with one of these ids could stand (vectorised)."""
    n = len(data) - 7 - start
    if n <= 0 or not correlation_ids:
        return []
    window = bytes(data[start:])
    size = np.ndarray((n,), ">i4", window, 0, (1,))
    correlation_id = np.ndarray((n,), ">i4", window, 4, (1,))
    wanted = np.fromiter(correlation_ids, np.int64, len(correlation_ids))
    at = np.flatnonzero((size >= 4) & (size <= LARGEST_SOUGHT))
    at = at[np.isin(correlation_id[at], wanted)]
    return [int(offset) + start for offset in at]
