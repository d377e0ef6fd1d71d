"""``uca each``: every group of one table once as the target, with all the other groups as its backgrounds.

Promises: the numbers are those of :func:`uca.each` for the same seed; the exit code says whether groups could be fitted,
not how their tests ended.
"""

from __future__ import annotations

import math
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..groupwise import Each, EachGroup, words
from ..groupwise import each as run
from ..plotting.groupwise import picture
from . import evidence as e
from .destination import check_folder, new_folder
from .grouped import Grouped, read_grouped
from .options import Columns, Model, Output
from .program import tell, warnings_as_notes
from .progress import Steps
from .results import json_text, line, print_table, safe_csv

FILES = ("each.json", "each.csv", "each.png", "each.html")


def each(
    *,
    table: Path,
    by: str,
    n_components: int,
    pooled: bool,
    subjects: str | None,
    test: bool,
    splits: int | None,
    alpha: float,
    seed: int,
    jobs: int,
    out: Path | None,
    title: str | None,
    columns: Columns,
    how: Model,
    output: Output,
) -> None:
    """Read, compare the groups, write the result where a folder is named, and say what was found."""
    e.check_level(alpha, jobs)
    if out is not None:
        check_folder(out, FILES, output.force)
    with Steps(silent=output.silent) as steps:
        steps.step(f"reading {table}")
        read = read_grouped(table, by, columns, subjects)
        notes = list(read.notes)
        parameters = {"n_components": n_components, **how.parameters, **columns.parameters}
        started = time.perf_counter()
        steps.step("comparing groups", 0.0)
        with warnings_as_notes(notes):
            found = run(
                read.table.data(),
                read.groups,
                pooled=pooled,
                model=how.make(**parameters),
                test=test,
                subjects=read.subjects,
                n_splits="auto" if splits is None else splits,
                alpha=alpha,
                feature_names=read.table.features,
                random_state=seed,
                n_jobs=jobs,
                verbose=lambda done, total: steps.step(f"comparing groups, {done} of {total}", done / total),
            )
        content = {
            **_described(found, read, by),
            "parameters": {**parameters, "seed": seed, "subjects": subjects},
            "seconds": time.perf_counter() - started,
        }
        if out is None:
            content["notes"] = list(dict.fromkeys(notes))
        else:
            with new_folder(out) as folder, warnings_as_notes(notes):
                steps.step("writing")
                _write(folder, found, content, notes, title)
    if tell(content, quiet=output.quiet, as_json=output.as_json):
        _show(found, content, out)


def _described(found: Each, read: Grouped, by: str) -> dict[str, Any]:
    """The result as plain numbers and text for JSON."""
    return {
        "version": version("unique-component-analysis"),
        "source": {"source": read.table.source, "rows": len(read.table), "features": found.n_features},
        "by": by,
        "pooled": found.pooled,
        "alpha": found.alpha,
        "sentence": found.sentence,
        "cautions": words.cautions_of(found),
        "groups": [_group(group) for group in found.groups],
    }


def _group(group: EachGroup) -> dict[str, Any]:
    certificate = None if group.model is None else group.model.certificate_
    return {
        "name": group.name,
        "rows": group.n_rows,
        "subjects": group.n_subjects,
        "backgrounds": list(group.backgrounds),
        "left_out": list(group.left_out),
        "n_unique": group.n_unique,
        "failed": group.failed or None,
        "untested": group.untested or None,
        "certificate": None if certificate is None else certificate.brief,
        "status": None if certificate is None else str(certificate.status),
        "components": [] if group.model is None else [_component(group, i) for i in range(len(group.leading))],
        "warnings": list(group.warnings),
    }


def _component(group: EachGroup, i: int) -> dict[str, Any]:
    row, left = group.table[i], ("group", "rows", "subjects", "leading_features", "note")
    numbers = {key: _finite(value) for key, value in row.items() if key not in left}
    return {**numbers, "leading": [{"feature": name, "sign": sign} for name, sign in group.leading[i].signed]}


def _finite(value: Any) -> Any:
    """JSON knows no infinity: null stands for no usable prediction."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(folder: Path, found: Each, content: dict[str, Any], notes: list[str], title: str | None) -> None:
    rows = found.table
    (folder / "each.csv").write_text(safe_csv(list(rows[0]), (row.values() for row in rows)), encoding="utf-8")
    try:
        (folder / "each.png").write_bytes(picture(found))
    except ImportError as error:
        notes.append(f"each.png was not written: {error}")
    try:
        import_module("uca.report").each(found, folder / "each.html", title=title)
    except ImportError as error:
        notes.append(f"each.html was not written: {error}")
    content["notes"] = list(dict.fromkeys(notes))
    content["files"] = [name for name in FILES if (folder / name).exists() or name == "each.json"]
    (folder / "each.json").write_text(json_text(content), encoding="utf-8")


def _show(found: Each, content: dict[str, Any], out: Path | None) -> None:
    line(words.title(found))
    print_table(list(words.HEADS), words.cells(found), last=words.FEATURES)
    line(words.reading(found))
    line(found.sentence)
    for caution in content["cautions"]:
        line(caution)
    if out is None:
        line("Add -o DIR for the table as a file, a figure and a page.")
    else:
        line(f"wrote {out}: {', '.join(content['files'])}")
