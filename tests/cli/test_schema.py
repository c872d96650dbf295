"""``kdissect schema`` as a user runs it."""

from __future__ import annotations

import csv
import io
import json

import pytest

from kdissect import schema
from kdissect.cli.app import run

Result = tuple[int, str, str]


@pytest.fixture
def kdissect(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> Result:
        code = run(arguments)
        return (code, *capfd.readouterr())

    return call


def test_all_apis_with_key_versions_and_what_kafka_4_accepts(kdissect) -> None:
    code, out, err = kdissect("schema")
    head, *lines = out.splitlines()
    assert (code, err) == (0, "") and head.split()[:3] == ["key", "api", "versions"] and "\x1b" not in out
    assert len(lines) == len(schema.apis()) == 95
    said = {line.split()[1]: line.split() for line in lines}
    assert said["Fetch"][:5] == ["1", "Fetch", "0-18", "12+", "4-18"] and "0.8.2 to 4.4" in out
    assert said["Produce"][4] == "3-13"
    assert said["SaslHandshake"][:4] == ["17", "SaslHandshake", "0-1", "0-1"]
    assert said["UpdateMetadata"][4:8] == ["none", "0.8.2", "to", "3.9"]


def test_the_list_in_other_formats(kdissect) -> None:
    rows = [json.loads(line) for line in kdissect("schema", "-f", "ndjson")[1].splitlines()]
    assert [row["api_key"] for row in rows] == [head.key for head in schema.apis()]
    fetch = rows[1]
    assert (fetch["api"], fetch["min_version"], fetch["max_version"], fetch["flexible_from"]) == ("Fetch", 0, 18, 12)
    assert (fetch["accepted_min"], fetch["accepted_max"], rows[4]["accepted_min"]) == (4, 18, None)
    assert rows[4]["releases"] == [["0.8.2", "3.9"]]
    assert list(csv.DictReader(io.StringIO(kdissect("schema", "-f", "csv")[1])))[3]["api"] == "Metadata"


def test_formats_of_records_and_group_data(kdissect) -> None:
    _, out, _ = kdissect("schema", "--formats", "-f", "json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert len(rows) == len(schema.formats())
    assert (rows["OffsetCommitValue"]["log"], rows["OffsetCommitValue"]["record"]) == ("__consumer_offsets", 1)
    code, out, _ = kdissect("schema", "offsetcommitvalue")
    assert code == 0 and "request" not in out and "commit_timestamp" in out


def test_a_layout_in_both_directions(kdissect) -> None:
    code, out, err = kdissect("schema", "Fetch", "12")
    assert (code, err) == (0, "")
    request, response = out.split("\nresponse  after header v1\n")
    assert (
        request.startswith("Fetch v12  key 1, versions 0-18, flexible, accepted by Kafka 2.7 to 4.4\n")
        and "\nrequest  after header v2\n" in request
    )
    fields = {line.split()[0]: line for line in (request + "\n" + response).splitlines() if line.strip()}
    assert fields["cluster_id"].split()[:4] == ["cluster_id", "string?", "0", "null"]
    assert fields["partition"].startswith("    partition ") and fields["topics"].split()[1] == "[]struct"
    assert fields["diverging_epoch"].split()[1:3] == ["struct", "0"]
    assert "replica_state" not in fields
    assert "not flexible" in kdissect("schema", "Fetch", "11")[1]


@pytest.mark.parametrize("said", [("fetch", "v12"), ("1", "12"), ("FETCH", "12")])
def test_names_in_any_case_keys_and_versions_with_v(kdissect, said: tuple[str, str]) -> None:
    assert kdissect("schema", *said) == kdissect("schema", "Fetch", "12")


def test_the_newest_version_unless_one_is_said(kdissect) -> None:
    assert kdissect("schema", "Fetch") == kdissect("schema", "Fetch", "18")


def test_json_has_every_field_of_every_layout(kdissect) -> None:
    def paths(fields: list[dict], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        return [
            path
            for field in fields
            for path in [(*above, field["name"]), *paths(field.get("fields", []), (*above, field["name"]))]
        ]

    for head in schema.apis():
        version = str(head.max_version)
        told = json.loads(kdissect("schema", head.name, version, "-f", "json")[1])
        assert (told["api"], told["api_key"], told["version"]) == (head.name, head.key, head.max_version)
        for kind in ("request", "response"):
            layout = schema.api(head.key).layout(kind, head.max_version)  # type: ignore[arg-type]
            assert paths(told[kind]["fields"]) == [path for path, _ in layout.walk()]
            assert told[kind]["header_version"] == layout.header_version


def test_every_layout_can_be_shown(kdissect) -> None:
    for head in schema.apis():
        for version in {head.min_version, head.max_version}:
            code, out, err = kdissect("schema", head.name, str(version))
            assert (code, err) == (0, "") and "\nrequest" in out and "\nresponse" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Fecth",), "there is no API 'Fecth'; did you mean Fetch?"),
        (("500",), "no API has the key 500"),
        (("Fetch", "19"), "Fetch has versions 0 to 18, not 19"),
        (("Fetch", "x"), "'x' is not a version"),
        (("Envelope", "3"), "Envelope has version 0 alone, not 3"),
        (("Fetch", "-f", "csv"), "a layout is shown as table, text or json, not as csv"),
        (("Fetch", "--formats"), "leave out the API"),
        (("\x1b[2J",), "there is no API"),
    ],
)
def test_one_clear_line_for_wrong_usage(kdissect, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = kdissect("schema", *arguments)
    assert (code, out) == (2, "") and words in err and len(err.splitlines()) == 1 and "\x1b" not in err
