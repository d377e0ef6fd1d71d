"""cPCA++ with one background: the ratio of target to background variance (Salloum & Kuo 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._parameters import check_number
from .._types import Array
from ..operators.contract.pencil import Pencil
from ..operators.contract.units import in_user_units
from .base import ContrastiveTransformer, FitError
from .cpca import SINGULAR
from .problem import Problem

SHRINKAGE = 0.1  # that makes a singular covariance invertible


class SingularBackgroundError(FitError):
    """The ratio of variances has no maximum: the background does not vary in some direction."""


class CPCAPlusPlus(ContrastiveTransformer):
    """cPCA++: directions of the largest ratio of target variance to background variance.

    Parameters
    ----------
    n_components : int, default=2
    shrinkage : float, default=0.0
        Share of the identity (times the mean background variance) that replaces the background's covariance, between 0 and
        1. Needed where that covariance is singular: fewer background rows than features, or dependent features.
    center, scale, whiten, representation, missing
        As in :class:`uca.UCA`.

    Attributes
    ----------
    components_ : array of shape (k, p)
        Unit directions, in descending order of the ratio. They are orthogonal in the metric of the background, not
        otherwise.
    eigenvalues_ : array of shape (k,)
        The ratios.
    explained_variance_, explained_variance_ratio_ : array of shape (k,)
    background_variance_ : array of shape (k, m)
    patterns_, pattern_correlations_, background_names_, mean_, scale_, mean_differences_, law_, reference_, n_samples_,
    n_features_in_, feature_names_in_, representation_
        As in :class:`uca.UCA`.
    """

    component_prefix = "cPC"
    method_name = "cPCA++"
    most_backgrounds = 1

    def __init__(
        self,
        n_components: int = 2,
        *,
        shrinkage: float = 0.0,
        center: bool = True,
        scale: bool | str = True,
        whiten: bool = False,
        representation: str = "auto",
        missing: str = "error",
    ):
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.representation = representation
        self.missing = missing

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("shrinkage", self.shrinkage, 0, 1)

    def _solve(self, problem: Problem) -> dict[str, Any]:
        pencil, d = problem.pencil, problem.pencil.size
        metric, wanted = self._metric(pencil), [d - problem.k, d - 1]
        ratios, vectors = eigh(pencil.target.to_matrix(), metric, subset_by_index=wanted, check_finite=False)
        vectors = vectors[:, ::-1] / np.linalg.norm(vectors[:, ::-1], axis=0)
        return problem.fitted(vectors, in_user_units(ratios[::-1], problem.powers[0] - problem.powers[1:].sum()))

    def _metric(self, pencil: Pencil) -> Array:
        """The (shrunken) background covariance; the identity without a background."""
        if not pencil.n_backgrounds:
            return np.eye(pencil.size)
        mean = pencil.backgrounds[0].trace / pencil.n_features
        gamma = float(self.shrinkage)
        metric = (1 - gamma) * pencil.backgrounds[0].to_matrix() + gamma * mean * np.eye(pencil.size)
        values = np.linalg.eigvalsh(metric)
        if values[0] <= SINGULAR * values[-1]:
            rank = int(np.sum(values > SINGULAR * values[-1]))
            raise SingularBackgroundError(
                f"the background's covariance is singular (rank {rank} of {pencil.n_features} features), so the ratio has "
                f"no maximum: set shrinkage, for instance shrinkage={SHRINKAGE}, or use UCA, which needs none",
                remedy={"shrinkage": SHRINKAGE},
                reason="the background's covariance is singular",
            )
        return metric
