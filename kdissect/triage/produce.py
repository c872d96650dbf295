"""How is data written: acknowledged, in batches, compressed, not too large?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kdissect.report.human import count, size
from kdissect.triage.bodies import asked_for
from kdissect.triage.error_kinds import TOO_LARGE
from kdissect.triage.evidence import Client, Evidence, merged
from kdissect.triage.question import Batch, Problem, Question, Whole, clients_text, names, problem
from kdissect.triage.strata import Stratum, stratum
from kdissect.triage.thresholds import Thresholds

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

ACKS: Final = "produce.acks_none"
TINY: Final = "produce.tiny_batches"
UNCOMPRESSED: Final = "produce.uncompressed"
OVERSIZED: Final = "produce.oversized"
PRODUCE: Final = 0
MOST: Final = 10_000


class _Sums:
    """What was written, added up."""

    __slots__ = ("acks", "batches", "bytes", "codecs", "plain_bytes", "records")

    def __init__(self) -> None:
        self.batches = self.bytes = self.records = self.plain_bytes = 0.0
        self.codecs: defaultdict[str, float] = defaultdict(float)
        self.acks: defaultdict[int, float] = defaultdict(float)

    def add(self, other: _Sums, scale: float) -> None:
        """Takes another's sums so many times."""
        for name in ("batches", "bytes", "records", "plain_bytes"):
            setattr(self, name, getattr(self, name) + scale * getattr(other, name))
        for codec, octets in other.codecs.items():
            self.codecs[codec] += scale * octets
        for acks, number in other.acks.items():
            self.acks[acks] += scale * number


class _Flow(_Sums):
    """What one client writes to one topic; its own sums are made at the end."""

    __slots__ = ("evidence", "largest", "parts", "plain")

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0
        self.parts: dict[Stratum, _Sums] = {}
        self.evidence, self.plain = Evidence(), Evidence()

    def part(self, place: Stratum) -> _Sums:
        """The sums of decoded exchanges that stand for equally many."""
        found = self.parts.get(place)
        if found is None:
            found = self.parts[place] = _Sums()
        return found


class Produce:
    """Adds up batches by client and topic."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._flows: dict[tuple[str, str | None, str], _Flow] = {}
        self._hosts: dict[str, str] = {}
        self._unasked, self._refused, self._large = Evidence(), Evidence(), Evidence()
        self._unasked_topics: dict[str, None] = {}
        self._largest = 0

    def feed(self, batch: Batch) -> None:
        for exchange in batch.of(PRODUCE):
            body = asked_for(exchange)
            if not body:
                continue
            acks = body.get("acks")
            if acks == 0:
                self._unasked.add(exchange)
                if len(self._unasked_topics) < 100:
                    self._unasked_topics.update(dict.fromkeys(exchange.topics))
            self._written(exchange, body, acks)
        if (columns := batch.columns) is not None:
            rows = np.flatnonzero(~columns.answered & (columns.api_key == PRODUCE))
            self._unasked.add_rows(batch, rows)
        for exchange in batch.failed:
            if any(code in TOO_LARGE for code in exchange.error_codes):
                self._refused.add(exchange, exchange.request_bytes or 0)

    def _written(self, exchange: Exchange, body: dict[str, Any], acks: int | None) -> None:
        topics = body.get("topic_data") or ()
        place = stratum(exchange)
        # Names come with the exchange, in order, where the wire has ids.
        resolved = exchange.topics if len(exchange.topics) == len(topics) else None
        for at, topic in enumerate(topics):
            name = resolved[at] if resolved else str(topic.get("name") or topic.get("topic_id") or "?")
            flow = self._flow(exchange, name)
            part = flow.part(place)
            if acks is not None:
                part.acks[acks] += 1
            counted = False
            for partition in topic.get("partition_data") or ():
                batches = partition.get("records")
                if not isinstance(batches, list):
                    continue
                for each in batches:
                    length = each.get("batch_length")
                    held = (length or 0) + 12
                    part.batches += 1
                    part.bytes += held
                    part.records += each.get("record_count", 1) or 0
                    if held > flow.largest:
                        flow.largest = held
                    if held > self._limits.oversized_bytes:
                        self._large.add(exchange, held)
                        self._largest = max(self._largest, held)
                    codec = each.get("compression")
                    if codec is None:
                        continue
                    part.codecs[codec] += held
                    if codec == "none":
                        part.plain_bytes += held
                        if not counted:
                            flow.plain.add(exchange, held)
                            counted = True
            flow.evidence.add(exchange)

    def _flow(self, exchange: Exchange, topic: str) -> _Flow:
        host = self._hosts.get(exchange.client)
        if host is None:
            if len(self._hosts) > 100_000:
                self._hosts.clear()
            host = self._hosts[exchange.client] = exchange.client.rpartition(":")[0]
        place: tuple[str, str | None, str] = host, exchange.client_id, topic
        flow = self._flows.get(place)
        if flow is None:
            if len(self._flows) >= MOST:
                place = "others", None, "others"
            flow = self._flows.setdefault(place, _Flow())
        return flow

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        for flow in self._flows.values():
            for place, part in flow.parts.items():
                flow.add(part, whole.scale(place))
        if self._unasked.count:
            evidence = self._unasked
            topics = list(self._unasked_topics)
            yield problem(
                ACKS,
                "note",
                "Records are written without acknowledgment",
                f"{count(evidence.count, 'Produce request')} of {clients_text(evidence)} to "
                f"{names(topics) or 'topics unknown'} had acks=0: "
                "the broker answers nothing, not even that it failed.",
                evidence,
                why="What gets lost, at a change of leader for one, nobody learns of.",
                advice="Set acks=all (with idempotence, the default since Kafka 3.0) where records matter.",
            )
        yield from self._tiny()
        yield from self._uncompressed(whole)
        yield from self._oversized()

    def _tiny(self) -> Iterable[Problem]:
        limits = self._limits
        found: list[tuple[tuple[str, str | None, str], _Flow, float]] = []
        for place, flow in self._flows.items():
            if flow.batches < limits.tiny_batches:
                continue
            rate = flow.batches / max(1.0, flow.evidence.duration_s)
            if flow.records < limits.tiny_records * flow.batches and flow.bytes < limits.tiny_bytes * flow.batches:
                found.append((place, flow, rate))
        if not found:
            return
        evidence = merged(flow.evidence for _, flow, _ in found)
        batches, records = sum(flow.batches for _, flow, _ in found), sum(flow.records for _, flow, _ in found)
        total = sum(rate for _, _, rate in found)
        yield problem(
            TINY,
            "warning" if total >= limits.tiny_per_s else "note",
            "Batches hold next to nothing",
            f"{batches:,.0f} batches of {clients_text(evidence)} hold {records / batches:.1f} records and "
            f"{size(round(sum(flow.bytes for _, flow, _ in found) / batches))} on average, at {total:,.0f} batches a "
            "second; topics: "
            f"{names(sorted({topic for (_, _, topic), _, _ in found}))}.",
            evidence,
            why="Every request costs the broker about the same, whatever it carries: so many small ones use it up, and "
            "nothing compresses.",
            advice="Set linger.ms to 5 or more (its default since Kafka 4.0), do not flush after every record, and use "
            "the sticky "
            "partitioner.",
            details=[
                {
                    "client": str(Client(host, client_id)),
                    "topic": topic,
                    "batches": round(flow.batches),
                    "records": round(flow.records),
                    "bytes": round(flow.bytes),
                    "batches_per_s": round(rate, 1),
                }
                for (host, client_id, topic), flow, rate in sorted(found, key=lambda item: -item[2])[:100]
            ],
            count=round(batches),
        )

    def _uncompressed(self, whole: Whole) -> Iterable[Problem]:
        limits = self._limits
        found = [
            (place, flow)
            for place, flow in self._flows.items()
            if flow.plain_bytes >= limits.uncompressed_bytes and flow.plain_bytes > 0.5 * flow.bytes
        ]
        if not found:
            return
        evidence = merged(flow.plain for _, flow in found)
        total = sum(flow.plain_bytes for _, flow in found)
        rate = total / max(1.0, whole.duration_s)
        yield problem(
            UNCOMPRESSED,
            "warning" if rate >= limits.uncompressed_per_s else "note",
            "Records are written uncompressed",
            f"{clients_text(evidence)} wrote {size(round(total))} uncompressed ({size(round(rate))} a second) to "
            f"{names(sorted({topic for (_, _, topic), _ in found}))}.",
            evidence,
            why="These bytes cross the network once to the leader, again to every follower and every consumer, and "
            "fill the disks.",
            advice="Set compression.type=zstd or lz4 on the producers; text and JSON shrink to a fifth. Leave it where "
            "the records are "
            "compressed already.",
            details=[
                {
                    "client": str(Client(host, client_id)),
                    "topic": topic,
                    "bytes": round(flow.plain_bytes),
                    "batches": round(flow.batches),
                }
                for (host, client_id, topic), flow in sorted(found, key=lambda item: -item[1].plain_bytes)[:100]
            ],
            count=round(sum(flow.batches for _, flow in found)),
        )

    def _oversized(self) -> Iterable[Problem]:
        if self._refused.count:
            evidence = self._refused
            yield problem(
                OVERSIZED,
                "warning",
                "Records are too large for the broker",
                f"{count(evidence.count, 'request')} of {clients_text(evidence)} refused because a batch is over "
                "max.message.bytes.",
                evidence,
                why="The records are not written; the producer gives up on them, or splits the batch and tries again.",
                advice="Keep large objects elsewhere and send a reference; else raise max.message.bytes of the topic "
                "together with the "
                "producer's max.request.size.",
            )
        if self._large.count:
            evidence = self._large
            yield problem(
                OVERSIZED,
                "note",
                "Batches are larger than usual",
                f"{evidence.count:,} batches of {clients_text(evidence)} are over "
                f"{size(int(self._limits.oversized_bytes))}, the default "
                f"of message.max.bytes; the largest has {size(self._largest)}.",
                evidence,
                why="Large batches keep network threads and followers busy, and consumers need buffers to match.",
                advice="Check that consumers and followers fetch that much, and whether such large records belong into Kafka.",
            )

    def table(self) -> Any:
        return [
            {
                "client": host,
                "client_id": client_id,
                "topic": topic,
                "batches": round(flow.batches),
                "records": round(flow.records),
                "bytes": round(flow.bytes),
                "largest_batch": flow.largest,
                "compression": {codec: round(octets) for codec, octets in flow.codecs.items()},
                "acks": {str(acks): round(number) for acks, number in sorted(flow.acks.items())},
            }
            for (host, client_id, topic), flow in sorted(self._flows.items(), key=lambda item: -item[1].bytes)
        ]


def question() -> Question:
    """The question about writing."""
    return Question("produce", (ACKS, TINY, UNCOMPRESSED, OVERSIZED), Produce)
