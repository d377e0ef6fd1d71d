"""What a fit keeps of its datasets so that new rows can be compared with them, and the distance of rows from them.

For a row x with scores ``s = V (x - mean) / scale``, (k,), the squared distance from a dataset is that of Mahalanobis,

    D(x) = s' S^-1 s,       S = V B V',

where B is the covariance of the dataset on standardised features and S, (k, k), that of its scores. Its mean over rows of
the dataset about their mean is k; for a normal law it is chi-squared with k degrees of freedom. It is the same for any
basis of the space that the components span, and for scores that are whitened.

S is that of the rows of the fit, and the components were chosen so that backgrounds vary little along them: new background
rows vary more. Where the fit predicts how much (``expected_background_variance_``), S is widened so that its diagonal is
that prediction, ``S_il sqrt(e_i e_l / (S_ii S_ll))``; correlations are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from .._containers import is_array_api, is_dask
from .._types import Array, Rows
from .._validation import label_of
from ..operators.sources.chunks import project
from ..operators.sources.namespace import like, to_numpy
from ..operators.statistics.standard import Standard

SINGULAR = 1e-12  # smallest over largest variance, on correlations, at which a combination of components does not vary
MOST_ROWS, MOST_ENTRIES = 2_000, 500_000  # that a kurtosis is taken from: little beside the fit
FEWEST_ROWS = 30  # below, a fourth moment says nothing


@dataclass(frozen=True, eq=False)
class Reference:
    """Rows, means, scales and scores of the datasets of a fit, target first.

    Attributes
    ----------
    n_rows : tuple of int
    means, scales : tuple of arrays of shape (p,)
        What each dataset was centred and scaled by.
    covariances : array of shape (m + 1, k, k)
        Of the scores of each dataset, each in its own standardised units and not whitened. The diagonals are
        ``explained_variance_`` and the columns of ``background_variance_``.
    kurtosis : array of shape (m + 1, k)
        Of the scores (3 for a normal law), from some of the rows: tells how far a variance moves by chance. NaN where rows
        were not at hand (streams, dask) or too few for the features.
    """

    n_rows: tuple[int, ...]
    means: tuple[Array, ...]
    scales: tuple[Array, ...]
    covariances: Array
    kurtosis: Array

    @classmethod
    def of(
        cls,
        n_rows: Sequence[int],
        standards: Sequence[Standard],
        covariances: Array,
        arrays: Sequence[Any],
        components: Array,
    ) -> Reference:
        """From what datasets were standardised by; ``arrays`` are their rows, or empty where there are none."""
        means, scales = zip(*((standard.mean, standard.scale) for standard in standards), strict=True)
        kurtosis = np.full(covariances.shape[:2], np.nan)
        for j, rows in enumerate(arrays):
            kurtosis[j] = _kurtosis(rows, standards[j], components)
        return cls(tuple(map(int, n_rows)), tuple(means), tuple(scales), covariances, kurtosis)


def _kurtosis(rows: Any, standard: Standard, components: Array) -> Array:
    """Of the scores on each component, from evenly spaced rows."""
    in_reach = isinstance(rows, np.ndarray) or (sparse.issparse(rows) and rows.format == "csr")
    n = int(min(rows.shape[0], MOST_ROWS, MOST_ENTRIES // rows.shape[1]))
    if not in_reach or n < FEWEST_ROWS:
        return np.full(len(components), np.nan)
    chosen = rows[:: -(-rows.shape[0] // n)]
    scores = project(chosen, standard.mean, (components * standard.factor).T.astype(float))
    scores = scores / np.sqrt(np.mean(scores**2, axis=0, keepdims=True).clip(np.finfo(float).tiny))
    squares = (scores - (scores.mean(axis=0) if standard.center else 0.0)) ** 2
    size = squares.mean(axis=0)
    return np.divide(np.mean(squares**2, axis=0), size**2, out=np.full_like(size, np.nan), where=size > 0)


class Distances:
    """The methods of a fitted model that compare rows with its backgrounds."""

    background_names_: list[str]
    score_scale_: Any
    reference_: Reference | None

    def background_distance(self: Any, X: Rows) -> Array:
        """Squared distance of rows from each background, along the components.

        Rows are centred and scaled as the target was (as :meth:`transform` does), because they are meant to be new rows of
        the target: what is measured is how far a row is from the centre of the target, in units of what a background varies
        there. A row that has nothing of its own has about k, the number of components; a row that has what only
        the target has is far from every background. Rows whose mean has moved are far as well.

        With scores ``s`` and ``S_j`` the covariance of the scores of background j, ``D_j = s' S_j^-1 s`` (Mahalanobis).
        ``S_j`` is that expected of new rows where the fit predicts it (``expected_background_variance_``), else that of
        the rows of the fit. For background rows of a normal law about the same mean, ``D_j`` follows a chi-squared
        law with k degrees of freedom; rows of real processes have heavier tails, so set limits by rows that you know.

        Parameters
        ----------
        X : array, sparse matrix, table or dask array of shape (n, p)

        Returns
        -------
        distance : array of shape (n, m)
            Columns in the order of ``background_names_``; a dask array for dask rows. ``distance.min(axis=1)`` is large
            where a row is far from *every* background.
        """
        if not self.to_numpy().background_names_:
            raise ValueError(
                f"this {type(self).__name__} was fitted without backgrounds: there is none to measure distances from. "
                "Pass backgrounds to fit, or use score_samples, which then compares rows with the target"
            )
        return _squared(self, X, range(1, 1 + len(self.background_names_)), lambda squared: squared)

    def score_samples(self: Any, X: Rows) -> Array:
        """How much each row is like a background: minus its squared distance from the nearest one.

        Higher is more alike, as in the outlier detectors of scikit-learn. Without backgrounds it is minus the squared
        distance from the target itself (Hotelling's T-squared on principal components).

        Parameters
        ----------
        X : array, sparse matrix, table or dask array of shape (n, p)

        Returns
        -------
        scores : array of shape (n,)
            ``-background_distance(X).min(axis=1)``.
        """
        m = len(self.to_numpy().background_names_)
        return _squared(self, X, range(1, 1 + m) if m else [0], lambda squared: -squared.min(axis=1))


def reference_of(model: Any) -> Reference:
    """What a fitted model keeps of its datasets; an error where it has none."""
    found: Reference | None = getattr(model, "reference_", None)
    if found is not None:
        return found
    if model.to_numpy().n_samples_ is None:
        why = "it was fitted on matrices, which do not say how many rows they come from: fit it on rows"
    else:
        why = "it was fitted by an older version of the package: fit it again"
    raise ValueError(f"this {type(model).__name__} cannot compare new rows with those of its fit: {why}")


def expected_variances(model: Any) -> Array:
    """Variance of each dataset along each component that new rows should show, (m + 1, k): in the target that of the fit."""
    observed = np.array([np.diagonal(matrix) for matrix in reference_of(model).covariances], dtype=float)
    expected = getattr(model, "expected_background_variance_", None)
    return observed if expected is None else np.vstack([observed[:1], to_numpy(expected).astype(float).T])


def _squared(model: Any, X: Rows, datasets: Sequence[int], then: Callable[[Any], Any]) -> Any:
    """Squared distances of rows from some datasets, 0 being the target, (n, len(datasets)); ``then`` is done to them.

    The result is of the kind of X: numpy, a dask array, or an array of its namespace.
    """
    factors = [_whitening(model, j) for j in datasets]
    given = model.transform(X)
    scores = given if is_dask(given) else to_numpy(given) if is_array_api(given) else np.asarray(given, dtype=float)
    parts = (scores / model.score_scale_ @ np.hstack(factors)) ** 2
    sums = np.kron(np.eye(len(factors)), np.ones((len(factors[0]), 1)))  # of the columns of each dataset
    found = then(parts @ sums)
    return like(found, given) if is_array_api(given) else found


def _whitening(model: Any, j: int) -> Array:
    """W with ``W W' = S^-1`` for the scores of dataset j, (k, k)."""
    covariance = reference_of(model).covariances[j].astype(float)
    name = label_of(model.background_names_[j - 1]) if j else "the target"
    variances = expected_variances(model)[j]
    if not np.isfinite(variances).all():
        first = model.get_feature_names_out()[np.flatnonzero(~np.isfinite(variances))[0]]
        raise ValueError(
            f"the fit has used up nearly all rows of {name} along {first}: how much new rows vary there is not known, and "
            "distances cannot be measured in it. Use more rows, fewer features or fewer components, or "
            "UCA(bound_on='new rows')"
        )
    sizes = np.sqrt(np.diagonal(covariance))
    if np.all(sizes > 0) and np.all(variances > 0):
        correlations = covariance / np.multiply.outer(sizes, sizes)
        if np.linalg.eigvalsh(correlations)[0] > SINGULAR:
            try:
                factor = cholesky(correlations, lower=True)
            except LinAlgError:  # rounding
                factor = None
            if factor is not None:
                inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
                return np.asarray(inverse.T / np.sqrt(variances)[:, np.newaxis])
    raise ValueError(
        f"{name} does not vary along some combination of the {len(sizes)} components: distances from it are not defined. "
        "Ask for fewer components"
    )
