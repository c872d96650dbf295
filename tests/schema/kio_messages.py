"""kio's message classes as an independent source: what fields there are, random messages, their bytes and values."""

from __future__ import annotations

import dataclasses
import datetime
import random
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_writer
from kio.static.constants import EntityType

KINDS = {"request": EntityType.request, "response": EntityType.response}
ERRORS = list(ErrorCode)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
WIDTHS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TYPES = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}
"""kio's types for what the wire has as plain integers."""


def payloads() -> Iterator[tuple[int, str, int]]:
    """Key, kind and version of everything that kio knows."""
    for key, name in api_key_map.items():
        for version in schema_name_map[name]:
            for kind in KINDS:
                yield key, kind, version


@cache
def payload_class(key: int, kind: str, version: int) -> type:
    """kio's class of a request or response."""
    module = load_payload_module(key, version, KINDS[kind])
    name = [n for n, c in vars(module).items() if getattr(c, "__type__", None) is KINDS[kind]]
    assert len(name) == 1
    return vars(module)[name[0]]


def other_classes() -> Iterator[tuple[str, int, type]]:
    """Name, version and class of what kio knows beside requests and responses."""
    for versions in schema_name_map.values():
        for version, paths in versions.items():
            for kind in (EntityType.data, EntityType.header):
                if kind in paths:
                    cls = resolve_name(paths[kind])
                    yield cls.__name__, version, cls


@dataclasses.dataclass(frozen=True)
class KioField:
    """A field as kio has it, in the terms of :class:`kdissect.schema.Field`."""

    name: str
    type: str
    array: bool
    nullable: bool
    tag: int | None
    default: Any
    entity: type | None


@cache
def kio_fields(cls: type) -> tuple[KioField, ...]:
    """The fields of a kio class in order."""
    found = []
    for field in dataclasses.fields(cls):
        kind, nullable = field.type, False
        if get_origin(kind) is UnionType:
            (kind,) = [a for a in get_args(kind) if a is not NoneType]
            nullable = True
        array = get_origin(kind) is tuple
        if array:
            kind = get_args(kind)[0]
            if get_origin(kind) is UnionType:
                (kind,) = [a for a in get_args(kind) if a is not NoneType]
        entity = kind if dataclasses.is_dataclass(kind) else None
        found.append(
            KioField(
                field.name,
                "struct" if entity else field.metadata["kafka_type"],
                array,
                nullable,
                field.metadata.get("tag"),
                field.default,
                entity,
            )
        )
    return tuple(found)


def random_entity(cls: type, rng: random.Random, depth: int = 0) -> Any:
    """A random message: every kind of null, empty and absent value occurs."""
    values = {}
    for field in kio_fields(cls):
        if field.tag is not None and rng.random() < 0.4 and field.default is not dataclasses.MISSING:
            continue
        if field.nullable and field.tag is None and rng.random() < 0.3:
            values[field.name] = None
        elif field.array:
            count = rng.choice((0, 1, 1, 2, 3) if depth < 3 else (0, 1))
            if not field.entity and rng.random() < 0.03:
                count = rng.choice((31, 32, 130))
            values[field.name] = tuple(_random_value(field, rng, depth) for _ in range(count))
        else:
            values[field.name] = _random_value(field, rng, depth)
    return cls(**values)


def _random_value(field: KioField, rng: random.Random, depth: int) -> Any:
    if field.entity:
        return random_entity(field.entity, rng, depth + 1)
    match field.type:
        case "bool":
            return rng.random() < 0.5
        case "int8" | "int16" | "int32" | "int64":
            edge = 1 << (WIDTHS[field.type] - 1)
            return rng.choice((0, 1, -1, edge - 1, -edge, rng.randrange(-edge, edge)))
        case "uint16":
            return rng.choice((0, 9092, 65535))
        case "float64":
            return rng.choice((0.0, -1.5, 1e300, rng.random()))
        case "string":
            return rng.choice(("", "a", "topic-ü€😀", "x" * rng.choice((126, 127, 128, 300))))
        case "bytes" | "records":
            return rng.randbytes(rng.choice((0, 1, 16, 127, 128, 1000)))
        case "uuid":
            return rng.choice((None, uuid.UUID(int=rng.getrandbits(128))))
        case "error_code":
            return rng.choice(ERRORS)
        case "timedelta_i32" | "timedelta_i64":
            return datetime.timedelta(milliseconds=rng.choice((0, 1, -1, 30000, 2**31 - 1)))
        case "datetime_i64":
            return EPOCH + datetime.timedelta(milliseconds=rng.choice((0, 1, 1700000000123)))
    raise NotImplementedError(field)


def encode(entity: Any) -> bytes:
    """The bytes that kio writes."""
    out = BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def told(entity: Any) -> list[Any]:
    """The values in order, in kdissect's terms; structs as lists of theirs."""
    return [_told(field, getattr(entity, field.name)) for field in kio_fields(type(entity))]


def _told(field: KioField, value: Any) -> Any:
    if isinstance(value, tuple):
        return [_told(dataclasses.replace(field, array=False), item) for item in value]
    if value is None:
        return None if field.array else {"uuid": "A" * 22, "datetime_i64": -1}.get(field.type)
    if field.entity:
        return told(value)
    match value:
        case ErrorCode():
            return value.value
        case datetime.timedelta():
            return value // datetime.timedelta(milliseconds=1)
        case datetime.datetime():
            return (value - EPOCH) // datetime.timedelta(milliseconds=1)
        case uuid.UUID():
            return urlsafe_b64encode(value.bytes)[:22].decode()
    return value
