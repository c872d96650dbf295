"""Pager, progress, configuration, completion, colours and the closing lines."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from kdissect.cli import pager
from kdissect.cli.app import application, run
from kdissect.cli.progress import Position, line_of, total_bytes
from tests.cli.test_commands import CAPTURE, ROOT, kdissect

MOCK = str(ROOT / CAPTURE)


def terminal(*arguments: str, stderr: bool = False, **settings: str) -> str:
    """What standard output (or standard error) shows, being a terminal, with the other going nowhere."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "LINES": "20", "TERM": "xterm", **settings}
    for name in ("NO_COLOR", "KDISSECT_PAGER", "PAGER"):
        if name not in settings:
            environment.pop(name, None)
    command = [sys.executable, "-m", "kdissect", *arguments]
    streams = {"stdout": subprocess.DEVNULL, "stderr": theirs} if stderr else {"stdout": theirs, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=ROOT, env=environment, **streams) as process:  # type: ignore[call-overload]
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:
            pass
        assert process.wait(timeout=60) == 0
    os.close(ours)
    return b"".join(parts).decode()


# Pager


@pytest.fixture
def paging(tmp_path: Path) -> Path:
    """A pager that numbers lines and tells what it was told by its environment."""
    script = tmp_path / "pager"
    script.write_text('#!/bin/sh\necho "LESS=$LESS"\ngrep -c ""\n')
    script.chmod(0o755)
    return script


def test_a_terminal_gets_a_pager(paging: Path) -> None:
    for variable in ("KDISSECT_PAGER", "PAGER"):
        first, lines, *_ = terminal("read", CAPTURE, **{variable: str(paging)}).split()
        assert first == "LESS=FRX" and int(lines) == 2 + 131


@pytest.mark.parametrize("more", [["--no-pager"], ["-f", "ndjson"], ["-o", "/dev/null"]], ids=" ".join)
def test_no_pager_where_none_is_wanted(paging: Path, more: list[str]) -> None:
    assert "LESS=" not in terminal("read", CAPTURE, *more, KDISSECT_PAGER=str(paging))


def test_the_pager_of_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PAGER", "false")
    monkeypatch.setenv("KDISSECT_PAGER", "true --quietly 'a b'")
    assert pager.command() == ["true", "--quietly", "a b"]
    for nothing in ("", "cat", "no-such-pager-anywhere", "'"):
        monkeypatch.setenv("KDISSECT_PAGER", nothing)
        assert pager.command() is None
    monkeypatch.delenv("KDISSECT_PAGER")
    assert pager.command() == ["false"]
    monkeypatch.setenv("TERM", "dumb")
    assert pager.command() is None


def test_leaving_the_pager_early_is_no_error(tmp_path: Path) -> None:
    script = tmp_path / "pager"
    script.write_text("#!/bin/sh\nread line\n")
    script.chmod(0o755)
    assert "Traceback" not in terminal("read", *sorted(map(str, ROOT.glob("captures/mock-*.pcapng"))), KDISSECT_PAGER=str(script))


# Colours


def test_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in terminal("read", CAPTURE, KDISSECT_PAGER="cat")
    assert "\x1b[" not in terminal("read", CAPTURE, KDISSECT_PAGER="cat", NO_COLOR="1")
    assert "\x1b[" not in terminal("read", CAPTURE, KDISSECT_PAGER="cat", TERM="dumb")
    assert "\x1b[" in terminal("read", CAPTURE, "--color", "always", KDISSECT_PAGER="cat", NO_COLOR="1")


# Progress


def test_the_line_of_progress() -> None:
    assert line_of(0, 4_500_000_000, 1.0, 0) == f"{'':20}   0%  0 B of 4.50 GB  0 B/s  0 packets"
    line = line_of(1_200_000_000, 4_500_000_000, 5.0, 1_234_567)
    assert line == f"{'█████▍':20}  27%  1.20 GB of 4.50 GB  240 MB/s  14.0 s left  1,234,567 packets"
    assert line_of(9, 9, 1.0, 1).endswith("100%  9 B of 9 B  9 B/s  1 packets")
    assert line_of(None, 9, 2.0, 1000) == "1,000 packets  500/s"


def test_positions_of_open_and_finished_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(bytes(100))
    second.write_bytes(bytes(50))
    assert total_bytes([str(first), str(second)]) == 150
    assert total_bytes([str(first), "-"]) == total_bytes([str(first), str(tmp_path)]) == 0
    where = Position([str(first), str(second)])
    if where() is None:
        pytest.skip("this system does not tell what is open")
    with open(first, "rb", buffering=0) as stream:
        stream.read(30)
        assert where() == 30
    assert where() == 100
    with open(second, "rb", buffering=0) as stream:
        stream.read(20)
        assert where() == 120


def test_progress_goes_to_a_terminal_and_is_gone_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that takes long, by impatience: the line is drawn, then taken away."""
    code = "import kdissect.cli.progress as p; p.PATIENCE = p.EVERY = 0; from kdissect.cli import main; main()"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code, "topics", *sorted(map(str, ROOT.glob("captures/mock-*.pcapng")))]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:
            pass
        assert process.wait(timeout=60) == 0
    os.close(ours)
    text = said.decode()
    assert "% " in text and " packets" in text
    assert text.rindex("\r\x1b[K") > text.rindex("/s  ")
    assert "\x1b[K" not in kdissect("topics", CAPTURE).stderr


# Configuration


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("KDISSECT_CONFIG", str(path))
    return path


def test_defaults_from_the_configuration(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config.write_text(
        '[defaults]\nutc = true\nquiet = true\nlimit = 3\n[read]\ncolumns = "index,api"\nformat = "csv"\nlimit = 2\n'
    )
    assert run(["read", MOCK]) == 0
    said = capfd.readouterr()
    assert said.out.splitlines() == ["index,api", "1,ApiVersions", "2,Metadata"] and said.err == ""
    assert run(["read", MOCK, "--limit", "1", "-f", "ndjson"]) == 0
    assert capfd.readouterr().out == '{"index":1,"api":"ApiVersions"}\n'
    assert run(["clients", MOCK]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 1 + 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[read]\nlimti = 3\n", "[read] limti: 'kdissect read' has no such option; did you mean 'limit'?"),
        ("[read\n", "Expected ']'"),
        ("read = 3\n", "read is to be a section, like [read]"),
        ('[read]\nlimit = "many"\n', "'many' is not a valid integer"),
        ('[defaults]\nformat = "xml"\n', "'xml' is none of"),
    ],
)
def test_mistakes_in_the_configuration(config: Path, content: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    config.write_text(content)
    assert run(["read", MOCK]) == 2
    said = capfd.readouterr()
    assert message in said.err and said.err.count("\n") == 1 and not said.out


def test_where_the_configuration_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("KDISSECT_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "kdissect").mkdir()
    (tmp_path / "kdissect" / "config.toml").write_text("[read]\nlimit = 1\n")
    assert run(["read", MOCK, "-f", "ndjson", "-q", "--no-bodies"]) == 0
    assert capfd.readouterr().out.count("\n") == 1
    monkeypatch.setenv("KDISSECT_CONFIG", "")
    assert run(["read", MOCK, "-f", "ndjson", "-q", "--no-bodies"]) == 0
    assert capfd.readouterr().out.count("\n") == 131
    monkeypatch.setenv("KDISSECT_CONFIG", str(tmp_path / "nowhere.toml"))
    assert run(["read", MOCK]) == 2


# Completion


def complete(*words: str) -> set[str]:
    """What bash offers for the last word."""
    completion = BashComplete(application, {}, "kdissect", "_KDISSECT_COMPLETE")
    return {item.value for item in completion.get_completions(list(words[:-1]), words[-1])}


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["re"], {"read", "records", "report"}),
        (["read", "--fo"], {"--format"}),
        (["read", "--format", "nd"], {"ndjson"}),
        (["read", "--group-by", "to"], {"topic"}),
        (["read", "--columns", "time,lat"], {"time,latency", "time,latency_ms"}),
        (["read", "--sort", "request_b"], {"request_bytes"}),
        (["read", "-Y", "client_"], {"client_id"}),
        (["read", "-Y", "api == Prod"], {"api == Produce"}),
        (["read", "-Y", "not error == NOT_LEADER"], {"not error == NOT_LEADER_OR_FOLLOWER"}),
        (["read", "-Y", "api in {Fetch, Prod"], {"api in {Fetch, Produce"}),
        (["records", "--decode-as", "orders=js"], {"orders=json"}),
        (["help", "fil"], {"filter"}),
        (["completion", "z"], {"zsh"}),
    ],
    ids=lambda value: " ".join(sorted(value) if isinstance(value, set) else value),
)
def test_completion(words: list[str], offers: set[str]) -> None:
    assert complete(*words) == offers


def test_files_are_completed() -> None:
    completion = BashComplete(application, {}, "kdissect", "_KDISSECT_COMPLETE")
    assert [item.type for item in completion.get_completions(["read"], "captures/mo")] == ["file"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert f"_KDISSECT_COMPLETE={shell}_complete" in capfd.readouterr().out


# Closing lines


def test_verbose_tells_what_was_read(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["clients", MOCK, "--verbose"]) == 0
    said = capfd.readouterr().err
    assert f"{MOCK}: pcapng, 563 packets" in said and "TCP connections: 32 kafka" in said and "of processor time" in said
    assert run(["clients", MOCK, "--verbose", "--quiet"]) == 0
    assert capfd.readouterr().err == ""


def test_help_tells_of_the_environment_and_of_exit_codes(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = capfd.readouterr().out
    for word in ("NO_COLOR", "KDISSECT_PAGER", "KDISSECT_CONFIG", "Exit codes:", "130"):
        assert word in text
