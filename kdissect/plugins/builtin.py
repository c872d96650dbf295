"""kdissect's own formats, views, decoders and rules, offered through the hooks that everybody uses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kdissect.errors import KdissectError
from kdissect.plugins.hooks import Listing, RecordPart, Rule, ValueDecoder, hookimpl

if TYPE_CHECKING:
    from kdissect.report.sink import Sink
    from kdissect.report.view import Format, View, Writer
    from kdissect.triage.question import Question


@hookimpl
def kdissect_formats() -> Sequence[Format]:
    from kdissect.report.formats.comma_separated import CommaSeparated
    from kdissect.report.formats.json_lines import JsonArray, JsonLines
    from kdissect.report.formats.markdown import Markdown
    from kdissect.report.formats.table import PlainText, Table
    from kdissect.report.formats.tree_rows import Trees
    from kdissect.report.view import Format
    return [
        Format("table", "aligned columns that fit the terminal", Table, machine=False),
        Format("text", "the same columns uncut, for pipes", PlainText, machine=False, suffixes=(".txt",)),
        Format("tree", "every row with all its fields", Trees, machine=False),
        Format("markdown", "a table for issues and wikis", Markdown, machine=False, suffixes=(".md",)),
        Format("csv", "flat fields under a header line", CommaSeparated, machine=False, suffixes=(".csv",)),
        Format("ndjson", "one JSON object a line, streaming", JsonLines, suffixes=(".ndjson", ".jsonl")),
        Format("json", "one JSON array", JsonArray, suffixes=(".json",)),
        Format("parquet", "a typed table for Spark, DuckDB and pandas", _parquet, suffixes=(".parquet",), to_file=True),
    ]


def _parquet(view: View[Any], sink: Sink) -> Writer[Any]:
    try:
        from kdissect.report.formats.parquet import Parquet

        return Parquet(view, sink)
    except ImportError:
        raise KdissectError("parquet needs pyarrow: pip install 'kdissect[parquet]'") from None


@hookimpl
def kdissect_listings() -> Sequence[Listing]:
    from kdissect.report.exchanges import EXCHANGES

    return [Listing(EXCHANGES, "one row a request with its response", lambda batch: batch)]


@hookimpl
def kdissect_value_decoders() -> Sequence[ValueDecoder]:
    from kdissect.protocol.contents.records import INTERNAL_LOGS

    return [
        ValueDecoder("utf8", "UTF-8 text", _utf8),
        ValueDecoder("json", "JSON", _json),
        ValueDecoder("hex", "hexadecimal digits", lambda part: part.data.hex()),
        *(
            ValueDecoder(log.strip("_"), f"records of Kafka's own {log}", partial(_internal, log), topics=(log,))
            for log in sorted(INTERNAL_LOGS)
        ),
    ]


@hookimpl
def kdissect_questions() -> Sequence[Question]:
    from kdissect.triage.questions import built_in

    return built_in()


@hookimpl
def kdissect_rules() -> Sequence[Rule]:
    from kdissect.triage.removed_version import REMOVED_VERSION

    return [REMOVED_VERSION]


def _utf8(part: RecordPart) -> object:
    try:
        return part.data.decode()
    except UnicodeDecodeError:
        return None


def _internal(log: str, part: RecordPart) -> object:
    from kdissect.protocol.contents.records import open_record

    if part.part == "key":
        found = open_record(log, False, part.data, None).key
    elif part.part == "value":
        found = open_record(log, False, part.key, part.data).value
    else:
        return None
    return None if isinstance(found, bytes) else found


def _json(part: RecordPart) -> object:
    import orjson

    try:
        value: object = orjson.loads(part.data)
    except orjson.JSONDecodeError:
        return None
    return value
