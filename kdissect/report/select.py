"""``--columns``: a view with the columns that were asked for, in their order, in every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from kdissect.report.escape import shorten
from kdissect.report.human import Clock
from kdissect.report.view import Cell, Column, Row, View
from kdissect.wire.json import dumps

BODIES = ("request", "response")
"""Keys whose objects can be looked into: ``request.acks``."""


class NoSuchColumn(ValueError):
    """A name that is neither a column nor a key of the view; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a name stands for: a key of the JSON object, or a path into one, and how people see it."""

    key: str
    column: Column[Any]
    path: tuple[str, ...] = ()


def key_of(column: Column[Any]) -> str:
    """The flat key that a column shows."""
    return column.key or column.title.replace(" ", "_")


def names(view: View[Any]) -> list[str]:
    """What :func:`select` and sorting accept, without paths."""
    titles = [column.title.replace(" ", "_") for column in view.columns if column.title and column.title != "#"]
    return list(dict.fromkeys([*titles, *view.keys]))


def select(view: View[Row], wanted: Sequence[str]) -> View[Row]:
    """``view`` with the wanted columns only, given by title or key, or by path into the bodies (``request.acks``).

    None is ever dropped for lack of room; they share it.  Raises :class:`NoSuchColumn`.
    """
    chosen = [choose(view, name) for name in wanted]
    bodies = any(each.path for each in chosen)

    def to_json(row: Row, _: bool) -> dict[str, object]:
        whole = view.to_json(row, bodies)
        return {each.key: value_at(whole, each.path) if each.path else whole.get(each.key) for each in chosen}

    return replace(
        view,
        columns=tuple(each.column for each in chosen),
        keys=tuple(dict.fromkeys(each.key for each in chosen)),
        to_json=to_json,
        kinds={each.key: "json" if each.path else view.kinds.get(each.key, "text") for each in chosen},
    )


def choose(view: View[Any], name: str) -> Chosen:
    """What ``name`` stands for in ``view``.  Raises :class:`NoSuchColumn`."""
    plain = name.strip().lower().replace(" ", "_").replace("-", "_")
    by_title = {column.title.replace(" ", "_"): column for column in view.columns}
    if plain in by_title and plain:
        column = by_title[plain]
        return Chosen(key_of(column), _kept(column))
    if plain in view.keys:
        shown = next((column for column in view.columns if key_of(column) == plain), None)
        return Chosen(plain, _kept(shown) if shown else _column(plain, lambda row: view.to_json(row, False).get(plain)))
    side, *path = name.strip().split(".")
    if side in BODIES and path and "index" in view.keys:
        way = (side, *path)
        return Chosen(name.strip(), _column(name.strip(), lambda row: value_at(view.to_json(row, True), way)), way)
    known = names(view)
    near = get_close_matches(plain, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
    raise NoSuchColumn(f"there is no column {name!r}{hint}")


def value_at(whole: object, path: Sequence[str]) -> object:
    """What stands at ``path``; a list of all values where arrays are on the way, null where there is nothing."""
    found = list(_walk(whole, path))
    return found[0] if len(found) == 1 else found or None


def _walk(value: object, path: Sequence[str]) -> Iterator[object]:
    if isinstance(value, (list, tuple)) and path:
        for item in value:
            yield from _walk(item, path)
    elif not path:
        if value is not None:
            yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _walk(value[path[0]], path[1:])


def _kept(column: Column[Any]) -> Column[Any]:
    """The column as one that was asked for by name: it may shrink, but stays."""
    least = min(8, column.maximum) if column.minimum is None and column.maximum > 40 else column.minimum
    return replace(column, rank=0, instead_of=None, minimum=least, headless=False)


def _column(title: str, value: Callable[[Any], object]) -> Column[Any]:
    def cell(row: Any, _: Clock) -> Cell:
        return Cell(shorten(as_text(value(row)), 200))

    def plain(row: Any, _: Clock) -> str:
        return shorten(as_text(value(row)), 1 << 20) or "-"

    return Column(title, cell, rank=0, minimum=min(12, len(title)), plain=plain, key=title)


def as_text(value: object) -> str:
    """A JSON-ready value as text for people: nothing for null, lists joined, objects as compact JSON.  Not escaped."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(as_text(item) for item in value)
    if isinstance(value, dict) and "code" in value and "severity" in value:
        return str(value["code"])
    text = dumps(value).decode()
    return text[1:-1] if text.startswith('"') else text
