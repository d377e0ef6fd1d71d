"""Sparse components as an estimator: counts, bounds, certificates, names, and the limits that are other methods."""

from __future__ import annotations

import numpy as np
import pytest
from test_reference import datasets

from uca import UCA
from uca.estimators.sparse_uca import SparseUCA

pd = pytest.importorskip("pandas", reason="pip install pandas")


def draw(rng, n=200, p=12):
    shared, unique = 2 * rng.normal(size=(2, p)), np.zeros((1, p))
    unique[0, [1, 4, 7]] = 2.0
    target = rng.normal(size=(n, 2)) @ shared + rng.normal(size=(n, 1)) @ unique + rng.normal(size=(n, p))
    return target, rng.normal(size=(n, 2)) @ shared + rng.normal(size=(n, p))


def test_planted_features_with_proof(rng):
    target, background = draw(rng)
    model = SparseUCA(2, n_nonzero=3).fit(target, backgrounds=background)
    assert sorted(model.support_[0].tolist()) == [1, 4, 7]
    assert [np.count_nonzero(row) for row in model.components_] == [3, 3]
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    for certificate in model.certificates_:
        assert certificate.status == "optimal"
        assert certificate.proof == "levels"
        assert certificate.proven
        assert certificate.lower <= certificate.upper <= certificate.lower * (1 + 1e-9)
        assert "no component of 3 features" in certificate.message
    assert model.certificate_.lower == pytest.approx(model.explained_variance_[0], rel=1e-9)
    assert np.all(model.background_variance_ <= model.bounds_ * (1 + 1e-9))


def test_all_features_are_uca(rng):
    target, background = draw(rng)
    sparse = SparseUCA(1, n_nonzero=12).fit(target, backgrounds=background)
    whole = UCA(1).fit(target, backgrounds=background)
    np.testing.assert_allclose(sparse.components_, whole.components_, atol=1e-6)
    assert sparse.certificate_.upper == pytest.approx(whole.certificate_.upper, rel=1e-9)
    assert SparseUCA(1, n_nonzero=50).fit(target, backgrounds=background).certificate_.status == "optimal"


def test_one_feature_is_the_best_that_keeps_the_bounds(rng):
    target, background = draw(rng)
    model = SparseUCA(1, n_nonzero=1, scale=False).fit(target, backgrounds=background)
    spent, bound = background.var(axis=0, ddof=1), background.var(axis=0, ddof=1).mean()
    best = np.where(spent <= bound, target.var(axis=0, ddof=1), -np.inf).argmax()
    assert model.support_[0].tolist() == [best]
    assert model.components_[0, best] == 1.0


def test_names_of_features(rng):
    target, background = (pd.DataFrame(rows, columns=[f"gene{i}" for i in range(12)]) for rows in draw(rng))
    model = SparseUCA(1, n_nonzero=3).fit(target, backgrounds=background)
    assert sorted(model.support_[0]) == ["gene1", "gene4", "gene7"]
    sizes = np.abs(model.components_[0][[int(name[4:]) for name in model.support_[0]]])
    assert np.all(np.diff(sizes) <= 0)


def test_later_components_are_those_of_the_deflated_target(rng):
    target, background = draw(rng)
    a, b = np.corrcoef(target, rowvar=False), np.corrcoef(background, rowvar=False)
    model = SparseUCA(2, n_nonzero=4).fit_covariance(a, backgrounds=b)
    v = model.components_[0]
    rest = a - np.outer(a @ v, a @ v) / (v @ a @ v)
    again = SparseUCA(1, n_nonzero=4).fit_covariance((rest + rest.T) / 2 + 1e-14 * np.eye(12), backgrounds=b)
    np.testing.assert_allclose(again.components_[0], model.components_[1], atol=1e-6)
    assert model.explained_variance_[1] == pytest.approx(model.components_[1] @ a @ model.components_[1])


@pytest.mark.parametrize("proof", ["bound", "none"])
def test_a_gap_is_told_and_is_no_warning(mice, mice_reference, proof):
    target, backgrounds = datasets(mice, mice_reference["fig1"])
    model = SparseUCA(1, n_nonzero=10, proof=proof).fit(target, backgrounds=backgrounds)
    assert model.certificate_.status == "gap"
    assert 0.01 < model.certificate_.gap < 0.6
    assert "Not proven to be the best" in model.certificate_.message
    assert model.certificate_.lower == pytest.approx(5.842341, abs=1e-6)


def test_no_time_for_a_proof(mice, mice_reference):
    target, backgrounds = datasets(mice, mice_reference["fig1"])
    model = SparseUCA(1, n_nonzero=12, time_limit=0.0).fit(target, backgrounds=backgrounds)
    assert model.certificate_.status == "time_limit"
    assert "raise time_limit" in model.certificate_.message
    assert model.certificate_.lower >= 6.6076


def test_units_do_not_matter(rng):
    target, background = draw(rng)
    one, other = (SparseUCA(2, n_nonzero=3, scale=False) for _ in range(2))
    one.fit(target, backgrounds=background)
    other.fit(2.0**40 * target, backgrounds=2.0**40 * background)
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.explained_variance_ * 2.0**80, other.explained_variance_)


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"n_nonzero": 0}, ValueError, "n_nonzero"),
        ({"n_nonzero": 2.5}, TypeError, "n_nonzero"),
        ({"proof": "yes"}, ValueError, "proof must be"),
        ({"time_limit": -1}, ValueError, "time_limit"),
        ({"bound": 1e-6}, ValueError, "raise n_nonzero or the bound|smallest attainable"),
    ],
)
def test_what_is_refused(rng, parameters, error, match):
    target, background = draw(rng)
    with pytest.raises(error, match=match):
        SparseUCA(1, **parameters).fit(target, backgrounds=background)
