"""What a plugin may offer: hook specifications and the frozen things they return.

A hook is called once and *declares*; the callables inside the declarations do
the work, on batches or single values, and are called by the host one by one,
so that one that raises spoils nothing.  Nothing handed to them may be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pluggy

if TYPE_CHECKING:
    import click

    from kdissect.exchange import Exchange, Finding
    from kdissect.report.view import Format, View
    from kdissect.triage.question import Question

PROJECT = "kdissect"
"""Name of the pluggy project and of the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@dataclass(frozen=True, slots=True)
class RecordPart:
    """The bytes of a record's key, value or header value, with where they come from."""

    topic: str | None
    """``None`` where the capture does not tell."""
    part: Literal["key", "value", "header"]
    data: bytes
    header: str | None = None
    """Key of the header."""
    key: bytes | None = None
    """Of a value: the record's key, which in Kafka's own topics says what the value is."""


@dataclass(frozen=True, slots=True)
class ValueDecoder:
    """Turns the bytes of record keys and values into something readable."""

    name: str
    help: str
    decode: Callable[[RecordPart], object]
    """JSON-ready value, or ``None`` for bytes that are not in this format."""
    topics: tuple[str, ...] = ()
    """Shell patterns of the topics that it decodes unasked; empty: only where asked for by name."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A triage question: reads all exchanges and finds what is wrong."""

    code: str
    """The finding code that it produces, stable for scripts: ``subject.problem``."""
    title: str
    start: Callable[[], Callable[[Sequence[Exchange]], Iterable[tuple[int, Finding]]]]
    """Begins a run.  The returned function takes each batch in order and gives ``(exchange index, finding)`` pairs."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Something to list: a view, and how its rows come out of exchanges."""

    view: View[Any]
    help: str
    rows: Callable[[Sequence[Exchange]], Iterable[object]]
    """The rows of one batch of exchanges."""


@hookspec
def kdissect_formats() -> Sequence[Format]:  # type: ignore[empty-body]
    """Output formats, for every command that lists things."""


@hookspec
def kdissect_listings() -> Sequence[Listing]:  # type: ignore[empty-body]
    """Views that ``kdissect read --view`` offers."""


@hookspec
def kdissect_value_decoders() -> Sequence[ValueDecoder]:  # type: ignore[empty-body]
    """Decoders of record keys and values."""


@hookspec
def kdissect_rules() -> Sequence[Rule]:  # type: ignore[empty-body]
    """Triage rules."""


@hookspec
def kdissect_questions() -> Sequence[Question]:  # type: ignore[empty-body]
    """Triage questions about captures as a whole, for ``kdissect report``."""


@hookspec
def kdissect_schema_files() -> Sequence[Path]:  # type: ignore[empty-body]
    """Further layouts in kdissect's schema notation, one file per API or format."""


@hookspec
def kdissect_commands() -> Sequence[click.Command]:  # type: ignore[empty-body]
    """Commands of the command line."""
