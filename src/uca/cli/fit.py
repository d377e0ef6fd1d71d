"""``uca fit``: from tables to components, scores, a model file and a page to look at."""

from __future__ import annotations

import json
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import persistence
from ..estimators.uca import UCA
from . import evidence as e
from . import options as o
from .destination import check_folder, new_folder
from .inputs import Request, Study, read_study, stem
from .program import say, usage_error, warnings_as_notes
from .progress import Steps
from .results import component_names, components_csv, describe, line, scores_csv, show

FILES = ("scores.csv", "components.csv", "summary.json", "model.skops", "report.html")


def fit(
    table: o.Target,
    background: o.Backgrounds = None,
    n_components: o.NComponents = 2,
    by: o.By = None,
    target: o.TargetValue = None,
    labels: o.Labels = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="folder for the results (default: uca-TARGET)")
    ] = None,
    id: o.Id = None,
    drop: o.Drop = None,
    missing: o.HowMissing = o.Missing.error,
    na: o.Na = None,
    no_header: o.NoHeader = False,
    scale: o.ScaleBy = o.Scale.own,
    components: o.Components = o.Kind.joint,
    bound: o.Bound = None,
    test: Annotated[bool, typer.Option("--test", help="test the components, as uca test does")] = False,
    groups: o.Groups = None,
    image_shape: Annotated[
        str | None, typer.Option(metavar="HxW", help="rows are images: draw components as images")
    ] = None,
    title: Annotated[str | None, typer.Option(help="title of the report")] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="write report.html")] = True,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Find what varies in TARGET and not in its backgrounds.

    Files of their own: uca fit treated.csv -b control.csv -b other=more.csv

    One file with a column of groups: uca fit all.csv --by group --target treated -b control -b other
    """
    out = Path(f"uca-{stem(table)}") if out is None else out
    shape = None if image_shape is None else parse_shape(image_shape)
    request = Request(
        table, background or (), by, target, labels, id, drop or (), na or (), not no_header, missing.value, groups
    )
    if groups is not None and not test:
        raise usage_error(f"--groups {groups} is for --test: add it, or leave the column out with --drop {groups}")
    check_folder(out, FILES, force)
    parameters = {
        "n_components": n_components,
        "scale": scale.value_for_model,
        "components": components.value,
        "bound": "mean" if bound is None else bound,
    }
    with Steps(silent=quiet or as_json) as steps:
        steps.step(f"reading {table}")
        study = read_study(request)
        subjects = e.subjects(study, groups) if test else None
        notes = list(study.notes)
        started = time.perf_counter()
        with warnings_as_notes(notes):
            model = fit_model(study, parameters, steps)
        seconds = time.perf_counter() - started
        summary = {**describe(model), **_made_from(study, out, seconds)}
        tested = e.run_test(study, model, subjects, steps) if test else None
        if tested is not None:
            summary["test"] = e.describe_test(tested)
        with new_folder(out) as folder, warnings_as_notes(notes):
            steps.step("writing")
            _write(folder, model, study)
            if report:
                steps.step("writing the report")
                extras = {"image_shape": shape, "title": title, "seconds": seconds, "test": tested}
                notes += write_report(model, folder / "report.html", study, **extras)
            summary["notes"] = list(dict.fromkeys(notes))
            summary["files"] = [name for name in FILES if (folder / name).exists() or name == "summary.json"]
            (folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    _tell(summary, table, out, quiet, as_json)


def fit_model(study: Study, parameters: dict[str, Any], steps: Steps) -> UCA:
    """Fit, with the names of the features whatever the data is held in."""
    steps.step("fitting")
    model = UCA(**parameters, verbose=steps.on_pass)
    model.fit(study.target.data(), backgrounds=study.background_data)
    model.set_params(verbose=False)  # a model file holds no functions
    if study.target.features is not None and not hasattr(model, "feature_names_in_"):
        import numpy as np

        model.feature_names_in_ = np.array(study.target.features, dtype=object)
    return model


def write_report(model: Any, path: Path, study: Study, **extras: Any) -> list[str]:
    """The page; a note instead where its libraries are not installed."""
    try:
        module = import_module("uca.report")
    except ImportError as error:
        return [f"report.html was not written: {error}"]
    module.report(
        model,
        path,
        study.target.data(),
        backgrounds=study.background_data,
        labels=study.labels,
        ids=study.target.ids,
        feature_names=study.target.features,
        **extras,
    )
    return []


def parse_shape(text: str) -> tuple[int, int]:
    """``HxW`` as two numbers."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise usage_error(f"--image-shape {text}: give height and width as in 64x48")
    return int(parts[0]), int(parts[1])


def _write(folder: Path, model: UCA, study: Study) -> None:
    scores = model.transform(study.target.data())
    text = scores_csv(scores, component_names(model), study.target, study.labels, study.label_name)
    (folder / "scores.csv").write_text(text, encoding="utf-8")
    (folder / "components.csv").write_text(components_csv(model, study.target.features), encoding="utf-8")
    persistence.save(model, folder / "model.skops")


def _made_from(study: Study, out: Path, seconds: float) -> dict[str, Any]:
    return {
        "version": version("unique-component-analysis"),
        "target": {"source": study.target.source, "rows": len(study.target)},
        "background_sources": {
            name: {"source": table.source, "rows": len(table)} for name, table in study.backgrounds.items()
        },
        "labels": study.label_name,
        "seconds": seconds,
        "out": str(out),
    }


def _tell(summary: dict[str, Any], table: Path, out: Path, quiet: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary))
        return
    say(summary["notes"], quiet=quiet)
    if quiet:
        return
    show(summary)
    if "test" in summary:
        line(summary["test"]["sentence"])
    line(f"wrote {out}: {', '.join(summary['files'])}")
    if "test" not in summary:
        line(f"Is it real? uca test {table} ... checks the components on rows that did not choose them")
