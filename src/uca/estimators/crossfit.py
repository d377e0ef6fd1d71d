"""Bounds for new rows: how far to hold a fit back, chosen on held-out rows.

Bounds on sample covariances hold for the rows at hand. With few rows beside features the fit finds directions in which just
these rows happen not to vary, and new rows do. Two restrictions leave it less room: to the leading q eigenvectors of the
*target* (where the background's accidents are not sought out), and bounds times a factor f. Both cost target variance where
they are not needed, so (q, f) is chosen by cross-fitting: rows (or subjects) of all datasets are dealt into folds, every
candidate is fitted without one fold and measured on it, each dataset in units of its own standard. Taken is the candidate
with the largest held-out target variance over max(1, held-out background variance / bound) ** 1.5.

Past a deadline the choice is made from the folds that were measured until then; where there are none, nothing is held back.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from .._containers import is_array_api, is_dask
from .._deadline import NEVER, Deadline
from .._parameters import check_bound, check_n_components, seed_from
from .._subjects import folds
from .._threads import one_blas_thread
from .._types import Array
from .._validation import Datasets
from ..operators.contract.pencil import Pencil
from ..operators.contract.units import in_user_units
from ..operators.eigen.solver import Eigensolver
from ..operators.representations.leading import LeadingPencil, leading_vectors
from ..operators.sources.chunks import project
from ..operators.sources.namespace import to_numpy
from ..operators.statistics.blocks import divisor
from ..operators.statistics.standard import Standard
from ..solvers.infeasible import InfeasibleBoundsError
from ..solvers.relaxed import solve_relaxed
from ..solvers.solve import solve
from .base import represent
from .problem import Problem
from .restriction import Restriction, TradeOff

if TYPE_CHECKING:
    from .uca import UCA

MOST_FOLDS, FEWEST_FOLDS = 5, 4  # as many as the smallest dataset has rows or subjects, in between
N_REPEATS = 2
FACTORS = (1.0, 0.7, 0.5, 0.35)  # descending; tighter ones won no setting of benchmarks/inference/option.py
N_LEADING = 6  # numbers of directions that are tried, from 2 to all that the target's rows span
MOST_LEADING = 300  # also the order of matrices up to which every factor is tried
MOST_BY_PRODUCTS = 50  # where the target's covariance is not in memory
TOLERANCE = 1e-5  # of the fits to folds


@dataclass(frozen=True)
class Grid:
    """Candidates: numbers of leading directions, each with every factor; and all directions with some."""

    n_leading: tuple[int, ...]
    factors_of_all: tuple[float, ...]

    @classmethod
    def of(cls, pencil: Pencil, n_rows: int, k: int) -> Grid:
        """What is worth trying for a target of so many rows and ``k`` components."""
        in_memory = pencil.in_memory or pencil.size <= MOST_LEADING
        most = min(n_rows, pencil.size, MOST_LEADING if in_memory else MOST_BY_PRODUCTS)
        least = min(max(2, k), most)
        tried = np.unique(np.round(np.geomspace(least, most, N_LEADING)).astype(int))
        leading = tuple(int(q) for q in tried if q < pencil.size and q >= k)
        return cls(leading, FACTORS if pencil.size <= MOST_LEADING else FACTORS[:1])

    @property
    def candidates(self) -> list[tuple[int | None, float]]:
        """Every candidate, in the order of :func:`_directions`."""
        return [(q, f) for q in self.n_leading for f in FACTORS] + [(None, f) for f in self.factors_of_all]


def choose(
    model: UCA,
    data: Datasets,
    whole: Problem,
    subjects: Sequence[Array] | None = None,
    deadline: Deadline = NEVER,
) -> Restriction:
    """The restriction under which the bounds hold on held-out rows at the least cost; data is checked, target first.

    ``subjects`` has the subject of each row of each dataset, as integers; None: rows are independent. ``whole`` is the
    problem of all rows. The ``deadline`` is looked at between fits.
    """
    arrays = [_sliceable(array, label) for array, label in zip(data.arrays, data.labels, strict=True)]
    if subjects is None:
        stops = np.cumsum([array.shape[0] for array in arrays])
        subjects = [np.arange(stop - array.shape[0], stop) for stop, array in zip(stops, arrays, strict=True)]
    n_folds = min(MOST_FOLDS, _check_enough(subjects, data.labels))
    given = check_bound(model.bound, whole.names)
    if given is not None:  # bounds that nothing keeps are an error here as in any fit
        own: dict[str, Any] = {"names": whole.names, "powers": whole.powers, "seed": whole.seed, "deadline": deadline}
        solve(whole.eigen, whole.bounds(given), k=1, **own)
    grid = Grid.of(whole.pencil, arrays[0].shape[0] - int(bool(model.center)), whole.k)
    rng = np.random.default_rng(whole.seed)
    dealt = [fold for _ in range(N_REPEATS) for fold in folds(subjects, n_folds, rng)]
    squares, n_measured = _measure(model, data, arrays, whole, grid, dealt, deadline)
    if not n_measured:
        return Restriction()
    n_rows = np.array([array.shape[0] for array in arrays])
    times = np.array([[held.sum() for held in inside] for inside in dealt[:n_measured]]).sum(axis=0) / n_rows
    variances = squares / (times * divisor(n_rows))[:, np.newaxis]
    n_leading, factors = zip(*grid.candidates, strict=True)
    trade_off = TradeOff(
        n_leading,
        np.array(factors),
        variances[0],
        variances[1:].T.copy(),
        in_user_units(whole.bounds(given), whole.powers[1:]),
        tuple(whole.names),
        n_folds,
        N_REPEATS,
        None if n_measured == len(dealt) else n_measured,
    )
    return Restriction(*grid.candidates[trade_off.best], trade_off)


def choose_for(model: UCA, data: Datasets, subjects: Sequence[Array]) -> Restriction:
    """The same for checked rows and the parameters of a model, its time limit too, that is not fitted to them."""
    model._check_parameters()
    deadline = Deadline.after(model.time_limit)
    k = check_n_components(model.n_components, data.n_features)
    with one_blas_thread():
        held = represent(model, data, k)
        whole = Problem(held, data.names, k, data.arrays[0].dtype, seed_from(model.random_state))
        whole.check_variance()
        restriction = choose(model, data, whole, subjects, deadline)
    if told := cut_short(restriction):
        warnings.warn(told, ConvergenceWarning, stacklevel=3)
    return restriction


def cut_short(chosen: Restriction) -> str:
    """What is to be said of a choice that the time limit ended; empty where none did."""
    found = chosen.trade_off
    if found is None:
        return (
            "bound_on='new rows': the time was over before a part of the rows was held out and measured, so the fit is not "
            "restricted for new rows. Raise time_limit"
        )
    if found.n_measured is None:
        return ""
    return (
        f"bound_on='new rows': the restriction was chosen on {found.n_measured} of {found.n_folds * found.n_repeats} "
        "held-out parts, then the time for it was over. Raise time_limit for all"
    )


class _TimeIsOver(Exception):
    """What is being measured would not be whole."""


def _measure(
    model: UCA,
    data: Datasets,
    arrays: Sequence[Any],
    whole: Problem,
    grid: Grid,
    dealt: Sequence[Sequence[Array]],
    deadline: Deadline,
) -> tuple[Array, int]:
    """Sums of squares on held-out rows, (m + 1, g), over the parts that the time allows; and how many these are."""
    squares = np.zeros((len(arrays), len(grid.candidates)))
    for i, inside in enumerate(dealt):
        part = Datasets(
            {name: array[~held] for name, array, held in zip(data.tables, arrays, inside, strict=True)},
            data.n_features,
            data.columns,
        )
        try:
            components = _directions(model, part, whole, grid, deadline)
        except _TimeIsOver:
            return squares, i
        out = zip(arrays, inside, whole.held.standards, strict=True)
        squares += [_sums_of_squares(array[held], standard, components) for array, held, standard in out]
    return squares, len(dealt)


def _directions(model: UCA, part: Datasets, whole: Problem, grid: Grid, deadline: Deadline) -> Array:
    """The first component of every candidate, fitted to some rows, (g, p)."""
    if deadline.passed:
        raise _TimeIsOver
    problem = Problem(represent(model, part, whole.k), whole.names, whole.k, whole.dtype, whole.seed)
    problem.check_variance()
    bounds = problem.bounds(check_bound(model.bound, whole.names))
    tol = max(TOLERANCE, model.tol)
    options: dict[str, Any] = {"k": 1, "names": whole.names, "tol": tol, "max_iter": model.max_iter, "seed": whole.seed}
    options["deadline"] = deadline
    basis = leading_vectors(problem.pencil, max(grid.n_leading, default=1))
    pencil = LeadingPencil(problem.pencil, basis)
    found = []
    for q in grid.n_leading:
        eigen = Eigensolver(pencil.first(min(q, basis.shape[1])), whole.seed)
        found += [basis[:, : len(vector)] @ vector for vector in _path(eigen, bounds, FACTORS, options)]
    found += _path(problem.eigen, bounds, grid.factors_of_all, options)
    return problem.held.lift(np.stack(found, axis=1))


def _path(eigen: Eigensolver, bounds: Array, factors: Sequence[float], options: dict[str, Any]) -> list[Array]:
    """The first component for every factor; from where tightening does not pay, the last one stands."""
    out: list[Array] = []
    for factor in factors:
        try:
            result = solve_relaxed(eigen, factor * bounds, ceiling=bounds, patient=False, **options)
        except InfeasibleBoundsError:
            if options["deadline"].passed:
                raise _TimeIsOver from None
            raise
        if options["deadline"].passed:  # it may have been cut short
            raise _TimeIsOver
        out.append(result.vectors[:, 0])
        if not np.array_equal(result.bounds, factor * bounds):
            break
    return out + [out[-1]] * (len(factors) - len(out))


def _sums_of_squares(rows: Any, standard: Standard, components: Array) -> Array:
    """Of the scores of rows in the units of a standard; (g,)."""
    scores = project(rows, standard.mean + standard.rest, (components * standard.factor).T)
    return np.asarray((scores**2).sum(axis=0))


def _sliceable(array: Any, label: str) -> Any:
    """Rows of which some can be taken."""
    if is_dask(array):
        raise TypeError(
            f"{label} is a dask collection, from which bound_on='new rows' cannot hold out rows: choose on rows in memory, "
            "with uca.inference.choose_restriction(X, backgrounds), and pass the result as bound_on"
        )
    if sparse.issparse(array):
        return array.tocsr()
    return to_numpy(array) if is_array_api(array) else array


def _check_enough(subjects: Sequence[Array], labels: Sequence[str]) -> int:
    """How many independent rows or subjects the smallest dataset has; raises where folds cannot be made of them."""
    counts = [len(np.unique(codes)) for codes in subjects]
    if min(counts) < FEWEST_FOLDS:
        raise ValueError(
            f"{labels[int(np.argmin(counts))]} has {min(counts)} independent rows or subjects; bound_on='new rows' "
            f"holds out a part of every dataset at a time and needs {FEWEST_FOLDS} of them at least"
        )
    return min(counts)
