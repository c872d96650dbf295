"""``markdown``: a table for an issue, a chat or a wiki (GitHub's Markdown)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Generic

from kdissect.report.sink import Output, Sink
from kdissect.report.view import Column, Row, View

_SPECIAL: Final = re.compile(r"[\\`*{}\[\]<>|~&$@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.")
"""What would begin markup, a link, a mention or the next cell; an underscore within a word does nothing."""

LONGEST: Final = 2000
"""Characters of a cell; nobody reads more in a table."""


class Markdown(Generic[Row]):
    """Writes the columns that people see, uncut; what Markdown or HTML would act upon is escaped."""

    def __init__(self, view: View[Row], sink: Sink) -> None:
        self._sink, self._output = sink, Output(sink)
        self._columns: list[Column[Row]] = [
            each for each in view.columns if each.instead_of is None and each.title and not (each.headless and view.section)
        ]
        self._section = view.section
        self._open: str | None = None
        if view.section is None:
            self._head()

    def write(self, rows: Sequence[Row]) -> None:
        clock = self._sink.clock
        for row in rows:
            section = self._section(row, clock) if self._section else None
            if section is not None and section != self._open:
                self._text(("\n" if self._open is not None else "") + f"### {inert(section)}\n\n")
                self._open = section
                self._head()
            cells = (each.plain(row, clock) if each.plain else each.cell(row, clock).text for each in self._columns)
            self._text("| " + " | ".join(inert(cell) for cell in cells) + " |\n")
        self._output.settle()

    def finish(self) -> None:
        if self._section is not None and self._open is None:
            self._head()
        self._output.flush()

    def _head(self) -> None:
        self._text("| " + " | ".join(inert(each.title) for each in self._columns) + " |\n")
        self._text("|" + "|".join("---:" if each.right else "---" for each in self._columns) + "|\n")

    def _text(self, text: str) -> None:
        self._output.write(text.encode(errors="backslashreplace"))


def inert(text: str) -> str:
    """Escaped text as Markdown that renders as that text: no markup, no link, no mention."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)
