"""UCA as a citizen of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA


@parametrize_with_checks(
    [UCA(), UCA(n_components=1, scale=False, whiten=True, components="sequential"), UCA(bound_on="new rows")]
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    return [rng.standard_normal((n, 5)) @ rng.standard_normal((5, 5)) + 3 for n in (60, 40, 30)]


def test_clone_and_parameters():
    model = UCA(3, bound=[1.0, 2.0], solver="lbfgs")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy is not model
    assert UCA().set_params(n_components=4).n_components == 4


def test_pipeline_transforms_a_tuple_of_backgrounds(data):
    target, *backgrounds = data
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = Pipeline(
            [("scale", StandardScaler()), ("uca", UCA(scale=False).set_fit_request(backgrounds=True))],
            transform_input=["backgrounds"],
        )
        scores = pipeline.fit(target, backgrounds=tuple(backgrounds)).transform(target)
        both = pipeline.fit_transform(target, backgrounds=tuple(backgrounds))
    scaler = StandardScaler().fit(target)
    by_hand = UCA(scale=False).fit(scaler.transform(target), backgrounds=[scaler.transform(b) for b in backgrounds])
    np.testing.assert_allclose(scores, by_hand.transform(scaler.transform(target)), atol=1e-10)
    np.testing.assert_allclose(both, scores, atol=1e-10)


def test_plain_fit_parameter_in_a_pipeline(data):
    target, *backgrounds = data
    pipeline = make_pipeline(UCA())
    pipeline.fit(target, uca__backgrounds=backgrounds)
    expected = UCA().fit(target, backgrounds=backgrounds)
    np.testing.assert_array_equal(pipeline[-1].components_, expected.components_)


def test_cross_validation_with_routed_backgrounds(data):
    """Rows of the target are split; the backgrounds go to every fold whole (a dict is not split by rows)."""
    target, *backgrounds = data
    labels = (target[:, 0] > target[:, 0].mean()).astype(int)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(UCA(3).set_fit_request(backgrounds=True), LogisticRegression())
        named = dict(zip("ab", backgrounds, strict=True))
        scores = cross_val_score(pipeline, target, labels, cv=4, params={"backgrounds": named})
        search = GridSearchCV(pipeline, {"uca__scale": [True, False, "target"]}, cv=3)
        search.fit(target, labels, backgrounds=named)
    assert scores.shape == (4,)
    assert np.all(scores > 0.3)
    assert len(search.cv_results_["mean_test_score"]) == 3


def test_feature_names_out(data):
    model = UCA(3).fit(data[0])
    assert list(model.get_feature_names_out()) == ["UC1", "UC2", "UC3"]


def test_repr_shows_only_changes():
    assert repr(UCA(3, scale="target")) == "UCA(n_components=3, scale='target')"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "model", [UCA(), CPCA(alpha=1.0), CPCAPlusPlus(), SparseUCA(proof="none")], ids=lambda model: type(model).__name__
)
def test_steps_that_get_y_from_scikit_learn_are_not_warned(model, data):
    """A pipeline hands its y to every step: that is no mistake of the user."""
    target, background, _ = data
    labels = (target[:, 0] > target[:, 0].mean()).astype(int)
    pipeline = make_pipeline(StandardScaler(), model, LogisticRegression())
    pipeline.fit(target, labels)
    make_pipeline(model).fit(target, labels)
    make_pipeline(model).set_output(transform="pandas").fit_transform(target, labels)
    FeatureUnion([("step", model)]).fit_transform(target, labels)
    name = type(model).__name__.lower()
    GridSearchCV(pipeline, {f"{name}__n_components": [1, 2]}, cv=2).fit(target, labels)

    class WithItsBackground(type(model)):  # as users write it to have the background in a pipeline
        def fit(self, X, y=None):
            return super().fit(X, y, backgrounds=background)

        def fit_transform(self, X, y=None):
            return self.fit(X, y).transform(X)

    make_pipeline(WithItsBackground(), LogisticRegression()).fit(target, labels)
    with pytest.warns(UserWarning, match="y is ignored by WithItsBackground"):
        WithItsBackground().fit(target, labels)
