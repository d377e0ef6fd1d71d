"""What random halves of the rows say of the components that were fitted to the other halves.

Promises: one stream of random numbers a halving, so that results do not depend on the number of workers, on rounds, or on
when labels are exchanged.

**What is left out.** Exchanging labels is most of the work, and can only make a z smaller. A p-value above ``OPEN``, one
half, says that a mean z is below 0; with exchanged labels it is as well. So labels wait until the p-value without them is
``OPEN`` or below, and are then made up for in every half; components whose p-value stays above, and all after them, are not
unique in either case.

**How many halvings.** Another seed gives other halves and another p-value. With ``n_splits="auto"`` halvings are added
until the random error of p is small beside its distance from ``alpha`` (:func:`~.judged.settled`), or there are
``MOST_SPLITS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from .._subjects import halves
from .._types import Array
from ..estimators.bounded import BoundedTransformer
from .heldout import HeldOut, by_exchanged_labels, held_out, smaller
from .judged import judge, settled
from .parallel import run, streams
from .sample import Sample

AUTO = "auto"
ROUND = 10  # random halvings at least, and in a step
MOST_SPLITS = 100  # at most, where their number is not given
OPEN = 0.5  # p-values above it, without exchanged labels, are left at that
KEPT = 2**23  # numbers in the components of all halves, up to which they are kept; beyond, halves are fitted again


def measure(
    sample: Sample,
    model: BoundedTransformer,
    n_splits: int | str,
    alpha: float,
    seed: int,
    order: str = "model",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> HeldOut:
    """What all halves say; by tens of halvings where their number is not given, until the p-values are settled."""
    most, step = (MOST_SPLITS, ROUND) if isinstance(n_splits, str) else (n_splits, n_splits)
    seeds, at_work = streams(seed, most), partial(run, n_jobs=n_jobs, verbose=verbose)
    # Rows with gaps: to fill them is the work, and must not be done twice.
    exchanged = model.n_components if sample.incomplete else 0
    keep = 2 * most * model.n_components * sample.n_features <= KEPT
    measured: list[Halving] = []
    while True:
        now = seeds[len(measured) : len(measured) + step]
        measured += at_work(measure_halves, now, sample, model, order, exchanged, keep, what="halvings")
        judged = judge(together(measured), sample)
        could_be = int(np.sum(judged.pvalues <= max(OPEN, alpha)))
        if could_be > exchanged:
            pairs = list(zip(seeds[: len(measured)], measured, strict=True))
            which = slice(exchanged, could_be)
            measured = at_work(exchange_halves, pairs, sample, model, which, order, what="exchanges of labels")
            exchanged, judged = could_be, judge(together(measured), sample)
        if len(measured) == most or settled(judged, alpha):
            return together(measured)


@dataclass(frozen=True)
class Halving:
    """Two halves: what each says about the components that were fitted to the other, and these, (k, p), if they are kept."""

    found: tuple[HeldOut, ...]
    components: tuple[Array | None, ...]


def together(halvings: Sequence[Halving]) -> HeldOut:
    """Arrays of :class:`~.heldout.HeldOut` with a first axis for all halves."""
    found = [half for halving in halvings for half in halving.found]
    return HeldOut(*(np.stack([getattr(half, field.name) for half in found]) for field in fields(HeldOut)))


def measure_halves(
    stream: np.random.SeedSequence,
    sample: Sample,
    model: BoundedTransformer,
    order: str = "model",
    exchanged: int = 0,
    keep: bool = True,
) -> Halving:
    """One halving, both ways, with labels exchanged for the leading ``exchanged`` components."""
    rng = np.random.default_rng(stream)
    found, kept = [], []
    for train, test in _both_ways(sample, rng):
        components = _fitted(sample, model, train, order)
        rows = (sample.take(test), sample.codes(test), components)
        found.append(held_out(*rows, center=bool(model.center), scale=model.scale, rng=rng, exchanged=exchanged))
        kept.append(components if keep else None)
    return Halving(tuple(found), tuple(kept))


def _fitted(sample: Sample, model: BoundedTransformer, train: Sequence[Array], order: str) -> Array:
    """Components of a fit to some rows, (k, p)."""
    return chosen(sample.fit_part(model, train, "a random half of the rows"), order)


def exchange_halves(
    halving: tuple[np.random.SeedSequence, Halving],
    sample: Sample,
    model: BoundedTransformer,
    which: slice,
    order: str = "model",
) -> Halving:
    """The same halving with labels exchanged for more components, as :func:`measure_halves` finds it."""
    stream, measured = halving
    rng = np.random.default_rng(stream)
    found = []
    for (train, test), half, kept in zip(_both_ways(sample, rng), measured.found, measured.components, strict=True):
        components = _fitted(sample, model, train, order) if kept is None else kept
        rows = (sample.take(test), sample.codes(test), components[which])
        by_labels = by_exchanged_labels(*rows, center=bool(model.center), scale=model.scale, rng=rng)
        found.append(replace(half, z=smaller(half.z, by_labels, which)))
    return replace(measured, found=tuple(found))


def _both_ways(sample: Sample, rng: np.random.Generator) -> tuple[tuple[Sequence[Array], Sequence[Array]], ...]:
    """Rows to fit and rows to measure, and the same in changed roles."""
    first = halves(sample.subjects, rng)
    sides = (first, tuple(~side for side in first))
    return sides, sides[::-1]


def chosen(model: BoundedTransformer, order: str) -> Array:
    """The components of a fitted model in the order of the test."""
    return model.components_[by_contrast(model) if order == "contrast" else slice(None)]


def by_contrast(model: BoundedTransformer) -> Array:
    """Places of the components, the one first that varies most in the target beyond the background it shares most with."""
    contrast = model.explained_variance_ - model.background_variance_.max(axis=1)
    return np.argsort(-contrast, kind="stable")
