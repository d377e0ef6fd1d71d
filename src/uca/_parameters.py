"""Parameters and matrices given by the user, checked. Errors name the parameter, what it may be, and what it was."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ._missing import with_nan
from ._readable import check_unique
from ._types import Array
from ._validation import DROP, count_not_finite, get_columns, raise_counts, raise_not_finite


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def check_bool(name: str, value: Any) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")


def check_positive_int(name: str, value: Any) -> None:
    """Raise unless ``value`` is an integer of at least 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1; got {value}")


def check_n_components(n_components: Any, n_features: int, *, name: str = "n_components") -> int:
    """The number of components as an int, at most the number of features."""
    check_positive_int(name, n_components)
    if n_components > n_features:
        raise ValueError(
            f"{name}={n_components} is more than n_features={n_features}; choose {name} between 1 and {n_features}"
        )
    return int(n_components)


def check_number(name: str, value: Any, low: float, high: float) -> float:
    """The value as a float, if it is a number between ``low`` and ``high``, both included."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number; got {value!r}")
    number = float(value)
    if not low <= number <= high:
        raise ValueError(f"{name} must be a number between {low:g} and {high:g}; got {value!r}")
    return number


def check_time_limit(value: Any) -> float | None:
    """Seconds, at least 0; None for no limit."""
    return None if value is None else check_number("time_limit", value, 0.0, np.inf)


def check_tolerance(value: Any) -> None:
    """Raise unless ``value`` is a positive finite number."""
    if not 0 < check_number("tol", value, -np.inf, np.inf) < np.inf:
        raise ValueError(f"tol must be positive and finite; got {value}")


def check_bound(bound: Any, names: Sequence[str]) -> Array | None:
    """Bounds ``c_j`` given by the user, or None for ``"mean"``.

    A number holds for every background; otherwise it takes one number a background, in order or by name.
    """
    if bound is None or (isinstance(bound, str) and bound == "mean"):
        return None
    if isinstance(bound, Mapping):
        bound = {str(name): value for name, value in bound.items()}
        if set(bound) != set(names):
            raise ValueError(f"bound names {sorted(bound)} are not the background names {sorted(names)}")
        bound = [bound[name] for name in names]
    try:
        values = np.asarray(bound, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"bound must be 'mean', a number, or one number per background; got {bound!r}") from None
    if values.ndim > 1 or (values.ndim == 1 and len(values) != len(names)):
        raise ValueError(
            f"bound has shape {values.shape}, but there are {len(names)} backgrounds: give one number each"
        )
    if not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"every bound must be positive and finite; got {bound!r}")
    return np.broadcast_to(values, (len(names),)).astype(float)


def seed_from(random_state: Any) -> int:
    """An integer seed; None is a fixed one, so that results are reproducible by default."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(np.iinfo(np.int32).max))
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_matrices(target: Any, backgrounds: Mapping[str, Any], *, semidefinite: bool) -> Array:
    """Stack symmetric matrices of one order, (m + 1, p, p) float64; with ``semidefinite``, refuse indefinite ones."""
    matrices = [_check_matrix(target, "target matrix A", semidefinite)]
    labels = get_columns(target)
    for name, matrix in backgrounds.items():
        label = f"matrix of background {name!r}"
        if labels is not None and get_columns(matrix) not in (None, labels):
            raise ValueError(f"{label} has other columns than the target matrix A, or in another order: reorder them")
        matrices.append(_check_matrix(matrix, label, semidefinite))
        if matrices[-1].shape != matrices[0].shape:
            raise ValueError(f"{label} has shape {matrices[-1].shape}, the target matrix A has {matrices[0].shape}")
    return np.stack(matrices)


def _check_matrix(value: Any, label: str, semidefinite: bool) -> Array:
    if value is None:
        raise ValueError(f"{label} is None: pass a square, symmetric matrix")
    if sparse.issparse(value):
        raise TypeError(f"{label} is sparse: pass it dense, as .toarray()")
    check_unique(get_columns(value) or (), label)
    matrix = np.asarray(with_nan(value))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"{label} must be a square matrix; got shape {matrix.shape}")
    if matrix.dtype.kind not in "fiu":
        raise TypeError(f"{label} must hold real numbers; got dtype {matrix.dtype}")
    if np.ma.is_masked(value):
        raise_counts(*count_not_finite(matrix), label, masked=True, advice=DROP)
    eps = np.finfo(matrix.dtype if matrix.dtype.kind == "f" else float).eps
    matrix = matrix.astype(float)
    if not np.all(np.isfinite(matrix)):
        raise_not_finite(matrix, label, advice=DROP)
    size = max(float(np.abs(matrix).max()), np.finfo(float).tiny)
    asymmetry = float(np.abs(matrix - matrix.T).max())
    if asymmetry > 1e3 * eps * size:
        raise ValueError(
            f"{label} is not symmetric (largest difference {asymmetry:.3g}); pass a covariance matrix, "
            "or (M + M.T) / 2 if the difference is rounding"
        )
    matrix = (matrix + matrix.T) / 2
    if semidefinite:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        if smallest < -1e3 * eps * len(matrix) * size:
            raise ValueError(
                f"{label} is indefinite (smallest eigenvalue {smallest:.3g}): it is not a covariance matrix. "
                "Use uca.solve_dual for general symmetric matrices."
            )
    return matrix


def check_type(result: Any, kind: type, function: str) -> None:
    """A result of the given kind, which a function of that whole name makes."""
    if not isinstance(result, kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise TypeError(
            f"the first argument must be {article} {kind.__name__}, as {function} returns it; got {type(result).__name__}"
        )
