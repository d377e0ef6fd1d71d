"""What estimators have whose components keep bounds: multipliers, a certificate, matrices and streams as input."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._parameters import check_matrices, check_n_components
from .._shown import Summary
from .._types import Array, Backgrounds, Rows
from .._validation import Datasets, check_datasets, name_backgrounds
from ..dual import Certificate, DualResult
from ..operators.representations.covariance import from_matrices, from_moments
from ..operators.statistics.moments import Moments
from .base import ContrastiveTransformer, features
from .gaps import as_estimated
from .problem import Problem
from .stream import Stream
from .summary import summarise
from .warn import warn_y


class BoundedTransformer(ContrastiveTransformer):
    """Components that explain no more than a bound in each background, with a certificate.

    Besides those of :class:`~.base.ContrastiveTransformer`, :meth:`_solve` fits the attributes declared here.
    """

    parts: ClassVar[tuple[type, ...]] = (*ContrastiveTransformer.parts, Certificate)

    #: How a summary begins.
    title: ClassVar[str] = "Unique Component Analysis"
    #: Whether the certificate is that of a problem on all features, with multipliers that a figure can vary.
    has_dual: ClassVar[bool] = True

    components: str = "joint"
    lambdas_: Array
    component_lambdas_: Array
    bounds_: Array
    expected_background_variance_: Array | None
    rows_used_: Array | None
    certificate_: Certificate
    certificates_: tuple[Certificate, ...]
    n_iter_: int
    solver_: str

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
        self
            Scores then refer to data as it is (``mean_`` is 0, ``scale_`` is 1).
        """
        self._check_parameters()
        if backgrounds is not None:
            self._check_without_rows("fit_covariance")
        named = name_backgrounds(backgrounds)
        matrices = check_matrices(A, named, semidefinite=True)
        like = Datasets({}, matrices.shape[-1], None)
        self._install(self._fit(from_matrices(matrices), like, np.dtype(float), None, tuple(named)))
        return self

    def partial_fit(self, X: Rows | Moments | None = None, y: Any = None, *, backgrounds: Backgrounds = None) -> Self:
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
        self
        """
        self._check_parameters()
        if backgrounds is not None:
            self._check_without_rows("partial_fit")
        warn_y(self, y, plain_pca=False)
        stream: Stream | None = self.__dict__.get("_stream")
        like = None if stream is None else stream.like
        data = check_datasets(self, X, backgrounds, min_rows=1, like=like, ready=Moments, need_target=False)
        check_n_components(self.n_components, data.n_features)
        stream = (stream or Stream(Datasets({}, data.n_features, None))).add(data)
        self._install({"_stream": stream, **features(stream.like)})
        return self

    def summary(self) -> Summary:
        """Leading features, multipliers, variances and the certificate as a small table of text."""
        check_is_fitted(self)
        return summarise(self)

    def methods_text(self, *, test: Any = None, bootstrap: Any = None) -> Summary:
        """A paragraph for the methods section of a paper, with the figures of this fit filled in.

        It says what was fitted to what, how data was standardised, the bounds and multipliers, what the certificate proves,
        the variances, what new rows should show, and whether the components were tested. Read it before you paste it: it
        cannot know how your rows were chosen.

        Parameters
        ----------
        test : UniquenessTest, optional
            Of :func:`uca.inference.uniqueness_test` on the same data, with ``model=`` this one: adds its sentence, with
            its cautions, and the p-values. Without it, the text says that the components were not tested.
        bootstrap : Bootstrap, optional
            Of :func:`uca.inference.bootstrap` on the same data, with ``model=`` this one: adds how stable components are.

        Returns
        -------
        text : str
            One paragraph, and the reference. The version is that of the package as it is installed now.
        """
        from .methods import methods_text  # with all that sparse components need

        check_is_fitted(self)
        return methods_text(self, test, bootstrap)

    def report(self, path: str | os.PathLike[str], X: Rows, **options: Any) -> Path:
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
        path : uca.report.frame.ReportPath
            The file: a :class:`pathlib.Path` that a notebook shows as the page itself.
        """
        # Imported on use and by name: the report stands below the estimators and needs an extra.
        return import_module("uca.report").report(self, path, X, **options)

    def _check_without_rows(self, what: str) -> None:
        """Raise where a parameter needs rows to be held out, for ways to fit that keep none."""

    def _attributes(
        self, problem: Problem, results: Sequence[DualResult], components: Array | None = None
    ) -> dict[str, Any]:
        """All fitted attributes from the solution of one problem, or of one a component; warns of what is not solved.

        For the estimators: :meth:`_solve` ends with this. ``components`` (k, p) where they are not what vectors of the
        working space are lifted to.
        """
        vectors = np.hstack([result.vectors for result in results])
        results = [result.in_units(problem.powers.tolist()) for result in results]
        if problem.held.estimated:
            results = [replace(result, certificate=as_estimated(result.certificate)) for result in results]
        for result in results:
            if result.certificate.status not in result.certificate.settled or result.unfinished:
                warnings.warn(result.certificate.message, ConvergenceWarning, stacklevel=5)
        lambdas = np.stack([result.lambdas for result in results])
        return {
            **problem.fitted(vectors, np.concatenate([result.eigenvalues for result in results]), components),
            "lambdas_": lambdas[0],
            "component_lambdas_": np.tile(lambdas[0], (problem.k, 1)) if len(lambdas) == 1 else lambdas,
            "bounds_": results[0].bounds,
            "certificate_": results[0].certificate,
            "certificates_": tuple(result.certificate for result in results),
            "n_iter_": results[0].n_iter,
            "solver_": results[0].solver,
        }

    def _solve_stream(self) -> None:
        stream: Stream = self.__dict__["_stream"]
        moments = stream.complete()
        held = from_moments(moments, center=bool(self.center), scale=self.scale)
        fitted = self._fit(held, stream.like, moments[0].dtype, tuple(m.n for m in moments), stream.names())
        self._install({**fitted, "_stream": stream})

    def __getattr__(self, name: str) -> Any:
        # Only reached for attributes that are not there: results of a stream are computed when first asked for.
        unsolved = "_stream" in self.__dict__ and "components_" not in self.__dict__
        if unsolved and any(name in vars(kind).get("__annotations__", ()) for kind in type(self).__mro__):
            self._solve_stream()
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in self.__dict__ or "_stream" in self.__dict__
