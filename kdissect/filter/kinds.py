"""What kinds of values fields have: how one is typed, and how it is compared.

A kind turns what was typed into an *operand*, plain data in the units of the
output contract, and an operator with operands into a test of one value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import eq, ge, gt, le, lt
from typing import Any, ClassVar, Final

from kdissect.filter.errors import similar
from kdissect.filter.literals import Measure, Mismatch, Typed, read_number
from kdissect.filter.patterns import searcher

Test = Callable[[Any], bool]
"""A test of one value that is not null."""

EQUALITY: Final = frozenset(["==", "!=", "===", "!==", "in"])
ORDER: Final = frozenset(["<", "<=", ">", ">="])
SEARCH: Final = frozenset(["contains", "matches"])

_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq}


@dataclass(frozen=True, slots=True)
class Span:
    """An operand ``low..high``, both included."""

    low: Any
    high: Any


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of values."""

    operators: ClassVar[frozenset[str]] = EQUALITY

    @property
    def name(self) -> str:
        """What it is called for people, and in the plain tree."""
        raise NotImplementedError

    def read(self, typed: Typed, operator: str) -> Any:
        """The operand; :class:`~kdissect.filter.literals.Mismatch` for what is none of this kind."""
        raise NotImplementedError

    def test(self, operator: str, operands: Sequence[Any]) -> Test:
        """The test of one value; ``==``, an order, a search, or ``in``, which is true of any of the operands."""
        raise NotImplementedError

    def plain(self, operand: Any) -> Any:
        """The operand as JSON-ready data."""
        if isinstance(operand, Span):
            return {"from": self.plain(operand.low), "to": self.plain(operand.high)}
        return float(operand) if isinstance(operand, Fraction) else operand


@dataclass(frozen=True, slots=True)
class Number(Kind):
    """Integers and floats; sizes in bytes, durations in milliseconds."""

    measure: Measure = ""
    scale: int = 1
    """Units of the stored value in one of the operand's: 1,000,000 where nanoseconds are kept for milliseconds."""

    operators: ClassVar[frozenset[str]] = EQUALITY | ORDER

    @property
    def name(self) -> str:
        return self.measure or "number"

    def read(self, typed: Typed, operator: str) -> int | Fraction | Span:
        text = typed.text + (typed.second or "")
        low, dots, high = text.partition("..")
        if operator == "in" and dots:
            return Span(read_number(low, self.measure), read_number(high, self.measure))
        return read_number(text, self.measure)

    def test(self, operator: str, operands: Sequence[Any]) -> Test:
        if operator == "in":
            return number_set([_scaled(operand, self.scale) for operand in operands])
        return number_test(operator, _scaled(operands[0], self.scale))


def _scaled(operand: Any, scale: int | Fraction) -> Any:
    if isinstance(operand, Span):
        return Span(operand.low * scale, operand.high * scale)
    return operand * scale


def number_test(operator: str, operand: int | Fraction) -> Test:
    """A comparison of numbers; what is none (a redacted secret, NaN) passes no test."""
    value: Any = operand.numerator if operand.denominator == 1 else operand
    compare = _ORDERS[operator]
    return lambda v: type(v) in (int, float) and compare(v, value)


def number_set(operands: Sequence[Any]) -> Test:
    """Whether a number is one of the operands, or in a span among them."""
    single = frozenset(operand for operand in operands if not isinstance(operand, Span))
    spans = [operand for operand in operands if isinstance(operand, Span)]
    return lambda v: type(v) in (int, float) and (v in single or any(span.low <= v <= span.high for span in spans))


@dataclass(frozen=True, slots=True)
class Boolean(Kind):
    """True or false."""

    @property
    def name(self) -> str:
        return "boolean"

    def read(self, typed: Typed, operator: str) -> bool:
        said = {"true": True, "1": True, "false": False, "0": False}.get(typed.text.lower())
        if said is None or typed.second:
            raise Mismatch(f"{typed.shown} is neither true nor false")
        return said

    def test(self, operator: str, operands: Sequence[Any]) -> Test:
        wanted = frozenset(operands)
        return lambda v: type(v) is bool and v in wanted


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Strings, and bytes, which are compared as UTF-8; ``0x...`` without quotation marks means those bytes."""

    raw: bool = False
    """Bytes by type, not only where they are no valid UTF-8."""

    operators: ClassVar[frozenset[str]] = EQUALITY | SEARCH

    @property
    def name(self) -> str:
        return "bytes" if self.raw else "text"

    def read(self, typed: Typed, operator: str) -> str | bytes:
        if operator == "matches":
            return read_pattern(typed)
        if typed.second is not None:
            raise Mismatch(f"{typed.shown} are two words; put quotation marks around them")
        if self.raw and not typed.quoted and typed.text[:2].lower() == "0x":
            try:
                return bytes.fromhex(typed.text[2:])
            except ValueError:
                raise Mismatch(f"{typed.shown} are no bytes in hexadecimal; put quotation marks around text") from None
        return typed.text

    def test(self, operator: str, operands: Sequence[Any]) -> Test:
        if operator == "matches":
            found = searcher(operands[0])
            return lambda v: (octets := _octets(v)) is not None and found(octets)
        wanted = [each if isinstance(each, bytes) else each.encode(errors="surrogatepass") for each in operands]
        if operator == "contains":
            return lambda v: (octets := _octets(v)) is not None and wanted[0] in octets
        known: frozenset[object] = frozenset([*operands, *wanted])
        return lambda v: v in known if type(v) in (str, bytes) else type(v) is memoryview and bytes(v) in known

    def plain(self, operand: Any) -> Any:
        return {"hex": operand.hex()} if isinstance(operand, bytes) else operand


def read_pattern(typed: Typed) -> str:
    """A regular expression, as it was written: only RE2 makes something of its backslashes."""
    if typed.second is not None:
        raise Mismatch(f"{typed.shown} are two words; put quotation marks around them")
    searcher(typed.written)
    return typed.written


def _octets(value: object) -> bytes | None:
    if type(value) is str:
        return value.encode(errors="surrogatepass")
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else None


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """Text out of a known set of words."""

    what: str
    words: tuple[str, ...]
    closed: bool = True
    """There are no others.  Else a word that is not known is refused only where it looks like a slip, and never when quoted."""

    operators: ClassVar[frozenset[str]] = EQUALITY | SEARCH

    @property
    def name(self) -> str:
        return self.what

    def read(self, typed: Typed, operator: str) -> str:
        if operator == "matches":
            return read_pattern(typed)
        text = typed.text if typed.second is None else f"{typed.text} {typed.second}"
        if operator == "contains" or text in self.words:
            return text
        wanted = text.lower().replace(" ", "_").replace("-", "_")
        for word in self.words:
            if word.lower() == wanted:
                return word
        near = similar(text, self.words)
        if self.closed or (near and not typed.quoted):
            known = "" if near or len(self.words) > 8 else f"; it is one of {', '.join(self.words)}"
            raise Mismatch(f"there is no {self.what} {typed.shown}{known}", near)
        return text

    def test(self, operator: str, operands: Sequence[Any]) -> Test:
        return Text().test(operator, operands)
