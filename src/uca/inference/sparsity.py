"""How many features a sparse component needs: variance against their number, with proof, and on held-out rows.

In the rows at hand more features never explain less. On held-out rows they may: rows (or subjects) of all datasets are dealt
into folds, the search is repeated without each fold, and the fold's rows, centred and scaled as those of the fit, are
measured along what it found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._parameters import check_positive_int
from .._subjects import folds
from .._types import Array, Groups
from ..estimators.base import represent
from ..estimators.problem import Problem
from ..estimators.sparse_component import Covariances
from ..estimators.sparsity import SparsityPath
from ..operators.sources.chunks import project
from ..operators.statistics.standard import Standard
from .parallel import run
from .parameters import check_model, seed_of
from .sample import Sample, check_sample

if TYPE_CHECKING:
    from ..estimators.sparse_uca import SparseUCA

FEWEST_FOLDS = 2


def path_of(
    model: SparseUCA,
    problem: Problem,
    n_nonzero: Sequence[int],
    *,
    groups: Groups = None,
    n_folds: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> SparsityPath:
    """The path of a model's parameters on a problem; rows are held out where it has them."""
    sizes = _check_sizes(n_nonzero, problem.pencil.n_features)
    sample = _check_rows(problem, groups, n_folds)
    covariances = Covariances.of(problem, model.bound)
    each = math.inf if model.time_limit is None else float(model.time_limit) / len(sizes)
    found = [covariances.component(k, proof=model.proof, time_limit=each) for k in sizes]
    vectors = np.hstack([result.vectors for result in found])
    names = None if problem.data is None else problem.data.feature_names
    order = [np.argsort(-np.abs(column), kind="stable")[: np.count_nonzero(column)] for column in vectors.T]
    results = [result.in_units(problem.powers.tolist()) for result in found]
    variances = problem.variances(covariances.entries.inside(vectors))
    held_out = None
    if sample is not None:
        dealt = folds(sample.subjects, n_folds, np.random.default_rng(seed_of(random_state)))
        parts = run(_on_fold, dealt, sample, check_model(model, proof="none", n_components=1), sizes, n_jobs=n_jobs)
        held_out = np.sum(parts, axis=0) / np.array(sample.n_rows)[:, np.newaxis]
    return SparsityPath(
        n_nonzero=np.array(sizes),
        variance=variances[0],
        upper=np.array([result.certificate.upper for result in results]),
        background_variance=variances[1:].T.copy(),
        support=tuple(chosen if names is None else names[chosen] for chosen in order),
        certificates=tuple(result.certificate for result in results),
        held_out=None if held_out is None else held_out[0],
        held_out_background=None if held_out is None else held_out[1:].T.copy(),
        bounds=results[0].bounds,
        background_names=problem.names,
        n_folds=0 if sample is None else n_folds,
        grouped=sample is not None and sample.grouped,
    )


def _check_sizes(n_nonzero: Any, p: int) -> list[int]:
    if isinstance(n_nonzero, str) or not hasattr(n_nonzero, "__iter__"):
        raise TypeError(f"n_nonzero must be a list of numbers of features, such as [3, 5, 10, 20]; got {n_nonzero!r}")
    given = list(n_nonzero)
    for k in given:
        check_positive_int("n_nonzero", k)
    if not given:
        raise ValueError("n_nonzero is empty: give numbers of features, such as [3, 5, 10, 20]")
    return sorted({min(int(k), p) for k in given})


def _check_rows(problem: Problem, groups: Groups, n_folds: int) -> Sample | None:
    """Rows to hold out; None where matrices, a stream or distant data were given, and without a background."""
    check_positive_int("n_folds", n_folds)
    if n_folds < FEWEST_FOLDS:
        raise ValueError(f"n_folds must be at least {FEWEST_FOLDS}; got {n_folds}")
    data = problem.data
    if data is None or not data.tables or problem.n_rows is None or not problem.names:
        if groups is not None:
            raise ValueError("groups tell rows apart, and there are none to hold out: pass X and backgrounds")
        return None
    backgrounds = dict(zip(data.names, data.arrays[1:], strict=True))
    return check_sample(data.arrays[0], backgrounds, groups, min_subjects=n_folds)


def _on_fold(fold: tuple[Array, ...], sample: Sample, model: SparseUCA, sizes: Sequence[int]) -> Array:
    """Sums of squared scores of a fold's rows of each dataset, (m + 1, s), by searches on all other rows."""
    part = sample.datasets(sample.take([~rows for rows in fold]))
    problem = Problem(represent(model, part, 1), part.names, 1, np.dtype(float), data=part)
    covariances = Covariances.of(problem, model.bound)
    vectors = np.hstack([covariances.component(k, proof="none", time_limit=0.0).vectors for k in sizes])
    sums = []
    for array, rows, standard in zip(sample.arrays, fold, problem.held.standards, strict=True):
        n = float(np.sum(~rows))  # a mean of so many rows is off by that share of their variance
        sums.append(_squares(array[rows], standard, vectors) * (n / (n + 1.0) if model.center else 1.0))
    return np.array(sums)


def _squares(rows: Any, standard: Standard, vectors: Array) -> Array:
    scores = project(rows, standard.mean + standard.rest, vectors * standard.factor[:, np.newaxis])
    return np.asarray((scores**2).sum(axis=0))
