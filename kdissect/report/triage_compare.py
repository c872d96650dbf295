"""Two reports side by side: what appeared, what vanished, what got slower, faster, more or less."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kdissect.report.human import count, duration_ms

FEWEST: Final = 20
"""Exchanges on both sides below which percentiles are chance."""
FACTOR: Final = 1.5
"""A percentile has changed when it is so many times the other one ..."""
LEAST_MS: Final = 1.0
"""... and differs by as much as this."""
RATE_FACTOR: Final = 2.0
"""A rate has changed when it is so many times the other one."""
LEAST_SHARE: Final = 0.01
"""An API's share of errors has changed when it differs by as much as this."""

CHANGES: Final = ("appeared", "slower", "more", "changed", "vanished", "faster", "less")


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two reports."""

    how: str
    """One of :data:`CHANGES`."""
    what: str
    """``finding``, ``error``, ``client``, ``topic``, ``api``, ``broker``, ``group`` or ``library``."""
    name: str
    before: str
    after: str
    severity: str | None = None
    """Of findings."""

    def to_json(self) -> dict[str, object]:
        """JSON-ready."""
        row: dict[str, object] = {"what": self.what, "name": self.name, "before": self.before, "after": self.after}
        return row if self.severity is None else {**row, "severity": self.severity}


Row = Mapping[str, Any]


def compare(before: Row, after: Row) -> dict[str, list[Change]]:
    """The differences between two reports (the JSON of ``kdissect report``) by how things changed."""
    found: dict[str, list[Change]] = {how: [] for how in CHANGES}
    for change in _all(before, after):
        found[change.how].append(change)
    return found


def _all(a: Row, b: Row) -> Iterator[Change]:
    yield from _findings(a, b)
    yield from _sets("error", _names(a["errors"], _error), _names(b["errors"], _error), _answers)
    yield from _sets("client", _names(a["clients"], _client), _names(b["clients"], _client), _exchanges)
    yield from _sets("topic", _names(a["topics"], _key("topic")), _names(b["topics"], _key("topic")), _exchanges)
    yield from _sets("api", _names(a["apis"], _key("api")), _names(b["apis"], _key("api")), _exchanges)
    yield from _sets("group", _names(a.get("groups", ()), _key("group")), _names(b.get("groups", ()), _key("group")), _rebalances)
    yield from _apis(a, b)
    yield from _libraries(a, b)


def _findings(a: Row, b: Row) -> Iterator[Change]:
    def by_kind(report: Row) -> dict[str, tuple[str, int]]:
        kinds: dict[str, tuple[str, int]] = {}
        for finding in report["findings"]:
            name = f"{finding['code']}: {finding['title']}"
            severity, number = kinds.get(name, (finding["severity"], 0))
            kinds[name] = severity, number + finding["count"]
        return kinds

    old, new = by_kind(a), by_kind(b)
    for name, (severity, number) in new.items():
        if name not in old:
            yield Change("appeared", "finding", name, "-", _told((severity, number)), severity)
        elif old[name][0] != severity:
            yield Change("changed", "finding", name, _told(old[name]), _told(new[name]), severity)
    for name, told in old.items():
        if name not in new:
            yield Change("vanished", "finding", name, _told(told), "-", told[0])


def _told(finding: tuple[str, int]) -> str:
    return f"{finding[0]}, {count(finding[1], 'time')}"


def _sets(what: str, old: Mapping[str, Row], new: Mapping[str, Row], say: Callable[[Row], str]) -> Iterator[Change]:
    for name, row in new.items():
        if name not in old:
            yield Change("appeared", what, name, "-", say(row))
    for name, row in old.items():
        if name not in new:
            yield Change("vanished", what, name, say(row), "-")


def _apis(a: Row, b: Row) -> Iterator[Change]:
    old, new = _names(a["apis"], _key("api")), _names(b["apis"], _key("api"))
    spans = [(report["summary"]["duration_ms"] or 0) / 1000 for report in (a, b)]
    for name, after in new.items():
        before = old.get(name)
        if before is None:
            continue
        if before["versions"] != after["versions"]:
            yield Change("changed", "api", f"{name} versions", _list(before["versions"]), _list(after["versions"]))
        if min(before["exchanges"], after["exchanges"]) < FEWEST:
            continue
        yield from _times(name, before["latency_ms"], after["latency_ms"])
        shares = [row["errors"] / row["exchanges"] for row in (before, after)]
        if abs(shares[1] - shares[0]) >= LEAST_SHARE:
            yield Change(
                "more" if shares[1] > shares[0] else "less", "error", f"{name} errors", f"{shares[0]:.1%}", f"{shares[1]:.1%}"
            )
        if min(spans) >= 1:
            rates = [row["exchanges"] / span for row, span in zip((before, after), spans, strict=True)]
            if max(rates) >= RATE_FACTOR * min(rates):
                how = "more" if rates[1] > rates[0] else "less"
                yield Change(how, "api", f"{name} requests", f"{rates[0]:,.1f} / s", f"{rates[1]:,.1f} / s")


def _times(name: str, before: Row | None, after: Row | None) -> Iterator[Change]:
    if not before or not after:
        return
    for rank in ("p50", "p99"):
        old, new = before[rank], after[rank]
        if abs(new - old) >= LEAST_MS and max(old, new) >= FACTOR * max(0.001, min(old, new)):
            yield Change("slower" if new > old else "faster", "api", f"{name} {rank}", duration_ms(old), duration_ms(new))


def _libraries(a: Row, b: Row) -> Iterator[Change]:
    def libraries(report: Row) -> dict[str, str]:
        found: dict[str, set[str]] = {}
        for row in (report.get("upgrade") or {}).get("clients", ()):
            if row["software_name"]:
                name = str(row["client_id"] if row["client_id"] is not None else row["client"])
                found.setdefault(name, set()).add(f"{row['software_name']} {row['software_version']}".strip())
        return {name: ", ".join(sorted(all_of)) for name, all_of in found.items()}

    old, new = libraries(a), libraries(b)
    for name, library in new.items():
        if name in old and old[name] != library:
            yield Change("changed", "library", name, old[name], library)


def _names(rows: Iterable[Row], name: Callable[[Row], str | None]) -> dict[str, Row]:
    """By name; the first row of a name, which is the busiest."""
    found: dict[str, Row] = {}
    for row in rows:
        key = name(row)
        if key is not None:
            found.setdefault(key, row)
    return found


def _key(key: str) -> Callable[[Row], str | None]:
    return lambda row: row[key]


def _error(row: Row) -> str | None:
    return None if row["error"] is None else f"{row['error']} to {row['api'] or '-'}"


def _client(row: Row) -> str | None:
    """Addresses change with every deployment, client ids do not."""
    client_id: str | None = row["client_id"]
    return client_id if client_id is not None else row["client"]


def _exchanges(row: Row) -> str:
    return count(row["exchanges"], "exchange")


def _answers(row: Row) -> str:
    return count(row["exchanges"], "answer")


def _rebalances(row: Row) -> str:
    return count(row["rebalances"], "rebalance")


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "-"
