"""A fitted model as files and as tables for a terminal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
from rich.table import Table as RichTable
from rich.text import Text

from .._types import Array
from ..estimators.base import ContrastiveTransformer, component_names
from ..estimators.restriction import Restriction
from ..estimators.summary import exceeds_bound
from ..io import Table
from .inputs import Study
from .program import terminal


def made_from(study: Study) -> dict[str, Any]:
    """What a result was made from and by, for JSON."""
    return {"version": version("unique-component-analysis"), **study.sources}


def json_text(content: dict[str, Any]) -> str:
    """The content of a JSON file."""
    return json.dumps(content, indent=1) + "\n"


def scores_csv(
    scores: Array, names: list[str], table: Table, labels: Array | None = None, label: str | None = None
) -> str:
    """A row a row of the table: its id (or number), its label, its scores with all their digits."""
    header = ["id", *([] if labels is None else [label or "label"]), *names]
    ids = row_ids(table)
    left = [ids] if labels is None else [ids, labels]
    return csv_text(header, zip(*left, *np.asarray(scores).T.tolist(), strict=True))


def components_csv(model: ContrastiveTransformer, features: tuple[str, ...] | None) -> str:
    """A row a feature: its name and its weight in each component."""
    names = features or tuple(f"feature{i + 1}" for i in range(model.n_features_in_))
    return csv_text(["feature", *component_names(model)], zip(names, *model.components_.tolist(), strict=True))


def row_ids(table: Table) -> list[str]:
    """Ids, or row numbers from 1."""
    return [str(i + 1) for i in range(len(table))] if table.ids is None else [str(i) for i in table.ids]


def csv_text(header: list[str], rows: Any) -> str:
    """Rows under a header, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def describe(model: ContrastiveTransformer) -> dict[str, Any]:
    """What a fitted model found, as plain numbers and text for JSON."""
    known: dict[str, Any] = {
        "method": type(model).__name__,
        "parameters": {key: _plain(value) for key, value in model.get_params().items() if not callable(value)},
        "n_samples": model.n_samples_,
        "n_features": model.n_features_in_,
        "backgrounds": _backgrounds(model),
        "components": _components(model),
    }
    if hasattr(model, "alpha_"):
        known["alpha"] = float(model.alpha_)
    if hasattr(model, "certificate_"):
        known["certificate"] = {key: _plain(value) for key, value in asdict(model.certificate_).items()}
        known["solver"] = model.solver_
    if getattr(model, "restriction_", None) is not None:
        known["restriction"] = _plain(model.restriction_)
    return {**known, "representation": model.representation_}


def _backgrounds(model: ContrastiveTransformer) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"name": name} for name in model.background_names_]
    if hasattr(model, "lambdas_"):
        for row, weight, bound in zip(rows, model.lambdas_, model.bounds_, strict=True):
            row.update({"lambda": float(weight), "bound": float(bound)})
    return rows


def _components(model: ContrastiveTransformer) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "eigenvalue": float(model.eigenvalues_[i]),
            "target_variance": float(model.explained_variance_[i]),
            "target_share": float(model.explained_variance_ratio_[i]),
            "background_variance": {
                key: float(value)
                for key, value in zip(model.background_names_, model.background_variance_[i], strict=True)
            },
        }
        for i, name in enumerate(component_names(model))
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, Restriction):
        return {"n_leading": value.n_leading, "factor": value.factor, "sentence": value.sentence}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def show(found: dict[str, Any]) -> None:
    """Print the tables of a model that :func:`describe` described, and its certificate in words."""
    backgrounds, components = found["backgrounds"], found["components"]
    rows = "?" if found["n_samples"] is None else found["n_samples"]
    line(f"{found['method']}: target {rows} x {found['n_features']}, {len(backgrounds)} background(s)")
    if any("lambda" in row for row in backgrounds):
        weights = [(row["name"], f"{row['lambda']:.6g}", f"{row['bound']:.4g}") for row in backgrounds]
        print_table(["background", "lambda", "bound"], weights)
    bounds = [row.get("bound", np.inf) for row in backgrounds]
    variances = np.array([list(row["background_variance"].values()) for row in components])
    above = exceeds_bound(variances, bounds)
    print_table(
        ["component", "variance in target", "% of target", *(f"in {row['name']}" for row in backgrounds)],
        [
            (
                row["name"],
                f"{row['target_variance']:.4g}",
                f"{100 * row['target_share']:.1f}",
                *(f"{value:.4g}{'*' * over}" for value, over in zip(*pair, strict=True)),
            )
            for row, *pair in zip(components, variances, above.tolist(), strict=True)
        ],
    )
    if above.any():
        line("* more than the bound: only the first component is bound, --components sequential bounds them all")
    if "restriction" in found:
        line(found["restriction"]["sentence"])
    if "certificate" in found:
        line(found["certificate"]["message"])
    if "alpha" in found:
        line(f"alpha {found['alpha']:.4g}")


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, last: str | None = None) -> None:
    """Print rows under their heads: a name, numbers to the right, and with ``last`` a column of words."""
    table = RichTable()
    for i, head in enumerate(heads):
        table.add_column(Text(head), justify="right" if i else "left")  # as it is: names may hold square brackets
    if last is not None:
        table.add_column(last)
    for row in rows:
        table.add_row(*map(Text, row))
    terminal().print(table)


def line(text: str) -> None:
    """Print a sentence, as it is and unbroken."""
    terminal().print(text, highlight=False, markup=False, soft_wrap=True)
