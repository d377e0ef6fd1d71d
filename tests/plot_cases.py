"""A small study with known structure, and one figure for each plot: shared by the tests of numbers and of images."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np

from uca import UCA, plotting

P = 9
NAMES = [f"gene {letter}" for letter in "abcdefghi"]


@cache
def study() -> SimpleNamespace:
    """Rows that share two patterns with a background each and have two groups of their own; the control is moved."""
    rng = np.random.default_rng(5)
    one, two = np.array([2.5, 1.5])[:, np.newaxis, np.newaxis] * rng.normal(size=(2, 1, P))
    labels = np.repeat(["a", "b", "c"], [30, 25, 20])
    own = np.outer(labels == "b", np.eye(P)[2] + np.eye(P)[3]) + np.outer(labels == "c", np.eye(P)[6])
    target = rng.normal(size=(75, 1)) * one + rng.normal(size=(75, 1)) * two + 3 * own + rng.normal(size=(75, P))
    control = rng.normal(size=(60, 1)) * one + rng.normal(size=(60, P)) + 5
    vehicle = rng.normal(size=(40, 1)) * two + 2 * rng.normal(size=(40, P))
    backgrounds = {"control": control, "vehicle": vehicle}
    model = UCA(3).fit(target, backgrounds=backgrounds)
    single = UCA(2).fit(target, backgrounds={"control": control})
    return SimpleNamespace(
        target=target, labels=labels, backgrounds=backgrounds, model=model, single=single, only={"control": control}
    )


@cache
def stopped() -> UCA:
    """A model as a search leaves it that was stopped early, by given numbers.

    Where a real search stops depends on the last bits of the linear algebra, and so would the picture. The optimum is
    1.77 at (.75, .62); here the multipliers are (.5, .5), upper is the dual value there, and lower is below the optimum.
    """
    s = study()
    model = copy(s.model)
    model.lambdas_ = np.array([0.5, 0.5])
    matrices = [np.corrcoef(rows, rowvar=False) for rows in (s.target, *s.backgrounds.values())]
    contrast = matrices[0] - np.tensordot(model.lambdas_, matrices[1:], axes=1)
    upper = float(np.linalg.eigvalsh(contrast)[-1] + model.lambdas_.sum())
    lower = 1.7
    model.certificate_ = replace(
        s.model.certificate_,
        upper=upper,
        lower=lower,
        gap=(upper - lower) / upper,
        status="max_iter",
        message="Not optimal: set by hand.",
    )
    return model


CASES = {
    "scores": lambda s, ax: plotting.scores(s.model, s.target, labels=s.labels, backgrounds=s.backgrounds, ax=ax),
    "scores_scale": lambda s, ax: plotting.scores(s.model, s.target, labels=s.target[:, 2], components=(2, 0), ax=ax),
    "scores_target_units": lambda s, ax: plotting.scores(
        s.model, s.target, backgrounds=s.backgrounds, background_units="target", ax=ax
    ),
    "biplot": lambda s, ax: plotting.biplot(s.model, s.target, labels=s.labels, feature_names=NAMES, ax=ax),
    "loadings": lambda s, ax: plotting.loadings(s.model, component=1, n_features=6, ax=ax),
    "variance": lambda s, ax: plotting.variance(s.model, ax=ax),
    "dual_line": lambda s, ax: plotting.dual(s.single, s.target, backgrounds=s.only, ax=ax),
    "dual_ray": lambda s, ax: plotting.dual(s.model, s.target, backgrounds=s.backgrounds, along="ray", ax=ax),
    "dual_contours": lambda s, ax: plotting.dual(s.model, s.target, backgrounds=s.backgrounds, ax=ax),
    "dual_stopped": lambda s, ax: plotting.dual(stopped(), s.target, backgrounds=s.backgrounds, ax=ax),
    "contrast_path": lambda s, ax: plotting.contrast_path(s.model, s.target, backgrounds=s.backgrounds, ax=ax),
    "contrast_path_scores": lambda s, ax: plotting.contrast_path(
        s.single, s.target, backgrounds=s.only, show="scores", labels=s.labels, ax=ax
    ),
    "eigenimages": lambda s, ax: plotting.eigenimages(s.model, (3, 3), n_columns=2, ax=ax),
    "eigenimages_colour": lambda s, ax: plotting.eigenimages(s.model, (1, 3, 3), components=[0, 2], ax=ax),
    "density": lambda s, ax: plotting.density(s.model, s.target, labels=s.labels, backgrounds=s.backgrounds, ax=ax),
    "density_plane": lambda s, ax: plotting.density(
        s.model, s.target, labels=s.labels, backgrounds=s.backgrounds, components=(0, 1), ax=ax
    ),
}
