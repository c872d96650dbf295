"""Where in a decoded struct the bytes are that have a format of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.protocol.contents.groups import UNKNOWN, Part, Protocol
from kdissect.schema.layout import Field, Layout

GROUP_PARTS: dict[str, Part] = {"blob(group_metadata)": "group_metadata", "blob(group_assignment)": "group_assignment"}
_NAMES_OF_PROTOCOL = ("protocol_name", "protocol_data", "protocol", "name")
"""What the fields are called that name the group's protocol, beside the blobs or above them."""

Found = tuple[Part, dict[str, Any], str, Protocol]
"""Which part, the struct that holds it, its name there, and what its group speaks."""


class _Step(NamedTuple):
    """A field that is a group member's blob, or leads to one."""

    name: str
    part: Part | None
    inner: tuple[_Step, ...]


_plans: dict[tuple[str, str, int], tuple[_Step, ...]] = {}


def _plan(layout: Layout) -> tuple[_Step, ...]:
    key = layout.name, layout.kind, layout.version
    if key not in _plans:
        _plans[key] = _steps(layout.fields)
    return _plans[key]


def _steps(fields: tuple[Field, ...]) -> tuple[_Step, ...]:
    steps: list[_Step] = []
    for field in fields:
        part = next((GROUP_PARTS[meaning] for meaning in field.meanings if meaning in GROUP_PARTS), None)
        inner = _steps(field.fields)
        if part is not None or inner:
            steps.append(_Step(field.name, part, inner))
    return tuple(steps)


def has_group_blobs(layout: Layout) -> bool:
    """Whether the layout has such fields."""
    return bool(_plan(layout))


def group_blobs(layout: Layout, body: dict[str, Any], protocol: Protocol = UNKNOWN) -> Iterator[Found]:
    """The members' metadata and assignments in a body, complete or not; ``protocol``: what is known from elsewhere."""
    return _in_struct(_plan(layout), body, protocol)


def _in_struct(steps: tuple[_Step, ...], body: dict[str, Any], protocol: Protocol) -> Iterator[Found]:
    told = body.get("protocol_type")
    name = next((value for key in _NAMES_OF_PROTOCOL if isinstance(value := body.get(key), str) and value), None)
    here = Protocol(told if isinstance(told, str) and told else protocol.type, name or protocol.name)
    for step in steps:
        value = body.get(step.name)
        if step.part is not None:
            if isinstance(value, bytes):
                yield step.part, body, step.name, here
        elif isinstance(value, dict):
            yield from _in_struct(step.inner, value, here)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, dict):
                    yield from _in_struct(step.inner, each, here)
