"""Where record batches stand in messages: topic, partition and what else the message says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kdissect.schema.catalogue import api as find_api
from kdissect.schema.layout import Field

if TYPE_CHECKING:
    from kdissect.schema.message import Message

TopicNames = Callable[[str], str | None]
"""Topic id -> name, None where the capture does not tell."""


@dataclass(frozen=True, slots=True)
class Partition:
    """What a message says of one partition."""

    topic: str | None
    """Its name; its id in Kafka's base64 form where the capture does not tell the name."""
    partition: int | None
    error_code: int
    values: Mapping[str, Any]
    """The partition's struct."""
    batches: list[dict[str, Any]] | None
    """Its record batches; None where the message has no field for them or they are null."""


def partitions(message: Message | None, names: TopicNames) -> Iterator[Partition]:
    """The partitions that a message speaks of, in its order; whatever the API, the schema says where they stand."""
    if message is None or message.body is None:
        return
    try:
        fields = find_api(message.api_key).layout(message.kind, message.version).fields
    except KeyError:
        return
    yield from _walk(fields, message.body, None, names)


def _walk(fields: Sequence[Field], values: Mapping[str, Any], topic: str | None, names: TopicNames) -> Iterator[Partition]:
    number, error, batches, inner = None, 0, None, []
    for field in fields:
        value = values.get(field.name)
        if value is None:
            continue
        if field.type == "struct":
            inner.append((field.fields, value if isinstance(value, list) else [value]))
        elif field.array:
            continue
        elif "topic" in field.meanings and isinstance(value, str):
            topic = value
        elif "topic_id" in field.meanings and isinstance(value, str):
            topic = names(value) or value
        elif "partition" in field.meanings:
            number = value
        elif "error" in field.meanings and field.name == "error_code":
            error = value
        elif field.type == "records" and isinstance(value, list):
            batches = value
    if number is not None:
        yield Partition(topic, number, error, values, batches)
        return
    for inner_fields, elements in inner:
        for each in elements:
            if isinstance(each, dict):
                yield from _walk(inner_fields, each, topic, names)
