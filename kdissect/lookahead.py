"""Reads captures a second time for nothing but the names that belong to topic ids."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kdissect.ledger import Ledger
from kdissect.protocol.contents.unfold import unfold
from kdissect.protocol.correlate import Settled
from kdissect.protocol.session import Session
from kdissect.protocol.state import State
from kdissect.protocol.topic_ids import may_carry_metadata, shows_topic_ids, topic_records
from kdissect.schema.collect import collect
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response

if TYPE_CHECKING:
    from kdissect.dissect import Options
    from kdissect.exchange import Exchange

_WITHOUT_RECORDS = DecodeOptions(records="skip")
_WITH_RECORDS = DecodeOptions(records="full")


def can_look_ahead(paths: Sequence[str]) -> bool:
    """Whether all inputs can be read twice: files and directories, no pipes."""
    try:
        modes = [Path(path).stat().st_mode for path in paths if path != "-"]
    except OSError:
        return False
    return len(modes) == len(paths) and all(stat.S_ISREG(mode) or stat.S_ISDIR(mode) for mode in modes)


def topic_names(paths: Sequence[str], options: Options) -> Mapping[str, str]:
    """Topic id -> name, from all messages of these captures that show both; of others not even the bodies are decoded."""
    from kdissect.dissect import Dissection, Options

    scout = _Scout()
    plain = Options(chunk_bytes=options.chunk_bytes, limits=options.limits)
    for _ in Dissection(paths, plain, lambda text: None, describer=scout).batches():
        pass
    return scout.state.topic_names


class _Scout:
    """Takes settled exchanges like a describer and describes none."""

    def __init__(self) -> None:
        self.state = State()

    def describe(self, settled: Settled, session: Session, ledger: Ledger) -> Exchange | None:
        head, request, response = settled.head, settled.request, settled.response
        if head is None:
            return None
        key, version = head.api_key, head.api_version
        asked: Message | None = None
        if request is not None and shows_topic_ids(key, version, "request"):
            asked = decode_request(request.data[4:], options=_WITHOUT_RECORDS)
        answered: Message | None = None
        if response is not None and shows_topic_ids(key, version, "response"):
            answered = decode_response(response.data[4:], key, version, options=_WITHOUT_RECORDS)
        elif response is not None and may_carry_metadata(key, response.data):
            answered = decode_response(response.data[4:], key, version, options=_WITH_RECORDS)
            self.state.learn_topics(dict(topic_records(answered)))
        wrapped: Message | None = None
        for message in (asked, answered):
            if message is not None:
                inner = unfold(message, _WITHOUT_RECORDS, asked=wrapped)
                wrapped = inner.wrapped
                self.state.learn_topics(collect(message.api_key, message.version, message.kind, message.body).topic_names)
                self.state.learn_topics(inner.entities.topic_names)
        return None
