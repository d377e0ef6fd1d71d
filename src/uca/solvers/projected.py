"""The UCA problem inside a small subspace, solved exactly.

Given the projections ``A = W'AW`` and ``B_j = W'B_jW / c_j`` (every bound is 1), find the prices that minimise the
projected dual, and a feasible primal matrix V. Because V lives in the subspace of the whole problem, ``tr(A V)`` is a
lower bound on the whole optimum. It counts only if V is feasible: trace 1, psd, bounds kept up to rounding.

Where the top eigenvalue is simple, Newton's method on the active prices finds the optimum to machine precision and
V = uu'. On the way it may meet kinks and stop; with one background the price is then bracketed, and Newton goes on from
there. Elsewhere the small semidefinite programme gives prices and V, and V is made feasible exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from .._deadline import NEVER, Deadline
from .._types import Array
from ..dual import mixture_rank
from .sdp import solve_sdp

FEASIBLE = 1e-12  # relative excess over a bound that is rounding, not a violation
NEWTON_DONE = 1e-13  # KKT residual at which Newton stops
NEWTON_STEPS = 15
HALVINGS = tuple(0.5**i for i in range(5))  # a longer line search means a kink is near
BRACKET_START = 0.03  # first upper end for the price of one background, in units of the norm of A
BRACKET_GROWTH = 10.0
BRACKET_CLOSE = 1e-2  # relative width from which Newton goes on
LEAST_PRICE = 1e-4  # smaller ones are left to Newton
LEAST = 1e-12  # variance over the bound; less is as good as none
NEAR_TOP = 1e-5  # eigenvalues this close to the top, relative to the norm of A, belong to a kink
SHARP = 1e-14  # relative gap inside the subspace that needs no sharpening
SHARPEN_STEPS = 3
SHARPEN_MIN = 1e-11
SHARPEN_BOX = 100.0  # limit of the magnified change of prices
SDP_MAX = 12  # directions in a semidefinite programme: it costs 3 ms on 10, 30 ms on 20
SDP_MOST = 24  # the same for very many backgrounds
WHOLE = 48  # all directions go into one programme where no more than these are left: it takes 3 s with 200 backgrounds
WHOLE_TIME = 5.0  # seconds that have to be left where it comes first
GRACE = 1.0  # seconds that a programme has at least, whatever the time limit: without one there is no lower bound
SDP_NEW = 4  # of them new in each step
SDP_STEPS = 12
SDP_STEPS_MANY = 6  # where programmes are larger than SDP_MAX
INNER = 1e-10  # relative gap at which the steps end


@dataclass(frozen=True)
class Projected:
    """Optimum inside the subspace.

    ``factor`` (q, r) has ``V = factor @ factor.T``; it is None where no feasible matrix was found, and ``lower`` is
    then minus infinity. ``at_box`` says that a price met the limit set for it.
    """

    prices: Array
    factor: Array | None
    lower: float
    at_box: bool = False


def solve_projected(
    a: Array, b: Array, start: Array, *, probe: float, box: float, deadline: Deadline = NEVER
) -> Projected:
    """Solve the projected problem.

    ``probe`` is the price to try next where the subspace is seen to have no feasible matrix, ``box`` the limit of
    prices elsewhere. Past the ``deadline`` what was found until then is returned.
    """
    if len(b) and np.linalg.eigvalsh(b.sum(axis=0))[0] > (1 + 1e-6) * len(b):
        # Every mixture spends more than the bounds allow together.
        return Projected(np.full(len(b), probe), None, -np.inf, at_box=True)
    largest = max(float(np.abs(a).max()), np.finfo(float).tiny)
    scale = largest * float(np.linalg.norm(a / largest))  # in two steps: squares of large units would overflow
    scale = max(scale, np.finfo(float).tiny)
    a, start, box = a / scale, start / scale, box / scale
    smooth = _newton(a, b, start, box) or (_bracketed(a, b, box) if len(b) == 1 else None)
    prices, factor, lower = (
        _at_kink(a, b, start, box, deadline) if smooth is None else (smooth[0], *_lower(a, b, *smooth))
    )
    return Projected(prices * scale, factor, lower * scale, at_box=bool(np.any(prices >= 0.99 * box)))


def _lower(a: Array, b: Array, prices: Array, factor: Array) -> tuple[Array | None, float]:
    """A feasible factor near the given one, and the lower bound that it proves."""
    feasible = make_feasible(b, factor, prices)
    return feasible, -np.inf if feasible is None else float(np.sum(feasible * (a @ feasible)))


def _at_kink(a: Array, b: Array, start: Array, box: float, deadline: Deadline) -> tuple[Array, Array | None, float]:
    """Prices, factor and lower bound from semidefinite programmes on a few directions at a time.

    The programme on the chosen directions proposes prices; the top eigenvectors at these prices join the directions,
    and those that carry no weight in the primal matrix leave first, until upper and lower bound meet. Where they do not,
    and all directions are no more than ``WHOLE``, the last programme is on all of them; with very many backgrounds the
    first one is.
    """
    state = _State.at(a, b, start)
    most, steps = sdp_size(len(b)), SDP_STEPS
    if most > SDP_MAX:
        whole = len(a) <= WHOLE and deadline.left >= WHOLE_TIME
        most, steps = (len(a) if whole else most), SDP_STEPS_MANY
    keep = state.vectors[:, :most]
    best, factor, lower = state, None, -np.inf
    for step in range(steps + 1):
        seconds = max(deadline.left, GRACE)
        prices, mixture = solve_sdp(_sandwich(a, keep), _sandwich(b, keep), np.zeros(len(b)), box, seconds)
        # The programme tells which bounds matter; with these alone Newton is well conditioned, also where
        # backgrounds are nearly equal.
        smooth = _newton(a, b, np.where(prices < 1e-3 * prices.max(initial=0.0), 0.0, prices), box) or _newton(
            a, b, prices, box
        )
        if smooth is not None:
            return smooth[0], *_lower(a, b, *smooth)
        raw = keep @ _psd_factor(mixture)
        state = _State.at(a, b, _without_dust(b, prices, raw))
        new_factor, new_lower = _lower(a, b, prices, raw)
        if new_lower > lower:
            factor, lower = new_factor, new_lower
        if state.value < best.value or not np.isfinite(lower):
            best = state
        if keep.shape[1] == len(a) or state.value - new_lower <= INNER * abs(state.value) or deadline.passed:
            break
        if step < steps - 1:
            keep = _first_independent(np.hstack([_carrying(raw), state.vectors[:, :SDP_NEW], keep]))[:, :most]
        elif len(a) <= WHOLE:
            keep = state.vectors
        else:
            break
    return _sharpened(a, b, best, factor, lower, deadline)


def sdp_size(m: int) -> int:
    """Directions in a programme with ``m`` bounds: an optimal mixture may need as many as its rank (from 65 on)."""
    return min(max(SDP_MAX, mixture_rank(m) + 2), SDP_MOST)


def _carrying(factor: Array) -> Array:
    """The directions of a factor that carry weight, heaviest first."""
    left, sizes, _ = np.linalg.svd(factor, full_matrices=False)
    return left[:, sizes > 1e-4 * sizes[0]]


def _first_independent(vectors: Array) -> Array:
    """Orthonormal basis of the columns that gives precedence to the first ones."""
    q, r = np.linalg.qr(vectors)
    return q[:, np.abs(np.diag(r)) > 1e-6]


def _sharpened(
    a: Array, b: Array, best: _State, factor: Array | None, lower: float, deadline: Deadline
) -> tuple[Array, Array | None, float]:
    """The solution after magnified programmes for what the solver's tolerance left; a step that helps is kept."""
    for _ in range(SHARPEN_STEPS):
        if best.value - lower <= SHARP * abs(best.value) or deadline.passed:
            break
        prices, raw = _sharpen(a, b, best.prices)
        # Prices and matrix prove their bounds independently of each other.
        new_factor, new_lower = _lower(a, b, prices, raw)
        if new_lower > lower:
            factor, lower = new_factor, new_lower
        state = _State.at(a, b, prices)
        if state.value >= best.value:
            break
        best = state
    return best.prices, factor, lower


def _without_dust(b: Array, prices: Array, factor: Array) -> Array:
    """Prices that interior-point rounding left above 0 on bounds that are not met become 0."""
    dust = (prices <= 1e-7 * max(prices.max(initial=0.0), 1e-300)) & (_spent(b, factor) < 1.0 - 1e-5)
    return np.where(dust, 0.0, prices)


def _sharpen(a: Array, b: Array, prices: Array) -> tuple[Array, Array]:
    """One step of iterative refinement: the programme for the *change* of prices, on the eigenspace at the top.

    Differences between the top eigenvalues are what is left of the solver's tolerance. Magnified to unit size they are
    solved to that tolerance again.
    """
    values, vectors = np.linalg.eigh(contrast(a, b, prices))
    near = values >= max(values[-1] - NEAR_TOP, values[-min(sdp_size(len(b)), len(values))])
    space = vectors[:, near]
    size = max(values[-1] - values[near][0], SHARPEN_MIN)
    inner = np.diag((values[near] - values[-1]) / size)
    low = np.maximum(-prices / size, -SHARPEN_BOX)
    change, mixture = solve_sdp(inner, _sandwich(b, space), low, SHARPEN_BOX)
    sharper = np.maximum(prices + size * change, 0.0)
    factor = space @ _psd_factor(mixture)
    return _without_dust(b, sharper, factor), factor


def contrast(a: Array, b: Array, prices: Array) -> Array:
    """``A - sum_j w_j B_j``."""
    return a - (prices @ b.reshape(len(b), a.size)).reshape(a.shape)


def _sandwich(matrices: Array, basis: Array) -> Array:
    return basis.T @ matrices @ basis


# --- smooth optimum ------------------------------------------------------------------------------------------------


def _newton(a: Array, b: Array, prices: Array, box: float) -> tuple[Array, Array] | None:
    """Projected Newton on the prices; None where the top eigenvalue is nearly multiple or the box has no optimum."""
    state = _State.at(a, b, prices.copy())
    for _ in range(NEWTON_STEPS):
        if state.residual <= NEWTON_DONE:
            return state.prices, state.vectors[:, :1]
        if len(a) == 1 or state.values[0] - state.values[1] <= 1e-7:
            return None
        moved = _line_search(a, b, state, _newton_step(b, state))
        if moved is None or np.any(moved.prices > box):
            break
        state = moved
    # Rounding can stop Newton just short of its goal; what it has is then still good to the feasibility tolerance.
    return (state.prices, state.vectors[:, :1]) if state.residual <= FEASIBLE else None


def _bracketed(a: Array, b: Array, box: float) -> tuple[Array, Array] | None:
    """Newton for one price, from near the optimum; None where the optimum is a kink, or beyond the box."""

    def slope(price: float) -> float:  # nearly a straight line, as in :mod:`.root`
        gradient = _State.at(a, b, np.array([price])).gradient[0]
        return float(max(1.0 - gradient, LEAST) ** -0.5 - 1.0)

    left, right = 0.0, BRACKET_START
    while slope(right) < 0:
        left, right = right, right * BRACKET_GROWTH
        if left > box:
            return None
    near = BRACKET_CLOSE * max(left, LEAST_PRICE)
    price = left if slope(left) >= 0 else brentq(slope, left, right, xtol=near, rtol=BRACKET_CLOSE)
    return _newton(a, b, np.array([price]), box)


@dataclass(frozen=True)
class _State:
    prices: Array
    value: float
    values: Array
    vectors: Array
    gradient: Array

    @property
    def free(self) -> Array:
        """Prices that may move: those that are positive or ought to be."""
        return (self.prices > 0) | (self.gradient < 0)

    @property
    def residual(self) -> float:
        """The largest derivative by a price that may move."""
        return float(np.max(np.abs(self.gradient), where=self.free, initial=0.0))

    @classmethod
    def at(cls, a: Array, b: Array, prices: Array) -> _State:
        values, vectors = np.linalg.eigh(contrast(a, b, prices))
        values, vectors = values[::-1], vectors[:, ::-1]
        top = vectors[:, 0]
        return cls(prices, values[0] + prices.sum(), values, vectors, 1.0 - (b @ top) @ top)


def _newton_step(b: Array, state: _State) -> Array:
    """Newton direction on the free prices. Hessian: ``2 sum_i (v'B_j v_i)(v'B_k v_i) / (mu_1 - mu_i)``."""
    free = state.free
    coupling = (b[free] @ state.vectors[:, 0]) @ state.vectors[:, 1:]
    hessian = 2.0 * (coupling / (state.values[0] - state.values[1:])) @ coupling.T
    step = np.zeros(len(b))
    if hessian.trace() <= 0:
        return step
    # Equal backgrounds make it singular: a tiny ridge shares the step between them.
    hessian.flat[:: len(hessian) + 1] += 1e-13 * hessian.trace()
    step[free] = -np.linalg.solve(hessian, state.gradient[free])
    return step


def _line_search(a: Array, b: Array, state: _State, step: Array) -> _State | None:
    """Backtrack along the projected step until the value falls (or the KKT residual does, near the end)."""
    for shrink in HALVINGS:
        candidate = _State.at(a, b, np.maximum(state.prices + shrink * step, 0.0))
        promised = state.gradient @ (candidate.prices - state.prices)
        if candidate.value <= state.value + 1e-4 * promised:
            return candidate
        near = abs(candidate.value - state.value) <= 1e-13 * max(1.0, abs(state.value))
        if near and candidate.residual < state.residual:
            return candidate
    return None


# --- feasible primal matrix ----------------------------------------------------------------------------------------


def _psd_factor(mixture: Array) -> Array:
    """F with ``F F' = V``, scaled to trace 1."""
    weights, vectors = np.linalg.eigh(mixture)
    factor = vectors * np.sqrt(np.maximum(weights, 0.0))
    return factor / max(np.linalg.norm(factor), 1e-300)


def make_feasible(b: Array, factor: Array, prices: Array) -> Array | None:
    """The factor of a feasible matrix near ``factor @ factor.T``, or None: as it is, corrected, or mixed."""
    if _respects(b, factor):
        return factor
    corrected = _correct(b, factor, prices)
    if corrected is not None and _respects(b, corrected):
        return corrected
    mixed = _mix(b, factor)
    return mixed if mixed is not None and _respects(b, mixed) else None


def _respects(b: Array, factor: Array) -> bool:
    """Whether no bound is exceeded by more than rounding."""
    return bool(np.all(_spent(b, factor) <= 1.0 + FEASIBLE))


def _spent(b: Array, factor: Array) -> Array:
    """``tr(B_j V)`` for every background."""
    return np.einsum("qr,jqr->j", factor, b @ factor)


def _correct(b: Array, factor: Array, prices: Array) -> Array | None:
    """Smallest symmetric change inside the range of V that puts it exactly on the bounds it is near or above."""
    spent = _spent(b, factor)
    active = (spent > 1.0) | ((prices > 0) & (np.abs(spent - 1.0) < 1e-4))
    r = factor.shape[1]
    inner = np.concatenate([_sandwich(b[active], factor), (factor.T @ factor)[np.newaxis]])
    wanted = np.append(1.0 - spent[active], 0.0)
    change = np.linalg.lstsq(inner.reshape(len(inner), -1), wanted, rcond=None)[0].reshape(r, r)
    weights, vectors = np.linalg.eigh(np.eye(r) + (change + change.T) / 2)
    if weights[0] < 0:
        return None
    corrected = factor @ (vectors * np.sqrt(weights))
    return corrected / np.linalg.norm(corrected)


def _mix(b: Array, factor: Array) -> Array | None:
    """Mix with the least expensive direction, just enough to respect every bound."""
    spent = _spent(b, factor)
    near = spent > 1.0 - 1e-6
    if not near.any():
        return factor
    cheap = np.linalg.eigh(b[near].sum(axis=0))[1][:, :1]
    cost = _spent(b, cheap)
    over = spent > 1.0
    if np.any(cost[over] >= 1.0):
        return None
    needed = float(np.max((spent[over] - 1.0) / (spent[over] - cost[over]), initial=0.0))
    share = min(1.0, needed * (1 + 1e-9) + 1e-16)
    return np.hstack([np.sqrt(1.0 - share) * factor, np.sqrt(share) * cheap])
