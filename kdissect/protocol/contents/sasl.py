"""The tokens of a SASL login: which step each is, and who logs in.

Mechanisms that Kafka ships: PLAIN (RFC 4616), SCRAM-SHA-256 and -512 (RFC 5802,
with Kafka's extension ``tokenauth`` for delegation tokens, KIP-48), OAUTHBEARER
(RFC 7628) and GSSAPI (RFC 4752), whose tokens say nothing without the keys.
Nothing here holds a password, salt, proof or token; what it holds is safe to show.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from binascii import Error as NoBase64
from dataclasses import dataclass
from typing import Any

PLAIN, OAUTHBEARER, GSSAPI = "PLAIN", "OAUTHBEARER", "GSSAPI"
SCRAM = "SCRAM"
"""What SCRAM is called where the capture does not show with which hash."""

LARGEST_TEXT = 1 << 16
"""Tokens above this size are not looked into (``sasl.server.max.receive.size`` is 512 kB)."""
LONGEST = 1024
"""Characters of a name in a token that are kept."""
MOST_EXTENSIONS = 16


@dataclass(frozen=True, slots=True)
class SaslToken:
    """One token of a login."""

    mechanism: str | None
    """As SaslHandshake named it, else as the token itself shows it."""
    step: str
    """``credentials`` (PLAIN), ``client-first``, ``server-first``, ``client-final``, ``server-final`` (SCRAM),
    ``initial-response`` (OAUTHBEARER), ``error`` (a server's), ``empty``, or ``token`` for what is opaque."""
    user: str | None = None
    """Who logs in: PLAIN's and SCRAM's user name, OAUTHBEARER's subject; a delegation token's id."""
    iterations: int | None = None
    """SCRAM's, in ``server-first``."""
    delegation_token: bool = False
    """``user`` is the id of a delegation token."""
    error: str | None = None
    """What the server says went wrong."""
    extensions: tuple[tuple[str, str], ...] = ()
    """OAUTHBEARER's SASL extensions (KIP-342)."""


def read_client_token(data: bytes, mechanism: str | None, *, first: bool) -> SaslToken:
    """A token from a client; ``first``: it is the first of its login.  Never raises."""
    if not data:
        return SaslToken(mechanism, "empty")
    said = _family(mechanism)
    text = _text(data)
    if said in (None, PLAIN) and (token := _plain(text, mechanism)):
        return token
    if said in (None, SCRAM) and (token := _scram_client(text, mechanism, first)):
        return token
    if said in (None, OAUTHBEARER) and (token := _bearer(text, mechanism)):
        return token
    if said is None and first and data[:1] == b"\x60":
        # The tag of GSS-API's initial token (RFC 2743, section 3.1).
        return SaslToken(GSSAPI, "token")
    return SaslToken(mechanism, "token")


def read_server_token(data: bytes, mechanism: str | None) -> SaslToken:
    """A token from a broker.  Never raises."""
    if not data:
        return SaslToken(mechanism, "empty")
    said = _family(mechanism)
    text = _text(data)
    if said == SCRAM and text is not None:
        values = _attributes(text)
        if "e" in values:
            return SaslToken(mechanism, "server-final", error=values["e"][:LONGEST])
        if "v" in values:
            return SaslToken(mechanism, "server-final")
        if "r" in values and "i" in values:
            return SaslToken(mechanism, "server-first", iterations=_number(values["i"]))
    if said == OAUTHBEARER:
        return SaslToken(mechanism, "error", error=_bearer_error(text))
    return SaslToken(mechanism, "token")


def _family(mechanism: str | None) -> str | None:
    return SCRAM if mechanism is not None and mechanism.startswith("SCRAM") else mechanism


def _text(data: bytes) -> str | None:
    if len(data) > LARGEST_TEXT:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _plain(text: str | None, mechanism: str | None) -> SaslToken | None:
    """``[authzid] NUL authcid NUL passwd``."""
    parts = [] if text is None else text.split("\0")
    if len(parts) != 3 or not parts[1]:
        return None
    return SaslToken(mechanism or PLAIN, "credentials", parts[1][:LONGEST])


def _scram_client(text: str | None, mechanism: str | None, first: bool) -> SaslToken | None:
    if text is None:
        return None
    if not first:
        values = _attributes(text)
        return SaslToken(mechanism or SCRAM, "client-final") if "c" in values and "p" in values else None
    # gs2-header: channel binding flag and authzid, each with a comma behind it.
    flag, _, rest = text.partition(",")
    _, comma, bare = rest.partition(",")
    values = _attributes(bare)
    if flag[:1] not in ("n", "y", "p") or not comma or "n" not in values or "r" not in values:
        return None
    user = values["n"].replace("=2C", ",").replace("=3D", "=")
    token = values.get("tokenauth", "").lower() == "true"
    return SaslToken(mechanism or SCRAM, "client-first", user[:LONGEST], delegation_token=token)


def _attributes(text: str) -> dict[str, str]:
    return {name: value for name, equals, value in (part.partition("=") for part in text.split(",")) if equals}


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _bearer(text: str | None, mechanism: str | None) -> SaslToken | None:
    """gs2-header, then ``key=value`` pairs each with a %x01 behind it (and one in front of the first)."""
    if text is None or "\x01auth=" not in text:
        return None
    header, *pairs = text.split("\x01")
    values = dict(pair.partition("=")[::2] for pair in pairs if "=" in pair)
    scheme, _, token = values.pop("auth", "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    authzid = next((part[2:] for part in header.split(",") if part.startswith("a=")), None)
    user = (_subject(token) or authzid or "")[:LONGEST] or None
    extensions = tuple((name[:LONGEST], value[:LONGEST]) for name, value in list(values.items())[:MOST_EXTENSIONS])
    return SaslToken(mechanism or OAUTHBEARER, "initial-response", user, extensions=extensions)


def _subject(token: str) -> str | None:
    """The claim ``sub`` of a JWT (RFC 7519), which names the principal unless a broker is configured otherwise."""
    parts = token.split(".")
    if len(parts) < 2:
        return None
    try:
        raw = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
    except (NoBase64, ValueError):
        return None
    subject = _json_object(raw).get("sub")
    return subject if isinstance(subject, str) else None


def _bearer_error(text: str | None) -> str | None:
    status = _json_object(b"" if text is None else text.encode()).get("status")
    return status[:LONGEST] if isinstance(status, str) else None


def _json_object(raw: bytes) -> dict[str, Any]:
    import orjson

    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
