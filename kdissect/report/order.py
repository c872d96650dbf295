"""``--sort``, ``--reverse`` and ``--limit``: rows in another order, no more of them kept than are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic

from kdissect.report.select import choose, value_at
from kdissect.report.view import Row, View

Rank = tuple[bool, int, Any]


class Sorter(Generic[Row]):
    """Takes rows as they come and gives them back in order; rows without a value come last, equals keep their order."""

    def __init__(self, view: View[Row], name: str, reverse: bool = False, limit: int | None = None) -> None:
        """Sorts by the column, key or path ``name``; with ``limit``, at most twice as many rows are kept.

        Raises :class:`kdissect.report.select.NoSuchColumn`.
        """
        chosen = choose(view, name)
        path = chosen.path or (chosen.key,)
        bodies = bool(chosen.path)
        is_time = view.kinds.get(chosen.key) == "time"

        def value(row: Row) -> object:
            found = value_at(view.to_json(row, bodies), path)
            # Times of several captures may have different numbers of decimals before the Z.
            return found[:-1] if is_time and isinstance(found, str) else found

        self._value: Callable[[Row], object] = value
        self._reverse, self._limit = reverse, limit
        self._rows: list[tuple[Rank, Row]] = []

    def add(self, rows: Iterable[Row]) -> None:
        """Takes rows."""
        self._rows += [(rank(self._value(row)), row) for row in rows]
        if self._limit is not None and len(self._rows) > 2 * self._limit + 1000:
            self._sort()
            del self._rows[self._limit :]

    def rows(self) -> list[Row]:
        """All rows in order, or the first ``limit`` of them."""
        self._sort()
        return [row for _, row in self._rows[: self._limit]]

    def _sort(self) -> None:
        self._rows.sort(key=lambda pair: pair[0][1:], reverse=self._reverse)
        self._rows.sort(key=lambda pair: pair[0][0])


def rank(value: object) -> Rank:
    """Sorts any JSON-ready value among others: numbers before text before lists, nothing last whatever the direction."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return True, 0, 0
    if isinstance(value, (int, float)):
        return False, 0, value
    if isinstance(value, str):
        return False, 1, value
    if isinstance(value, (list, tuple)):
        return False, 2, [rank(item) for item in value]
    return False, 3, str(value)
