"""The data of a report as one JSON document: arrays as base64, text escaped so that it cannot end its element.

Scores of the contrast steps and feature values are whole numbers between a smallest and a largest value (16 bits: finer
than a pixel); scores and loadings of the fitted components are float32.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from .._labels import CheckedLabels
from .._types import Array
from ..estimators.bounded import BoundedTransformer
from .contrast import FACTORS, OPTIMUM, ContrastPath, fixed_state
from .inputs import Inputs, plain
from .scores import choose_rows, frames, in_fit, take

FEATURE_VALUES = 400_000  # values of features that points can be coloured by: about 1 MB in the file
MAX_COMPONENTS = 10  # that the scatter offers
LARGEST_DRAWN, SMALLEST_DRAWN = 1e37, 1e-30  # single precision goes from 1e-38 to 3e38
MISSING = "(missing)"  # the group of rows without a label
MAX_LEVELS = 2**16  # groups that 16-bit codes tell apart; fewer points are drawn than that


def pack(array: Array, dtype: str) -> str:
    """An array as base64 of its little-endian bytes."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode()


def quantise(values: Array) -> dict[str, Any]:
    """16-bit steps between the smallest and the largest value along the last axis; 0 stands for no value."""
    with np.errstate(invalid="ignore"):
        low, high = np.nanmin(values, axis=-1), np.nanmax(values, axis=-1)
        span = np.where(high > low, high - low, 1.0)
        steps = np.rint((values - low[..., np.newaxis]) / span[..., np.newaxis] * 65_534) + 1
    return {"q": pack(np.where(np.isfinite(values), steps, 0), "u2"), "low": _digits(low), "span": _digits(span)}


def _digits(values: Array) -> Any:
    """Nested lists of numbers with seven digits."""
    return [float(f"{v:.7g}") for v in values] if values.ndim == 1 else [_digits(row) for row in values]


def assemble(model: BoundedTransformer, data: Inputs, path: ContrastPath | str, title: str) -> dict[str, Any]:
    """Everything that the page draws, ready for JSON."""
    k = min(len(model.components_), MAX_COMPONENTS)
    rows = choose_rows(data.n_rows, k, len(FACTORS))
    parts = in_fit(model, data.arrays)
    shown = [take(part.rows, chosen) for part, chosen in zip(parts, rows, strict=True)]
    fitted = model.components_[np.newaxis, :k].astype(float)
    standard = [part.standard for part in parts]
    scores = frames(shown, standard, fitted, model.score_scale_[np.newaxis, :k])[0]
    _check_drawable(scores)
    return {
        "title": plain(title),
        "method": type(model).__name__ if model.background_names_ else "PCA",
        "state": fixed_state(model),
        "k": k,
        "prefix": model.component_prefix,
        "datasets": [
            {
                "name": name,
                "n": n,
                "shown": len(chosen),
                "rows": None if len(chosen) == n else pack(chosen, "u4"),
                "ids": None if ids is None else [ids[i] for i in chosen],
            }
            for name, n, chosen, ids in zip(data.names, data.n_rows, rows, data.ids, strict=True)
        ],
        "labels": _labels(data.labels, rows[0]),
        "scores": pack(scores, "f4"),
        "path": None if isinstance(path, str) else _path(model, path, shown, standard),
        "noPath": path if isinstance(path, str) else "",
        "variance": _variance(model),
        "features": data.features,
        "loadings": pack(model.components_, "f4"),
        "patterns": None if getattr(model, "patterns_", None) is None else pack(model.patterns_, "f4"),
        "colour": _colour(model, shown, data),
        "image": data.image_shape,
    }


def _check_drawable(scores: Array) -> None:
    """Refuse scores that single precision, which pages draw with, cannot hold."""
    largest = float(np.nanmax(np.abs(scores), initial=0.0))
    if largest > LARGEST_DRAWN or 0 < largest < SMALLEST_DRAWN:
        raise ValueError(
            f"scores of size {largest:.1e} are too {'large' if largest > 1 else 'small'} for a page to draw: express the "
            "features in units nearer to 1, or fit with scale=True"
        )


def _labels(labels: CheckedLabels | None, rows: Array) -> dict[str, Any] | None:
    if labels is None:
        return None
    name = plain(labels.name or "label")
    if labels.values is not None:
        return {"name": name, "levels": None, "values": quantise(labels.values[rows][np.newaxis])}
    missing = labels.codes < 0
    levels = [plain(level) for level in labels.levels] + [MISSING] * bool(missing.any())
    total, codes = len(levels), np.where(missing, len(labels.levels), labels.codes)[rows]
    if total > MAX_LEVELS:  # only those of points that are drawn
        kept, codes = np.unique(codes, return_inverse=True)
        levels = [levels[i] for i in kept]
    return {"name": name, "levels": levels, "total": total, "codes": pack(codes, "u2")}


def _path(model: BoundedTransformer, path: ContrastPath, shown: Any, standard: Any) -> dict[str, Any]:
    deviation = np.sqrt(np.maximum(path.target, 0.0))
    scale = np.divide(1.0, deviation, out=np.ones_like(deviation), where=deviation > 0)
    values = frames(shown, standard, path.components, scale if model.whiten else np.ones_like(scale))
    return {
        "factors": _digits(FACTORS),
        "optimum": OPTIMUM,
        "target": _digits(path.target),
        "backgrounds": _digits(path.backgrounds),
        "lambdas": _digits(model.lambdas_.astype(float)),
        "scores": quantise(values),
    }


def _variance(model: BoundedTransformer) -> dict[str, Any]:
    target = model.explained_variance_.astype(float)
    return {
        "names": list(model.background_names_),
        "target": _digits(target),
        "ratio": _digits(model.explained_variance_ratio_.astype(float)),
        "backgrounds": _digits(model.background_variance_.astype(float)),
        "bounds": _digits(model.bounds_.astype(float)),
        "everyComponentBound": model.components == "sequential",
    }


def _colour(model: BoundedTransformer, shown: Any, data: Inputs) -> dict[str, Any]:
    """Values of features, strongest loadings first, as many as there is room for."""
    strength = np.abs(model.components_).max(axis=0)
    room = max(1, FEATURE_VALUES // max(sum(part.shape[0] for part in shown), 1))
    chosen = np.argsort(-strength, kind="stable")[:room]
    columns = [part[:, chosen] for part in shown]
    dense = [part.toarray() if hasattr(part, "toarray") else np.asarray(part) for part in columns]
    return {"features": chosen.tolist(), "values": quantise(np.concatenate(dense).T.astype(float))}


def to_json(document: dict[str, Any]) -> str:
    """JSON that can stand inside a script element whatever text it holds."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
