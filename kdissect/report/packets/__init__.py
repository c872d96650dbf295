"""``kdissect read -w``: the packets behind exchanges as a capture of their own."""
