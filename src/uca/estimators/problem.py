"""The problem that an estimator solves, and the way from its solution to fitted attributes.

Data is represented in the user's units and solved in units of its own (see :mod:`uca.operators.contract.units`); everything
that leaves here is in the user's units again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._types import Array
from .._validation import Datasets
from ..dual import mean_bounds
from ..means import MeanDifferences, mean_differences
from ..operators.contract.pencil import Pencil, variances_of
from ..operators.contract.units import canonical, in_user_units
from ..operators.eigen.solver import Eigensolver
from ..operators.representations.leading import restrict
from ..operators.representations.representation import Representation, fix_signs
from .expected import Solution, expected
from .patterns import correlations, feature_deviations, patterns
from .reference import Reference


@dataclass(frozen=True)
class Problem:
    """Target and backgrounds, held; what is asked of them.

    Attributes
    ----------
    held : Representation
        In the user's units.
    names : tuple of str
        Of the backgrounds.
    k : int
        Components wanted.
    dtype : numpy dtype
        Of the components.
    seed : int
        Of start vectors.
    n_rows : tuple of int or None
        Rows of target and backgrounds; None where matrices were given instead.
    data : Datasets or None
        What is held, where rows are asked for again.
    describe : bool
        Whether what components do not need is asked for too, such as patterns; not where models are refitted by the hundred.
    """

    held: Representation
    names: tuple[str, ...]
    k: int
    dtype: np.dtype
    seed: int = 0
    n_rows: tuple[int, ...] | None = None
    data: Datasets | None = None
    describe: bool = True

    @cached_property
    def _canonical(self) -> tuple[Pencil, Array]:
        return canonical(self.held.pencil)

    @property
    def pencil(self) -> Pencil:
        """In units of its own."""
        return self._canonical[0]

    @property
    def powers(self) -> Array:
        """Powers of four that lead from there to the user's units, target first."""
        return self._canonical[1]

    @cached_property
    def eigen(self) -> Eigensolver:
        """The eigen-solver of the pencil in units of its own."""
        return Eigensolver(self.pencil, self.seed)

    def sharper(self) -> Problem | None:
        """The same problem with less lost to rounding, where there is a way."""
        return None if self.held.sharper is None else replace(self, held=self.held.sharper())

    def bounds(self, given: Array | None) -> Array:
        """Bounds in units of its own: those that the user gave, or the mean ones."""
        return mean_bounds(self.pencil) if given is None else in_user_units(given, -self.powers[1:])

    def restricted(self, n_leading: int | None) -> Problem:
        """The same among the leading directions of the target."""
        return self if n_leading is None else replace(self, held=restrict(self.held, n_leading))

    def check_variance(self) -> None:
        """Refuse a target in which nothing varies."""
        if self.held.pencil.target.trace <= 0:
            raise ValueError("the target X has no variance in any feature: there is nothing to find")

    def variances(self, vectors: Array) -> Array:
        """Variance of target and backgrounds along vectors of the working space, (m + 1, k)."""
        return in_user_units(self.eigen.variances(vectors), self.powers[:, np.newaxis])

    def components(self, vectors: Array) -> Array:
        """Vectors of the working space as components, (k, p)."""
        return self.held.components(vectors).astype(self.dtype, copy=False)

    def fitted(self, vectors: Array, eigenvalues: Array, components: Array | None = None) -> dict[str, Any]:
        """The attributes that every estimator has, for vectors of the working space, (size, k)."""
        images = self.eigen.products(vectors) if self.describe else None
        own = self.eigen.variances(vectors) if images is None else variances_of(vectors, images)
        variances = in_user_units(own, self.powers[:, np.newaxis])
        followed = vectors[:, :0] if images is None else patterns(images[0], own[0])
        lifted = self.held.lift(np.hstack([vectors, followed]))  # one pass for both
        lifted, patterned = lifted[: self.k], lifted[self.k :]
        components = fix_signs(lifted).astype(self.dtype, copy=False) if components is None else components
        signs = np.where(np.einsum("kp,kp->k", lifted, components) < 0, -1.0, 1.0)  # components may be flipped vectors
        return {
            "components_": components,
            **({} if images is None else self._patterns(patterned * signs[:, np.newaxis], variances[0])),
            "eigenvalues_": eigenvalues,
            "explained_variance_": variances[0],
            "explained_variance_ratio_": own[0] / self.pencil.target.trace,
            "background_variance_": variances[1:].T.copy(),
            "background_names_": list(self.names),
            "mean_": self.held.standards[0].mean,
            "scale_": self.held.standards[0].scale,
            "representation_": self.held.name,
            "reference_": None if images is None else self._reference(vectors * signs, images * signs, own, components),
        }

    def _patterns(self, found: Array, variances: Array) -> dict[str, Any]:
        """What follows the scores, in the type of the components."""
        related = correlations(found, variances, feature_deviations(self.held))
        given = {"patterns_": found, "pattern_correlations_": related}
        return {name: value if value is None else value.astype(self.dtype, copy=False) for name, value in given.items()}

    def _reference(self, vectors: Array, images: Array, variances: Array, components: Array) -> Reference | None:
        """What new rows are compared with, for vectors of the working space, their products and variances, (m + 1, k)."""
        if self.n_rows is None:
            return None
        own = vectors.T @ images
        own = (own + own.transpose(0, 2, 1)) / 2.0
        own[:, range(self.k), range(self.k)] = variances
        covariances = in_user_units(own, self.powers[:, np.newaxis, np.newaxis])
        arrays = () if self.data is None else self.data.arrays
        return Reference.of(self.n_rows, self.held.standards, covariances, arrays, components)

    def mean_differences(self, feature_names: Any) -> MeanDifferences | None:
        """Large differences in means between the target and each background.

        None where there is nothing to say: without a background, on matrices, and where data is not centred, as means then
        are part of what is compared.
        """
        target, *others = [standard.observed for standard in self.held.standards]
        if target is None or not others:
            return None
        known = {name: part for name, part in zip(self.names, others, strict=True) if part is not None}
        return mean_differences(target, known, feature_names)

    def expected(self, vectors: Array, eigenvalues: Array, lambdas: Array, *, joint: bool) -> dict[str, Any]:
        """What new background rows should show along vectors of the working space, (size, k), found at multipliers (k, m).

        Eigenvalues and multipliers are in units of the pencil. Without numbers of rows nothing is known, nor where values
        are missing.
        """
        if self.n_rows is None or self.held.estimated:
            return {"expected_background_variance_": None, "rows_used_": None}
        solution = Solution(vectors, eigenvalues, lambdas, self.eigen.products(vectors), self.n_rows[1:], joint)
        found = expected(self.pencil, solution, self.seed)
        own = in_user_units(found.variance, self.powers[1:])
        return {"expected_background_variance_": own, "rows_used_": found.rows_used[0].copy()}

    def told_constant(self, labels: Sequence[str]) -> str:
        """How many features of which dataset are constant, in words; empty where none is."""
        counts = zip(self.held.standards, labels, strict=True)
        return ", ".join(f"{standard.n_constant} in {label}" for standard, label in counts if standard.n_constant)
