"""Newton's steps that join the basis: against the bordered system solved by numpy, and against optima found otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from problems import make_problems
from sdp import full_sdp

from uca import solve_dual
from uca.dual import Dual
from uca.operators.contract.dense import DensePencil
from uca.operators.eigen.solver import Eigensolver
from uca.solvers.bundle import Bundle
from uca.solvers.refined import newton_steps, refine

BOX = {"probe": 1.0, "box": 1e3}


def bundle_of(target, backgrounds, bounds, vectors) -> Bundle:
    dual = Dual(Eigensolver(DensePencil(np.stack([target, *backgrounds]))), np.asarray(bounds, dtype=float))
    bundle = Bundle(dual)
    bundle.extend(vectors)
    return bundle


def bordered_step(target, backgrounds, bounds, u, prices) -> np.ndarray:
    """Newton's step of u on ``C u = mu u, u'u = 1, u'B_j u = c_j``, with prices for unknowns, by a dense solve."""
    scaled = [b / c for b, c in zip(backgrounds, bounds, strict=True)]
    contrast = target - sum(w * b for w, b in zip(prices, scaled, strict=True))
    mu = u @ contrast @ u
    borders = np.column_stack([u, *(b @ u for b in scaled)])
    r = borders.shape[1]
    system = np.block([[contrast - mu * np.eye(len(u)), -borders], [borders.T, np.zeros((r, r))]])
    excess = [(1 - u @ u) / 2, *((1 - u @ b @ u) / 2 for b in scaled)]
    return np.linalg.solve(system, np.concatenate([mu * u - contrast @ u, excess]))[: len(u)]


@pytest.mark.parametrize("m", [1, 2, 3])
def test_newtons_step_lies_in_the_span(m, rng):
    target, *backgrounds = (np.cov(rng.standard_normal((60, 20)).T) for _ in range(m + 1))
    bounds = [0.9 * np.trace(b) / 20 for b in backgrounds]
    u = np.linalg.eigh(target)[1][:, -1] + 0.05 * rng.standard_normal(20)
    u /= np.linalg.norm(u)
    prices = rng.uniform(0.1, 0.5, m)
    bundle = bundle_of(target, backgrounds, bounds, u[:, np.newaxis])
    steps, length = newton_steps(bundle, u, prices)
    assert steps.shape == (20, m + 1)
    assert length > 0
    span = np.linalg.qr(np.column_stack([u, steps]))[0]
    step = bordered_step(target, backgrounds, bounds, u, prices)
    np.testing.assert_allclose(span @ (span.T @ step), step, atol=1e-10 * np.linalg.norm(step))


def test_backgrounds_without_a_price_give_no_vector(rng):
    target, *backgrounds = (np.cov(rng.standard_normal((30, 8)).T) for _ in range(3))
    u = np.eye(8)[0]
    steps, _ = newton_steps(bundle_of(target, backgrounds, [1.0, 1.0], u[:, np.newaxis]), u, np.array([0.3, 0.0]))
    assert steps.shape == (8, 2)


def test_an_exact_eigenvector_needs_no_step():
    target, background = np.diag([3.0, 2.0, 1.0]), np.diag([2.0, 0.5, 0.5])
    bundle = bundle_of(target, [background], [1.0], np.eye(3)[:, :1])
    steps, length = newton_steps(bundle, np.eye(3)[0], np.array([0.5]))
    assert steps.shape[1] == 0
    assert length == 0.0


@pytest.mark.parametrize("problem", [p for p in make_problems(66, 15, 80, seed=5) if len(p.backgrounds) < 4], ids=str)
def test_refined_solutions_are_optimal_or_within(problem):
    """A lower bound stays one; where numpy's top eigenvector at the prices agrees, it is the optimum."""
    start = np.linalg.eigh(problem.target)[1][:, -4:]
    bundle = bundle_of(problem.target, problem.backgrounds, problem.bounds, start)
    before = bundle.solve(np.zeros(len(problem.backgrounds)), **BOX)
    after = refine(bundle, before, **BOX)
    optimum = solve_dual(problem.target, problem.backgrounds, solver="lbfgs", tol=1e-6).certificate.upper
    assert before.lower - 1e-9 * abs(optimum) <= after.lower <= optimum * (1 + 1e-9)
    if after.factor is None or after.factor.shape[1] > 1:
        return
    contrast = problem.target - np.tensordot(after.prices / problem.bounds, problem.backgrounds, axes=1)
    top = np.linalg.eigh(contrast)[1][:, -1]
    if abs(top @ bundle.basis @ after.factor[:, 0]) > 0.999:
        value = top @ contrast @ top + after.prices.sum()
        # Sum of squares of the last steps: the value errs by the square of the direction's error.
        assert value == pytest.approx(after.lower, rel=1e-9)


def test_a_direction_that_no_step_reaches_is_found():
    """Two blocks that no product connects: the steps stay in the first, the optimum is in the second."""
    rng = np.random.default_rng(3)
    first, second = (np.cov(rng.standard_normal((40, 8)).T) for _ in range(2))
    target = np.block([[4 * first, np.zeros((8, 8))], [np.zeros((8, 8)), 3 * second]])
    background = np.block([[9 * first @ first, np.zeros((8, 8))], [np.zeros((8, 8)), 0.1 * second]])
    bound = np.trace(background) / 16
    result = solve_dual(target, background)
    assert result.certificate.status == "optimal"
    assert result.value == pytest.approx(full_sdp(target, [background], np.array([bound])), rel=2e-7)
    assert np.linalg.norm(result.vectors[8:, 0]) > 0.5
