"""Each solver against another, and honest about what it reached."""

from __future__ import annotations

import numpy as np
import pytest
from problems import make_problems
from scipy.sparse.linalg import aslinearoperator
from sklearn.exceptions import ConvergenceWarning

from uca import UCA, InfeasibleBoundsError, solve_dual
from uca.dual import Dual, mean_bounds, mixture_rank
from uca.operators.contract.dense import DenseCovariance, DensePencil
from uca.operators.contract.pencil import OperatorPencil
from uca.operators.eigen.solver import Eigensolver
from uca.solvers.solve import choose_solver

ONE = [problem for problem in make_problems(88, 5, 60, seed=20) if len(problem.backgrounds) == 1]
SMOOTH = [
    problem
    for problem in make_problems(99, 5, 60, seed=21)
    if problem.family in {"tall", "wide", "correlated"} and len(problem.backgrounds) <= 4
]


@pytest.mark.parametrize("problem", ONE, ids=str)
def test_root_equals_subspace(problem):
    root = solve_dual(problem.target, problem.backgrounds, solver="root")
    subspace = solve_dual(problem.target, problem.backgrounds, solver="subspace")
    assert root.solver == "root"
    assert root.certificate.gap <= 1e-8
    assert root.value == pytest.approx(subspace.value, rel=1e-8)


@pytest.mark.parametrize("problem", SMOOTH, ids=str)
def test_lbfgs_equals_subspace_where_smooth(problem):
    lbfgs = solve_dual(problem.target, problem.backgrounds, solver="lbfgs")
    subspace = solve_dual(problem.target, problem.backgrounds, solver="subspace")
    assert lbfgs.certificate.lower <= subspace.value * (1 + 1e-9)
    assert lbfgs.certificate.upper >= subspace.value * (1 - 1e-9)
    if lbfgs.certificate.status == "optimal":
        assert lbfgs.value == pytest.approx(subspace.value, rel=2e-9)
    else:
        assert lbfgs.certificate.gap > 1e-9


def test_lbfgs_reaches_most_smooth_optima():
    statuses = [solve_dual(p.target, p.backgrounds, solver="lbfgs").certificate.status for p in SMOOTH]
    assert np.mean([status == "optimal" for status in statuses]) >= 0.5


@pytest.mark.parametrize("seed", range(4))
def test_lbfgs_stall_at_a_kink_is_seen(seed):
    """Commuting matrices: L-BFGS-B stops early; the gap it reports brackets the true optimum."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    target, *backgrounds = (axes * rng.gamma(1.0, size=12) @ axes.T for _ in range(5))
    true = solve_dual(target, backgrounds).value
    certificate = solve_dual(target, backgrounds, solver="lbfgs").certificate
    assert certificate.lower <= true * (1 + 1e-9)
    assert certificate.upper >= true * (1 - 1e-9)
    if certificate.status != "optimal":
        assert "solver='subspace'" in certificate.message


def test_iteration_limit_warns_and_says_what_to_do(rng):
    data = [rng.standard_normal((40, 10)) @ rng.standard_normal((10, 10)) for _ in range(4)]
    with pytest.warns(ConvergenceWarning, match=r"at the iteration limit.*Raise max_iter") as caught:
        model = UCA(max_iter=1, representation="implicit").fit(data[0], backgrounds=data[1:])
    assert len(caught) == 1
    assert model.certificate_.status == "max_iter"
    assert model.certificate_.gap > 1e-9


def test_root_refuses_several_backgrounds(rng):
    with pytest.raises(ValueError, match="exactly one background, got 2; use solver='subspace'"):
        solve_dual(np.eye(3), [np.eye(3), np.eye(3)], solver="root")


@pytest.mark.parametrize(
    ("m", "p", "tol", "solver"),
    [
        (0, 10, 1e-9, "subspace"),
        (1, 10, 1e-9, "subspace"),
        (1, 10, 1e-4, "root"),  # small and loose, as in the refits of a test
        (1, 64, 1e-3, "root"),
        (1, 65, 1e-3, "subspace"),
        (2, 10, 1e-3, "subspace"),  # several may meet at a kink
        (8, 5_000, 1e-9, "subspace"),
    ],
)
def test_auto_solver_is_a_table(m, p, tol, solver):
    assert choose_solver(m, p, tol) == solver


@pytest.mark.parametrize(("m", "rank"), [(0, 1), (1, 1), (2, 2), (4, 2), (5, 3), (8, 3), (9, 4)])
def test_mixture_rank(m, rank):
    assert mixture_rank(m) == rank


def test_gradient_equals_finite_differences(rng):
    matrices = np.stack([m @ m.T for m in rng.standard_normal((4, 6, 6))])
    pencil = DensePencil(matrices)
    dual = Dual(Eigensolver(pencil), mean_bounds(pencil))
    prices = np.array([0.3, 0.7, 0.2])
    gradient = 1.0 - dual.evaluate(prices).spent
    for j, step in enumerate(1e-6 * np.eye(3)):
        difference = (dual.evaluate(prices + step).value - dual.evaluate(prices - step).value) / 2e-6
        assert gradient[j] == pytest.approx(difference, abs=1e-6)


@pytest.mark.parametrize("kind", ["operator", "linear operator", "mixed"])
def test_operators_give_the_answer_of_matrices(kind, rng):
    """Products alone, through Lanczos: order 60 is solved directly only where the matrix is known."""
    target, *backgrounds = (m @ m.T for m in rng.standard_normal((3, 60, 60)))
    bounds = [np.trace(b) / 60 for b in backgrounds]
    dense = solve_dual(target, backgrounds)
    if kind == "operator":
        given = DenseCovariance(target), [DenseCovariance(b) for b in backgrounds]
    elif kind == "linear operator":
        given = aslinearoperator(target), [aslinearoperator(b) for b in backgrounds]
    else:
        given = target, [aslinearoperator(backgrounds[0]), backgrounds[1]]
    result = solve_dual(*given, bounds)
    assert result.certificate.status == "optimal"
    assert result.value == pytest.approx(dense.value, rel=1e-8)
    np.testing.assert_allclose(result.lambdas, dense.lambdas, rtol=1e-5)


def test_linear_operator_needs_bounds(rng):
    with pytest.raises(ValueError, match="trace of a LinearOperator is not known.*pass bounds="):
        solve_dual(np.eye(5), aslinearoperator(np.eye(5)))


def test_indefinite_target_is_solved(rng):
    """solve_dual takes any symmetric target: the optimum may be negative."""
    axis = np.diag([-1.0, -2.0, -3.0])
    background = np.diag([4.0, 1.0, 1.0])
    result = solve_dual(axis, background, 1.5)
    # Mass x on the first axis: spent 4x + (1 - x) <= 1.5, so x = 1/6; value -1/6 - 2 * 5/6.
    assert result.value == pytest.approx(-1 / 6 - 10 / 6, rel=1e-9)


class TestInfeasibleBounds:
    def test_names_the_background_and_the_attainable_bound(self, rng):
        target = np.eye(4)
        backgrounds = {"fine": np.diag([1.0, 2, 3, 0.1]), "tight": np.diag([0.5, 1.0, 2.0, 3.0])}
        with pytest.raises(
            InfeasibleBoundsError, match="'tight' has bound 0.4, the smallest attainable is 0.5"
        ) as error:
            solve_dual(target, backgrounds, [1.0, 0.4])
        assert "fine" not in str(error.value)

    def test_bounds_that_conflict_only_together(self):
        backgrounds = [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]
        with pytest.raises(InfeasibleBoundsError, match="with the other bounds kept is 0.6") as error:
            solve_dual(np.eye(2), backgrounds, 0.4)
        assert "all bounds together" in str(error.value)
        assert solve_dual(np.eye(2), backgrounds, [0.4, 0.600001]).certificate.status == "optimal"

    @pytest.mark.parametrize("solver", ["subspace", "root", "lbfgs"])
    def test_every_solver_detects_it(self, solver, rng):
        m = rng.standard_normal((20, 6))
        background = m.T @ m / 19
        smallest = np.linalg.eigvalsh(background)[0]
        with pytest.raises(InfeasibleBoundsError, match="smallest attainable is"):
            solve_dual(np.eye(6), background, 0.9 * smallest, solver=solver)
        result = solve_dual(np.eye(6), background, 1.1 * smallest, solver=solver)
        assert result.value == pytest.approx(1.0, rel=1e-6)

    def test_the_reported_bound_is_attainable(self, rng):
        data = rng.standard_normal((30, 5))
        with pytest.raises(ValueError, match="smallest attainable") as error:
            UCA(bound=1e-3).fit(data[:15], backgrounds={"controls": data[15:]})
        figure = float(str(error.value).split("attainable is ")[1].split(".  ")[0].split(". Raise")[0])
        model = UCA(bound=figure * 1.0001).fit(data[:15], backgrounds={"controls": data[15:]})
        assert model.background_variance_[0, 0] <= figure * 1.001


def test_lanczos_route_for_large_matrices(monkeypatch, rng):
    """Above the direct size the same answer comes from Lanczos with the upper bound proven by Cholesky."""
    from uca.operators.eigen import direct as dense

    target, *backgrounds = (m @ m.T / 80 for m in rng.standard_normal((3, 80, 80)))
    direct = solve_dual(target, backgrounds)
    monkeypatch.setattr(dense, "DIRECT_MAX", 10)
    lanczos = solve_dual(target, backgrounds)
    assert lanczos.certificate.status == "optimal"
    assert lanczos.value == pytest.approx(direct.value, rel=1e-9)


def test_missed_eigenvalue_is_noticed():
    eigen = Eigensolver(DensePencil(np.diag([5.0, 3.0, 1.0, 0.5])[np.newaxis]))
    assert eigen.bound([1.0], 5.0, 1e-9) == (pytest.approx(5.0, abs=2e-9), True)
    assert eigen.bound([1.0], 3.0, 1e-9) == (pytest.approx(5.0, abs=1e-9), True)


def test_complement_operator_equals_the_dense_one(rng):
    matrices = np.stack([m @ m.T for m in rng.standard_normal((3, 7, 7))])
    v = rng.standard_normal(7)
    v /= np.linalg.norm(v)
    dense, _ = DensePencil(matrices).complement(v)
    lazy, _ = OperatorPencil([DenseCovariance(matrix) for matrix in matrices], 7).complement(v)
    block = rng.standard_normal((6, 2))
    np.testing.assert_allclose(lazy.products(block), dense.products(block), atol=1e-12)
    np.testing.assert_allclose(lazy.traces(), dense.traces(), atol=1e-12)
    # Removing v takes its variance out of the trace.
    np.testing.assert_allclose(dense.traces(), [np.trace(m) - v @ m @ v for m in matrices], atol=1e-12)
