"""``kdissect stats``: counts, bytes and latencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kdissect.cli import common
from kdissect.cli.command import Command
from kdissect.cli.filters import display_filter, records_level
from kdissect.cli.moments import Moment, Window

if TYPE_CHECKING:
    from kdissect.filter import Filter

_EXAMPLES = [
    ("What is in a capture:", "kdissect stats broker.pcapng"),
    ("Without the first ten seconds:", "kdissect stats broker.pcapng --since +10s"),
    ("Of one client:", "kdissect stats broker.pcapng -Y 'client in 10.0.7.0/24'"),
    ("Slowest APIs first, with jq:", "kdissect stats -f json c.pcap | jq '.apis | sort_by(-.latency_ms.p99)'"),
    ("Is every byte accounted for?", "kdissect stats -f json c.pcap | jq .ledger"),
]


@click.command(cls=Command, examples=_EXAMPLES, short_help="Count and measure: APIs, clients, topics, errors, lost bytes.")
@common.files_argument
@display_filter
@common.time_window
@common.option("--full", "--all", "full", section=common.SHOW, is_flag=True, help="All rows of every table.")
@common.zone
@common.option(
    "-f",
    "--format",
    "output",
    section=common.OUTPUT,
    type=click.Choice(["table", "json"]),
    default="table",
    help="table (default) or json.",
)
@common.color
@common.pager
@common.quiet
@common.verbose
def command(
    files: tuple[str, ...],
    only: Filter | None,
    since: Moment | None,
    until: Moment | None,
    full: bool,
    utc: bool,
    output: str,
    color: str,
    use_pager: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Count and measure what is in captures: by API, client, topic and error.

    A filter or a time leaves out exchanges; packets, connections and bytes are
    always those of the whole capture.

    An exchange that names several topics or errors counts for each of them.
    Percentiles are nearest-rank. The bytes are all TCP payload bytes of the Kafka
    connections: decoded to the last byte, partial (up to a fault or a cut),
    opaque (no schema, or no request), skipped while looking for the next message,
    duplicate (retransmitted), and missing from the capture.
    """
    from kdissect.cli.pager import paged
    from kdissect.cli.progress import Progress
    from kdissect.dissect import Dissection, Options
    from kdissect.report.closing import details, nothing_found
    from kdissect.report.formats.json_lines import encode
    from kdissect.report.sink import Output
    from kdissect.report.stats import Stats

    host = common.host()  # What plugins add to the schema counts here too.
    dissection = Dissection(files, Options(records=records_level(only, "heads"), filter=only, flat=True), common.warn)
    stats, window = Stats(), Window(since, until)
    for batch in Progress(dissection, not quiet).over(dissection.batches()):
        stats.add(window.keep(batch, dissection.segmenter.first_time_ns))
    tables = stats.to_json(dissection)
    with paged(common.make_sink(color, utc), use_pager and output != "json") as sink:
        if output == "json":
            printed = Output(sink)
            printed.write(encode(tables, sink) + b"\n")
            printed.flush()
        else:
            from kdissect.report.stats_tables import write_stats

            write_stats(tables, dissection.capture, sink, full)
    code = common.complain(dissection)
    if not quiet and not code and not any(c.protocol == "kafka" for c in dissection.connections):
        common.say(nothing_found(dissection))
    if verbose and not quiet:
        for line in details(dissection, host):
            common.say(line)
    return code
