"""Lists of names beside a Matrix Market file: ``barcodes.tsv`` of cells, and ``features.tsv`` or ``genes.tsv`` of features.

Promises: names are those of the matrix or of nothing. Lists that fit in neither direction are an error beside
``matrix.mtx``, the name that they come with, and a note beside others, which may have nothing to do with them. An error in a
list names the list. No more of one is read than the matrix has rows or columns.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .._guard import AGAIN, Refusal, guarded
from .advice import TableError
from .encodings import open_bytes

LONGEST = 1 << 16  # characters of a line
CELLS, FEATURES = ("barcodes",), ("features", "genes")


@dataclass(frozen=True)
class Names:
    """Names of rows and columns, where they are known; ``turned`` says whether the matrix has to be."""

    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    turned: bool = False
    notes: tuple[str, ...] = ()


def names_beside(path: Path, shape: tuple[int, int]) -> Names:
    """What the lists beside a matrix of that shape say; features are its rows if both directions fit, as 10x writes it."""
    files = [file for file in (_beside(path, *CELLS), _beside(path, *FEATURES)) if file is not None]
    if not files:
        return Names()
    if len(files) == 1:
        return Names(
            notes=(f"{files[0].name} beside it was not read, since the other list is not there: rows are not named",)
        )
    cells, features = (_read(file, max(shape)) for file in files)
    told = f"rows are the cells of {files[0].name}, features those of {files[1].name}"
    if shape == (len(features), len(cells)):
        return Names(cells, features, True, (f"{told} (the matrix was transposed)",))
    if shape == (len(cells), len(features)):
        return Names(cells, features, False, (told,))
    return _misfit(path, shape, {files[0].name: len(cells), files[1].name: len(features)}, max(shape))


def _beside(path: Path, *names: str) -> Path | None:
    """The first list that is there."""
    places = (path.with_name(name + ending) for name in names for ending in (".tsv", ".tsv.gz"))
    return next((place for place in places if place.is_file()), None)


def _read(place: Path, most: int) -> tuple[str, ...]:
    """First column of a list, and one name at most beyond those that can be meant."""
    names: list[str] = []
    try:
        with guarded(place, "a list of names"):
            for line in _lines(place):
                if line:
                    names.append(line.split("\t")[0])
                if len(names) > most:
                    break
    except ValueError as error:
        raise TableError(str(error)) from error
    return tuple(names)


def _lines(place: Path) -> Iterator[str]:
    with open_bytes(place) as packed, io.TextIOWrapper(packed, encoding="utf-8-sig") as stream:
        while line := stream.readline(LONGEST):
            if len(line) == LONGEST:
                raise Refusal(f"it has a line of {LONGEST:,} characters or more: it is damaged, or no list; {AGAIN}")
            yield line.rstrip("\n")


def _misfit(path: Path, shape: tuple[int, int], lists: dict[str, int], most: int) -> Names:
    counts = " and ".join(
        f"{'more than ' if n > most else ''}{min(n, most):,} names in {name}" for name, n in lists.items()
    )
    told = f"{shape[0]:,} rows and {shape[1]:,} columns do not fit the {counts} beside it"
    if path.name.lower().split(".")[0] == "matrix":
        raise Refusal(
            f"its {told}: they are of another matrix, or one of the three is cut short. Copy them again, or move "
            "the lists to read it without names"
        )
    return Names(notes=(f"{told}, which were not used",))
