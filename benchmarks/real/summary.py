"""From figures of every split to what is saved: means, intervals, and differences that are paired by split."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .methods import COMPONENTS, SCALES, named
from .scoring import METRICS, figure, interval

DECIDES = figure("AUC", 2)  # chosen beforehand


def summarise(kept: dict[str, Any]) -> dict[str, Any]:
    """What the page is made of, from the figures of every split."""
    settings = {values["name"]: _setting(values) for values in kept["values"]}
    return {"splits": kept["splits"], "settings": settings, "skipped": kept["skipped"]}


def _setting(values: dict[str, Any]) -> dict[str, Any]:
    whole = {name: figures for name, figures in values["found"].items() if name not in values["reasons"]}
    deciding = {name: np.array(figures[DECIDES]) for name, figures in whole.items()}
    splits = max(map(len, deciding.values()))
    best = max((name for name in deciding if len(deciding[name]) == splits), key=lambda name: deciding[name].mean())
    return {
        **values["shape"],
        "units": values["units"],
        "best": best,
        "runs": {
            name: {
                "splits": len(deciding[name]),
                "seconds": round(values["seconds"][name] / len(deciding[name]), 4),
                **{
                    figure(metric, k): _rounded(interval(np.array(figures[figure(metric, k)])))
                    for metric in METRICS
                    for k in COMPONENTS
                },
                **_differences(name, best, deciding),
            }
            for name, figures in whole.items()
        },
        "reasons": values["reasons"],
    }


def _differences(name: str, best: str, deciding: dict[str, np.ndarray]) -> dict[str, list[float | None]]:
    """Of the figure that decides, paired by split: from the best, and from other methods with the same scaling."""
    scale = next((scale for scale in SCALES if name.endswith(f", {scale}")), "scaled")
    other = name.removesuffix(", scaled") + ", unscaled"
    pairs = {"behind the best": (best, name)}
    pairs |= {f"ahead of {method}": (name, named(method, scale)) for method in ("PCA", "UCA")}
    if name.endswith(", scaled"):
        pairs["unscaled ahead of scaled"] = (other, name)
    return {told: paired(deciding[a], deciding[b]) for told, (a, b) in pairs.items() if a in deciding and b in deciding}


def paired(first: np.ndarray, second: np.ndarray) -> list[float | None]:
    """Mean difference in the splits that both have, and half the width of its interval."""
    n = min(len(first), len(second))
    return _rounded(interval(first[:n] - second[:n]))


def _rounded(pair: tuple[float, float]) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 4) for value in pair]
