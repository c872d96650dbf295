"""``--redact-values``: exchanges that can be shown to others, without what the records say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

_PARTS = ("key", "value")

Item = TypeVar("Item", bound="Exchange")


def redact_values(batch: Sequence[Item]) -> Sequence[Item]:
    """The same exchanges: in their bodies, the keys and values of records and the values of record headers are
    ``{"redacted": LENGTH}``, and so are bytes that no schema describes, such as user data of group members.

    Values that Kafka itself wrote and that were decoded (internal topics) stay.
    """
    for exchange in batch:
        for message in (exchange.request, exchange.response):
            if message is not None and message.body is not None:
                _redact(message.body)
    return batch


def hidden(data: object) -> object:
    """A value that is not to be shown."""
    if data is None or (isinstance(data, dict) and ("redacted" in data or "_type" in data)):
        return data
    return {"redacted": len(data.encode() if isinstance(data, str) else data) if hasattr(data, "__len__") else 0}


def _redact(value: Any) -> None:
    stack: list[Any] = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            if "offset" in each and "key" in each and "value" in each:
                _record(each)
            pairs: Iterable[tuple[Any, Any]] = list(each.items())
        elif isinstance(each, list):
            pairs = enumerate(each)
        else:
            continue
        for place, inner in pairs:
            if isinstance(inner, (bytes, bytearray, memoryview)):
                each[place] = hidden(bytes(inner))
            elif isinstance(inner, (dict, list)):
                stack.append(inner)


def _record(record: dict[str, Any]) -> None:
    for part in _PARTS:
        record[part] = hidden(record[part])
    if "headers" in record:
        record["headers"] = [{"key": _text(each["key"]), "value": hidden(each["value"])} for each in record["headers"] or ()]


def _text(key: object) -> object:
    return key.decode(errors="backslashreplace") if isinstance(key, bytes) else key
