"""Decoded messages as trees: every field with its value in human terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from kdissect.plugins.host import Host
from kdissect.report.escape import escape
from kdissect.report.human import Clock, count
from kdissect.report.meanings import say
from kdissect.report.record_nodes import batch_nodes
from kdissect.report.tree import Node
from kdissect.report.values import bytes_text, text_value
from kdissect.schema.catalogue import api as find_api
from kdissect.schema.catalogue import format as find_format
from kdissect.schema.layout import Field
from kdissect.schema.notation import Kind

FEW: Final = 10
"""Elements of an array that are shown unless all are asked for."""
MANY: Final = 50
"""The same for elements that take one line each."""

_STYLES: Final = {
    **dict.fromkeys(("topic", "group", "transactional_id", "member"), "name"),
    **dict.fromkeys(("host", "broker"), "address"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """How a message is to be shown."""

    clock: Clock
    host: Host
    full: bool = False
    spans: Mapping[str, tuple[int, int]] | None = None
    """Byte ranges by path; with it every field has its own line."""
    topic_names: Mapping[str, str] | None = None
    """Topic id -> name, as far as the capture tells."""


def struct_nodes(
    fields: Sequence[Field], values: Mapping[str, Any], path: str, topic: str | None, how: Reading
) -> Iterator[Node]:
    """A node for each field of a struct; ``topic`` is the one that an enclosing struct names."""
    for field in fields:
        if field.type in ("string", "uuid") and not field.array and isinstance(values.get(field.name), str):
            topic = _topic_of(field, values[field.name], how) or topic
    known = {field.name: field for field in fields}
    for name, value in values.items():
        inner = f"{path}.{name}" if path else name
        if name in known:
            node = _field_node(known[name], value, inner, topic, how)
            if known[name].tag is not None and inner not in (how.spans or ()) and value == known[name].default:
                node.style = node.label_style = "quiet"
            yield node
        elif name not in ("_type", "_version"):
            yield plain_node(name, value, how)


def _topic_of(field: Field, value: str, how: Reading) -> str | None:
    if "topic" in field.meanings:
        return value
    if "topic_id" in field.meanings and how.topic_names:
        return how.topic_names.get(value)
    return None


def _field_node(field: Field, value: Any, path: str, topic: str | None, how: Reading) -> Node:
    span = how.spans.get(path) if how.spans is not None else None
    if value is None:
        said = say(None, field.meanings, field.comment, how.clock)
        return Node(field.name, "null", "quiet", said.text if said else "", span=span)
    if field.type == "records" and isinstance(value, list):
        return Node(field.name, count(len(value), "batch", "batches"), span=span, children=batch_nodes(value, topic, how))
    if field.array and isinstance(value, list):
        return _array_node(field, value, path, topic, how, span)
    if isinstance(value, dict) and field.type == "struct":
        inline = None if how.spans is not None else _inline(field.fields, value, how)
        if inline is not None:
            return Node(field.name, inline, span=span)
        return Node(field.name, span=span, children=struct_nodes(field.fields, value, path, topic, how))
    if isinstance(value, dict):
        return object_node(field.name, value, topic, how, span)
    text, style = _scalar(field, value, how)
    said = say(value, field.meanings, field.comment, how.clock)
    note, note_style = (said.text, said.style) if said else ("", "quiet")
    if "topic_id" in field.meanings and how.topic_names and value in how.topic_names:
        note, note_style = escape(how.topic_names[value]), "name"
    if field.tag is not None and how.spans is not None and span is None:
        note, note_style = "absent, this is its default", "quiet"
    return Node(field.name, text, style, note, note_style, span)


def _scalar(field: Field, value: Any, how: Reading) -> tuple[str, str]:
    style = next((_STYLES[meaning] for meaning in field.meanings if meaning in _STYLES), "")
    if isinstance(value, str):
        return text_value(value, how.full, quoted=field.type != "uuid" and not style), style or "text"
    if isinstance(value, (bytes, memoryview)):
        return bytes_text(value, how.full), "text"
    return _number(value), style


def _number(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _array_node(
    field: Field, values: list[Any], path: str, topic: str | None, how: Reading, span: tuple[int, int] | None
) -> Node:
    if not values:
        return Node(field.name, "[]", "quiet", span=span)
    if field.type != "struct":
        shown = values if how.full else values[:FEW]
        parts = []
        for value in shown:
            text, _ = _scalar(field, value, how)
            said = say(value, field.meanings, field.comment, how.clock)
            parts.append(f"{text} ({said.text})" if said else text)
        rest = len(values) - len(shown)
        return Node(field.name, ", ".join(parts) + (f", … {count(len(values), 'value')}" if rest else ""), span=span)
    return Node(field.name, f"[{len(values):,}]", "quiet", span=span, children=_elements(field, values, path, topic, how))


def _elements(field: Field, values: list[Any], path: str, topic: str | None, how: Reading) -> Iterator[Node]:
    lines = 0
    for at, value in enumerate(values):
        if lines >= MANY and not how.full:
            yield _more(len(values) - at)
            return
        inner = f"{path}[{at}]"
        span = how.spans.get(inner) if how.spans is not None else None
        inline = _inline(field.fields, value, how) if how.spans is None and value is not None else None
        if value is None or inline is not None:
            lines += 1
            yield Node(f"[{at}]", inline or "null", "" if inline else "quiet", label_style="quiet", span=span)
            continue
        lines += MANY // FEW
        children = struct_nodes(field.fields, value, inner, topic, how)
        if how.spans is None:
            # The first field mostly says which element this is; it needs no line of its own.
            first = next(children, None)
            if first is not None and not first.children:
                yield replace(first, label=f"[{at}] {first.label}", children=children)
                continue
            children = chain(() if first is None else (first,), children)
        yield Node(f"[{at}]", label_style="quiet", span=span, children=children)


def _more(count_left: int) -> Node:
    return Node(f"… {count_left:,} more", note="--full shows all", label_style="quiet")


MOST_INLINE: Final = 100


def _inline(fields: Sequence[Field], value: Mapping[str, Any], how: Reading) -> str | None:
    """A small struct without inner structure as ``name value, name value``; ``None`` where it needs lines of its own."""
    parts = []
    known = {field.name: field for field in fields}
    if any(name not in known for name in value):
        return None
    for name, inner in value.items():
        field = known[name]
        if isinstance(inner, (dict, bytes)) or (
            isinstance(inner, list) and (inner and (field.type == "struct" or len(inner) > 4))
        ):
            return None
        if field.type == "records":
            return None
        if inner is None:
            text = "null"
        elif isinstance(inner, list):
            text = f"[{', '.join(_scalar(field, item, how)[0] for item in inner)}]"
        else:
            text = _scalar(field, inner, how)[0]
            said = say(inner, field.meanings, field.comment, how.clock)
            if said is not None:
                text = f"{text} ({said.text})"
                if said.style == "error":
                    return None
        parts.append(f"{name} {text}")
        if sum(map(len, parts)) + 2 * len(parts) > MOST_INLINE:
            return None
    return ", ".join(parts)


def object_node(name: str, value: dict[str, Any], topic: str | None, how: Reading, span: tuple[int, int] | None) -> Node:
    """A secret, or a blob whose format Kafka defines, as a tree of its own."""
    if "redacted" in value:
        # Children, though none comes: only a leaf is followed by its bytes.
        return Node(name, f"{value['redacted']} bytes", "quiet", "secret, --show-secrets shows it", "warning", span, iter(()))
    kind, version = value.get("_type"), value.get("_version")
    fields: tuple[Field, ...] = ()
    if isinstance(kind, str) and isinstance(version, int):
        with suppress(KeyError):
            format = find_format(kind)
            # The int16 before a key is the number of the record: keys have one version only.
            fields = format.fields(version if version in format.versions else format.versions[0]).fields
        title = f"{escape(kind)} v{version}"
        if isinstance(value.get("body"), dict):
            # A whole message, out of an Envelope: its fields stand in its header and its body.
            children = _wrapped_nodes(kind, version, value, topic, _unmapped(how))
            return Node(name, title, "api", span=span, children=children)
        return Node(name, title, "api", span=span, children=struct_nodes(fields, value, name, topic, _unmapped(how)))
    return Node(name, span=span, children=[plain_node(key, inner, how) for key, inner in value.items()])


def _wrapped_nodes(kind: str, version: int, value: dict[str, Any], topic: str | None, how: Reading) -> Iterator[Node]:
    fields: tuple[Field, ...] = ()
    side: Kind = "response" if kind.endswith("Response") else "request"
    with suppress(KeyError):
        fields = find_api(kind[: -len(side)]).layout(side, version).fields
    yield plain_node("header", value.get("header"), how)
    yield Node("body", children=struct_nodes(fields, value["body"], "body", topic, how))


def _unmapped(how: Reading) -> Reading:
    """The same, for what is decoded out of a value: its fields have no place of their own in the message."""
    return Reading(how.clock, how.host, how.full, None if how.spans is None else {}, how.topic_names)


def plain_node(name: str, value: object, how: Reading) -> Node:
    """A node for a value that no schema describes: unknown tags, what a value decoder gave."""
    label = escape(name)
    if isinstance(value, Mapping):
        return Node(
            label, "" if value else "{}", "quiet", children=[plain_node(str(key), inner, how) for key, inner in value.items()]
        )
    if isinstance(value, (list, tuple)):
        shown: Iterable[object] = value if how.full else value[:FEW]
        children = [plain_node(f"[{at}]", inner, how) for at, inner in enumerate(shown)]
        if not how.full and len(value) > FEW:
            children.append(_more(len(value) - FEW))
        return Node(label, f"[{len(value):,}]", "quiet", children=children)
    if isinstance(value, str):
        return Node(label, text_value(value, how.full), "text")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Node(label, bytes_text(value, how.full), "text")
    return Node(label, "null" if value is None else _number(value), "quiet" if value is None else "")
