"""Figures 1 and 2 of the paper: mouse proteins with one background, and with three."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._pool import pool
from .._types import Array
from ..datasets import load_mice
from ..estimators.cpca import CPCA
from ..estimators.cpca_plus_plus import CPCAPlusPlus
from ..estimators.uca import UCA
from .metrics import separation
from .outcome import Outcome
from .scatter import plotted_rows, scatter_grid

ALPHAS = (0.5, 1, 5, 10, 100)
BACKGROUNDS = ("t-SC-m", "t-CS-m", "t-SC-s")


def mice_single(data: Path | None = None, **_: Any) -> Outcome:
    """Target c/t-SC-s against c-CS-s: PCA, cPCA at five values, cPCA++ and UCA."""
    mice = load_mice(data)
    target, background = mice.rows("c-SC-s", "t-SC-s"), mice.rows("c-CS-s")
    genotype, mouse = mice.labels("c-SC-s", "t-SC-s")
    scores = {"PCA": UCA().fit_transform(target)}
    scores |= {f"cPCA, λ = {a:g}": CPCA(alpha=a).fit_transform(target, backgrounds=background) for a in ALPHAS}
    scores["cPCA++"] = CPCAPlusPlus().fit_transform(target, backgrounds=background)
    model = UCA().fit(target, backgrounds={"c-CS-s": background})
    scores["UCA"] = model.transform(target)
    notes = [
        f"UCA: λ = {model.lambdas_[0]:.4f}, no tuning; {model.certificate_.message}",
        f"{len(target)} rows of {len(set(mouse))} mice: accuracy with random folds puts rows of one mouse on both sides.",
    ]
    return _outcome("mice-single", "Mouse proteins, one background (figure 1)", scores, genotype, mouse, notes)


def mice_multi(data: Path | None = None, **_: Any) -> Outcome:
    """Target c/t-CS-s against three backgrounds: each alone, pooled and split, beside PCA, cPCA and cPCA++ on the pool."""
    mice = load_mice(data)
    target = mice.rows("c-CS-s", "t-CS-s")
    genotype, mouse = mice.labels("c-CS-s", "t-CS-s")
    backgrounds = {name: mice.rows(name) for name in BACKGROUNDS}
    pooled = pool(backgrounds)
    scores = {"PCA": UCA().fit_transform(target)}
    scores |= {f"UCA, {name}": UCA().fit_transform(target, backgrounds=rows) for name, rows in backgrounds.items()}
    scores["UCA, pooled"] = UCA().fit_transform(target, backgrounds=pooled)
    model = UCA().fit(target, backgrounds=backgrounds)
    scores["UCA, split"] = model.transform(target)
    scores["cPCA++, pooled"] = CPCAPlusPlus().fit_transform(target, backgrounds=pooled)
    scores |= {f"cPCA, pooled, λ = {a:g}": CPCA(alpha=a).fit_transform(target, backgrounds=pooled) for a in ALPHAS}
    weights = ", ".join(
        f"{name} {value:.4f}" for name, value in zip(model.background_names_, model.lambdas_, strict=True)
    )
    outcome = _outcome(
        "mice-multi",
        "Mouse proteins, three backgrounds (figure 2)",
        scores,
        genotype,
        mouse,
        [f"UCA, split: λ = {weights}"],
    )
    outcome.notes.append(_verdict({row["method"]: row["AUC, folds by group"] for row in outcome.table}))
    return outcome


def _outcome(
    name: str, title: str, scores: dict[str, Array], genotype: Array, mouse: Array, notes: list[str]
) -> Outcome:
    table = [
        {"method": method, **separation(values, genotype == "trisomic", mouse)} for method, values in scores.items()
    ]
    captions = {str(row["method"]): f"AUC by mouse {row['AUC, folds by group']:.2f}" for row in table}
    return Outcome(
        name,
        title,
        table=table,
        plotted=plotted_rows(scores, {"genotype": genotype, "mouse": mouse}),
        notes=notes,
        figures={"": scatter_grid(scores, genotype, captions)},
    )


def _verdict(auc: dict[str, float]) -> str:
    """Where the split analysis wins and where it does not, from the measured figures."""
    split = auc["UCA, split"]
    singles = {name: auc[f"UCA, {name}"] for name in BACKGROUNDS}
    best = max(singles, key=lambda name: singles[name])
    ahead = [method for method, value in auc.items() if method != "UCA, split" and value > split]
    others = ", ".join(f"{value:.2f}" for name, value in singles.items() if name != best)
    return (
        f"AUC by mouse: split {split:.2f}, pooled {auc['UCA, pooled']:.2f}, PCA {auc['PCA']:.2f}; the best single "
        f"background ({best}) has {singles[best]:.2f}, the others {others}. Split does not know which background is the "
        "good one. " + (f"Ahead of split here: {', '.join(ahead)}." if ahead else "Nothing is ahead of split here.")
    )
