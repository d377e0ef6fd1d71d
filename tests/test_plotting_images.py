"""Every plot against a committed picture of it.

Text is taken away first, so that neither fonts nor their rendering matter, and the Axes stand at fixed places. What is
left is geometry and colour: matplotlib 3.8 and 3.11 agree to the dot. The tolerance is a root mean square of 2 (of 255),
for edges that another release or machine may smooth differently; the smallest change tried below, a group of rows less,
makes 12.

After a change that is meant: ``UCA_NEW_BASELINES=1 pytest tests/test_plotting_images.py``, look at the pictures, commit.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install '.[plot]'")

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.testing.compare import compare_images
from matplotlib.text import Annotation, Text
from matplotlib.ticker import NullFormatter
from plot_cases import CASES, study

from uca import plotting

plt.switch_backend("Agg")
BASELINE = Path(__file__).parent / "baseline"
TOLERANCE = 2.0
# Older releases round the place of an image by one dot, which moves sharp edges: 16 at most. Another order makes 54.
TOLERANCES = {"eigenimages": 20.0, "eigenimages_colour": 20.0}


def without_text(figure) -> None:
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(NullFormatter())
            axis.set_minor_formatter(NullFormatter())
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    for text in figure.findobj(Text):
        if isinstance(text, Annotation):
            text.set_text("")  # its arrow stays
        else:
            text.set_visible(False)


def picture(name: str, path: Path) -> None:
    with matplotlib.rc_context(matplotlib.rcParamsDefault):
        figure, ax = plt.subplots(figsize=(3.2, 2.4), dpi=60)  # no layout engine: places do not depend on text
        CASES[name](study(), ax)
        without_text(figure)
        figure.savefig(path, metadata={"Software": None})
        plt.close(figure)


@pytest.mark.parametrize("name", CASES)
def test_looks_as_committed(name, tmp_path):
    expected = BASELINE / f"{name}.png"
    if os.environ.get("UCA_NEW_BASELINES"):
        picture(name, expected)
    drawn = tmp_path / f"{name}.png"
    picture(name, drawn)
    assert compare_images(expected, drawn, tol=TOLERANCES.get(name, TOLERANCE)) is None


DIFFERENT = {
    "scores": lambda s, ax: plotting.scores(
        s.model, s.target[:55], labels=s.labels[:55], backgrounds=s.backgrounds, ax=ax
    ),
    "eigenimages": lambda s, ax: plotting.eigenimages(s.model, (3, 3), components=[1, 0, 2], n_columns=2, ax=ax),
    "loadings": lambda s, ax: plotting.loadings(s.model, component=1, n_features=5, ax=ax),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_comparison_sees_a_difference(name, tmp_path, monkeypatch):
    """A group of rows less, two images exchanged, a bar less: each is more than the tolerance."""
    monkeypatch.setitem(CASES, name, DIFFERENT[name])
    drawn = tmp_path / f"{name}.png"
    picture(name, drawn)
    assert compare_images(BASELINE / f"{name}.png", drawn, tol=TOLERANCES.get(name, TOLERANCE)) is not None


def test_no_picture_without_a_plot():
    assert {path.stem for path in BASELINE.glob("*.png")} == set(CASES)
