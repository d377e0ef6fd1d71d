"""``uca test``: is it real? Components on held-out rows, and what else may be believed of them.

Promises: the numbers are those of :mod:`uca.inference` for the same seed; the exit code says whether the test could be made,
not how it ended.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from .. import plotting
from .._optional import optional
from ..inference import UniquenessTest, background_influence, bootstrap, row_leverage
from ..inference.stability import MIN_RESAMPLES
from ..inference.uniqueness import DEFAULT_COMPONENTS
from . import evidence as e
from .destination import check_folder, new_folder
from .fit import fit_model
from .inputs import Request, Study, read_study
from .options import Columns, Model, Output, Tables
from .program import tell, usage_error, warnings_as_notes
from .progress import Steps
from .results import describe_means, json_text, line, made_from, row_ids, show_means

FILES = ("test.json", "test.csv", "test.png")


def uniqueness(
    *,
    tables: Tables,
    n_components: int | None,
    groups: str | None,
    splits: int | None,
    alpha: float,
    resamples: int,
    seed: int,
    jobs: int,
    out: Path | None,
    labels: str | None,
    columns: Columns,
    how: Model,
    output: Output,
) -> None:
    """Read, test, write the result where a folder is named, and say what was found."""
    request = Request(tables, columns, labels=labels, groups=groups, find_labels=False)
    _check(alpha, resamples, jobs)
    if resamples and how.sparse is not None:
        raise usage_error(
            "--resamples and --sparse cannot be combined: features would be chosen again in every resample"
        )
    if out is not None:
        check_folder(out, FILES, output.force)
    parameters, options = {**how.parameters, **columns.parameters}, {"n_splits": splits, "alpha": alpha, "seed": seed}
    with Steps(silent=output.silent) as steps:
        steps.step(f"reading {tables.table}")
        study = read_study(request)
        parameters["n_components"] = n_components or min(DEFAULT_COMPONENTS, study.target.values.shape[1])
        notes = list(study.notes)
        started = time.perf_counter()
        with warnings_as_notes(notes), study.told_of_columns():
            test, found = _examine(study, how, parameters, options, groups, resamples, jobs, steps)
        content = {
            **made_from(study),
            "parameters": {**parameters, "seed": seed, "groups": groups},
            **found,
            "seconds": time.perf_counter() - started,
        }
        if out is None:
            content["notes"] = list(dict.fromkeys(notes))
        else:
            with new_folder(out) as folder, warnings_as_notes(notes):
                steps.step("writing")
                _write(folder, test, content, notes)
    if tell(content, quiet=output.quiet, as_json=output.as_json):
        _show(content, out)


def _check(alpha: float, resamples: int, jobs: int) -> None:
    e.check_level(alpha, jobs)
    if 0 < resamples < MIN_RESAMPLES:
        raise usage_error(f"--resamples {resamples}: choose {MIN_RESAMPLES} or more, or 0 for none")


def _examine(
    study: Study,
    how: Model,
    parameters: dict[str, Any],
    options: dict[str, Any],
    column: str | None,
    resamples: int,
    jobs: int,
    steps: Steps,
) -> tuple[UniquenessTest, dict[str, Any]]:
    """The test, and everything that was found as plain numbers and text."""
    groups = e.subjects(study, column)
    model = fit_model(study, how, parameters, steps)
    test = e.run_test(study, model, groups, steps, **options, jobs=jobs)
    leverage = row_leverage(model, study.target.data())
    found: dict[str, Any] = {
        "test": e.describe_test(test, model),
        "means": describe_means(model, study.target.features),
        "leverage": e.describe_leverage(leverage, model, row_ids(study.target)),
        "influence": None,
        "bootstrap": None,
    }
    data = {"X": study.target.data(), "backgrounds": study.background_data, "model": model, "n_jobs": jobs}
    if len(study.backgrounds) > 1:
        steps.step("leaving out backgrounds")
        influence = background_influence(
            **data, n_components=max(test.n_unique_, 1), groups=groups, random_state=options["seed"]
        )
        found["influence"] = e.describe_influence(influence)
    if resamples:
        steps.step(f"fitting {resamples} resamples")
        again = bootstrap(
            **data,
            n_components=model.n_components,
            n_resamples=resamples,
            groups=groups,
            random_state=options["seed"],
        )
        found["bootstrap"] = e.describe_bootstrap(again, model)
    return test, found


def _write(folder: Path, test: UniquenessTest, content: dict[str, Any], notes: list[str]) -> None:
    notes += _draw(folder / "test.png", test)
    (folder / "test.csv").write_text(e.csv_of_test(content["test"]), encoding="utf-8")
    content["notes"] = list(dict.fromkeys(notes))
    content["files"] = [name for name in FILES if (folder / name).exists() or name == "test.json"]
    (folder / "test.json").write_text(json_text(content), encoding="utf-8")


def _draw(path: Path, test: UniquenessTest) -> list[str]:
    """The figure; a note instead where what draws it is not installed."""
    try:
        module = optional("matplotlib.figure", "plots need matplotlib", "plot")
    except ImportError as error:
        return [f"test.png was not written: {error}"]
    figure = module.Figure(figsize=(7.0, 4.2), layout="constrained")
    plotting.uniqueness(test, ax=figure.subplots())
    figure.savefig(path, dpi=150)
    return []


def _show(content: dict[str, Any], out: Path | None) -> None:
    e.show_test(content["test"])
    show_means(content["means"])
    e.show_leverage(content["leverage"])
    if content["influence"] is not None:
        e.show_influence(content["influence"])
    if content["bootstrap"] is not None:
        e.show_bootstrap(content["bootstrap"])
    if out is not None:
        line(f"wrote {out}: {', '.join(content['files'])}")
