"""A table that is ready to be analysed, and several tables that have the same features.

Promises: ``values`` is a matrix of numbers (dense, or CSR), ``features`` names its columns where the file did, ids and the
columns set aside have one entry a row, and whatever was decided on the way is in ``notes``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._labels import as_text
from .._readable import some
from .._types import Array
from .advice import Advice, Hint, TableError
from .arrays import check_mapped
from .cells import NotNumbers
from .codes import code_notes
from .columns import are_numbers, describe, examine, find_id
from .formats import Raw
from .names import closest
from .readers import read_raw
from .turning import no_numbers, turn

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
FEW_NAMES = 3  # that may be typed one by one


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
    spoiled : dict of name -> NotNumbers
        Columns set aside that are almost numbers, with the values that are not.
    """

    source: str
    values: Any
    features: tuple[str, ...] | None = None
    ids: Array | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    spoiled: Mapping[str, NotNumbers] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the values are a sparse matrix."""
        return bool(sparse.issparse(self.values))

    def data(self) -> Any:
        """What a model is fitted on: a pandas table where features have names, else the values."""
        check_mapped(self.values)
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
    decimal: str | None = None,
    thousands: str | None = None,
    transpose: bool = False,
) -> Table:
    r"""Read a table from a file; the format is recognised by the end of its name.

    Parameters
    ----------
    path : path
        csv or tsv (also .gz), xlsx or ods, parquet, feather or arrow, npy, npz (dense or sparse), mtx, h5ad, zarr. One
        sheet of a spreadsheet is ``"study.xlsx:Controls"``.
    id : str, optional
        The column that identifies rows. It is looked for if not given; "none" takes no column.
    aside : collection of str
        Columns that are not features though they may hold numbers: labels, groups.
    drop : collection of str
        Columns to forget.
    na : sequence of str
        Words in text and spreadsheets that stand for missing values, besides the usual ones.
    header : bool, default=True
        Whether text and spreadsheets begin with names.
    decimal, thousands : str, optional
        The decimal mark and the mark between thousands in numbers that are text. The decimal mark is recognised in most
        files.
    transpose : bool, default=False
        Whether features are the rows of the file, their names in its first column.

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
    raw = read_raw(path, na=na, header=header, decimal=decimal, thousands=thousands)
    return split(turn(raw) if transpose else raw, id=id, aside=aside, drop=drop)


def split(raw: Raw, *, id: str | None = None, aside: Collection[str] = (), drop: Collection[str] = ()) -> Table:
    """Tell features from ids and from columns to be set aside; a column that is named must be there."""
    for name in (*([] if id in (None, "none") else [str(id)]), *aside, *drop):
        if name not in raw.names and name not in (raw.features or ()):
            near = closest(name, raw.names)
            hint = f"did you mean {near!r}?" if near else f"it has {some(raw.names) if raw.names else 'no columns'}"
            raise ValueError(f"{raw.source} has no column {name!r}: {hint}")
    drop = [name for name in drop if name != id and name not in aside]  # what is set aside is no feature already
    return _split_matrix(raw, id, drop) if raw.frame is None else _split_frame(raw, id, aside, drop)


def _split_matrix(raw: Raw, id: str | None, drop: Collection[str]) -> Table:
    columns = {name: as_text(column) for name, column in raw.columns.items() if name not in drop}
    ids = raw.ids if id is None else columns.pop(id) if id in columns else None
    table = Table(raw.source, raw.values, raw.features, ids, columns, raw.notes)
    kept = [i for i, name in enumerate(raw.features or ()) if name not in drop]
    table = table if raw.features is None else table.take(kept)
    check_features(table)
    return _checked(table)


def check_features(table: Table) -> None:
    """Refuse a table in which two features have one name: which is which in another table, nobody can tell."""
    repeated = [name for name, count in Counter(table.features or ()).items() if count > 1]
    if not repeated:
        return
    drop = (Hint("drop", (repeated,)),) if len(repeated) <= FEW_NAMES else ()
    make = " (of AnnData by adata.var_names_make_unique())" if table.source.lower().endswith((".h5ad", ".zarr")) else ""
    raise TableError(
        f"{table.source} has {some(repeated)} more than once, and features are told apart by their names: give each a "
        f"name of its own{make}, or leave them out",
        *((" with ", *drop) if drop else ()),
        remedy=drop,
    )


def _split_frame(raw: Raw, id: str | None, aside: Collection[str], drop: Collection[str]) -> Table:
    frame = raw.frame.copy(deep=False)  # numbers are many: they are copied once, where the columns are told apart
    frame.columns = frame.columns.map(str)
    frame = frame.drop(columns=list(drop)) if drop else frame
    frame, ids, notes = _take_ids(frame, id, aside)
    numbers = _are_features(frame, set(aside))
    features = tuple(frame.columns[numbers])
    others = list(frame.columns[~numbers])
    lines = raw.lines or range(1, len(frame) + 1)
    rest = [name for name in others if name not in aside]
    spoiled, plain = examine(frame, rest, lines, raw.line_word, raw.decimal)
    block = frame if numbers.all() else frame.loc[:, numbers]
    values = block.to_numpy(dtype=_dtype(block), na_value=np.nan)
    notes = [*raw.notes, *notes, *describe(spoiled, plain), *code_notes(values, features)]
    columns = {name: as_text(frame[name]) for name in others}
    return _checked(Table(raw.source, values, features, ids, columns, tuple(notes), spoiled))


def _take_ids(frame: Any, id: str | None, aside: Collection[str]) -> tuple[Any, Array | None, list[str]]:
    """The table without its column of ids, the ids, and where they were found."""
    if id is None and type(frame.index).__name__ != "RangeIndex":
        named = f" ({frame.index.name})" if frame.index.name else ""
        return frame, as_text(frame.index), [f"ids are the first column{named}"]
    if id == "none":
        return frame, None, []
    found = id or find_id(frame.drop(columns=list(aside)) if aside else frame)
    if found is None:
        return frame, None, []
    return frame.drop(columns=found), as_text(frame[found]), [id_note(found)] if id is None else []


def id_note(found: str) -> Advice:
    """Where ids were found, and how to say otherwise."""
    return Advice(f"ids are in column {found!r} (", Hint("id"), " names another; ", Hint("id", ("none",)), ": no ids)")


def _are_features(frame: Any, aside: Collection[str]) -> Array:
    """Columns of numbers, and those without any value, which may hold numbers in another table."""
    numbers = np.array(are_numbers(frame), dtype=bool)
    for i in np.flatnonzero(~numbers):
        column = frame.iloc[:, i]
        numbers[i] = column.dtype.kind == "O" and len(column) > 0 and bool(column.isna().all())
    return numbers & ~frame.columns.isin(list(aside))


def _dtype(frame: Any) -> type:
    single = {str(dtype).lower() for dtype in set(frame.dtypes)} == {"float32"}
    return np.float32 if single else np.float64


def _checked(table: Table) -> Table:
    if len(table) == 0:
        raise ValueError(f"{table.source} has no rows")
    if table.values.shape[1] == 0:
        raise no_numbers(table.source, table.notes, table.spoiled)
    return table


def find_labels(table: Table) -> str | None:
    """The column set aside that has groups of rows: by its name, or because it is the only one."""
    few = [name for name, column in table.columns.items() if 2 <= len(set(column)) <= min(MAX_LABELS, len(table) // 2)]
    named = [name for name in few if name.lower().replace(" ", "_") in LABEL_NAMES]
    if named:
        return min(named, key=lambda name: LABEL_NAMES.index(name.lower().replace(" ", "_")))
    return few[0] if len(few) == 1 else None
