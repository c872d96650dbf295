"""Which bytes of a message are secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal

from kdissect.schema.catalogue import api as find_api
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response
from kdissect.schema.records_field import RawRecords
from kdissect.schema.redact import has_configs

Kind = Literal["request", "response"]
Stretch = tuple[int, int]
"""Offset in the message (without its size) and length."""

FETCH_SNAPSHOT: Final = 59
_WRAPPING: Final = frozenset(["blob(request)", "blob(response)", "blob(telemetry)"])
"""Bytes that hold messages of others, or measurements with labels of any kind."""
_METADATA: Final = frozenset(["__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"])
"""KRaft's own topic by name and by id: its records hold SCRAM credentials, tokens and configurations (KIP-631)."""
_OPTIONS: Final = DecodeOptions(records="skip", spans=True)


@cache
def may_hold_secrets(api_key: int, version: int, kind: Kind) -> bool:
    """Whether messages of this layout have secret fields; unknown layouts may have anything."""
    try:
        layout = find_api(api_key).layout(kind, version)
    except KeyError:
        return True
    if api_key == FETCH_SNAPSHOT or has_configs(layout):
        return True
    meanings = {meaning for _, field in layout.walk() for meaning in field.meanings}
    return "secret" in meanings or bool(_WRAPPING & meanings) or any(field.type == "records" for _, field in layout.walk())


def holds_secrets(message: Message | None) -> bool:
    """Whether a decoded message has secrets in it."""
    if message is None or not may_hold_secrets(message.api_key, message.version, message.kind):
        return False
    return message.body is not None and any(True for _ in _redacted(message.body, ""))


def secret_stretches(data: bytes, kind: Kind, api_key: int, version: int) -> list[Stretch]:
    """The secret bytes of a message without its size; all of it where it cannot be read."""
    if not may_hold_secrets(api_key, version, kind):
        return []
    if kind == "request":
        message = decode_request(data, options=_OPTIONS)
    else:
        message = decode_response(data, api_key, version, options=_OPTIONS)
    if message.fault is not None or message.body is None or message.spans is None:
        return [(0, len(data))]
    spans = message.spans
    found = []
    for path, length in _redacted(message.body, ""):
        start, size = _span(spans, path)
        # The field's own length stands before its content and stays.
        found.append((start + size - length, length) if length <= size else (start, size))
    for name in _wrapping(api_key, version, kind):
        value = message.body.get(name)
        if name in spans and isinstance(value, (bytes, bytearray, memoryview)):
            start, size = spans[name]
            found.append((start + size - len(value), len(value)))
    found += _metadata_records(message.body, api_key == FETCH_SNAPSHOT)
    return [(start, size) for start, size in found if size > 0]


@cache
def _wrapping(api_key: int, version: int, kind: Kind) -> tuple[str, ...]:
    """Fields of the body that are to be blanked as a whole."""
    layout = find_api(api_key).layout(kind, version)
    return tuple(field.name for field in layout.fields if _WRAPPING & set(field.meanings))


def _redacted(value: Any, path: str) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        if set(value) == {"redacted"}:
            yield path, int(value["redacted"])
            return
        for name, inner in value.items():
            yield from _redacted(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _redacted(inner, f"{path}[{at}]")


def _span(spans: Mapping[str, Stretch], path: str) -> Stretch:
    """The bytes of a path, or of what is around it."""
    while path not in spans and path:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return spans.get(path, (0, 0))


def _metadata_records(value: Any, inside: bool) -> Iterator[Stretch]:
    if isinstance(value, dict):
        inside = inside or any(isinstance(each, str) and each in _METADATA for each in value.values())
        for inner in value.values():
            yield from _metadata_records(inner, inside)
    elif isinstance(value, list):
        for inner in value:
            yield from _metadata_records(inner, inside)
    elif isinstance(value, RawRecords) and inside:
        yield value.offset, len(value)
