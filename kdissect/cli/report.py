"""``kdissect report``: what is wrong, who does it, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kdissect.cli import common
from kdissect.cli.command import Command
from kdissect.cli.filters import display_filter, records_level
from kdissect.cli.moments import Moment, Window

if TYPE_CHECKING:
    from kdissect.filter import Filter
    from kdissect.triage.thresholds import Thresholds

FAILED = 3
"""Exit code when ``--fail-on`` is met."""
JUDGE = "What to judge"

_EXAMPLES = [
    ("What is wrong in a capture:", "kdissect report broker.pcapng"),
    ("A page to show to others:", "kdissect report broker.pcapng --html report.html"),
    ("Which clients break on Kafka 4.1?", "kdissect report broker.pcapng --target-version 4.1"),
    ("In a script, exit code 3 on a warning or worse:", "kdissect report c.pcap -q --fail-on warning > /dev/null"),
    ("Be stricter about slow brokers:", "kdissect report broker.pcapng --threshold slow_ms=50"),
]


class ThresholdType(click.ParamType):  # type: ignore[type-arg]
    """``name=value`` of a threshold."""

    name = "threshold"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from kdissect.triage.thresholds import Thresholds

        try:
            Thresholds().with_settings([value])
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        from kdissect.triage.thresholds import described

        return [CompletionItem(f"{name}=", help=why) for name, _, why in described() if name.startswith(incomplete)]


class ReleaseType(click.ParamType):  # type: ignore[type-arg]
    """A Kafka release."""

    name = "release"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from kdissect.triage.api_versions import release

        try:
            return release(value).name
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _list_thresholds(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from kdissect.triage.thresholds import described

        for name, default, why in described():
            click.echo(f"{name}={default:g}\n    {why}")
        ctx.exit()


@click.command(cls=Command, examples=_EXAMPLES, short_help="Say what is wrong, who does it, and what to do.")
@common.files_argument
@display_filter
@common.time_window
@common.option(
    "--target-version",
    "target",
    section=JUDGE,
    type=ReleaseType(),
    metavar="X.Y",
    help="The Kafka release that clients are to be ready for (4.0). Given one, also what it does not have yet counts.",
)
@common.option(
    "--threshold",
    "settings",
    section=JUDGE,
    multiple=True,
    type=ThresholdType(),
    metavar="NAME=VALUE",
    help="From where on to speak of something; may be given several times.",
)
@common.option(
    "--list-thresholds",
    section=JUDGE,
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_list_thresholds,
    help="Print all thresholds with their defaults and reasons.",
)
@common.option("--full", "--all", "full", section=common.SHOW, is_flag=True, help="All rows of every table.")
@common.option(
    "--record-values", section=common.SHOW, is_flag=True, help="Show records in the decoded exchanges of the HTML page, too."
)
@common.secrets
@common.zone
@common.option(
    "-f",
    "--format",
    "output",
    section=common.OUTPUT,
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    help="table (default), json or markdown.",
)
@common.option(
    "--html",
    section=common.OUTPUT,
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write one self-contained page with charts to FILE.",
)
@common.option(
    "--fail-on",
    section=common.OUTPUT,
    type=click.Choice(["critical", "warning", "note"]),
    help="Exit with code 3 when there is a finding this severe or worse.",
)
@common.color
@common.pager
@common.quiet
def command(
    files: tuple[str, ...],
    only: Filter | None,
    since: Moment | None,
    until: Moment | None,
    target: str | None,
    settings: tuple[str, ...],
    full: bool,
    record_values: bool,
    show_secrets: bool,
    utc: bool,
    output: str,
    html: str | None,
    fail_on: str | None,
    color: str,
    use_pager: bool,
    quiet: bool,
) -> int:
    """Say what is wrong in captures: what was seen, how often, who and when, why it matters, and what to do.

    The verdict comes first, then the findings, the worst first, each with the
    exchanges and packets to look at; then who is ready for Kafka 4, where time
    goes, rebalances, lag, and the tables of 'kdissect stats'. A healthy capture
    has no warnings. Findings have stable codes for scripts; every threshold can
    be changed, and --list-thresholds says why each is what it is.
    """
    from kdissect.cli.pager import paged
    from kdissect.cli.progress import Progress
    from kdissect.dissect import Dissection, Options
    from kdissect.report.closing import nothing_found
    from kdissect.report.triage_report import Reporter
    from kdissect.triage.thresholds import Thresholds

    limits: Thresholds = Thresholds().with_settings(settings)
    if html is not None:
        common.not_an_input(html, files)
    reporter = Reporter(common.host(), limits, target)
    records = "full" if record_values else records_level(only, "heads")
    # Samples will do, unless something looks at every single exchange.
    sampled = records == "heads" and since is None and until is None and not reporter.triage.reads_all
    options = Options(records=records, filter=only, show_secrets=show_secrets, flat=sampled, sample=sampled)
    dissection = Dissection(files, options, common.warn)
    window = Window(since, until)
    for batch in Progress(dissection, not quiet).over(dissection.batches()):
        reporter.add(window.keep(batch, dissection.segmenter.first_time_ns))
    report = reporter.finish(dissection)
    if html is not None:
        from kdissect.report.html.page import render

        with open(html, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(render(report, common.host()))
        if not quiet:
            common.say(f"wrote {html}: {report.data['summary']['verdict']}")
    if html is None or output != "table":
        with paged(common.make_sink(color, utc), use_pager and output == "table") as sink:
            _write(report, output, sink, full)
    code = common.complain(dissection)
    if not quiet and not code and not any(c.protocol == "kafka" for c in dissection.connections):
        common.say(nothing_found(dissection))
    return code or (FAILED if fail_on is not None and report.fails(fail_on) else 0)


def _write(report: Any, output: str, sink: Any, full: bool) -> None:
    from kdissect.report.sink import Output

    if output == "table":
        from kdissect.report.triage_terminal import write_report

        write_report(report, sink, full)
        return
    printed = Output(sink)
    if output == "json":
        from kdissect.report.formats.json_lines import encode

        printed.write(encode(report.data, sink) + b"\n")
    else:
        from kdissect.report.triage_markdown import markdown

        printed.write(markdown(report).encode(errors="backslashreplace"))
    printed.flush()
