"""One Kafka request or response: bytes in, header and body out, and what is wrong with them.

Nothing here raises on account of the bytes: a message that cannot be read to
its end has what was read before, and a :class:`Fault`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from struct import Struct
from typing import Any, Literal, NamedTuple

from kdissect.schema.catalogue import default_catalogue
from kdissect.schema.generate import FAILURES, Decoder, make_decoder
from kdissect.schema.interpret import Interpreter, Spans
from kdissect.schema.layout import Layout
from kdissect.schema.records_field import FullRecords, skip_in_request, skip_in_response
from kdissect.schema.redact import has_configs, redact_configs
from kdissect.wire.faults import RecordFault
from kdissect.wire.limits import DEFAULT_LIMITS, Limits
from kdissect.wire.primitives import DecodeError, FaultKind

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """How much of a message is wanted."""

    show_secrets: bool = False
    """Secrets in clear, not as ``{"redacted": LENGTH}``."""
    records: Literal["full", "heads", "skip"] = "full"
    """``heads`` checks batches but leaves their records out, decompressing nothing; ``skip`` leaves
    :class:`~kdissect.schema.records_field.RawRecords` where record batches are."""
    spans: bool = False
    """Say which bytes every field stands in; several times slower."""
    limits: Limits = DEFAULT_LIMITS
    """How much of what record batches claim is believed."""
    explain: bool = True
    """Read what does not fit once more, step by step, to keep its beginning and say why; costs many times the decoding."""
    guess_versions: bool = False
    """Read versions newer than the schema as the newest that it has; kept where that fits exactly."""


DEFAULT_OPTIONS = DecodeOptions()


class Fault(NamedTuple):
    """Why a message could not be read to its end."""

    kind: FaultKind
    reason: str
    offset: int
    """Byte offset in the message (the frame without its four bytes of size)."""
    path: str
    """The field: ``topics[2].name``; empty for the message itself; ``header`` in front of a header's."""


class Message(NamedTuple):
    """A decoded request or response."""

    api: str
    """Kafka's newest name; ``Unknown(1234)`` for keys that the schema lacks."""
    api_key: int
    """-1 where not even the key could be read."""
    kind: Literal["request", "response"]
    version: int
    """That of the body as decoded: an ApiVersions response with error 35 has 0 whatever was asked."""
    header: dict[str, Any]
    """The header's fields as far as they could be read."""
    body: dict[str, Any] | None
    """The body's fields in schema order, as far as they could be read; None without a layout to read with."""
    fault: Fault | None
    trailing: int
    """Bytes left over after a body that was read to its end; no fault of the decoding, but no Kafka writes them."""
    record_faults: tuple[RecordFault, ...]
    """What is wrong inside ``records`` fields; offsets are those in the message."""
    spans: Spans | None
    """Path -> offset and length, where asked for; paths of header fields begin with ``header.``."""


UNEXPLAINED = Fault("bad", "it does not fit its layout", 0, "")

_KEY_AND_VERSION = Struct(">hh")
_CORRELATION = Struct(">i")


class _Prepared(NamedTuple):
    """What decoding messages of one layout takes."""

    layout: Layout
    header: Decoder
    body: Decoder
    has_records: bool
    withhold_configs: bool


@cache
def _prepared(key: int, kind: Literal["request", "response"], version: int, show_secrets: bool) -> _Prepared:
    """KeyError when the schema has no such layout."""
    layout = default_catalogue().api(key).layout(kind, version)
    has_records = any(field.type == "records" for _, field in layout.walk())
    withhold = not show_secrets and has_configs(layout)
    header = _header_decoder(kind, layout.header_version)
    return _Prepared(layout, header, make_decoder(layout, show_secrets), has_records, withhold)


def _header_layout(kind: Literal["request", "response"], version: int) -> Layout:
    return default_catalogue().format("RequestHeader" if kind == "request" else "ResponseHeader").fields(version)


@cache
def _header_decoder(kind: Literal["request", "response"], version: int) -> Decoder:
    return make_decoder(_header_layout(kind, version))


def decode_request(frame: bytes | bytearray | memoryview, *, options: DecodeOptions = DEFAULT_OPTIONS) -> Message:
    """Decodes a request; ``frame`` is the message without its four bytes of size."""
    data = frame if isinstance(frame, bytes) else bytes(frame)
    if len(data) < _KEY_AND_VERSION.size:
        fault = Fault("more", f"a request header of {len(data)} bytes", 0, "header")
        return Message("Unknown(-1)", -1, "request", -1, {}, None, fault, 0, (), None)
    key, version = _KEY_AND_VERSION.unpack_from(data)
    return _decode(data, key, "request", version, options)


def decode_response(
    frame: bytes | bytearray | memoryview, api_key: int, api_version: int, *, options: DecodeOptions = DEFAULT_OPTIONS
) -> Message:
    """Decodes the response to a request of this key and version; ``frame`` is without its four bytes of size."""
    data = frame if isinstance(frame, bytes) else bytes(frame)
    message = _decode(data, api_key, "response", api_version, options)
    if api_key == API_VERSIONS and api_version and (message.fault or message.trailing):
        return _refused_api_versions(data, message, options)
    return message


def _refused_api_versions(data: bytes, message: Message, options: DecodeOptions) -> Message:
    """A broker that does not speak the asked version of ApiVersions answers with error 35 in a v0 body (KIP-511)."""
    if data[4:6] != UNSUPPORTED_VERSION.to_bytes(2, "big"):
        return message
    older = _decode(data, API_VERSIONS, "response", 0, options)
    return message if older.fault or older.trailing else older


def _decode(
    data: bytes, key: int, kind: Literal["request", "response"], version: int, options: DecodeOptions
) -> Message:
    try:
        layout, read_header, read_body, has_records, withhold = _prepared(key, kind, version, options.show_secrets)
    except KeyError:
        return (_guess(data, key, kind, version, options) if options.guess_versions else None) or _undecodable(
            data, key, kind, version
        )
    if options.spans:
        return _interpret(data, layout, options)
    records = _records_reader(data, kind, options) if has_records else _no_records
    try:
        header, at = read_header(data, 0, _no_records)
        body, at = read_body(data, at, records)
    except FAILURES:
        if not options.explain:
            return Message(layout.name, key, kind, version, {}, None, UNEXPLAINED, 0, (), None)
        return _interpret(data, layout, options)
    if withhold:
        redact_configs(layout.fields, body)
    faults = tuple(records.faults) if isinstance(records, FullRecords) else ()
    return Message(layout.name, key, kind, version, header, body, None, len(data) - at, faults, None)


def _guess(
    data: bytes, key: int, kind: Literal["request", "response"], version: int, options: DecodeOptions
) -> Message | None:
    """A version that is newer than the schema, read as the newest known; None where that does not fit to the last byte."""
    api = default_catalogue().find(key)
    if api is None or version < api.versions.stop:
        return None
    newest = api.versions[-1]
    message = _decode(data, key, kind, newest, options)
    if message.fault is not None or message.trailing or message.record_faults:
        return None
    reason = f"{api.name} has versions {api.versions.start} to {newest}, not {version}; its {kind} is read as version {newest}"
    return message._replace(fault=Fault("unknown_version", reason, 0, ""))


def _records_reader(data: bytes, kind: str, options: DecodeOptions) -> Any:
    if options.records != "skip":
        return FullRecords(len(data), kind == "response", options.limits, decode=options.records == "full")
    return skip_in_request if kind == "request" else skip_in_response


def _no_records(data: bytes, start: int, stop: int) -> None:
    raise AssertionError("there is no records field")


def _interpret(data: bytes, layout: Layout, options: DecodeOptions) -> Message:
    """Decodes step by step, keeping what comes before a fault."""
    kind: Literal["request", "response"] = "request" if layout.kind == "request" else "response"
    key = -1 if layout.api_key is None else layout.api_key
    spans: Spans | None = {} if options.spans else None
    head_spans: Spans | None = {} if options.spans else None
    head = Interpreter(data, _no_records, spans=head_spans)
    header, at, error = head.read(_header_layout(kind, layout.header_version), 0)
    if spans is not None and head_spans is not None:
        spans.update((f"header.{path}", span) for path, span in head_spans.items())
    if error is not None:
        return Message(layout.name, key, kind, layout.version, header, None, _fault(error, "header."), 0, (), spans)
    records = _records_reader(data, kind, options)
    reader = Interpreter(data, records, show_secrets=options.show_secrets, spans=spans)
    body, at, error = reader.read(layout, at)
    if not options.show_secrets:
        redact_configs(layout.fields, body)
    faults = tuple(records.faults) if isinstance(records, FullRecords) else ()
    fault = _fault(error, "") if error is not None else None
    trailing = 0 if error is not None else len(data) - at
    return Message(layout.name, key, kind, layout.version, header, body, fault, trailing, faults, spans)


def _fault(error: DecodeError, prefix: str) -> Fault:
    return Fault(error.kind, error.reason, error.offset, (prefix + error.path).rstrip("."))


def _undecodable(data: bytes, key: int, kind: Literal["request", "response"], version: int) -> Message:
    """The header of a message without layout: the part of it that all versions share, and the client id."""
    api = default_catalogue().find(key)
    if api is None:
        name, fault = f"Unknown({key})", Fault("unknown_key", f"no API has key {key}", 0, "")
    else:
        known = f"{api.versions.start} to {api.versions.stop - 1}"
        name, fault = api.name, Fault("unknown_version", f"{api.name} has versions {known}, not {version}", 0, "")
    if kind == "response":
        header = {"correlation_id": _CORRELATION.unpack_from(data)[0]} if len(data) >= 4 else {}
    else:
        header, _, _ = Interpreter(data, _no_records).read(_header_layout("request", 1), 0)
    return Message(name, key, kind, version, header, None, fault, 0, (), None)
