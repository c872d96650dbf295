"""From facts to a timeline: who came and went, when a group rebalanced, and what made it.

A classic group rebalances when a member joins, leaves, rejoins with another
subscription, or stays silent beyond its session timeout (KIP-62); with the new
protocols the broker raises the group's epoch for the same reasons (KIP-848).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kdissect.report.escape import escape
from kdissect.report.group_facts import Assignment, Fact, GroupFacts
from kdissect.report.human import count, duration_ms

UNSEEN = "not seen in the capture"


@dataclass(frozen=True, slots=True)
class GroupEvent:
    """One line of a group's timeline."""

    group: str
    heading: str
    """The group in a line, the same for all of its events; escaped."""
    event: str
    """``joined``, ``left``, ``gone``, ``rebalance``, ``assigned``, ``moved``, ``error`` or ``seen``."""
    time_ns: int | None
    digits: int
    exchange: int
    generation: int | None
    member: str
    member_id: str
    client_id: str | None
    client: str | None
    trigger: str | None
    text: str
    """Escaped."""
    error_code: str | None
    assignment: Assignment | None


def timeline(group: str, known: GroupFacts, topic_name: Callable[[str], str | None]) -> list[GroupEvent]:
    """The events of a group in order of time."""
    facts = sorted(known.facts, key=lambda fact: (fact.time_ns, fact.exchange))
    story = _Story(known, facts, topic_name)
    told = list(story.tell())
    heading = story.heading(group)
    if not told and known.first is not None:
        apis = ", ".join(f"{name} ({number:,})" if number > 1 else name for name, number in known.apis.items())
        text = f"no member in this capture; {apis} by {escape(', '.join(list(known.others)[:5]))}"
        first = known.first
        return [
            GroupEvent(
                group,
                heading,
                "seen",
                first.time_ns,
                first.digits,
                first.exchange,
                None,
                "",
                "",
                first.client_id,
                first.client,
                None,
                text,
                None,
                None,
            )
        ]
    return [
        GroupEvent(
            group,
            heading,
            event,
            fact.time_ns if time_ns is None else time_ns,
            fact.digits,
            fact.exchange,
            generation,
            story.name(member),
            member,
            fact.client_id if member == fact.member else story.client_ids.get(member),
            fact.client if member == fact.member else None,
            trigger,
            text,
            fact.text if event == "error" else None,
            assignment,
        )
        for event, fact, member, generation, trigger, text, assignment, time_ns in told
    ]


_Told = tuple[str, Fact, str, int | None, str | None, str, Assignment | None, int | None]


class _Story:
    def __init__(self, known: GroupFacts, facts: list[Fact], topic_name: Callable[[str], str | None]) -> None:
        self._known, self._facts, self._topic_name = known, facts, topic_name
        self.client_ids: dict[str, str | None] = {}
        instances: dict[str, str] = {}
        for fact in facts:
            if fact.member and fact.kind != "leave":
                self.client_ids.setdefault(fact.member, fact.client_id)
            if fact.member and fact.instance:
                instances[fact.member] = fact.instance
        self._instances = instances
        self._sharing = Counter(self.client_ids.values())
        self._generations: dict[int, set[str]] = {}
        self._leaders: dict[int, str] = {}
        self._synced: dict[int, int] = {}
        for fact in facts:
            if fact.kind == "joined" and fact.generation is not None:
                self._generations.setdefault(fact.generation, set()).update(fact.members, [fact.member])
                self._leaders[fact.generation] = fact.leader
            elif fact.kind == "synced" and fact.generation is not None:
                self._synced[fact.generation] = max(self._synced.get(fact.generation, 0), fact.time_ns)
        self._members: dict[str, tuple[str, ...] | None] = {}
        """Member -> topics that it subscribed to."""
        self._triggers: list[tuple[int, str]] = []
        self._generation: int | None = None
        self._rebalances = 0
        self._everyone: set[str] = set()

    def name(self, member: str) -> str:
        """A member as people know it: its static id, else its client id, with the end of the member id where that is shared."""
        if not member:
            return ""
        if member in self._instances:
            return escape(self._instances[member])
        client_id = self.client_ids.get(member)
        if not client_id:
            return escape(member)
        return escape(client_id if self._sharing[client_id] == 1 else f"{client_id}…{member[-4:]}")

    def heading(self, group: str) -> str:
        """The group in a line."""
        words = [word for word in (self._known.type, self._known.protocol) if word]
        parts = [escape(group), *([escape(", ".join(words))] if words else [])]
        if self._everyone:
            parts.append(count(len(self._everyone), "member"))
        if self._rebalances:
            parts.append(count(self._rebalances, "rebalance"))
        if self._known.brokers:
            parts.append(f"coordinator {', '.join(self._known.brokers)}")
        return " · ".join(parts)

    def tell(self) -> Iterator[_Told]:
        """The events, one by one."""
        broker: str | None = None
        for fact in self._facts:
            if fact.kind in ("join", "beat") and fact.broker != broker:
                if broker is not None:
                    yield "moved", fact, "", None, None, f"the coordinator is now {fact.broker}, it was {broker}", None, None
                broker = fact.broker
            match fact.kind:
                case "join":
                    yield from self._join(fact)
                case "joined":
                    yield from self._joined(fact)
                case "leave":
                    yield from self._leave(fact)
                case "beat":
                    yield from self._beat(fact)
                case "beat answered":
                    yield from self._beat_answered(fact)
                case "error":
                    by = "" if fact.member else f" to {escape(fact.client_id or fact.client)}"
                    text = f"{escape(fact.text)} from {fact.api}{by}"
                    yield "error", fact, fact.member, None, None, text, None, None
            if fact.assignment is not None and (fact.assignment or fact.kind == "synced"):
                text = self._assigned(fact.assignment)
                yield "assigned", fact, fact.member, fact.generation, None, text, fact.assignment, None

    def _join(self, fact: Fact) -> Iterator[_Told]:
        if not fact.member:
            return
        who = self.name(fact.member)
        if fact.member not in self._members:
            first = fact.member not in self._everyone
            self._members[fact.member] = fact.topics
            self._everyone.add(fact.member)
            self._triggers.append((fact.time_ns, f"{who} joined" if first else f"{who} came back"))
            subscribed = f"subscribed to {_names(fact.topics)}" if fact.topics else ""
            yield "joined", fact, fact.member, None, None, "; ".join(filter(None, (subscribed, escape(fact.text)))), None, None
        else:
            if fact.topics is not None and self._members[fact.member] != fact.topics:
                self._triggers.append((fact.time_ns, f"{who} changed its subscription to {_names(fact.topics)}"))
            elif not self._triggers and fact.text and not fact.text.startswith("group is already rebalancing"):
                self._triggers.append((fact.time_ns, f"{who} rejoined: {escape(fact.text)}"))
            elif not self._triggers:
                self._triggers.append((fact.time_ns, f"{who} rejoined"))
            self._members[fact.member] = fact.topics

    def _joined(self, fact: Fact) -> Iterator[_Told]:
        generation = fact.generation
        if generation is None or (self._generation is not None and generation <= self._generation):
            return
        now = self._generations[generation]
        for lost in [member for member in self._members if member not in now]:
            # A join that is still waiting for its answer belongs to the next generation.
            seen = self._known.last_seen.get(lost, 0)
            if self._generation is None or lost not in self._generations.get(self._generation, ()) or seen > fact.time_ns:
                continue
            silent = duration_ms((fact.time_ns - seen) / 1e6)
            self._triggers.append((fact.time_ns, f"{self.name(lost)} was gone"))
            del self._members[lost]
            yield "gone", fact, lost, None, None, f"not in the next generation, silent for {silent}", None, None
        self._everyone |= now
        begun = min((time for time, _ in self._triggers), default=fact.time_ns)
        self._generation = generation
        self._rebalances += 1
        end = max(self._synced.get(generation, 0), fact.time_ns)
        words = [count(len(now), "member"), escape(fact.text)]
        if self._leaders.get(generation):
            words.append(f"led by {self.name(self._leaders[generation])}")
        words.append(f"took {duration_ms((end - begun) / 1e6)}")
        yield self._rebalance(fact, generation, ", ".join(filter(None, words)))

    def _leave(self, fact: Fact) -> Iterator[_Told]:
        member = fact.member
        if not member and fact.instance:
            member = next((each for each, instance in self._instances.items() if instance == fact.instance), "")
        self._members.pop(member, None)
        who = self.name(member) or escape(fact.instance or "?")
        self._triggers.append((fact.time_ns, f"{who} left"))
        text = escape(fact.text)
        if fact.client_id != self.client_ids.get(member):
            text = f"{text or 'removed'}, asked for by {escape(fact.client_id or fact.client)}"
        yield "left", fact, member, None, None, text, None, None

    def _beat(self, fact: Fact) -> Iterator[_Told]:
        who, epoch = self.name(fact.member), fact.generation or 0
        if epoch < 0:
            self._members.pop(fact.member, None)
            self._triggers.append((fact.time_ns, f"{who} left"))
            yield "left", fact, fact.member, None, None, "for a while, as a static member" if epoch == -2 else "", None, None
        elif epoch == 0:
            self._everyone.add(fact.member)
            self._members[fact.member] = fact.topics
            self._triggers.append((fact.time_ns, f"{who} joined"))
            text = f"subscribed to {_names(fact.topics)}" if fact.topics else ""
            yield "joined", fact, fact.member, None, None, text, None, None
        elif fact.topics is not None and self._members.get(fact.member) not in (None, fact.topics):
            self._members[fact.member] = fact.topics
            self._triggers.append((fact.time_ns, f"{who} changed its subscription to {_names(fact.topics)}"))

    def _beat_answered(self, fact: Fact) -> Iterator[_Told]:
        if fact.member:
            self._everyone.add(fact.member)
        if fact.generation is None or fact.generation <= 0:
            return
        if self._generation is None or fact.generation > self._generation:
            self._generation = fact.generation
            self._rebalances += 1
            yield self._rebalance(fact, fact.generation, f"epoch {fact.generation}, first told to {self.name(fact.member)}")

    def _rebalance(self, fact: Fact, generation: int, text: str) -> _Told:
        because = ", ".join(dict.fromkeys(why for _, why in self._triggers)) or UNSEEN
        self._triggers = []
        return "rebalance", fact, "", generation, because, f"because {because}: {text}", None, None

    def _assigned(self, assignment: Assignment) -> str:
        words = []
        for topic, partitions in assignment:
            name = topic if topic.startswith("subtopology") else self._topic_name(topic) or topic
            words.append(f"{escape(name)} {ranges(partitions)}")
        return ", ".join(words) or "nothing"


def ranges(numbers: tuple[int, ...]) -> str:
    """``0-3, 7``."""
    out: list[list[int]] = []
    for number in sorted(numbers):
        if out and out[-1][-1] == number - 1:
            out[-1][1:] = [number]
        else:
            out.append([number])
    return ",".join("-".join(map(str, run)) for run in out)


def _names(names: tuple[str, ...] | None) -> str:
    shown = [escape(name) for name in (names or ())[:5]]
    rest = len(names or ()) - len(shown)
    return (", ".join(shown) or "nothing") + (f" and {rest} more" if rest else "")
