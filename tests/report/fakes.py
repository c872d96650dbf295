"""Exchanges without a capture behind them, for tests of what they look like."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

START_NS = 1_795_255_200_000_000_000  # 2026-11-21T10:00:00Z


@dataclass
class FakeFinding:
    code: str
    severity: str
    text: str


NOT_IN_CONTRACT = ("time_digits", "broker_id", "fetch_partitions", "sasl")


@dataclass
class FakeExchange:
    index: int = 1
    file: str = "a.pcap"
    response_file: str | None = None
    connection: int = 1
    connection_id: str = "10.0.0.5:50000-10.0.0.9:9092@1"
    client: str = "10.0.0.5:50000"
    broker: str = "10.0.0.9:9092"
    request_time_ns: int | None = START_NS
    response_time_ns: int | None = START_NS + 1_500_000
    time_digits: int = 6
    latency_ms: float | None = 1.5
    api: str | None = "Produce"
    api_key: int | None = 0
    api_version: int | None = 9
    correlation_id: int = 7
    client_id: str | None = "billing"
    request_bytes: int | None = 1234
    response_bytes: int | None = 56
    request_packets: tuple[int, int] | None = (4, 6)
    response_packets: tuple[int, int] | None = (7, 7)
    outcome: str = "answered"
    unanswered_reason: str | None = None
    error_codes: list[str] = field(default_factory=list)
    throttle_time_ms: int | None = 0
    topics: list[str] = field(default_factory=lambda: ["orders"])
    groups: list[str] = field(default_factory=list)
    principal: str | None = None
    findings: list[FakeFinding] = field(default_factory=list)
    broker_id: int | None = None
    fetch_partitions: dict[str, tuple[int, ...]] | None = None
    sasl: Any = None

    def but(self, **changes: Any) -> FakeExchange:
        return replace(self, **changes)

    def to_contract(self, bodies: bool = True) -> dict[str, object]:
        flat = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in NOT_IN_CONTRACT}
        flat["findings"] = [vars(finding) for finding in self.findings]
        if bodies:
            flat["request"] = {"acks": 1}
        return flat
