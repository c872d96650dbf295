"""Messages from values: the reverse of :mod:`kdissect.schema.message`, for tests, generated captures and plugins."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from kdissect.schema.catalogue import default_catalogue
from kdissect.schema.generate import CODES, first_present
from kdissect.schema.layout import Field, Layout
from kdissect.schema.notation import Kind
from kdissect.schema.records_field import RawRecords
from kdissect.wire.writer import write_length, write_number, write_uvarint


class EncodeError(ValueError):
    """A value that has no place in the layout; the message names the field."""


def encode(api_key: int, version: int, kind: Kind, body: Mapping[str, Any]) -> bytes:
    """The body of a request or response, without header; KeyError without layout, otherwise as :func:`encode_fields`."""
    return encode_fields(default_catalogue().api(api_key).layout(kind, version), body)


def encode_request(
    api_key: int, version: int, correlation_id: int, client_id: str | None, body: Mapping[str, Any], *, sized: bool = True
) -> bytes:
    """A whole request; with ``sized`` its four bytes of size in front."""
    layout = default_catalogue().api(api_key).layout("request", version)
    header = {
        "request_api_key": api_key,
        "request_api_version": version,
        "correlation_id": correlation_id,
        **({"client_id": client_id} if layout.header_version else {}),
    }
    head = default_catalogue().format("RequestHeader").fields(layout.header_version)
    return _framed(encode_fields(head, header) + encode_fields(layout, body), sized)


def encode_response(api_key: int, version: int, correlation_id: int, body: Mapping[str, Any], *, sized: bool = True) -> bytes:
    """A whole response; with ``sized`` its four bytes of size in front."""
    layout = default_catalogue().api(api_key).layout("response", version)
    head = default_catalogue().format("ResponseHeader").fields(layout.header_version)
    return _framed(encode_fields(head, {"correlation_id": correlation_id}) + encode_fields(layout, body), sized)


def _framed(message: bytes, sized: bool) -> bytes:
    return write_number("int32", len(message)) + message if sized else message


def encode_fields(layout: Layout, values: Mapping[str, Any]) -> bytes:
    """``values`` as the decoders give them, secrets in clear, in the bytes of ``layout``.

    A field that is left out has its default.  ``records`` are bytes, as
    :mod:`kdissect.wire.records_writer` makes them, or as they were left
    unread.  Bytes may be ``{"base64": ...}`` or text, as in JSON.  A tagged
    field that has its default is not written, as Kafka does it; tagged fields
    come in the order of their tags.

    Raises :class:`EncodeError` for values that do not fit and for names that the layout lacks.
    """
    out: list[bytes] = []
    _struct(layout.fields, layout.flexible, values, "", out)
    return b"".join(out)


def _struct(fields: tuple[Field, ...], flexible: bool, values: Any, path: str, out: list[bytes]) -> None:
    dot = path + "." if path else ""
    if not isinstance(values, Mapping):
        raise EncodeError(f"{path}: a struct is a mapping, not {type(values).__name__}")
    if unknown := values.keys() - {field.name for field in fields} - ({"_unknown_tags"} if flexible else set()):
        raise EncodeError(f"{dot}{sorted(unknown)[0]}: no such field")
    tagged: list[tuple[int, bytes]] = []
    for field in fields:
        value = values.get(field.name, field.default)
        if field.tag is None:
            _field(field, value, dot + field.name, out)
        elif value != field.default:
            content: list[bytes] = []
            _field(field, value, dot + field.name, content)
            tagged.append((field.tag, b"".join(content)))
    if not flexible:
        return
    for extra in values.get("_unknown_tags", ()):
        tagged.append((extra["tag"], _raw(extra["data"], dot + "_unknown_tags")))
    out.append(write_uvarint(len(tagged)))
    for tag, data in sorted(tagged, key=lambda pair: pair[0]):
        out += (write_uvarint(tag), write_uvarint(len(data)), data)


def _field(field: Field, value: Any, path: str, out: list[bytes]) -> None:
    if value is None and not field.nullable:
        raise EncodeError(f"{path}: null, though it is never null")
    if field.array:
        _array(field, value, path, out)
    elif field.type == "struct":
        if field.nullable:
            # Null is one below the least marker of a struct that is there; Kafka writes 1 for those.
            out.append(write_number("int8", first_present(field) - 1 if value is None else 1))
        if value is not None:
            _struct(field.fields, field.compact, value, path, out)
    elif field.type in CODES:
        out.append(_checked(path, write_number, field.type, value))
    else:
        raw = None if value is None else _raw(value, path)
        wide = "int16" if field.type == "string" else "int32"
        out.append(_checked(path, write_length, None if raw is None else len(raw), field.compact, wide))
        out.append(raw or b"")


def _array(field: Field, value: Any, path: str, out: list[bytes]) -> None:
    if value is not None and not isinstance(value, list | tuple):
        raise EncodeError(f"{path}: an array is a list, not {type(value).__name__}")
    out.append(_checked(path, write_length, None if value is None else len(value), field.compact, "int32"))
    element = Field(field.name, field.type, False, False, field.compact, None, None, field.meanings, "", field.fields)
    for index, item in enumerate(value or ()):
        _field(element, item, f"{path}[{index}]", out)


def _checked(path: str, write: Any, *values: Any) -> bytes:
    try:
        written: bytes = write(*values)
    except (ValueError, TypeError) as error:
        raise EncodeError(f"{path}: {error}") from None
    return written


def _raw(value: Any, path: str) -> bytes:
    """Text, bytes or unread records as bytes."""
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, RawRecords):
        return bytes(value.data)
    if isinstance(value, Mapping) and value.keys() == {"base64"}:
        return _checked(path, b64decode, value["base64"], None, True)
    raise EncodeError(f"{path}: neither text nor bytes but {type(value).__name__}")
