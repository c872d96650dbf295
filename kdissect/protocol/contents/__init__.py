"""What stands inside messages: bytes whose format Kafka defines, read in place.

:mod:`~kdissect.protocol.contents.unfold` finds such bytes in decoded bodies and
replaces them; the other modules know one kind of content each.  A value that is
not exactly one of its format stays bytes.
"""
