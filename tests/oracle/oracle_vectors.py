"""Messages that Kafka's own classes wrote (``Oracle.java``), committed so that tests need no Java.

``python -m tests.oracle.regenerate vectors`` writes the files anew.
"""

from __future__ import annotations

import json
import lzma
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kdissect import schema
from kdissect.schema.layout import Field, Layout

HERE = Path(__file__).parent
BLOBS = HERE / "blobs.jsonl.xz"
"""What Streams and Connect wrote (``Blobs.java``)."""
RELEASES = ("3.9.2", "4.0.0", "4.4.0")
"""Between them these know every version that any Kafka has served: 3.9 the old ones, 4.0 the share APIs of early access."""

DRAFTS = {
    ("3.9.2", name)
    for name in (
        *("ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge"),
        *("InitializeShareGroupState", "ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState"),
        *("ReadShareGroupStateSummary", "ShareGroupMetadataValue", "ShareGroupPartitionMetadataValue"),
    )
} | {
    ("4.0.0", name)
    for name in (
        *("ShareGroupMetadataValue", "ShareGroupStatePartitionMetadataValue", "ShareSnapshotValue", "ShareUpdateValue"),
        "ReadShareGroupStateSummary",
    )
}
"""Layouts that later releases changed without a new version, as no release had promised them: 3.9 holds share groups
that no broker serves, 4.0 had them in early access and changed afterwards what only brokers say to each other."""

RENAMED = {"ListClientMetricsResources": "ListConfigResources"}
"""APIs by the names that older releases have for them."""
OLD_NAMES = {
    "config_resources": "clientmetricsresources",
    "generation_id_or_member_epoch": "generationid",
    "replica_epoch": "candidateepoch",
    "replica_id": "candidateid",
    "replica_directory_id": "candidatedirectoryid",
    "resource_name": "name",
}
"""Fields that older releases call something else, without capitals and underscores."""


class Flip(NamedTuple):
    """One byte of a message changed, and what Kafka makes of it."""

    offset: int
    """In the whole message; always in its body."""
    byte: int
    left: int | None
    """Bytes that Kafka leaves unread; None when it cannot read the body."""
    again: bytes | None
    """How Kafka writes what it read where that is not what it was given, else None."""


class Vector(NamedTuple):
    """One message."""

    release: str
    name: str
    """Of an API (the newest), or of a format."""
    kind: str | None
    """``request``, ``response``; None for a format."""
    version: int
    record: int | None
    """The number that Kafka gives to this record, where it says."""
    header_version: int
    header: dict[str, Any]
    body: dict[str, Any]
    """In Kafka's JSON form."""
    unknown: list[dict[str, Any]]
    """Tagged fields of the outermost struct that no layout knows."""
    data: bytes
    """Header and body."""
    flips: tuple[Flip, ...]

    @property
    def layout(self) -> Layout:
        if self.kind is None:
            return schema.format(self.name).fields(self.version)
        return schema.api(self.name).layout(self.kind, self.version)  # type: ignore[arg-type]

    @property
    def draft(self) -> bool:
        """Whether a later release has another layout at this version."""
        return (self.release, self.name) in DRAFTS

    def expected(self) -> dict[str, Any]:
        """The body as kdissect is to decode it, ``records`` as bytes."""
        values = struct_value(self.layout.fields, self.body)
        return values | {"_unknown_tags": self.unknown} if self.unknown else values

    def __str__(self) -> str:
        return f"{self.name} {self.kind or ''} v{self.version} of {self.release}"


def path(release: str) -> Path:
    return HERE / f"vectors-{release}.jsonl.xz"


@cache
def vectors(release: str) -> tuple[Vector, ...]:
    """All messages of a release."""
    with lzma.open(path(release), "rt", encoding="utf-8") as lines:
        return tuple(_vector(release, json.loads(line)) for line in lines)


def all_vectors() -> Iterator[Vector]:
    for release in RELEASES:
        yield from vectors(release)


def _vector(release: str, said: dict[str, Any]) -> Vector:
    return Vector(
        release,
        RENAMED.get(said["name"], said["name"]),
        said.get("kind"),
        said["version"],
        said.get("record"),
        said.get("header_version", 0),
        said.get("header", {}),
        said["body"],
        [{"tag": tag, "data": b64decode(data)} for tag, data in said.get("unknown", ())],
        b64decode(said["bytes"]),
        tuple(_flip(*flip) for flip in said.get("flips", ())),
    )


def _flip(offset: int, byte: int, left: int | None = None, again: str | None = None) -> Flip:
    return Flip(offset, byte, left, None if again is None else b64decode(again))


def struct_value(fields: tuple[Field, ...], said: dict[str, Any]) -> dict[str, Any]:
    """A struct of Kafka's JSON as kdissect decodes it: Kafka leaves out tagged fields that have their default."""
    given = {key.lower(): value for key, value in said.items()}
    values = {}
    for field in fields:
        name = field.name.replace("_", "")
        if name not in given and OLD_NAMES.get(field.name) in given:
            name = OLD_NAMES[field.name]
        if field.type == "records" and name + "sizeinbytes" in given:
            values[field.name] = records(given.pop(name + "sizeinbytes"))
        elif name in given:
            values[field.name] = _value(field, given.pop(name))
        elif field.tag is not None:
            values[field.name] = field.default
        else:
            raise AssertionError(f"Kafka has no {field.name}, but {sorted(given)}")
    assert not given, f"Kafka has {sorted(given)} too"
    return values


def _value(field: Field, said: Any) -> Any:
    if said is None:
        return None
    if field.array:
        return [_single(field, item) for item in said]
    return _single(field, said)


def _single(field: Field, said: Any) -> Any:
    if field.type == "struct":
        return struct_value(field.fields, said)
    return b64decode(said) if field.type == "bytes" else said


def records(size: int) -> bytes:
    """The content that ``Oracle.java`` gives to a records field of this size."""
    return bytes((7 * i + size) & 0xFF for i in range(size))
