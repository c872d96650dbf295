"""Which messages show the names that belong to topic ids.

Most show a name and an id side by side (Metadata, CreateTopics, ConsumerGroupDescribe,
...); the KRaft quorum's fetches carry TopicRecords.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kdissect import schema
from kdissect.protocol.contents.envelope import ENVELOPE
from kdissect.protocol.contents.records import CLUSTER_METADATA, CLUSTER_METADATA_ID, topic_record
from kdissect.schema.layout import Field
from kdissect.schema.message import Message
from kdissect.schema.notation import Kind

FETCH, FETCH_SNAPSHOT = 1, 59
_METADATA_MARKS = (CLUSTER_METADATA.encode(), bytes(15) + b"\x01")
_HEAD = 96
"""Bytes of a response within which its first topic stands; the quorum's fetches have no other."""


@cache
def shows_topic_ids(api_key: int, version: int, kind: Kind) -> bool:
    """Whether such a message can show topic names beside their ids (an Envelope: in what it wraps)."""
    if api_key == ENVELOPE:
        return True
    try:
        return _side_by_side(schema.api(api_key).layout(kind, version).fields)
    except KeyError:
        return False


def _side_by_side(fields: tuple[Field, ...]) -> bool:
    own = {field.meanings[0] for field in fields if field.meanings and not field.array}
    return own >= {"topic", "topic_id"} or any(_side_by_side(field.fields) for field in fields)


def may_carry_metadata(api_key: int, response: memoryview) -> bool:
    """Whether a response, by its first bytes, brings records of ``__cluster_metadata``."""
    if api_key not in (FETCH, FETCH_SNAPSHOT):
        return False
    head = bytes(response[:_HEAD])
    return any(mark in head for mark in _METADATA_MARKS)


def topic_records(response: Message) -> Iterator[tuple[str, str]]:
    """Topic ids and names from the TopicRecords in a Fetch or FetchSnapshot response whose records were read."""
    body = response.body or {}
    for topic in body.get("responses") or body.get("topics") or ():
        if CLUSTER_METADATA not in (topic.get("topic"), topic.get("name")) and topic.get("topic_id") != CLUSTER_METADATA_ID:
            continue
        for partition in topic.get("partitions") or ():
            for batch in partition.get("records") or partition.get("unaligned_records") or ():
                for record in batch.get("records") or ():
                    found = topic_record(record["value"])
                    if found is not None:
                        yield found
