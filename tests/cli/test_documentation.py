"""The documentation says what the commands do: every option is on the page of commands, every example runs.

With ``KDISSECT_SNAPSHOTS=write`` in the environment the page is written anew; read the difference before committing it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kdissect.cli.app import COMMANDS, application, run
from kdissect.cli.command import Command
from tests.cli.test_commands import CAPTURE, ROOT

README, PAGE = ROOT / "README.md", ROOT / ".readme" / "commands.md"
CLIENT = "127.0.0.1:58564"
"""The client of connection 3 of the capture."""


def commands() -> Iterator[tuple[str, Command]]:
    context = click.Context(application)
    for name in COMMANDS:
        command = application.get_command(context, name)
        assert isinstance(command, Command)
        yield name, command


def page() -> str:
    """The page of all commands, as click knows them."""
    lines = [
        "# Commands",
        "",
        "What `kdissect COMMAND --help` says, on one page. A test holds it against the commands.",
    ]
    sections: dict[str, list[str]] = {}
    for name, entry in COMMANDS.items():
        sections.setdefault(entry.section, []).append(f"[{name}](#{name}): {entry.help}")
    for title, entries in sections.items():
        lines += ["", f"{title}:", "", *(f"- {entry}" for entry in entries)]
    # With its settings, for what they say of --help is remembered by the commands.
    above = click.Context(application, info_name="kdissect", **application.context_settings)
    for name, command in commands():
        context = click.Context(command, info_name=name, parent=above)
        lines += ["", f"## {name}", "", f"    {command.get_usage(context).removeprefix('Usage: ')}", ""]
        lines.append("\n".join(line.strip() for line in (command.help or "").strip().splitlines()))
        options: dict[str, list[str]] = {}
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
            if record is not None:
                text = f"| `{record[0].replace('|', chr(92) + '|')}` | {record[1].replace('|', chr(92) + '|')} |"
                options.setdefault(getattr(parameter, "section", "Other options"), []).append(text)
        for title, rows in sorted(options.items(), key=lambda section: section[0] == "Other options"):
            lines += ["", f"| {title} | |", "|---|---|", *rows]
        for what, line in command.examples:
            lines += ["", what, "", f"    {line}"]
    return "\n".join(lines) + "\n"


def test_the_page_is_what_the_commands_say() -> None:
    text = page()
    if os.environ.get("KDISSECT_SNAPSHOTS") == "write":
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text


def test_every_command_and_option_is_documented() -> None:
    """Read back from the files, not from what made the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, command in commands():
        section = text.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
        assert f"kdissect {name}" in section
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                for option in (*parameter.opts, *parameter.secondary_opts):
                    assert re.search(rf"{re.escape(option)}(?![\w-])", section), (name, option)
                assert parameter.help and parameter.help.split()[0] in section


def documented_lines() -> list[str]:
    """Command lines in the README's code blocks, and the examples of all commands."""
    lines = [line.strip() for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("    ")]
    lines += [line for _, command in commands() for _, line in command.examples]
    return list(dict.fromkeys(line for line in lines if re.search(r"(^|\| )kdissect ", line)))


def words_of(line: str) -> list[str]:
    """The words behind ``kdissect`` in a line of a shell, without pipes and redirections around it."""
    mine = next(part for part in re.split(r" \| | && | >>? [~\w./-]+(?= &&|$)", line) if part.startswith("kdissect "))
    return shlex.split(mine, comments=True)[1:]


def is_capture(word: str) -> bool:
    return word.endswith((".pcap", ".pcapng"))


RUNNABLE = [
    line
    for line in documented_lines()
    if (words := words_of(line)) and (any(map(is_capture, words)) or "-" in words) and words[0] not in ("decode", "completion")
]


def test_there_are_examples_of_all_kinds() -> None:
    named = {words_of(line)[0] for line in RUNNABLE}
    assert {"read", "show", "stats", "follow", "records", "topics", "groups", "clients", "timeline"} <= named


@pytest.mark.parametrize("line", RUNNABLE)
def test_examples_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """In a folder where every file that they name is a capture."""
    words = [CLIENT if word == "10.0.0.5:50000" else word for word in words_of(line)]
    outputs = {words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-w", "--write", "-o", "--output")}
    for word in words:
        if is_capture(word) and word not in outputs and not (tmp_path / word).exists():
            (tmp_path / word).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / word).symlink_to(ROOT / CAPTURE)
    monkeypatch.chdir(tmp_path)
    if "-" in words:
        standard_input = os.open(ROOT / CAPTURE, os.O_RDONLY)
        saved = os.dup(0)
        os.dup2(standard_input, 0)
    try:
        code = run(words)
    finally:
        if "-" in words:
            os.dup2(saved, 0)
            os.close(saved)
            os.close(standard_input)
    said = capfd.readouterr()
    assert code == 0 or (code == 3 and "--fail-on" in words), said.err
    assert "Traceback" not in said.err
    assert all((tmp_path / name).exists() for name in outputs)
