"""Representations against numpy on a dense copy."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from uca import UCA, _threads
from uca.operators.representations.build import build, choose
from uca.operators.representations.representation import Size
from uca.operators.statistics.moments import Moments

SHAPES = [
    # rows of target and backgrounds, features, choice
    ((100, 100), 50, "covariance"),
    ((100, 100), 199, "covariance"),
    ((100, 100), 250, "reduced"),
    ((100, 100), 10_000, "reduced"),
    ((1_000_000, 300_000), 100, "covariance"),
    ((50, 50), 1_000_000, "reduced"),
    ((270, 135, 135, 135), 76, "covariance"),
    ((245, *[35] * 6), 3400, "reduced"),
    ((5000, 5000, 5000), 5000, "implicit"),
    ((20,), 10, "covariance"),
    ((20,), 100, "reduced"),
]


SPARSE_SHAPES = [
    # rows, features, stored values, do p x p matrices fit, choice
    ((100_000, 50_000, 50_000), 20_000, 80_000_000, True, "implicit"),
    ((100_000, 50_000, 50_000), 20_000, 80_000_000, False, "implicit"),
    ((50, 60), 20_000, 20_000, True, "reduced"),
    ((10_000, 10_000), 100, 200_000, True, "covariance"),
    ((10_000, 10_000), 100, None, False, "implicit"),
    ((50, 50), 1_000_000, None, False, "reduced"),
    ((1_000_000, 1_000_000), 1_000, 20_000_000, True, "implicit"),
    ((1_000_000, 1_000_000), 30_000, 200_000_000, True, "implicit"),
]


@pytest.mark.parametrize(("rows", "p", "stored", "fits", "choice"), SPARSE_SHAPES)
def test_auto_for_sparse_data_and_small_memory(rows, p, stored, fits, choice):
    assert choose(Size(rows, p, stored), fits=fits).name == choice


@pytest.mark.parametrize(("rows", "p", "choice"), SHAPES)
def test_auto_is_a_table(rows, p, choice):
    assert choose(Size(rows, p)).name == choice


def standardised(arrays, center, scale):
    """The definition, in long double on dense copies."""
    covariances = []
    target_deviation = None
    for array in (np.asarray(array, dtype=np.longdouble) for array in arrays):
        z = array - array.mean(axis=0) if center else array
        deviation = np.sqrt((z**2).sum(axis=0) / (len(z) - 1))
        target_deviation = deviation if target_deviation is None else target_deviation
        if scale:
            used = target_deviation if scale == "target" else deviation
            z = z / np.where(used > 0, used, np.inf)
        covariances.append((z.T @ z / (len(z) - 1)).astype(float))
    return covariances


def make(rng, shapes=((30, 12), (20, 12), (25, 12)), offset=0.0, dtype=float):
    return [
        (offset + rng.standard_normal(shape) @ rng.standard_normal((shape[1], shape[1]))).astype(dtype)
        for shape in shapes
    ]


def pencil_in_feature_space(representation):
    """The covariances that a representation stands for, in feature space."""
    pencil = representation.pencil
    basis = representation.lift(np.eye(pencil.size))
    return np.einsum("dp,sde,eq->spq", basis, pencil.products(np.eye(pencil.size)), basis)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False, "target"])
@pytest.mark.parametrize("shapes", [((30, 12), (20, 12), (25, 12)), ((6, 40), (8, 40), (5, 40))])
@pytest.mark.parametrize("name", ["covariance", "reduced", "implicit", "product_svd"])
def test_representation_is_the_definition(rng, name, shapes, scale, center):
    arrays = make(rng, shapes)
    labels = ["x"] * len(arrays)
    held = build(arrays, labels, representation=name, center=center, scale=scale, n_empty=2)
    assert held.name == name
    expected = standardised(arrays, center, scale)
    np.testing.assert_allclose(pencil_in_feature_space(held), expected, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(held.pencil.traces(), [np.trace(e) for e in expected], rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["covariance", "reduced", "implicit", "product_svd"])
def test_memory_layout_does_not_matter(rng, name, dtype, order):
    arrays = make(rng, ((9, 30), (11, 30)), dtype=dtype)
    if order == "strided":
        laid = [np.repeat(np.repeat(a, 2, axis=0), 3, axis=1)[::2, ::3] for a in arrays]
        assert not laid[0].flags.c_contiguous
    else:
        laid = [np.array(a, order=order) for a in arrays]
    expected = UCA(representation=name).fit(arrays[0], backgrounds=arrays[1])
    model = UCA(representation=name).fit(laid[0], backgrounds=laid[1])
    # float32: products in blocks of float32, sums in float64.
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-12 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("solver", ["subspace", "lbfgs"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("shapes", [((40, 15), (30, 15)), ((10, 60), (12, 60), (9, 60)), ((8, 300), (30, 300))])
def test_covariance_and_reduced_agree(rng, shapes, k, solver):
    target, *backgrounds = make(rng, shapes)
    covariance = UCA(k, representation="covariance").fit(target, backgrounds=backgrounds)
    reduced = UCA(k, representation="reduced", solver=solver).fit(target, backgrounds=backgrounds)
    assert reduced.certificate_.upper == pytest.approx(covariance.certificate_.upper, rel=1e-9)
    np.testing.assert_allclose(reduced.eigenvalues_, covariance.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(reduced.explained_variance_, covariance.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(np.abs(np.sum(reduced.components_ * covariance.components_, axis=1)), 1, atol=1e-7)
    np.testing.assert_allclose(reduced.components_ @ reduced.components_.T, np.eye(k), atol=1e-12)


def test_float32_is_close_to_float64(rng):
    target, background = make(rng, ((20, 400), (25, 400)))
    for name in ("covariance", "reduced"):
        double = UCA(representation=name).fit(target, backgrounds=background)
        single = UCA(representation=name).fit(target.astype("f"), backgrounds=background.astype("f"))
        assert single.components_.dtype == np.float32
        assert single.certificate_.upper == pytest.approx(double.certificate_.upper, rel=1e-5)
        # Rows are rounded to 6e-8 of their size; directions move by that over the eigenvalue gap.
        np.testing.assert_allclose(single.components_, double.components_, atol=2e-5)


@pytest.mark.parametrize("name", ["covariance", "reduced", "implicit", "product_svd"])
def test_large_mean_keeps_digits(rng, name):
    """Mean 1e8, spread 1: naive E[x^2] - E[x]^2 has no digit left; we keep at least 6 against long double."""
    arrays = [1e8 + rng.standard_normal((n, 30)) @ rng.standard_normal((30, 30)) for n in (20, 25)]
    held = build(arrays, ["x", "y"], representation=name, center=True, scale=True, n_empty=1)
    np.testing.assert_allclose(pencil_in_feature_space(held), standardised(arrays, True, True), atol=1e-7)
    np.testing.assert_allclose(held.standards[0].mean, arrays[0].mean(axis=0), rtol=1e-14)


def test_units_far_apart_do_not_hide_the_target(rng):
    """A background with 1e6 times the spread: the target must survive the rank decision of the reduced form."""
    target, background = make(rng, ((12, 50), (15, 50)))
    reduced, covariance = (
        UCA(scale=False, representation=name).fit(target * 1e-6, backgrounds=background)
        for name in ("reduced", "covariance")
    )
    assert reduced.certificate_.upper == pytest.approx(covariance.certificate_.upper, rel=1e-8)
    np.testing.assert_allclose(reduced.components_, covariance.components_, atol=1e-6)


def test_moments_merge_in_any_order(rng):
    rows = 1e6 + rng.standard_normal((103, 7))
    whole = Moments.of(rows, "x")
    parts = [Moments.of(part, "x") for part in np.split(rows, [1, 4, 50, 77])]
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1]):
        merged = Moments.empty(7)
        for i in order:
            merged.merge(parts[i])
        assert merged.n == 103
        np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-15)
        np.testing.assert_allclose(merged.scatter, whole.scatter, rtol=1e-9, atol=1e-8)


def test_blocks_and_lanes_give_the_same(rng, monkeypatch):
    from uca.operators.sources import columns
    from uca.operators.statistics import moments

    arrays = make(rng, ((12, 200), (15, 200)))
    one = build(arrays, ["x", "y"], representation="reduced", center=True, scale=True, n_empty=1)
    tall = Moments.of(arrays[0], "x")
    monkeypatch.setattr(columns, "BLOCK_BYTES", 1)
    monkeypatch.setattr(moments, "BLOCK_BYTES", 1)
    for minimum in (10**12, 0):  # serial, then in lanes
        monkeypatch.setattr(columns, "PARALLEL_BYTES", minimum)
        monkeypatch.setattr(moments, "PARALLEL_BYTES", minimum)
        many = build(arrays, ["x", "y"], representation="reduced", center=True, scale=True, n_empty=1)
        np.testing.assert_allclose(pencil_in_feature_space(many), pencil_in_feature_space(one), atol=1e-11)
        np.testing.assert_allclose(Moments.of(arrays[0], "x").scatter, tall.scatter, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("n_workers", [1, 2, 8, 16])
def test_no_centred_copy_is_made(rng, monkeypatch, n_workers):
    """Peak memory of a wide fit, counted by the allocator, stays under a fifth of the input, on any number of cores."""
    monkeypatch.setattr(_threads, "n_workers", lambda: n_workers)
    target, background = (rng.standard_normal((60, 60_000)) for _ in range(2))
    model = UCA()
    tracemalloc.start()
    model.fit(target, backgrounds=background)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.representation_ == "reduced"
    assert peak <= 0.2 * (target.nbytes + background.nbytes)


def test_directions_without_variance_come_before_negative_ones(rng):
    """With more features than rows, later components can lie where nothing varies: eigenvalue 0, unit length."""
    target = rng.standard_normal((4, 30))
    background = rng.standard_normal((20, 30))
    reduced = UCA(10, representation="reduced").fit(target, backgrounds=background)
    covariance = UCA(10, representation="covariance").fit(target, backgrounds=background)
    np.testing.assert_allclose(reduced.eigenvalues_, covariance.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(reduced.components_ @ reduced.components_.T, np.eye(10), atol=1e-10)
    empty = np.abs(reduced.eigenvalues_) < 1e-9
    assert 0 < empty.sum() < 10
    np.testing.assert_allclose(reduced.explained_variance_[empty], 0, atol=1e-9)
    np.testing.assert_allclose(reduced.background_variance_[empty], 0, atol=1e-9)
