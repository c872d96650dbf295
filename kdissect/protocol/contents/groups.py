"""What members of classic groups tell each other: their metadata and assignments.

The broker passes these bytes on unread; the group's protocol type says what they
are.  ``consumer``: ConsumerProtocol, with Streams' own data as user data
(``StreamsPartitionAssignor``); ``connect``: Connect's workers.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Literal, NamedTuple

from kdissect.protocol.contents.blobs import Opened, opened, read_exactly, read_versioned

Part = Literal["group_metadata", "group_assignment"]

_INT32 = Struct(">i")
_FORMATS: dict[str, dict[Part, str]] = {
    "consumer": {"group_metadata": "ConsumerProtocolSubscription", "group_assignment": "ConsumerProtocolAssignment"},
    "connect": {"group_metadata": "ConnectSubscription", "group_assignment": "ConnectAssignment"},
}
_STREAMS: dict[Part, str] = {"group_metadata": "SubscriptionInfoData", "group_assignment": "StreamsAssignmentInfo"}
STREAMS_PROTOCOL = "stream"
"""Name of Streams' assignor (StreamsPartitionAssignor.name)."""


class Protocol(NamedTuple):
    """What a group's members speak, as far as it is known; both None where nothing tells."""

    type: str | None
    """``consumer``, ``connect`` or another."""
    name: str | None
    """Of the assignor (``range``, ``stream``) or of Connect's protocol (``sessioned``)."""


UNKNOWN = Protocol(None, None)


def open_group_blob(part: Part, data: bytes, protocol: Protocol) -> Opened | None:
    """A member's metadata or assignment; None for what is no such thing.

    Without a protocol type it is a consumer's if it fits that exactly: nearly all are, and hardly anything else fits.
    """
    formats = _FORMATS.get(protocol.type or "consumer")
    found = None if formats is None else read_versioned(formats[part], data)
    if found is not None:
        _open_inner(part, found, protocol)
    return found


def _open_inner(part: Part, found: dict[str, Any], protocol: Protocol) -> None:
    """The blobs within: Streams' user data, a Connect worker's allocation."""
    user_data, allocation = found.get("user_data"), found.get("allocation")
    if user_data and protocol.name in (None, STREAMS_PROTOCOL):
        found["user_data"] = _open_streams(part, user_data) or user_data
    if allocation:
        found["allocation"] = read_versioned("ConnectAssignment", allocation) or allocation


def _open_streams(part: Part, data: bytes) -> Opened | None:
    """Streams' data has its version as its first field, an int32."""
    if len(data) < _INT32.size:
        return None
    (version,) = _INT32.unpack_from(data)
    fields = read_exactly(_STREAMS[part], version, data)
    return None if fields is None else opened(_STREAMS[part], version, fields)
