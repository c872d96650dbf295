"""What all listing commands share: options, and the run from captures to rows in some format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import click

from kdissect.cli import common
from kdissect.cli.filters import display_filter
from kdissect.cli.moments import Moment, Window

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange
    from kdissect.filter import Filter
    from kdissect.report.sink import Sink
    from kdissect.report.source import Source
    from kdissect.report.view import Format, View

Callback = TypeVar("Callback", bound=Callable[..., Any])
Records = Literal["full", "heads", "skip"]

RELEASE: Final = "release"


def options(view: Callable[[], View[Any]] | None = None) -> Callable[[Callback], Callback]:
    """All options of a listing; the command gets them together as its first argument, a :class:`Run`.

    ``view``: what completes the names of columns.
    """

    def decorate(function: Callback) -> Callback:
        @wraps(function)
        def command(*arguments: Any, **given: Any) -> Any:
            run = Run(**{field.name: given.pop(field.name) for field in fields(Run) if field.name in given})
            return function(run, *arguments, **given)

        return common.combined(
            common.files_argument,
            display_filter,
            common.time_window,
            common.option("--limit", section=common.SELECT, type=click.IntRange(min=0), metavar="N", help="Stop after N rows."),
            common.option(
                "--columns",
                section=common.SHOW,
                type=ColumnsType(view),
                metavar="NAMES",
                help="Show these columns, separated by commas: titles of the table, keys of the JSON output, or paths like "
                "request.acks where there are bodies.",
            ),
            common.option(
                "--sort",
                section=common.SHOW,
                type=ColumnType(view),
                metavar="NAME",
                help="Sort by a column or key; with --limit only the first rows are kept in memory. 'release' is the order "
                "in which exchanges are settled (the default; streams).",
            ),
            common.option("--reverse", section=common.SHOW, is_flag=True, help="The other way round: largest, latest first."),
            common.zone,
            common.secrets,
            common.redact,
            common.format_option,
            common.output_file,
            common.color,
            common.pager,
            common.quiet,
            common.verbose,
        )(command)  # type: ignore[return-value]

    return decorate


class ColumnType(click.ParamType):  # type: ignore[type-arg]
    """Name of a column; which there are depends on the view, so it is looked up later."""

    name = "column"

    def __init__(self, view: Callable[[], View[Any]] | None) -> None:
        self.view = view

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        from kdissect.report.select import names

        if self.view is None:
            return []
        before, comma, last = incomplete.rpartition(",") if self.name == "columns" else ("", "", incomplete)
        return [CompletionItem(before + comma + name) for name in names(self.view()) if name.startswith(last)]


class ColumnsType(ColumnType):
    """Names of columns, separated by commas."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, str):
            value = value.split(",")
        names = tuple(str(name).strip() for name in value)
        if not all(names):
            self.fail("a name is missing", param, ctx)
        return names


@dataclass(frozen=True, slots=True)
class Run:
    """A listing as it was asked for."""

    files: tuple[str, ...]
    only: Filter | None = None
    since: Moment | None = None
    until: Moment | None = None
    limit: int | None = None
    columns: tuple[str, ...] | None = None
    sort: str | None = None
    reverse: bool = False
    utc: bool = False
    show_secrets: bool = False
    redact: bool = False
    output: Format | None = None
    out: str | None = None
    color: str = "auto"
    use_pager: bool = True
    quiet: bool = False
    verbose: bool = False

    def dissection(self, records: Records, flat: bool = False) -> Dissection:
        """Opens the captures; ``records``: how far record batches must be read for what is shown; ``flat``: no bodies at all."""
        from kdissect.dissect import Dissection, Options

        common.host()  # What plugins add to the schema counts, too.
        level: Records = records
        if self.only is not None and (records == "skip" or self.only.records == "full"):
            level = self.only.records
        return Dissection(
            self.files, Options(records=level, filter=self.only, show_secrets=self.show_secrets, flat=flat), common.warn
        )

    @property
    def looked_at(self) -> bool:
        """Whether a person is to look at the output."""
        return common.on_terminal() or self.color == "always"

    def format(self, terminal: bool) -> Format:
        """The format that was asked for, by name or by the name of the output file; else what suits where it goes."""
        formats = common.host().formats
        if self.output is not None:
            chosen = self.output
        else:
            ending = os.path.splitext(self.out or "")[1].lower()
            by_name = (each for each in formats.values() if ending and ending in each.suffixes)
            chosen = next(by_name, formats["table" if terminal and self.out is None else "text"])
        if chosen.to_file and self.out is None:
            raise click.UsageError(f"{chosen.name} goes to a file: add -o FILE")
        return chosen

    @contextmanager
    def sink(self, bodies: bool = True, machine: bool = False) -> Iterator[Sink]:
        """Where the output goes: a file, the pager, or standard output."""
        from kdissect.cli.pager import paged

        if self.out is not None:
            common.not_an_input(self.out, self.files)
            with open(self.out, "wb") as stream:
                plain = common.make_sink("never", self.utc, bodies)
                yield replace(plain, stream=stream, terminal=False, color=False)
            return
        with paged(common.make_sink(self.color, self.utc, bodies, self.files), self.use_pager and not machine) as sink:
            yield sink

    def write(
        self,
        view: View[Any],
        source: Source[Any],
        dissection: Dissection,
        *,
        bodies: bool = True,
        streams: bool = True,
        format: Callable[[bool], Format] | None = None,
        keep: Callable[[Sequence[Exchange]], Sequence[Exchange]] | None = None,
        seen: Callable[[Sequence[Exchange]], None] | None = None,
    ) -> int:
        """Lists what ``source`` makes of the exchanges; returns the exit code.

        ``bodies``: machine formats include them; ``streams``: rows come long before the end; ``format``: chooses it, given
        whether a terminal is looking; ``keep`` takes some of the exchanges of a batch, ``seen`` is told of them.
        """
        from kdissect.cli.progress import Progress
        from kdissect.report.closing import Summary
        from kdissect.report.order import Sorter
        from kdissect.report.redact import redact_values
        from kdissect.report.select import NoSuchColumn, select

        chosen = (format or self.format)(self.looked_at)
        sorter: Sorter[Any] | None = None
        try:
            shown = view if self.columns is None else select(view, self.columns)
            if self.sort not in (None, RELEASE) or self.reverse:
                name = self.sort if self.sort not in (None, RELEASE) else _own_order(view)
                assert name is not None
                sorter = Sorter(view, name, self.reverse, self.limit)
        except NoSuchColumn as error:
            raise click.UsageError(str(error), click.get_current_context()) from None
        summary, window, rows, stopped = Summary(), Window(self.since, self.until), 0, False
        quiet_terminal = not common.on_terminal() or not streams or sorter is not None
        with self.sink(bodies, chosen.machine) as sink:
            writer = chosen.open(shown, sink)

            def put(found: Iterable[Any]) -> None:
                nonlocal rows, stopped
                if sorter is not None:
                    sorter.add(found)
                    return
                ready = found if isinstance(found, Sequence) else list(found)
                if self.limit is not None and rows + len(ready) >= self.limit:
                    ready, stopped = ready[: self.limit - rows], True
                rows += len(ready)
                writer.write(ready)

            try:
                for all_of_batch in Progress(dissection, quiet_terminal and not self.quiet).over(dissection.batches()):
                    batch = window.keep(all_of_batch, dissection.segmenter.first_time_ns)
                    if keep is not None:
                        batch = keep(batch)
                    if self.limit is not None and sorter is None and view.name == "exchanges":
                        batch = batch if len(batch) <= self.limit - rows else batch[: self.limit - rows]
                    if self.redact:
                        batch = redact_values(batch)
                    summary.add(batch)
                    if seen is not None:
                        seen(batch)
                    put(source.add(batch))
                    if stopped:
                        break
                else:
                    put(source.finish(dissection))
            except KeyboardInterrupt:
                writer.finish()  # What was read until then is not lost.
                raise
            if sorter is not None:
                ready = sorter.rows()
                rows = len(ready)
                writer.write(ready)
            writer.finish()
        cut_short = stopped and streams
        return self.close(dissection, summary.lines(dissection, f"{rows:,} {view.name}" if cut_short else None))

    def close(self, dissection: Dissection, lines: Iterable[str]) -> int:
        """The lines that end a run, and its exit code."""
        code = common.complain(dissection)
        if self.quiet or (code and not dissection.capture.packets):
            return code
        for line in lines:
            common.say(line)
        if self.verbose:
            from kdissect.report.closing import details

            for line in details(dissection, common.host()):
                common.say(line)
        return code


def _own_order(view: View[Any]) -> str:
    """What a view is sorted by when it is only to be turned round."""
    from kdissect.report.select import key_of

    times = [key for key in view.keys if view.kinds.get(key) == "time"]
    return next(iter(times), key_of(view.columns[0]))
