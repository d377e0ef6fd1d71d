"""The best support of k features: against brute force, and every part against an independent answer."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from test_reference import datasets

from uca import solve_dual
from uca.solvers.infeasible import InfeasibleBoundsError
from uca.supports import SparseProblem, best_support, levels
from uca.supports.beam import grow
from uca.supports.bordered import Bordered, distinct, pairs
from uca.supports.levels import _thresholds, all_supports
from uca.supports.relaxation import _in_ball, _in_spectraplex, relax
from uca.supports.swaps import improve
from uca.supports.threshold import best_bound, bounds_by_size

NEVER = float("inf")
KINDS = ("plain", "factors", "ties", "copies", "kinks", "unequal", "low rank")


def random_problem(seed: int) -> SparseProblem:
    """Small problems of many kinds, 0 to 4 backgrounds; every bound can be kept by some feature."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    p, m = int(rng.integers(4, 11)), int(rng.integers(0, 5))
    k = int(rng.integers(2, p))

    def covariance() -> np.ndarray:
        rows = rng.normal(size=(p + 5, p))
        if kind == "factors":
            rows = rows + 2 * rng.normal(size=(p + 5, 2)) @ rng.normal(size=(2, p))
        if kind == "copies":
            rows[:, 1] = rows[:, 0] + 1e-5 * rng.normal(size=p + 5)
        if kind == "low rank":
            rows = rng.normal(size=(3, p))
        if kind == "unequal":
            rows = rows * np.exp(rng.normal(size=p))
        return rows.T @ rows / len(rows)

    matrices = np.stack([covariance() for _ in range(m + 1)])
    if kind == "kinks":  # matrices that commute
        axes = np.linalg.qr(rng.normal(size=(p, p)))[0]
        matrices = np.stack([axes * rng.gamma(1.0, size=p) @ axes.T for _ in range(m + 1)])
    if kind == "ties":
        matrices = np.round(matrices)
        matrices += (p + 1) * np.eye(p)  # diagonally dominant enough to be a covariance
    bounds = matrices[1:].trace(axis1=1, axis2=2) / p
    cheapest = np.diagonal(matrices[1:], axis1=1, axis2=2) / bounds[:, np.newaxis]
    slack = cheapest.max(axis=0, initial=0.0).min()  # the feature that asks least of all bounds
    return SparseProblem(matrices[0], matrices[1:] / (bounds * max(slack, 1.0))[:, np.newaxis, np.newaxis], k)


def value_of(problem: SparseProblem, support: tuple[int, ...]) -> float:
    """The optimum on a support, by the solver of UCA; minus infinity where the bounds cannot be kept."""
    inside = np.ix_(support, support)
    try:
        result = solve_dual(
            problem.target[inside],
            [b[inside] for b in problem.backgrounds] or None,
            np.ones(problem.m) if problem.m else None,
            n_components=1,
        )
    except InfeasibleBoundsError:
        return -np.inf
    return result.certificate.lower


def by_brute_force(problem: SparseProblem) -> float:
    return max(value_of(problem, support) for support in combinations(range(problem.p), problem.k))


@pytest.mark.parametrize("seed", [*range(28), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(28, 500))])
def test_against_brute_force(seed):
    problem = random_problem(seed)
    wanted = by_brute_force(problem)
    found = best_support(problem, time_limit=NEVER)
    assert found.leaf.value == pytest.approx(wanted, rel=1e-9)
    assert found.upper >= wanted * (1 - 1e-12)
    assert found.upper - found.leaf.value <= 1e-9 * abs(found.upper), "proven to be optimal"
    assert len(found.leaf.support) == problem.k
    assert value_of(problem, tuple(found.leaf.support)) == pytest.approx(found.leaf.value, rel=1e-9)


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("proof", ["bound", "none"])
def test_without_a_proof_the_bounds_hold(seed, proof):
    problem = random_problem(seed)
    found, wanted = best_support(problem, proof=proof), by_brute_force(problem)
    assert found.leaf.value <= wanted * (1 + 1e-9)
    assert found.upper >= wanted * (1 - 1e-12)


def contrast(seed: int, p: int = 9) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2, 12, p)) + 1.5 * rng.normal(size=(2, 12, 1)) * rng.normal(size=p)
    a, b = (part.T @ part / 12 for part in rows)
    return a - 0.7 * b


def top(matrix: np.ndarray, support) -> float:
    return float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1])


class TestBordered:
    def test_largest_eigenvalue_with_one_more_feature(self):
        c = contrast(0)
        supports = np.array([[0, 3, 5], [1, 2, 8]])
        found = Bordered.of(c, supports).largest()
        for i, support in enumerate(supports):
            for j in range(9):
                wanted = -np.inf if j in support else top(c, [*support, j])
                assert found[i, j] == pytest.approx(
                    wanted, rel=1e-2
                )  # it only ranks: the bracket is halved eight times

    def test_sign_tells_the_side(self):
        c = contrast(1)
        bordered = Bordered.of(c, np.array([[0, 3], [4, 5], [2, 7]]))
        for threshold in np.linspace(0.1, 6.0, 25):
            found = bordered.reach(threshold)
            for i, support in enumerate(bordered.supports):
                wanted = [j not in support and top(c, [*support, j]) >= threshold for j in range(9)]
                assert found[i].tolist() == wanted

    def test_pairs(self):
        c = contrast(2)
        supports, values = pairs(c)
        assert len(supports) == 36
        np.testing.assert_allclose(values, [top(c, pair) for pair in supports], rtol=1e-12)

    @pytest.mark.parametrize("p", [9, 64, 65, 200])
    def test_distinct(self, p):
        rng = np.random.default_rng(p)
        supports = np.sort([rng.choice(p, size=4, replace=False) for _ in range(50)], axis=1)
        supports = supports[rng.integers(50, size=200)]
        found = supports[distinct(supports, p)]
        assert {tuple(row) for row in found} == {tuple(row) for row in supports}
        assert len(found) == len({tuple(row) for row in supports})


class TestLevels:
    @pytest.mark.parametrize("seed", range(30))
    def test_no_support_is_missed(self, seed):
        c, k = contrast(seed), 2 + seed % 5
        values = {support: top(c, support) for support in combinations(range(9), k)}
        ranked = sorted(values.values(), reverse=True)
        for tau in (ranked[0], ranked[3], ranked[len(ranked) // 3]):
            found = {tuple(row) for row in all_supports(c, k, tau, NEVER).supports}
            assert {support for support, value in values.items() if value >= tau} <= found

    def test_thresholds_are_kept_by_some_subset(self):
        c = contrast(5)
        for k in (3, 5, 7):
            for support in combinations(range(9), k):
                threshold = _thresholds(c, k, top(c, support))[k - 1]
                assert max(top(c, part) for part in combinations(support, k - 1)) >= threshold - 1e-12

    def test_out_of_time(self):
        found = all_supports(contrast(0), 5, -10.0, time.perf_counter() - 1)
        assert found.supports is None
        assert found.out_of_time

    def test_too_many_are_foreseen(self, monkeypatch):
        """Given up before the largest level, and that is not for want of time."""
        monkeypatch.setattr(levels, "MOST", 20)
        monkeypatch.setattr(levels, "DEAR", 0)
        found = all_supports(contrast(0), 5, -10.0, NEVER)
        assert found.supports is None
        assert not found.out_of_time

    def test_what_is_foreseen(self):
        assert levels._foreseen([10, 100], 5) == 100  # two levels say nothing
        assert levels._foreseen([10, 100, 500], 5) == 500 * 2.5 * 1.25  # factors 10, 5, then 2.5, 1.25, .625
        assert levels._foreseen([10, 100, 500], 1) == 500 * 2.5
        assert levels._foreseen([10, 5, 0], 3) == 0


class TestUpperBounds:
    @pytest.mark.parametrize("seed", range(10))
    def test_thresholds_hold_for_every_support(self, seed):
        c = contrast(seed)
        found = bounds_by_size(c, 6)
        for f in range(1, 7):
            assert found[f] >= max(top(c, support) for support in combinations(range(9), f)) - 1e-12
        assert found[1] == pytest.approx(c.diagonal().max())

    @pytest.mark.parametrize("seed", range(14))
    def test_descent_holds_for_every_support(self, seed):
        problem = random_problem(seed)
        best, guide = by_brute_force(problem), np.full(problem.m, 0.5 * problem.size)
        upper, prices = best_bound(problem, guide, -np.inf)
        at_once, _ = best_bound(problem, guide, 1e6 * problem.size)  # every bound is close to that: no descent
        assert at_once >= upper >= best * (1 - 1e-12)
        assert np.all(prices >= 0)

    @pytest.mark.parametrize("seed", [1, 2, 8, 16])
    def test_relaxation_is_that_of_a_semidefinite_programme(self, seed):
        from sdp import full_sdp

        problem = random_problem(seed)
        wanted = full_sdp(problem.target, list(problem.backgrounds), np.ones(problem.m), problem.k)
        found = relax(problem, NEVER)
        assert found.upper >= wanted * (1 - 1e-6)
        assert found.upper == pytest.approx(wanted, rel=5e-3)  # a bound, however far the iteration came

    def test_projections(self):
        rng = np.random.default_rng(0)
        matrix = rng.normal(size=(6, 6))
        matrix = matrix + matrix.T
        found = _in_spectraplex(matrix)
        assert np.trace(found) == pytest.approx(1.0)
        assert np.linalg.eigvalsh(found)[0] >= -1e-12
        ball = _in_ball(matrix, 5.0)
        assert np.abs(ball).sum() == pytest.approx(5.0)
        np.testing.assert_array_equal(_in_ball(matrix, 1e3), matrix)
        # Nearest: no point of the set is closer, on random tries.
        for _ in range(200):
            other = rng.normal(size=(6, 6))
            psd = other @ other.T / np.trace(other @ other.T)
            assert np.sum((matrix - found) * (psd - found)) <= 1e-9
            assert np.sum((matrix - ball) * (5.0 * other / np.abs(other).sum() - ball)) <= 1e-9


def test_swaps_only_raise_the_value():
    problem = random_problem(1)
    start = problem.leaf(np.arange(problem.k))
    assert improve(problem, start).value >= start.value


def test_grown_supports_are_different_and_sorted_by_eigenvalue():
    c = contrast(3)
    found = grow(c, 4, 12)
    assert len({tuple(row) for row in found}) == len(found) == 12
    assert top(c, found[0]) == pytest.approx(max(top(c, s) for s in combinations(range(9), 4)), rel=1e-9)


def test_all_features_and_one_feature():
    problem = random_problem(7)
    whole = SparseProblem(problem.target, problem.backgrounds, problem.p)
    assert best_support(whole).leaf.value == pytest.approx(value_of(whole, tuple(range(whole.p))), rel=1e-9)
    single = SparseProblem(problem.target, problem.backgrounds, 1)
    assert best_support(single).leaf.value == pytest.approx(by_brute_force(single), rel=1e-9)


def test_a_thousand_features():
    """A planted component among a thousand features: found, with a bound that shared factors do not make useless."""
    rng = np.random.default_rng(0)
    n, p, k = 400, 1000, 8
    planted, shared = np.zeros(p), 0.7 * rng.normal(size=(2, p))
    planted[rng.choice(p, k, replace=False)] = 1.5
    a, b = (
        np.corrcoef(rng.normal(size=(n, 2)) @ shared + extra + rng.normal(size=(n, p)), rowvar=False)
        for extra in (rng.normal(size=(n, 1)) * planted, 0.0)
    )
    problem = SparseProblem(a, b[np.newaxis], k)
    found = best_support(problem, proof="bound")
    assert found.leaf.support.tolist() == np.flatnonzero(planted).tolist()
    assert found.leaf.value >= problem.leaf(np.flatnonzero(planted)).value * (1 - 1e-12)
    assert found.leaf.value < found.upper < 1.3 * found.leaf.value
    assert found.proof == "thresholds"


def correlations(rows: np.ndarray) -> np.ndarray:
    return np.corrcoef(np.asarray(rows, dtype=float), rowvar=False)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("fig1", {3: 2.549090, 5: 3.613263, 6: 4.056309, 8: 5.004882}),
        ("fig2-split", {3: 1.871135, 5: 2.687385, 6: 3.145005, 8: 3.622761}),
    ],
)
def test_mouse_proteins(mice, mice_reference, name, values):
    target, backgrounds = datasets(mice, mice_reference[name])
    a, b = correlations(target), np.stack([correlations(rows) for rows in backgrounds])
    for k, value in values.items():
        found = best_support(SparseProblem(a, b, k), time_limit=NEVER)
        assert found.leaf.value == pytest.approx(value, abs=1e-6)
        assert found.upper == pytest.approx(value, abs=1e-6)
        assert found.proof == "levels"
