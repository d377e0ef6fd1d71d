"""The fit: components of groups of cells, scores of all cells.

Promises: sparse stays sparse; dask stays lazy; a backed file is read in blocks of about ``BLOCK_BYTES``, again at each pass,
so that memory holds a block a thread, the results, and what the solver keeps (see ``representation`` of :class:`uca.UCA`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._anndata import BLOCK_BYTES, check_adata
from .._containers import is_dask
from .._types import Array
from ..estimators.bounded import BoundedTransformer
from .keys import Keys, clear
from .parameters import Mask, check_names, model_of, names_of_model
from .question import Question, ask
from .stored import results


def uca(
    adata: Any,
    *,
    groupby: str,
    target: Any,
    backgrounds: Any,
    layer: str | None = None,
    mask_var: Any = Mask.DEFAULT,
    use_rep: str | None = None,
    n_comps: int | None = None,
    n_components: int | None = None,
    key_added: str = "uca",
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Find what varies among the cells of one group and not among those of others; score all cells on it.

    Parameters
    ----------
    adata : AnnData of shape (n_obs, n_vars)
        Normalised, log-transformed expression, say. X may be dense, CSR, CSC, dask, or backed by a file.
    groupby : str
        Column of ``adata.obs`` that tells the groups. No cell may be without a value.
    target : value or list of values
        The group, or groups together, whose variation is sought.
    backgrounds : value, list, or dict of name -> value or list of values
        Groups whose variation is not. Each entry is a background of its own; several values in one entry are pooled.
    layer : str, optional
        Layer to use in place of X.
    mask_var : str or array of bool of shape (n_vars,), optional
        Genes to use: a boolean column of ``adata.var``, or a mask. Where nothing is said, ``"highly_variable"`` if there is
        such a column, else all genes, as in scanpy's ``pca``. None is all genes.
    use_rep : str, optional
        Fit on this entry of ``adata.obsm``, such as ``"X_pca"``, in place of genes.
    n_comps : int, default=2
        Number of components; ``n_components`` is the same.
    key_added : str, default="uca"
        Name of the results, see below.
    copy : bool, default=False
        Write to a copy and return it.
    **parameters
        Further parameters of :class:`uca.UCA`, such as ``components="sequential"``; with ``n_nonzero=20`` those of
        :class:`uca.SparseUCA`, for components of so many genes. Other names are refused. ``scale`` is **False** here unless
        it is given, while that of :class:`uca.UCA` is True: log-expression has one unit for all genes, and in 12 real
        settings with held-out rows such features did a little better unscaled.

    Returns
    -------
    adata : AnnData or None
        The copy, or None. These are set:

        ``obsm["X_uca"]`` (n_obs, k)
            Scores of **all** cells, centred and scaled as the target was.
        ``varm["UCs"]`` (n_vars, k)
            Components: the weights that make the scores. Genes outside ``mask_var`` have 0, as in scanpy's ``PCs``.
        ``varm["UC_patterns"]``, ``varm["UC_correlations"]`` (n_vars, k)
            What follows the scores: by how much each gene rises in the target where the score rises by 1, and the
            correlation of the two. Read these to say what a component is about. Genes outside ``mask_var`` have 0.
        ``uns["uca"]``
            ``lambdas``, ``bounds``, ``background_names`` (m,), ``eigenvalues``, ``variance``, ``variance_ratio`` (k,),
            ``background_variance`` (k, m), ``expected_background_variance`` (the same in new cells, predicted as if cells
            were independent), ``rows_used`` (m,), ``certificate``, ``representation`` and ``solver`` (those used),
            ``params`` (those given, where a file can hold them), ``groups``, a table of who was in which, ``genes``, a mask
            of those used, and ``leading_genes``, a table of the genes that each component is about.

        With ``key_added="name"`` they are ``X_name``, ``name_UCs``, ``name_UC_patterns``, ``name_UC_correlations`` and
        ``name``. With ``use_rep`` nothing is in ``varm``: ``uns["uca"]`` has ``components``, ``patterns`` and
        ``correlations``, (d, k). What :func:`test`, :func:`donors` and :func:`rank_genes` wrote for an earlier fit of that
        name is removed.

    Notes
    -----
    A backed X needs dask. If it is stored by rows (CSR or dense), one block a thread is in memory; if by columns (CSC), the
    cells of the groups may be gathered, still sparse. Each pass reads the file again: where the groups fit in memory,
    ``adata.to_memory()`` first is faster.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> from uca.scverse import uca
    >>> rng = np.random.default_rng(0)
    >>> obs = pd.DataFrame({"condition": ["treated"] * 100 + ["control"] * 80}, index=[f"cell{i}" for i in range(180)])
    >>> adata = anndata.AnnData(rng.normal(size=(180, 6)), obs=obs)
    >>> uca(adata, groupby="condition", target="treated", backgrounds=["control"])
    >>> adata.obsm["X_uca"].shape, adata.varm["UCs"].shape, adata.uns["uca"]["certificate"]["status"]
    ((180, 2), (6, 2), 'optimal')
    """
    check_adata(adata, copy)
    keys = Keys.of(key_added)
    check_names(uca, parameters, names_of_model(parameters))
    model = model_of(parameters, n_comps, n_components)
    question = ask(
        adata,
        groupby=groupby,
        target=target,
        backgrounds=backgrounds,
        layer=layer,
        mask_var=mask_var,
        use_rep=use_rep,
    )
    rows, others = question.parts()
    model.fit(rows, backgrounds=others)
    scores = scores_of_all(model, question.matrix, question.columns)
    found = results(model, question, adata.n_vars)

    adata = adata.copy() if copy else adata
    clear(adata, keys)
    adata.obsm[keys.obsm] = scores
    adata.uns[keys.uns] = found
    if question.use_rep is None:
        for name, values in _of_genes(model, keys).items():
            adata.varm[name] = _on_all_genes(values, question, adata.n_vars)
    return adata if copy else None


def _of_genes(model: BoundedTransformer, keys: Keys) -> dict[str, Array]:
    """What stands in ``varm``, (k, genes in use)."""
    found = {
        keys.varm: model.components_,
        keys.patterns: model.patterns_,
        keys.correlations: model.pattern_correlations_,
    }
    return {name: values for name, values in found.items() if values is not None}


def _on_all_genes(values: Array, question: Question, n_vars: int) -> Array:
    """Values of the genes in use, (k, genes), among all genes: (n_vars, k), 0 for the others."""
    out = np.zeros((n_vars, len(values)), dtype=values.dtype)
    out[slice(None) if question.columns is None else question.columns] = values.T
    return out


def scores_of_all(model: BoundedTransformer, matrix: Any, columns: Array | None) -> Array:
    """Scores of all cells, in memory."""
    if is_dask(matrix):
        lazy = model.transform(matrix if columns is None else matrix[:, columns])
        scores = np.asarray(lazy.compute())  # type: ignore[attr-defined]  # of a dask array, scores are one
        if not np.isfinite(scores).all():
            raise ValueError("X contains NaN or infinity in cells outside the groups; impute or drop them first")
        return scores
    if sparse.issparse(matrix) or columns is None:
        return model.transform(matrix if columns is None else matrix[:, columns])
    step = max(1, BLOCK_BYTES // (8 * len(columns)))
    blocks = [model.transform(matrix[i : i + step, columns]) for i in range(0, len(matrix), step)]
    return np.concatenate(blocks)
