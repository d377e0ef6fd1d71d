"""Unique Component Analysis with the face of a scikit-learn transformer."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._containers import float_dtype
from .._parameters import (
    check_bool,
    check_bound,
    check_choice,
    check_matrices,
    check_n_components,
    check_positive_int,
    check_tolerance,
    seed_from,
)
from .._progress import progress
from .._threads import one_blas_thread
from .._types import Array
from .._validation import Datasets, check_datasets, name_backgrounds
from ..dual import Certificate, DualResult, mean_bounds
from ..eigen import fix_signs
from ..operators.base import Pencil
from ..operators.covariance import from_matrices, from_moments
from ..operators.moments import Moments
from ..operators.recycled import recycled
from ..operators.representation import Representation
from ..operators.units import canonical, in_user_units
from ..solvers.sequential import solve_sequential
from ..solvers.solve import SOLVERS, solve
from .base import ContrastiveTransformer, check_variance, features, in_namespace, warn_constant, warn_y
from .stream import Stream
from .summary import Summary, summarise


class UCA(ContrastiveTransformer):
    """Unique Component Analysis: directions that vary in a target and not in its backgrounds.

    The first component maximises the variance of the target subject to explaining no more than a bound in each
    background; without backgrounds it is PCA on standardised data. There is no parameter to tune.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most the number of features.
    center : bool, default=True
        Subtract each dataset's own means. If False, variances are second moments about zero.
    scale : bool or "target", default=True
        True divides each dataset by its own standard deviations (the paper). "target" divides every dataset by the
        target's, so that differences in spread survive. False leaves units alone.
    bound : "mean", float, or one float for each background, default="mean"
        Largest variance that the first component may explain in each background. "mean" is what a random direction
        explains, ``tr(B_j) / p``, which is 1 on standardised data. Numbers may be given in order or by name (a dict).
    components : {"joint", "sequential"}, default="joint"
        "joint" takes the top eigenvectors of one matrix (the paper); only the first is bound. "sequential" solves again
        in the orthogonal complement, so that every component respects every bound.
    whiten : bool, default=False
        Divide scores by the target's standard deviation along each component.
    solver : {"auto", "subspace", "root", "lbfgs", "coordinate", "bisection"}, default="auto"
        Algorithm for the multipliers; "coordinate" is the paper's. Every one ends with the same certificate.
    representation : {"auto", "covariance", "reduced", "implicit", "product_svd"}, default="auto"
        How the data is held: p x p covariances, a reduced form for more features than rows, as it is with products only
        (sparse data, data that is large both ways), or the paper's product of two factors. "auto" takes the cheapest of
        the first three; the answer is the same.
    tol : float, default=1e-9
        Certified relative gap at which to stop.
    max_iter : int, default=100
        Iterations of the solver.
    random_state : int, RandomState or None, default=None
        Seed of start vectors in iterative eigen-solvers. None is a fixed seed: fits are reproducible.
    verbose : bool or callable, default=False
        True shows the bounds after each pass: as a live line on a terminal (with tqdm), else through the logger ``uca``.
        A callable gets (pass, upper bound, lower bound, relative gap).

    Attributes
    ----------
    components_ : array of shape (k, p)
        Orthonormal directions on the standardised features. The largest absolute entry of each is positive.
    lambdas_ : array of shape (m,)
        Multiplier of each background: how much it shapes the components. 0: it does not.
    eigenvalues_ : array of shape (k,)
        Eigenvalues of ``A - sum_j lambda_j B_j``.
    explained_variance_, explained_variance_ratio_ : array of shape (k,)
        Target variance of each component, and its share of the total.
    background_variance_ : array of shape (k, m)
        Variance of each component in each background.
    background_names_ : list of str
    bounds_ : array of shape (m,)
        The bounds that were used.
    mean_, scale_ : array of shape (p,)
        What the target was centred and scaled by. ``scale_`` is 0 for a feature that is constant in the target; such a
        feature contributes nothing to scores.
    certificate_ : Certificate
        Proof of how good the first component's problem was solved.
    certificates_ : tuple of Certificate
        One for each solved problem: one for joint components, k for sequential ones.
    component_lambdas_ : array of shape (k, m)
        The multipliers behind each component; rows are equal for joint components.
    n_iter_ : int
    n_samples_ : int or None
        Rows of the target; None after :meth:`fit_covariance`.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where the target had column names.
    representation_, solver_ : str
        What was used.

    See Also
    --------
    uca.solve_dual : The solver for covariance matrices and operators.

    Notes
    -----
    Tu, Foss & Zhao, "Capturing patterns of variation unique to a specific dataset", arXiv:2104.08157 (2021). The paper
    prints the dual as a maximisation of a concave function; it is a minimisation of a convex one.

    Examples
    --------
    >>> import numpy as np
    >>> from uca import UCA
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=(300, 1)) * [3, 3, 0, 0, 0]
    >>> unique = rng.normal(size=(300, 1)) * [0, 0, 2, 2, 0]
    >>> background = rng.normal(size=(300, 1)) * [3, 3, 0, 0, 0] + rng.normal(size=(300, 5))
    >>> target = shared + unique + rng.normal(size=(300, 5))
    >>> model = UCA(n_components=1).fit(target, backgrounds=background)
    >>> bool(np.abs(model.components_[0, 2:4]).min() > 0.6)
    True
    >>> model.certificate_.status, model.certificate_.tight
    ('optimal', True)
    """

    lambdas_: Array
    eigenvalues_: Array
    explained_variance_ratio_: Array
    background_variance_: Array
    background_names_: list[str]
    bounds_: Array
    certificate_: Certificate
    certificates_: tuple[Certificate, ...]
    component_lambdas_: Array
    n_iter_: int
    n_samples_: int | None
    representation_: str
    solver_: str

    def __init__(
        self,
        n_components: int = 2,
        *,
        center: bool = True,
        scale: bool | str = True,
        bound: Any = "mean",
        components: str = "joint",
        whiten: bool = False,
        solver: str = "auto",
        representation: str = "auto",
        tol: float = 1e-9,
        max_iter: int = 100,
        random_state: Any = None,
        verbose: Any = False,
    ):
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.bound = bound
        self.components = components
        self.whiten = whiten
        self.solver = solver
        self.representation = representation
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, backgrounds: Any = None) -> Self:
        """Find the components of a target that its backgrounds do not have.

        Parameters
        ----------
        X : array, sparse matrix, table, mapped file or dask array of shape (n, p)
            The target. Nothing is copied; sparse data stays sparse.
        y : ignored
            Pipelines and searches of scikit-learn pass it to every step. Any other call that gives it gets a warning:
            groups are told apart by ``X`` and ``backgrounds``, not by labels.
        backgrounds : array, list or tuple of arrays, or dict of name -> array, optional
            The backgrounds, with the same features, each in its own kind of container. Columns of tables are matched by
            name. None is plain PCA.

        Returns
        -------
        self : UCA
            If fitting fails or is interrupted, the estimator stays as it was.
        """
        self._check_parameters()
        warn_y(self, y, plain_pca=backgrounds is None)
        data = check_datasets(self, X, backgrounds, refused=Moments)
        k = check_n_components(self.n_components, data.n_features)
        with one_blas_thread():
            representation = self._hold(data, k)
            warn_constant(representation.n_constant, data.names)
            fitted = self._solve(representation, data.names, k, float_dtype(data.arrays[0].dtype))
        fitted.update(features(data), n_samples_=int(data.arrays[0].shape[0]))
        self._install(in_namespace(fitted, data.arrays[0]))
        return self

    def fit_covariance(self, A: Any, *, backgrounds: Any = None) -> Self:
        """Fit on covariance matrices instead of data.

        The matrices are used as they are: ``center`` and ``scale`` do not apply. Pass correlation matrices for what
        ``scale=True`` does.

        Parameters
        ----------
        A : array of shape (p, p)
            Covariance of the target: symmetric, positive semidefinite.
        backgrounds : array, list or tuple of arrays, or dict of name -> array, optional
            Covariances of the backgrounds.

        Returns
        -------
        self : UCA
            Scores then refer to data as it is (``mean_`` is 0, ``scale_`` is 1).
        """
        self._check_parameters()
        named = name_backgrounds(backgrounds)
        matrices = check_matrices(A, named, semidefinite=True)
        k = check_n_components(self.n_components, matrices.shape[-1])
        fitted = self._solve(from_matrices(matrices), tuple(named), k, np.dtype(float))
        self._install({**fitted, "n_features_in_": matrices.shape[-1], "n_samples_": None})
        return self

    def partial_fit(self, X: Any = None, y: Any = None, *, backgrounds: Any = None) -> Self:
        """Add rows to the target, to backgrounds, or to both; the problem is solved when a result is first asked for.

        Chunks may come in any order and any number; backgrounds are told apart by name, or by position in a list. Holds
        one p x p matrix a dataset; where those do not fit in memory, a MemoryError says so before any work is done. After
        :meth:`fit`, a new stream begins.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n, p), or Moments; optional
        y : ignored
        backgrounds : the same, a list or tuple of them, or a dict of name -> rows, optional

        Returns
        -------
        self : UCA
        """
        self._check_parameters()
        warn_y(self, y, plain_pca=False)
        stream: Stream | None = self.__dict__.get("_stream")
        like = None if stream is None else stream.like
        data = check_datasets(self, X, backgrounds, min_rows=1, like=like, ready=Moments, need_target=False)
        check_n_components(self.n_components, data.n_features)
        stream = (stream or Stream(Datasets({}, data.n_features, None))).add(data)
        self._install({"_stream": stream, **features(stream.like)})
        return self

    def summary(self) -> Summary:
        """Multipliers, variances and the certificate as a small table of text."""
        check_is_fitted(self)
        return summarise(self)

    def report(self, path: str | os.PathLike[str], X: Any, **options: Any) -> Path:
        """Write an interactive report of the fitted model: one HTML file that works offline.

        Parameters
        ----------
        path : path
            The file to write.
        X : array, sparse matrix or table of shape (n, p)
            Rows of the target.
        **options
            ``backgrounds``, ``labels``, ``ids``, ``feature_names``, ``image_shape``, ``title`` and more: see
            :func:`uca.report.report`.

        Returns
        -------
        path : pathlib.Path
        """
        # Imported on use and by name: the report stands below the estimators and needs an extra.
        return import_module("uca.report").report(self, path, X, **options)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("components", self.components, ("joint", "sequential"))
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        check_tolerance(self.tol)
        check_positive_int("max_iter", self.max_iter)
        if not callable(self.verbose):
            check_bool("verbose", self.verbose)

    def _solve(self, data: Representation, names: tuple[str, ...], k: int, dtype: np.dtype) -> dict[str, Any]:
        """Everything that is fitted but the names and numbers of features and rows."""
        check_variance(data.pencil)
        own_units, powers = canonical(data.pencil)
        pencil = recycled(own_units, seed_from(self.random_state))
        given = check_bound(self.bound, names)
        bounds = mean_bounds(pencil) if given is None else in_user_units(given, -powers[1:])
        with progress(self.verbose) as callback:
            results = self._results(pencil, bounds, powers, names, k, callback)
        if data.sharper is not None and any(result.certificate.status == "rounding" for result in results):
            return self._solve(data.sharper(), names, k, dtype)
        vectors = np.hstack([result.vectors for result in results])
        variances = pencil.variances(vectors)
        ratio = variances[0] / pencil.target.trace
        variances = in_user_units(variances, powers[:, np.newaxis])
        results = [result.in_units(powers.tolist()) for result in results]
        for result in results:
            _warn_unconverged(result)
        return {
            "components_": fix_signs(data.lift(vectors)).astype(dtype, copy=False),
            "lambdas_": results[0].lambdas,
            "component_lambdas_": np.tile(results[0].lambdas, (k, 1))
            if len(results) == 1
            else np.stack([result.lambdas for result in results]),
            "eigenvalues_": np.concatenate([result.eigenvalues for result in results]),
            "explained_variance_": variances[0],
            "explained_variance_ratio_": ratio,
            "background_variance_": variances[1:].T.copy(),
            "background_names_": list(names),
            "bounds_": results[0].bounds,
            "mean_": data.mean,
            "scale_": data.scale,
            "certificate_": results[0].certificate,
            "certificates_": tuple(result.certificate for result in results),
            "n_iter_": results[0].n_iter,
            "representation_": data.name,
            "solver_": results[0].solver,
        }

    def _results(
        self, pencil: Pencil, bounds: Array, powers: Array, names: tuple[str, ...], k: int, callback: Any
    ) -> list[DualResult]:
        options: dict[str, Any] = {
            "names": names,
            "solver": self.solver,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "seed": seed_from(self.random_state),
            "powers": powers,
            "callback": callback,
        }
        if self.components == "sequential":
            return solve_sequential(pencil, bounds, k=k, **options)
        return [solve(pencil, bounds, k=k, **options)]

    def _solve_stream(self) -> None:
        stream: Stream = self.__dict__["_stream"]
        moments = stream.complete()
        representation = from_moments(moments, center=bool(self.center), scale=self.scale)
        warn_constant(representation.n_constant, stream.names())
        k = check_n_components(self.n_components, stream.like.n_features)
        fitted = self._solve(representation, stream.names(), k, moments[0].dtype)
        fitted.update(features(stream.like), n_samples_=moments[0].n)
        self._install({**fitted, "_stream": stream})

    def __getattr__(self, name: str) -> Any:
        # Only reached for attributes that are not there: results of a stream are computed when first asked for.
        unsolved = "_stream" in self.__dict__ and "components_" not in self.__dict__
        if unsolved and name in UCA.__annotations__ | ContrastiveTransformer.__annotations__:
            self._solve_stream()
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in self.__dict__ or "_stream" in self.__dict__


def _warn_unconverged(result: DualResult) -> None:
    if result.certificate.status != "optimal" or result.unfinished:
        warnings.warn(result.certificate.message, ConvergenceWarning, stacklevel=4)
