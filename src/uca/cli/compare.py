"""``uca compare``: PCA, cPCA, cPCA++ and UCA side by side."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..comparison import BOTH, Compared
from ..comparison import compare as run
from .destination import check_folder, new_folder
from .inputs import Request, Study, read_study
from .options import SCALES, Columns, Output, Scale, Tables
from .program import tell, warnings_as_notes
from .progress import Steps
from .results import json_text, line, print_table, scores_csv

FILES = ("scores.csv", "compare.json")
WHICH = (
    "Each method is shown scaled (every dataset by its own SD) and unscaled; variances are comparable within either. "
    "Features in common units (log-expression, counts, pixels) did a little better unscaled in 12 real settings with "
    "held-out rows (AUC .01 more on average); those in mixed units did better scaled in 4 (.12). --scale shows one"
)


def compare(
    *,
    tables: Tables,
    n_components: int,
    labels: str | None,
    groups: str | None,
    out: Path | None,
    columns: Columns,
    scale: Scale | None,
    sparse: int | None,
    output: Output,
) -> None:
    """Read, fit every method, write the result where a folder is named, and say what was found."""
    request = Request(tables, columns, labels=labels, groups=groups)
    if out is not None:
        check_folder(out, FILES, output.force)
    with Steps(silent=output.silent) as steps:
        steps.step(f"reading {tables.table}")
        study = read_study(request)
        notes = list(study.notes)
        with warnings_as_notes(notes), study.told_of_columns():
            results = run(
                study.target.data(),
                study.background_data,
                n_components=n_components,
                scale=BOTH if scale is None else SCALES[scale],
                labels=study.labels,
                groups=None if groups is None else study.target.columns[groups],
                n_nonzero=sparse,
                **columns.parameters,
                on_method=lambda method: steps.step(f"fitting {method}"),
            )
        content = _content(results, study, notes, both=scale is None)
        if out is not None:
            with new_folder(out) as folder:
                _write(folder, results, study, content)
    if tell(content, quiet=output.quiet, as_json=output.as_json):
        _show(content, out)


def _content(results: tuple[Compared, ...], study: Study, notes: list[str], *, both: bool) -> dict[str, Any]:
    called = {value: name for name, value in SCALES.items()}
    rows = [
        {
            "method": result.method,
            "scale": called[result.scale],
            **{name: None if math.isnan(value) else value for name, value in result.metrics.items()},
            "note": result.note,
        }
        for result in results
    ]
    told = [*notes, WHICH] if both else notes
    return {"labels": study.label_name, "methods": rows, "notes": list(dict.fromkeys(told))}


def _write(folder: Path, results: tuple[Compared, ...], study: Study, content: dict[str, Any]) -> None:
    done = {result.method: result.scores for result in results if result.scores is not None}
    names = [f"{method} {i + 1}" for method, scores in done.items() for i in range(scores.shape[1])]
    scores = np.hstack(list(done.values()))
    text = scores_csv(scores, names, study.target, study.labels, study.label_name)
    (folder / "scores.csv").write_text(text, encoding="utf-8")
    (folder / "compare.json").write_text(json_text(content), encoding="utf-8")


def _show(content: dict[str, Any], out: Path | None) -> None:
    names = list(
        dict.fromkeys(name for row in content["methods"] for name in row if name not in ("method", "scale", "note"))
    )
    rows = [(row["method"], *(_number(row.get(name)) for name in names), row["note"]) for row in content["methods"]]
    print_table(["method", *map(_heading, names)], rows, last="")
    if content["labels"] is not None:
        line(
            f"AUC, ARI and silhouette measure how well the scores separate {content['labels']!r}; no method saw these labels"
        )
    if out is not None:
        line(f"wrote {out}: {', '.join(FILES)}")


def _heading(name: str) -> str:
    return name if name in ("AUC", "ARI", "silhouette", "seconds") else f"variance in {name}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
