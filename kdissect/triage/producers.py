"""Which producers were fenced, or are zombies?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kdissect.report.human import count
from kdissect.triage.bodies import asked_for
from kdissect.triage.error_kinds import PRODUCER_FENCED
from kdissect.triage.evidence import Evidence, client_of, merged
from kdissect.triage.question import Batch, Problem, Question, Whole, clients_text, names, problem
from kdissect.triage.thresholds import Thresholds

CODE: Final = "producer.fenced"
INIT: Final = 22
MOST: Final = 5_000


class Producers:
    """Gathers refusals of producer ids and epochs, and who else took the transactional id."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._found: dict[tuple[str, str], Evidence] = {}
        self._owners: dict[str, dict[str, None]] = {}
        """Transactional id -> clients that initialised it."""

    def feed(self, batch: Batch) -> None:
        for exchange in batch.of(INIT):
            body = asked_for(exchange)
            name = body.get("transactional_id") if body else None
            if isinstance(name, str) and name and (name in self._owners or len(self._owners) < MOST):
                owners = self._owners.setdefault(name, {})
                if len(owners) < 10:
                    owners[f"{client_of(exchange)}, connection {exchange.connection}"] = None
        for exchange in batch.failed:
            for code in exchange.error_codes:
                if code in PRODUCER_FENCED:
                    body = asked_for(exchange)
                    name = body.get("transactional_id") if body else None
                    place = name if isinstance(name, str) else "", code
                    if place in self._found or len(self._found) < MOST:
                        self._found.setdefault(place, Evidence()).add(exchange)

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        if not self._found:
            return
        evidence = merged(self._found.values())
        ids = sorted({name for name, _ in self._found if name})
        codes = sorted({code for _, code in self._found})
        shared = [name for name in ids if len(self._owners.get(name, ())) > 1]
        text = f"{count(evidence.count, 'request')} of {clients_text(evidence)} refused with {names(codes)}"
        text += f"; transactional ids: {names(ids)}" if ids else ""
        text += f". {names(shared)} was initialised by several clients in this capture" if shared else ""
        yield problem(
            CODE,
            "warning",
            "Producers are fenced",
            text + ".",
            evidence,
            why="A fenced producer can write nothing more: another instance took its transactional id, or its "
            "transaction timed out.",
            advice="Give every instance a transactional.id of its own; if a pause made it a zombie, keep transactions "
            "shorter than "
            "transaction.timeout.ms. OUT_OF_ORDER_SEQUENCE_NUMBER means that a batch before was lost.",
            details=[
                {
                    "transactional_id": name or None,
                    "error": code,
                    "requests": each.count,
                    "initialised_by": list(self._owners.get(name, ())),
                }
                for (name, code), each in sorted(self._found.items(), key=lambda item: -item[1].count)[:100]
            ],
        )

    def table(self) -> Any:
        return None


def question() -> Question:
    """The question about fenced producers."""
    return Question("producers", (CODE,), Producers)
