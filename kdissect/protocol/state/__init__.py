"""What the messages of a capture tell about each other.

:class:`~kdissect.protocol.state.state.State` is all of it; every table in it is
bounded, and its limit stands beside it.
"""

from kdissect.protocol.state.logins import Login
from kdissect.protocol.state.state import Member, Observed, Producer, State, Whereabouts

__all__ = ["Login", "Member", "Observed", "Producer", "State", "Whereabouts"]
