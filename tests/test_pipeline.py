"""Pipelines with backgrounds: every step sees them, and where one does not, people are told."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import uca
from uca import CPCA, UCA, ContrastivePipeline, CPCAPlusPlus, SparseUCA

STEPS = [("scale", StandardScaler()), ("pca", PCA(4, random_state=0)), ("uca", UCA(2, scale=False))]


@pytest.fixture
def target(rng):
    return rng.normal(size=(90, 6)) @ rng.normal(size=(6, 6)) + 3


@pytest.fixture
def backgrounds(rng):
    return {name: rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6)) for name, n in (("day", 70), ("night", 60))}


def pipeline(**options):
    return ContrastivePipeline([(name, clone(step)) for name, step in STEPS], **options)


def by_hand(target, backgrounds):
    """The same in plain steps: the prepared target, a function that prepares, and the model."""
    prepare = make_pipeline(StandardScaler(), PCA(4, random_state=0)).fit(target)
    given = {name: prepare.transform(rows) for name, rows in backgrounds.items()}
    return prepare, UCA(2, scale=False).fit(prepare.transform(target), backgrounds=given)


def test_backgrounds_go_through_every_step(target, backgrounds):
    prepare, model = by_hand(target, backgrounds)
    fitted = pipeline().fit(target, backgrounds=backgrounds)
    np.testing.assert_array_equal(fitted["uca"].components_, model.components_)
    np.testing.assert_array_equal(fitted["uca"].background_variance_, model.background_variance_)
    assert fitted["uca"].background_names_ == ["day", "night"]
    np.testing.assert_array_equal(fitted.transform(target), model.transform(prepare.transform(target)))
    np.testing.assert_array_equal(fitted.score_samples(target), model.score_samples(prepare.transform(target)))
    np.testing.assert_array_equal(
        fitted.background_distance(target), model.background_distance(prepare.transform(target))
    )
    both = pipeline().fit_transform(target, backgrounds=backgrounds)
    np.testing.assert_allclose(both, fitted.transform(target), atol=1e-12)  # PCA projects its own rows in another order


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (lambda d, n: d, ["background1"]),
        (lambda d, n: [d, n], ["background1", "background2"]),
        (lambda d, n: (d, n), ["background1", "background2"]),
        (lambda d, n: {"d": d, "n": n}, ["d", "n"]),
        (lambda d, n: d.tolist(), ["background1"]),
    ],
    ids=["array", "list", "tuple", "dict", "rows"],
)
def test_one_or_many_named_or_not(target, backgrounds, given, names):
    day, night = backgrounds.values()
    fitted = pipeline().fit(target, backgrounds=given(day, night))
    expected = by_hand(target, dict(zip(names, [day, night], strict=False)))[1]
    assert fitted["uca"].background_names_ == names
    np.testing.assert_array_equal(fitted["uca"].lambdas_, expected.lambdas_)


def test_without_backgrounds_it_is_a_pipeline(target):
    np.testing.assert_array_equal(
        pipeline().fit(target).transform(target), Pipeline(STEPS).fit(target).transform(target)
    )


@pytest.mark.parametrize("model", [CPCA(1, alpha=1.0), CPCAPlusPlus(1), SparseUCA(1, n_nonzero=2)])
def test_every_estimator_can_be_the_step(target, backgrounds, model):
    fitted = ContrastivePipeline([("scale", StandardScaler()), ("model", model)])
    fitted.fit(target, backgrounds={"day": backgrounds["day"]})
    scaler = StandardScaler().fit(target)
    expected = clone(model).fit(scaler.transform(target), backgrounds={"day": scaler.transform(backgrounds["day"])})
    np.testing.assert_array_equal(fitted["model"].components_, expected.components_)
    assert fitted.background_distance(target).shape == (90, 1)


def test_tables_keep_names_and_columns_are_matched(target, backgrounds):
    pd = pytest.importorskip("pandas")
    columns = list("abcdef")
    tables = {name: pd.DataFrame(rows, columns=columns)[columns[::-1]] for name, rows in backgrounds.items()}
    frame = pd.DataFrame(target, columns=columns)
    fitted = pipeline().set_output(transform="pandas").fit(frame, backgrounds=tables)
    assert list(fitted["uca"].feature_names_in_) == ["pca0", "pca1", "pca2", "pca3"]
    assert list(fitted.transform(frame).columns) == ["UC1", "UC2"]
    np.testing.assert_allclose(fitted["uca"].components_, by_hand(target, backgrounds)[1].components_, atol=1e-12)


def test_later_steps_get_the_scores(target, backgrounds):
    labels = (target[:, 0] > 3).astype(int)
    fitted = ContrastivePipeline([*pipeline().steps, ("classify", LogisticRegression())])
    assert 0.4 < fitted.fit(target, labels, backgrounds=backgrounds).score(target, labels) <= 1
    assert not hasattr(fitted, "fit_transform")
    assert fitted.background_distance(target).shape == (90, 2)
    clusters = ContrastivePipeline([*pipeline().steps, ("cluster", KMeans(2, n_init=1, random_state=0))])
    assert set(clusters.fit_predict(target, backgrounds=backgrounds)) == {0, 1}


def test_search_gives_every_fold_whole_backgrounds(target, backgrounds):
    seen = []

    class Watched(UCA):
        def fit_transform(self, X, y=None, *, backgrounds=None):
            seen.append((len(X), [len(rows) for rows in backgrounds.values()]))
            return super().fit_transform(X, y, backgrounds=backgrounds)

    labels = (target[:, 0] > 3).astype(int)
    steps = [("scale", StandardScaler()), ("uca", Watched(2)), ("classify", LogisticRegression())]
    search = GridSearchCV(ContrastivePipeline(steps), {"uca__n_components": [1, 2], "scale": ["passthrough"]}, cv=3)
    search.fit(target, labels, backgrounds=backgrounds)
    assert search.best_estimator_["uca"].background_names_ == ["day", "night"]
    assert seen == [(60, [70, 60])] * 6 + [(90, [70, 60])]
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_val_score(ContrastivePipeline(steps), target, labels, cv=3, params={"backgrounds": backgrounds})
    assert found.shape == (3,)
    assert seen[-1] == (60, [70, 60])


def test_metadata_routing_and_step_parameters(target, backgrounds, rng):
    weights = rng.uniform(size=len(target))
    mean = np.average(target, axis=0, weights=weights)
    fitted = pipeline().fit(target, backgrounds=backgrounds, scale__sample_weight=weights)
    np.testing.assert_allclose(fitted["scale"].mean_, mean, rtol=1e-12)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = pipeline()
        routed["scale"].set_fit_request(sample_weight=True)
        routed.fit(target, backgrounds=backgrounds, sample_weight=weights)
    np.testing.assert_array_equal(routed["uca"].components_, fitted["uca"].components_)
    with pytest.raises(
        ValueError, match=r"fit does not take 'weights': pass parameters of steps as step__parameter; the"
    ):
        pipeline().fit(target, backgrounds=backgrounds, weights=weights)


def test_nested_pipelines(target, backgrounds):
    inner = ContrastivePipeline([("pca", PCA(4, random_state=0)), ("uca", UCA(2, scale=False))])
    fitted = ContrastivePipeline([("scale", StandardScaler()), ("inner", inner)]).fit(target, backgrounds=backgrounds)
    prepare, model = by_hand(target, backgrounds)
    np.testing.assert_array_equal(fitted["inner"]["uca"].components_, model.components_)
    np.testing.assert_array_equal(
        fitted.background_distance(target), model.background_distance(prepare.transform(target))
    )


def test_memory_caches_and_gives_the_same(target, backgrounds, tmp_path, capsys):
    cached = pipeline(memory=str(tmp_path), verbose=True)
    first = cached.fit(target, backgrounds=backgrounds).transform(target)
    fresh = cached["scale"]
    second = cached.fit(target, backgrounds=backgrounds).transform(target)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, pipeline().fit(target, backgrounds=backgrounds).transform(target))
    assert cached["scale"] is not fresh  # from the cache
    assert capsys.readouterr().out.count("[ContrastivePipeline] (step 3 of 3) uca, total=") == 2


def test_clone_parameters_slices_and_passthrough(target, backgrounds):
    original = pipeline()
    copy = clone(original).set_params(uca__n_components=1, pca="passthrough")
    copy.fit(target, backgrounds=backgrounds)
    scaler = StandardScaler().fit(target)
    expected = UCA(1, scale=False).fit(
        scaler.transform(target), backgrounds={name: scaler.transform(rows) for name, rows in backgrounds.items()}
    )
    np.testing.assert_array_equal(copy["uca"].components_, expected.components_)
    assert isinstance(copy[:1], ContrastivePipeline)
    assert set(original.get_params(deep=False)) == {"steps", "memory", "verbose"}
    with pytest.raises(NotFittedError):
        original.transform(target)


def test_saved_and_loaded(target, backgrounds, tmp_path):
    fitted = pipeline(memory=str(tmp_path / "cache")).fit(target, backgrounds=backgrounds)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.background_distance(target), fitted.background_distance(target))
    pytest.importorskip("skops", reason="model files need skops: pip install '.[cli]'")
    loaded = uca.load(uca.save(fitted, tmp_path / "line.skops"))
    assert type(loaded) is ContrastivePipeline
    assert loaded.memory is None
    assert fitted.memory is not None
    np.testing.assert_array_equal(loaded.transform(target), fitted.transform(target))
    np.testing.assert_array_equal(uca.drift(loaded, target).ratio, uca.drift(fitted, target).ratio)
    with pytest.raises(TypeError, match=r"Save a fitted pipeline of scikit-learn as uca\.ContrastivePipeline"):
        uca.save(Pipeline(fitted.steps), tmp_path / "other.skops")
    with pytest.raises(NotFittedError):
        uca.save(pipeline(), tmp_path / "other.skops")
    fitted["uca"].mean_ = fitted["uca"].mean_[:2]
    with pytest.raises(ValueError, match="parts do not fit together"):
        uca.load(uca.save(fitted, tmp_path / "broken.skops"))


class Homemade(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


def test_unknown_steps_are_not_saved(target, backgrounds, tmp_path):
    pytest.importorskip("skops", reason="model files need skops: pip install '.[cli]'")
    fitted = ContrastivePipeline([("own", Homemade()), ("uca", UCA())]).fit(target, backgrounds=backgrounds)
    with pytest.raises(TypeError, match=r"Homemade, which a model file may not.*use steps of scikit-learn"):
        uca.save(fitted, tmp_path / "m.skops")


def test_a_failed_fit_leaves_everything_as_it_was(target, backgrounds):
    fitted = pipeline().fit(target, backgrounds=backgrounds)
    before = fitted.transform(target)
    fitted.set_params(uca__bound=1e-9)
    with pytest.raises(uca.InfeasibleBoundsError):
        fitted.fit(10 * target[:40] + 1, backgrounds=backgrounds)
    np.testing.assert_array_equal(fitted.transform(target), before)
    assert fitted.get_params()["uca__bound"] == 1e-9


def test_sparse_rows_stay_sparse(rng):
    target = sparse.random(200, 30, density=0.2, random_state=0, format="csr")
    background = sparse.random(150, 30, density=0.2, random_state=1, format="csr")
    fitted = ContrastivePipeline([("scale", MaxAbsScaler()), ("uca", UCA(2, scale=False))])
    fitted.fit(target, backgrounds={"b": background})
    scaler = MaxAbsScaler().fit(target)
    dense = UCA(2, scale=False).fit(
        scaler.transform(target).toarray(), backgrounds={"b": scaler.transform(background).toarray()}
    )
    np.testing.assert_allclose(
        fitted.background_distance(target), dense.background_distance(scaler.transform(target).toarray()), rtol=1e-8
    )
    assert uca.drift(fitted, target, backgrounds={"b": background}).alarms == ()


# --- wrong ways ---------------------------------------------------------------------------------------------------------


def test_a_step_that_was_skipped_is_an_error_where_widths_differ(target, backgrounds):
    wrong = make_pipeline(StandardScaler(), PCA(4), UCA(1, scale=False))
    with pytest.raises(ValueError, match="background 'day' has 6 features, but UCA is expecting 4") as told:
        wrong.fit(target, uca__backgrounds=backgrounds)
    assert "through the steps before it ('standardscaler' and 'pca')" in str(told.value)
    assert "Use uca.ContrastivePipeline(pipeline.steps).fit(X, backgrounds=...)" in str(told.value)
    right = ContrastivePipeline(wrong.steps).fit(target, backgrounds=backgrounds)  # as the message says
    assert right["uca"].background_names_ == ["day", "night"]


def test_a_step_that_was_skipped_is_an_error_where_names_differ(target, backgrounds):
    pd = pytest.importorskip("pandas")
    frames = {name: pd.DataFrame(rows, columns=list("abcdef")) for name, rows in backgrounds.items()}
    wrong = make_pipeline(PCA(6), UCA(1)).set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"lacks columns 'pca0'.*uca\.ContrastivePipeline"):
        wrong.fit(pd.DataFrame(target, columns=list("abcdef")), uca__backgrounds=frames)


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("last", [True, False])
def test_a_step_that_was_skipped_is_a_warning_where_they_agree(target, backgrounds, tmp_path, cached, last):
    steps = [StandardScaler(), UCA(1, scale=False), *([] if last else [LogisticRegression()])]
    wrong = make_pipeline(*steps, memory=str(tmp_path) if cached else None)
    with pytest.warns(UserWarning, match=r"step before it \('standardscaler'\)\. Use uca\.Contra") as told:
        wrong.fit(target, (target[:, 0] > 3).astype(int), uca__backgrounds=backgrounds)
    assert told[0].filename == __file__


def test_a_step_that_was_skipped_around_a_nested_pipeline(target, backgrounds):
    for inner in (make_pipeline(UCA()), ContrastivePipeline([("uca", UCA())])):
        wrong = Pipeline([("scale", StandardScaler()), ("inner", inner)])
        name = "inner__uca__backgrounds" if type(inner) is Pipeline else "inner__backgrounds"
        with pytest.warns(UserWarning, match=r"reached step 'inner' untransformed.*before it \('scale'\)"):
            wrong.fit(target, **{name: backgrounds})


def test_nothing_is_said_where_no_step_was_skipped(target, backgrounds, recwarn):
    alone = UCA().fit(target, backgrounds=backgrounds)
    pipelines = [
        make_pipeline(UCA()).fit(target, uca__backgrounds=backgrounds),
        Pipeline([("none", "passthrough"), ("uca", UCA())]).fit(target, uca__backgrounds=backgrounds),
    ]
    assert make_pipeline(StandardScaler(), UCA()).fit(target)[-1].background_names_ == []
    with sklearn.config_context(enable_metadata_routing=True):
        steps = [("scale", StandardScaler()), ("uca", UCA().set_fit_request(backgrounds=True))]
        routed = Pipeline(steps, transform_input=["backgrounds"])
        pipelines.append(routed.fit(target, backgrounds=tuple(backgrounds.values())))

    class Own(Pipeline):  # knows what it does
        def fit(self, X, y=None, backgrounds=None):
            X = self[0].fit_transform(X)
            self[-1].fit(X, backgrounds={name: self[0].transform(rows) for name, rows in backgrounds.items()})
            return self

    pipelines.append(Own([("scale", StandardScaler()), ("uca", UCA())]).fit(target, backgrounds=backgrounds))
    for fitted in pipelines:  # each dataset is standardised by itself, so a scaler before changes nothing but rounding
        np.testing.assert_allclose(fitted[-1].components_, alone.components_, atol=1e-6)
    assert not recwarn.list


@pytest.mark.parametrize(
    "fit", [lambda x, b: UCA().fit(x, backgrounds=b), lambda x, b: pipeline().fit(x, backgrounds=b)]
)
def test_rows_that_the_user_deletes_are_gone(fit, rng):
    """Looking at who called keeps nothing of the caller alive."""
    rows, background = rng.normal(size=(60, 6)), {"day": rng.normal(size=(50, 6))}
    model = fit(rows, background)
    gone = [weakref.ref(rows), weakref.ref(background["day"])]
    del rows, background
    gc.collect()
    assert [each() for each in gone] == [None, None]
    assert model is not None


def test_labels_are_passed_on_without_a_warning(target, backgrounds, recwarn):
    seen = []

    class Watching(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(y)
            return super().fit(X, y, sample_weight)

    labels = np.arange(90) % 2
    ContrastivePipeline([("scale", Watching()), ("uca", UCA())]).fit(target, labels, backgrounds=backgrounds)
    assert len(seen) == 1
    assert seen[0] is labels
    assert not recwarn.list


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda b: {"uca__backgrounds": b},
            ValueError,
            "uca__backgrounds would not go through the steps before it: pass",
        ),
        (
            lambda b: {"backgrounds": {"day": b["day"][:, :3]}},
            ValueError,
            "background 'day' cannot be transformed by step",
        ),
        (lambda b: {"backgrounds": {}}, ValueError, "backgrounds is empty"),
        (lambda b: {"backgrounds": "day.csv"}, TypeError, "backgrounds must be an array or table"),
    ],
)
def test_wrong_backgrounds(target, backgrounds, change, error, message):
    with pytest.raises(error, match=message):
        pipeline().fit(target, **change(backgrounds))


def test_gaps_that_an_imputer_fills(target, backgrounds):
    target[3, 2], backgrounds["night"][5, 1] = np.nan, np.nan
    steps = [("fill", SimpleImputer()), ("uca", UCA())]
    assert ContrastivePipeline(steps).fit(target, backgrounds=backgrounds).transform(target).shape == (90, 2)


@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        ([], ValueError, "with at least one entry"),
        ([("a", UCA()), ("a", UCA())], ValueError, "names of steps must differ"),
        ([("a", LogisticRegression()), ("b", UCA())], TypeError, "step 'a' must have fit and transform"),
        ([("a", StandardScaler()), ("b", 3)], TypeError, "the last step must have fit"),
        ([("a", StandardScaler()), ("b", PCA(2))], ValueError, r"no step takes backgrounds \('a', 'b'\): add one that"),
    ],
)
def test_wrong_steps(target, backgrounds, steps, error, message):
    with pytest.raises(error, match=message):
        ContrastivePipeline(steps).fit(target, backgrounds=backgrounds)


def test_a_pipeline_without_a_model_has_no_distances(target):
    fitted = ContrastivePipeline([("scale", StandardScaler())]).fit(target)
    with pytest.raises(TypeError, match=r"no step of the pipeline \('scale'\) is a model with components"):
        fitted.background_distance(target)
