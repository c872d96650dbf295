"""``kdissect compare``: what changed between two captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kdissect.cli import common
from kdissect.cli.command import Command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kdissect.report.sink import Sink
    from kdissect.report.triage_compare import Change

FAILED = 3
LARGEST_REPORT = 1 << 30
"""Bytes of a report that is read as JSON."""
SEVERITIES = ("critical", "warning", "note")

_EXAMPLES = [
    ("Before and after a deployment:", "kdissect compare before.pcapng after.pcapng"),
    ("With a report that was kept:", "kdissect report -f json a.pcap > a.json && kdissect compare a.json b.pcap"),
    ("Did anything get worse?", "kdissect compare a.pcap b.pcap -q --fail-on warning"),
]

_WORDS = {
    "appeared": ("Appeared", "warning"),
    "slower": ("Slower", "error"),
    "more": ("More", "warning"),
    "changed": ("Changed", ""),
    "vanished": ("Vanished", "quiet"),
    "faster": ("Faster", "good"),
    "less": ("Less", "good"),
}


@click.command(cls=Command, examples=_EXAMPLES, short_help="Say what changed between two captures.")
@click.argument("before", metavar="BEFORE", type=click.Path(allow_dash=True))
@click.argument("after", metavar="AFTER", type=click.Path(allow_dash=True))
@common.option(
    "-f",
    "--format",
    "output",
    section=common.OUTPUT,
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    help="table (default), json or markdown.",
)
@common.option(
    "--fail-on",
    section=common.OUTPUT,
    type=click.Choice(SEVERITIES),
    help="Exit with code 3 when a finding appeared that is this severe or worse.",
)
@common.zone
@common.color
@common.quiet
def command(before: str, after: str, output: str, fail_on: str | None, utc: bool, color: str, quiet: bool) -> int:
    """Compare two captures, or reports that 'kdissect report --format json' wrote: what appeared, vanished, got slower.

    Clients are told apart by their client id, for addresses change with every
    deployment. A percentile counts as changed from 20 exchanges on both sides,
    by half as much again and a millisecond; a rate when it doubles or halves.
    """
    from kdissect.report.triage_compare import compare

    if before == after == "-":
        raise click.UsageError("only one of the two can be standard input", click.get_current_context())
    reports = []
    code = 0
    for name in (before, after):
        report, failed = _report(name, quiet)
        reports.append(report)
        code = code or failed
    try:
        found = compare(*reports)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if any(_is_json(name) for name in (before, after)):
            raise click.UsageError(f"one of the reports is damaged: {error!r}", click.get_current_context()) from None
        raise
    sink = common.make_sink(color, utc)
    if output == "json":
        _json(reports, found, sink)
    elif output == "markdown":
        _markdown(reports, (before, after), found, sink)
    else:
        _table(reports, (before, after), found, sink)
    worse = {change.severity for change in found["appeared"] if change.severity}
    worse |= {change.severity for change in found["changed"] if change.severity}
    met = fail_on is not None and any(severity in worse for severity in SEVERITIES[: SEVERITIES.index(fail_on) + 1])
    return code or (FAILED if met else 0)


def _report(name: str, quiet: bool) -> tuple[Mapping[str, Any], int]:
    """The report of a capture, or the one that a file holds, with the exit code that reading it makes."""
    from kdissect.cli.progress import Progress
    from kdissect.dissect import Dissection, Options
    from kdissect.report.triage_report import Reporter

    kept = _kept(name)
    if kept is not None:
        return kept, 0
    reporter = Reporter(common.host())
    sampled = not reporter.triage.reads_all
    dissection = Dissection([name], Options(records="heads", flat=sampled, sample=sampled), common.warn)
    for batch in Progress(dissection, not quiet).over(dissection.batches()):
        reporter.add(batch)
    return reporter.finish(dissection).data, common.complain(dissection)


def _kept(name: str) -> Mapping[str, Any] | None:
    """A report as JSON; None for a capture.  Wrong usage for JSON that is no report."""
    import orjson

    if not _is_json(name):
        return None
    with open(name, "rb") as file:
        try:
            value = orjson.loads(file.read(LARGEST_REPORT))
        except orjson.JSONDecodeError as error:
            raise click.BadParameter(f"{name} is neither a capture nor a report: {error}") from None
    if not isinstance(value, dict) or not {"summary", "findings", "apis", "clients", "topics", "errors"} <= value.keys():
        raise click.BadParameter(f"{name} is JSON, but none that 'kdissect report --format json' wrote")
    return value


def _is_json(name: str) -> bool:
    import os

    if name == "-" or not os.path.isfile(name):
        return False
    with open(name, "rb") as file:
        return file.read(1) == b"{"


def _json(reports: Sequence[Mapping[str, Any]], found: Mapping[str, Sequence[Change]], sink: Sink) -> None:
    from kdissect.report.formats.json_lines import encode
    from kdissect.report.sink import Output

    ends = {
        end: {"capture": report["capture"], "summary": report["summary"]}
        for end, report in zip(("before", "after"), reports, strict=True)
    }
    printed = Output(sink)
    changes = {how: [change.to_json() for change in several] for how, several in found.items()}
    printed.write(encode({**ends, **changes}, sink) + b"\n")
    printed.flush()


def _markdown(
    reports: Sequence[Mapping[str, Any]], files: tuple[str, str], found: Mapping[str, Sequence[Change]], sink: Sink
) -> None:
    from kdissect.report.escape import escape
    from kdissect.report.formats.markdown import inert
    from kdissect.report.sink import Output

    lines = [
        f"- {inert(escape(name))}: {inert(escape(report['summary']['verdict']))}"
        for name, report in zip(files, reports, strict=True)
    ]
    for how, several in found.items():
        if several:
            lines += ["", f"## {_WORDS[how][0]}", "", "| what | name | before | after |", "|---|---|---:|---:|"]
            for change in several:
                cells = (change.what, change.name, change.before, change.after)
                lines.append("| " + " | ".join(inert(escape(cell)) for cell in cells) + " |")
    printed = Output(sink)
    printed.write(("\n".join(lines) + "\n").encode(errors="backslashreplace"))
    printed.flush()


def _table(
    reports: Sequence[Mapping[str, Any]], files: tuple[str, str], found: Mapping[str, Sequence[Change]], sink: Sink
) -> None:
    from kdissect.report.escape import escape, shorten
    from kdissect.report.formats.table import Table
    from kdissect.report.tree import TreePrinter
    from kdissect.report.view import Cell, Column, View

    printer = TreePrinter(sink)
    for label, name, report in zip(("before", "after"), files, reports, strict=True):
        summary = report["summary"]
        printer.line((f"{label:<7} ", "quiet"), (escape(name), "name"), (f"  {summary['verdict']}", "heading"))
        printer.line(("        ", ""), (escape(summary["text"]), "quiet"))
    if not any(found.values()):
        printer.line()
        printer.line(("Nothing changed.", "good"))
    for how, several in found.items():
        if not several:
            continue
        title, style = _WORDS[how]
        printer.line()
        printer.line((title, "heading"), (f"  {len(several):,}", "quiet"))
        printer.output.flush()
        columns: tuple[Column[Change], ...] = (
            Column("what", lambda change, _: Cell(change.what, "quiet"), 90),
            Column("name", lambda change, _: Cell(shorten(change.name, 200), "name"), 0, 12, 30, 90),
            Column("before", lambda change, _: Cell(shorten(change.before, 100)), 80, right=True),
            Column("after", lambda change, _, style=style: Cell(shorten(change.after, 100), style), 85, right=True),  # type: ignore[misc]
        )
        table: Table[Change] = Table(View(title, columns, (), lambda change, bodies: change.to_json()), sink)
        table.write(several)
        table.finish()
    printer.output.flush()
