"""What the schema says, for people and programs: the table of APIs, the table of formats, and one layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kdissect import schema
from kdissect.report.escape import escape
from kdissect.report.view import Cell, Column, View
from kdissect.schema.catalogue import Described
from kdissect.schema.layout import Field, Layout
from kdissect.triage.api_versions import Accepted, releases


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _flexible(described: Described) -> str:
    first = described.head.flexible_from
    return "" if first is None or first not in described.versions else f"{first}+"


def _about(described: Described) -> str:
    return described.definition.comment.split("\n", 1)[0]


def _newest_release() -> str:
    return list(releases())[-1]


def _accepted_now(api: schema.Api) -> Accepted | None:
    """The versions that the newest Kafka accepts; None when it accepts none."""
    return releases()[_newest_release()].apis.get(api.key)


def _now(api: schema.Api) -> Cell:
    accepted = _accepted_now(api)
    return Cell("none", "slow") if accepted is None else Cell(_span(accepted.oldest, accepted.newest))


def accepting(key: int, version: int | None = None) -> list[list[str]]:
    """Runs of Kafka releases, first and last of each, that accept a version of an API (any, if none is said)."""
    runs: list[list[str]] = []
    before = False
    for name, release in releases().items():
        accepted = release.apis.get(key)
        accepts = accepted is not None and (version is None or accepted.oldest <= version <= accepted.newest)
        if accepts and before:
            runs[-1][1] = name
        elif accepts:
            runs.append([name, name])
        before = accepts
    return runs


def release_text(runs: list[list[str]]) -> str:
    """``0.8.2 to 3.9, 4.0 to 4.4``."""
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in runs)


def _api_json(api: schema.Api, _: bool) -> dict[str, object]:
    accepted = _accepted_now(api)
    return {
        "api": api.name,
        "api_key": api.key,
        "min_version": api.versions.start,
        "max_version": api.versions.stop - 1,
        "flexible_from": api.head.flexible_from,
        "releases": accepting(api.key),
        "accepted_by": None if accepted is None else _newest_release(),
        "accepted_min": None if accepted is None else accepted.oldest,
        "accepted_max": None if accepted is None else accepted.newest,
        "description": _about(api) or None,
    }


APIS: View[schema.Api] = View(
    name="apis",
    columns=(
        Column("key", lambda api, _: Cell(str(api.key)), rank=0, right=True),
        Column("api", lambda api, _: Cell(escape(api.name), "name"), rank=0),
        Column("versions", lambda api, _: Cell(_span(api.versions.start, api.versions.stop - 1)), rank=0),
        Column("flexible", lambda api, _: Cell(_flexible(api), "quiet"), rank=60),
        Column(f"in {_newest_release()}", lambda api, _: _now(api), rank=70),
        Column("Kafka", lambda api, _: Cell(release_text(accepting(api.key)), "quiet"), rank=55),
        Column("what for", lambda api, _: Cell(escape(_about(api)), "quiet"), rank=40, minimum=16, maximum=120, comfort=40),
    ),
    keys=(
        *("api", "api_key", "min_version", "max_version", "flexible_from", "releases"),
        *("accepted_by", "accepted_min", "accepted_max", "description"),
    ),
    to_json=_api_json,
)
"""One row an API, with the versions that the newest Kafka accepts and the releases that accept any."""


def _place(item: schema.Format) -> str:
    log, number = item.head.log, item.head.record
    return "" if log is None else f"control record {number}" if log == "control" else f"{log} {number}"


def _format_json(item: schema.Format, _: bool) -> dict[str, object]:
    return {
        "name": item.name,
        "log": item.head.log,
        "record": item.head.record,
        "min_version": item.versions.start,
        "max_version": item.versions.stop - 1,
        "flexible_from": item.head.flexible_from,
        "description": _about(item) or None,
    }


FORMATS: View[schema.Format] = View(
    name="formats",
    columns=(
        Column("format", lambda item, _: Cell(escape(item.name), "name"), rank=0),
        Column("versions", lambda item, _: Cell(_span(item.versions.start, item.versions.stop - 1)), rank=0),
        Column("flexible", lambda item, _: Cell(_flexible(item), "quiet"), rank=60),
        Column("record of", lambda item, _: Cell(escape(_place(item))), rank=70),
        Column("what for", lambda item, _: Cell(escape(_about(item)), "quiet"), rank=40, minimum=16, maximum=120, comfort=40),
    ),
    keys=("name", "log", "record", "min_version", "max_version", "flexible_from", "description"),
    to_json=_format_json,
)
"""One row a format of records, headers or group members' data."""


class Line(NamedTuple):
    """A field of a layout and how deep it stands."""

    field: Field
    depth: int


def lines(fields: Sequence[Field], depth: int = 0) -> Iterator[Line]:
    """The fields in wire order of the schema, structs before what they hold."""
    for field in fields:
        yield Line(field, depth)
        yield from lines(field.fields, depth + 1)


def _type(field: Field) -> str:
    fixed = field.type if not field.array else f"[]{field.type}"
    return fixed + ("?" if field.nullable else "")


def _default(field: Field) -> str:
    """The default where it says something: that of a tagged field, and what is not zero, empty or a struct of defaults."""
    value = field.default
    if field.type == "struct" and not field.array and value is not None:
        return ""
    telling = field.tag is not None or value is None or (value and value != "A" * 22)
    return json.dumps(value if not isinstance(value, bytes) else value.decode()) if telling else ""


def _meaning(field: Field) -> str:
    said = [meaning.replace("_", " ") for meaning in field.meanings if meaning.replace("_", " ") != field.name.replace("_", " ")]
    return "; ".join([*said, *([field.comment] if field.comment else [])])


LAYOUT: View[Line] = View(
    name="layout",
    columns=(
        Column("field", lambda line, _: Cell("  " * line.depth + line.field.name, "name"), rank=0, maximum=80),
        Column("type", lambda line, _: Cell(_type(line.field)), rank=0),
        Column("tag", lambda line, _: Cell("" if line.field.tag is None else str(line.field.tag)), rank=80, right=True),
        Column("default", lambda line, _: Cell(_default(line.field), "quiet"), rank=60),
        Column("meaning", lambda line, _: Cell(escape(_meaning(line.field)), "quiet"), rank=50, minimum=12, maximum=120),
    ),
    keys=(),
    to_json=lambda line, _: field_json(line.field),
)
"""One row a field, indented as it is nested."""


def field_json(field: Field) -> dict[str, Any]:
    """A field and all that is in it."""
    told: dict[str, Any] = {
        "name": field.name,
        "type": field.type,
        "array": field.array,
        "nullable": field.nullable,
        "tag": field.tag,
        "default": field.default,
        "meanings": list(field.meanings),
        "comment": field.comment or None,
    }
    if field.type == "struct":
        told["fields"] = [field_json(inner) for inner in field.fields]
    return told


def layout_json(layouts: Sequence[Layout]) -> dict[str, Any]:
    """A request with its response, or a format."""
    first = layouts[0]
    told: dict[str, Any] = {"api": first.name, "api_key": first.api_key} if first.api_key is not None else {"format": first.name}
    told |= {"version": first.version, "flexible": first.flexible}
    if first.api_key is not None:
        told["releases"] = accepting(first.api_key, first.version)
    for layout in layouts:
        fields = [field_json(field) for field in layout.fields]
        if layout.kind == "fields":
            told["fields"] = fields
        else:
            told[layout.kind] = {"header_version": layout.header_version, "fields": fields}
    return told
