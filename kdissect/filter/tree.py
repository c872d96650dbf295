"""A filter whose names and values are understood: plain, picklable nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kdissect.filter.fields import Field
from kdissect.filter.kinds import Kind


@dataclass(frozen=True, slots=True)
class Alternative:
    """The operands as one of the field's kinds understands them."""

    kind: Kind
    operands: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of one field; see :mod:`kdissect.filter` for the meaning of the operators."""

    field: Field
    operator: str
    """``exists``, ``null``, or an operator with operands."""
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    part: Node


@dataclass(frozen=True, slots=True)
class And:
    """All of them."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of them."""

    parts: tuple[Node, ...]


Node = Condition | Not | And | Or


def conditions(node: Node) -> Iterator[Condition]:
    """Every comparison in the tree."""
    match node:
        case Condition():
            yield node
        case Not(part):
            yield from conditions(part)
        case And(parts) | Or(parts):
            for each in parts:
                yield from conditions(each)


def plain(node: Node) -> dict[str, Any]:
    """The tree as JSON-ready data.

    ``{"op": "and" | "or", "args": [...]}``, ``{"op": "not", "arg": ...}``, ``{"op": "exists" | "null", "field": ...}``, or
    ``{"op", "field", "type", "values": [...]}`` with values in contract units: sizes in bytes, durations in milliseconds,
    times in nanoseconds since the epoch or ``{"after_start_ns"}``, spans as ``{"from", "to"}``, bytes as ``{"hex"}``,
    APIs and errors by name. A path that differs in type between APIs has such objects in ``"any"``.
    """
    match node:
        case Not(part):
            return {"op": "not", "arg": plain(part)}
        case And(parts):
            return {"op": "and", "args": [plain(each) for each in parts]}
        case Or(parts):
            return {"op": "or", "args": [plain(each) for each in parts]}
        case Condition(field, operator, alternatives):
            if not alternatives:
                return {"op": operator, "field": field.name}
            typed = [
                {"type": each.kind.name, "values": [each.kind.plain(operand) for operand in each.operands]}
                for each in alternatives
            ]
            return {"op": operator, "field": field.name} | (typed[0] if len(typed) == 1 else {"any": typed})
