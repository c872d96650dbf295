"""Who talks to whom: clients, brokers and topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kdissect.columnar.batch import Columns, ExchangeBatch
from kdissect.model import Int64s

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
        singly: Iterable[Exchange] = batch
        if isinstance(batch, ExchangeBatch):
            self._columns(batch.columns)
            singly = batch.objects.values()
        brokers, topics = self._brokers, self._topics
        for exchange in singly:
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

    def _columns(self, columns: Columns) -> None:
        """The same for exchanges in columns."""
        received = np.where(columns.answered, columns.response_bytes, 0)
        total = columns.request_bytes + received
        ids = len(columns.client_ids)
        who = columns.connection * ids + columns.client_id
        for rows in _runs(who):
            place = _place(columns, int(rows[0]))
            if place in self._brokers or len(self._brokers) < MOST:
                _add(self._brokers, place, [len(rows), int(total[rows].sum())])
        data = np.flatnonzero(np.isin(columns.api_key, (PRODUCE, *READS)))
        names = len(columns.topic_lists)
        for part in _runs((who[data] * names + columns.topics[data]) << 16 | columns.api_key[data]):
            rows = data[part]
            key = int(columns.api_key[rows[0]])
            named = columns.topic_lists[int(columns.topics[rows[0]])]
            octets = (columns.request_bytes if key == PRODUCE else received)[rows]
            for topic in named:
                where = *_place(columns, int(rows[0])), topic, "writes" if key == PRODUCE else "reads"
                if where in self._topics or len(self._topics) < MOST:
                    _add(self._topics, where, [len(rows), int((octets // len(named)).sum())])

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
                for (host, client_id, broker), counts in sorted(to_brokers.items(), key=_heaviest)[:SHOWN]
            ],
            "topics": [
                {"client": host, "client_id": client_id, "topic": topic, "how": how, "exchanges": counts[0], "bytes": counts[1]}
                for (host, client_id, topic, how), counts in sorted(to_topics.items(), key=_heaviest)[:SHOWN]
            ],
            "broker_topics": [
                {"broker": broker, "topic": topic, "exchanges": counts[0], "bytes": counts[1]}
                for (broker, topic), counts in sorted(through.items(), key=_heaviest)[:SHOWN]
            ],
            "brokers_in_all": len(to_brokers),
            "topics_in_all": len(to_topics),
        }


def _place(columns: Columns, row: int) -> tuple[int, str | None]:
    """Connection number and client id."""
    return columns.connections[int(columns.connection[row])].number, columns.client_ids[int(columns.client_id[row])]


def _runs(keys: Int64s) -> Iterator[Int64s]:
    """The rows of each key."""
    if len(keys):
        order = np.argsort(keys, kind="stable")
        _, begins = np.unique(keys[order], return_index=True)
        yield from np.split(order, begins[1:])


def _heaviest(item: tuple[tuple[str | None, ...], list[int]]) -> tuple[int, list[str]]:
    """Most bytes first, then by name."""
    return -item[1][1], [str(part) for part in item[0]]


def _add(into: dict[Any, list[int]], key: object, counts: list[int]) -> None:
    total = into.setdefault(key, [0, 0])
    total[0] += counts[0]
    total[1] += counts[1]
