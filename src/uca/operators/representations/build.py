"""Choose and build a representation: the one registry.

Every "auto" is decided here, by cost. A new representation is one file with a :class:`~.representation.Kind`, and one entry
of ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._memory import matrices_fit
from ..._parameters import check_choice
from ..sources.choose import source_of
from ..sources.source import Source
from . import covariance, implicit, product_svd, reduced
from .representation import How, Kind, Representation, Size
from .units import in_moderate_units

KINDS: dict[str, Kind] = {kind.name: kind for kind in (covariance.KIND, reduced.KIND, implicit.KIND, product_svd.KIND)}

CHEAP = 1.3e9  # multiplications that take some hundredths of a second
BOTH_LARGE = 2_000  # rows and features, from which dense data may be held in a form whose bounds are not proven


def build(
    arrays: Sequence[Any],
    labels: Sequence[str],
    *,
    representation: str,
    center: bool,
    scale: bool | str,
    n_empty: int = 0,
) -> Representation:
    """Standardise the target (first) and the backgrounds and hold them as a pencil."""
    how = How(center, scale, n_empty)

    def make(tables: Sequence[Any]) -> Representation:
        source = source_of(tables, labels)
        return _kind_for(source, representation).build(source, how)

    return in_moderate_units(make, arrays, scale)


def _kind_for(source: Source, representation: str) -> Kind:
    possible = [kind for kind in KINDS.values() if kind.needs in source.offers]
    if representation == "auto":
        fits = matrices_fit(source.n_features, len(source.arrays))
        size = Size(tuple(source.n_rows), source.n_features, source.n_stored, source.pass_cost)
        return choose(size, possible, fits=fits)
    check_choice("representation", representation, ("auto", *KINDS))
    kind = KINDS[representation]
    if kind not in possible:
        others = ", ".join(repr(other.name) for other in possible)
        raise ValueError(
            f"representation={representation!r} does not take {source.containers}: choose one of {others}, or pass the data "
            "as numpy arrays in memory"
        )
    return kind


def choose(size: Size, possible: Sequence[Kind] = tuple(KINDS.values()), *, fits: bool = True) -> Kind:
    """The cheapest kind, counted in multiplications of a large dense product.

    ``fits`` tells whether a p x p matrix for each dataset fits in memory. A form whose upper bounds are not proven is not
    taken where a proven one is ``CHEAP``; nor for dense data, unless covariances do not fit or p and N both exceed
    ``BOTH_LARGE``.
    """
    costs = {kind: kind.cost(size) for kind in possible if kind.cost is not None and (fits or not kind.square)}
    proven = {kind: cost for kind, cost in costs.items() if kind.proven}
    small = size.n_stored is None and fits and min(size.total, size.p) <= BOTH_LARGE
    if proven and (small or min(proven.values()) <= CHEAP):
        costs = proven
    return min(costs, key=costs.__getitem__)
