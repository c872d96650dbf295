"""The view of topics: what is written to each and read from it, and by whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kdissect.report.human import Clock, size
from kdissect.report.partitions import Partition, TopicNames, partitions
from kdissect.report.source import Source
from kdissect.report.stats import MAX_EXACT, Budget, Rows
from kdissect.report.tallies import TALLY_KEYS, TALLY_KINDS, Names, Span, Values, all_listed, listed, number, tally_columns, text
from kdissect.report.view import Cell, Column, View

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange

BATCH_OVERHEAD: Final = 12
"""Base offset and length field, which a batch's length does not count."""
MAX_PARTITIONS: Final = 100_000


class Topic(Span):
    """What was seen of one topic."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.partitions: set[int] = set()
        self.records = Counter(produced=0, fetched=0)
        self.bytes = Counter(produced=0, fetched=0)
        self.compressions: Counter[str] = Counter()
        self.acks: Counter[str] = Counter()
        self.error_codes = Names()
        self.producers, self.consumers, self.groups = Names(), Names(), Names()

    def part(self, part: Partition, direction: str) -> None:
        """Counts what one message holds of one partition."""
        if part.partition is not None and len(self.partitions) < MAX_PARTITIONS:
            self.partitions.add(part.partition)
        for batch in part.batches or ():
            if batch.get("partial"):
                continue
            records = batch.get("records")
            self.records[direction] += batch["record_count"] if "record_count" in batch else len(records) if records else 1
            self.bytes[direction] += batch.get("batch_length", 0) + BATCH_OVERHEAD
            if direction == "produced":
                self.compressions[batch.get("compression", "none")] += 1


class Topics(Source[Values]):
    """Gathers topics; record batches need not be read further than their heads."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        budget = Budget(MAX_EXACT)
        self._rows = Rows(lambda: Topic(budget))

    def add(self, batch: Sequence[Exchange]) -> Iterable[Values]:
        for exchange in batch:
            for name in exchange.topics:
                topic = self._rows[(name,)]
                topic.add(exchange)
                topic.groups.note(exchange.groups)
                if len(exchange.topics) == 1:
                    topic.error_codes.note(exchange.error_codes)
            self._parts(exchange)
        return ()

    def _parts(self, exchange: Exchange) -> None:
        produces = exchange.api == "Produce"
        who = exchange.client_id or exchange.client
        for part in partitions(exchange.request, self._names):
            if part.topic is None:
                continue
            topic = self._rows[(part.topic,)]
            topic.part(part, "produced")
            if produces and exchange.request is not None and exchange.request.body is not None:
                topic.producers.note([who])
                topic.acks[str(exchange.request.body.get("acks"))] += 1
        for part in partitions(exchange.response, self._names):
            if part.topic is None:
                continue
            topic = self._rows[(part.topic,)]
            topic.part(part, "fetched")
            if part.batches is not None:
                topic.consumers.note([who])

    def finish(self, dissection: Dissection) -> Iterable[Values]:
        for (name,), topic in self._rows.sorted():
            yield {
                "topic": name,
                "partitions": len(topic.partitions),
                "produced_records": topic.records["produced"],
                "produced_bytes": topic.bytes["produced"],
                "fetched_records": topic.records["fetched"],
                "fetched_bytes": topic.bytes["fetched"],
                "producers": list(topic.producers),
                "consumers": list(topic.consumers),
                "groups": list(topic.groups),
                "compression": [name for name, _ in topic.compressions.most_common()],
                "acks": [name for name, _ in topic.acks.most_common()],
                "error_codes": list(topic.error_codes),
                **topic.to_json(),
            }


def _moved(direction: str, row: Values) -> str:
    records = row[f"{direction}_records"]
    return f"{records:,} in {size(row[f'{direction}_bytes'])}" if records else "-"


def _cell(direction: str, row: Values, _: Clock) -> Cell:
    return Cell(_moved(direction, row), "" if row[f"{direction}_records"] else "quiet")


TOPICS: View[Values] = View(
    name="topics",
    columns=(
        Column("topic", text("topic", "name", "(all others)"), rank=0, minimum=14, maximum=60),
        Column("partitions", number("partitions"), rank=62, right=True),
        Column("produced", lambda r, c: _cell("produced", r, c), rank=88, right=True, key="produced_records"),
        Column("fetched", lambda r, c: _cell("fetched", r, c), rank=87, right=True, key="fetched_records"),
        Column(
            "producers",
            listed("producers", "address"),
            rank=70,
            minimum=10,
            comfort=16,
            maximum=50,
            plain=all_listed("producers"),
        ),
        Column(
            "consumers",
            listed("consumers", "address"),
            rank=69,
            minimum=10,
            comfort=16,
            maximum=50,
            plain=all_listed("consumers"),
        ),
        Column(
            "groups", listed("groups", "name"), rank=25, minimum=8, comfort=12, maximum=40, plain=all_listed("groups"), spare=True
        ),
        Column("compression", listed("compression"), rank=24, plain=all_listed("compression")),
        Column("acks", listed("acks"), rank=23, plain=all_listed("acks")),
        *tally_columns(10)[:3],
        *tally_columns(5)[5:],
    ),
    keys=(
        *("topic", "partitions", "produced_records", "produced_bytes", "fetched_records", "fetched_bytes", "producers"),
        *("consumers", "groups", "compression", "acks", "error_codes", *TALLY_KEYS),
    ),
    to_json=lambda row, _: dict(row),
    kinds={
        **TALLY_KINDS,
        **dict.fromkeys(("partitions", "produced_records", "produced_bytes", "fetched_records", "fetched_bytes"), "integer"),
        **dict.fromkeys(("producers", "consumers", "groups", "compression", "acks", "error_codes"), "texts"),
    },
)
"""One row a topic."""
