"""Is ``expected_background_variance_`` right? Predictions of a fit beside the variance that its background's law has.

The truth is the population variance along the fitted component, in the units of the fit: with ``scale=True`` each feature
is divided by the deviation that the background's own rows had in the fit. Laws: three shared factors (strong, weak or none;
with several backgrounds each has loadings of its own around the shared ones), a direction of the target's own (or none),
features in equal or unequal units. Rows are normal; other laws have the same covariances.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from uca import UCA
from uca.datasets import DataNotFoundError, load_mice
from uca.estimators.expected_words import FAR
from uca.inference import expected_background_variance
from uca.reproduce.mice import BACKGROUNDS

FEATURES = (20, 50, 100, 300, 1000, 3000)
TARGET_ROWS = (20, 50, 100, 200, 500)
BACKGROUND_ROWS = (15, 20, 30, 50, 100, 200, 500)
FACTORS = {"strong": 1.0, "weak": 0.25, "none": 0.0}
OF_BACKGROUND = 0.3  # how far loadings of several backgrounds differ
N_FITS = 400
N_OTHERS = 100  # of each law that is not normal
NEAR, TOO_FAR = 1.5, 4.0  # times the bound: what is called near, and what must then not be true


Parts = tuple[np.ndarray, np.ndarray]  # factors of rows, (n, f), and their noise, (n, p): of variance 1, uncorrelated


def normal(rng: np.random.Generator, n: int, f: int, p: int) -> Parts:
    return rng.normal(size=(n, f)), rng.normal(size=(n, p))


def heavy(rng: np.random.Generator, n: int, f: int, p: int) -> Parts:
    """Whole rows far away: a multivariate t with five degrees of freedom."""
    far = np.sqrt(3.0 / rng.chisquare(5, size=(n, 1)))
    return far * rng.normal(size=(n, f)), far * rng.normal(size=(n, p))


def skewed(rng: np.random.Generator, n: int, f: int, p: int) -> Parts:
    return rng.exponential(size=(n, f)) - 1.0, rng.exponential(size=(n, p)) - 1.0


def rare(rng: np.random.Generator, n: int, f: int, p: int) -> Parts:
    """Every factor lives in one row of ten: a small background may not show it at all."""
    return (rng.random((n, f)) < 0.1) * rng.normal(size=(n, f)) / np.sqrt(0.1), rng.normal(size=(n, p))


LAWS: dict[str, Callable[..., Parts]] = {
    "normal": normal,
    "heavy tails (multivariate t5)": heavy,
    "skewed (exponential)": skewed,
    "factors in one row of ten": rare,
}


def factor_rows(rng: np.random.Generator, n: int, loadings: np.ndarray, law: Callable[..., Parts]) -> np.ndarray:
    factors, noise = law(rng, n, *loadings.shape)
    return factors @ loadings + noise


@dataclass(frozen=True)
class Setting:
    """One fit."""

    p: int
    n_target: int
    n_background: tuple[int, ...]
    factors: str
    strength: float
    scale: bool
    units: bool


def setting(rng: np.random.Generator) -> Setting:
    """A random one."""
    m = int(rng.choice([1, 1, 2, 3]))
    p = int(rng.choice(FEATURES))
    return Setting(
        p=p,
        n_target=int(rng.choice(TARGET_ROWS)),
        n_background=tuple(rng.choice(BACKGROUND_ROWS, size=m).tolist()),
        factors=str(rng.choice(list(FACTORS))),
        strength=float(rng.choice([0.0, 2.0, np.sqrt(p)])),
        scale=bool(rng.integers(2)),
        units=bool(rng.integers(2)),
    )


def one_fit(seed: int, law: str = "normal") -> list[dict[str, Any]]:
    """Prediction and truth for every component and background of one fit."""
    rows = partial(factor_rows, law=LAWS[law])
    rng = np.random.default_rng([seed, 8])
    s = setting(rng)
    deviations = np.exp(rng.normal(size=s.p) / 2) if s.units else np.ones(s.p)
    shared = FACTORS[s.factors] * rng.normal(size=(3, s.p))
    several = OF_BACKGROUND * FACTORS[s.factors] * (len(s.n_background) > 1)
    loadings = [shared + several * rng.normal(size=shared.shape) for _ in s.n_background]
    own = rng.normal(size=s.p)
    own *= s.strength / np.linalg.norm(own)
    target = rows(rng, s.n_target, shared) + rng.normal(size=(s.n_target, 1)) * own
    backgrounds = [rows(rng, n, part) * deviations for n, part in zip(s.n_background, loadings, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = UCA(n_components=2, scale=s.scale).fit(target * deviations, backgrounds=backgrounds)
    found = []
    for j, (background, part) in enumerate(zip(backgrounds, loadings, strict=True)):
        units = deviations / background.std(axis=0, ddof=1) if s.scale else deviations
        for i, v in enumerate(model.components_ * units):
            truth = float(v @ v + np.sum((part @ v) ** 2))
            found.append(
                {
                    "seed": seed,
                    "component": i + 1,
                    "p": s.p,
                    "rows": s.n_background[j],
                    "backgrounds": len(s.n_background),
                    "factors": s.factors,
                    "scale": s.scale,
                    "bound": float(model.bounds_[j]),
                    "in rows": float(model.background_variance_[i, j]),
                    "lambda": float(model.lambdas_[j]),
                    "used": float(model.rows_used_[j]),
                    "expected": float(model.expected_background_variance_[i, j]),
                    "truth": truth,
                }
            )
    return found


def judge(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How predictions compare with the truth."""
    expected, truth, bound = (np.array([row[key] for row in found]) for key in ("expected", "truth", "bound"))
    usable = np.isfinite(expected)
    ratio = expected[usable] / truth[usable]
    return {
        "n": len(found),
        "usable": float(usable.mean()),
        "median": float(np.median(ratio)),
        "low": float(np.quantile(ratio, 0.05)),
        "high": float(np.quantile(ratio, 0.95)),
        "smallest": float(ratio.min()),
        "largest": float(ratio.max()),
        "within 2": float(np.mean((ratio > 0.5) & (ratio < 2.0))),
        "in rows, within 2": float(np.mean([0.5 < row["in rows"] / row["truth"] < 2.0 for row in found])),
        "near, but far": int(np.sum((expected < NEAR * bound) & (truth > TOO_FAR * bound))),
        "truth above twice the bound": float(np.mean(truth > FAR * bound)),
    }


def kinds(found: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the table."""
    first = [row for row in found if row["component"] == 1]
    bound = [row for row in first if row["lambda"] > 0]
    return {
        "UC1": first,
        "bound active": bound,
        "bound not active": [row for row in first if row["lambda"] == 0],
        "rows used < 1/4": [row for row in bound if row["used"] < 0.25 * (row["rows"] - 1)],
        "rows used 1/4 to 1/2": [row for row in bound if 0.25 <= row["used"] / (row["rows"] - 1) < 0.5],
        "rows used > 1/2": [row for row in bound if row["used"] >= 0.5 * (row["rows"] - 1)],
        **{f"{n} background{'s' * (n > 1)}": [row for row in first if row["backgrounds"] == n] for n in (1, 2, 3)},
        **{f"factors {name}": [row for row in first if row["factors"] == name] for name in FACTORS},
        "scale=True": [row for row in first if row["scale"]],
        "scale=False": [row for row in first if not row["scale"]],
        "p ≥ 300": [row for row in first if row["p"] >= 300],
        "UC2": [row for row in found if row["component"] == 2],
    }


def part(scale: float, known: dict[str, Any]) -> dict[str, Any]:
    """Predictions against truths, and the mice."""
    fits = Parallel(n_jobs=-1)(delayed(one_fit)(seed) for seed in range(max(40, round(N_FITS * scale))))
    found = [row for fit in fits for row in fit]
    table = {name: judge(chosen) for name, chosen in kinds(found).items() if chosen}
    for law in list(LAWS)[1:]:
        others = Parallel(n_jobs=-1)(delayed(one_fit)(seed, law) for seed in range(max(20, round(N_OTHERS * scale))))
        table[f"UC1, {law}"] = judge([row for fit in others for row in fit if row["component"] == 1])
    for name, row in table.items():
        print(
            f"{name:<22} n {row['n']:4d}  usable {row['usable']:.2f}  median {row['median']:.2f} "
            f"[{row['low']:.2f}, {row['high']:.2f}] ({row['smallest']:.2f} to {row['largest']:.2f})  within 2: "
            f"{row['within 2']:.3f} (in rows {row['in rows, within 2']:.3f})  near, but far: {row['near, but far']}",
            flush=True,
        )
    points = [
        [round(row[key], 4) if np.isfinite(row[key]) else None for key in ("expected", "truth", "bound", "in rows")]
        for row in kinds(found)["UC1"]
    ]
    return {"table": table, "points": points, "n_fits": len(fits), "mice": mice()}


def mice() -> list[dict[str, Any]] | None:
    """Both analyses of the paper: predicted, and by leaving out rows, and mice."""
    try:
        data = load_mice()
    except (DataNotFoundError, OSError) as error:
        print(f"mouse proteins: {error}")
        return None
    out = []
    for target, backgrounds in ((("c-SC-s", "t-SC-s"), ("c-CS-s",)), (("c-CS-s", "t-CS-s"), BACKGROUNDS)):
        groups = [data.labels(*classes)[1] for classes in (target, *((b,) for b in backgrounds))]
        tables = {b: data.rows(b) for b in backgrounds}
        by_row, by_mouse = (
            expected_background_variance(data.rows(*target), tables, groups=given, n_components=1)
            for given in (None, groups)
        )
        for j, name in enumerate(backgrounds):
            out.append(
                {
                    "background": name,
                    "in rows": float(by_row.model.background_variance_[0, j]),
                    "predicted": float(by_row.model.expected_background_variance_[0, j]),
                    "rows left out": float(by_row.expected[0, j]),
                    "mice left out": float(by_mouse.expected[0, j]),
                    "error": float(by_mouse.error[0, j]),
                }
            )
            print(f"mice, {out[-1]}", flush=True)
    return out
