"""``parquet``: the rows as a table for Spark, DuckDB, pandas and polars (Apache Parquet)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Generic

from kdissect.report.sink import Sink
from kdissect.report.view import Row, View
from kdissect.wire.json import dumps

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

GROUP: Final = 50_000
"""Rows of a row group, if their text does not fill :data:`GROUP_BYTES` before."""
GROUP_BYTES: Final = 64 << 20
_ORDERLESS: Final = ("index", "connection", "exchange")
"""Numbers that mean something only within one call: tables have no such order."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIME: Final = re.compile(r"(\d+-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z")


class Parquet(Generic[Row]):
    """Writes the flat keys as typed columns, and what is nested and has no type of its own as JSON text.

    Times are microseconds in UTC, which every reader knows; ``latency_ms`` keeps what is finer.
    """

    def __init__(self, view: View[Row], sink: Sink) -> None:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        keys = [key for key in view.keys if key not in _ORDERLESS]
        if sink.bodies:
            keys += [key for key, kind in view.kinds.items() if kind == "json" and key not in keys]
        self._keys = keys
        self._view, self._sink = view, sink
        self._kinds = [view.kinds.get(key, "text") for key in keys]
        self._schema = _schema(keys, self._kinds)
        self._writer = pq.ParquetWriter(sink.stream, self._schema, compression="zstd")
        self._start()

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            values = self._view.to_json(row, self._sink.bodies)
            for column, key, kind in zip(self._columns, self._keys, self._kinds, strict=True):
                value = _VALUES[kind](values.get(key))
                column.append(value)
                if isinstance(value, str):
                    self._size += len(value)
            if len(self._columns[0]) >= GROUP or self._size >= GROUP_BYTES:
                self._pass_on()

    def finish(self) -> None:
        self._pass_on()
        self._writer.close()
        self._sink.stream.flush()

    def _start(self) -> None:
        self._columns: list[list[Any]] = [[] for _ in self._keys]
        self._size = 0

    def _pass_on(self) -> None:
        import pyarrow as pa

        if self._columns[0]:
            arrays = [pa.array(values, field.type) for values, field in zip(self._columns, self._schema, strict=True)]
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
            self._start()


def _schema(keys: Sequence[str], kinds: Sequence[str]) -> pa.Schema:
    import pyarrow as pa

    finding = pa.struct([("code", pa.string()), ("severity", pa.string()), ("text", pa.string())])
    types = {
        "integer": pa.int64(),
        "float": pa.float64(),
        "boolean": pa.bool_(),
        "time": pa.timestamp("us", "UTC"),
        "text": pa.string(),
        "json": pa.string(),
        "texts": pa.list_(pa.string()),
        "integers": pa.list_(pa.int64()),
        "findings": pa.list_(finding),
    }
    return pa.schema([(key, types[kind]) for key, kind in zip(keys, kinds, strict=True)])


def _time(value: object) -> int | None:
    """Microseconds since the epoch of an RFC 3339 time in UTC."""
    match = _TIME.fullmatch(str(value)) if value is not None else None
    if match is None:
        return None
    whole = datetime.fromisoformat(match[1]).replace(tzinfo=UTC) - _EPOCH
    return whole // timedelta(microseconds=1) + int((match[2] or "").ljust(6, "0")[:6])


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return dumps(value).decode()


def _same(value: Any) -> Any:
    return value


_VALUES: Final[dict[str, Callable[[Any], Any]]] = {
    "integer": _same,
    "float": lambda value: None if value is None else float(value),
    "boolean": _same,
    "time": _time,
    "text": _text,
    "json": lambda value: None if value is None else dumps(value).decode(),
    "texts": lambda value: None if value is None else [_text(item) for item in value],
    "integers": lambda value: None if value is None else list(value),
    "findings": _same,
}
