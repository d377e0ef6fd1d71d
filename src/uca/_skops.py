"""skops, imported without packages that it has no use for.

When it is imported, skops asks scikit-learn for all its estimators. scikit-learn answers by importing every package inside
it: also its adapters of arrays, which bring torch, dask and CuPy where these are installed, and its tools for tests, which
bring pytest. That takes seconds, and no estimator is found there.

Promises: while skops is imported for the first time, that question is answered by :func:`estimators_of_sklearn`, which
passes such packages over and finds the same classes. Afterwards everything is as it was.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from threading import Lock
from typing import Any

import sklearn
from sklearn import utils
from sklearn.base import BaseEstimator

from ._optional import optional

#: Parts of scikit-learn without estimators; ``all_estimators`` leaves the same ones out, after it imported them.
PASSED_OVER = {"tests", "externals", "setup", "conftest", "experimental", "estimator_checks"}
_lock = Lock()


def skops_io() -> Any:
    """The module ``skops.io``; where it is not installed, an error says what installs it."""
    with _lock:
        if sys.modules.get("skops.io") is not None:
            return sys.modules["skops.io"]
        asked, utils.all_estimators = utils.all_estimators, estimators_of_sklearn
        try:
            return optional("skops.io", "model files need skops", "cli")
        finally:
            utils.all_estimators = asked


def estimators_of_sklearn() -> list[tuple[str, type]]:
    """Name and class of every estimator of scikit-learn, sorted by name."""
    found: set[tuple[str, type]] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # modules that are going away say so
        for module in _modules(sklearn.__path__, "sklearn."):
            found |= {(name, kind) for name, kind in inspect.getmembers(module, inspect.isclass) if name[0] != "_"}
    estimators = {
        (name, kind)
        for name, kind in found
        if issubclass(kind, BaseEstimator) and kind is not BaseEstimator and not inspect.isabstract(kind)
    }
    return sorted(estimators, key=lambda each: each[0])


def _modules(path: Any, prefix: str) -> Iterator[Any]:
    """The public modules below a package, imported."""
    for found in pkgutil.iter_modules(path, prefix):
        name = found.name.rpartition(".")[2]
        if name in PASSED_OVER or name.startswith("_"):
            continue
        module = import_module(found.name)
        yield module
        if found.ispkg:
            yield from _modules(module.__path__, f"{found.name}.")
