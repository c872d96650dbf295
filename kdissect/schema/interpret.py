"""A decoder that walks the layout as it reads: slower than generated code, but it tells.

It keeps what it had read when it comes upon a fault, says where and why, and
records on demand which bytes every field stands in.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from kdissect.schema.generate import CODES, RecordsReader, first_present
from kdissect.schema.layout import FIXED_WIDTH, Field, Layout
from kdissect.wire.primitives import DecodeError, Misfit, float_value, read_uvarint, uuid_text

Spans = dict[str, tuple[int, int]]
"""Path of a field (``topics[2].name``) -> offset and length in the message, its own length prefix included, in wire
order.  Structs and array elements have entries too; a tagged field that is absent has none."""

_STRUCTS = {kind: struct.Struct(">" + code) for kind, code in CODES.items()}
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"uuid": uuid_text, "float64": float_value}


class Interpreter:
    """Reads layouts out of one message."""

    def __init__(
        self, data: bytes, records: RecordsReader, *, show_secrets: bool = False, spans: Spans | None = None
    ) -> None:
        """``spans``, when given, is filled."""
        self.data = data
        self.records = records
        self.show_secrets = show_secrets
        self.spans = spans
        self.at = 0
        self.end = len(data)

    def read(self, layout: Layout, at: int) -> tuple[dict[str, Any], int, DecodeError | None]:
        """The values from ``at`` on, the offset after them, and the fault that ended the reading early, if any."""
        self.at = at
        values: dict[str, Any] = {}
        try:
            self._struct(layout.fields, layout.flexible, values, "")
        except DecodeError as fault:
            return values, self.at, fault
        return values, self.at, None

    def _need(self, size: int, path: str, what: str) -> int:
        """Moves over ``size`` bytes and returns where they begin."""
        start = self.at
        if size > self.end - start:
            raise DecodeError(f"{what}: {size} bytes needed, {self.end - start} left", start, path, "more")
        self.at = start + size
        return start

    def _uvarint(self, path: str, what: str) -> int:
        start = self.at
        try:
            value, self.at = read_uvarint(self.data, start)
        except IndexError:
            raise DecodeError(f"{what}: the bytes end within it", start, path, "more") from None
        except Misfit:
            raise DecodeError(f"{what}: an unsigned varint of more than 32 bits", start, path) from None
        if self.at > self.end:
            self.at = start
            raise DecodeError(f"{what}: the bytes end within it", start, path, "more")
        return value

    def _span(self, path: str, start: int) -> None:
        if self.spans is not None:
            self.spans[path] = (start, self.at - start)

    def _struct(self, fields: tuple[Field, ...], flexible: bool, into: dict[str, Any], path: str) -> None:
        dot = path + "." if path else ""
        for field in fields:
            if field.tag is None:
                self._field(field, into, field.name, dot + field.name)
        if not flexible:
            return
        count = self._uvarint(path, "number of tagged fields")
        known = {field.tag: field for field in fields if field.tag is not None}
        found: dict[str, Any] = {}
        unknown: list[dict[str, Any]] = []
        try:
            for _ in range(count):
                tag = self._uvarint(path, "tag")
                if tag in known:
                    self._tagged(known[tag], found, dot)
                else:
                    size = self._uvarint(path, f"size of tag {tag}")
                    start = self._need(size, path, f"tag {tag}")
                    self._span(f"{dot}_unknown_tags[{len(unknown)}]", start)
                    unknown.append({"tag": tag, "data": self.data[start : self.at]})
        finally:
            self._arrange(fields, into, found, unknown)

    def _arrange(
        self, fields: tuple[Field, ...], into: dict[str, Any], found: dict[str, Any], unknown: list[dict[str, Any]]
    ) -> None:
        """Puts tagged fields, found or by default, where the schema has them."""
        if any(field.tag is not None for field in fields):
            plain = dict(into)
            into.clear()
            for field in fields:
                if field.tag is None:
                    into[field.name] = plain[field.name]
                else:
                    into[field.name] = found[field.name] if field.name in found else deepcopy(field.default)
        if unknown:
            into["_unknown_tags"] = unknown

    def _tagged(self, field: Field, into: dict[str, Any], dot: str) -> None:
        """A known tagged field, which must fill its size exactly."""
        path = dot + field.name
        size = self._uvarint(path, "size")
        outer = self.end
        if size > outer - self.at:
            cut = True
        else:
            cut = False
            self.end = self.at + size
        try:
            self._field(field, into, field.name, path)
        except DecodeError as fault:
            if fault.kind == "more" and not cut:
                reason = f"{fault.reason} in its {size} bytes as a tagged field"
                raise DecodeError(reason, fault.offset, fault.path) from None
            raise
        if cut or self.at != self.end:
            reason = f"tagged field: a size of {size} bytes does not hold the value"
            raise DecodeError(reason, self.at, path, "more" if cut else "bad")
        self.end = outer

    def _field(self, field: Field, into: Any, key: Any, path: str) -> None:
        """Reads a value into ``into[key]``; of structs and arrays the beginning is there when a fault ends the reading."""
        start = self.at
        if field.array:
            self._array(field, into, key, path)
        elif field.type == "struct":
            self._inline(field, into, key, path)
        elif field.type in CODES:
            begin = self._need(FIXED_WIDTH[field.type], path, field.type)
            (value,) = _STRUCTS[field.type].unpack_from(self.data, begin)
            conversion = _CONVERSIONS.get(field.type)
            into[key] = conversion(value) if conversion else value
        else:
            self._text(field, into, key, path)
        self._span(path, start)

    def _inline(self, field: Field, into: Any, key: Any, path: str) -> None:
        if field.nullable:
            (marker,) = _STRUCTS["int8"].unpack_from(self.data, self._need(1, path, "null marker"))
            if marker < first_present(field):
                into[key] = None
                return
        value: dict[str, Any] = {}
        into[key] = value
        self._struct(field.fields, field.compact, value, path)

    def _size(self, field: Field, path: str, wide: str, what: str) -> int | None:
        """A length or count; None for null, which only a nullable field may be."""
        start = self.at
        if field.compact:
            size = self._uvarint(path, what) - 1
        else:
            size = _STRUCTS[wide].unpack_from(self.data, self._need(FIXED_WIDTH[wide], path, what))[0]
        if size >= 0:
            return size
        if not field.nullable:
            self.at = start
            raise DecodeError("null, though it is never null", start, path)
        return None

    def _text(self, field: Field, into: Any, key: Any, path: str) -> None:
        size = self._size(field, path, "int16" if field.type == "string" else "int32", "length")
        if size is None:
            into[key] = None
            return
        if field.type == "records" and size > self.end - self.at:
            into[key] = self.records(self.data, self.at, self.end)
        start = self._need(size, path, field.type)
        if field.secret and not self.show_secrets:
            into[key] = {"redacted": size}
        elif field.type == "records":
            into[key] = self.records(self.data, start, self.at)
        else:
            raw = self.data[start : self.at]
            into[key] = _string(raw) if field.type == "string" else raw

    def _array(self, field: Field, into: Any, key: Any, path: str) -> None:
        count = self._size(field, path, "int32", "number of elements")
        if count is None:
            into[key] = None
            return
        values: list[Any] = []
        into[key] = values
        element = Field(field.name, field.type, False, False, field.compact, None, None, field.meanings, "", field.fields)
        floor, start = field.element_minimum, self.at
        fits = count * floor <= self.end - start
        for index in range(count if fits else (self.end - start) // floor + 1):
            values.append(None)
            try:
                self._field(element, values, index, f"{path}[{index}]")
            except DecodeError:
                if not values[index]:  # nothing of it was read
                    values.pop()
                raise
        if not fits:
            raise DecodeError(f"{count} elements need more than the {self.end - start} bytes left", start, path, "more")


def _string(raw: bytes) -> str | bytes:
    """Text; bytes where they are no UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw
