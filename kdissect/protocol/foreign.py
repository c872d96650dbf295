"""Names for what is not Kafka, by the first bytes of a direction."""

from __future__ import annotations

import re

_HTTP = re.compile(rb"(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT) \S|HTTP/[0-9](?:\.[0-9])? [0-9]{3}|PRI \* HTTP/2")
_REDIS = re.compile(rb"\*[0-9]{1,7}\r\n\$[0-9]{1,9}\r\n|\+(?:OK|PONG)\r\n|-(?:ERR|NOAUTH|MOVED|WRONGTYPE) |PING\r\n")
_SSH = re.compile(rb"SSH-[12]\.[0-9]+-")
_PROXY_V1 = re.compile(rb"PROXY (?:TCP4|TCP6|UNKNOWN)[^\r\n]{0,100}\r\n")
_PROXY_V2 = b"\r\n\r\n\x00\r\nQUIT\n"

SIGHT = 128
"""No name needs more bytes than these."""


def name(data: bytes | bytearray) -> str | None:
    """The protocol that a direction beginning with these bytes speaks, if it is a known one other than Kafka."""
    head = bytes(data[:SIGHT])
    if is_tls(data):
        return "tls"
    if _HTTP.match(head):
        return "http"
    if _SSH.match(head):
        return "ssh"
    if _REDIS.match(head):
        return "redis"
    if head.startswith(b"AMQP"):
        return "amqp"
    if len(head) >= 8 and head[:2] == b"\0\0" and head[4:8] in (b"\0\3\0\0", b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x2e"):
        # StartupMessage 3.0 (its size includes itself), SSLRequest, CancelRequest of PostgreSQL.
        length = int.from_bytes(head[:4])
        if 8 <= length <= 10_000 and (length == len(data) or length == 8):
            return "postgresql"
    if len(head) >= 16 and head[:4] in (b"\0\0\0\x2c", b"\0\0\0\x2d") and head[4:8] == b"\0\0\0\0" and len(data) in (48, 49):
        # ConnectRequest of ZooKeeper: protocol version 0, last zxid, timeout, session, 16 bytes of password.
        return "zookeeper"
    if len(head) >= 5 and head[3] == 0 and head[4] == 10 and int.from_bytes(head[:3], "little") + 4 == len(data):
        return "mysql"
    return None


def is_tls(data: bytes | bytearray) -> bool:
    """Whether TLS records stand here: a handshake or alert, or two records in a row (RFC 8446, section 5.1)."""
    at = records = 0
    while at + 5 <= len(data) and records < 3:
        kind, major, minor = data[at], data[at + 1], data[at + 2]
        length = int.from_bytes(data[at + 3 : at + 5])
        if not 20 <= kind <= 24 or major != 3 or minor > 4 or not 0 < length <= 16384 + 2048:
            return False
        if records == 0 and ((kind == 22 and len(data) > 5 and data[5] in (1, 2)) or (kind == 21 and length == 2)):
            return True
        records += 1
        at += 5 + length
    return records >= 2 or (records == 1 and at == len(data))


def proxy_prefix(data: bytes | bytearray) -> int | None:
    """Length of the PROXY-protocol header at the start: 0 without one, None while it is not there in full."""
    head = bytes(data[:SIGHT])
    match = _PROXY_V1.match(head)
    if match:
        return match.end()
    if head.startswith(_PROXY_V2):
        if len(head) < 16:
            return None
        return 16 + int.from_bytes(head[14:16])
    if len(head) < 16 and (_PROXY_V2.startswith(head) or b"PROXY ".startswith(head[:6])):
        return None
    return 0
