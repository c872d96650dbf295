"""Plugins offer things; what fails in one stays in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import click
import pytest

from kdissect.exchange import Finding
from kdissect.plugins import Listing, RecordPart, Rule, ValueDecoder, hookimpl
from kdissect.plugins.host import Host


def make(**hooks: Any) -> object:
    """A plugin object with these hook implementations."""
    plugin = type("Plugin", (), {})()
    for name, result in hooks.items():

        def implementation(result: Any = result) -> Any:
            if isinstance(result, Exception):
                raise result
            return result

        without_arguments = eval("lambda f: lambda: f()")(implementation)
        setattr(plugin, name, hookimpl(without_arguments))
    return plugin


def host_with(**hooks: Any) -> tuple[Host, list[str]]:
    told: list[str] = []
    host = Host(on_failure=told.append, discover=False)
    host.register(make(**hooks), "mine")
    return host, told


class Row:
    """As much of an exchange as the rules here look at."""

    def __init__(self, index: int, api: str | None = "Produce", api_key: int | None = 0, api_version: int | None = 9) -> None:
        self.index, self.api, self.api_key, self.api_version = index, api, api_key, api_version


def test_built_ins_come_through_the_hooks() -> None:
    host = Host(discover=False)
    assert list(host.formats) == ["table", "text", "tree", "markdown", "csv", "ndjson", "json", "parquet"]
    assert list(host.listings) == ["exchanges"]
    assert {"utf8", "json", "hex"} <= set(host.value_decoders)
    assert not host.failures


def test_value_decoders_by_topic_and_by_name() -> None:
    backwards = ValueDecoder("backwards", "the other way round", lambda part: part.data[::-1].decode(), topics=("mirror.*",))
    host, told = host_with(kdissect_value_decoders=[backwards])
    assert host.decode_value(RecordPart("mirror.a", "value", b"abc")) == ("backwards", "cba")
    assert host.decode_value(RecordPart("orders", "value", b"abc")) is None
    assert host.decode_value(RecordPart(None, "value", b"abc")) is None
    assert host.decode_value(RecordPart("orders", "value", b'{"a": 1}'), "json") == ("json", {"a": 1})
    assert host.decode_value(RecordPart("orders", "value", b"{"), "json") is None
    assert host.decode_value(RecordPart("orders", "value", b"\xff"), "hex") == ("hex", "ff")
    assert not told


def test_a_decoder_that_raises_is_passed_over_and_told_once() -> None:
    def broken(part: RecordPart) -> object:
        raise ZeroDivisionError("oops")

    good = ValueDecoder("good", "", lambda part: "fine", topics=("*",))
    host, told = host_with(kdissect_value_decoders=[ValueDecoder("bad", "", broken, topics=("*",)), good])
    for _ in range(3):
        assert host.decode_value(RecordPart("t", "value", b"")) == ("good", "fine")
    assert len(told) == 1 and "bad" in told[0] and "ZeroDivisionError: oops" in told[0]
    assert [finding.code for finding in host.failures] == ["plugin.failed"]


@pytest.mark.parametrize("bad", [RuntimeError("no"), [1], 7])
def test_a_hook_that_raises_or_gives_the_wrong_thing_loses_only_itself(bad: Any) -> None:
    host, told = host_with(kdissect_formats=bad)
    assert "table" in host.formats
    assert len(told) == 1 and "mine" in told[0] and "kdissect_formats" in told[0]


def test_a_name_cannot_be_taken_twice() -> None:
    host, told = host_with(kdissect_value_decoders=[ValueDecoder("json", "", lambda part: "mine")])
    assert host.decode_value(RecordPart("t", "value", b"1"), "json") == ("json", 1)
    assert "taken" in told[0]


def test_rules_run_on_batches_and_a_broken_one_is_out() -> None:
    calls = []

    def start() -> Any:
        seen = 0

        def feed(batch: Sequence[Any]) -> Iterable[tuple[int, Finding]]:
            nonlocal seen
            seen += len(batch)
            calls.append(seen)
            if seen > 2:
                raise ValueError("too many")
            return [(row.index, Finding("mine.seen", "note", "seen")) for row in batch]

        return feed

    host, told = host_with(kdissect_rules=[Rule("mine.seen", "Seen", start)])
    examine = host.start_rules()
    first: list[Any] = [Row(1), Row(2, api_version=2)]
    assert [(index, finding.code) for index, finding in examine(first)] == [
        (2, "upgrade.kafka4_removed_version"),
        (1, "mine.seen"),
        (2, "mine.seen"),
    ]
    assert [index for index, _ in examine([Row(3, api_version=1)])] == [3]  # type: ignore[list-item]
    examine([Row(4)])  # type: ignore[list-item]
    assert calls == [2, 3] and len(told) == 1


@pytest.mark.parametrize(
    ("key", "version", "rejected"),
    [(0, 2, True), (0, 3, False), (1, 3, True), (1, 4, False), (3, 0, False), (8, 1, True), (8, 2, False), (7, 3, True),
     (4, 7, True), (18, 0, False), (32, 0, True), (1234, 0, False), (None, None, False)],
)  # fmt: skip
def test_versions_that_kafka_4_rejects(key: int | None, version: int | None, rejected: bool) -> None:
    row: Any = Row(1, "X", key, version)
    assert bool(Host(discover=False).start_rules()([row])) is rejected


def test_commands_and_listings() -> None:
    from kdissect.report.view import View

    view: View[Any] = View("numbers", (), ("n",), lambda row, bodies: {"n": row})

    def explode(batch: Sequence[Any]) -> Iterable[object]:
        raise KeyError("gone")

    host, told = host_with(
        kdissect_commands=[click.Command("hello")],
        kdissect_listings=[Listing(view, "numbers", explode)],
    )
    assert list(host.commands) == ["hello"]
    assert host.rows(host.listings["numbers"], []) == []
    assert len(told) == 1 and "numbers" in told[0]


def test_wrong_arguments_are_refused_at_registration() -> None:
    class Wrong:
        @hookimpl
        def kdissect_formats(self, surprise: int) -> list[object]:
            return []

    told: list[str] = []
    host = Host(on_failure=told.append, discover=False)
    host.register(Wrong(), "wrong")
    assert "wrong" in told[0] and host.names == ["kdissect"]


def test_entry_points_are_found_and_a_broken_package_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = EntryPoints(
        [
            EntryPoint("zeta", "no_such_module_anywhere", "kdissect"),
            EntryPoint("alpha", "kdissect.plugins.hooks", "kdissect"),
        ]
    )
    monkeypatch.setattr("importlib.metadata.entry_points", found.select)
    told: list[str] = []
    host = Host(on_failure=told.append)
    assert host.names == ["kdissect", "alpha"]
    assert len(told) == 1 and "zeta" in told[0] and "ModuleNotFoundError" in told[0]


def test_schema_files_are_added_and_faulty_ones_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kdissect.schema import catalogue

    extended = catalogue.Catalogue()
    monkeypatch.setattr(catalogue, "default_catalogue", lambda: extended)
    good, bad = tmp_path / "good.kafka", tmp_path / "bad.kafka"
    good.write_text(
        "api Private    key 9999    versions 0-0\n\nrequest\n  name  string :topic\n\nresponse\n  error_code  int16 :error\n"
    )
    bad.write_text("this is no schema\n")
    host, told = host_with(kdissect_schema_files=[bad, tmp_path / "missing.kafka", good])
    host.load_schema_files()
    assert extended.api("Private").layout("request", 0).fields[0].name == "name"
    assert len(told) == 2 and "bad.kafka" in told[0] and "missing.kafka" in told[1]
