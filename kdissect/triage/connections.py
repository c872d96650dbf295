"""Connection churn, resets and refusals, TLS, and what is not Kafka."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kdissect.report.human import count, duration_ms
from kdissect.triage.evidence import Client, client_of
from kdissect.triage.question import Batch, Problem, Question, Whole, names
from kdissect.triage.thresholds import Thresholds
from kdissect.triage.windows import Busiest

if TYPE_CHECKING:
    from kdissect.dissect import Connection

CHURN: Final = "connection.churn"
RESET: Final = "connection.reset"
TLS: Final = "connection.tls"
NOT_KAFKA: Final = "connection.not_kafka"
MOST: Final = 100_000
KAFKA_PORTS: Final = range(9091, 9099)
"""Ports where Kafka is expected although none was seen there: the usual ones of listeners."""
MINUTE_S: Final = 60


class Connections:
    """Judges connections at the end; on the way it only notes whose they are."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._limits = thresholds
        self._clients: dict[int, Client] = {}
        self._unanswered: Counter[int] = Counter()
        self._table: dict[str, Any] = {}

    def feed(self, batch: Batch) -> None:
        clients = self._clients
        for exchange in batch.exchanges:
            if exchange.connection not in clients and len(clients) < MOST:
                clients[exchange.connection] = client_of(exchange)
            if exchange.outcome == "unanswered":
                self._unanswered[exchange.connection] += 1
        if (columns := batch.columns) is not None:
            _, rows = np.unique(columns.connection, return_index=True)
            for row in rows.tolist():
                connection = columns.connections[int(columns.connection[row])]
                if connection.number not in clients and len(clients) < MOST:
                    host, client_id = connection.client.rpartition(":")[0], columns.client_ids[int(columns.client_id[row])]
                    clients[connection.number] = Client(host, client_id)

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        opened = [c for c in whole.connections if c.lifetime.opener is not None and not c.lifetime.refused]
        refused = [c for c in whole.connections if c.lifetime.refused]
        self._table = {
            "opened": len(opened),
            "refused": len(refused),
            "reset": sum(c.lifetime.reset is not None and not c.lifetime.refused for c in whole.connections),
            "protocols": dict(Counter(c.protocol for c in whole.connections)),
        }
        plain = frozenset(c.broker for c in whole.connections if c.protocol == "kafka")
        yield from self._churn(opened)
        yield from self._resets(whole.connections)
        up_ns: dict[str, int] = {}
        for c in opened:
            up_ns[_accepter(c)] = max(up_ns.get(_accepter(c), 0), c.lifetime.accepted_ns or 0)
        yield from self._refused(refused, plain, up_ns)
        yield from self._other(whole.connections, plain)

    def _churn(self, opened: Sequence[Connection]) -> Iterable[Problem]:
        by_client: dict[Client, list[Connection]] = {}
        for connection in opened:
            if connection.protocol in ("kafka", "tls"):
                opener = Client(_opener(connection).rpartition(":")[0], None)
                by_client.setdefault(self._clients.get(connection.number, opener), []).append(connection)
        for who, connections in by_client.items():
            busiest = Busiest(MINUTE_S)
            for connection in sorted(connections, key=lambda c: c.lifetime.first_ns or 0):
                busiest.add(connection.lifetime.first_ns)
            lives = sorted(_life_ms(connection) for connection in connections)
            life = lives[len(lives) // 2]
            if busiest.most < self._limits.churn_connections or life > self._limits.churn_life_s * 1000:
                continue
            asked = sum(connection.exchanges for connection in connections)
            yield _problem(
                CHURN,
                "warning",
                "Connections are opened all the time",
                f"{who} opened {len(connections):,} connections, {busiest.most:,} of them within one minute; they lived "
                f"{duration_ms(life)} (median) and carried {asked / len(connections):.1f} requests each.",
                "Every connection costs handshakes, authentication and metadata before its first useful request, and a "
                "broker limits "
                "how many it accepts.",
                "Make one producer or consumer per process and keep it; look for clients made per message, and for "
                "health checks.",
                connections,
                who,
            )

    def _resets(self, connections: Sequence[Connection]) -> Iterable[Problem]:
        harmful: list[Connection] = []
        for connection in connections:
            life = connection.lifetime
            if connection.protocol == "kafka" and life.reset is not None and not life.quiet_reset:
                harmful.append(connection)
        if not harmful:
            return
        open_requests = sum(self._unanswered[c.number] for c in harmful)
        by_broker = sum(c.lifetime.reset != c.client_side for c in harmful)
        yield _problem(
            RESET,
            "warning" if open_requests else "note",
            "Connections are reset",
            f"{count(len(harmful), 'connection')} ended in a reset, {by_broker:,} of them by the broker"
            + (f"; {count(open_requests, 'request')} had no answer by then." if open_requests else "; no request was open."),
            "What was under way is lost and sent again; the application sees a disconnect.",
            "A broker resets when it dies, or when a request is over socket.request.max.bytes; a load balancer or "
            "firewall when a "
            "connection is idle longer than it likes (compare with connections.max.idle.ms).",
            harmful,
        )

    def _refused(self, refused: Sequence[Connection], plain: frozenset[str], up_ns: Mapping[str, int]) -> Iterable[Problem]:
        by_end: dict[str, list[Connection]] = {}
        for connection in refused:
            if _expected(connection, plain):
                by_end.setdefault(_accepter(connection), []).append(connection)
        for end, connections in by_end.items():
            if len(connections) < self._limits.refused_count:
                continue
            who = sorted({_opener(c).rpartition(":")[0] for c in connections})
            last = max(c.lifetime.first_ns or 0 for c in connections)
            back = up_ns.get(end, 0) > last
            yield _problem(
                RESET,
                "note" if back else "warning",
                "A broker refused connections for a while" if back else "A broker refuses connections",
                f"{end} refused {count(len(connections), 'connection')} from {names(who)}: nothing listened there"
                + (", until it came up." if back else ", and nothing does at the end of the capture."),
                "Clients try again and again; partitions that only this broker leads are out of reach.",
                "Look whether the broker runs, and whether its listener has this address and port.",
                connections,
            )

    def _other(self, connections: Sequence[Connection], plain: frozenset[str]) -> Iterable[Problem]:
        tls = [c for c in connections if c.protocol == "tls" and _expected(c, plain)]
        mixed = [c for c in tls if _accepter(c) in plain]
        if mixed:
            yield _problem(
                TLS,
                "warning",
                "TLS is spoken to a plaintext listener",
                f"{count(len(mixed), 'connection')} began with TLS at {names(sorted({_accepter(c) for c in mixed}))}, "
                "where others "
                "speak Kafka in the clear.",
                "These clients never get in: the broker reads the handshake as an enormous request and closes.",
                "Give the clients security.protocol=PLAINTEXT (or SASL_PLAINTEXT), or the port of the TLS listener.",
                mixed,
            )
        encrypted = [c for c in tls if _accepter(c) not in plain]
        if encrypted:
            yield _problem(
                TLS,
                "note",
                "Encrypted connections were not analysed",
                f"{count(len(encrypted), 'connection')} with {names(sorted({_accepter(c) for c in encrypted}))} are TLS.",
                "Nothing in this report is about them.",
                "Capture behind the TLS termination, or with the keys of the sessions.",
                encrypted,
            )
        other: dict[tuple[str, str], list[Connection]] = {}
        for c in connections:
            if c.protocol not in ("kafka", "tls") and c.ledger.captured and _expected(c, plain):
                other.setdefault((_accepter(c), c.protocol), []).append(c)
        for (end, protocol), several in other.items():
            what = {"http": "HTTP", "unknown": "no protocol that is known here"}.get(protocol, protocol)
            yield _problem(
                NOT_KAFKA,
                "warning" if end in plain else "note",
                "Something else than Kafka is spoken to a broker",
                f"{count(len(several), 'connection')} to {end} from "
                f"{names(sorted({_opener(c).rpartition(':')[0] for c in several}))} "
                f"speak {what}.",
                "The broker reads the first bytes as the size of a request, complains in its log and closes.",
                "Look what runs at these addresses: health checks, scanners, and clients with the wrong port.",
                several,
            )

    def table(self) -> Any:
        return self._table


def _expected(connection: Connection, plain: frozenset[str]) -> bool:
    """Whether Kafka is to be expected there: it was seen, or the port is one of Kafka's."""
    end = _accepter(connection)
    return end in plain or int(end.rpartition(":")[2]) in KAFKA_PORTS


def _opener(connection: Connection) -> str:
    """The end that opened the connection, as far as the capture tells."""
    opener = connection.lifetime.opener
    return connection.client if opener in (None, connection.client_side) else connection.broker


def _accepter(connection: Connection) -> str:
    opener = connection.lifetime.opener
    if opener is None and connection.protocol != "kafka":
        # The lower port is more likely the server's.
        return min(connection.client, connection.broker, key=lambda end: int(end.rpartition(":")[2]))
    return connection.broker if opener in (None, connection.client_side) else connection.client


def _life_ms(connection: Connection) -> float:
    life = connection.lifetime
    return 0.0 if life.first_ns is None or life.last_ns is None else (life.last_ns - life.first_ns) / 1e6


def _problem(
    code: str,
    severity: str,
    title: str,
    text: str,
    why: str,
    advice: str,
    connections: Sequence[Connection],
    who: Client | None = None,
) -> Problem:
    first = min((c.lifetime.first_ns for c in connections if c.lifetime.first_ns is not None), default=None)
    last = max((c.lifetime.last_ns for c in connections if c.lifetime.last_ns is not None), default=None)
    asking = Counter(Client(_opener(c).rpartition(":")[0], None) for c in connections)
    return Problem(
        code,
        severity,
        title,
        text,
        why,
        advice,
        len(connections),
        connections=[c.number for c in connections[:1000]],
        who=[(who, len(connections))] if who else asking.most_common(20),
        first_ns=first,
        last_ns=last,
        details=[
            {"connection": c.number, "client": _opener(c), "broker": _accepter(c), "protocol": c.protocol, "life_ms": _life_ms(c)}
            for c in connections[:50]
        ],
    )


def question() -> Question:
    """The question about connections."""
    return Question("connections_summary", (CHURN, RESET, TLS, NOT_KAFKA), Connections)
