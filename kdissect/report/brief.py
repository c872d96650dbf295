"""A message in a few words: its scalars that say something, and the partitions that it speaks of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kdissect.report.escape import escape, shorten
from kdissect.report.group_events import ranges
from kdissect.report.human import Clock, count
from kdissect.report.meanings import say
from kdissect.report.partitions import TopicNames, partitions
from kdissect.schema.catalogue import api as find_api
from kdissect.schema.collect import NO_ID
from kdissect.schema.error_codes import error_name

if TYPE_CHECKING:
    from kdissect.schema.layout import Field
    from kdissect.schema.message import Message

_SCALARS: Final = 5
_TOPICS: Final = 3
_DULL: Final[tuple[object, ...]] = (None, "", False, [], {})


def brief(message: Message | None, names: TopicNames, clock: Clock) -> str:
    """What a message says, in one escaped line."""
    if message is None or message.body is None:
        return ""
    try:
        fields = find_api(message.api_key).layout(message.kind, message.version).fields
    except KeyError:
        return ""
    where = _partitions(message, names)
    words, arrays = [], []
    for field in fields:
        value = message.body.get(field.name)
        # The usual defaults say nothing: -1 stands for none almost everywhere but in acks.
        if any(value is dull or value == dull for dull in _DULL) or (value in (0, -1) and field.name != "acks"):
            continue
        if isinstance(value, list):
            if not (where and field.type == "struct"):
                arrays.append(_array(field, value, names))
        elif isinstance(value, (str, int, float)):
            words.append(_scalar(field, value, names, clock))
    return "  ".join(filter(None, [where, " ".join(words[:_SCALARS]), " ".join(arrays[:_SCALARS])]))


def _scalar(field: Field, value: Any, names: TopicNames, clock: Clock) -> str:
    if "topic_id" in field.meanings and isinstance(value, str):
        value = names(value) or value
    said = say(value, field.meanings, field.comment, clock)
    text = said.text if said is not None and ("error" in field.meanings or "api_key" in field.meanings) else str(value)
    return f"{field.name}={shorten(text.lower() if isinstance(value, bool) else text, 60)}"


def _array(field: Field, values: list[Any], names: TopicNames) -> str:
    shown = []
    for value in values[:_TOPICS]:
        if isinstance(value, dict):
            # What stands first mostly says which one it is.
            value = next((each for each in value.values() if isinstance(each, (str, int)) and each not in ("", 0, NO_ID)), None)
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            shown.append(shorten(names(value) or value if isinstance(value, str) else str(value), 40))
    rest = len(values) - len(shown)
    return f"{field.name}=[{', '.join(shown)}{f', … {len(values)}' if rest and shown else '' if shown else len(values)}]"


def _partitions(message: Message, names: TopicNames) -> str:
    numbers: dict[str, list[int]] = {}
    records = batches = 0
    errors: dict[int, None] = {}
    for part in partitions(message, names):
        if part.topic is not None and part.partition is not None:
            numbers.setdefault(part.topic, []).append(part.partition)
        if part.error_code:
            errors[part.error_code] = None
        for batch in part.batches or ():
            batches += 1
            inner = batch.get("records")
            records += 0 if batch.get("partial") else batch.get("record_count", len(inner) if inner else 1)
    shown = [f"{shorten(topic, 60)} {ranges(tuple(found))}" for topic, found in list(numbers.items())[:_TOPICS]]
    if len(numbers) > _TOPICS:
        shown.append(f"+{len(numbers) - _TOPICS} topics")
    text = ", ".join(shown)
    if batches:
        text += f": {count(records, 'record')}" + (f" in {batches} batches" if batches > 1 else "")
    return text + ("".join(f" {escape(error_name(code))}" for code in errors))
