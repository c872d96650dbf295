"""The table of endpoints."""

from __future__ import annotations

import ipaddress
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.stream.endpoints import Endpoints


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(*[st.integers(0, 3) | st.integers(0, 2**16 - 1)] * 4), max_size=60), max_size=6))
def test_ids_in_order_of_first_appearance_whatever_the_batches(batches: list[list[tuple[int, int, int, int]]]) -> None:
    """(source, target, source port, target port), some of them the same again and again."""
    endpoints = Endpoints()
    known: dict[tuple[int, int], int] = {}
    for batch in batches:
        columns = np.array(batch, np.int64).reshape(-1, 4).T
        source, target = endpoints.pairs4(*columns)
        for (s, t, sp, tp), a, b in zip(batch, source.tolist(), target.tolist(), strict=True):
            assert a == known.setdefault((s, sp), len(known))
            assert b == known.setdefault((t, tp), len(known))
    assert len(endpoints) == len(known)
    for (address, port), id in known.items():
        assert (endpoints.address(id), endpoints.port(id)) == (address.to_bytes(4), port)
        assert endpoints.intern(address.to_bytes(4), port) == id


def test_many_endpoints() -> None:
    endpoints = Endpoints()
    rng = np.random.default_rng(1)
    address, port = rng.integers(0, 2**32, 50_000), rng.integers(0, 2**16, 50_000)
    first, _ = endpoints.pairs4(address, address, port, port)
    again, _ = endpoints.pairs4(address, address, port, port)
    assert (first == again).all()
    assert len(endpoints) == len({*zip(address.tolist(), port.tolist(), strict=True)})
    order = rng.permutation(50_000)
    assert (endpoints.pairs4(address[order], address[order], port[order], port[order])[1] == first[order]).all()


def test_families_never_mix() -> None:
    endpoints = Endpoints()
    plain = endpoints.intern(bytes([10, 0, 0, 5]), 9092)
    same_bits = endpoints.intern(bytes(12) + bytes([10, 0, 0, 5]), 9092)
    mapped = endpoints.intern(bytes(10) + b"\xff\xff" + bytes([10, 0, 0, 5]), 9092)
    assert len({plain, same_bits, mapped}) == 3
    assert endpoints.text(plain) == "10.0.0.5:9092"
    assert endpoints.text(mapped) == "[::ffff:10.0.0.5]:9092"
    assert len(endpoints.address(same_bits)) == 16


@pytest.mark.parametrize("text", ["::", "::1", "2001:db8::5", "fe80::1:0:0:1", "2001:db8:1:2:3:4:5:6", "ffff:ffff::ffff"])
def test_ip6_text_and_bytes(text: str) -> None:
    endpoints = Endpoints()
    packed = ipaddress.ip_address(text).packed
    id = endpoints.intern(packed, 65535)
    assert endpoints.text(id) == f"[{text}]:65535"
    assert endpoints.address(id) == packed


def test_ip6_pairs_match_single_ones() -> None:
    endpoints = Endpoints()
    rng = random.Random(5)
    addresses = [rng.randbytes(16) for _ in range(50)]
    high, low = (np.array([int.from_bytes(a[i : i + 8]) for a in addresses], np.uint64) for i in (0, 8))
    ports = np.arange(50)
    source, target = endpoints.pairs6((high, low), (high[::-1], low[::-1]), ports, ports[::-1])
    for i, a in enumerate(addresses):
        assert endpoints.intern(a, i) == source[i] == target[49 - i]


@pytest.mark.parametrize("id", [-1, 1, 100])
def test_ids_that_were_never_given(id: int) -> None:
    endpoints = Endpoints()
    endpoints.intern(bytes(4), 1)
    for ask in (endpoints.text, endpoints.address, endpoints.port):
        with pytest.raises(IndexError):
            ask(id)
