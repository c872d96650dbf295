"""Timestamps of pcapng interfaces as nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kdissect.model import Int64s

_NANO = 1_000_000_000
_MAX_SECONDS = 2**63 // _NANO - 1


@dataclass(frozen=True, slots=True)
class Resolution:
    """Unit and zero point of an interface's timestamps (pcapng options if_tsresol and if_tsoffset)."""

    base: int = 10
    """10 or 2: a second has ``base ** exponent`` units."""
    exponent: int = 6
    offset_seconds: int = 0

    @classmethod
    def from_option(cls, value: int, offset_seconds: int = 0) -> Resolution:
        """From if_tsresol's byte: the highest bit chooses the base 2, the others are the negative exponent."""
        return cls(2 if value & 0x80 else 10, value & 0x7F, offset_seconds)

    @property
    def digits(self) -> int:
        """Decimal digits of a second that the unit can tell, at most 9."""
        digits = self.exponent if self.base == 10 else len(str(2**self.exponent - 1)) if self.exponent else 0
        return min(9, digits)

    def nanoseconds(self, units: npt.NDArray[np.uint64]) -> Int64s:
        """Unix time in nanoseconds of each 64-bit count of units; clipped to what 64 bits hold."""
        seconds, nanos = self._ten(units) if self.base == 10 else self._two(units)
        whole = seconds.astype(np.int64) if self.exponent else np.minimum(seconds, np.uint64(_MAX_SECONDS)).astype(np.int64)
        offset = min(max(self.offset_seconds, -_MAX_SECONDS), _MAX_SECONDS)
        # 64-bit seconds plus a 64-bit offset can leave the range; both are clipped first, so their sum cannot wrap.
        whole = np.clip(np.clip(whole, 0, _MAX_SECONDS) + offset, -_MAX_SECONDS, _MAX_SECONDS)
        return whole * _NANO + nanos.astype(np.int64)

    def _ten(self, units: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        if self.exponent > 19:  # a second is more than 64 bits hold
            drop = self.exponent - 9
            return np.zeros_like(units), units // np.uint64(10**drop) if drop <= 19 else np.zeros_like(units)
        seconds, rest = np.divmod(units, np.uint64(10**self.exponent))
        if self.exponent <= 9:
            return seconds, rest * np.uint64(10 ** (9 - self.exponent))
        return seconds, rest // np.uint64(10 ** (self.exponent - 9))

    def _two(self, units: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        bits = self.exponent
        zero = np.zeros_like(units)
        seconds = units >> np.uint64(bits) if bits < 64 else zero
        rest = units & np.uint64(2**bits - 1) if bits < 64 else units
        if bits > 34:  # keep 34 bits of the fraction: times a thousand million they just fit
            rest = rest >> np.uint64(bits - 34) if bits - 34 < 64 else zero
            bits = 34
        return seconds, (rest * np.uint64(_NANO)) >> np.uint64(bits)
