"""Small steps that guard an answer: each was once a line that could be left out or changed while all tests passed.

Answers are compared with brute force (every subject left out, a fine grid of angles), with a law that is known, or by hand.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator
from scipy.special import digamma
from sklearn.exceptions import NotFittedError
from test_kinks import TARGET, WEDGE

from uca import UCA, Moments, solve_dual
from uca.dual import Dual, DualPoint, mixture_rank
from uca.estimators.summary import prediction
from uca.inference import uniqueness_test
from uca.inference.heldout import LARGEST_SHARE, _error, _studentised
from uca.inference.judged import spread
from uca.inference.left_out import _range
from uca.inference.leverage import leverage_of
from uca.inference.optimism import FEWEST, freedom_of, freedom_of_products
from uca.inference.relabelled import _deviations
from uca.inference.rows import ScaledRows
from uca.inference.stability import _around
from uca.inference.stacked import StackedRows
from uca.operators.contract.dense import DensePencil
from uca.operators.eigen.solver import Eigensolver
from uca.operators.eigen.span import Projection
from uca.operators.gaps.normal import fit_normal
from uca.solvers.bundle import Bundle
from uca.solvers.conclude import _choose_first
from uca.solvers.direction import best_feasible_direction
from uca.solvers.found import Stop
from uca.solvers.infeasible import InfeasibleBoundsError, _round_up
from uca.solvers.lower import _even
from uca.solvers.projected import _mix
from uca.solvers.root import _mixed


def _influence(squares):
    """Of rows on the log of their mean square."""
    return squares / squares.mean(axis=0) - 1


def _left_out(squares, subjects):
    """Log of the mean square without each subject, minus that of all rows, by computing it anew."""
    without = [np.log(squares[subjects != code].mean(axis=0)) for code in np.unique(subjects)]
    return np.array(without) - np.log(squares.mean(axis=0))


@pytest.mark.parametrize("rows_each", [1, 3])
def test_errors_of_logs_are_those_of_a_jackknife(rng, rows_each):
    """Leaving each subject out in turn; one row is large, so that a first-order change would be a tenth off."""
    subjects = np.repeat(np.arange(12), rows_each)
    squares = rng.standard_normal((len(subjects), 2)) ** 2
    squares[0] += 4.0 * rows_each
    changes = _left_out(squares, subjects)
    error, df, bias = _error([(subjects, _influence(squares), 1)])
    jackknife = (changes**2).sum(axis=0) * 11 / 12
    np.testing.assert_allclose(error**2, jackknife, rtol=1e-9)
    np.testing.assert_allclose(df, 11.0)
    np.testing.assert_allclose(bias, -jackknife / 2, rtol=1e-9)  # a log's mean lies below by half its variance
    linear = np.array([_influence(squares)[subjects == s].sum(axis=0) for s in range(12)]) / (len(subjects) - rows_each)
    assert np.all(np.abs((linear**2).sum(axis=0) * 11 / 12 / jackknife - 1) > 0.05)  # it would have been seen


def test_no_subject_holds_more_of_an_estimate_than_a_share():
    """One of ten rows has all the variance: what is left out cannot be all of it, so the error is finite and known."""
    squares = np.zeros((10, 1))
    squares[0] = 1.0
    error, _, _ = _error([(np.arange(10), _influence(squares), 1)])
    others = np.log(10 / 9)  # the log of the mean square without a row of zero
    expected = (np.log(1 - LARGEST_SHARE) ** 2 + 9 * others**2) * 9 / 10
    assert error[0] ** 2 == pytest.approx(expected, rel=1e-9)


def test_the_bias_of_a_small_background_is_that_of_a_log(rng):
    """E log s² is known for normal rows: digamma(n/2) - log(n/2) with n rows about a known mean."""
    few, many = 12, 400
    found = []
    for _ in range(200):
        target, background = rng.standard_normal((many, 1)) ** 2, rng.standard_normal((few, 1)) ** 2
        parts = [(np.arange(many), _influence(target), 1), (many + np.arange(few), _influence(background), -1)]
        found.append(_error(parts)[2][0])
    exact = (digamma(many / 2) - np.log(many / 2)) - (digamma(few / 2) - np.log(few / 2))
    assert exact > 0.08  # the target looks larger by so much
    # Half of an estimated variance: right to second order, so within a third at twelve rows.
    assert np.mean(found) == pytest.approx(exact, rel=1 / 3)


def test_equal_variances_say_less_with_a_small_background():
    """Equal estimates: the small background's is too small on the average, so z is below 0; a small target gains nothing."""
    few, many = np.tile([0.5, -0.5], 5)[:, np.newaxis], np.tile([0.5, -0.5], 200)[:, np.newaxis]
    codes = np.arange(410)
    small_background = _studentised(np.zeros(1), [(codes[:400], many, 1), (codes[400:], few, -1)])
    small_target = _studentised(np.zeros(1), [(codes[:10], few, 1), (codes[10:], many, -1)])
    assert -0.2 < small_background[0] < -0.05  # half of the error: |z| is about (0.5/3)/2 = 0.08
    assert small_target[0] == 0.0


def test_small_samples_make_room_in_the_test(rng):
    """docs/inference.md: the variance of the mean z is multiplied by 1 + 6/n, for the smallest of the datasets."""
    z = rng.standard_normal((20, 2, 3))
    np.testing.assert_allclose(spread(z, 12) / spread(z, 10**9), 1.5, rtol=1e-7)
    np.testing.assert_allclose(spread(z[:2], 6), 2.0)  # one halving: the variance of one z is 1


def test_a_span_stays_orthonormal_where_little_is_new(rng):
    """Vectors of which a millionth is new: one projection leaves errors a million times those of rounding."""
    size = 50
    matrix = np.diag(np.arange(size, dtype=float))
    space = Projection(lambda vectors: (matrix @ vectors)[np.newaxis], size, 1)
    space.extend(rng.standard_normal((size, 10)))
    new = space.basis @ rng.standard_normal((10, 3)) + 1e-6 * rng.standard_normal((size, 3))
    assert space.extend(new) == 3
    np.testing.assert_allclose(space.basis.T @ space.basis, np.eye(13), atol=1e-13)
    np.testing.assert_allclose(space.matrices[0], space.basis.T @ matrix @ space.basis, atol=1e-11)


@pytest.mark.parametrize("short", [0.0, 1e-6, 1e-3, 1.5e-3, 0.5])
def test_a_proven_bound_is_one(short):
    """An estimate that is too small by less than the slack, or by more: what counts as proven lies above the eigenvalue."""
    eigen = Eigensolver(DensePencil(np.stack([np.diag([3.0, 1.0, 0.5]), np.eye(3)])))
    bound, proven = eigen.bound([1.0, -1.0], 2.0 - short, slack=1e-3 + 1e-9)  # of diag(2, 0, -0.5)
    assert proven
    assert 2.0 <= bound <= 2.0 + 2e-3


def test_the_best_direction_in_a_plane_beats_a_grid_of_angles(rng):
    """Both ends of every arc count: on random problems no feasible angle of a fine grid is better."""
    angles = np.linspace(0, np.pi, 2001)
    grid = np.column_stack([np.cos(angles), np.sin(angles)])
    n_at_a_bound = 0
    for _ in range(100):
        factors = rng.standard_normal((3, 2, 2))
        a, *b = factors @ factors.swapaxes(1, 2)
        b = np.stack([matrix / rng.uniform(np.linalg.eigvalsh(matrix)[0], matrix.trace()) for matrix in b])
        spent = np.einsum("gi,jik,gk->gj", grid, b, grid).max(axis=1)
        target = np.einsum("gi,ik,gk->g", grid, a, grid)
        found = best_feasible_direction(a, b)
        if np.all(spent > 1):
            continue
        assert found is not None
        assert np.all((b @ found) @ found <= 1 + 1e-9)
        assert found @ a @ found >= target[spent <= 1].max() - 1e-9
        n_at_a_bound += bool(((b @ found) @ found).max() > 1 - 1e-9)
    assert n_at_a_bound > 30


def test_moments_of_a_user_stay_as_they_are(rng):
    """What is passed to partial_fit may be passed elsewhere afterwards."""
    first, second, other = (Moments.of(rng.standard_normal((9, 3))) for _ in range(3))
    kept = [moments.copy() for moments in (first, second, other)]
    model = UCA(1).partial_fit(first, backgrounds={"other": other}).partial_fit(second, backgrounds={"other": other})
    model.partial_fit(rng.standard_normal((4, 3)), backgrounds={"other": rng.standard_normal((4, 3))})
    for moments, before in zip((first, second, other), kept, strict=True):
        assert moments.n == before.n == 9
        np.testing.assert_array_equal(moments.mean, before.mean)
        np.testing.assert_array_equal(moments.scatter, before.scatter)


def test_the_attainable_bound_that_is_told_can_be_typed_in(rng):
    for _ in range(10):
        factors = rng.standard_normal((2, 5, 5))
        target, background = factors @ factors.swapaxes(1, 2) / 5 + 0.1 * np.eye(5)
        with pytest.raises(InfeasibleBoundsError, match="smallest attainable is") as caught:
            solve_dual(target, background, 0.01)
        told = float(re.search(r"smallest attainable is (\S+)\. ", str(caught.value))[1])
        smallest = np.linalg.eigvalsh(background)[0]
        assert smallest <= told <= smallest * (1 + 2e-5)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1.2345601, "1.23457"),
        (1.23456, "1.23456"),
        (0.00999999999, "0.01"),
        (123456.1, "123457"),
        (0.0, "0"),
        (-1.0, "0"),
    ],
)
def test_six_digits_are_rounded_up(value, told):
    assert _round_up(value) == told


def _at(shift):
    """The wedge of test_kinks.py at its optimal multipliers, moved so that equal eigenvalues differ by about ``shift``."""
    dual = Dual(Eigensolver(DensePencil(np.stack([TARGET, *WEDGE]))), np.array([2.2, 2.2]))
    return dual, dual.evaluate(2.2 * np.array([0.5 + shift, 0.5]), k=2)


def test_eigenvalues_that_almost_meet_count_as_equal():
    """A solver ends beside a kink: both eigenvectors span the space in which the best feasible direction is looked for."""
    dual, point = _at(1e-8)
    assert 0 < np.diff(point.eigenvalues[::-1])[0] < 1e-7
    vectors, n_tied = _choose_first(dual, point, point.vectors[:, :1])
    assert n_tied == 2
    assert vectors[:, 0] @ TARGET @ vectors[:, 0] == pytest.approx(1.4, abs=1e-8)


def test_eigenvalues_apart_do_not_count_as_equal():
    dual, point = _at(1e-4)
    assert np.diff(point.eigenvalues[::-1])[0] > 1e-5
    assert _choose_first(dual, point, point.vectors[:, :1])[1] == 1


def test_the_rank_of_a_mixture_is_the_largest_that_is_needed():
    for m in range(60):
        assert mixture_rank(m) == max(r for r in range(m + 2) if r * (r + 1) / 2 <= m + 1)


def test_rounding_of_the_eigenproblem_is_allowed_for():
    """Matrices that are exact still have eigenvalues with an error of rounding: it is added, not taken off."""
    dual = Dual(Eigensolver(DensePencil(np.stack([TARGET, *WEDGE]))), np.array([2.2, 2.2]))
    point = dual.evaluate(np.array([1.0, 1.0]))
    assert 1e-16 < dual.allowance(point) < 1e-12
    large = Dual(Eigensolver(DensePencil(2.0**20 * np.stack([TARGET, *WEDGE]))), 2.0**20 * np.array([2.2, 2.2]))
    scaled = large.evaluate(2.0**20 * point.prices)
    assert large.allowance(scaled) == pytest.approx(2.0**20 * dual.allowance(point))  # it has the units of the values
    assert (dual.n_eigensolves, large.n_eigensolves) == (1, 1)
    assert dual.proven_value(point, 0.0, 1e-3)[0] == pytest.approx(point.value + 1e-3, rel=1e-12)


def test_a_mixture_that_almost_spends_a_bound_is_kept():
    """Mixing with a cheap direction costs target variance: just as much of it as respecting the bounds needs."""
    b = np.array([np.diag([1.0 - 1e-7, 0.2])])
    first = np.array([[1.0], [0.0]])
    np.testing.assert_allclose(np.abs(_mix(b, first)[:, 0]), first[:, 0], atol=1e-7)
    mixed = _mix(1.5 * b, first)  # 1.5 w + 0.3 (1 - w) = 1 at w = 0.7 / 1.2
    np.testing.assert_allclose((mixed**2).sum(axis=1), [0.7 / 1.2, 0.5 / 1.2], rtol=1e-6)
    assert np.einsum("ir,ij,jr->", mixed, 1.5 * b[0], mixed) <= 1.0
    assert _mix(9.0 * b, first) is None  # no direction is cheap enough
    both = np.concatenate([1.5 * b, [np.diag([0.1, 0.1])]])  # a second bound that is far from being met changes nothing
    np.testing.assert_allclose(_mix(both, first), mixed)


def _visited(price, spent, vector):
    value = 3.0 - price
    return DualPoint(np.array([price]), value, np.array([value - price]), np.array([vector]).T, np.array([spent]))


def test_directions_on_both_sides_of_a_bound_spend_it_together():
    """A quarter of what spends 1.6 and three quarters of what spends 0.8: exactly 1."""
    found = _mixed([_visited(0.5, 1.6, [1.0, 0.0]), _visited(1.0, 0.8, [0.0, 1.0])], Stop.DONE)
    np.testing.assert_allclose((found.factor**2).sum(axis=1), [0.25, 0.75])
    # Target variances are eigenvalue + price * spent: 2.0 + 0.8 and 1.0 + 0.8.
    assert found.lower == pytest.approx(0.25 * 2.8 + 0.75 * 1.8)


def test_no_row_decides_where_no_row_varies():
    np.testing.assert_array_equal(leverage_of(np.zeros((4, 1))).leverage, 0.25)


def test_predictions_are_told_in_three_digits_or_not_at_all():
    assert prediction(1.23456) == "1.23"
    assert prediction(np.inf) == "none"


@pytest.mark.parametrize(("n_apart", "freedom"), [(4, 10.0), (2, 40 / 9), (20, 19.0)])
def test_degrees_of_freedom_follow_from_kurtosis(n_apart, freedom):
    """Two values at the ends and the rest between have kurtosis 1 / share: 2 n / (1 / share - 1), at most n - 1."""
    values = np.zeros((20, 1))
    values[:n_apart:2], values[1:n_apart:2] = 1.0, -1.0
    found = freedom_of(7.0 + values, np.arange(20))
    assert found[0] == pytest.approx(min(max(freedom, FEWEST), 19.0))


def test_ranges_are_told_from_the_smallest_to_the_largest():
    assert _range(np.array([2.0, 0.5, 1.0])) == "0.5 to 2"
    assert _range(np.array([2.0])) == "2"


@pytest.mark.parametrize("center", [True, False])
def test_deviations_of_exchanged_rows_are_those_of_the_rows(rng, center):
    """Rows of two datasets, each about its own mean, dealt to a new one: numpy on these rows."""
    tables = [rng.standard_normal((9, 3)) + 2.0, 3.0 * rng.standard_normal((7, 3))]
    rows = [ScaledRows(table, center=center, pull=False) for table in tables]
    member = np.zeros((16, 2))
    member[[0, 3, 4, 10, 12, 15], 0] = member[[1, 2, 5, 6, 9, 10, 11, 14], 1] = 1.0
    found = _deviations(StackedRows(rows), member)
    everything = np.vstack([table - table.mean(axis=0) if center else table for table in tables])
    for i in range(2):
        own = everything[member[:, i] == 1]
        about = own.mean(axis=0) if center else np.zeros(3)
        np.testing.assert_allclose(found[:, i], np.sqrt(((own - about) ** 2).sum(axis=0) / (len(own) - 1)), rtol=1e-12)


@pytest.mark.parametrize(("n_splits", "share"), [(1, 1.0), (10, 0.55)])
def test_intervals_of_the_test_are_as_wide_as_normal_rows_make_them(rng, n_splits, share):
    """Log variance on a half of 400 rows: variance 2/200; the mean over 2 n halves has the share 1/2 + 1/(2 n) of it."""
    target, background = rng.standard_normal((2, 400, 3)) * [3.0, 1.0, 1.0]
    found = uniqueness_test(target, background, model=UCA(1, scale=False), n_splits=n_splits, random_state=0)
    width = np.log(found.high / found.low).ravel()
    np.testing.assert_allclose(width, 2 * 1.97 * np.sqrt(share * 2 / 200), rtol=0.25)


def test_intervals_of_multipliers_are_made_of_square_roots():
    """Root 2, with resamples at 1.5 and 2.5: distance 0.5, so 3 of it reach from 0.5² to 3.5²; never below 0."""
    values, resampled = np.array([4.0]), np.array([[2.25], [6.25]])
    low, high = _around(values, resampled, np.array([3.0]))
    assert (low[0], high[0]) == (pytest.approx(0.25), pytest.approx(12.25))
    assert _around(values, resampled, np.array([9.0]))[0][0] == 0.0


def test_rounding_does_not_prove_bounds_infeasible():
    """Values of a million carry errors of 1e-3 in a comparison with 0; a value of -1 is below."""
    dual = Dual(Eigensolver(DensePencil(2.0**20 * np.stack([TARGET, *WEDGE]))), 2.0**20 * np.array([2.2, 2.2]))
    point = dual.evaluate(np.zeros(2))
    assert not dual.proves_infeasible(replace(point, value=-1e-4))
    assert dual.proves_infeasible(replace(point, value=-1.0))


def test_arrays_of_a_model_that_is_not_fitted():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        UCA().to_numpy()


def test_one_direction_is_the_best_where_it_respects_the_bounds():
    np.testing.assert_array_equal(best_feasible_direction(np.array([[2.0]]), np.array([[[0.5]]])), [1.0])
    assert best_feasible_direction(np.array([[2.0]]), np.array([[[1.5]]])) is None


def test_an_even_mixture_spends_all_bounds_alike():
    """Three backgrounds, each along its own axis: one direction spends 3 of one bound, the even mixture 1 of each."""
    matrices = np.stack([np.eye(3), *(np.diag(3.0 * row) for row in np.eye(3))])
    space = Bundle(Dual(Eigensolver(DensePencil(matrices)), np.ones(3)))
    space.extend(np.eye(3))
    spending = _even(space)
    assert spending.spent.sum() == pytest.approx(3.0)
    assert spending.spent.max() < 1.2
    assert spending.value == pytest.approx(1.0)


def test_em_ends_where_means_and_covariances_stand_still(rng):
    """Rows and their negatives: means are 0 from the first step on, covariances are not right by then.

    One feature is complete, so the law is known: its variance, and the regression of the other on it in complete rows.
    """
    x = rng.standard_normal(40)
    y = 0.8 * x + 0.5 * rng.standard_normal(40)
    y[np.abs(x) > 0.8] = np.nan
    values = np.vstack([np.column_stack([x, y]), -np.column_stack([x, y])])
    fitted = fit_normal(values, pull=0.0, tol=1e-9)
    there = ~np.isnan(y)
    slope = (x[there] @ y[there]) / (x[there] @ x[there])
    rest = np.mean((y[there] - slope * x[there]) ** 2)
    variance = np.mean(x**2)
    expected = [[variance, slope * variance], [slope * variance, slope**2 * variance + rest]]
    assert fitted.converged
    np.testing.assert_allclose(fitted.sigma, expected, rtol=1e-6)


def test_an_operator_that_is_not_square_is_refused():
    wide = LinearOperator((3, 4), matvec=lambda v: v[:3], dtype=float)
    with pytest.raises(ValueError, match=r"target A must be square; got shape \(3, 4\)"):
        solve_dual(wide, np.eye(3))


@pytest.mark.parametrize(("n", "freedom"), [(401, 100.0), (9, 4.0), (3, 2.0)])
def test_degrees_of_freedom_of_products_are_a_quarter_but_not_below_four(n, freedom):
    """Where there are fewer than five subjects: all but one."""
    assert freedom_of_products(n) == freedom


def test_products_with_rows_allow_for_their_means(rng):
    """Means of 3 SD are taken out of products, whose rounding is relative to 9 + 1 variances; far ones are not."""
    rows = rng.standard_normal((2, 50, 4))

    def allowance(mean):
        model = UCA(1, representation="implicit", scale=False).fit(rows[0] + mean, backgrounds=rows[1] + mean)
        return model.certificate_.allowance

    assert allowance(0.0) > 0
    assert allowance(3.0) / allowance(0.0) == pytest.approx(10.0, rel=0.3)
    assert allowance(1e3) == pytest.approx(allowance(0.0), rel=0.3)
