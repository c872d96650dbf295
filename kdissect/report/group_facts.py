"""What exchanges say about groups, as little of it as a timeline needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

JOIN, HEARTBEAT, LEAVE, SYNC = 11, 12, 13, 14
NEW_HEARTBEATS: Final = {68: "consumer", 76: "share", 88: "streams"}
"""ConsumerGroupHeartbeat (KIP-848), ShareGroupHeartbeat (KIP-932), StreamsGroupHeartbeat (KIP-1071): key -> type of group."""

MAX_GROUPS: Final = 10_000
MAX_FACTS: Final = 1_000_000
"""Over all groups; what comes later is counted, not kept."""

UNREMARKABLE: Final = frozenset(["REBALANCE_IN_PROGRESS", "MEMBER_ID_REQUIRED"])
"""Errors by which a rebalance goes its normal way."""

Assignment = tuple[tuple[str, tuple[int, ...]], ...]
"""Topic (its id, where the message has ids) and partitions."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that happened to a group."""

    kind: str
    """``join``, ``joined`` (its answer), ``leave``, ``synced``, ``beat`` (new protocol), ``beat answered`` or ``error``."""
    time_ns: int
    exchange: int
    digits: int
    client_id: str | None
    client: str
    broker: str
    api: str
    member: str = ""
    generation: int | None = None
    instance: str | None = None
    text: str = ""
    """Reason, protocol or error, by kind."""
    leader: str = ""
    members: tuple[str, ...] = ()
    topics: tuple[str, ...] | None = None
    assignment: Assignment | None = None


class First(NamedTuple):
    """Where a group was first named."""

    time_ns: int | None
    digits: int
    exchange: int
    client_id: str | None
    client: str


@dataclass(slots=True)
class GroupFacts:
    """All that is known of one group."""

    type: str | None = None
    protocol: str | None = None
    facts: list[Fact] = field(default_factory=list)
    last_seen: dict[str, int] = field(default_factory=dict)
    """Member -> when it was last heard of."""
    apis: dict[str, int] = field(default_factory=dict)
    others: dict[str, None] = field(default_factory=dict)
    """Clients that named the group without being members, as far as is known."""
    first: First | None = None
    brokers: dict[str, None] = field(default_factory=dict)
    epochs: dict[str, int | None] = field(default_factory=dict)
    """Member -> the epoch that it was last told (new protocol)."""


class Gatherer:
    """Takes exchanges and keeps the facts of each group."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupFacts] = {}
        self.dropped = 0
        self._facts = 0

    def add(self, batch: Sequence[Exchange]) -> None:
        """Takes a batch of exchanges."""
        for exchange in batch:
            for name in exchange.groups:
                group = self.groups.get(name)
                if group is None:
                    if len(self.groups) >= MAX_GROUPS:
                        self.dropped += 1
                        continue
                    group = self.groups[name] = GroupFacts()
                self._seen(group, exchange)
                body = exchange.request.body if exchange.request is not None else None
                if body is not None and body.get("group_id") == name:
                    self._member(group, exchange, body)
                elif exchange.error_codes and len(exchange.groups) == 1:
                    self._errors(group, exchange, "")

    def _seen(self, group: GroupFacts, exchange: Exchange) -> None:
        when = exchange.request_time_ns if exchange.request_time_ns is not None else exchange.response_time_ns
        if group.first is None:
            group.first = First(when, exchange.time_digits, exchange.index, exchange.client_id, exchange.client)
        if exchange.api is not None:
            group.apis[exchange.api] = group.apis.get(exchange.api, 0) + 1
        if len(group.others) < 100:
            group.others[exchange.client_id or exchange.client] = None

    def _member(self, group: GroupFacts, exchange: Exchange, asked: Mapping[str, Any]) -> None:
        answered = exchange.response.body if exchange.response is not None else None
        member = _str(asked.get("member_id")) or (_str(answered.get("member_id")) if answered else "")
        if member and exchange.request_time_ns is not None:
            group.last_seen[member] = max(group.last_seen.get(member, 0), exchange.request_time_ns)
        key = exchange.api_key
        if key == JOIN:
            group.brokers[exchange.broker] = None
            self._join(group, exchange, asked, answered)
        elif key == SYNC and answered and not answered.get("error_code"):
            given = answered.get("assignment")
            self._fact(
                group,
                exchange,
                "synced",
                exchange.response_time_ns,
                member=member,
                generation=asked.get("generation_id"),
                instance=asked.get("group_instance_id"),
                assignment=_classic_assignment(given),
            )
        elif key == LEAVE:
            results = (answered.get("members") or ()) if answered else ()
            failed = {_str(each.get("member_id")) for each in results if each.get("error_code")}
            for each in asked.get("members") or [asked]:
                if (answered and answered.get("error_code")) or _str(each.get("member_id")) in failed:
                    continue
                self._fact(
                    group,
                    exchange,
                    "leave",
                    exchange.request_time_ns,
                    member=_str(each.get("member_id")),
                    instance=each.get("group_instance_id"),
                    text=_str(each.get("reason")),
                )
        elif key in NEW_HEARTBEATS:
            group.brokers[exchange.broker] = None
            group.type = NEW_HEARTBEATS[key]
            self._new_heartbeat(group, exchange, asked, answered, member)
        self._errors(group, exchange, member)

    def _join(self, group: GroupFacts, exchange: Exchange, asked: Mapping[str, Any], answered: Mapping[str, Any] | None) -> None:
        group.type = _str(asked.get("protocol_type")) or group.type
        given = _str(answered.get("member_id")) if answered else ""
        topics: dict[str, None] = {}
        for protocol in asked.get("protocols") or ():
            metadata = protocol.get("metadata")
            if isinstance(metadata, dict):
                topics |= dict.fromkeys(_str(topic) for topic in metadata.get("topics") or ())
        self._fact(
            group,
            exchange,
            "join",
            exchange.request_time_ns,
            member=_str(asked.get("member_id")) or given,
            instance=asked.get("group_instance_id"),
            text=_str(asked.get("reason")),
            topics=tuple(topics),
        )
        if answered and not answered.get("error_code") and answered.get("generation_id", -1) >= 0:
            group.protocol = _str(answered.get("protocol_name")) or group.protocol
            others = tuple(_str(each.get("member_id")) for each in answered.get("members") or ())
            self._fact(
                group,
                exchange,
                "joined",
                exchange.response_time_ns,
                member=given,
                generation=answered["generation_id"],
                leader=_str(answered.get("leader")),
                members=others,
                text=_str(answered.get("protocol_name")),
                instance=asked.get("group_instance_id"),
            )

    def _new_heartbeat(
        self, group: GroupFacts, exchange: Exchange, asked: Mapping[str, Any], answered: Mapping[str, Any] | None, member: str
    ) -> None:
        epoch = asked.get("member_epoch", 0)
        names = asked.get("subscribed_topic_names")
        regex = asked.get("subscribed_topic_regex")
        topics = None if names is None and not regex else (*(names or ()), *([f"/{regex}/"] if regex else ()))
        instance = asked.get("instance_id")
        if epoch <= 0 or topics is not None:
            self._fact(
                group,
                exchange,
                "beat",
                exchange.request_time_ns,
                member=member,
                generation=epoch,
                topics=topics,
                instance=instance,
            )
        if answered and not answered.get("error_code"):
            given = answered.get("assignment")
            self._fact(
                group,
                exchange,
                "beat answered",
                exchange.response_time_ns,
                member=member,
                instance=instance,
                generation=answered.get("member_epoch"),
                assignment=_new_assignment(answered, given),
            )

    def _errors(self, group: GroupFacts, exchange: Exchange, member: str) -> None:
        for code in exchange.error_codes:
            if code not in UNREMARKABLE:
                self._fact(group, exchange, "error", exchange.response_time_ns, member=member, text=code)

    def _fact(self, group: GroupFacts, exchange: Exchange, kind: str, time_ns: int | None, **settings: Any) -> None:
        if time_ns is None:
            return
        if kind == "beat answered":
            # Most heartbeats say nothing new; only the first with another epoch does.
            member, epoch = settings["member"], settings["generation"]
            if settings["assignment"] is None and group.epochs.get(member) == epoch:
                return
            group.epochs[member] = epoch
        self._facts += 1
        if self._facts > MAX_FACTS:
            self.dropped += 1
            return
        group.facts.append(
            Fact(
                kind,
                time_ns,
                exchange.index,
                exchange.time_digits,
                exchange.client_id,
                exchange.client,
                exchange.broker,
                exchange.api or "?",
                **settings,
            )
        )


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _classic_assignment(given: object) -> Assignment | None:
    if not isinstance(given, dict) or "assigned_partitions" not in given:
        return () if given in (b"", None) else None
    return tuple((_str(each.get("topic")), tuple(each.get("partitions") or ())) for each in given["assigned_partitions"] or ())


def _new_assignment(answered: Mapping[str, Any], given: object) -> Assignment | None:
    if isinstance(given, dict):
        parts = given.get("topic_partitions") or ()
        return tuple((_str(each.get("topic_id") or each.get("topic")), tuple(each.get("partitions") or ())) for each in parts)
    tasks = answered.get("active_tasks")
    if isinstance(tasks, list):
        return tuple((f"subtopology {_str(each.get('subtopology_id'))}", tuple(each.get("partitions") or ())) for each in tasks)
    return None
