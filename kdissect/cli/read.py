"""``kdissect read``: every request with its response, as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kdissect.cli import common
from kdissect.cli.command import Command
from kdissect.cli.filters import display_filter, records_level
from kdissect.cli.moments import Moment, Window

if TYPE_CHECKING:
    from kdissect.filter import Filter
    from kdissect.report.view import Format

_EXAMPLES = [
    ("A table that fits the terminal:", "kdissect read broker.pcapng"),
    ("Several captures, in order of time, times in UTC:", "kdissect read --utc client.pcap broker.pcap"),
    ("Ten seconds of a long one:", "kdissect read broker.pcapng --since '2026-11-21 10:00:20' --until '2026-11-21 10:00:30'"),
    ("Slow produce requests:", "kdissect read broker.pcapng -Y 'api == Produce and latency > 50ms'"),
    ("The second minute:", "kdissect read broker.pcapng --since +1m --until +2m"),
    ("Live, from another machine:", "ssh broker tcpdump -i any -U -w - port 9092 | kdissect read -"),
    (
        "Topics that are produced to, with jq:",
        "kdissect read c.pcap -f ndjson --no-bodies | jq 'select(.api==\"Produce\").topics'",
    ),
]


@click.command(cls=Command, examples=_EXAMPLES, short_help="List every request with its response.")
@common.files_argument
@display_filter
@common.time_window
@common.option("--limit", section=common.SELECT, type=click.IntRange(min=0), metavar="N", help="Stop after N exchanges.")
@common.option(
    "--sort",
    section=common.SELECT,
    type=click.Choice(["release", "request_time"]),
    default="release",
    help="Order: as exchanges are settled (release; streams), or by the time of the request.",
)
@common.option(
    "--bodies/--no-bodies",
    section=common.SHOW,
    default=True,
    help="Put the decoded request and response into ndjson and json (the default), or only the flat fields (faster).",
)
@common.zone
@common.secrets
@common.option(
    "-f",
    "--format",
    "output",
    section=common.OUTPUT,
    type=common.FormatType(),
    metavar="FORMAT",
    help="table (default on a terminal), text (default in a pipe), ndjson, json or csv; plugins may add more.",
)
@common.option("--view", section=common.OUTPUT, default="exchanges", metavar="NAME", help="What to list; plugins may add views.")
@common.color
@common.quiet
def command(
    files: tuple[str, ...],
    only: Filter | None,
    since: Moment | None,
    until: Moment | None,
    limit: int | None,
    sort: str,
    bodies: bool,
    utc: bool,
    show_secrets: bool,
    output: Format | None,
    view: str,
    color: str,
    quiet: bool,
) -> int:
    """List every Kafka request with its response, or the reason why there is none.

    FILE is a capture (pcap or pcapng, plain, gzip or zstd), or - for standard
    input.  Rows appear as exchanges are settled, so this also follows live
    traffic.  On a terminal the columns adapt to its width; in a pipe nothing is
    cut or coloured.  A summary goes to standard error at the end.

    Colours: red for error responses, yellow and magenta for slow ones (from 100
    ms and 1 s on; 5 s and 50 s for APIs that wait on purpose, such as Fetch),
    yellow for findings.
    """
    from kdissect.dissect import Dissection, Options
    from kdissect.report.closing import Summary

    host = common.host()
    if view not in host.listings:
        raise click.BadParameter(f"{view!r} is none of {', '.join(host.listings)}", param_hint="'--view'")
    listing = host.listings[view]
    sink = common.make_sink(color, utc, bodies, files)
    chosen = output or host.formats["table" if sink.terminal else "text"]
    options = Options(
        records=records_level(only, "full" if bodies and chosen.machine else "heads"),
        filter=only,
        show_secrets=show_secrets,
        sort=None if sort == "release" else sort,
    )
    dissection = Dissection(files, options, common.warn)
    writer = chosen.open(listing.view, sink)
    summary, window = Summary(), Window(since, until)
    stopped = False
    try:
        for all_of_batch in dissection.batches():
            batch = window.keep(all_of_batch, dissection.segmenter.first_time_ns)
            if limit is not None and summary.exchanges + len(batch) >= limit:
                batch, stopped = batch[: limit - summary.exchanges], True
            summary.add(batch)
            writer.write(host.rows(listing, batch))
            if stopped:
                break
    except KeyboardInterrupt:
        writer.finish()  # What was read until then is not lost.
        raise
    writer.finish()
    code = common.complain(dissection)
    if not quiet and not (code and not dissection.capture.packets):
        for line in summary.lines(dissection, stopped):
            common.say(line)
    return code
