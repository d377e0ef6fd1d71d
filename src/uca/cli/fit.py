"""``uca fit``: from tables to components, scores, a model file and a page to look at."""

from __future__ import annotations

import time
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .. import persistence
from ..estimators.base import ContrastiveTransformer, component_names
from ..estimators.bounded import BoundedTransformer
from ..estimators.uca import UCA
from ..inference import Restriction, choose_restriction
from . import evidence as e
from .again import noted
from .destination import check_folder, new_folder
from .figures import FIGURES, draw_scores
from .inputs import Request, Study, read_study
from .options import Columns, Model, Output, Tables
from .program import tell, usage_error, warnings_as_notes
from .progress import Steps
from .reading import stem
from .results import components_csv, describe, describe_means, json_text, line, made_from, scores_csv, show
from .safe import encodable, printable
from .streamed import Streamed, is_streamed, read_streamed
from .typed import next_command

FILES = ("scores.csv", "components.csv", "summary.json", "model.skops", "methods.txt", "scores.png", "report.html")
OWN = {*FILES, *FIGURES}  # what uca plot adds to a result is replaced with it


def fit(
    *,
    tables: Tables,
    n_components: int,
    labels: str | None,
    out: Path | None,
    columns: Columns,
    how: Model,
    test: bool,
    groups: str | None,
    image_shape: str | None,
    title: str | None,
    report: bool,
    output: Output,
) -> None:
    """Read, fit, write the result and say what was found."""
    out = Path(f"uca-{stem(tables.table)}") if out is None else out
    shape = None if image_shape is None else parse_shape(image_shape)
    request = Request(tables, columns, labels=labels, groups=groups)
    if groups is not None and not (test or how.on_new_rows):
        raise usage_error(
            f"--groups {groups} is for --test and for --bound-on 'new rows': add one of them, or leave the column out with "
            f"--drop {groups}"
        )
    check_folder(out, OWN, output.force)
    with Steps(silent=output.silent) as steps:
        steps.step(f"reading {tables.table}")
        study = read_streamed(request) if is_streamed(request, how, test=test) else read_study(request)
        subjects = e.subjects(study, groups) if test else None
        notes = list(study.notes)
        started = time.perf_counter()
        with warnings_as_notes(notes), study.told_of_columns():
            parameters = {"n_components": n_components, **how.parameters, **columns.parameters}
            if how.on_new_rows and groups is not None:
                steps.step("choosing on held-out subjects")
                parameters["bound_on"] = choose_for_subjects(study, parameters, groups)
            model = fit_model(study, how, parameters, steps)
        seconds = time.perf_counter() - started
        summary = {
            **describe(model, study.target.features),
            "means": describe_means(model, study.target.features),
            **made_from(study),
            "read": noted(request, out),
            "labels": study.label_name,
            "seconds": seconds,
            "out": str(out),
        }
        tested = e.run_test(study, model, subjects, steps) if test else None
        if tested is not None:
            summary["test"] = e.describe_test(tested, model)
        with new_folder(out) as folder, warnings_as_notes(notes):
            steps.step("writing")
            _write(folder, model, study)
            (folder / "methods.txt").write_text(encodable(methods(model, study, tested)), encoding="utf-8")
            notes += draw_scores(folder / "scores.png", model, study)
            if isinstance(study, Streamed):
                notes.append(study.sampled)
            elif report:
                steps.step("writing the report")
                extras = {"image_shape": shape, "title": title, "seconds": seconds, "test": tested}
                notes += write_report(model, folder / "report.html", study, **extras)
            summary["notes"] = list(dict.fromkeys(notes))
            summary["files"] = [name for name in FILES if (folder / name).exists() or name == "summary.json"]
            (folder / "summary.json").write_text(json_text(summary), encoding="utf-8")
    if tell(summary, quiet=output.quiet, as_json=output.as_json):
        told = None if tested is None else replace(tested, means=None).sentence  # the fit says that means differ, once
        _show(summary, told, out, next_command("test", tables, columns, how, labels=labels, groups=groups))


def fit_model(study: Study, how: Model, parameters: dict[str, Any], steps: Steps) -> BoundedTransformer:
    """Fit; the names of the features are in the model where the data carries them."""
    steps.step("fitting" if how.sparse is None else "searching features")
    model = how.make(**parameters)
    if how.sparse is None:
        model.set_params(verbose=steps.on_pass)
    if isinstance(study, Streamed):
        study.fit(model)
    else:
        model.fit(study.target.data(), backgrounds=study.background_data)
    model.set_params(verbose=False)  # a model file holds no functions
    return model


def choose_for_subjects(study: Study, parameters: dict[str, Any], groups: str) -> Restriction:
    """What ``bound_on`` of the model is, with subjects."""
    model = UCA(**{**parameters, "bound_on": "rows"})
    return choose_restriction(study.target.data(), study.background_data, groups=study.groups(groups), model=model)


def write_report(model: ContrastiveTransformer, path: Path, study: Study, **extras: Any) -> list[str]:
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
        label_name=study.label_name,
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


def _write(folder: Path, model: BoundedTransformer, study: Study) -> None:
    with (folder / "scores.csv").open("w", encoding="utf-8") as stream:
        stream.writelines(_scores(model, study))
    (folder / "components.csv").write_text(components_csv(model, study.target.features), encoding="utf-8")
    persistence.save(_named(model, study.target.features), folder / "model.skops")


def _scores(model: BoundedTransformer, study: Study) -> Iterable[str]:
    if isinstance(study, Streamed):
        return study.scores(model)
    scores = model.transform(study.target.data())
    return [scores_csv(scores, component_names(model), study.target, study.labels, study.label_name)]


def methods(model: BoundedTransformer, study: Study, tested: Any) -> str:
    """The paragraph for a paper; below it what was done to the files, which the model does not know."""
    paragraph, gap, reference = str(model.methods_text(test=tested)).rpartition("\n\n")
    read = [f"- {printable(note)}" for note in study.notes]
    told = ["", "How the files were read:", *read] if read else []
    return "\n".join([f"{printable(paragraph)}{gap}{printable(reference)}", *told, ""])


def _named(model: BoundedTransformer, features: tuple[str, ...] | None) -> BoundedTransformer:
    """The model with the names of its features: a sparse matrix does not carry them, but the file has to."""
    if features is None or hasattr(model, "feature_names_in_"):
        return model
    model = copy(model)
    model.feature_names_in_ = np.array(features, dtype=object)
    return model


def _show(summary: dict[str, Any], tested: str | None, out: Path, test: str) -> None:
    show(summary)
    if tested is not None:
        line(tested)
    line(f"wrote {out}: {', '.join(summary['files'])}")
    if tested is None:
        line(f"Is it real? This checks the components on held-out rows: {test}")
