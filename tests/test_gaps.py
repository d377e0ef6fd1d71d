"""Laws estimated from rows with gaps: against direct maximisation, closed forms, and what each step must do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

from uca.operators.gaps.estimate import estimate, has_gaps, law_of_complete
from uca.operators.gaps.factors import choose_rank, expect_factors, fit_factors
from uca.operators.gaps.normal import fit_normal
from uca.operators.gaps.patterns import Patterns


def with_gaps(rows, share, seed=0):
    """Rows with values taken out at random; each keeps its first."""
    taken = np.random.default_rng(seed).random(rows.shape) < share
    taken[:, 0] &= taken[:, 1:].any(axis=1) & ~taken[:, 1:].all(axis=1)
    return np.where(taken, np.nan, rows)


def factor_rows(n, p, r, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(r, p))
    return rng.normal(size=(n, r)) @ loadings + noise * rng.normal(size=(n, p)), loadings


def log_likelihood(rows, mean, sigma):
    """Of the values that are there, row by row."""
    total = 0.0
    for row in rows:
        there = ~np.isnan(row)
        part, deviation = sigma[np.ix_(there, there)], row[there] - mean[there]
        distance = deviation @ np.linalg.solve(part, deviation)
        total -= (there.sum() * np.log(2 * np.pi) + np.linalg.slogdet(part)[1] + distance) / 2
    return total


def test_the_likelihood_of_these_tests_is_that_of_scipy():
    rng = np.random.default_rng(0)
    sigma = np.cov(rng.normal(size=(3, 9)))
    row = rng.normal(size=3)
    assert log_likelihood(row[np.newaxis], np.ones(3), sigma) == pytest.approx(
        multivariate_normal.logpdf(row, np.ones(3), sigma)
    )


def penalised(rows, mean, sigma, nu, diagonal):
    pull = np.linalg.slogdet(sigma)[1] + np.trace(np.linalg.solve(sigma, np.diag(diagonal)))
    return log_likelihood(rows, mean, sigma) - nu / 2 * pull


@pytest.fixture
def small():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)) + [1.0, -2.0, 0.5]
    return with_gaps(rows, 0.25)


def test_em_finds_the_maximum_of_the_likelihood(small):
    """Without the pull, BFGS on a Cholesky factor finds no better law, and the same one."""

    def unpacked(x):
        factor = np.zeros((3, 3))
        factor[np.tril_indices(3)] = x[3:]
        return x[:3], factor @ factor.T + 1e-12 * np.eye(3)

    def negative(x):
        return -log_likelihood(small, *unpacked(x))

    start = np.concatenate([np.nanmean(small, axis=0), np.eye(3)[np.tril_indices(3)]])
    best = minimize(negative, start, method="BFGS", options={"gtol": 1e-6})
    mean, sigma = unpacked(best.x)
    found = fit_normal(small, pull=0.0, tol=1e-10)
    assert log_likelihood(small, found.mean, found.sigma) >= -best.fun - 1e-7
    # Differences of numerical gradients, over the curvature of 40 rows.
    np.testing.assert_allclose(found.mean, mean, atol=1e-4)
    np.testing.assert_allclose(found.sigma, sigma, atol=1e-3)
    np.testing.assert_allclose(found.scatter / len(small), found.sigma, atol=1e-8)


def test_em_is_the_closed_form_where_one_feature_lacks_values():
    """Anderson (1957): regress the incomplete feature on the complete one, and carry over the latter's moments."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    y = 0.8 * x + 0.6 * rng.normal(size=60) + 3.0
    y[x > 0.3] = np.nan  # missing for a reason that is there: the mean of what is left is biased
    known = ~np.isnan(y)
    slope, intercept = np.polyfit(x[known], y[known], 1)
    residual = np.mean((y[known] - slope * x[known] - intercept) ** 2)
    mean = intercept + slope * x.mean()
    variance, covariance = residual + slope**2 * x.var(), slope * x.var()
    found = fit_normal(np.column_stack([x, y]), pull=0.0, tol=1e-12, max_iter=5000)
    np.testing.assert_allclose(found.mean, [x.mean(), mean], atol=1e-8)
    np.testing.assert_allclose(found.sigma, [[x.var(), covariance], [covariance, variance]], atol=1e-8)
    assert abs(mean - 3.0) < abs(np.nanmean(y) - 3.0)


@pytest.mark.parametrize("pull", [0.0, 0.05])
def test_every_step_raises_the_penalised_likelihood(small, pull):
    diagonal = np.nanvar(small, axis=0)
    values = [
        penalised(small, step.mean, step.sigma, pull * len(small), diagonal)
        for step in (fit_normal(small, pull=pull, tol=0.0, max_iter=n) for n in range(1, 15))
    ]
    assert np.all(np.diff(values) > -1e-9)  # sums of 40 logarithms, rounded
    assert values[-1] > values[0]


def test_every_step_of_the_factor_model_raises_its_likelihood():
    rows = with_gaps(factor_rows(12, 15, 2, seed=3)[0], 0.2)
    rows = (rows - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)
    ridge, values = 1.0, []
    for n in range(1, 12):
        fit = fit_factors(rows, 2, tol=0.0, max_iter=n, ridge=ridge)
        shrunk = ridge / 2 * np.sum((fit.loadings**2).sum(axis=1) / fit.noise)
        values.append(log_likelihood(rows, fit.mean, fit.loadings @ fit.loadings.T + np.diag(fit.noise)) - shrunk)
    assert np.all(np.diff(values) > -1e-9)
    assert values[-1] > values[0]


def test_without_gaps_the_estimate_is_the_sample_covariance():
    rows = factor_rows(50, 6, 2)[0]
    found = estimate(rows, "X")
    np.testing.assert_allclose(found.moments.covariance(), np.cov(rows.T), rtol=1e-12)
    np.testing.assert_allclose(found.moments.mean, rows.mean(axis=0), rtol=1e-12)
    wide = factor_rows(10, 30, 2)[0]
    np.testing.assert_allclose(estimate(wide, "X").moments.covariance(), np.cov(wide.T), atol=1e-12)


@pytest.mark.parametrize("shape", [(80, 6), (20, 40)])
def test_units_and_large_means_change_nothing(shape):
    rows = with_gaps(factor_rows(*shape, 2)[0], 0.2)
    factors = 10.0 ** np.random.default_rng(0).uniform(-30, 30, shape[1])
    plain, scaled = estimate(rows, "X"), estimate(rows * factors, "X")
    correlations = [
        part.moments.covariance() / np.outer(u, u) for part, u in ((plain, 1.0 + 0 * factors), (scaled, factors))
    ]
    # 1e-5 is where steps of EM end.
    np.testing.assert_allclose(correlations[1], correlations[0], atol=1e-8)
    far = estimate(rows + 1e9, "X")
    # Values of 1e9 have rounding errors of 1e-7.
    np.testing.assert_allclose(far.moments.covariance(), plain.moments.covariance(), atol=1e-5)
    np.testing.assert_allclose(far.moments.mean - 1e9, plain.moments.mean, atol=1e-6)


@pytest.mark.parametrize("shape", [(80, 6), (20, 40)])
def test_conditional_means_and_variances_are_those_of_the_regression(shape):
    """For each row by itself, with the covariance of what is there, which the package never inverts."""
    rows = with_gaps(factor_rows(*shape, 2)[0] * 7 + 100, 0.3)
    law = estimate(rows, "X").law
    completed = law.complete(rows)
    sigma, direction = law.covariance, np.random.default_rng(0).normal(size=(shape[1], 2))
    for i in range(0, len(rows), 7):
        gap = np.isnan(rows[i])
        there = ~gap
        weights = np.linalg.solve(sigma[np.ix_(there, there)], sigma[np.ix_(there, gap)])
        expected = law.mean[gap] + (rows[i, there] - law.mean[there]) @ weights
        unknown = sigma[np.ix_(gap, gap)] - sigma[np.ix_(gap, there)] @ weights
        np.testing.assert_array_equal(completed.rows[i, there], rows[i, there])
        np.testing.assert_allclose(completed.rows[i, gap], expected, rtol=1e-8)
        np.testing.assert_allclose(completed.variances[i, gap], unknown.diagonal(), rtol=1e-7)
        np.testing.assert_allclose(
            completed.along(direction)[i], np.diag(direction[gap].T @ unknown @ direction[gap]), rtol=1e-7
        )


@pytest.mark.parametrize("shape", [(60, 5), (15, 30)])
def test_scatter_is_the_sum_over_rows_and_drawn_values_have_it(shape):
    rows = with_gaps(factor_rows(*shape, 2)[0], 0.3)
    completed = estimate(rows, "X").law.complete(rows)
    eye = np.eye(shape[1])
    np.testing.assert_allclose(completed.scatter().diagonal(), completed.along(eye).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(completed.variances, completed.along(eye), atol=1e-12)
    rng = np.random.default_rng(0)
    draws = np.stack([completed.drawn(rng) - completed.rows for _ in range(2000)])
    there = ~np.isnan(rows)
    assert not draws[:, there].any()
    squares = np.einsum("dif,dig->fg", draws, draws) / 2000
    # A mean of 2000 squares is off by 3 %, four times that is out of reach.
    np.testing.assert_allclose(squares, completed.scatter(), atol=0.12 * completed.scatter().max())


def test_a_factor_model_is_nearer_to_the_truth_than_means_in_the_gaps():
    rows, loadings = factor_rows(110, 120, 4, seed=5)
    truth = loadings.T @ loadings + 0.25 * np.eye(120)
    gapped = with_gaps(rows, 0.3, seed=1)
    filled = np.where(np.isnan(gapped), np.nanmean(gapped, axis=0), gapped)
    estimated, plain, whole = estimate(gapped, "X").moments.covariance(), np.cov(filled.T), np.cov(rows.T)
    assert np.linalg.norm(estimated - whole) < 0.25 * np.linalg.norm(plain - whole)
    near, far, sampling = (np.linalg.norm(matrix - truth) for matrix in (estimated, plain, whole))
    assert near < far
    assert near < 1.1 * sampling  # nearly as near as with every value there


def test_complete_rows_of_a_factor_model_are_the_same_with_and_without_the_short_way():
    """Rows that are all complete share one r x r matrix; a nearly empty row takes the long way, and changes little."""
    rows = factor_rows(25, 40, 3, seed=9)[0]
    rows = np.vstack([rows, np.zeros((1, 40))])
    almost = rows.copy()
    almost[-1, 1:] = np.nan
    short, long = (fit_factors(part, 3, tol=0.0, max_iter=1) for part in (rows[:-1], almost))
    np.testing.assert_allclose(long.loadings, short.loadings, atol=0.2)
    scores, spread = expect_factors(rows, np.ones(rows.shape), short.mean, short.loadings, short.noise)
    precision = np.eye(3) + short.loadings.T @ (short.loadings / short.noise[:, np.newaxis])
    np.testing.assert_allclose(np.linalg.inv(spread[4]), precision, rtol=1e-9)
    expected = np.linalg.solve(precision, short.loadings.T @ ((rows[4] - short.mean) / short.noise))
    np.testing.assert_allclose(scores[4], expected, rtol=1e-9)


def test_the_number_of_factors_is_found():
    rows = with_gaps(factor_rows(60, 100, 5, seed=6)[0], 0.2)
    rows = (rows - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)
    assert choose_rank(rows) in (5, 7)
    noise = with_gaps(np.random.default_rng(0).normal(size=(40, 60)), 0.2)
    assert choose_rank(noise) == 1


def test_em_undoes_a_bias_that_means_in_the_gaps_have():
    """Values missing where another feature is large: variances and correlations of what is there are too small."""
    rng = np.random.default_rng(7)
    rows = rng.multivariate_normal([0, 0, 0], [[1, 0.8, 0.8], [0.8, 1, 0.8], [0.8, 0.8, 1]], size=2000)
    gapped = rows.copy()
    gapped[rows[:, 0] > 0.5, 1] = np.nan
    found = estimate(gapped, "X").moments
    # Errors of 2000 rows are 0.02 to 0.03.
    np.testing.assert_allclose(found.covariance(), np.cov(rows.T), atol=0.08)
    assert np.nanvar(gapped[:, 1]) < 0.75


def test_what_is_below_a_limit_is_not_found_again():
    """What the docs say EM does not cure: the values that are there do not tell."""
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(3000, 4))
    gapped = np.where(rows < norm.ppf(0.3), np.nan, rows)
    found = estimate(gapped, "X").moments
    assert found.covariance().diagonal().max() < 0.6
    assert found.mean.min() > 0.3


def test_constant_features_take_no_part():
    rows = with_gaps(factor_rows(40, 5, 2)[0], 0.2)
    rows = np.column_stack([rows, np.full(40, 3.0)])
    rows[::4, -1] = np.nan
    found = estimate(rows, "X")
    assert found.law.unit[-1] == 0
    np.testing.assert_array_equal(found.law.complete(rows).rows[:, -1], 3.0)
    np.testing.assert_array_equal(found.moments.scatter[-1], 0.0)
    np.testing.assert_allclose(found.moments.scatter[:-1, :-1], estimate(rows[:, :-1], "X").moments.scatter, rtol=1e-12)


def test_rows_without_values_tell_nothing_and_empty_columns_are_named():
    rows = with_gaps(factor_rows(40, 5, 2)[0], 0.2)
    more = np.vstack([rows, np.full((3, 5), np.nan)])
    found, same = estimate(more, "X"), estimate(rows, "X")
    np.testing.assert_array_equal(found.moments.scatter, same.moments.scatter)
    assert found.law.n_rows == 40
    np.testing.assert_array_equal(found.law.n_values, (~np.isnan(rows)).sum(axis=0))
    rows[:, [1, 3]] = np.nan
    with pytest.raises(
        ValueError, match=r"background 'b' has no value in columns 'f1', 'f3': nothing .* Leave them out"
    ):
        estimate(rows, "background 'b'", [f"f{i}" for i in range(5)])


def test_the_law_of_complete_rows_is_that_of_an_estimate():
    rows = factor_rows(60, 5, 2)[0]
    by_em, plain = estimate(rows, "X").law, law_of_complete(rows, "X")
    np.testing.assert_allclose(plain.covariance, by_em.covariance, rtol=1e-10)
    np.testing.assert_allclose(plain.mean, by_em.mean, atol=1e-12)


def test_patterns_are_told_once():
    missing = np.zeros((7, 4), dtype=bool)
    missing[[0, 3, 5], 1] = True
    missing[[1, 2], 2] = True
    missing[6, [0, 3]] = True
    single, double = Patterns(missing).batches
    assert single.features.tolist() == [[2], [1]] or single.features.tolist() == [[1], [2]]
    assert sorted(single.counts.tolist()) == [2, 3]
    for row, pattern in zip(single.rows, single.pattern, strict=True):
        assert missing[row, single.features[pattern, 0]]
    assert double.rows.tolist() == [6]
    assert Patterns(np.zeros((3, 2), dtype=bool)).batches == []


def test_has_gaps_looks_everywhere():
    rows = np.zeros((3_000, 500), dtype=np.float32)
    assert not has_gaps(rows)
    rows[-1, -1] = np.nan
    assert has_gaps(rows)
    assert not has_gaps(np.zeros((3, 2), dtype=int))
