"""Conversations in protocols that are not Kafka, as bytes of both sides."""

from __future__ import annotations

import random
import string
import struct

Talk = list[tuple[int, bytes]]
"""(side, bytes) in order; side 0 opened the connection."""


def word(rng: random.Random, size: int = 8) -> str:
    return "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(1, size)))


def http(rng: random.Random) -> Talk:
    talk: Talk = []
    for _ in range(rng.randint(1, 6)):
        body = rng.randbytes(rng.randint(0, 4000))
        talk.append((0, f"{rng.choice(['GET', 'POST'])} /{word(rng)} HTTP/1.1\r\nHost: {word(rng)}\r\n\r\n".encode()))
        talk.append((1, f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body))
    return talk


def tls(rng: random.Random) -> Talk:
    def record(kind: int, body: bytes) -> bytes:
        return struct.pack(">BHH", kind, 0x0303, len(body)) + body

    hello = record(22, b"\x01" + rng.randbytes(rng.randint(200, 500)))
    talk = [(0, hello), (1, record(22, b"\x02" + rng.randbytes(90)) + record(20, b"\x01") + record(23, rng.randbytes(2000)))]
    for _ in range(rng.randint(1, 20)):
        talk.append((rng.randrange(2), record(23, rng.randbytes(rng.randint(20, 5000)))))
    return talk


def postgresql(rng: random.Random) -> Talk:
    def message(kind: bytes, body: bytes) -> bytes:
        return kind + struct.pack(">i", len(body) + 4) + body

    start = struct.pack(">i", 196608) + f"user\0{word(rng)}\0database\0{word(rng)}\0\0".encode()
    talk = [(0, struct.pack(">i", len(start) + 4) + start), (1, message(b"R", bytes(4)) + message(b"Z", b"I"))]
    for _ in range(rng.randint(1, 10)):
        talk.append((0, message(b"Q", f"select {word(rng)} from {word(rng)}\0".encode())))
        columns = [struct.pack(">i", 4) + struct.pack(">i", rng.randrange(1000)) for _ in range(5)]
        rows = b"".join(message(b"D", struct.pack(">h", 5) + b"".join(columns)) for _ in range(rng.randint(1, 50)))
        talk.append((1, rows + message(b"C", b"SELECT 5\0") + message(b"Z", b"I")))
    return talk


def redis(rng: random.Random) -> Talk:
    talk: Talk = []
    for _ in range(rng.randint(1, 20)):
        parts = [rng.choice(["GET", "SET", "HGET"]), word(rng), word(rng, 40)]
        talk.append((0, f"*{len(parts)}\r\n".encode() + b"".join(f"${len(p)}\r\n{p}\r\n".encode() for p in parts)))
        value = rng.randbytes(rng.randint(0, 300))
        talk.append((1, f"${len(value)}\r\n".encode() + value + b"\r\n"))
    return talk


def amqp(rng: random.Random) -> Talk:
    def frame(kind: int, channel: int, body: bytes) -> bytes:
        return struct.pack(">BHI", kind, channel, len(body)) + body + b"\xce"

    talk: Talk = [(0, b"AMQP\0\0\x09\x01"), (1, frame(1, 0, struct.pack(">HHBBI", 10, 10, 0, 9, 0) + bytes(8)))]
    for _ in range(rng.randint(1, 20)):
        publish = struct.pack(">HHH", 60, 40, 0) + bytes([5]) + b"topic" + bytes([3]) + b"key" + b"\0"
        body = rng.randbytes(rng.randint(0, 500))
        head = struct.pack(">HHQH", 60, 0, len(body), 0)
        talk.append((rng.randrange(2), frame(1, 1, publish) + frame(2, 1, head) + frame(3, 1, body)))
    return talk


def ssh(rng: random.Random) -> Talk:
    talk: Talk = [(0, b"SSH-2.0-OpenSSH_9.2\r\n"), (1, b"SSH-2.0-OpenSSH_9.6\r\n")]
    for _ in range(rng.randint(2, 20)):
        body = rng.randbytes(rng.randint(16, 800))
        talk.append((rng.randrange(2), struct.pack(">IB", len(body) + 1, 6) + body))
    return talk


def zookeeper(rng: random.Random) -> Talk:
    def frame(body: bytes) -> bytes:
        return struct.pack(">i", len(body)) + body

    talk: Talk = [
        (0, frame(struct.pack(">iqiqi", 0, 0, 30000, 0, 16) + bytes(16) + rng.choice([b"", b"\0"]))),
        (1, frame(struct.pack(">iiqi", 0, 30000, rng.getrandbits(62), 16) + bytes(16))),
    ]
    for xid in range(1, rng.randint(2, 30)):
        path = f"/brokers/{word(rng)}".encode()
        talk.append((0, frame(struct.pack(">iii", xid, rng.choice([1, 3, 4, 8]), len(path)) + path + b"\0")))
        talk.append((1, frame(struct.pack(">iqi", xid, rng.randrange(1000), 0) + struct.pack(">i", 4) + rng.randbytes(4))))
    return talk


def thrift(rng: random.Random) -> Talk:
    """Framed, size-prefixed like Kafka."""
    talk: Talk = []
    for number in range(rng.randint(1, 20)):
        name = word(rng).encode()
        body = struct.pack(">IIsI", 0x80010001, len(name), b"", 0)[:8] + name + struct.pack(">I", number) + b"\x0b\0\1" + bytes(5)
        talk.append((0, struct.pack(">i", len(body)) + body))
        talk.append((1, struct.pack(">i", len(body)) + body))
    return talk


def noise(rng: random.Random) -> Talk:
    return [(rng.randrange(2), rng.randbytes(rng.randint(1, 6000))) for _ in range(rng.randint(1, 20))]


def small_integers(rng: random.Random) -> Talk:
    """Size-prefixed frames of mostly zero words: what looks most like Kafka without being it."""
    talk: Talk = []
    for _ in range(rng.randint(5, 60)):
        body = b"".join(struct.pack(">h", rng.choice([0, 0, 0, 0, 1, 2, 3, 7, 18, -1])) for _ in range(rng.randint(3, 40)))
        talk.append((rng.randrange(2), struct.pack(">i", len(body)) + body))
    return talk


PROTOCOLS = {
    "http": http, "tls": tls, "postgresql": postgresql, "redis": redis, "amqp": amqp, "ssh": ssh, "zookeeper": zookeeper,
    "thrift": thrift, "noise": noise, "small integers": small_integers,
}  # fmt: skip

NAMED = ("http", "tls", "postgresql", "redis", "amqp", "ssh", "zookeeper")
"""Those that are named by their first bytes."""
