"""One HTML file from a template, style, scripts and data, with everything inside.

The drawing library (plotly.js, as the plotly package carries it) is packed with gzip, which keeps the file at a size that
can be mailed; browsers unpack it on opening. Nothing is read from elsewhere.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from .._optional import optional

SCATTER = ("core.js", "panels.js", "scatter.js", "picture.js", "contrast.js")
SCRIPTS = {
    "report": (*SCATTER, "selection.js", "variance.js", "heldout.js", "loadings.js", "main.js"),
    "explore": (*SCATTER, "main.js", "explore.js"),
}
#: What the pointer does in the scatter; the first is what it begins with.
MODES = {
    "report": (("lasso", "Lasso"), ("select", "Box"), ("zoom", "Zoom"), ("pan", "Pan")),
    "explore": (("zoom", "Zoom"), ("pan", "Pan")),
}


def check_extra() -> None:
    """Raise if what the report needs is not installed, before anything is computed."""
    for package in ("jinja2", "plotly"):
        optional(package, "a report needs Jinja2 and Plotly", "report")


def check_jinja() -> None:
    """The same for a page without scripts, which needs Jinja2 alone."""
    optional("jinja2", "a page needs Jinja2", "report")


def render(page: str, context: Mapping[str, Any], payload: str) -> str:
    """The page "report" or "explore"; ``context`` is escaped where it is printed, ``payload`` is JSON that has been."""
    from markupsafe import Markup

    return render_still(
        f"{page}.html.j2",
        context,
        page=page,
        modes=MODES[page],
        scripts=[Markup(_asset(name)) for name in SCRIPTS[page]],
        payload=Markup(payload),
        plotly=Markup(_packed_plotly()),
    )


def render_still(template: str, context: Mapping[str, Any], **ready: Any) -> str:
    """A page from a template with the style of all pages; ``ready`` is not escaped where it is Markup."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**context, style=Markup(_asset("report.css")), **ready)


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _packed_plotly() -> str:
    from plotly.offline import get_plotlyjs

    packed = gzip.compress(get_plotlyjs().encode(), compresslevel=5, mtime=0)  # 1 % larger than 9, in half the time
    return base64.b64encode(packed).decode()
