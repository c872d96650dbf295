"""The benchmark: ``python -m tests.bench --help``.  It makes its captures, runs tshark and kdissect in turns, and compares."""
