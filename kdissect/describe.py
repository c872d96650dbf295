"""Makes the exchange that users see out of two frames: decodes them, names what is in them, keeps the ledger."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect import schema
from kdissect.capture import CaptureFile
from kdissect.exchange import Exchange, Finding, stamp
from kdissect.ledger import Ledger
from kdissect.protocol.context import Context
from kdissect.protocol.correlate import LONG_POLLS, Settled
from kdissect.protocol.session import Session
from kdissect.protocol.state import State, Whereabouts
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response
from kdissect.stream.endpoints import Endpoints
from kdissect.stream.framing import Frame

_REASONS = {
    "gap": "its answer was lost by the capture",
    "closed": "the connection was closed without an answer",
    "timeout": "no answer came within the time limit",
    "capture_end": "the capture ended before an answer",
}


class Describer:
    """Describes settled exchanges in order of release; opens their contents and accounts for every byte."""

    def __init__(self, decoding: DecodeOptions, files: Sequence[CaptureFile], endpoints: Endpoints, state: State) -> None:
        self._decoding = decoding
        self._files = files
        self._endpoints = endpoints
        self._context = Context(state, decoding)

    def describe(self, settled: Settled, session: Session, ledger: Ledger) -> Exchange | None:
        """The exchange; None for raw SASL tokens, which are accounted for but are no exchange."""
        request, response, head = settled.request, settled.response, settled.head
        if request is not None and head is None:
            ledger.opaque += request.captured + (response.captured if response else 0)
            self._context.token(request, response, settled.reason, session.incarnation.number)
            return None
        findings: list[Finding] = []
        asked = answered = None
        if request is not None:
            asked = decode_request(request.data[4:], options=self._decoding)
            self._account(request, asked, ledger, findings, "request")
        if response is not None:
            if head is not None:
                answered = decode_response(response.data[4:], head.api_key, head.api_version, options=self._decoding)
                self._account(response, answered, ledger, findings, "response")
            elif response.complete:
                ledger.opaque += response.captured
            else:
                ledger.partial += response.captured
        findings += _pairing(settled, asked)
        if any(frame is not None and frame.conflict for frame in (request, response)):
            text = "some of its bytes were captured twice with different content; the first copy is shown"
            findings.append(Finding("stream.conflicting_overlap", "warning", text))
        first = request or response
        assert first is not None
        client_side = session.client or 0
        ends = session.incarnation.endpoints
        client, broker = (self._endpoints.text(ends[side]) for side in (client_side, 1 - client_side))
        number = session.incarnation.number
        client_id = None if head is None or head.client_id is None else head.client_id.decode(errors="backslashreplace")
        told = self._context.exchange(asked, answered, request, response, Whereabouts(number, client, broker, client_id))
        return Exchange(
            index=0,
            file=self._files[first.last.file].name,
            response_file=self._files[response.last.file].name if response and response.last.file != first.last.file else None,
            connection=number,
            connection_id=session.identity(client, broker),
            client=client,
            broker=broker,
            request_time_ns=stamp(request),
            response_time_ns=stamp(response),
            time_digits=self._files[first.last.file].time_digits,
            api=None if head is None else schema.api_name(head.api_key),
            api_key=None if head is None else head.api_key,
            api_version=None if head is None else head.api_version,
            correlation_id=head.correlation_id if head is not None else _response_id(response),
            client_id=client_id,
            request_bytes=None if request is None else request.size,
            response_bytes=None if response is None else response.size,
            request_packets=None if request is None else (request.first.number, request.last.number),
            response_packets=None if response is None else (response.first.number, response.last.number),
            outcome=settled.outcome,
            unanswered_reason=settled.reason,
            error_codes=[schema.error_name(code) for code in told.error_codes],
            throttle_time_ms=told.throttle_time_ms,
            topics=told.topics,
            groups=told.groups,
            principal=told.principal,
            findings=findings,
            request=asked,
            response=answered,
            request_frame=None if request is None else request.data,
            response_frame=None if response is None else response.data,
            broker_id=self._context.state.brokers.at(broker),
            fetch_partitions=told.observed.fetch_partitions,
            sasl=told.observed.sasl,
        )

    def _account(self, frame: Frame, message: Message, ledger: Ledger, findings: list[Finding], kind: str) -> None:
        """Book the frame's bytes and note what is wrong with it."""
        fault = message.fault
        if not frame.complete:
            ledger.partial += frame.captured
            where = f" (in {fault.path})" if fault is not None and fault.path else ""
            held = f"{len(frame.data)} of {frame.size} bytes of the {kind}"
            text = f"only the first {held} were captured{where}"
            if frame.captured == frame.size:
                text = f"only the first {held} are decoded{where}: it is over the limit on messages"
            findings.append(Finding("frame.truncated", "warning", text))
        elif fault is not None and fault.kind in ("unknown_key", "unknown_version"):
            ledger.opaque += frame.captured
            if kind == "request":
                findings.append(Finding(f"api.{fault.kind}", "warning", fault.reason))
        elif fault is not None:
            ledger.partial += frame.captured
            where = f"{kind}.{fault.path}" if fault.path else f"the {kind}"
            text = f"{where}: {fault.reason}, at byte {fault.offset + 4} of the frame"
            findings.append(Finding("frame.malformed", "warning", text))
        elif message.trailing:
            ledger.partial += frame.captured
            text = f"{message.trailing} bytes follow the {kind}'s last field"
            findings.append(Finding("frame.trailing_bytes", "warning", text))
        else:
            ledger.decoded += frame.captured
        for record_fault in message.record_faults:
            findings.append(Finding(record_fault.code, "warning", record_fault.text))


def connection_findings(session: Session) -> list[Finding]:
    """What is to be said of a connection as a whole: the limits that it met."""
    findings = []
    if session.dropped_holes:
        text = f"{session.dropped_holes} holes were given up because too much waited behind them"
        findings.append(Finding("limit.held", "warning", text))
    if session.correlator.overflow:
        text = f"{session.correlator.overflow} requests were given up because too many waited for an answer"
        findings.append(Finding("limit.pending", "warning", text))
    if session.shed_bytes:
        text = f"up to {session.shed_bytes} bytes of unfinished messages were let go because memory was short"
        findings.append(Finding("limit.memory", "warning", text))
    return findings


def _pairing(settled: Settled, asked: Message | None) -> list[Finding]:
    findings = []
    if settled.outcome == "request_missing":
        findings.append(Finding("response.request_missing", "note", "the capture does not hold the request"))
    elif settled.outcome == "unanswered" and settled.reason is not None:
        waits = settled.head is not None and settled.head.api_key in LONG_POLLS
        if not (waits and settled.reason == "capture_end"):
            severity = "note" if settled.reason in ("gap", "capture_end") else "warning"
            findings.append(Finding("request.unanswered", severity, _REASONS[settled.reason]))
    if settled.reused:
        text = "another request with this correlation id was waiting at the same time; paired in order of sending"
        findings.append(Finding("correlation.reused", "note", text))
    if settled.out_of_order:
        findings.append(Finding("correlation.out_of_order", "warning", "answered before an earlier request of the connection"))
    return findings


def _response_id(response: Frame | None) -> int | None:
    if response is None or len(response.data) < 8:
        return None
    return int.from_bytes(response.data[4:8], signed=True)
