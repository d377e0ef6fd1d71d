"""Where results stand in an AnnData object: the only place that names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._anndata import hint


@dataclass(frozen=True)
class Keys:
    """Where results stand in an AnnData object.

    Attributes
    ----------
    obsm : str
        Scores of all cells, (n_obs, k).
    varm : str
        Components, (n_vars, k): the weights that make the scores.
    patterns : str
        In ``varm``: patterns, (n_vars, k): how genes follow the scores in the target.
    correlations : str
        In ``varm``: correlations of genes with the scores in the target, (n_vars, k).
    uns : str
        Multipliers, variances, certificate, parameters, leading genes.
    test, donors, rank_genes : str
        In ``uns``: what the functions of these names found.
    """

    obsm: str
    varm: str
    patterns: str
    correlations: str
    uns: str
    test: str
    donors: str
    rank_genes: str

    @classmethod
    def of(cls, key_added: str) -> Keys:
        """The keys for a value of ``key_added``: scanpy's pattern, where ``X_name`` is what ``basis="name"`` finds."""
        check_key(key_added)
        before = "" if key_added == "uca" else f"{key_added}_"
        return cls(
            obsm=f"X_{key_added}",
            varm=f"{before}UCs",
            patterns=f"{before}UC_patterns",
            correlations=f"{before}UC_correlations",
            uns=key_added,
            test=f"{key_added}_test",
            donors=f"{key_added}_donors",
            rank_genes=f"rank_genes_{key_added}",
        )


def check_key(key_added: str) -> None:
    """Raise unless an h5ad file can hold an entry of that name."""
    if not isinstance(key_added, str) or not key_added or "/" in key_added:
        raise ValueError(f"key_added must be a name without '/'; got {key_added!r}")


def clear(adata: Any, keys: Keys) -> None:
    """Remove what an earlier fit has left under the same keys: none of it speaks of the next one."""
    for name in (keys.varm, keys.patterns, keys.correlations):
        adata.varm.pop(name, None)
    for name in (keys.uns, keys.test, keys.donors, keys.rank_genes):
        adata.uns.pop(name, None)


def fitted_keys(adata: Any, key: str) -> Keys:
    """The keys of a fit that ``adata`` holds."""
    keys = Keys.of(key)
    found = adata.uns.get(keys.uns)
    if found is None or keys.obsm not in adata.obsm:
        fits = [name for name, value in adata.uns.items() if is_fit(value)]
        raise ValueError(f"adata has no fit under key={key!r}{hint(key, fits)}: call uca.scverse.uca first")
    if not is_fit(found):
        raise ValueError(f"adata.uns[{key!r}] was not written by this version of uca.scverse.uca: fit again")
    return keys


def is_fit(value: Any) -> bool:
    """Whether an entry of ``uns`` is what a fit writes."""
    return hasattr(value, "keys") and {"certificate", "params", "groups", "leading_genes"} <= set(value)
