"""The contrast slider by itself: a small page for a notebook, made of the report's own parts.

Promises: as the report, the page makes no network request, shows text from the user as text, and samples data that is too
large to draw. Where there is no contrast to vary, that is an error, which says why.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._files import write_file
from .._types import Backgrounds, Labels, Rows
from ..estimators.base import component_names
from ..estimators.bounded import BoundedTransformer
from ..estimators.leading import how_to_read, leading
from ..fitted import check_bounded
from . import words
from .contrast import contrast_path
from .frame import framed
from .inputs import Inputs, check_inputs
from .make import check_path
from .page import check_extra, render
from .payload import MAX_COMPONENTS, assemble, to_json

HEIGHT = 1060  # pixels, of a page with one background on a desktop


@dataclass(frozen=True)
class Exploration:
    """A page with the contrast slider. A notebook shows it; :meth:`save` writes it to a file.

    Attributes
    ----------
    title : str
    html : str
        The whole page.
    """

    title: str
    html: str = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as one HTML file that works offline; an older file is replaced.

        Parameters
        ----------
        path : path

        Returns
        -------
        path : pathlib.Path
        """
        target = check_path(path)
        write_file(target, self.html)
        return target

    def _repr_html_(self) -> str:
        return framed(self.html, self.title, HEIGHT, follow=True)


def explore(
    model: BoundedTransformer,
    X: Rows,
    *,
    backgrounds: Backgrounds,
    labels: Labels | None = None,
    label_name: str | None = None,
    ids: Labels | None = None,
    feature_names: Any = None,
    title: str | None = None,
) -> Exploration:
    """The contrast slider in a notebook: scores from PCA through the optimum to ten times its contrast.

    No server and no running kernel is needed: the page is in the notebook, also after it was exported to HTML. Needs the
    extra ``report``.

    Parameters
    ----------
    model : fitted UCA
    X : array, sparse matrix, table or dask collection of shape (n, p)
        Rows of the target that the model was fitted on.
    backgrounds : array, list or tuple of arrays, or dict of name -> array
        The backgrounds as in ``fit``.
    labels, label_name, ids, feature_names
        As in :func:`uca.report.report`.
    title : str, optional
        Heading of the page.

    Returns
    -------
    page : Exploration
        Shows itself in a notebook; ``page.save("slider.html")`` writes a file.

    Examples
    --------
    >>> import numpy as np
    >>> from uca import UCA, plotting
    >>> rng = np.random.default_rng(0)
    >>> treated, control = rng.normal(size=(60, 5)) * [3, 2, 1, 1, 1], rng.normal(size=(50, 5)) * [3, 1, 1, 1, 1]
    >>> model = UCA(scale=False).fit(treated, backgrounds={"control": control})
    >>> plotting.explore(model, treated, backgrounds={"control": control}, title="Treated mice")
    Exploration(title='Treated mice')
    """
    model = check_bounded(model, "the model of a contrast slider")
    check_extra()
    data = check_inputs(
        model,
        X,
        backgrounds=backgrounds,
        labels=labels,
        label_name=label_name,
        ids=ids,
        feature_names=feature_names,
        image_shape=None,
    )
    heading = "From PCA to strong contrast" if title is None else str(title)
    return Exploration(heading, _page(model, data, heading))


def _page(model: BoundedTransformer, data: Inputs, heading: str) -> str:
    path = contrast_path(model, data.arrays, min(len(model.components_), MAX_COMPONENTS))
    if isinstance(path, str):
        raise ValueError(path)
    document = assemble(model, data, path, heading)
    shown, n_coloured = [part["shown"] for part in document["datasets"]], len(document["colour"]["features"])
    for name in ("loadings", "patterns", "image"):  # what other sections of the report draw
        del document[name]
    context = {
        "title": heading,
        "leading": leading(model, data.features),
        "reading": how_to_read(model).strip("()"),
        "certificate": model.certificate_.brief,
        "sampling": words.sampling_sentence(shown, data.n_rows, n_coloured, model.n_features_in_),
        "first": component_names(model, 1)[0],
        "has_rows": True,
    }
    return render("explore", context, to_json(document))
