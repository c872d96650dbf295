"""Record batches and their records as nodes of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kdissect.plugins.hooks import RecordPart
from kdissect.report.escape import escape
from kdissect.report.human import count, size
from kdissect.report.tree import Node
from kdissect.report.values import bytes_text, text_value

if TYPE_CHECKING:
    from kdissect.report.fields import Reading

FEW_BATCHES: Final = 5
FEW_RECORDS: Final = 10


def batch_nodes(batches: list[dict[str, Any]], topic: str | None, how: Reading) -> Iterator[Node]:
    """A node for each batch or top-level message of a message set."""
    for batch in batches if how.full else batches[:FEW_BATCHES]:
        yield _batch_node(batch, topic, how)
    if not how.full and len(batches) > FEW_BATCHES:
        yield Node(f"… {len(batches) - FEW_BATCHES:,} more batches", note="--full shows all", label_style="quiet")


def _batch_node(batch: dict[str, Any], topic: str | None, how: Reading) -> Node:
    label = f"batch @ {batch['base_offset']}" if "base_offset" in batch else "batch"
    if batch.get("partial"):
        length = batch.get("batch_length")
        return Node(label, "cut off" + (f", {size(length + 12)} in all" if length is not None else ""), "warning")
    records = batch.get("records")
    words = [count(batch["record_count"] if "record_count" in batch else len(records or ()), "record")]
    if "batch_length" in batch:
        words.append(size(batch["batch_length"] + 12))
    words.append(batch.get("compression", "none").replace("none", "uncompressed"))
    words += [name for key, name in (("is_transactional", "transactional"), ("is_control", "control")) if batch.get(key)]
    note, style = ("wrong CRC", "error") if batch.get("crc_valid") is False else ("", "quiet")
    return Node(label, ", ".join(words), "", note, style, children=_inside(batch, topic, how), label_style="api")


def _inside(batch: dict[str, Any], topic: str | None, how: Reading) -> Iterator[Node]:
    for name, value in batch.items():
        if name != "records":
            yield _head_node(name, value, batch, how)
    records = batch.get("records")
    if records is None:
        yield Node("records", "null", "warning", "could not be decompressed", "warning")
        return
    for record in records if how.full else records[:FEW_RECORDS]:
        yield _record_node(record, batch, topic, how)
    if not how.full and len(records) > FEW_RECORDS:
        yield Node(f"… {len(records) - FEW_RECORDS:,} more records", note="--full shows all", label_style="quiet")


def _head_node(name: str, value: Any, batch: dict[str, Any], how: Reading) -> Node:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if name == "crc" and isinstance(value, int):
        text = f"0x{value:08x}"
    node = Node(escape(name), text)
    if name.endswith("timestamp") and isinstance(value, int) and value >= 0:
        node.note, node.note_style = how.clock.full(value * 1_000_000, 3), "time"
    elif value == -1 and name in ("producer_id", "producer_epoch", "base_sequence"):
        node.note = "not idempotent"
    elif name == "partition_leader_epoch" and value == -1:
        node.note = "set by the broker"
    elif name == "batch_length" and value >= 1000:
        node.note = size(value)
    elif name == "crc_valid" and value is False:
        node.style = "error"
    return node


def _record_node(record: dict[str, Any], batch: dict[str, Any], topic: str | None, how: Reading) -> Node:
    label = f"record @ {record['offset']}"
    timestamp = record.get("timestamp")
    when = how.clock.full(timestamp * 1_000_000, 3) if isinstance(timestamp, int) and timestamp >= 0 else ""
    return Node(label, when, "time", children=_parts(record, topic, how), label_style="api")


def _parts(record: dict[str, Any], topic: str | None, how: Reading) -> Iterator[Node]:
    yield _part_node("key", RecordPart(topic, "key", b""), record.get("key"), how)
    key = record.get("key")
    value = RecordPart(topic, "value", b"", key=key if isinstance(key, bytes) else None)
    yield _part_node("value", value, record.get("value"), how)
    for header in record.get("headers") or ():
        key = header["key"] if isinstance(header["key"], str) else bytes_text(header["key"], how.full)
        part = RecordPart(topic, "header", b"", key)
        yield _part_node(f"header {text_value(key, how.full, quoted=False)}", part, header["value"], how)


def _part_node(label: str, part: RecordPart, value: Any, how: Reading) -> Node:
    # A value may be an object of the schema again: the two modules need each other.
    from kdissect.report.fields import object_node, plain_node

    if value is None:
        return Node(label, "null", "quiet")
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        decoded = how.host.decode_value(replace(part, data=raw))
        if decoded is not None:
            name, content = decoded
            if isinstance(content, dict) and "_type" in content:
                node = object_node(label, content, part.topic, how, None)
            else:
                node = plain_node(label, content, how)
            node.note = f"decoded by {escape(name)}"
            return node
        return Node(label, bytes_text(raw, how.full), "text", size(len(raw)) if len(raw) >= 1000 else "")
    if isinstance(value, dict) and set(value) == {"redacted"}:
        return Node(label, count(value["redacted"], "byte"), "quiet", "not shown")
    if isinstance(value, dict):
        return object_node(label, value, part.topic, how, None)
    return plain_node(label, value, how)
