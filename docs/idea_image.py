"""Draws docs/images/idea.png: what PCA finds and what UCA finds, as two ellipses."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Ellipse

from uca import UCA
from uca.plotting import PALETTE

NAMES = {"background": PALETTE[0], "target": PALETTE[1]}
shared, unique = np.array([2.0, 1.4]), np.array([-0.7, 1.0])
background = np.outer(shared, shared) + 0.25 * np.eye(2)
target = background + np.outer(unique, unique)


def ellipse(ax, covariance, name):
    """Where nine rows in ten of a normal law lie."""
    values, vectors = np.linalg.eigh(covariance)
    size = 2 * np.sqrt(4.605 * values[::-1])
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    colour = NAMES[name]
    ax.add_patch(Ellipse((0, 0), *size, angle=angle, fc=mpl.colors.to_rgba(colour, 0.18), ec=colour, lw=2, label=name))


def arrow(ax, direction, length, text, offset):
    """A direction through the middle, with its name."""
    style = {"arrowstyle": "<|-|>", "lw": 2.2, "color": "black", "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", length * direction, -length * direction, arrowprops=style)
    ax.text(*(length * direction + offset), text, ha="center", va="center", fontsize=12, fontweight="bold")


pca = np.linalg.eigh(target)[1][:, -1]
own = UCA(1).fit_covariance(target, backgrounds=background).components_[0]
figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained", sharex=True, sharey=True)
titles = (
    "Two datasets, two features",
    "PCA of the target:\nwhat is large",
    "UCA: what is large in the target\nand small in the background",
)
for ax, title in zip(axes, titles, strict=True):
    ellipse(ax, background, "background")
    ellipse(ax, target, "target")
    ax.set(
        title=title,
        xlabel="feature 1",
        ylabel="feature 2",
        aspect="equal",
        xlim=(-6.4, 6.4),
        ylim=(-4.8, 4.8),
        xticks=[],
        yticks=[],
    )
    ax.spines[["top", "right"]].set_visible(False)
arrow(axes[1], pca * np.sign(pca[0]), 5.6, "PC1", np.array([0.9, 0.7]))
arrow(axes[2], own * np.sign(own[1]), 3.4, "UC1", np.array([-0.7, 0.7]))
axes[0].legend(frameon=False, loc="upper left")
figure.savefig(Path(__file__).parent / "images" / "idea.png", dpi=90)
