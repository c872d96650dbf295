"""Nothing from the wire may act on a terminal."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.report.escape import escape, hexadecimal, json_for_terminal, shorten

ACTIVE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("orders", "orders"),
        ("größe 日本", "größe 日本"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\tc\rd\0", "a\\nb\\tc\\rd\\0"),
        ("\x9b31m", "\\x9b31m"),
        ("\x7f", "\\x7f"),
        ("abc\u202edcb", "abc\\u202edcb"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\u3164", "\\u3164"),
        ("\ud800", "\\ud800"),
        ("[bold]x[/] :smile:", "[bold]x[/] :smile:"),
    ],
)
def test_what_is_shown(raw: str, shown: str) -> None:
    assert escape(raw) == shown


@given(st.text(st.characters(codec=None)))
def test_nothing_active_is_left(text: str) -> None:
    shown = escape(text)
    assert not any(unicodedata.category(char) in ACTIVE for char in shown)
    shown.encode()  # No lone surrogates either.


def test_every_formatting_character_is_spelled_out_in_json_for_a_terminal() -> None:
    active = [
        chr(code) for code in range(0x80, 0x110000) if unicodedata.category(chr(code)) in ("Cc", "Zl", "Zp") or code == 0xFEFF
    ]
    bidi = [chr(code) for code in (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x61C)]
    for char in ("\x7f", *active, *bidi):
        text = json.dumps(char, ensure_ascii=False)
        shown = json_for_terminal(text)
        assert char not in shown
        assert json.loads(shown) == char


def test_long_values_are_cut_with_their_length() -> None:
    assert shorten("a" * 10_000_000, 5) == "aaaaa… (10,000,000 characters)"
    assert shorten("\x1b\x1b\x1b", 2) == "\\x1b\\x1b… (3 characters)"
    assert hexadecimal(b"\x00\xff" * 4, 3) == "00 ff 00 … (8 bytes)"
    assert hexadecimal(b"\x00\xff", 3) == "00 ff"
