"""``kdissect records``: what was written and read, record by record."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from kdissect.cli import common, listing
from kdissect.cli.command import Command

if TYPE_CHECKING:
    from kdissect.report.records import Decode
    from kdissect.report.view import View

_EXAMPLES = [
    ("All records of a capture:", "kdissect records broker.pcapng"),
    ("Those written to a topic, as JSON:", "kdissect records c.pcap -Y 'api == Produce and topic == orders' -f ndjson"),
    ("Values as JSON, keys in hex:", "kdissect records c.pcap --decode-as 'orders=json' --decode-as 'orders:key=hex'"),
    ("The largest:", "kdissect records c.pcap --sort value_bytes --reverse --limit 10 --columns topic,offset,value_bytes"),
    ("For a colleague, without what they say:", "kdissect records c.pcap --redact-values -o records.csv"),
    ("For DuckDB or Spark:", "kdissect records c.pcap -o records.parquet"),
]


class DecodeAsType(click.ParamType):  # type: ignore[type-arg]
    """``TOPIC[:key|value]=DECODER``."""

    name = "decoding"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str | None, str]:
        if isinstance(value, tuple):
            return value
        where, equals, decoder = str(value).rpartition("=")
        topic, _, part = where.partition(":")
        if not equals or not topic or part not in ("", "key", "value", "header"):
            self.fail(f"{value!r} is not like 'orders=json' or 'orders:key=utf8'", param, ctx)
        known = common.host().value_decoders
        if decoder not in known:
            self.fail(f"{decoder!r} is none of {', '.join(known)}", param, ctx)
        return topic, part or None, decoder

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        topic, equals, begun = incomplete.rpartition("=")
        if not equals:
            return []
        decoders = common.host().value_decoders.values()
        return [CompletionItem(f"{topic}={each.name}", help=each.help) for each in decoders if each.name.startswith(begun)]


def _view() -> View[Any]:
    from kdissect.report.records import RECORDS

    return RECORDS


@click.command(cls=Command, examples=_EXAMPLES, short_help="List the records that were produced and fetched.")
@listing.options(_view)
@common.option(
    "--decode-as",
    section=common.SHOW,
    type=DecodeAsType(),
    multiple=True,
    metavar="TOPIC=DECODER",
    help="Decode the values and keys of TOPIC (a shell pattern) as json, utf8, hex or what plugins offer; TOPIC:key=DECODER "
    "and TOPIC:value=DECODER for one of them. The last that matches counts.",
)
def command(run: listing.Run, decode_as: tuple[tuple[str, str | None, str], ...]) -> int:
    """List records, one a row: where they stand, who wrote or read them, and what they say.

    A record that was produced and then fetched twice appears three times. The
    offset of a produced record comes from the broker's answer; the time is the
    record's own timestamp. A filter chooses exchanges, not single records.

    Bytes that are text are shown as text, others in hex; the records of Kafka's
    internal topics are decoded.
    """
    from kdissect.report.records import RECORDS, records
    from kdissect.report.source import EachBatch

    dissection = run.dissection("full")
    decode, names = _decoder(decode_as), dissection.state.topic_name
    source = EachBatch(lambda batch: records(batch, names, decode))
    return run.write(RECORDS, source, dissection)


def _decoder(decode_as: tuple[tuple[str, str | None, str], ...]) -> Decode:
    from kdissect.plugins.hooks import RecordPart

    host = common.host()

    def decode(topic: str | None, part: str, data: bytes, header: str | None) -> object:
        name = None
        for pattern, of_part, decoder in decode_as:
            if (of_part == part or (of_part is None and part != "header")) and fnmatchcase(topic or "", pattern):
                name = decoder
        found = host.decode_value(RecordPart(topic, part, data, header), name)  # type: ignore[arg-type]
        return None if found is None else found[1]

    return decode
