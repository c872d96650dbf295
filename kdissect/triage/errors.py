"""Which errors do brokers answer, and whom?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from kdissect import schema
from kdissect.triage.error_kinds import ELSEWHERE, GRAVE, OF_REQUESTS_THAT_FAIL, RETRIABLE, STEPS
from kdissect.triage.evidence import Evidence
from kdissect.triage.question import Batch, Problem, Question, Whole, clients_text, problem, tally
from kdissect.triage.thresholds import Thresholds

CODE: Final = "error.responses"
MOST_KINDS: Final = 1000


class Errors:
    """Counts errors by name and API; tells the usual steps of the protocol from what went wrong."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._found: dict[tuple[str, str], Evidence] = {}
        self._asked: Counter[str] = Counter()

    def feed(self, batch: Batch) -> None:
        for exchanges in batch.by_key.values():
            self._asked[exchanges[0].api or "-"] += len(exchanges)
        if batch.columns is not None:
            for key, number in tally(batch.columns.api_key).items():
                self._asked[schema.api_name(key)] += number
        for exchange in batch.failed:
            for code in exchange.error_codes:
                kind = code, exchange.api or "-"
                evidence = self._found.get(kind)
                if evidence is None:
                    if len(self._found) >= MOST_KINDS:
                        continue
                    evidence = self._found[kind] = Evidence()
                evidence.add(exchange)

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        for (code, api), evidence in self._found.items():
            if code in ELSEWHERE or (code, api) in STEPS:
                continue
            severity = self._severity(code, api, evidence)
            if severity is None:
                continue
            share = evidence.count / max(1, self._asked[api])
            grave = code in GRAVE and api in OF_REQUESTS_THAT_FAIL
            meaning = f": {GRAVE[code]}" if grave else ""
            yield problem(
                CODE,
                severity,
                f"{api} answered with {code}",
                f"{evidence.count:,} of {self._asked[api]:,} {api} requests ({share:.1%}) were answered with {code}{meaning}; "
                f"asked by {clients_text(evidence)}.",
                evidence,
                why=_why(code, grave),
                advice=_advice(code, api),
            )

    def _severity(self, code: str, api: str, evidence: Evidence) -> str | None:
        if code in GRAVE and api in OF_REQUESTS_THAT_FAIL:
            return "warning" if code == "OFFSET_OUT_OF_RANGE" else "critical"
        often = evidence.count >= self._limits.error_count and evidence.count >= self._limits.error_share * self._asked[api]
        if code in RETRIABLE:
            return "warning" if often else None
        if api in OF_REQUESTS_THAT_FAIL:
            return "warning"
        return "warning" if often else "note"

    def table(self) -> Any:
        return None


def _why(code: str, grave: bool) -> str:
    if grave:
        return "Data is lost, damaged or not accepted."
    if code in RETRIABLE:
        return "Clients try again on their own; so many refusals cost time and load, and applications wait."
    return "The broker did not do what was asked, and the client will not succeed by asking again."


def _advice(code: str, api: str) -> str:
    return {
        "NOT_ENOUGH_REPLICAS": "Bring the missing brokers back, or look why their replicas left the in-sync set.",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "Bring the missing brokers back; producers will send again, so expect duplicates "
        "without idempotence.",
        "KAFKA_STORAGE_ERROR": "Look at the broker's disks and its log for the failed directory.",
        "CORRUPT_MESSAGE": "Look for a faulty client library, proxy or disk on the way of these batches.",
        "OFFSET_OUT_OF_RANGE": "Compare the topic's retention with the consumer's lag and its auto.offset.reset.",
        "UNKNOWN_TOPIC_OR_PARTITION": "Create the topic, or correct its name in the client; after a deletion restart the client.",
        "REQUEST_TIMED_OUT": "Look at replication and load on the broker: it could not finish within the request's time.",
        "THROTTLING_QUOTA_EXCEEDED": "Raise the controller mutation quota, or make fewer topics and partitions at a time.",
        "UNSUPPORTED_VERSION": f"Update the client or the broker: they have no version of {api} in common.",
    }.get(code, f"Open an exchange below to see the broker's message, and look for {code} in the client's log.")


def question() -> Question:
    """The question about errors."""
    return Question("errors_by_api", (CODE,), Errors)
