"""Random problems of every family: certified on all, compared with a full-size SDP on the small ones."""

from __future__ import annotations

import numpy as np
import pytest
from problems import FAMILIES, Problem, make_problems
from sdp import full_sdp

from uca import solve_dual
from uca.dual import Certificate

PROBLEMS = make_problems(264, 2, 120)
SMALL = [problem for problem in PROBLEMS if len(problem.target) <= 40][:99]


def check_certificate(problem: Problem) -> Certificate:
    result = solve_dual(problem.target, problem.backgrounds, n_components=1)
    certificate = result.certificate
    assert certificate.status == "optimal", certificate
    assert certificate.gap <= 1e-8
    # A feasible matrix keeps its bounds to 1e-12; that is worth 1e-12 of the prices, a few times the value (seen: 4e-12).
    assert certificate.lower <= certificate.upper * (1 + 1e-10)
    assert np.all(result.lambdas >= 0)
    # The upper bound is g at the returned lambdas, computed here from scratch.
    contrast = problem.target - np.tensordot(result.lambdas, problem.backgrounds, axes=1)
    value = np.linalg.eigvalsh(contrast)[-1] + result.lambdas @ problem.bounds
    assert value == pytest.approx(certificate.upper, rel=1e-10)
    first = result.vectors[:, 0]
    spent = np.array([first @ b @ first for b in problem.backgrounds]) / problem.bounds
    if certificate.tight:
        assert first @ problem.target @ first == pytest.approx(certificate.upper, rel=2e-7)
        assert np.all(spent <= 1 + 2e-7)
    return certificate


def test_suite_covers_what_it_should():
    assert len(PROBLEMS) >= 200
    assert {problem.family for problem in PROBLEMS} == {family.__name__ for family in FAMILIES}
    assert {len(problem.backgrounds) for problem in PROBLEMS} == set(range(1, 9))
    sizes = [len(problem.target) for problem in PROBLEMS]
    assert min(sizes) == 2
    assert max(sizes) > 110
    assert len(SMALL) >= 60


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_gap_is_certified(problem):
    check_certificate(problem)


def test_some_optima_are_not_smooth():
    certificates = [check_certificate(problem) for problem in PROBLEMS[:99]]
    assert sum(not certificate.tight for certificate in certificates) >= 3


@pytest.mark.parametrize("problem", SMALL, ids=str)
def test_value_equals_the_full_size_sdp(problem):
    value = solve_dual(problem.target, problem.backgrounds, n_components=1).value
    # Clarabel at full size ends within 1e-7 of the optimum on the degenerate families (seen: 3e-8).
    assert value == pytest.approx(full_sdp(problem.target, problem.backgrounds, problem.bounds), rel=2e-7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_larger_suite(seed):
    for problem in make_problems(880, 2, 200, seed):
        check_certificate(problem)


@pytest.mark.parametrize("copies", [2, 5])
def test_identical_backgrounds_change_nothing(copies):
    for problem in PROBLEMS[:22:11]:
        background = problem.backgrounds[0]
        one = solve_dual(problem.target, background)
        many = solve_dual(problem.target, [background] * copies)
        assert many.value == pytest.approx(one.value, rel=1e-9)
        assert many.lambdas.sum() == pytest.approx(one.lambdas.sum(), rel=1e-6)
        np.testing.assert_allclose(np.abs(many.vectors.T @ one.vectors), np.eye(2), atol=1e-6)
