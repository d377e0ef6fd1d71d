"""What is asked of an AnnData object: groups of cells, genes and the matrix, each checked.

Promises: the matrix that leaves this module is a numpy array, CSR, CSC or a dask array, not a copy; data in a file becomes a
dask array whose blocks are read when needed. Errors say what is there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy import sparse

from ._containers import is_dask
from ._optional import optional
from ._readable import listed
from ._types import Array

BLOCK_BYTES = 32_000_000  # of a block of a file
LISTED = 12  # known names that an error lists


def scverse_package(name: str) -> Any:
    """A package of the extra ``scverse``."""
    return optional(name, f"uca.scverse needs {name.split('.')[0]}", "scverse")


# --- who is in which group ----------------------------------------------------------------------------------------------


def labels_of(adata: Any, groupby: str) -> Any:
    """The column of groups, complete."""
    if groupby not in adata.obs.columns:
        raise ValueError(f"groupby={groupby!r} is not a column of adata.obs{hint(groupby, adata.obs.columns)}")
    labels = adata.obs[groupby]
    missing = int(labels.isna().sum())
    if missing:
        raise ValueError(
            f"{missing} of {len(labels)} cells have no value in adata.obs[{groupby!r}]. Give them one, or drop them: "
            f"adata = adata[adata.obs[{groupby!r}].notna()].copy()"
        )
    return labels


def name_groups(backgrounds: Any) -> dict[str | None, list[Any]]:
    """Values of each background by name."""
    if isinstance(backgrounds, Mapping):
        entries = [(str(name), list_values(f"background {name!r}", value)) for name, value in backgrounds.items()]
    else:
        lists = [
            list_values("backgrounds", entry) for entry in (backgrounds if _several(backgrounds) else [backgrounds])
        ]
        entries = [("+".join(map(str, values)), values) for values in lists]
    if not entries:
        raise ValueError("backgrounds is empty: name at least one group of cells")
    names = [name for name, _ in entries]
    if len(set(names)) < len(names):
        raise ValueError(f"background names must differ as text, got {names}")
    return dict(entries)


def list_values(what: str, value: Any) -> list[Any]:
    """One value or several as a list that is not empty."""
    values = list(value) if _several(value) else [value]
    if not values or any(v is None or not isinstance(v, Hashable) for v in values):
        raise ValueError(f"{what} must be a value of adata.obs[groupby] or a list of them; got {value!r}")
    return list(dict.fromkeys(values))


def _several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def check_adata(adata: Any, copy: bool = False) -> None:
    """Raise unless it is an AnnData object, of which a copy can be made if that is asked."""
    if not isinstance(adata, scverse_package("anndata").AnnData):
        raise TypeError(f"adata must be an AnnData object; got {type(adata).__name__}")
    if copy and adata.isbacked:
        raise ValueError("copy=True needs the data in memory: pass adata.to_memory(), or leave copy=False")


def check_groups(groups: Mapping[str | None, Sequence[Any]], labels: Any, groupby: str) -> None:
    """Raise unless every group has cells, and none is both target and background."""
    known = set(labels.unique())
    for name, values in groups.items():
        what = "target" if name is None else f"background {name!r}"
        for value in values:
            if value not in known:
                raise ValueError(f"{what}: no cell has {value!r} in adata.obs[{groupby!r}]{hint(value, known)}")
            if name is not None and value in groups[None]:
                raise ValueError(
                    f"{what} and the target share the group {value!r}: cells of the target cannot be its background"
                )


def hint(name: Any, known: Iterable[Any]) -> str:
    """Close matches, else what there is."""
    by_text = {str(value): value for value in known}
    close = get_close_matches(str(name), by_text, n=3)
    if close:
        return f"; did you mean {' or '.join(repr(by_text[text]) for text in close)}?"
    names = [repr(by_text[text]) for text in sorted(by_text)]
    return f"; there is {listed(names, LISTED) or 'none'}"


# --- the matrix ---------------------------------------------------------------------------------------------------------


def columns_of(adata: Any, mask_var: Any) -> Array | None:
    """Positions of the genes to use; None for all."""
    if mask_var is None:
        return None
    if isinstance(mask_var, str):
        if mask_var not in adata.var.columns:
            raise ValueError(f"mask_var={mask_var!r} is not a column of adata.var{hint(mask_var, adata.var.columns)}")
        mask = adata.var[mask_var].to_numpy()
    else:
        mask = np.asarray(mask_var)
    if mask.dtype != bool:
        raise TypeError(f"mask_var must be boolean; got values of type {mask.dtype}")
    if mask.shape != (adata.n_vars,):
        raise ValueError(f"mask_var has shape {mask.shape}, but adata has {adata.n_vars} variables")
    if not mask.any():
        raise ValueError("mask_var selects no variable")
    return np.flatnonzero(mask)


def matrix_of(adata: Any, layer: str | None) -> Any:
    """X or a layer: a numpy array, CSR, CSC, or a dask array."""
    if layer is not None and layer not in adata.layers:
        raise ValueError(f"layer={layer!r} is not in adata.layers{hint(layer, adata.layers)}")
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise ValueError("adata.X is empty (None): name the layer to use, as layer=")
    return as_matrix(matrix)


def as_matrix(matrix: Any) -> Any:
    """An entry of an AnnData object as a numpy array, CSR, CSC, or a dask array."""
    if isinstance(matrix, np.ndarray):
        return matrix if isinstance(matrix, np.ma.MaskedArray) else np.asarray(matrix)
    if sparse.issparse(matrix):  # views of AnnData objects have types of their own, which the kernels need not know
        return sparse.csc_matrix(matrix) if matrix.format == "csc" else sparse.csr_matrix(matrix)
    if hasattr(matrix, "dask"):
        return matrix if is_dask(matrix) else matrix.map_blocks(lambda block: block, meta=matrix._meta)
    return _lazy(matrix)


def _lazy(stored: Any) -> Any:
    """A dask array that reads a dataset of a file in blocks."""
    n, p = stored.shape
    form = getattr(stored, "format", None)
    n_values = stored.group["data"].shape[0] if form else n * p
    per_line = max(1, (12 if form else stored.dtype.itemsize) * n_values // max(p if form == "csc" else n, 1))
    step = max(1, BLOCK_BYTES // per_line)
    kind = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}
    return scverse_package("dask.array").from_array(
        stored,
        chunks=(n, min(step, p)) if form == "csc" else (min(step, n), p),
        asarray=False,
        name=False,
        meta=kind[form]((0, 0), dtype=stored.dtype) if form else np.empty((0, 0), dtype=stored.dtype),
    )


def take(matrix: Any, rows: Array, columns: Array | None) -> Any:
    """Some cells and genes, in the format of the matrix."""
    if isinstance(matrix, np.ndarray):
        return matrix[rows] if columns is None else matrix[np.ix_(rows, columns)]
    return matrix[rows] if columns is None else matrix[rows][:, columns]
