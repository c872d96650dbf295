"""What the commands share: options, the plugin host, where output goes, warnings, and the closing lines."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Sequence
from functools import cache
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kdissect.cli.command import Option
from kdissect.cli.moments import MomentType
from kdissect.report.escape import escape
from kdissect.report.human import Clock
from kdissect.report.sink import Sink

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.plugins.host import Host
    from kdissect.report.view import Format

Callback = TypeVar("Callback", bound=Callable[..., Any])

SELECT, SHOW, OUTPUT = "Which exchanges", "What to show", "Output"
"""Sections of every command's help."""

BUILT_IN_FORMATS = ("table", "text", "ndjson", "json", "csv")


def option(*names: str, section: str, **settings: Any) -> Callable[[Callback], Callback]:
    """A click option in a section of the help."""
    return click.option(*names, cls=Option, section=section, **settings)


def files_argument(function: Callback) -> Callback:
    """``FILE...``: captures, ``-`` for standard input."""
    return click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))(function)


def combined(*decorators: Callable[[Callback], Callback]) -> Callable[[Callback], Callback]:
    """Several options as one decorator; they appear in the help in the order given."""

    def apply(function: Callback) -> Callback:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


class FormatType(click.ParamType):  # type: ignore[type-arg]
    """The name of an output format, built in or from a plugin."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Format:
        formats = host().formats
        if value not in formats:
            self.fail(f"{value!r} is none of {', '.join(formats)}", param, ctx)
        return formats[value]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=item.help) for name, item in host().formats.items() if name.startswith(incomplete)]


time_window = combined(
    option("--since", section=SELECT, type=MomentType(), metavar="TIME", help="Leave out what was requested before TIME."),
    option(
        "--until",
        section=SELECT,
        type=MomentType(),
        metavar="TIME",
        help="Leave out what was requested at TIME or later. TIME is like '2026-11-21 10:00', 2026-11-21T10:00:00.25Z, "
        "or +30s and +1m30s, counted from the capture's first packet.",
    ),
)
zone = option(
    "--utc/--local",
    section=SHOW,
    default=False,
    is_eager=True,
    help="Show and read times in UTC or in this machine's time zone (the default). Machine formats are always UTC.",
)
secrets = option(
    "--show-secrets", section=SHOW, is_flag=True, help="Show passwords, tokens and secret settings instead of their length."
)
color = option(
    "--color",
    section=OUTPUT,
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Use colours; auto does on a terminal, unless NO_COLOR is set.",
)
redact = option(
    "--redact-values",
    "redact",
    section=SHOW,
    is_flag=True,
    help="For sharing: the length of record keys, values and header values instead of what they say.",
)
format_option = option(
    "-f",
    "--format",
    "output",
    section=OUTPUT,
    type=FormatType(),
    metavar="FORMAT",
    help="table (default on a terminal), text (default in a pipe), tree, markdown, csv, ndjson, json, or parquet with -o; "
    "plugins may add more.",
)
output_file = option(
    "-o",
    "--output",
    "out",
    section=OUTPUT,
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write to FILE, in the format that its name ends in unless --format says otherwise.",
)
pager = option(
    "--pager/--no-pager",
    "use_pager",
    section=OUTPUT,
    default=True,
    help="Long output on a terminal goes through $KDISSECT_PAGER, $PAGER or less, or not.",
)
quiet = option("-q", "--quiet", section=OUTPUT, is_flag=True, help="No progress, no summary and no warnings on standard error.")
verbose = option("-v", "--verbose", section=OUTPUT, is_flag=True, help="Tell at the end what was read, and how fast.")


@cache
def host() -> Host:
    """The plugins of this run."""
    from kdissect.plugins.host import Host

    found = Host(on_failure=warn)
    found.load_schema_files()
    return found


def warn(text: str) -> None:
    """One line on standard error, unless the user asked for quiet."""
    context = click.get_current_context(silent=True)
    if not (context and context.params.get("quiet")):
        _say(click.style("warning: ", fg="yellow", bold=True) + escape(text))


def complain(dissection: Dissection) -> int:
    """One line for each input that could not be read, also when quiet; returns the exit code that they make."""
    errors = [file.error for file in dissection.reader.files if file.error is not None]
    for error in errors:
        _say(click.style("error: ", fg="red", bold=True) + escape(error))
    return 1 if errors else 0


def say(text: str) -> None:
    """One line on standard error that is neither a warning nor an error."""
    _say(escape(text))


def _say(text: str) -> None:
    click.echo(click.style("kdissect: ", bold=True) + text, err=True)


def make_sink(color: str, utc: bool, bodies: bool = True, files: Sequence[str] = ()) -> Sink:
    """Standard output as it is: a terminal of some size, or a pipe."""
    terminal = sys.stdout.isatty()
    size = get_terminal_size((120, 40))
    colored = color == "always" or (
        color == "auto" and terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )
    return Sink(
        stream=sys.stdout.buffer,
        terminal=terminal or color == "always",
        color=colored,
        width=size.columns,
        height=size.lines,
        eager=any(_is_live(file) for file in files),
        bodies=bodies,
        clock=Clock(utc),
    )


def on_terminal() -> bool:
    """Whether somebody is looking at standard output."""
    return sys.stdout.isatty()


def not_an_input(out: str, files: Sequence[str]) -> None:
    """Wrong usage where an output file is one of the captures."""
    for file in files:
        if file != "-" and os.path.exists(file) and os.path.exists(out) and os.path.samefile(file, out):
            raise click.UsageError(f"{out} is one of the captures; nothing was written", click.get_current_context(silent=True))


def _is_live(file: str) -> bool:
    """Whether bytes may still be on their way: standard input and named pipes."""
    try:
        return file == "-" or stat.S_ISFIFO(os.stat(file).st_mode)
    except (OSError, ValueError):
        return False
