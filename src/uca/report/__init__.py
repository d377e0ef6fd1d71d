"""A fitted model as one HTML file to look at and to send: interactive, self-contained, offline.

Promises: the file makes no network request; text from the user is shown as text, never run; the same input gives the same
file, but for the line that says when it was made; data that is too large to draw is sampled, and the page says so.

Needs the extra ``report`` (Jinja2 and Plotly).
"""

from .groupwise import each
from .make import report
from .slider import Exploration

__all__ = ["Exploration", "each", "report"]
