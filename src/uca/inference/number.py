"""How many components are unique: by the test, and by a fast screening.

The test (:func:`~uca.inference.uniqueness_test`, which counts components by contrast here) decides. The screening is
parallel analysis: the eigenvalues of ``A - sum_j lambda_j B_j`` at the fitted multipliers, beside those with a target
whose columns were permuted one by one, which keeps every feature's distribution and destroys what features have in
common. It takes one eigenproblem a permutation. It compares with a target *without* structure, not with one that shares
the background's, and errs both ways: shared factors that fluctuate between samples, and repeated rows, make it count
too many; strongly structured backgrounds make it count too few, because a permuted target varies where they leave room
and the real one does not. Both numbers are reported; where they differ, believe the test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._parameters import check_positive_int
from .._shown import Part, Shown, table, text
from .._threads import one_blas_thread
from .._types import Array, Backgrounds, Groups, Rows
from ..estimators.base import represent
from ..estimators.bounded import BoundedTransformer
from ..operators.eigen.solver import Eigensolver
from .halvings import AUTO
from .outcome import UniquenessTest, p_text
from .parallel import run, streams
from .parameters import check_alpha, check_dense, check_model, seed_of, takes_gaps
from .sample import Sample, check_sample
from .uniqueness import check_splits, model_of_halves, run_test

MOST_COUNTED = 10  # components looked at by default
SCREEN_TOLERANCE = 1e-6  # of the fit whose multipliers the screening uses


@dataclass(frozen=True, eq=False, repr=False)
class NumberOfComponents(Shown):
    """Result of :func:`estimate_n_components`; ``print`` it for the table.

    Row i of the table asks twice whether there is an i-th unique component: by the i-th eigenvalue (screening), and by the
    component with the i-th largest contrast (test). The two need not be one component.

    Attributes
    ----------
    n_components_ : int
        By the test: believe this one.
    n_screened_ : int
        By parallel analysis.
    test : UniquenessTest
    eigenvalues : array of shape (k,)
        Of the fitted model on all rows.
    thresholds : array of shape (k,)
        The ``1 - alpha`` quantile of each eigenvalue over permuted targets.
    n_permutations : int
    """

    n_components_: int
    n_screened_: int
    test: UniquenessTest
    eigenvalues: Array
    thresholds: Array
    n_permutations: int

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row per component, as plain numbers."""
        return [
            {
                "component": i + 1,
                "eigenvalue": float(value),
                "threshold": float(limit),
                "p": float(p),
                "screened": i < self.n_screened_,
                "unique": i < self.n_components_,
            }
            for i, (value, limit, p) in enumerate(
                zip(self.eigenvalues, self.thresholds, self.test.pvalues, strict=True)
            )
        ]

    @property
    def sentence(self) -> str:
        """The result in words."""
        return (
            f"{self.n_components_} unique component{'' if self.n_components_ == 1 else 's'} by the test on held-out rows, "
            f"{self.n_screened_} by parallel analysis ({self.n_permutations} permuted targets). "
            + ("They agree." if self.n_components_ == self.n_screened_ else "If they differ, believe the test.")
        )

    def _brief(self) -> str:
        return f"{self.n_components_} unique by the test on held-out rows, {self.n_screened_} by parallel analysis"

    def _parts(self) -> list[Part]:
        rows = [
            [
                f"{row['component']}",
                f"{row['eigenvalue']:.4g}",
                f"{row['threshold']:.4g}",
                "above" if row["screened"] else "",
                p_text(row["p"]),
                "unique" if row["unique"] else "",
            ]
            for row in self.table
        ]
        header = ["component", "eigenvalue", "permuted", "screening", "p, held out", "test"]
        return [
            table(header, rows),
            text(self.sentence, place="top"),
        ]


def estimate_n_components(
    X: Rows,
    backgrounds: Backgrounds,
    *,
    max_components: int | None = None,
    n_splits: int | str = AUTO,
    n_permutations: int = 40,
    groups: Groups = None,
    alpha: float = 0.05,
    random_state: Any = None,
    model: BoundedTransformer | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> NumberOfComponents:
    """Estimate how many components are unique to the target.

    Parameters
    ----------
    X, backgrounds, n_splits, groups, alpha, random_state, model, n_jobs, verbose
        As in :func:`~uca.inference.uniqueness_test`.
    max_components : int, optional
        Components to look at. Default: 10, or as many as there are features (half as many for a sequential model).
    n_permutations : int, default=40
        Permuted targets of the screening.

    Returns
    -------
    NumberOfComponents

    Examples
    --------
    >>> import numpy as np
    >>> from uca.inference import estimate_n_components
    >>> rng = np.random.default_rng(0)
    >>> two = rng.normal(size=(150, 2)) @ [[2, 2, 0, 0, 0, 0], [0, 0, 2, -2, 0, 0]]
    >>> treated, control = two + rng.normal(size=(150, 6)), rng.normal(size=(150, 6))
    >>> found = estimate_n_components(treated, control)
    >>> found.n_components_, found.n_screened_
    (2, 2)
    """
    alpha = check_alpha(alpha)
    check_dense(model, "estimate_n_components")
    check_positive_int("n_permutations", n_permutations)
    check_splits(n_splits)
    sample = check_sample(X, backgrounds, groups, gaps=takes_gaps(model))
    refit = model_of_halves(model, max_components, sample, most=MOST_COUNTED, name="max_components")
    seed = seed_of(random_state)
    test = run_test(sample, refit, n_splits, alpha, seed, "contrast", n_jobs, verbose)
    fitted = check_model(model, n_components=refit.n_components, components="joint", tol=SCREEN_TOLERANCE)
    sample.fit(fitted)
    seeds = streams(seed, n_permutations)
    permuted = run(permuted_eigenvalues, seeds, sample, fitted, n_jobs=n_jobs, verbose=verbose, what="permutations")
    eigenvalues = fitted.eigenvalues_.astype(float)
    thresholds = np.quantile(np.stack(permuted), 1.0 - alpha, axis=0)
    above = eigenvalues > thresholds
    return NumberOfComponents(
        n_components_=test.n_unique_,
        n_screened_=int(np.argmin(above)) if not above.all() else len(above),
        test=test,
        eigenvalues=eigenvalues,
        thresholds=thresholds,
        n_permutations=n_permutations,
    )


def permuted_eigenvalues(stream: np.random.SeedSequence, sample: Sample, model: BoundedTransformer) -> Array:
    """Top eigenvalues at the model's multipliers after every column of the target was permuted by itself."""
    target = permute_columns(sample.arrays[0], np.random.default_rng(stream))
    k = model.components_.shape[0]
    with one_blas_thread():
        held = represent(model, sample.datasets((target, *sample.arrays[1:])), k)
        return Eigensolver(held.pencil).top([1.0, *-model.lambdas_.astype(float)], k).values


def permute_columns(rows: Any, rng: np.random.Generator) -> Any:
    """A copy with every column in an order of its own."""
    if not sparse.issparse(rows):
        return rng.permuted(rows, axis=0)
    columns = rows.tocsc(copy=True)
    for j in range(columns.shape[1]):
        stored = columns.indptr[j + 1] - columns.indptr[j]
        places = rng.choice(columns.shape[0], size=stored, replace=False)
        columns.indices[columns.indptr[j] : columns.indptr[j + 1]] = np.sort(places)
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        columns.data[part] = rng.permutation(columns.data[part])
    return columns.tocsr()
