"""Who is logged in on which connection, learnt from SASL (KIP-43, KIP-152, KIP-368)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kdissect.protocol.contents.sasl import (
    GSSAPI,
    OAUTHBEARER,
    PLAIN,
    SCRAM,
    SaslToken,
    read_client_token,
    read_server_token,
)
from kdissect.protocol.state.tables import Table

CONNECTIONS = 100_000
"""Connections whose logins are remembered."""
STEPS = 16
"""Steps of a login that are kept; SCRAM has four."""


@dataclass(slots=True)
class Step:
    """One token of a login."""

    sender: Literal["client", "broker"]
    token: SaslToken
    time_ns: int | None


@dataclass(slots=True)
class Login:
    """The logins of one connection: the latest, and what the ones before it left."""

    mechanism: str | None = None
    """That of the last SaslHandshake, else as the tokens show."""
    steps: list[Step] = field(default_factory=list)
    """Of the latest login, re-authentications included."""
    result: Literal["open", "succeeded", "failed"] = "open"
    error: str | None = None
    principal: str | None = None
    """``User:alice`` once a login has succeeded; None where the tokens do not tell (GSSAPI)."""
    count: int = 0
    """Logins that succeeded."""


class Logins:
    """Logins by connection number."""

    def __init__(self, limit: int = CONNECTIONS) -> None:
        self._logins: Table[int, Login] = Table(limit)
        self.token_owners: Table[str, str] = Table(limit)
        """Delegation token id -> principal of its owner, as far as the capture shows it."""

    def of(self, connection: int) -> Login | None:
        """What is known of the connection's logins."""
        return self._logins.get(connection)

    def principal(self, connection: int) -> str | None:
        """The user that the connection is authenticated as by now."""
        login = self._logins.get(connection)
        return None if login is None else login.principal

    def handshake(self, connection: int, mechanism: str, error: str | None) -> None:
        """A SaslHandshake was answered; ``error``: name of the error code, None for none."""
        login = self._login(connection)
        login.mechanism, login.steps, login.error = mechanism, [], error
        login.result = "open" if error is None else "failed"

    def step(
        self,
        connection: int,
        asked: bytes | None,
        answered: bytes | None,
        *,
        error: str | None = None,
        asked_ns: int | None = None,
        answered_ns: int | None = None,
    ) -> tuple[SaslToken | None, SaslToken | None]:
        """One token of the client and the broker's answer; None for what the capture lacks.

        ``error``: name of the error code in the answer.  Returns what the tokens are.
        """
        login = self._login(connection)
        if login.result != "open":
            # Another login without a handshake of its own; it has that of the first.
            login.result, login.steps, login.error = "open", [], None
        sent = got = None
        if asked is not None:
            first = not any(step.sender == "client" for step in login.steps)
            sent = read_client_token(asked, login.mechanism, first=first)
            login.mechanism = login.mechanism or sent.mechanism
            self._add(login, Step("client", sent, asked_ns))
        if answered is not None:
            got = read_server_token(answered, login.mechanism)
            self._add(login, Step("broker", got, answered_ns))
            self._conclude(login, sent, got, error)
        return sent, got

    def closed(self, connection: int) -> None:
        """The broker closed the connection instead of answering a raw token: its way to refuse a login (KIP-43)."""
        login = self._login(connection)
        if login.result == "open":
            login.result, login.error = "failed", "the connection was closed"

    def _conclude(self, login: Login, sent: SaslToken | None, got: SaslToken, error: str | None) -> None:
        mechanism = login.mechanism or ""
        if error is not None or got.error is not None:
            login.result, login.error = "failed", got.error or error
        elif mechanism.startswith(SCRAM):
            if got.step == "server-final":
                self._succeeded(login)
        elif mechanism in (PLAIN, OAUTHBEARER):
            if got.step == "empty" and sent is not None and sent.step != "empty":
                self._succeeded(login)
        elif mechanism == GSSAPI and got.step == "empty":
            # The broker's last answer has no token; who it was, only the ticket tells.
            self._succeeded(login)

    def _succeeded(self, login: Login) -> None:
        login.result = "succeeded"
        login.count += 1
        who = next((step.token for step in login.steps if step.token.user), None)
        if who is None or who.user is None:
            return
        login.principal = self.token_owners.get(who.user) if who.delegation_token else f"User:{who.user}"

    def _add(self, login: Login, step: Step) -> None:
        if len(login.steps) < STEPS:
            login.steps.append(step)

    def _login(self, connection: int) -> Login:
        login = self._logins.get(connection)
        if login is None:
            login = self._logins[connection] = Login()
        return login
