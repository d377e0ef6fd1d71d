"""Nonlinear features (Nystroem) before UCA, beside UCA on the features themselves, on real data.

``python -m benchmarks.kernel`` prints the figures of ``examples/plot_nonlinear.py``. Digits (inside scikit-learn): for
each of 45 pairs, both digits are the target and other images of the first are the background; do two scores tell the
digits? Mouse proteins (where the file is found): the two analyses of the paper; do two scores tell the genotype, with
all rows of a mouse in one fold? The bandwidth is a multiple of 1 / (median squared distance), the bound a multiple of
the default one.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

import uca
from uca._separation import judge

WIDTHS, BOUNDS = (0.1, 0.3, 1.0, 3.0), (1.0, 4.0)


def linear(target, backgrounds, scale):
    """Two scores of UCA on the features."""
    return uca.UCA(2, scale=scale).fit(target, backgrounds=backgrounds).transform(target)


def nonlinear(target, backgrounds, width: float, bound: float):
    """Two scores of UCA on Nystroem features."""
    gamma = width / np.median(euclidean_distances(target, squared=True))
    steps = [("map", Nystroem(gamma=gamma, n_components=100, random_state=0)), ("uca", uca.UCA(2, scale=False))]
    pipeline = uca.ContrastivePipeline(steps).fit(target, backgrounds=backgrounds)
    if bound != 1.0:
        given = (bound * pipeline["uca"].bounds_).tolist()
        pipeline.set_params(uca__bound=given).fit(target, backgrounds=backgrounds)
    return pipeline.transform(target)


def areas(target, backgrounds, labels, groups=None):
    """Area under the curve of UCA, in the units given and standardised, then of every width and bound."""
    found = [linear(target, backgrounds, scale) for scale in (False, True)]
    found += [nonlinear(target, backgrounds, width, bound) for width in WIDTHS for bound in BOUNDS]
    return [judge(z, labels, groups, standardise=True).auc() for z in found]


def show(name: str, found) -> None:
    """Means, and how often each is ahead of or behind UCA by more than 0.005."""
    found = np.atleast_2d(found)
    print(f"{name}: UCA {found[:, 0].mean():.3f} (scale=True: {found[:, 1].mean():.3f})")
    for (width, bound), column in zip(itertools.product(WIDTHS, BOUNDS), found.T[2:], strict=True):
        difference = column - found[:, 0]
        told = f"{np.sum(difference > 0.005)} ahead, {np.sum(difference < -0.005)} behind, of {len(found)}"
        print(f"  width {width:g}, bound x {bound:g}: {column.mean():.3f} ({told})")


def digits():
    """All pairs."""
    images, digit = load_digits(return_X_y=True)
    found = []
    for a, b in itertools.combinations(range(10), 2):
        first, second = images[digit == a], images[digit == b]
        labels = np.repeat([0, 1], [len(first[::2]), len(second)])
        found.append(areas(np.vstack([first[::2], second]), first[1::2], labels))
    return found


def mice() -> None:
    """The analyses of figures 1 and 2, on proteins standardised by the target."""
    try:
        data = uca.datasets.load_mice()
    except (OSError, ValueError) as error:
        print(f"mouse proteins: {error}")
        return
    analyses = {"figure 1": (("c-SC-s", "t-SC-s"), ("c-CS-s",))}
    analyses["figure 2"] = (("c-CS-s", "t-CS-s"), ("t-SC-m", "t-CS-m", "t-SC-s"))
    for name, (target, others) in analyses.items():
        genotype, mouse = data.labels(*target)
        scaler = StandardScaler().fit(data.rows(*target))
        backgrounds = {other: scaler.transform(data.rows(other)) for other in others}
        labels = np.unique(genotype, return_inverse=True)[1]
        rows = scaler.transform(data.rows(*target))
        show(f"mice, {name}", areas(rows, backgrounds, labels, mouse))


if __name__ == "__main__":
    warnings.simplefilter("ignore", uca.NewRowsWarning)
    show("digits", digits())
    mice()
