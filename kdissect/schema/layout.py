"""What a message looks like at one version: the schema text resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kdissect.schema.notation import NEWEST, PRIMITIVES, Definition, FieldText, Kind, Range, SchemaError, Section

FIXED_WIDTH = {
    "bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "float64": 8, "uuid": 16,
}  # fmt: skip
"""Bytes on the wire of the types that always have the same."""

_ZERO: dict[str, Any] = {
    "bool": False, "float64": 0.0, "string": "", "bytes": b"", "records": [], "uuid": "A" * 22,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct at one version."""

    name: str
    type: str
    """A primitive of :data:`kdissect.schema.notation.PRIMITIVES`, or ``struct``; of an array, that of its elements."""
    array: bool
    nullable: bool
    compact: bool
    """Lengths are unsigned varints of length + 1, and structs end with tagged fields (KIP-482)."""
    tag: int | None
    default: Any
    """The value when a tagged field is absent, as it would be decoded (of bytes: ``bytes``)."""
    meanings: tuple[str, ...]
    comment: str
    fields: tuple[Field, ...]
    """Of a struct, its fields."""

    @property
    def secret(self) -> bool:
        """Whether the value is told as ``{"redacted": LENGTH}``."""
        return "secret" in self.meanings

    @property
    def fixed_width(self) -> int | None:
        """Bytes on the wire where they are always the same, else None."""
        if self.array or self.nullable or self.tag is not None:
            return None
        return struct_width(self.fields, self.compact) if self.type == "struct" else FIXED_WIDTH.get(self.type)

    @property
    def element_minimum(self) -> int:
        """The fewest bytes that an element of this array takes, never below 1: what a count is checked against."""
        if self.type == "struct":
            return max(1, struct_minimum(self.fields, self.compact))
        return FIXED_WIDTH.get(self.type, _prefix(self.type, self.compact))

    @property
    def minimum(self) -> int:
        """The fewest bytes that the field takes in the struct's body."""
        if self.tag is not None:
            return 0
        if self.array:
            return 1 if self.compact else 4
        if self.type == "struct":
            return 1 if self.nullable else struct_minimum(self.fields, self.compact)
        return FIXED_WIDTH.get(self.type, _prefix(self.type, self.compact))


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of one API's request or response, or of a format, at one version."""

    name: str
    api_key: int | None
    kind: Kind
    version: int
    flexible: bool
    header_version: int
    """Version of the request or response header before it; 0 for formats."""
    fields: tuple[Field, ...]

    def walk(self) -> Iterator[tuple[tuple[str, ...], Field]]:
        """Every field with the names that lead to it, structs before what they hold, in schema order."""

        def go(fields: tuple[Field, ...], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Field]]:
            for field in fields:
                path = (*above, field.name)
                yield path, field
                yield from go(field.fields, path)

        return go(self.fields, ())


def _prefix(kind: str, compact: bool) -> int:
    return 1 if compact else 2 if kind == "string" else 4


def struct_minimum(fields: tuple[Field, ...], compact: bool) -> int:
    """The fewest bytes that a struct of these fields takes."""
    return sum(field.minimum for field in fields) + compact


def struct_width(fields: tuple[Field, ...], compact: bool) -> int | None:
    """Bytes of a struct of these fields where they are always the same, else None."""
    if compact:
        return None
    widths = [field.fixed_width for field in fields]
    return None if None in widths else sum(width for width in widths if width is not None)


def resolve(definition: Definition, kind: Kind, version: int) -> Layout:
    """The layout at ``version``, which must be one of the definition's (KeyError)."""
    head = definition.head
    first, last = head.versions
    if not first <= version <= last:
        raise KeyError(f"{head.name} has versions {first} to {last}, not {version}")
    section = definition.sections[kind]
    flexible = head.flexible_from is not None and version >= head.flexible_from
    fields = _resolve(section.fields, section, version, flexible, definition.source)
    return Layout(head.name, head.key, kind, version, flexible, _header_version(section, kind, version, flexible), fields)


def _header_version(section: Section, kind: Kind, version: int, flexible: bool) -> int:
    """RequestHeader 1 and ResponseHeader 0, one more where flexible, or what the section says (``ApiMessageType``)."""
    if section.header is not None and _within(section.header[1], version):
        return section.header[0]
    return {"request": 1, "response": 0}[kind] + flexible if kind != "fields" else 0


def _within(versions: Range | None, version: int) -> bool:
    return versions is None or versions[0] <= version <= versions[1]


def _resolve(texts: tuple[FieldText, ...], section: Section, version: int, flexible: bool, source: str) -> tuple[Field, ...]:
    found: list[Field] = []
    for text in texts:
        if not _within(text.versions or (0, NEWEST), version):
            continue
        fields: tuple[Field, ...] = ()
        kind = text.type
        if kind not in PRIMITIVES:
            fields = _resolve(
                text.fields if kind == "struct" else section.structs[kind], section, version, flexible, source
            )
            kind = "struct"
        nullable = text.nullable is not None and _within(text.nullable, version)
        try:
            default = _default(text, kind, fields, nullable)
        except ValueError as error:
            raise SchemaError(f"{source}:{text.line}: {error}") from None
        compact = flexible and not text.fixed
        if text.tag is not None and not flexible:
            raise SchemaError(f"{source}:{text.line}: a tagged field at version {version}, which is not flexible")
        if any(other.name == text.name for other in found):
            raise SchemaError(f"{source}:{text.line}: {text.name} is there twice at version {version}")
        found.append(
            Field(text.name, kind, text.array, nullable, compact, text.tag, default, text.meanings, text.comment, fields)
        )
    return tuple(found)


def _default(text: FieldText, kind: str, fields: tuple[Field, ...], nullable: bool) -> Any:
    said = text.default
    if said == "null":
        if not nullable and text.nullable is None:
            raise ValueError(f"null as default of {text.name}, which is never null")
        said = None if not nullable else "null"
    if said == "null":
        return None
    if text.array:
        return []
    if kind == "struct":
        return {field.name: field.default for field in fields}
    if said is None:
        return _ZERO.get(kind, 0)
    if kind == "bool" and said in ("true", "false"):
        return said == "true"
    if kind == "string" and said[:1] == '"':
        return said[1:-1]
    if kind == "float64":
        return float(said)
    if kind in FIXED_WIDTH and kind not in ("bool", "uuid"):
        return int(said, 0)
    raise ValueError(f"{said} is no default for {kind}")
