"""``uca transform``: scores of new rows from a model file."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import typer

from .. import persistence
from ..estimators.base import ContrastiveTransformer, component_names
from ..io import (
    Advice,
    Hint,
    Table,
    check_writable,
    handle_missing,
    match_features,
    split,
    turn_where_needed,
    write_table,
)
from .destination import check_file
from .options import Columns, Output
from .program import in_options, say, usage_error, warnings_as_notes
from .progress import Steps
from .reading import read_one
from .results import row_ids, scores_csv
from .safe import as_cell, json_of, printable_lines

ESCAPED = "control characters of ids are shown as what one types for them; -o FILE keeps them"
SPREADSHEETS = (".csv", ".tsv", ".txt", ".xlsx", ".ods")


def transform(*, model_file: Path, data: Path, out: Path | None, columns: Columns, output: Output) -> None:
    """Read a model and a table, and write or print scores."""
    if columns.missing == "drop-columns":
        raise usage_error("--missing drop-columns: the model needs all its columns; choose another")
    if out is not None:
        check_output(out, output.force)
    notes: list[str] = []
    with Steps(silent=output.silent) as steps, warnings_as_notes(notes):
        steps.step(f"reading {data}")
        model = read_model(model_file)
        if columns.missing == "em" and getattr(model, "law_", None) is None:
            raise usage_error(
                f"--missing em: {model_file} was fitted without it; fit with --missing em, or choose another"
            )
        raw, like = read_one(data, columns), _features(model, model_file)
        raw = turn_where_needed([raw], like.features)[0] if columns.transpose else raw
        table = match_features(split(raw, id=columns.id, drop=columns.drop), like, extra=True)
        table = handle_missing({"data": table}, columns.missing, fill=np.asarray(model.mean_))["data"]
        scores = np.asarray(like_table(table, model).transform(table.data()))
    say([*map(in_options, filter(_concerns_scores, table.notes)), *notes], quiet=output.silent)
    names = component_names(model)
    if out is not None:
        out.resolve().parent.mkdir(parents=True, exist_ok=True)
        written: list[str] = []
        with warnings_as_notes(written):
            write_table(out, Table(str(out), scores, tuple(names), _ids(table, out)))
        say(written, quiet=output.silent)
    if output.as_json:
        typer.echo(json_of({"ids": row_ids(table), "components": names, "scores": scores.tolist()}))
    elif out is None:
        text = scores_csv(scores, names, table)
        shown = printable_lines(text)
        say([ESCAPED] if shown != text else [], quiet=output.silent)
        typer.echo(shown, nl=False)


def _ids(table: Table, out: Path) -> Any:
    """Ids for a file: where a spreadsheet may open it, none of them is a formula."""
    opened = any(ending in SPREADSHEETS for ending in out.suffixes)
    return np.array([as_cell(key) for key in row_ids(table)], dtype=object) if opened else table.ids


def _concerns_scores(note: str) -> bool:
    """Whether a note is for people who have a model: which columns are features is decided, so none is to be dropped."""
    parts = note.parts if isinstance(note, Advice) else ()
    return not any(isinstance(part, Hint) and part.parameter == "drop" for part in parts)


def check_output(out: Path, force: bool) -> None:
    """Refuse, before any work, a file that may not be replaced or whose format is not written."""
    try:
        check_writable(out)
    except ValueError as error:
        raise usage_error(f"-o {error}") from None
    check_file(out, force)


def read_model(path: Path) -> Any:
    """A model from its file, or from the folder it is in."""
    path = path / "model.skops" if path.is_dir() else path
    if not path.exists():
        raise usage_error(f"{path} does not exist; give the model.skops that uca fit wrote")
    return persistence.load(path)


def like_table(table: Table, model: ContrastiveTransformer) -> Any:
    """The model as it would be if fitted on such a table: a sparse one, whose columns were matched, carries no names."""
    if not table.is_sparse:
        return model
    nameless = copy(model)
    if hasattr(nameless, "feature_names_in_"):
        del nameless.feature_names_in_
    return nameless


def _features(model: ContrastiveTransformer, path: Path) -> Table:
    """An empty table with the features of the model."""
    names = getattr(model, "feature_names_in_", None)
    return Table(str(path), np.empty((0, model.n_features_in_)), None if names is None else tuple(map(str, names)))
