"""How far the answer moves when the rows are drawn again.

Rows of every dataset are drawn with replacement (whole subjects, where ``groups`` are given), the model is fitted
anew, and its components are turned to those of the full data. What is reported: how well single components and the
spaces of the first 1, 2, … components are found again; intervals for loadings, multipliers and variances; and the
features whose loading is reliable.

What intervals are for, and how they are made:

* Loadings and multipliers: those of the population, that is, of the same model fitted to endlessly many rows of the same
  kind. Estimate ± Student's quantile times the root mean square distance of the resamples from the estimate. The distance
  holds the spread and the shrinkage alike: noise takes length from large loadings, in a resample as in the fit. Percentiles
  of resamples do not do: they are shrunk twice.
* Multipliers on the scale of their square roots: none is below 0, and the larger one is, the more it moves. From few
  background rows they come out too small, and so does their spread among resamples, because a fit uses up d of the n rows
  (``rows_used_``): the distance is taken 1 / (1 - d / (n - 1)) times.
* Variances: along the fitted component, in new rows of the same kind (:mod:`.optimism`).

A component is found again if it turns by less than 37° in half of the resamples (stability of 0.8 or more), and if the
target varies along it more than along an average direction in halves that are held out. A bootstrap takes the sample for the
law, so in pure noise some components come back too; halves tell. For a component that is not found again the population's is
too far away, or there is none: its loadings and the target's variance along it have no intervals, and no feature
is reliable. The coverage was measured: ``benchmarks/inference/coverage.py``.

A component can be stable and not unique, or unique and unstable: ask first whether it is unique.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._parameters import check_choice, check_n_components, check_number, check_positive_int
from .._subjects import resample
from .._types import Array, Backgrounds, Groups, Rows
from ..estimators.bounded import BoundedTransformer
from ..estimators.expected import USED_UP
from ..operators.statistics.blocks import divisor
from .optimism import AllRows, expected_variances, freedom_of_products, hold_out, student
from .parallel import run, streams
from .parameters import check_dense, check_model, seed_of, takes_gaps
from .resampled import FOUND_AGAIN, Bootstrap
from .sample import Sample, check_sample

SPREAD_FLOOR = 1e-12  # of a loading that never moves
MIN_SUBJECTS = 4  # in every dataset
MIN_RESAMPLES = 20  # that a standard error may rest on
LEAST_LEFT = 1.0 - USED_UP  # share of the rows: with fewer, nothing useful is known of new ones


def bootstrap(
    X: Rows,
    backgrounds: Backgrounds,
    *,
    n_components: int = 2,
    n_resamples: int = 200,
    groups: Groups = None,
    level: float = 0.95,
    align: str = "sign",
    random_state: Any = None,
    model: BoundedTransformer | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Bootstrap:
    """Resample the rows of every dataset, refit, and report how stable the answer is.

    Parameters
    ----------
    X, backgrounds, groups, random_state, model, n_jobs, verbose
        As in :func:`~uca.inference.uniqueness_test`. With groups, whole subjects are drawn.
    n_components : int, default=2
    n_resamples : int, default=200
        At least 20.
    level : float, default=0.95
        Coverage of intervals, and of the decision which loadings are reliable.
    align : {"sign", "rotation"}, default="sign"
        How components of a resample are aligned with those of all rows before loadings are compared. "sign" takes them
        in order and sets signs. "rotation" rotates their whole space (orthogonal Procrustes), so that components that
        mix do not blur one another; with many components and few features it hides instability, and calls
        loadings reliable that are not.

    Returns
    -------
    Bootstrap

    Notes
    -----
    Intervals for loadings and multipliers are for those of the population, intervals for variances for what new rows of the
    same kind show along the fitted components; every interval contains its estimate. A component that is not found again
    (stability below 0.8, or held-out halves of the target do not vary along it more than along an average direction) has no
    intervals for its loadings and its target variance (NaN), and no reliable features; where it is the first, multipliers
    have none either. For all this the model is also fitted 20 times without a tenth of the subjects and 10 times without
    half of them. Spaces are compared by principal angles, whatever ``align`` is.

    Examples
    --------
    >>> import numpy as np
    >>> from uca.inference import bootstrap
    >>> rng = np.random.default_rng(0)
    >>> treated = rng.normal(size=(200, 1)) * [2, 2, 0, 0, 0, 0] + rng.normal(size=(200, 6))
    >>> control = rng.normal(size=(200, 6))
    >>> found = bootstrap(treated, control, n_components=1, n_resamples=50)
    >>> sorted(found.reliable_features()), bool(found.stability_[0] > 0.95)
    (['x0', 'x1'], True)
    """
    check_positive_int("n_resamples", n_resamples)
    if n_resamples < MIN_RESAMPLES:
        raise ValueError(f"n_resamples must be at least {MIN_RESAMPLES}; got {n_resamples}")
    level = check_number("level", level, 0.5, 0.9999)
    check_dense(model, "bootstrap")
    sample = check_sample(X, backgrounds, groups, min_subjects=MIN_SUBJECTS, gaps=takes_gaps(model))
    check_choice("align", align, ("sign", "rotation"))
    k = check_n_components(n_components, sample.n_features)
    fitted = sample.fit(check_model(model, n_components=k))
    rows = AllRows.of(sample, fitted)
    *seeds, fold_seed = streams(seed_of(random_state), n_resamples + 1)
    found = run(refit_resample, seeds, sample, fitted, rows, align, n_jobs=n_jobs, verbose=verbose, what="refits")
    cosines, spaces, loadings, lambdas, variances, whole, converged = (
        np.stack(part) for part in zip(*found, strict=True)
    )
    held_out = hold_out(fold_seed, sample, fitted, rows, n_jobs)
    in_sample = np.column_stack([fitted.explained_variance_, fitted.background_variance_]).astype(float)
    values, multipliers = fitted.components_.astype(float), fitted.lambdas_.astype(float)
    freedom = rows.freedom(values, sample.subjects)
    expected = expected_variances(in_sample, held_out.variances, variances, whole, freedom, level)
    stability, df = np.median(cosines, axis=0), freedom_of_products(min(sample.n_subjects))
    # One-sided, by the error of half of the rows: halvings share rows, so that their mean is not much surer than one.
    exists = held_out.above_average > student(2.0 * level - 1.0, df) * np.sqrt(2.0) * expected.error[:, 0]
    varies = expected.error[:, 0] > SPREAD_FLOOR  # what cannot vary shows nothing
    again = (stability >= FOUND_AGAIN) & exists & varies
    reach = np.where(again, student(level, df), np.nan)
    error = np.maximum(_distance(loadings, values), SPREAD_FLOOR)
    half = reach[:, np.newaxis] * error
    lambdas_low, lambdas_high = _around(multipliers, lambdas, reach[0] / _rows_left(fitted, sample))
    # Measured: without the stability here, some loading that is 0 was called reliable in 6 to 9 % of runs, not in 5.
    certain = student(1.0 - (1.0 - level) / sample.n_features, df) / np.maximum(stability, FOUND_AGAIN)
    names = sample.columns or [f"x{i}" for i in range(sample.n_features)]
    return Bootstrap(
        model=fitted,
        cosines=cosines,
        subspace_cosines=spaces,
        loadings_low=values - half,
        loadings_high=values + half,
        loadings_error=error,
        reliable=(np.abs(values) > certain[:, np.newaxis] * error) & again[:, np.newaxis],
        found_again=again,
        lambdas=lambdas,
        lambdas_low=lambdas_low,
        lambdas_high=lambdas_high,
        variances=variances,
        expected_variances=expected.value,
        expected_low=_only(again, expected.low),
        expected_high=_only(again, expected.high),
        level=level,
        feature_names=np.asarray([str(name) for name in names], dtype=object),
        n_unconverged=int(np.sum(~converged)) + held_out.n_unconverged,
    )


def _only(again: Array, ends: Array) -> Array:
    """Ends of intervals for variances, without those of the target along components that are not found again."""
    out = ends.copy()
    out[~again, 0] = np.nan
    return out


def _distance(resampled: Array, value: Array) -> Array:
    """Root mean square distance of what resamples say from what all rows say."""
    return np.sqrt(np.mean((resampled - value) ** 2, axis=0, dtype=float))


def _around(values: Array, resampled: Array, reach: Array) -> tuple[Array, Array]:
    """Intervals for what is at least 0: the estimate ± its distance from resamples, by square roots."""
    roots = np.sqrt(values)
    half = reach * _distance(np.sqrt(resampled), roots)
    # The square of a root is not quite the value: no interval may exclude its estimate.
    return np.minimum(np.maximum(roots - half, 0.0) ** 2, values), np.maximum((roots + half) ** 2, values)


def _rows_left(fitted: BoundedTransformer, sample: Sample) -> Array:
    """The share of each background's rows that the fit has not used up; 1 where it is not known."""
    if fitted.rows_used_ is None:
        return np.ones(len(sample.names))
    left = 1.0 - fitted.rows_used_ / divisor(np.array(sample.n_rows[1:]))
    return np.where(np.isnan(left), 1.0, left.clip(min=LEAST_LEFT))


def refit_resample(
    stream: np.random.SeedSequence, sample: Sample, fitted: BoundedTransformer, rows: AllRows, align: str
) -> tuple[Any, ...]:
    """Cosines, cosines of spaces, aligned loadings, multipliers, variances of its own and of all rows, and convergence."""
    model = check_model(fitted)
    sample.fit_part(model, resample(sample.subjects, np.random.default_rng(stream)), "resampled rows")
    reference, components = (part.components_.astype(float) for part in (fitted, model))
    cosines, spaces, turned = compare(reference, components)
    laid = turned[align] @ components
    variances = np.column_stack([model.explained_variance_, model.background_variance_])
    return (
        cosines,
        spaces,
        laid.astype(np.float32),
        model.lambdas_.astype(float),
        variances.astype(float),
        rows.variances(rows.sums_of_squares(components)),
        model.certificate_.status == "optimal",
    )


def compare(reference: Array, components: Array) -> tuple[Array, Array, dict[str, Array]]:
    """Cosines of components in order, smallest cosines of leading spaces, and what lays components beside the reference."""
    overlap = reference @ components.T
    own = overlap.diagonal()
    cosines = np.abs(own).clip(max=1.0)
    spaces = [
        np.linalg.svd(overlap[: i + 1, : i + 1], compute_uv=False)[-1].clip(max=1.0) for i in range(len(reference))
    ]
    left, _, right = np.linalg.svd(overlap)
    return cosines, np.array(spaces), {"sign": np.diag(np.where(own < 0, -1.0, 1.0)), "rotation": left @ right}
