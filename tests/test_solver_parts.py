"""The steps inside the solvers, one by one: a wrong step costs a few more of them, and the answer shows nothing of it.

Derivatives are compared with differences, linear algebra with numpy, words and rules with what is known by hand.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from test_kinks import TARGET, WEDGE

from uca import InfeasibleBoundsError, solve_dual
from uca._deadline import Deadline
from uca.dual import Certificate, Dual, DualPoint, Status
from uca.operators.contract.dense import DensePencil
from uca.operators.contract.operator import Eigenpairs, LinearCombination
from uca.operators.contract.pencil import OperatorPencil
from uca.operators.eigen.solver import Eigensolver
from uca.solvers import relaxed
from uca.solvers.bundle import Bundle
from uca.solvers.conclude import _doubts, _heavy, _message, _put_first, _status, conclude
from uca.solvers.coordinate import solve_coordinate
from uca.solvers.direction import _best_in_plane, _by_local_search, _by_multiplier, best_feasible_direction
from uca.solvers.found import Found, Stop
from uca.solvers.infeasible import _in_conflict, smallest_attainable
from uca.solvers.lbfgs import solve_lbfgs
from uca.solvers.lower import _errors, _isotropic, _least_expensive, _mixed, _Spending, certified_lower
from uca.solvers.projected import (
    _bracketed,
    _carrying,
    _correct,
    _first_independent,
    _line_search,
    _newton,
    _newton_step,
    _psd_factor,
    _sharpen,
    _State,
    _without_dust,
    contrast,
    make_feasible,
    sdp_size,
    solve_projected,
)
from uca.solvers.refined import newton_steps
from uca.solvers.root import solve_root
from uca.solvers.sdp import _pack, _settings, _unpack, solve_sdp
from uca.solvers.subspace import _accuracy, _better, _first_accuracy, _is_polished, solve_subspace
from uca.solvers.visited import OutOfWork, Visited, with_a_matrix


def _covariances(rng, n, size):
    factors = rng.standard_normal((n, size, size))
    return factors @ factors.swapaxes(1, 2) / size


def _dual(matrices, bounds, **options):
    return Dual(Eigensolver(DensePencil(np.asarray(matrices, dtype=float), **options)), np.asarray(bounds, dtype=float))


def _point(value=1.0, *, prices=(0.0,), spent=(1.0,), eigenvalues=(1.0,), size=2, **more):
    vectors = np.eye(size)[:, : len(eigenvalues)]
    return DualPoint(np.array(prices), value, np.array(eigenvalues), vectors, np.array(spent), **more)


# --- Newton's method on the prices ----------------------------------------------------------------------------------


def _value(a, b, prices):
    return float(np.linalg.eigvalsh(contrast(a, b, prices))[-1] + prices.sum())


def test_the_contrast_is_what_it_says(rng):
    a, *b = _covariances(rng, 3, 4)
    np.testing.assert_allclose(contrast(a, np.stack(b), np.array([0.5, 2.0])), a - 0.5 * b[0] - 2.0 * b[1], rtol=1e-14)


def test_a_newton_step_is_that_of_differences(rng):
    """Gradient and Hessian of the value by central differences of its gradient, at a simple eigenvalue."""
    a, *b = _covariances(rng, 3, 5)
    b, prices = np.stack(b), np.array([0.2, 0.3])
    state = _State.at(a, b, prices)
    assert state.value == pytest.approx(_value(a, b, prices), rel=1e-13)
    gradient = [(_value(a, b, prices + h) - _value(a, b, prices - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(state.gradient, gradient, atol=1e-8)
    both = [[_State.at(a, b, prices + sign * h).gradient for sign in (1, -1)] for h in 1e-5 * np.eye(2)]
    hessian = np.array([(up - down) / 2e-5 for up, down in both])
    np.testing.assert_allclose(_newton_step(b, state), -np.linalg.solve(hessian, gradient), rtol=1e-5)


def test_prices_at_their_bound_stay_there_where_they_ought_to(rng):
    """The second background spends little: its price is 0 and would fall. The step is that of the first alone."""
    a, first = _covariances(rng, 2, 5)
    b = np.stack([3.0 * first / first.trace(), 1e-3 * np.eye(5)])
    state = _State.at(a, b, np.array([0.1, 0.0]))
    np.testing.assert_array_equal(state.free, [True, False])
    step = _newton_step(b, state)
    assert step[1] == 0.0
    np.testing.assert_allclose(step[:1], _newton_step(b[:1], _State.at(a, b[:1], np.array([0.1]))))
    assert state.residual == abs(state.gradient[0])
    assert _State.at(a, b[1:], np.zeros(1)).residual == 0.0


def test_matrices_that_commute_have_no_newton_step():
    """The top eigenvector does not turn: the value is a straight line."""
    b = np.diag([2.0, 1.0])[np.newaxis]
    np.testing.assert_array_equal(_newton_step(b, _State.at(np.diag([3.0, 1.0]), b, np.array([0.1]))), [0.0])


def test_a_step_that_is_too_long_is_halved():
    """A step of 100 times Newton's: the largest of its halves that lowers the value, by trying all."""
    a, b = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[[1.5, 0.0], [0.0, 0.5]]])
    state = _State.at(a, b, np.array([0.2]))
    for factor in (1.0, 3.0, 6.0, 12.0):
        step = factor * _newton_step(b, state)
        tried = [np.maximum(state.prices + 0.5**i * step, 0.0) for i in range(5)]
        lower = [p for p in tried if _value(a, b, p) <= state.value + 1e-4 * state.gradient @ (p - state.prices)]
        found = _line_search(a, b, state, step)
        assert found is not None
        np.testing.assert_array_equal(found.prices, lower[0])
    assert _line_search(a, b, state, -_newton_step(b, state)) is None  # uphill


def test_newton_finds_a_smooth_optimum(rng):
    a, b = _covariances(rng, 2, 6)
    b = b[np.newaxis] * 6 / b.trace()
    found = _newton(a, b, np.array([0.1]), 100.0)
    assert found is not None
    best = minimize_scalar(lambda w: _value(a, b, np.array([w])), bounds=(0, 10), options={"xatol": 1e-10})
    assert _value(a, b, found[0]) == pytest.approx(best.fun, rel=1e-10)
    assert (b[0] @ found[1][:, 0]) @ found[1][:, 0] == pytest.approx(1.0, abs=1e-11)
    assert _newton(a, b, np.array([0.1]), found[0][0] / 2) is None  # beyond the box
    kink = np.diag([2.0, 0.5])[np.newaxis]
    assert _newton(np.eye(2) + 0.1 * kink[0], kink, np.array([0.1]), 9.0) is None  # equal eigenvalues


# --- the problem inside the subspace ----------------------------------------------------------------------------------


def test_directions_that_carry_no_weight_are_left_out(rng):
    q = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    factor = q * np.array([2.0, 2.0 * 0.9e-4, 2.0 * 1.1e-4])
    kept = _carrying(factor)
    assert kept.shape == (6, 2)
    np.testing.assert_allclose(np.abs(kept.T @ q[:, [0, 2]]), np.eye(2), atol=1e-12)
    assert _heavy(q * np.array([1.0, 0.9e-3, 1.1e-3])).shape == (6, 2)


def test_the_first_vectors_have_precedence(rng):
    first = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    other = rng.standard_normal((5, 1))
    found = _first_independent(np.hstack([first, other, first @ [[1.0], [2.0]], other + 1e-8]))
    assert found.shape == (5, 3)
    np.testing.assert_allclose(np.abs(found[:, :2].T @ first), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(found @ (found.T @ other), other, atol=1e-12)


def test_the_factor_of_a_mixture_has_trace_one(rng):
    (matrix,) = _covariances(rng, 1, 4)
    factor = _psd_factor(matrix)
    np.testing.assert_allclose(factor @ factor.T, matrix / matrix.trace(), atol=1e-14)
    negative = np.diag([0.8, 0.4, -1e-9])  # by rounding
    np.testing.assert_allclose(_psd_factor(negative) @ _psd_factor(negative).T, np.diag([2, 1, 0]) / 3, atol=1e-15)


@pytest.mark.parametrize(
    ("m", "size"), [(0, 12), (1, 12), (64, 12), (65, 13), (89, 14), (90, 15), (252, 24), (1000, 24)]
)
def test_programmes_have_room_for_a_mixture(m, size):
    """Of rank r where r (r + 1) / 2 <= m + 1, and two more; not more than 24."""
    assert sdp_size(m) == size


def test_prices_of_bounds_that_are_not_met_are_dust():
    """Less than 1e-7 of the largest, and the bound not met: only both together."""
    b = np.stack([np.diag([1.0, 0.0]), np.diag([0.5, 0.0]), np.diag([0.5, 0.0]), np.diag([1.0, 0.0])])
    prices = np.array([3.0, 2e-7, 1e-6, 2e-7])
    np.testing.assert_array_equal(_without_dust(b, prices, np.array([[1.0], [0.0]])), [3.0, 0.0, 1e-6, 2e-7])


def test_a_matrix_is_corrected_on_the_bounds_that_it_is_near():
    """Trace 1, the bounds in question met exactly, others left alone; the change is the smallest that does so."""
    factor = np.linalg.cholesky(np.array([[0.5, 0.1], [0.1, 0.5]]))
    spends = np.array([1.00002, 0.99999, 0.99999, 0.9])
    shapes = np.stack([np.diag([1.0, 3.0]), [[1.0, 0.5], [0.5, 2.0]], np.diag([2.0, 1.0]), np.eye(2)])
    given = factor @ factor.T
    b = np.stack([s * m / np.sum(m * given) for s, m in zip(spends, shapes, strict=True)])
    prices = np.array([0.0, 1.0, 0.0, 1.0])
    fixed = _correct(b, factor, prices)
    now = np.array([np.sum(m * (fixed @ fixed.T)) for m in b])
    np.testing.assert_allclose(now[:2], 1.0, atol=1e-13)
    assert np.sum(fixed**2) == pytest.approx(1.0, abs=1e-13)
    assert abs(now[2] - 1.0) > 1e-6  # has no price, and is not exceeded
    inner = [factor.T @ m @ factor for m in (b[0], b[1], np.eye(2))]
    change = np.linalg.pinv(np.stack([m.ravel() for m in inner])) @ np.append(1.0 - spends[:2], 0.0)
    expected = factor @ (np.eye(2) + change.reshape(2, 2)) @ factor.T
    np.testing.assert_allclose(fixed @ fixed.T, expected, atol=1e-13)


def test_a_change_that_leaves_the_cone_is_none():
    """Half of the weight on a direction that spends nothing: to spend a tenth, weights would have to be negative."""
    b = np.array([np.diag([10.0, 8.0])])
    factor = np.diag(np.sqrt([0.5, 0.5]))
    assert _correct(b, factor, np.ones(1)) is None
    assert make_feasible(b, factor, np.ones(1)) is None
    np.testing.assert_array_equal(make_feasible(b / 100, factor, np.ones(1)), factor)


def test_sharper_prices_are_sharper():
    """The wedge of test_kinks.py: in units of the bounds prices are 1.1 each. They come in wrong by 3e-8."""
    b = np.stack(WEDGE) / 2.2
    prices, factor = _sharpen(TARGET, b, np.array([1.1 + 3e-8, 1.1 - 2e-8]))
    np.testing.assert_allclose(prices, [1.1, 1.1], atol=1e-14)
    np.testing.assert_allclose(factor @ factor.T, np.diag([0.6, 0.4]), atol=1e-9)  # z = (0.2, 0)


def _one_background(rng, size):
    """Near crossings of eigenvalues, where Newton from 0 stops: A diagonal, a background that hardly couples its axes."""
    coupling = 0.1 * rng.standard_normal((size, size))
    b = np.diag(rng.gamma(1.0, size=size)) + coupling @ coupling.T
    return np.diag(np.sort(rng.gamma(2.0, size=size))[::-1]) / 10, b[np.newaxis] / np.trace(b) * size


def _value_at(a, b, price):
    return _value(a, b, np.array([price]))


def test_the_price_of_one_background_from_a_bracket(rng):
    stopped = 0
    for _ in range(60):
        a, b = _one_background(rng, rng.integers(3, 12))
        known = minimize_scalar(partial(_value_at, a, b), bounds=(0, 20), options={"xatol": 1e-10})
        found = _bracketed(a, b, 20.0)
        stopped += _newton(a, b, np.zeros(1), 20.0) is None
        if found is None:  # a kink
            values = np.linalg.eigvalsh(contrast(a, b, np.array([known.x])))
            assert values[-1] - values[-2] < 1e-4
            continue
        prices, factor = found
        assert _value(a, b, prices) <= known.fun + 1e-12
        assert np.sum(factor * (a @ factor)) == pytest.approx(_value(a, b, prices), abs=1e-11)  # the bounds meet
        assert np.sum(factor * (b[0] @ factor)) <= 1 + 1e-12
    assert stopped >= 10


def test_a_bracket_ends_where_there_is_nothing_to_bracket(rng):
    a, b = np.diag([3.0, 2.0, 1.0]), np.diag([0.5, 1.0, 1.5])[np.newaxis]
    prices, factor = _bracketed(a, b, 20.0)  # the first axis keeps the bound
    np.testing.assert_array_equal(prices, [0.0])
    np.testing.assert_array_equal(np.abs(factor[:, 0]), [1.0, 0.0, 0.0])
    assert _bracketed(a, np.diag([1.5, 1.0 + 1e-9, 1.0 + 1e-9])[np.newaxis], 20.0) is None  # no direction keeps it
    assert _bracketed(a, np.diag([2.0, 0.5, 0.5])[np.newaxis], 20.0) is None  # a kink: two axes have to be mixed


def test_with_one_background_programmes_are_for_kinks(rng, monkeypatch):
    def never(*_, **__):
        raise AssertionError("a programme where none is needed")

    monkeypatch.setattr("uca.solvers.projected.solve_sdp", never)
    for _ in range(20):
        shared = 2 * rng.standard_normal((3, 20))
        a, b = (
            np.cov(rng.standard_normal((80, 20)) + rng.standard_normal((80, 3)) @ shared, rowvar=False) for _ in "ab"
        )
        assert solve_dual(a, [b]).certificate.gap <= 1e-9


def test_where_no_matrix_is_feasible_prices_are_the_probe(rng):
    a, b = np.eye(2), np.stack([np.diag([1.5, 1.0]), np.diag([1.0, 1.5])])  # 2.5 of both together, at least
    found = solve_projected(a, b, np.zeros(2), probe=7.0, box=90.0)
    np.testing.assert_array_equal(found.prices, [7.0, 7.0])
    assert found.factor is None
    assert found.lower == -np.inf
    assert found.at_box


def test_the_projected_problem_has_the_units_of_the_target():
    b = np.stack(WEDGE) / 2.2
    for unit in (1.0, 1e3, 1e-3):
        found = solve_projected(unit * TARGET, b, np.zeros(2), probe=unit, box=10 * unit)
        np.testing.assert_allclose(found.prices, [1.1 * unit, 1.1 * unit], rtol=1e-9)
        assert found.lower == pytest.approx(2.2 * unit, rel=1e-12)
        assert not found.at_box
        np.testing.assert_allclose(found.factor @ found.factor.T, np.diag([0.6, 0.4]), atol=1e-9)
    assert solve_projected(TARGET, b, np.zeros(2), probe=1.0, box=0.5).at_box


@pytest.mark.parametrize("many", [False, True])
def test_a_kink_in_more_directions_than_a_programme_has(rng, many):
    """Commuting matrices of order 30: a linear programme, whose value is known by another solver."""
    from scipy.optimize import linprog

    target, *backgrounds = rng.gamma(1.0, size=(7 if many else 4, 30))
    backgrounds = np.array([row / row.mean() for row in backgrounds])
    known = linprog(-target, A_ub=backgrounds, b_ub=np.ones(len(backgrounds)), A_eq=np.ones((1, 30)), b_eq=[1.0])
    axes = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    a, *b = ((axes * row) @ axes.T for row in (target, *backgrounds))
    found = solve_projected(a, np.stack(b), np.zeros(len(b)), probe=1.0, box=1e3)
    assert found.lower == pytest.approx(-known.fun, rel=1e-9)
    assert _value(a, np.stack(b), found.prices) == pytest.approx(-known.fun, rel=1e-9)


# --- the semidefinite programme ---------------------------------------------------------------------------------------


def test_packed_matrices_keep_their_products(rng):
    x, y = (m + m.T for m in rng.standard_normal((2, 4, 4)))
    assert _pack(x) @ _pack(y) == pytest.approx(np.sum(x * y))
    np.testing.assert_allclose(_unpack(_pack(x), 4), x)
    # Clarabel: the upper triangle by columns.
    np.testing.assert_allclose(_pack(x)[:3], [x[0, 0], np.sqrt(2) * x[0, 1], x[1, 1]])


def test_prices_of_a_programme_stay_between_their_limits():
    """Unconstrained, the wedge has prices of 1.1 each; the value is symmetric, and convex."""
    b = np.stack(WEDGE) / 2.2
    prices, mixture = solve_sdp(TARGET / 3, b, np.zeros(2), 10.0)
    np.testing.assert_allclose(prices, [1.1 / 3, 1.1 / 3], atol=1e-8)
    np.testing.assert_allclose(mixture, np.diag([0.6, 0.4]), atol=1e-6)
    np.testing.assert_allclose(solve_sdp(TARGET / 3, b, np.zeros(2), 0.25)[0], [0.25, 0.25], atol=1e-8)
    np.testing.assert_allclose(solve_sdp(TARGET / 3, b, np.array([0.5, 0.5]), 9.0)[0], [0.5, 0.5], atol=1e-8)


def test_a_programme_that_fails_is_tried_again_with_other_units(monkeypatch):
    """Clarabel that fails at first: the second attempt rescales, and its answer is the one that counts."""
    import clarabel

    asked, real = [], clarabel.DefaultSolver

    def solver(*problem):
        asked.append(problem[-1].equilibrate_enable)
        if len(asked) > 1:
            return real(*problem)
        wrong = SimpleNamespace(x=[np.nan] * 3, z=[np.nan] * 7, status=clarabel.SolverStatus.NumericalError)
        return SimpleNamespace(solve=lambda: wrong)

    monkeypatch.setattr(clarabel, "DefaultSolver", solver)
    prices, mixture = solve_sdp(TARGET / 3, np.stack(WEDGE) / 2.2, np.zeros(2), 10.0)
    assert asked == [False, True]
    np.testing.assert_allclose(prices, [1.1 / 3, 1.1 / 3], atol=1e-8)
    assert mixture.trace() == pytest.approx(1.0, abs=1e-8)
    solve_sdp(TARGET / 3, np.stack(WEDGE) / 2.2, np.zeros(2), 10.0)
    assert asked == [False, True, False]  # what succeeds is not tried again


def test_settings_of_the_programmes():
    settings = _settings(SimpleNamespace(), True, 2.5)
    assert vars(settings) == {
        "time_limit": 2.5,
        "verbose": False,
        "max_threads": 1,
        "equilibrate_enable": True,
        "chordal_decomposition_enable": False,
        "tol_gap_abs": 1e-11,
        "tol_gap_rel": 1e-11,
        "tol_feas": 1e-11,
    }


# --- steps in the whole space -----------------------------------------------------------------------------------------


def test_newton_steps_in_the_whole_space_are_those_of_linear_solves(rng):
    matrices, prices = _covariances(rng, 4, 6), np.array([0.3, 0.0, 0.2])
    bundle = Bundle(_dual(matrices, np.array([2.0, 1.0, 0.5])))
    weights = bundle.dual.weights(prices)
    np.testing.assert_allclose(weights, [1.0, -0.15, 0.0, -0.4])
    c = np.tensordot(weights, matrices, axes=1)
    top = np.linalg.eigh(c)[1][:, -1]
    u = top + 0.05 * rng.standard_normal(6)
    u /= np.linalg.norm(u)
    mu = u @ c @ u
    sides = [matrices[j] @ u - (u @ matrices[j] @ u) * u for j in (1, 3)]  # the second background has no price
    solved = np.linalg.solve(mu * np.eye(6) - c, np.column_stack([u, *sides]))
    expected = solved - np.outer(u, u @ solved)
    found, length = newton_steps(bundle, u, prices)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected, axis=0), atol=1e-10)
    assert length == pytest.approx(np.linalg.norm(expected[:, 0]) / abs(u @ solved[:, 0]), rel=1e-9)
    again = u + length * found[:, 0] * np.sign(u @ solved[:, 0])  # Rayleigh quotient iteration: cubic
    assert 1 - abs(again @ top) / np.linalg.norm(again) < 1e-3 * (1 - abs(u @ top))


def test_there_is_no_step_from_an_eigenvector():
    bundle = Bundle(_dual([np.diag([3.0, 1.0]), np.eye(2)], [1.0]))
    steps, length = newton_steps(bundle, np.array([1.0, 0.0]), np.array([1.0]))
    assert steps.shape == (2, 0)
    assert length == 0.0


# --- bounds that are relaxed ------------------------------------------------------------------------------------------


def test_the_direction_of_the_largest_ratio(rng):
    a, b = _covariances(rng, 2, 5)
    root = np.linalg.cholesky(np.linalg.inv(b))
    vector = root @ np.linalg.eigh(root.T @ a @ root)[1][:, -1]
    expected = vector @ b @ vector / (vector @ vector)
    assert relaxed._largest_ratio(np.stack([a, b])) == pytest.approx(expected, rel=1e-9)
    assert relaxed._largest_ratio(np.stack([a, np.diag([1.0, 1.0, 1.0, 0.0, 0.0])])) == np.inf


@pytest.mark.parametrize(("bound", "length"), [(0.5, 0.5), (0.25, 0.25), (2.0, 1.0), (5.0, 1.0)])
def test_the_length_of_a_solution_that_may_be_short(bound, length):
    """max 2x + y, x + y <= 1, 4x + y <= c: all on y, which costs a quarter and brings a half, up to c = 1."""
    matrices, options = np.stack([np.diag([2.0, 1.0]), np.diag([4.0, 1.0])]), {"tol": 1e-9, "max_iter": 100}
    assert relaxed._squared_length(matrices, np.array([bound]), options) == pytest.approx(length, abs=1e-6)


def test_bounds_are_stretched_to_length_one():
    pencil = DensePencil(np.stack([np.diag([2.0, 1.0]), np.diag([4.0, 1.0])]))
    options = {"tol": 1e-9, "max_iter": 100}
    assert relaxed._stretch(pencil, np.array([0.25]), options) == pytest.approx(4.0)  # the bound that y = 1 needs is 1
    twice = DensePencil(np.stack([np.diag([2.0, 1.0]), np.diag([4.0, 1.0]), np.diag([4.0, 1.0])]))
    assert relaxed._stretch(twice, np.array([0.25, 0.25]), options) == pytest.approx(4.0, rel=1e-6)


# --- lower bounds -----------------------------------------------------------------------------------------------------


def _spends(value, spent, off):
    return _Spending(value, np.array(spent), np.array(off))


def test_what_a_mixture_has_at_least():
    """2 w + 0.5 (1 - w) = 1 at w = 1/3, the share of what spends too much; target errors come off both."""
    own, cheap = _spends(9.0, [1.8, 0.2], [0.3, 0.1, 0.0]), _spends(3.0, [0.4, 0.2], [0.15, 0.05, 0.0])
    assert _mixed(own, cheap, np.array([2.0, 1.0])) == pytest.approx((9.0 - 0.3) / 3 + (3.0 - 0.15) * 2 / 3)
    assert _mixed(own, _spends(3.0, [1.0, 0.2], [0.0, 0.0, 0.0]), np.ones(2)) == -np.inf
    # The second bound is kept by the first matrix, and exceeded by so much of the other.
    assert _mixed(own, _spends(3.0, [0.4, 1.5], [0.15, 0.05, 0.0]), np.array([2.0, 1.0])) == -np.inf


def test_what_spends_little_of_the_bounds_in_question():
    """Of two bounds that are exceeded: the least of their sum, and the best for each in equal parts; a third is ignored."""
    matrices = [np.diag([1.0, 2.0, 4.0]), np.diag([1.0, 5.0, 3.0]), np.diag([6.0, 1.0, 2.9]), np.diag([9.0, 9.0, 0.1])]
    space = Bundle(_dual(matrices, np.ones(3)))
    space.extend(np.eye(3))
    of_sum, of_each = _least_expensive(space, np.array([True, True, False]))
    # Sums are 7, 6 and 5.9; the least of the first is at 0, of the second at 1.
    np.testing.assert_allclose([of_sum.value, *of_sum.spent], [4.0, 3.0, 2.9, 0.1])
    np.testing.assert_allclose([of_each.value, *of_each.spent], [1.5, 3.0, 3.5, 9.0])


def test_errors_of_light_directions_are_those_of_any():
    """A weight of 0.49e-8 and one of 0.25e-8: what they hold is counted by the error of the whole matrix."""

    def errors_at(vectors, sizes):
        return np.array([1e-6, 1e-7])

    dual = _dual([np.eye(3), np.eye(3)], [1.0], allowances=[1e-2, 1e-3], errors_at=errors_at)
    factor = np.diag([1.0, 0.7e-4, 0.5e-4])
    light = 0.49e-8 + 0.25e-8
    rounding = 16 * 2.0**-53 * np.sqrt(3)
    np.testing.assert_allclose(
        _errors(dual, factor), [1e-6 + rounding + light * 1e-2, 1e-7 + rounding + light * 1e-3], rtol=1e-9
    )


def test_a_random_direction_is_a_lower_bound_with_mean_bounds():
    dual = _dual([np.diag([4.0, 2.0, 0.0]), np.diag([3.0, 2.0, 1.0])], [2.0], allowances=[0.1, 0.0])
    assert _isotropic(dual) == pytest.approx(2.0 - 0.1)
    other = _dual([np.diag([4.0, 2.0, 0.0]), np.diag([3.0, 2.0, 1.0])], [2.1])
    assert _isotropic(other) == -np.inf


def test_without_a_matrix_there_is_no_lower_bound():
    found = certified_lower(
        _dual([TARGET, *WEDGE], [2.2, 2.2]), _point(prices=(1.0, 1.0), spent=(1.0, 1.0)), None, 1e-9
    )
    assert found.value == -np.inf
    assert found.proven


@pytest.mark.parametrize("off", [0.0, 1e-3, 0.1])
def test_a_lower_bound_holds_for_what_covariances_may_be(off):
    """The wedge, whose mixture spends both bounds: with variances off by e it is less, by as much as prices say or more."""
    dual = _dual([TARGET, *WEDGE], [2.2, 2.2], allowances=[off, off, off])
    point = dual.evaluate(2.2 * np.array([0.5, 0.5]), k=2)
    found = certified_lower(dual, point, np.diag(np.sqrt([0.6, 0.4])), 1e-9)
    smaller = solve_dual(TARGET, WEDGE, 2.2 - off).value - off  # the optimum where all are off as far as they can be
    assert found.value <= smaller + 1e-12
    assert found.value >= 2.2 - 4.0 * off - 1e-9 - (off > 0.05)
    assert found.proven or off == 0.0


# --- directions -------------------------------------------------------------------------------------------------------


def test_one_bound_is_exact_in_any_number_of_dimensions(rng):
    """A direction attains the optimum (S-lemma): the dual by a search of one number."""
    for _ in range(20):
        a, b = _covariances(rng, 2, 4)
        b = b / rng.uniform(np.linalg.eigvalsh(b)[0], b.trace() / 4)
        known = minimize_scalar(
            lambda w, a=a, b=b: np.linalg.eigvalsh(a - w * b)[-1] + w, bounds=(0, 1e3), options={"xatol": 1e-11}
        )
        found = best_feasible_direction(a, b[np.newaxis])
        assert found @ b @ found <= 1 + 1e-9
        assert found @ a @ found == pytest.approx(known.fun, rel=1e-6)
        np.testing.assert_allclose([np.linalg.norm(u) for u in _by_multiplier(a, b[np.newaxis])], 1.0, atol=1e-12)


def test_a_bound_that_is_not_met_leaves_the_top_direction(rng):
    (a,) = _covariances(rng, 1, 4)
    found = best_feasible_direction(a, 0.5 * np.eye(4)[np.newaxis])
    assert found @ a @ found == pytest.approx(np.linalg.eigvalsh(a)[-1], rel=1e-12)


def test_several_bounds_in_space_beat_a_fine_grid(rng):
    """A million directions of the half sphere: none that respects the bounds is better than what is found."""
    grid = rng.standard_normal((200_000, 3))
    grid /= np.linalg.norm(grid, axis=1, keepdims=True)
    for _ in range(6):
        a, *b = _covariances(rng, 4, 3)
        b = np.stack([m / rng.uniform(np.linalg.eigvalsh(m)[0], m.trace() / 3) for m in b])
        spent = np.max([np.einsum("gi,ij,gj->g", grid, m, grid) for m in b], axis=0)
        inside = grid[spent <= 1.0]
        if not len(inside):
            continue
        best = np.einsum("gi,ij,gj->g", inside, a, inside).max()
        found = best_feasible_direction(a, b)
        assert np.all((b @ found) @ found <= 1 + 1e-9)
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-12)
        assert found @ a @ found >= best - 1e-9


def test_local_searches_end_on_the_sphere(rng):
    a, *b = _covariances(rng, 3, 3)
    b = np.stack(b) / 2
    found = _by_local_search(a, b)
    assert len(found) >= 20
    np.testing.assert_allclose([np.linalg.norm(u) for u in found], 1.0, atol=1e-12)


def test_parallel_vectors_span_no_plane(rng):
    u = np.array([0.6, 0.8, 0.0])
    b = np.diag([1.2, 0.8, 0.5])[np.newaxis]
    assert _best_in_plane(u, u + 1e-9, np.eye(3), b) is None
    found = _best_in_plane(u, np.array([0.0, 0.0, 2.0]), np.diag([3.0, 2.0, 1.0]), b)
    # In the plane: cos²(0.36 * 1.2 + 0.64 * 0.8) + 0.5 sin² = 0.944 cos² + 0.5 sin² <= 1 always, so u is best.
    np.testing.assert_allclose(np.abs(found), u, atol=1e-12)
    assert _best_in_plane(u, np.array([0.0, 0.0, 2.0]), np.eye(3), 9.0 * b) is None


# --- points that were seen --------------------------------------------------------------------------------------------


def test_what_was_seen_is_kept_in_order_and_bounded():
    dual = _dual([TARGET, WEDGE[0]], [2.2])
    visited = Visited(dual, most=9)
    prices = [0.0, 0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4]
    values = [visited.evaluate(np.array([price])).value for price in prices]
    assert visited.count == 9
    assert visited.best.value == min(values)
    assert [entry[0] for entry in visited._best] == sorted(values)[:5]  # one background, and four more
    with pytest.raises(OutOfWork) as caught:
        visited.evaluate(np.array([0.5]))
    assert caught.value.stop is Stop.LIMIT
    assert visited.found(Stop.LIMIT).n_iter == 9
    assert visited.found(Stop.LIMIT, n_iter=2).n_iter == 2


def test_the_first_point_is_granted_after_the_end_of_time():
    dual = _dual([TARGET, WEDGE[0]], [2.2])
    dual.deadline = Deadline.after(0.0)
    visited = Visited(dual)
    visited.evaluate(np.zeros(1))
    with pytest.raises(OutOfWork) as caught:
        visited.evaluate(np.ones(1))
    assert caught.value.stop is Stop.TIME


def test_a_matrix_is_found_where_a_solver_ended_without():
    dual = _dual([np.diag([3.0, 1.0]), np.diag([2.0, 0.5])], [1.0])
    point = dual.evaluate(np.zeros(1), k=1)
    found = with_a_matrix(dual, Found(point, -np.inf, None, 3, Stop.TIME))
    # 2x + (1 - x) / 2 = 1 at x = 1/3: 3x + (1 - x).
    assert found.lower == pytest.approx(5 / 3, rel=1e-9)
    assert (found.n_iter, found.stop) == (3, Stop.TIME)
    assert with_a_matrix(dual, found) is found


def test_the_better_of_two_points():
    near, far = _point(1.0, spent=(1.0 - 1e-9,), prices=(1.0,)), _point(1.0 + 1e-15, spent=(0.9,), prices=(1.0,))
    assert _better(near, far) is near
    assert _better(far, near) is near
    assert _better(_point(1.1), _point(1.0)).value == 1.0
    assert _better(_point(1.0), _point(1.1)).value == 1.0
    assert _better(near, near) is near


def test_polished_is_sharp_or_at_a_kink():
    assert _is_polished(_point(1.0, spent=(1.0,), prices=(1.0,)))
    assert not _is_polished(_point(1.0, spent=(0.9,), prices=(1.0,)))
    assert not _is_polished(_point(1.0, spent=(0.9,), prices=(1.0,), eigenvalues=(1.0, 0.9)))
    assert _is_polished(_point(1.0, spent=(0.9,), prices=(1.0,), eigenvalues=(1.0, 1.0 - 1e-8)))


def test_errors_that_are_allowed_on_the_way():
    """A twentieth of the distance between the bounds; of the value where there is no lower one; none where they met."""
    assert _accuracy(_point(2.0), 1.0, 1e-9) == pytest.approx(0.05)
    assert _accuracy(_point(2.0), -np.inf, 1e-9) == pytest.approx(0.1)
    assert _accuracy(_point(2.0), 2.0 - 1e-10, 1e-9) is None
    assert _accuracy(_point(2.0), 2.0 - 3e-9, 1e-9) == pytest.approx(0.05 * 3e-9)
    assert _first_accuracy(_dual([np.diag([3.0, 1.0]), np.eye(2)], [1.0])) == pytest.approx(0.2)


# --- bounds out of reach ------------------------------------------------------------------------------------------------


def test_bounds_in_conflict_are_those_with_a_price():
    np.testing.assert_array_equal(_in_conflict(np.array([0.0, 2.0, 1.0, 3.0])), [3, 1, 2])
    assert len(_in_conflict(np.arange(1.0, 20.0))) == 10


def test_the_smallest_attainable_bound_with_and_without_others():
    """Two axes: x + 3 (1 - x) of one, 4x + (1 - x) of the other. Alone they reach 1; beside a bound of 2.5, x <= 1/2."""
    dual = _dual([np.eye(2), np.diag([1.0, 3.0]), np.diag([4.0, 1.0])], [0.9, 2.5])
    assert smallest_attainable(dual, 0, others=False) == pytest.approx(1.0, abs=1e-6)
    assert smallest_attainable(dual, 1, others=False) == pytest.approx(1.0, abs=1e-6)
    assert smallest_attainable(dual, 0, others=True) == pytest.approx(2.0, abs=1e-6)
    assert smallest_attainable(dual, 1, others=True) == np.inf


# --- the conclusion -----------------------------------------------------------------------------------------------------


def test_the_first_vector_takes_the_place_of_the_one_most_like_it():
    vectors = np.eye(4)[:, :3]
    like = np.array([[0.1], [0.9], [0.0], [0.0]])
    found = _put_first(like / np.linalg.norm(like), vectors)
    np.testing.assert_allclose(found[:, :1], like / np.linalg.norm(like), atol=1e-15)
    np.testing.assert_allclose(found[:, 1], np.array([0.9, -0.1, 0, 0]) / np.hypot(0.9, 0.1), atol=1e-15)
    np.testing.assert_allclose(found[:, 2], vectors[:, 2], atol=1e-15)
    new = np.eye(4)[:, 3:]
    np.testing.assert_allclose(_put_first(new, vectors), np.eye(4)[:, [3, 0, 1]], atol=1e-15)
    mostly_new = np.array([[np.sqrt(0.4)], [0.0], [0.0], [np.sqrt(0.6)]])  # the last one goes
    assert abs(_put_first(mostly_new, vectors)[1, 2]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("certified", "met", "stop", "status"),
    [
        (True, True, Stop.LIMIT, Status.OPTIMAL),
        (False, True, Stop.DONE, Status.ROUNDING),
        (False, False, Stop.LIMIT, Status.MAX_ITER),
        (False, False, Stop.TIME, Status.TIME_LIMIT),
        (False, False, Stop.NO_PROGRESS, Status.STALLED),
        (False, False, Stop.DONE, Status.STALLED),
    ],
)
def test_the_status_is_a_table(certified, met, stop, status):
    assert _status(certified, met, stop) is status


def _told(status=Status.OPTIMAL, gap=1e-10, tight=False, n_tied=1, excess=0.0, shortfall=0.0, solver="subspace"):
    return _message(status, gap, tight, n_tied, excess, shortfall, solver)


PROVEN = "Optimal: the certified relative gap is 1.0e-10."
NOT = (
    "Not optimal: solver '{}' stopped {} with a relative gap of 1.0e-10; the true optimum lies between the lower and the "
    "upper bound.{} {}."
)
OTHER = "Use solver='subspace'"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (_told(tight=True), f"{PROVEN} The first component attains the optimum and respects every bound."),
        (
            _told(excess=0.25),
            f"{PROVEN} No direction in or near their span was found to respect every bound: the first component exceeds "
            "one by 25 %.",
        ),
        (
            _told(n_tied=3, shortfall=0.034),
            f"{PROVEN} The optimum is attained by a mixture of 3 directions that share the largest eigenvalue, not by a "
            "single direction. The first component is the direction of largest target variance in their span (near it, if "
            "none there does) that respects every bound; its variance is 3.4 % below the optimum.",
        ),
        (
            _told(n_tied=1, shortfall=0.5),
            f"{PROVEN} The first component is the direction of largest target variance in their span (near it, if "
            "none there does) that respects every bound; its variance is 50 % below the optimum.",
        ),
        (
            _told(Status.MAX_ITER),
            NOT.format("subspace", "at the iteration limit", "", "Raise max_iter"),
        ),
        (_told(Status.MAX_ITER, solver="root"), NOT.format("root", "at the iteration limit", "", OTHER)),
        (
            _told(Status.TIME_LIMIT, solver="root"),
            NOT.format("root", "at the time limit", "", "Raise time_limit, or tol if a larger gap will do"),
        ),
        (
            _told(Status.STALLED, excess=0.02),
            NOT.format(
                "subspace",
                "without further progress",
                " The first component exceeds a bound by 2 %.",
                "Raise tol, or bring features to similar units (scale=True) and drop nearly equal ones",
            ),
        ),
        (
            _told(Status.ROUNDING, gap=2e-5),
            "Solved, but not certified to the tolerance: the rounding error of the covariances may be as large as a "
            "relative 2.0e-05, and the true optimum lies between the lower and the upper bound. Raise tol, bring features "
            "to similar units (scale=True), or subtract large means before they are stored.",
        ),
        (
            _told(Status.ROUNDING, gap=np.inf),
            "Solved, but not certified to the tolerance: the rounding error of the covariances may be more than the bounds "
            "leave room for, and the true optimum lies between the lower and the upper bound. Raise tol, bring features to "
            "similar units (scale=True), or subtract large means before they are stored.",
        ),
    ],
)
def test_the_words_of_a_certificate(told, expected):
    assert told == expected


def test_doubts_are_told_once():
    assert _doubts(True, True, ()) == ""
    assert "not converge for component 3 (eigenvalues" in _doubts(False, False, (2,))
    assert "not converge for components 1, 2 (eigenvalues" in _doubts(True, True, (0, 1))
    assert "iterative eigen-solver" in _doubts(False, True, ())
    assert "leave no room" not in _doubts(False, True, ())
    assert "leave no room" in _doubts(True, False, ())
    assert "iterative eigen-solver" not in _doubts(True, False, ())


def _certificate(**more):
    given = {
        "upper": 2.5,
        "lower": 2.4,
        "gap": 0.04,
        "tight": False,
        "kkt": 0.1,
        "n_eigensolves": 7,
        "message": "Words.",
    }
    return Certificate(**{**given, "status": Status.OPTIMAL, **more})


def test_certificates_in_one_line():
    assert _certificate(proven=True).brief == "Certificate: proven optimal, relative gap 4.0e-02."
    assert _certificate().brief == "Certificate: optimal, not proven, relative gap 4.0e-02."
    stopped = _certificate(status=Status.STALLED)
    assert stopped.brief == "Certificate: not solved to the tolerance, relative gap 4.0e-02 (stalled)."
    assert repr(_certificate()).count("target variance at most 2.5, lower bound 2.4") == 1
    printed = str(_certificate(proven=True))
    assert "Words." in printed
    assert "2.5" in printed
    assert repr(Status.GAP) == "'gap'"


def test_results_in_one_line_count_their_backgrounds():
    one, two = solve_dual(TARGET, WEDGE[:1], 2.2), solve_dual(TARGET, WEDGE, 2.2)
    assert "with 1 background; Certificate" in repr(one)
    assert "optimum 2.2 with 2 backgrounds; Certificate: proven optimal" in repr(two)
    assert "lambda" in str(one)


# --- the dual at a point ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spent", "prices", "kkt"),
    [
        ((1.0, 1.0), (2.0, 1.0), 0.0),
        ((1.2, 1.0), (2.0, 1.0), 0.2),  # beyond a bound
        ((0.7, 1.0), (2.0, 1.0), 0.3),  # a price on a bound that is not met
        ((1.0, 0.2), (2.0, 0.5), 0.25),  # the price is a quarter of the largest, and smaller than what is left
        ((0.1, 0.2), (0.0, 0.0), 0.0),
        ((), (), 0.0),
    ],
)
def test_optimality_at_a_point_by_hand(spent, prices, kkt):
    assert _point(spent=spent, prices=prices).kkt == pytest.approx(kkt, abs=1e-15)


def test_gaps_are_relative_and_rounding_is_none():
    dual = _dual([TARGET, WEDGE[0]], [2.2])
    assert dual.relative_gap(4.0, 3.0) == pytest.approx(0.25)
    assert dual.relative_gap(-4.0, -3.0) == pytest.approx(0.25)
    assert dual.relative_gap(4.0, -np.inf) == np.inf
    assert dual.relative_gap(0.0, 0.0) == 0.0
    dual.negligible = 1e-3
    assert dual.relative_gap(4.0, 4.0 - 1e-3 / 2) == 0.0
    assert dual.relative_gap(4.0, 3.0) == pytest.approx(0.25)


def test_a_point_has_the_value_the_vectors_and_what_they_spend(rng):
    matrices, bounds = _covariances(rng, 3, 5), np.array([0.5, 2.0])
    dual = _dual(matrices, bounds)
    point = dual.evaluate(np.array([0.3, 0.4]), k=3)
    values, vectors = np.linalg.eigh(matrices[0] - 0.3 / 0.5 * matrices[1] - 0.4 / 2.0 * matrices[2])
    assert point.value == pytest.approx(values[-1] + 0.7, rel=1e-12)
    np.testing.assert_allclose(point.eigenvalues, values[:-4:-1], rtol=1e-10)
    expected = [vectors[:, -1] @ b @ vectors[:, -1] / c for b, c in zip(matrices[1:], bounds, strict=True)]
    np.testing.assert_allclose(point.spent, expected, rtol=1e-9)
    np.testing.assert_allclose(dual.lambdas(point.prices), [0.6, 0.2])
    assert dual.evaluate(np.zeros(2)).vectors.shape == (5, 4)  # a mixture of two needs rank 2; two more
    assert dual.n_eigensolves == 2
    assert dual.m == 2


def test_backgrounds_without_variance_take_no_part():
    dual = _dual([TARGET, np.zeros((2, 2)), WEDGE[0]], [0.0, 2.2])
    np.testing.assert_array_equal(dual.per_bound, [0.0, 1 / 2.2])
    np.testing.assert_allclose(dual.weights(np.array([3.0, 1.1])), [1.0, 0.0, -0.5])


def test_without_backgrounds_nothing_is_infeasible():
    pencil = DensePencil(-np.eye(3)[np.newaxis])
    dual = Dual(Eigensolver(pencil), np.empty(0))
    assert not dual.proves_infeasible(dual.evaluate(np.empty(0)))
    assert _dual([-np.eye(2), np.eye(2)], [1.0]).proves_infeasible(_point(-1.0))


def test_an_error_of_the_matrix_moves_a_separate_eigenvalue_less():
    """Errors of 1e-4 in norm, 1e-9 in the top space, a gap of 2: at most 1e-9 and 2 (1e-4)² / 2; elsewhere all of 1e-4."""

    def errors_at(vectors, sizes):
        return np.full(2, 1e-9)

    def building(matrix, prices=0.0, **more):
        dual = _dual([matrix, np.eye(3)], [1.0], allowances=[1e-4, 1e-4], errors_at=errors_at)
        point = dual.evaluate(np.array([prices]), k=3)
        point = DualPoint(**{**vars(point), **more})
        return dual._building(point, np.abs(dual.weights(point.prices)))

    apart = building(np.diag([3.0, 1.0, 0.95]))
    # 16 units of rounding of the norm of the matrix, beside the error in the space
    assert apart == pytest.approx(1e-9 + 1e-8, rel=1e-3)
    assert building(np.diag([3.0, 1.0, 0.95]), prices=1.0) == pytest.approx(2e-9 + 2 * 4e-8 / 2, rel=1e-3)
    # The first gap of more than a thousand errors counts: here the second, of 0.5.
    assert building(np.diag([3.0, 2.95, 2.45])) == pytest.approx(1e-9 + 2e-8 / 0.5, rel=1e-3)
    assert building(np.diag([3.0, 2.95, 2.9])) == 1e-4
    assert building(np.diag([3.0, 1.0, 0.95]), loose=True) == 1e-4


def test_errors_have_room_for_arithmetic():
    dual = _dual([3.0 * np.eye(4), np.eye(4)], [1.0], allowances=[1e-3, 1e-4])
    arithmetic = 16 * 2.0**-53 * np.array([6.0, 2.0])  # of Frobenius norms
    np.testing.assert_allclose(dual.errors_of_any() - [1e-3, 1e-4], arithmetic, rtol=1e-3)
    np.testing.assert_allclose(dual.errors_at(np.eye(4)[:, :1]) - [1e-3, 1e-4], arithmetic, rtol=1e-3)
    # Of a value: the norms as they are weighted, and the prices.
    exact = _dual([3.0 * np.eye(4), np.eye(4)], [1.0])
    point = exact.evaluate(np.array([2.0]))
    assert exact.allowance(point) == pytest.approx(16 * 2.0**-53 * (6.0 + 2 * 2.0 + 2.0), rel=1e-9)


def test_results_in_the_units_of_the_user():
    """Target in units of 2, backgrounds in units of 1/2: variances 4 and 1/4 times as large."""
    plain = solve_dual(TARGET, WEDGE, 2.2)
    scaled = plain.in_units([1, -1, -1])
    assert scaled.value == 4.0 * plain.value
    np.testing.assert_array_equal(scaled.lambdas, 16.0 * plain.lambdas)
    np.testing.assert_array_equal(scaled.bounds, plain.bounds / 4.0)
    np.testing.assert_array_equal(scaled.eigenvalues, 4.0 * plain.eigenvalues)
    for name in ("upper", "lower", "allowance"):
        assert getattr(scaled.certificate, name) == 4.0 * getattr(plain.certificate, name)
    assert scaled.certificate.gap == plain.certificate.gap
    assert plain.in_units([0, 0, 0]) is plain
    with pytest.raises(OverflowError):
        plain.in_units([-540, 0, 0])


class _Iterative(Eigensolver):
    """Finds the top eigenvalue too small by a quarter, and says so."""

    def top(self, weights, k, *, accuracy=None, residual=None):
        pairs = super().top(weights, k)
        return Eigenpairs(pairs.values - 0.25, pairs.vectors, 0.25, True, (1,))


def test_values_of_an_iterative_method_have_room_for_its_error():
    dual = Dual(_Iterative(DensePencil(np.stack([np.diag([3.0, 1.0]), np.eye(2)]))), np.ones(1))
    point = dual.evaluate(np.array([0.5]))
    assert (point.error, point.loose, point.unfinished) == (0.25, True, (1,))
    assert point.value == pytest.approx(3.0)  # 3 - 0.5, and the price; what is missing is there again
    value, proven = dual.proven_value(point, 1e-3, 1e-2)
    assert 3.0 + 1e-2 <= value <= 3.0 + 1e-2 + 1e-3 + 1e-9  # proven by a Cholesky factor, with slack and allowance
    assert proven
    products = OperatorPencil([LinearCombination((op,), (1.0,)) for op in dual.pencil.operators], 2)
    unseen = Dual(Eigensolver(products), np.ones(1))
    assert unseen.proven_value(point, 1e-3, 1e-2) == (pytest.approx(3.01), False)


def test_coordinate_methods_say_why_they_stopped():
    """One background is one line; at the wedge a cycle does not do, and the limit is told."""
    one = solve_coordinate(_dual([TARGET, WEDGE[0]], [2.2]), tol=1e-9, max_iter=5)
    assert (one.stop, one.n_iter) == (Stop.DONE, 1)
    two = _dual([TARGET, *WEDGE], [2.2, 2.2])
    assert solve_coordinate(two, tol=-1.0, max_iter=1).stop is Stop.LIMIT
    assert solve_coordinate(two, tol=1e9, max_iter=9).stop is Stop.DONE
    late = _dual([TARGET, *WEDGE], [2.2, 2.2])
    late.deadline = Deadline.after(0.0)
    found = solve_coordinate(late, tol=1e-9, max_iter=9)
    assert (found.stop, found.n_iter) == (Stop.TIME, 1)


def test_callbacks_are_told_of_every_step(rng):
    """Values never rise, and the last one is that of the answer; a solver without a lower bound says so."""
    a, *b = _covariances(rng, 3, 5)
    for solve, m in ((solve_coordinate, 2), (solve_root, 1), (solve_subspace, 2)):
        told = []
        dual = _dual([a, *b[:m]], [np.trace(one) / 5 for one in b[:m]])
        found = solve(dual, tol=1e-9, max_iter=100, callback=lambda *step, told=told: told.append(step))
        steps, values, lower, gaps = zip(*told, strict=True)
        assert list(steps) == list(range(1, len(told) + 1))
        assert np.all(np.diff(values) <= 1e-12)
        assert values[-1] == pytest.approx(found.point.value, rel=1e-9)
        if solve is solve_subspace:
            assert lower[-1] == found.lower
            assert gaps[-1] <= 1e-9
        else:
            assert set(lower) == {-np.inf}
            assert set(gaps) == {np.inf}


def test_root_finding_ends_where_nothing_is_spent(rng):
    """The bound is not met at price 0: that is the answer, with the top direction."""
    found = solve_root(_dual([np.diag([3.0, 1.0]), np.diag([0.5, 4.0])], [1.0]), tol=1e-9, max_iter=50)
    assert found.stop is Stop.DONE
    np.testing.assert_array_equal(found.point.prices, [0.0])
    assert found.lower == pytest.approx(3.0)
    far = solve_root(_dual([np.diag([3.0, 1.0]), np.diag([2.0, 1.0 - 1e-6])], [1.0]), tol=1e-9, max_iter=200)
    # 2 x + (1 - x) (1 - 1e-6) = 1 at x of about 1e-6: 3 - 2 w meets 1 - (1 - 1e-6) w beyond the first bracket.
    assert far.point.prices[0] == pytest.approx(2.0, rel=1e-5)
    assert solve_root(_dual([np.eye(2), 2.0 * np.eye(2)], [1.0]), tol=1e-9, max_iter=50).stop is Stop.NO_PROGRESS
    assert solve_root(_dual([TARGET, WEDGE[0]], [2.2]), tol=1e-9, max_iter=1).stop is Stop.LIMIT


def test_large_backgrounds_are_as_attainable_as_small_ones():
    """A floor of the search below all that a background may have: with variances of a hundred and of a hundredth."""
    for unit in (100.0, 0.01):
        dual = _dual([np.eye(3), unit * np.diag([1.0, 2.0, 3.0])], [unit])
        assert smallest_attainable(dual, 0, others=False) == pytest.approx(unit, rel=1e-6)


def test_bounds_that_conflict_name_the_one_to_raise():
    """Two axes, x + 3 (1 - x) <= 1.5 and 4x + (1 - x) <= 1.5: each is attainable, together x >= 3/4 and x <= 1/6."""
    backgrounds = {"a": np.diag([1.0, 3.0]), "b": np.diag([4.0, 1.0])}
    # With b kept, a is 3 - 2/6 at least, 1.78 times its bound; with a kept, b is 1 + 9/4, 2.17 times.
    told = r"together: background 'a' has bound 1\.5, the smallest attainable with the other bounds kept is 2\.66667"
    with pytest.raises(InfeasibleBoundsError, match=told):
        solve_dual(np.eye(2), backgrounds, 1.5)
    three = {**backgrounds, "c": np.diag([2.0, 2.0])}
    with pytest.raises(InfeasibleBoundsError, match=r"'c' has bound 1\.5, the smallest attainable is 2\. Raise"):
        solve_dual(np.eye(2), three, 1.5)
    four = {"a": np.diag([1.0, 9.0, 9.0]), "b": np.diag([9.0, 1.0, 9.0]), "c": np.diag([9.0, 9.0, 1.0])}
    with pytest.raises(
        InfeasibleBoundsError, match=r"one alone does not help: 'a' \(2\), 'b' \(2\), 'c' \(2\)\. Raise several"
    ):
        solve_dual(np.eye(3), four, 2.0)


def test_only_pairs_that_are_returned_are_said_to_be_unfinished():
    class Unfinished(Eigensolver):
        def top(self, weights, k, *, accuracy=None, residual=None):
            pairs = super().top(weights, k)
            return Eigenpairs(pairs.values, pairs.vectors, 0.0, False, (1, 2))

    matrices = np.stack([np.diag([5.0, 4.0, 3.0, 2.0]), np.diag([2.0, 1.0, 1.0, 1.0])])
    for k, told in ((1, ()), (2, (1,)), (3, (1, 2))):
        dual = Dual(Unfinished(DensePencil(matrices)), np.array([1.25]))
        found = conclude(dual, solve_subspace(dual, tol=1e-9, max_iter=50), solver="subspace", k=k, tol=1e-9)
        assert found.unfinished == told
        assert len(found.eigenvalues) == found.vectors.shape[1] == k
        assert ("did not converge for component" in found.certificate.message) == bool(told)


def test_a_printed_result_line_by_line():
    lines = str(solve_dual(TARGET, WEDGE, 2.2)).splitlines()
    assert lines[0] == "Optimum 2.2, found by 'subspace'."
    assert lines[1].startswith("Certificate: proven optimal, relative gap")
    assert lines[2] == ""
    assert lines[3].split() == ["background", "lambda", "bound"]


def test_the_quasi_newton_method_says_why_it_stopped():
    one = _dual([TARGET, WEDGE[0]], [2.2])
    assert solve_lbfgs(one, tol=1e-9, max_iter=1).stop is Stop.LIMIT
    assert solve_lbfgs(one, tol=1e-9, max_iter=500).stop is Stop.DONE
