"""The variance of each component in new background rows, by leaving subjects out of the fit.

A fit predicts it by itself (``expected_background_variance_``), for rows that are independent. Where several rows belong to
one subject (repeated measurements, cells of one donor), a row that is left out has its likes in the fit, and the prediction
is too low. Here whole subjects are left out: the model is fitted without each fold of subjects, and the rows of the fold are
centred and scaled as the background of that fit was and measured along its components. The mean of the squared scores over
all folds is the variance to expect of new subjects. It errs to the high side, a little: each fit has fewer rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._parameters import check_n_components, check_positive_int
from .._readable import listed
from .._shown import Part, Shown, table, text
from .._subjects import folds
from .._types import Array, Backgrounds, Groups, Rows
from ..estimators.bounded import BoundedTransformer
from ..estimators.expected_words import NewRowsWarning, in_both, is_far
from ..estimators.summary import prediction
from ..fitted import background_law, scores_by
from ..operators.representations.estimated import in_memory
from .parallel import run
from .parameters import check_model, seed_of, takes_gaps
from .sample import Sample, check_sample

MIN_SUBJECTS = 4  # in every dataset
MOST_FOLDS = 20  # where no number is given; up to so many subjects each is left out by itself
TOLERANCE = 1e-6  # of the refits


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedVariance(Shown):
    """Result of :func:`expected_background_variance`; ``print`` it for the table.

    Attributes
    ----------
    model : UCA
        Fitted to all rows.
    expected : array of shape (k, m)
        Variance of each component in subjects (or rows) of each background that were left out of the fit.
    error : array of shape (k, m)
        Standard errors, over subjects.
    n_folds : int
    n_subjects : tuple of int
        Of target and backgrounds.
    grouped : bool
        Whether subjects were given; else every row counts as one.
    """

    model: BoundedTransformer
    expected: Array
    error: Array
    n_folds: int
    n_subjects: tuple[int, ...]
    grouped: bool

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each component and background, as plain numbers."""
        model = self.model
        return [
            {
                "component": f"{model.component_prefix}{i + 1}",
                "background": name,
                "bound": float(model.bounds_[j]),
                "in these rows": float(model.background_variance_[i, j]),
                "predicted, independent rows": self._predicted(i, j),
                "left out": float(self.expected[i, j]),
                "standard error": float(self.error[i, j]),
            }
            for i in range(len(self.expected))
            for j, name in enumerate(model.background_names_)
        ]

    def _predicted(self, i: int, j: int) -> float:
        known = getattr(self.model, "expected_background_variance_", None)
        return float("nan") if known is None else float(known[i, j])

    @property
    def sentence(self) -> str:
        """The first component in words."""
        who = "subjects" if self.grouped else "rows"
        model = self.model
        told = [
            f"in {name!r} it is {in_both(own, new)}"
            for name, own, new in zip(
                model.background_names_, model.background_variance_[0], self.expected[0], strict=True
            )
        ]
        text = f"Variance of {model.component_prefix}1, by leaving out {who} ({self.n_folds} fits): {'; '.join(told)}."
        far = is_far(self.expected[0], model.bounds_)
        if far.any():
            text += " The bound holds for the rows of the fit, not for new ones."
        return text + ("" if self.grouped else " Rows are assumed to be independent: give groups if they are not.")

    def _brief(self) -> str:
        names = zip(self.model.background_names_, self.expected[0], self.model.bounds_, strict=True)
        told = [f"{value:.3g} in {name!r} (bound {bound:.3g})" for name, value, bound in names]
        who = "subjects" if self.grouped else "rows"
        return f"{self.model.component_prefix}1 along {who} left out of the fit: variance {listed(told, 4)}"

    def _parts(self) -> list[Part]:
        header = ["component", "background", "bound", "in these rows", "predicted", "left out", "+-"]
        rows = [
            [
                row["component"],
                row["background"],
                f"{row['bound']:.3g}",
                f"{row['in these rows']:.3g}",
                prediction(row["predicted, independent rows"]),
                f"{row['left out']:.3g}",
                f"{row['standard error']:.2g}",
            ]
            for row in self.table
        ]
        return [table(header, rows), text(self.sentence, place="top")]


def expected_background_variance(
    X: Rows,
    backgrounds: Backgrounds,
    *,
    n_components: int | None = None,
    n_folds: int | None = None,
    groups: Groups = None,
    random_state: Any = None,
    model: BoundedTransformer | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> ExpectedVariance:
    """Variance of the components in background subjects that were left out of the fit.

    For independent rows a fit has this already, as ``expected_background_variance_``; with repeated rows that is too low,
    so use this function.

    Parameters
    ----------
    X, backgrounds, groups, random_state, model, n_jobs, verbose
        As in :func:`~uca.inference.uniqueness_test`. A subject is left out of every dataset that it occurs in.
    n_components : int, optional
        Default: that of the model, 2 without one.
    n_folds : int, optional
        Number of folds of subjects. Default: one for each subject of the smallest dataset, at most 20.

    Returns
    -------
    ExpectedVariance

    Examples
    --------
    >>> import numpy as np
    >>> from uca.inference import expected_background_variance
    >>> rng = np.random.default_rng(0)
    >>> mice, shared = np.repeat(np.arange(10), 8), 2 * rng.normal(size=(3, 20))  # eight rows of each of ten mice
    >>> means = rng.normal(size=(10, 3)) @ shared + rng.normal(size=(10, 20))
    >>> control = np.repeat(means, 8, axis=0) + 0.3 * rng.normal(size=(80, 20))
    >>> treated = rng.normal(size=(100, 3)) @ shared + rng.normal(size=(100, 20))
    >>> found = expected_background_variance(treated, control, groups=[None, mice], n_components=1)
    >>> bool(found.expected[0, 0] > 1.5 * found.model.background_variance_[0, 0])
    True
    """
    sample = check_sample(X, backgrounds, groups, min_subjects=MIN_SUBJECTS, gaps=takes_gaps(model))
    refit = check_model(model, tol=TOLERANCE, whiten=False)
    k = refit.n_components if n_components is None else n_components
    refit.set_params(n_components=check_n_components(k, sample.n_features))
    smallest = min(sample.n_subjects)
    if n_folds is None:
        n_folds = min(smallest, MOST_FOLDS)
    check_positive_int("n_folds", n_folds)
    if not 2 <= n_folds <= smallest:
        who = "groups" if sample.grouped else "rows"
        raise ValueError(f"n_folds must lie between 2 and {smallest}, the {who} of the smallest dataset; got {n_folds}")
    dealt = folds(sample.subjects, n_folds, np.random.default_rng(seed_of(random_state)))
    found = run(left_out, dealt, sample, refit, n_jobs=n_jobs, verbose=verbose, what="folds")
    codes = [
        np.concatenate([subjects[fold[1 + j]] for fold in dealt]) for j, subjects in enumerate(sample.subjects[1:])
    ]
    squares = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    expected, error = zip(*map(_over_subjects, squares, codes), strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NewRowsWarning)  # the result says it better
        fitted = sample.fit(check_model(model, n_components=refit.n_components))
    return ExpectedVariance(
        model=fitted,
        expected=np.stack(expected, axis=1),
        error=np.stack(error, axis=1),
        n_folds=n_folds,
        n_subjects=sample.n_subjects,
        grouped=sample.grouped,
    )


def left_out(fold: tuple[Array, ...], sample: Sample, model: BoundedTransformer) -> list[Array]:
    """Squared scores, (rows, k), of a fold's rows of each background, by a fit to all other rows."""
    fitted = sample.fit_part(model, [~rows for rows in fold], "the rows outside a fold").to_numpy()
    squares = []
    for array, codes, rows in zip(sample.arrays[1:], sample.subjects[1:], fold[1:], strict=True):
        others = len(np.unique(codes[~rows]))  # a mean of so many subjects is off by that share of their variance
        share = others / (others + 1.0) if fitted.center else 1.0
        squares.append(_squared_scores(fitted, array[~rows], array[rows]) * share)
    return squares


def _squared_scores(fitted: BoundedTransformer, inside: Any, outside: Any) -> Array:
    """Of rows that were left out, by the standard of those that were not; gaps are completed by the law of these."""
    known = background_law(fitted, inside, outside)
    completed = None if known.law is None else known.law.complete(in_memory(outside))
    scores = scores_by(known.standard, fitted, outside if completed is None else completed.rows)
    unknown = 0.0 if completed is None else completed.along((fitted.components_ * known.standard.factor).T)
    return np.asarray(scores**2 + unknown)


def _over_subjects(squares: Array, subjects: Array) -> tuple[Array, Array]:
    """Mean over rows, (k,), and its standard error over subjects (a ratio of sums: subjects may differ in rows)."""
    _, place, counts = np.unique(subjects, return_inverse=True, return_counts=True)
    mean = squares.mean(axis=0)
    size = np.maximum(mean, np.finfo(float).tiny)
    sums = np.zeros((len(counts), squares.shape[1]))
    np.add.at(sums, place, (squares - mean) / size)  # no squares of units
    n = len(counts)
    return mean, size * np.sqrt((sums**2).sum(axis=0) * n / max(n - 1, 1)) / len(squares)
