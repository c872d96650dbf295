"""``kdissect show --context``: what came before and after on the same connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kdissect.report.exchanges import EXCHANGES
from kdissect.report.formats.table import Table
from kdissect.report.sink import Output, Sink

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

MAX_CONNECTIONS: Final = 10_000
"""Connections whose last exchanges are remembered, those longest silent forgotten first."""


class Neighbours:
    """Finds an exchange by its number, and up to ``count`` exchanges of its connection on both sides."""

    def __init__(self, index: int, count: int) -> None:
        self._index, self._count = index, count
        self._before: dict[int, deque[Exchange]] = {}
        self._after: list[Exchange] = []
        self.exchange: Exchange | None = None
        self.last = 0
        """The highest number that was seen."""

    @property
    def complete(self) -> bool:
        """Whether nothing more is wanted."""
        return self.exchange is not None and len(self._after) >= self._count

    def add(self, batch: Sequence[Exchange]) -> None:
        """Takes exchanges in order of their numbers."""
        for exchange in batch:
            self.last = max(self.last, exchange.index)
            if self.exchange is None:
                if exchange.index == self._index:
                    self.exchange = exchange
                elif self._count:
                    self._remember(exchange)
            elif exchange.connection == self.exchange.connection and len(self._after) < self._count:
                self._after.append(_light(exchange))

    def _remember(self, exchange: Exchange) -> None:
        known = self._before.pop(exchange.connection, None)
        if known is None:
            known = deque(maxlen=self._count)
            if len(self._before) >= MAX_CONNECTIONS:
                del self._before[next(iter(self._before))]
        known.append(_light(exchange))
        self._before[exchange.connection] = known

    def write(self, sink: Sink, before: bool) -> None:
        """Writes a table of those before, or after; nothing where there are none."""
        assert self.exchange is not None
        rows = list(self._before.get(self.exchange.connection, ())) if before else self._after
        if not rows:
            return
        output = Output(sink)
        if not before:
            output.write(b"\n")
            output.flush()
        columns = tuple(column for column in EXCHANGES.columns if column.title not in ("client", "conn", "broker", "client id"))
        table: Table[Any] = Table(replace(EXCHANGES, columns=columns), sink)
        table.write(rows)
        table.finish()
        if before:
            output.write(b"\n")
            output.flush()


def _light(exchange: Exchange) -> Exchange:
    """The flat keys alone: bodies and frames are not looked at."""
    return replace(exchange, request=None, response=None, request_frame=None, response_frame=None)
