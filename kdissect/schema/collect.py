"""What a decoded body speaks of: topics, groups, errors, throttling.

The schema says which fields hold what; the code that gathers them is generated
per layout, like the decoders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from kdissect.schema.catalogue import default_catalogue
from kdissect.schema.layout import Field, Layout
from kdissect.schema.notation import Kind

NO_ID = "A" * 22
"""The zero uuid, which stands for no topic id."""


class Topic(NamedTuple):
    """A topic as a message names it."""

    text: str
    is_id: bool
    """Whether ``text`` is a topic id in Kafka's base64 form and not a name."""


class Entities(NamedTuple):
    """What one body speaks of; every tuple is distinct, in order of first appearance in schema order."""

    mentions: tuple[Topic, ...]
    """Topics by name or id as they come."""
    groups: tuple[str, ...]
    error_codes: tuple[int, ...]
    """The codes but 0."""
    throttle_time_ms: int | None
    """None where the version has none."""
    topic_names: Mapping[str, str]
    """Topic id -> name, where the body shows both side by side."""

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that are given by name."""
        return tuple(topic.text for topic in self.mentions if not topic.is_id)

    @property
    def topic_ids(self) -> tuple[str, ...]:
        """The topics that are given by id."""
        return tuple(topic.text for topic in self.mentions if topic.is_id)


NOTHING = Entities((), (), (), None, {})

Collector = Callable[[dict[str, Any]], Entities]


def collect(api_key: int, version: int, kind: Kind, body: dict[str, Any] | None) -> Entities:
    """Gathers from a body as :mod:`kdissect.schema.message` gives it, complete or not; nothing for unknown layouts."""
    if body is None:
        return NOTHING
    try:
        collector = _collector(api_key, version, kind)
    except KeyError:
        return NOTHING
    return collector(body)


@cache
def _collector(api_key: int, version: int, kind: Kind) -> Collector:
    return make_collector(default_catalogue().api(api_key).layout(kind, version))


def make_collector(layout: Layout) -> Collector:
    """Compiles the code for one layout."""
    writer = _Writer(layout)
    writer.struct(layout.fields, "body", 1)
    if not writer.lines:
        return lambda body: NOTHING
    lines = [
        "def gather(body):",
        "    topics, groups, errors, names, throttle = {}, {}, {}, {}, None",
        *writer.lines,
        "    return Entities(tuple(topics), tuple(groups), tuple(errors), throttle, names)",
    ]
    names: dict[str, Any] = {"Entities": Entities, "Topic": Topic}
    exec(compile("\n".join(lines), f"<entities of {layout.name} {layout.kind} v{layout.version}>", "exec"), names)
    gather: Collector = names["gather"]
    return gather


# Numbers of org.apache.kafka.common.config.ConfigResource.Type and of common.resource.ResourceType, PatternType.
_CONFIG_TOPIC, _CONFIG_GROUP = 2, 32
_ACL_TOPIC, _ACL_GROUP, _ACL_LITERAL = 2, 3, 3
_COORDINATOR_OF_GROUP = 0


class _Writer:
    """Values are asked for with ``get``: a body that a fault cut short lacks fields."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.lines: list[str] = []
        self.count = 0

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def variable(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def struct(self, fields: tuple[Field, ...], holder: str, depth: int) -> None:
        for field in fields:
            if field.type == "struct":
                self.inner(field, holder, depth)
            elif field.meanings:
                self.leaf(field, fields, holder, depth)
        self.pairs(fields, holder, depth)

    def inner(self, field: Field, holder: str, depth: int) -> None:
        before = len(self.lines)
        name = self.variable()
        value = f"{holder}.get({field.name!r})"
        self.put(depth, f"for {name} in {value} or ():" if field.array else f"if {name} := {value}:")
        opened = len(self.lines)
        self.struct(field.fields, name, depth + 1)
        if len(self.lines) == opened:
            del self.lines[before:]

    def leaf(self, field: Field, siblings: tuple[Field, ...], holder: str, depth: int) -> None:
        meaning = field.meanings[0]
        value = f"{holder}.get({field.name!r})"
        if meaning == "throttle_ms" and depth == 1:
            self.put(depth, f"throttle = {value}")
        elif meaning == "error":
            name = self.variable()
            self.put(depth, f"if {name} := {value}: errors[{name}] = None")
        elif meaning == "topic":
            self.text(field, value, "topics", depth)
        elif meaning == "topic_id":
            self.ids(field, value, depth)
        elif meaning == "group":
            self.text(field, value, "groups", depth)
        elif meaning == "coordinator_key" and self.layout.kind == "request":
            self.put(depth, f"if not {holder}.get('key_type', {_COORDINATOR_OF_GROUP}):")
            self.text(field, value, "groups", depth + 1)
        elif meaning in ("config_resource", "acl_resource"):
            self.resource(field, siblings, holder, depth)

    def resource(self, field: Field, siblings: tuple[Field, ...], holder: str, depth: int) -> None:
        """A name that is a topic's or a group's depending on the resource type beside it."""
        of_acl = field.meanings[0] == "acl_resource"
        kind = _sibling(siblings, "acl_resource_type" if of_acl else "config_resource_type")
        if kind is None:
            return
        value = f"{holder}.get({field.name!r})"
        inner = depth
        if of_acl:
            # A prefix or * stands for no topic of that name; before patterns (v0) every name is literal.
            pattern = _sibling(siblings, "pattern_type")
            literal = f" and {holder}.get({pattern.name!r}) == {_ACL_LITERAL}" if pattern else ""
            self.put(depth, f"if {value} != '*'{literal}:")
            inner += 1
        topic, group = (_ACL_TOPIC, _ACL_GROUP) if of_acl else (_CONFIG_TOPIC, _CONFIG_GROUP)
        name = self.variable()
        self.put(inner, f"{name} = {holder}.get({kind.name!r})")
        self.put(inner, f"if {name} == {topic}:")
        self.text(field, value, "topics", inner + 1)
        self.put(inner, f"elif {name} == {group}:")
        self.text(field, value, "groups", inner + 1)

    def text(self, field: Field, value: str, into: str, depth: int) -> None:
        """A name, or an array of names; such as are no text at all (bad UTF-8) are left out."""
        name = self.variable()
        key = f"Topic({name}, False)" if into == "topics" else name
        if field.array:
            self.put(depth, f"for {name} in {value} or ():")
            self.put(depth + 1, f"if type({name}) is str and {name}: {into}[{key}] = None")
        else:
            self.put(depth, f"if type({name} := {value}) is str and {name}: {into}[{key}] = None")

    def ids(self, field: Field, value: str, depth: int) -> None:
        name = self.variable()
        if field.array:
            self.put(depth, f"for {name} in {value} or ():")
            self.put(depth + 1, f"if {name} != {NO_ID!r}: topics[Topic({name}, True)] = None")
        else:
            self.put(depth, f"if ({name} := {value}) and {name} != {NO_ID!r}: topics[Topic({name}, True)] = None")

    def pairs(self, fields: tuple[Field, ...], holder: str, depth: int) -> None:
        """A topic's name and id in the same struct."""
        name, uuid = _sibling(fields, "topic"), _sibling(fields, "topic_id")
        if name is None or uuid is None:
            return
        x, y = self.variable(), self.variable()
        self.put(depth, f"{x}, {y} = {holder}.get({uuid.name!r}), {holder}.get({name.name!r})")
        self.put(depth, f"if {x} and {x} != {NO_ID!r} and type({y}) is str and {y}: names[{x}] = {y}")


def _sibling(fields: tuple[Field, ...], meaning: str) -> Field | None:
    """The single value of this meaning in a struct."""
    for field in fields:
        if not field.array and field.meanings[:1] == (meaning,):
            return field
    return None
