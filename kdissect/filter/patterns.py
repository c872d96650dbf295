"""Regular expressions over hostile text.

Patterns run on RE2, whose time is linear in the text and whose memory is
bounded, whatever pattern and text are: the backtracking of Python's ``re``
would let one record value hang a run.  The price is that there are no
back-references and no look-around.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kdissect.filter.literals import Mismatch

_MEMORY = 1 << 20
"""Bytes that a compiled pattern may take: what is larger takes long on each byte."""


@lru_cache(maxsize=64)
def searcher(pattern: str) -> Callable[[bytes], bool]:
    """Whether a pattern is found in UTF-8 text; :class:`Mismatch` for a pattern that RE2 does not take."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        search = re2.compile(pattern.encode(errors="surrogatepass"), options).search
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise Mismatch(f"no regular expression: {reason}") from None
    return lambda text: search(text) is not None
