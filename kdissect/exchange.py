"""A request with its response, or the reason why one of them is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kdissect.model import UNSTAMPED
from kdissect.schema.message import Message
from kdissect.stream.framing import Frame

if TYPE_CHECKING:
    from kdissect.protocol.contents.sasl import SaslToken


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth telling the user."""

    code: str
    """Stable name, such as ``frame.truncated``."""
    severity: str
    """``critical``, ``warning`` or ``note``."""
    text: str


@dataclass(slots=True, eq=False)
class Exchange:
    """One exchange; the attributes are the keys of the NDJSON contract.

    Times are nanoseconds since the epoch (None: absent or unstamped) and are
    written with ``time_digits`` decimals, the capture's own precision.
    """

    index: int
    file: str
    response_file: str | None
    """The capture of the response's last packet where that is another one."""
    connection: int
    connection_id: str
    client: str
    broker: str
    request_time_ns: int | None
    response_time_ns: int | None
    time_digits: int
    api: str | None
    api_key: int | None
    api_version: int | None
    correlation_id: int | None
    client_id: str | None
    request_bytes: int | None
    response_bytes: int | None
    request_packets: tuple[int, int] | None
    response_packets: tuple[int, int] | None
    outcome: str
    unanswered_reason: str | None
    error_codes: list[str] = field(default_factory=list)
    throttle_time_ms: int | None = None
    topics: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    principal: str | None = None
    findings: list[Finding] = field(default_factory=list)
    request: Message | None = None
    response: Message | None = None
    request_frame: memoryview | None = None
    """The bytes from the size prefix on, as far as they were captured."""
    response_frame: memoryview | None = None
    broker_id: int | None = None
    """Which broker answers, as far as earlier messages tell."""
    fetch_partitions: Mapping[str, tuple[int, ...]] | None = None
    """Topic (its id, where the capture shows no name) -> partitions that a Fetch or ShareFetch asks for, those that its fetch
    session (KIP-227) remembers included; None for others, and where the session began before the capture."""
    sasl: tuple[SaslToken | None, SaslToken | None] | None = None
    """What the tokens of a SaslAuthenticate are, of client and broker; without secrets."""

    @property
    def latency_ms(self) -> float | None:
        """Milliseconds from request to response; negative where the capture says so."""
        if self.request_time_ns is None or self.response_time_ns is None:
            return None
        return (self.response_time_ns - self.request_time_ns) / 1e6

    def to_contract(self, bodies: bool = True) -> dict[str, Any]:
        """The exchange as the output contract has it, in its order; JSON-ready for :func:`kdissect.wire.json.dumps`."""
        row: dict[str, Any] = {"index": self.index, "file": self.file}
        if self.response_file is not None:
            row["response_file"] = self.response_file
        row |= {
            "connection": self.connection,
            "connection_id": self.connection_id,
            "client": self.client,
            "broker": self.broker,
            "request_time": rfc3339(self.request_time_ns, self.time_digits),
            "response_time": rfc3339(self.response_time_ns, self.time_digits),
            "latency_ms": self.latency_ms,
            "api": self.api,
            "api_key": self.api_key,
            "api_version": self.api_version,
            "correlation_id": self.correlation_id,
            "client_id": self.client_id,
            "request_bytes": self.request_bytes,
            "response_bytes": self.response_bytes,
            "request_packets": self.request_packets,
            "response_packets": self.response_packets,
            "outcome": self.outcome,
            "unanswered_reason": self.unanswered_reason,
            "error_codes": self.error_codes,
            "throttle_time_ms": self.throttle_time_ms,
            "topics": self.topics,
            "groups": self.groups,
            "principal": self.principal,
            "findings": [{"code": f.code, "severity": f.severity, "text": f.text} for f in self.findings],
        }
        if bodies:
            row["request"] = None if self.request is None else self.request.body
            row["response"] = None if self.response is None else self.response.body
        return row


def rfc3339(time_ns: int | None, digits: int) -> str | None:
    """A time in UTC with that many decimals of a second, such as ``2026-11-21T10:00:00.000123Z`` (RFC 3339)."""
    if time_ns is None or time_ns == UNSTAMPED:
        return None
    seconds, fraction = divmod(time_ns, 1_000_000_000)
    text = _seconds_text(seconds)
    if text is None:
        return None
    return f"{text}.{fraction:09}"[: len(text) + 1 + digits] + "Z" if digits else text + "Z"


@lru_cache(maxsize=1024)
def _seconds_text(seconds: int) -> str | None:
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S") if moment.year >= 1000 else f"{moment.year:04}-{moment:%m-%dT%H:%M:%S}"


def stamp(frame: Frame | None) -> int | None:
    """The time at which a frame was complete, None where the capture has none."""
    return None if frame is None or frame.last.time_ns == UNSTAMPED else frame.last.time_ns
