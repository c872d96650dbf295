"""``kdissect schema``: what messages look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kdissect.cli import common
from kdissect.cli.command import Command
from kdissect.cli.names import ApiType, VersionType, known_version

if TYPE_CHECKING:
    from kdissect.report.sink import Sink
    from kdissect.report.view import Format
    from kdissect.schema.catalogue import Described
    from kdissect.schema.layout import Layout

_EXAMPLES = [
    ("All APIs with their versions:", "kdissect schema"),
    ("Request and response of one of them:", "kdissect schema Fetch 12"),
    ("The newest version of an API by its key, as JSON:", "kdissect schema 18 -f json"),
    ("The formats of records and of group members' data:", "kdissect schema --formats"),
    ("One of those:", "kdissect schema OffsetCommitValue"),
]


@click.command(cls=Command, examples=_EXAMPLES, short_help="Show what messages look like, at every version.")
@click.argument("api", required=False, type=ApiType(formats=True))
@click.argument("version", required=False, type=VersionType())
@common.option("--formats", section=common.SHOW, is_flag=True, help="List formats of records, headers and group data, not APIs.")
@common.option(
    "-f",
    "--format",
    "output",
    section=common.OUTPUT,
    type=common.FormatType(),
    metavar="FORMAT",
    help="table (default on a terminal), text (default in a pipe), or json; the lists also as ndjson, csv and what plugins add.",
)
@common.color
def command(api: Described | None, version: int | None, formats: bool, output: Format | None, color: str) -> int:
    """List all APIs, or show the fields of one at VERSION (the newest, if not said): request, then response.

    API is a name or a key. Of a type, [] means array and ? may be null; tag is
    the number of a tagged field, which may be absent and then has its default.
    Flexible are versions with compact lengths and tagged fields.
    """
    from kdissect import schema
    from kdissect.report.layouts import APIS, FORMATS

    host = common.host()
    sink = common.make_sink(color, utc=True)
    chosen = output or host.formats["table" if sink.terminal else "text"]
    if api is None:
        if formats:
            listed = chosen.open(FORMATS, sink)
            listed.write(schema.formats())
        else:
            listed = chosen.open(APIS, sink)
            listed.write([schema.api(head.key) for head in schema.apis()])
        listed.finish()
        return 0
    if formats:
        raise click.UsageError("--formats is for the list: leave out the API")
    at = api.versions.stop - 1 if version is None else known_version(api, version, "VERSION")
    layouts = [api.layout(kind, at) for kind in api.definition.sections]
    if chosen.name == "json":
        _write_json(layouts, sink)
    elif chosen.name in ("table", "text"):
        _write_tables(api, layouts, chosen, sink)
    else:
        raise click.BadParameter(f"a layout is shown as table, text or json, not as {chosen.name}", param_hint="--format")
    return 0


def _write_json(layouts: list[Layout], sink: Sink) -> None:
    from kdissect.report.formats.json_lines import encode
    from kdissect.report.layouts import layout_json
    from kdissect.report.sink import Output

    out = Output(sink)
    out.write(encode(layout_json(layouts), sink) + b"\n")
    out.flush()


def _write_tables(described: Described, layouts: list[Layout], chosen: Format, sink: Sink) -> None:
    from kdissect.report.escape import escape
    from kdissect.report.layouts import LAYOUT, accepting, lines, release_text
    from kdissect.report.tree import TreePrinter

    printer = TreePrinter(sink, full=True)
    first = layouts[0]
    facts = [] if first.api_key is None else [f"key {first.api_key}"]
    facts.append(f"versions {described.versions.start}-{described.versions.stop - 1}")
    facts.append("flexible" if first.flexible else "not flexible")
    if first.api_key is not None:
        known = release_text(accepting(first.api_key, first.version))
        facts.append(f"accepted by Kafka {known}" if known else "accepted by no release")
    printer.line((f"{escape(described.name)} v{first.version}", "api"), (f"  {', '.join(facts)}", "quiet"))
    for remark in filter(None, described.definition.comment.split("\n")):
        printer.line((f"  {escape(remark)}", "quiet"))
    for layout in layouts:
        printer.line()
        if layout.kind != "fields":
            printer.line((layout.kind, "heading"), (f"  after header v{layout.header_version}", "quiet"))
        rows = list(lines(layout.fields))
        if not rows:
            printer.line(("no fields", "quiet"))
        printer.output.flush()
        table = chosen.open(LAYOUT, sink)
        table.write(rows)
        table.finish()
    printer.output.flush()
