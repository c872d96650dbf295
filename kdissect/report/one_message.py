"""One message by itself, without the exchange that it was part of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kdissect.report.escape import escape
from kdissect.report.fields import Reading
from kdissect.report.formats.json_lines import encode
from kdissect.report.show import message_nodes
from kdissect.report.sink import Output, Sink
from kdissect.report.tree import Node, TreePrinter
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response


def show_message(
    message: Message, sink: Sink, how: Reading, frame: bytes | None = None, options: DecodeOptions | None = None
) -> None:
    """Writes the message as a tree; with ``frame``, its bytes, every field with its offset, length and bytes."""
    if frame is not None:
        spans = replace(options or DecodeOptions(), records="skip", spans=True)
        if message.kind == "request":
            again = decode_request(frame, options=spans)
        else:
            again = decode_response(frame, message.api_key, message.version, options=spans)
        how = replace(how, spans=again.spans or {})
    printer = TreePrinter(sink, how.full)
    title = f"{escape(message.api)} v{message.version}"
    children: Any = message_nodes(message, how)
    if frame is None:
        children = (*_header_nodes(message), *children)
    printer.print(Node(message.kind, title, "api", label_style="heading", children=children), frame)
    for fault in message.record_faults:
        printer.line((f"▲ {fault.code}", "warning"), (f"  {escape(fault.text)}", ""), (f"  byte {fault.offset}", "quiet"))
    printer.output.flush()


def _header_nodes(message: Message) -> list[Node]:
    """What the header says beside key, version and correlation id."""
    if "client_id" not in message.header:
        return []
    client = message.header["client_id"]
    return [Node("client_id", "null" if client is None else escape(str(client)), "quiet" if client is None else "name")]


def write_message_json(message: Message, sink: Sink) -> None:
    """Writes the message as one JSON object: what it is, header, body, and what is wrong with it."""
    told = {
        "api": message.api,
        "api_key": message.api_key,
        "api_version": message.version,
        "kind": message.kind,
        "header": message.header,
        "body": message.body,
        "fault": None if message.fault is None else message.fault._asdict(),
        "trailing": message.trailing,
        "findings": [{"code": fault.code, "text": fault.text, "offset": fault.offset} for fault in message.record_faults],
    }
    out = Output(sink)
    out.write(encode(told, sink) + b"\n")
    out.flush()
