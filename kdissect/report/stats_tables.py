"""The tables of ``kdissect stats`` on a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from kdissect.report.escape import escape, shorten
from kdissect.report.human import Clock, count, duration_ms, size, slowness
from kdissect.report.sink import Sink
from kdissect.report.style import STYLES

if TYPE_CHECKING:
    from kdissect.dissect import CaptureInfo

FEW: Final = 15
"""Rows of a table unless all are asked for."""

_LEDGER_STYLES: Final = {
    "decoded": "good",
    "partial": "warning",
    "opaque": "note",
    "skipped": "warning",
    "duplicate": "quiet",
}
Row = Mapping[str, Any]


def write_stats(stats: Mapping[str, Any], times: CaptureInfo, sink: Sink, full: bool = False) -> None:
    """Writes the object of ``kdissect stats --format json`` as tables."""
    text = io.StringIO()
    console = Console(
        file=text,
        width=sink.width,
        force_terminal=sink.color,
        color_system="standard" if sink.color else None,
        no_color=not sink.color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(_overview(stats, times, sink.clock))
    for title, rows, columns in _tables(stats):
        if rows:
            console.print()
            console.print(_table(title, rows, columns, full))
    sink.stream.write("\n".join(line.rstrip() for line in text.getvalue().split("\n")).encode())
    sink.stream.flush()


def _overview(stats: Mapping[str, Any], times: CaptureInfo, clock: Clock) -> Group:
    capture, exchanges, ledger = stats["capture"], stats["exchanges"], stats["ledger"]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style=STYLES["quiet"])
    grid.add_column(overflow="fold")
    grid.add_row("capture", Text(", ".join(map(escape, capture["files"])), STYLES["name"]))
    grid.add_row("packets", f"{capture['packets']:,}, of them {capture['tcp_packets']:,} TCP")
    if times.first_time_ns is not None and times.last_time_ns is not None:
        first, last = (clock.full(ns, times.time_digits) for ns in (times.first_time_ns, times.last_time_ns))
        lasted = duration_ms((times.last_time_ns - times.first_time_ns) / 1e6)
        grid.add_row("time", Text(f"{first} to {last} ({lasted})", STYLES["time"]))
    outcomes = [f"{exchanges['answered']:,} answered"]
    outcomes += [f"{exchanges[key]:,} {key.replace('_', ' ')}" for key in exchanges if key != "answered" and exchanges[key]]
    grid.add_row("exchanges", ", ".join(outcomes))
    grid.add_row("bytes", _ledger(ledger))
    return Group(grid)


def _ledger(ledger: Mapping[str, int]) -> Text:
    """``12.3 kB captured`` and a bar of what became of it."""
    text = Text(f"{size(ledger['captured'])} captured  ")
    if ledger["captured"]:
        for part, style in _LEDGER_STYLES.items():
            share = ledger[part] / ledger["captured"]
            if ledger[part]:
                text.append("█" * max(1, round(share * 20)), STYLES[style].replace("dim", "bright_black"))
        text.append("  ")
        shown = [(part, style) for part, style in _LEDGER_STYLES.items() if ledger[part]]
        for at, (part, style) in enumerate(shown):
            percent = 100 * ledger[part] / ledger["captured"]
            text.append(f"{part} {percent:.1f}%" if percent < 99.95 or percent == 100 else f"{part} >99.9%", STYLES[style])
            text.append(", " if at + 1 < len(shown) else "")
    if ledger["missing"]:
        text.append(f"  {size(ledger['missing'])} missing", STYLES["error"])
    return text


Column = tuple[str, Callable[[Row], str | Text], str]
"""Heading, cell, ``left`` or ``right``."""


def _tables(stats: Mapping[str, Any]) -> list[tuple[str, Sequence[Row], list[Column]]]:
    kafka = [row for row in stats["connections"] if row["protocol"] == "kafka"]
    other = [row for row in stats["connections"] if row["protocol"] != "kafka"]
    most = max((row["exchanges"] for row in stats["apis"]), default=1)
    api: list[Column] = [
        ("api", lambda row: Text(row["api"] or "request missing", STYLES["api"]), "left"),
        ("versions", lambda row: _ranges(row["versions"]), "left"),
        ("", lambda row: Text("▇" * max(1, round(12 * row["exchanges"] / most)), STYLES["address"]), "left"),
    ]
    client: list[Column] = [
        ("client", lambda row: Text(row["client"] or "(all others)", STYLES["address"]), "left"),
        (
            "client id",
            lambda row: Text("-" if row["client_id"] is None else shorten(row["client_id"], 40), STYLES["name"]),
            "left",
        ),
        ("connections", lambda row: f"{row['connections']:,}", "right"),
    ]
    topic: list[Column] = [("topic", lambda row: Text(shorten(row["topic"] or "(all others)", 60), STYLES["name"]), "left")]
    error: list[Column] = [
        ("error", lambda row: Text(row["error"] or "(all others)", STYLES["error"]), "left"),
        ("api", lambda row: Text(row["api"] or "-", STYLES["api"]), "left"),
    ]
    return [
        ("APIs", stats["apis"], api + _TALLY),
        ("Clients", stats["clients"], client + _TALLY),
        ("Topics", stats["topics"], topic + _TALLY),
        ("Errors", stats["errors"], [*error, _TALLY[0], *_TALLY[3:]]),
        ("Kafka connections", sorted(kafka, key=lambda row: -row["exchanges"]), _CONNECTION),
        (
            "Other connections",
            other,
            [*_CONNECTION[:3], ("protocol", lambda row: Text(row["protocol"], STYLES["warning"]), "left")],
        ),
    ]


def _latency(name: str) -> Callable[[Row], str | Text]:
    def cell(row: Row) -> str | Text:
        ms = row["latency_ms"][name] if row["latency_ms"] else None
        return Text(duration_ms(ms), STYLES.get(slowness(row.get("api_key"), ms), ""))

    return cell


def _number(key: str, style: str) -> Callable[[Row], str | Text]:
    return lambda row: Text(f"{row[key]:,}", STYLES[style]) if row[key] else Text("-", STYLES["quiet"])


_TALLY: list[Column] = [
    ("exchanges", lambda row: f"{row['exchanges']:,}", "right"),
    ("errors", _number("errors", "error"), "right"),
    ("unanswered", _number("unanswered", "warning"), "right"),
    ("sent", lambda row: size(row["request_bytes"]), "right"),
    ("received", lambda row: size(row["response_bytes"]), "right"),
    ("p50", _latency("p50"), "right"),
    ("p95", _latency("p95"), "right"),
    ("p99", _latency("p99"), "right"),
    ("max", _latency("max"), "right"),
]
_CONNECTION: list[Column] = [
    ("#", lambda row: str(row["connection"]), "right"),
    ("client", lambda row: Text(row["client"], STYLES["address"]), "left"),
    ("broker", lambda row: Text(row["broker"], STYLES["address"]), "left"),
    ("exchanges", lambda row: f"{row['exchanges']:,}", "right"),
    ("bytes", lambda row: _ledger(row["ledger"]), "left"),
]


def _table(title: str, rows: Sequence[Row], columns: Sequence[Column], full: bool) -> Group:
    shown = rows if full else rows[:FEW]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style=STYLES["quiet"])
    for heading, _, justify in columns:
        table.add_column(heading, justify="right" if justify == "right" else "left", no_wrap=True, overflow="ellipsis")
    for row in shown:
        table.add_row(*(cell(row) for _, cell, _ in columns))
    parts: list[Any] = [Text(f"{title} ", STYLES["heading"]).append(count(len(rows), "row"), "not bold dim"), table]
    if len(rows) > len(shown):
        parts.append(Text(f"… {len(rows) - len(shown):,} more, --full shows all", STYLES["quiet"]))
    return Group(*parts)


def _ranges(numbers: Sequence[int]) -> str:
    """``0, 3-5, 9``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs) or "-"
