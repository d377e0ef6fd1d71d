"""The public function: check, compute, write whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._files import write_file
from .._parameters import check_number
from .._types import Backgrounds, Labels, Rows
from ..estimators.base import component_names
from ..estimators.bounded import BoundedTransformer
from ..estimators.leading import how_to_read, leading
from ..fitted import check_bounded
from ..inference import BackgroundInfluence, Bootstrap, UniquenessTest
from . import evidence, words
from .contrast import contrast_path
from .evidence import Evidence, check_evidence
from .frame import ReportPath
from .inputs import Inputs, check_inputs
from .page import check_extra, render
from .payload import MAX_COMPONENTS, assemble, to_json


def report(
    model: BoundedTransformer,
    path: str | os.PathLike[str],
    X: Rows,
    *,
    backgrounds: Backgrounds = None,
    labels: Labels | None = None,
    label_name: str | None = None,
    ids: Labels | None = None,
    feature_names: Any = None,
    image_shape: tuple[int, int] | None = None,
    test: UniquenessTest | None = None,
    stability: Bootstrap | None = None,
    influence: BackgroundInfluence | None = None,
    title: str | None = None,
    seconds: float | None = None,
    made_on: str | None = None,
) -> ReportPath:
    """Write an interactive report of a fitted model as one HTML file that works offline.

    Parameters
    ----------
    model : UCA
        Fitted.
    path : path
        The file to write; an older one is replaced, once the new one is complete.
    X : array, sparse matrix, table or dask collection of shape (n, p)
        Rows of the target. Of a dask collection only the rows that are drawn come into memory; its rows have numbers for
        names, unless ``ids`` are given. The contrast slider needs those that the model was fitted on.
    backgrounds : array, list or tuple of arrays, or dict of name -> array, optional
        The backgrounds as in ``fit``. Without them the page has neither their points nor the contrast slider.
    labels : sequence of length n, optional
        Groups, or numbers, to colour the target's points by.
    label_name : str, optional
        What the labels are called in the colour menu, in legends and in saved pictures. Default: the name of the Series,
        else "label".
    ids : sequence of length n, optional
        Names of the rows. Default: the index of a DataFrame, else row numbers from 0.
    feature_names : sequence of length p, optional
        Default: names that the model or the table has, else x0, x1 and so on.
    image_shape : (height, width), optional
        Features are the pixels of images, row by row: draw components as images.
    test : UniquenessTest, optional
        From :func:`uca.inference.uniqueness_test`: which components are unique. Without it the page says "not tested".
    stability : Bootstrap, optional
        From :func:`uca.inference.bootstrap`: how stable the components and their loadings are.
    influence : BackgroundInfluence, optional
        From :func:`uca.inference.background_influence`: what each background contributes.
    title : str, optional
        Heading of the page.
    seconds : float, optional
        How long the fit took, to be shown in the report.
    made_on : str, optional
        Date to print. Default: today, or the date in the environment variable SOURCE_DATE_EPOCH.

    Returns
    -------
    path : ReportPath
        The file that was written: a :class:`pathlib.Path` that a notebook shows as the page itself.

    Notes
    -----
    At most 20 000 points are drawn, fewer with many components (the file stays small): a random sample, as the page
    then says. More than 3 000 points are drawn with WebGL where the browser has it.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from uca import UCA
    >>> from uca.report import report
    >>> rng = np.random.default_rng(0)
    >>> treated, control = rng.normal(size=(60, 5)), rng.normal(size=(50, 5))
    >>> model = UCA().fit(treated, backgrounds={"control": control})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(model, f"{folder}/report.html", treated, backgrounds={"control": control})
    ...     page.name, page.stat().st_size < 6e6
    ('report.html', True)
    """
    model = check_bounded(model, "the model of a report")
    check_extra()
    target_path = check_path(path)
    if seconds is not None:
        seconds = check_number("seconds", seconds, 0.0, float("inf"))
    data = check_inputs(
        model,
        X,
        backgrounds=backgrounds,
        labels=labels,
        label_name=label_name,
        ids=ids,
        feature_names=feature_names,
        image_shape=image_shape,
    )
    found = check_evidence(model, test, stability, influence)
    heading = "What is unique to the target" if title is None else str(title)
    write_file(target_path, _page(model, data, found, heading, seconds, made_on))
    return ReportPath(target_path)


def _page(
    model: BoundedTransformer, data: Inputs, found: Evidence, heading: str, seconds: float | None, made_on: str | None
) -> str:
    k = min(len(model.components_), MAX_COMPONENTS)
    document = assemble(model, data, contrast_path(model, data.arrays, k), heading)
    document["heldOut"] = evidence.drawing(found.test)
    shown = [part["shown"] for part in document["datasets"]]
    n_coloured = len(document["colour"]["features"])
    context = {
        "title": heading,
        "subtitle": words.subtitle(model, data),
        "leading": leading(model, data.features),
        "reading": how_to_read(model).strip("()"),
        "in_short": words.in_short(model),
        "solved": words.solved_chip(model),
        "expected": words.expected_chip(model),
        "means": words.mean_sentence(model, data.features),
        "sampling": words.sampling_sentence(shown, data.n_rows, n_coloured, model.n_features_in_),
        "multipliers": words.multipliers(model),
        "variances": words.variances(model),
        "backgrounds": list(model.background_names_),
        "first": component_names(model, 1)[0],
        "bounds": [f"{bound:.4g}" for bound in model.bounds_],
        "joint": model.components == "joint",
        "real": evidence.context(model, data, found),
        "certificate": model.certificate_,
        "certificates": model.certificates_,
        "meaning": words.certificate_sentence(model),
        "how": words.how_made(model, data, seconds, made_on),
        "has_path": document["path"] is not None,
        "no_path": document["noPath"],
        "has_rows": len(data.arrays) > 1,
        "has_patterns": getattr(model, "patterns_", None) is not None,  # absent from model files of older versions
        "has_image": data.image_shape is not None,
        "scaled": bool(model.scale) and model.n_samples_ is not None,
    }
    return render("report", context, to_json(document))


def check_path(path: str | os.PathLike[str]) -> Path:
    """A file that can be written: in a folder that exists."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give a file name, for instance {target / 'report.html'}")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}; make it first")
    return target
