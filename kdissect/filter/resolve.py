"""From syntax to meaning: finds the fields, understands the values, refuses what cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from kdissect.filter.errors import FilterError
from kdissect.filter.fields import Field, find, suggest
from kdissect.filter.grammar import OPERATORS, parse
from kdissect.filter.kinds import ORDER, SEARCH, Boolean, Kind, Span
from kdissect.filter.literals import Mismatch, Typed, unquote
from kdissect.filter.named_kinds import Structure, Time
from kdissect.filter.tree import Alternative, And, Condition, Node, Not, Or

if TYPE_CHECKING:
    from lark import Token, Tree

DEEPEST: Final = 100
"""Levels of nesting."""


def resolve(text: str, utc: bool) -> Node:
    """The filter that ``text`` means; :class:`FilterError` where it means none."""
    return _Resolver(text, utc).node(parse(text), 0)


class _Value(NamedTuple):
    typed: Typed
    start: int
    end: int


class _Resolver:
    def __init__(self, text: str, utc: bool) -> None:
        self.text = text
        self.utc = utc

    def node(self, tree: Tree[Token], depth: int) -> Node:
        if depth > DEEPEST:
            raise FilterError(f"nested more than {DEEPEST} deep", self.text, len(self.text), len(self.text))
        match str(tree.data):
            case "either":
                return Or(tuple(self.node(part, depth + 1) for part in _trees(tree)))
            case "both":
                return And(tuple(self.node(part, depth + 1) for part in _trees(tree)))
            case "negation":
                return Not(self.node(next(_trees(tree)), depth + 1))
            case "presence":
                return self.presence(_token(tree, 0))
            case "comparison":
                return self.comparison(_token(tree, 0), _token(tree, 1), next(_trees(tree)))
            case "absence":
                return Not(self.membership(_token(tree, 0), next(_trees(tree))))
            case _:
                return self.membership(_token(tree, 0), next(_trees(tree)))

    def presence(self, name: Token) -> Node:
        field = self.field(name)
        if field.kinds == (Boolean(),):
            return Condition(field, "==", (Alternative(field.kinds[0], (True,)),))
        return Condition(field, "exists")

    def comparison(self, name: Token, operator: Token, tree: Tree[Token]) -> Node:
        field = self.field(name)
        written = str(operator).lower()
        if written == "=":
            raise self.error("= is no operator", operator, ["=="])
        op = OPERATORS.get(written, written)
        value = self.value(tree)
        if _is_null(value):
            if op in ("==", "!="):
                return Condition(field, "null" if op == "==" else "exists")
            raise self.error("null is only equal or not", operator, ["==", "!="])
        return self.condition(field, name, op, operator, [value])

    def membership(self, name: Token, tree: Tree[Token]) -> Condition:
        field = self.field(name)
        values = [self.value(each) for each in _trees(tree)] if tree.data == "set" else [self.value(tree)]
        for value in values:
            if _is_null(value):
                problem = 'null is no value of a set; put quotation marks around text, or write "or ... == null"'
                raise FilterError(problem, self.text, value.start, value.end)
        return self.condition(field, name, "in", None, values)

    def condition(self, field: Field, name: Token, op: str, operator: Token | None, values: list[_Value]) -> Condition:
        if isinstance(field.kinds[0], Structure):
            raise self.error(f"{name} is a structure: compare one of the fields in it", name, _within(field))
        kinds = [kind for kind in field.kinds if op in kind.operators]
        if not kinds:
            assert operator is not None  # Every kind but a structure has "in".
            needs = "compares numbers and times" if op in ORDER else "searches text"
            raise self.error(f"{operator} {needs}, and {name} is {_article(field.kinds[0].name)}", operator)
        alternatives, problem = [], None
        for kind in kinds:
            try:
                alternatives.append(Alternative(kind, tuple(self.operand(kind, value, op) for value in values)))
            except FilterError as error:
                problem = problem or error
        if not alternatives:
            assert problem is not None
            raise problem
        relative = {_is_relative(operand) for each in alternatives for operand in each.operands}
        if len(relative) > 1:
            text = "either all times count from the first packet (+30s) or none"
            raise FilterError(text, self.text, values[0].start, values[-1].end)
        return Condition(field, op, tuple(alternatives))

    def operand(self, kind: Kind, value: _Value, op: str) -> object:
        if isinstance(kind, Time):
            kind = replace(kind, utc=self.utc)
        try:
            operand = kind.read(value.typed, op)
        except Mismatch as error:
            raise FilterError(str(error), self.text, value.start, value.end, error.suggestions) from None
        if op in SEARCH and not operand:
            raise FilterError("an empty text is in every text", self.text, value.start, value.end)
        return operand

    def field(self, name: Token) -> Field:
        if len(name) <= 500:
            found = find(str(name))
            if found is not None:
                return found
        shown = name if len(name) <= 60 else f"{name[:59]}…"
        suggestions = suggest(str(name)) if len(name) <= 500 else []
        more = "" if suggestions else "; 'kdissect fields' lists all"
        raise self.error(f"there is no field {shown}{more}", name, suggestions)

    def value(self, tree: Tree[Token]) -> _Value:
        tokens = [child for child in tree.children if isinstance(child, str)]
        first, last = tokens[0], tokens[-1]
        if first.type == "STRING":
            typed = unquote(first)
        else:
            typed = Typed(str(first), str(first), second=str(last) if len(tokens) > 1 else None)
        return _Value(typed, first.start_pos or 0, last.end_pos or 0)

    def error(self, problem: str, token: Token, suggestions: list[str] | tuple[str, ...] = ()) -> FilterError:
        return FilterError(problem, self.text, token.start_pos or 0, token.end_pos or 0, suggestions)


def _trees(tree: Tree[Token]) -> Iterator[Tree[Token]]:
    for child in tree.children:
        if not isinstance(child, str):  # A token is a string.
            yield child


def _token(tree: Tree[Token], at: int) -> Token:
    found = tree.children[at]
    assert isinstance(found, str)
    return found


def _is_null(value: _Value) -> bool:
    return not value.typed.quoted and value.typed.second is None and value.typed.text.lower() == "null"


def _is_relative(operand: object) -> bool:
    if isinstance(operand, Span):
        return _is_relative(operand.low) or _is_relative(operand.high)
    return bool(getattr(operand, "relative", False))


def _within(field: Field) -> list[str]:
    """Some fields of a struct."""
    from kdissect.filter.fields import decoded_fields

    start = f"{field.name}."
    return [path for path in decoded_fields() if path.startswith(start) and "." not in path[len(start) :]][:3]


def _article(noun: str) -> str:
    return noun if noun in ("text", "bytes") else f"an {noun}" if noun[0] in "aeiouAEIOU" else f"a {noun}"
