"""The view of one connection: both sides of the conversation in order of time, with gaps and findings in place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kdissect.exchange import rfc3339
from kdissect.report.brief import brief
from kdissect.report.escape import escape, shorten
from kdissect.report.exchanges import api_text
from kdissect.report.human import Clock, count, duration_ms, size, slowness
from kdissect.report.partitions import TopicNames
from kdissect.report.source import Source
from kdissect.report.view import Cell, Column, View
from kdissect.report.wire_watch import WatchingTable, WireEvent

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange
    from kdissect.stream.connections import Incarnation

_ARROWS: Final = {"request": "→", "response": "←"}
_STYLES: Final = {
    "request": "api",
    "response": "note",
    "gap": "error",
    "connection": "quiet",
    "finding": "warning",
    "silence": "warning",
}
_SEVERITIES: Final = {"critical": "error", "warning": "warning", "note": "note"}


class Ambiguous(ValueError):
    """Several connections or none; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One line of a conversation."""

    heading: str
    kind: str
    """``request``, ``response``, ``finding``, ``gap`` or ``connection``."""
    time_ns: int | None
    digits: int
    packet: int
    exchange: int | None = None
    title: str = ""
    style: str = ""
    text: str = ""
    """Escaped."""
    bytes: int | None = None
    latency_ms: float | None = None
    api_key: int | None = None
    codes: tuple[str, ...] = ()
    """Error codes of a response, code of a finding."""


class Conversation(Source[Turn]):
    """Gathers the turns of one connection, given by number, by the client's address, or by its id."""

    def __init__(self, wanted: str, dissection: Dissection, names: TopicNames, clock: Clock) -> None:
        self._wanted, self._names, self._clock = wanted, names, clock
        self._number = int(wanted) if wanted.isdecimal() else None
        self._endpoints = dissection.endpoints
        self._table = WatchingTable(self._is_meant)
        dissection.table = self._table
        self._turns: dict[int, list[Turn]] = {}
        self._digits = 6

    def _is_meant(self, incarnation: Incarnation) -> bool:
        if self._number is not None:
            return incarnation.number == self._number
        ends = [self._endpoints.text(end) for end in incarnation.endpoints]
        return self._wanted in ends or self._wanted.partition("@")[0] in (f"{ends[0]}-{ends[1]}", f"{ends[1]}-{ends[0]}")

    def add(self, batch: Sequence[Exchange]) -> Iterable[Turn]:
        for exchange in batch:
            if exchange.connection - 1 in self._table.watches:
                self._digits = exchange.time_digits
                self._turns.setdefault(exchange.connection, []).extend(self._turns_of(exchange))
        return ()

    def _turns_of(self, exchange: Exchange) -> Iterable[Turn]:
        index, digits, title = exchange.index, exchange.time_digits, api_text(exchange)
        asked = exchange.request_packets[1] if exchange.request_packets else 0
        answered = exchange.response_packets[1] if exchange.response_packets else 0
        if exchange.request_bytes is not None:
            yield Turn(
                "",
                "request",
                exchange.request_time_ns,
                digits,
                asked,
                index,
                title,
                "api",
                brief(exchange.request, self._names, self._clock),
                exchange.request_bytes,
                api_key=exchange.api_key,
            )
            if exchange.outcome == "unanswered":
                why = (exchange.unanswered_reason or "").replace("_", " ")
                yield Turn(
                    "",
                    "silence",
                    exchange.request_time_ns,
                    digits,
                    asked,
                    index,
                    "no answer",
                    "warning",
                    why,
                    api_key=exchange.api_key,
                    codes=("request.unanswered",),
                )
        if exchange.response_bytes is not None:
            text = brief(exchange.response, self._names, self._clock)
            yield Turn(
                "",
                "response",
                exchange.response_time_ns,
                digits,
                answered,
                index,
                title,
                "error" if exchange.error_codes else "",
                text,
                exchange.response_bytes,
                exchange.latency_ms,
                exchange.api_key,
                tuple(exchange.error_codes),
            )
        time_ns = exchange.response_time_ns if exchange.response_time_ns is not None else exchange.request_time_ns
        for finding in exchange.findings:
            if finding.code != "request.unanswered":
                yield Turn(
                    "",
                    "finding",
                    time_ns,
                    digits,
                    answered or asked,
                    index,
                    finding.code,
                    _SEVERITIES[finding.severity],
                    escape(finding.text),
                    codes=(finding.code,),
                )

    def finish(self, dissection: Dissection) -> Iterable[Turn]:
        watches = self._table.watches
        if "@" in self._wanted and len(watches) > 1:
            watches = {at: watch for at, watch in watches.items() if dissection.connections[at].id == self._wanted}
        if len(watches) != 1:
            raise Ambiguous(self._which(dissection))
        (at, watch), *_ = watches.items()
        connection = dissection.connections[at]
        client = 0 if self._endpoints.text(watch.incarnation.endpoints[0]) == connection.client else 1
        heading = f"connection {connection.number} · {connection.client} → {connection.broker} · {connection.protocol}"
        turns = self._turns.get(connection.number, [])
        told = [*turns, *(self._wire(event, client) for event in watch.finish())]
        order = {"connection": 0, "gap": 1, "request": 2, "silence": 3, "response": 4, "finding": 5}
        told.sort(key=lambda turn: (turn.time_ns or 0, turn.packet, order[turn.kind]))
        from dataclasses import replace

        for turn in told:
            yield replace(turn, heading=heading)

    def _wire(self, event: WireEvent, client: int) -> Turn:
        who = "client" if event.side == client else "broker"
        words = {"syn": f"{who} opens", "fin": f"{who} closes", "rst": f"{who} resets the connection"}
        if event.kind == "gap":
            text = f"{size(event.size)} of the {who} are missing from the capture"
            return Turn(
                "", "gap", event.time_ns, self._digits, event.packet, title="gap", style="error", text=text, bytes=event.size
            )
        style = "warning" if event.kind == "rst" else "quiet"
        return Turn("", "connection", event.time_ns, self._digits, event.packet, title=words[event.kind], style=style)

    def _which(self, dissection: Dissection) -> str:
        found = [dissection.connections[at] for at in self._table.watches]
        if found:
            numbers = ", ".join(str(each.number) for each in found[:10]) + (", …" if len(found) > 10 else "")
            return f"{self._wanted} is an end of {len(found)} connections: {numbers}; give the number of one"
        total = count(len(dissection.connections), "TCP connection")
        return f"no connection {self._wanted}: the capture has {total}, 'kdissect stats' lists them"


def _what(turn: Turn, _: Clock) -> Cell:
    arrow = _ARROWS.get(turn.kind)
    if turn.kind == "request":
        return Cell(f"→ {turn.title}", "api")
    if arrow:
        return Cell(f"  ← {', '.join(map(escape, turn.codes)) or turn.title}", "error" if turn.codes else "note")
    mark = {"gap": "✖", "connection": "○", "finding": "▲", "silence": "✖"}[turn.kind]
    return Cell(f"{'  ' if turn.kind in ('finding', 'silence') else ''}{mark} {turn.title}", turn.style)


def _time(turn: Turn, clock: Clock) -> Cell:
    return Cell("-" if turn.time_ns is None else clock.time(turn.time_ns), "quiet")


def _full_time(turn: Turn, clock: Clock) -> str:
    return "-" if turn.time_ns is None else clock.full(turn.time_ns, turn.digits)


def _latency(turn: Turn, _: Clock) -> Cell:
    if turn.latency_ms is None:
        return Cell("")
    return Cell(duration_ms(turn.latency_ms), slowness(turn.api_key, turn.latency_ms))


def _to_json(turn: Turn, _: bool) -> dict[str, object]:
    return {
        "time": rfc3339(turn.time_ns, turn.digits),
        "kind": "unanswered" if turn.kind == "silence" else turn.kind,
        "exchange": turn.exchange,
        "packet": turn.packet,
        "title": turn.title,
        "bytes": turn.bytes,
        "latency_ms": turn.latency_ms,
        "codes": list(turn.codes),
        "text": turn.text or None,
    }


TURNS: View[Turn] = View(
    name="turns",
    columns=(
        Column(
            "#",
            lambda t, _: Cell("" if t.exchange is None else str(t.exchange), "quiet"),
            rank=30,
            right=True,
            comfort=5,
            key="exchange",
        ),
        Column("time", _time, rank=60, plain=_full_time),
        Column("packet", lambda t, _: Cell(str(t.packet), "quiet"), rank=25, right=True),
        Column("what", _what, rank=0, minimum=18, comfort=26, maximum=44, key="title"),
        Column("size", lambda t, _: Cell("" if t.bytes is None else size(t.bytes), "quiet"), rank=55, right=True, key="bytes"),
        Column("latency", _latency, rank=70, right=True, comfort=7, key="latency_ms"),
        Column(
            "says",
            lambda t, _: Cell(shorten(t.text, 400), t.style if t.kind in ("gap", "finding", "silence") else ""),
            rank=0,
            minimum=24,
            maximum=300,
            plain=lambda t, _: t.text,
            key="text",
        ),
    ),
    keys=("time", "kind", "exchange", "packet", "title", "bytes", "latency_ms", "codes", "text"),
    to_json=_to_json,
    moment=lambda turn: turn.time_ns,
    section=lambda turn, _: turn.heading,
    kinds={
        **dict.fromkeys(("exchange", "packet", "bytes"), "integer"),
        "time": "time",
        "latency_ms": "float",
        "codes": "texts",
    },
)
"""One row a message, a finding, or something on the wire."""
