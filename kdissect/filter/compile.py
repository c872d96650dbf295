"""From meaning to code: closures that decide on one exchange.

Two of them are made from a tree.  The one decides from what is known before
any body is decoded, and may not be able to (Kleene's three-valued logic); the
other always decides, and looks at what costs least first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final

from kdissect.filter.fields import FLAT, Field, Place
from kdissect.filter.flat import READERS
from kdissect.filter.kinds import Span, Test
from kdissect.filter.tree import And, Condition, Node, Not, Or, conditions
from kdissect.schema.message import API_VERSIONS
from kdissect.schema.notation import Range
from kdissect.schema.records_field import RawRecords

Predicate = Callable[[Any], bool]
Early = Callable[[Any], bool | None]
Values = Callable[[Any], Sequence[Any]]
"""An exchange's values of a field; null is ``None`` among them."""


class Origin:
    """The time of the capture's first packet, which relative times count from; filled in when it is known."""

    __slots__ = ("ns",)

    def __init__(self) -> None:
        self.ns: int | None = None


def predicate(node: Node, origin: Origin) -> Predicate:
    """Decides, with whatever it takes."""
    match node:
        case Not(part):
            inner = predicate(part, origin)
            return lambda e: not inner(e)
        case And(parts):
            return _conjunction([predicate(each, origin) for each in sorted(parts, key=_cost)])
        case Or(parts):
            either = [predicate(each, origin) for each in sorted(parts, key=_cost)]
            return lambda e: any(each(e) for each in either)
        case Condition(field):
            decide = _decider(node, _scalar_or_many(field, node, origin))
            possible = _possible(field)
            return decide if possible is None else lambda e: possible(e) and decide(e)


def _conjunction(every: list[Predicate]) -> Predicate:
    if len(every) == 2:
        first, second = every
        return lambda e: first(e) and second(e)
    return lambda e: all(each(e) for each in every)


def early(node: Node, origin: Origin) -> Early:
    """Decides from the flat columns; ``None`` where that takes more."""
    match node:
        case Not(part):
            inner = early(part, origin)

            def negation(e: Any) -> bool | None:
                decided = inner(e)
                return None if decided is None else not decided

            return negation
        case And(parts):
            return _kleene([early(each, origin) for each in sorted(parts, key=_cost)], False)
        case Or(parts):
            return _kleene([early(each, origin) for each in sorted(parts, key=_cost)], True)
        case Condition(field):
            if field.stage == FLAT:
                return predicate(node, origin)
            possible = _possible(field)
            if possible is None and field.name in _OF_RESPONSES and node.operator != "null":
                possible = _decodable_response
            return (lambda e: None) if possible is None else lambda e: None if possible(e) else False


def _kleene(parts: list[Early], decisive: bool) -> Early:
    """Any part that is ``decisive`` decides; else one that is open leaves all open."""

    def decide(e: Any) -> bool | None:
        decided: bool | None = not decisive
        for part in parts:
            said = part(e)
            if said is decisive:
                return decisive
            if said is None:
                decided = None
        return decided

    return decide


def _cost(node: Node) -> int:
    return max(condition.field.stage for condition in conditions(node))


# One condition


def _decider(condition: Condition, values: tuple[Callable[[Any], Any], bool]) -> Predicate:
    read, many = values
    operator = condition.operator
    if operator == "null":
        return (lambda e: None in read(e)) if many else lambda e: read(e) is None
    if operator == "exists":
        return (lambda e: any(v is not None for v in read(e))) if many else lambda e: read(e) is not None
    if operator in ("!=", "===", "!=="):
        equal = _test(condition, "==")
        some, wanted = operator == "!==", operator == "==="

        def decide(e: Any) -> bool:
            # A struct (a redacted secret, bytes decoded by their format) is no value to compare with.
            found = [equal(v) for v in (read(e) if many else (read(e),)) if v is not None and type(v) is not dict]
            return (not all(found) if some else all(each is wanted for each in found)) and bool(found)

        return decide
    test = _test(condition, operator)
    if many:
        return lambda e: any(v is not None and test(v) for v in read(e))
    return lambda e: (v := read(e)) is not None and test(v)


def _test(condition: Condition, operator: str) -> Test:
    tests = [each.kind.test(operator, each.operands) for each in condition.alternatives]
    if len(tests) == 1:
        return tests[0]
    return lambda v: any(test(v) for test in tests)


def _scalar_or_many(field: Field, condition: Condition, origin: Origin) -> tuple[Callable[[Any], Any], bool]:
    """How to read the field, and whether that gives a sequence of values."""
    if field.places:
        return _body_values(field.places), True
    read: Callable[[Any], Any] = READERS.get(field.name) or attrgetter(field.name)
    if _relative(condition):
        absolute = read

        def read(e: Any) -> int | None:
            ns = absolute(e)
            return None if ns is None or origin.ns is None else ns - origin.ns

    if field.many:
        several = read
        return (lambda e: several(e) or ()), True
    return read, False


def _relative(condition: Condition) -> bool:
    for alternative in condition.alternatives:
        for operand in alternative.operands:
            if getattr(operand.low if isinstance(operand, Span) else operand, "relative", False):
                return True
    return False


# Bodies


def _body_values(places: Iterable[Place]) -> Values:
    walks = [(place.side, place.path) for place in places]

    def values(e: Any) -> Sequence[Any]:
        found: list[Any] = []
        for side, path in walks:
            message = getattr(e, side)
            if message is not None and message.body is not None:
                found += walk(message.body, path)
        return found

    return values


_ABSENT: Final = object()


def walk(body: dict[str, Any], path: Sequence[str]) -> list[Any]:
    """Every value at ``path``: elements of arrays one by one, null as ``None``, nothing for what is not there."""
    level: list[Any] = [body]
    for name in path:
        below: list[Any] = []
        for holder in level:
            value = holder.get(name, _ABSENT) if type(holder) is dict else _ABSENT
            if type(value) is list:
                below += value
            elif type(value) is RawRecords:
                below += value.json_value()
            elif value is not _ABSENT:
                below.append(value)
        level = below
    return level


def _possible(field: Field) -> Predicate | None:
    """Whether the exchange's API and version have the field at all, and there is a message; None: always."""
    if field.apis is None:
        return None
    sides = {place.side for place in field.places}
    present: Predicate
    if sides == {"request"}:
        present = _request_there
    elif sides == {"response"}:
        present = _response_there
    else:
        present = _request_known
    table = dict(field.apis)

    @cache
    def has(key: int, version: int) -> bool:
        ranges: tuple[Range, ...] = table.get(key, ())
        # A broker that does not know the version asked for answers ApiVersions in version 0 (KIP-511).
        return any(first <= version <= last for first, last in ranges) or (key == API_VERSIONS and bool(ranges))

    return lambda e: e.api_key is not None and has(e.api_key, e.api_version) and present(e)


_OF_RESPONSES: Final = frozenset(["error_codes", "throttle_time_ms"])


def _decodable_response(e: Any) -> bool:
    return e.response_bytes is not None and e.api_key is not None


def _request_there(e: Any) -> bool:
    return e.request_bytes is not None


def _response_there(e: Any) -> bool:
    return e.response_bytes is not None


def _request_known(e: Any) -> bool:
    return True
