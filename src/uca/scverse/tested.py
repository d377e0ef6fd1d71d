"""Is it real? Inference on the cells and genes of a fit, by donor.

Promises: what comes back is the result of :mod:`uca.inference` on the same rows; what is written is a summary of it that an
h5ad file holds. Cells of one donor are not independent: a test without donors says so, in the result and as a warning.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from .._anndata import check_adata
from ..inference import LeftOutGroups, UniquenessTest, leave_one_group_out, uniqueness_test
from .parameters import check_names, names_of_model
from .stored import asked, check_unchanged

FIT_NAMES = ("layer", "mask_var", "use_rep", "n_components")
NO_DONORS = (
    "Cells were taken as independent. Cells of one donor, sample or batch are not, and then p-values are far too small: the "
    "test says 'unique' of what is only a difference between donors. Give donor=, the column of adata.obs that tells them "
    "apart; without several donors nothing is said about others."
)


def test(
    adata: Any,
    *,
    donor: str | None = None,
    key: str = "uca",
    groupby: str | None = None,
    target: Any = None,
    backgrounds: Any = None,
    n_comps: int | None = None,
    n_splits: int | str = "auto",
    alpha: float = 0.05,
    order: str = "model",
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    **parameters: Any,
) -> UniquenessTest:
    """Test which components vary more in the target than in every background, on donors held out of the fit.

    Parameters
    ----------
    adata : AnnData
        Cells of the groups come into memory, where they are not; sparse stays sparse.
    donor : str, optional
        Column of ``adata.obs`` that says which donor (sample, animal) a cell comes from. Donors are held out whole, and
        standard errors count donors. **Without it cells count as independent, which they are not:** the result and a
        warning say so (with repeated rows and no groups the test called something unique in 88 % of simulated studies
        without anything unique; ``docs/inference.md``). Every group needs at least eight donors; with fewer see
        :func:`donors`.
    key : str, default="uca"
        The fit to test: groups, genes and parameters are read from ``adata.uns[key]``.
    groupby, target, backgrounds : optional
        Another question, as in :func:`uca`; give all three. Then nothing is read from a fit.
    n_comps : int, optional
        Components to test, in order. Default: those of the fit, 2 without one.
    n_splits, alpha, order, random_state, n_jobs, verbose
        As in :func:`uca.inference.uniqueness_test`.
    **parameters
        With another question: ``layer``, ``mask_var``, ``use_rep`` and parameters of the model, as in :func:`uca`.

    Returns
    -------
    UniquenessTest
        ``print`` it. A summary is written to ``adata.uns["uca_test"]`` (``name_test`` for another key): ``n_unique``,
        ``pvalues`` (k,), ``background_pvalues`` (k, m), ``variances``, ``low``, ``high`` (k, m + 1, target first),
        ``n_cells``, ``n_donors``, ``donor`` (empty without), ``groups`` (who was in which), ``sentence``, ``cautions`` and
        more.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> import uca.scverse
    >>> rng = np.random.default_rng(0)
    >>> obs = pd.DataFrame({"state": np.repeat(["treated", "control"], 200)}, index=[f"cell{i}" for i in range(400)])
    >>> obs["donor"] = [f"d{i // 20}" for i in range(400)]
    >>> values = rng.normal(size=(400, 6))
    >>> values[:200] += rng.normal(size=(200, 1)) * [2, 2, 0, 0, 0, 0]
    >>> adata = anndata.AnnData(values, obs=obs)
    >>> uca.scverse.uca(adata, groupby="state", target="treated", backgrounds="control", n_comps=1)
    >>> uca.scverse.test(adata, donor="donor").n_unique_, adata.uns["uca_test"]["n_donors"]
    (1, array([10, 10]))
    """
    check_adata(adata)
    check_names(test, parameters, [*FIT_NAMES, *names_of_model(parameters)])
    named = {"groupby": groupby, "target": target, "backgrounds": backgrounds}
    keys, question, model = asked(adata, key, named, n_comps, parameters)
    subjects = None if donor is None else question.labels_by_part(adata, donor, "donor")
    rows, others = question.in_memory()
    if groupby is None:
        check_unchanged(adata, keys, question, rows)
    found = uniqueness_test(
        rows,
        others,
        n_components=model.n_components,
        n_splits=n_splits,
        groups=subjects,
        alpha=alpha,
        random_state=random_state,
        model=model,
        order=order,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    if donor is None:
        warnings.warn(NO_DONORS, UserWarning, stacklevel=2)
        found = replace(found, notes=(NO_DONORS,))
    adata.uns[keys.test] = _summary(found, donor) | {"groups": question.table()}
    return found


def _summary(found: UniquenessTest, donor: str | None) -> dict[str, Any]:
    arrays = ("pvalues", "pvalue_errors", "background_pvalues", "average_pvalues", "variances", "low", "high", "kept")
    return {
        "n_unique": found.n_unique_,
        **{name: getattr(found, name) for name in arrays},
        "background_names": _texts(found.background_names),
        "alpha": found.alpha,
        "n_splits": found.n_splits,
        "order": found.order,
        "n_cells": np.array(found.n_rows),
        "n_donors": np.array(found.n_subjects if found.grouped else ()),
        "donor": donor or "",
        "n_genes": found.n_features,
        "sentence": found.sentence,
        "cautions": _texts(found.cautions),
    }


def donors(
    adata: Any,
    *,
    donor: str,
    key: str = "uca",
    groupby: str | None = None,
    target: Any = None,
    backgrounds: Any = None,
    n_comps: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    **parameters: Any,
) -> LeftOutGroups:
    """What a handful of donors can show: scores by donor, and what stays of the components when each is left out.

    For few donors, four against four say, where :func:`test` refuses. It is a description of these donors, not a test.

    Parameters
    ----------
    adata : AnnData
        Cells of the groups come into memory, where they are not; sparse stays sparse.
    donor : str
        Column of ``adata.obs`` that says which donor (sample, animal) a cell comes from. A donor is left out of every group
        that it has cells in.
    key, groupby, target, backgrounds, n_comps, **parameters
        As in :func:`test`.
    n_jobs, verbose
        As in :func:`uca.inference.leave_one_group_out`, which does the work.

    Returns
    -------
    LeftOutGroups
        ``print`` it. A summary is written to ``adata.uns["uca_donors"]`` (``name_donors`` for another key): ``donors`` (g,),
        ``datasets`` (m + 1,), ``n_cells`` (g, m + 1), ``means``, ``deviations``, ``variances`` (g, m + 1, k), ``cosines``,
        ``space_cosines`` (g, k), ``between`` (k,), ``donor``, ``groups`` (who was in which) and ``sentence``.
    """
    check_adata(adata)
    check_names(donors, parameters, [*FIT_NAMES, *names_of_model(parameters)])
    named = {"groupby": groupby, "target": target, "backgrounds": backgrounds}
    keys, question, model = asked(adata, key, named, n_comps, parameters)
    subjects = question.labels_by_part(adata, donor, "donor")
    rows, others = question.in_memory()
    if groupby is None:
        check_unchanged(adata, keys, question, rows)
    found = leave_one_group_out(rows, others, groups=subjects, model=model, n_jobs=n_jobs, verbose=verbose)
    arrays = ("means", "deviations", "variances", "cosines", "space_cosines", "between")
    adata.uns[keys.donors] = {
        "donor": donor,
        "groups": question.table(),
        "donors": _texts(found.group_names),
        "datasets": _texts(found.dataset_names),
        "n_cells": found.n_rows,
        **{name: getattr(found, name) for name in arrays},
        "sentence": found.sentence,
    }
    return found


def _texts(values: Any) -> Any:
    return np.array(list(values), dtype=object)
