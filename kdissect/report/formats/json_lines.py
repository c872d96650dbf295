"""``ndjson``: one compact JSON object a line; and ``json``: the same objects in one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from kdissect.columnar.batch import ExchangeBatch
from kdissect.columnar.ndjson import write_lines
from kdissect.report.escape import json_for_terminal
from kdissect.report.sink import Output, Sink
from kdissect.report.view import Row, View
from kdissect.wire.json import dumps


class JsonLines(Generic[Row]):
    """Writes a view as newline-delimited JSON: the project's contract with scripts."""

    def __init__(self, view: View[Row], sink: Sink) -> None:
        self._to_json, self._sink, self._output = view.to_json, sink, Output(sink)

    def write(self, rows: Sequence[Row]) -> None:
        bodies = self._sink.bodies
        if isinstance(rows, ExchangeBatch) and not self._sink.terminal and (rows.columns.bodies is not None or not bodies):
            self._output.write(write_lines(rows, bodies))
        else:
            for row in rows:
                self._output.write(encode(self._to_json(row, self._sink.bodies), self._sink) + b"\n")
        self._output.settle()

    def finish(self) -> None:
        self._output.flush()


class JsonArray(Generic[Row]):
    """Writes a view as one JSON array with an object a line, streaming; ``[]`` when there are no rows."""

    def __init__(self, view: View[Row], sink: Sink) -> None:
        self._to_json, self._sink, self._output = view.to_json, sink, Output(sink)
        self._before = b"[\n"

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._output.write(self._before + encode(self._to_json(row, self._sink.bodies), self._sink))
            self._before = b",\n"
        self._output.settle()

    def finish(self) -> None:
        self._output.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")
        self._output.flush()


def encode(value: object, sink: Sink) -> bytes:
    """``value`` as compact JSON; on a terminal, characters it would act upon are ``\\u`` escapes of the same meaning."""
    data = dumps(value)
    return json_for_terminal(data.decode()).encode() if sink.terminal else data
