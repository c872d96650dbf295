"""Where tshark decodes a message, it and kdissect say the same of it; what it calls malformed is left out."""

from __future__ import annotations

import asyncio
import functools
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kdissect import schema
from kdissect.exchange import Exchange
from tests.support.disturb import dissect

pyshark = pytest.importorskip("pyshark")
pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("admin-2.0.1", "groups-3.9.2", "produce-4.4.0", "sarama-2.6.3", "kafkajs-2.0.1", "librdkafka-2.0.1", "mock-aiokafka")


@dataclass
class Seen:
    """One message as tshark tells it."""

    packet: int
    key: int
    version: int
    correlation_id: int
    request_packet: int | None
    errors: set[str] | None = None
    """Names of the non-zero codes; None where it shows no error field at all."""


def number(layer: Any, name: str) -> int | None:
    value = layer.get_field_value(name)
    return None if value is None else int(value)


@functools.cache
def captured(name: str) -> list[Exchange]:
    return dissect([CAPTURES / f"{name}.pcapng"])[0]


@functools.cache
def told(name: str) -> tuple[list[Seen], list[Seen]]:
    """Requests and responses that tshark decodes without complaint."""
    ports = {exchange.broker.rpartition(":")[2] for exchange in captured(name)}
    asyncio.set_event_loop(asyncio.new_event_loop())
    capture = pyshark.FileCapture(
        str(CAPTURES / f"{name}.pcapng"),
        display_filter="kafka",
        decode_as={f"tcp.port=={port}": "kafka" for port in ports},
        keep_packets=False,
    )
    requests: list[Seen] = []
    responses: list[Seen] = []
    try:
        for packet in capture:
            if any(layer.layer_name == "_ws.malformed" for layer in packet.layers):
                continue
            for layer in packet.get_multiple_layers("kafka"):
                correlation_id = number(layer, "correlation_id")
                asked, answered = number(layer, "request_key"), number(layer, "response_key")
                if correlation_id is None or "_ws_malformed" in layer.field_names:
                    continue
                if asked is not None:
                    version = number(layer, "request_version")
                    if version is not None:
                        requests.append(Seen(int(packet.number), asked, version, correlation_id, None))
                elif answered is not None:
                    version, request_packet = number(layer, "response_version"), number(layer, "request_frame")
                    named = None
                    if "error" in layer.field_names:
                        codes = {int(each.get_default_value()) for each in layer.error.all_fields}
                        named = {schema.error_name(code) for code in codes if code}
                    if version is not None:
                        responses.append(Seen(int(packet.number), answered, version, correlation_id, request_packet, named))
    finally:
        capture.close()
    return requests, responses


@pytest.mark.parametrize("name", NAMES)
def test_requests_agree(name: str) -> None:
    requests, _ = told(name)
    ours = defaultdict(set)
    for e in captured(name):
        if e.request_packets is not None:
            ours[e.request_packets[1]].add((e.api_key, e.api_version, e.correlation_id))
    assert len(requests) > 20
    for seen in requests:
        assert (seen.key, seen.version, seen.correlation_id) in ours[seen.packet], seen


@pytest.mark.parametrize("name", NAMES)
def test_responses_and_their_errors_agree(name: str) -> None:
    _, responses = told(name)
    ours = {(e.response_packets[1], e.correlation_id): e for e in captured(name) if e.response_packets is not None}
    compared = with_errors = 0
    for seen in responses:
        exchange = ours[seen.packet, seen.correlation_id]
        if (exchange.request_packets or (0, 0))[1] != seen.request_packet:
            # tshark pairs by correlation id alone, over all that it saw before: an id used again misleads it.
            continue
        assert (exchange.api_key, exchange.api_version) == (seen.key, seen.version), seen
        compared += 1
        if seen.errors is not None:
            with_errors += 1
            assert set(exchange.error_codes) == seen.errors, (seen, exchange.error_codes)
    print(f"{name}: {compared} of {len(responses)} responses compared, {with_errors} with their error codes")
    assert compared > 10 and with_errors > 10
