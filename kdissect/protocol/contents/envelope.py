"""Requests that a broker forwards to the controller, with their responses and their principal (Envelope, KIP-590)."""

from __future__ import annotations

from typing import Any, NamedTuple

from kdissect import schema
from kdissect.protocol.contents.blobs import Opened, may_hold_secrets, opened, read_versioned, redacted
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response

ENVELOPE = 58


class Wrapped(NamedTuple):
    """What stands for the wrapped bytes, and the message that they are."""

    value: Opened | bytes | dict[str, int]
    message: Message | None
    """None where the bytes are not exactly one message."""


def open_request(data: bytes, options: DecodeOptions) -> Wrapped:
    """The wrapped request, header and body; its own secrets are withheld as those of any request are."""
    return _wrapped(data, decode_request(data, options=options), options)


def open_response(data: bytes, asked: Message | None, options: DecodeOptions) -> Wrapped:
    """The wrapped response; ``asked`` is the wrapped request, without which it cannot be read."""
    if asked is None:
        return Wrapped(data if options.show_secrets else redacted(data), None)
    return _wrapped(data, decode_response(data, asked.api_key, asked.version, options=options), options)


def open_principal(data: bytes) -> Opened | bytes:
    """Who sent the wrapped request, as ``DefaultKafkaPrincipalBuilder`` writes it; other builders' bytes stay bytes."""
    return read_versioned("DefaultPrincipalData", data) or data


def _wrapped(data: bytes, message: Message, options: DecodeOptions) -> Wrapped:
    if message.fault is not None or message.trailing or message.body is None or message.api_key == ENVELOPE:
        hide = not options.show_secrets and _may_hold_secrets(message.api_key)
        return Wrapped(redacted(data) if hide else data, None)
    fields: dict[str, Any] = {"header": message.header, "body": message.body}
    return Wrapped(opened(message.api + message.kind.capitalize(), message.version, fields), message)


def _may_hold_secrets(api_key: int) -> bool:
    """Of an API that is not known too: nothing tells what is in its messages."""
    try:
        return may_hold_secrets(schema.api(api_key))
    except KeyError:
        return True
