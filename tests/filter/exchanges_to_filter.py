"""Exchanges to filter: made by hand, and of real captures."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kdissect import schema
from kdissect.dissect import Dissection, Options
from kdissect.exchange import Exchange, Finding
from kdissect.schema.message import Message

CAPTURES = Path(__file__).parents[2] / "captures"
TEN = 1_795_255_200 * 10**9
"""2026-11-21T10:00:00Z."""


def message(kind: Any, api: str, version: int, body: dict[str, Any] | None) -> Message:
    return Message(api, schema.api(api).key, kind, version, {}, body, None, 0, (), None)


def exchange(
    api: str = "Produce",
    version: int = 9,
    request: dict[str, Any] | None = None,
    response: dict[str, Any] | None = None,
    **flat: Any,
) -> Exchange:
    """An answered exchange of a millisecond at ten o'clock; keywords say otherwise."""
    made = Exchange(
        index=1,
        file="a.pcap",
        response_file=None,
        connection=1,
        connection_id="10.0.0.5:50000-10.0.1.1:9092@0",
        client="10.0.0.5:50000",
        broker="10.0.1.1:9092",
        request_time_ns=TEN,
        response_time_ns=TEN + 1_000_000,
        time_digits=6,
        api=api,
        api_key=schema.api(api).key,
        api_version=version,
        correlation_id=7,
        client_id="billing-1",
        request_bytes=100,
        response_bytes=50,
        request_packets=(1, 1),
        response_packets=(2, 2),
        outcome="answered",
        unanswered_reason=None,
        request=message("request", api, version, request if request is not None else {}),
        response=message("response", api, version, response if response is not None else {}),
    )
    return replace(made, **flat)


def finding(code: str, severity: str = "warning", text: str = "") -> Finding:
    return Finding(code, severity, text)


@cache
def captured(*names: str) -> tuple[Exchange, ...]:
    """The exchanges of captures of the project, with all records."""
    warnings: list[str] = []
    found = tuple(Dissection([str(CAPTURES / name) for name in names], Options(), warnings.append))
    assert found and not warnings
    return found
