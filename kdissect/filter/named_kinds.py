"""Kinds whose values are numbers with names, times, and addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, ClassVar, Final

from kdissect.filter.errors import similar
from kdissect.filter.kinds import EQUALITY, ORDER, SEARCH, Kind, Span, Test, Text, number_set, number_test, read_pattern
from kdissect.filter.literals import Mismatch, Typed
from kdissect.moments import Moment, parse_moment

_UNKNOWN: Final = re.compile(r"Unknown\((-?\d{1,6})\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Named(Kind):
    """Numbers with names, read by either: API keys and error codes.

    Values are numbers in bodies and names in the flat columns; an operand is the name.
    """

    operators: ClassVar[frozenset[str]] = EQUALITY | SEARCH

    def names(self) -> dict[int, str]:
        """All numbers that have a name."""
        raise NotImplementedError

    def read(self, typed: Typed, operator: str) -> str:
        if operator == "matches":
            return read_pattern(typed)
        text = typed.text if typed.second is None else f"{typed.text} {typed.second}"
        if operator == "contains":
            return text
        names = self.names()
        unknown = _UNKNOWN.fullmatch(text)
        if unknown or re.fullmatch(r"[+-]?\d{1,6}", text):
            number = int(unknown[1] if unknown else text)
            return names.get(number) or f"Unknown({number})"
        wanted = _letters(text)
        for name in names.values():
            if _letters(name) == wanted:
                return name
        raise Mismatch(f"there is no {self.name} {typed.shown}", similar(text, names.values()))

    def test(self, operator: str, operands: Sequence[Any]) -> Test:
        by_number = self.names()
        if operator in SEARCH:
            found = Text().test(operator, operands)
            return lambda v: found(by_number.get(v) or f"Unknown({v})" if type(v) is int else v)
        numbers = {name: number for number, name in by_number.items()}
        wanted: set[object] = set(operands)
        for operand in operands:
            unknown = _UNKNOWN.fullmatch(operand)
            wanted.add(int(unknown[1]) if unknown else numbers[operand])
        return lambda v: type(v) in (int, str) and v in wanted


def _letters(text: str) -> str:
    return re.sub(r"[\s_-]", "", text).lower()


@dataclass(frozen=True, slots=True)
class ApiName(Named):
    """APIs, by name or key."""

    @property
    def name(self) -> str:
        return "API"

    def names(self) -> dict[int, str]:
        from kdissect import schema

        return {api.key: api.name for api in schema.apis()}


@dataclass(frozen=True, slots=True)
class ErrorName(Named):
    """Kafka's error codes, by name or number."""

    faults_only: bool = False
    """The field never holds NONE."""

    @property
    def name(self) -> str:
        return "error"

    def names(self) -> dict[int, str]:
        from kdissect import schema

        return schema.error_codes()

    def read(self, typed: Typed, operator: str) -> str:
        # Named in full: super() does not work in the class that dataclass() makes anew for its slots.
        name = Named.read(self, typed, operator)
        if self.faults_only and name == "NONE":
            raise Mismatch("NONE is no error", ["not error"])
        return name


@dataclass(frozen=True, slots=True)
class Time(Kind):
    """Points in time; an operand is a :class:`~kdissect.moments.Moment`, a relative one counts from the first packet."""

    utc: bool = False
    """Times without a zone are in UTC, not in the machine's own zone."""
    unit_ns: int = 1
    """Nanoseconds in one of the value's units."""

    operators: ClassVar[frozenset[str]] = EQUALITY | ORDER

    @property
    def name(self) -> str:
        return "time"

    def read(self, typed: Typed, operator: str) -> Moment | Span:
        text = typed.text if typed.second is None else f"{typed.text} {typed.second}"
        low, dots, high = text.partition("..")
        if operator == "in" and dots:
            return Span(self._moment(low), self._moment(high))
        return self._moment(text)

    def _moment(self, text: str) -> Moment:
        if self.unit_ns != 1 and re.fullmatch(r"-?\d{1,19}", text):
            return Moment(int(text) * self.unit_ns)
        try:
            moment = parse_moment(text[:80], self.utc)
        except (ValueError, OverflowError) as error:
            raise Mismatch(str(error)) from None
        if moment.relative and self.unit_ns != 1:
            raise Mismatch(f"{text} counts from the capture's first packet; this field is no time of the capture")
        return moment

    def test(self, operator: str, operands: Sequence[Any]) -> Test:
        """Relative operands are tested against values relative to the first packet."""
        if operator == "in":
            return number_set([self._units(operand) for operand in operands])
        return number_test(operator, self._units(operands[0]))

    def _units(self, operand: Any) -> Any:
        if isinstance(operand, Span):
            return Span(self._units(operand.low), self._units(operand.high))
        units = Fraction(operand.ns, self.unit_ns)
        return units.numerator if units.denominator == 1 else units

    def plain(self, operand: Any) -> Any:
        """Nanoseconds since the epoch, or ``{"after_start_ns": ...}``."""
        if isinstance(operand, Moment):
            return {"after_start_ns": operand.ns} if operand.relative else operand.ns
        # Named in full: super() does not work in the class that dataclass() makes anew for its slots.
        return Kind.plain(self, operand)


@dataclass(frozen=True, slots=True)
class Address(Kind):
    """``host:port`` of an endpoint; an operand is an address or a network, a port, or an address with its port."""

    operators: ClassVar[frozenset[str]] = EQUALITY | SEARCH

    @property
    def name(self) -> str:
        return "address"

    def read(self, typed: Typed, operator: str) -> str:
        if operator == "matches":
            return read_pattern(typed)
        text = typed.text
        if typed.second is not None:
            raise Mismatch(f"{typed.shown} are two words; put quotation marks around them")
        if operator == "contains":
            return text
        network, port = _operand(text)
        if network is None:
            return f":{port}"
        whole = network.prefixlen == network.max_prefixlen
        host = str(network.network_address if whole else network)
        return host if port is None else f"[{host}]:{port}" if network.version == 6 else f"{host}:{port}"

    def test(self, operator: str, operands: Sequence[Any]) -> Test:
        if operator in SEARCH:
            return Text().test(operator, operands)
        wanted = [_operand(operand) for operand in operands]

        # An endpoint comes again and again, and there are few of them.
        @lru_cache(maxsize=4096)
        def is_wanted(endpoint: str) -> bool:
            host, _, port = endpoint.rpartition(":")
            try:
                address = ip_address(host.strip("[]"))
            except ValueError:
                return False
            return any((net is None or address in net) and (p is None or str(p) == port) for net, p in wanted)

        return is_wanted


_Network = IPv4Network | IPv6Network
_WITH_PORT: Final = re.compile(r"(?:\[(?P<six>[^\]]*)\]|(?P<four>[^:]*)):(?P<port>\d{1,5})")


def _operand(text: str) -> tuple[_Network | None, int | None]:
    """An address or network, ``:port``, or an address with a port; Mismatch for anything else."""
    host, port = text, None
    if match := _WITH_PORT.fullmatch(text):
        host, port = match["six"] or match["four"] or "", int(match["port"])
        if port > 65535:
            raise Mismatch(f"{port} is no port: they end at 65535")
        if not host:
            return None, port
    try:
        return _network(host.strip("[]")), port
    except ValueError:
        example = "10.0.0.5, 10.0.0.5:9092, 10.0.0.0/8, [2001:db8::5]:9092, fd00::/8 or :9092"
        raise Mismatch(f"{text[:60]} is no address; write it like {example}") from None


def _network(text: str) -> _Network:
    if "/" in text:
        return ip_network(text, strict=False)
    address: IPv4Address | IPv6Address = ip_address(text)
    return ip_network(address)


@dataclass(frozen=True, slots=True)
class Structure(Kind):
    """A struct: there or not, and nothing to compare with."""

    operators: ClassVar[frozenset[str]] = frozenset()

    @property
    def name(self) -> str:
        return "structure"


@dataclass(frozen=True, slots=True)
class Open(Kind):
    """A value in data whose format depends on what the capture shows: numbers and text alike."""

    operators: ClassVar[frozenset[str]] = EQUALITY | ORDER | SEARCH

    @property
    def name(self) -> str:
        return "any"

    def read(self, typed: Typed, operator: str) -> Any:
        if operator == "matches":
            return read_pattern(typed)
        if operator in ORDER:
            return self._number(typed.text)
        if typed.second is not None:
            raise Mismatch(f"{typed.shown} are two words; put quotation marks around them")
        if typed.quoted or operator == "contains":
            return typed.text
        if typed.text.lower() in ("true", "false"):
            return typed.text.lower() == "true"
        try:
            return self._number(typed.text)
        except Mismatch:
            return typed.text

    @staticmethod
    def _number(text: str) -> int | Fraction:
        from kdissect.filter.literals import read_number

        return read_number(text, "")

    def test(self, operator: str, operands: Sequence[Any]) -> Test:
        if operator in ORDER:
            return number_test(operator, operands[0])
        if operator in SEARCH:
            return Text().test(operator, operands)
        texts = Text().test("in", [each for each in operands if isinstance(each, str)])
        wanted = frozenset(each for each in operands if not isinstance(each, str))
        return lambda v: texts(v) or (type(v) in (int, float, bool) and v in wanted)
