"""``tree``: every row with all its fields, one a line, as ``kdissect show`` draws them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Generic

from kdissect.report.escape import escape
from kdissect.report.sink import Sink
from kdissect.report.tree import Node, TreePrinter
from kdissect.report.values import bytes_text, text_value
from kdissect.report.view import Column, Row, View

FEW: Final = 20
"""Elements of an array that are shown."""
_WORDS: Final = 5
"""Columns that make a row's title."""


class Trees(Generic[Row]):
    """A title of the columns that matter most, and under it the fields of the JSON object; what is null is left out."""

    def __init__(self, view: View[Row], sink: Sink) -> None:
        self._view, self._sink = view, sink
        self._printer = TreePrinter(sink)
        ranked = sorted(view.columns, key=lambda column: (column.rank > 0, -column.rank))
        most = [column for column in ranked if column.instead_of is None][:_WORDS]
        self._title: list[Column[Row]] = [column for column in view.columns if column in most]
        self._first = True

    def write(self, rows: Sequence[Row]) -> None:
        clock = self._sink.clock
        for row in rows:
            if not self._first:
                self._printer.line()
            self._first = False
            cells = [column.cell(row, clock) for column in self._title]
            self._printer.line(*(part for cell in cells if cell.text for part in ((cell.text, cell.style), ("  ", ""))))
            root = Node("", children=nodes(self._view.to_json(row, self._sink.bodies)))
            self._printer.print(root, headless=True)
        self._printer.output.settle()

    def finish(self) -> None:
        self._printer.output.flush()


def nodes(values: dict[str, Any]) -> Iterator[Node]:
    """A node for each field of a JSON-ready object; what is null or empty is left out."""
    for key, value in values.items():
        if value is None or value == [] or value == {}:
            continue
        yield node(escape(str(key)), value)


def node(label: str, value: object) -> Node:
    """A JSON-ready value under its label."""
    if value is None:
        return Node(label, "null", "quiet")
    if isinstance(value, dict):
        return Node(label, "" if value else "{}", "quiet", children=nodes(value))
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, (str, int, float)) for item in value) and len(value) <= FEW:
            return Node(label, ", ".join(_scalar(item)[0] for item in value) or "[]")
        return Node(label, f"[{len(value):,}]", "quiet", children=_elements(value))
    text, style = _scalar(value)
    return Node(label, text, style)


def _elements(values: Sequence[object]) -> Iterable[Node]:
    for at, value in enumerate(values[:FEW]):
        yield node(f"[{at}]", value)
    if len(values) > FEW:
        yield Node(f"… {len(values) - FEW:,} more", label_style="quiet")


def _scalar(value: object) -> tuple[str, str]:
    if isinstance(value, str):
        return text_value(value, False), "text"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes_text(value, False), "text"
    if isinstance(value, bool):
        return str(value).lower(), ""
    if isinstance(value, (int, float)):
        return str(value), ""
    told = getattr(value, "json_value", None)
    return (f"[{len(told())}]", "quiet") if told is not None else (text_value(str(value), False), "")
