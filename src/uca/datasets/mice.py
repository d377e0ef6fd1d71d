"""Mouse protein expression in the cortex: 72 mice x 15 measurements, 77 proteins.

Higuera, Gardiner & Cios (2015), PLoS ONE 10(6): e0129126; UCI Machine Learning Repository 342, CC BY 4.0. Classes are
``c|t`` (control, trisomic) - ``CS|SC`` (stimulated to learn, not) - ``s|m`` (saline, memantine).
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._files import write_file
from .._types import Array
from .files import find

NAME = "mice_protein.csv"
HOME = "https://archive.ics.uci.edu/static/public/342/data.csv"
HOW = (
    "Get it from the UCI Machine Learning Repository (dataset 342) or OpenML (MiceProtein) as CSV, and pass its path or put "
    f"it as {NAME} into a folder named by UCA_DATA."
)
# SHA-256 of the 1080 x 77 values, rounded to 6 digits after the point and with NaN as 'nan', row by row.
CONTENT = "0814baa146cb6a9effe9e1be5cc8118bd469366e8ca40db8350346ead403f16b"
N_ROWS, N_PROTEINS = 1080, 77


@dataclass(frozen=True)
class MouseProteins:
    """The data set after the paper's preparation.

    Attributes
    ----------
    values : array of shape (1080, 76)
        Expression levels; missing values are 0, and one of two identical columns is dropped.
    proteins : tuple of str
    classes : array of shape (1080,)
        Such as ``"c-CS-s"``.
    mouse : array of shape (1080,)
        Id of the mouse a row was measured on: 15 rows share one, and are not independent.
    """

    values: Array
    proteins: tuple[str, ...]
    classes: Array
    mouse: Array

    def rows(self, *classes: str) -> Array:
        """The values of some classes, stacked in the order of the file."""
        unknown = set(classes) - set(np.unique(self.classes))
        if unknown:
            raise ValueError(f"unknown class {sorted(unknown)}; there are {sorted(set(self.classes.tolist()))}")
        return self.values[np.isin(self.classes, classes)]

    def labels(self, *classes: str) -> tuple[Array, Array]:
        """Genotype (``"control"`` or ``"trisomic"``) and mouse of the same rows."""
        chosen = np.isin(self.classes, classes)
        genotype = np.array(["control" if name.startswith("c") else "trisomic" for name in self.classes[chosen]])
        return genotype, self.mouse[chosen]


def load_mice(path: str | os.PathLike[str] | None = None) -> MouseProteins:
    """Load the mouse proteins, prepared as in the paper.

    Parameters
    ----------
    path : path, optional
        The CSV file or its folder. Without it: the folder in ``UCA_DATA``, then the cache, then a download from UCI.
    """
    file = find(NAME, path, how=HOW, download=_download)
    return _prepare(*_read(file.read_bytes(), file))


def _read(content: bytes, file: Path) -> tuple[list[str], Array, Array, Array]:
    """Protein names, values with NaN, mouse ids and classes; refuses other content, and names the file it is from."""
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    columns = {name: i for i, name in enumerate(header)}
    proteins = [name for name in header if name.endswith("_N")]
    if len(rows) != N_ROWS or len(proteins) != N_PROTEINS or not {"MouseID", "class"} <= set(columns):
        raise ValueError(
            f"{file} is not the mouse protein table: {len(rows)} rows and {len(proteins)} proteins, expected {N_ROWS} and "
            f"{N_PROTEINS}, with columns MouseID and class. {HOW}"
        )
    values = np.array([[_number(row[columns[name]]) for name in proteins] for row in rows])
    if content_hash(values) != CONTENT:
        raise ValueError(f"the values in {file} are not those of the published table (checksum differs). {HOW}")
    mouse = np.array([row[columns["MouseID"]].split("_")[0] for row in rows])
    return proteins, values, mouse, np.array([row[columns["class"]] for row in rows])


def _number(cell: str) -> float:
    return float(cell) if cell not in ("", "?", "nan", "NaN") else np.nan


def content_hash(values: Array) -> str:
    """Checksum of the values, whatever the format of the file they came in."""
    text = io.StringIO()
    np.savetxt(text, values, fmt="%.6f")
    return hashlib.sha256(text.getvalue().encode()).hexdigest()


def _prepare(proteins: list[str], values: Array, mouse: Array, classes: Array) -> MouseProteins:
    filled = np.nan_to_num(values, nan=0.0)
    distinct = np.sort(np.unique(filled, axis=1, return_index=True)[1])
    return MouseProteins(filled[:, distinct], tuple(proteins[i] for i in distinct), classes, mouse)


def _download(target: Path) -> None:
    """Fetch the table from its public home; it is kept only if its content is right."""
    with urllib.request.urlopen(HOME, timeout=30) as response:
        content = response.read()
    try:
        _read(content, target)
    except ValueError as error:
        raise OSError(str(error)) from error
    write_file(target, content)
