"""The lines that close a listing: what was seen, and where every byte went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from time import process_time
from typing import TYPE_CHECKING

from kdissect.columnar.batch import ExchangeBatch
from kdissect.report.human import count, duration_ms, size

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange
    from kdissect.ledger import Ledger
    from kdissect.plugins.host import Host

LEDGER_PARTS = ("decoded", "partial", "opaque", "skipped", "duplicate")


class Summary:
    """Counts exchanges as they are listed."""

    def __init__(self) -> None:
        self.exchanges = self.errors = self.findings = 0
        self.outcomes: Counter[str] = Counter()

    def add(self, batch: Sequence[Exchange]) -> None:
        """Counts a batch."""
        self.exchanges += len(batch)
        singly: Iterable[Exchange] = batch
        if isinstance(batch, ExchangeBatch):
            self.outcomes.update(batch.outcomes())
            self.errors += batch.with_errors()
            singly = batch.objects.values()
        for exchange in singly:
            self.outcomes[exchange.outcome] += 1
            self.errors += bool(exchange.error_codes)
            self.findings += bool(exchange.findings)

    def lines(self, dissection: Dissection, stopped: str | None = None) -> list[str]:
        """One or two lines; ``stopped``: how much was listed before the rest of the capture was not looked at."""
        capture, connections = dissection.capture, dissection.connections
        if stopped is not None:
            return [f"{stopped}, then stopped as asked; the rest of the capture was not read"]
        kafka = sum(connection.protocol == "kafka" for connection in connections)
        if not kafka:
            return [nothing_found(dissection)]
        words = [f"{count(self.exchanges, 'exchange')} on {count(kafka, 'Kafka connection')}"]
        if capture.first_time_ns is not None and capture.last_time_ns is not None:
            words[0] += f" in {duration_ms((capture.last_time_ns - capture.first_time_ns) / 1e6)}"
        for number, text in (
            (self.errors, "with errors"),
            (self.outcomes["unanswered"], "unanswered"),
            (self.outcomes["request_missing"], "without request"),
            (self.findings, "with findings"),
        ):
            if number:
                words.append(f"{number:,} {text}")
        return [", ".join(words), ledger_line(dissection.ledger)]


def details(dissection: Dissection, host: Host) -> list[str]:
    """What ``--verbose`` adds: files, connections, dropped packets, plugins, time spent."""
    lines = []
    for file in dissection.reader.files:
        words = [f"{file.name}: {' '.join(filter(None, (file.compression, file.format)))}, {count(file.packets, 'packet')}"]
        if file.dropped:
            words.append(f"{file.dropped:,} dropped while capturing")
        if file.truncated:
            words.append("cut off")
        if file.format is not None:
            lines.append(", ".join(words))
    protocols = Counter(connection.protocol for connection in dissection.connections)
    lines.append("TCP connections: " + (", ".join(f"{number:,} {name}" for name, number in protocols.most_common()) or "none"))
    others = [name for name in host.names if name != "kdissect"]
    if others:
        lines.append(f"plugins: {', '.join(others)}")
    spent = process_time()
    rate = f", {dissection.capture.packets / spent:,.0f} packets a second" if spent > 0.01 else ""
    lines.append(f"{duration_ms(spent * 1000)} of processor time{rate}")
    return lines


def ledger_line(ledger: Ledger) -> str:
    """The ledger in words: ``12.3 kB captured: all decoded`` or its parts, and what is missing."""
    parts = [(getattr(ledger, part), part) for part in LEDGER_PARTS]
    if ledger.decoded == ledger.captured:
        text = f"{size(ledger.captured)} captured, every byte decoded"
    else:
        text = f"{size(ledger.captured)} captured: " + ", ".join(f"{size(number)} {part}" for number, part in parts if number)
    return text + (f"; {size(ledger.missing)} missing from the capture" if ledger.missing else "")


def nothing_found(dissection: Dissection) -> str:
    """What there was instead of Kafka."""
    capture = dissection.capture
    protocols = Counter(connection.protocol for connection in dissection.connections)
    known = {"tls": "TLS", "http": "HTTP", "unknown": "of another protocol"}
    kinds = ", ".join(f"{number:,} {known.get(protocol, protocol)}" for protocol, number in protocols.most_common())
    inside = f"{count(capture.packets, 'packet')}, {count(len(dissection.connections), 'TCP connection')}"
    return f"no Kafka in this capture ({inside}{': ' + kinds if kinds else ''})"
