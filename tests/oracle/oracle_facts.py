"""What Kafka's message definitions say, as a table of facts: one line of JSON for each layout.

A line has the API or format, request or response, the version, the releases that say so, whether lengths are compact,
and the fields in order: ``name type``, ``?`` after what may be null, ``tag N``, ``fixed`` for what stays inflexible,
``= default`` where it is not zero or empty, ``:entity``; a struct's fields follow it in a list.

``python -m tests.oracle.regenerate facts`` makes the table from the definitions inside Kafka's jars.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

from kdissect.schema.layout import Field
from tests.oracle.oracle_vectors import DRAFTS, RENAMED

TABLE = Path(__file__).parent / "facts.jsonl"

Described = list[Any]
"""Fields as the table has them: texts, those of structs followed by a list."""


class Facts(NamedTuple):
    """One line of the table."""

    name: str
    kind: str
    """``request``, ``response``, or ``fields`` of a format."""
    version: int
    flexible: bool
    releases: tuple[str, ...]
    fields: Described


def read_table() -> list[Facts]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [Facts(*said[:4], tuple(said[4]), said[5]) for said in map(json.loads, lines)]


def table(jars: Iterable[tuple[str, Path]]) -> str:
    """The table of these releases, each with the directory of its jars."""
    found: dict[str, list[str]] = {}
    for release, folder in jars:
        for definition in _definitions(folder):
            for facts in _layouts(definition, release):
                said = json.dumps([facts.name, facts.kind, facts.version, facts.flexible, "RELEASES", facts.fields])
                found.setdefault(said, []).append(release)
    lines = [said.replace('"RELEASES"', json.dumps(releases)) for said, releases in found.items()]
    return "\n".join(sorted(lines, key=lambda line: json.loads(line)[:3])) + "\n"


_REMARK = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def _definitions(folder: Path) -> Iterator[dict[str, Any]]:
    for jar in sorted(folder.glob("kafka-*.jar")):
        with ZipFile(jar) as entries:
            for entry in sorted(entries.namelist()):
                if entry.endswith(".json") and "message" in entry:
                    text = _REMARK.sub(lambda match: match[1] or "", entries.read(entry).decode("utf-8"))
                    yield json.loads(text)


def _range(text: str | None) -> range:
    if text in (None, "none"):
        return range(0)
    first, dash, last = text.rstrip("+").partition("-")
    return range(int(first), 1 << 15 if text.endswith("+") else int(last if dash else first) + 1)


def _layouts(definition: dict[str, Any], release: str) -> Iterator[Facts]:
    kind = definition["type"] if definition["type"] in ("request", "response") else "fields"
    name = re.sub(r"(Request|Response)$", "", definition["name"]) if kind != "fields" else definition["name"]
    name = RENAMED.get(name, name)
    if (release, name) in DRAFTS:
        return
    shared = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", ())}
    for version in _range(definition["validVersions"]):
        flexible = version in _range(definition["flexibleVersions"])
        yield Facts(name, kind, version, flexible, (release,), _fields(definition["fields"], shared, version, flexible))


def _fields(fields: list[dict[str, Any]], shared: dict[str, Any], version: int, flexible: bool) -> Described:
    found: Described = []
    for field in fields:
        if version not in _range(field.get("versions", field.get("taggedVersions"))):
            continue
        array, kind = field["type"].startswith("[]"), field["type"].removeprefix("[]")
        inner = field.get("fields") or shared.get(kind)
        nullable = version in _range(field.get("nullableVersions"))
        tag = field["tag"] if version in _range(field.get("taggedVersions")) else None
        default = _default(field.get("default"), "" if inner or array else kind, nullable)
        fixed = flexible and "flexibleVersions" in field and version not in _range(field["flexibleVersions"])
        text = _text(_snake(field["name"]), "struct" if inner else kind, array, nullable, tag, fixed, default)
        if "entityType" in field:
            text += f" :{field['entityType']}"
        found.append(text)
        if inner:
            found.append(_fields(inner, shared, version, flexible))
    return found


def _snake(name: str) -> str:
    """``_`` before every inner capital, lower-cased."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _default(said: Any, kind: str, nullable: bool) -> Any:
    """The default as a value; None where it is zero or empty, ``null`` for null."""
    if said == "null":
        return "null" if nullable else None
    if said in (None, "") or not kind:
        return None
    if kind == "bool":
        return True if said in (True, "true") else None
    if "int" in kind:
        return int(str(said), 0) or None
    return said


def _text(name: str, kind: str, array: bool, nullable: bool, tag: int | None, fixed: bool, default: Any) -> str:
    text = f"{name} {'[]' * array}{kind}{'?' * nullable}"
    if tag is not None:
        text += f" tag {tag}"
    if fixed:
        text += " fixed"
    return text if default is None else f"{text} = {default}"


def described(fields: tuple[Field, ...], flexible: bool) -> Described:
    """Our fields in the form of the table, without entities."""
    found: Described = []
    for field in fields:
        default = field.default
        if default is None:
            default = "null"
        elif field.type in ("struct", "uuid") or not default:
            default = None
        fixed = flexible and not field.compact
        found.append(_text(field.name, field.type, field.array, field.nullable, field.tag, fixed, default))
        if field.type == "struct":
            found.append(described(field.fields, flexible))
    return found
