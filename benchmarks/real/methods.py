"""The methods: rows and backgrounds in, a projection of new rows out. None of them is given labels.

Methods of one background get the backgrounds stacked. ``UCA, own means``: stacked, each about its own mean.
``sequential`` and ``sparse`` get them separately. gcPCA is the package ``generalized_contrastive_PCA``, version 4, on rows
that are centred and scaled as for the other methods, and expressed in a basis of the rows; this changes only the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA, pool

from .setting import NotHereError

COMPONENTS = (1, 2, 5)
MOST = max(COMPONENTS)
FEATURES = 10  # of a sparse component

Project = Callable[[np.ndarray], np.ndarray]
Backgrounds = dict[str, np.ndarray]
Method = Callable[[np.ndarray, Backgrounds, Any], dict[int, Project]]


def leading(project: Project) -> dict[int, Project]:
    """Fewer components are the first of more."""
    return {k: lambda rows, k=k: project(rows)[:, :k] for k in COMPONENTS}


def pca(target: np.ndarray, backgrounds: Backgrounds, scale: Any) -> dict[int, Project]:
    return leading(UCA(MOST, scale=scale).fit(target).transform)


def cpca(target: np.ndarray, backgrounds: Backgrounds, scale: Any) -> dict[int, Project]:
    """The automatic alpha depends on the number of components."""
    one = pool(backgrounds)
    return {k: CPCA(k, scale=scale).fit(target, backgrounds=one).transform for k in COMPONENTS}


def ratio(shrinkage: float) -> Method:
    def fit(target: np.ndarray, backgrounds: Backgrounds, scale: Any) -> dict[int, Project]:
        model = CPCAPlusPlus(MOST, shrinkage=shrinkage, scale=scale)
        return leading(model.fit(target, backgrounds=pool(backgrounds)).transform)

    return fit


def gcpca(target: np.ndarray, backgrounds: Backgrounds, scale: Any) -> dict[int, Project]:
    try:
        from generalized_contrastive_PCA import gcPCA
    except ImportError as error:
        raise NotHereError("pip install generalized_contrastive_PCA") from error
    own = _standardised(target, scale)
    others = _standardised(pool(backgrounds), scale)
    rows, other = own(target), others(pool(backgrounds))
    basis = np.linalg.svd(np.vstack([rows, other]), full_matrices=False)[2]
    model = gcPCA(method="v4", normalize_flag=False)
    model.fit(rows @ basis.T, other @ basis.T)
    loadings = basis.T @ model.loadings_[:, :MOST]
    return leading(lambda new: own(new) @ loadings)


def _standardised(rows: np.ndarray, scale: bool) -> Project:
    """Centring, and division by the SDs (ddof 1; a constant feature is only centred), as fitted on rows."""
    mean, sd = rows.mean(axis=0), rows.std(axis=0, ddof=1) if scale else np.ones(rows.shape[1])
    sd = np.where(sd > 1e-12 * np.maximum(np.abs(mean), 1.0), sd, 1.0)
    return lambda new: (new - mean) / sd


def uca(*, together: str = "", **parameters: Any) -> Method:
    def fit(target: np.ndarray, backgrounds: Backgrounds, scale: Any) -> dict[int, Project]:
        given = pool(backgrounds, center=together == "own means") if together else backgrounds
        return leading(UCA(MOST, scale=scale, **parameters).fit(target, backgrounds=given).transform)

    return fit


def sparse(target: np.ndarray, backgrounds: Backgrounds, scale: Any) -> dict[int, Project]:
    features = min(FEATURES, target.shape[1])
    model = SparseUCA(MOST, n_nonzero=features, scale=scale, proof="none")
    return leading(model.fit(target, backgrounds=backgrounds).transform)


METHODS: dict[str, Method] = {
    "PCA": pca,
    "cPCA, automatic": cpca,
    "cPCA++": ratio(0.0),
    "cPCA++, shrinkage .1": ratio(0.1),
    "cPCA++, shrinkage .5": ratio(0.5),
    "gcPCA v4": gcpca,
    "UCA": uca(),
    "UCA, pooled": uca(together="stacked"),
    "UCA, own means": uca(together="own means"),
    "UCA, sequential": uca(components="sequential"),
    "UCA, sparse": sparse,
}
#: With one background these are the same as ``UCA`` and are not fitted again. (Its own mean is subtracted in any case.)
SAME_FOR_ONE = ("UCA, pooled", "UCA, own means")
SLOW = {"UCA, sparse": 10}  # fitted in the first splits only
SCALES = {"scaled": True, "unscaled": False}


def named(method: str, scale: str) -> str:
    return f"{method}, {scale}"


#: What is run: the methods, each scaled and unscaled; and UCA with every dataset divided by the target's SDs.
RUNS: dict[str, tuple[str, Any]] = {named(m, s): (m, value) for m in METHODS for s, value in SCALES.items()}
RUNS["UCA, scaled by the target"] = ("UCA", "target")
