"""Choose and build a representation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scipy import sparse

from .._containers import is_array_api, is_dask
from .covariance import from_rows
from .dense import DIRECT_MAX
from .implicit import from_products
from .memory import matrices_fit
from .product_svd import from_product
from .reduced import from_gram
from .representation import Representation
from .units import in_moderate_units

REPRESENTATIONS = ("covariance", "reduced", "implicit", "product_svd")

DIRECT_SOLVES = 8  # typical number of eigen-solves of a fit where they are direct
CHEAP = 1e9  # multiplications that take some hundredths of a second
BOTH_LARGE = 2_000  # rows and features, from which dense data may go implicit
PASSES = 40  # typical number of passes of a fit where they are not
BLOCK = 4  # vectors a pass
# Costs of one multiplication, in units of one in a large dense product (measured on two cores).
MEMORY_BOUND = 8.0  # in a dense product with a few vectors
SPARSE = 25.0  # in a sparse product with a few vectors
EIGEN = 4.0  # in a direct eigen-solve
DISTANT = 5.0  # a pass over chunks that dask reads, as a multiple of one over memory
GUESSED_DENSITY = 0.05  # of sparse chunks that have not been read


def choose_representation(
    n_rows: Sequence[int],
    n_features: int,
    n_stored: float | None = None,
    *,
    fits: bool = True,
    pass_cost: float = 1.0,
) -> str:
    """The cheapest representation for datasets of ``n_rows`` rows (target first) and ``n_features`` features.

    ``n_stored`` is the number of stored values where data is sparse; ``fits`` tells whether a p x p matrix for each dataset
    fits in memory; ``pass_cost`` is more than 1 where reading the data is slower than memory. Counted in multiplications
    of a large dense product:

    * covariances: ``N p^2`` for the products, then eigen-solves of order p;
    * the reduced form: ``N^2 p`` for the Gram pass, ``N^3/3`` for its factor, ``n_j N^2`` for each small covariance, then
      eigen-solves of order N;
    * implicit products: ``2 N p`` for each vector of each pass, slower by what memory costs.

    Dense data goes implicit only where covariances do not fit, or p and N both exceed ``BOTH_LARGE``, and no data does
    where another form is ``CHEAP``: upper bounds of the others are proven.
    """
    total, p, m = sum(n_rows), n_features, len(n_rows)
    costs = {
        "covariance": total * p**2 + _eigen_cost(p, m),
        "reduced": total**2 * p + total**3 * (1 / 3 + 1) + _eigen_cost(total, m),
        "implicit": 2.0
        * PASSES
        * BLOCK
        * pass_cost
        * (SPARSE * n_stored if n_stored is not None else MEMORY_BOUND * total * p),
    }
    if not fits:
        del costs["covariance"]
    proven = min(cost for name, cost in costs.items() if name != "implicit")
    if proven <= CHEAP or (n_stored is None and fits and min(total, p) <= BOTH_LARGE):
        del costs["implicit"]
    return min(costs, key=costs.__getitem__)


def _eigen_cost(order: int, n_matrices: int) -> float:
    if order <= DIRECT_MAX:
        return DIRECT_SOLVES * EIGEN * 4 / 3 * order**3
    return MEMORY_BOUND * PASSES * BLOCK * n_matrices * order**2 + order**3 / 3


def build(
    arrays: Sequence[Any],
    labels: Sequence[str],
    *,
    representation: str,
    center: bool,
    scale: bool | str,
    n_empty: int,
) -> Representation:
    """Standardise the target (first) and the backgrounds and hold them as a pencil."""
    name = _choose(arrays) if representation == "auto" else representation
    how: dict[str, Any] = {"center": center, "scale": scale}

    def make(tables: Sequence[Any]) -> Representation:
        return _build(name, tables, labels, n_empty, how)

    return in_moderate_units(make, arrays, scale)


def _build(
    name: str, arrays: Sequence[Any], labels: Sequence[str], n_empty: int, how: dict[str, Any]
) -> Representation:
    if any(is_dask(array) for array in arrays):
        from .distributed import from_dask

        return from_dask(arrays, labels, representation=name, n_empty=n_empty, **how)
    if any(is_array_api(array) for array in arrays):
        from .array_api import from_array_api

        return from_array_api(arrays, labels, representation=name, n_empty=n_empty, **how)
    if name == "reduced":
        return from_gram(arrays, labels, n_empty=n_empty, **how)
    if name == "implicit":
        return from_products(arrays, labels, **how)
    if name == "product_svd":
        return from_product(arrays, labels, **how)
    return from_rows(arrays, labels, **how)


def _choose(arrays: Sequence[Any]) -> str:
    n_rows, p = [array.shape[0] for array in arrays], arrays[0].shape[1]
    if any(is_array_api(array) for array in arrays):
        return choose_representation(n_rows, p) if min(sum(n_rows), p) <= BOTH_LARGE else "covariance"
    stored = [_stored(array) for array in arrays]
    return choose_representation(
        n_rows,
        p,
        None
        if stored == [None] * len(arrays)
        else sum(n * p if s is None else s for n, s in zip(n_rows, stored, strict=True)),
        fits=matrices_fit(p, len(arrays)),
        pass_cost=DISTANT if any(is_dask(array) for array in arrays) else 1.0,
    )


def _stored(array: Any) -> float | None:
    """Number of stored values of a sparse dataset; None for a dense one."""
    if is_dask(array):
        return GUESSED_DENSITY * array.size if sparse.issparse(array._meta) else None
    return array.nnz if sparse.issparse(array) else None
