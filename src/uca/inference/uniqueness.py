"""Does the target vary more along each component than every background, on held-out rows?

What is tested. Component k is *unique* if, on held-out rows, the target varies along it more than each background (scaled
as the model scales), **and** more than along an average direction of its own (``tr(A)/p``, which a mixture of all
directions attains without any contrast). The second condition costs little power and is needed where every dataset is
scaled by itself: a target of pure noise varies more than a structured background along the directions that the structure
leaves empty, although there is nothing of its own in it.

How. A random half of every dataset's subjects fits the model, the other half measures its components (:mod:`.heldout`);
then the halves change roles; then all is repeated with other halves, and the mean z is judged. So the chance of calling
anything unique in data without any unique component is held at ``alpha``: to what accuracy, and for which data,
``docs/inference.md`` shows by simulation.

Random halves are made and measured in :mod:`.halvings`, and judged in :mod:`.judged`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from .._parameters import check_choice, check_n_components, check_positive_int
from .._types import Backgrounds, Groups, Rows
from ..estimators.bounded import BoundedTransformer
from ..means import MeanDifferences, mean_differences_of_rows
from .cautions import examine
from .halvings import AUTO, chosen, measure
from .heldout import HeldOut
from .judged import judge, variance_of_mean
from .outcome import PARAMETERS, UniquenessTest
from .parallel import quietly
from .parameters import check_alpha, check_model, seed_of, takes_gaps
from .sample import Sample, check_sample

ORDERS = ("model", "contrast")
DEFAULT_COMPONENTS = 5  # components, where no number is given
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
    reach *= np.sqrt(variance_of_mean(n_splits))
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
