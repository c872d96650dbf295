"""Hypothesis over every layout: values of any kind are written and read back, by both decoders; any bytes end in a value."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdissect.schema.encode import encode_fields
from kdissect.schema.generate import make_decoder
from kdissect.schema.interpret import Interpreter
from kdissect.schema.layout import Field, Layout
from kdissect.wire.primitives import uuid_text
from tests.fuzz.fuzz_targets import TARGETS, format_layouts, layouts

SLOW = settings(deadline=None, suppress_health_check=list(HealthCheck))
WIDTHS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
SINGLE: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "uint16": st.integers(0, 2**16 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "float64": st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["NaN", "Infinity", "-Infinity"]),
    "string": st.text(max_size=140),
    "bytes": st.binary(max_size=140),
    "records": st.binary(max_size=140),
    "uuid": st.binary(min_size=16, max_size=16).map(uuid_text),
    **{name: st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in WIDTHS.items()},
}
TAG = st.fixed_dictionaries({"tag": st.integers(1000, 2**31), "data": st.binary(max_size=20)})
TAGS = st.lists(TAG, max_size=2, unique_by=lambda tag: tag["tag"]).map(lambda tags: sorted(tags, key=lambda tag: tag["tag"]))


def value(field: Field) -> st.SearchStrategy[Any]:
    one = bodies(field.fields, field.compact) if field.type == "struct" else SINGLE[field.type]
    many = st.lists(one, max_size=3 if field.type == "struct" else 40) if field.array else one
    return st.none() | many if field.nullable else many


@st.composite
def bodies(draw: st.DrawFn, fields: tuple[Field, ...], flexible: bool) -> dict[str, Any]:
    body = {}
    for field in fields:
        absent = field.tag is not None and draw(st.booleans())
        body[field.name] = field.default if absent else draw(value(field))
    if flexible and (tags := draw(TAGS)):
        body["_unknown_tags"] = tags
    return body


@st.composite
def messages(draw: st.DrawFn) -> tuple[Layout, dict[str, Any]]:
    layout = draw(st.sampled_from((*layouts(), *format_layouts())))
    return layout, draw(bodies(layout.fields, layout.flexible))


def keep(data: bytes, start: int, stop: int) -> bytes:
    return data[start:stop]


@given(messages())
@settings(SLOW, max_examples=600)
def test_what_is_written_is_read_by_both_decoders(message: tuple[Layout, dict[str, Any]]) -> None:
    layout, body = message
    data = encode_fields(layout, body)
    assert make_decoder(layout, show_secrets=True)(data, 0, keep) == (body, len(data))
    assert Interpreter(data, keep, show_secrets=True).read(layout, 0) == (body, len(data), None)


@given(st.sampled_from(sorted(TARGETS)), st.binary(max_size=400))
@settings(SLOW, max_examples=1500)
def test_any_bytes_end_in_a_value(name: str, data: bytes) -> None:
    TARGETS[name].check(data)
