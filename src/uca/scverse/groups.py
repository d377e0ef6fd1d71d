"""Each group of cells against all others.

Promises: what comes back is the result of :func:`uca.each` on the cells and genes that are asked for; what is written is its
table, as an h5ad file holds it. Cells of one donor are not independent: a test without donors says so, as a warning.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from .._anndata import check_adata, check_groups, labels_of, list_values, scverse_package, take
from ..groupwise import Each, EachGroup
from ..groupwise import each as run
from .keys import check_key
from .parameters import Mask, check_names, model_of, names_of_model
from .question import computed, features_of, values_of
from .tested import NO_DONORS


def each(
    adata: Any,
    *,
    groupby: str,
    groups: Any = None,
    donor: str | None = None,
    pooled: bool = False,
    layer: str | None = None,
    mask_var: Any = Mask.DEFAULT,
    use_rep: str | None = None,
    n_comps: int | None = None,
    n_components: int | None = None,
    test: bool = True,
    n_splits: int | str = "auto",
    alpha: float = 0.05,
    key_added: str = "uca_each",
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    **parameters: Any,
) -> Each:
    """Each group of cells against all others: every group once as the target, the other groups as its backgrounds.

    Parameters
    ----------
    adata : AnnData
        Cells of the groups come into memory, where they are not; sparse stays sparse.
    groupby : str
        Column of ``adata.obs`` that tells the groups: cell types, clusters, conditions.
    groups : list of values, optional
        Only these groups of the column. Default: all of them.
    donor : str, optional
        Column of ``adata.obs`` that says which donor (sample, animal) a cell comes from. Donors are held out whole.
        **Without it cells count as independent, which they are not:** the cautions of the result and a warning say so. The
        test needs eight donors in a group; with fewer, ``test=False`` shows the components alone.
    pooled : bool, default=False
        Stack the other groups into one background, in place of one background each.
    layer, mask_var, use_rep, n_comps, n_components
        As in :func:`uca`.
    test, n_splits, alpha, random_state, n_jobs, verbose
        As in :func:`uca.each`. p-values are adjusted for the number of groups.
    key_added : str, default="uca_each"
        Where the table is written: ``adata.uns[key_added]``.
    **parameters
        Parameters of the model, as in :func:`uca`; ``scale`` is False unless it is given.

    Returns
    -------
    Each
        ``print`` it for the table; ``models`` and ``tests`` by group, ``report("page.html")``, ``uca.plotting.each``.
        ``adata.uns["uca_each"]`` has ``table`` (a row for each group and component), ``sentence``, ``groupby``, ``donor``
        (empty without) and ``pooled``.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> import uca.scverse
    >>> rng = np.random.default_rng(0)
    >>> obs = pd.DataFrame({"type": np.repeat(["B", "T", "NK"], 80)}, index=[f"cell{i}" for i in range(240)])
    >>> values = rng.normal(size=(240, 6))
    >>> values[:80, :2] += 2 * rng.normal(size=(80, 1))  # varies among B cells alone
    >>> adata = anndata.AnnData(values, obs=obs)
    >>> found = uca.scverse.each(adata, groupby="type", n_comps=1, test=False)
    >>> sorted(found["B"].leading[0].names)
    ['0', '1']
    """
    check_adata(adata)
    check_key(key_added)
    check_names(each, parameters, names_of_model(parameters))
    model = model_of(parameters, n_comps, n_components)
    labels = labels_of(adata, groupby)
    chosen = None if groups is None else list_values("groups", groups)
    if chosen is not None:
        check_groups({None: chosen}, labels, groupby)
    features = features_of(adata, layer, mask_var, use_rep)
    cells = np.arange(adata.n_obs) if chosen is None else np.flatnonzero(labels.isin(chosen))
    found = run(
        computed(take(features.matrix, cells, features.columns)),
        labels.iloc[cells].astype(str),
        pooled=pooled,
        model=model,
        test=test,
        subjects=None if donor is None else values_of(adata, donor, "donor", [cells])[0],
        n_splits=n_splits,
        alpha=alpha,
        feature_names=features.names,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    if test and donor is None:
        warnings.warn(NO_DONORS, UserWarning, stacklevel=2)
        found = replace(found, groups=tuple(_cautioned(group) for group in found.groups))
    adata.uns[key_added] = {
        "table": _storable(found),
        "sentence": found.sentence,
        "groupby": groupby,
        "donor": donor or "",
        "pooled": pooled,
    }
    return found


def _cautioned(group: EachGroup) -> EachGroup:
    return group if group.test is None else replace(group, test=replace(group.test, notes=(NO_DONORS,)))


def _storable(found: Each) -> Any:
    """The table with columns of numbers or text only; None becomes NaN or an empty text."""
    frame = scverse_package("pandas").DataFrame(found.table)
    for name in frame.columns:
        numbers = frame[name].dropna().map(lambda value: isinstance(value, (int, float))).all()
        frame[name] = frame[name].astype(float) if numbers and frame[name].notna().any() else frame[name].map(_text)
    return frame.set_axis(frame.index.astype(str), axis=0)


def _text(value: Any) -> str:
    return "" if value is None or value != value else str(value)
