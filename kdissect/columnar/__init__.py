"""Many messages of one layout at once, in lockstep, into columns."""
