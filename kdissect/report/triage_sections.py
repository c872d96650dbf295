"""The sections of a report that people read: titles, columns and rows, made once for terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kdissect.report.human import duration_ms, size

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Value:
    """One cell: what people read, and what it sorts by."""

    text: str
    """Raw, as it came from the wire: to be escaped by whoever shows it."""
    key: float | str | None = None
    style: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One table."""

    id: str
    title: str
    intro: str
    columns: Sequence[tuple[str, bool]]
    """Title, and whether numbers stand in it."""
    rows: Sequence[Sequence[Value]]
    total: int
    """Rows that there are; more than :attr:`rows` where those were capped."""


def sections(report: Mapping[str, Any], most: int) -> list[Section]:
    """What the report's own questions tell, sections without rows left out; at most ``most`` rows each."""
    made = [
        _upgrade(report, most),
        _latency(report, most),
        _throttling(report, most),
        _groups(report, most),
        _lags(report, most),
        _produce(report, most),
        _logins(report, most),
    ]
    return [section for section in made if section is not None and section.rows]


def _make(
    name: str, title: str, intro: str, columns: Sequence[tuple[str, bool]], rows: Iterable[Sequence[Value]], most: int
) -> Section:
    everything = list(rows)
    return Section(name, title, intro, columns, everything[:most], len(everything))


def text(value: object, style: str = "") -> Value:
    """A name; what is missing is a dash."""
    return Value("-", "", "quiet") if value is None or value == "" else Value(str(value), str(value), style)


def number(value: int | float | None, style: str = "") -> Value:
    """A count."""
    return Value("-", -1.0, "quiet") if value is None else Value(f"{value:,}", float(value), style)


def duration(ms: float | None) -> Value:
    """A time in milliseconds."""
    return Value(duration_ms(ms), -1.0 if ms is None else ms)


def amount(octets: int | None) -> Value:
    """Bytes."""
    return Value(size(octets), -1.0 if octets is None else float(octets))


def client(row: Row) -> Value:
    """Client id and address."""
    who = row["client"] if row.get("client_id") is None else f"{row['client_id']} ({row['client']})"
    return Value(who, who, "name")


_VERDICTS: Final = {
    "breaks": ("breaks", "error"),
    "unclear": ("cannot tell", "warning"),
    "ready": ("ready", "good"),
    "broker": ("part of the cluster", "quiet"),
}


def _upgrade(report: Mapping[str, Any], most: int) -> Section | None:
    found = report.get("upgrade")
    if not found:
        return None
    target = found["target_version"]
    return _make(
        "upgrade",
        f"Ready for Kafka {target}?",
        f"For each client the requests that Kafka {target} does not accept. Clients that negotiate ask the broker for "
        "its versions.",
        [
            ("client", False),
            ("verdict", False),
            ("library", False),
            ("version", False),
            ("negotiates", False),
            ("refused", False),
        ],
        (
            [
                client(row),
                Value(_VERDICTS[row["verdict"]][0], list(_VERDICTS).index(row["verdict"]), _VERDICTS[row["verdict"]][1]),
                text(row["software_name"]),
                text(row["software_version"]),
                text("yes" if row["negotiates"] else "no"),
                text(", ".join(f"{api['api']} v{api['version']}" for api in row["apis"])),
            ]
            for row in found["clients"]
        ),
        most,
    )


def _latency(report: Mapping[str, Any], most: int) -> Section | None:
    rows = report.get("latency") or []
    return _make(
        "latency",
        "Where time goes",
        "As measured at the capture; 'broker' leaves out throttled answers, what a fetch waited for data, and the way "
        "to the broker.",
        [
            ("broker", False),
            ("api", False),
            ("answers", True),
            ("p50", True),
            ("p99", True),
            ("broker p50", True),
            ("broker p99", True),
            ("round trip", True),
            ("polls", True),
            ("throttled", True),
        ],
        (
            [
                text(row["broker"], "address"),
                text(row["api"], "api"),
                number(row["answers"]),
                duration((row["wire_ms"] or {}).get("p50")),
                duration((row["wire_ms"] or {}).get("p99")),
                duration((row["broker_ms"] or {}).get("p50")),
                duration((row["broker_ms"] or {}).get("p99")),
                duration(row["rtt_ms"]),
                number(row["polls"]),
                number(row["throttled"], "warning" if row["throttled"] else "quiet"),
            ]
            for row in rows
        ),
        most,
    )


def _throttling(report: Mapping[str, Any], most: int) -> Section | None:
    return _make(
        "throttling",
        "Throttling",
        "Time that brokers told clients to wait, because of quotas.",
        [("client", False), ("broker", False), ("api", False), ("answers", True), ("in all", True), ("longest", True)],
        (
            [
                client(row),
                text(row["broker"], "address"),
                text(row["api"], "api"),
                number(row["answers"]),
                duration(row["total_ms"]),
                duration(row["max_ms"]),
            ]
            for row in report.get("throttling") or []
        ),
        most,
    )


def _groups(report: Mapping[str, Any], most: int) -> Section | None:
    return _make(
        "groups",
        "Groups and rebalances",
        "A rebalance lasts from the first member that joins to the last that gets its part.",
        [
            ("group", False),
            ("protocol", False),
            ("members", True),
            ("rebalances", True),
            ("in all", True),
            ("longest", True),
            ("causes", False),
        ],
        (
            [
                text(row["group"], "name"),
                text(row["protocol"]),
                number(row["members"]),
                number(row["rebalances"]),
                duration(row["total_ms"]),
                duration(row["longest_ms"]),
                text("; ".join(each["cause"] for each in row["causes"] if each["cause"] != "first seen")),
            ]
            for row in report.get("groups") or []
        ),
        most,
    )


def _lags(report: Mapping[str, Any], most: int) -> Section | None:
    rows = (report.get("consumers") or {}).get("clients") or []
    return _make(
        "lags",
        "Consumers",
        "Lag: the high watermark less the position, at the first and the last fetch that tells.",
        [("client", False), ("topic", False), ("partition", True), ("lag first", True), ("lag last", True), ("lag most", True)],
        (
            [
                client(row),
                text(row["topic"], "name"),
                number(row["partition"]),
                number(row["lag_first"]),
                number(row["lag_last"]),
                number(row["lag_max"]),
            ]
            for row in rows
        ),
        most,
    )


def _produce(report: Mapping[str, Any], most: int) -> Section | None:
    return _make(
        "produce",
        "Producers",
        "What each client writes to each topic; batches as they stand on the wire.",
        [
            ("client", False),
            ("topic", False),
            ("batches", True),
            ("records", True),
            ("bytes", True),
            ("largest", True),
            ("compression", False),
            ("acks", False),
        ],
        (
            [
                client(row),
                text(row["topic"], "name"),
                number(row["batches"]),
                number(row["records"]),
                amount(row["bytes"]),
                amount(row["largest_batch"]),
                text(_shares(row["compression"])),
                text(", ".join("all" if acks == "-1" else acks for acks in row["acks"])),
            ]
            for row in report.get("produce") or []
        ),
        most,
    )


def _logins(report: Mapping[str, Any], most: int) -> Section | None:
    return _make(
        "auth",
        "Logins",
        "SASL logins that ended within the capture.",
        [("client", False), ("principal", False), ("mechanism", False), ("result", False), ("logins", True)],
        (
            [
                text(row["client"], "address"),
                text(row["principal"], "name"),
                text(row["mechanism"]),
                text(row["result"], "error" if row["result"] == "failed" else "good"),
                number(row["logins"]),
            ]
            for row in report.get("auth") or []
        ),
        most,
    )


def _shares(codecs: Mapping[str, int]) -> str:
    total = sum(codecs.values()) or 1
    if len(codecs) == 1:
        return next(iter(codecs))
    return ", ".join(f"{name} {share / total:.0%}" for name, share in sorted(codecs.items(), key=lambda item: -item[1]))
