"""One HTML page of a fit: the report of :mod:`uca.report` with the cells, genes and labels of an AnnData object.

Promises: the page shows the fit that ``adata`` holds. A model is not kept in ``adata``, so it is fitted again, to the same
cells with the same parameters; where that gives another answer, the object has changed, and that is an error.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

from .._anndata import check_adata, hint
from ..estimators.bounded import BoundedTransformer
from ..fitted import SAME
from ..report import report as write_report
from .parameters import check_names
from .question import Question
from .stored import restore

PASSED_ON = ("label_name", "test", "stability", "influence", "title", "made_on")  # to uca.report.report


def report(
    adata: Any, path: str | os.PathLike[str], *, key: str = "uca", color: str | None = None, **options: Any
) -> Path:
    """Write an interactive report of a fit as one HTML file that works offline.

    Parameters
    ----------
    adata : AnnData
        After :func:`uca`. Dask and backed data are sampled; only the cells that are drawn come into memory.
    path : path
        The file to write; an older one is replaced, once the new one is complete.
    key : str, default="uca"
        The fit.
    color : str, optional
        Column of ``adata.obs`` to colour the target's cells by. Default: ``groupby`` of the fit, if the target has several
        groups.
    **options
        ``test`` (what :func:`test` has returned), ``stability``, ``influence``, ``title``, ``label_name`` and ``made_on``:
        see :func:`uca.report.report`.

    Returns
    -------
    path : pathlib.Path
        The file that was written.

    Notes
    -----
    Cells are called by ``obs_names``, genes by ``var_names``. At most 20 000 cells are drawn: a random sample, which the
    page tells. The model is fitted again, which takes as long as the fit did.
    """
    check_adata(adata)
    check_names(report, options, PASSED_ON)
    keys, question, model = restore(adata, key)
    if color is None and len(question.groups[None]) > 1:
        color = question.groupby
    if color is not None and color not in adata.obs.columns:
        raise ValueError(f"color={color!r} is not a column of adata.obs{hint(color, adata.obs.columns)}")
    which = question.rows()[None]
    rows, others = question.parts()
    started = time.perf_counter()
    _fit_again(model, rows, others, adata.uns[keys.uns]["certificate"]["upper"])
    return write_report(
        model,
        path,
        rows,
        backgrounds=others,
        labels=None if color is None else adata.obs[color].iloc[which],
        ids=adata.obs_names[which].to_numpy(),
        feature_names=_names(question),
        seconds=time.perf_counter() - started,
        **options,
    )


def _fit_again(model: BoundedTransformer, rows: Any, others: dict[str, Any], upper: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # told at the fit, and on the page
        model.fit(rows, backgrounds=others)
    now = float(model.certificate_.upper)
    if abs(now - upper) > SAME * abs(upper):
        raise ValueError(
            f"adata has changed since the fit: the optimum was {upper:.6g} and is {now:.6g}. Fit again with uca.scverse.uca"
        )


def _names(question: Question) -> list[str]:
    return [str(name) for name in question.features]
