"""Each group against all others: who is compared with whom, the fits and tests, and the adjusted p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._parameters import check_n_components
from .._progress import Done
from .._types import Labels, Rows
from ..estimators.bounded import BoundedTransformer
from ..inference.halvings import AUTO
from ..inference.parallel import run
from .analyse import analyse
from .holm import across_groups
from .outcome import Each, EachGroup
from .plan import plan
from .rows import rows_by_group
from .settings import check_settings


def each(
    X: Rows,
    groups: Labels,
    *,
    n_components: int | None = None,
    pooled: bool = False,
    model: BoundedTransformer | None = None,
    test: bool = True,
    subjects: Labels | None = None,
    n_splits: int | str = AUTO,
    alpha: float = 0.05,
    feature_names: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool | Done = False,
) -> Each:
    """Each group against all others: every group once as the target, the other groups as its backgrounds.

    Parameters
    ----------
    X : array, sparse matrix, table or dask collection of shape (n, p)
        Rows of all groups. A test needs them in memory.
    groups : sequence of length n
        The group of each row: text, numbers or a column of a table. No label may be missing.
    n_components : int, optional
        Components of each group. Default: those of ``model``, 2.
    pooled : bool, default=False
        False: each of the other groups is a background of its own, and the first component keeps the bound in every one of
        them. True: the other groups are stacked into one background (:func:`uca.pool`); differences between their means then
        are part of its variation.
    model : UCA or SparseUCA, optional
        Its parameters are used (``scale``, ``bound``, ``components``, ``missing`` and so on); it need not be fitted.
    test : bool, default=True
        Test every group's components on held-out rows, as :func:`uca.inference.uniqueness_test` does.
    subjects : sequence of length n, optional
        The subject of each row, where several rows belong to one (repeated measurements, cells of one donor): equal labels
        are one subject, in whatever group. **Without subjects, repeated rows make the test say "unique" far too often.**
        With them, the variance to expect in new rows comes from leaving subjects out
        (:func:`uca.inference.expected_background_variance`), also without a test.
    n_splits : int or "auto", default="auto"
        Random halvings of each test.
    alpha : float, default=0.05
        Level of all groups together: the chance of calling any component of any group unique that is not. Each group's test
        is made at ``alpha`` over the number of tests; verdicts are by p-values that are adjusted across groups (Holm).
    feature_names : sequence of length p, optional
        Default: the columns of a table, else x0, x1 and so on.
    random_state : int, RandomState or None, default=None
        Seed of the splits, the same for every group. None is 0.
    n_jobs : int, optional
        Workers (joblib), each of which takes a group at a time; the result is the same for any number.
    verbose : bool or callable, default=False
        Show progress. A callable gets (groups done, number of groups).

    Returns
    -------
    Each
        ``print`` it for the table; ``models`` and ``tests`` by group, ``to_frame()``, ``report("page.html")``.

    Notes
    -----
    A group that cannot be fitted or tested is in the result with the reason, and does not stop the others. The test needs 8
    rows (or subjects) of every dataset. A smaller group is not tested and, with ``test=True`` and separate backgrounds, is
    no background of the others either, unless no other group is larger: the result says so. Pooled backgrounds hold all
    rows.

    Groups are compared by what varies within them. Differences between their means are not looked at: that is what
    discriminant analysis and tests of means are for.

    Examples
    --------
    >>> import numpy as np
    >>> import uca
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(240, 6))
    >>> groups = np.repeat(["a", "b", "c"], 80)
    >>> X[:80, :3] += 4 * rng.normal(size=(80, 1))  # varies in group a alone
    >>> result = uca.each(X, groups, n_components=1)
    >>> result.n_unique
    {'a': 1, 'b': 0, 'c': 0}
    >>> sorted(result["a"].leading[0].names)
    ['x0', 'x1', 'x2']
    """
    settings = check_settings(model, n_components, pooled, test, n_splits, alpha, random_state)
    rows = rows_by_group(
        X, groups, subjects, feature_names, settings.model, lazy=not settings.test and subjects is None
    )
    check_n_components(settings.model.n_components, rows.n_features)
    plans = plan(rows, settings)
    n_tests = sum(not own.untested for own in plans) if settings.test else 0
    settings = replace(settings, level=settings.alpha / max(n_tests, 1))
    found = run(analyse, plans, rows, settings, n_jobs=n_jobs, verbose=verbose, what="groups")
    _raise_if_none_fitted(found)
    return Each(
        groups=_adjusted(found),
        pooled=settings.pooled,
        alpha=settings.alpha,
        n_features=rows.n_features,
        grouped_by=rows.label_name,
        with_subjects=subjects is not None,
        parameters=settings.model.get_params(),
    )


def _raise_if_none_fitted(found: Sequence[EachGroup]) -> None:
    if all(group.model is None for group in found):
        first = next(group for group in found if group.n_rows > 1)
        raise ValueError(f"no group could be fitted. {first.name!r}: {first.failed}")


def _adjusted(found: Sequence[EachGroup]) -> tuple[EachGroup, ...]:
    """Groups with p-values adjusted over all tests that were made."""
    pvalues = [group.test.pvalues for group in found if group.test is not None]
    adjusted = iter(across_groups(pvalues))
    return tuple(group if group.test is None else replace(group, adjusted=next(adjusted)) for group in found)
