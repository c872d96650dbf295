"""The tables of ``kdissect stats`` on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kdissect.report.escape import escape, shorten
from kdissect.report.formats.table import Table
from kdissect.report.human import Clock, duration_ms, size, slowness
from kdissect.report.sink import Sink
from kdissect.report.tree import TreePrinter
from kdissect.report.view import Cell, Column, View

if TYPE_CHECKING:
    from kdissect.dissect import CaptureInfo

FEW: Final = 15
"""Rows of a table unless all are asked for."""

LEDGER_STYLES: Final = {"decoded": "good", "partial": "warning", "opaque": "note", "skipped": "warning", "duplicate": "quiet"}

Row = Mapping[str, Any]
CellMaker = Callable[[Row, Clock], Cell]


def write_stats(stats: Mapping[str, Any], times: CaptureInfo, sink: Sink, full: bool = False) -> None:
    """Writes the object of ``kdissect stats --format json`` as tables; ``times`` gives the times that it has as text."""
    printer = TreePrinter(sink)
    _overview(stats, times, printer, sink.clock)
    write_tables(stats, sink, printer, full)


def write_tables(stats: Mapping[str, Any], sink: Sink, printer: TreePrinter, full: bool = False) -> None:
    """Writes only the tables."""
    for title, rows, columns in _tables(stats):
        if not rows:
            continue
        shown = rows if full else rows[:FEW]
        printer.line()
        printer.line((title, "heading"), (f"  {len(rows):,}", "quiet"))
        printer.output.flush()
        table = Table(View(title, tuple(columns), (), lambda row, bodies: dict(row)), sink)
        table.write(shown)
        table.finish()
        if len(rows) > len(shown):
            printer.line((f"… {len(rows) - len(shown):,} more, --full shows all", "quiet"))
    printer.output.flush()


def _overview(stats: Mapping[str, Any], times: CaptureInfo, printer: TreePrinter, clock: Clock) -> None:
    capture, exchanges = stats["capture"], stats["exchanges"]

    def line(label: str, *parts: tuple[str, str]) -> None:
        printer.line((f"{label:<10} ", "quiet"), *parts)

    line("capture", (", ".join(map(escape, capture["files"])), "name"))
    line("packets", (f"{capture['packets']:,}, of them {capture['tcp_packets']:,} TCP", ""))
    if times.first_time_ns is not None and times.last_time_ns is not None:
        first, last = (clock.full(ns, times.time_digits) for ns in (times.first_time_ns, times.last_time_ns))
        line("time", (first, "time"), (" to ", ""), (last, "time"))
        line("duration", (duration_ms((times.last_time_ns - times.first_time_ns) / 1e6), ""))
    outcomes = [f"{number:,} {name.replace('_', ' ')}" for name, number in exchanges.items() if number]
    line("exchanges", (", ".join(outcomes) or "none", ""))
    for at, parts in enumerate(_ledger(stats["ledger"])):
        line("" if at else "bytes", *parts)


def _ledger(ledger: Mapping[str, int]) -> list[list[tuple[str, str]]]:
    """``12.3 kB captured`` with a bar of what became of it, and the shares."""
    shown = [(name, style) for name, style in LEDGER_STYLES.items() if ledger[name]]
    first = [(f"{size(ledger['captured'])} captured  ", "")]
    first += [("█" * max(1, round(ledger[name] / ledger["captured"] * 20)), style) for name, style in shown]
    if ledger["missing"]:
        first.append((f"  {size(ledger['missing'])} missing", "error"))
    second = [(f"{name} {_percent(ledger[name], ledger['captured'])}  ", style) for name, style in shown]
    return [first, second] if shown else [first]


def _percent(part: int, whole: int) -> str:
    """Rounded, finer near the ends; 100% and 0% only where they are true."""
    if part == whole:
        return "100%"
    percent = 100 * part / whole
    return f"{percent:.0f}%" if 10 <= percent <= 90 else f"{min(99.9, max(0.1, percent)):.1f}%"


def _tables(stats: Mapping[str, Any]) -> list[tuple[str, Sequence[Row], list[Column[Row]]]]:
    kafka = [row for row in stats["connections"] if row["protocol"] == "kafka"]
    other = [row for row in stats["connections"] if row["protocol"] != "kafka"]
    most = max((row["exchanges"] for row in stats["apis"]), default=1)
    bar: Column[Row] = Column("", lambda row, _: Cell("▇" * max(1, round(12 * row["exchanges"] / most)), "address"), rank=12)
    versions: Column[Row] = Column("versions", lambda row, _: Cell(_ranges(row["versions"])), rank=60, minimum=8)
    client_id: Column[Row] = Column("client id", _text("client_id", "name"), rank=70, minimum=9, comfort=20)
    connections: Column[Row] = Column("connections", lambda row, _: Cell(f"{row['connections']:,}"), rank=30, right=True)
    return [
        ("APIs", stats["apis"], [_name("api", "api", "request missing"), versions, bar, *_TALLY]),
        ("Clients", stats["clients"], [_name("client", "address"), client_id, connections, *_TALLY]),
        ("Topics", stats["topics"], [_name("topic", "name", least=12), *_TALLY]),
        ("Errors", stats["errors"], [_name("error", "error"), _name("api", "api", "-"), _TALLY[0], *_TALLY[3:]]),
        ("Kafka connections", sorted(kafka, key=lambda row: -row["exchanges"]), [*_ENDS, *_BYTES]),
        ("Other connections", other, [*_ENDS, Column("protocol", _text("protocol", "warning"), rank=0)]),
    ]


def _name(key: str, style: str, missing: str = "(all others)", least: int | None = None) -> Column[Row]:
    """The column that says what a row is about."""
    return Column(key, _text(key, style, missing), rank=0, minimum=least, maximum=60)


def _text(key: str, style: str, missing: str = "-") -> CellMaker:
    return lambda row, _: Cell(missing, "quiet") if row[key] is None else Cell(shorten(row[key], 100), style)


def _number(key: str, style: str = "") -> CellMaker:
    return lambda row, _: Cell(f"{row[key]:,}", style) if row[key] else Cell("-", "quiet")


def _latency(name: str) -> CellMaker:
    def cell(row: Row, _: Clock) -> Cell:
        ms = row["latency_ms"][name] if row["latency_ms"] else None
        # What is slow depends on the API: rows of many say nothing about it.
        return Cell(duration_ms(ms), slowness(row["api_key"], ms) if "api_key" in row else "")

    return cell


_TALLY: Final[list[Column[Row]]] = [
    Column("exchanges", _number("exchanges"), rank=90, right=True),
    Column("errors", _number("errors", "error"), rank=80, right=True),
    Column("unanswered", _number("unanswered", "warning"), rank=55, right=True),
    Column("sent", lambda row, _: Cell(size(row["request_bytes"])), rank=40, right=True),
    Column("received", lambda row, _: Cell(size(row["response_bytes"])), rank=41, right=True),
    Column("p50", _latency("p50"), rank=35, right=True),
    Column("p95", _latency("p95"), rank=20, right=True),
    Column("p99", _latency("p99"), rank=65, right=True),
    Column("max", _latency("max"), rank=36, right=True),
]
_ENDS: Final[list[Column[Row]]] = [
    Column("#", _number("connection", "quiet"), rank=0, right=True),
    Column("client", _text("client", "address"), rank=90),
    Column("broker", _text("broker", "address"), rank=80),
]
_BYTES: Final[list[Column[Row]]] = [
    _TALLY[0],
    Column("captured", lambda row, _: Cell(size(row["ledger"]["captured"])), rank=40, right=True),
    *(
        Column(
            name,
            lambda row, _, name=name, style=style: (  # type: ignore[misc]
                Cell(_percent(row["ledger"][name], row["ledger"]["captured"]), style)
                if row["ledger"][name]
                else Cell("-", "quiet")
            ),
            rank=rank,
            right=True,
        )
        for (name, style), rank in zip(LEDGER_STYLES.items(), (70, 60, 30, 31, 20), strict=True)
    ),
    Column("missing", lambda row, _: Cell(size(row["ledger"]["missing"] or None), "error"), rank=65, right=True),
]


def _ranges(numbers: Sequence[int]) -> str:
    """``0, 3-5, 9``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs) or "-"
