"""Does the target vary more along each component than every background, on rows that did not choose it?

What is tested. Component k is *unique* if, on rows that did not choose it, the target varies along it more than each
background (scaled as the model scales), **and** more than along an average direction of its own (``tr(A)/p``, which a
mixture of all directions attains without any contrast). The second condition costs little power and is needed where
every dataset is scaled by itself: a target of pure noise varies more than a structured background along the directions
that the structure leaves empty, although there is nothing of its own in it.

How. A random half of every dataset's subjects fits the model, the other half measures its components
(:mod:`.heldout`); then the halves change roles; then all is repeated with other halves. For every background, and for
the average direction, the z-scores of the repetitions are averaged, and the mean is divided by its standard deviation
under the null hypothesis (:data:`SPREAD`). The p-value of a component is the largest over backgrounds and average
(intersection-union); p-values are made monotone over components, which is the rule "stop at the first that fails". So
the chance of calling anything unique in data without any unique component is held at ``alpha``: to what accuracy, and
for which data, ``docs/inference.md`` shows by simulation.

Why the mean. A single split is valid and depends on luck; twice the median p-value is valid under any dependence and
loses most of what repetition gains; folds that are pooled as if they were independent are liberal, because they share
training rows. The variance of the mean of z over all halves is 1/2 for a direction that does not depend on the split,
and less for one that does; z of small halves varies by more than 1, and where roles change the halves are not independent.
``SPREAD`` and what :func:`spread` adds leave room for both (``docs/inference.json`` has what was measured).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit

from .._parameters import check_choice, check_n_components, check_positive_int, seed_from
from .._types import Array, Backgrounds, Groups, Rows
from ..estimators.bounded import BoundedTransformer
from ..estimators.summary import Summary, text_table
from ..operators.statistics.blocks import divisor
from .heldout import HeldOut, held_out
from .parallel import run, streams
from .parameters import check_alpha, check_model
from .sample import Sample, check_sample
from .subjects import halves

ORDERS = ("model", "contrast")
PARAMETERS = ("center", "scale", "bound", "components")
SPREAD = 0.6  # variance of the mean z over many halves, under the null hypothesis: bound, with room
SMALL_SAMPLE = 4.0  # rows or subjects: what the smallest dataset's number adds to it, as 1 + SMALL_SAMPLE / number
SPREAD_ONE = 0.8  # the same for one pair of halves
DEFAULT_COMPONENTS = 5  # components, where no number is given
FEW = 30  # rows or subjects below which the result says that they are few
N_SPLITS = 10  # random halvings; more make the p-value depend less on luck, and cost time
FIT_TOLERANCE = 1e-4  # of the refits: any direction of the training half gives a valid test, a good one is enough


@dataclass(frozen=True, eq=False)
class UniquenessTest:
    """Result of :func:`uniqueness_test`; ``print`` it for the table.

    Attributes
    ----------
    n_unique_ : int
        Number of leading components that are unique at level ``alpha``.
    pvalues : array of shape (k,)
        Overall p-value of each component, monotone: the level at which it and all before it are called unique.
    background_pvalues : array of shape (k, m)
        Does the target vary more than this background?
    average_pvalues : array of shape (k,)
        Does the target vary more along the component than along an average direction?
    variances : array of shape (k, m + 1)
        Held-out variance in the target (first) and in each background, geometric means over the splits.
    low, high : arrays of shape (k, m + 1)
        Ends of ``1 - alpha`` intervals for them.
    kept : array of shape (k,)
        Share of each component (of its squared length) in features that vary in the held-out rows of every dataset, mean
        over halves. The rest is not tested.
    background_names : tuple of str
    alpha : float
    n_splits : int
    n_rows, n_subjects : tuple of int
        Rows, and independent subjects, of the target and each background.
    grouped : bool
        Whether ``groups`` were given.
    n_features : int
    order : str
        What the components are counted by: ``"model"`` or ``"contrast"``.
    parameters : dict
        Those of the model that matter: ``center``, ``scale``, ``bound`` and ``components``.
    """

    n_unique_: int
    pvalues: Array
    background_pvalues: Array
    average_pvalues: Array
    variances: Array
    low: Array
    high: Array
    kept: Array
    background_names: tuple[str, ...]
    alpha: float
    n_splits: int
    n_rows: tuple[int, ...]
    n_subjects: tuple[int, ...]
    grouped: bool
    n_features: int
    order: str
    parameters: dict[str, Any]
    prefix: str = "UC"

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row a component, as plain numbers: ready for a DataFrame or JSON."""
        names = ["target variance", *(f"variance in {name}" for name in self.background_names)]
        return [
            {
                "component": i + 1,
                **{
                    name: (float(self.variances[i, j]), float(self.low[i, j]), float(self.high[i, j]))
                    for j, name in enumerate(names)
                },
                **{
                    f"p against {name}": float(p)
                    for name, p in zip(self.background_names, self.background_pvalues[i], strict=True)
                },
                "p, average direction": float(self.average_pvalues[i]),
                "p": float(self.pvalues[i]),
                "unique": bool(self.pvalues[i] <= self.alpha),
            }
            for i in range(len(self.pvalues))
        ]

    @property
    def sentence(self) -> str:
        """The result in words."""
        k, n = len(self.pvalues), self.n_unique_
        others = f"every one of {len(self.background_names)} backgrounds"
        found = "No component varies" if n == 0 else f"{self._named(n)} {'varies' if n == 1 else 'vary'}"
        units = ", each in units of its own deviations" if self.parameters["scale"] is True else ""
        text = (
            f"{found} more in the target than in {'the background' if len(self.background_names) == 1 else others}{units}, "
            f"on rows that did not choose {'it' if n < 2 else 'them'} (level {100 * self.alpha:g} %, {self._sizes()}, "
            f"{self.n_splits} random halving{'' if self.n_splits == 1 else 's'})."
        )
        if self.order == "contrast":
            text += (
                " Components are counted by their contrast in the rows that chose them, not in the order of the model."
            )
        if n < k:
            text += f" {self._name(n)}: {self._reason(n)}."
            if self.kept[n] < 0.5:
                text += (
                    f" But {100 * (1 - self.kept[n]):.0f} % of it lies in features that are constant in some dataset, or in "
                    "half of its rows, and the test leaves these out: look at them by themselves."
                )
        elif k > 1:
            text += f" {'Both' if k == 2 else f'All {k}'} that were tested are unique; there may be more."
        if min(self.n_subjects) < FEW:
            text += (
                f" The smallest dataset has {min(self.n_subjects)} independent {'subjects' if self.grouped else 'rows'}: "
                "few, so take p-values near the level with care."
            )
        return text

    def _name(self, i: int) -> str:
        """UC1 is the first component of the model; by contrast, components have a rank only."""
        return f"{self.prefix}{i + 1}" if self.order == "model" else f"Component {i + 1}"

    def _named(self, n: int) -> str:
        """The first ``n`` components."""
        if n == 1:
            return self._name(0)
        ends = f"{self._name(0)} {'and' if n == 2 else 'to'} {self._name(n - 1)}"
        return ends if self.order == "model" else f"Components 1 {'and' if n == 2 else 'to'} {n}"

    def _sizes(self) -> str:
        """Independent units of every dataset."""
        sizes = [
            f"{name} {f'{n} subjects with {rows} rows' if n < rows else f'{rows} rows'}"
            for name, n, rows in zip(("target", *self.background_names), self.n_subjects, self.n_rows, strict=True)
        ]
        return ", ".join(sizes)

    def _reason(self, i: int) -> str:
        p = [*self.background_pvalues[i], self.average_pvalues[i]]
        worst = int(np.argmax(p))
        name = (
            "an average direction of the target"
            if worst == len(self.background_names)
            else repr(self.background_names[worst])
        )
        return f"p = {p[worst]:.2g} against {name}"

    def __str__(self) -> str:
        return str(self.summary())

    def summary(self) -> Summary:
        """The table and the sentence as text."""
        names = ("target", *self.background_names)
        header = ["component", *names, *(f"p, {name}" for name in self.background_names), "p, average", "p", ""]
        rows = [
            [
                f"{self.prefix}{i + 1}" if self.order == "model" else f"{i + 1}",
                *(
                    f"{v:.3g} [{a:.3g}, {b:.3g}]"
                    for v, a, b in zip(self.variances[i], self.low[i], self.high[i], strict=True)
                ),
                *(p_text(value) for value in self.background_pvalues[i]),
                p_text(self.average_pvalues[i]),
                p_text(self.pvalues[i]),
                "unique" if i < self.n_unique_ else "",
            ]
            for i in range(len(self.pvalues))
        ]
        title = f"Variance on held-out rows, with {100 * (1 - self.alpha):g} % intervals"
        return Summary("\n".join([title, "", *text_table(header, rows), "", self.sentence]))


def uniqueness_test(
    X: Rows,
    backgrounds: Backgrounds,
    *,
    n_components: int | None = None,
    n_splits: int = N_SPLITS,
    groups: Groups = None,
    alpha: float = 0.05,
    random_state: Any = None,
    model: BoundedTransformer | None = None,
    order: str = "model",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> UniquenessTest:
    """Test which components vary more in the target than in every background, on rows that did not choose them.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n, p)
        Rows of the target.
    backgrounds : array, list or tuple of arrays, or dict of name -> array
    n_components : int, optional
        Components to test, in order. Default: 5, or as many as there are features (half as many for a sequential model).
    n_splits : int, default=10
        Random halvings; each is used both ways, so there are twice as many fits.
    groups : optional
        Subjects of the rows, where several rows belong to one (repeated measurements, cells of one donor): a list with one
        sequence of labels for each dataset, target first (None: rows are independent); a dict of name -> labels with the key
        ``"target"``; or one sequence for the target alone or for all rows stacked. Equal labels are one subject, in whatever
        dataset. Subjects stay on one side of a split, and standard errors count subjects, not rows. **Without groups,
        repeated rows make the test say "unique" far too often.**
    alpha : float, default=0.05
        Level of the test; intervals cover ``1 - alpha``.
    random_state : int, RandomState or None, default=None
        Seed of the splits. None is a fixed seed.
    model : UCA, optional
        Its parameters (``scale``, ``bound``, ``components``, ``center``) are used; it need not be fitted.
    order : {"model", "contrast"}, default="model"
        What component 1, 2, … are: the model's own, or the same sorted by contrast (target variance less the largest
        background variance) in the half that fitted them. Of joint components only the first keeps the bounds, so a shared
        factor can stand between unique ones, and the model's order stops there. To count, take ``"contrast"``, as
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
    Variances are relative to how the model scales: with ``scale=True`` each dataset is in units of its own deviations. A
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
    check_positive_int("n_splits", n_splits)
    check_choice("order", order, ORDERS)
    sample = check_sample(X, backgrounds, groups)
    refit = model_of_halves(model, n_components, sample)
    return run_test(sample, refit, n_splits, alpha, seed_from(random_state), order, n_jobs, verbose)


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


def run_test(
    sample: Sample,
    model: BoundedTransformer,
    n_splits: int,
    alpha: float,
    seed: int,
    order: str,
    n_jobs: int | None,
    verbose: bool,
) -> UniquenessTest:
    """The test on a checked sample."""
    seeds = streams(seed, n_splits)
    measured = run(measure_halves, seeds, sample, model, order, n_jobs=n_jobs, verbose=verbose, what="halvings")
    halves = HeldOut(*(np.concatenate(parts) for parts in zip(*measured, strict=True)))
    return conclude(sample, halves, model, alpha, order)


def measure_halves(
    stream: np.random.SeedSequence, sample: Sample, model: BoundedTransformer, order: str = "model"
) -> tuple[Array, ...]:
    """One halving, both ways: the arrays of :class:`~.heldout.HeldOut`, with a first axis of 2."""
    first = halves(sample.subjects, np.random.default_rng(stream))
    sides = (first, tuple(~side for side in first))
    found = []
    for train, test in (sides, sides[::-1]):
        sample.fit_part(model, train, "a random half of the rows")
        found.append(
            held_out(
                sample.take(test),
                [codes[side] for codes, side in zip(sample.subjects, test, strict=True)],
                model.components_[by_contrast(model) if order == "contrast" else slice(None)],
                center=bool(model.center),
                scale=model.scale,
            )
        )
    return tuple(np.stack([getattr(part, field.name) for part in found]) for field in fields(HeldOut))


def by_contrast(model: BoundedTransformer) -> Array:
    """Places of the components, the one first that varies most in the target beyond the background it shares most with."""
    contrast = model.explained_variance_ - model.background_variance_.max(axis=1)
    return np.argsort(-contrast, kind="stable")


def spread(z: Array, n_splits: int, smallest: int) -> Array:
    """Variance to allow the mean of z over all halves, axis 0, under the null hypothesis.

    ``SPREAD`` bounds it for many halvings of large samples, where a single z has variance 1. Where the z of different halves
    agree more than independent noise could (their variance is below ``1 - SPREAD``), their mean varies by the rest; where
    they vary by more than 1, as in small samples, so does the mean. ``smallest`` is the number of independent rows or
    subjects of the smallest dataset: errors of few are uncertain themselves.
    """
    room = 1.0 + SMALL_SAMPLE / smallest
    least = SPREAD + (SPREAD_ONE - SPREAD) / n_splits
    if len(z) <= 2:
        return np.full(z.shape[1:], room * least)
    within = _variance(z)
    return room * np.maximum.reduce([np.full_like(within, least), 1.0 - within, SPREAD * within])


def _variance(z: Array) -> Array:
    return ((z - z.mean(axis=0)) ** 2).sum(axis=0) / divisor(len(z))


def conclude(
    sample: Sample, halves: HeldOut, model: BoundedTransformer, alpha: float, order: str = "model"
) -> UniquenessTest:
    """The result from what all halves measured, arrays of shape (halves, m + 1, k)."""
    n_splits = len(halves.z) // 2
    separate = ndtr(-halves.z.mean(axis=0) / np.sqrt(spread(halves.z, n_splits, min(sample.n_subjects))))
    pvalues = np.maximum.accumulate(separate.max(axis=0))
    centre = halves.log_variance.mean(axis=0)
    reach = (stdtrit(halves.df, 1.0 - alpha / 2) * halves.error).mean(axis=0)
    reach *= np.sqrt(SPREAD + (SPREAD_ONE - SPREAD) / n_splits)
    return UniquenessTest(
        n_unique_=int(np.sum(pvalues <= alpha)),
        pvalues=pvalues,
        background_pvalues=separate[:-1].T.copy(),
        average_pvalues=separate[-1].copy(),
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
        prefix=model.component_prefix,
    )


def p_text(value: float) -> str:
    """A p-value to three digits."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"
