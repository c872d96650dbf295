"""From where on the triage report speaks of something, and why there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace


def _limit(default: float, why: str) -> float:
    value: float = field(default=default, metadata={"why": why})
    return value


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All thresholds of the built-in questions; each carries what it means and why it is what it is."""

    error_count: float = _limit(20, "retriable errors of one kind: more than starting up and failing over usually bring")
    error_share: float = _limit(0.05, "share of an API's answers that carry one retriable error before clients feel it")
    slow_ms: float = _limit(200, "broker time of a request that need not wait; a healthy broker takes single milliseconds")
    slow_count: float = _limit(10, "slow answers of one broker and API: fewer are a pause for garbage collection or a first use")
    slow_share: float = _limit(0.05, "share of a broker's answers that are slow before its p95 is")
    stall_ms: float = _limit(1000, "broker time at which pipelines of producers and consumers stand still")
    stall_count: float = _limit(3, "answers of one broker and API that took so long; one may be chance")
    retransmit_share: float = _limit(0.01, "retransmitted share of a connection's bytes from which on TCP itself slows down")
    retransmit_bytes: float = _limit(10_000, "retransmitted bytes below which a share says nothing")
    rtt_ms: float = _limit(50, "round trip of TCP's handshake from which on the network is what makes requests slow")
    throttle_ms: float = _limit(100, "time that a quota made one client wait before it is worth a warning")
    rebalances: float = _limit(5, "rebalances of one group in the window; start, growth and stop of a group take three or four")
    rebalance_window_s: float = _limit(300, "five minutes: session and rebalance timeouts are below it by default")
    fenced_count: float = _limit(3, "refusals of one member; one is usual when a group is left while a commit is under way")
    churn_connections: float = _limit(100, "connections that one client opens in a minute; a client needs about one per broker")
    churn_life_s: float = _limit(10, "median life of those connections; clients keep theirs open for nine minutes idle")
    refused_count: float = _limit(3, "refused attempts of one client; one or two are a broker that starts")
    metadata_per_minute: float = _limit(60, "Metadata requests of one client; the usual interval is five minutes")
    stale_leader_count: float = _limit(10, "answers of a broker that leads no longer; one or two follow every change of leader")
    stale_leader_s: float = _limit(5, "time that a client goes on asking the wrong broker; a refresh takes milliseconds")
    tiny_batches: float = _limit(500, "batches of one client and topic that are enough to judge by")
    tiny_records: float = _limit(2, "records in an average batch below which batching does nothing")
    tiny_bytes: float = _limit(1000, "bytes of an average batch below which requests cost more than what they carry")
    tiny_per_s: float = _limit(200, "such batches in a second before a broker feels them")
    uncompressed_bytes: float = _limit(1_000_000, "uncompressed bytes of one client and topic worth speaking of")
    uncompressed_per_s: float = _limit(5e6, "uncompressed bytes in a second worth a warning: replicas and consumers carry them")
    oversized_bytes: float = _limit(1_048_588, "size of a batch: the default of a broker's message.max.bytes")
    lag_records: float = _limit(10_000, "records that a consumer is behind at the end of the capture")
    lag_growth: float = _limit(1.0, "lag at the end over lag at the start: from here on the consumer does not catch up")
    empty_polls_per_s: float = _limit(20, "fetches without a record in a second on one connection; the default wait gives two")
    empty_share: float = _limit(0.8, "share of fetches without a record that makes polling the connection's main work")
    empty_polls: float = _limit(100, "such fetches that are enough to judge by")
    loss_share: float = _limit(0.01, "share of the stream's bytes that the capture lacks before counts and latencies mislead")

    def with_settings(self, settings: Iterable[str]) -> Thresholds:
        """These with some changed, ``name=value`` each; ValueError for what is no threshold or no number."""
        names = {each.name for each in fields(self)}
        changed: dict[str, float] = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            name = name.strip().replace("-", "_")
            if name not in names:
                from difflib import get_close_matches

                near = get_close_matches(name, names, n=1)
                raise ValueError(f"there is no threshold {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
            try:
                number = float(value) if equals else float("nan")
            except ValueError:
                number = float("nan")
            if not number >= 0:
                raise ValueError(f"{setting!r} is not of the form {name}=NUMBER")
            changed[name] = number
        return replace(self, **changed)


def described() -> list[tuple[str, float, str]]:
    """Name, default and meaning of every threshold."""
    return [(each.name, float(each.default), each.metadata["why"]) for each in fields(Thresholds)]  # type: ignore[arg-type]
