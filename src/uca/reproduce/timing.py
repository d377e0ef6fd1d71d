"""Figure 4 of the paper: time against p for 100 + 100 rows, with memory beside it."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np

from .._types import Array
from ..estimators.uca import UCA
from .outcome import Outcome, Row, pyplot

ROUTES = {
    "eigendecomposition": {"representation": "covariance", "solver": "root"},
    "product SVD": {"representation": "product_svd", "solver": "root"},
    "default": {},
}
FULL = (1_000, 2_000, 4_000, 6_000, 8_000, 10_000)
EIGENDECOMPOSITION_MAX = 2_000  # formed p x p covariances: 1.6 GB for a fit at p = 10,000
COLOURS = {"eigendecomposition": "#D55E00", "product SVD": "#009E73", "default": "#0072B2"}


def timing(quick: bool = False, **_: Any) -> Outcome:
    """Random pairs of 100 x p: eigendecomposition of formed covariances, Product SVD, and the default route."""
    sizes, pairs = ((200, 400), 3) if quick else (FULL, 25)
    rows: list[Row] = []
    for p in sizes:
        for pair in range(pairs):
            rng = np.random.default_rng([p, pair])
            target, background = rng.standard_normal((2, 100, p))
            for route, options in ROUTES.items():
                if route == "eigendecomposition" and (p > EIGENDECOMPOSITION_MAX or pair >= 5):
                    continue
                rows.append({"route": route, "p": p, "pair": pair, **_measure(options, target, background, pair == 0)})
    table = _medians(rows)
    note = (
        f"{pairs} pairs a point; eigendecomposition on 5 and only up to p = {EIGENDECOMPOSITION_MAX:,}, because it "
        "forms p x p matrices. Memory is the peak that the allocator saw beyond the input, on the first pair."
    )
    return Outcome(
        "timing", "Time and memory against p, 100 + 100 rows", table, rows, [note], {"": _draw(rows, table, sizes)}
    )


def _measure(options: dict[str, Any], target: Array, background: Array, memory: bool) -> Row:
    start = time.perf_counter()
    model = UCA(**options).fit(target, backgrounds=background)
    row: Row = {"seconds": time.perf_counter() - start, "value": model.certificate_.upper}
    if memory:
        tracemalloc.start()
        UCA(**options).fit(target, backgrounds=background)
        row["megabytes"] = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    return row


def _medians(rows: list[Row]) -> list[Row]:
    table = []
    for route in ROUTES:
        for p in sorted({row["p"] for row in rows}):
            chosen = [row for row in rows if row["route"] == route and row["p"] == p]
            if chosen:
                seconds = float(np.median([row["seconds"] for row in chosen]))
                table.append({"route": route, "p": p, "median seconds": seconds, "megabytes": chosen[0]["megabytes"]})
    return table


def _draw(rows: list[Row], table: list[Row], sizes: tuple[int, ...]) -> Any:
    figure, axes = pyplot().subplots(1, 3, figsize=(13, 4), layout="constrained")
    for axis, scale in zip(axes[:2], ("linear", "log"), strict=True):
        for i, (route, colour) in enumerate(COLOURS.items()):
            for j, p in enumerate(sizes):
                seconds = [row["seconds"] for row in rows if row["route"] == route and row["p"] == p]
                if seconds:
                    box = axis.boxplot(seconds, positions=[j + 0.25 * (i - 1)], widths=0.2, patch_artist=True, sym=".")
                    box["boxes"][0].set(facecolor=colour, alpha=0.6)
        axis.set_xticks(range(len(sizes)), [f"{p:,}" for p in sizes])
        axis.set(yscale=scale, xlabel="features p", ylabel=f"seconds ({scale})")
    for route, colour in COLOURS.items():
        points = [(row["p"], row["megabytes"]) for row in table if row["route"] == route]
        axes[2].plot(*zip(*points, strict=True), "o-", color=colour, label=route)
    axes[2].set(xlabel="features p", ylabel="extra memory, megabytes (log)", yscale="log")
    figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure
