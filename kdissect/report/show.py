"""One exchange in full: who, when, how it ended, and both messages field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kdissect.report.escape import escape
from kdissect.report.exchanges import api_text, outcome_text
from kdissect.report.fields import Reading, struct_nodes
from kdissect.report.human import count, duration_ms, slowness
from kdissect.report.sink import Sink
from kdissect.report.tree import Node, TreePrinter
from kdissect.schema.catalogue import api as find_api

if TYPE_CHECKING:
    from kdissect.exchange import Exchange, Finding
    from kdissect.protocol.contents.sasl import SaslToken
    from kdissect.schema.message import Message

MOST_TOPICS: Final = 5
MOST_PARTITIONS: Final = 20
"""Topics, and partitions of each, of a fetch session that are shown unless all are asked for."""

_MARKS = {"critical": ("✖", "critical"), "warning": ("▲", "warning"), "note": ("●", "note")}


def show(
    exchange: Exchange,
    sink: Sink,
    how: Reading,
    spans: bool = False,
    show_secrets: bool = False,
    triage: tuple[Finding, ...] = (),
) -> None:
    """Writes the exchange to ``sink``; ``spans``: every field with its offset, length and bytes; ``triage``: what rules found."""
    printer = TreePrinter(sink, how.full)
    _head(exchange, sink, printer, triage, how)
    for kind in ("request", "response"):
        printer.line()
        _message(exchange, kind, printer, how, spans, show_secrets)
    printer.output.flush()


def _head(exchange: Exchange, sink: Sink, printer: TreePrinter, triage: tuple[Finding, ...], how: Reading) -> None:
    outcome = outcome_text(exchange, most=20)
    title = [(f"#{exchange.index}  ", "quiet"), (api_text(exchange), "api"), ("  ", ""), (outcome.text, outcome.style)]
    if exchange.latency_ms is not None:
        title += [(" in ", "quiet"), (duration_ms(exchange.latency_ms), slowness(exchange.api_key, exchange.latency_ms))]
    printer.line(*title)
    ends = f"  {exchange.client} → {exchange.broker}" + ("" if exchange.broker_id is None else f" (broker {exchange.broker_id})")
    _row(printer, "connection", (str(exchange.connection), ""), (ends, "address"))
    who = [(escape(exchange.client_id) if exchange.client_id is not None else "null", "name")]
    if exchange.principal is not None:
        who.append((f"  as {escape(exchange.principal)}", "name"))
    _row(printer, "client id", *who)
    files = [exchange.file] if exchange.response_file is None else [exchange.file, f"response in {exchange.response_file}"]
    _row(printer, "file", (escape(", ".join(files)), ""))
    for kind in ("request", "response"):
        time, total, packets = (getattr(exchange, f"{kind}_{what}") for what in ("time_ns", "bytes", "packets"))
        if total is None:
            _row(printer, kind, ("none in the capture", "quiet"))
            continue
        parts = [("unstamped", "quiet") if time is None else (sink.clock.full(time, exchange.time_digits), "time")]
        parts.append((f"  {count(total, 'byte')}", ""))
        if packets is not None:
            first, last = packets
            parts.append((f"  packet {first}" if first == last else f"  packets {first} to {last}", "quiet"))
        _row(printer, kind, *parts)
    for sender, token in zip(("client", "broker"), exchange.sasl or (), strict=False):
        if token is not None:
            _row(printer, "login", (f"{sender}: {_token_text(token)}", "name"))
    if exchange.fetch_partitions is not None:
        _row(printer, "fetches", (_partitions_text(exchange.fetch_partitions, how.full), "name"))
    if exchange.throttle_time_ms:
        _row(printer, "throttled", (duration_ms(exchange.throttle_time_ms), "slow"))
    for finding in (*exchange.findings, *triage):
        mark, style = _MARKS[finding.severity]
        _row(printer, "finding", (f"{mark} {finding.code}", style), (f"  {escape(finding.text)}", ""))


def _token_text(token: SaslToken) -> str:
    """``SCRAM-SHA-256 client-first, user alice``."""
    said = [f"{escape(token.mechanism or 'SASL')} {token.step}"]
    if token.user is not None:
        said.append(f"{'delegation token' if token.delegation_token else 'user'} {escape(token.user)}")
    if token.iterations is not None:
        said.append(f"{token.iterations} iterations")
    if token.error is not None:
        said.append(f"error {escape(token.error)}")
    said += [f"{escape(name)} {escape(value)}" for name, value in token.extensions]
    return ", ".join(said)


def _partitions_text(asked: Mapping[str, tuple[int, ...]], full: bool) -> str:
    """``orders 0, 1, 2; returns 0``: what a fetch session holds after this request."""
    shown = list(asked.items())[: None if full else MOST_TOPICS]
    parts = []
    for topic, numbers in shown:
        some = numbers if full else numbers[:MOST_PARTITIONS]
        rest = f" … {len(numbers):,} partitions" if len(some) < len(numbers) else ""
        parts.append(f"{escape(topic)} {', '.join(map(str, some))}{rest}")
    more = len(asked) - len(shown)
    return "; ".join(parts) + (f"; … {more:,} more topics" if more else "") or "nothing"


def _row(printer: TreePrinter, label: str, *parts: tuple[str, str]) -> None:
    printer.line((f"  {label:<11} ", "quiet"), *parts)


def _message(exchange: Exchange, kind: str, printer: TreePrinter, how: Reading, spans: bool, show_secrets: bool) -> None:
    message: Message | None = getattr(exchange, kind)
    frame: memoryview | None = getattr(exchange, f"{kind}_frame")
    if message is None:
        reason = "not in the capture" if frame is None else "cannot be decoded without its request"
        printer.print(Node(f"{kind}", reason, "quiet", label_style="heading"))
        return
    data: bytes | None = None
    if spans and frame is not None:
        data = bytes(frame[4:])
        how = replace(how, spans=_spans(exchange, kind, data, show_secrets))
    title = f"{escape(message.api)} v{message.version}"
    root = Node(kind, title, "api", label_style="heading", children=message_nodes(message, how))
    printer.print(root, data)


def message_nodes(message: Message, how: Reading) -> Iterator[Node]:
    """The header or what matters of it, the body, and how the decoding ended."""
    from kdissect.schema.catalogue import format as find_format

    header = message.header
    if how.spans is not None:
        name = "RequestHeader" if message.kind == "request" else "ResponseHeader"
        fields = find_format(name).layout("fields", _header_version(message)).fields
        yield Node("header", span=None, children=struct_nodes(fields, header, "header", None, how), label_style="quiet")
    elif "correlation_id" in header:
        yield Node("correlation_id", str(header["correlation_id"]))
    if message.body is not None:
        try:
            fields = find_api(message.api_key).layout(message.kind, message.version).fields
        except KeyError:
            fields = ()
        yield from struct_nodes(fields, message.body, "", None, how)
    if message.fault is not None and message.fault.kind == "unknown_version":
        yield Node("", f"▲ {escape(message.fault.reason)}", "warning")
    elif message.fault is not None:
        where = f" in {message.fault.path}" if message.fault.path else ""
        yield Node("", f"▲ here decoding ended{where}: {escape(message.fault.reason)}", "warning", f"byte {message.fault.offset}")
    if message.trailing:
        yield Node("", f"▲ {count(message.trailing, 'byte')} left over", "warning")


def _header_version(message: Message) -> int:
    try:
        return find_api(message.api_key).layout(message.kind, message.version).header_version
    except KeyError:
        return 1 if message.kind == "request" else 0


def _spans(exchange: Exchange, kind: str, data: bytes, show_secrets: bool) -> dict[str, tuple[int, int]]:
    from kdissect.schema.message import DecodeOptions, decode_request, decode_response

    options = DecodeOptions(show_secrets=show_secrets, records="skip", spans=True)
    if kind == "request":
        decoded = decode_request(data, options=options)
    else:
        assert exchange.api_key is not None and exchange.api_version is not None
        decoded = decode_response(data, exchange.api_key, exchange.api_version, options=options)
    return decoded.spans or {}
