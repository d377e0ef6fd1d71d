"""A fitted model as files and as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from .._types import Array
from ..estimators.base import ContrastiveTransformer, component_names
from ..estimators.expected_words import NO_PREDICTION, far_lines
from ..estimators.leading import how_to_read, leading
from ..estimators.restriction import Restriction
from ..estimators.summary import exceeds_bound, prediction
from ..io import Content, Table
from ..io.lines import csv_text
from ..io.text import text_of
from .inputs import Study
from .program import terminal
from .safe import as_cell, json_of, printable


def made_from(study: Study) -> dict[str, Any]:
    """What a result was made from and by, for JSON."""
    return {"version": version("unique-component-analysis"), **study.sources}


def json_text(content: dict[str, Any]) -> str:
    """The content of a JSON file."""
    return json_of(content, indent=1) + "\n"


def scores_csv(
    scores: Array, names: list[str], table: Table, labels: Array | None = None, label: str | None = None
) -> str:
    """A row a row of the table: its id (or number), its label, its scores with all their digits."""
    columns = {} if labels is None else {as_cell(label or "label"): np.array(list(map(as_cell, labels)), dtype=object)}
    ids = range(1, len(table) + 1) if table.ids is None else list(map(as_cell, row_ids(table)))
    return text_of(Content(ids, tuple(map(as_cell, names)), np.asarray(scores), columns))


def components_csv(model: ContrastiveTransformer, features: tuple[str, ...] | None) -> str:
    """A row a feature: its name, its weight in each component, and how it follows each score in the target."""
    names = features or tuple(f"feature{i + 1}" for i in range(model.n_features_in_))
    parts = {"": model.components_, "_pattern": model.patterns_, "_correlation": model.pattern_correlations_}
    known = {ending: values for ending, values in parts.items() if values is not None}
    header = ["feature", *(f"{name}{ending}" for ending in known for name in component_names(model))]
    return safe_csv(header, zip(names, *np.vstack(list(known.values())).tolist(), strict=True))


def safe_csv(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Rows under a header, as CSV; text that a spreadsheet would take for a formula is marked as text."""
    return csv_text(list(map(as_cell, header)), (map(as_cell, row) for row in rows))


def row_ids(table: Table) -> list[str]:
    """Ids, or row numbers from 1."""
    return [str(i + 1) for i in range(len(table))] if table.ids is None else [str(i) for i in table.ids]


def describe(model: ContrastiveTransformer, features: Sequence[str] | None = None) -> dict[str, Any]:
    """What a fitted model found, as plain numbers and text for JSON; ``features`` where the model has no names."""
    known: dict[str, Any] = {
        "method": type(model).__name__,
        "parameters": {key: _plain(value) for key, value in model.get_params().items() if not callable(value)},
        "n_samples": model.n_samples_,
        "n_features": model.n_features_in_,
        "backgrounds": _backgrounds(model),
        "reading": how_to_read(model),
        "components": _components(model, getattr(model, "feature_names_in_", features)),
    }
    if hasattr(model, "alpha_"):
        known["alpha"] = float(model.alpha_)
    if hasattr(model, "certificate_"):
        known["certificate"] = {key: _plain(value) for key, value in asdict(model.certificate_).items()}
        known["certificate"]["brief"] = model.certificate_.brief
        known["solver"] = model.solver_
    if getattr(model, "restriction_", None) is not None:
        known["restriction"] = _plain(model.restriction_)
    return {**known, "means": describe_means(model), "representation": model.representation_}


def describe_means(model: ContrastiveTransformer, features: Sequence[str] | None = None) -> dict[str, Any] | None:
    """Large differences in means, which components do not show, for JSON; None where they are not known."""
    means = getattr(model, "mean_differences_", None)  # absent from model files of older versions
    if means is None:
        return None
    features = getattr(model, "feature_names_in_", None) if features is None else features
    return {
        "sentence": means.told(features),
        "backgrounds": [
            {
                "name": part.background,
                "n_large": part.n_large,
                "largest": [
                    {
                        "feature": name if features is None else str(features[i]),
                        "sd": size if np.isfinite(size) else None,
                    }
                    for i, name, size in zip(part.features, part.names, part.sizes, strict=True)
                ],
            }
            for part in means.backgrounds
        ],
    }


def show_means(found: dict[str, Any] | None) -> None:
    """Print the sentence about means, where there is something to say."""
    if found and found["sentence"]:
        line(found["sentence"])


def _backgrounds(model: ContrastiveTransformer) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"name": name} for name in model.background_names_]
    if hasattr(model, "lambdas_"):
        for row, weight, bound in zip(rows, model.lambdas_, model.bounds_, strict=True):
            row.update({"lambda": float(weight), "bound": float(bound)})
    used = getattr(model, "rows_used_", None)
    for row, rows_used in zip(rows, [] if used is None else used.tolist(), strict=False):
        row["rows_used"] = _finite(rows_used)
    return rows


def _finite(value: float) -> float | None:
    """JSON knows no infinity: null stands for no usable prediction."""
    return value if np.isfinite(value) else None


def _expected(model: ContrastiveTransformer, i: int) -> dict[str, Any]:
    expected = getattr(model, "expected_background_variance_", None)  # absent in files of older versions
    if expected is None:
        return {}
    named = zip(model.background_names_, expected[i].tolist(), strict=True)
    return {"expected_background_variance": {name: _finite(value) for name, value in named}}


def _components(model: ContrastiveTransformer, names: Sequence[str] | None) -> list[dict[str, Any]]:
    names = [f"feature{i + 1}" for i in range(model.n_features_in_)] if names is None else names
    return [
        {
            "name": name,
            "leading": [{"feature": feature, "sign": sign} for feature, sign in first.signed],
            "eigenvalue": float(model.eigenvalues_[i]),
            "target_variance": float(model.explained_variance_[i]),
            "target_share": float(model.explained_variance_ratio_[i]),
            "background_variance": {
                key: float(value)
                for key, value in zip(model.background_names_, model.background_variance_[i], strict=True)
            },
            **_expected(model, i),
        }
        for i, (name, first) in enumerate(zip(component_names(model), leading(model, names), strict=True))
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
    show_leading(found)
    if any("lambda" in row for row in backgrounds):
        _print_backgrounds(backgrounds)
    bounds = [row.get("bound", np.inf) for row in backgrounds]
    variances = np.array([list(row["background_variance"].values()) for row in components])
    above = exceeds_bound(variances, bounds)
    new = [f"in {row['name']}, new rows" for row in backgrounds if "expected_background_variance" in components[0]]
    print_table(
        ["component", "variance in target", "% of target", *(f"in {row['name']}" for row in backgrounds), *new],
        [
            (
                row["name"],
                f"{row['target_variance']:.4g}",
                f"{100 * row['target_share']:.1f}",
                *(f"{value:.4g}{'*' * over}" for value, over in zip(*pair, strict=True)),
                *_predictions(row),
            )
            for row, *pair in zip(components, variances, above.tolist(), strict=True)
        ],
    )
    if above.any():
        line("* more than the bound: only the first component is bound, --components sequential bounds them all")
    if new:
        line("new rows: expected in rows of the same kind that were not in the fit, if rows are independent")
    if any(value is None for row in components for value in row.get("expected_background_variance", {}).values()):
        line(f"none: {NO_PREDICTION}")
    if new:
        expected = [np.inf if v is None else v for v in components[0]["expected_background_variance"].values()]
        names = [row["name"] for row in backgrounds]
        for told in far_lines(components[0]["name"], names, variances[0], np.array(expected), np.array(bounds)):
            line(f"{told[0].upper()}{told[1:]}.")
    if "restriction" in found:
        line(found["restriction"]["sentence"])
    if "certificate" in found:
        line(found["certificate"]["message"])
    show_means(found["means"])
    if "alpha" in found:
        line(f"alpha {found['alpha']:.4g}")


def show_leading(found: dict[str, Any]) -> None:
    """Print the leading features of each component, and whether the problem is solved, a line each."""
    for row in found["components"]:
        signed = (f"{part['feature']} {part['sign']}" for part in row["leading"])
        line(f"{row['name']}: {', '.join(signed)}")
    line(found["reading"])
    if "brief" in found.get("certificate", {}):
        line(found["certificate"]["brief"])


def _print_backgrounds(backgrounds: list[dict[str, Any]]) -> None:
    heads, known = ["background", "lambda", "bound"], any("rows_used" in row for row in backgrounds)
    rows = [[row["name"], f"{row['lambda']:.6g}", f"{row['bound']:.4g}"] for row in backgrounds]
    if known:
        used = [row.get("rows_used") for row in backgrounds]
        rows = [[*row, "?" if n is None else f"{n:.3g}"] for row, n in zip(rows, used, strict=True)]
        heads.append("rows used up")
    print_table(heads, rows)


def _predictions(row: dict[str, Any]) -> list[str]:
    values = row.get("expected_background_variance", {}).values()
    return [prediction(np.inf if value is None else value) for value in values]


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, last: str | None = None) -> None:
    """Print rows under their heads: a name, numbers to the right, and with ``last`` a column of words."""
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable()
    for i, head in enumerate(heads):
        table.add_column(
            Text(printable(head)), justify="right" if i else "left"
        )  # as it is: names may hold square brackets
    if last is not None:
        table.add_column(last)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    terminal().print(table)


def line(text: str) -> None:
    """Print a sentence, as it is and unbroken."""
    terminal().print(printable(text), highlight=False, markup=False, soft_wrap=True)
