"""The tables of the page: the report's sections, and those of ``kdissect stats``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kdissect.report.triage_sections import Section, Value, amount, client, duration, number, sections, text

MOST_ROWS: Final = 500
"""Rows of one table on the page; the JSON report has them all."""

_TALLY: Final = (
    ("exchanges", True),
    ("errors", True),
    ("unanswered", True),
    ("sent", True),
    ("received", True),
    ("p50", True),
    ("p95", True),
    ("p99", True),
    ("max", True),
)


def tables(report: Mapping[str, Any]) -> list[Section]:
    """All tables with rows."""
    made = [
        *sections(report, MOST_ROWS),
        _tallied("apis", "APIs", report["apis"], [("api", False), ("versions", False)], _api),
        _tallied("clients", "Clients", report["clients"], [("client", False), ("connections", True)], _client),
        _tallied("topics", "Topics", report["topics"], [("topic", False)], lambda row: [_named(row["topic"])]),
        _tallied(
            "errors",
            "Errors",
            report["errors"],
            [("error", False), ("api", False)],
            lambda row: [Value(_named(row["error"]).text, row["error"] or "", "error"), _named(row["api"])],
        ),
        _connections(report["connections"], report["summary"]["connections"]),
    ]
    return [section for section in made if section.rows]


def _tallied(name: str, title: str, rows: Sequence[Mapping[str, Any]], columns: list[tuple[str, bool]], head: Any) -> Section:
    made = [[*head(row), *_tally(row)] for row in rows[:MOST_ROWS]]
    return Section(f"table-{name}", title, "", [*columns, *_TALLY], made, len(rows))


def _tally(row: Mapping[str, Any]) -> list[Value]:
    times = row["latency_ms"] or {}
    return [
        number(row["exchanges"]),
        number(row["errors"], "error" if row["errors"] else "quiet"),
        number(row["unanswered"], "warning" if row["unanswered"] else "quiet"),
        amount(row["request_bytes"]),
        amount(row["response_bytes"]),
        *(duration(times.get(name)) for name in ("p50", "p95", "p99", "max")),
    ]


def _named(name: str | None) -> Value:
    return Value("(all others)", "~", "quiet") if name is None else Value(name, name, "name")


def _api(row: Mapping[str, Any]) -> list[Value]:
    versions = row["versions"]
    span = "-" if not versions else str(versions[0]) if len(versions) == 1 else ", ".join(map(str, versions))
    return [text(row["api"] or "request missing", "api"), text(span)]


def _client(row: Mapping[str, Any]) -> list[Value]:
    return [_named(None) if row["client"] is None else client(row), number(row["connections"])]


def _connections(rows: Sequence[Mapping[str, Any]], total: int) -> Section:
    shares = ("decoded", "partial", "opaque", "skipped", "duplicate", "missing")
    columns = [("#", True), ("client", False), ("broker", False), ("protocol", False), ("exchanges", True), ("captured", True)]
    return Section(
        "table-connections",
        "Connections",
        "Where every byte of each connection went.",
        [*columns, *((share, True) for share in shares)],
        [
            [
                number(row["connection"]),
                text(row["client"], "address"),
                text(row["broker"], "address"),
                text(row["protocol"], "" if row["protocol"] == "kafka" else "warning"),
                number(row["exchanges"]),
                amount(row["ledger"]["captured"]),
                *(amount(row["ledger"][share]) for share in shares),
            ]
            for row in rows[:MOST_ROWS]
        ],
        total,
    )
