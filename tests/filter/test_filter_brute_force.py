"""Random filters on real captures against an evaluation that knows nothing of the engine: it reads the NDJSON rows."""

from __future__ import annotations

import base64
import ipaddress
import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from typing import Any

import orjson
import pytest

from kdissect import schema
from kdissect.filter import compile_filter
from kdissect.wire.json import dumps
from tests.filter.exchanges_to_filter import captured

CAPTURES = ("produce-4.4.0.pcapng", "groups-4.4.0.pcapng", "cluster-3.9.2.pcapng", "mock-librdkafka.pcapng")
Row = dict[str, Any]
Rule = tuple[str, Callable[[Row], bool]]
CODES = {name: code for code, name in schema.error_codes().items()}


@cache
def table() -> list[Row]:
    return [orjson.loads(dumps(exchange.to_contract())) for exchange in captured(*CAPTURES)]


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every value below, with its path; arrays leave no trace in it."""
    if isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    elif isinstance(value, dict) and set(value) not in ({"base64"}, {"redacted"}):
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}")
    else:
        yield path, value


@cache
def catalogue() -> dict[str, list[Any]]:
    """The values that stand at each path of a body in the captures."""
    found: dict[str, list[Any]] = {}
    for row in table():
        for side in ("request", "response"):
            for path, value in leaves(row[side], side):
                if path != side and value is not None:
                    found.setdefault(path, []).append(value)
    return found


def values(row: Row, path: str) -> list[Any]:
    return [v for p, v in leaves(row[path.split(".")[0]], path.split(".")[0]) if p == path and v is not None]


def octets(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    return base64.b64decode(value["base64"]) if isinstance(value, dict) and "base64" in value else None


def quoted(text: str) -> str:
    return '"' + "".join(c if (c.isalnum() and c.isascii()) or c in " ./-" else f"\\U{ord(c):08x}" for c in text) + '"'


def nanoseconds(text: str | None) -> int | None:
    if text is None:
        return None
    fraction = text[:-1].partition(".")[2]
    whole = datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    return int(whole.timestamp()) * 10**9 + int(fraction.ljust(9, "0") or 0)


def compared(operator: str, found: list[Any], wanted: Any) -> bool:
    if operator == "!=":
        return bool(found) and wanted not in found
    if operator == "!==":
        return any(each != wanted for each in found)
    tests: dict[str, Callable[[Any], bool]] = {
        "==": lambda v: v == wanted, "<": lambda v: v < wanted, "<=": lambda v: v <= wanted, ">": lambda v: v > wanted,
        ">=": lambda v: v >= wanted,
    }  # fmt: skip
    return any(tests[operator](each) for each in found)


ORDERS = ["==", "!=", "!==", "<", "<=", ">", ">="]


def number_rule(rng: random.Random) -> Rule:
    field, key, unit, factor = rng.choice(
        [
            ("size", None, "B", 1), ("request_bytes", "request_bytes", "", 1), ("response_bytes", "response_bytes", "kB", 1000),
            ("version", "api_version", "", 1), ("corr", "correlation_id", "", 1), ("latency", "latency_ms", "ms", 1),
            ("latency", "latency_ms", "us", Fraction(1, 1000)), ("throttle", "throttle_time_ms", "", 1),
            ("index", "index", "", 1),
            ("request_packets", "request_packets", "", 1),
        ]
    )  # fmt: skip

    def read(row: Row) -> list[Fraction]:
        if key is None:
            sizes = [row[k] for k in ("request_bytes", "response_bytes") if row[k] is not None]
            return [Fraction(sum(sizes))] if sizes else []
        if key == "latency_ms":
            asked, answered = nanoseconds(row["request_time"]), nanoseconds(row["response_time"])
            return [] if asked is None or answered is None else [Fraction(answered - asked, 10**6)]
        value = row[key]
        return [Fraction(v) for v in (value if isinstance(value, list) else [value]) if v is not None]

    sample = [value for row in table() for value in read(row)]
    wanted = rng.choice(sample) if sample else Fraction(3)
    number = wanted / factor
    shown = f"{float(number):.6f}" if number.denominator != 1 else str(number.numerator)
    exact = Fraction(shown) * factor
    operator = rng.choice(ORDERS)
    return f"{field} {operator} {shown}{unit}", lambda row: compared(operator, read(row), exact)


def time_rule(rng: random.Random) -> Rule:
    text = rng.choice([row["request_time"] for row in table() if row["request_time"]])
    operator, at = rng.choice(ORDERS), nanoseconds(text)

    def holds(row: Row) -> bool:
        when = nanoseconds(row["request_time"] or row["response_time"])
        return compared(operator, [] if when is None else [when], at)

    return f"time {operator} {text}", holds


def word_rule(rng: random.Random) -> Rule:
    field, key = rng.choice(
        [("api", "api"), ("client_id", "client_id"), ("topic", "topics"), ("group", "groups"), ("error", "error_codes"),
         ("outcome", "outcome"), ("reason", "unanswered_reason"), ("finding", "findings")]
    )  # fmt: skip

    def read(row: Row) -> list[str]:
        value = row[key]
        some = value if isinstance(value, list) else [value]
        return [each["code"] if isinstance(each, dict) else each for each in some if each is not None]

    words = sorted({word for row in table() for word in read(row)})
    if not words:
        return f"not {field}", lambda row: not read(row)
    word = rng.choice(words)
    match rng.choice(["exists", "==", "!=", "!==", "contains", "matches", "in", "not in"]):
        case "exists":
            return field, lambda row: bool(read(row))
        case "contains":
            part = word[len(word) // 3 : len(word) // 3 + 4]
            return f"{field} contains {quoted(part)}", lambda row: any(part in each for each in read(row))
        case "matches":
            pattern = f"^{re.escape(word[:2])}.*{re.escape(word[-1:])}$"
            return f"{field} matches r'{pattern}'", lambda row: any(re.search(pattern, each) for each in read(row))
        case "in":
            some = rng.sample(words, min(3, len(words)))
            listed = ", ".join(map(quoted, some))
            return f"{field} in {{{listed}}}", lambda row: any(each in some for each in read(row))
        case "not in":
            return f"{field} not in {quoted(word)}", lambda row: word not in read(row)
        case operator:
            return f"{field} {operator} {quoted(word)}", lambda row: compared(operator, read(row), word)


def address_rule(rng: random.Random) -> Rule:
    end = rng.choice(["client", "broker"])
    address = rng.choice(table())[end]
    network = ipaddress.ip_network(address.rpartition(":")[0].strip("[]") + "/30", strict=False)
    match rng.choice(["==", "!=", "in", "port"]):
        case "in":
            return (
                f"{end} in {network}",
                lambda row: ipaddress.ip_address(row[end].rpartition(":")[0].strip("[]")) in network,
            )
        case "port":
            port = address.rpartition(":")[2]
            return f"{end} == :{port}", lambda row: row[end].endswith(f":{port}")
        case operator:
            return f"{end} {operator} {address}", lambda row: (row[end] == address) == (operator == "==")


def body_rule(rng: random.Random) -> Rule:
    path = rng.choice([path for path in catalogue() if path.rpartition(".")[2] not in ("_type", "_version")])
    sample = rng.choice(catalogue()[path])
    if isinstance(sample, bool):
        return (path, lambda row: True in values(row, path)) if sample else (
            f"{path} == false", lambda row: False in values(row, path)
        )  # fmt: skip
    if isinstance(sample, int):
        operator = rng.choice(["==", "!=", "!=="] if path.endswith(("error_code", "api_key")) else ORDERS)
        return f"{path} {operator} {sample}", lambda row: compared(operator, values(row, path), sample)
    found = octets(sample)
    if isinstance(sample, str) and found is not None:
        if rng.random() < 0.5:
            part = sample[:3]
            if not part:
                return path, lambda row: bool(values(row, path))
            wanted = part.encode()
            return f"{path} contains {quoted(part)}", lambda row: any(wanted in (octets(v) or b"") for v in values(row, path))
        operator = rng.choice(["==", "!="])
        return f"{path} {operator} {quoted(sample)}", lambda row: compared(operator, values(row, path), sample)
    return path, lambda row: bool(values(row, path))


def record_rule(rng: random.Random) -> Rule:
    name, inner = rng.choice([("key", True), ("value", True), ("offset", True), ("compression", False), ("producer_id", False)])

    def read(row: Row) -> list[Any]:
        found = []
        for side in ("request", "response"):
            ending = f".records.records.{name}" if inner else f".records.{name}"
            found += [value for path, value in leaves(row[side], side) if path.endswith(ending) and value is not None]
        return found

    # A filter has its own limit of length.
    some = [value for row in table() for value in read(row) if len(str(value)) < 2000]
    sample = rng.choice(some)
    operator = rng.choice(["==", "!="])
    if isinstance(sample, dict):
        shown = f"0x{octets(sample).hex()}"  # type: ignore[union-attr]
    else:
        shown = str(sample) if isinstance(sample, int) else quoted(sample)
    return f"records.{name} {operator} {shown}", lambda row: compared(operator, read(row), sample)


RULES = [number_rule, time_rule, word_rule, address_rule, body_rule, record_rule]


def any_rule(rng: random.Random, depth: int) -> Rule:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(RULES)(rng)
    parts = [any_rule(rng, depth - 1) for _ in range(rng.choice([2, 2, 3]))]
    texts, tests = zip(*parts, strict=True)
    match rng.choice(["and", "or", "not"]):
        case "and":
            return f"({rng.choice([' and ', ' && ']).join(texts)})", lambda row: all(test(row) for test in tests)
        case "or":
            return f"({rng.choice([' or ', ' || ']).join(texts)})", lambda row: any(test(row) for test in tests)
        case _:
            return f"{rng.choice(['not ', '!'])}({texts[0]})", lambda row: not tests[0](row)


def check(text: str, rule: Callable[[Row], bool]) -> int:
    only = compile_filter(text)
    passed = [exchange.index for exchange in only.keep(captured(*CAPTURES))]
    assert passed == [row["index"] for row in table() if rule(row)], text
    decided = {exchange.index: only.header(exchange) for exchange in captured(*CAPTURES)}
    assert all(decided[index] is not False for index in passed), text
    assert all(index in set(passed) for index, said in decided.items() if said), text
    return len(passed)


@pytest.mark.parametrize("make", RULES, ids=lambda make: make.__name__)
def test_single_conditions(make: Callable[[random.Random], Rule]) -> None:
    rng = random.Random(make.__name__)
    found = [check(*make(rng)) for _ in range(15)]
    assert any(0 < count < len(table()) for count in found), "nothing was told apart"


@pytest.mark.parametrize("seed", range(10))
def test_random_filters(seed: int) -> None:
    check(*any_rule(random.Random(seed), 3))


def test_error_codes_anywhere_are_the_flat_ones() -> None:
    """What ``error`` says by its short name, the paths say one by one."""
    paths = [path for path in catalogue() if path.startswith("response.") and path.endswith("error_code")]
    by_path = " or ".join(f"{path} !== NONE" for path in paths)
    every = captured(*CAPTURES)
    assert [e.index for e in compile_filter(by_path).keep(every)] == [e.index for e in compile_filter("error").keep(every)]
