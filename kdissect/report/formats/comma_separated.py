"""``csv``: the flat keys of a view, one row a line, RFC 4180 quoting."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Generic

from kdissect.report.escape import escape
from kdissect.report.sink import Output, Sink
from kdissect.report.view import Row, View
from kdissect.wire.json import dumps


class CommaSeparated(Generic[Row]):
    """Writes the flat keys under a header line.

    Lists are joined with ``;``, packet ranges are ``first-last``, findings are
    their codes; null is the empty field.  Text is escaped as on the terminal
    and, where a spreadsheet would run it as a formula, begins with an apostrophe.
    """

    def __init__(self, view: View[Row], sink: Sink) -> None:
        self._view, self._output = view, Output(sink)
        self._text = io.StringIO(newline="")
        self._csv = csv.writer(self._text, lineterminator="\n")
        self._csv.writerow(view.keys)

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            values = self._view.to_json(row, False)
            self._csv.writerow([_field(values.get(key)) for key in self._view.keys])
        self._pass_on()
        self._output.settle()

    def finish(self) -> None:
        self._pass_on()
        self._output.flush()

    def _pass_on(self) -> None:
        self._output.write(self._text.getvalue().encode())
        self._text.seek(0)
        self._text.truncate()


def _field(value: object) -> object:
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, int) for item in value):
            return "-".join(map(str, value))
        return _cell(";".join(map(_text, value)))
    return _cell(_text(value))


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "severity" in value:
        return str(value["code"])
    text = dumps(value).decode()
    return text[1:-1] if isinstance(value, (bytes, bytearray, memoryview)) and text.startswith('"') else text


def _cell(text: str) -> str:
    text = escape(text)
    return "'" + text if text[:1] in "=+-@" and text else text
