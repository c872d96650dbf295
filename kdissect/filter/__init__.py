"""Display filters: ``api == Produce and latency > 50ms``.

:func:`compile_filter` makes a :class:`Filter` of a text.  :meth:`Filter.header`
decides from the head of an exchange where that is enough, so that bodies need
not be decoded; :meth:`Filter.matches` decides always.

A field has no, one or many values: elements of arrays count one by one, null
is none.  A comparison is true when any value passes; ``!=`` and ``===`` when
there is a value and none, or every one, equals (as in Wireshark 4).  So
``topic != a`` is false without topics, where ``not topic == a`` is true.

The stages: :mod:`~kdissect.filter.grammar` (syntax), ``resolve`` (fields and
values), ``compile`` (closures).  What fields there are: ``flat`` and
``decoded``; what values they have: ``kinds`` and ``named_kinds``.  The
language for users is described in :data:`kdissect.filter.reference.REFERENCE`.
"""

from kdissect.filter.engine import Filter, Head, compile_filter
from kdissect.filter.errors import FilterError

__all__ = ["Filter", "FilterError", "Head", "compile_filter"]
