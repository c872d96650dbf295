"""How far can the capture itself be trusted?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kdissect.report.human import count, size
from kdissect.triage.evidence import Evidence
from kdissect.triage.question import Batch, Problem, Question, Whole, problem
from kdissect.triage.thresholds import Thresholds

CODE: Final = "capture.loss"


class Loss:
    """Weighs what the sequence numbers show but the capture lacks."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._without_request = Evidence()
        self._gaps = Evidence()

    def feed(self, batch: Batch) -> None:
        for exchange in batch.by_key.get(None, ()):
            if exchange.outcome == "request_missing":
                self._without_request.add(exchange)
        for exchange in batch.exchanges:
            if exchange.unanswered_reason == "gap":
                self._gaps.add(exchange)

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        ledger = whole.ledger
        evidence = Evidence()
        evidence.merge(self._gaps)
        evidence.merge(self._without_request)
        late = [c for c in whole.connections if c.protocol == "kafka" and c.lifetime.opener is None]
        if not (ledger.missing or ledger.skipped or evidence.count):
            return
        lossy = [c for c in whole.connections if c.protocol == "kafka" and (c.ledger.missing or c.ledger.skipped)]
        total = ledger.captured - ledger.duplicate + ledger.missing
        share = (ledger.missing + ledger.skipped) / max(1, total)
        parts = []
        if ledger.missing:
            parts.append(f"{size(ledger.missing)} are not in it ({ledger.missing / max(1, total):.2%})")
        if ledger.skipped:
            parts.append(f"{size(ledger.skipped)} had to be passed over to find the next message")
        if self._without_request.count:
            parts.append(f"{count(self._without_request.count, 'response')} came without a request")
        if self._gaps.count:
            parts.append(f"{count(self._gaps.count, 'request')} may have been answered in a gap")
        if late:
            parts.append(f"{count(len(late), 'connection')} began before it")
        for connection in lossy[:1000]:
            evidence.connections[connection.number] = None
        yield problem(
            CODE,
            "warning" if share >= self._limits.loss_share else "note",
            "The capture is incomplete",
            f"Of {size(total)} on {count(len(lossy), 'connection')} with losses, {'; '.join(parts)}."
            if lossy
            else f"{'; '.join(parts).capitalize()}.",
            evidence,
            why="Counts are too low by about this share, and requests that look unanswered may have been answered.",
            advice="Capture with a larger buffer (tcpdump -B 65536), only the brokers' ports, on a disk that keeps up, "
            "and look at "
            "the line 'packets dropped by kernel' when tcpdump ends.",
            count=max(evidence.count, len(lossy), 1),
        )

    def table(self) -> Any:
        return None


def question() -> Question:
    """The question about the capture."""
    return Question("loss", (CODE,), Loss)
