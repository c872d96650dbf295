"""The view of the fields that filters can name: what ``kdissect fields`` lists."""

from __future__ import annotations

from fnmatch import fnmatchcase

from kdissect import schema
from kdissect.filter.fields import Field, all_fields
from kdissect.report.escape import escape
from kdissect.report.view import Cell, Column, View
from kdissect.schema.notation import Range

_MEANINGS = {"throttle_ms": "", "duration_ms": "", "timestamp_ms": "", "size": "", "error": "", "api_key": ""}
"""Meanings that the type tells already."""


def matching(pattern: str | None) -> list[Field]:
    """The fields with ``pattern`` in their name, an alias, type, meaning or description; with ``*`` or ``?`` a shell pattern
    for the whole name.  Case does not count."""
    if pattern is None:
        return list(all_fields())
    wanted = pattern.lower()
    if "*" in wanted or "?" in wanted:
        return [field for field in all_fields() if any(fnmatchcase(name, wanted) for name in (field.name, *field.aliases))]
    return [
        field
        for field in all_fields()
        if any(wanted in text.lower() for text in (field.name, *field.aliases, _type(field), _meaning(field)))
    ]


def _type(field: Field) -> str:
    return " or ".join(dict.fromkeys(kind.name for kind in field.kinds)) + ("[]" if field.many else "")


def _meaning(field: Field) -> str:
    said = [meaning for meaning in (_MEANINGS.get(m, m.replace("_", " ")) for m in field.meanings) if meaning]
    return "; ".join([*said, *([field.description] if field.description else [])])


def _versions(ranges: tuple[Range, ...]) -> str:
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _apis(field: Field, most: int) -> str:
    if field.apis is None:
        return ""
    named = [f"{schema.api_name(key)} {_versions(ranges)}" for key, ranges in field.apis[:most]]
    return ", ".join(named) + (f" +{len(field.apis) - most}" if len(field.apis) > most else "")


def _to_json(field: Field, _: bool) -> dict[str, object]:
    return {
        "name": field.name,
        "aliases": list(field.aliases),
        "type": " or ".join(dict.fromkeys(kind.name for kind in field.kinds)),
        "many": field.many,
        "meaning": _meaning(field) or None,
        "operators": sorted(frozenset().union(*(kind.operators for kind in field.kinds))),
        "apis": None
        if field.apis is None
        else [{"api": schema.api_name(key), "versions": _versions(ranges)} for key, ranges in field.apis],
    }


def _name(field: Field) -> str:
    return ", ".join((field.name, *field.aliases))


FIELDS: View[Field] = View(
    name="fields",
    columns=(
        Column("field", lambda f, _: Cell(_name(f), "name"), rank=0, minimum=24, maximum=80, comfort=40),
        Column("type", lambda f, _: Cell(_type(f), "quiet"), rank=60, maximum=20),
        Column("meaning", lambda f, _: Cell(escape(_meaning(f))), rank=50, minimum=16, maximum=60, comfort=30),
        Column("in", lambda f, _: Cell(_apis(f, 3), "quiet"), rank=40, minimum=10, plain=lambda f, _: _apis(f, 1000)),
    ),
    keys=("name", "aliases", "type", "many", "meaning", "operators"),
    to_json=_to_json,
)
"""One row a field."""
