"""The triage report as data: what ``kdissect report --format json`` writes and all its other forms show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kdissect.columnar.batch import ExchangeBatch
from kdissect.report.closing import ledger_line
from kdissect.report.human import count, duration_ms
from kdissect.report.stats import Stats
from kdissect.report.triage_links import Links
from kdissect.report.triage_series import Series
from kdissect.triage.question import SEVERITIES, Problem

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange
    from kdissect.plugins.host import Host
    from kdissect.triage.run import Outcome
    from kdissect.triage.thresholds import Thresholds

MOST_CONNECTIONS: Final = 10_000
"""Connections that are listed one by one; the busiest, and all that are not Kafka within it."""


class Reporter:
    """Gathers everything that a report needs in one pass over the exchanges."""

    def __init__(self, host: Host, thresholds: Thresholds | None = None, target: str | None = None) -> None:
        """ValueError where ``target`` is no Kafka release."""
        from kdissect.triage.run import Triage

        self.stats, self.series, self.links = Stats(), Series(), Links()
        self.triage = Triage(host, thresholds, target)
        self._errors = self._exchanges = self._decoded = 0

    def add(self, batch: Sequence[Exchange]) -> None:
        """Takes a batch of exchanges."""
        self.stats.add(batch)
        self.series.add(batch)
        self.links.add(batch)
        self.triage.feed(batch)
        self._exchanges += len(batch)
        singly: Iterable[Exchange] = batch
        if isinstance(batch, ExchangeBatch):
            self._errors += batch.with_errors()
            singly = batch.objects.values()
            self._decoded += len(batch.objects)
        else:
            self._decoded += len(batch)
        self._errors += sum(1 for exchange in singly if exchange.error_codes)

    def finish(self, dissection: Dissection) -> Report:
        """The report; the dissection is over."""
        outcome = self.triage.conclude(dissection)
        stats = self.stats.to_json(dissection)
        connections: Any = stats.pop("connections")
        told = sorted(connections, key=lambda row: (row["protocol"] == "kafka", -row["exchanges"]))[:MOST_CONNECTIONS]
        data: dict[str, Any] = {
            "capture": stats.pop("capture"),
            "summary": self._summary(dissection, outcome),
            "ledger": stats.pop("ledger"),
            "findings": [problem.to_json() for problem in outcome.problems],
            **stats,
            "connections": sorted(told, key=lambda row: int(row["connection"])),
            **outcome.tables,
            "series": self.series.to_json(),
            "links": self.links.to_json(dissection.connections),
        }
        return Report(data, outcome.problems)

    def _summary(self, dissection: Dissection, outcome: Outcome) -> dict[str, Any]:
        capture = dissection.capture
        kafka = [connection for connection in dissection.connections if connection.protocol == "kafka"]
        severities = Counter(problem.severity for problem in outcome.problems)
        first, last = capture.first_time_ns, capture.last_time_ns
        span = None if first is None or last is None else (last - first) / 1e6
        brokers = len({connection.broker for connection in kafka})
        text = f"{count(self._exchanges, 'exchange')} on {count(len(kafka), 'Kafka connection')} with {count(brokers, 'broker')}"
        text += f" in {duration_ms(span)}" if span is not None else ""
        text += f", {self._errors:,} with errors" if self._errors else ""
        return {
            "verdict": verdict(severities, bool(kafka)),
            **{severity: severities[severity] for severity in SEVERITIES},
            "text": text,
            "bytes": ledger_line(dissection.ledger),
            "exchanges": self._exchanges,
            "decoded_exchanges": self._decoded,
            "errors": self._errors,
            "connections": len(dissection.connections),
            "kafka_connections": len(kafka),
            "brokers": brokers,
            "duration_ms": span,
            "brokers_by_address": {
                connection.broker: connection.broker_id for connection in kafka if connection.broker_id is not None
            },
        }


class Report:
    """A finished report: its data, and its findings with the decoded exchanges that they rest on."""

    def __init__(self, data: Mapping[str, Any], problems: Sequence[Problem] = ()) -> None:
        self.data = data
        self.problems = problems

    def worst(self) -> str | None:
        """The severity of the worst finding."""
        return next((severity for severity in SEVERITIES if self.data["summary"][severity]), None)

    def fails(self, limit: str) -> bool:
        """Whether there is a finding at least as severe as ``limit``."""
        worst = self.worst()
        return worst is not None and SEVERITIES.index(worst) <= SEVERITIES.index(limit)


def verdict(severities: Mapping[str, int], kafka: bool = True) -> str:
    """One line: what to think of the capture."""
    if not kafka:
        return "No Kafka in this capture"
    counts = [
        f"{severities[severity]:,} {severity if severity == 'critical' else severity + 's' * (severities[severity] != 1)}"
        for severity in SEVERITIES
        if severities.get(severity)
    ]
    if not counts:
        return "Healthy: nothing to report"
    if severities.get("critical"):
        return f"Act now: {', '.join(counts)}"
    if severities.get("warning"):
        return f"Look into it: {', '.join(counts)}"
    return f"Healthy: {', '.join(counts)}, no warning"
