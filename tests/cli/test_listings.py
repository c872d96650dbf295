"""Records, topics, groups, clients, timeline and follow on real captures, held against the bodies that read gives."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from typing import Any

import pytest

from kdissect.cli.app import run
from tests.cli.test_commands import CAPTURE, ROOT

MOCK = str(ROOT / CAPTURE)
LIBRDKAFKA = str(ROOT / "captures/mock-librdkafka.pcapng")


@pytest.fixture
def rows(capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    def ask(command: str, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        assert run([command, *arguments, "--format", "ndjson", "-q"]) == code
        return [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]

    return ask


@pytest.fixture
def text(capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    def ask(*arguments: str, code: int = 0) -> str:
        assert run([*arguments]) == code
        return capfdbinary.readouterr().out.decode()

    return ask


def batches(exchange: dict[str, Any], side: str) -> list[dict[str, Any]]:
    """All record batches of one side of an exchange."""
    found: list[dict[str, Any]] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("records"), list) and "magic" in value:
                found.append(value)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(exchange[side])
    return found


def test_records_are_those_of_the_bodies(rows: Any) -> None:
    exchanges = rows("read", MOCK)
    listed = rows("records", MOCK)
    for direction, side in (("produced", "request"), ("fetched", "response")):
        inside = [record for each in exchanges for batch in batches(each, side) for record in batch["records"]]
        mine = [row for row in listed if row["direction"] == direction]
        assert len(mine) == len(inside) > 10
        assert Counter(str(row["value"]) for row in mine) == Counter(str(record["value"]) for record in inside)
        assert [row["headers"] for row in mine] == [record["headers"] for record in inside]


def test_what_was_produced_is_fetched_at_the_same_offset(rows: Any) -> None:
    listed = rows("records", MOCK)
    written = {(row["topic"], row["partition"], row["offset"]): row["value"] for row in listed if row["direction"] == "produced"}
    read = [row for row in listed if row["direction"] == "fetched"]
    assert read and None not in {offset for _, _, offset in written}
    assert all(written[row["topic"], row["partition"], row["offset"]] == row["value"] for row in read)


def test_records_decoded_on_demand(rows: Any) -> None:
    plain = rows("records", MOCK, "--limit", "3")
    decoded = rows("records", MOCK, "--limit", "3", "--decode-as", "orders-*=json", "--decode-as", "orders-*:key=hex")
    assert [row["value"] for row in decoded] == [json.loads(row["value"]) for row in plain]
    assert [bytes.fromhex(row["key"]).decode() for row in decoded] == [row["key"] for row in plain]


def test_topics_count_records_and_who_moves_them(rows: Any) -> None:
    listed = rows("records", MOCK)
    for topic in rows("topics", MOCK):
        mine = [row for row in listed if row["topic"] == topic["topic"]]
        for direction, who in (("produced", "producers"), ("fetched", "consumers")):
            clients = {row["client_id"] for row in mine if row["direction"] == direction}
            assert topic[f"{direction}_records"] == sum(row["direction"] == direction for row in mine)
            assert clients <= set(topic[who])
        assert topic["partitions"] >= len({row["partition"] for row in mine})


def test_clients_are_those_of_the_exchanges(rows: Any) -> None:
    exchanges = rows("read", LIBRDKAFKA)
    clients = rows("clients", LIBRDKAFKA)
    assert sum(each["exchanges"] for each in clients) == len(exchanges)
    for client in clients:
        mine = [each for each in exchanges if each["client_id"] == client["client_id"]]
        versions: dict[str, set[int]] = {}
        for each in mine:
            versions.setdefault(each["api"], set()).add(each["api_version"])
        assert client["apis"] == {name: sorted(found) for name, found in versions.items()}
        assert set(client["topics"]) == {topic for each in mine for topic in each["topics"]}
    named = [each for each in exchanges if each["api"] == "ApiVersions" and "client_software_name" in each["request"]]
    software = {each["request"]["client_software_name"] for each in named}
    assert software == {said.partition(" ")[0] for client in clients for said in client["software"]}


def test_timeline_loses_no_exchange(rows: Any) -> None:
    exchanges = rows("read", MOCK, "--no-bodies")
    for interval in ("10ms", "1s", "7s"):
        listed = rows("timeline", MOCK, "--interval", interval)
        assert sum(row["exchanges"] for row in listed) == len(exchanges)
        assert sum(row["request_bytes"] for row in listed) == sum(each["request_bytes"] for each in exchanges)
        times = [row["time"] for row in listed]
        assert times == sorted(times) and len(set(times)) == len(times)
    fitted = rows("timeline", MOCK)
    assert sum(row["exchanges"] for row in fitted) == len(exchanges) and 20 <= len(fitted) <= 100


def test_follow_has_both_sides_of_every_exchange(rows: Any) -> None:
    exchanges = [each for each in rows("read", MOCK) if each["connection"] == 22]
    turns = rows("follow", MOCK, "22")
    for kind, key in (("request", "request_time"), ("response", "response_time")):
        mine = {turn["exchange"]: turn["time"] for turn in turns if turn["kind"] == kind}
        assert mine == {each["index"]: each[key] for each in exchanges}
    times = [turn["time"] for turn in turns]
    assert times == sorted(times)
    assert [turn["title"] for turn in turns[:2]] == ["client opens", "broker opens"]
    for name in (exchanges[0]["client"], exchanges[0]["connection_id"]):
        assert rows("follow", MOCK, name) == turns


def test_a_connection_that_is_none_is_wrong_usage(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["follow", MOCK, "4711"]) == 2
    assert "no connection 4711: the capture has 32 TCP connections" in capfd.readouterr().err
    broker = "127.0.0.1:40865"
    assert run(["follow", MOCK, broker]) == 2
    assert f"{broker} is an end of" in capfd.readouterr().err


def test_sorting_and_limits(rows: Any) -> None:
    exchanges = rows("read", MOCK, "--no-bodies")
    slowest = sorted((each["latency_ms"] for each in exchanges), reverse=True)
    assert [row["latency_ms"] for row in rows("read", MOCK, "--sort", "latency", "--reverse", "--limit", "7")] == slowest[:7]
    assert [row["index"] for row in rows("read", MOCK, "--reverse", "--sort", "index")] == list(range(len(exchanges), 0, -1))
    acks = rows("read", MOCK, "--sort", "request.acks", "--columns", "index,request.acks")
    known = [row["request.acks"] for row in acks if row["request.acks"] is not None]
    assert known and known == sorted(known) and acks[len(known) :] == [row for row in acks if row["request.acks"] is None]


def test_columns_are_the_same_in_every_format(rows: Any, text: Any) -> None:
    names = "client_id,api,request_bytes,request.topics.name"
    objects = rows("read", MOCK, "--columns", names)
    assert list(objects[0]) == names.split(",")
    table = list(csv.reader(io.StringIO(text("read", MOCK, "--columns", names, "-f", "csv", "-q"))))
    assert table[0] == names.split(",") and [row[0] for row in table[1:]] == [row["client_id"] for row in objects]
    assert text("read", MOCK, "--columns", names, "-q").splitlines()[0].split() == [
        "client",
        "id",
        "api",
        "request",
        names.split(",")[3],
    ]
    markdown = text("read", MOCK, "--columns", names, "-q", "-f", "markdown").splitlines()
    assert markdown[0] == "| client id | api | request | request.topics.name |" and len(markdown) == 2 + len(objects)


@pytest.mark.parametrize("by", ["api", "client", "topic", "broker", "group", "error"])
def test_groups_add_up(rows: Any, by: str) -> None:
    exchanges = rows("read", LIBRDKAFKA, "--no-bodies")
    grouped = rows("read", LIBRDKAFKA, "--group-by", by)
    keys = {
        "api": lambda each: [each["api"]],
        "client": lambda each: [each["client_id"]],
        "topic": lambda each: each["topics"],
        "broker": lambda each: [each["broker"]],
        "group": lambda each: each["groups"],
        "error": lambda each: each["error_codes"],
    }[by]
    counts = Counter(key for each in exchanges for key in keys(each))
    mine: Counter[str] = Counter()
    for row in grouped:
        mine[row["client_id" if by == "client" else by]] += row["exchanges"]
    assert mine == counts


def test_watch_errors_shows_what_went_wrong_alone(rows: Any) -> None:
    exchanges = rows("read", LIBRDKAFKA, "--no-bodies")
    wrong = rows("read", LIBRDKAFKA, "--no-bodies", "--watch-errors")
    assert wrong == [each for each in exchanges if each["error_codes"] or each["findings"]]
    assert 0 < len(wrong) < len(exchanges)


def test_markdown_renders_as_text(text: Any) -> None:
    from kdissect.report.formats.markdown import inert

    assert inert("a|b*c*<b>_x_ `y` [l](http://z) snake_case") == r"a\|b\*c\*\<b\>\_x\_ \`y\` \[l\](http\://z) snake_case"
    lines = text("topics", MOCK, "-f", "markdown", "-q").splitlines()
    assert lines[0].startswith("| topic |") and len({line.count(" | ") for line in (lines[0], lines[2])}) == 1


def test_parquet_is_what_ndjson_is(rows: Any, text: Any, tmp_path: Any) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    for command in ("read", "records", "topics", "groups", "clients", "timeline"):
        out = tmp_path / f"{command}.parquet"
        text(command, MOCK, "-o", str(out), "-q")
        table, objects = pq.read_table(out).to_pylist(), rows(command, MOCK)
        assert len(table) == len(objects) > 0
        assert not {"index", "connection"} & set(table[0])
        for mine, theirs in zip(table, objects, strict=True):
            for key in ("api", "client_id", "topic", "topics", "exchanges", "request_bytes", "latency_ms", "partition", "offset"):
                if key in mine and not isinstance(theirs[key], dict):
                    assert mine[key] == theirs[key]
            for key in ("request", "response", "value"):
                if key in mine and mine[key] is not None:
                    assert json.loads(mine[key]) == theirs[key]
            if theirs.get("request_time"):
                assert mine["request_time"].isoformat(timespec="microseconds") == theirs["request_time"][:26] + "+00:00"


def test_files_are_written_in_the_format_of_their_name(text: Any, tmp_path: Any) -> None:
    text("topics", MOCK, "-q", "-o", str(tmp_path / "topics.md"))
    assert (tmp_path / "topics.md").read_text().startswith("| topic")
    text("topics", MOCK, "-q", "-o", str(tmp_path / "topics.json"))
    assert json.loads((tmp_path / "topics.json").read_text())[0]["topic"]
    assert run(["topics", MOCK, "-f", "parquet"]) == 2
    assert run(["topics", MOCK, "-o", MOCK]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["read", MOCK, "--columns", "latncy"], "there is no column 'latncy'; did you mean 'latency'?"),
        (["read", MOCK, "--sort", "nothing_like_it_at_all"], "there is no column 'nothing_like_it_at_all'"),
        (["records", MOCK, "--decode-as", "orders"], "is not like 'orders=json'"),
        (["records", MOCK, "--decode-as", "orders=xml"], "'xml' is none of"),
        (["read", MOCK, "--scrub"], "--scrub is for packets: add -w PCAPNG"),
        (["timeline", MOCK, "--interval", "soon"], "'soon' is no interval"),
        (["read", "-", "-w", "x.pcapng"], "-w reads the captures twice"),
        (["show", MOCK, "1", "--bytes", "--redact-values"], "--bytes shows what --redact-values hides"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    said = capfd.readouterr()
    assert message in said.err and said.err.count("\n") == 1 and not said.out
