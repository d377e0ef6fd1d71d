"""A table that is ready to be analysed, and several tables that have the same features.

Promises: ``values`` is a matrix of numbers (dense, or CSR), ``features`` names its columns where the file did, ids and the
columns set aside have one entry a row, and whatever was decided on the way is in ``notes``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy import sparse

from .._labels import as_text
from .._readable import some
from .._types import Array
from .advice import Advice, Hint, TableError
from .columns import describe, find_id, is_number
from .formats import Raw
from .readers import read_raw

LABEL_NAMES = (
    "label",
    "labels",
    "class",
    "group",
    "condition",
    "treatment",
    "celltype",
    "cell_type",
    "type",
    "genotype",
)
MAX_LABELS = 20


@dataclass(frozen=True)
class Table:
    """Rows of numbers, with names where the file has them.

    Attributes
    ----------
    source : str
        The file.
    values : array or CSR matrix of shape (n, p)
    features : tuple of str, or None
    ids : array of shape (n,), or None
    columns : dict of name -> array of shape (n,)
        Columns that are not features, as text.
    notes : tuple of str
        What was found or set aside.
    """

    source: str
    values: Any
    features: tuple[str, ...] | None = None
    ids: Array | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the values are a sparse matrix."""
        return bool(sparse.issparse(self.values))

    def data(self) -> Any:
        """What a model is fitted on: a pandas table where features have names, else the values."""
        if self.features is None or self.is_sparse:
            return self.values
        import pandas

        return pandas.DataFrame(self.values, columns=list(self.features), copy=False)

    def rows(self, which: Array) -> Table:
        """Some of the rows, by position or by a mask."""
        return replace(
            self,
            values=self.values[which],
            ids=None if self.ids is None else self.ids[which],
            columns={name: column[which] for name, column in self.columns.items()},
        )

    def take(self, positions: Sequence[int]) -> Table:
        """Some of the features, by position."""
        names = None if self.features is None else tuple(self.features[i] for i in positions)
        if list(positions) == list(range(self.values.shape[1])):
            return self
        return replace(self, values=self.values[:, np.asarray(positions, dtype=int)], features=names)


def read_table(
    path: Any,
    *,
    id: str | None = None,
    aside: Collection[str] = (),
    drop: Collection[str] = (),
    na: Sequence[str] = (),
    header: bool = True,
) -> Table:
    r"""Read a table from a file; the format is recognised by the end of its name.

    Parameters
    ----------
    path : path
        csv or tsv (also .gz), parquet, feather or arrow, npy, npz (dense or sparse), mtx, h5ad, zarr.
    id : str, optional
        The column that identifies rows. It is looked for if not given; "none" takes no column.
    aside : collection of str
        Columns that are no features though they may hold numbers: labels, groups.
    drop : collection of str
        Columns to forget.
    na : sequence of str
        Words in text files that stand for missing values, besides the usual ones.
    header : bool, default=True
        Whether a text file begins with names.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from uca.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "mice.csv"
    ...     _ = path.write_text("mouse,kind,weight,length\nm1,a,20.5,9\nm2,b,21,8\n")
    ...     table = read_table(path)
    >>> table.features, table.ids.tolist(), table.columns["kind"].tolist()
    (('weight', 'length'), ['m1', 'm2'], ['a', 'b'])
    """
    raw = read_raw(path, na=na, header=header)
    return split(raw, id=id, aside=aside, drop=drop)


def split(raw: Raw, *, id: str | None = None, aside: Collection[str] = (), drop: Collection[str] = ()) -> Table:
    """Tell features from ids and from columns to be set aside; a column that is named must be there."""
    for name in (*([] if id in (None, "none") else [str(id)]), *aside, *drop):
        if name not in raw.names and name not in (raw.features or ()):
            close = get_close_matches(name, raw.names, n=1)
            hint = (
                f"did you mean {close[0]!r}?" if close else f"it has {some(raw.names) if raw.names else 'no columns'}"
            )
            raise ValueError(f"{raw.source} has no column {name!r}: {hint}")
    return _split_matrix(raw, id, drop) if raw.frame is None else _split_frame(raw, id, aside, drop)


def _split_matrix(raw: Raw, id: str | None, drop: Collection[str]) -> Table:
    columns = {name: as_text(column) for name, column in raw.columns.items() if name not in drop}
    ids = raw.ids if id is None else columns.pop(id) if id in columns else None
    table = Table(raw.source, raw.values, raw.features, ids, columns, raw.notes)
    kept = [i for i, name in enumerate(raw.features or ()) if name not in drop]
    return _checked(table if raw.features is None else table.take(kept))


def _split_frame(raw: Raw, id: str | None, aside: Collection[str], drop: Collection[str]) -> Table:
    frame = raw.frame.rename(columns=str).drop(columns=list(drop))
    notes: list[str] = []
    ids = None
    if id is None and type(frame.index).__name__ != "RangeIndex":
        ids = as_text(frame.index)
        notes.append(f"ids are the first column{f' ({frame.index.name})' if frame.index.name else ''}")
    elif id != "none":
        found = id or find_id(frame.drop(columns=list(aside)))
        if found is not None:
            ids = as_text(frame[found])
            frame = frame.drop(columns=found)
            if id is None:
                another, none = Hint("id"), Hint("id", ("none",))
                notes.append(Advice(f"ids are in column {found!r} (", another, " names another; ", none, ": no ids)"))
    features = [name for name in frame.columns if name not in aside and is_number(frame[name])]
    others = [name for name in frame.columns if name not in features]
    notes += describe(frame, features, [name for name in others if name not in aside])
    values = frame[features].to_numpy(dtype=_dtype(frame[features]), na_value=np.nan)
    columns = {name: as_text(frame[name]) for name in others}
    return _checked(Table(raw.source, values, tuple(features), ids, columns, tuple(notes)))


def _dtype(frame: Any) -> type:
    single = len(frame.columns) and all(str(dtype).lower() == "float32" for dtype in frame.dtypes)
    return np.float32 if single else np.float64


def _checked(table: Table) -> Table:
    if len(table) == 0:
        raise ValueError(f"{table.source} has no rows")
    if table.values.shape[1] == 0:
        reason = [part for note in table.notes for part in (" ", note)] or [" it has no columns"]
        raise TableError(f"{table.source} has no column of numbers:", *reason)
    return table


def find_labels(table: Table) -> str | None:
    """The column set aside that tells groups of rows apart: by its name, or because it is the only one."""
    few = [name for name, column in table.columns.items() if 2 <= len(set(column)) <= min(MAX_LABELS, len(table) // 2)]
    named = [name for name in few if name.lower().replace(" ", "_") in LABEL_NAMES]
    if named:
        return min(named, key=lambda name: LABEL_NAMES.index(name.lower().replace(" ", "_")))
    return few[0] if len(few) == 1 else None


def match_features(table: Table, like: Table, *, extra: bool = False) -> Table:
    """The table with the features of another, in its order.

    A feature that is missing, or one too many, is an error that names it; with ``extra``, those too many are left out.
    Without names on both sides, features are matched by position.
    """
    if like.features is None or table.features is None:
        _check_width(table, like)
        return replace(table, features=like.features or table.features)
    if table.features == like.features:
        return table
    place = {name: i for i, name in enumerate(table.features)}
    missing = [name for name in like.features if name not in place]
    unknown = [] if extra else [name for name in table.features if name not in set(like.features)]
    if missing or unknown:
        raise _mismatch(table, like, missing, unknown)
    left = len(table.features) - len(like.features)
    note = (f"{left} columns that the model does not know are left out",) if left else ()
    return replace(table.take([place[name] for name in like.features]), notes=(*table.notes, *note))


def _check_width(table: Table, like: Table) -> None:
    if table.values.shape[1] != like.values.shape[1]:
        raise ValueError(
            f"{table.source} has {table.values.shape[1]} columns of numbers, {like.source} has {like.values.shape[1]}: "
            "all must have the same features in the same order"
        )


def _mismatch(table: Table, like: Table, missing: Sequence[str], unknown: Sequence[str]) -> TableError:
    parts = []
    for names, here, there, verb in ((missing, table, like, "lacks"), (unknown, like, table, "has")):
        text = [name for name in names if name in here.columns]
        if text:
            return TableError(
                f"column {text[0]!r} holds numbers in {there.source} but not in {here.source}: correct the values, name "
                "those that mean missing with ",
                Hint("na"),
                ", or add ",
                Hint("drop", (text[:1],)),
            )
        if names:
            parts.append(f"{verb} {'unknown ' if verb == 'has' else ''}{some(names)}")
    return TableError(
        f"{table.source} {' and '.join(parts)}: it must have the columns of numbers of {like.source}, in any order. "
        "Rename them, or leave columns out with ",
        Hint("drop"),
    )
