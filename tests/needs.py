"""What some tests need and not every machine has: each says why it skips."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest
import sklearn


class Optional:
    """A package that is imported when it is first used: without it that test skips, not its whole file."""

    def __init__(self, package: str):
        self._package = package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks such names up while it collects
            raise AttributeError(name)
        package = pytest.importorskip(self._package, reason=f"{self._package} is not installed")
        return getattr(package, name)


DISPATCH = "array-API dispatch needs scipy 1.14 and SCIPY_ARRAY_API=1"


@contextlib.contextmanager
def array_api_dispatch() -> Iterator[None]:
    """scikit-learn's dispatch; conftest.py sets the variable where scipy is new enough for it."""
    if not os.environ.get("SCIPY_ARRAY_API"):
        pytest.skip(DISPATCH)
    with sklearn.config_context(array_api_dispatch=True):
        yield


def lacking(check: Any) -> str | None:
    """Why an array-API check of scikit-learn cannot run here, if it cannot."""
    if isinstance(check, partial) and _dispatches(check) and not os.environ.get("SCIPY_ARRAY_API"):
        return DISPATCH
    device = absent_device(check)
    return device and f"torch finds no {device} device on this machine"


def _dispatches(check: partial) -> bool:
    return any(key == "array_namespace" or key.endswith("_ns_and_device") for key in check.keywords)


def absent_device(check: Any) -> str | None:
    """The device that an array-API check of scikit-learn asks of torch, if this machine lacks it.

    The checks themselves ask how torch was built, and a build for CUDA runs on machines without a driver, too.
    """
    if not isinstance(check, partial) or find_spec("torch") is None:
        return None
    given = check.keywords
    device = given.get("device_name", given.get("device"))  # the latter in scikit-learn 1.6
    wanted = {device} if given.get("array_namespace") == "torch" else set()
    pairs = (value for key, value in given.items() if key.endswith("_ns_and_device"))
    wanted |= {pair.device for pair in pairs if pair.xp == "torch"}
    return next((device for device in ("cuda", "mps") if device in wanted and not _has(device)), None)


def _has(device: str) -> bool:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a driver that is too old for torch: no device
        return torch.cuda.is_available() if device == "cuda" else torch.backends.mps.is_available()
