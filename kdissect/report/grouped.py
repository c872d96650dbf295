"""``kdissect read --group-by``: exchanges counted by what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kdissect.report.source import Source
from kdissect.report.stats import MAX_EXACT, Budget, Rows
from kdissect.report.tallies import TALLY_KEYS, TALLY_KINDS, Span, Values, host, tally_columns, text
from kdissect.report.view import Column, View

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange

_STYLES: Final = {"api": "api", "error": "error", "topic": "name", "group": "name"}

KEYS: Final[Mapping[str, Callable[[Exchange], Iterable[tuple[str | None, ...]]]]] = {
    "api": lambda exchange: [(exchange.api,)],
    "client": lambda exchange: [(host(exchange.client), exchange.client_id)],
    "topic": lambda exchange: [(topic,) for topic in exchange.topics],
    "broker": lambda exchange: [(exchange.broker,)],
    "group": lambda exchange: [(group,) for group in exchange.groups],
    "error": lambda exchange: [(code, exchange.api) for code in exchange.error_codes],
}
"""What exchanges can be grouped by; one with several topics, groups or errors counts for each of them."""

_PARTS: Final = {"client": ("client", "client_id"), "error": ("error", "api")}


class Groups(Source[Values]):
    """Counts exchanges by one of :data:`KEYS`."""

    def __init__(self, by: str) -> None:
        self._keys, self._names = KEYS[by], _PARTS.get(by, (by,))
        budget = Budget(MAX_EXACT)
        self._rows = Rows(lambda: Span(budget))

    def add(self, batch: Sequence[Exchange]) -> Iterable[Values]:
        for exchange in batch:
            for key in self._keys(exchange):
                self._rows[key].add(exchange)
        return ()

    def finish(self, dissection: Dissection) -> Iterable[Values]:
        for key, tally in self._rows.sorted():
            yield {**dict(zip(self._names, key, strict=True)), **tally.to_json()}


def grouped_view(by: str) -> View[Values]:
    """The view of such rows."""
    names = _PARTS.get(by, (by,))
    missing = {"api": "request missing"}.get(by, "(all others)")
    first: list[Column[Any]] = [
        Column(names[0].replace("_", " "), text(names[0], _STYLES.get(by, "address"), missing), rank=0, minimum=12, maximum=60)
    ]
    if len(names) > 1:
        style = "api" if names[1] == "api" else "name"
        first.append(Column(names[1].replace("_", " "), text(names[1], style), rank=95, minimum=9, comfort=20))
    return View(
        name="groups",
        columns=(*first, *tally_columns()),
        keys=(*names, *TALLY_KEYS),
        to_json=lambda row, _: dict(row),
        kinds=TALLY_KINDS,
    )
