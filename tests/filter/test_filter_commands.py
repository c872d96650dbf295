"""Filters and their help on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence

import orjson
import pytest

from kdissect.cli.app import run
from kdissect.filter import compile_filter
from kdissect.filter.fields import all_fields, find
from kdissect.filter.reference import EXAMPLES, REFERENCE
from tests.filter.exchanges_to_filter import CAPTURES, captured

CAPTURE = "produce-4.4.0.pcapng"
PATH = str(CAPTURES / CAPTURE)


class Ran:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


Run = Callable[..., Ran]


@pytest.fixture
def kdissect(capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> Ran:
        code = run(arguments)
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return call


def indexes(lines: str) -> list[int]:
    return [json.loads(line)["index"] for line in lines.splitlines()]


@pytest.mark.parametrize("text", [text for text, _ in EXAMPLES])
def test_examples_of_the_reference(text: str) -> None:
    assert text in REFERENCE
    only = compile_filter(text)
    for exchange in captured(CAPTURE):
        assert only.header(exchange) in (None, only.matches(exchange))


def test_the_examples_find_something() -> None:
    every = captured(CAPTURE, "failover-4.4.0.pcapng")
    known = dict(EXAMPLES)
    for text in (
        "request.acks == 0",
        "api == Produce and latency > 50ms",
        'topic == "orders" and error',
        "findings or outcome != answered",
    ):
        assert text in known
        assert 0 < len(compile_filter(text).keep(every)) < len(every), text


@pytest.mark.parametrize(
    "text", ["api == Produce and latency > 5ms", "records.key matches '.'", "time > +10s and not error", "index in {3..5}"]
)
def test_read(kdissect: Run, text: str) -> None:
    ran = kdissect("read", PATH, "-Y", text, "-f", "ndjson", "-q")
    only = compile_filter(text)
    only.start_ns = min(e.request_time_ns for e in captured(CAPTURE) if e.request_time_ns is not None)
    whole = kdissect("read", PATH, "-f", "ndjson", "-q")
    rows = {orjson.loads(line)["index"]: line for line in whole.out.splitlines()}
    passed = indexes(ran.out)
    assert ran.code == 0 and 0 < len(passed) < len(rows)
    assert ran.out.splitlines() == [rows[index] for index in passed]
    if "+10s" not in text:  # There the first packet decides, which is none of a request.
        assert passed == [exchange.index for exchange in only.keep(captured(CAPTURE))]


def test_records_are_read_where_a_filter_asks_also_for_people(kdissect: Run) -> None:
    shown = kdissect("read", PATH, "-Y", "records.key", "-f", "text", "-q")
    assert len(shown.out.splitlines()) - 1 == len(compile_filter("records.key").keep(captured(CAPTURE))) > 0


def test_limit_counts_what_passes(kdissect: Run) -> None:
    ran = kdissect("read", PATH, "-Y", "api == Fetch", "--limit", "3", "-f", "ndjson", "-q")
    assert len(indexes(ran.out)) == 3


def test_stats(kdissect: Run) -> None:
    ran = kdissect("stats", PATH, "-Y", "api == Produce", "-f", "json")
    assert [row["api"] for row in json.loads(ran.out)["apis"]] == ["Produce"]


@pytest.mark.parametrize("command", ["read", "stats"])
def test_a_bad_filter_is_wrong_usage_with_a_caret(kdissect: Run, command: str) -> None:
    ran = kdissect(command, PATH, "--filter", "error and latencyy > 5ms")
    assert ran.code == 2 and ran.out == ""
    assert ran.err.splitlines() == [
        "kdissect: error: Invalid value for '-Y' / '--filter': there is no field latencyy; did you mean latency or latency_ms? "
        f"(see 'kdissect {command} --help')",
        "  error and latencyy > 5ms",
        "            ^~~~~~~~",
    ]


def test_local_times_follow_utc(kdissect: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    first = captured(CAPTURE)[0]
    from kdissect.exchange import rfc3339

    moment = rfc3339(first.request_time_ns, 9)
    assert moment is not None
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        text = f'time == "{moment[:-1]}"'
        assert indexes(kdissect("read", PATH, "--utc", "-Y", text, "-f", "ndjson", "-q").out) == [first.index]
        assert indexes(kdissect("read", PATH, "-Y", text, "-f", "ndjson", "-q").out) == []
    finally:
        monkeypatch.undo()
        time.tzset()


def fields(kdissect: Run, *arguments: str) -> Sequence[dict[str, object]]:
    ran = kdissect("fields", *arguments, "-f", "ndjson")
    return [json.loads(line) for line in ran.out.splitlines()]


def test_fields_lists_all_and_all_can_be_named(kdissect: Run) -> None:
    listed = fields(kdissect)
    assert [row["name"] for row in listed] == [field.name for field in all_fields()] and len(listed) > 1000
    for row in listed:
        found = find(str(row["name"]))
        assert found is not None and found.name == row["name"]
        for alias in row["aliases"]:  # type: ignore[attr-defined]
            assert find(alias) is found
        compile_filter(str(row["name"]))


def test_every_value_of_the_captures_is_listed() -> None:
    """Every name in every body, and every flat key of the contract."""

    def names(value: object, path: str) -> set[str]:
        if isinstance(value, list):
            return set().union(*(names(item, path) for item in value))
        if isinstance(value, dict) and "redacted" not in value:
            return {path}.union(*(names(item, f"{path}.{name}") for name, item in value.items()))
        return {path}

    missing = set()
    for exchange in captured(CAPTURE, "groups-4.4.0.pcapng", "admin-3.9.2.pcapng", "mock-aiokafka.pcapng"):
        row = exchange.to_contract()
        missing |= {key for key in row if key not in ("request", "response") and find(key) is None}
        for side in ("request", "response"):
            missing |= {path for path in names(row[side], side) if find(path) is None}
    assert not missing


def test_fields_by_pattern(kdissect: Run) -> None:
    assert [row["name"] for row in fields(kdissect, "acks")] == ["request.acks"]
    assert all(str(row["name"]).startswith("records.") for row in fields(kdissect, "records.*"))
    assert {"latency_ms", "throttle_time_ms", "request.timeout_ms"} <= {row["name"] for row in fields(kdissect, "DURATION")}
    assert fields(kdissect, "latency")[0] == {
        "name": "latency_ms",
        "aliases": ["latency"],
        "type": "duration",
        "many": False,
        "meaning": "from request to response",
        "operators": ["!=", "!==", "<", "<=", "==", "===", ">", ">=", "in"],
        "apis": None,
    }
    (acks,) = fields(kdissect, "request.acks")
    assert acks["apis"] == [{"api": "Produce", "versions": "0-13"}]
    ran = kdissect("fields", "nonsense")
    assert (ran.code, ran.err) == (0, "kdissect: no field has 'nonsense' in its name, type or meaning\n")


def test_fields_in_a_pipe_is_plain(kdissect: Run) -> None:
    ran = kdissect("fields", "request.acks")
    title, row = ran.out.splitlines()
    assert title.split() == ["field", "type", "meaning", "in"]
    assert row.split()[:2] == ["request.acks", "number"] and row.endswith("Produce 0-13")


def test_help(kdissect: Run) -> None:
    assert kdissect("help", "filter").out == REFERENCE
    assert "Usage: kdissect read" in kdissect("help", "read").out
    assert "Get help" in kdissect("help").out
    ran = kdissect("help", "fitler")
    assert ran.code == 2 and "did you mean 'filter'?" in ran.err
    assert max(map(len, REFERENCE.splitlines())) <= 100


def test_nobody_pays_who_does_not_filter() -> None:
    code = (
        "import sys; from kdissect.cli.app import run; run(['read', sys.argv[1], '-q', '-f', 'csv']); "
        "sys.exit(any(name in sys.modules for name in ('lark', 're2', 'kdissect.filter.grammar')))"
    )
    subprocess.run([sys.executable, "-c", code, PATH], check=True, stdout=subprocess.DEVNULL)
