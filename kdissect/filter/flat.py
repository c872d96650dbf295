"""The fields beside the bodies: the flat keys of the output contract, and short names for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kdissect.filter.fields import FLAT, GATHERED, Field, Levels
from kdissect.filter.kinds import Choice, Kind, Number, Text
from kdissect.filter.named_kinds import Address, ApiName, ErrorName, Structure, Time

_NUMBER, _SIZE, _TEXT, _TIME = Number(), Number("size"), Text(), Time()

OUTCOMES: Final = ("answered", "no_reply_expected", "unanswered", "request_missing")
REASONS: Final = ("gap", "closed", "timeout", "capture_end")
SEVERITIES: Final = ("critical", "warning", "note")
FINDINGS: Final = (
    "frame.trailing_bytes", "frame.truncated", "frame.malformed", "api.unknown_key", "api.unknown_version",
    "response.request_missing", "request.unanswered", "records.bad_crc", "records.undecompressable", "correlation.reused",
    "correlation.out_of_order", "stream.conflicting_overlap",
)  # fmt: skip
"""Codes of findings on exchanges; plugins may add more."""
READ_IN_RECORDS: Final = frozenset(["frame.malformed", "records.undecompressable"])
"""Codes of findings that only reading records to the last makes, among others."""


def _flat(name: str, kind: Kind, description: str, *aliases: str, columns: tuple[str, ...] = (), many: bool = False) -> Field:
    return Field(name, (kind,), FLAT, many, aliases, description, frozenset(columns or (name,)))


def _gathered(
    name: str, kind: Kind, description: str, *aliases: str, column: str = "", many: bool = True, records: Levels = "skip"
) -> Field:
    return Field(name, (kind,), GATHERED, many, aliases, description, frozenset([column or name]), records=records)


FIELDS: Final[tuple[Field, ...]] = (
    _flat("api", ApiName(), "the API, by name or key"),
    _flat("api_key", _NUMBER, "the API's number", "key"),
    _flat("api_version", _NUMBER, "version of the API that the request uses", "version"),
    _flat("client", Address(), "address of the client"),
    _flat("broker", Address(), "address of the broker"),
    _flat("client_id", _TEXT, "what the client calls itself"),
    _flat(
        "time", _TIME, "when the request was complete, or the response where the request is missing",
        columns=("request_time", "response_time"),
    ),
    _flat("request_time", _TIME, "when the request was complete"),
    _flat("response_time", _TIME, "when the response was complete"),
    _flat("latency_ms", Number("duration", 1_000_000), "from request to response", "latency"),
    _flat(
        "size", _SIZE, "bytes of request and response together, with their prefixes",
        columns=("request_bytes", "response_bytes"),
    ),
    _flat("request_bytes", _SIZE, "bytes of the request, with its prefix"),
    _flat("response_bytes", _SIZE, "bytes of the response, with its prefix"),
    _flat("outcome", Choice("outcome", OUTCOMES), f"how it ended: {', '.join(OUTCOMES)}"),
    _flat("unanswered_reason", Choice("reason", REASONS), f"why there is no answer: {', '.join(REASONS)}", "reason"),
    _gathered(
        "error_codes", ErrorName(faults_only=True), "error codes but NONE anywhere in the response, by name or number",
        "error", "errors",
    ),
    _gathered("throttle_time_ms", Number("duration"), "how long the broker throttles the client", "throttle", many=False),
    _gathered("topics", _TEXT, "topics in request and response", "topic"),
    _gathered("groups", _TEXT, "groups in request and response", "group"),
    _gathered("principal", _TEXT, "authenticated user of the connection", many=False),
    _gathered(
        "findings.code", Choice("finding", FINDINGS, closed=False), "codes of what is worth telling", "findings", "finding",
        column="findings", records="full",
    ),
    _gathered(
        "findings.severity", Choice("severity", SEVERITIES), f"of the findings: {', '.join(SEVERITIES)}", "severity",
        column="findings", records="full",
    ),
    _gathered("findings.text", _TEXT, "what the findings say", column="findings", records="full"),
    _flat("correlation_id", _NUMBER, "the request's number on its connection", "correlation", "corr"),
    _flat("index", _NUMBER, "number of the exchange in the output"),
    _flat("connection", _NUMBER, "number of the connection", "conn"),
    _flat("connection_id", _TEXT, "the connection, by its ends and its first packet's time"),
    _flat("file", _TEXT, "the capture"),
    _flat("response_file", _TEXT, "the response's capture, where that is another one"),
    _flat("request_packets", _NUMBER, "numbers of the request's first and last packet", many=True),
    _flat("response_packets", _NUMBER, "numbers of the response's first and last packet", many=True),
    _flat("request", Structure(), "whether the capture has the request", columns=("request_bytes",)),
    _flat("response", Structure(), "whether the capture has the response", columns=("response_bytes",)),
)  # fmt: skip


def _time(e: Any) -> int | None:
    return e.request_time_ns if e.request_time_ns is not None else e.response_time_ns  # type: ignore[no-any-return]


def _latency(e: Any) -> int | None:
    asked, answered = e.request_time_ns, e.response_time_ns
    return None if asked is None or answered is None else answered - asked


def _size(e: Any) -> int | None:
    asked, answered = e.request_bytes, e.response_bytes
    if asked is None:
        return answered  # type: ignore[no-any-return]
    return asked if answered is None else asked + answered  # type: ignore[no-any-return]


READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "time": _time,
    "request_time": lambda e: e.request_time_ns,
    "response_time": lambda e: e.response_time_ns,
    "latency_ms": _latency,
    "size": _size,
    "request": lambda e: e.request_bytes,
    "response": lambda e: e.response_bytes,
    "findings.code": lambda e: [finding.code for finding in e.findings],
    "findings.severity": lambda e: [finding.severity for finding in e.findings],
    "findings.text": lambda e: [finding.text for finding in e.findings],
}
"""How to read the fields that are no attribute of the exchange under their own name."""
