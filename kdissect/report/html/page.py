"""Puts the page together: template, style, script, charts and data in one file that asks nothing of the network.

Whatever came from the wire reaches the page as text: through the template's
escaping, or as JSON that a script reads.  A content security policy names the
page's own scripts by their digests and allows no other, and no request.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kdissect import __version__
from kdissect.errors import KdissectError
from kdissect.report.escape import escape
from kdissect.report.html.charts import charts
from kdissect.report.html.evidence import shown
from kdissect.report.html.tables import tables
from kdissect.report.human import size
from kdissect.wire.json import dumps

if TYPE_CHECKING:
    from kdissect.plugins.host import Host
    from kdissect.report.triage_report import Report

HERE: Final = Path(__file__).parent
LEDGER: Final = ("decoded", "partial", "opaque", "skipped", "duplicate")


def render(report: Report, host: Host) -> str:
    """The whole page.

    Raises KdissectError where the charts' library is not installed.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = lambda value: escape(str(value))
    environment.filters["size"] = size
    drawn = charts(report.data)
    library = _plotly()
    script = _asset("report.js")
    return environment.get_template("report.html").render(
        report=report.data,
        worst=report.worst() or "healthy",
        findings=[
            (finding, shown(problem, host)) for finding, problem in zip(report.data["findings"], report.problems, strict=True)
        ],
        charts=drawn,
        tables=tables(report.data),
        ledger=_ledger(report.data["ledger"]),
        style=_asset("report.css"),
        script=script,
        figures=_for_script({chart.id: chart.figure for chart in drawn}),
        library=b64encode(gzip.compress(library, 6, mtime=0)).decode("ascii"),
        digests=[_digest(script.encode()), _digest(library)],
        version=__version__,
    )


def _ledger(ledger: Mapping[str, int]) -> list[dict[str, Any]]:
    total = ledger["captured"] or 1
    return [{"name": name, "bytes": ledger[name], "share": 100 * ledger[name] / total} for name in LEDGER]


def _asset(name: str) -> str:
    return (HERE / "assets" / name).read_text(encoding="utf-8")


def _plotly() -> bytes:
    """The plotting library as its wheel brings it; the Python package itself is not imported."""
    spec = find_spec("plotly")
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    for place in places:
        path = Path(place, "package_data", "plotly.min.js")
        if path.exists():
            return path.read_bytes()
    raise KdissectError("the HTML report needs plotly: pip install plotly")


def _digest(script: bytes) -> str:
    return "sha256-" + b64encode(sha256(script).digest()).decode("ascii")


def _for_script(value: object) -> str:
    """JSON that no HTML parser takes for the end of its element."""
    return dumps(value).decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
