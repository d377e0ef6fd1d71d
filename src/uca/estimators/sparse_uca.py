"""Unique components made of few features, chosen by count, with a proof or a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._deadline import Deadline
from .._parameters import check_bool, check_choice, check_positive_int, check_time_limit
from .._progress import log_once
from .._threads import one_blas_thread
from .._types import Array, Backgrounds, Groups, Rows
from .._validation import Datasets, check_datasets
from ..dual import DualResult, Status
from ..operators.representations.representation import fix_signs
from ..supports.search import PROOFS
from .base import represent
from .bounded import BoundedTransformer
from .gaps import without_empty_rows
from .problem import Problem
from .seen import Seen
from .sparse_component import MANY, Covariances, SparseCertificate
from .sparsity import SparsityPath


class SparseUCA(BoundedTransformer):
    """Unique components with at most ``n_nonzero`` features each, and a proof of how good they are.

    The first component maximises the variance of the target among all unit vectors with at most ``n_nonzero`` entries
    other than 0 that explain no more than a bound in each background. The number of features is the only thing to choose.

    Parameters
    ----------
    n_components : int, default=2
    n_nonzero : int, default=10
        Features of each component, at most.
    center, scale, bound, whiten, missing
        As in :class:`uca.UCA`.
    proof : {"auto", "bound", "none"}, default="auto"
        "auto" tries to prove that no other choice of features is better, as long as ``time_limit`` allows. "bound" stops
        at an upper bound. "none" only searches, from fewer starts; its bound is that of the component on all features.
    time_limit : float or None, default=60.0
        Seconds for the proofs of all components together; None: no limit. The search itself is not cut short.
    random_state : int, RandomState or None, default=None
        Not used: the search is deterministic. Kept for consistency with the other estimators.
    verbose : bool, default=False
        Log what is proven.

    Attributes
    ----------
    components_ : array of shape (k, p)
        At most ``n_nonzero`` entries of each are not 0.
    support_ : list of arrays
        The features of each component: their names where these are known, their positions otherwise; largest loading first.
    certificate_ : SparseCertificate
        For the first component; ``certificates_`` has all.
    explained_variance_, background_variance_, lambdas_, component_lambdas_, eigenvalues_, bounds_ and others
        As in :class:`uca.UCA`. ``expected_background_variance_`` is None: the formula does not account for how many
        choices of features were tried. :func:`uca.inference.expected_background_variance` repeats the search
        without some rows.

    Notes
    -----
    On standardised data a component of two features respects the mean bound, 1, only if they are not positively correlated
    along it in a background, however weakly: a third feature, or a bound of 1.1, gives room.

    Later components: the target's covariance is deflated, ``A - A v v'A / v'Av``, which takes out what the component
    explains and leaves the bounds as they are. Scores are then nearly uncorrelated; components need not be orthogonal.

    Examples
    --------
    >>> import numpy as np
    >>> from uca import SparseUCA
    >>> rng = np.random.default_rng(0)
    >>> shared, unique = rng.normal(size=(1, 8)), np.array([[0, 3, 0, 0, 3, 0, 0, 0]])
    >>> background = rng.normal(size=(300, 1)) @ shared + rng.normal(size=(300, 8))
    >>> target = rng.normal(size=(300, 1)) @ shared + rng.normal(size=(300, 1)) @ unique + rng.normal(size=(300, 8))
    >>> model = SparseUCA(1, n_nonzero=3).fit(target, backgrounds=background)
    >>> {1, 4} < set(model.support_[0].tolist()), model.certificate_.status
    (True, 'optimal')
    """

    parts = (*BoundedTransformer.parts, SparseCertificate)
    component_prefix = "UC"
    method_name = "sparse UCA"
    title = "Sparse Unique Component Analysis"
    has_dual = False
    components = "sequential"
    representation = "covariance"

    support_: list[Array]

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_nonzero: int = 10,
        center: bool = True,
        scale: bool | str = True,
        bound: Any = "mean",
        whiten: bool = False,
        missing: str = "error",
        proof: str = "auto",
        time_limit: float | None = 60.0,
        random_state: Any = None,
        verbose: Any = False,
    ):
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.center = center
        self.scale = scale
        self.bound = bound
        self.whiten = whiten
        self.missing = missing
        self.proof = proof
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive_int("n_nonzero", self.n_nonzero)
        check_choice("proof", self.proof, PROOFS)
        check_time_limit(self.time_limit)
        check_bool("verbose", self.verbose)

    def _kind(self, data: Datasets) -> str:
        wide = data.n_features > MANY and 2 * sum(data.n_rows) < data.n_features
        return "reduced" if wide else "covariance"

    def _solve(self, problem: Problem) -> dict[str, Any]:
        covariances = Covariances.of(problem, self.bound)
        results = self._results(covariances, problem.k)
        lost = any(result.certificate.status == Status.ROUNDING for result in results)
        if lost and (sharper := problem.sharper()) is not None:
            return self._solve(sharper)
        components = fix_signs(np.hstack([result.vectors for result in results]).T) + 0.0  # no entry is -0.0
        inside = [replace(result, vectors=covariances.entries.inside(result.vectors)) for result in results]
        fitted = self._attributes(problem, inside, components.astype(problem.dtype, copy=False))
        fitted["support_"] = _supports(components, problem.data)
        return {**fitted, "expected_background_variance_": None, "rows_used_": None, **self._kept(problem)}

    @staticmethod
    def _kept(problem: Problem) -> dict[str, Any]:
        """The covariances, for :meth:`path`; no rows, and nothing that is refitted by the hundred."""
        rows = bool(problem.data and problem.data.tables)
        if problem.held.name != "covariance" or (rows and problem.n_rows is None):
            return {}
        columns = None if problem.data is None else problem.data.columns
        data = Datasets({}, problem.pencil.n_features, columns)
        return {"_problem": replace(problem, held=replace(problem.held, sharper=None), n_rows=None, data=data)}

    def fit(self, X: Rows, y: Any = None, *, backgrounds: Backgrounds = None) -> Self:
        """Search the features of each component; parameters as in :meth:`uca.UCA.fit`."""
        super().fit(X, y, backgrounds=backgrounds)
        self._seen = Seen.of(X, backgrounds)
        return self

    def _results(self, covariances: Covariances, n: int) -> list[DualResult]:
        """The first ``n`` components."""
        deadline, results = Deadline.after(self.time_limit), []
        for i in range(n):
            result = covariances.component(self.n_nonzero, proof=self.proof, time_limit=deadline.shared(n - i).left)
            if self.verbose:
                log_once(f"{self.component_prefix}{i + 1}: {result.certificate.message}")
            results.append(result)
            covariances = covariances.deflated(result.vectors[:, 0])
        return results

    def path(
        self,
        n_nonzero: Sequence[int],
        X: Rows | None = None,
        *,
        backgrounds: Backgrounds = None,
        groups: Groups = None,
        n_folds: int = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> SparsityPath:
        """The first component for several numbers of features, with its proof and its variance on held-out rows.

        The model itself stays as it is. ``time_limit`` is for the proofs of all numbers together.

        Parameters
        ----------
        n_nonzero : sequence of int
            Numbers of features, such as ``[3, 5, 10, 20]``.
        X, backgrounds : optional
            As in :meth:`fit`. Default: what the model was fitted on, if you still hold it. A model keeps no rows: where
            yours are gone, nothing is held out.
        groups : optional
            Which rows belong together: a list with one sequence of labels for each dataset, target first. Give it where
            rows are repeated measurements.
        n_folds : int, default=5
            Into how many parts rows (or subjects) are dealt; the search is repeated without each. After
            :meth:`fit_covariance` and :meth:`partial_fit` there are no rows to hold out.
        random_state : int, RandomState or None
            Seed of the folds; None is a fixed seed.
        n_jobs : int, optional
            Folds at a time, as in joblib.

        Returns
        -------
        SparsityPath
            ``print`` it, or draw it with :func:`uca.plotting.sparsity_path`.
        """
        self._check_parameters()
        problem = self._fitted_problem() if X is None else self._problem_of(X, backgrounds)
        if problem.held.estimated:
            raise ValueError(
                "path measures held-out rows, and values are missing: fill the gaps first, or fit a single n_nonzero"
            )
        # Imported on use and by name: inference stands below the estimators.
        path_of = import_module("uca.inference.sparsity").path_of
        options = {"groups": groups, "n_folds": n_folds, "random_state": random_state, "n_jobs": n_jobs}
        with one_blas_thread():
            found: SparsityPath = path_of(self, problem, n_nonzero, **options)
        return found

    def _fitted_problem(self) -> Problem:
        check_is_fitted(self)
        _ = self.components_  # a stream is solved when it is first asked for
        seen: Seen | None = self.__dict__.get("_seen")
        tables = None if seen is None else seen.tables()
        if tables is not None:
            return self._problem_of(*tables)
        if "_problem" not in self.__dict__:
            raise ValueError(
                "this model has no data (it was copied or loaded, or the tables of its fit are gone): "
                "path(n_nonzero, X, backgrounds=...) takes them"
            )
        problem: Problem = self.__dict__["_problem"]
        return problem

    def _problem_of(self, X: Rows, backgrounds: Backgrounds) -> Problem:
        data = check_datasets(self, X, backgrounds, gaps=self.missing == "em")
        data = without_empty_rows(data) if self.missing == "em" else data
        with one_blas_thread():
            problem = Problem(represent(self, data, 1), data.names, 1, np.dtype(float), 0, data.n_rows, data)
        problem.check_variance()
        return problem

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_problem", "_seen")}


def _supports(components: Array, data: Datasets | None) -> list[Array]:
    names = None if data is None else data.feature_names
    order = [np.argsort(-np.abs(row), kind="stable")[: np.count_nonzero(row)] for row in components]
    return [chosen if names is None else names[chosen] for chosen in order]
