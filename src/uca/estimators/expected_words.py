"""What a fit says of new rows, in words, and the warning where that is far from what its own rows show.

Three statements are kept apart everywhere: *solved* (the certificate: these rows, this problem), *expected* (what new rows
of the same kind should show, :mod:`.expected`) and *real* (the test on held-out rows).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Array
from .._validation import label_of

if TYPE_CHECKING:
    from ..dual import Certificate
    from .bounded import BoundedTransformer

FAR = 2.0  # times the bound: from there on a bound that is kept in these rows does not stand alone
NO_PREDICTION = "no usable prediction: the bound holds for these rows only"


class NewRowsWarning(UserWarning):
    """New background rows are expected to vary more than twice the bound, along a component that respects it in the fit."""


def is_far(expected: Any, bounds: Any) -> Array:
    """Where the variance to expect on new rows is above twice the bound, or cannot be predicted."""
    return np.asarray(expected) > FAR * np.asarray(bounds)


def about(value: float) -> str:
    """A prediction: two digits, without an exponent where that is readable."""
    return f"{float(f'{value:.2g}'):g}"


def in_both(value: float, expected: float) -> str:
    """Variance in the rows of a fit, and in new ones."""
    new = f"about {about(expected)} expected in new ones" if np.isfinite(expected) else NO_PREDICTION
    return f"{value:#.3g} in these rows; {new}"


def first_is_far(model: BoundedTransformer) -> Array:
    """For each background whether the first component is expected far above the bound; False where nothing is known."""
    expected = getattr(model, "expected_background_variance_", None)
    return np.zeros(len(model.bounds_), dtype=bool) if expected is None else is_far(expected[0], model.bounds_)


def with_expectation(
    fitted: dict[str, Any], names: Sequence[str], n_rows: Sequence[int] | None, prefix: str
) -> dict[str, Any]:
    """Fitted attributes whose certificates say where new rows will not keep a bound; a warning tells each such component."""
    expected, bounds = fitted["expected_background_variance_"], fitted["bounds_"]
    if n_rows is None or expected is None:
        return fitted
    certificates: list[Certificate] = []
    for i, certificate in enumerate(fitted["certificates_"]):
        name, own = f"{prefix}{i + 1}", fitted["background_variance_"][i]
        told = far_lines(name, [label_of(background) for background in names], own, expected[i], bounds)
        if told:
            far = "are expected to exceed them" if np.isfinite(expected[i]).all() else "may exceed them by far"
            warnings.warn(
                f"the bounds hold for these rows, but new rows {far}: {'; '.join(told)}. More rows of the background, or "
                "fewer features, bring the two together; UCA(bound_on='new rows') aims at bounds that hold in new rows",
                NewRowsWarning,
                stacklevel=6,
            )
            message = _for_these_rows(name, names, expected[i], bounds, n_rows[1:])
            certificate = replace(certificate, message=f"{certificate.message} {message}")
        certificates.append(certificate)
    return {**fitted, "certificate_": certificates[0], "certificates_": tuple(certificates)}


def far_lines(component: str, backgrounds: Sequence[str], own: Array, expected: Array, bounds: Array) -> list[str]:
    """For each background that is expected far above its bound: the variance in these rows, and in new ones."""
    far = np.flatnonzero(is_far(expected, bounds)).tolist()
    return [f"along {component} the variance in {backgrounds[j]} is {in_both(own[j], expected[j])}" for j in far]


def _for_these_rows(component: str, names: Sequence[str], expected: Array, bounds: Array, n_rows: Sequence[int]) -> str:
    """What a certificate adds, in no units."""
    told = []
    for j in np.flatnonzero(is_far(expected, bounds)).tolist():
        times = expected[j] / bounds[j] if bounds[j] > 0 else np.inf
        new = f"about {about(times)} times the bound" if np.isfinite(times) else NO_PREDICTION
        told.append(f"{label_of(names[j])} ({n_rows[j]} rows): {new}")
    return f"This refers to these rows. Expected along {component} in new rows of {'; of '.join(told)}."
