"""Where the rows of a listing come from: exchanges go in batch by batch, rows come out as soon as they are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from kdissect.dissect import Dissection
    from kdissect.exchange import Exchange

Row_out = TypeVar("Row_out", covariant=True)


class Source(Protocol[Row_out]):
    """Makes rows of one view."""

    def add(self, batch: Sequence[Exchange]) -> Iterable[Row_out]:
        """Takes exchanges and gives the rows that they complete."""

    def finish(self, dissection: Dissection) -> Iterable[Row_out]:
        """The rows that only the end tells."""


class EachBatch(Source[Row_out]):
    """Rows that depend on nothing but the exchanges of their batch."""

    def __init__(self, rows: Callable[[Sequence[Exchange]], Iterable[Row_out]]) -> None:
        self._rows = rows

    def add(self, batch: Sequence[Exchange]) -> Iterable[Row_out]:
        return self._rows(batch)

    def finish(self, dissection: Dissection) -> Iterable[Row_out]:
        return ()
