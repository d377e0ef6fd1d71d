"""A model with all backgrounds, without one of them, or with all of them stacked; and how far two models are apart."""

from __future__ import annotations

import numpy as np

from .._pool import pool
from .._types import Array
from ..estimators.bounded import BoundedTransformer
from ..solvers.infeasible import InfeasibleBoundsError
from .parameters import check_model
from .sample import Sample
from .stability import compare

POOLED = -1


def fit_variant(
    left_out: int | None, sample: Sample, model: BoundedTransformer, bounds: Array | None
) -> BoundedTransformer | None:
    """The model with all backgrounds, without one, or with all of them stacked into one, if a direction keeps its bound."""
    kept = [j for j in range(len(sample.names)) if j != left_out]
    if left_out == POOLED:
        bound = "mean" if bounds is None else float(bounds.min())
        stacked = pool(*sample.arrays[1:])
        try:
            return check_model(model, bound=bound).fit(sample.arrays[0], backgrounds={"pooled": stacked})
        except InfeasibleBoundsError:
            return None
    bound = "mean" if bounds is None or not kept else bounds[kept].tolist()
    backgrounds = {sample.names[j]: sample.arrays[1 + j] for j in kept}
    return check_model(model, bound=bound).fit(sample.arrays[0], backgrounds=backgrounds or None)


def moved(before: BoundedTransformer, after: BoundedTransformer | None) -> tuple[float, float, float]:
    """Cosine of the first component, smallest cosine between the spaces, and the attainable variance of ``after``."""
    if after is None:
        return (np.nan,) * 3
    cosines, spaces, _ = compare(before.components_.astype(float), after.components_.astype(float))
    return float(cosines[0]), float(spaces[-1]), attainable(after)


def attainable(model: BoundedTransformer) -> float:
    """The certified optimum; of a sequential model, the sum over its problems."""
    return sum(float(certificate.upper) for certificate in model.certificates_)
