"""Covariances on a common scale, and the subspace that every recording spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._readable import listed
from .._types import Array
from .recordings import Spread

# Null directions of two recordings at a smaller angle than this are one.
SAME_DIRECTION = 1e-3


def scaled(
    spreads: Mapping[str | None, Spread], names: Sequence[str], scale: Any
) -> tuple[dict[str | None, Array], Array]:
    """Covariances after division by deviations, and the deviations of the target."""
    deviations = {name: np.sqrt(np.diag(spread.covariance)) for name, spread in spreads.items()}
    if scale in (False, "whiten"):
        return {name: spread.covariance for name, spread in spreads.items()}, np.ones(len(names))
    for name, values in deviations.items():
        if not values.all():
            flat = listed([channel for channel, size in zip(names, values, strict=True) if size == 0])
            where = "the target" if name is None else f"background {name!r}"
            raise ValueError(f"channels are flat in {where}: {flat}. They have no scale: leave them out with picks=")
    by = {name: deviations[None if scale == "target" else name] for name in spreads}
    return {n: spread.covariance / np.outer(by[n], by[n]) for n, spread in spreads.items()}, deviations[None]


def common_space(covariances: Sequence[Array], ranks: Sequence[int]) -> Array:
    """Orthonormal basis (p, r) of the directions that every recording spans; the identity where nothing is lost.

    A direction that a background cannot show (its average reference, an interpolated channel, a removed ICA component) has
    no variance there and would seem unique to the target.
    """
    p = len(covariances[0])
    lost = [np.linalg.eigh(C)[1][:, : p - rank] for C, rank in zip(covariances, ranks, strict=True)]
    together = np.hstack(lost)
    if together.shape[1] == 0:
        return np.eye(p)
    vectors, sizes, _ = np.linalg.svd(together)
    return vectors[:, int((sizes > SAME_DIRECTION).sum()) :]


def whitened(basis: Array, covariances: Sequence[Array]) -> Array:
    """The basis, changed so that the mean of the covariances is the identity in it; its span stays the same."""
    values, vectors = np.linalg.eigh(basis.T @ np.mean(covariances, axis=0) @ basis)
    return basis @ (vectors / np.sqrt(values))


def inside_of(basis: Array, covariance: Array) -> Array:
    """A covariance in the coordinates of a basis."""
    inside = basis.T @ covariance @ basis
    return (inside + inside.T) / 2


def with_signs(filters: Array) -> Array:
    """Filters (k, p), the largest absolute weight of each positive."""
    largest = np.take_along_axis(filters, np.abs(filters).argmax(axis=1)[:, None], axis=1)
    return filters * np.sign(largest)
