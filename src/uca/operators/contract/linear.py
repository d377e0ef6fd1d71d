"""A scipy ``LinearOperator`` as a covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ..._types import Array
from .operator import CovarianceOperator


@dataclass(frozen=True)
class LinearOperatorCovariance(CovarianceOperator):
    """Wraps a symmetric scipy ``LinearOperator``. Its trace is not known."""

    operator: LinearOperator

    @property
    def size(self) -> int:
        return int(self.operator.shape[0])

    @property
    def trace(self) -> float:
        raise ValueError(
            "the trace of a LinearOperator is not known, so the mean bound cannot be computed: pass bounds=, "
            "one number for each background"
        )

    def __matmul__(self, vectors: Array) -> Array:
        return np.asarray(self.operator.matmat(vectors))
