"""Whole exchanges as captures on disk, and what the dissector makes of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kdissect.dissect import Dissection, Options
from kdissect.exchange import Exchange
from kdissect.schema.encode import encode_request, encode_response
from kdissect.schema.layout import Field, Layout
from tests.support.conversation import Conversation
from tests.support.packets import T0, pcap

Body = Mapping[str, Any]

_API_VERSIONS: dict[str, Any] = {"error_code": 0, "api_keys": [], "throttle_time_ms": 0}


class Talk:
    """One connection on which requests are asked and answered in turn."""

    def __init__(self, port: int = 50000, broker: str = "10.0.0.9", broker_port: int = 9092, client_id: str = "tester") -> None:
        self.conversation = Conversation(ends=("10.0.0.5", broker), ports=(port, broker_port), start_ns=T0 + port).open()
        self.client_id = client_id
        self.correlation_id = 0
        # Something that no other protocol says, so that the connection is recognised at once.
        self.ask(18, 2, {}, _API_VERSIONS)

    def ask(self, key: int, version: int, request: Body, response: Body | None) -> Talk:
        self.correlation_id += 1
        asked = encode_request(key, version, self.correlation_id, self.client_id, request)
        answered = None if response is None else encode_response(key, version, self.correlation_id, response)
        return self.raw(asked, answered)

    def raw(self, asked: bytes, answered: bytes | None) -> Talk:
        """Frames as they are, size prefixes included."""
        self.conversation.say(0, asked)
        if answered is not None:
            self.conversation.say(1, answered)
        return self

    def token(self, asked: bytes, answered: bytes | None) -> Talk:
        """Raw SASL tokens."""
        return self.raw(_sized(asked), None if answered is None else _sized(answered))

    def close(self) -> Talk:
        self.conversation.close()
        return self


def _sized(token: bytes) -> bytes:
    return len(token).to_bytes(4, "big") + token


def write(path: Path, *talks: Talk) -> Path:
    """The conversations one after the other in one capture."""
    path.write_bytes(pcap([packet for talk in talks for packet in talk.conversation.packets]))
    return path


def dissect(*paths: Path, **options: Any) -> tuple[list[Exchange], Dissection]:
    """All exchanges but ApiVersions, and the finished dissection."""
    dissection = Dissection([str(path) for path in paths], Options(**options), lambda warning: None)
    return [exchange for exchange in dissection if exchange.api_key != 18], dissection


def random_fields(layout: Layout, rng: random.Random) -> dict[str, Any]:
    """Values that fit a layout; nulls and empty arrays occur, tagged fields are there or have their defaults."""
    return {field.name: _random_field(field, rng) for field in layout.fields if field.tag is None or rng.random() < 0.7}


def _random_field(field: Field, rng: random.Random) -> Any:
    if field.nullable and rng.random() < 0.2:
        return None
    if field.array:
        return [_random_value(field, rng) for _ in range(rng.choice((0, 1, 2)))]
    return _random_value(field, rng)


def _random_value(field: Field, rng: random.Random) -> Any:
    match field.type:
        case "struct":
            return {inner.name: _random_field(inner, rng) for inner in field.fields}
        case "string":
            return rng.choice(("", "orders", "ü€"))
        case "bytes":
            return rng.randbytes(rng.choice((0, 3, 20)))
        case "bool":
            return rng.random() < 0.5
        case "uuid":
            return rng.choice(("A" * 22, "z2C1njwTSxOps6l8Suk37g"))
        case "float64":
            return rng.random()
        case "int8":
            return rng.randrange(-128, 128)
        case "uint16":
            return rng.randrange(65536)
    return rng.randrange(-32768, 32768)


def every(values: Any) -> Iterable[Any]:
    """All values inside a decoded body."""
    yield values
    inner = values.values() if isinstance(values, dict) else values if isinstance(values, list) else ()
    for each in inner:
        yield from every(each)
