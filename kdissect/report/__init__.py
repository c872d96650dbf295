"""What the user gets to see: tables, trees and machine formats.

Only this package and :mod:`kdissect.cli` know terminals.  Every text that came
over the wire goes through :mod:`kdissect.report.escape` on its way out.
"""
