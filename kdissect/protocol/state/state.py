"""The one object that remembers across messages, connections and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kdissect.protocol.contents.groups import UNKNOWN, Protocol
from kdissect.protocol.contents.records import CLUSTER_METADATA, CLUSTER_METADATA_ID
from kdissect.protocol.contents.sasl import SaslToken
from kdissect.protocol.state.brokers import Brokers
from kdissect.protocol.state.fetch_sessions import FETCH, SHARE_FETCH, FetchSessions
from kdissect.protocol.state.logins import Logins
from kdissect.protocol.state.sightings import BrokerSeen, MemberSeen, ProducerSeen, TokenSeen, sightings
from kdissect.protocol.state.tables import Table, memorable
from kdissect.schema.message import Message

TOPICS = 500_000
"""Topic ids whose names are remembered."""
GROUPS = 100_000
MEMBERS = 200_000
PRODUCERS = 200_000
"""Groups, members of groups and producers that are remembered."""

PRODUCE, JOIN_GROUP, SASL_HANDSHAKE, INIT_PRODUCER_ID, SASL_AUTHENTICATE = 0, 11, 17, 22, 36


class Whereabouts(NamedTuple):
    """Where an exchange was seen."""

    connection: int
    client: str
    """Address of the client, ``10.0.0.5:50000``."""
    broker: str
    client_id: str | None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group."""

    client_id: str
    host: str
    """The client's address as the broker or the capture tells it."""


@dataclass(frozen=True, slots=True)
class Producer:
    """An idempotent or transactional producer."""

    transactional_id: str
    producer_id: int
    epoch: int


class Observed(NamedTuple):
    """What the state adds to an exchange."""

    fetch_partitions: Mapping[str, tuple[int, ...]] | None = None
    """Topic (its id where the capture shows no name) -> partitions that a Fetch really asks for, those of its session
    included; None where unknown."""
    sasl: tuple[SaslToken | None, SaslToken | None] | None = None
    """The tokens of a SaslAuthenticate, of client and broker."""


NOTHING_OBSERVED = Observed()


class State:
    """What is known by now; :meth:`observe` takes the exchanges in order of release.

    ``look_ahead`` is asked once, at the first topic id without a name, and
    gives all names that later messages show (an empty mapping where the input cannot be read twice).
    """

    def __init__(self, look_ahead: Callable[[], Mapping[str, str]] | None = None) -> None:
        self._look_ahead = look_ahead
        self.topic_names: Table[str, str] = Table(TOPICS)
        """Topic id (Kafka's base64 form) -> name."""
        self.topic_names[CLUSTER_METADATA_ID] = CLUSTER_METADATA
        self.group_protocols: Table[str, Protocol] = Table(GROUPS)
        """Group -> what its members speak."""
        self.members: Table[tuple[str, str], Member] = Table(MEMBERS)
        """(group, member id) -> its client."""
        self.producers: Table[int, Producer] = Table(PRODUCERS)
        """Producer id -> producer."""
        self.transactional_ids: Table[str, Producer] = Table(PRODUCERS)
        """Transactional id -> producer, as it is now."""
        self.fetch_sessions = FetchSessions(self.topic_name)
        self.brokers = Brokers()
        self.logins = Logins()

    # Asking

    def topic_name(self, topic_id: str) -> str | None:
        """The name that belongs to a topic id."""
        name = self.topic_names.get(topic_id)
        if name is None and self._look_ahead is not None:
            look_ahead, self._look_ahead = self._look_ahead, None
            self.learn_topics(look_ahead())
            name = self.topic_names.get(topic_id)
        return name

    def group_protocol(self, group: object) -> Protocol:
        """What the members of a group speak, as far as it was seen."""
        return self.group_protocols.get(group, UNKNOWN) if isinstance(group, str) else UNKNOWN

    def member(self, group: str, member_id: str) -> Member | None:
        """The client behind a member id."""
        return self.members.get((group, member_id))

    # Learning

    def learn_topics(self, names: Mapping[str, str]) -> None:
        """Topic ids with their names, as a message shows them."""
        for topic_id, name in names.items():
            if self.topic_names.get(topic_id) != name and memorable(name):
                self.topic_names[topic_id] = name

    def observe(self, asked: Message | None, answered: Message | None, where: Whereabouts) -> Observed:
        """Learns from an exchange and tells what the state knows about it."""
        for message in (asked, answered):
            if message is not None and message.api_key != PRODUCE:
                self._note_all(message)
        if asked is None or asked.body is None:
            return NOTHING_OBSERVED
        key, body = asked.api_key, asked.body
        if key in (FETCH, SHARE_FETCH):
            return Observed(fetch_partitions=self.fetch_sessions.observe(where.broker, asked, answered))
        if key == PRODUCE:
            self._produced(body)
        elif key == JOIN_GROUP:
            self._joined(body, answered)
        elif key == INIT_PRODUCER_ID:
            self._initialised(body, answered)
        if "member_id" in body:
            self._member(body, answered, where)
        return NOTHING_OBSERVED

    def _note_all(self, message: Message) -> None:
        for seen in sightings(message):
            if not memorable(*(text for text in seen if isinstance(text, str))):
                continue
            if isinstance(seen, BrokerSeen):
                self.brokers.observe(*seen)
            elif isinstance(seen, MemberSeen):
                self.members[seen.group, seen.member] = Member(seen.client_id, seen.host)
            elif isinstance(seen, ProducerSeen):
                self._producer(*seen)
            elif isinstance(seen, TokenSeen):
                self.logins.token_owners[seen.token_id] = seen.principal

    def _member(self, body: dict[str, Any], answered: Message | None, where: Whereabouts) -> None:
        """A member speaks for itself: its client id and address are those of the connection."""
        group = body.get("group_id")
        given = answered.body.get("member_id") if answered is not None and answered.body is not None else None
        for member in (body["member_id"], given):
            if not isinstance(group, str) or not isinstance(member, str) or not member or (group, member) in self.members:
                continue
            client_id = where.client_id or ""
            if memorable(group, member, client_id):
                self.members[group, member] = Member(client_id, where.client.rpartition(":")[0].strip("[]"))

    def _joined(self, body: dict[str, Any], answered: Message | None) -> None:
        group, kind = body.get("group_id"), body.get("protocol_type")
        if not isinstance(group, str) or not isinstance(kind, str) or not kind or not memorable(group, kind):
            return
        offered = [each.get("name") for each in body.get("protocols") or ()]
        chosen = answered.body.get("protocol_name") if answered is not None and answered.body is not None else None
        known = self.group_protocols.get(group, UNKNOWN)
        name = chosen or (offered[0] if len(offered) == 1 else None) or (known.name if known.type == kind else None)
        self.group_protocols[group] = Protocol(kind, name if isinstance(name, str) and memorable(name) else None)

    def _initialised(self, body: dict[str, Any], answered: Message | None) -> None:
        got = answered.body if answered is not None else None
        transactional_id = body.get("transactional_id")
        if got and not got.get("error_code") and isinstance(transactional_id, str) and transactional_id:
            self._producer(transactional_id, got.get("producer_id", -1), got.get("producer_epoch", -1))

    def _produced(self, body: dict[str, Any]) -> None:
        transactional_id = body.get("transactional_id")
        if not isinstance(transactional_id, str) or transactional_id in self.transactional_ids:
            return
        for batch in _batches(body):
            if batch.get("producer_id", -1) >= 0:
                self._producer(transactional_id, batch["producer_id"], batch["producer_epoch"])
                return

    def _producer(self, transactional_id: str, producer_id: int, epoch: int) -> None:
        if producer_id >= 0 and memorable(transactional_id):
            known = self.transactional_ids.get(transactional_id)
            if known is not None and known.producer_id == producer_id and known.epoch == epoch:
                return
            producer = Producer(transactional_id, producer_id, epoch)
            self.producers[producer_id] = self.transactional_ids[transactional_id] = producer


def _batches(body: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for topic in body.get("topic_data") or ():
        for partition in topic.get("partition_data") or ():
            batches = partition.get("records")
            if isinstance(batches, list):
                yield from batches
