"""The triage report as Markdown, for an issue or a wiki."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kdissect.report.escape import escape
from kdissect.report.formats.markdown import inert
from kdissect.report.triage_sections import Section, sections

if TYPE_CHECKING:
    from kdissect.report.triage_report import Report

MOST_ROWS: Final = 50


def markdown(report: Report) -> str:
    """The whole report; what came from the wire renders as text, never as markup, link or mention."""
    return "\n".join(_lines(report.data)) + "\n"


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    summary, capture = data["summary"], data["capture"]
    yield f"# {_text(summary['verdict'])}"
    yield ""
    yield f"{_text(summary['text'])}. {_text(summary['bytes'])}."
    yield ""
    for file in capture["files"]:
        yield f"- {_text(file)}"
    if capture["first_time"]:
        yield f"- {_text(capture['first_time'])} to {_text(capture['last_time'])}"
    if data["findings"]:
        yield ""
        yield "## Findings"
    for finding in data["findings"]:
        yield ""
        yield f"### {finding['severity']}: {_text(finding['title'])} (`{finding['code']}`)"
        yield ""
        yield _text(finding["text"])
        for label, words in (("Why it matters", finding.get("why")), ("What to do", finding["advice"])):
            if words:
                yield ""
                yield f"**{label}:** {_text(words)}"
        if finding["exchanges"]:
            yield ""
            yield f"Exchanges {', '.join(map(str, finding['exchanges']))}; connections {_some(finding['connections'])}."
        elif finding["connections"]:
            yield ""
            yield f"Connections {_some(finding['connections'])}."
    for section in sections(data, MOST_ROWS):
        yield from _section(section)


def _some(numbers: list[int]) -> str:
    more = len(numbers) - 10
    return ", ".join(map(str, numbers[:10])) + (f" and {more:,} more" if more > 0 else "")


def _section(section: Section) -> Iterator[str]:
    yield ""
    yield f"## {_text(section.title)}"
    yield ""
    yield "| " + " | ".join(_text(title) for title, _ in section.columns) + " |"
    yield "|" + "|".join("---:" if right else "---" for _, right in section.columns) + "|"
    for row in section.rows:
        yield "| " + " | ".join(_text(value.text) for value in row) + " |"
    if section.total > len(section.rows):
        yield ""
        yield f"{section.total - len(section.rows):,} more rows are in the JSON report."


def _text(words: str) -> str:
    return inert(escape(words))
