"""What a handful of groups can show: scores by group, and what stays of the components when each group is left out.

Rows of one group (cells of a donor, measurements of an animal) are alike, so what counts is the number of groups. With
fewer than eight in a dataset :func:`~uca.inference.uniqueness_test` refuses: no p-value can speak of other groups. What can
be done is to describe the groups at hand:

* the mean, the SD and the number of scores in every group of every dataset;
* how far each component turns when the model is fitted without one group, in every dataset that the group occurs in;
* how much the rows of that group, which the fit has not seen, vary along the components of the fit without it: about their
  own mean, so that a group that merely lies elsewhere does not count as one that varies;
* the share of the target's variance along each component that lies between groups.

Nothing here is a test, and no number of these says anything about groups that are not there.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._parameters import check_n_components
from .._types import Array, Backgrounds, Groups, Rows
from ..estimators.bounded import BoundedTransformer
from ..estimators.expected_words import NewRowsWarning
from ..fitted import background_law, scores_by
from ..operators.representations.estimated import in_memory
from ..operators.statistics.blocks import divisor, sums_of_squares
from .left_out import LeftOutGroups
from .parallel import run
from .parameters import check_model, takes_gaps
from .sample import Sample, check_sample
from .stability import compare

TOLERANCE = 1e-6  # of the refits


def leave_one_group_out(
    X: Rows,
    backgrounds: Backgrounds,
    *,
    groups: Groups,
    n_components: int | None = None,
    model: BoundedTransformer | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> LeftOutGroups:
    """Describe components by group: scores, and what stays of the components when each group is left out.

    For few groups (donors, animals), where :func:`~uca.inference.uniqueness_test` refuses. It is a description, not a test.

    Parameters
    ----------
    X, backgrounds, model, n_jobs, verbose
        As in :func:`~uca.inference.uniqueness_test`.
    groups
        The group of each row, as in :func:`~uca.inference.uniqueness_test`: equal labels are one group, in whatever dataset,
        and it is left out of all of them. None for a dataset whose rows belong to no group; the target needs two groups.
    n_components : int, optional
        Default: that of the model, 2 without one.

    Returns
    -------
    LeftOutGroups

    Notes
    -----
    A group that is the only one of a dataset cannot be left out: its cosines and variances are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from uca.inference import leave_one_group_out
    >>> rng = np.random.default_rng(0)
    >>> donors = np.repeat(["a", "b", "c", "d"], 50)
    >>> treated = rng.normal(size=(200, 1)) * [3, 3, 0, 0, 0, 0] + rng.normal(size=(200, 6))
    >>> control = rng.normal(size=(200, 6))
    >>> found = leave_one_group_out(treated, {"control": control}, groups=[donors, donors], n_components=1)
    >>> found.group_names, bool(found.cosines.min() > 0.99)
    (('a', 'b', 'c', 'd'), True)
    """
    sample = check_sample(X, backgrounds, groups, min_subjects=1, gaps=takes_gaps(model))
    codes = _leaving(sample)
    plain = check_model(model)
    k = check_n_components(plain.n_components if n_components is None else n_components, sample.n_features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NewRowsWarning)  # the result says it by group
        fitted = sample.fit(check_model(model, n_components=k))
    refit = check_model(model, tol=TOLERANCE, n_components=k, whiten=False)
    done = run(without, codes, sample, refit, fitted, n_jobs=n_jobs, verbose=verbose, what="groups")
    cosines, spaces, variances, converged = (np.stack(part) for part in zip(*done, strict=True))
    scores = [np.asarray(fitted.transform(array)).astype(float) for array in sample.arrays]
    n_rows, means, deviations = by_group(scores, sample.subjects, codes)
    return LeftOutGroups(
        model=fitted,
        group_names=tuple(str(sample.labels[code]) for code in codes),
        dataset_names=("target", *sample.names),
        n_rows=n_rows,
        means=means,
        deviations=deviations,
        cosines=cosines,
        space_cosines=spaces,
        variances=variances,
        between=between_groups(scores[0], sample.subjects[0]),
        n_unconverged=int(np.sum(~converged)),
    )


def _leaving(sample: Sample) -> list[int]:
    """The groups, in the order in which they first occur; the target must have two."""
    if not sample.grouped:
        raise ValueError("groups=None: name the group of each row, such as its donor; there is nothing to leave out")
    n = int(np.sum(np.unique(sample.subjects[0]) >= 0))
    if n < 2:
        raise ValueError(f"target X has {n} group{'' if n == 1 else 's'}; at least 2 are needed to leave one out")
    return list(range(len(sample.labels)))


def without(
    code: int, sample: Sample, model: BoundedTransformer, fitted: BoundedTransformer
) -> tuple[Array, Array, Array, bool]:
    """Cosines, cosines of spaces, (k,), variances of the group's rows, (m + 1, k), and convergence, without one group."""
    k = len(fitted.components_)
    inside = [codes != code for codes in sample.subjects]
    nothing = np.full(k, np.nan)
    if any(np.sum(rows) < 2 for rows in inside):
        return nothing, nothing, np.full((len(inside), k), np.nan), True
    part = sample.fit_part(model, inside, f"the rows without group {sample.labels[code]!r}").to_numpy()
    cosines, spaces, _ = compare(fitted.components_.astype(float), part.components_.astype(float))
    variances = [_variance(part, array[rows], array[~rows]) for array, rows in zip(sample.arrays, inside, strict=True)]
    return cosines, spaces, np.stack(variances), part.certificate_.status == "optimal"


def _variance(fitted: BoundedTransformer, inside: Any, outside: Any) -> Array:
    """Variance of rows that were left out about their own mean, (k,), scaled as the others of their dataset were."""
    if outside.shape[0] < 2:
        return np.full(len(fitted.components_), np.nan)
    known = background_law(fitted, inside, outside)  # the target's own deviations are what it is scaled by, too
    completed = None if known.law is None else known.law.complete(in_memory(outside))
    scores = scores_by(known.standard, fitted, outside if completed is None else completed.rows)
    spread = sums_of_squares(scores - scores.mean(axis=0)) / divisor(len(scores))
    if completed is not None:  # what filled gaps varies less than what they would hold
        spread = spread + completed.along((fitted.components_ * known.standard.factor).T).mean(axis=0)
    return np.asarray(spread)


def by_group(scores: list[Array], subjects: tuple[Array, ...], codes: list[int]) -> tuple[Array, Array, Array]:
    """Rows, (g, m + 1), means and SDs, (g, m + 1, k), of scores by group and dataset; NaN where there are too few rows."""
    shape = (len(codes), len(scores), scores[0].shape[1])
    n_rows = np.zeros(shape[:2], dtype=int)
    means, deviations = np.full(shape, np.nan), np.full(shape, np.nan)
    for i, code in enumerate(codes):
        for j, (values, own) in enumerate(zip(scores, subjects, strict=True)):
            part = values[own == code]
            n_rows[i, j] = len(part)
            if len(part):
                means[i, j] = part.mean(axis=0)
            if len(part) > 1:
                deviations[i, j] = np.sqrt(sums_of_squares(part - means[i, j]) / divisor(len(part)))
    return n_rows, means, deviations


def between_groups(scores: Array, subjects: Array) -> Array:
    """Share of the sum of squares of scores that lies between the means of groups, (k,); 0 where nothing varies."""
    _, place, counts = np.unique(subjects, return_inverse=True, return_counts=True)
    centred = scores - scores.mean(axis=0)
    sums = np.zeros((len(counts), scores.shape[1]))
    np.add.at(sums, place, centred)
    total = sums_of_squares(centred)
    between = (sums**2 / counts[:, np.newaxis]).sum(axis=0)
    return np.divide(between, total, out=np.zeros_like(total), where=total > 0)
