"""A view: rows of one kind with everything that any output format needs to know about them.

Each command that lists things (exchanges, records, topics, ...) has one view;
each format (table, text, ndjson, json, csv, ...) is written once, for all views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from kdissect.report.human import Clock
from kdissect.report.sink import Sink

Row = TypeVar("Row")
Row_in = TypeVar("Row_in", contravariant=True)


ESSENTIAL = 50

Kind = Literal["integer", "float", "boolean", "time", "text", "texts", "integers", "json", "findings"]
"""Type of a flat key's values: ``time`` is RFC 3339 text in JSON, ``texts`` a list of strings, ``integers`` one of integers,
``json`` anything, ``findings`` objects with code, severity and text.  Any may be null."""


class Cell(NamedTuple):
    """Escaped text and the name of its style (see :mod:`kdissect.report.style`)."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column for people."""

    title: str
    cell: Callable[[Row, Clock], Cell]
    rank: int
    """The column with the lowest rank is the first to go on a narrow terminal; rank 0 stays whatever happens.
    Those below :data:`ESSENTIAL` go already when the others would get less than their comfortable width."""
    minimum: int | None = None
    """Narrowest useful width; ``None``: values are never cut, a wide one takes room from the columns after it in its row."""
    comfort: int | None = None
    """Width that is worth more than a column of a rank below :data:`ESSENTIAL`, and is kept ready for rows yet to come."""
    maximum: int = 47
    """No wider than this, however long the values: the others need room too."""
    right: bool = False
    instead_of: str | None = None
    """Shown only where the column of this title had to go."""
    plain: Callable[[Row, Clock], str] | None = None
    """The text when piped, where it differs from the cell's."""
    wrap: bool = False
    """Text to be read whole: as the last column it goes on in further lines instead of being cut."""
    spare: bool = False
    """Left out of a table in which no row has a value for it."""
    headless: bool = False
    """Shown only where no headings stand above the rows: it says what :attr:`View.section` does."""
    key: str | None = None
    """The flat key that it shows, where that is not the title with ``_`` for blanks."""


@dataclass(frozen=True, slots=True)
class View(Generic[Row]):
    """How one kind of row looks in every format."""

    name: str
    columns: tuple[Column[Row], ...]
    keys: tuple[str, ...]
    """Flat keys in contract order: the columns of CSV and other flat formats."""
    to_json: Callable[[Row, bool], dict[str, object]]
    """The row as a JSON-ready object in contract order; the flag asks for the decoded bodies."""
    moment: Callable[[Row], int | None] | None = None
    """The row's time in nanoseconds: the table announces each new day."""
    section: Callable[[Row, Clock], str] | None = None
    """Escaped heading under which the row stands: the table announces each new one."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """What typed formats make of a flat key; text where nothing is said."""


class Writer(Protocol[Row_in]):
    """Rows of one view in one format.  Batches come as they are ready; memory stays bounded."""

    def write(self, rows: Sequence[Row_in]) -> None:
        """Writes a batch of rows."""

    def finish(self) -> None:
        """Completes the output, also after no rows at all, and flushes it."""


@dataclass(frozen=True, slots=True)
class Format:
    """An output format, built in or from a plugin; stateless until opened."""

    name: str
    help: str
    """One line for ``--help``."""
    open: Callable[[View[Any], Sink], Writer[Any]]
    machine: bool = True
    """For programs: decoded bodies matter and need not be looked up lazily."""
    suffixes: tuple[str, ...] = ()
    """File names that end so ask for this format, ``.csv``."""
    to_file: bool = False
    """Bytes that no terminal shows: only with ``-o``."""
