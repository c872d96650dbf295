"""What the encoder writes: kio's bytes where kio knows the layout, and what decodes to the same everywhere."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kdissect import schema
from kdissect.schema.encode import EncodeError, encode, encode_fields, encode_request, encode_response
from kdissect.schema.generate import make_decoder
from kdissect.schema.layout import Field, Layout
from kdissect.schema.message import DecodeOptions, decode_request, decode_response
from tests.schema.kio_messages import encode as kio_encode
from tests.schema.kio_messages import other_classes, payload_class, payloads, random_entity

CLEAR = DecodeOptions(show_secrets=True, records="skip")


def keep(data: bytes, start: int, stop: int) -> bytes:
    return data[start:stop]


def random_value(field: Field, rng: random.Random, single: bool = False) -> Any:
    if not single and field.nullable and rng.random() < 0.3:
        return None
    if field.array and not single:
        return [random_value(field, rng, True) for _ in range(rng.choice((0, 1, 2, 40 if field.type != "struct" else 3)))]
    match field.type:
        case "struct":
            return random_body(field.fields, field.compact, rng)
        case "bool":
            return rng.random() < 0.5
        case "float64":
            return rng.choice((0.0, 1.5, "NaN", "-Infinity"))
        case "string":
            return rng.choice(("", "topic", "ü" * 100))
        case "bytes" | "records":
            return rng.randbytes(rng.choice((0, 3, 200)))
        case "uuid":
            return rng.choice(("A" * 22, "AAAAAAAAAAAAAAAAAAAAAQ"))
        case "uint16":
            return rng.choice((0, 65535))
        case number:
            edge = 1 << int(number.removeprefix("int")) - 1
            return rng.choice((0, -1, edge - 1, -edge))


def random_body(fields: tuple[Field, ...], flexible: bool, rng: random.Random) -> dict[str, Any]:
    body = {field.name: random_value(field, rng) for field in fields}
    for field in fields:
        if field.tag is not None and rng.random() < 0.4:
            body[field.name] = field.default
    if flexible and rng.random() < 0.2:
        body["_unknown_tags"] = [{"tag": 1000, "data": b"x" * rng.choice((0, 200))}]
    return body


def all_layouts() -> list[Layout]:
    found = [
        schema.api(head.key).layout(kind, version)
        for head in schema.apis()
        for version in schema.api(head.key).versions
        for kind in ("request", "response")  # type: ignore[misc]
    ]
    return found + [each.fields(version) for each in schema.formats() for version in each.versions]


def test_bytes_are_those_of_kio(capsys: pytest.CaptureFixture[str]) -> None:
    layouts = [(schema.api(k).layout(kind, v), payload_class(k, kind, v)) for k, kind, v in payloads()]  # type: ignore[arg-type]
    layouts += [(schema.format(name).fields(version), cls) for name, version, cls in other_classes()]
    for layout, cls in layouts:
        rng = random.Random(f"{layout.name} {layout.kind} {layout.version}")
        decode = make_decoder(layout, show_secrets=True)
        for _ in range(6):
            data = kio_encode(random_entity(cls, rng))
            assert encode_fields(layout, decode(data, 0, keep)[0]) == data, (layout.name, layout.kind, layout.version)
    with capsys.disabled():
        print(f"\n{len(layouts)} layouts written back as kio wrote them")
    assert len(layouts) == 625


def test_every_layout_goes_there_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    layouts = all_layouts()
    for layout in layouts:
        rng = random.Random(f"{layout.name} {layout.kind} {layout.version}")
        decode = make_decoder(layout, show_secrets=True)
        for _ in range(6):
            body = random_body(layout.fields, layout.flexible, rng)
            data = encode_fields(layout, body)
            assert decode(data, 0, keep) == (body, len(data)), (layout.name, layout.kind, layout.version)
    with capsys.disabled():
        print(f"\n{len(layouts)} layouts written and read")
    assert len(layouts) == 736 + 153


def test_whole_messages() -> None:
    body = {"group_id": "g", "generation_id": 3, "member_id": "m"}
    for version in schema.api("Heartbeat").versions:
        framed = encode_request(12, version, 7, "me", body)
        assert int.from_bytes(framed[:4], "big") == len(framed) - 4
        message = decode_request(framed[4:], options=CLEAR)
        assert message.fault is None and message.trailing == 0 and message.body is not None
        assert (message.header["correlation_id"], message.header["client_id"]) == (7, "me")
        assert body.items() <= message.body.items()
        answer = encode_response(12, version, 7, {"error_code": 27}, sized=False)
        assert (decode_response(answer, 12, version).body or {})["error_code"] == 27
    assert encode_request(7, 0, 5, "ignored", {"broker_id": 3}, sized=False) == b"\0\7\0\0\0\0\0\5\0\0\0\3"


def test_json_forms_of_bytes_are_taken() -> None:
    given = [encode(36, 1, "request", {"auth_bytes": value}) for value in (b"ab", "ab", {"base64": "YWI="}, bytearray(b"ab"))]
    assert given == [b"\0\0\0\2ab"] * 4


@pytest.mark.parametrize(
    ("key", "version", "body", "words"),
    [
        (12, 0, {"group": "g"}, "group: no such field"),
        (12, 0, {"group_id": None}, "group_id: null"),
        (12, 0, {"generation_id": 2**31}, "generation_id: .* is no int32"),
        (12, 0, {"generation_id": "x"}, "generation_id: .* is no int32"),
        (12, 0, {"group_id": 5}, "group_id: neither text nor bytes"),
        (12, 0, {"group_id": "x" * 40000}, "group_id: .* is no int16"),
        (3, 1, {"topics": {}}, "topics: an array is a list"),
        (3, 1, {"topics": ["t"]}, r"topics\[0\]: a struct is a mapping"),
        (3, 1, {"topics": [{"nam": "t"}]}, r"topics\[0\]\.nam: no such field"),
        (20, 6, {"topics": [{"topic_id": "short"}]}, r"topics\[0\]\.topic_id: not a Kafka uuid|Incorrect padding|topic_id: "),
        (12, 0, {"_unknown_tags": []}, "_unknown_tags: no such field"),
        (36, 0, {"auth_bytes": {"base64": "%"}}, "auth_bytes: "),
    ],
)
def test_what_does_not_fit_is_refused(key: int, version: int, body: dict[str, Any], words: str) -> None:
    with pytest.raises(EncodeError, match=words):
        encode(key, version, "request", body)
