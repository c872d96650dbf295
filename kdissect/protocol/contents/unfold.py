"""Replaces what stands inside a decoded message by what it says, in place.

Two depths.  :func:`unfold` opens what is small and tells about the exchange:
group members' data, wrapped requests with their principals.
:func:`unfold_contents` opens the rest, for whoever looks at bodies: records of
Kafka's own logs, control records, pushed metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from kdissect import schema
from kdissect.protocol.contents import envelope
from kdissect.protocol.contents.groups import UNKNOWN, Protocol, open_group_blob
from kdissect.protocol.contents.nested import group_blobs, has_group_blobs
from kdissect.protocol.contents.records import INTERNAL_LOGS, open_record
from kdissect.protocol.contents.telemetry import open_telemetry
from kdissect.schema.collect import NOTHING, Collector, Entities, collect, make_collector
from kdissect.schema.layout import Field, Layout
from kdissect.schema.message import DecodeOptions, Message

PUSH_TELEMETRY = 72


class Inner(NamedTuple):
    """What was found inside a message."""

    entities: Entities
    """What it speaks of, beside the message's own."""
    wrapped: Message | None = None
    """The request or response in an Envelope."""


NO_INNER = Inner(NOTHING)


def unfolds(api_key: int, version: int) -> bool:
    """Whether messages of this API can hold something for :func:`unfold`."""
    return api_key == envelope.ENVELOPE or _has_group_blobs(api_key, version)


@cache
def _has_group_blobs(api_key: int, version: int) -> bool:
    try:
        found = schema.api(api_key)
        layouts = [found.layout(kind, version) for kind in ("request", "response")]
    except KeyError:
        return False
    return any(has_group_blobs(layout) for layout in layouts)


def unfold(message: Message, options: DecodeOptions, protocol: Protocol = UNKNOWN, asked: Message | None = None) -> Inner:
    """Opens group members' data (``protocol``: what their group is known to speak where the message does not say) and
    wrapped messages (``asked``: the request in the Envelope that this response answers)."""
    body = message.body
    if body is None:
        return NO_INNER
    if message.api_key == envelope.ENVELOPE:
        return _unfold_envelope(message, body, options, asked)
    if not _has_group_blobs(message.api_key, message.version):
        return NO_INNER
    topics: dict[Any, None] = {}
    for part, holder, name, spoken in group_blobs(_layout(message), body, protocol):
        found = open_group_blob(part, holder[name], spoken)
        if found is not None:
            holder[name] = found
            topics.update(dict.fromkeys(_collector(found["_type"], found["_version"])(found).mentions))
    return Inner(NOTHING._replace(mentions=tuple(topics)))


@cache
def _collector(name: str, version: int) -> Collector:
    return make_collector(schema.format(name).fields(version))


def _layout(message: Message) -> Layout:
    return schema.api(message.api_key).layout(message.kind, message.version)


def _unfold_envelope(message: Message, body: dict[str, Any], options: DecodeOptions, asked: Message | None) -> Inner:
    name = "request_data" if message.kind == "request" else "response_data"
    data, principal = body.get(name), body.get("request_principal")
    if isinstance(principal, bytes) and principal:
        body["request_principal"] = envelope.open_principal(principal)
    if not isinstance(data, bytes) or not data:
        return NO_INNER
    of_request = message.kind == "request"
    found = envelope.open_request(data, options) if of_request else envelope.open_response(data, asked, options)
    body[name] = found.value
    inner = found.message
    if inner is None:
        return NO_INNER
    unfold(inner, options)
    return Inner(collect(inner.api_key, inner.version, inner.kind, inner.body), inner)


def unfold_contents(message: Message, topic_name: Callable[[str], str | None], *, show_secrets: bool = False) -> None:
    """Opens records and pushed metrics; ``topic_name`` gives the name that belongs to a topic id."""
    body = message.body
    if body is None:
        return
    if message.api_key == PUSH_TELEMETRY and message.kind == "request":
        data = body.get("metrics")
        if isinstance(data, bytes) and data:
            body["metrics"] = open_telemetry(body["compression_type"], data) or data
        return
    path = _records_path(message.api_key, message.kind, message.version)
    if path is not None:
        for topic, batches in _batches(path, body, topic_name):
            _open_records(topic, batches, show_secrets)


class _Path(NamedTuple):
    """Where a layout has records: an array of topics with arrays of partitions."""

    topics: str
    name: str | None
    id: str | None
    partitions: str
    records: str


@cache
def _records_path(api_key: int, kind: str, version: int) -> _Path | None:
    try:
        layout = schema.api(api_key).layout("request" if kind == "request" else "response", version)
    except KeyError:
        return None
    for topics in layout.fields:
        for partitions in topics.fields:
            records = _named(partitions.fields, lambda field: field.type == "records")
            if records is not None:
                name = _named(topics.fields, lambda field: "topic" in field.meanings)
                uuid = _named(topics.fields, lambda field: "topic_id" in field.meanings)
                return _Path(topics.name, name, uuid, partitions.name, records)
    return None


def _named(fields: tuple[Field, ...], wanted: Callable[[Field], bool]) -> str | None:
    return next((field.name for field in fields if wanted(field)), None)


def _batches(
    path: _Path, body: dict[str, Any], topic_name: Callable[[str], str | None]
) -> Iterator[tuple[str | None, list[dict[str, Any]]]]:
    for topic in body.get(path.topics) or ():
        name = topic.get(path.name) if path.name is not None else topic_name(topic.get(path.id, ""))
        for partition in topic.get(path.partitions) or ():
            batches = partition.get(path.records)
            if batches and isinstance(batches, list):
                yield name, batches


def _open_records(topic: str | None, batches: list[dict[str, Any]], show_secrets: bool) -> None:
    internal = topic in INTERNAL_LOGS
    for batch in batches:
        control = batch.get("is_control", False)
        if not internal and not control:
            continue
        for record in batch.get("records") or ():
            key, value = record["key"], record["value"]
            record["key"], record["value"] = open_record(topic, control, key, value, show_secrets=show_secrets)
