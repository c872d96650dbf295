"""The triage report on a terminal: verdict first, then findings, then tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from kdissect.report.escape import escape, shorten
from kdissect.report.formats.table import Table
from kdissect.report.stats_tables import FEW, write_tables
from kdissect.report.tree import TreePrinter
from kdissect.report.triage_sections import Section, sections
from kdissect.report.view import Cell, Column, View

if TYPE_CHECKING:
    from kdissect.report.sink import Sink
    from kdissect.report.triage_report import Report
    from kdissect.report.triage_sections import Value

MARKS: Final = {"critical": ("✖", "critical"), "warning": ("▲", "warning"), "note": ("●", "note")}
MOST_ROWS: Final = 100_000


def write_report(report: Report, sink: Sink, full: bool = False) -> None:
    """Writes the report; ``full``: all rows of every table."""
    printer = TreePrinter(sink)
    data = report.data
    _head(data, report.worst(), printer)
    for finding in data["findings"]:
        _finding(finding, data["capture"]["files"], printer, sink.width)
    for section in sections(data, MOST_ROWS):
        _section(section, printer, sink, full)
    write_tables({**data}, sink, printer, full)
    printer.output.flush()


def _head(data: Mapping[str, Any], worst: str | None, printer: TreePrinter) -> None:
    mark, style = MARKS[worst] if worst else ("✔", "good")
    summary, capture = data["summary"], data["capture"]
    printer.line((f"{mark} {summary['verdict']}", style if worst != "note" else "good"))
    printer.line(("  " + summary["text"], ""))
    printer.line(("  " + summary["bytes"], "quiet"))
    if summary["decoded_exchanges"] < summary["exchanges"]:
        sampled = f"{summary['decoded_exchanges']:,} of the exchanges"
        printer.line((f"  what only bodies tell (batches, compression, lag, empty fetches) is from {sampled}", "quiet"))
    if capture["first_time"]:
        printer.line((f"  {capture['first_time']} to {capture['last_time']}", "quiet"))
    printer.line(("  " + ", ".join(map(escape, capture["files"])), "quiet"))


def _finding(finding: Mapping[str, Any], files: Sequence[str], printer: TreePrinter, width: int) -> None:
    mark, style = MARKS[finding["severity"]]
    printer.line()
    title, code = escape(finding["title"]), finding["code"]
    printer.line((f"{mark} {finding['severity']}  ", style), (title, "heading"), (f"  {code}", "quiet"))
    # A long client id in a text is no reason to hide the rest of it.
    for label, words in (("", finding["text"]), ("why", finding.get("why")), ("do", finding["advice"])):
        if words:
            for at, line in enumerate(wrap(shorten(words, 2000), max(30, width - 7), break_on_hyphens=False)):
                printer.line((f"  {label if not at else '':<4} ", "quiet"), (line, ""))
    seen = _where(finding, files)
    if seen:
        printer.line(("  see  ", "quiet"), (seen, "address"))


def _where(finding: Mapping[str, Any], files: Sequence[str]) -> str:
    """How to open what the finding rests on."""
    parts = []
    if finding["exchanges"]:
        first = finding["exchanges"][0]
        parts.append(f"kdissect show {' '.join(escape(file) for file in files)} {first}")
        if others := finding["exchanges"][1:6]:
            parts.append("also " + ", ".join(map(str, others)))
        evidence = (finding.get("evidence") or [{}])[0]
        packets = evidence.get("request_packets") or evidence.get("response_packets")
        if packets:
            parts.append(f"packet {packets[0]:,}")
    if finding["connections"]:
        shown = ", ".join(map(str, finding["connections"][:5]))
        more = len(finding["connections"]) - 5
        parts.append(f"connection{'s' * (len(finding['connections']) > 1)} {shown}" + (f" and {more:,} more" if more > 0 else ""))
    return " · ".join(parts)


def _section(section: Section, printer: TreePrinter, sink: Sink, full: bool) -> None:
    printer.line()
    printer.line((section.title, "heading"), (f"  {section.total:,}", "quiet"))
    printer.output.flush()
    shown = section.rows if full else section.rows[:FEW]
    columns = [_column(title, right, at, len(section.columns)) for at, (title, right) in enumerate(section.columns)]
    table: Table[Sequence[Value]] = Table(View(section.title, tuple(columns), (), lambda row, bodies: {}), sink)
    table.write(shown)
    table.finish()
    if section.total > len(shown):
        printer.line((f"… {section.total - len(shown):,} more, --full shows all", "quiet"))


def _column(title: str, right: bool, at: int, count: int) -> Column[Sequence[Value]]:
    rank = 0 if at == 0 else 40 + count - at
    least, comfort = (None, None) if right else (8, 18)
    return Column(title, lambda row, _: Cell(shorten(row[at].text, 200), row[at].style), rank, least, comfort, right=right)
