"""Captures in, packets out: the only part that does IO on captures."""

from kdissect.capture.packets import CaptureFile, Interface
from kdissect.capture.reader import CaptureReader, open_captures

__all__ = ["CaptureFile", "CaptureReader", "Interface", "open_captures"]
