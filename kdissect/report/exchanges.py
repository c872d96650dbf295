"""The view of exchanges: what ``kdissect read`` lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kdissect.report.escape import escape, shorten
from kdissect.report.human import Clock, duration_ms, size, slowness
from kdissect.report.view import Cell, Column, View

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

_OUTCOMES = {
    "answered": ("answered", "quiet"),
    "no_reply_expected": ("no reply expected", "quiet"),
    "unanswered": ("unanswered", "quiet"),
    "request_missing": ("request missing", "warning"),
}
_SEVERITIES = {"critical": "error", "warning": "warning", "note": "note"}


def api_text(exchange: Exchange) -> str:
    """``Produce v9``; ``?`` where the request is missing."""
    return "?" if exchange.api is None else f"{exchange.api} v{exchange.api_version}"


def outcome_text(exchange: Exchange, most: int = 1) -> Cell:
    """How it ended in a few words: errors (at most ``most`` by name) before anything else, then findings, then the outcome."""
    words, style = _OUTCOMES.get(exchange.outcome, (exchange.outcome, ""))
    if exchange.unanswered_reason is not None:
        words = f"{words}: {exchange.unanswered_reason.replace('_', ' ')}"
    if exchange.error_codes:
        words, style = _some(exchange.error_codes, most), "error"
    if exchange.findings:
        codes = list(dict.fromkeys(finding.code for finding in exchange.findings))
        # "unanswered: timeout" says all that this finding says.
        codes = [code for code in codes if code not in ("request.unanswered", "response.request_missing")]
        if style != "error":
            style = _SEVERITIES[min((finding.severity for finding in exchange.findings), key=list(_SEVERITIES).index)]
        if codes:
            words = f"{words}, {_some(codes, most)}" if words != "answered" else _some(codes, most)
    return Cell(words, style)


def _some(names: Sequence[str], most: int) -> str:
    rest = len(names) - most
    return ", ".join(escape(name) for name in names[:most]) + (f" +{rest}" if rest > 0 else "")


def _topics(exchange: Exchange, most: int) -> str:
    topics = ", ".join(shorten(topic, 249) for topic in exchange.topics[:most])
    groups = " ".join(f"@{shorten(group, 249)}" for group in exchange.groups[:most])
    rest = max(0, len(exchange.topics) - most) + max(0, len(exchange.groups) - most)
    return " ".join(part for part in (topics, groups, f"+{rest}" if rest else "") if part)


def _moment(exchange: Exchange) -> int | None:
    return exchange.request_time_ns if exchange.request_time_ns is not None else exchange.response_time_ns


def _time(exchange: Exchange, clock: Clock) -> Cell:
    moment = _moment(exchange)
    return Cell("-" if moment is None else clock.time(moment), "quiet")


def _full_time(exchange: Exchange, clock: Clock) -> str:
    moment = _moment(exchange)
    return "-" if moment is None else clock.full(moment, exchange.time_digits)


def _latency(exchange: Exchange, _: Clock) -> Cell:
    style = slowness(exchange.api_key, exchange.latency_ms)
    return Cell(duration_ms(exchange.latency_ms) if exchange.latency_ms is not None else "", style)


def _api(exchange: Exchange, _: Clock) -> Cell:
    return Cell(api_text(exchange), "api" if exchange.api is not None else "quiet")


EXCHANGES: View[Exchange] = View(
    name="exchanges",
    columns=(
        Column("#", lambda e, _: Cell(str(e.index), "quiet"), rank=0, right=True, comfort=6, key="index"),
        Column("time", _time, rank=60, plain=_full_time, key="request_time"),
        Column(
            "conn", lambda e, _: Cell(str(e.connection), "address"), rank=40, right=True, instead_of="client", key="connection"
        ),
        Column("client", lambda e, _: Cell(e.client, "address"), rank=30),
        Column("broker", lambda e, _: Cell(e.broker, "address"), rank=20),
        Column(
            "client id",
            lambda e, _: Cell(shorten(e.client_id or "", 60), "quiet"),
            rank=10,
            minimum=8,
            maximum=24,
            plain=lambda e, _: escape(e.client_id) if e.client_id else "-",
        ),
        Column("api", _api, rank=0, maximum=18, comfort=18),
        Column(
            "topics",
            lambda e, _: Cell(_topics(e, 2), "name"),
            rank=50,
            minimum=9,
            comfort=18,
            plain=lambda e, _: _topics(e, 1_000_000) or "-",
        ),
        Column(
            "request",
            lambda e, _: Cell(size(e.request_bytes) if e.request_bytes is not None else "", "quiet"),
            rank=25,
            comfort=7,
            right=True,
            plain=lambda e, _: size(e.request_bytes),
            key="request_bytes",
        ),
        Column(
            "response",
            lambda e, _: Cell(size(e.response_bytes) if e.response_bytes is not None else "", "quiet"),
            rank=26,
            right=True,
            plain=lambda e, _: size(e.response_bytes),
            key="response_bytes",
        ),
        Column(
            "latency", _latency, rank=55, right=True, comfort=7, plain=lambda e, _: duration_ms(e.latency_ms), key="latency_ms"
        ),
        Column(
            "outcome",
            lambda e, _: outcome_text(e),
            rank=0,
            minimum=16,
            comfort=25,
            maximum=60,
            plain=lambda e, _: outcome_text(e, 1_000_000).text,
        ),
    ),
    keys=(
        *("index", "file", "response_file", "connection", "connection_id", "client", "broker", "request_time", "response_time"),
        *("latency_ms", "api", "api_key", "api_version", "correlation_id", "client_id", "request_bytes", "response_bytes"),
        *("request_packets", "response_packets", "outcome", "unanswered_reason", "error_codes", "throttle_time_ms"),
        *("topics", "groups", "principal", "findings"),
    ),
    to_json=lambda exchange, bodies: exchange.to_contract(bodies),
    moment=_moment,
    kinds={
        **dict.fromkeys(("index", "connection", "api_key", "api_version", "correlation_id"), "integer"),
        **dict.fromkeys(("request_bytes", "response_bytes", "throttle_time_ms"), "integer"),
        **dict.fromkeys(("request_time", "response_time"), "time"),
        **dict.fromkeys(("request_packets", "response_packets"), "integers"),
        **dict.fromkeys(("error_codes", "topics", "groups"), "texts"),
        **dict.fromkeys(("request", "response"), "json"),
        "latency_ms": "float",
        "findings": "findings",
    },
)
"""One row an exchange."""


def _wrong(exchange: Exchange) -> Cell:
    outcome = outcome_text(exchange, 3)
    texts = list(dict.fromkeys(escape(finding.text) for finding in exchange.findings))
    return Cell(": ".join(filter(None, [outcome.text, "; ".join(texts)])), outcome.style)


FAILURES: View[Exchange] = replace(
    EXCHANGES,
    columns=(
        *(column for column in EXCHANGES.columns if column.title not in ("request", "response", "outcome")),
        Column("outcome", lambda e, _: _wrong(e), rank=0, minimum=24, comfort=40, maximum=160, wrap=True),
    ),
)
"""The same for exchanges in which something went wrong: it is spelled out, sizes make room."""
