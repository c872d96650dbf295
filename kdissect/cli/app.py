"""The ``kdissect`` command: its table of contents, and how every run ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

import click

from kdissect import __version__
from kdissect.cli.command import write_examples
from kdissect.errors import KdissectError
from kdissect.report.escape import escape

INTERRUPTED: Final = 130


class Entry(NamedTuple):
    """A command of the table of contents; its module is imported only when it is called."""

    section: str
    module: str
    help: str


COMMANDS: Final[dict[str, Entry]] = {
    "read": Entry("Look at exchanges", "read", "List every request with its response."),
    "show": Entry("Look at exchanges", "show", "Show one exchange with all its fields."),
    "follow": Entry("Look at exchanges", "follow", "Show one connection as a conversation."),
    "records": Entry("Look at exchanges", "records", "List the records that were produced and fetched."),
    "report": Entry("Find out what is wrong", "report", "Say what is wrong, who does it, and what to do."),
    "compare": Entry("Find out what is wrong", "compare", "Say what changed between two captures."),
    "stats": Entry("Get an overview", "stats", "Count and measure: APIs, clients, topics, errors, lost bytes."),
    "timeline": Entry("Get an overview", "timeline", "Plot requests, bytes and latency over time."),
    "clients": Entry("Get an overview", "clients", "List who is connected, with which library."),
    "topics": Entry("Get an overview", "topics", "List what is written to topics and read from them."),
    "groups": Entry("Get an overview", "groups", "Tell the story of each consumer group."),
    "decode": Entry("Look at exchanges", "decode", "Decode one message from bytes given by hand."),
    "schema": Entry("Get help", "schema", "Show what messages look like, at every version."),
    "fields": Entry("Get help", "fields", "List the fields that filters can name."),
    "completion": Entry("Get help", "completion", "Print what makes the shell complete commands."),
    "help": Entry("Get help", "help", "Explain a command, or the filter language."),
}


class Application(click.Group):
    """A group that knows its commands by name and imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *(name for name in _plugin_commands() if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            command: click.Command = import_module(f"kdissect.cli.{COMMANDS[cmd_name].module}").command
            return command
        return _plugin_commands().get(cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from difflib import get_close_matches

            if os.path.exists(name):
                raise click.UsageError(f"{name} is a file, not a command: try 'kdissect read {name}'", ctx)
            near = get_close_matches(name, self.list_commands(ctx), n=1)
            raise click.UsageError(f"there is no command {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in COMMANDS.items():
            sections.setdefault(entry.section, []).append((name, entry.help))
        for name, command in _plugin_commands().items():
            if name not in COMMANDS:
                sections.setdefault("From plugins", []).append((name, command.get_short_help_str(80)))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows, col_spacing=4)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(
            formatter,
            [
                ("Every request and response in a capture:", "kdissect read broker.pcapng"),
                ("The 42nd of them, field by field:", "kdissect show broker.pcapng 42"),
                ("Straight from the wire:", "tcpdump -i any -w - 'tcp port 9092' | kdissect read -"),
            ],
        )
        with formatter.section("Environment and files"):
            formatter.write_dl(
                [
                    ("NO_COLOR", "no colours, unless --color always"),
                    ("COLUMNS", "width of the terminal"),
                    ("KDISSECT_PAGER, PAGER", "what long output goes through; less without them, none if empty or cat"),
                    ("KDISSECT_CONFIG", "configuration file; else kdissect/config.toml in $XDG_CONFIG_HOME or ~/.config:"),
                    ("", "options by their long names under [defaults] or [COMMAND], such as utc = true"),
                ]
            )
        with formatter.section("Exit codes"):
            formatter.write_dl(
                [
                    ("0", "done, also when there was no Kafka in it"),
                    ("1", "an input could not be read as a capture"),
                    ("2", "wrong usage"),
                    ("3", "--fail-on was met"),
                    ("130", "interrupted"),
                ]
            )
        formatter.write_paragraph()
        formatter.write_text("'kdissect COMMAND --help' tells more about each command.")


def _plugin_commands() -> dict[str, click.Command]:
    """Commands of installed plugins; without any plugin installed this costs one look at the entry points."""
    from importlib.metadata import entry_points

    if not entry_points(group="kdissect"):
        return {}
    from kdissect.cli.common import host

    return host().commands


@click.command(cls=Application, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="kdissect", message="%(prog)s %(version)s")
def application() -> None:
    """What really went over the Kafka wire.

    Reads network captures (pcap, pcapng; plain, gzip or zstd), finds the Kafka
    connections in them, on whatever port, and decodes every request and every
    response of every Kafka version.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; every way it can end is an exit code and at most one line on standard error.

    Under the line about a bad filter stands an excerpt that shows the place.
    """
    try:
        code: Any = application.main(
            args=None if arguments is None else list(arguments), prog_name="kdissect", standalone_mode=False
        )
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.UsageError as error:
        _complain(error)
        return error.exit_code
    except click.ClickException as error:
        _error(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # The latter is what click makes of the former.
        _abandon_output()
        return 0
    except KdissectError as error:
        _error(str(error))
        return 1
    except OSError as error:
        _error(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
        return 1
    return code if isinstance(code, int) else 0


def _complain(error: click.UsageError) -> None:
    where = f" (see '{error.ctx.command_path} --help')" if error.ctx else ""
    _error(error.format_message().rstrip(".") + where)
    for line in getattr(error, "excerpt", ()):
        click.echo(f"  {escape(line)}", err=True)


def _error(text: str) -> None:
    click.echo(click.style("kdissect: ", bold=True) + click.style("error: ", fg="red", bold=True) + escape(text), err=True)


def _abandon_output() -> None:
    """The reader is gone: what is still buffered has nowhere to go, and the interpreter must not complain about it at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, sys.stdout.fileno())
    except (OSError, ValueError):  # Standard output is no file (tests).
        pass
    finally:
        os.close(devnull)
