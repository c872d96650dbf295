"""Logins: what the tokens are, and whom they make of a connection."""

from __future__ import annotations

import json
import random
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from kdissect.protocol.contents.sasl import SaslToken, read_client_token, read_server_token
from tests.protocol.protocol_talk import Talk, dissect, write

HANDSHAKE, AUTHENTICATE, LIST_GROUPS, CREATE_TOKEN = 17, 36, 16, 38
FIRST = b"n,,n=alice,r=nonce"
SERVER_FIRST = b"r=nonce+more,s=c2FsdA==,i=8192"
FINAL, SERVER_FINAL = b"c=biws,r=nonce+more,p=cHJvb2Y=", b"v=dmVyaWZpZXI="
LOGINS = {
    "PLAIN": [(b"\0alice\0hush", b"")],
    "SCRAM-SHA-512": [(FIRST, SERVER_FIRST), (FINAL, SERVER_FINAL)],
    "OAUTHBEARER": [],
}


def jwt(**claims: object) -> bytes:
    body = urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b"n,,\x01auth=Bearer e30." + body + b".c2ln\x01traceId=7\x01\x01"


LOGINS["OAUTHBEARER"] = [(jwt(sub="alice"), b"")]


def test_plain() -> None:
    assert read_client_token(b"\0alice\0hush", "PLAIN", first=True) == SaslToken("PLAIN", "credentials", "alice")
    assert read_client_token(b"alice\0alice\0hush", None, first=True) == SaslToken("PLAIN", "credentials", "alice")
    assert read_client_token(b"garbage", "PLAIN", first=True) == SaslToken("PLAIN", "token")


def test_scram() -> None:
    mechanism = "SCRAM-SHA-256"
    first = read_client_token(b"n,,n=a=2Cb=3Dc,r=xyz", mechanism, first=True)
    assert first == SaslToken(mechanism, "client-first", "a,b=c")
    token = read_client_token(b"n,,n=tokenid,r=xyz,tokenauth=true", mechanism, first=True)
    assert token == SaslToken(mechanism, "client-first", "tokenid", delegation_token=True)
    assert read_server_token(SERVER_FIRST, mechanism) == SaslToken(mechanism, "server-first", iterations=8192)
    assert read_client_token(FINAL, mechanism, first=False) == SaslToken(mechanism, "client-final")
    assert read_server_token(SERVER_FINAL, mechanism) == SaslToken(mechanism, "server-final")
    assert read_server_token(b"e=invalid-proof", mechanism).error == "invalid-proof"
    assert read_client_token(FIRST, None, first=True) == SaslToken("SCRAM", "client-first", "alice")


def test_oauthbearer() -> None:
    token = read_client_token(jwt(sub="alice", scope="x"), "OAUTHBEARER", first=True)
    assert token == SaslToken("OAUTHBEARER", "initial-response", "alice", extensions=(("traceId", "7"),))
    opaque = b"n,a=bob,\x01auth=Bearer opaque\x01\x01"
    assert read_client_token(opaque, None, first=True) == SaslToken("OAUTHBEARER", "initial-response", "bob")
    assert read_server_token(b'{"status":"invalid_token"}', "OAUTHBEARER").error == "invalid_token"


def test_gssapi_is_opaque() -> None:
    assert read_client_token(b"\x60\x82\x01\x02abc", None, first=True) == SaslToken("GSSAPI", "token")
    assert read_server_token(b"\x60\x33", "GSSAPI") == SaslToken("GSSAPI", "token")
    assert read_server_token(b"", "GSSAPI") == SaslToken("GSSAPI", "empty")


def test_no_token_holds_a_secret() -> None:
    for mechanism, steps in LOGINS.items():
        for number, (sent, got) in enumerate(steps):
            told = repr(read_client_token(sent, mechanism, first=not number)) + repr(read_server_token(got, mechanism))
            for secret in ("hush", "c2FsdA", "cHJvb2Y", "dmVyaWZpZXI", "c2ln", "nonce"):
                assert secret not in told


def test_hostile_tokens_never_raise() -> None:
    rng = random.Random(1)
    samples = [token for steps in LOGINS.values() for pair in steps for token in pair] + [b"\x60\x82", bytes(100_000)]
    for _ in range(3000):
        data = bytearray(rng.choice(samples) + rng.randbytes(rng.randrange(4)))
        for _ in range(rng.randrange(4)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        for mechanism in (None, "PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI", "OTHER"):
            read_client_token(bytes(data), mechanism, first=rng.random() < 0.5)
            read_server_token(bytes(data), mechanism)


def groups(talk: Talk) -> Talk:
    return talk.ask(LIST_GROUPS, 0, {}, {"error_code": 0, "groups": []})


def login(talk: Talk, mechanism: str, steps: list[tuple[bytes, bytes]], *, raw: bool, error: int = 0) -> Talk:
    talk.ask(HANDSHAKE, 0 if raw else 1, {"mechanism": mechanism}, {"error_code": 0, "mechanisms": [mechanism]})
    for number, (sent, got) in enumerate(steps):
        code = error if number == len(steps) - 1 else 0
        if raw:
            talk.token(sent, got)
        else:
            talk.ask(AUTHENTICATE, 0, {"auth_bytes": sent}, {"error_code": code, "auth_bytes": got})
    return talk


@pytest.mark.parametrize("raw", [False, True], ids=["authenticate", "raw"])
@pytest.mark.parametrize("mechanism", LOGINS)
def test_the_principal_of_later_exchanges(tmp_path: Path, mechanism: str, raw: bool) -> None:
    talk = groups(groups(login(Talk(), mechanism, LOGINS[mechanism], raw=raw)))
    path = write(tmp_path / "a.pcap", talk)
    exchanges, dissection = dissect(path)
    assert [e.principal for e in exchanges if e.api_key == LIST_GROUPS] == ["User:alice"] * 2
    assert {e.principal for e in exchanges if e.api_key != LIST_GROUPS} == {None}
    # Raw tokens are no exchanges.
    assert len([e for e in exchanges if e.api_key == AUTHENTICATE]) == (0 if raw else len(LOGINS[mechanism]))
    known = dissection.state.logins.of(1)
    assert known is not None
    assert (known.mechanism, known.result, known.principal, known.count) == (mechanism, "succeeded", "User:alice", 1)
    assert [step.sender for step in known.steps] == ["client", "broker"] * len(LOGINS[mechanism])
    assert "hush" not in repr([e.to_contract() for e in exchanges])


def test_steps_of_authenticate_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", login(Talk(), "SCRAM-SHA-512", LOGINS["SCRAM-SHA-512"], raw=False))
    exchanges, _ = dissect(path)
    steps = [[token and token.step for token in e.sasl] for e in exchanges if e.sasl is not None]
    assert steps == [["client-first", "server-first"], ["client-final", "server-final"]]
    row = exchanges[-1].to_contract()
    assert row["request"]["auth_bytes"] == {"redacted": len(FINAL)}
    assert row["response"]["auth_bytes"] == {"redacted": len(SERVER_FINAL)}
    exchanges, _ = dissect(path, show_secrets=True)
    assert exchanges[-1].to_contract()["request"]["auth_bytes"] == FINAL


def test_a_failed_login_makes_no_principal(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", groups(login(Talk(), "PLAIN", LOGINS["PLAIN"], raw=False, error=58)))
    exchanges, dissection = dissect(path)
    assert {e.principal for e in exchanges} == {None}
    known = dissection.state.logins.of(1)
    assert known is not None and (known.result, known.error) == ("failed", "SASL_AUTHENTICATION_FAILED")


def test_a_mechanism_that_the_broker_lacks(tmp_path: Path) -> None:
    talk = Talk().ask(HANDSHAKE, 1, {"mechanism": "PLAIN"}, {"error_code": 33, "mechanisms": ["GSSAPI"]})
    _, dissection = dissect(write(tmp_path / "a.pcap", talk))
    known = dissection.state.logins.of(1)
    assert known is not None
    assert (known.mechanism, known.result, known.error) == ("PLAIN", "failed", "UNSUPPORTED_SASL_MECHANISM")


def test_a_raw_login_refused_by_closing(tmp_path: Path) -> None:
    talk = Talk().ask(HANDSHAKE, 0, {"mechanism": "PLAIN"}, {"error_code": 0, "mechanisms": []}).token(b"\0a\0b", None).close()
    _, dissection = dissect(write(tmp_path / "a.pcap", talk))
    known = dissection.state.logins.of(1)
    assert known is not None and (known.result, known.principal) == ("failed", None)


def test_gssapi_tells_no_principal(tmp_path: Path) -> None:
    steps = [(b"\x60\x82abc", b"\x60\x10xyz"), (b"", b"\x05\x04abc"), (b"\x05\x04def", b"")]
    exchanges, dissection = dissect(write(tmp_path / "a.pcap", groups(login(Talk(), "GSSAPI", steps, raw=False))))
    assert {e.principal for e in exchanges} == {None}
    known = dissection.state.logins.of(1)
    assert known is not None and (known.mechanism, known.result) == ("GSSAPI", "succeeded")


def test_a_delegation_token_stands_for_its_owner(tmp_path: Path) -> None:
    created = {"principal_type": "User", "principal_name": "owner", "token_id": "token-1", "hmac": b"hush"}
    steps = [(b"n,,n=token-1,r=nonce,tokenauth=true", SERVER_FIRST), (FINAL, SERVER_FINAL)]
    bearer = groups(login(Talk(50001), "SCRAM-SHA-256", steps, raw=False))
    maker = Talk(50000).ask(CREATE_TOKEN, 3, {"renewers": [], "max_lifetime_ms": -1}, created)
    exchanges, _ = dissect(write(tmp_path / "a.pcap", maker, bearer))
    assert [e.principal for e in exchanges if e.api_key == LIST_GROUPS] == ["User:owner"]
    exchanges, _ = dissect(write(tmp_path / "b.pcap", bearer))
    assert [e.principal for e in exchanges if e.api_key == LIST_GROUPS] == [None]


def test_authentication_anew_on_the_same_connection(tmp_path: Path) -> None:
    talk = login(Talk(), "PLAIN", LOGINS["PLAIN"], raw=False)
    groups(login(groups(talk), "PLAIN", LOGINS["PLAIN"], raw=False))
    exchanges, dissection = dissect(write(tmp_path / "a.pcap", talk))
    assert [e.principal for e in exchanges if e.api_key == LIST_GROUPS] == ["User:alice"] * 2
    assert [e.principal for e in exchanges if e.api_key == AUTHENTICATE] == [None, "User:alice"]
    known = dissection.state.logins.of(1)
    assert known is not None and known.count == 2
