"""How far to hold a fit back so that its bounds hold on new rows, where rows belong to subjects."""

from __future__ import annotations

from typing import Any

from .._types import Backgrounds, Groups, Rows
from ..estimators.crossfit import FEWEST_FOLDS, choose_for
from ..estimators.restriction import Restriction
from ..estimators.uca import UCA
from .parameters import check_model
from .sample import check_sample


def choose_restriction(
    X: Rows, backgrounds: Backgrounds, *, groups: Groups = None, model: UCA | None = None, random_state: Any = None
) -> Restriction:
    """Choose, on held-out rows, how far to restrict a fit so that its bounds hold on new rows.

    What ``UCA(bound_on="new rows")`` does, with subjects: folds keep the rows of a subject together. Rows or subjects of all
    datasets are divided into five folds, twice. Candidates are numbers of leading directions of the target and factors on
    the bounds; the one with the largest held-out target variance over max(1, held-out background variance / bound) ** 1.5 is
    chosen.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n, p)
        The target.
    backgrounds : array, list or tuple of arrays, or dict of name -> array
    groups : optional
        Which rows belong together: a list with one sequence of labels for each dataset, target first, or a dict by name
        (with ``"target"``). Give it if rows are repeated measurements: new rows then means rows of new subjects.
    model : UCA, optional
        Its parameters are used (scale, bound, number of components, time limit, ...). Default: ``UCA()``.
    random_state : int, RandomState or None
        Seed of the folds; None is that of the model.

    Returns
    -------
    Restriction
        Pass it on: ``UCA(bound_on=restriction)``. ``print`` it for the table of what it was chosen from.

    Examples
    --------
    >>> import numpy as np
    >>> from uca import UCA
    >>> from uca.inference import choose_restriction
    >>> rng = np.random.default_rng(0)
    >>> target, background = rng.normal(size=(2, 30, 60))
    >>> target += 2 * rng.normal(size=(30, 1)) * rng.normal(size=60)
    >>> restriction = choose_restriction(target, background, groups=[np.arange(30) // 3, 100 + np.arange(30) // 3])
    >>> model = UCA(1, bound_on=restriction).fit(target, backgrounds=background)
    >>> model.restriction_.n_leading == restriction.n_leading
    True
    """
    sample = check_sample(
        X, backgrounds, groups, min_subjects=FEWEST_FOLDS
    )  # without gaps: they are measured as they are
    parameters: Any = check_model(
        model, bound_on="rows", **({} if random_state is None else {"random_state": random_state})
    )
    if "bound_on" not in parameters.get_params():
        raise TypeError(f"model must be a UCA, fitted or not, whose parameters are used; got {type(model).__name__}")
    return choose_for(parameters, sample.datasets(sample.arrays), sample.subjects)
