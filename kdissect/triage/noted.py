"""What was noted about single exchanges and connections, all in all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from kdissect.report.human import count
from kdissect.triage.evidence import Evidence
from kdissect.triage.question import SEVERITIES, Batch, Problem, Question, Whole, clients_text, names, problem
from kdissect.triage.thresholds import Thresholds

if TYPE_CHECKING:
    from kdissect.exchange import Exchange, Finding

_MEANING: Final[dict[str, tuple[str, str, str]]] = {
    "frame.trailing_bytes": (
        "Messages with bytes left over",
        "One side writes more than its version has: a faulty library, or a version that it does not really speak.",
        "Look which client or broker sends them, and update it.",
    ),
    "frame.truncated": (
        "Messages captured in part",
        "What is behind the cut is not analysed, and totals are too low.",
        "Capture with tcpdump -s 0.",
    ),
    "frame.malformed": (
        "Messages that cannot be decoded",
        "One side writes what its version does not allow; the other may read nonsense or close the connection.",
        "Open one below with show --bytes; the fault is at the byte that the finding names.",
    ),
    "api.unknown_key": (
        "Requests with an API key that Kafka does not have",
        "A proxy or a vendor's own extension speaks here.",
        "Load the vendor's schema as a plugin if you have it.",
    ),
    "api.unknown_version": (
        "Requests in a version that is not known",
        "The client is newer than this tool's schema, or faulty.",
        "Update kdissect.",
    ),
    "request.unanswered": (
        "Requests without an answer",
        "The client waits until its own timeout and then sends again, maybe twice what it wanted once.",
        "Look whether the broker died, closed the connection or was too slow; its log tells for the client's address.",
    ),
    "records.bad_crc": (
        "Record batches with a wrong checksum",
        "The data was damaged after its producer wrote it, or the producer computes it wrongly.",
        "Find the first place where it is wrong: in Produce it is the client or its network, in Fetch the broker's disk.",
    ),
    "records.undecompressable": (
        "Record batches that cannot be decompressed",
        "Consumers will stop at them.",
        "Find the producer that writes them, and skip them by seeking behind.",
    ),
    "correlation.out_of_order": (
        "Answers in another order than their requests",
        "Kafka answers in order on each connection; a proxy that does not breaks clients.",
        "Look for a proxy between client and broker.",
    ),
}
SILENT: Final = frozenset({"response.request_missing", "correlation.reused"})
"""The first is told as capture loss; the second is legal."""
MOST_CODES: Final = 200
MOST_ENDS: Final = 5_000
"""Connections whose last exchange is remembered."""
HARMLESS: Final = frozenset({"frame.trailing_bytes"})
"""Told as notes: receivers pass over such bytes."""
BROKEN_OFF: Final = (
    "Exchanges broken off when the client closed",
    "The client closed its connection before the answer was there; it did not want it any more, or was stopped.",
    "Nothing, if the client was stopped then.",
)


class Noted:
    """Gathers the findings of exchanges by code and severity."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._found: dict[tuple[str, str], Evidence] = {}
        self._texts: dict[tuple[str, str], dict[str, None]] = {}
        self._at_end: dict[tuple[int, str], Evidence] = {}
        """(connection, code) -> requests that may have been open, and answers under way, when it was closed."""

    def feed(self, batch: Batch) -> None:
        for exchange in batch.exchanges:
            for finding in exchange.findings:
                place = finding.code, "note" if finding.code in HARMLESS else finding.severity
                if self._ends_connection(exchange, finding):
                    self._at_end.setdefault((exchange.connection, finding.code), Evidence()).add(exchange)
                    continue
                evidence = self._found.get(place)
                if evidence is None:
                    if len(self._found) >= MOST_CODES:
                        continue
                    evidence = self._found[place] = Evidence()
                    self._texts[place] = {}
                evidence.add(exchange)
                if len(self._texts[place]) < 3:
                    self._texts[place][finding.text] = None

    def _ends_connection(self, exchange: Exchange, finding: Finding) -> bool:
        """Whether this may be nothing but the end of a connection; known once that is seen."""
        if len(self._at_end) >= MOST_ENDS:
            return False
        if finding.code == "frame.truncated":
            return exchange.outcome == "answered" and exchange.response is not None and exchange.response.fault is not None
        return finding.code == "request.unanswered" and exchange.unanswered_reason == "closed"

    def _sort_ends(self, whole: Whole) -> Evidence:
        """What clients broke off themselves; the rest goes to the other findings."""
        harmless = Evidence()
        connections = {connection.number: connection for connection in whole.connections}
        for (number, code), evidence in self._at_end.items():
            connection = connections[number]
            life = connection.lifetime
            closed = life.fin is not None or life.reset is not None
            by_client = life.fin == connection.client_side or (life.fin is None and life.reset == connection.client_side)
            # A snap length cuts every large message, the end of a connection only the last one.
            if code == "frame.truncated" and (evidence.count > 1 or not closed):
                self._say(code, "warning", "only their beginning was captured", evidence)
            elif by_client:
                harmless.merge(evidence)
            else:
                self._say("request.unanswered", "warning", "the connection was closed without a whole answer", evidence)
        return harmless

    def _say(self, code: str, severity: str, text: str, evidence: Evidence) -> None:
        self._found.setdefault((code, severity), Evidence()).merge(evidence)
        self._texts.setdefault((code, severity), {})[text] = None

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        broken_off = self._sort_ends(whole)
        if broken_off.count:
            title, why, advice = BROKEN_OFF
            yield problem(
                "request.unanswered",
                "note",
                title,
                f"{count(broken_off.count, 'request')} of {clients_text(broken_off)} had no whole answer when the client closed.",
                broken_off,
                why=why,
                advice=advice,
            )
        for (code, severity), evidence in self._found.items():
            if code in SILENT:
                continue
            title, why, advice = _MEANING.get(code, (code, "", ""))
            texts = "; ".join(self._texts[code, severity])
            yield problem(
                code,
                severity,
                title,
                f"{count(evidence.count, 'exchange')} of {clients_text(evidence)}: {texts}.",
                evidence,
                why=why,
                advice=advice,
            )
        limits: dict[tuple[str, str, str], list[int]] = {}
        for connection in whole.connections:
            for finding in connection.findings:
                limits.setdefault((finding.code, finding.severity, finding.text), []).append(connection.number)
        for (code, severity, text), numbers in sorted(limits.items(), key=lambda item: SEVERITIES.index(item[0][1]))[:100]:
            yield Problem(
                code,
                severity,
                "A limit of the analysis was met",
                f"On {len(numbers):,} connections ({names(numbers)}): {text}.",
                "What was given up is not analysed.",
                "Split the capture into smaller parts if these connections matter.",
                len(numbers),
                connections=numbers[:1000],
            )

    def table(self) -> Any:
        return None


def question() -> Question:
    """What exchanges and connections say of themselves."""
    return Question("noted", tuple(_MEANING), Noted)
