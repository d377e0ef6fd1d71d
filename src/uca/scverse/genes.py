"""The genes that follow each component, in the structure of scanpy's ``rank_genes_groups``.

Promises: ``scanpy.get.rank_genes_groups_df`` and ``scanpy.pl.rank_genes_groups`` read what is written. Only genes that were
used in the fit are ranked. There are no p-values for single genes: those columns are NaN, never a number that means nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._anndata import check_adata, matrix_of, scverse_package, take
from .._containers import is_dask
from .._parameters import check_bool, check_choice, check_positive_int
from .._types import Array
from ..operators.representations.build import build
from ..operators.statistics.blocks import divisor
from .keys import Keys, fitted_keys
from .stored import genes_of_fit, restore

BY = ("pattern", "correlation")
FIELDS = {"names": "O", "scores": "float32", "logfoldchanges": "float32", "pvals": "float64", "pvals_adj": "float64"}


def rank_genes(
    adata: Any,
    *,
    key: str = "uca",
    by: str = "pattern",
    n_genes: int | None = None,
    rankby_abs: bool = True,
    layer: str | None = None,
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Rank genes by how they follow each component in the target, as ``scanpy.tl.rank_genes_groups`` ranks them by group.

    Parameters
    ----------
    adata : AnnData
        After :func:`uca`.
    key : str, default="uca"
        The fit.
    by : {"pattern", "correlation"}, default="pattern"
        "pattern": by how much a gene rises in the target where the score rises by 1, in the units of the fit. "correlation"
        of gene and score in the target: a gene of little expression counts as much as any other.
    n_genes : int, optional
        Keep so many for each component; default: all that were used in the fit. Genes outside ``mask_var`` are never ranked.
    rankby_abs : bool, default=True
        Genes that fall with the score rank beside those that rise; scores keep their sign. False: largest value first.
    layer : str, optional
        Only for a fit on ``use_rep``: the layer whose genes are ranked, in place of X. Patterns of genes are then computed
        here, from the cells of the target, which come into memory.
    key_added : str, optional
        Name in ``adata.uns``; default: ``"rank_genes_uca"``, or ``rank_genes_name`` for another key.
    copy : bool, default=False
        Write to a copy and return it.

    Returns
    -------
    adata : AnnData or None
        The copy, or None. ``adata.uns["rank_genes_uca"]`` has record arrays with a field for each component (``UC1``, …):
        ``names`` and ``scores``. ``logfoldchanges``, ``pvals`` and ``pvals_adj`` are there because scanpy reads them, and
        NaN: single genes were not tested (:func:`test` tests components, :func:`uca.inference.bootstrap` finds loadings
        that are reliable).

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> import uca.scverse
    >>> rng = np.random.default_rng(0)
    >>> obs = pd.DataFrame({"state": np.repeat(["treated", "control"], 100)}, index=[f"cell{i}" for i in range(200)])
    >>> values = rng.normal(size=(200, 4))
    >>> values[:100] += rng.normal(size=(100, 1)) * [0, 3, -2, 0]
    >>> adata = anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=["ACTB", "IFI6", "CD14", "NKG7"]))
    >>> uca.scverse.uca(adata, groupby="state", target="treated", backgrounds="control", n_comps=1)
    >>> uca.scverse.rank_genes(adata, n_genes=2)
    >>> adata.uns["rank_genes_uca"]["names"]["UC1"].tolist()
    ['IFI6', 'CD14']
    """
    check_adata(adata, copy)
    check_choice("by", by, BY)
    check_bool("rankby_abs", rankby_abs)
    if n_genes is not None:
        check_positive_int("n_genes", n_genes)
    keys = fitted_keys(adata, key)
    params = adata.uns[keys.uns]["params"]
    if "use_rep" in params:
        values, names = _from_cells(adata, key, by, layer), adata.var_names
    elif layer is not None:
        raise ValueError("layer is for fits on use_rep: this one has patterns of the layer that it was fitted on")
    else:
        values, names = _from_fit(adata, keys, by)
    ranked = _ranked(values, np.asarray(names.astype(str), dtype=object), n_genes, rankby_abs)
    about = {
        "groupby": str(params["groupby"]),
        "reference": ", ".join(map(str, adata.uns[keys.uns]["background_names"])),
        "method": f"uca_{by}",
        "use_raw": False,
    }
    adata = adata.copy() if copy else adata
    adata.uns[keys.rank_genes if key_added is None else key_added] = {"params": about, **ranked}
    return adata if copy else None


def _from_fit(adata: Any, keys: Keys, by: str) -> tuple[Array, Any]:
    """Values of the genes in use, (genes, k), and their names."""
    name = keys.patterns if by == "pattern" else keys.correlations
    if name not in adata.varm:
        raise ValueError(f"adata.varm[{name!r}] is not there: fit again with uca.scverse.uca, or rank by another")
    mask = genes_of_fit(adata, keys)
    used = slice(None) if mask is None else mask
    return np.asarray(adata.varm[name], dtype=float)[used], adata.var_names[used]


def _from_cells(adata: Any, key: str, by: str, layer: str | None) -> Array:
    """The same for all genes, from the cells of the target and their scores."""
    keys, question, _ = restore(adata, key)
    which = question.rows()[None]
    rows = take(matrix_of(adata, layer), which, None)
    rows = rows.compute() if is_dask(rows) else rows
    scores = np.asarray(adata.obsm[keys.obsm], dtype=float)[which]
    centred = scores - scores.mean(axis=0)  # so genes need not be
    squares = (centred**2).sum(axis=0)
    patterns = np.divide(rows.T @ centred, squares, out=np.zeros((rows.shape[1], len(squares))), where=squares > 0)
    standard = build([rows], ["X of the target"], representation="implicit", center=True, scale=True).standards[0]
    if by == "pattern":
        return patterns
    size = np.sqrt(squares / divisor(len(centred)))
    return np.clip(patterns * size * standard.factor[:, np.newaxis], -1.0, 1.0)


def _ranked(values: Array, names: Array, n_genes: int | None, rankby_abs: bool) -> dict[str, Any]:
    """Record arrays as scanpy has them, a field for each component."""
    n = len(names) if n_genes is None else min(n_genes, len(names))
    order = np.argsort(-(np.abs(values) if rankby_abs else values), axis=0, kind="stable")[:n]
    called = [f"UC{i + 1}" for i in range(values.shape[1])]
    missing = np.full((n, len(called)), np.nan)
    columns = {
        "names": names[order],
        "scores": np.take_along_axis(values, order, axis=0),
        **dict.fromkeys(("logfoldchanges", "pvals", "pvals_adj"), missing),
    }
    frame = scverse_package("pandas").DataFrame
    return {
        name: frame(table, columns=called).to_records(index=False, column_dtypes=FIELDS[name])
        for name, table in columns.items()
    }
