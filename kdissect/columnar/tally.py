"""Counts a batch of exchanges for the tables of ``kdissect stats``, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kdissect import schema
from kdissect.columnar.batch import Columns, latency_ms
from kdissect.model import Int64s

if TYPE_CHECKING:
    from kdissect.report.stats import Stats, Tally


def count(stats: Stats, c: Columns) -> None:
    """Adds all exchanges in columns, as :meth:`~kdissect.report.stats.Stats.add` adds them one by one."""
    answered = int(np.count_nonzero(c.answered))
    stats.outcomes["answered"] += answered
    stats.outcomes["no_reply_expected"] += len(c) - answered
    every = np.arange(len(c))
    for key, rows in _groups(c.api_key, every):
        tally = stats.apis[schema.api_name(key), key]
        _add(tally, c, rows)
        versions, times = np.unique(c.api_version[rows], return_counts=True)
        tally.versions.update(dict(zip(versions.tolist(), times.tolist(), strict=True)))
    hosts = [connection.client.rpartition(":")[0] for connection in c.connections]
    names = {host: number for number, host in enumerate(dict.fromkeys(hosts))}
    ids = {id: number for number, id in enumerate(dict.fromkeys(c.client_ids))}
    host = np.array([names[each] for each in hosts], np.int64)[c.connection]
    client = np.array([ids[each] for each in c.client_ids], np.int64)[c.client_id]
    host_of, id_of = list(names), list(ids)
    for key, rows in _groups(host * len(ids) + client, every):
        tally = stats.clients[host_of[key // len(ids)], id_of[key % len(ids)]]
        _add(tally, c, rows)
        tally.connections.update(c.connections[n].number for n in np.unique(c.connection[rows]).tolist())
    for topic, rows in _spread(c.topic_lists, c.topics):
        _add(stats.topics[(topic,)], c, rows)
    for error, failed in _spread(c.error_lists, c.errors):
        for key, rows in _groups(c.api_key[failed], failed):
            _add(stats.errors[error, schema.api_name(key)], c, rows)


def _groups(keys: Int64s, rows: Int64s) -> Iterator[tuple[int, Int64s]]:
    """The rows of each key."""
    if not len(rows):
        return
    order = np.argsort(keys, kind="stable")
    distinct, begins = np.unique(keys[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(rows[order], begins[1:]), strict=True)


def _spread(lists: list[list[str]], column: Int64s) -> Iterator[tuple[str, Int64s]]:
    """The rows in whose list each value is."""
    of: dict[str, list[Int64s]] = {}
    for number, rows in _groups(column, np.arange(len(column))):
        for value in lists[number]:
            of.setdefault(value, []).append(rows)
    for value, parts in of.items():
        yield value, np.concatenate(parts)


def _add(tally: Tally, c: Columns, rows: Int64s) -> None:
    answered = rows[c.answered[rows]]
    empty = np.array([not codes for codes in c.error_lists], bool)
    tally.exchanges += len(rows)
    tally.errors += int(np.count_nonzero(~empty[c.errors[rows]]))
    tally.request_bytes += int(c.request_bytes[rows].sum())
    tally.response_bytes += int(c.response_bytes[answered].sum())
    tally.latencies.add_all(latency_ms(c, answered))
