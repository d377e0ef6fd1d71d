"""Optima at a multiple eigenvalue, built so that the answer is known by hand.

In the plane, ``u'Mu = t + a . e`` with e = (cos 2x, sin 2x): a quadratic form is a point ``(t, a)``, a unit vector a
point on the circle, and a mixture a point z inside it. UCA becomes: maximise ``a_0 . z`` over the disc, under lines.
"""

from __future__ import annotations

import numpy as np
import pytest

from uca import UCA, solve_dual


def form(t: float, a: tuple[float, float]) -> np.ndarray:
    return np.array([[t + a[0], a[1]], [a[1], t - a[0]]])


TARGET = form(2.0, (1.0, 0.0))
WEDGE = [form(2.0, (1.0, 1.0)), form(2.0, (1.0, -1.0))]  # with bound 2.2: z_1 + z_2 <= 0.2 and z_1 - z_2 <= 0.2


def test_mixture_optimum_is_known():
    result = solve_dual(TARGET, WEDGE, 2.2)
    certificate = result.certificate
    # The vertex (0.2, 0) of the two lines lies inside the disc: value 2 + 0.2, lambda from a_0 = sum lambda_j a_j.
    assert certificate.upper == pytest.approx(2.2, rel=1e-9)
    assert certificate.lower == pytest.approx(2.2, rel=1e-9)
    np.testing.assert_allclose(result.lambdas, [0.5, 0.5], atol=1e-7)
    assert certificate.status == "optimal"
    assert not certificate.tight
    assert "mixture of 2 directions" in certificate.message


def test_first_component_is_the_best_feasible_direction():
    result = solve_dual(TARGET, WEDGE, 2.2)
    first = result.vectors[:, 0]
    # On the circle the wedge leaves the arc around (-1, 0); its ends (-0.6, +-0.8) are best: variance 2 - 0.6.
    assert first @ TARGET @ first == pytest.approx(1.4, abs=1e-8)
    assert max(first @ b @ first for b in WEDGE) <= 2.2 * (1 + 1e-9)
    np.testing.assert_allclose(result.vectors.T @ result.vectors, np.eye(2), atol=1e-12)


def test_no_direction_is_feasible():
    """Four half planes that meet in the centre of the disc alone: only the even mixture respects the bounds."""
    backgrounds = [form(1.0, a) for a in [(1.0, 0.0), (-1.0, 0.0), (0.0, 0.9), (0.0, -0.9)]]
    certificate = solve_dual(TARGET, backgrounds, 1.0).certificate
    assert certificate.upper == pytest.approx(2.0, rel=1e-8)
    assert not certificate.tight
    assert "was found to respect every bound" in certificate.message


def test_estimator_reports_the_mixture():
    model = UCA(1, bound=2.2).fit_covariance(TARGET, backgrounds={"a": WEDGE[0], "b": WEDGE[1]})
    assert not model.certificate_.tight
    assert model.certificate_.kkt <= 1e-7
    assert model.explained_variance_[0] == pytest.approx(1.4, abs=1e-8)
    assert "mixture of 2 directions" in model.summary().replace("\n", " ")


@pytest.mark.parametrize("seed", range(5))
def test_one_background_is_always_tight(seed):
    """Commuting matrices put the optimum on a crossing of eigenvalues; with one background a direction attains it."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    target, background = (axes * rng.gamma(1.0, size=8) @ axes.T for _ in range(2))
    result = solve_dual(target, background)
    assert result.certificate.status == "optimal"
    assert result.certificate.tight


def test_larger_eigenspace_uses_local_search(rng):
    """Three tied directions: the best feasible one beats every feasible direction on a fine random grid."""
    from uca.solvers.direction import best_feasible_direction

    a = np.diag([3.0, 2.0, 1.0])
    b = np.stack([np.diag([2.0, 0.5, 0.5]), np.diag([0.5, 1.8, 0.5])])
    found = best_feasible_direction(a, b)
    grid = rng.standard_normal((20_000, 3))
    grid /= np.linalg.norm(grid, axis=1, keepdims=True)
    feasible = grid[np.all(np.einsum("gi,jik,gk->gj", grid, b, grid) <= 1, axis=1)]
    best = np.einsum("gi,ik,gk->g", feasible, a, feasible).max()
    assert found is not None
    assert np.all((b @ found) @ found <= 1 + 1e-9)
    assert found @ a @ found >= best - 1e-9


def test_larger_eigenspace_and_one_bound(rng):
    """One bound is solved exactly in any number of dimensions: strong duality holds, so the dual value is the answer."""
    from scipy.optimize import minimize_scalar

    from uca.solvers.direction import best_feasible_direction

    for case in range(40):
        r = 3 + case % 4
        factors = rng.standard_normal((2, r, r))
        a, b = factors[0] @ factors[0].T, factors[1] @ factors[1].T * 10.0 ** rng.uniform(-1.5, 0.5)
        if case % 3 == 0:
            a = np.eye(r) + 0.9 * b  # every direction is an optimum of the Lagrangian
        found = best_feasible_direction(a, b[np.newaxis])
        smallest = np.linalg.eigvalsh(b)[0]
        if smallest > 1:
            assert found is None
            continue
        dual = minimize_scalar(
            lambda t, a=a, b=b: np.linalg.eigvalsh(a - t * b)[-1] + t, bounds=(0, 1e4), options={"xatol": 1e-10}
        )
        assert found @ b @ found <= 1 + 1e-9
        np.testing.assert_allclose(found @ a @ found, dual.fun, rtol=1e-7)
