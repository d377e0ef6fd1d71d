"""What may be believed of components: run on the tables of a study, as JSON, as CSV and as tables for a terminal.

Promises: what goes into JSON has no NaN and no infinity, names components as the other commands do (UC1, UC2, …) and rows
by their ids, and keeps the target apart from the backgrounds, which may have any name.
"""

from __future__ import annotations

import math
from typing import Any

from .._types import Array
from ..estimators.base import component_names
from ..estimators.bounded import BoundedTransformer
from ..inference import BackgroundInfluence, Bootstrap, RowLeverage, UniquenessTest, uniqueness_test
from ..inference.outcome import p_text
from ..inference.sample import MIN_SUBJECTS
from .inputs import Study
from .options import ALPHA, SEED
from .program import usage_error
from .progress import Steps
from .results import line, print_table, safe_csv

FEW_SUBJECTS = (
    "subjects, or name another column with --groups. What few subjects show can be described in Python, with "
    "uca.inference.leave_one_group_out"
)


def check_level(alpha: float, jobs: int) -> None:
    """Refuse a level that is none, and no workers."""
    if not 0 < alpha < 1:
        raise usage_error(f"--alpha {alpha:g}: choose a level between 0 and 1, such as {ALPHA}")
    if jobs == 0:
        raise usage_error("--jobs 0: choose 1 or more, or -1 for one worker for each core")


def subjects(study: Study, column: str | None) -> list[Array] | None:
    """What ``groups`` of the functions of inference takes; too few to be split are an error that names the file."""
    groups = study.groups(column)
    counts = [len(table) for table in study.tables] if groups is None else [len(set(part)) for part in groups]
    for table, count in zip(study.tables, counts, strict=True):
        if count < MIN_SUBJECTS:
            what = "rows" if column is None else f"subjects in column {column!r}"
            raise ValueError(
                f"{table.source} has {count} {what}; at least {MIN_SUBJECTS} are needed, four on each side of a split: "
                f"add {'rows' if column is None else FEW_SUBJECTS}"
            )
    return groups


def run_test(
    study: Study,
    model: BoundedTransformer,
    groups: list[Array] | None,
    steps: Steps,
    *,
    n_splits: int | None = None,
    alpha: float = ALPHA,
    seed: int = SEED,
    jobs: int | None = None,
) -> UniquenessTest:
    """The test of uniqueness with the parameters of a model."""
    steps.step("testing on rows held out of the fit")
    return uniqueness_test(
        study.target.data(),
        study.background_data,
        n_components=model.n_components,
        n_splits="auto" if n_splits is None else n_splits,
        groups=groups,
        alpha=alpha,
        random_state=seed,
        model=model,
        n_jobs=jobs,
    )


def describe_test(test: UniquenessTest, model: BoundedTransformer) -> dict[str, Any]:
    """The result of a test as plain numbers and text for JSON; components are called as the model's."""
    names = component_names(model, len(test.pvalues))
    return {
        "n_unique": test.n_unique_,
        "sentence": test.sentence,
        "cautions": test.cautions,
        "alpha": test.alpha,
        "n_splits": test.n_splits,
        "grouped": test.grouped,
        "target": {"rows": test.n_rows[0], "subjects": test.n_subjects[0]},
        "backgrounds": [
            {"name": name, "rows": rows, "subjects": count}
            for name, rows, count in zip(test.background_names, test.n_rows[1:], test.n_subjects[1:], strict=True)
        ],
        "components": [{"name": name, **_tested(test, i)} for i, name in enumerate(names)],
    }


def _tested(test: UniquenessTest, i: int) -> dict[str, Any]:
    return {
        "unique": i < test.n_unique_,
        "verdict": test.verdict(i),
        "p": _number(test.pvalues[i]),
        "p_random_error": _number(test.pvalue_errors[i]),
        "average_p": _number(test.average_pvalues[i]),
        "target": _interval(test, i, 0),
        "backgrounds": {
            name: {**_interval(test, i, j + 1), "p": _number(test.background_pvalues[i, j])}
            for j, name in enumerate(test.background_names)
        },
    }


def _interval(test: UniquenessTest, i: int, j: int) -> dict[str, float | None]:
    parts = {"variance": test.variances, "low": test.low, "high": test.high}
    return {name: _number(values[i, j]) for name, values in parts.items()}


def csv_of_test(found: dict[str, Any]) -> str:
    """A row a component: its p-value, its held-out variances and their intervals, the p-value against each background."""
    names = [row["name"] for row in found["backgrounds"]]
    header = ["component", "unique", "p", "p_average_direction", "target_variance", "target_low", "target_high"]
    header += [f"{part}_{name}" for name in names for part in ("variance_in", "low_in", "high_in", "p_against")]
    rows = [
        [
            *(row[key] for key in ("name", "unique", "p", "average_p")),
            *row["target"].values(),
            *(value for name in names for value in row["backgrounds"][name].values()),
        ]
        for row in found["components"]
    ]
    return safe_csv(header, rows)


def show_test(found: dict[str, Any]) -> None:
    """Print held-out variances, p-values, and the sentence."""
    names = [row["name"] for row in found["backgrounds"]]
    line(f"Variance on rows held out of the fit, with {100 * (1 - found['alpha']):g} % intervals")
    variances, pvalues = [], []
    for row in found["components"]:
        others = [row["backgrounds"][name] for name in names]
        variances.append((row["name"], *(_spread(**part) for part in (row["target"], *others))))
        values = (*(part["p"] for part in others), row["average_p"], row["p"])
        pvalues.append((row["name"], *map(_p, values), row["verdict"]))
    print_table(["component", "target", *(f"in {name}" for name in names)], variances)
    line("p-values: does the target vary more?")
    heads = ["component", *(f"than {name}" for name in names), "than an average direction", "overall"]
    print_table(heads, pvalues, last="verdict")
    line(found["sentence"])


def describe_influence(influence: BackgroundInfluence) -> dict[str, Any]:
    """What each background contributes, for JSON."""
    rows, m = influence.table, len(influence.background_names)
    return {
        "n_components": influence.model.n_components,
        "attainable_variance": influence.value,
        "n_resamples": influence.n_resamples,
        "backgrounds": [
            {
                "name": row["left out"],
                "lambda": row["lambda"],
                "attainable_variance_without": row["value"],
                **_moves(row),
                "gain_p": row["p, gain"],
                "turn_p": row["p, turn"],
                "verdict": row["verdict"],
            }
            for row in rows[:m]
        ],
        "pooled": {"attainable_variance": rows[m]["value"], **_moves(rows[m])} if len(rows) > m else None,
        "redundant": influence.redundant,
        "replaceable": influence.replaceable,
        "decisive": influence.decisive,
        "sentence": influence.sentence,
    }


def _moves(row: dict[str, Any]) -> dict[str, float]:
    return {"gain": row["gain"], "cosine": row["cosine"], "subspace_cosine": row["subspace cosine"]}


def show_influence(found: dict[str, Any]) -> None:
    """Print the table of backgrounds left out, and the sentence."""
    k, value = found["n_components"], found["attainable_variance"]
    which = "the first component" if k == 1 else f"the first {k} components"
    line(f"Influence of the backgrounds on {which}; with all of them the attainable target variance is {value:.4g}")
    rows = [
        _influence_row(row["name"], f"{row['lambda']:.4g}", row["attainable_variance_without"], row)
        for row in found["backgrounds"]
    ]
    if pooled := found["pooled"]:
        rows.append(_influence_row("(none: all pooled)", "", pooled["attainable_variance"], pooled))
    heads = ["left out", "its lambda", "attainable variance", "gain", "cosine, first", "cosine, space"]
    print_table([*heads, "p, gain", "p, turn"], rows, last="verdict")
    line(found["sentence"])


def _influence_row(name: str, weight: str, value: float, row: dict[str, Any]) -> list[str]:
    cosines = (f"{row[key]:.2f}" for key in ("cosine", "subspace_cosine"))
    pvalues = (_p(row.get(key)) for key in ("gain_p", "turn_p"))
    return [name, weight, f"{value:.4g}", f"{100 * row['gain']:+.1f} %", *cosines, *pvalues, row.get("verdict", "")]


def describe_leverage(leverage: RowLeverage, model: BoundedTransformer, ids: list[str]) -> dict[str, Any]:
    """How many rows have half of the variance of each component, and which where they are few, for JSON."""
    rows = [
        {
            "name": name,
            "rows_with_half": int(leverage.n_half[i]),
            "few": bool(leverage.few[i]),
            "outlying": [ids[row] for row in leverage.outlying(i)],
        }
        for i, name in enumerate(component_names(model))
    ]
    return {"components": rows, "warnings": leverage.warnings_about(ids)}


def show_leverage(found: dict[str, Any]) -> None:
    """Print a sentence for each component that depends on only a few rows."""
    for warning in found["warnings"] or ["No component depends on only a few rows."]:
        line(warning)


def describe_bootstrap(found: Bootstrap, model: BoundedTransformer) -> dict[str, Any]:
    """How well components are found again, for JSON."""
    return {
        "n_resamples": len(found.cosines),
        "level": found.level,
        "n_unconverged": found.n_unconverged,
        "n_features": int(found.reliable.shape[1]),
        "components": [
            {
                "name": name,
                "stability": float(found.stability_[i]),
                "subspace_stability": float(found.subspace_stability_[i]),
                "found_again": bool(found.found_again[i]),
                "target_in_new_rows": _expected(found, i, 0),
                "backgrounds_in_new_rows": {
                    background: _expected(found, i, j + 1) for j, background in enumerate(found.model.background_names_)
                },
                "reliable_features": found.reliable_features(i),
            }
            for i, name in enumerate(component_names(model))
        ],
    }


def _expected(found: Bootstrap, i: int, j: int) -> dict[str, float | None]:
    parts = {"variance": found.expected_variances, "low": found.expected_low, "high": found.expected_high}
    return {name: _number(values[i, j]) for name, values in parts.items()}


def show_bootstrap(found: dict[str, Any]) -> None:
    """Print how stable components are."""
    line(f"Stability over {found['n_resamples']} resamples: median cosine with the component of all rows")
    rows = [
        (
            row["name"],
            *(f"{row[key]:.2f}" for key in ("stability", "subspace_stability")),
            f"{len(row['reliable_features'])} of {found['n_features']}",
        )
        for row in found["components"]
    ]
    print_table(["component", "stability", "of the space so far", "reliable features"], rows)
    names = list(found["components"][0]["backgrounds_in_new_rows"])
    line(f"Variance expected in new rows of the same kind, with {100 * found['level']:g} % intervals")
    expected = [
        (
            row["name"],
            *(_spread(**part) for part in (row["target_in_new_rows"], *row["backgrounds_in_new_rows"].values())),
        )
        for row in found["components"]
    ]
    print_table(["component", "target", *(f"in {name}" for name in names)], expected)
    lost = [row["name"] for row in found["components"] if not row["found_again"]]
    if lost:
        line(f"Not found again: {', '.join(lost)}. No interval for the target and no reliable features there.")
    if found["n_unconverged"]:
        line(f"{found['n_unconverged']} fits did not reach the tolerance.")


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _spread(variance: float | None, low: float | None, high: float | None, p: float | None = None) -> str:
    if variance is None:
        return ""
    return f"{variance:.3g}" if None in (low, high) else f"{variance:.3g} [{low:.3g}, {high:.3g}]"


def _p(value: float | None) -> str:
    return "" if value is None else p_text(value)
