"""The contract of ``UCA``: parameters, inputs, attributes, methods."""

from __future__ import annotations

import numpy as np
import pytest
from needs import Optional
from sklearn.decomposition import PCA

from uca import UCA

pd, pl = Optional("pandas"), Optional("polars")


@pytest.fixture
def data(rng):
    mixing = rng.standard_normal((4, 6, 6))
    return [rng.standard_normal((n, 6)) @ mix for n, mix in zip((40, 30, 35, 20), mixing, strict=True)]


def covariances(arrays):
    return [np.corrcoef(array, rowvar=False) for array in arrays]


ATTRIBUTES = {
    "components_": (2, 6),
    "lambdas_": (3,),
    "eigenvalues_": (2,),
    "explained_variance_": (2,),
    "explained_variance_ratio_": (2,),
    "background_variance_": (2, 3),
    "bounds_": (3,),
    "mean_": (6,),
    "scale_": (6,),
    "component_lambdas_": (2, 3),
}


def test_attributes_have_their_shapes_and_meaning(data):
    target, *backgrounds = data
    model = UCA().fit(target, backgrounds=backgrounds)
    for name, shape in ATTRIBUTES.items():
        assert getattr(model, name).shape == shape, name
    assert model.background_names_ == ["background1", "background2", "background3"]
    assert (model.n_samples_, model.n_features_in_) == (40, 6)
    assert model.representation_ == "covariance"
    assert model.solver_ == "subspace"
    assert model.n_iter_ >= 1
    a, *bs = covariances(data)
    contrast = a - np.tensordot(model.lambdas_, bs, axes=1)
    v = model.components_.T
    np.testing.assert_allclose(contrast @ v, v * model.eigenvalues_, atol=1e-7)
    np.testing.assert_allclose(np.diag(v.T @ a @ v), model.explained_variance_)
    np.testing.assert_allclose(model.explained_variance_ratio_, model.explained_variance_ / 6)
    np.testing.assert_allclose(model.background_variance_.T, [np.diag(v.T @ b @ v) for b in bs])
    np.testing.assert_allclose(model.mean_, target.mean(axis=0))
    np.testing.assert_allclose(model.scale_, target.std(axis=0, ddof=1))
    np.testing.assert_allclose(model.bounds_, 1.0)


def test_without_backgrounds_it_is_pca(data):
    target = data[0]
    model = UCA(3).fit(target)
    z = (target - target.mean(axis=0)) / target.std(axis=0, ddof=1)
    pca = PCA(3).fit(z)
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_)
    np.testing.assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs(model.transform(target)), np.abs(pca.transform(z)), atol=1e-9)
    assert model.lambdas_.shape == (0,)
    assert model.background_variance_.shape == (3, 0)
    assert model.certificate_.tight


def test_containers_of_backgrounds_are_equal(data):
    target, *backgrounds = data
    named = dict(zip("abc", backgrounds, strict=True))
    models = [UCA().fit(target, backgrounds=kind) for kind in (backgrounds, tuple(backgrounds), named)]
    assert models[2].background_names_ == ["a", "b", "c"]
    for model in models[1:]:
        np.testing.assert_array_equal(model.components_, models[0].components_)
    one = [UCA().fit(target, backgrounds=kind) for kind in (backgrounds[0], [backgrounds[0]], backgrounds[0].tolist())]
    for model in one[1:]:
        np.testing.assert_array_equal(model.components_, one[0].components_)


def test_bounds(data):
    target, *backgrounds = data
    named = dict(zip("abc", backgrounds, strict=True))
    number = UCA(bound=0.8).fit(target, backgrounds=named)
    np.testing.assert_array_equal(number.bounds_, 0.8)
    assert np.all(number.background_variance_[0] <= 0.8 * (1 + 1e-7)) or not number.certificate_.tight
    each = UCA(bound=[0.8, 2.0, 1.0]).fit(target, backgrounds=named)
    by_name = UCA(bound={"c": 1.0, "a": 0.8, "b": 2.0}).fit(target, backgrounds=named)
    np.testing.assert_array_equal(each.bounds_, [0.8, 2.0, 1.0])
    np.testing.assert_array_equal(by_name.components_, each.components_)


def test_mean_bound_on_unscaled_data_is_the_mean_variance(data):
    target, *backgrounds = data
    model = UCA(scale=False).fit(target, backgrounds=backgrounds)
    np.testing.assert_allclose(model.bounds_, [b.var(axis=0, ddof=1).mean() for b in backgrounds])


def test_scale_target_divides_all_by_the_target(data):
    target, *backgrounds = data
    deviation = target.std(axis=0, ddof=1)
    by_target = UCA(scale="target").fit(target, backgrounds=backgrounds)
    by_hand = UCA(scale=False).fit(target / deviation, backgrounds=[b / deviation for b in backgrounds])
    np.testing.assert_allclose(by_target.components_, by_hand.components_, atol=1e-8)
    np.testing.assert_allclose(by_target.transform(target), by_hand.transform(target / deviation), atol=1e-8)


def test_center_false_uses_second_moments(data):
    target, *backgrounds = data
    shifted = target + 3.0
    model = UCA(center=False, scale=False).fit(shifted, backgrounds=backgrounds)
    second = shifted.T @ shifted / (len(shifted) - 1)
    v = model.components_[0]
    assert model.explained_variance_[0] == pytest.approx(v @ second @ v)
    np.testing.assert_array_equal(model.mean_, 0)
    np.testing.assert_allclose(model.transform(shifted), shifted @ model.components_.T)


def test_sequential_components_respect_every_bound(rng):
    target, *backgrounds = (rng.standard_normal((60, 12)) @ rng.standard_normal((12, 12)) for _ in range(4))
    joint = UCA(4).fit(target, backgrounds=backgrounds)
    model = UCA(4, components="sequential").fit(target, backgrounds=backgrounds)
    assert np.any(joint.background_variance_ > 1.01)
    assert np.all(model.background_variance_ <= 1 + 1e-6)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(model.components_[0], joint.components_[0], atol=1e-6)
    assert len(model.certificates_) == 4
    assert all(c.status == "optimal" for c in model.certificates_)
    assert np.all(np.diff([c.upper for c in model.certificates_]) <= 1e-9)
    assert model.component_lambdas_.shape == (4, 3)


def test_sequential_equals_the_problem_on_the_complement(rng):
    """The second component against a full eigenbasis of the complement, solved afresh."""
    target, background = (
        np.cov(rng.standard_normal((40, 8)) @ rng.standard_normal((8, 8)), rowvar=False) for _ in "ab"
    )
    model = UCA(2, components="sequential").fit_covariance(target, backgrounds=background)
    first = model.components_[0]
    basis = np.linalg.svd(first[np.newaxis])[2][1:].T
    inner = UCA(1, bound=model.bounds_[0]).fit_covariance(
        basis.T @ target @ basis, backgrounds=basis.T @ background @ basis
    )
    assert model.certificates_[1].upper == pytest.approx(inner.certificate_.upper, rel=1e-9)
    np.testing.assert_allclose(np.abs(basis @ inner.components_[0] @ model.components_[1]), 1, atol=1e-6)


def test_sequential_that_runs_out_of_room_says_so(rng):
    with pytest.raises(ValueError, match=r"component \d cannot respect the bounds.*lower n_components to \d.*'joint'"):
        UCA(3, components="sequential").fit(rng.standard_normal((50, 3)), backgrounds=rng.standard_normal((60, 3)))


def test_fit_covariance_equals_fit(data):
    target, *backgrounds = data
    from_data = UCA().fit(target, backgrounds=backgrounds)
    a, *bs = covariances(data)
    from_matrices = UCA().fit_covariance(a, backgrounds=bs)
    np.testing.assert_allclose(from_matrices.components_, from_data.components_, atol=1e-7)
    np.testing.assert_allclose(from_matrices.lambdas_, from_data.lambdas_, atol=1e-7)
    assert from_matrices.n_samples_ is None
    z = (target - target.mean(axis=0)) / target.std(axis=0, ddof=1)
    np.testing.assert_allclose(from_matrices.transform(z), from_data.transform(target), atol=1e-6)


def test_partial_fit_equals_fit(data):
    target, *backgrounds = data
    named = dict(zip("abc", backgrounds, strict=True))
    whole = UCA().fit(target, backgrounds=named)
    stream = UCA()
    stream.partial_fit(backgrounds={"a": named["a"][:7]})
    stream.partial_fit(target[:1], backgrounds={"b": named["b"]})
    stream.partial_fit(target[1:20], backgrounds={"a": named["a"][7:], "c": named["c"]})
    stream.partial_fit(target[20:])
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-10)
    np.testing.assert_allclose(stream.lambdas_, whole.lambdas_, atol=1e-8)
    np.testing.assert_allclose(stream.transform(target), whole.transform(target), atol=1e-9)
    assert stream.n_samples_ == len(target)
    before = stream.components_.copy()
    stream.partial_fit(target[:5] * 3)
    assert not np.allclose(stream.components_, before)


def test_partial_fit_solves_on_first_use_and_only_then(data):
    stream = UCA().partial_fit(data[0])
    assert "components_" not in vars(stream)
    stream.summary()
    assert "components_" in vars(stream)
    assert stream.partial_fit(data[0])  # new rows: results are stale and gone
    assert "components_" not in vars(stream)


def test_partial_fit_without_target_is_not_fitted(data):
    stream = UCA().partial_fit(backgrounds=data[1])
    with pytest.raises(ValueError, match="no target rows yet"):
        stream.transform(data[0])
    assert not hasattr(stream, "components_")


def test_scores_and_back(data):
    target, *backgrounds = data
    model = UCA(6).fit(target, backgrounds=backgrounds)
    scores = model.transform(target)
    np.testing.assert_allclose(scores, model.fit_transform(target, backgrounds=backgrounds))
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), model.explained_variance_)
    np.testing.assert_allclose(model.inverse_transform(scores), target, atol=1e-10)


def test_whiten_gives_unit_variance(data):
    target, *backgrounds = data
    model = UCA(6, whiten=True).fit(target, backgrounds=backgrounds)
    scores = model.transform(target)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), 1.0)
    np.testing.assert_allclose(model.inverse_transform(scores), target, atol=1e-10)


def test_signs_are_fixed(data):
    target, *backgrounds = data
    for sign in (1, -1):
        components = UCA(4).fit(sign * target, backgrounds=[sign * b for b in backgrounds]).components_
        assert np.all(components[np.arange(4), np.abs(components).argmax(axis=1)] > 0)


def test_summary_is_a_table(data):
    target, *backgrounds = data
    model = UCA().fit(target, backgrounds={"saline": backgrounds[0], "shock": backgrounds[1]})
    text = model.summary()
    assert repr(text) == str(text)
    for part in ("target 40 x 6", "2 backgrounds", "saline", "shock", "lambda", "Optimal: the certified relative gap"):
        assert part in text
    assert max(len(line) for line in text.splitlines()) <= 110
    exceeds = model.background_variance_ > model.bounds_ * (1 + 1e-6)
    assert text.count("*") == exceeds.sum() + (1 if exceeds.any() else 0)


def test_model_keeps_no_training_rows(data):
    import pickle

    big = np.vstack([data[0]] * 200)
    model = UCA().fit(big, backgrounds=data[1:])
    assert len(pickle.dumps(model)) < 20_000
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(big), model.transform(big))


def test_verbose_logs_each_pass(data, caplog):
    target, *backgrounds = data
    with caplog.at_level("INFO", logger="uca"):
        UCA(verbose=True).fit(target, backgrounds=backgrounds)
    assert any("upper" in record.message and "gap" in record.message for record in caplog.records)
    caplog.clear()
    UCA().fit(target, backgrounds=backgrounds)
    assert not caplog.records


def test_random_state_does_not_matter_on_small_data(data):
    target, *backgrounds = data
    models = [UCA(random_state=seed).fit(target, backgrounds=backgrounds) for seed in (None, 0, 7)]
    np.testing.assert_array_equal(models[0].components_, models[2].components_)
    np.testing.assert_array_equal(models[0].components_, models[1].components_)


class TestTables:
    @pytest.fixture
    def frames(self, data):
        names = [f"gene{i}" for i in range(6)]
        return [pd.DataFrame(array, columns=names) for array in data]

    def test_columns_are_matched_by_name(self, data, frames):
        target, *backgrounds = frames
        expected = UCA().fit(data[0], backgrounds=data[1:])
        shuffled = [b[b.columns[::-1]] for b in backgrounds]
        model = UCA().fit(target, backgrounds=shuffled)
        np.testing.assert_array_equal(model.components_, expected.components_)
        assert list(model.feature_names_in_) == list(target.columns)
        np.testing.assert_array_equal(model.transform(target[target.columns[::-1]]), model.transform(target))

    def test_polars(self, data, frames):
        target, *backgrounds = (pl.from_pandas(frame) for frame in frames)
        model = UCA().fit(target, backgrounds=[backgrounds[0].select(backgrounds[0].columns[::-1]), *backgrounds[1:]])
        np.testing.assert_array_equal(model.components_, UCA().fit(data[0], backgrounds=data[1:]).components_)
        assert list(model.feature_names_in_) == target.columns
        out = model.set_output(transform="polars").transform(target)
        assert isinstance(out, pl.DataFrame)
        assert out.columns == ["UC1", "UC2"]

    def test_missing_and_extra_columns_are_named(self, frames):
        target, background = frames[:2]
        with pytest.raises(
            ValueError, match="background 'controls' lacks column 'gene3' and has unknown column 'typo'"
        ):
            UCA().fit(target, backgrounds={"controls": background.rename(columns={"gene3": "typo"})})
        with pytest.raises(ValueError, match="lacks columns 'gene0', 'gene1'"):
            UCA().fit(target, backgrounds=background.iloc[:, 2:])
        with pytest.raises(ValueError, match="X has unknown column 'extra'"):
            UCA().fit(target).transform(target.assign(extra=1.0))

    def test_set_output_pandas(self, frames):
        target, *backgrounds = frames
        model = UCA(3).set_output(transform="pandas").fit(target, backgrounds=backgrounds)
        out = model.transform(target)
        assert list(out.columns) == ["UC1", "UC2", "UC3"] == list(model.get_feature_names_out())
        assert out.index.equals(target.index)
