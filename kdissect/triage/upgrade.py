"""Which clients break on another Kafka release, Kafka 4 above all (KIP-896)?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from kdissect import schema
from kdissect.columnar.batch import Columns
from kdissect.report.human import count
from kdissect.triage.api_versions import FIRST_WITHOUT_OLD, Accepted, Release, release, releases
from kdissect.triage.bodies import answered_with, asked_for, is_follower
from kdissect.triage.evidence import Client, Evidence, client_of, merged
from kdissect.triage.question import Batch, Problem, Question, Whole, names, problem
from kdissect.triage.thresholds import Thresholds

CODE: Final = "upgrade.kafka4_removed_version"
API_VERSIONS: Final = 18
BETWEEN_BROKERS: Final = frozenset({4, 5, 6, 7, 27, 56, 57, 62, 63, 64, 67, 70, 82})
"""Keys that only brokers and controllers ask each other; they change with the brokers themselves."""
FETCHES: Final = 1
MOST_CLIENTS: Final = 10_000


class _Seen:
    """What one client was seen to do."""

    __slots__ = ("broker", "by_api", "negotiates", "principal", "software")

    def __init__(self) -> None:
        self.by_api: dict[tuple[int, int], Evidence] = {}
        """(API key, version) -> exchanges; only of versions that the target does not accept."""
        self.negotiates = False
        self.software: tuple[str, str] | None = None
        self.principal: str | None = None
        self.broker = False
        """It is a broker itself."""


class Upgrade:
    """Compares every request with what the target release accepts.

    A client that asks for the broker's versions (ApiVersions) chooses the
    highest that both know.  One that uses an old version although the broker
    offers newer ones knows no newer; one limited by an old broker may.
    """

    def __init__(self, target: Release, downgrade: bool = False) -> None:
        """``downgrade``: look for versions and APIs that the target does not have yet, too."""
        self._target = target
        self._downgrade = downgrade
        self._later = frozenset() if downgrade else _introduced_after(target)
        self._clients: dict[Client, _Seen] = {}
        self._offered: dict[tuple[str, int], int] = {}
        """(broker, API key) -> newest version that it offers."""
        self._asked: dict[tuple[Client, int, int], str] = {}
        self._verdicts: list[dict[str, Any]] = []

    def feed(self, batch: Batch) -> None:
        self._negotiations(batch)
        apis = self._target.apis
        seen_in_batch: dict[tuple[str, str | None, int, int], Evidence | None] = {}
        for key, exchanges in batch.by_key.items():
            if key is None or key == API_VERSIONS:
                continue
            accepted = apis.get(key)
            for exchange in exchanges:
                version = exchange.api_version
                if version is None:
                    continue
                # With its port, which would cost more to cut off every time than to look up too often.
                place = (exchange.client, exchange.client_id, key, version)
                try:
                    evidence = seen_in_batch[place]
                except KeyError:
                    evidence = seen_in_batch[place] = self._evidence(exchange, key, version, accepted)
                if evidence is not None:
                    evidence.add(exchange)
        if batch.columns is not None:
            self._columns(batch, batch.columns)

    def _columns(self, batch: Batch, columns: Columns) -> None:
        """The same for exchanges in columns: one look for each client, connection and version."""
        ids = len(columns.client_ids)
        kind = columns.api_key << 16 | columns.api_version
        who = columns.connection * ids + columns.client_id
        order = np.lexsort((who, kind))
        changes = (np.diff(kind[order]) != 0) | (np.diff(who[order]) != 0)
        begins = np.flatnonzero(np.concatenate([[True], changes]))
        for rows in np.split(order, begins[1:]):
            exchange = batch.at(int(rows[0]))
            key, version = exchange.api_key, exchange.api_version
            if key is None or version is None or key == API_VERSIONS:
                continue
            evidence = self._evidence(exchange, key, version, self._target.apis.get(key))
            if evidence is not None:
                evidence.add_rows(batch, np.sort(rows))

    def _evidence(self, exchange: Any, key: int, version: int, accepted: Accepted | None) -> Evidence | None:
        seen = self._client(client_of(exchange))
        if seen is None:
            return None
        if exchange.principal is not None:
            seen.principal = exchange.principal
        if key in BETWEEN_BROKERS or (key == FETCHES and is_follower(exchange)):
            seen.broker = True
        if accepted is not None and accepted.oldest <= version and (version <= accepted.newest or not self._downgrade):
            return None
        if (accepted is None and key in self._later) or (seen.negotiates and accepted is not None and version > accepted.newest):
            return None  # A client that negotiates steps back.
        self._asked.setdefault((client_of(exchange), key, version), exchange.broker)
        return seen.by_api.setdefault((key, version), Evidence())

    def _client(self, who: Client) -> _Seen | None:
        seen = self._clients.get(who)
        if seen is None:
            if len(self._clients) >= MOST_CLIENTS:
                return None
            seen = self._clients[who] = _Seen()
        return seen

    def _negotiations(self, batch: Batch) -> None:
        for exchange in batch.of(API_VERSIONS):
            seen = self._client(client_of(exchange))
            if seen is None:
                continue
            seen.negotiates = True
            asked = asked_for(exchange)
            if asked and isinstance(asked.get("client_software_name"), str) and asked["client_software_name"]:
                seen.software = asked["client_software_name"], str(asked.get("client_software_version") or "")
            answered = answered_with(exchange)
            for each in (answered or {}).get("api_keys") or ():
                place = exchange.broker, each.get("api_key", -1)
                if place in self._offered or len(self._offered) < 1_000_000:
                    self._offered[place] = max(self._offered.get(place, -1), each.get("max_version", -1))

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        breaking: list[Evidence] = []
        unclear: list[Evidence] = []
        brokers: list[Evidence] = []
        details: dict[str, list[dict[str, object]]] = {"breaks": [], "unclear": [], "broker": []}
        for who, seen in self._clients.items():
            rows: list[dict[str, object]] = []
            verdict = "ready"
            for (key, version), evidence in sorted(seen.by_api.items()):
                accepted = self._target.apis.get(key)
                kind = self._judge(who, seen, key, version, accepted)
                row: dict[str, object] = {
                    "client": str(who),
                    "software": " ".join(seen.software) if seen.software else None,
                    "api": schema.api_name(key),
                    "version": version,
                    "accepted": None if accepted is None else f"{accepted.oldest}-{accepted.newest}",
                    "requests": evidence.count,
                }
                rows.append({**row, "verdict": kind})
                details[kind].append(row)
                {"breaks": breaking, "unclear": unclear, "broker": brokers}[kind].append(evidence)
                if kind == "breaks" or (kind == "unclear" and verdict == "ready"):
                    verdict = kind
            self._verdicts.append(
                {
                    "client": who.address,
                    "client_id": who.client_id,
                    "software_name": seen.software[0] if seen.software else None,
                    "software_version": seen.software[1] if seen.software else None,
                    "principal": seen.principal,
                    "negotiates": seen.negotiates,
                    "verdict": "broker" if seen.broker and verdict == "ready" else verdict,
                    "apis": rows,
                }
            )
        self._verdicts.sort(key=lambda row: (_ORDER.index(row["verdict"]), row["client"], row["client_id"] or ""))
        yield from self._problems(breaking, unclear, details)

    def _judge(self, who: Client, seen: _Seen, key: int, version: int, accepted: Accepted | None) -> str:
        if key in BETWEEN_BROKERS or seen.broker:
            return "broker"
        if accepted is not None and version > accepted.newest:
            return "breaks"
        offered = self._offered.get((self._asked.get((who, key, version), ""), key))
        if not seen.negotiates or accepted is None or offered is None:
            return "breaks" if accepted is not None or not seen.negotiates else "unclear"
        return "breaks" if offered >= accepted.oldest else "unclear"

    def _problems(
        self, breaking: list[Evidence], unclear: list[Evidence], details: dict[str, list[dict[str, object]]]
    ) -> Iterable[Problem]:
        target = self._target.name
        if breaking:
            evidence = merged(breaking)
            apis = sorted({f"{row['api']} v{row['version']}" for row in details["breaks"]})
            who = list({row["client"]: None for row in details["breaks"]})
            yield problem(
                CODE,
                "warning",
                f"Requests that Kafka {target} turns down",
                f"{names(who)} sent {count(evidence.count, 'request')} that Kafka {target} does not accept: {names(apis, 6)}. "
                "They know no version that it does, or do not ask the broker which it speaks.",
                evidence,
                why=f"A broker of Kafka {target} closes the connection on such a request: these clients stop working at "
                "the upgrade.",
                advice="Update these clients first: every client library of 2018 or later (Kafka 2.1) speaks versions "
                "that Kafka 4 "
                f"accepts. Then capture again and repeat with --target-version {target}.",
                details=details["breaks"],
            )
        if unclear:
            evidence = merged(unclear)
            apis = sorted({f"{row['api']} v{row['version']}" for row in details["unclear"]})
            who = list({row["client"]: None for row in details["unclear"]})
            yield problem(
                CODE,
                "note",
                f"Versions that Kafka {target} lacks, chosen because of the broker here",
                f"{names(who)} used {names(apis, 6)}, which Kafka {target} does not accept, but the broker here offered "
                "nothing that "
                "it would. Such a client chooses anew with every broker, so this capture cannot tell whether it breaks.",
                evidence,
                why="What a client could speak shows only where the broker lets it.",
                advice=f"Look at the library's version in the table, or try the client against a broker of Kafka {target}.",
                details=details["unclear"],
            )

    def table(self) -> Any:
        return {"target_version": self._target.name, "clients": self._verdicts}


_ORDER: Final = ("breaks", "unclear", "ready", "broker")


def _introduced_after(target: Release) -> frozenset[int]:
    """Keys of APIs that only later releases have."""
    names = list(releases())
    later = names[names.index(target.name) + 1 :]
    earlier = names[: names.index(target.name) + 1]
    had = {key for name in earlier for key in releases()[name].apis}
    return frozenset(key for name in later for key in releases()[name].apis if key not in had)


def question(target: str | None = None) -> Question:
    """The question about a target release, by default Kafka 4.0; ValueError where there is no such release.

    With a target of their own choice people may go back: then versions that are too new count too.
    """
    found = release(target or FIRST_WITHOUT_OLD)

    def start(thresholds: Thresholds) -> Upgrade:
        return Upgrade(found, downgrade=target is not None)

    return Question("upgrade", (CODE,), start)
