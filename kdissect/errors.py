"""Errors that end in one clear line for the user."""

from __future__ import annotations


class KdissectError(Exception):
    """Something the user can act upon; its text is the whole message, one line, naming the thing and the remedy."""


class CaptureError(KdissectError):
    """An input that cannot be read as a capture (exit code 1)."""
