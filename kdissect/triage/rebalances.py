"""Who triggers rebalances, why, and how long is nobody assigned?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from kdissect.exchange import rfc3339
from kdissect.report.human import duration_ms
from kdissect.triage.bodies import answered_with, asked_for
from kdissect.triage.evidence import Evidence, client_of
from kdissect.triage.question import Batch, Problem, Question, Whole, problem
from kdissect.triage.thresholds import Thresholds
from kdissect.triage.windows import Busiest

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

CODE: Final = "group.rebalance_storm"
JOIN, SYNC, LEAVE = 11, 14, 13
NEW_HEARTBEATS: Final = (68, 76, 88)
"""ConsumerGroupHeartbeat, ShareGroupHeartbeat, StreamsGroupHeartbeat: joining, leaving and assignment in one call (KIP-848)."""
MOST_GROUPS: Final = 5_000
MOST_REBALANCES: Final = 2_000
MOST_MEMBERS: Final = 10_000
SHOWN: Final = 200
"""Rebalances of a group that the report lists."""


class Rebalance:
    """One generation of a group: from the first that joined to the last that got its part."""

    __slots__ = ("digits", "end_ns", "evidence", "leader", "members", "reasons", "start_ns")

    def __init__(self) -> None:
        self.start_ns: int | None = None
        self.end_ns: int | None = None
        self.members: dict[str, str] = {}
        """Member id -> client."""
        self.reasons: Counter[str] = Counter()
        """What members gave as reason (KIP-800)."""
        self.leader: str | None = None
        self.digits = 6
        self.evidence = Evidence()

    def seen(self, start_ns: int | None, end_ns: int | None) -> None:
        """Stretch it over one exchange."""
        if start_ns is not None:
            self.start_ns = start_ns if self.start_ns is None else min(self.start_ns, start_ns)
        if end_ns is not None:
            self.end_ns = end_ns if self.end_ns is None else max(self.end_ns, end_ns)

    @property
    def duration_ms(self) -> float | None:
        """From the first join to the last assignment."""
        return None if self.start_ns is None or self.end_ns is None else max(0.0, (self.end_ns - self.start_ns) / 1e6)


class _Group:
    __slots__ = ("kind", "left", "protocol", "rebalances")

    def __init__(self) -> None:
        self.kind = "classic"
        self.protocol: str | None = None
        self.rebalances: dict[int, Rebalance] = {}
        self.left: dict[str, tuple[str, str | None]] = {}
        """Member id -> client and reason of its leaving."""


class Rebalances:
    """Follows the generations of every group."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._groups: dict[str, _Group] = {}
        self._table: list[dict[str, Any]] = []

    def feed(self, batch: Batch) -> None:
        for exchange in sorted(batch.of(JOIN, SYNC, LEAVE, *NEW_HEARTBEATS), key=lambda each: each.index):
            asked = asked_for(exchange)
            group = self._group(asked.get("group_id")) if asked else None
            if asked is None or group is None:
                continue
            answered = answered_with(exchange)
            if exchange.api_key == LEAVE:
                self._leave(exchange, asked, group)
            elif answered is None or answered.get("error_code"):
                continue
            elif exchange.api_key == JOIN:
                self._join(exchange, asked, answered, group)
            elif exchange.api_key == SYNC:
                self._sync(exchange, asked, group)
            else:
                self._heartbeat(exchange, asked, answered, group)

    def _group(self, name: object) -> _Group | None:
        if not isinstance(name, str):
            return None
        group = self._groups.get(name)
        if group is None and len(self._groups) < MOST_GROUPS:
            group = self._groups[name] = _Group()
        return group

    def _rebalance(self, group: _Group, generation: object) -> Rebalance | None:
        if not isinstance(generation, int):
            return None
        found = group.rebalances.get(generation)
        if found is None and len(group.rebalances) < MOST_REBALANCES:
            found = group.rebalances[generation] = Rebalance()
        return found

    def _join(self, exchange: Exchange, asked: dict[str, Any], answered: dict[str, Any], group: _Group) -> None:
        rebalance = self._rebalance(group, answered.get("generation_id"))
        if rebalance is None:
            return
        group.protocol = _text(asked.get("protocol_type")) or group.protocol
        member = _text(answered.get("member_id")) or _text(asked.get("member_id")) or "?"
        rebalance.seen(exchange.request_time_ns, exchange.response_time_ns)
        rebalance.digits = exchange.time_digits
        if len(rebalance.members) < MOST_MEMBERS:
            rebalance.members[member] = str(client_of(exchange))
        for each in answered.get("members") or ():
            known = _text(each.get("member_id"))
            if known and len(rebalance.members) < MOST_MEMBERS:
                rebalance.members.setdefault(known, "")
        if reason := _text(asked.get("reason")):
            rebalance.reasons[reason[:200]] += 1
        rebalance.leader = _text(answered.get("leader")) or rebalance.leader
        rebalance.evidence.add(exchange)

    def _sync(self, exchange: Exchange, asked: dict[str, Any], group: _Group) -> None:
        rebalance = group.rebalances.get(asked.get("generation_id", -1))
        if rebalance is not None:
            rebalance.seen(None, exchange.response_time_ns)

    def _leave(self, exchange: Exchange, asked: dict[str, Any], group: _Group) -> None:
        leaving = asked.get("members")
        for each in leaving if isinstance(leaving, list) else (asked,):
            member = _text(each.get("member_id"))
            if member and len(group.left) < MOST_MEMBERS:
                group.left[member] = str(client_of(exchange)), _text(each.get("reason"))

    def _heartbeat(self, exchange: Exchange, asked: dict[str, Any], answered: dict[str, Any], group: _Group) -> None:
        group.kind = "consumer"
        member = _text(answered.get("member_id")) or _text(asked.get("member_id")) or "?"
        if asked.get("member_epoch", 0) < 0:
            group.left[member] = str(client_of(exchange)), None
            return
        epoch = answered.get("member_epoch")
        # An assignment that is sent is one that changed.
        if answered.get("assignment") is None and asked.get("member_epoch") == epoch:
            return
        rebalance = self._rebalance(group, epoch)
        if rebalance is not None:
            rebalance.seen(exchange.request_time_ns, exchange.response_time_ns)
            rebalance.digits = exchange.time_digits
            if len(rebalance.members) < MOST_MEMBERS:
                rebalance.members[member] = str(client_of(exchange))
            rebalance.evidence.add(exchange)

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        for name, group in self._groups.items():
            if not group.rebalances:
                continue
            row = self._row(name, group)
            self._table.append(row)
            busiest = Busiest(self._limits.rebalance_window_s)
            ordered = sorted(group.rebalances.values(), key=lambda each: each.start_ns or 0)
            for rebalance in ordered:
                busiest.add(rebalance.start_ns)
            if busiest.most >= self._limits.rebalances:
                yield self._problem(name, row, ordered, busiest.most)
        self._table.sort(key=lambda row: (-row["rebalances"], row["group"]))

    def _row(self, name: str, group: _Group) -> dict[str, Any]:
        events: list[dict[str, Any]] = []
        before: dict[str, str] | None = None
        total = longest = 0.0
        causes: Counter[str] = Counter()
        for generation, rebalance in sorted(group.rebalances.items()):
            took = rebalance.duration_ms
            total += took or 0.0
            longest = max(longest, took or 0.0)
            cause = _cause(before, rebalance, group) if group.kind == "classic" else _new_cause(before, rebalance)
            causes.update(cause)
            events.append(
                {
                    "generation": generation,
                    "start": rfc3339(rebalance.start_ns, rebalance.digits),
                    "end": rfc3339(rebalance.end_ns, rebalance.digits),
                    "duration_ms": took,
                    "members": len(rebalance.members),
                    "causes": cause,
                    "reasons": [reason for reason, _ in rebalance.reasons.most_common(3)],
                }
            )
            before = rebalance.members
        return {
            "group": name,
            "protocol": group.protocol if group.kind == "classic" else "KIP-848",
            "rebalances": len(group.rebalances),
            "members": max(len(each.members) for each in group.rebalances.values()),
            "total_ms": round(total, 6),
            "longest_ms": round(longest, 6),
            "causes": [{"cause": cause, "count": number} for cause, number in causes.most_common(20)],
            "events": events[:SHOWN],
        }

    def _problem(self, name: str, row: dict[str, Any], ordered: list[Rebalance], most: int) -> Problem:
        evidence = Evidence()
        for rebalance in ordered:
            evidence.merge(rebalance.evidence)
        causes = "; ".join(f"{each['cause']} ({each['count']} times)" for each in row["causes"][:3])
        return problem(
            CODE,
            "warning",
            "A group rebalances again and again",
            f"Group {name} rebalanced {row['rebalances']:,} times, {most:,} of them within "
            f"{duration_ms(self._limits.rebalance_window_s * 1000)}; {duration_ms(row['total_ms'])} went by without a "
            "full assignment, "
            f"at most {duration_ms(row['longest_ms'])} at once. Causes: {causes or 'not in the capture'}.",
            evidence,
            why="While a group rebalances, members stop consuming (all of them under the eager protocol), and lag grows.",
            advice="Members that leave on their own restart or are closed: look at their logs. Those that time out "
            "take longer than "
            "max.poll.interval.ms for a poll, or miss session.timeout.ms. Static membership (group.instance.id) and the "
            "cooperative assignor make restarts cheap.",
            details=row["events"][:20],
            count=row["rebalances"],
        )

    def table(self) -> Any:
        return self._table


def _cause(before: dict[str, str] | None, rebalance: Rebalance, group: _Group) -> list[str]:
    """Why a generation began, as far as the members before and now tell."""
    if before is None:
        return ["first seen"]
    causes = []
    for member, client in rebalance.members.items():
        if member not in before:
            causes.append(f"joined: {client or member}")
    for member, client in before.items():
        if member not in rebalance.members:
            if member in group.left:
                who, reason = group.left[member]
                causes.append(f"left: {who}" + (f", {reason}" if reason else ""))
            else:
                causes.append(f"gone without leaving: {client or member}")
    return causes[:20] or ["joined again: same members"]


def _new_cause(before: dict[str, str] | None, rebalance: Rebalance) -> list[str]:
    """Under KIP-848 only changed members are told, so that only new ones show."""
    if before is None:
        return ["first seen"]
    return [f"new assignment: {client or member}" for member, client in rebalance.members.items()][:20]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def question() -> Question:
    """The question about rebalances."""
    return Question("groups", (CODE,), Rebalances)
