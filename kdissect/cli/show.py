"""``kdissect show``: one exchange with all its fields."""

from __future__ import annotations

import click

from kdissect.cli import common
from kdissect.cli.command import Command

_EXAMPLES = [
    ("The 42nd exchange of a capture, as 'kdissect read' numbers them:", "kdissect show broker.pcapng 42"),
    ("Every field with its offset and bytes:", "kdissect show --bytes broker.pcapng 42"),
    ("All records, values uncut, in a pager:", "kdissect show --full --color always broker.pcapng 42 | less -R"),
    ("The same as JSON:", "kdissect show --format json broker.pcapng 42 | jq .response"),
]


@click.command(cls=Command, examples=_EXAMPLES, short_help="Show one exchange with all its fields.")
@common.files_argument
@click.argument("index", type=click.IntRange(min=1), metavar="INDEX")
@common.option(
    "--bytes",
    "spans",
    section=common.SHOW,
    is_flag=True,
    help="Offset (in the message, after its size), length and bytes of each field.",
)
@common.option("--full", "--all", "full", section=common.SHOW, is_flag=True, help="All elements, all records, values uncut.")
@common.zone
@common.secrets
@common.option(
    "-f",
    "--format",
    "output",
    section=common.OUTPUT,
    type=click.Choice(["tree", "json"]),
    default="tree",
    help="tree (default) or json.",
)
@common.color
@common.quiet
def command(
    files: tuple[str, ...],
    index: int,
    spans: bool,
    full: bool,
    utc: bool,
    show_secrets: bool,
    output: str,
    color: str,
    quiet: bool,
) -> int:
    """Show the exchange with number INDEX: both messages field by field.

    INDEX is the number that 'kdissect read' gives for the same FILEs. Values
    come with what they mean: names of errors and codes, times, durations, sizes.
    """
    from kdissect.dissect import Dissection, Options
    from kdissect.report.fields import Reading
    from kdissect.report.formats.json_lines import encode
    from kdissect.report.show import show
    from kdissect.report.sink import Output

    host = common.host()
    dissection = Dissection(files, Options(show_secrets=show_secrets), common.warn)
    last = 0
    for batch in dissection.batches():
        for exchange in batch:
            last = max(last, exchange.index)
            if exchange.index == index:
                break
        else:
            continue
        break
    else:
        if common.complain(dissection) and not last:
            return 1
        held = f"the last exchange is number {last}" if last else "there is no exchange at all"
        raise click.BadParameter(f"no exchange {index}: {held}", param_hint="INDEX")
    sink = common.make_sink(color, utc)
    if output == "json":
        printed = Output(sink)
        printed.write(encode(exchange.to_contract(), sink) + b"\n")
        printed.flush()
        return 0
    triage = tuple(finding for _, finding in host.start_rules()([exchange]))
    show(exchange, sink, Reading(sink.clock, host, full, topic_names=dissection.state.topic_names), spans, show_secrets, triage)
    return 0
