"""``kdissect decode`` as a user runs it."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from kdissect.cli.app import run
from kdissect.cli.given_bytes import read_bytes
from kdissect.schema.encode import encode_request, encode_response
from kdissect.wire.records_writer import write_batch

REQUEST = encode_request(18, 3, 7, "me", {"client_software_name": "librdkafka", "client_software_version": "2.8.0"}, sized=False)
SIZED = len(REQUEST).to_bytes(4, "big") + REQUEST
FETCHED = encode_response(
    1,
    12,
    99,
    {
        "responses": [
            {
                "topic": "orders",
                "partitions": [
                    {
                        "partition_index": 3,
                        "error_code": 0,
                        "records": write_batch(
                            [{"offset": 5, "timestamp": 1700000000000, "key": b"k", "value": b"v", "headers": []}]
                        ),
                    }
                ],
            }
        ]
    },
    sized=False,
)


@pytest.fixture
def kdissect(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def call(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        code = run(["decode", *arguments])
        return (code, *capfd.readouterr())

    return call


def dump(data: bytes, style: str) -> bytes:
    """As xxd, hexdump -C and Wireshark print."""
    lines = []
    for at in range(0, len(data), 16):
        part = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        if style == "xxd":
            pairs = " ".join(part[i : i + 2].hex() for i in range(0, len(part), 2))
            lines.append(f"{at:08x}: {pairs:<39}  {text}")
        elif style == "hexdump":
            lines.append(f"{at:08x}  {part[:8].hex(' '):<23}  {part[8:].hex(' '):<23}  |{text}|")
        else:
            lines.append(f"{at:04x}   {part.hex(' '):<47}   {text}")
    if style == "hexdump":
        lines.append(f"{len(data):08x}")
    return "\n".join(lines).encode() + b"\n"


SPELLINGS = {
    "plain": REQUEST.hex().encode(),
    "blanks": REQUEST.hex(" ").upper().encode(),
    "colons": REQUEST.hex(":").encode(),
    "0x": b", ".join(b"0x%02x" % byte for byte in REQUEST),
    "escapes": b"".join(b"\\x%02x" % byte for byte in REQUEST),
    "lines": b"\n".join(REQUEST.hex()[i : i + 32].encode() for i in range(0, 2 * len(REQUEST), 32)) + b"\n",
    "groups": REQUEST.hex(" ", 2).encode(),
    "base64": b64encode(REQUEST),
    "base64 lines": b64encode(REQUEST)[:20] + b"\r\n" + b64encode(REQUEST)[20:] + b"\n",
    "raw": REQUEST,
    **{style: dump(REQUEST, style) for style in ("xxd", "hexdump", "wireshark")},
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_bytes_are_read_however_they_are_written(spelling: str) -> None:
    assert read_bytes(SPELLINGS[spelling]) == REQUEST


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_request_says_itself_what_it_is(kdissect, spelling: str) -> None:
    code, out, err = kdissect("-", stdin=SPELLINGS[spelling])
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "request: ApiVersions v3"
    assert 'client_software_name: "librdkafka"' in out and "client_id: me" in out and "correlation_id: 7" in out


def test_arguments_and_files(kdissect, tmp_path: Path) -> None:
    expected = kdissect("-", stdin=REQUEST)
    assert kdissect(REQUEST.hex()) == expected
    assert kdissect(*REQUEST.hex(" ").split()) == expected
    assert kdissect(SIZED.hex()) == expected
    file = tmp_path / "message"
    for content in (REQUEST, SIZED, SIZED.hex().encode(), b64encode(SIZED)):
        file.write_bytes(content)
        assert kdissect(str(file)) == expected


def test_a_response_with_records(kdissect) -> None:
    said = ("--api", "fetch", "--version", "v12", "--kind", "response")
    code, out, err = kdissect(*said, FETCHED.hex())
    assert (code, err) == (0, "") and out.splitlines()[0] == "response: Fetch v12"
    assert "orders" in out and "partition_index: 3" in out and "record @ 5" in out
    told = json.loads(kdissect(*said, "-f", "json", FETCHED.hex())[1])
    assert (told["api"], told["api_key"], told["api_version"], told["kind"]) == ("Fetch", 1, 12, "response")
    assert (told["header"], told["fault"], told["trailing"], told["findings"]) == ({"correlation_id": 99}, None, 0, [])
    (batch,) = told["body"]["responses"][0]["partitions"][0]["records"]
    assert batch["crc_valid"] and batch["records"][0]["value"] == "v"
    assert kdissect(*said[:4], FETCHED.hex())[1] == out


def test_a_correlation_id_that_looks_like_a_size_is_none(kdissect) -> None:
    body = {"error_code": 27}
    for correlation in (2, 6):
        answer = encode_response(12, 0, correlation, body, sized=False)
        assert len(answer) == 6
        _, out, err = kdissect("--api", "Heartbeat", "--version", "0", answer.hex())
        assert err == "" and f"correlation_id: {correlation}" in out and "REBALANCE_IN_PROGRESS" in out
    sized = encode_response(12, 0, 6, body)
    _, out, err = kdissect("--api", "Heartbeat", "--version", "0", sized.hex())
    assert err == "" and "correlation_id: 6" in out


def test_size_by_order(kdissect) -> None:
    _, out, err = kdissect("--size", (SIZED + b"more").hex())
    assert "ApiVersions v3" in out and "4 bytes after the message are left out" in err
    _, out, err = kdissect("--size", SIZED[:-3].hex())
    assert "3 bytes of the message are missing" in err and "here decoding ended" in out
    assert "4 bytes after" in kdissect((SIZED + b"more").hex())[2]
    code, out, err = kdissect("--no-size", SIZED.hex())
    assert code == 0 and out.startswith("request: Produce v")


def test_offsets_and_bytes_of_every_field(kdissect) -> None:
    _, out, _ = kdissect("--bytes", REQUEST.hex())
    assert out.startswith("offset  len\n") and "0b 6c 69 62 72" in out
    said = [line.split()[:2] for line in out.splitlines() if "client_software_version" in line]
    assert said == [[str(len(REQUEST) - 7), "6"]]


def test_what_is_cut_or_too_long_is_shown_as_far_as_it_goes(kdissect) -> None:
    code, out, err = kdissect(REQUEST[:-4].hex())
    assert code == 0 and "librdkafka" in out and "here decoding ended in client_software_version" in out
    assert err.startswith("kdissect: warning: not decoded to its end")
    code, out, err = kdissect((REQUEST + b"\0\0").hex())
    assert code == 0 and "2 bytes left over" in out and "2 bytes are left over" in err
    fault = json.loads(kdissect("-f", "json", REQUEST[:-4].hex())[1])["fault"]
    assert (fault["kind"], fault["path"]) == ("more", "client_software_version")


def test_unknown_keys_and_versions_keep_the_header(kdissect) -> None:
    code, out, err = kdissect("03e8 0001 00000005 0002 6d65 ffff")
    assert code == 0 and "Unknown(1000) v1" in out and "client_id: me" in out and "no API has key 1000" in err


def test_another_api_than_the_header_says_is_told(kdissect) -> None:
    _, out, err = kdissect("--api", "Fetch", "--version", "3", "--kind", "request", REQUEST.hex())
    assert "ApiVersions v3" in out and "the header says ApiVersions v3, not Fetch v3" in err


def test_secrets_and_contents(kdissect) -> None:
    token = encode_request(36, 2, 1, None, {"auth_bytes": b"\0user\0password"}, sized=False).hex()
    secret = b"password".hex(" ")
    for hidden in (kdissect(token)[1], kdissect("--bytes", token)[1], kdissect("-f", "json", token)[1]):
        assert "password" not in hidden and secret not in hidden
    assert secret in kdissect("--show-secrets", token)[1] and secret in kdissect("--show-secrets", "--bytes", token)[1]
    subscription = b"\0\1" + b"\0\0\0\1" + b"\0\6orders" + b"\xff" * 4 + b"\0" * 4
    body = {
        "group_id": "g",
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription}],
    }
    joined = encode_request(11, 0, 1, None, body, sized=False).hex()
    assert "ConsumerProtocolSubscription v1" in kdissect(joined)[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("zz",), "'zz' is neither a file nor bytes in hex or base64"),
        (("missing.bin",), "'missing.bin' is neither a file"),
        (("",), "neither a file nor bytes"),
        (("--as", "hex", "12345"), "5 digits, an odd number"),
        (("--as", "hex", "12g4"), "'g' is no hexadecimal digit"),
        (("--as", "base64", "a%"), "this is not base64"),
        (("--as", "raw", "0012"), "raw bytes come from a file"),
        (("--api", "Fetch", "00"), "give --version"),
        (("--kind", "response", "00"), "give --api and --version"),
        (("--api", "Fetch", "--version", "99", "00"), "Fetch has versions 0 to 18, not 99"),
        (("--api", "Nope", "--version", "1", "00"), "there is no API 'Nope'"),
        (("--size", "ffffffff00"), "there is no size in front"),
        ((), "Missing argument"),
    ],
)
def test_one_clear_line_for_wrong_usage(kdissect, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = kdissect(*arguments)
    assert (code, out) == (2, "") and words in err and len(err.splitlines()) == 1


def test_input_that_cannot_be_read(kdissect, tmp_path: Path) -> None:
    code, out, err = kdissect(str(tmp_path))
    assert (code, out) == (1, "") and "Is a directory" in err and len(err.splitlines()) == 1
    code, _, err = kdissect("-")
    assert code == 2 and "there are no bytes in it" in err


def test_any_bytes_end_in_a_tree(kdissect) -> None:
    for at in range(len(REQUEST)):
        bad = bytearray(REQUEST)
        bad[at] ^= 0x81
        for arguments in ((), ("--bytes",), ("-f", "json")):
            code, out, _ = kdissect(*arguments, bytes(bad).hex())
            assert code == 0 and out
