"""What one more feature does to the largest eigenvalue of a contrast, for many supports and all features at once.

With ``C_S = U diag(mu) U'``, the eigenvalues of C on S and a further feature j are the roots of the secular equation

    t - C_jj = sum_i z_ij^2 / (t - mu_i),      z_ij = (U'C_Sj)_i,

whose left side exceeds its right side exactly beyond the largest root: one evaluation tells on which side of t it lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Array

ITERATIONS = 8  # towards the largest root; it ranks features, and proves nothing


@dataclass(frozen=True)
class Bordered:
    """Supports, (n, r), with their eigenvalues, (n, r) ascending, and squared couplings to all features, (n, r, p)."""

    supports: Array
    values: Array
    squares: Array
    diagonal: Array

    @classmethod
    def of(cls, contrast: Array, supports: Array) -> Bordered:
        values, vectors = np.linalg.eigh(contrast[supports[:, :, np.newaxis], supports[:, np.newaxis, :]])
        squares = (vectors.swapaxes(1, 2) @ contrast[supports]) ** 2
        return cls(supports, values, squares, contrast.diagonal())

    @property
    def _least(self) -> float:
        """A distance from a pole that is none; nothing overflows when it divides."""
        return 1e-12 * max(float(np.abs(self.values).max(initial=0.0)), np.finfo(float).tiny)

    def largest(self) -> Array:
        """The largest eigenvalue with each further feature, (n, p), nearly; minus infinity for features of the support."""
        top = self.values[:, -1, np.newaxis]
        inner, outer = self.squares[:, :-1], self.squares[:, -1]
        low, high = (
            np.maximum(top, self.diagonal),
            _larger_root(top, self.diagonal, self.squares.sum(axis=1)),
        )
        t = high
        for _ in range(ITERATIONS):
            # The pole at the top is kept, the others are evaluated at t: the root lies between t and what that gives.
            distance = np.maximum(t[:, np.newaxis, :] - self.values[:, :-1, np.newaxis], self._least)
            other = _larger_root(top, self.diagonal + (inner / distance).sum(axis=1), outer)
            low = np.maximum(low, np.minimum(t, other))
            high = np.minimum(high, np.maximum(t, other))
            t = (low + high) / 2
        np.put_along_axis(t, self.supports, -np.inf, axis=1)
        return t

    def reach(self, threshold: float) -> Array:
        """Whether the largest eigenvalue with each further feature is at least ``threshold``, (n, p)."""
        distance = np.maximum(threshold - self.values, self._least)
        found = self.diagonal + (self.squares / distance[:, :, np.newaxis]).sum(axis=1) >= threshold
        found |= self.values[:, -1:] >= threshold
        np.put_along_axis(found, self.supports, False, axis=1)
        return found


def _larger_root(first: Array, second: Array, square: Array) -> Array:
    """The larger eigenvalue of ``[[first, s], [s, second]]`` with ``square = s^2``."""
    return (first + second) / 2 + np.sqrt(((first - second) / 2) ** 2 + square)


def pairs(contrast: Array) -> tuple[Array, Array]:
    """All pairs of features, (p (p - 1) / 2, 2), and the largest eigenvalue on each."""
    first, second = np.triu_indices(len(contrast), 1)
    diagonal = contrast.diagonal()
    return np.column_stack([first, second]), _larger_root(
        diagonal[first], diagonal[second], contrast[first, second] ** 2
    )


def distinct(supports: Array, p: int) -> Array:
    """Positions of the first of each different support, ascending; features of a support are in ascending order."""
    words = np.zeros((len(supports), (p + 63) // 64), dtype=np.uint64)
    rows = np.arange(len(supports))
    for column in supports.T:
        words[rows, column // 64] |= np.uint64(1) << (column % 64).astype(np.uint64)
    keys = words[:, 0] if words.shape[1] == 1 else words.view([("", np.uint64)] * words.shape[1])[:, 0]
    return np.sort(np.unique(keys, return_index=True)[1])
