"""Tables that are larger than memory: ``uca fit`` on parquet, h5ad and zarr files, a few rows at a time.

Promises: the model is that of all rows (means and covariances are merged block by block, as in ``partial_fit``), and
``scores.csv`` has all of them. A random sample of rows is kept for the figure. Where an option needs all rows at once, files
are read whole, as others are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._types import Array
from ..estimators.base import component_names
from ..estimators.bounded import BoundedTransformer
from ..io import Table, match_features
from ..io.larger import RowFile, names_in, open_rows, too_large
from ..io.lines import lines
from ..io.missing import complaint, not_finite
from ..operators.statistics.moments import Moments
from .inputs import Request, Study, named_files, notes_of, own_background
from .labels import with_labels
from .options import Model
from .program import usage_error
from .results import safe_csv
from .safe import as_cell

SAMPLE = 20_000  # rows of a table that are drawn


@dataclass(frozen=True)
class Streamed(Study):
    """A study of which only a sample of rows is held; ``moments`` are those of all rows, target first."""

    file: RowFile
    moments: tuple[Moments, ...]

    @property
    def sources(self) -> dict[str, Any]:
        """Files and their rows, for JSON."""
        target, *others = (
            {"source": table.source, "rows": found.n} for table, found in zip(self.tables, self.moments, strict=True)
        )
        return {"target": target, "background_sources": dict(zip(self.backgrounds, others, strict=True))}

    def fit(self, model: BoundedTransformer) -> None:
        """Fit a model to all rows."""
        target, *others = self.moments
        backgrounds: dict[str, Any] = dict(zip(self.backgrounds, others, strict=True))
        model.partial_fit(target, backgrounds=backgrounds)
        model.components_  # noqa: B018  (the problem is solved here)

    def scores(self, model: BoundedTransformer) -> Iterator[str]:
        """Text of the scores of all rows, in pieces."""
        features = self.target.features or ()
        label = [] if self.label_name is None else [self.label_name]
        yield safe_csv(["id", *label, *component_names(model)], ())
        done, wanted = 0, dict.fromkeys([*([] if self.file.id is None else [self.file.id]), *label])
        for values, texts in self.file.blocks(features, wanted):
            numbers = [str(i + 1) for i in range(done, done + len(values))]
            left = [numbers if self.file.id is None else texts[self.file.id], *(texts[name] for name in label)]
            yield from lines(
                [list(map(as_cell, column)) for column in left], np.asarray(model.transform(_framed(values, features)))
            )
            done += len(values)

    @property
    def sampled(self) -> str:
        """What is said of the figure and the page."""
        return (
            f"scores.png shows a random sample of at most {SAMPLE:,} rows of each table, and report.html was not written: "
            "the tables were read a few rows at a time"
        )


def is_streamed(request: Request, how: Model, *, test: bool) -> bool:
    """Whether tables are too large to be read at once, and nothing that is asked for needs that."""
    tables, columns = request.tables, request.columns
    needs_rows = test or how.sparse is not None or how.on_new_rows or request.groups is not None
    if needs_rows or tables.by is not None or columns.transpose or columns.missing != "error":
        return False
    if request.labels is not None and Path(request.labels).exists():
        return False
    return too_large([tables.table, *named_files(tables.background).values()])


def read_streamed(request: Request) -> Streamed:
    """Read all rows once: moments, a sample, and what is missing."""
    files = {"target": request.tables.table, **named_files(request.tables.background)}
    batches = [_open(path, request, labels=i == 0) for i, path in enumerate(files.values())]
    features = batches[0].head.features or ()
    heads = [match_features(part.head, batches[0].head) for part in batches]
    read = [_read(part, features, texts=i == 0) for i, part in enumerate(batches)]
    _check_complete(list(files), batches, features, read)
    tables = [
        Table(head.source, part.rows, features, None, part.texts, head.notes)
        for head, part in zip(heads, read, strict=True)
    ]
    target, *others = tables
    target, label = with_labels(target, request.labels, request.columns, find=request.find_labels, groups=None)
    names, moments = list(files)[1:], tuple(part.moments for part in read)
    own = [
        own_background(target, table, key)
        for key, table, found in zip(names, others, moments[1:], strict=True)
        if _same(moments[0], found)
    ]
    labels = None if label is None else target.columns[label]
    notes = tuple(dict.fromkeys([*own, *notes_of([target, *others])]))
    return Streamed(target, dict(zip(names, others, strict=True)), labels, label, notes, batches[0], moments)


def _open(path: Path, request: Request, *, labels: bool) -> RowFile:
    columns = request.columns
    names = names_in(path)
    if labels and request.labels is not None and request.labels not in names:
        raise usage_error(f"--labels {request.labels}: {path} has no such column, and there is no such file")
    for name in (*columns.drop, *([columns.id] if columns.id not in (None, "none") else [])):
        if labels and name not in names:
            raise usage_error(f"{path} has no column {name!r}")
    aside = [name for name in (request.labels,) if name in names]
    drop = [name for name in columns.drop if name in names]
    return open_rows(
        path, id=columns.id if columns.id == "none" or columns.id in names else None, aside=aside, drop=drop
    )


@dataclass
class _Read:
    """What one pass over a file leaves."""

    moments: Moments
    rows: Array
    texts: dict[str, Array]
    missing: Array
    infinite: int


def _read(part: RowFile, features: tuple[str, ...], *, texts: bool) -> _Read:
    wanted = list(part.head.columns) if texts else []
    chosen = np.sort(np.random.default_rng(0).choice(part.n_rows, min(SAMPLE, part.n_rows), replace=False))
    moments, missing, infinite, done = Moments.empty(len(features)), np.zeros(len(features), dtype=int), 0, 0
    rows: list[Array] = []
    columns: dict[str, list[Array]] = {name: [] for name in wanted}
    for values, words in part.blocks(features, wanted):
        if np.isfinite(values).all():
            moments.merge(Moments.of_checked(values, part.head.source))
        else:
            missing += np.isnan(values).sum(axis=0)
            infinite += int(np.isinf(values).sum())
        here = chosen[(chosen >= done) & (chosen < done + len(values))] - done
        rows.append(values[here])
        for name in wanted:
            columns[name].append(words[name][here])
        done += len(values)
    moments.columns = list(features)
    kept = {name: np.concatenate(parts) for name, parts in columns.items()}
    return _Read(moments, np.concatenate(rows), kept, missing, infinite)


def _check_complete(names: list[str], batches: list[RowFile], features: tuple[str, ...], read: list[_Read]) -> None:
    """Refuse infinite and missing values, as for other files."""
    tables, counts = {}, {}
    for i, (name, part, found) in enumerate(zip(names, batches, read, strict=True)):
        shown = np.broadcast_to(0.0, (part.n_rows, len(features)))  # of the right shape, and no size
        key = name if i == 0 else f"background {name}"
        tables[key], counts[key] = Table(part.head.source, shown, features), found.missing
        if found.infinite:
            raise not_finite(tables[key], found.infinite)
    if any(count.any() for count in counts.values()):
        raise complaint(tables, counts)


def _same(one: Moments, other: Moments) -> bool:
    return one.n == other.n and np.array_equal(one.mean, other.mean) and np.array_equal(one.scatter, other.scatter)


def _framed(values: Array, features: tuple[str, ...]) -> Any:
    import pandas

    return pandas.DataFrame(values, columns=list(features), copy=False)
