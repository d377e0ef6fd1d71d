"""How far things move by chance when a background is left out: rows drawn again.

A background can be left out if another one says what it says. If the two are samples of one law, it does not matter which
row is in which: their rows are dealt out anew, at random, and leaving one out of *these* two shows how far the attainable
variance and the components move by chance alone. The other one is the background that takes its place: the one whose price
(multiplier times bound) grows most without it. Each is first taken about its own mean (and divided by its own SD, with
``scale=True``), so that a difference in means between the two does not count; with ``groups``, whole subjects are dealt out.
For two samples of one law the p-values are those of a permutation test.

Drawing the rows of the background again by itself (a bootstrap) is not enough: leaving out one of two equal samples moves
things by the noise of both. It is what is done where there is one background only, and nobody to take its place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._memory import available_bytes
from .._subjects import deal, resample
from .._types import Array
from ..estimators.bounded import BoundedTransformer
from ..operators.gaps.estimate import estimate, has_gaps
from ..operators.representations.estimated import in_memory
from ..operators.sources.memory import Rows
from ..operators.statistics.standard import standards
from ..solvers.infeasible import InfeasibleBoundsError
from .leftout import attainable, fit_variant, moved
from .sample import Sample

REFIT_TOLERANCE = 1e-4  # of the fits to rows drawn again; differences below it are none


def who_takes_its_place(j: int, full: BoundedTransformer, without: BoundedTransformer) -> int | None:
    """The background whose price grows most when background ``j`` is left out; None where there is no other."""
    others = [i for i in range(len(full.lambdas_)) if i != j]
    if not others:
        return None
    before = full.component_lambdas_.sum(axis=0) * full.bounds_
    after = without.component_lambdas_.sum(axis=0) * without.bounds_
    return others[int(np.argmax(after - before[others]))]


def drawn_again(
    task: tuple[int, int | None, np.random.SeedSequence],
    sample: Sample,
    full: BoundedTransformer,
    model: BoundedTransformer,
    bounds: Array | None,
) -> tuple[float, float]:
    """Relative gain and smallest cosine between the spaces, by chance; NaN where no direction keeps the bounds."""
    j, place, stream = task
    rng = np.random.default_rng(stream)
    try:
        if place is None:
            (rows,) = resample([sample.subjects[1 + j]], rng)
            again = fit_variant(None, _replaced(sample, {j: sample.arrays[1 + j][rows]}), model, bounds)
            _, cosine, value = moved(full, again)
            return abs(value / attainable(full) - 1.0), cosine
        dealt = _dealt(sample, j, place, full, rng)
        before = fit_variant(None, dealt, model, bounds)
        assert before is not None
        _, cosine, value = moved(before, fit_variant(j, dealt, model, bounds))
        return value / attainable(before) - 1.0, cosine
    except InfeasibleBoundsError:
        return np.nan, np.nan


def share_as_far(null: Array, observed: float) -> float:
    """p-value: how often chance goes as far as what was observed; the observed counts as one of the draws."""
    known = null[np.isfinite(null)]
    return float((1 + np.sum(known >= observed - REFIT_TOLERANCE)) / (1 + len(known)))


def _replaced(sample: Sample, backgrounds: dict[int, Any]) -> Sample:
    arrays = [backgrounds.get(i - 1, array) for i, array in enumerate(sample.arrays)]
    return replace(sample, arrays=tuple(arrays))


def _dealt(sample: Sample, j: int, place: int, model: BoundedTransformer, rng: np.random.Generator) -> Sample:
    """The sample with the rows of two backgrounds dealt out anew."""
    both = np.vstack([_standardised(sample.arrays[1 + i], model) for i in (j, place)])
    first, second = deal((sample.subjects[1 + j], sample.subjects[1 + place]), rng)
    return _replaced(sample, {j: both[first], place: both[second]})


def _standardised(array: Any, model: BoundedTransformer) -> Array:
    """Rows about their mean, in their own SDs, as far as the model does that; dense."""
    n_bytes = 8.0 * array.shape[0] * array.shape[1]
    if sparse.issparse(array) and 4 * n_bytes > available_bytes():
        raise MemoryError(
            f"drawing rows of sparse backgrounds again takes dense copies of {n_bytes / 1e9:,.1f} GB each, which do not "
            "fit: pass n_resamples=0 for verdicts about these rows alone"
        )
    how = {"center": bool(model.center), "scale": model.scale is True}
    moments = estimate(in_memory(array), "background").moments if has_gaps(array) else Rows(array).moments()
    (standard,) = standards([moments], **how)
    rows = array.toarray().astype(float) if sparse.issparse(array) else np.array(array, dtype=float)
    standard.apply(rows)
    return rows
