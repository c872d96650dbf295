"""What a field's value says to a person: names for codes, units for numbers.

Which field means what is written in the schema (``:error``, ``:duration_ms``),
and so are special values (``# -1: no limit``); here stand only those enumerations
that many fields share, named after Kafka's enums.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from kdissect.report.human import Clock, duration_ms, size
from kdissect.schema.catalogue import api_name
from kdissect.schema.error_codes import error_name


def _names(text: str) -> dict[int, str]:
    return dict(enumerate(text.split(",")))


NAMES: Final[dict[str, dict[int, str]]] = {
    "acl_operation": _names(  # AclOperation
        "unknown,any,all,read,write,create,delete,alter,describe,cluster action,describe configs,alter configs,"
        "idempotent write,create tokens,describe tokens,two-phase commit"
    ),
    "acl_resource_type": _names("unknown,any,topic,group,cluster,transactional id,delegation token,user"),  # ResourceType
    "config_resource_type": dict(  # ConfigResource.Type
        zip((0, 2, 4, 8, 16, 32), ("unknown", "topic", "broker", "broker logger", "client metrics", "group"), strict=True)
    ),
    "config_source": _names(  # DescribeConfigsResponse.ConfigSource
        "unknown,topic,dynamic broker,dynamic default broker,static broker,default,dynamic broker logger,client metrics,group"
    ),
    "pattern_type": _names("unknown,any,match,literal,prefixed"),  # PatternType
    "scram_mechanism": _names("unknown,SCRAM-SHA-256,SCRAM-SHA-512"),  # ScramMechanism
}
"""Meaning -> code -> name."""


class Said(NamedTuple):
    """A value in human terms, and the style to say it in."""

    text: str
    style: str = "quiet"


def say(value: object, meanings: tuple[str, ...], comment: str, clock: Clock) -> Said | None:
    """What ``value`` of a field with these meanings and this schema comment says beyond itself, if anything."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        return None
    special = _special_values(comment).get(value)
    if special is not None:
        return Said(special)
    if value is None:
        return None
    for meaning in meanings:
        if meaning == "error":
            return Said(error_name(value), "error" if value else "good")
        if meaning == "api_key":
            return Said(api_name(value), "api")
        if value in NAMES.get(meaning, ()):
            return Said(NAMES[meaning][value])
    for meaning in meanings:
        if meaning == "throttle_ms" and value > 0:
            return Said(duration_ms(value), "slow")
        if meaning == "duration_ms" and value >= 1000:
            return Said(duration_ms(value))
        if meaning == "timestamp_ms" and value >= 0:
            return Said(clock.full(value * 1_000_000, 3), "time")
        if meaning == "size" and value >= 1000:
            return Said(size(value))
        if meaning == "acl_operations":
            return Said(_operations(value))
    return None


def _operations(bits: int) -> str:
    names = NAMES["acl_operation"]
    return ", ".join(names.get(bit, str(bit)) for bit in range(32) if bits >> bit & 1) or "none"


@cache
def _special_values(comment: str) -> dict[int | None, str]:
    """``-1: none, 0: all; null: not known`` in a schema comment."""
    found = re.findall(r"(?<![\w.])(-?\d+|null): ((?:(?!, (?:-?\d+|null): )[^;])+)", comment)
    return {None if value == "null" else int(value): text.strip() for value, text in found}
