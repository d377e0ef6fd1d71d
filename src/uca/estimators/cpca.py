"""Contrastive PCA with one background.

cPCA (Abid, Zhang, Bagaria & Zou 2018) takes the top eigenvectors of ``A - alpha B``; alpha is the user's choice, or a few
values are selected by clustering what many values show. The selection is that of the authors' package ``contrastive``,
written from its description and checked against its answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from .._parameters import check_choice, check_number, check_positive_int, seed_from
from .._shown import Part, Shown, table, text
from .._types import Array
from ..operators.contract.operator import CovarianceOperator, Eigenpairs
from ..operators.contract.units import in_user_units
from ..operators.eigen.solver import Eigensolver
from .base import ContrastiveTransformer
from .problem import Problem

SINGULAR = 1e-10  # smallest over largest eigenvalue at which a background counts as singular
ALIKE = 1 - 1e-9  # affinities above this differ from 1 by rounding
NO_VARIANCE = 1e-14  # variance along a direction, as a share of the trace, that is rounding


@dataclass(frozen=True, eq=False, repr=False)
class ContrastiveResult(Shown):
    """The components at one value of alpha; ``print`` it for the table.

    Attributes
    ----------
    alpha : float
    components : array of shape (k, p)
    eigenvalues, explained_variance : array of shape (k,)
        Eigenvalues of ``A - alpha B``, and the target's variance along each component.
    background_variance : array of shape (k, m)
        The background's variance along each component; m is 0 or 1.
    """

    alpha: float
    components: Array
    eigenvalues: Array
    explained_variance: Array
    background_variance: Array

    def _brief(self) -> str:
        k, p = self.components.shape
        return f"alpha {self.alpha:.4g}, {k} components of {p} features"

    def _parts(self) -> list[Part]:
        m = self.background_variance.shape[1]
        columns = [self.eigenvalues, self.explained_variance, *self.background_variance.T]
        rows = [[f"cPC{i + 1}", *(f"{value:.5g}" for value in row)] for i, row in enumerate(zip(*columns, strict=True))]
        return [
            text(f"Contrastive PCA with alpha = {self.alpha:.4g}", place="top"),
            table(["component", "eigenvalue", "target", *["background"] * m], rows),
        ]


class CPCA(ContrastiveTransformer):
    """Contrastive PCA: top eigenvectors of ``A - alpha B``.

    Parameters
    ----------
    n_components : int, default=2
    alpha : "auto", float, or list of floats, default="auto"
        Strength of the contrast: 0 is PCA of the target, infinity is PCA of the target where the background does not vary.
        A list fits each value; the first is the model's. "auto" is the published selection: it tries 0 and ``n_alphas``
        log-spaced values, clusters them by ``affinity_`` into ``n_select + 1`` groups, drops the group that holds 0 (what
        PCA shows) and takes the medoid of each other group. The middle one is the model's, and all are in ``results_``.
        The publication leaves the choice between them to the user's eye. Where every value shows the same, as with as
        many components as features, there is nothing to select: the result is that of 0.
    n_alphas : int, default=40
        Values tried besides 0, from 0.1 to ``10 ** max_log_alpha``.
    max_log_alpha : float, default=3
    n_select : int, default=3
        Number of values to select, at most ``n_alphas``. Fewer are selected where there are fewer groups.
    center, scale, whiten, representation, missing
        As in :class:`uca.UCA`.
    random_state : int, RandomState or None, default=None
        Seed of the spectral clustering. None is a fixed seed.

    Attributes
    ----------
    alpha_ : float
        The model's alpha.
    components_ : array of shape (k, p)
        Orthonormal directions at ``alpha_``.
    eigenvalues_, explained_variance_, explained_variance_ratio_ : array of shape (k,)
    background_variance_ : array of shape (k, m)
    alphas_ : array of shape (t,)
        The values that were tried.
    affinity_ : array of shape (t, t)
        How similarly two values show the target: product of the cosines of the principal angles between the subspaces that
        the target's scores span.
    results_ : tuple of ContrastiveResult
        One for each selected (or given) alpha, in ascending (or given) order.
    patterns_, pattern_correlations_, background_names_, mean_, scale_, mean_differences_, law_, reference_, n_samples_,
    n_features_in_, feature_names_in_, representation_
        As in :class:`uca.UCA`.

    Examples
    --------
    >>> import numpy as np
    >>> from uca import CPCA
    >>> rng = np.random.default_rng(0)
    >>> target, background = rng.normal(size=(50, 6)), rng.normal(size=(40, 6))
    >>> CPCA(alpha=2.0).fit(target, backgrounds=background).components_.shape
    (2, 6)
    >>> [result.alpha for result in CPCA(alpha=[0.5, 5]).fit(target, backgrounds=background).results_]
    [0.5, 5.0]
    """

    component_prefix = "cPC"
    method_name = "cPCA"
    most_backgrounds = 1
    parts: ClassVar[tuple[type, ...]] = (*ContrastiveTransformer.parts, ContrastiveResult)

    alpha_: float
    alphas_: Array
    affinity_: Array
    results_: tuple[ContrastiveResult, ...]

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: Any = "auto",
        n_alphas: int = 40,
        max_log_alpha: float = 3,
        n_select: int = 3,
        center: bool = True,
        scale: bool | str = True,
        whiten: bool = False,
        representation: str = "auto",
        missing: str = "error",
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.n_alphas = n_alphas
        self.max_log_alpha = max_log_alpha
        self.n_select = n_select
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.representation = representation
        self.missing = missing
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive_int("n_alphas", self.n_alphas)
        check_positive_int("n_select", self.n_select)
        check_number("max_log_alpha", self.max_log_alpha, -1, 15)
        if self.n_select > self.n_alphas:
            raise ValueError(
                f"n_select={self.n_select} is more than the n_alphas={self.n_alphas} values tried besides 0"
            )
        self._alphas()

    def _alphas(self) -> Array:
        """The values to try."""
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, ("auto",))
            return np.concatenate([[0.0], np.logspace(-1, float(self.max_log_alpha), self.n_alphas)])
        try:
            values = np.atleast_1d(np.asarray(self.alpha, dtype=float))
        except (TypeError, ValueError):
            raise ValueError(f"alpha must be 'auto', a number or a list of numbers; got {self.alpha!r}") from None
        if values.ndim != 1 or len(values) == 0 or not np.all(values >= 0):
            raise ValueError(f"alpha must be 'auto' or hold numbers of at least 0; got {self.alpha!r}")
        return values

    def _solve(self, problem: Problem) -> dict[str, Any]:
        alphas = self._alphas() if problem.names else np.zeros(1)
        # alpha carries the units of target over background.
        own_alphas = in_user_units(alphas, problem.powers[-1] - problem.powers[0])
        pairs = [contrastive_eigenpairs(problem.eigen, float(alpha), problem.k) for alpha in own_alphas]
        affinity = score_affinity(problem.pencil.target, [pair.vectors for pair in pairs])
        chosen = list(range(len(alphas)))
        if isinstance(self.alpha, str) and len(alphas) > 1:
            chosen = select_alphas(affinity, self.n_select, self.random_state)
        results = tuple(_result(problem, float(alphas[i]), pairs[i]) for i in chosen)
        place = len(results) // 2 if isinstance(self.alpha, str) else 0
        model = results[place]
        return {
            **problem.fitted(pairs[chosen[place]].vectors, model.eigenvalues, model.components),
            "alpha_": model.alpha,
            "alphas_": alphas,
            "affinity_": affinity,
            "results_": results,
        }

    def chosen(self) -> str:
        return f"automatic alpha {self.alpha_:.3g}" if isinstance(self.alpha, str) else ""


def _result(problem: Problem, alpha: float, pairs: Eigenpairs) -> ContrastiveResult:
    variances = problem.variances(pairs.vectors)
    values = in_user_units(pairs.values, problem.powers[0])
    return ContrastiveResult(alpha, problem.components(pairs.vectors), values, variances[0], variances[1:].T.copy())


def contrastive_eigenpairs(eigen: Eigensolver, alpha: float, k: int) -> Eigenpairs:
    """Top eigenpairs of ``A - alpha B``; for infinite alpha, of A restricted to the null space of B."""
    pencil = eigen.pencil
    if np.isfinite(alpha) or not pencil.n_backgrounds:
        return eigen.top([1.0, *[-alpha] * pencil.n_backgrounds], k)
    values, vectors = np.linalg.eigh(pencil.backgrounds[0].to_matrix())
    null = vectors[:, values <= SINGULAR * values[-1]]
    if null.shape[1] < k:
        raise ValueError(
            f"alpha=inf leaves {null.shape[1]} directions in which the background does not vary, fewer than "
            f"n_components={k}: lower n_components, or use a finite alpha"
        )
    inner = np.linalg.eigh(null.T @ (pencil.target @ null))
    return Eigenpairs(inner[0][::-1][:k], null @ inner[1][:, ::-1][:, :k])


def score_affinity(target: CovarianceOperator, bases: list[Array]) -> Array:
    """Product of the cosines of the principal angles between the subspaces that the target's scores span.

    Scores are ``Y V``, so their inner products are ``V_i' A V_j`` and no row of the data is needed. A direction without
    variance in the target adds nothing to the scores; subspaces of different dimension have affinity 0.
    """
    stack = np.stack(bases)
    t, size, k = stack.shape
    images = (target @ np.hstack(bases)).reshape(size, t, k).transpose(1, 0, 2)  # one pass over the data
    variances, rotations = np.linalg.eigh(np.einsum("idk,idl->ikl", stack, images))
    varies = variances > NO_VARIANCE * target.trace
    factors = np.divide(1.0, np.sqrt(np.abs(variances)), out=np.zeros_like(variances), where=varies)
    whiten = rotations * factors[:, np.newaxis, :]  # the columns of Y V_i whiten_i are orthonormal, up to n - 1
    dimensions = varies.sum(axis=1)
    affinity = np.empty((t, t))
    for i in range(t):
        cross = whiten[i].T @ np.einsum("dk,jdl->jkl", stack[i], images) @ whiten
        cosines = np.linalg.svd(cross, compute_uv=False)
        missing = np.arange(k) >= np.maximum(dimensions[i], dimensions)[:, np.newaxis]
        affinity[i] = np.where(missing, 1.0, cosines).prod(axis=1)
    return affinity


def select_alphas(affinity: Array, n_select: int, random_state: Any) -> list[int]:
    """Positions of the selected values, in ascending order: the medoid of each cluster except that of the first value.

    The first value is alpha = 0, plain PCA: its cluster shows nothing that is contrastive.
    """
    if affinity.min() > ALIKE:
        return [0]
    if n_select + 1 >= len(affinity):  # each value is a cluster
        return list(range(1, len(affinity)))
    from sklearn.cluster import SpectralClustering  # which imports half of scikit-learn

    generator = check_random_state(seed_from(random_state))
    clustering = SpectralClustering(n_select + 1, affinity="precomputed", random_state=generator)
    # A floor keeps the graph connected, which the clustering needs, where subspaces are exactly orthogonal.
    labels = clustering.fit_predict(np.maximum((affinity + affinity.T) / 2, 1e-12))
    clusters = (np.flatnonzero(labels == label) for label in np.unique(labels) if label != labels[0])
    return sorted(_medoid(affinity, members) for members in clusters)


def _medoid(affinity: Array, members: Array) -> int:
    """The member with the largest sum of affinities to the others; the first of equals, as two members always are."""
    sums = affinity[np.ix_(members, members)].sum(axis=1)
    return int(members[np.flatnonzero(sums >= ALIKE * sums.max())[0]])
