"""Defects found by reading the scale code with hostile eyes, each with the smallest case that showed it."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from needs import array_api_dispatch
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from uca import UCA, Moments, pool
from uca.operators.eigen import recycled
from uca.operators.representations.build import build


def _frame(table, columns="abc"):
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    return pandas.DataFrame(table, columns=list("abc"))[list(columns)]


@pytest.fixture
def three(rng):
    target, first, second = rng.standard_normal((3, 60, 3))
    target[:, 1] += target[:, 0]
    first[:, 2] += first[:, 0]
    second[:, 2] += 2 * second[:, 1]
    return target, first, second


def test_names_count_also_where_the_target_has_none(three):
    target, first, second = three
    expected = UCA(1).fit(target, backgrounds=[first, second])
    model = UCA(1).fit(target, backgrounds=[_frame(first), _frame(second, "cba")])
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-12)


def test_a_stream_learns_names_when_they_first_appear(three):
    target, *_ = three
    model = UCA(1).partial_fit(target[:20]).partial_fit(_frame(target[20:40])).partial_fit(_frame(target[40:], "cba"))
    np.testing.assert_allclose(model.components_, UCA(1).fit(target).components_, atol=1e-12)


def test_moments_keep_names_and_refuse_another_order(three, tmp_path):
    target, first, _ = three
    moments = Moments.of(_frame(first, "cba"))
    moments.save(tmp_path / "m.npz")
    assert Moments.load(tmp_path / "m.npz").columns == ["c", "b", "a"]
    with pytest.raises(ValueError, match="collected with other columns, or in another order"):
        moments.merge(Moments.of(_frame(first)))
    with pytest.raises(ValueError, match="background 'background1' was collected with other columns"):
        UCA().partial_fit(_frame(target), backgrounds=moments)
    assert moments.n == 60


def test_moments_in_fit_are_pointed_to_partial_fit(three):
    with pytest.raises(TypeError, match="pass it to partial_fit"):
        UCA().fit(three[0], backgrounds=Moments.of(three[1]))


def test_a_shallow_copy_does_not_share_its_stream(three):
    model = UCA().partial_fit(three[0][:30])
    copy.copy(model).partial_fit(three[0][30:])
    assert model.n_samples_ == 30


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
def test_sequential_components_of_an_exhausted_target(representation, seed):
    """A target of rank 5: its variance orthogonal to five components is rounding, which proved nothing infeasible."""
    rng = np.random.default_rng(seed)
    target, background = rng.standard_normal((6, 10)), rng.standard_normal((40, 10))
    options = {"components": "sequential", "representation": representation}
    alone = UCA(8, **options).fit(target)
    np.testing.assert_allclose(alone.explained_variance_[5:], 0, atol=1e-9)
    beside = UCA(8, **options).fit(target, backgrounds=background)
    assert beside.background_variance_.max() <= 1 + 1e-6
    for model in (alone, beside):
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(8), atol=1e-8)


def test_paired_float32_data_keeps_its_bounds(rng):
    """Before and after on the same subjects: products in float32 broke a certified bound by 11 %."""
    before = rng.standard_normal((20, 100_000)).astype(np.float32)
    after = before + (1e-2 * rng.standard_normal(before.shape)).astype(np.float32)
    model = UCA(1).fit(before, backgrounds=after)
    z = after.astype(float)
    z = (z - z.mean(axis=0)) / z.std(axis=0, ddof=1)
    variance = np.square(z @ model.components_[0].astype(float)).sum() / 19
    # Components are float32: rounding of 6e-8 in each of 1e5 entries.
    assert variance == pytest.approx(model.background_variance_[0, 0], rel=1e-4)


def test_float32_in_small_units(rng):
    target, background = (1e-22 * rng.standard_normal((2, 20, 100_000))).astype(np.float32)
    model = UCA(1).fit(target, backgrounds=background)
    np.testing.assert_allclose(model.scale_, target.std(axis=0, ddof=1, dtype=float), rtol=1e-6)


def test_components_that_did_not_converge_are_named(rng, monkeypatch):
    rows = rng.standard_normal((600, 300))
    solve = recycled.Recycler.top

    def third_is_not_done(self, weights, k, *how):
        pairs = solve(self, weights, k, *how)
        return replace(pairs, unfinished=(2,)) if k > 2 else pairs

    monkeypatch.setattr(recycled.Recycler, "top", third_is_not_done)
    model = UCA(3, representation="implicit")
    with pytest.warns(ConvergenceWarning, match="did not converge for component 3"):
        model.fit(rows[:400], backgrounds=rows[400:])
    assert "did not converge for component 3" in model.certificate_.message


def test_an_eigen_solver_that_gives_up_says_which_pairs(rng, monkeypatch):
    rows = rng.standard_normal((600, 300))
    monkeypatch.setattr(recycled, "PATIENCE", 1)
    monkeypatch.setattr(recycled, "MOST_VECTORS", 24)
    data = build([rows], ["x"], representation="implicit", center=True, scale=True, n_empty=1)
    pairs = recycled.Recycler(data.pencil).top(np.ones(1), 3)
    assert pairs.unfinished == (0, 1, 2)
    assert pairs.error > 0


def test_empty_dask_chunks(rng):
    da = pytest.importorskip("dask.array", reason="pip install unique-component-analysis[dask]")
    rows = rng.standard_normal((40, 6))
    keep = np.arange(40) >= 10
    filtered = da.from_array(rows, chunks=(10, 6))[da.from_array(keep, chunks=10)]
    expected = UCA().fit(rows[keep])
    for representation in ("covariance", "reduced", "implicit"):
        model = UCA(representation=representation).fit(filtered)
        assert model.n_samples_ == 30
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-6)


def test_partial_fit_takes_dask(rng):
    da = pytest.importorskip("dask.array", reason="pip install unique-component-analysis[dask]")
    rows = np.where(rng.random((50, 6)) < 0.5, 0, rng.standard_normal((50, 6)))
    lazy = da.from_array(rows, chunks=(20, 4)).map_blocks(sparse.csr_array)
    np.testing.assert_allclose(UCA().partial_fit(lazy).components_, UCA().fit(rows).components_, atol=1e-10)


def test_pool_of_sparse_and_dask(rng):
    da = pytest.importorskip("dask.array", reason="pip install unique-component-analysis[dask]")
    first, second = rng.standard_normal((2, 5, 3))
    mixed = pool(sparse.csr_array(first), second)
    assert sparse.issparse(mixed)
    np.testing.assert_array_equal(mixed.toarray(), np.vstack([first, second]))
    lazy = pool(da.from_array(first), second)
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), np.vstack([first, second]))


def test_transform_of_tensors_refuses_nan(rng):
    torch = pytest.importorskip("torch", reason="pip install unique-component-analysis[torch]")
    rows = torch.tensor(rng.standard_normal((30, 4)))
    with array_api_dispatch():
        model = UCA().fit(rows)
        rows[3, 2] = float("nan")
        with pytest.raises(ValueError, match="1 NaN, the first at row 3, column 2"):
            model.transform(rows)
