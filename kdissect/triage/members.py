"""Which members of groups were fenced?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kdissect.report.human import count
from kdissect.triage.error_kinds import MEMBER_FENCED
from kdissect.triage.evidence import Evidence, client_of, merged
from kdissect.triage.question import Batch, Problem, Question, Whole, clients_text, names, problem
from kdissect.triage.thresholds import Thresholds

CODE: Final = "group.member_fenced"
LEAVE: Final = 13
MOST: Final = 5_000


class Members:
    """Counts refusals because a member is not (any more) what it thinks it is."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._found: dict[tuple[str, str, str], Evidence] = {}
        self._commits = 0

    def feed(self, batch: Batch) -> None:
        for exchange in batch.failed:
            if exchange.api_key == LEAVE:
                continue  # Leaving a group that one is no longer in does no harm.
            for code in exchange.error_codes:
                if code in MEMBER_FENCED:
                    place = (exchange.groups[0] if exchange.groups else "?", code, str(client_of(exchange)))
                    if place in self._found or len(self._found) < MOST:
                        self._found.setdefault(place, Evidence()).add(exchange)
                        self._commits += exchange.api_key in (8, 28)

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        if not self._found:
            return
        evidence = merged(self._found.values())
        lasting = any(each.count >= self._limits.fenced_count for each in self._found.values())
        instance = any(code == "FENCED_INSTANCE_ID" for _, code, _ in self._found)
        groups = sorted({group for group, _, _ in self._found})
        codes = sorted({code for _, code, _ in self._found})
        text = f"{count(evidence.count, 'request')} of {clients_text(evidence)} in {names(groups)} refused with {names(codes)}"
        if self._commits:
            text += f"; {self._commits:,} were commits of offsets"
        yield problem(
            CODE,
            "warning" if lasting or instance or self._commits else "note",
            "Members are fenced out of their group",
            text + ".",
            evidence,
            why="The group went on without them: what they processed and could not commit is processed again by others.",
            advice="Process polls faster than max.poll.interval.ms (fewer records a poll, more time), and give each "
            "static member a "
            "group.instance.id of its own: two with the same id fence each other.",
            details=[
                {"group": group, "error": code, "client": who, "requests": each.count}
                for (group, code, who), each in sorted(self._found.items(), key=lambda item: -item[1].count)[:100]
            ],
        )

    def table(self) -> Any:
        return None


def question() -> Question:
    """The question about fenced members."""
    return Question("members", (CODE,), Members)
