"""Steps of pipelines, checked, and backgrounds that a pipeline hands to a step without taking them through those before it.

``make_pipeline(PCA(6), UCA()).fit(X, uca__backgrounds=B)`` transforms X and leaves B alone. The step cannot see that from
the arrays, but it can see who calls it: a ``Pipeline`` that has other steps before this one and no
``transform_input=["backgrounds"]``. That alone is told, as an error where the features then differ and as a warning where
they do not. Subclasses of ``Pipeline`` know what they do and are left alone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._validation import FeaturesDifferError

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

PIPELINES = ("sklearn.pipeline", "uca.pipeline")  # modules whose methods hand backgrounds to steps


@dataclass(frozen=True)
class SkippedSteps:
    """A step that got backgrounds as they were, and the steps before it that they did not go through."""

    step: str
    before: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What happened, and the way that works."""
        *first, last = map(repr, self.before)
        names = f"{', '.join(first)} and {last}" if first else last
        return (
            f"the backgrounds reached step {self.step!r} untransformed: a Pipeline takes only the target through the "
            f"step{'s' if len(self.before) > 1 else ''} before it ({names}). "
            "Use uca.ContrastivePipeline(pipeline.steps).fit(X, backgrounds=...), which takes the backgrounds along"
        )


def skipped_steps(estimator: Any) -> SkippedSteps | None:
    """Which steps the backgrounds of a fit that is under way did not go through; None where no pipeline skipped any."""
    module = sys.modules.get("sklearn.pipeline")
    if module is None:  # then nothing can be a Pipeline
        return None
    inner, frame = estimator, sys._getframe(1)
    while (frame := frame.f_back) is not None:  # type: ignore[assignment]
        # Only frames of pipelines are opened: one of the user's would keep what is deleted there alive until it returns.
        owner = frame.f_locals.get("self") if frame.f_globals.get("__name__") in PIPELINES else None
        if owner is inner or not isinstance(owner, module.Pipeline):
            continue
        place = _place(owner, inner)
        if type(owner) is not module.Pipeline or place is None or "backgrounds" in (owner.transform_input or ()):
            return None
        before = tuple(name for name, step in owner.steps[:place] if not is_passthrough(step))
        if before:
            return SkippedSteps(owner.steps[place][0], before)
        inner = owner  # which may itself be a step
    return None


def _place(pipeline: Pipeline, inner: Any) -> int | None:
    """Where a step is; with a cache, scikit-learn fits a copy, which is known by its type."""
    steps = [step for _, step in pipeline.steps]
    found = [i for i, step in enumerate(steps) if step is inner]
    if pipeline.memory is not None:
        found += [i for i, step in enumerate(steps) if type(step) is type(inner)]
    return next(iter(found), None)


def is_passthrough(step: Any) -> bool:
    """Whether a step of a pipeline does nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def check_steps(steps: Any) -> None:
    """Refuse what is not a list of named steps, all but the last with ``transform``."""
    if not isinstance(steps, (list, tuple)) or not steps or not all(_is_pair(step) for step in steps):
        raise ValueError("steps must be a list of (name, estimator) with at least one entry")
    names = [name for name, _ in steps]
    if len(set(names)) < len(names) or any("__" in name for name in names):
        raise ValueError(f"names of steps must differ and not contain '__'; got {names}")
    for name, step in steps[:-1]:
        if not is_passthrough(step) and not (hasattr(step, "fit") and hasattr(step, "transform")):
            raise TypeError(f"step {name!r} must have fit and transform, or be 'passthrough'; got {step!r}")
    if not is_passthrough(steps[-1][1]) and not hasattr(steps[-1][1], "fit"):
        raise TypeError(f"the last step must have fit, or be 'passthrough'; got {steps[-1][1]!r}")


def _is_pair(step: Any) -> bool:
    return isinstance(step, (list, tuple)) and len(step) == 2 and isinstance(step[0], str)


@contextmanager
def told_of_skipped_steps(estimator: Any, backgrounds: Any) -> Iterator[None]:
    """Around the check of datasets: an error about features says which steps were skipped, and success is a warning."""
    skipped = None if backgrounds is None else skipped_steps(estimator)
    try:
        yield
    except FeaturesDifferError as error:
        if skipped is None:
            raise
        raise FeaturesDifferError(f"{error} Why: {skipped.sentence}.") from None
    if skipped is not None:
        warnings.warn(
            f"{skipped.sentence}. Unless they were transformed beforehand, target and backgrounds are in different units",
            UserWarning,
            stacklevel=_level_of_user(),
        )


def _level_of_user() -> int:
    """The stack level of the first line that is neither ours nor of the libraries between, seen from who asks."""
    frame, level = sys._getframe(1), 1
    between = ("uca", "sklearn", "joblib", "contextlib")
    while str(frame.f_globals.get("__name__", "")).split(".")[0] in between and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level
