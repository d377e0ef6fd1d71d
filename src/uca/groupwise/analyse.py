"""One group: its model, what new rows should show, and its test.

What stops a fit or a test is in the result, in words; what a fit warns of is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._pool import pool
from .._types import Array
from ..estimators.bounded import BoundedTransformer
from ..estimators.leading import leading
from ..inference.newrows import expected_background_variance
from ..inference.outcome import UniquenessTest
from ..inference.parameters import check_model
from ..inference.restriction import choose_restriction
from ..inference.uniqueness import uniqueness_test
from .outcome import EachGroup
from .plan import Plan
from .rows import RowsByGroup
from .settings import Settings

POOLED = "all others"  # what pooled backgrounds are called
FAILURES = (ValueError, ArithmeticError, MemoryError)  # of one group's data; anything else is a mistake of ours


def analyse(plan: Plan, rows: RowsByGroup, settings: Settings) -> EachGroup:
    """Fit and test one group."""
    i = plan.place
    start = EachGroup(
        name=rows.names[i],
        n_rows=rows.n_rows[i],
        n_subjects=rows.counts[i],
        backgrounds=tuple(rows.names[j] for j in plan.backgrounds),
        left_out=tuple(rows.names[j] for j in plan.left_out),
        failed=plan.failed,
        untested=plan.untested,
        alpha=settings.alpha,
    )
    if plan.failed:
        return start
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        found = _fit_and_test(start, plan, rows, settings)
    return replace(found, warnings=tuple(dict.fromkeys(str(w.message) for w in caught)))


def _fit_and_test(start: EachGroup, plan: Plan, rows: RowsByGroup, settings: Settings) -> EachGroup:
    target, backgrounds = rows.parts[plan.place], _backgrounds(plan, rows, settings.pooled)
    labels = None if rows.subjects is None else _subjects(plan, rows.subjects, settings.pooled)
    model = check_model(settings.model)
    try:
        _hold_back_by_subject(model, target, backgrounds, labels)
        model.fit(target, backgrounds=backgrounds)
    except FAILURES as error:
        told = str(error) or type(error).__name__
        return replace(start, failed=told, untested="it could not be fitted")
    fitted = replace(
        start,
        model=model,
        leading=leading(model, rows.features),
        expected=_expected(model, target, backgrounds, labels, settings),
    )
    if plan.untested:
        return fitted
    try:
        test = _test(model, target, backgrounds, labels, settings)
    except FAILURES as error:
        return replace(fitted, untested=f"the test could not be made: {error}")
    return replace(fitted, test=test)


def _hold_back_by_subject(model: BoundedTransformer, target: Any, backgrounds: Any, labels: list[Array] | None) -> None:
    """Where a bound is meant for new rows and subjects are told, how to keep it is chosen on held-out subjects."""
    meant = model.get_params().get("bound_on")
    if labels is not None and isinstance(meant, str) and meant == "new rows":
        model.set_params(bound_on=choose_restriction(target, backgrounds, groups=labels, model=model))


def _backgrounds(plan: Plan, rows: RowsByGroup, pooled: bool) -> dict[str, Any]:
    parts = {rows.names[j]: rows.parts[j] for j in plan.backgrounds}
    return {POOLED: pool(parts)} if pooled else parts


def _subjects(plan: Plan, subjects: Sequence[Array], pooled: bool) -> list[Array]:
    """Of the target, then of the backgrounds."""
    others = [subjects[j] for j in plan.backgrounds]
    return [subjects[plan.place], *([np.concatenate(others)] if pooled else others)]


def _expected(
    model: BoundedTransformer, target: Any, backgrounds: Any, labels: list[Array] | None, settings: Settings
) -> Array | None:
    """Variance of each component to expect in new rows of each background, (k, m); None where it is not known."""
    if labels is None:
        return model.expected_background_variance_
    try:
        return expected_background_variance(
            target,
            backgrounds,
            n_components=model.n_components,
            groups=labels,
            random_state=settings.seed,
            model=model,
        ).expected
    except FAILURES:  # too few subjects to leave some out
        return None


def _test(
    model: BoundedTransformer, target: Any, backgrounds: Any, labels: list[Array] | None, settings: Settings
) -> UniquenessTest:
    test = uniqueness_test(
        target,
        backgrounds,
        n_components=model.n_components,
        n_splits=settings.n_splits,
        groups=labels,
        alpha=settings.level,
        random_state=settings.seed,
        model=model,
    )
    return replace(test, subjects_from="subjects")
