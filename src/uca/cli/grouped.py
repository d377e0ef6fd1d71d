"""One table and the column that tells its groups apart, read for ``uca each``.

Every group is completed by itself where values are missing, as ``uca fit --by`` does it, and then all are stacked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from .._readable import listed
from .._types import Array
from ..io import Hint, Raw, Table, closest, handle_missing, set_empty_aside, split, turn
from .inputs import check_named, entries_of, notes_of
from .options import Columns
from .program import usage_error
from .reading import read_one


@dataclass(frozen=True)
class Grouped:
    """Rows of all groups with the same features, the group of each and, where they are told, its subject."""

    table: Table
    groups: Array
    subjects: Array | None
    notes: tuple[str, ...]


def read_grouped(path: Path, by: str, columns: Columns, subjects: str | None) -> Grouped:
    """Read a table, part it by a column, and complete each part."""
    _check_options(by, columns, subjects)
    raw = read_one(path, columns)
    raw = turn(raw) if columns.transpose else raw
    given = {"by": by, **({"subjects": subjects} if subjects else {})}
    for option, name in given.items():
        _check_column(option, name, raw)
    check_named(columns.drop, [raw])
    table = split(raw, id=columns.id, aside=dict.fromkeys(given.values()), drop=columns.drop)
    for option, name in given.items():
        entries_of(table, name, f"--{option}")
    parts, left = _parts(table, table.columns[by], by)
    parts = handle_missing(set_empty_aside(parts), columns.missing)
    whole = _stacked(parts)
    return Grouped(
        table=whole,
        groups=whole.columns[by],
        subjects=whole.columns[subjects] if subjects else None,
        notes=tuple(dict.fromkeys([*left, *notes_of(list(parts.values()))])),
    )


def _check_options(by: str, columns: Columns, subjects: str | None) -> None:
    for option, name in (("--by", by), ("--subjects", subjects)):
        if name is not None and name in (columns.id, *columns.drop):
            raise usage_error(f"{option} {name}: --id or --drop names that column too; name another")
    if by == subjects:
        raise usage_error(f"--subjects {by}: --by names that column too; name the column of subjects")


def _check_column(option: str, name: str, raw: Raw) -> None:
    """A column that an option names must be there; one that is called much the same is told, with what to type."""
    near = None if name in raw.names else closest(name, raw.names)
    if near is None:
        check_named([name], [raw])
        return
    raise usage_error(
        f"--{option} {name}: {raw.source} has no such column; did you mean {near!r}?", (Hint(option, (near,)),)
    )


def _parts(table: Table, groups: Array, by: str) -> tuple[dict[str, Table], list[str]]:
    """The rows of each group by its name, and what to say of groups of one row, which are left out."""
    n_rows = Counter(sorted(groups.tolist()))
    single = [repr(value) for value, n in n_rows.items() if n < 2]
    kept = [value for value, n in n_rows.items() if n >= 2]
    if len(kept) < 2:
        known = listed([f"{value!r} ({n})" for value, n in n_rows.items()], 6)
        raise ValueError(
            f"column {by!r} has {len(kept)} group{'' if len(kept) == 1 else 's'} with two rows or more, at least two are "
            f"needed; its values, with their rows: {known}. Name the column of groups with --by"
        )
    left = [f"left out of {by!r}, with one row each: {listed(single)}"] if single else []
    notes = {kept[0]: table.notes}  # which are those of the whole table: said once
    return {
        f"group {value!r}": replace(table.rows(np.flatnonzero(groups == value)), notes=notes.get(value, ()))
        for value in kept
    }, left


def _stacked(parts: Mapping[str, Table]) -> Table:
    tables = list(parts.values())
    values = [table.values for table in tables]
    first = tables[0]
    return replace(
        first,
        values=sparse.vstack(values, format="csr") if first.is_sparse else np.vstack(values),
        ids=None,
        columns={name: np.concatenate([table.columns[name] for table in tables]) for name in first.columns},
    )
