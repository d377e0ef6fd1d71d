"""The best component with at most k features, and how far from the best any other could be.

    max v'Av   s.t.   |v| = 1,   v'B_j v <= c_j,   at most k entries of v other than 0.

Promises: the support that is returned keeps every bound; the upper bound holds for *every* support of k features, found or
not. Everything here works on matrices in memory in which backgrounds are divided by their bounds, so that every bound is 1
and multipliers are prices, as in :mod:`uca.dual`. For any prices w >= 0, with ``C = A - sum_j w_j B_j``,

    value(S) <= lambda_max(C_S) + sum_j w_j          for every support S,

which is what the search is guided by and what the proofs rest on. One idea a file: ``problem`` (the matrices, one support
solved exactly), ``bordered`` (what one more feature does to an eigenvalue), ``beam`` and ``swaps`` (the search),
``feasible`` (where few supports keep the bounds), ``relaxation``, ``threshold`` (upper bounds), ``levels`` (the proof by
enumeration), ``search`` (all of it in order); ``entries`` and ``wide`` for more features than matrices should be formed for.
"""

from .entries import Entries
from .feasible import smallest_feasible
from .problem import Leaf, SparseProblem
from .search import Outcome, best_support
from .wide import best_support_among_many

__all__ = [
    "Entries",
    "Leaf",
    "Outcome",
    "SparseProblem",
    "best_support",
    "best_support_among_many",
    "smallest_feasible",
]
