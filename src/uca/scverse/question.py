"""What is asked of an AnnData object: which cells are the target, which the backgrounds, on which features.

Promises: one object leads every function of this package from ``adata`` to rows, so that a test is made on the cells and
genes of the fit. Rows of the groups are copied for data in memory, once, in the format they have; a backed file or a dask
array stays where it is until :meth:`Question.in_memory` asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._anndata import (
    as_matrix,
    check_groups,
    columns_of,
    hint,
    labels_of,
    list_values,
    matrix_of,
    name_groups,
    scverse_package,
    take,
)
from .._containers import is_dask
from .._types import Array
from .parameters import Mask


@dataclass(frozen=True, eq=False)
class Question:
    """Groups of cells and the matrix that they are compared on.

    Attributes
    ----------
    groupby : str
    groups : dict of name -> list of values
        Values of ``adata.obs[groupby]``; the target's name is None.
    labels : Series
        ``adata.obs[groupby]``.
    matrix : array, CSR or CSC matrix, or dask array
        All cells.
    columns : array of int, or None
        Genes to use; None for all columns.
    features : array of str
        Names of the columns in use.
    layer, use_rep : str or None
    mask_var : str or None
        Column of ``adata.var``; "given" for a mask.
    """

    groupby: str
    groups: Mapping[str | None, Sequence[Any]]
    labels: Any
    matrix: Any
    columns: Array | None
    features: Array
    layer: str | None
    use_rep: str | None
    mask_var: str | None

    def rows(self) -> dict[str | None, Array]:
        """Positions of the cells of each dataset, target first."""
        return {name: np.flatnonzero(self.labels.isin(values)) for name, values in self.groups.items()}

    def parts(self) -> tuple[Any, dict[str, Any]]:
        """Rows of the target, and of each background by name."""
        found = {name: take(self.matrix, which, self.columns) for name, which in self.rows().items()}
        return found.pop(None), {str(name): part for name, part in found.items()}

    def in_memory(self) -> tuple[Any, dict[str, Any]]:
        """The same in memory; sparse stays sparse."""
        target, backgrounds = self.parts()
        return computed(target), {name: computed(part) for name, part in backgrounds.items()}

    def labels_by_part(self, adata: Any, column: str, what: str) -> list[Array]:
        """Values of a column of ``obs`` for the cells of each dataset, target first; none may be missing."""
        return values_of(adata, column, what, list(self.rows().values()))

    def table(self) -> Any:
        """The groups behind each dataset, with their numbers of cells."""
        records = [
            (
                "target" if name is None else "background",
                name or "target",
                str(value),
                int((self.labels == value).sum()),
            )
            for name, values in self.groups.items()
            for value in values
        ]
        frame = scverse_package("pandas").DataFrame(records, columns=["role", "name", "group", "n_cells"])
        return frame.set_axis(frame.index.astype(str), axis=0)


def ask(
    adata: Any,
    *,
    groupby: str,
    target: Any,
    backgrounds: Any,
    layer: str | None = None,
    mask_var: Any = Mask.DEFAULT,
    use_rep: str | None = None,
) -> Question:
    """Check what the user asks."""
    labels = labels_of(adata, groupby)
    groups = {None: list_values("target", target), **name_groups(backgrounds)}
    check_groups(groups, labels, groupby)
    found = features_of(adata, layer, mask_var, use_rep)
    return Question(
        groupby, groups, labels, found.matrix, found.columns, found.names, layer, found.use_rep, found.mask_var
    )


@dataclass(frozen=True, eq=False)
class Features:
    """The matrix of all cells and which of its columns are used; fields as those of :class:`Question`."""

    matrix: Any
    columns: Array | None
    names: Array
    use_rep: str | None
    mask_var: str | None


def features_of(adata: Any, layer: str | None, mask_var: Any, use_rep: str | None) -> Features:
    """Genes of X or a layer, or the columns of an entry of ``obsm``."""
    use_rep = None if use_rep == "X" else use_rep
    if use_rep is not None:
        for name, value, nothing in (("layer", layer, None), ("mask_var", mask_var, Mask.DEFAULT)):
            if value is not None and value is not nothing:
                raise ValueError(f"use_rep={use_rep!r} takes adata.obsm in place of genes: leave {name} out")
        matrix, names = _representation(adata, use_rep)
        return Features(matrix, None, names, use_rep, None)
    if mask_var is Mask.DEFAULT:
        mask_var = "highly_variable" if "highly_variable" in adata.var.columns else None
    columns = columns_of(adata, mask_var)
    names = adata.var_names.astype(str).to_numpy(dtype=object)
    return Features(
        matrix_of(adata, layer),
        columns,
        names if columns is None else names[columns],
        None,
        mask_var if mask_var is None or isinstance(mask_var, str) else "given",
    )


def _representation(adata: Any, use_rep: str) -> tuple[Any, Array]:
    """A matrix of ``obsm``, and what its columns are called."""
    if use_rep not in adata.obsm:
        raise ValueError(f"use_rep={use_rep!r} is not in adata.obsm{hint(use_rep, adata.obsm)}")
    found = adata.obsm[use_rep]
    called = getattr(found, "columns", None)
    matrix = as_matrix(found if called is None else found.to_numpy())
    names = [f"{use_rep.removeprefix('X_')}{i + 1}" for i in range(matrix.shape[1])] if called is None else called
    return matrix, np.array([str(name) for name in names], dtype=object)


def values_of(adata: Any, column: str, what: str, parts: Sequence[Array]) -> list[Array]:
    """Values of a column of ``obs`` as text, for each of several sets of cells; none may be missing."""
    if column not in adata.obs.columns:
        raise ValueError(f"{what}={column!r} is not a column of adata.obs{hint(column, adata.obs.columns)}")
    found = [adata.obs[column].iloc[cells] for cells in parts]
    missing = sum(int(part.isna().sum()) for part in found)
    if missing:
        raise ValueError(f"{missing} cells of these groups have no value in adata.obs[{column!r}]: give them one")
    return [part.astype(str).to_numpy() for part in found]


def computed(part: Any) -> Any:
    """Rows in memory."""
    return part.compute() if is_dask(part) else part
