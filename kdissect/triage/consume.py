"""Which consumers lag behind, and which poll for nothing?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from kdissect.triage.bodies import answered_with, asked_for, is_follower
from kdissect.triage.evidence import Client, Evidence, merged
from kdissect.triage.question import Batch, Problem, Question, Whole, names, problem
from kdissect.triage.strata import Stratum, stratum
from kdissect.triage.thresholds import Thresholds

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

LAG: Final = "consumer.lag"
EMPTY: Final = "consumer.empty_polls"
FETCH, OFFSET_COMMIT = 1, 8
MOST_PARTITIONS: Final = 100_000
MOST_CONNECTIONS: Final = 100_000


class _Lag:
    __slots__ = ("evidence", "first", "last", "most", "position")

    def __init__(self) -> None:
        self.first: int | None = None
        self.last = self.most = 0
        self.position = -1
        self.evidence = Evidence()


class _Polls:
    __slots__ = ("empty", "evidence", "fetches", "follower", "parts")

    def __init__(self) -> None:
        self.fetches = self.empty = 0.0
        self.parts: defaultdict[Stratum, list[int]] = defaultdict(lambda: [0, 0])
        """Decoded fetches, and empty ones among them; the sums above are made of these at the end."""
        self.follower = False
        self.evidence = Evidence()


class Consume:
    """Compares what consumers fetch with the high watermarks that the answers tell.

    The lag of a partition at an answer is the high watermark less the offset
    behind the last record that the answer holds (or that was asked for, when it
    holds none).  Followers are left out: they are what makes the watermark.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._lags: dict[tuple[str, str | None, str, int], _Lag] = {}
        self._offsets: dict[tuple[int, str, int], int] = {}
        """(connection, topic or its id, partition) -> offset last asked for: fetch sessions list only what changes."""
        self._polls: dict[int, _Polls] = {}
        self._watermarks: dict[tuple[str, int], int] = {}
        self._committed: dict[tuple[str, str, int], int] = {}

    def feed(self, batch: Batch) -> None:
        for exchange in batch.of(FETCH):
            asked = asked_for(exchange)
            answered = answered_with(exchange)
            if not asked or answered is None:
                continue
            polls = self._polls.get(exchange.connection)
            if polls is None:
                if len(self._polls) >= MOST_CONNECTIONS:
                    continue
                polls = self._polls[exchange.connection] = _Polls()
                polls.follower = is_follower(exchange)
            if not polls.follower:
                self._fetched(exchange, asked, answered, polls)
        for exchange in batch.of(OFFSET_COMMIT):
            self._commit(exchange)

    def _fetched(self, exchange: Exchange, asked: dict[str, Any], answered: dict[str, Any], polls: _Polls) -> None:
        offsets, connection = self._offsets, exchange.connection
        if len(offsets) > MOST_PARTITIONS:
            offsets.clear()
        for topic in asked.get("topics") or ():
            name = topic["topic_id"] if "topic_id" in topic else topic.get("topic")
            for partition in topic.get("partitions") or ():
                offsets[connection, str(name), partition.get("partition", -1)] = partition.get("fetch_offset", -1)
        place = stratum(exchange)
        polls.parts[place][0] += 1
        records = False
        responses = answered.get("responses") or ()
        resolved = exchange.topics if len(responses) == 1 and len(exchange.topics) == 1 else None
        for topic in responses:
            key = str(topic["topic_id"] if "topic_id" in topic else topic.get("topic"))
            name = resolved[0] if resolved else key
            for partition in topic.get("partitions") or ():
                batches = partition.get("records")
                index = partition.get("partition_index", -1)
                position = offsets.get((connection, key, index), -1)
                if batches:
                    records = True
                    behind = _behind(batches)
                    if behind is not None:
                        position = max(position, behind)
                        offsets[connection, key, index] = position
                watermark = partition.get("high_watermark", -1)
                if watermark >= 0 and not partition.get("error_code"):
                    self._note(exchange, name, index, watermark, position)
        if not records:
            polls.parts[place][1] += 1
            polls.evidence.add(exchange)

    def _note(self, exchange: Exchange, topic: str, partition: int, watermark: int, position: int) -> None:
        if len(self._watermarks) < MOST_PARTITIONS or (topic, partition) in self._watermarks:
            self._watermarks[topic, partition] = watermark
        if position < 0:
            return
        place = exchange.client.rpartition(":")[0], exchange.client_id, topic, partition
        lag = self._lags.get(place)
        if lag is None:
            if len(self._lags) >= MOST_PARTITIONS:
                return
            lag = self._lags[place] = _Lag()
        behind = max(0, watermark - position)
        if lag.first is None:
            lag.first = behind
        lag.last, lag.position = behind, position
        lag.most = max(lag.most, behind)
        if behind >= self._limits.lag_records:
            lag.evidence.add(exchange, behind)

    def _commit(self, exchange: Exchange) -> None:
        body = asked_for(exchange)
        group = body.get("group_id") if body else None
        if not body or not isinstance(group, str) or exchange.error_codes:
            return
        topics = body.get("topics") or ()
        resolved = exchange.topics if len(exchange.topics) == len(topics) else None
        for at, topic in enumerate(topics):
            name = resolved[at] if resolved else str(topic.get("name") or topic.get("topic_id"))
            for partition in topic.get("partitions") or ():
                place = group, name, partition.get("partition_index", -1)
                if place in self._committed or len(self._committed) < MOST_PARTITIONS:
                    self._committed[place] = partition.get("committed_offset", -1)

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        for polls in self._polls.values():
            for place, (fetches, empty) in polls.parts.items():
                scale = whole.scale(place)
                polls.fetches += scale * fetches
                polls.empty += scale * empty
        yield from self._lagging()
        yield from self._empty()

    def _lagging(self) -> Iterable[Problem]:
        limits = self._limits
        late = [(place, lag) for place, lag in self._lags.items() if lag.last >= limits.lag_records]
        if not late:
            return
        growing = [(place, lag) for place, lag in late if lag.last >= limits.lag_growth * max(1, lag.first or 0)]
        evidence = merged(lag.evidence for _, lag in late)
        worst, most = max(late, key=lambda item: item[1].last)
        total = sum(lag.last for _, lag in late)
        who = list({str(Client(host, client_id)): None for (host, client_id, _, _), _ in late})
        yield problem(
            LAG,
            "warning" if growing else "note",
            "Consumers lag behind",
            f"{names(who)} are {total:,} records behind on {len(late):,} partitions at their last fetch, most of all on "
            f"{worst[2]}-{worst[3]} ({most.last:,})"
            + (f"; on {len(growing):,} of them the lag does not shrink." if growing else "; they are catching up."),
            evidence,
            why="Records are processed that much later; what is behind by more than the retention is lost.",
            advice="Look whether the consumer waits for something between polls, add members up to the number of "
            "partitions, and raise "
            "max.partition.fetch.bytes where answers come full."
            if growing
            else "Wait, and look again: the lag shrinks.",
            details=[
                {
                    "client": str(Client(host, client_id)),
                    "topic": topic,
                    "partition": partition,
                    "lag_first": lag.first,
                    "lag_last": lag.last,
                    "lag_max": lag.most,
                }
                for (host, client_id, topic, partition), lag in sorted(late, key=lambda item: -item[1].last)[:100]
            ],
            count=len(late),
        )

    def _empty(self) -> Iterable[Problem]:
        limits = self._limits
        found = []
        for connection, polls in self._polls.items():
            if polls.empty < limits.empty_polls or polls.empty < limits.empty_share * polls.fetches:
                continue
            rate = polls.empty / max(1.0, polls.evidence.duration_s)
            if rate >= limits.empty_polls_per_s:
                found.append((connection, polls, rate))
        if not found:
            return
        evidence = merged(polls.evidence for _, polls, _ in found)
        fetches, empty = (round(sum(getattr(polls, name) for _, polls, _ in found)) for name in ("fetches", "empty"))
        yield problem(
            EMPTY,
            "warning",
            "Consumers poll for nothing",
            f"{empty:,} of {fetches:,} fetches on {len(found):,} connections held no record; the busiest polls "
            f"{max(rate for _, _, rate in found):,.0f} times a second.",
            evidence,
            why="Each costs the broker a request and the client a wake-up; together they crowd out others.",
            advice="Set fetch.max.wait.ms to its default of 500 and fetch.min.bytes to 1 or more; look for a consumer "
            "that seeks or polls "
            "in a loop.",
            details=[
                {"connection": connection, "fetches": round(polls.fetches), "empty": round(polls.empty), "per_s": round(rate, 1)}
                for connection, polls, rate in sorted(found, key=lambda item: -item[2])[:100]
            ],
            count=empty,
        )

    def table(self) -> Any:
        groups = [
            {
                "group": group,
                "topic": topic,
                "partition": partition,
                "committed": offset,
                "high_watermark": self._watermarks.get((topic, partition)),
                "lag": None
                if (topic, partition) not in self._watermarks
                else max(0, self._watermarks[topic, partition] - offset),
            }
            for (group, topic, partition), offset in sorted(self._committed.items())
        ]
        clients = [
            {
                "client": host,
                "client_id": client_id,
                "topic": topic,
                "partition": partition,
                "position": lag.position,
                "lag_first": lag.first,
                "lag_last": lag.last,
                "lag_max": lag.most,
            }
            for (host, client_id, topic, partition), lag in sorted(
                self._lags.items(), key=lambda item: (-item[1].last, item[0][0], item[0][1] or "", item[0][2:])
            )
        ]
        return {"groups": groups[:1000], "clients": clients[:1000]}


def _behind(batches: list[dict[str, Any]]) -> int | None:
    """The offset behind the last record; None where the batches do not tell."""
    for batch in reversed(batches):
        base = batch.get("base_offset")
        if base is not None and not batch.get("partial"):
            return int(base) + int(batch.get("last_offset_delta") or 0) + 1
    return None


def question() -> Question:
    """The question about reading."""
    return Question("consumers", (LAG, EMPTY), Consume)
