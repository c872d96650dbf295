"""``kdissect read``: every request with its response, as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kdissect.cli import common, listing
from kdissect.cli.command import Command

if TYPE_CHECKING:
    from kdissect.exchange import Exchange
    from kdissect.report.packets.choice import Choice
    from kdissect.report.source import Source
    from kdissect.report.view import View

_PACKETS = "Packets"
_EXAMPLES = [
    ("A table that fits the terminal:", "kdissect read broker.pcapng"),
    ("Several captures, in order of time, times in UTC:", "kdissect read --utc client.pcap broker.pcap"),
    ("Ten seconds of a long one:", "kdissect read broker.pcapng --since '2026-11-21 10:00:20' --until '2026-11-21 10:00:30'"),
    ("Slow produce requests:", "kdissect read broker.pcapng -Y 'api == Produce and latency > 50ms'"),
    ("The ten slowest exchanges:", "kdissect read broker.pcapng --sort latency --reverse --limit 10"),
    ("Columns of your own, fields of the messages among them:", "kdissect read c.pcap --columns time,client_id,api,request.acks"),
    ("Who causes which errors:", "kdissect read broker.pcapng --group-by error"),
    (
        "Live from another machine, only what goes wrong:",
        "ssh broker tcpdump -i any -U -w - port 9092 | kdissect read --watch-errors -",
    ),
    (
        "The packets behind it for Wireshark, without the passwords:",
        "kdissect read broker.pcapng -Y 'topic == orders' -w orders.pcapng --scrub",
    ),
    (
        "Topics that are produced to, with jq:",
        "kdissect read c.pcap -f ndjson --no-bodies | jq 'select(.api==\"Produce\").topics'",
    ),
]


def _view() -> View[Any]:
    from kdissect.report.exchanges import EXCHANGES

    return EXCHANGES


@click.command(cls=Command, examples=_EXAMPLES, short_help="List every request with its response.")
@listing.options(_view)
@common.option(
    "--watch-errors",
    section=common.SELECT,
    is_flag=True,
    help="Only what went wrong: errors, findings, missing answers. What is wrong is spelled out.",
)
@common.option(
    "--group-by",
    section=common.SHOW,
    type=click.Choice(["api", "client", "topic", "broker", "group", "error"]),
    help="Count, measure and sum up by that, instead of one row an exchange.",
)
@common.option(
    "--bodies/--no-bodies",
    section=common.SHOW,
    default=True,
    help="Put the decoded request and response into ndjson, json, tree and parquet (the default), or only the flat fields "
    "(faster).",
)
@common.option("--view", section=common.SHOW, default="exchanges", metavar="NAME", help="What to list; plugins may add views.")
@common.option(
    "-w",
    "--write",
    "packets",
    section=_PACKETS,
    type=click.Path(dir_okay=False, writable=True),
    metavar="PCAPNG",
    help="Also write the packets behind the listed exchanges to a new capture, with errors and findings as packet comments. "
    "Needs files, for they are read again.",
)
@common.option(
    "--scrub",
    section=_PACKETS,
    is_flag=True,
    help="Blank what is secret in these packets: login tokens, passwords, secret settings, and bytes that are in no message.",
)
def command(
    run: listing.Run,
    watch_errors: bool,
    group_by: str | None,
    bodies: bool,
    view: str,
    packets: str | None,
    scrub: bool,
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
    from kdissect.report.source import EachBatch

    host = common.host()
    if view not in host.listings:
        raise click.BadParameter(f"{view!r} is none of {', '.join(host.listings)}", param_hint="'--view'")
    if run.redact and packets is not None:
        why = "-w writes packets as they are; --redact-values cannot reach into them"
        raise click.UsageError(why, click.get_current_context())
    if scrub and packets is None:
        raise click.UsageError("--scrub is for packets: add -w PCAPNG", click.get_current_context())
    listed = host.listings[view]
    shown, source, streams = listed.view, _source(group_by, EachBatch(lambda batch: host.rows(listed, batch))), True
    if group_by is not None:
        from kdissect.report.grouped import grouped_view

        shown, streams = grouped_view(group_by), False
    elif watch_errors and view == "exchanges":
        from kdissect.report.exchanges import FAILURES

        shown = FAILURES
    wanted = run.format(run.looked_at)
    paths = any("." in name for name in (*(run.columns or ()), run.sort or ""))
    # A tree shows bodies without being for programs.
    full = group_by is None and bodies and (wanted.machine or wanted.name == "tree" or paths)
    flat = packets is None and view == "exchanges" and (not full or (wanted.name == "ndjson" and run.columns is None))
    dissection = run.dissection("full" if full else "heads", flat)
    choice = _choose_packets(run, packets, scrub)
    code = run.write(
        shown,
        source,
        dissection,
        bodies=bodies and group_by is None,
        streams=streams,
        keep=_failed if watch_errors else None,
        seen=choice.add if choice is not None else None,
    )
    if choice is not None and packets is not None:
        lines = choice.write(packets)
        if not run.quiet:
            for line in lines:
                common.say(line)
    return code


def _source(group_by: str | None, each: Source[Any]) -> Source[Any]:
    if group_by is None:
        return each
    from kdissect.report.grouped import Groups

    return Groups(group_by)


def _failed(batch: Sequence[Exchange]) -> Sequence[Exchange]:
    return [exchange for exchange in batch if exchange.error_codes or exchange.findings]


def _choose_packets(run: listing.Run, packets: str | None, scrub: bool) -> Choice | None:
    if packets is None:
        return None
    from kdissect.lookahead import can_look_ahead
    from kdissect.report.packets.choice import Choice

    if not can_look_ahead(run.files):
        raise click.UsageError("-w reads the captures twice: give files, not a pipe", click.get_current_context())
    common.not_an_input(packets, run.files)
    if run.show_secrets and not scrub:
        common.warn(f"{packets} may hold logins, passwords and settings; --scrub blanks them")
    return Choice(run.files, scrub, common.warn)
