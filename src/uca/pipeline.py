"""A pipeline that takes backgrounds through its steps as it takes the target."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRequest, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_memory, has_fit_parameter

from ._containers import get_columns
from ._types import Array, Backgrounds, Rows
from ._validation import align_columns, label_of, name_backgrounds
from .estimators.base import ContrastiveTransformer
from .estimators.steps import check_steps, is_passthrough, told_of_skipped_steps


def _can_transform(pipeline: Any) -> bool:
    last = pipeline.steps[-1][1]
    return is_passthrough(last) or hasattr(last, "transform")


def _can_fit_predict(pipeline: Any) -> bool:
    return hasattr(pipeline.steps[-1][1], "fit_predict")


class ContrastivePipeline(Pipeline):
    """A scikit-learn pipeline whose ``fit`` takes backgrounds, one or many, named or not.

    A plain ``Pipeline`` transforms the target on its way to :class:`~uca.UCA` and hands backgrounds over as they are, so
    that the two end up in different units or spaces. Here every step is fitted to the target alone, and then transforms
    the target *and* every background; a step whose ``fit`` takes ``backgrounds`` gets them as transformed so far. Names
    are kept. Everything else is scikit-learn's: parameters as ``step__parameter``, ``clone``, searches, ``set_output``,
    ``memory``, slices, ``"passthrough"``. Metadata routing need not be switched on; if it is, ``backgrounds``
    is requested.

    Parameters
    ----------
    steps : list of (name, estimator)
        As in ``sklearn.pipeline.Pipeline``; ``ContrastivePipeline(pipeline.steps)`` converts an existing one.
    memory : str or joblib.Memory, optional
        Where fitted steps before the last are cached, with the backgrounds that they were given. Steps are copied before
        they are fitted then, as in scikit-learn.
    verbose : bool, default=False
        Print how long each step took.

    Attributes
    ----------
    named_steps : Bunch
        The steps by name.

    See Also
    --------
    uca.drift : Have new rows of the target or of a background moved away from those of the fit?
    uca.save : Pipelines in files, without pickle.

    Notes
    -----
    Why a class of its own. scikit-learn's ``Pipeline(transform_input=["backgrounds"])`` transforms an array, or a tuple
    element by element, and returns a plain tuple: names are lost, a dict fails in the first step, and metadata routing has
    to be on. Here the names go through.

    Steps are fitted to the target because it is what will be transformed later. A scaler that is fitted to the target brings
    backgrounds into *its* units, so use ``UCA(scale=False)`` after one; with ``scale=True`` each dataset is standardised by
    itself afterwards and the scaler changes nothing.

    In a search, ``GridSearchCV(pipeline, grid).fit(X, y, backgrounds={...})``, rows of the target are split and every
    background goes to every fit whole. Pass a dict or a list: scikit-learn splits a bare array that has as many rows as X.

    If fitting fails or is interrupted, the pipeline and its steps are unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from uca import UCA, ContrastivePipeline
    >>> rng = np.random.default_rng(0)
    >>> target, day, night = rng.normal(size=(90, 8)), rng.normal(size=(80, 8)), rng.normal(size=(70, 8))
    >>> pipeline = ContrastivePipeline([("pca", PCA(4)), ("uca", UCA(n_components=1, scale=False))])
    >>> pipeline.fit(target, backgrounds={"day": day, "night": night})["uca"].background_names_
    ['day', 'night']
    >>> pipeline.transform(target).shape
    (90, 1)
    """

    steps: Any

    def __init__(self, steps: Any, *, memory: Any = None, verbose: bool = False):
        super().__init__(steps, memory=memory, verbose=verbose)

    def get_metadata_routing(self) -> Any:
        """What the steps ask for, and ``backgrounds``, which the pipeline asks for itself."""
        own = MetadataRequest(owner=type(self).__name__)
        own.fit.add_request(param="backgrounds", alias=True)
        return super().get_metadata_routing().add_self_request(own)

    def fit(self, X: Rows, y: Any = None, *, backgrounds: Backgrounds = None, **params: Any) -> Self:
        """Fit every step to the target, and take the backgrounds through the same steps.

        Parameters
        ----------
        X : array or table of shape (n, p)
            The target, as the first step takes it.
        y : optional
            Passed to every step, as in scikit-learn.
        backgrounds : array, list or tuple of arrays, or dict of name -> array, optional
            With the features of X. A table whose columns are those of X in another order is reordered.
        **params
            Parameters of the steps' ``fit``, as in scikit-learn: ``step__parameter``, or by metadata routing.

        Returns
        -------
        self
        """
        self._run("fit", X, y, backgrounds, params)
        return self

    @available_if(_can_transform)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Rows, y: Any = None, *, backgrounds: Backgrounds = None, **params: Any) -> Any:
        """Fit, and return what the last step makes of the target; parameters as in :meth:`fit`."""
        return self._run("fit_transform", X, y, backgrounds, params)

    @available_if(_can_fit_predict)  # type: ignore[untyped-decorator]
    def fit_predict(self, X: Rows, y: Any = None, *, backgrounds: Backgrounds = None, **params: Any) -> Any:
        """Fit, and return what the last step predicts for the target; parameters as in :meth:`fit`."""
        return self._run("fit_predict", X, y, backgrounds, params)

    def background_distance(self, X: Rows) -> Array:
        """Squared distance of rows from each background, along the components.

        Parameters
        ----------
        X : array or table of shape (n, p)
            New rows, as the first step takes them.

        Returns
        -------
        distance : array of shape (n, m)
            See :meth:`uca.UCA.background_distance`.
        """
        before, model = split(self)
        return model.background_distance(through(before, X))

    # --- fitting --------------------------------------------------------------------------------------------------------

    def _run(self, method: str, X: Any, y: Any, backgrounds: Any, params: dict[str, Any]) -> Any:
        check_steps(self.steps)
        given = self._given(method, params)
        named = _aligned(name_backgrounds(backgrounds), X)
        takers = [i for i, (_, step) in enumerate(self.steps) if takes_backgrounds(step)]
        if named and not takers:
            names = ", ".join(repr(name) for name, _ in self.steps)
            raise ValueError(f"no step takes backgrounds ({names}): add one that does, such as uca.UCA()")
        with told_of_skipped_steps(self, backgrounds), _kept_whole(self):
            self.steps = list(self.steps)
            X, named = self._fit_before_last(X, y, named, given, takers)
            name, last = self.steps[-1]
            with self._timed(len(self.steps) - 1):
                return _fit_last(method, last, X, y, _extra(last, named), given[name])

    def _fit_before_last(
        self, X: Any, y: Any, named: dict[str, Any], given: Any, takers: Sequence[int]
    ) -> tuple[Any, dict[str, Any]]:
        """Fit all steps but the last; the target and the backgrounds as these leave them."""
        memory = check_memory(self.memory)
        cached = memory.cache(_fit_step)
        caching = getattr(memory, "location", self.memory) is not None
        for i, (name, step) in enumerate(self.steps[:-1]):
            if is_passthrough(step):
                continue
            with self._timed(i):
                step = clone(step) if caching else step
                X, step = cached(step, X, y, _extra(step, named), dict(given[name]))
                self.steps[i] = (name, step)
                if any(taker > i for taker in takers):
                    named = {label: _transformed(step, name, rows, label) for label, rows in named.items()}
        return X, named

    def _given(self, method: str, params: dict[str, Any]) -> Any:
        """Parameters for the methods of each step."""
        wrong = [key for key in params if key.endswith("__backgrounds")]
        if wrong:
            raise ValueError(
                f"{wrong[0]} would not go through the steps before it: pass backgrounds=..., which is taken through them"
            )
        if sklearn.get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **params)
        out = {name: Bunch(fit={}, fit_transform={}, fit_predict={}, transform={}) for name, _ in self.steps}
        for key, value in params.items():
            name, found, parameter = key.partition("__")
            if not found or name not in out:
                raise ValueError(
                    f"{type(self).__name__}.{method} does not take {key!r}: pass parameters of steps as step__parameter; "
                    f"the steps are {list(out)}"
                )
            for each in ("fit", "fit_transform", "fit_predict"):
                out[name][each][parameter] = value
        return out

    @contextmanager
    def _timed(self, i: int) -> Iterator[None]:
        start = time.perf_counter()
        yield
        if self.verbose:
            took = time.perf_counter() - start
            print(f"[{type(self).__name__}] (step {i + 1} of {len(self.steps)}) {self.steps[i][0]}, total={took:6.1f}s")


# --- steps --------------------------------------------------------------------------------------------------------------


def takes_backgrounds(step: Any) -> bool:
    """Whether the fit of a step takes backgrounds."""
    return not is_passthrough(step) and has_fit_parameter(step, "backgrounds")


def models_of(model: Any) -> list[Any]:
    """The models with components in a pipeline, also in pipelines that are steps; of a model, itself."""
    if isinstance(model, Pipeline):
        return [found for _, step in model.steps for found in models_of(step)]
    return [model] if isinstance(model, ContrastiveTransformer) else []


def split(pipeline: Pipeline) -> tuple[Pipeline | None, ContrastiveTransformer]:
    """The steps before the model of components, None if there are none, and the model: the last one of several."""
    for i in range(len(pipeline.steps) - 1, -1, -1):
        step = pipeline.steps[i][1]
        if isinstance(step, Pipeline) and models_of(step):
            inner, model = split(step)
            parts = [*pipeline.steps[:i], *([] if inner is None else inner.steps)]
            return (Pipeline(parts) if parts else None), model
        if isinstance(step, ContrastiveTransformer):
            return (pipeline[:i] if i else None), step
    names = ", ".join(repr(name) for name, _ in pipeline.steps)
    raise TypeError(f"no step of the pipeline ({names}) is a model with components, such as uca.UCA()")


def through(before: Pipeline | None, rows: Any) -> Any:
    """Rows as fitted steps leave them."""
    if before is None or all(is_passthrough(step) for _, step in before.steps):
        return rows
    return before.transform(rows)


def _fit_step(step: Any, X: Any, y: Any, extra: dict[str, Any], given: dict[str, Any]) -> tuple[Any, Any]:
    """Fit one step; the target as it leaves it, and the step."""
    if hasattr(step, "fit_transform"):
        return step.fit_transform(X, y, **extra, **given.get("fit_transform", {})), step
    step.fit(X, y, **extra, **given.get("fit", {}))
    return step.transform(X, **given.get("transform", {})), step


def _fit_last(method: str, step: Any, X: Any, y: Any, extra: dict[str, Any], given: dict[str, Any]) -> Any:
    if is_passthrough(step):
        return X
    if method == "fit_transform":
        return _fit_step(step, X, y, extra, given)[0]
    return getattr(step, method)(X, y, **extra, **given.get(method, {}))


def _extra(step: Any, named: dict[str, Any]) -> dict[str, Any]:
    return {"backgrounds": named} if named and takes_backgrounds(step) else {}


def _aligned(named: dict[str, Any], X: Any) -> dict[str, Any]:
    """Backgrounds with the columns of the target in its order, where they are the same; steps judge the rest."""
    columns = get_columns(X)
    out = {}
    for name, rows in named.items():
        own = get_columns(rows)
        same = columns is not None and own is not None and set(own) == set(columns)
        out[name] = align_columns(rows, columns, label_of(name)) if same else rows
    return out


def _transformed(step: Any, step_name: str, rows: Any, name: str) -> Any:
    try:
        return step.transform(rows)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{label_of(name)} cannot be transformed by step {step_name!r}: {error}") from error


@contextmanager
def _kept_whole(pipeline: ContrastivePipeline) -> Iterator[None]:
    """Put a pipeline and all its steps back as they were if fitting does not come to its end."""
    inside = [part for part in pipeline.get_params(deep=True).values() if isinstance(part, BaseEstimator)]
    before = [(part, dict(vars(part))) for part in [pipeline, *inside]]
    try:
        yield
    except BaseException:
        for part, state in before:
            vars(part).clear()
            vars(part).update(state)
        raise
