"""Who asks for metadata too often, and who asks brokers that no longer lead?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kdissect.triage.bodies import asked_for, is_follower
from kdissect.triage.error_kinds import STALE_LEADER
from kdissect.triage.evidence import Client, Evidence, client_of
from kdissect.triage.question import Batch, Problem, Question, Whole, clients_text, names, problem
from kdissect.triage.thresholds import Thresholds
from kdissect.triage.windows import Busiest

STORM: Final = "metadata.storm"
STALE: Final = "metadata.stale_leader"
METADATA, FETCH = 3, 1
MOST_CLIENTS: Final = 5_000
MINUTE_S: Final = 60


class Storm:
    """Counts Metadata requests of each client."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._asked: dict[Client, tuple[Busiest, Evidence, list[int]]] = {}

    def feed(self, batch: Batch) -> None:
        for exchange in batch.of(METADATA):
            who = client_of(exchange)
            found = self._asked.get(who)
            if found is None:
                if len(self._asked) >= MOST_CLIENTS:
                    continue
                found = self._asked[who] = Busiest(MINUTE_S), Evidence(), [0, 0]
            busiest, evidence, counts = found
            busiest.add(exchange.request_time_ns)
            evidence.add(exchange, exchange.response_bytes or 0)
            counts[0] += exchange.response_bytes or 0
            body = asked_for(exchange)
            counts[1] += body is not None and (body.get("topics") is None or (exchange.api_version == 0 and not body["topics"]))

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        for who, (busiest, evidence, (received, everything)) in self._asked.items():
            if busiest.most < self._limits.metadata_per_minute:
                continue
            topics = f", {everything:,} times for all topics" if everything else ""
            yield problem(
                STORM,
                "warning",
                "A client asks for metadata all the time",
                f"{who} asked for metadata {evidence.count:,} times{topics}, {busiest.most:,} times within one minute; "
                "the answers "
                f"take {received:,} bytes.",
                evidence,
                why="Every answer costs the broker time and, with many topics, megabytes; clients do this when "
                "something keeps failing.",
                advice="Look for a topic that does not exist, clients made anew for every message, or a "
                "metadata.max.age.ms set far too "
                "low.",
            )

    def table(self) -> Any:
        return None


class StaleLeader:
    """Counts answers that say that the broker does not lead the partition."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._found: dict[tuple[Client, str, bool], tuple[Evidence, dict[str, None], dict[str, None]]] = {}

    def feed(self, batch: Batch) -> None:
        for exchange in batch.failed:
            codes = [code for code in exchange.error_codes if code in STALE_LEADER]
            if not codes or exchange.api_key is None:
                continue
            inside = exchange.api_key not in _BY_CLIENTS or (exchange.api_key == FETCH and is_follower(exchange))
            place = client_of(exchange), exchange.broker, inside
            if place not in self._found and len(self._found) >= MOST_CLIENTS:
                continue
            evidence, errors, topics = self._found.setdefault(place, (Evidence(), {}, {}))
            evidence.add(exchange)
            errors.update(dict.fromkeys(codes))
            if len(topics) < 100:
                topics.update(dict.fromkeys(exchange.topics))

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        lasting, passing = Evidence(), Evidence()
        details: dict[bool, list[dict[str, object]]] = {True: [], False: []}
        topics: dict[bool, dict[str, None]] = {True: {}, False: {}}
        for (who, broker, follower), (evidence, errors, named) in self._found.items():
            lasts = (
                not follower
                and evidence.count >= self._limits.stale_leader_count
                and evidence.duration_s >= self._limits.stale_leader_s
            )
            (lasting if lasts else passing).merge(evidence)
            row: dict[str, object] = {
                "client": str(who),
                "broker": broker,
                "errors": ", ".join(errors),
                "answers": evidence.count,
                "seconds": round(evidence.duration_s, 3),
            }
            details[lasts].append(row)
            topics[lasts].update(named)
        for severity, evidence, lasts in (("warning", lasting, True), ("note", passing, False)):
            # Now and then is how clients and followers learn of a new leader.
            if evidence.count and (lasts or evidence.count >= self._limits.stale_leader_count):
                yield problem(
                    STALE,
                    severity,
                    "Brokers are asked that lead no longer" if lasts else "Leaders moved",
                    f"{evidence.count:,} answers to {clients_text(evidence)} say that the broker asked is not the "
                    "partition's leader"
                    + (f" ({names(list(topics[lasts]))})" if topics[lasts] else "")
                    + (
                        f", over {evidence.duration_s:.0f} s: metadata there stays stale."
                        if lasts
                        else "; each client or follower went on soon."
                    ),
                    evidence,
                    why="These partitions are neither written nor read by that client while it asks the wrong broker."
                    if lasts
                    else "A leader moved: a broker stopped, or partitions were reassigned.",
                    advice="Look whether advertised.listeners lead every client to the right broker, and update old clients."
                    if lasts
                    else "Nothing, if a broker was restarted then; else look why leadership moved.",
                    details=sorted(details[lasts], key=lambda row: -int(str(row["answers"])))[:100],
                )

    def table(self) -> Any:
        return None


_BY_CLIENTS: Final = frozenset({0, 1, 2, 3, 8, 9, 23, 78, 79})
"""Keys that clients send; others are the brokers' and controllers' own business."""


def storm() -> Question:
    """The question about metadata storms."""
    return Question("metadata_storm", (STORM,), Storm)


def stale_leader() -> Question:
    """The question about stale leaders."""
    return Question("stale_leader", (STALE,), StaleLeader)
