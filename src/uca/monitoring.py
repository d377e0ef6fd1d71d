"""Have new rows moved away from those of the fit? Variance and mean along each component, with their sampling error.

For a dataset (the target or a background) with n new rows, scores ``t`` are taken as in the fit: centred and scaled by the
means and scales that the dataset had there. Along each component two things are compared.

*Variance.* ``s^2`` of the new rows against ``v``, that of the fit (for backgrounds that which the fit expects of new rows).
``log(s^2 / v)`` has standard error

    sqrt(c / n + c / N),        c = kurtosis - 1  (2 for a normal law),

with N the rows of the fit. The kurtosis is that of the new rows or that of the fit, whichever is larger: the first alone
would call many falls of variance that are none, because a batch without extreme scores has a small variance and a small
kurtosis at once.

*Mean.* The mean of the new scores, in SDs of the fit, against 0, with standard error ``s sqrt(1 / n + 1 / N)``.

*Rows that belong together.* Sensor readings a minute apart are not independent, and n of them tell less than n independent
ones. With ``groups`` (hours, shifts, batches) sums over groups, not single rows, are what is independent: ``c`` and the
error of the mean are estimated from them, and quantiles are those of Student's t with one less than the number of groups.
Rows of the fit are taken to depend on one another as the new ones do.

All comparisons together are at level ``alpha`` (Bonferroni). Two things are not accounted for. The target's variance in the
fit is that of directions chosen to have much of it: with few rows beside features, new rows have less. And nothing is said
about directions other than the components.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ._missing import entries, where_missing
from ._parameters import check_number
from ._types import Array, Backgrounds, Rows
from ._validation import label_of, name_backgrounds, raise_not_finite
from .drifted import Drift, drift_of
from .estimators.base import ContrastiveTransformer, component_names
from .estimators.reference import expected_variances, reference_of
from .fitted import check_background, check_fitted, scores_by
from .operators.statistics.blocks import divisor
from .operators.statistics.standard import Standard
from .pipeline import split, through

MIN_ROWS = 10  # or groups: from fewer, a variance says little


def drift(
    model: Any,
    X: Rows | None = None,
    *,
    backgrounds: Backgrounds = None,
    groups: Any = None,
    alpha: float = 0.01,
) -> Drift:
    """Compare new rows of the target, of backgrounds, or of both with the rows that a model was fitted on.

    Parameters
    ----------
    model : UCA, SparseUCA, CPCA, CPCAPlusPlus or a pipeline with one of them
        Fitted on rows. In a pipeline new rows go through the steps before the model first.
    X : array or table of shape (n, p), optional
        New rows of the target.
    backgrounds : dict of name -> array or table, optional
        New rows of some or all backgrounds, under their names in the fit. A list or an array where all are given, in order.
    groups : sequence of length n, or dict of name -> sequence, optional
        Which rows belong together (hours, shifts, batches): those of ``X``, or by name, with ``"target"`` for ``X``.
        Without it, rows count as independent, and readings that are not will raise false alarms.
    alpha : float, default=0.01
        Probability of any alarm if nothing has changed.

    Returns
    -------
    Drift

    Examples
    --------
    >>> import numpy as np, uca
    >>> rng = np.random.default_rng(0)
    >>> target, reference = rng.normal(size=(400, 5)) * [3, 1, 1, 1, 1], rng.normal(size=(300, 5))
    >>> model = uca.UCA(n_components=1, scale=False).fit(target, backgrounds={"reference": reference})
    >>> tonight = rng.normal(size=(200, 5)) * [6, 1, 1, 1, 1]
    >>> found = uca.drift(model, tonight)
    >>> [(alarm.dataset, alarm.component, alarm.kind) for alarm in found.alarms]
    [('target', 'UC1', 'variance')]
    """
    before, fitted = _model(model)
    if not 0 < (alpha := check_number("alpha", alpha, 0.0, 1.0)) < 1:
        raise ValueError(f"alpha must lie between 0 and 1, such as 0.01; got {alpha!r}")
    new = _datasets(fitted, X, backgrounds)
    labels = _groups(groups, new, X)
    found = [
        _compare(fitted, place, name, through(before, rows), labels.get(name)) for name, (place, rows) in new.items()
    ]
    names = tuple(component_names(fitted))
    return drift_of(tuple(new), names, found, alpha=alpha)


def _model(model: Any) -> tuple[Pipeline | None, ContrastiveTransformer]:
    before, inner = split(model) if isinstance(model, Pipeline) else (None, model)
    fitted = check_fitted(inner, "model")
    reference_of(fitted)
    return before, fitted


def _datasets(model: ContrastiveTransformer, X: Any, backgrounds: Any) -> dict[str, tuple[int, Any]]:
    """New rows by name, each with the place of its dataset in the fit (0 is the target)."""
    fitted = list(model.background_names_)
    given = name_backgrounds(backgrounds)
    if given and not isinstance(backgrounds, Mapping):
        if len(given) != len(fitted):
            raise ValueError(
                f"got {len(given)} backgrounds without names, and the fit had {len(fitted)}: pass a dict of name -> rows; "
                f"the names are {fitted}"
            )
        given = dict(zip(fitted, given.values(), strict=True))
    unknown = [name for name in given if name not in fitted]
    if unknown:
        raise ValueError(f"backgrounds {unknown} were not in the fit; its names are {fitted}")
    if X is None and not given:
        raise ValueError("nothing to compare: pass new rows as X, as backgrounds, or both")
    target = {} if X is None else {"target": (0, X)}
    if target and "target" in given:
        raise ValueError("a background is called 'target': compare X and the backgrounds in two calls")
    return {**target, **{name: (1 + fitted.index(name), rows) for name, rows in given.items()}}


def _groups(groups: Any, new: Mapping[str, Any], X: Any) -> dict[str, Any]:
    """Labels of rows by dataset."""
    if groups is None:
        return {}
    if isinstance(groups, Mapping):
        unknown = [name for name in groups if name not in new]
        if unknown:
            raise ValueError(f"groups names {unknown}, but the new rows are those of {list(new)}")
        return {name: labels for name, labels in groups.items() if labels is not None}
    if X is None or len(new) > 1:
        raise ValueError(f"pass groups by name, a dict of name -> labels: the new rows are those of {list(new)}")
    return {"target": groups}


def _compare(model: ContrastiveTransformer, place: int, name: str, rows: Any, labels: Any) -> dict[str, Any]:
    """Variances, means and their errors of one dataset, as arrays of shape (k,)."""
    label = label_of(name if place else None)
    scores = _scores(model, place, rows, name)
    codes = _codes(labels, len(scores), label)
    n_groups = int(codes.max(initial=-1)) + 1
    if n_groups < MIN_ROWS:
        what = "rows" if labels is None else "groups"
        raise ValueError(
            f"{label} has {n_groups} new {what}; at least {MIN_ROWS} are needed to compare variances: gather more"
        )
    reference = reference_of(model)
    expected = expected_variances(model)[place]
    n, n_fit = len(scores), reference.n_rows[place]
    mean = scores.mean(axis=0) if model.center else np.zeros(scores.shape[1])
    squares = (scores - mean) ** 2
    variance = squares.sum(axis=0) / (divisor(n) if model.center else n)
    usable = np.isfinite(expected) & (expected > 0) & (variance > 0)
    size = np.where(usable, variance, 1.0)
    spread, alone = (_spread(squares / size - 1.0, each) for each in (codes, np.arange(n)))
    together = np.maximum(spread / np.maximum(alone, np.finfo(float).tiny), 1.0)  # how much rows depend on one another
    fit_spread = np.where(np.isfinite(reference.kurtosis[place]), reference.kurtosis[place] - 1.0, 2.0)
    spread = np.maximum(np.maximum(spread, alone), fit_spread * together)
    share = 1.0 / n + 1.0 / n_fit
    blank = np.where(usable, 1.0, np.nan)
    ratio = size / np.where(usable, expected, 1.0)
    bias = spread * (1.0 / n - 1.0 / n_fit) / 2.0  # of the logarithm of a variance
    unit = np.sqrt(np.where(usable, expected, 1.0))
    error = np.sqrt(np.maximum(_spread(scores - mean, codes), variance) * share)
    return {
        "n_rows": n,
        "n_groups": n_groups,
        "fitted": expected,
        "variance": variance,
        "ratio": ratio * blank,
        "log_ratio": (np.log(ratio) + bias) * blank,
        "log_error": np.sqrt(spread * share),
        "shift": mean / unit * blank if model.center else np.full_like(mean, np.nan),
        "shift_error": error / unit,
    }


COMPLETE = (
    "drift compares variances of complete rows, and filled gaps would make them too small, also with missing='em': leave "
    "out new rows with gaps, or features that have many of them (and fit without these)."
)


def _scores(model: ContrastiveTransformer, place: int, rows: Any, name: str) -> Array:
    """Scores of new rows by the standard that their dataset had in the fit, not whitened, (n, k)."""
    known_as = name if place else None
    checked = check_background(model, rows, known_as)
    reference = reference_of(model)
    mean, scale = reference.means[place].astype(float), reference.scales[place].astype(float)
    standard = Standard(bool(model.center), mean, np.zeros_like(mean), scale if model.scale else None)
    scores = scores_by(standard, model, checked) / model.score_scale_
    if not np.isfinite(scores).all():
        rows = np.asarray(checked) if not hasattr(checked, "tocoo") else checked
        raise_not_finite(rows, label_of(known_as), advice=COMPLETE)
    return scores


def _codes(labels: Any, n: int, label: str) -> Array:
    """The group of each row, counted from 0."""
    if labels is None:
        return np.arange(n)
    array = entries(labels).ravel()
    if len(array) != n:
        raise ValueError(f"groups has {len(array)} labels for {label}, which has {n} new rows: give one for each row")
    if where_missing(array).any():
        raise ValueError(f"groups of {label} has missing labels: give every row a group, or leave such rows out")
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in array.tolist()])


def _spread(values: Array, codes: Array) -> Array:
    """Rows times the variance of the mean of values, (n, k), about 0, whose sums over groups are independent."""
    n_groups = int(codes.max()) + 1
    sums = np.zeros((n_groups, values.shape[1]))
    np.add.at(sums, codes, values)
    return (sums**2).sum(axis=0) * n_groups / divisor(n_groups) / len(values)
