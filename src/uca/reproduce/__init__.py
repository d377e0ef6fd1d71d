"""The figures of the paper, each with its numbers: ``uca reproduce NAME``."""

from collections.abc import Callable

from .faces import faces
from .mice import mice_multi, mice_single
from .outcome import Outcome
from .timing import timing

REPRODUCTIONS: dict[str, Callable[..., Outcome]] = {
    "mice-single": mice_single,
    "mice-multi": mice_multi,
    "faces": faces,
    "timing": timing,
}

__all__ = ["REPRODUCTIONS", "Outcome"]
