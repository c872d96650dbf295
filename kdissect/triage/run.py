"""Runs all questions and rules over a dissection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kdissect.triage.evidence import Evidence
from kdissect.triage.question import Batch, Inquiry, Problem, Question, Whole, clients_text, most_severe_first, problem
from kdissect.triage.strata import Strata
from kdissect.triage.thresholds import Thresholds
from kdissect.triage.upgrade import question as upgrade

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange
    from kdissect.plugins.host import Host

MOST_OF_A_CODE = 20
"""Findings of one code that are told one by one; the rest are summed up."""
MOST_OF_RULES = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the triage found."""

    problems: Sequence[Problem]
    """Most severe first."""
    tables: Mapping[str, Any]
    """What questions show beside findings, by their names."""


class Triage:
    """One run: :meth:`feed` every batch in order, then :meth:`conclude`."""

    def __init__(self, host: Host, thresholds: Thresholds | None = None, target: str | None = None) -> None:
        """``target``: the Kafka release that clients are to be ready for (4.0); ValueError where there is none of that name."""
        self._host = host
        limits = thresholds or Thresholds()
        self._running: list[tuple[str, Question, Inquiry]] = []
        for plugin, question in [("kdissect", upgrade(target)), *host.collect("kdissect_questions", Question)]:
            with host.isolated(plugin, f"question {question.name}"):
                self._running.append((plugin, question, question.start(limits)))
        covered = {code for _, question, _ in self._running for code in question.codes}
        self._rules = host.start_rules(without=covered)
        self.reads_all = host.has_rules(without=covered)
        """Whether there are rules of plugins, which look at every single exchange with its body."""
        self._strata = Strata()
        self._by_rules: dict[tuple[str, str], tuple[Evidence, dict[str, None]]] = {}

    def feed(self, exchanges: Sequence[Exchange]) -> None:
        """Let everything look at a batch; a question that raises is out for the rest of the run."""
        batch = Batch(exchanges)
        self._strata.feed(batch)
        for entry in list(self._running):
            plugin, question, inquiry = entry
            failures = len(self._host.failures)
            with self._host.isolated(plugin, f"question {question.name}"):
                inquiry.feed(batch)
            if len(self._host.failures) > failures:
                self._running.remove(entry)
        found = self._rules(exchanges) if self.reads_all else []
        if found:
            by_index = {exchange.index: exchange for exchange in exchanges}
            for index, finding in found:
                place = finding.code, finding.severity
                if index in by_index and (place in self._by_rules or len(self._by_rules) < MOST_OF_RULES):
                    evidence, texts = self._by_rules.setdefault(place, (Evidence(), {}))
                    evidence.add(by_index[index])
                    if len(texts) < 3:
                        texts[finding.text] = None

    def conclude(self, dissection: Dissection) -> Outcome:
        """What all of them found; the dissection is over."""
        self._strata.settle()
        whole = Whole(dissection.capture, dissection.connections, dissection.ledger, self._strata.scale)
        problems: list[Problem] = []
        tables: dict[str, Any] = {}
        for plugin, question, inquiry in self._running:
            with self._host.isolated(plugin, f"question {question.name}"):
                found = list(inquiry.conclude(whole))
                table = inquiry.table()
                problems += _bounded(found)
                if table is not None:
                    tables[question.name] = table
        for (code, severity), (evidence, texts) in self._by_rules.items():
            text = f"{evidence.count:,} exchanges of {clients_text(evidence)}: {'; '.join(texts)}."
            problems.append(problem(code, severity, code, text, evidence, why="", advice=""))
        problems += [_failed(finding.text) for finding in self._host.failures]
        return Outcome(most_severe_first(problems), tables)


def _failed(text: str) -> Problem:
    return Problem(
        "plugin.failed",
        "warning",
        "A plugin failed",
        f"{text}.",
        "What it would have found or decoded is not in this report.",
        "Update the plugin, or tell its authors.",
        1,
    )


def _bounded(found: list[Problem]) -> list[Problem]:
    """At most so many of one code; the others in one, as severe as the worst of them."""
    kept: list[Problem] = []
    rest: dict[str, list[Problem]] = {}
    count: dict[str, int] = {}
    for each in most_severe_first(found):
        count[each.code] = count.get(each.code, 0) + 1
        if count[each.code] <= MOST_OF_A_CODE:
            kept.append(each)
        else:
            rest.setdefault(each.code, []).append(each)
    for several in rest.values():
        first = several[0]
        kept.append(
            Problem(
                first.code,
                first.severity,
                f"{first.title}, and more",
                f"{len(several):,} more findings of this kind, the first: {first.text}",
                first.why,
                first.advice,
                sum(each.count for each in several),
                first.samples,
                first.connections,
                first.who,
                first.first_ns,
                first.last_ns,
                first.digits,
            )
        )
    return kept
