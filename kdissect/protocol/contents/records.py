"""Keys and values of the records in Kafka's own logs, and of control records.

``__consumer_offsets``, ``__transaction_state`` and ``__share_group_state`` have an
int16 in front of keys (which record it is) and of values (its version).  The
records of ``__cluster_metadata`` and ``__remote_log_metadata`` are values alone,
behind three unsigned varints: frame version 1, record number, version
(``AbstractApiMessageSerde``, KIP-631).  A control record's key is two int16,
version and type; its value stands behind an int16 of version for transaction
markers and has the version as its first field for all others (``ControlRecordUtils``).
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Any, NamedTuple

from kdissect import schema
from kdissect.protocol.contents.blobs import Opened, may_hold_secrets, opened, read_exactly, read_versioned, redacted
from kdissect.protocol.contents.groups import open_group_blob
from kdissect.protocol.contents.nested import group_blobs
from kdissect.wire.primitives import Misfit, read_uvarint

CLUSTER_METADATA = "__cluster_metadata"
KEYED_LOGS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
FRAMED_LOGS = frozenset({CLUSTER_METADATA, "__remote_log_metadata"})
INTERNAL_LOGS = KEYED_LOGS | FRAMED_LOGS

CLUSTER_METADATA_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
"""The topic id that ``__cluster_metadata`` always has (``Uuid.METADATA_TOPIC_ID``)."""

ABORT, COMMIT = 0, 1
_FRAME_VERSION = 1
_TWO_INT16 = Struct(">hh")
_INT16 = Struct(">h")


class Record(NamedTuple):
    """Key and value of a record, opened or as the bytes that they were."""

    key: Any
    value: Any


def open_record(log: str | None, control: bool, key: bytes | None, value: bytes | None, *, show_secrets: bool = False) -> Record:
    """A record of the topic ``log`` (None: unknown); ``control``: of a control batch, whatever the topic."""
    if control:
        return _control(key, value)
    if log in KEYED_LOGS:
        return _keyed(log, key, value, show_secrets)
    if log in FRAMED_LOGS:
        return Record(key, value if value is None else _framed(log, value, show_secrets))
    return Record(key, value)


def _control(key: bytes | None, value: bytes | None) -> Record:
    if key is None or len(key) != _TWO_INT16.size:
        return Record(key, value)
    _, number = _TWO_INT16.unpack(key)
    said = read_versioned("ControlRecordTypeSchema", key)
    _, format = schema.record("control", COMMIT if number == ABORT else number)
    if said is None or value is None or format is None or len(value) < _INT16.size:
        return Record(said or key, value)
    if number in (ABORT, COMMIT):
        return Record(said, read_versioned(format.name, value) or value)
    # Newer writers raise the number in the version field but keep the first layout, which is what readers take.
    (version,) = _INT16.unpack_from(value)
    for layout in dict.fromkeys((version, 0)):
        fields = read_exactly(format.name, layout, value)
        if fields is not None:
            return Record(said, opened(format.name, version, fields))
    return Record(said, value)


def _keyed(log: str | None, key: bytes | None, value: bytes | None, show_secrets: bool) -> Record:
    if log is None or key is None or len(key) < _INT16.size:
        return Record(key, value)
    (number,) = _INT16.unpack_from(key)
    of_key, of_value = schema.record(log, number)
    if of_key is None:
        return Record(key, value)
    fields = read_exactly(of_key.name, 0, key, _INT16.size)
    if fields is None:
        return Record(key, value)
    said = opened(of_key.name, number, fields)
    if value is None or of_value is None:
        return Record(said, value)
    found = read_versioned(of_value.name, value, show_secrets=show_secrets)
    if found is None:
        return Record(said, value)
    layout = of_value.fields(found["_version"])
    for part, holder, name, protocol in group_blobs(layout, found):
        holder[name] = open_group_blob(part, holder[name], protocol) or holder[name]
    return Record(said, found)


def _framed(log: str | None, value: bytes, show_secrets: bool) -> Opened | bytes | dict[str, int]:
    try:
        frame_version, at = read_uvarint(value, 0)
        number, at = read_uvarint(value, at)
        version, at = read_uvarint(value, at)
    except (IndexError, Misfit):
        return value
    _, format = schema.record(log or "", number)
    if frame_version != _FRAME_VERSION or format is None:
        return value
    fields = read_exactly(format.name, version, value, at, show_secrets=show_secrets)
    if fields is not None:
        return opened(format.name, version, fields)
    return redacted(value) if _secretive(format.name) and not show_secrets else value


@cache
def _secretive(name: str) -> bool:
    return may_hold_secrets(schema.format(name))


def topic_record(value: object) -> tuple[str, str] | None:
    """Topic id and name, where a record of ``__cluster_metadata`` is a TopicRecord; its value may be opened already."""
    if isinstance(value, bytes) and value[1:2] == b"\x02":
        value = _framed(CLUSTER_METADATA, value, False)
    if not isinstance(value, dict) or value.get("_type") != "TopicRecord":
        return None
    return value["topic_id"], value["name"]
