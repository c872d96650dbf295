"""Every layout that kio knows: compared field by field, and by decoding what kio encodes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kdissect import schema
from kdissect.schema.blob import decode_fields
from kdissect.schema.generate import make_decoder
from kdissect.schema.interpret import Interpreter
from kdissect.schema.layout import Field
from tests.schema.kio_messages import (
    TYPES,
    KioField,
    encode,
    kio_fields,
    other_classes,
    payload_class,
    payloads,
    random_entity,
    told,
)

PAYLOADS = sorted(payloads())
BY_KEY = sorted({key for key, _, _ in PAYLOADS})
RENAMED = {
    "generation_id_or_member_epoch": "generation_id",
    "acceptable_recovery_lag_legacy": "acceptable_recovery_lag",
}
"""Names that Kafka has changed since kio took them."""
SAMPLES = 25


def keep(data: bytes, start: int, stop: int) -> bytes:
    """A ``records`` field as its bytes."""
    return data[start:stop]


def of(key: int) -> list[tuple[str, int]]:
    return [(kind, version) for k, kind, version in PAYLOADS if k == key]


def same_field(ours: Field, theirs: KioField) -> bool:
    return (
        theirs.name in (ours.name, ours.name + "_", ours.name.removesuffix("_ms"), RENAMED.get(ours.name))
        and (ours.type, ours.array, ours.tag) == (TYPES.get(theirs.type, theirs.type), theirs.array, theirs.tag)
        # kio calls a zero uuid and a timestamp of -1 None, whether or not there is a null.
        and (ours.nullable == theirs.nullable or theirs.type in ("uuid", "datetime_i64"))
    )


def compare(ours: tuple[Field, ...], cls: type, path: str) -> int:
    theirs = kio_fields(cls)
    assert len(ours) == len(theirs), path
    count = 0
    for field, other in zip(ours, theirs, strict=True):
        assert same_field(field, other), (path, field, other)
        count += 1
        if other.entity is not None:
            count += compare(field.fields, other.entity, f"{path}.{field.name}")
    return count


def values(decoded: Any) -> Any:
    """Values without names."""
    if isinstance(decoded, dict):
        return [values(item) for item in decoded.values()]
    if isinstance(decoded, list):
        return [values(item) for item in decoded]
    return decoded


def test_every_layout_of_kio_is_ours(capsys: pytest.CaptureFixture[str]) -> None:
    fields = sum(
        compare(schema.api(key).layout(kind, version).fields, payload_class(key, kind, version), f"{key} {kind} v{version}")
        for key, kind, version in PAYLOADS
    )
    with capsys.disabled():
        print(f"\n{len(PAYLOADS)} layouts, {fields} fields equal kio's")
    assert len(PAYLOADS) >= 604


@pytest.mark.parametrize("key", BY_KEY)
def test_what_kio_writes_decodes_to_the_same_values(key: int) -> None:
    for kind, version in of(key):
        cls = payload_class(key, kind, version)
        layout = schema.api(key).layout(kind, version)  # type: ignore[arg-type]
        decode = make_decoder(layout, show_secrets=True)
        rng = random.Random(f"{key} {kind} {version}")
        for _ in range(SAMPLES):
            entity = random_entity(cls, rng)
            data = encode(entity)
            decoded, end = decode(data, 0, keep)
            assert end == len(data), (layout.name, kind, version)
            assert values(decoded) == told(entity), (layout.name, kind, version)
            assert list(decoded) == [field.name for field in layout.fields]
            slowly, end, fault = Interpreter(data, keep, show_secrets=True).read(layout, 0)
            assert (slowly, end, fault) == (decoded, len(data), None)


def test_headers_stand_before_the_versions_that_kio_says() -> None:
    for key, kind, version in PAYLOADS:
        header = payload_class(key, kind, version).__header_schema__
        assert schema.api(key).layout(kind, version).header_version == header.__version__, (key, kind, version)


def test_formats_that_kio_knows(capsys: pytest.CaptureFixture[str]) -> None:
    count = 0
    for name, version, cls in other_classes():
        layout = schema.format(name).fields(version)
        compare(layout.fields, cls, f"{name} v{version}")
        rng = random.Random(f"{name} {version}")
        for _ in range(SAMPLES):
            entity = random_entity(cls, rng)
            blob = decode_fields(name, version, b"xx" + encode(entity), 2)
            assert (values(blob.fields), blob.fault) == (told(entity), None), (name, version)
            assert blob.end == len(encode(entity)) + 2
        count += 1
    with capsys.disabled():
        print(f"\n{count} layouts of headers, group data and control records equal kio's")
    assert count == 21
