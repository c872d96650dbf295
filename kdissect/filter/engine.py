"""The compiled filter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from kdissect.exchange import Exchange
from kdissect.filter.compile import Origin, early, predicate
from kdissect.filter.fields import Levels
from kdissect.filter.flat import READ_IN_RECORDS
from kdissect.filter.resolve import resolve
from kdissect.filter.tree import Condition, Node, conditions, plain


class Head(Protocol):
    """What an exchange tells before a body is decoded; an :class:`~kdissect.exchange.Exchange` is one, too."""

    index: int
    file: str
    response_file: str | None
    connection: int
    connection_id: str
    client: str
    broker: str
    request_time_ns: int | None
    response_time_ns: int | None
    api: str | None
    api_key: int | None
    api_version: int | None
    correlation_id: int | None
    client_id: str | None
    request_bytes: int | None
    response_bytes: int | None
    request_packets: tuple[int, int] | None
    response_packets: tuple[int, int] | None
    outcome: str
    unanswered_reason: str | None


_LEVELS: Final[dict[Levels, int]] = {"skip": 0, "heads": 1, "full": 2}


class Filter:
    """A filter ready for use; it can be pickled."""

    __slots__ = ("_early", "_matches", "_origin", "needs", "records", "text", "tree")

    def __init__(self, text: str, tree: Node) -> None:
        """Use :func:`kdissect.filter.compile_filter`."""
        self.text = text
        self.tree = tree
        self._origin = Origin()
        self._early = early(tree, self._origin)
        self._matches = predicate(tree, self._origin)
        every = list(conditions(tree))
        self.needs: frozenset[str] = frozenset().union(*(each.field.columns for each in every))
        """Keys of the output contract that the filter looks at (``findings`` for all of a finding), and paths below ``request``,
        ``response`` and ``records``."""
        self.records: Levels = max((_records(each) for each in every), key=_LEVELS.__getitem__)
        """How far record batches must at least be read, as in :class:`kdissect.dissect.Options`."""

    @property
    def ast(self) -> dict[str, Any]:
        """The filter as JSON-ready data: see :func:`kdissect.filter.tree.plain`."""
        return plain(self.tree)

    @property
    def start_ns(self) -> int | None:
        """The time of the capture's first packet; until it is set, comparisons with relative times (``+30s``) are false."""
        return self._origin.ns

    @start_ns.setter
    def start_ns(self, ns: int | None) -> None:
        self._origin.ns = ns

    def header(self, head: Head) -> bool | None:
        """Whether the exchange passes, as far as its head tells; ``None``: only :meth:`matches` can say."""
        return self._early(head)

    def matches(self, exchange: Exchange) -> bool:
        """Whether the exchange passes.  Bodies are touched only where cheaper conditions leave it open."""
        return self._matches(exchange)

    def keep(self, exchanges: Iterable[Exchange]) -> list[Exchange]:
        """Those that pass, in order."""
        return list(filter(self._matches, exchanges))

    def __repr__(self) -> str:
        return f"<Filter {self.text!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Filter, (self.text, self.tree)


def _records(condition: Condition) -> Levels:
    if condition.field.name == "findings.code" and condition.operator in ("==", "in"):
        codes = {code for each in condition.alternatives for code in each.operands}
        return "full" if codes & READ_IN_RECORDS else "heads"
    return condition.field.records


def compile_filter(text: str, utc: bool = False) -> Filter:
    """Compiles a filter; times without a zone are in this machine's zone, or in UTC.

    Raises :class:`kdissect.filter.FilterError`, which knows the place.
    """
    return Filter(text, resolve(text, utc))
