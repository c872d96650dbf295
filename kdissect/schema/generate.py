"""Straight-line Python that decodes one layout, generated and compiled when first needed.

The code reads each run of fixed-width fields, the length of what follows
included, with one ``struct`` call.  It does not say what is wrong with bad
bytes: it raises one of :data:`FAILURES`, whereupon
:mod:`kdissect.schema.interpret` reads the message again and tells.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from kdissect.schema.layout import Field, Layout, struct_width
from kdissect.wire.primitives import MISFITS, Misfit, float_value, read_tags, read_uvarint, uuid_text

FAILURES = (*MISFITS, struct.error)
"""What a decoder may raise on bytes that do not fit its layout."""

RecordsReader = Callable[[bytes, int, int], Any]
"""What a ``records`` field becomes: called with the message and the field's first and last offset."""
Decoder = Callable[[bytes, int, RecordsReader], tuple[dict[str, Any], int]]
"""A message and the offset where the layout begins -> the values by name in schema order, and the offset after them."""

CODES = {
    "bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d",
    "uuid": "16s",
}  # fmt: skip
"""The ``struct`` code of every fixed-width type."""

_SHORT_ARRAYS = 32
"""Arrays of fixed-width elements shorter than this have their ``struct`` ready."""


def make_decoder(layout: Layout, show_secrets: bool = False) -> Decoder:
    """Compiles the decoder of ``layout``; secrets are told as ``{"redacted": LENGTH}`` unless ``show_secrets``."""
    source, names = decoder_source(layout, show_secrets)
    exec(compile(source, f"<{layout.name} {layout.kind} v{layout.version}>", "exec"), names)
    decoder: Decoder = names["decode"]
    return decoder


def decoder_source(layout: Layout, show_secrets: bool = False) -> tuple[str, dict[str, Any]]:
    """The source of ``decode`` and the names it uses."""
    writer = _Writer(show_secrets)
    body = writer.struct(layout.fields, layout.flexible, 1)
    lines = ["def decode(b, p, records):", "    end = len(b)", *writer.lines, f"    return {body}, p"]
    return "\n".join(lines), writer.names


def first_present(field: Field) -> int:
    """The least marker before a nullable struct that is there: null is -1 (KIP-893), as a tagged field 0."""
    return 0 if field.tag is None else 1


def literal(value: Any) -> str:
    """Source that makes ``value``, a default, anew."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {literal(item)}" for key, item in value.items()) + "}"
    return repr(value)


class _Writer:
    def __init__(self, show_secrets: bool) -> None:
        self.show_secrets = show_secrets
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "Misfit": Misfit,
            "uuid_text": uuid_text,
            "float_value": float_value,
            "uvarint": read_uvarint,
            "read_tags": read_tags,
            "unpack_from": struct.unpack_from,
        }
        self.count = 0
        self.run: list[tuple[str, str, str | None]] = []
        """Fixed-width values not yet read: struct code, variable, conversion."""

    def variable(self, stem: str = "v") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def flush(self, depth: int) -> None:
        """Reads the run."""
        if not self.run:
            return
        codes = "".join(code for code, _, _ in self.run)
        if codes == "B":
            self.put(depth, f"{self.run[0][1]} = b[p]")
            self.put(depth, "p += 1")
        else:
            targets = ", ".join(name for _, name, _ in self.run)
            self.put(depth, f"{targets}{',' if len(self.run) == 1 else ''} = {self.struct_name(codes)}(b, p)")
            self.put(depth, f"p += {struct.calcsize('>' + codes)}")
        for _, name, conversion in self.run:
            if conversion:
                self.put(depth, f"{name} = {conversion}({name})")
        self.run.clear()

    def struct_name(self, codes: str) -> str:
        name = "S_" + codes.replace("?", "z")
        self.names[name] = struct.Struct(">" + codes).unpack_from
        return name

    def prefix(self, depth: int, code: str) -> str:
        """Reads a length, count or marker together with the run before it; ``B`` is an unsigned varint."""
        name = self.variable("n")
        self.run.append((code, name, None))
        self.flush(depth)
        if code == "B":
            self.put(depth, f"if {name} > 127:")
            self.put(depth + 1, f"{name}, p = uvarint(b, p - 1)")
        return name

    def struct(self, fields: tuple[Field, ...], flexible: bool, depth: int) -> str:
        """Reads a struct's body; returns the source of its dict, or the variable that holds it."""
        values: dict[str, str] = {}
        for field in fields:
            if field.tag is None:
                values[field.name] = self.field(field, depth)
        if not flexible:
            self.flush(depth)
            return _dict(fields, values)
        tags = self.prefix(depth, "B")
        result = self.variable("d")
        tagged = [field for field in fields if field.tag is not None]
        if not tagged:
            self.put(depth, f"{result} = {_dict(fields, values)}")
            self.put(depth, f"if {tags}:")
            self.put(depth + 1, f"p = read_tags(b, p, {tags}, {result})")
            return result
        self.put(depth, f"if {tags}:")
        self.tagged(tagged, values, tags, result, fields, depth + 1)
        self.put(depth, "else:")
        for field in tagged:
            values[field.name] = literal(field.default)
        self.put(depth + 1, f"{result} = {_dict(fields, values)}")
        return result

    def tagged(
        self, tagged: list[Field], plain: dict[str, str], count: str, result: str, fields: tuple[Field, ...], depth: int
    ) -> None:
        """Reads ``count`` tagged fields, then builds ``result``."""
        values = dict(plain)
        unknown, tag, size, stop = (self.variable(stem) for stem in ("u", "t", "s", "q"))
        self.put(depth, f"{unknown} = []")
        for field in tagged:
            values[field.name] = self.variable()
            self.put(depth, f"{values[field.name]} = {literal(field.default)}")
        self.put(depth, f"for _ in range({count}):")
        self.put(depth + 1, f"{tag}, p = uvarint(b, p)")
        self.put(depth + 1, f"{size}, p = uvarint(b, p)")
        self.put(depth + 1, f"{stop} = p + {size}")
        self.put(depth + 1, f"if {stop} > end: raise Misfit")
        word = "if"
        for field in tagged:
            self.put(depth + 1, f"{word} {tag} == {field.tag}:")
            value = self.field(field, depth + 2)
            self.flush(depth + 2)
            self.put(depth + 2, f"{values[field.name]} = {value}")
            self.put(depth + 2, f"if p != {stop}: raise Misfit")
            word = "elif"
        self.put(depth + 1, "else:")
        self.put(depth + 2, f'{unknown}.append({{"tag": {tag}, "data": b[p:{stop}]}})')
        self.put(depth + 2, f"p = {stop}")
        self.put(depth, f"{result} = {_dict(fields, values)}")
        self.put(depth, f'if {unknown}: {result}["_unknown_tags"] = {unknown}')

    def field(self, field: Field, depth: int) -> str:
        """Reads a field, perhaps only noting it in the run; returns the source of its value."""
        if field.array:
            return self.array(field, depth)
        if field.type == "struct":
            return self.inline(field, depth)
        if field.type in CODES:
            name = self.variable()
            self.run.append((CODES[field.type], name, _conversion(field)))
            return name
        return self.text(field, depth)

    def inline(self, field: Field, depth: int) -> str:
        if not field.nullable:
            return self.struct(field.fields, field.compact, depth)
        marker = self.prefix(depth, "b")
        name = self.variable()
        self.put(depth, f"{name} = None")
        self.put(depth, f"if {marker} >= {first_present(field)}:")
        value = self.struct(field.fields, field.compact, depth + 1)
        self.put(depth + 1, f"{name} = {value}")
        return name

    def text(self, field: Field, depth: int) -> str:
        """Strings, bytes, records."""
        size = self.prefix(depth, "B" if field.compact else "h" if field.type == "string" else "i")
        stop, name = self.variable("q"), self.variable()
        least = 1 if field.compact else 0
        self.put(depth, f"{stop} = p + {size}{' - 1' if field.compact else ''}")
        self.put(depth, f"if {stop} > end: raise Misfit")
        if field.secret and not self.show_secrets:
            value = f'{{"redacted": {stop} - p}}'
        elif field.type == "records":
            value = f"records(b, p, {stop})"
        else:
            value = f"b[p:{stop}]" + (".decode()" if field.type == "string" else "")
        if field.nullable:
            self.put(depth, f"if {size} >= {least}:")
            self.put(depth + 1, f"{name} = {value}")
            self.put(depth + 1, f"p = {stop}")
            self.put(depth, "else:")
            self.put(depth + 1, f"{name} = None")
        else:
            self.put(depth, f"if {size} < {least}: raise Misfit")
            self.put(depth, f"{name} = {value}")
            self.put(depth, f"p = {stop}")
        return name

    def array(self, field: Field, depth: int) -> str:
        count = self.prefix(depth, "B" if field.compact else "i")
        name = self.variable()
        if field.compact:
            self.put(depth, f"{count} -= 1")
        inner = depth
        if field.nullable:
            self.put(depth, f"if {count} < 0:")
            self.put(depth + 1, f"{name} = None")
            self.put(depth, "else:")
            inner += 1
        else:
            self.put(depth, f"if {count} < 0: raise Misfit")
        self.put(inner, f"if {count} * {field.element_minimum} > end - p: raise Misfit")
        if field.type in CODES:
            self.numbers(field, name, count, inner)
        elif field.type == "struct" and struct_width(field.fields, field.compact):
            self.rows(field, name, count, inner)
        else:
            self.put(inner, f"{name} = []")
            self.put(inner, f"for _ in range({count}):")
            element = Field(
                field.name, field.type, False, False, field.compact, None, None, field.meanings, "", field.fields
            )
            value = self.field(element, inner + 1)
            self.put(inner + 1, f"{name}.append({value})")
        return name

    def numbers(self, field: Field, name: str, count: str, depth: int) -> None:
        """An array of a fixed-width primitive, read at once."""
        code = CODES[field.type]
        short = f"A_{field.type}"
        self.names[short] = [struct.Struct(f">{code * n}").unpack_from for n in range(_SHORT_ARRAYS)]
        if field.type == "uuid":
            self.put(depth, f"{name} = [uuid_text(b[q:q + 16]) for q in range(p, p + 16 * {count}, 16)]")
        else:
            many = f'unpack_from(f">{{{count}}}{code}", b, p)'
            self.put(depth, f"{name} = list({short}[{count}](b, p) if {count} < {_SHORT_ARRAYS} else {many})")
            if conversion := _conversion(field):
                self.put(depth, f"{name} = [{conversion}(x) for x in {name}]")
        self.put(depth, f"p += {field.element_minimum} * {count}")

    def rows(self, field: Field, name: str, count: str, depth: int) -> None:
        """An array of a struct that has the same width everywhere, read by one iterator."""
        columns: list[tuple[str, str]] = []

        def dictionary(fields: tuple[Field, ...]) -> str:
            parts = []
            for inner in fields:
                if inner.type == "struct":
                    parts.append(f"{inner.name!r}: {dictionary(inner.fields)}")
                    continue
                column = self.variable()
                columns.append((CODES[inner.type], column))
                conversion = _conversion(inner)
                parts.append(f"{inner.name!r}: {conversion}({column})" if conversion else f"{inner.name!r}: {column}")
            return "{" + ", ".join(parts) + "}"

        row = dictionary(field.fields)
        codes = "".join(code for code, _ in columns)
        iterator = "I_" + codes.replace("?", "z")
        self.names[iterator] = struct.Struct(">" + codes).iter_unpack
        stop = self.variable("q")
        self.put(depth, f"{stop} = p + {field.element_minimum} * {count}")
        targets = ", ".join(column for _, column in columns) + ","
        self.put(depth, f"{name} = [{row} for {targets} in {iterator}(b[p:{stop}])]")
        self.put(depth, f"p = {stop}")


def _conversion(field: Field) -> str | None:
    return {"uuid": "uuid_text", "float64": "float_value"}.get(field.type)


def _dict(fields: tuple[Field, ...], values: dict[str, str]) -> str:
    return "{" + ", ".join(f"{field.name!r}: {values[field.name]}" for field in fields) + "}"
