"""Choose and build a representation."""

from __future__ import annotations

from collections.abc import Sequence

from .._types import Array
from .covariance import from_rows
from .product_svd import from_product
from .reduced import from_gram
from .representation import Representation

REPRESENTATIONS = ("covariance", "reduced", "product_svd")
EIGENSOLVES = 8  # typical number of eigen-solves of a fit


def choose_representation(n_rows: Sequence[int], n_features: int) -> str:
    """The cheaper representation for datasets of ``n_rows`` rows (target first) and ``n_features`` features.

    Counted in multiplications. Covariances cost ``N p^2`` for the products and ``4/3 p^3`` an eigen-solve. The reduced
    form costs ``N^2 p`` for the Gram pass, ``N^3/3`` for its factor, ``n_j N^2`` for each small covariance and
    ``4/3 N^3`` an eigen-solve. The two meet near p = N, N being all rows together.
    """
    total, p = sum(n_rows), n_features
    covariance = total * p**2 + EIGENSOLVES * 4 / 3 * p**3
    reduced = total**2 * p + total**3 * (1 / 3 + 1 + EIGENSOLVES * 4 / 3)
    return "reduced" if reduced < covariance else "covariance"


def build(
    arrays: Sequence[Array],
    labels: Sequence[str],
    *,
    representation: str,
    center: bool,
    scale: bool | str,
    n_empty: int,
) -> Representation:
    """Standardise the target (first) and the backgrounds and hold them as a pencil."""
    name = representation
    if name == "auto":
        name = choose_representation([len(array) for array in arrays], arrays[0].shape[1])
    if name == "reduced":
        return from_gram(arrays, labels, center=center, scale=scale, n_empty=n_empty)
    if name == "product_svd":
        return from_product(arrays, labels, center=center, scale=scale)
    return from_rows(arrays, labels, center=center, scale=scale)
