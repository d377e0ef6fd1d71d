"""What cPCA and cPCA++, the methods UCA is compared with, have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np

from .._containers import float_dtype
from .._parameters import check_n_components
from .._threads import one_blas_thread
from .._types import Array
from .._validation import check_datasets
from ..operators.base import CovarianceOperator
from ..operators.representation import Representation
from ..operators.units import canonical
from .base import ContrastiveTransformer, check_variance, features, in_namespace, warn_constant, warn_y

SINGULAR = 1e-10  # smallest over largest eigenvalue at which a background counts as singular


class OneBackground(ContrastiveTransformer):
    """What cPCA and cPCA++ share: at most one background, and eigenvectors that need no solver.

    Subclasses implement ``_solve``, which returns the fitted attributes that are theirs.
    """

    eigenvalues_: Array
    explained_variance_ratio_: Array
    background_variance_: Array
    background_names_: list[str]
    n_samples_: int
    representation_: str

    def fit(self, X: Any, y: Any = None, *, backgrounds: Any = None) -> Self:
        """Find the components of a target against one background.

        Parameters
        ----------
        X : array or table of shape (n, p)
            The target.
        y : ignored
            Pipelines and searches of scikit-learn pass it to every step. Any other call that gives it gets a warning:
            groups are told apart by ``X`` and ``backgrounds``, not by labels.
        backgrounds : array or table of shape (n_b, p), or a list, tuple or dict that holds one; optional
            None is plain PCA. Several are refused: stack them with :func:`uca.pool`, or use :class:`uca.UCA`.

        Returns
        -------
        self
            If fitting fails, the estimator stays as it was.
        """
        self._check_parameters()
        warn_y(self, y, plain_pca=backgrounds is None)
        data = check_datasets(self, X, backgrounds)
        if len(data.names) > 1:
            raise ValueError(
                f"{type(self).__name__} takes one background, got {len(data.names)}: stack them with "
                "uca.pool(*backgrounds), or give each its own constraint with UCA"
            )
        k = check_n_components(self.n_components, data.n_features)
        with one_blas_thread():
            held = self._hold(data, k)
            warn_constant(held.n_constant, data.names)
            check_variance(held.pencil)
            own_units, powers = canonical(held.pencil)
            fitted = self._solve(replace(held, pencil=own_units), powers, k, float_dtype(data.arrays[0].dtype))
        fitted.update(
            features(data),
            n_samples_=int(data.arrays[0].shape[0]),
            background_names_=list(data.names),
            mean_=held.mean,
            scale_=held.scale,
            representation_=held.name,
        )
        self._install(in_namespace(fitted, data.arrays[0]))
        return self

    @abstractmethod
    def _solve(self, held: Representation, powers: Array, k: int, dtype: np.dtype) -> dict[str, Any]:
        """The fitted attributes that are the subclass's own, in the units of the user.

        ``powers`` of four lead to them from those of the pencil, for the target and the background.
        """


def matrix_of(operator: CovarianceOperator) -> Array:
    """The operator as a matrix."""
    matrix = operator.dense()
    return operator @ np.eye(operator.size) if matrix is None else matrix
