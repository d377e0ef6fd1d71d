"""Pages inside a notebook: a frame that holds the page itself, and a path that shows what lies there.

The page stands in the ``srcdoc`` of an iframe: the notebook holds a copy of it and needs neither a server nor the file, also
after it was exported to HTML or sent to somebody. An address (``src``) would be followed by some viewers of notebooks and
not by others, and lead nowhere once the notebook has moved. The price is size: about 2 MB for each page, and the data.

The frame is a sandbox. Scripts run in it and files can be saved from it; it cannot reach the notebook.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from .._shown import escaped

if TYPE_CHECKING:
    _Path = Path
else:
    _Path = type(Path())  # PosixPath or WindowsPath: Path itself can be subclassed from Python 3.12 on

REPORT_HEIGHT = 760  # pixels
MOST_INLINE = 12_000_000  # characters of a page that a notebook is burdened with
_GENERATOR = '<meta name="generator" content="uca">'
# The page says how tall it is; where a viewer runs no scripts, the frame keeps its first height and scrolls.
_FOLLOW = """<script>(() => {
const frame = document.currentScript && document.currentScript.previousElementSibling;
if (!frame) return;
const follow = (event) => {
if (!frame.isConnected) return window.removeEventListener("message", follow);
const height = event.source === frame.contentWindow && event.data && Number(event.data.ucaHeight);
if (height > 0) frame.style.height = `${Math.min(height + 4, 4000)}px`;
};
window.addEventListener("message", follow);
})();</script>"""


def framed(page: str, title: str, height: int, *, follow: bool = False) -> str:
    """A page in a frame of so many pixels; with ``follow`` it takes the height that the page asks for."""
    return (
        f'<iframe title="{escaped(title)}" sandbox="allow-scripts allow-downloads" loading="lazy" '
        f'style="display:block;width:100%;height:{height}px;border:1px solid rgba(128,128,128,0.5);box-sizing:border-box" '
        f'srcdoc="{escaped(page)}"></iframe>{_FOLLOW if follow else ""}'
    )


class ReportPath(_Path):
    """The path of a report. It is a :class:`pathlib.Path` in every way; a notebook shows the page that lies there.

    Paths that are made from it (``page.parent``) are of the same kind, and show nothing where no report lies.
    """

    def _repr_html_(self) -> str | None:
        try:
            page = self.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None  # and the notebook shows the path as text
        if _GENERATOR not in page[:1000]:
            return None
        if len(page) > MOST_INLINE:
            size = f"{len(page) / 1e6:.0f} MB, too large to show in a notebook"
            return f'<p class="uca">The report has {size}. Open the file: {self._link()}</p>'
        return f'{framed(page, "Report", REPORT_HEIGHT)}<p class="uca">The same page as a file: {self._link()}</p>'

    def _link(self) -> str:
        """A link where the file lies below the working folder, which is that of the notebook; else its name."""
        try:
            near = Path(self).resolve().relative_to(Path.cwd().resolve())
        except (OSError, ValueError):
            return escaped(self)
        return f'<a href="{escaped(quote(near.as_posix()))}" target="_blank" rel="noopener">{escaped(self)}</a>'
