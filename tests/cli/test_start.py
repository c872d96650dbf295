"""Asking for help is cheap, and says enough."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kdissect import __version__
from kdissect.cli.app import COMMANDS, application, run
from kdissect.cli.command import Command, Option
from tests.cli.test_documentation import words_of

HEAVY = {"numpy", "rich", "orjson", "cramjam", "pluggy", "kdissect.schema", "kdissect.dissect", "kdissect.report.view"}


def loaded_by(*arguments: str) -> set[str]:
    """Modules that a run of the command line imports."""
    code = f"import sys\nfrom kdissect.cli.app import run\nrun({list(arguments)!r})\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["read", "--help"], ["show", "--help"], ["stats", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    modules = loaded_by(*arguments)
    assert "click" in modules
    assert not {heavy for heavy in HEAVY for module in modules if module == heavy or module.startswith(heavy + ".")}


def test_module_and_script_are_the_same() -> None:
    for command in ([sys.executable, "-m", "kdissect"], [str(Path(sys.executable).with_name("kdissect"))]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"kdissect {__version__}\n"


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(application)
    for name in COMMANDS:
        command = application.get_command(context, name)
        assert command is not None
        yield name, command


def test_table_of_contents_says_what_the_commands_say() -> None:
    for name, command in commands():
        assert command.short_help == COMMANDS[name].help
        assert command.name == "command" or command.name == name


def test_every_command_explains_itself() -> None:
    for name, command in commands():
        assert isinstance(command, Command)
        help_text = CliRunner().invoke(application, [name, "--help"]).output
        assert len(command.examples) >= 2 and "Examples:" in help_text
        for _, line in command.examples:
            assert f"kdissect {name}" in line and line in help_text
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert isinstance(parameter, Option), f"{name} {parameter.name}: in no section"
                assert parameter.help
                assert max(parameter.opts, key=len) in help_text


def test_examples_are_valid_command_lines() -> None:
    """Each example parses: its options exist and their values are accepted."""
    by_name = dict(commands())
    for command in by_name.values():
        assert isinstance(command, Command)
        for _, line in command.examples:
            name, *arguments = words_of(line)
            by_name[name].make_context(name, arguments)


def test_help_is_sectioned(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = capfd.readouterr().out
    assert [text.index(section) for section in ("Look at exchanges:", "Get an overview:", "Examples:")] == sorted(
        text.index(section) for section in ("Look at exchanges:", "Get an overview:", "Examples:")
    )


def test_without_arguments_help_is_shown_and_the_usage_was_wrong(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "Look at exchanges:" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["raed", "x"], "there is no command 'raed'; did you mean 'read'?"),
        (["frobnicate"], "there is no command 'frobnicate'"),
        ([__file__], "is a file, not a command: try 'kdissect read"),
        (["read"], "Missing argument 'FILE...'"),
        (["read", "--nonsense", "x"], "No such option"),
        (["read", "--format", "xml", "x"], "'xml' is none of table, text, tree, markdown, csv, ndjson, json, parquet"),
        (["read", "--view", "nothing", "x"], "'nothing' is none of exchanges"),
        (["read", "--limit", "-1", "x"], "-1 is not in the range"),
        (["read", "--since", "tomorrow", "x"], "'tomorrow' is no time: write it like"),
        (["show", "x"], "Missing argument"),
        (["show", "x", "first"], "'first' is not a valid integer"),
        (["show", "x", "0"], "0 is not in the range"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    output = capfd.readouterr()
    assert output.out == ""
    assert message in output.err and output.err.startswith("kdissect: error: ") and output.err.count("\n") == 1
