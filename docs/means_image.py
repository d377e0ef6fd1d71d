"""Draws docs/images/means.png: a shift of the mean, which UCA does not see, beside variation, which it does."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from uca import UCA
from uca.plotting import PALETTE

rng = np.random.default_rng(1)
N = 120
COLOURS, MARKERS = {"control": PALETTE[0], "treated": PALETTE[1]}, {"control": "o", "treated": "^"}
shape = np.array([[1.0, 0.35], [0.35, 0.8]])
control = rng.normal(size=(N, 2)) @ shape
shifted = rng.normal(size=(N, 2)) @ shape + [4.5, 3.5]
varied = rng.normal(size=(N, 2)) @ shape + rng.normal(size=(N, 1)) * [1.6, -1.8]


def draw(ax, treated, title, *, centred=False):
    """Both groups on two genes, with their means."""
    for name, rows in (("control", control), ("treated", treated)):
        rows = rows - rows.mean(axis=0) if centred else rows
        ax.plot(*rows.T, MARKERS[name], color=COLOURS[name], ms=4, alpha=0.55, mew=0, label=name)
        ax.plot(*rows.mean(axis=0), MARKERS[name], color=COLOURS[name], ms=11, mec="black", mew=1.2, zorder=3)
    ax.set(title=title, xlabel="gene 1", ylabel="gene 2", aspect="equal")
    ax.spines[["top", "right"]].set_visible(False)


figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
draw(axes[0], shifted, "A shift of the mean …")
draw(axes[1], shifted, "… is gone when each group is taken\nabout its own mean: UCA sees nothing", centred=True)
draw(axes[2], varied, "More variation along a direction:\nwhat UCA looks for", centred=True)
direction = UCA(1, scale=False).fit(varied, backgrounds=control).components_[0]
for sign in (-1, 1):
    axes[2].annotate("", 4.6 * sign * direction, (0, 0), arrowprops={"arrowstyle": "->", "lw": 2, "color": "black"})
axes[2].text(*(3.0 * direction + [0.5, 0.5]), "UC1", fontweight="bold", bbox={"fc": "white", "ec": "none", "pad": 1})
for ax in axes[1:]:
    ax.set(xlim=(-5.4, 5.4), ylim=(-5.4, 5.4))
axes[0].set(xlim=(-4.5, 8.5), ylim=(-4.75, 8.25))
axes[0].legend(frameon=False, loc="upper left", title="large mark: the mean")
figure.savefig(Path(__file__).parent / "images" / "means.png", dpi=90)
