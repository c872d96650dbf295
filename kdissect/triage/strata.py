"""For how many exchanges each decoded one stands, where only samples are decoded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kdissect.columnar.sample import SAMPLED

if TYPE_CHECKING:
    from kdissect.columnar.batch import Columns
    from kdissect.exchange import Exchange
    from kdissect.triage.question import Batch

MOST: Final = 200_000

Stratum = tuple[int, int | None, tuple[str, ...], bool]
"""Connection, API key, topics, and whether it failed: exchanges that have much in common.  All that fail are decoded."""


def stratum(exchange: Exchange) -> Stratum:
    """Where an exchange belongs."""
    return exchange.connection, exchange.api_key, tuple(exchange.topics), bool(exchange.error_codes)


class Strata:
    """Counts all exchanges and the decoded ones among them; beyond :data:`MOST` strata only by connection and API."""

    def __init__(self) -> None:
        self._all: Counter[Stratum] = Counter()
        self._decoded: Counter[Stratum] = Counter()
        self._all_of: Counter[tuple[int, int | None]] = Counter()
        self._told: Counter[tuple[int, int | None]] = Counter()

    def feed(self, batch: Batch) -> None:
        """Takes a batch."""
        for exchange in batch.of(*SAMPLED):
            place = stratum(exchange)
            self._count(place, 1)
            if place in self._all:
                self._decoded[place] += 1
        if batch.columns is not None:
            self._columns(batch.columns)

    def _columns(self, columns: Columns) -> None:
        from kdissect.triage.question import tally

        lists = len(columns.topic_lists)
        for number, count in tally((columns.connection * lists + columns.topics) << 16 | columns.api_key).items():
            connection, topics = divmod(number >> 16, lists)
            self._count(
                (columns.connections[connection].number, number & 0xFFFF, tuple(columns.topic_lists[topics]), False), count
            )

    def _count(self, place: Stratum, number: int) -> None:
        self._all_of[place[:2]] += number
        if place in self._all or len(self._all) < MOST:
            self._all[place] += number

    def settle(self) -> None:
        """All batches are in: strata without any decoded exchange are spread over others of their connection."""
        for place in self._decoded:
            self._told[place[:2]] += self._all[place]

    def scale(self, place: Stratum) -> float:
        """For how many exchanges a decoded one of this stratum stands."""
        decoded = self._decoded.get(place)
        if not decoded:
            return 1.0
        beside = self._all_of[place[:2]] / self._told[place[:2]] if self._told[place[:2]] else 1.0
        return self._all[place] / decoded * beside
