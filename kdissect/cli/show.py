"""``kdissect show``: one exchange with all its fields."""

from __future__ import annotations

import click

from kdissect.cli import common
from kdissect.cli.command import Command

_EXAMPLES = [
    ("The 42nd exchange of a capture, as 'kdissect read' numbers them:", "kdissect show broker.pcapng 42"),
    ("Every field with its offset and bytes:", "kdissect show --bytes broker.pcapng 42"),
    ("All records, values uncut, in a pager:", "kdissect show --full --color always broker.pcapng 42 | less -R"),
    ("With the three exchanges before and after it on its connection:", "kdissect show --context 3 broker.pcapng 42"),
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
@common.option(
    "--context",
    section=common.SHOW,
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    help="Before and after it, list its N neighbours on the connection.",
)
@common.zone
@common.secrets
@common.redact
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
@common.pager
@common.quiet
def command(
    files: tuple[str, ...],
    index: int,
    spans: bool,
    full: bool,
    context: int,
    utc: bool,
    show_secrets: bool,
    redact: bool,
    output: str,
    color: str,
    use_pager: bool,
    quiet: bool,
) -> int:
    """Show the exchange with number INDEX: both messages field by field.

    INDEX is the number that 'kdissect read' gives for the same FILEs. Values
    come with what they mean: names of errors and codes, times, durations, sizes.
    """
    from kdissect.cli.pager import paged
    from kdissect.cli.progress import Progress
    from kdissect.dissect import Dissection, Options
    from kdissect.report.fields import Reading
    from kdissect.report.formats.json_lines import encode
    from kdissect.report.neighbours import Neighbours
    from kdissect.report.redact import redact_values
    from kdissect.report.show import show
    from kdissect.report.sink import Output

    if redact and spans:
        raise click.UsageError("--bytes shows what --redact-values hides", click.get_current_context())
    host = common.host()
    dissection = Dissection(files, Options(show_secrets=show_secrets), common.warn)
    near = Neighbours(index, context)
    for batch in Progress(dissection, not quiet).over(dissection.batches()):
        near.add(batch)
        if near.complete:
            break
    exchange = near.exchange
    if exchange is None:
        if common.complain(dissection) and not near.last:
            return 1
        held = f"the last exchange is number {near.last}" if near.last else "there is no exchange at all"
        raise click.BadParameter(f"no exchange {index}: {held}", param_hint="INDEX")
    if redact:
        redact_values([exchange])
    triage = tuple(finding for _, finding in host.start_rules()([exchange]))
    with paged(common.make_sink(color, utc), use_pager and output != "json") as sink:
        if output == "json":
            printed = Output(sink)
            printed.write(encode(exchange.to_contract(), sink) + b"\n")
            printed.flush()
            return 0
        near.write(sink, before=True)
        show(exchange, sink, Reading(sink.clock, host, full), spans, show_secrets, triage)
        near.write(sink, before=False)
    return 0
