"""Inputs made from good ones: a few bytes changed, moved, cut, doubled, or taken from another."""

from __future__ import annotations

import random

INTERESTING = (
    *(b"\0", b"\1", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"\x7f\xff", b"\x80\0"),
    *(b"\xff" * 4, b"\x80\0\0\0", b"\x7f\xff\xff\xff", b"\0\0\0\1", b"\xff" * 8, b"\xff" * 5, b"\xff\xff\xff\xff\x0f"),
    *(b"\x80" * 9, b"\xff\xff\xff\xff\x07", b"\x80\x80\x04", b"\xed\xa0\x80", b"\xc2\x80"),
)


def mutate(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A changed ``data``; ``other`` lends bytes to it.  Never empty unless both are."""
    changed = bytearray(data)
    for _ in range((1, 1, 1, 2, 2, 4, 8)[chance.randrange(7)]):
        at = int(chance.random() * (len(changed) + 1))
        match chance.randrange(8):
            case 0 | 1:
                changed[at : at + 1] = bytes((chance.randrange(256),))
            case 2:
                if at < len(changed):
                    changed[at] ^= 1 << chance.randrange(8)
            case 3:
                piece = INTERESTING[chance.randrange(len(INTERESTING))]
                changed[at : at + len(piece)] = piece
            case 4:
                del changed[at : at + chance.randrange(1, 9)]
            case 5:
                start = int(chance.random() * (len(changed) + 1))
                changed[at:at] = changed[start : start + chance.randrange(1, 60)]
            case 6:
                start = int(chance.random() * (len(other) + 1))
                changed[at:] = other[start:]
            case _:
                if chance.random() < 0.3:
                    del changed[at:]
    return bytes(changed)
