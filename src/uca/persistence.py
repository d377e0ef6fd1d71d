"""Fitted models in files, without pickle.

Promises: :func:`load` builds objects of this package, steps of scikit-learn, arrays, numbers, text and their containers, and
nothing else; a file that names any other type is refused before anything is built, and one whose arrays do not fit together
is refused after.
:func:`save` never leaves half a file. Rows of data are not in the file, because a fitted model does not keep them.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from copy import copy
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._claims import check_npz
from ._files import write_file
from ._guard import AGAIN, check_file, plain
from ._skops import skops_io
from .estimators.base import ContrastiveTransformer
from .estimators.registry import ESTIMATORS
from .pipeline import ContrastivePipeline, models_of

FORMAT = 1
_TYPES = {ContrastivePipeline, *(part for kind in ESTIMATORS for part in (kind, *kind.parts))}
#: What can be saved.
SAVED = (*ESTIMATORS, ContrastivePipeline)
#: The types of this package that a file may name; all else is what skops holds to be harmless.
TRUSTED = tuple(sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in _TYPES))
_DESCRIPTIONS = ("numpy.dtype",)  # what kind of numbers an array has: steps such as SimpleImputer keep it


def save(model: Any, path: Any) -> Path:
    """Write a fitted model to a file that :func:`load` reads.

    Parameters
    ----------
    model : UCA, SparseUCA, CPCA, CPCAPlusPlus or ContrastivePipeline
        A fitted model. After ``partial_fit`` the solution is kept, not the sums behind it: a loaded model gives scores,
        but a stream starts again. Of a pipeline the steps may be any of scikit-learn's; its cache (``memory``) is not kept.
    path : path
        Usually ``something.skops``. An existing file is replaced, in one step.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> import tempfile, numpy as np, uca
    >>> model = uca.UCA().fit(np.random.default_rng(0).normal(size=(20, 3)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = uca.save(model, folder + "/model.skops")
    ...     print(uca.load(path))
    UCA()
    """
    if type(model) not in SAVED:
        names = ", ".join(kind.__name__ for kind in SAVED)
        kind = type(model)
        raise TypeError(
            f"save takes a fitted model ({names}); got {kind.__module__}.{kind.__name__}. Save a fitted pipeline of "
            "scikit-learn as uca.ContrastivePipeline(pipeline.steps), and models of other kinds with pickle"
        )
    check_is_fitted(model)
    path = Path(path)
    write_file(path, _dump(_portable(model)))
    return path


def load(path: Any) -> Any:
    """Read a model that :func:`save` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    model : UCA, SparseUCA, CPCA, CPCAPlusPlus or ContrastivePipeline

    Raises
    ------
    ValueError
        If the file is damaged, names a type that does not occur in models, or does not hold a model.

    Warns
    -----
    UserWarning
        If another version of the package wrote the file.
    """
    path = Path(path)
    check_file(path, "model")
    content = _construct(path)
    try:
        refused, written = _refused(content), _written_by(content)
    except Exception as error:  # whatever a forged file holds in place of what is expected
        raise _damaged(path, error) from error
    if refused:
        raise ValueError(f"{path} {refused}")
    if written != version("unique-component-analysis"):
        warnings.warn(
            f"{path} was written by version {written} of unique-component-analysis, this is "
            f"{version('unique-component-analysis')}: if results differ, fit the model again",
            UserWarning,
            stacklevel=2,
        )
    return content["model"]


def _portable(model: Any) -> Any:
    """The model without the sums of a stream, which are solved first; a pipeline without its cache."""
    if isinstance(model, ContrastivePipeline):
        model = copy(model)
        model.steps, model.memory = [(name, _portable(step)) for name, step in model.steps], None
        return model
    if not isinstance(model, ContrastiveTransformer):
        return model
    model.components_  # noqa: B018  # a stream is solved when a result is asked for
    model = copy(model)
    model.__dict__.pop("_stream", None)
    return model


def _dump(model: Any) -> bytes:
    skops = skops_io()
    packages = ("unique-component-analysis", "scikit-learn", "numpy")
    content = {"format": FORMAT, "versions": {name: version(name) for name in packages}, "model": model}
    data: bytes = skops.dumps(content, compression=zipfile.ZIP_DEFLATED)
    unknown = _unknown(skops.get_untrusted_types(data=data))
    if unknown:
        raise TypeError(
            f"the model holds {', '.join(unknown)}, which a model file may not hold: use plain numbers and text as "
            "parameters (verbose=False instead of a function, random_state as a number), fit on numpy arrays or tables, and "
            "use steps of scikit-learn in a pipeline, without functions of your own"
        )
    return data


def _unknown(types: list[str]) -> list[str]:
    return sorted(set(types) - {*TRUSTED, *_DESCRIPTIONS})


def _construct(path: Path) -> Any:
    """The content of a file, after every type it names was checked."""
    skops = skops_io()
    data = path.read_bytes()  # read once: what is checked is what is built
    try:
        check_npz(io.BytesIO(data))
        unknown = _unknown(skops.get_untrusted_types(data=data))
        if not unknown:
            _check_sums(data)
            return skops.loads(data, trusted=[*TRUSTED, *_DESCRIPTIONS])
    except Exception as error:  # a damaged file can fail in any way that zip, JSON, numpy or skops know
        raise _damaged(path, error) from error
    raise ValueError(
        f"{path} names types that do not occur in models: {', '.join(unknown)}. It was not loaded; "
        "get the file from a source you trust"
    )


def _damaged(path: Path, error: Exception) -> ValueError:
    said = plain(f"{type(error).__name__}: {error}")
    return ValueError(f"{path} is not a model file, or is damaged ({said}): {AGAIN}")


def _refused(content: Any) -> str:
    """Why the content of a file is not taken, after the file's name; empty if it is."""
    if not isinstance(content, dict) or type(content.get("model")) not in SAVED:
        return "is a skops file, but not one that uca.save wrote: it holds no model of this package"
    if content.get("format") != FORMAT:
        found = plain(repr(content.get("format")))
        return f"has file format {found}, this version reads {FORMAT}: update the package, or fit the model again"
    if not all(map(_is_whole, models_of(content["model"]))):
        return "holds a model whose parts do not fit together: fit the model again"
    return ""


def _written_by(content: Any) -> str:
    """The version of this package that wrote the file."""
    versions = content.get("versions", {}) if isinstance(content, dict) else {}
    return plain(str(versions.get("unique-component-analysis")))


def _check_sums(data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        broken = archive.testzip()
    if broken is not None:
        raise ValueError(f"checksum of {broken} differs")


def _is_whole(model: Any) -> bool:
    """Whether the arrays of a model fit together and are finite."""
    values = vars(model)
    p = values.get("n_features_in_")
    components = values.get("components_")
    vectors = [values.get("mean_"), values.get("scale_")]
    return (
        isinstance(p, int)
        and isinstance(components, np.ndarray)
        and components.ndim == 2
        and components.shape[1] == p
        and all(isinstance(vector, np.ndarray) and vector.shape == (p,) for vector in vectors)
        and all(array.dtype.kind == "f" and np.isfinite(array).all() for array in (components, *vectors))
        and len(values.get("feature_names_in_", range(p))) == p
        and np.shape(values.get("explained_variance_")) == components.shape[:1]
    )
