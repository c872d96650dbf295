"""Bytes that somebody gives by hand: in hex of any style, base64, or raw."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from typing import Final, Literal

Form = Literal["auto", "hex", "base64", "raw"]

_BINARY: Final = re.compile(rb"[^\t-\r -~]")
_SEPARATORS: Final = re.compile(rb"0[xX]|\\x|[\s:,;_\-]+")
_HEX: Final = re.compile(rb"[0-9A-Fa-f]*")
_SHORTEST: Final = 12
"""Letters of base64 that a message takes at least; shorter text is rather a word."""
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")
# A line of hexdump -C, xxd or Wireshark: the offset, the bytes, and after two blanks what they say.
_DUMP_LINE: Final = re.compile(rb"\s*([0-9A-Fa-f]{4,16})(:?\s*)((?:[0-9A-Fa-f]{2,4} {1,2})*[0-9A-Fa-f]{2,4})?(?:\s{2,}.*|\s*)")


def read_bytes(given: bytes, form: Form = "auto") -> bytes:
    """The bytes that ``given`` says; ValueError when it is not of that form.

    ``auto`` takes text of hexadecimal digits for hex (blanks, ``:``, ``,``, ``0x`` and ``\\x`` between them do not
    count; a dump with offsets is read too), other text of its alphabet for base64, and anything else for raw bytes.
    """
    if form == "raw" or (form == "auto" and _BINARY.search(given, 0, 4096)):
        return given
    text = given.strip()
    if form in ("auto", "hex"):
        found = _dump(text)
        if found is None:
            found = _hex(text)
        if found is not None:
            return found
        if form == "hex":
            raise ValueError(_fault(text))
    bare = b"".join(text.split())
    if (form == "base64" or len(bare) >= _SHORTEST) and _BASE64.fullmatch(bare):
        try:
            return b64decode(bare + b"=" * (-len(bare) % 4), altchars=b"-_" if re.search(rb"[-_]", bare) else None, validate=True)
        except binascii.Error:
            pass
    if form == "base64":
        raise ValueError("this is not base64")
    return given


def _hex(text: bytes) -> bytes | None:
    digits = _SEPARATORS.sub(b"", text)
    if _HEX.fullmatch(digits) is None or len(digits) % 2:
        return None
    return bytes.fromhex(digits.decode("ascii"))


def _dump(text: bytes) -> bytes | None:
    """Lines with offsets that fit; None where they are not that."""
    found = bytearray()
    lines = text.splitlines()
    for at, line in enumerate(lines):
        match = _DUMP_LINE.fullmatch(line)
        if match is None or int(match[1], 16) != len(found):
            return None
        if len(lines) == 1 and match[2] in (b"", b" "):
            return None  # Rather digits in groups of four.
        if match[3] is None:
            # hexdump ends in a line with the size alone.
            return bytes(found) if found and at == len(lines) - 1 else None
        digits = match[3].replace(b" ", b"")
        if len(digits) % 2:
            return None
        found += bytes.fromhex(digits.decode("ascii"))
    return bytes(found) if len(lines) > 1 or found else None


def _fault(text: bytes) -> str:
    digits = _SEPARATORS.sub(b"", text)
    wrong = re.search(rb"[^0-9A-Fa-f]", digits)
    if wrong is not None:
        return f"this is not hex: {wrong[0].decode('ascii', 'backslashreplace')!r} is no hexadecimal digit"
    return f"this is not hex: {len(digits)} digits, an odd number"
