"""``table``: rows for a terminal, streaming; and ``text``: the same for a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple

from kdissect.report.layout import GAP, cells, cut, fit, pad, wrapped
from kdissect.report.sink import Output, Sink
from kdissect.report.style import RESET, STYLES, sgr
from kdissect.report.view import Cell, Column, Row, View

SAMPLE = 200
"""Rows that are looked at before the widths are fixed; a live source is not waited for."""


class _Head(NamedTuple):
    """What stands above a row where it differs from what stands above the one before."""

    moment: int | None
    section: str


class Table(Generic[Row]):
    """Fits the columns to the terminal after a first look at the rows, then prints rows as they come.

    A value wider than its column is cut; in a column that must not be cut it
    takes room from the columns after it, in its row alone.
    """

    def __init__(self, view: View[Row], sink: Sink) -> None:
        self._view, self._sink, self._output = view, sink, Output(sink)
        self._columns = [column for column in view.columns if not (column.headless and view.section)]
        self._waiting: list[list[Cell]] = []
        self._heads: list[_Head] = []
        self._widths: dict[int, int] | None = None
        self._day = self._section = ""
        self._codes = {name: sgr(name) for name in ("", *STYLES)} if sink.color else {}

    def write(self, rows: Sequence[Row]) -> None:
        view, clock = self._view, self._sink.clock
        for row in rows:
            line = [column.cell(row, clock) for column in self._columns]
            head = _Head(view.moment(row) if view.moment else None, view.section(row, clock) if view.section else "")
            if self._widths is None:
                self._waiting.append(line)
                self._heads.append(head)
                if len(self._waiting) >= SAMPLE:
                    self._begin()
            else:
                self._line(line, head)
        if self._waiting and self._sink.eager:
            self._begin()
        self._output.settle()

    def finish(self) -> None:
        if self._waiting:
            self._begin(more=False)
        self._output.flush()

    def _begin(self, more: bool = True) -> None:
        if not more:
            self._leave_out_spare()
        columns = self._columns
        natural = [max(cells(line[at].text) for line in self._waiting) for at in range(len(columns))]
        self._widths = fit(columns, natural, self._sink.width, more)
        self._emit([Cell(column.title, "heading") for column in columns])
        for line, head in zip(self._waiting, self._heads, strict=True):
            self._line(line, head)
        self._waiting.clear()
        self._heads.clear()

    def _leave_out_spare(self) -> None:
        """All rows are known: columns that may go if they are empty go."""
        kept = [
            at
            for at, column in enumerate(self._columns)
            if not (column.spare and column.rank and all(line[at].text in ("", "-") for line in self._waiting))
        ]
        self._columns = [self._columns[at] for at in kept]
        self._waiting = [[line[at] for at in kept] for line in self._waiting]

    def _line(self, line: list[Cell], head: _Head) -> None:
        if head.section != self._section:
            self._section = head.section
            self._rule(head.section, "heading")
        if head.moment is not None:
            clock = self._sink.clock
            day = clock.day(head.moment)
            if day != self._day:
                self._day = day
                self._rule(f"{day} {clock.zone(head.moment)}", "quiet")
        self._emit(line)

    def _rule(self, title: str, style: str) -> None:
        """A heading drawn over the whole width."""
        title = cut(f"── {title} ", self._sink.width)
        self._text(self._styled(title + "─" * (self._sink.width - cells(title)), style) + "\n")

    def _emit(self, line: list[Cell]) -> None:
        assert self._widths is not None
        columns, parts, debt, rest = self._columns, [], 0, []
        shown = list(self._widths.items())
        for place, (at, width) in enumerate(shown):
            column, (text, style) = columns[at], line[at]
            if column.minimum is None:
                over = max(0, cells(text) - width)
                width, debt = width + over, debt + over
            elif debt:
                paid = min(debt, width - 1)
                width, debt = width - paid, debt - paid
            last = place == len(shown) - 1
            if last and column.wrap and cells(text) > width:
                text, *rest = wrapped(text, width)
            text = cut(text, width) if column.minimum is not None else text
            blanks = 0 if last and not column.right else width - cells(text)
            styled = self._styled(text, style)
            parts.append(" " * blanks + styled if column.right else styled + " " * blanks)
        self._text((" " * GAP).join(parts).rstrip(" ") + "\n")
        indent = " " * sum(width + GAP for _, width in shown[:-1])
        for text in rest:
            self._text(indent + self._styled(text, line[shown[-1][0]].style) + "\n")

    def _styled(self, text: str, style: str) -> str:
        code = self._codes.get(style)
        return f"{code}{text}{RESET}" if code and text else text

    def _text(self, text: str) -> None:
        self._output.write(text.encode(errors="backslashreplace"))


class PlainText(Generic[Row]):
    """One header line, then one line a row: nothing cut, nothing coloured, columns aligned as far as the first rows tell."""

    def __init__(self, view: View[Row], sink: Sink) -> None:
        self._view, self._sink, self._output = view, sink, Output(sink)
        self._columns: list[Column[Row]] = [column for column in view.columns if column.instead_of is None]
        self._waiting: list[list[str]] = []
        self._widths: list[int] | None = None

    def write(self, rows: Sequence[Row]) -> None:
        clock = self._sink.clock
        for row in rows:
            line = [column.plain(row, clock) if column.plain else column.cell(row, clock).text for column in self._columns]
            if self._widths is None:
                self._waiting.append(line)
                if len(self._waiting) >= SAMPLE:
                    self._begin()
            else:
                self._emit(line)
        if self._waiting and self._sink.eager:
            self._begin()
        self._output.settle()

    def finish(self) -> None:
        if self._waiting:
            self._begin()
        self._output.flush()

    def _begin(self) -> None:
        titles = [column.title for column in self._columns]
        self._widths = [max(cells(line[at]) for line in [titles, *self._waiting]) for at in range(len(titles))]
        self._emit(titles)
        for line in self._waiting:
            self._emit(line)
        self._waiting.clear()

    def _emit(self, line: list[str]) -> None:
        assert self._widths is not None
        aligned = (pad(t, max(w, cells(t)), c.right) for t, w, c in zip(line, self._widths, self._columns, strict=True))
        self._output.write(((" " * GAP).join(aligned).rstrip(" ") + "\n").encode(errors="backslashreplace"))
