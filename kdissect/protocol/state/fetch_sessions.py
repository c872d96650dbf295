"""Fetch sessions: which partitions a request really asks for, though it lists only what changed (KIP-227, KIP-932)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kdissect.protocol.state.tables import LONGEST, Table
from kdissect.schema.collect import Topic
from kdissect.schema.message import Message

FETCH, SHARE_FETCH = 1, 78
SESSIONS = 10_000
"""Fetch sessions that are remembered; a broker keeps 1,000 by default."""
PARTITIONS = 1_000_000
"""Partitions over all sessions; beyond, the session longest unused is forgotten."""

Partitions = Mapping[str, tuple[int, ...]]
"""Topic -> numbers of its partitions."""
NONE_ASKED: Partitions = MappingProxyType({})
Key = tuple[str, object]
"""The broker's address, and the session id or (group, member) of a share session."""


class Session:
    """The partitions of one session."""

    __slots__ = ("_told", "partitions", "size")

    def __init__(self) -> None:
        self.partitions: dict[Topic, dict[int, None]] = {}
        self.size = 0
        self._told: Partitions | None = None

    def add(self, topic: Topic, partition: int) -> None:
        of_topic = self.partitions.setdefault(topic, {})
        if partition not in of_topic:
            of_topic[partition] = None
            self.size += 1
            self._told = None

    def remove(self, topic: Topic, partition: int) -> None:
        of_topic = self.partitions.get(topic)
        if of_topic is not None and partition in of_topic:
            del of_topic[partition]
            self.size -= 1
            self._told = None
            if not of_topic:
                del self.partitions[topic]

    def told(self, named: Callable[[str], str | None]) -> Partitions:
        """The partitions now, sorted, ids as the names that ``named`` has for them; the same object until they change."""
        if self._told is None:
            names = [named(topic.text) if topic.is_id else topic.text for topic in self.partitions]
            items = zip(names, self.partitions.items(), strict=True)
            told = MappingProxyType({name or topic.text: tuple(sorted(asked)) for name, (topic, asked) in items})
            if None in names:
                return told
            self._told = told
        return self._told


class FetchSessions:
    """The sessions of all brokers, known by broker and session id whatever the connection."""

    def __init__(self, named: Callable[[str], str | None], sessions: int = SESSIONS, partitions: int = PARTITIONS) -> None:
        """``named`` gives the name that belongs to a topic id, or None."""
        self._named = named
        self._sessions: Table[Key, Session] = Table(sessions)
        self._limit = partitions
        self._size = 0

    def observe(self, broker: str, asked: Message, answered: Message | None) -> Partitions | None:
        """Which partitions a Fetch or ShareFetch asks for, topic by topic; None where the session began before the capture."""
        body = asked.body
        if body is None or asked.fault is not None:
            return None
        if asked.api_key == SHARE_FETCH:
            epoch = body["share_session_epoch"]
            key: Key = (broker, (body["group_id"], body["member_id"]))
            return self._share(key, epoch, body)
        session_id, epoch = body.get("session_id", 0), body.get("session_epoch", -1)
        if epoch <= 0:
            # A full request; with epoch -1 it ends the session that it names, with 0 it asks for a new one.
            self._forget((broker, session_id))
            session = _changed(Session(), body)
            given = answered.body.get("session_id", 0) if answered is not None and answered.body is not None else 0
            if epoch == 0 and given and answered is not None and not answered.body.get("error_code"):  # type: ignore[union-attr]
                self._keep((broker, given), session)
            return session.told(self._named)
        known = self._sessions.get((broker, session_id))
        if known is None:
            return None
        return self._update((broker, session_id), known, body)

    def _share(self, key: Key, epoch: int, body: dict[str, Any]) -> Partitions | None:
        if epoch == 0:
            self._forget(key)
            session = _changed(Session(), body)
            self._keep(key, session)
            return session.told(self._named)
        known = self._sessions.get(key)
        if epoch < 0:
            # The last request of a share session fetches nothing, it only acknowledges.
            self._forget(key)
            return NONE_ASKED
        return None if known is None else self._update(key, known, body)

    def _update(self, key: Key, session: Session, body: dict[str, Any]) -> Partitions:
        if body["topics"] or body["forgotten_topics_data"]:
            before = session.size
            _changed(session, body)
            self._size += session.size - before
        self._sessions[key] = session
        self._trim()
        return session.told(self._named)

    def _keep(self, key: Key, session: Session) -> None:
        self._forget(key)
        if len(self._sessions) == self._sessions.limit:
            self._forget(next(iter(self._sessions)))
        self._sessions[key] = session
        self._size += session.size
        self._trim()

    def _trim(self) -> None:
        while self._size > self._limit and self._sessions:
            self._forget(next(iter(self._sessions)))

    def _forget(self, key: Key) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            self._size -= session.size


def _changed(session: Session, body: dict[str, Any]) -> Session:
    """``session`` with what a request adds and forgets."""
    for topic in body.get("topics") or ():
        for partition in topic["partitions"]:
            # Up to v0 of ShareFetch and in Fetch the partition's number is called differently.
            session.add(_name(topic), partition["partition"] if "partition" in partition else partition["partition_index"])
    for topic in body.get("forgotten_topics_data") or ():
        for number in topic["partitions"]:
            session.remove(_name(topic), number)
    return session


def _name(topic: dict[str, Any]) -> Topic:
    if "topic_id" in topic:
        return Topic(topic["topic_id"], True)
    name = topic["topic"]
    # A name that is no UTF-8 was left as bytes.
    return Topic((name if isinstance(name, str) else repr(name))[:LONGEST], False)
