"""Fields that stand side by side in a message and so tell what belongs together.

The schema says what every field is; a plan, made once per layout, leads to the
structs that hold a broker's id with its address, a member's id with its client,
or a transactional id with its producer id, and passes all others over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from kdissect import schema
from kdissect.schema.layout import Field
from kdissect.schema.message import Message


class BrokerSeen(NamedTuple):
    """A broker (or controller) with an address that it is reached under."""

    id: int
    host: str
    port: int


class MemberSeen(NamedTuple):
    """A member of a group with the client that it is."""

    group: str
    member: str
    client_id: str
    host: str


class ProducerSeen(NamedTuple):
    """A transactional id with the producer id that it has."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class TokenSeen(NamedTuple):
    """A delegation token with its owner."""

    token_id: str
    principal: str


Seen = BrokerSeen | MemberSeen | ProducerSeen | TokenSeen


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to take from a struct, by the names of its fields, and where to go on."""

    names: dict[str, str]
    """Meaning -> field."""
    inner: tuple[tuple[str, bool, _Plan], ...]
    """Field, whether it is an array, and the plan of its structs."""
    fruitful: bool
    """Whether this struct itself can tell something."""


_MEANINGS = ("broker", "host", "port", "group", "member", "client_id", "transactional_id", "producer_id", "producer_epoch")
_TOKEN = ("token_id", "principal_type", "principal_name")


def sightings(message: Message) -> Iterator[Seen]:
    """What the message tells, complete or not."""
    if message.body:
        plan = _plan_of(message.api_key, message.version, message.kind)
        if plan is not None:
            yield from _walk(plan, message.body, -1, "")


@cache
def _plan_of(api_key: int, version: int, kind: str) -> _Plan | None:
    try:
        fields = schema.api(api_key).layout("request" if kind == "request" else "response", version).fields
    except KeyError:
        return None
    return _plan(fields, frozenset())


def _plan(fields: tuple[Field, ...], above: frozenset[str]) -> _Plan | None:
    names: dict[str, str] = {}
    for field in fields:
        if field.array or field.type == "struct":
            continue
        for meaning in field.meanings:
            if meaning in _MEANINGS:
                names.setdefault(meaning, field.name)
        if field.name in _TOKEN:
            names[field.name] = field.name
    told = above | names.keys()
    fruitful = (
        ("broker" in told and names.keys() >= {"host", "port"})
        or ("group" in told and names.keys() >= {"member", "client_id", "host"})
        or names.keys() >= {"transactional_id", "producer_id"}
        or names.keys() >= set(_TOKEN)
    )
    passed = told & {"broker", "group"}
    inner = tuple(
        (field.name, field.array, plan)
        for field in fields
        if field.type == "struct" and (plan := _plan(field.fields, passed)) is not None
    )
    return _Plan(names, inner, fruitful) if fruitful or inner else None


def _walk(plan: _Plan, values: dict[str, Any], broker: int, group: str) -> Iterator[Seen]:
    names = plan.names
    if "broker" in names:
        broker = values.get(names["broker"], -1)
    if "group" in names:
        group = values.get(names["group"]) or ""
    if plan.fruitful:
        yield from _tell(names, values, broker, group)
    for name, array, inner in plan.inner:
        value = values.get(name)
        for each in (value or ()) if array else (value,) if value else ():
            if each:
                yield from _walk(inner, each, broker, group)


def _tell(names: dict[str, str], values: dict[str, Any], broker: int, group: str) -> Iterator[Seen]:
    said = {meaning: values.get(name) for meaning, name in names.items()}
    host = said.get("host")
    port, member, client_id = said.get("port"), said.get("member"), said.get("client_id")
    if broker >= 0 and isinstance(host, str) and host and isinstance(port, int) and port > 0:
        yield BrokerSeen(broker, host, port)
    if group and isinstance(member, str) and member and isinstance(client_id, str) and isinstance(host, str):
        yield MemberSeen(group, member, client_id, host)
    transactional, producer = said.get("transactional_id"), said.get("producer_id")
    if isinstance(transactional, str) and transactional and isinstance(producer, int) and producer >= 0:
        yield ProducerSeen(transactional, producer, said.get("producer_epoch") or 0)
    token, kind, name = (said.get(each) for each in _TOKEN)
    if isinstance(token, str) and token and kind:
        yield TokenSeen(token, f"{kind}:{name}")
