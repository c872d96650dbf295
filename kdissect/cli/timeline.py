"""``kdissect timeline``: exchanges over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kdissect.cli import common, listing
from kdissect.cli.command import Command

if TYPE_CHECKING:
    from kdissect.report.sink import Sink
    from kdissect.report.view import Format, View, Writer

_EXAMPLES = [
    ("How busy it was:", "kdissect timeline broker.pcapng"),
    ("Of one client, a column a second:", "kdissect timeline broker.pcapng -Y 'client_id == billing' --interval 1s"),
    ("When produce was slow:", "kdissect timeline broker.pcapng -Y 'api == Produce and latency > 100ms'"),
    ("The numbers, for a spreadsheet:", "kdissect timeline broker.pcapng --interval 10s -o timeline.csv"),
]


class IntervalType(click.ParamType):  # type: ignore[type-arg]
    """A duration such as ``250ms``, ``1s``, ``1m30s``; nanoseconds."""

    name = "interval"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from kdissect.moments import parse_moment

        if isinstance(value, int):
            return value
        try:
            found = parse_moment(f"+{value}", True).ns
        except ValueError:
            found = 0
        if found < 1000:
            self.fail(f"{value!r} is no interval: write it like 1s, 250ms or 5m", param, ctx)
        return found


def _view() -> View[Any]:
    from kdissect.report.timeline import TIMELINE

    return TIMELINE


@click.command(cls=Command, examples=_EXAMPLES, short_help="Plot requests, bytes and latency over time.")
@listing.options(_view)
@common.option(
    "--interval",
    section=common.SHOW,
    type=IntervalType(),
    metavar="TIME",
    help="Length of an interval, such as 1s; else as it fits.",
)
@common.option(
    "--plot/--rows",
    default=None,
    section=common.SHOW,
    help="Plots (default on a terminal), or a row an interval (default in a pipe and with --format).",
)
def command(run: listing.Run, interval: int | None, plot: bool | None) -> int:
    """Plot exchanges per second, bytes per second and latency over time.

    An exchange counts at the time of its request. Failed ones have error codes
    or no answer. Latencies leave out the APIs that wait on purpose, such as
    Fetch. On a long plot, neighbouring intervals are joined until it fits.
    """
    from kdissect.report.plot import PlotWriter, plot_width
    from kdissect.report.timeline import TIMELINE, Timeline
    from kdissect.report.view import Format

    def plotted(view: View[Any], sink: Sink) -> Writer[Any]:
        return PlotWriter(sink)

    picture = Format("plot", "plots", plotted, machine=False)
    named = run.output is not None or run.out is not None or run.columns is not None or run.sort is not None

    def chosen(terminal: bool) -> Format:
        return picture if plot or (plot is None and terminal and not named) else run.format(terminal)

    aim = plot_width(common.make_sink(run.color, run.utc)) if chosen(run.looked_at) is picture else 100
    source = Timeline(interval, aim)
    return run.write(TIMELINE, source, run.dissection("skip", flat=True), streams=False, format=chosen)
