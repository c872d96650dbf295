"""An exchange in the light of all that came before it: what its messages hold and speak of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from kdissect import schema
from kdissect.model import UNSTAMPED
from kdissect.protocol.contents.groups import UNKNOWN
from kdissect.protocol.contents.sasl import SaslToken
from kdissect.protocol.contents.unfold import NO_INNER, Inner, unfold, unfold_contents, unfolds
from kdissect.protocol.state import Observed, State, Whereabouts
from kdissect.protocol.topic_ids import may_carry_metadata, topic_records
from kdissect.schema.collect import NOTHING, Entities, collect
from kdissect.schema.message import DecodeOptions, Message, decode_request, decode_response
from kdissect.stream.framing import Frame

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36


class Told(NamedTuple):
    """What an exchange says beyond its own fields."""

    topics: list[str]
    """Distinct names in order of appearance; ids without a name as they are."""
    groups: list[str]
    error_codes: list[int]
    """Distinct, of the response and of what is wrapped in it, but 0."""
    throttle_time_ms: int | None
    principal: str | None
    """As whom the connection was authenticated when the request was sent."""
    observed: Observed


class Context:
    """Opens what stands inside messages, and keeps the :class:`~kdissect.protocol.state.State`.

    Exchanges must come in order of release.
    """

    def __init__(self, state: State, options: DecodeOptions) -> None:
        self.state = state
        self._options = options
        self._in_clear = replace(options, show_secrets=True, records="skip")
        self._with_records = replace(options, records="full", spans=False)

    def exchange(
        self, asked: Message | None, answered: Message | None, request: Frame | None, response: Frame | None, where: Whereabouts
    ) -> Told:
        """Opens the bodies in place and learns from them."""
        state = self.state
        principal = state.logins.principal(where.connection)
        observed = state.observe(asked, answered, where)
        inside, inside_answer = self._unfold(asked, answered)
        of_request = (_own(asked), inside.entities)
        of_response = (_own(answered), inside_answer.entities)
        spoken = [entities for entities in (*of_request, *of_response) if entities is not NOTHING]
        for entities in spoken:
            if entities.topic_names:
                state.learn_topics(entities.topic_names)
        if asked is not None and answered is not None and response is not None:
            self._learn_from_answer(asked, answered, response, where.connection)
        if asked is not None and asked.api_key == SASL_AUTHENTICATE and request is not None:
            observed = observed._replace(sasl=self._authenticate(request, response, asked, answered, where.connection))
        if self._options.records == "full":
            for message in (asked, answered):
                if message is not None:
                    unfold_contents(message, state.topic_name, show_secrets=self._options.show_secrets)
        return Told(
            self._names(spoken),
            list(dict.fromkeys(group for entities in spoken for group in entities.groups)),
            list(dict.fromkeys(code for entities in of_response for code in entities.error_codes)),
            of_response[0].throttle_time_ms,
            principal,
            observed,
        )

    def token(self, request: Frame | None, response: Frame | None, reason: str | None, connection: int) -> None:
        """Raw SASL tokens, which are no exchange (after SaslHandshake v0, KIP-43)."""
        asked, answered = (bytes(frame.data[4:]) if frame and frame.complete else None for frame in (request, response))
        self.state.logins.step(connection, asked, answered, asked_ns=_time(request), answered_ns=_time(response))
        if response is None and reason == "closed":
            self.state.logins.closed(connection)

    def _unfold(self, asked: Message | None, answered: Message | None) -> tuple[Inner, Inner]:
        known = asked or answered
        if known is None or not unfolds(known.api_key, known.version):
            return NO_INNER, NO_INNER
        body = None if asked is None else asked.body
        protocol = UNKNOWN if body is None else self.state.group_protocol(body.get("group_id"))
        inside = NO_INNER if asked is None else unfold(asked, self._options, protocol)
        if answered is None:
            return inside, NO_INNER
        return inside, unfold(answered, self._options, protocol, inside.wrapped)

    def _learn_from_answer(self, asked: Message, answered: Message, response: Frame, connection: int) -> None:
        if may_carry_metadata(asked.api_key, response.data):
            if self._options.records != "full":
                answered = decode_response(response.data[4:], asked.api_key, asked.version, options=self._with_records)
            self.state.learn_topics(dict(topic_records(answered)))
        elif asked.api_key == SASL_HANDSHAKE and asked.body and answered.body:
            code = answered.body.get("error_code")
            error = schema.error_name(code) if code else None
            self.state.logins.handshake(connection, str(asked.body.get("mechanism")), error)

    def _authenticate(
        self, request: Frame, response: Frame | None, asked: Message, answered: Message | None, connection: int
    ) -> tuple[SaslToken | None, SaslToken | None]:
        """The tokens are withheld in the messages; here they are looked into."""
        sent = _token(decode_request(request.data[4:], options=self._in_clear))
        got = error = None
        if response is not None and answered is not None:
            clear = decode_response(response.data[4:], asked.api_key, asked.version, options=self._in_clear)
            got = _token(clear)
            code = (clear.body or {}).get("error_code")
            error = schema.error_name(code) if code else None
        times = {"asked_ns": _time(request), "answered_ns": _time(response)}
        return self.state.logins.step(connection, sent, got, error=error, **times)

    def _names(self, spoken: Iterable[Entities]) -> list[str]:
        names: dict[str, None] = {}
        for entities in spoken:
            for topic in entities.mentions:
                names[(self.state.topic_name(topic.text) or topic.text) if topic.is_id else topic.text] = None
        return list(names)


def _own(message: Message | None) -> Entities:
    return NOTHING if message is None else collect(message.api_key, message.version, message.kind, message.body)


def _token(message: Message) -> bytes | None:
    token = (message.body or {}).get("auth_bytes")
    return token if isinstance(token, bytes) else None


def _time(frame: Frame | None) -> int | None:
    return None if frame is None or frame.last.time_ns == UNSTAMPED else frame.last.time_ns
