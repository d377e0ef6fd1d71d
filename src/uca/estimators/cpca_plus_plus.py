"""cPCA++ with one background: the ratio of target to background variance (Salloum & Kuo 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._parameters import check_number
from .._types import Array
from ..eigen import fix_signs
from ..operators.base import Pencil
from ..operators.representation import Representation
from ..operators.units import in_user_units
from .one_background import SINGULAR, OneBackground, matrix_of


class SingularBackgroundError(ValueError):
    """The ratio of variances has no maximum: the background does not vary in some direction."""


class CPCAPlusPlus(OneBackground):
    """cPCA++: directions of the largest ratio of target variance to background variance.

    Parameters
    ----------
    n_components : int, default=2
    shrinkage : float, default=0.0
        Share of the identity (times the mean background variance) that replaces the background's covariance, between 0 and
        1. Needed where that covariance is singular: fewer background rows than features, or dependent features.
    center, scale, whiten, representation
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
    background_names_, mean_, scale_, n_samples_, n_features_in_, feature_names_in_, representation_
        As in :class:`uca.UCA`.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        shrinkage: float = 0.0,
        center: bool = True,
        scale: bool | str = True,
        whiten: bool = False,
        representation: str = "auto",
    ):
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.representation = representation

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("shrinkage", self.shrinkage, 0, 1)

    def _solve(self, held: Representation, powers: Array, k: int, dtype: np.dtype) -> dict[str, Any]:
        pencil = held.pencil
        d = pencil.size
        pairs = eigh(matrix_of(pencil.target), self._metric(pencil), subset_by_index=[d - k, d - 1], check_finite=False)
        vectors = pairs[1][:, ::-1]
        vectors = vectors / np.linalg.norm(vectors, axis=0)
        own = pencil.variances(vectors)
        variances = in_user_units(own, powers[:, np.newaxis])
        return {
            "components_": fix_signs(held.lift(vectors)).astype(dtype, copy=False),
            "eigenvalues_": in_user_units(pairs[0][::-1], powers[0] - powers[1:].sum()),
            "explained_variance_": variances[0],
            "explained_variance_ratio_": own[0] / pencil.target.trace,
            "background_variance_": variances[1:].T.copy(),
        }

    def _metric(self, pencil: Pencil) -> Array:
        """The (shrunken) background covariance; the identity without a background."""
        if not pencil.n_backgrounds:
            return np.eye(pencil.size)
        mean = pencil.backgrounds[0].trace / pencil.n_features
        gamma = float(self.shrinkage)
        metric = (1 - gamma) * matrix_of(pencil.backgrounds[0]) + gamma * mean * np.eye(pencil.size)
        values = np.linalg.eigvalsh(metric)
        if values[0] <= SINGULAR * values[-1]:
            rank = int(np.sum(values > SINGULAR * values[-1]))
            raise SingularBackgroundError(
                f"the background's covariance is singular (rank {rank} of {pencil.n_features} features), so the ratio has "
                "no maximum: set shrinkage, for instance shrinkage=0.1, or use UCA, which needs none"
            )
        return metric
