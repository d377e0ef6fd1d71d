"""What each background contributes: leave one out, and pool them all.

A background whose multiplier is 0 in the problem of every component changes nothing: the optimum is the same without it.
One that matters raises the attainable target variance when it is left out, and turns the components. The table says how
much of each, and whether that is more than chance (:mod:`.exchange`); pooling (all backgrounds stacked into one) stands
beside it, so that "do I need all of these, and apart?" has an answer in numbers.

The rules, in order. *Redundant*: its multiplier is 0, in these rows. *Replaceable*: without it, neither the attainable
variance nor the space of the components moves more than when rows are drawn again (two p-values, each above half of 5 %).
*Decisive*: one of them moves more, and in these rows the space turns by more than 26 degrees. *Counts*: one of them moves
more, but the space turns less. Without resamples there is no chance to compare with: all verdicts are about these rows, and
*replaceable* is a background without which the attainable variance is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._parameters import check_bound, check_n_components, check_number
from .._types import Array, Backgrounds, Groups, Rows
from ..estimators.bounded import BoundedTransformer
from .exchange import REFIT_TOLERANCE, drawn_again, share_as_far, who_takes_its_place
from .influence import BackgroundInfluence
from .leftout import POOLED, fit_variant, moved
from .parallel import run, streams
from .parameters import check_model, seed_of, takes_gaps
from .sample import Sample, check_sample

N_RESAMPLES = 40
MIN_RESAMPLES = 39  # fewer never reach half of the level: the smallest p-value is 1 / (n + 1)


def background_influence(
    X: Rows,
    backgrounds: Backgrounds,
    *,
    n_components: int | None = None,
    n_resamples: int = N_RESAMPLES,
    groups: Groups = None,
    random_state: Any = None,
    model: BoundedTransformer | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> BackgroundInfluence:
    """Leave each background out in turn, and pool them all: how do value, multipliers and components change?

    Parameters
    ----------
    X, backgrounds, groups, random_state, model, n_jobs, verbose
        As in :func:`~uca.inference.uniqueness_test`. With groups, whole subjects are drawn.
    n_components : int, optional
        Default: that of the model, or 2; no more than there are features.
    n_resamples : int, default=40
        How often rows are resampled for each background with a multiplier above 0, to see what chance does: two fits
        each time. At least 39, or 0 for verdicts about these rows alone. Sparse backgrounds are made dense for it.

    Returns
    -------
    BackgroundInfluence

    Notes
    -----
    "attainable variance" is the certified optimum, of a sequential model summed over its problems. Without any background
    left, the model is PCA. With a numeric ``bound`` for each background, bounds go with their backgrounds, and the pool gets
    the smallest.

    Chance. The rows of a background and of the one that takes its place (whose price, multiplier times bound, grows most
    without it) are randomly reassigned to the two, each about its own mean, and one of the two is left out: this is how much
    things change if both are samples of one law. A single background is resampled by itself. A background can be left out
    unless the gain or the rotation of the components is larger than in nearly all draws (p at most 2.5 % for either).

    Examples
    --------
    >>> import numpy as np
    >>> from uca.inference import background_influence
    >>> rng = np.random.default_rng(0)
    >>> shared = [3, 3, 0, 0, 0, 0]
    >>> treated = rng.normal(size=(300, 1)) * shared + rng.normal(size=(300, 6))
    >>> control = rng.normal(size=(300, 1)) * shared + rng.normal(size=(300, 6))
    >>> noise = rng.normal(size=(300, 6))
    >>> background_influence(treated, {"control": control, "noise": noise}).decisive
    ['control']
    """
    n_resamples = _check_resamples(n_resamples)
    sample = check_sample(X, backgrounds, groups, min_subjects=2, gaps=takes_gaps(model))
    if n_components is None:
        n_components = min(check_model(model).n_components, sample.n_features)
    copy = check_model(model, n_components=check_n_components(n_components, sample.n_features))
    bounds = check_bound(getattr(copy, "bound", "mean"), sample.names)
    m = len(sample.names)
    variants: list[int | None] = [None, *range(m), *([POOLED] if m > 1 else [])]
    fits = run(fit_variant, variants, sample, copy, bounds, n_jobs=n_jobs)
    full, *without = fits[: m + 1]
    pooled = fits[-1] if m > 1 else None
    cosines, spaces, values = np.array([moved(full, part) for part in (*without, pooled)]).T
    lambdas_without = np.full((m, m), np.nan)
    for j, part in enumerate(without):
        lambdas_without[j, [i for i in range(m) if i != j]] = part.lambdas_
    places = [who_takes_its_place(j, full, part) for j, part in enumerate(without)]
    found = BackgroundInfluence(
        model=full,
        background_names=sample.names,
        lambdas=full.lambdas_.astype(float),
        values=values[:m],
        lambdas_without=lambdas_without,
        cosines=cosines[:m],
        subspace_cosines=spaces[:m],
        pooled_value=float(values[m]),
        pooled_cosine=float(cosines[m]),
        pooled_subspace_cosine=float(spaces[m]),
        n_unconverged=sum(part is not None and part.certificate_.status != "optimal" for part in fits),
        n_resamples=n_resamples,
        gain_pvalues=np.full(m, np.nan),
        turn_pvalues=np.full(m, np.nan),
        takes_place=tuple(None if i is None else sample.names[i] for i in places),
    )
    return _with_chance(found, sample, places, bounds, seed_of(random_state), n_jobs, verbose) if n_resamples else found


def _check_resamples(n: Any) -> int:
    value = check_number("n_resamples", n, 0, np.inf)
    if value != int(value) or 0 < value < MIN_RESAMPLES:
        raise ValueError(f"n_resamples must be 0, or a whole number of at least {MIN_RESAMPLES}; got {n!r}")
    return int(value)


def _with_chance(
    found: BackgroundInfluence,
    sample: Sample,
    places: Sequence[int | None],
    bounds: Array | None,
    seed: int,
    n_jobs: int | None,
    verbose: bool,
) -> BackgroundInfluence:
    """The result with p-values: for backgrounds that have a multiplier, how often chance moves things as far."""
    n, asked = found.n_resamples, [name not in found.redundant for name in found.background_names]
    seeds = streams(seed, n * len(asked))
    tasks = [(j, places[j], seeds[j * n + r]) for j in np.flatnonzero(asked).tolist() for r in range(n)]
    model = check_model(found.model, tol=REFIT_TOLERANCE)
    drawn = run(drawn_again, tasks, sample, found.model, model, bounds, n_jobs=n_jobs, verbose=verbose, what="draws")
    gains, turns = np.ones(len(asked)), np.ones(len(asked))
    for place, j in enumerate(np.flatnonzero(asked)):
        by_chance = np.array(drawn[place * n : (place + 1) * n])
        gains[j] = share_as_far(by_chance[:, 0], found.values[j] / found.value - 1.0)
        turns[j] = share_as_far(-by_chance[:, 1], -found.subspace_cosines[j])
    return replace(found, gain_pvalues=gains, turn_pvalues=turns)
