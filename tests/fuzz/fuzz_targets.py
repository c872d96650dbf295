"""What is fuzzed: each target takes any bytes, and raises when something is wrong with what kdissect makes of them."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kdissect import schema
from kdissect.protocol.contents import envelope, groups, records, sasl, telemetry
from kdissect.protocol.contents.unfold import unfold, unfold_contents
from kdissect.schema.blob import decode_fields
from kdissect.schema.collect import collect
from kdissect.schema.encode import encode_fields
from kdissect.schema.interpret import Interpreter
from kdissect.schema.layout import Layout
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response
from kdissect.schema.records_field import RawRecords
from kdissect.wire.compression import CODEC_NAMES, Undecompressable, compress, decompress
from kdissect.wire.json import dumps
from kdissect.wire.limits import Limits
from kdissect.wire.records import read_records
from kdissect.wire.records_writer import write_batch, write_message_set
from tests.fuzz.capture_target import capture_seeds, captures

# For the seeds.
sys.path += [str(Path(__file__).parents[1] / part) for part in ("oracle", "wire")]

LIMITS = Limits(batch_bytes=1 << 20, total_bytes=1 << 21, free_bytes=1 << 20, objects=5000)
CLEAR = DecodeOptions(show_secrets=True, records="skip", limits=LIMITS)
SPANS = DecodeOptions(show_secrets=True, records="skip", spans=True, limits=LIMITS)
SHOWN = DecodeOptions(limits=LIMITS)


class Target(NamedTuple):
    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    """Inputs to begin with."""


@cache
def layouts() -> tuple[Layout, ...]:
    """Every request and response."""
    heads = schema.apis()
    return tuple(
        schema.api(head.key).layout(kind, version)
        for head in heads
        for version in range(head.min_version, head.max_version + 1)
        for kind in ("request", "response")
    )


@cache
def format_layouts() -> tuple[Layout, ...]:
    return tuple(each.fields(version) for each in schema.formats() for version in each.versions)


def told(value: Any) -> Any:
    """Values that can be compared: records as bytes, unknown tags in order."""
    if isinstance(value, dict):
        return {
            key: sorted(told(item), key=lambda tag: tag["tag"]) if key == "_unknown_tags" else told(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [told(item) for item in value]
    return bytes(value.data) if isinstance(value, RawRecords) else value


def decode(layout: Layout, frame: bytes, options: DecodeOptions) -> Message:
    if layout.kind == "request":
        return decode_request(frame, options=options)
    assert layout.api_key is not None
    return decode_response(frame, layout.api_key, layout.version, options=options)


def messages(data: bytes) -> None:
    """Two bytes that choose a layout, and a message: both decoders agree, and what is complete can be written and read."""
    if len(data) < 2:
        return
    layout, frame = layouts()[int.from_bytes(data[:2], "big") % len(layouts())], data[2:]
    fast, slow = decode(layout, frame, CLEAR), decode(layout, frame, SPANS)
    body = told(fast.body)
    assert (fast.header, body, fast.fault, fast.trailing) == (slow.header, told(slow.body), slow.fault, slow.trailing)
    for path, (offset, length) in (slow.spans or {}).items():
        assert offset >= 0 and length >= 0 and offset + length <= len(frame), path
    if fast.fault is not None:
        assert fast.fault.offset <= len(frame)
    elif fast.body is not None:
        found = schema.api(fast.api_key).layout(fast.kind, fast.version)
        written = encode_fields(found, fast.body)
        again, end, fault = Interpreter(written, _keep, show_secrets=True).read(found, 0)
        assert (told(again), end, fault) == (body, len(written), None)


def whole(data: bytes) -> None:
    """The same input on the way that a capture's messages go: records read, contents opened, secrets withheld, JSON written."""
    if len(data) < 2:
        return
    layout, frame = layouts()[int.from_bytes(data[:2], "big") % len(layouts())], data[2:]
    message = decode(layout, frame, SHOWN)
    collect(message.api_key, message.version, message.kind, message.body)
    unfold(message, SHOWN)
    unfold_contents(message, lambda _: "__consumer_offsets" if frame[-1:] > b"\x40" else "__cluster_metadata")
    dumps(message.body)


def formats(data: bytes) -> None:
    """Two bytes that choose a format, and bytes to read as it."""
    if len(data) < 2:
        return
    layout, content = format_layouts()[int.from_bytes(data[:2], "big") % len(format_layouts())], data[2:]
    blob = decode_fields(layout.name, layout.version, content, show_secrets=True)
    slow, end, fault = Interpreter(content, _keep, show_secrets=True).read(layout, 0)
    assert (blob.fields, blob.end, str(blob.fault)) == (slow, end, str(fault))
    if fault is None:
        written = encode_fields(layout, slow)
        again, end, fault = Interpreter(written, _keep, show_secrets=True).read(layout, 0)
        assert (told(again), end, fault) == (told(slow), len(written), None)


def record_batches(data: bytes) -> None:
    """A byte of flags, and a ``records`` field."""
    if not data:
        return
    flags = data[0]
    batches, _ = read_records(data[1:], limits=LIMITS, decode=flags % 8 > 0, partial_ok=bool(flags & 128))
    read = [record for batch in batches for record in batch.get("records") or ()]  # type: ignore[attr-defined]
    assert len(read) <= LIMITS.objects
    for batch in batches:
        assert "partial" in batch or "magic" in batch
    dumps(batches)


def compression(data: bytes) -> None:
    """Codec, magic, and what is said to be compressed."""
    if len(data) < 2:
        return
    codec, magic, limit = data[0] % 8, data[1] % 3, 1 << 12 if data[1] & 128 else 1 << 20
    try:
        plain = decompress(codec, memoryview(data)[2:], limit, magic=magic)
    except Undecompressable:
        return
    assert len(plain) <= limit


_LOGS = ("__consumer_offsets", "__transaction_state", "__cluster_metadata", "__share_group_state", "__remote_log_metadata")
_MECHANISMS = (None, "PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI")


def contents(data: bytes) -> None:
    """Two bytes that choose a kind of content, the split of its halves, and the content."""
    if len(data) < 3:
        return
    kind, split, content = data[0] % 8, data[1], data[2:]
    found: object
    if kind < 3:
        log = None if split % 6 == 5 else _LOGS[split % 6]
        found = list(records.open_record(log, kind == 2, content[: split // 4], content[split // 4 :], show_secrets=split > 127))
    elif kind == 3:
        part: groups.Part = "group_metadata" if split & 1 else "group_assignment"
        protocol = (groups.UNKNOWN, groups.Protocol("consumer", "stream"), groups.Protocol("connect", None))[split % 3]
        found = groups.open_group_blob(part, content, protocol)
    elif kind == 4:
        found = sasl.read_client_token(content, _MECHANISMS[split % 5], first=split > 127).mechanism
    elif kind == 5:
        found = sasl.read_server_token(content, _MECHANISMS[split % 5]).mechanism
    elif kind == 6:
        found = telemetry.open_telemetry(split % 6, content)
    else:
        found = envelope.open_principal(content)
    dumps(found)


def _keep(data: bytes, start: int, stop: int) -> bytes:
    return data[start:stop]


def _message_seeds() -> Iterator[bytes]:
    from tests.oracle.oracle_vectors import all_vectors

    at = {(layout.name, layout.kind, layout.version): index for index, layout in enumerate(layouts())}
    for vector in all_vectors():
        if vector.kind is not None and not vector.draft:
            yield at[vector.name, vector.kind, vector.version].to_bytes(2, "big") + vector.data


def _record_fields() -> Iterator[bytes]:
    from tests.wire.record_samples import CODECS, LEGACY_CODECS, sample_records

    for codec in CODECS:
        yield write_batch(sample_records(5), compression=codec)
    for magic in (0, 1):
        for codec in LEGACY_CODECS:
            yield write_message_set(sample_records(4, magic=magic), magic=magic, compression=codec)


def _record_seeds() -> Iterator[bytes]:
    for field in _record_fields():
        for flags in (b"\x01", b"\x80"):
            yield flags + field


def _whole_seeds() -> Iterator[bytes]:
    yield from _message_seeds()
    fields = list(_record_fields())
    for index, layout in enumerate(layouts()):
        if layout.name in ("Produce", "Fetch", "ShareFetch"):
            rng = random.Random(index)
            body = filled(layout.fields, rng.choice(fields))
            head = schema.format("RequestHeader" if layout.kind == "request" else "ResponseHeader").fields(layout.header_version)
            header: dict[str, Any] = {"correlation_id": 1}
            if layout.kind == "request":
                header |= {"request_api_key": layout.api_key, "request_api_version": layout.version, "client_id": None}
            yield index.to_bytes(2, "big") + encode_fields(head, header) + encode_fields(layout, body)


def filled(fields: tuple[schema.Field, ...], content: bytes) -> dict[str, Any]:
    """A struct with one element in every array, and ``content`` in every ``records`` field."""
    values: dict[str, Any] = {}
    for field in fields:
        inner = filled(field.fields, content) if field.type == "struct" else None
        if inner is not None:
            values[field.name] = [inner] if field.array else inner
        elif field.type == "records":
            values[field.name] = content
    return values


def _format_seeds() -> Iterator[bytes]:
    from tests.oracle.oracle_vectors import all_vectors

    at = {(layout.name, layout.version): index for index, layout in enumerate(format_layouts())}
    for vector in all_vectors():
        if vector.kind is None and (vector.name, vector.version) in at:
            yield at[vector.name, vector.version].to_bytes(2, "big") + vector.data
    for index in range(len(format_layouts())):
        yield index.to_bytes(2, "big") + bytes(40)


def _compression_seeds() -> Iterator[bytes]:
    samples = (b"", b"kafka " * 30, bytes(5000), random.Random(1).randbytes(3000))
    for codec in range(1, len(CODEC_NAMES)):
        for magic in (0, 1, 2, 130):
            for plain in samples:
                packed = compress(codec, plain, magic=min(magic, 2))
                yield bytes((codec, magic)) + packed
                yield bytes((codec, magic)) + packed + packed


def _content_seeds() -> Iterator[bytes]:
    from tests.oracle.oracle_vectors import all_vectors

    for vector in all_vectors():
        if vector.kind is not None:
            continue
        if vector.name.startswith("ConsumerProtocol"):
            for split in (0, 1, 2, 3):
                yield bytes((3, split)) + vector.version.to_bytes(2, "big") + vector.data
        if vector.name == "DefaultPrincipalData":
            yield b"\7\0" + vector.version.to_bytes(2, "big") + vector.data
        if vector.record is not None and vector.name.endswith("Record"):
            frame = b"\1" + bytes((vector.record, vector.version))
            for log in (2, 4):
                yield bytes((0, log)) + frame + vector.data
        if vector.name.endswith("Key") and len(vector.data) < 40:
            for log in (0, 1, 3):
                yield bytes((0, 4 * (len(vector.data) + 2) // 6 * 6 + log)) + vector.version.to_bytes(2, "big") + vector.data
    yield b"\4\1\0user\0password"
    yield b"\4\x82n,,n=user,r=nonce"
    yield b"\5\2r=nonce,s=c2FsdA==,i=4096"
    yield b"\4\3n,,\1auth=Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.\1\1"
    yield from _metrics_seeds()


def _metrics_seeds() -> Iterator[bytes]:
    try:
        from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
    except ImportError:
        return
    data = MetricsData()
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name="m", unit="1")
    point = metric.sum.data_points.add(as_double=1.5)
    point.attributes.add(key="k").value.string_value = "v"
    for codec in range(5):
        plain = data.SerializeToString()
        yield bytes((6, codec)) + (compress(codec, plain) if codec else plain)


TARGETS = {
    target.name: target
    for target in (
        Target("messages", messages, _message_seeds),
        Target("whole", whole, _whole_seeds),
        Target("formats", formats, _format_seeds),
        Target("records", record_batches, _record_seeds),
        Target("compression", compression, _compression_seeds),
        Target("contents", contents, _content_seeds),
        Target("captures", captures, capture_seeds),
    )
}
