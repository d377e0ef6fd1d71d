"""Single cells: Unique Component Analysis on an AnnData object, beside scanpy's tools.

Promises: the matrix of ``adata`` is read as it is and never changed. Sparse stays sparse; dask stays lazy; a backed file is
read in blocks of about ``BLOCK_BYTES``, again at each pass, so that memory holds a block a thread, the results, and what the
solver keeps (see ``representation`` of :class:`uca.UCA`). Rows of the groups are copied for data in memory, once, in the
format they have. Nothing is written to ``adata`` before everything has succeeded, and only what an h5ad file can hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._anndata import (
    BLOCK_BYTES,
    check_groups,
    columns_of,
    labels_of,
    list_values,
    matrix_of,
    name_groups,
    scverse_package,
    take,
)
from ._containers import is_dask
from ._types import Array
from .estimators.bounded import BoundedTransformer
from .estimators.sparse_uca import SparseUCA
from .estimators.uca import UCA

__all__ = ["Keys", "uca"]


@dataclass(frozen=True)
class Keys:
    """Where results stand in an AnnData object.

    Attributes
    ----------
    obsm : str
        Scores of all cells, (n_obs, k).
    varm : str
        Components, (n_vars, k).
    uns : str
        Multipliers, variances, certificate, parameters.
    """

    obsm: str
    varm: str
    uns: str

    @classmethod
    def of(cls, key_added: str) -> Keys:
        """The keys for a value of ``key_added``: scanpy's pattern, where ``X_name`` is what ``basis="name"`` finds."""
        if not isinstance(key_added, str) or not key_added or "/" in key_added:
            raise ValueError(f"key_added must be a name without '/'; got {key_added!r}")
        return cls(f"X_{key_added}", "UCs" if key_added == "uca" else f"{key_added}_UCs", key_added)


def uca(
    adata: Any,
    *,
    groupby: str,
    target: Any,
    backgrounds: Any,
    layer: str | None = None,
    mask_var: Any = None,
    n_components: int = 2,
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
        Column of ``adata.obs`` with the groups. Every cell must have a value.
    target : value or list of values
        The group, or groups together, whose variation is sought.
    backgrounds : value, list, or dict of name -> value or list of values
        Groups whose variation is not. Each entry is a background of its own; several values in one entry are pooled.
    layer : str, optional
        Layer to use in place of X.
    mask_var : str or array of bool of shape (n_vars,), optional
        Genes to use: a boolean column of ``adata.var``, such as ``"highly_variable"``, or a mask. None is all genes.
    n_components : int, default=2
    key_added : str, default="uca"
        Name of the results, see below.
    copy : bool, default=False
        Write to a copy and return it.
    **parameters
        Further parameters of :class:`uca.UCA`, such as ``scale="target"``; with ``n_nonzero=20`` those of
        :class:`uca.SparseUCA`, for components with that many genes.

    Returns
    -------
    adata : AnnData or None
        The copy, or None. These are set:

        ``obsm["X_uca"]`` (n_obs, k)
            Scores of **all** cells, centred and scaled as the target was.
        ``varm["UCs"]`` (n_vars, k)
            Components. Genes outside ``mask_var`` have 0, as in scanpy's ``PCs``.
        ``uns["uca"]``
            ``lambdas``, ``bounds``, ``background_names`` (m,), ``eigenvalues``, ``variance``, ``variance_ratio`` (k,),
            ``background_variance`` (k, m), ``expected_background_variance`` (the same in new cells, predicted as if cells
            were independent), ``rows_used`` (m,), ``certificate``, ``representation`` and ``solver`` (those used),
            ``params`` (those given, where a file can hold them), and ``groups``, a table of who was in which.

        With ``key_added="name"`` they are ``X_name``, ``name_UCs`` and ``name``.

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
    _check_adata(adata, copy)
    keys = Keys.of(key_added)
    kind: type[BoundedTransformer] = SparseUCA if "n_nonzero" in parameters else UCA
    model = kind(n_components, **parameters).set_output(transform="default")
    labels = labels_of(adata, groupby)
    groups = {None: list_values("target", target), **name_groups(backgrounds)}
    check_groups(groups, labels, groupby)
    columns = columns_of(adata, mask_var)
    matrix = matrix_of(adata, layer)
    rows = {name: np.flatnonzero(labels.isin(values)) for name, values in groups.items()}
    parts = {name: take(matrix, which, columns) for name, which in rows.items()}
    model.fit(parts.pop(None), backgrounds=parts)
    scores = _scores(model, matrix, columns)

    adata = adata.copy() if copy else adata
    loadings = np.zeros((adata.n_vars, scores.shape[1]), dtype=model.components_.dtype)
    loadings[slice(None) if columns is None else columns] = model.components_.T
    adata.obsm[keys.obsm] = scores
    adata.varm[keys.varm] = loadings
    adata.uns[keys.uns] = _results(model) | {
        "params": _parameters(model, groupby=groupby, layer=layer, mask_var=mask_var),
        "groups": _table(groups, labels),
    }
    return adata if copy else None


def _check_adata(adata: Any, copy: bool) -> None:
    if not isinstance(adata, scverse_package("anndata").AnnData):
        raise TypeError(f"adata must be an AnnData object; got {type(adata).__name__}")
    if copy and adata.isbacked:
        raise ValueError("copy=True needs the data in memory: pass adata.to_memory(), or leave copy=False")


def _scores(model: BoundedTransformer, matrix: Any, columns: Array | None) -> Array:
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


# --- what is kept -------------------------------------------------------------------------------------------------------


def _results(model: BoundedTransformer) -> dict[str, Any]:
    found = {
        "lambdas": model.lambdas_,
        "bounds": model.bounds_,
        "background_names": np.array(model.background_names_, dtype=object),
        "eigenvalues": model.eigenvalues_,
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
        "background_variance": model.background_variance_,
        "expected_background_variance": model.expected_background_variance_,
        "rows_used": model.rows_used_,
        "certificate": asdict(model.certificate_) | {"status": str(model.certificate_.status)},  # plain text, for files
        "representation": model.representation_,
        "solver": model.solver_,
    }
    return {name: value for name, value in found.items() if value is not None}  # a file holds no None


def _parameters(model: BoundedTransformer, **own: Any) -> dict[str, Any]:
    """Parameters as types that a file can hold: what is None, or an object, is left out."""
    given: dict[str, Any] = own | model.get_params()
    if not isinstance(given["bound"], (str, int, float)):
        given["bound"] = model.bounds_
    given["mask_var"] = own["mask_var"] if own["mask_var"] is None or isinstance(own["mask_var"], str) else "given"
    kept = (str, bool, int, float, np.ndarray, np.generic)
    return {name: value for name, value in given.items() if isinstance(value, kept) and name != "verbose"}


def _table(groups: Mapping[str | None, Sequence[Any]], labels: Any) -> Any:
    """The groups behind each dataset, with their numbers of cells."""
    records = [
        ("target" if name is None else "background", name or "target", str(value), int((labels == value).sum()))
        for name, values in groups.items()
        for value in values
    ]
    frame = scverse_package("pandas").DataFrame(records, columns=["role", "name", "group", "n_cells"])
    return frame.set_axis(frame.index.astype(str), axis=0)
