"""Where every captured TCP payload byte of a Kafka connection went."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Ledger:
    """Byte counts; ``captured`` is exactly the sum of the five after it, ``missing`` stands beside."""

    captured: int = 0
    decoded: int = 0
    """In messages decoded to their last byte."""
    partial: int = 0
    """In messages decoded up to a fault or a cut."""
    opaque: int = 0
    """In whole messages of unknown key or version, in responses without their request, in raw SASL tokens."""
    skipped: int = 0
    """Passed over while looking for the next message."""
    duplicate: int = 0
    """Retransmitted."""
    missing: int = 0
    """Shown by the sequence numbers, but not in the capture."""

    def add(self, other: Ledger) -> None:
        """Add another connection's account to this one."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def balanced(self) -> bool:
        """Whether every captured byte is accounted for."""
        return self.captured == self.decoded + self.partial + self.opaque + self.skipped + self.duplicate

    def to_contract(self) -> dict[str, int]:
        """The account as the output contract has it."""
        return asdict(self)
