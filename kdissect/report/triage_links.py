"""Who talks to whom: clients, brokers and topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kdissect.dissect import Connection
    from kdissect.exchange import Exchange

PRODUCE: Final = 0
READS: Final = frozenset({1, 78})
MOST: Final = 50_000
SHOWN: Final = 500
"""Links of a kind in the report, those with most bytes first."""


class Links:
    """Adds up exchanges and bytes by client and broker, and by client and topic."""

    def __init__(self) -> None:
        self._clients: dict[int, str | None] = {}
        self._brokers: dict[tuple[int, str | None], list[int]] = {}
        self._topics: dict[tuple[int, str | None, str, str], list[int]] = {}

    def add(self, batch: Sequence[Exchange]) -> None:
        """Takes a batch."""
        brokers, topics = self._brokers, self._topics
        for exchange in batch:
            sent, received = exchange.request_bytes or 0, exchange.response_bytes or 0
            place = exchange.connection, exchange.client_id
            counts = brokers.get(place)
            if counts is None:
                if len(brokers) >= MOST:
                    continue
                counts = brokers[place] = [0, 0]
            counts[0] += 1
            counts[1] += sent + received
            key = exchange.api_key
            if (key == PRODUCE or key in READS) and exchange.topics:
                how = "writes" if key == PRODUCE else "reads"
                for topic in exchange.topics:
                    where = exchange.connection, exchange.client_id, topic, how
                    counts = topics.get(where)
                    if counts is None:
                        if len(topics) >= MOST:
                            continue
                        counts = topics[where] = [0, 0]
                    counts[0] += 1
                    counts[1] += (sent if key == PRODUCE else received) // len(exchange.topics)

    def to_json(self, connections: Sequence[Connection]) -> dict[str, Any]:
        """``brokers``, ``topics`` and ``broker_topics``: lists of links, the heaviest first."""
        ends = {connection.number: connection for connection in connections}
        to_brokers: dict[tuple[str, str | None, str], list[int]] = {}
        for (number, client_id), counts in self._brokers.items():
            client = ends[number].client.rpartition(":")[0], client_id
            _add(to_brokers, (*client, ends[number].broker), counts)
        to_topics: dict[tuple[str, str | None, str, str], list[int]] = {}
        through: dict[tuple[str, str], list[int]] = {}
        for (number, client_id, topic, how), counts in self._topics.items():
            _add(to_topics, (ends[number].client.rpartition(":")[0], client_id, topic, how), counts)
            _add(through, (ends[number].broker, topic), counts)
        return {
            "brokers": [
                {"client": host, "client_id": client_id, "broker": broker, "exchanges": counts[0], "bytes": counts[1]}
                for (host, client_id, broker), counts in sorted(to_brokers.items(), key=lambda item: -item[1][1])[:SHOWN]
            ],
            "topics": [
                {"client": host, "client_id": client_id, "topic": topic, "how": how, "exchanges": counts[0], "bytes": counts[1]}
                for (host, client_id, topic, how), counts in sorted(to_topics.items(), key=lambda item: -item[1][1])[:SHOWN]
            ],
            "broker_topics": [
                {"broker": broker, "topic": topic, "exchanges": counts[0], "bytes": counts[1]}
                for (broker, topic), counts in sorted(through.items(), key=lambda item: -item[1][1])[:SHOWN]
            ],
            "brokers_in_all": len(to_brokers),
            "topics_in_all": len(to_topics),
        }


def _add(into: dict[Any, list[int]], key: object, counts: list[int]) -> None:
    total = into.setdefault(key, [0, 0])
    total[0] += counts[0]
    total[1] += counts[1]
