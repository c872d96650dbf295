"""The view of clients: who is connected, with which library, and what they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kdissect.report.human import Clock
from kdissect.report.source import Source
from kdissect.report.stats import MAX_EXACT, Budget, Rows
from kdissect.report.tallies import (
    TALLY_KEYS,
    TALLY_KINDS,
    Names,
    Span,
    Values,
    all_listed,
    host,
    listed,
    number,
    tally_columns,
    text,
)
from kdissect.report.view import Cell, Column, View

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange

API_VERSIONS: Final = 18
MAX_CONNECTIONS: Final = 100_000
FEW: Final = 4


class Client(Span):
    """What was seen of one client: a client id on one address."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.software, self.principals, self.brokers, self.topics, self.groups = (Names() for _ in range(5))
        self.apis: Counter[tuple[str, int]] = Counter()


class Clients(Source[Values]):
    """Gathers clients."""

    def __init__(self) -> None:
        budget = Budget(MAX_EXACT)
        self._rows = Rows(lambda: Client(budget))
        self._software: dict[int, str] = {}
        """Connection -> what its client says that it is (ApiVersions v3 and later, KIP-511)."""

    def add(self, batch: Sequence[Exchange]) -> Iterable[Values]:
        for exchange in batch:
            client = self._rows[host(exchange.client), exchange.client_id]
            client.add(exchange)
            if len(client.connections) < MAX_CONNECTIONS:
                client.connections.add(exchange.connection)
            if exchange.api_key == API_VERSIONS:
                self._introduced(exchange)
            client.software.note([self._software.get(exchange.connection)])
            client.principals.note([exchange.principal])
            client.brokers.note([exchange.broker])
            client.topics.note(exchange.topics)
            client.groups.note(exchange.groups)
            if exchange.api is not None and exchange.api_version is not None:
                client.apis[exchange.api, exchange.api_version] += 1
        return ()

    def _introduced(self, exchange: Exchange) -> None:
        body = exchange.request.body if exchange.request is not None else None
        if body is None or exchange.connection in self._software or len(self._software) >= MAX_CONNECTIONS:
            return
        words = [body.get("client_software_name"), body.get("client_software_version")]
        said = " ".join(word for word in words if isinstance(word, str) and word)
        if said:
            self._software[exchange.connection] = said

    def finish(self, dissection: Dissection) -> Iterable[Values]:
        for (address, client_id), client in self._rows.sorted():
            apis: dict[str, list[int]] = {}
            for name, version in sorted(client.apis):
                apis.setdefault(name, []).append(version)
            yield {
                "client": address,
                "client_id": client_id,
                "software": list(client.software),
                "principals": list(client.principals),
                "connections": len(client.connections),
                "brokers": list(client.brokers),
                "apis": apis,
                "topics": list(client.topics),
                "groups": list(client.groups),
                **client.to_json(),
            }


def api_words(apis: Mapping[str, Sequence[int]]) -> list[str]:
    """``Produce v9``, ``Fetch v4-v11``: name and versions."""
    return [f"{name} v{versions[0]}" + (f"-v{versions[-1]}" if len(versions) > 1 else "") for name, versions in apis.items()]


def _apis(row: Values, _: Clock) -> Cell:
    words = api_words(row["apis"])
    rest = len(words) - FEW
    return Cell(", ".join(words[:FEW]) + (f" +{rest}" if rest > 0 else ""), "api")


CLIENTS: View[Values] = View(
    name="clients",
    columns=(
        Column("client", text("client", "address", "(all others)"), rank=80, maximum=40),
        Column("client id", text("client_id", "name"), rank=0, minimum=10, comfort=20, maximum=60),
        Column(
            "software",
            listed("software", "", 2),
            rank=85,
            minimum=12,
            comfort=24,
            maximum=50,
            plain=all_listed("software"),
            spare=True,
        ),
        Column(
            "principal",
            listed("principals", "name", 2),
            rank=60,
            minimum=9,
            comfort=9,
            maximum=40,
            plain=all_listed("principals"),
            spare=True,
            key="principals",
        ),
        Column("connections", number("connections"), rank=20, right=True),
        Column("topics", listed("topics", "name", 2), rank=65, minimum=8, comfort=14, maximum=40, plain=all_listed("topics")),
        Column(
            "groups",
            listed("groups", "name", 2),
            rank=30,
            minimum=8,
            comfort=10,
            maximum=30,
            plain=all_listed("groups"),
            spare=True,
        ),
        Column(
            "apis", _apis, rank=28, minimum=12, comfort=24, maximum=60, plain=lambda r, _: ", ".join(api_words(r["apis"])) or "-"
        ),
        *tally_columns(8)[:3],
        *tally_columns(5)[7:],
    ),
    keys=(
        *("client", "client_id", "software", "principals", "connections", "brokers", "apis", "topics", "groups"),
        *TALLY_KEYS,
    ),
    to_json=lambda row, _: dict(row),
    kinds={
        **TALLY_KINDS,
        **dict.fromkeys(("software", "principals", "brokers", "topics", "groups"), "texts"),
        "connections": "integer",
        "apis": "json",
    },
)
"""One row a client."""
