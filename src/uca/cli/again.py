"""The tables of an earlier fit, read again as they were: what ``uca fit`` notes in its summary, and what is made of it."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._guard import guarded
from ..estimators.base import ContrastiveTransformer, component_names
from ..io import locate
from .inputs import Request, Study, named_files, read_study
from .options import Columns, Missing, Tables
from .program import usage_error
from .reading import stem
from .safe import encodable
from .transform import like_table

SAME = 1e-6  # of the largest score: the same numbers may be added in another order


def noted(request: Request, out: Path) -> dict[str, Any]:
    """How tables were read, for JSON; files are relative to the folder that the program ran in, and that to ``out``."""
    try:
        folder = os.path.relpath(Path.cwd(), out.resolve())
    except ValueError:  # on another drive
        folder = str(Path.cwd())
    tables = {**asdict(request.tables), "table": str(request.tables.table)}
    options = {"labels": request.labels, "groups": request.groups}
    return {"folder": folder, "tables": tables, "columns": asdict(request.columns), **options}


def read_again(result: Path, model: ContrastiveTransformer) -> Study:
    """The tables that a result was made from; an error where they are gone or have changed."""
    path = result / "summary.json"
    with guarded(path, "a summary of uca fit"):
        summary = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        request = _request(summary["read"], result) if "read" in summary else None
    if request is None:
        raise usage_error(f"{result} does not say which tables it was made from; give a folder that uca fit wrote")
    for file in [request.tables.table, *_files(request)]:
        if not locate(file).path.exists():
            raise ValueError(
                f"{file}, from which {result} was made, is not there: put it back, or run uca fit again. Without it, "
                "only loadings and variance can be drawn"
            )
    study = read_study(request)
    _check_same(result, model, study)
    return study


def _request(read: dict[str, Any], result: Path) -> Request:
    folder = result.resolve() / read["folder"]
    tables = Tables(**{**read["tables"], "table": _place(folder, read["tables"]["table"])})
    if tables.by is None:
        files = named_files(tables.background, folder)
        tables = replace(tables, background=[_typed(name, _place(folder, file)) for name, file in files.items()])
    known = {field.name for field in fields(Columns)}
    columns = Columns(**{key: value for key, value in read["columns"].items() if key in known})
    columns = replace(columns, missing=Missing(columns.missing))
    labels = read["labels"]
    if labels is not None and locate(_place(folder, labels)).path.is_file():
        labels = str(_place(folder, labels))
    return Request(tables, columns, labels=labels, groups=read["groups"])


def _typed(name: str, place: Path) -> str:
    """A background as it is typed; a name that it has from its file may hold a sign that would divide it."""
    return str(place) if name == encodable(stem(place)) else f"{name}={place}"


def _place(folder: Path, file: str | Path) -> Path:
    """A file that was named from a folder, as it is named from here."""
    return Path(os.path.relpath(folder / file))


def _files(request: Request) -> list[Path]:
    return [] if request.tables.by is not None else list(named_files(request.tables.background).values())


def _check_same(result: Path, model: ContrastiveTransformer, study: Study) -> None:
    """Refuse a target whose scores are not those of the result."""
    path = result / "scores.csv"
    with guarded(path, "scores of uca fit"), path.open(newline="", encoding="utf-8") as stream:
        then = np.array([[float(row[name]) for name in component_names(model)] for row in csv.DictReader(stream)])
    same = like_table(study.target, model)
    now = np.asarray(same.transform(study.target.data())) if len(then) == len(study.target) else np.empty((0, 0))
    if then.shape != now.shape or np.abs(then - now).max() > SAME * np.abs(then).max():
        raise ValueError(f"{study.target.source} has changed since {result} was made from it: run uca fit again")
