"""What a triage question is: it reads all exchanges, and says at the end what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from kdissect.columnar.batch import Columns, ExchangeBatch
from kdissect.exchange import rfc3339
from kdissect.model import Int64s
from kdissect.triage.evidence import Client, Evidence, Sample
from kdissect.triage.strata import Stratum

if TYPE_CHECKING:
    from kdissect.dissect import CaptureInfo, Connection
    from kdissect.exchange import Exchange
    from kdissect.ledger import Ledger
    from kdissect.triage.thresholds import Thresholds

SEVERITIES: Final = ("critical", "warning", "note")
MOST_WHO: Final = 20


class Batch:
    """A batch of exchanges, sorted once for all questions.

    In a large capture most exchanges are :attr:`columns` only: flat fields
    without bodies, with nothing wrong.  What is common (Produce, Fetch,
    OffsetCommit, Heartbeat) is decoded in samples then, each of which stands
    for :meth:`Whole.scale` exchanges; all else is always decoded.
    """

    __slots__ = ("_whole", "by_key", "columns", "exchanges", "failed")

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._whole = exchanges
        self.columns: Columns | None = None
        """Those that are not in :attr:`exchanges`."""
        if isinstance(exchanges, ExchangeBatch):
            self.columns = exchanges.columns if len(exchanges.columns) else None
            exchanges = list(exchanges.objects.values())
        self.exchanges = exchanges
        """Those that are decoded, in order."""
        self.by_key: dict[int | None, list[Exchange]] = {}
        """The decoded ones by API key."""
        self.failed: list[Exchange] = []
        """The decoded ones with error codes, which is all that have any."""
        by_key = self.by_key
        for exchange in exchanges:
            of_key = by_key.get(exchange.api_key)
            if of_key is None:
                by_key[exchange.api_key] = [exchange]
            else:
                of_key.append(exchange)
            if exchange.error_codes:
                self.failed.append(exchange)

    def of(self, *keys: int) -> Iterable[Exchange]:
        """The decoded exchanges of these API keys."""
        for key in keys:
            yield from self.by_key.get(key, ())

    def at(self, row: int) -> Exchange:
        """An exchange of the columns as an object, without bodies."""
        assert self.columns is not None
        return self._whole[int(self.columns.place[row])]


def tally(keys: Int64s) -> dict[int, int]:
    """How often each number is there."""
    distinct, counts = np.unique(keys, return_counts=True)
    return dict(zip(distinct.tolist(), counts.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Whole:
    """What is known at the end."""

    capture: CaptureInfo
    connections: Sequence[Connection]
    ledger: Ledger
    scale: Callable[[Stratum], float]
    """For how many exchanges a decoded one of a connection, an API and topics stands; 1 where all are decoded."""

    @property
    def duration_s(self) -> float:
        """Seconds that the capture spans."""
        if self.capture.first_time_ns is None or self.capture.last_time_ns is None:
            return 0.0
        return (self.capture.last_time_ns - self.capture.first_time_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding of the report."""

    code: str
    severity: str
    title: str
    """What is wrong, in a few words; the same for every capture."""
    text: str
    """What was seen here: how much, who, when."""
    why: str
    """Why it matters."""
    advice: str
    """What to do about it."""
    count: int
    samples: Sequence[Sample] = ()
    connections: Sequence[int] = ()
    who: Sequence[tuple[Client, int]] = ()
    """The clients with how often each, most often first."""
    first_ns: int | None = None
    last_ns: int | None = None
    digits: int = 6
    details: Sequence[Mapping[str, object]] = field(default=())
    """A small table for people: what exactly, one mapping a row."""

    def to_json(self) -> dict[str, object]:
        """The finding as the output contract has it, and after its keys what more there is to tell."""
        return {
            "code": self.code,
            "severity": self.severity,
            "title": self.title,
            "text": self.text,
            "count": self.count,
            "exchanges": [sample.exchange.index for sample in self.samples],
            "connections": list(self.connections),
            "advice": self.advice,
            "why": self.why,
            "first_time": rfc3339(self.first_ns, self.digits),
            "last_time": rfc3339(self.last_ns, self.digits),
            "who": [{"client": who.address, "client_id": who.client_id, "count": count} for who, count in self.who],
            "evidence": [sample.to_json() for sample in self.samples],
            "details": [dict(row) for row in self.details],
        }


def problem(
    code: str,
    severity: str,
    title: str,
    text: str,
    evidence: Evidence,
    *,
    why: str,
    advice: str,
    details: Sequence[Mapping[str, object]] = (),
    count: int | None = None,
) -> Problem:
    """A finding that rests on exchanges."""
    return Problem(
        code,
        severity,
        title,
        text,
        why,
        advice,
        evidence.count if count is None else count,
        evidence.samples,
        sorted(evidence.connections),
        evidence.clients.most_common(MOST_WHO),
        evidence.first_ns,
        evidence.last_ns,
        evidence.digits,
        details,
    )


class Inquiry(Protocol):
    """A question while exchanges come in; batches come in order, memory stays bounded."""

    def feed(self, batch: Batch) -> None:
        """Look at a batch."""

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        """What is wrong, all in all; called once."""

    def table(self) -> Any:
        """What the report shows beside findings, JSON-ready; None where there is nothing.  Called after :meth:`conclude`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A triage question about the capture as a whole."""

    name: str
    """Key of its table in the report."""
    codes: tuple[str, ...]
    """The finding codes that it may produce."""
    start: Callable[[Thresholds], Inquiry]


def most_severe_first(problems: Iterable[Problem]) -> list[Problem]:
    """In the order of the contract: by severity, then by how often, then by code."""
    return sorted(problems, key=lambda p: (SEVERITIES.index(p.severity), -p.count, p.code, p.text))


def names(items: Sequence[object], most: int = 3) -> str:
    """``a, b and 4 more``."""
    shown = [str(item) for item in items[:most]]
    if len(items) > most:
        return f"{', '.join(shown)} and {len(items) - most:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def clients_text(evidence: Evidence) -> str:
    """Who, most often first."""
    return names([who for who, _ in evidence.clients.most_common()])
