"""What the walk in lockstep finds is what the scalar decoder and the collector find, over all layouts and random messages."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from kdissect import schema
from kdissect.columnar.walk import ERROR, GROUP, THROTTLE, TOPIC, TOPIC_ID, Walk, walkable
from kdissect.columns import SLACK
from kdissect.schema.collect import NO_ID, collect
from kdissect.schema.layout import Field, Layout
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response
from kdissect.wire.primitives import uuid_text
from tests.bench.encode import encode

LAYOUTS = [
    schema.api(head.key).layout(kind, version)
    for head in schema.apis()
    for version in range(head.min_version, head.max_version + 1)
    for kind in ("request", "response")
]


def random_values(fields: tuple[Field, ...], rng: random.Random, depth: int = 0) -> dict[str, Any]:
    values = {}
    for each in fields:
        if each.tag is not None and rng.random() < 0.9:
            continue
        if each.nullable and rng.random() < 0.3:
            values[each.name] = None
        elif each.array:
            count = rng.choice((0, 1, 1, 2, 4, 40 if depth == 0 and rng.random() < 0.1 else 3) if depth < 2 else (0, 1, 2))
            values[each.name] = [random_value(each, rng, depth) for _ in range(count)]
        else:
            values[each.name] = random_value(each, rng, depth)
    return values


def random_value(each: Field, rng: random.Random, depth: int) -> Any:
    match each.type:
        case "struct":
            return random_values(each.fields, rng, depth + 1)
        case "bool":
            return rng.random() < 0.5
        case "float64":
            return rng.random()
        case "uuid":
            return rng.choice((bytes(16), rng.randbytes(16), b"a" * 16))
        case "string":
            return rng.choice(("", "a", "topic-ü", "x" * 130, "group"))
        case "bytes" | "records":
            return rng.randbytes(rng.choice((0, 1, 127, 200)))
        case "int16" if each.meanings[:1] == ("error",):
            return rng.choice((0, 0, 0, 3, 6, -1))
        case kind:
            bits = int(kind.removeprefix("uint").removeprefix("int"))
            return rng.choice((0, 1, rng.getrandbits(bits - 1)))


def decode(layout: Layout, body: bytes) -> Message:
    assert layout.api_key is not None
    options = DecodeOptions(records="skip")
    if layout.kind == "request":
        header = layout.api_key.to_bytes(2) + layout.version.to_bytes(2) + bytes(4)
        header += b"" if layout.header_version == 0 else b"\xff\xff" + b"\0" * (layout.header_version == 2)
        return decode_request(header + body, options=options)
    return decode_response(bytes(4 + layout.header_version) + body, layout.api_key, layout.version, options=options)


def test_every_layout() -> None:
    """Messages sound, cut short, lengthened and with bytes changed; most sound ones are not left to the scalar decoder."""
    rng = random.Random(5)
    sound = taken = 0
    for layout in LAYOUTS:
        if not walkable(layout):
            continue
        bodies = [encode(layout, random_values(layout.fields, rng)) for _ in range(8)]
        for body in list(bodies):
            damaged = bytearray(body)
            for _ in range(2):
                if damaged:
                    damaged[rng.randrange(len(damaged))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            bodies += [bytes(damaged), body[: rng.randrange(len(body) + 1)], body + b"\0"]
        rng.shuffle(bodies)
        starts = np.cumsum([7, *(len(body) + 3 for body in bodies)])[:-1]
        data = np.frombuffer(bytes(7) + b"".join(body + b"\xff\1\2" for body in bodies) + bytes(SLACK), np.uint8)
        walk = Walk(data, starts, starts + np.array([len(body) for body in bodies]), layout)
        found = {meaning: walk.found[meaning].joined() for meaning in walk.found}
        for row, body in enumerate(bodies):
            message = decode(layout, body)
            whole = message.fault is None and not message.trailing
            sound += whole
            if walk.left[row]:
                continue
            taken += 1
            assert whole, (layout.name, layout.kind, layout.version, message.fault, body)
            told = collect(message.api_key, message.version, message.kind, message.body)
            where = (layout.name, layout.kind, layout.version, message.body)
            texts = [(at, text(data, at, size)) for at, size in of(found[TOPIC], row)]
            ids = [(at, uuid_text(data[at : at + 16].tobytes())) for at, _ in of(found[TOPIC_ID], row)]
            mentions = [name for _, name in sorted(texts + ids, key=lambda pair: pair[0]) if name and name != NO_ID]
            assert tuple(dict.fromkeys(mentions)) == tuple(t.text for t in told.mentions), where
            groups = [text(data, at, size) for at, size in of(found[GROUP], row)]
            assert tuple(dict.fromkeys(group for group in groups if group)) == told.groups, where
            assert tuple(dict.fromkeys(code for _, code in of(found[ERROR], row))) == told.error_codes, where
            assert [time for _, time in of(found[THROTTLE], row)] == [t for t in [told.throttle_time_ms] if t is not None], where
    assert taken > 0.6 * sound


def of(found: tuple[Any, ...], row: int) -> list[tuple[int, int]]:
    rows, at, value = found
    return [(int(a), int(v)) for a, v in zip(at[rows == row], value[rows == row], strict=True)]


def text(data: Any, at: int, size: int) -> str | None:
    try:
        return None if size < 0 else data[at : at + size].tobytes().decode()
    except UnicodeDecodeError:
        return None


@pytest.mark.parametrize("count", [0, 1, 23, 24, 25, 1024, 1025])
def test_long_arrays_beside_short_ones(count: int) -> None:
    layout = schema.api("Metadata").layout("request", 9)
    bodies = [encode(layout, {"topics": [{"name": f"t{n}"} for n in range(size)]}) for size in (1, count, 2, 1, 1, 0)]
    starts = np.cumsum([0, *map(len, bodies)])
    data = np.frombuffer(b"".join(bodies) + bytes(SLACK), np.uint8)
    walk = Walk(data, starts[:-1], starts[1:], layout)
    assert walk.left.tolist() == [False, count > 25, False, False, False, False]
    rows, at, size = walk.found[TOPIC].joined()
    for row in np.flatnonzero(~walk.left).tolist():
        names = [text(data, a, s) for r, a, s in zip(rows, at, size, strict=True) if r == row]
        assert names == [f"t{n}" for n in range(len(names))]
        assert len(names) == (1, count, 2, 1, 1, 0)[row]
