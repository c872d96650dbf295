"""Who fails to log in, who lacks rights, and whose password crosses the wire in clear text?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from kdissect.report.human import count
from kdissect.triage.bodies import asked_for
from kdissect.triage.error_kinds import AUTHENTICATION, AUTHORIZATION
from kdissect.triage.evidence import Client, Evidence, client_of, merged
from kdissect.triage.question import Batch, Problem, Question, Whole, clients_text, names, problem
from kdissect.triage.thresholds import Thresholds

if TYPE_CHECKING:
    from kdissect.exchange import Exchange

FAILED: Final = "auth.failed"
CLEARTEXT: Final = "auth.cleartext_password"
HANDSHAKE, AUTHENTICATE = 17, 36
READABLE: Final = {"PLAIN": "password", "OAUTHBEARER": "bearer token"}
"""Mechanism -> what it sends as it is (RFC 4616, RFC 7628); SCRAM and GSSAPI send proofs."""
MOST: Final = 5_000


class Auth:
    """Follows SASL logins, and refusals for lack of rights."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._rejected: dict[tuple[Client, str], Evidence] = {}
        self._forbidden: dict[tuple[str, str, str], Evidence] = {}
        self._readable: dict[tuple[str, bool], Evidence] = {}
        self._mechanism: dict[int, str] = {}
        self._logins: Counter[tuple[str, str, str, str | None]] = Counter()
        """(client address, mechanism, result, principal)."""

    def feed(self, batch: Batch) -> None:
        for exchange in batch.of(HANDSHAKE):
            self._handshake(exchange)
        for exchange in batch.of(AUTHENTICATE):
            self._authenticate(exchange)
        for exchange in batch.failed:
            for code in exchange.error_codes:
                if code in AUTHENTICATION:
                    self._reject(client_of(exchange), code, exchange)
                elif code in AUTHORIZATION:
                    what = (exchange.groups if code.startswith("GROUP") else exchange.topics) or ["the cluster"]
                    who = exchange.principal or str(client_of(exchange))
                    if (who, what[0], code) in self._forbidden or len(self._forbidden) < MOST:
                        self._forbidden.setdefault((who, what[0], code), Evidence()).add(exchange)

    def _reject(self, who: Client, code: str, exchange: Exchange) -> None:
        if (who, code) in self._rejected or len(self._rejected) < MOST:
            self._rejected.setdefault((who, code), Evidence()).add(exchange)

    def _handshake(self, exchange: Exchange) -> None:
        body = asked_for(exchange)
        mechanism = body.get("mechanism") if body else None
        if not isinstance(mechanism, str) or exchange.error_codes:
            return
        if len(self._mechanism) < MOST:
            self._mechanism[exchange.connection] = mechanism
        if exchange.api_version == 0 and mechanism in READABLE:
            # After v0 tokens follow without any header.
            self._read(mechanism, exchange)

    def _authenticate(self, exchange: Exchange) -> None:
        token = exchange.sasl[0] if exchange.sasl is not None else None
        mechanism = (token.mechanism if token is not None else None) or self._mechanism.get(exchange.connection)
        if token is not None and token.step in ("credentials", "initial-response") and mechanism in READABLE:
            self._read(mechanism, exchange)
        result = "failed" if exchange.error_codes else "succeeded" if exchange.principal is not None else "under way"
        if result != "under way" and len(self._logins) < MOST:
            host = exchange.client.rpartition(":")[0]
            self._logins[host, mechanism or "?", result, exchange.principal] += 1

    def _read(self, mechanism: str, exchange: Exchange) -> None:
        self._readable.setdefault((mechanism, _stays_home(exchange)), Evidence()).add(exchange)

    def conclude(self, whole: Whole) -> Iterable[Problem]:
        if self._rejected:
            evidence = merged(self._rejected.values())
            codes = sorted({code for _, code in self._rejected})
            yield problem(
                FAILED,
                "warning",
                "Logins fail",
                f"{count(evidence.count, 'login')} of {clients_text(evidence)} refused ({names(codes)}).",
                evidence,
                why="These clients do nothing at all, and try again; many refusals from one address may be somebody guessing.",
                advice="Compare user, password and mechanism with the broker's listener (sasl.enabled.mechanisms); was "
                "a password changed, "
                "or did a token expire?",
                details=[
                    {"client": str(who), "error": code, "logins": each.count}
                    for (who, code), each in list(self._rejected.items())[:100]
                ],
            )
        if self._forbidden:
            evidence = merged(self._forbidden.values())
            who = sorted({who for who, _, _ in self._forbidden})
            what = sorted({what for _, what, _ in self._forbidden})
            yield problem(
                FAILED,
                "warning",
                "Rights are missing",
                f"{count(evidence.count, 'request')} of {names(who)} refused for lack of rights on {names(what)}.",
                evidence,
                why="The client cannot do what it was made for; consumers may skip a topic silently.",
                advice="Grant the operation with kafka-acls, or correct the principal that the client logs in as.",
                details=[
                    {"principal": who, "resource": what, "error": code, "requests": each.count}
                    for (who, what, code), each in list(self._forbidden.items())[:100]
                ],
            )
        for (mechanism, home), evidence in self._readable.items():
            secret = READABLE[mechanism]
            yield problem(
                CLEARTEXT,
                "note" if home else "critical",
                f"A {secret} crosses the wire in clear text",
                f"{count(evidence.count, 'login')} of {clients_text(evidence)} sent their {secret} readable by anybody "
                "on the way (SASL "
                f"{mechanism} without TLS)" + (", though only within one machine." if home else "."),
                evidence,
                why=f"Whoever can read this capture, or tap the network, has the {secret}.",
                advice=f"Use SASL_SSL, or SCRAM instead of {mechanism}; change the credentials that this capture holds, "
                "and treat the file "
                "as a secret.",
            )

    def table(self) -> Any:
        return [
            {"client": host, "mechanism": mechanism, "result": result, "principal": principal, "logins": number}
            for (host, mechanism, result, principal), number in self._logins.most_common()
        ]


def _stays_home(exchange: Exchange) -> bool:
    """Whether both ends are on one machine: the bytes cross no network."""
    ends = [end.rpartition(":")[0].strip("[]") for end in (exchange.client, exchange.broker)]
    return ends[0] == ends[1] or all(ip_address(end).is_loopback for end in ends)


def question() -> Question:
    """The question about logins and rights."""
    return Question("auth", (FAILED, CLEARTEXT), Auth)
