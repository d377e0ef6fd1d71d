"""Does the target vary more along each component than every background, on held-out rows?

What is tested. Component k is *unique* if, on held-out rows, the target varies along it more than each
background (scaled as the model scales), **and** more than along an average direction of its own (``tr(A)/p``, which a
mixture of all directions attains without any contrast). The second condition costs little power and is needed where
every dataset is scaled by itself: a target of pure noise varies more than a structured background along the directions
that the structure leaves empty, although there is nothing of its own in it.

How. A random half of every dataset's subjects fits the model, the other half measures its components
(:mod:`.heldout`); then the halves change roles; then all is repeated with other halves. For every background, and for
the average direction, the z-scores of the repetitions are averaged, and the mean is divided by the largest standard
deviation that it can have under the null hypothesis (:func:`spread`). The p-value of a component is the largest over
backgrounds and average (intersection-union); p-values are made monotone over components, which is the rule "stop at the
first that fails". So the chance of calling anything unique in data without any unique component is held at ``alpha``: to
what accuracy, and for which data, ``docs/inference.md`` shows by simulation.

Why the mean. A single split is valid and depends on luck; twice the median p-value is valid under any dependence and
loses most of what repetition gains; folds that are pooled as if they were independent are liberal, because they share
training rows. In the limit of many rows the mean of z over all halves has variance at most 1/2 under the null hypothesis,
*whatever rule chooses the direction* (proof: ``docs/inference.md``), and one pair of halves at most 1: so H random
halvings have at most ``1/2 + 1/(2 H)``.

What is left out. Exchanging labels is most of the work, and can only make a z smaller. A p-value above ``OPEN``, one half,
says that a mean z is below 0; with exchanged labels it is as well. So labels wait until the p-value without them is ``OPEN``
or below, and are then made up for in every half; components whose p-value stays above, and all after them, are not unique in
either case.

How many halvings. Another seed gives other halves and another p-value. With ``n_splits="auto"`` halvings are added until
the random error of p is small beside its distance from ``alpha``, or there are ``MOST_SPLITS``; the result carries the
error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

import numpy as np
from scipy.special import ndtr, stdtrit
from scipy.stats import norm

from .._parameters import check_choice, check_n_components, check_positive_int
from .._subjects import halves
from .._types import Array, Backgrounds, Groups, Rows
from ..estimators.bounded import BoundedTransformer
from ..means import MeanDifferences, mean_differences_of_rows
from ..operators.statistics.blocks import divisor
from .cautions import examine
from .heldout import HeldOut, by_exchanged_labels, held_out, smaller
from .outcome import PARAMETERS, UniquenessTest, errors_from_level
from .parallel import quietly, run, streams
from .parameters import check_alpha, check_model, seed_of, takes_gaps
from .sample import Sample, check_sample

ORDERS = ("model", "contrast")
SPREAD = (
    0.5  # variance of the mean z over all halves, under the null hypothesis: bound (docs/inference.md has the proof)
)
SPREAD_ONE = 1.0  # the same for one pair of halves
SMALL_SAMPLE = 6.0  # rows or subjects: what the smallest dataset's number adds to it, as 1 + SMALL_SAMPLE / number
DEFAULT_COMPONENTS = 5  # components, where no number is given
AUTO = "auto"
ROUND = 10  # random halvings at least, and in a step
MOST_SPLITS = 100  # at most, where their number is not given
OPEN = 0.5  # p-values above it, without exchanged labels, are left at that
KEPT = 2**23  # numbers in the components of all halves, up to which they are kept; beyond, halves are fitted again
SURE = 3.0  # random errors between a p-value and the level at which halvings end
FIT_TOLERANCE = 1e-4  # of the refits: any direction of the training half gives a valid test, a good one is enough


def uniqueness_test(
    X: Rows,
    backgrounds: Backgrounds = None,
    *,
    n_components: int | None = None,
    n_splits: int | str = AUTO,
    groups: Groups = None,
    alpha: float = 0.05,
    random_state: Any = None,
    model: BoundedTransformer | None = None,
    order: str = "model",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> UniquenessTest:
    """Test which components vary more in the target than in every background, on held-out rows.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n, p)
        Rows of the target.
    backgrounds : array, list or tuple of arrays, or dict of name -> array
    n_components : int, optional
        Components to test, in order. Default: 5, or as many as there are features (half as many for a sequential model).
    n_splits : int or "auto", default="auto"
        Random halvings; each is used both ways, so there are twice as many fits. "auto": 10, and ten more at a time, up
        to 100, while the random error of a p-value leaves open on which side of ``alpha`` it lies.
    groups : optional
        Subjects of the rows, where several rows belong to one (repeated measurements, cells of one donor): a list with one
        sequence of labels for each dataset, target first (None: rows are independent); a dict of name -> labels with the key
        ``"target"``; or one sequence for the target alone or for all rows stacked. Equal labels are one subject, also
        across datasets. Subjects stay on one side of a split, and standard errors count subjects, not rows. **Without
        groups, repeated rows make the test say "unique" far too often.** Every dataset needs eight groups; for fewer see
        :func:`~uca.inference.leave_one_group_out`.
    alpha : float, default=0.05
        Level of the test; intervals cover ``1 - alpha``.
    random_state : int, RandomState or None, default=None
        Seed of the splits. None is 0, here and on the command line.
    model : UCA, optional
        Its parameters (``scale``, ``bound``, ``components``, ``center``, ``missing``) are used; it need not be fitted. With
        ``missing="em"`` rows may have gaps: covariances are estimated separately in every half that is fitted and in every
        half that is held out.
    order : {"model", "contrast"}, default="model"
        What component 1, 2, … are: the model's own, or the same sorted by contrast (target variance minus the largest
        background variance) in the half that fitted them. Of joint components only the first respects the bounds, so a
        shared factor can come between unique ones, and the model's order stops there. To count, take ``"contrast"``, as
        :func:`~uca.inference.estimate_n_components` does; to judge the components of a fitted model, take ``"model"``.
    n_jobs : int, optional
        Workers (joblib); the result is the same for any number.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    UniquenessTest

    Notes
    -----
    Variances are relative to how the model scales: with ``scale=True`` each dataset is standardised by its own SD. A
    significant component is one whose variance is larger in the target; nothing is said about its cause, and a batch effect
    in the target is as unique as biology.

    Examples
    --------
    >>> import numpy as np
    >>> from uca.inference import uniqueness_test
    >>> rng = np.random.default_rng(0)
    >>> shared, unique = np.array([[3, 3, 0, 0, 0, 0]]), np.array([[0, 0, 2, 2, 0, 0]])
    >>> treated = rng.normal(size=(100, 1)) * shared + rng.normal(size=(100, 1)) * unique + rng.normal(size=(100, 6))
    >>> control = rng.normal(size=(100, 1)) * shared + rng.normal(size=(100, 6))
    >>> uniqueness_test(treated, {"control": control}, n_components=2).n_unique_
    1
    """
    alpha = check_alpha(alpha)
    check_splits(n_splits)
    check_choice("order", order, ORDERS)
    sample = check_sample(X, backgrounds, groups, gaps=takes_gaps(model))
    refit = model_of_halves(model, n_components, sample)
    return run_test(sample, refit, n_splits, alpha, seed_of(random_state), order, n_jobs, verbose)


def model_of_halves(
    model: BoundedTransformer | None,
    n_components: int | None,
    sample: Sample,
    *,
    most: int = DEFAULT_COMPONENTS,
    name: str = "n_components",
) -> BoundedTransformer:
    """The model that is fitted to halves; ``most`` components where no number is given."""
    refit = check_model(model, tol=FIT_TOLERANCE)
    p = sample.n_features
    if n_components is None:  # the last sequential ones seldom keep the bounds
        n_components = min(most, max(p // 2, 1) if refit.components == "sequential" else p)
    return refit.set_params(n_components=check_n_components(n_components, p, name=name))


def check_splits(n_splits: Any) -> None:
    """A positive number, or "auto"."""
    if not isinstance(n_splits, str):
        check_positive_int("n_splits", n_splits)
    elif n_splits != AUTO:
        raise ValueError(f'n_splits must be a positive number of halvings or "{AUTO}"; got {n_splits!r}')


def run_test(
    sample: Sample,
    model: BoundedTransformer,
    n_splits: int | str,
    alpha: float,
    seed: int,
    order: str,
    n_jobs: int | None,
    verbose: bool,
) -> UniquenessTest:
    """The test on a checked sample."""
    moderate, power = sample.in_moderate_units(model.scale)
    halves = measure(moderate, model, n_splits, alpha, seed, order, n_jobs, verbose)
    found = conclude(moderate, halves, model, alpha, order)
    if moderate is sample:
        return found
    in_units = {name: 4.0**power * getattr(found, name) for name in ("variances", "low", "high")}
    means = found.means if sample.incomplete else _mean_differences(sample, model)
    return replace(found, **in_units, means=means)


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
    seeds, options = streams(seed, most), _Options(n_jobs=n_jobs, verbose=verbose)
    # Rows with gaps: to fill them is the work, and must not be done twice.
    exchanged = model.n_components if sample.incomplete else 0
    keep = 2 * most * model.n_components * sample.n_features <= KEPT
    measured: list[Halving] = []
    while True:
        now = seeds[len(measured) : len(measured) + step]
        measured += run(measure_halves, now, sample, model, order, exchanged, keep, what="halvings", **options)
        could_be = int(np.sum(judge(together(measured), sample).pvalues <= max(OPEN, alpha)))
        if could_be > exchanged:
            pairs = list(zip(seeds[: len(measured)], measured, strict=True))
            which = slice(exchanged, could_be)
            measured = run(exchange_halves, pairs, sample, model, which, order, what="exchanges of labels", **options)
            exchanged = could_be
        halves = together(measured)
        if len(measured) == most or settled(judge(halves, sample), alpha):
            return halves


class _Options(TypedDict):
    n_jobs: int | None
    verbose: bool


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


def spread(z: Array, smallest: int) -> Array:
    """Variance to allow the mean of z over all halves, axis 0, under the null hypothesis.

    ``1/2 + 1/(2 H)`` for H halvings is the most that it can be in large samples, where a single z has variance 1. Where the
    z of different halves agree more than that allows, as where a few rows decide in all of them, their mean varies by the
    rest; where they vary by more than 1, as with few rows or heavy tails, so does the mean. ``smallest`` is the number of
    independent rows or subjects of the smallest dataset: errors of few are uncertain themselves.
    """
    n_splits = len(z) // 2
    room = 1.0 + SMALL_SAMPLE / smallest
    share = SPREAD + (SPREAD_ONE - SPREAD) / n_splits
    least = np.full(z.shape[1:], share)
    if n_splits == 1:
        return room * least
    within = _variance(z)
    return room * np.maximum.reduce([least, 1.0 - within, share * within])


def _variance(z: Array) -> Array:
    return ((z - z.mean(axis=0)) ** 2).sum(axis=0) / divisor(len(z))


@dataclass(frozen=True)
class Judged:
    """p-values, (m + 1, k), those of components, (k,), and the random errors of these, (k,); NaN after one halving."""

    separate: Array
    pvalues: Array
    errors: Array


def judge(halves: HeldOut, sample: Sample) -> Judged:
    """p-values from z of all halves, (halves, m + 1, k)."""
    allowed = np.sqrt(spread(halves.z, min(sample.n_subjects)))
    z = halves.z.mean(axis=0) / allowed
    separate = ndtr(-z)
    pairs = (halves.z[::2] + halves.z[1::2]) / 2
    luck = np.sqrt(_variance(pairs) / len(pairs)) if len(pairs) > 1 else np.nan
    error = norm.pdf(z) / allowed * luck
    # A component's p-value is the largest over backgrounds and over the components before it.
    flat = separate.max(axis=0)
    leading = np.array([np.argmax(flat[: i + 1]) for i in range(len(flat))])
    own = np.take_along_axis(error, separate.argmax(axis=0)[np.newaxis], axis=0)[0]
    return Judged(separate, flat[leading], own[leading])


def settled(judged: Judged, alpha: float) -> bool:
    """Whether no p-value that decides is nearer to the level than its random error allows."""
    for p, error in zip(judged.pvalues, judged.errors, strict=True):
        if errors_from_level(p, error, alpha) <= SURE:
            return False
        if p > alpha:
            break
    return True


def _mean_differences(sample: Sample, model: BoundedTransformer) -> MeanDifferences | None:
    if not model.center:
        return None
    return mean_differences_of_rows(sample.arrays, sample.names, sample.columns, sample.n_subjects)


def conclude(
    sample: Sample, halves: HeldOut, model: BoundedTransformer, alpha: float, order: str = "model"
) -> UniquenessTest:
    """The result from what all halves measured, arrays of shape (halves, m + 1, k)."""
    n_splits, judged = len(halves.z) // 2, judge(halves, sample)
    whole = quietly(sample.fit, check_model(model, proof="none"))
    centre = halves.log_variance.mean(axis=0)
    reach = (stdtrit(halves.df, 1.0 - alpha / 2) * halves.error).mean(axis=0)
    reach *= np.sqrt(SPREAD + (SPREAD_ONE - SPREAD) / n_splits)
    return UniquenessTest(
        n_unique_=int(np.sum(judged.pvalues <= alpha)),
        pvalues=judged.pvalues,
        pvalue_errors=judged.errors,
        background_pvalues=judged.separate[:-1].T.copy(),
        average_pvalues=judged.separate[-1].copy(),
        variances=np.exp(centre).T,
        low=np.exp(centre - reach).T,
        high=np.exp(centre + reach).T,
        kept=halves.kept.mean(axis=0),
        background_names=sample.names,
        alpha=alpha,
        n_splits=n_splits,
        n_rows=sample.n_rows,
        n_subjects=sample.n_subjects,
        grouped=sample.grouped,
        n_features=sample.n_features,
        order=order,
        parameters={name: getattr(model, name) for name in PARAMETERS if hasattr(model, name)},
        rows=examine(sample, chosen(whole, order), whole),
        means=whole.mean_differences_ if sample.incomplete else _mean_differences(sample, model),
        prefix=model.component_prefix,
    )
