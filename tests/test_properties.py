"""Properties that must hold for any data."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from uca import UCA, solve_dual

SETTINGS = settings(max_examples=25, deadline=None, derandomize=True)


@st.composite
def problems(draw, max_backgrounds=3, min_rows=6):
    """Target and backgrounds with full-rank noise, tall or wide, so that components are determined."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = draw(st.integers(3, 12))
    rows = draw(st.lists(st.integers(min_rows, 30), min_size=2, max_size=1 + max_backgrounds))
    arrays = [rng.standard_normal((n, p)) * rng.uniform(0.2, 3, p) @ rng.standard_normal((p, p)) for n in rows]
    return arrays[0], arrays[1:], rng


def value(model):
    return model.certificate_.upper


def same_first_direction(a, b, model):
    """Equal up to sign; where eigenvalues nearly tie, the direction itself is not determined and is not compared."""
    if model.certificate_.tight and model.eigenvalues_[0] - model.eigenvalues_[1] > 1e-3 * value(model):
        np.testing.assert_allclose(np.abs(a @ b), 1.0, atol=1e-6)


@SETTINGS
@given(problems())
def test_components_are_orthonormal_and_certified(problem):
    target, backgrounds, _ = problem
    model = UCA(3).fit(target, backgrounds=backgrounds)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-9)
    assert model.certificate_.gap <= 1e-9
    assert model.certificate_.status == "optimal"
    if model.certificate_.tight:
        assert np.all(model.background_variance_[0] <= model.bounds_ * (1 + 1e-6))


@SETTINGS
@given(problems())
def test_row_order_does_not_matter(problem):
    target, backgrounds, rng = problem
    model = UCA().fit(target, backgrounds=backgrounds)
    other = UCA().fit(rng.permutation(target), backgrounds=[rng.permutation(b) for b in backgrounds])
    np.testing.assert_allclose(value(other), value(model), rtol=1e-8)
    same_first_direction(model.components_[0], other.components_[0], model)


@SETTINGS
@given(problems())
def test_shift_and_positive_scale_of_features_do_not_matter(problem):
    target, backgrounds, rng = problem
    p = target.shape[1]
    model = UCA().fit(target, backgrounds=backgrounds)
    # Each dataset has its own shift; the scale of a feature may differ between datasets too.
    moved = [a * 10 ** rng.uniform(-2, 2, p) + rng.normal(0, 100, p) for a in (target, *backgrounds)]
    other = UCA().fit(moved[0], backgrounds=moved[1:])
    np.testing.assert_allclose(value(other), value(model), rtol=1e-7)
    same_first_direction(model.components_[0], other.components_[0], model)


@SETTINGS
@given(problems())
def test_rotation_of_features_rotates_the_components(problem):
    target, backgrounds, rng = problem
    p = target.shape[1]
    rotation = np.linalg.qr(rng.standard_normal((p, p)))[0]
    model = UCA(scale=False).fit(target, backgrounds=backgrounds)
    other = UCA(scale=False).fit(target @ rotation, backgrounds=[b @ rotation for b in backgrounds])
    np.testing.assert_allclose(value(other), value(model), rtol=1e-8)
    same_first_direction(model.components_[0] @ rotation, other.components_[0], model)


@SETTINGS
@given(problems())
def test_another_background_never_raises_the_value(problem):
    target, backgrounds, _ = problem
    values = [value(UCA().fit(target, backgrounds=backgrounds[:m] or None)) for m in range(len(backgrounds) + 1)]
    assert np.all(np.diff(values) <= 1e-8 * values[0])


@SETTINGS
@given(problems())
def test_large_bound_is_pca(problem):
    target, backgrounds, _ = problem
    model = UCA(bound=1e6).fit(target, backgrounds=backgrounds)
    pca = UCA().fit(target)
    np.testing.assert_array_equal(model.lambdas_, 0)
    np.testing.assert_allclose(model.eigenvalues_, pca.eigenvalues_, rtol=1e-12)
    same_first_direction(model.components_[0], pca.components_[0], pca)


@SETTINGS
@given(problems())
def test_larger_bounds_never_lower_the_value(problem):
    target, backgrounds, _ = problem
    values = [value(UCA(bound=bound).fit(target, backgrounds=backgrounds)) for bound in (1.0, 1.5, 3.0)]
    assert np.all(np.diff(values) >= -1e-8 * values[-1])


@SETTINGS
@given(problems())
def test_scores_of_fit_data(problem):
    target, backgrounds, _ = problem
    model = UCA()
    scores = model.fit_transform(target, backgrounds=backgrounds)
    z = (target - target.mean(axis=0)) / target.std(axis=0, ddof=1)
    np.testing.assert_allclose(scores, z @ model.components_.T, atol=1e-9)
    np.testing.assert_array_equal(scores, model.transform(target))


@SETTINGS
@given(problems())
def test_refit_is_bit_identical(problem):
    target, backgrounds, _ = problem
    a, b = (UCA(3).fit(target, backgrounds=backgrounds) for _ in range(2))
    for name in ("components_", "lambdas_", "eigenvalues_", "explained_variance_", "mean_", "scale_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.certificate_ == b.certificate_


@SETTINGS
@given(problems(), st.floats(1e-6, 1e6))
def test_units_of_matrices_scale_the_answer(problem, unit):
    target, backgrounds, _ = problem
    a, *bs = (np.cov(x, rowvar=False) for x in (target, *backgrounds))
    one = solve_dual(a, bs)
    other = solve_dual(unit * a, [b / unit for b in bs])
    np.testing.assert_allclose(other.value, unit * one.value, rtol=1e-8)
