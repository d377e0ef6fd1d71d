"""Distances of new rows and their drift, beside the same numbers by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse, stats

import uca
from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA

SHAPES = np.array([[3, 3, 0, 0, 0, 0], [0, 0, 2, 2, 0, 0], [0, 0, 0, 0, 2, -2]])


def rows(rng, n, sizes, mean=0.0):
    """Rows with three factors of given sizes, and noise."""
    return rng.normal(size=(n, 3)) * sizes @ SHAPES + rng.normal(size=(n, 6)) + mean


@pytest.fixture
def target(rng):
    return rows(rng, 800, [1, 1, 0], mean=5)


@pytest.fixture
def backgrounds(rng):
    return {"one": rows(rng, 700, [1, 0, 0.2], mean=4), "two": rows(rng, 600, [0.8, 0.1, 0.3], mean=6)}


MODELS = [UCA(2), UCA(2, scale=False), UCA(2, scale="target"), UCA(2, whiten=True), UCA(3, components="sequential")]


def standardised(array, center, deviation):
    return (array - center) / deviation


def own_scores(model, array, fit_array, target):
    """Scores of rows by the standard that their dataset had in the fit, in numpy alone."""
    deviation = {True: fit_array, "target": target}.get(model.scale)
    deviation = 1.0 if deviation is None else deviation.std(axis=0, ddof=1)
    return standardised(array, fit_array.mean(axis=0), deviation) @ model.components_.T


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_distance_is_that_of_mahalanobis(model, target, backgrounds, rng):
    model.fit(target, backgrounds=backgrounds)
    new = rows(rng, 50, [1, 2, 1], mean=5)
    scores = own_scores(model, new, target, target)
    for j, fit_rows in enumerate(backgrounds.values()):
        covariance = np.cov(own_scores(model, fit_rows, fit_rows, target).T)
        widened = np.sqrt(model.expected_background_variance_[:, j] / np.diag(covariance))
        inverse = np.linalg.inv(covariance * np.outer(widened, widened))
        by_hand = np.einsum("ni,ij,nj->n", scores, inverse, scores)
        np.testing.assert_allclose(model.background_distance(new)[:, j], by_hand, rtol=1e-8)
    np.testing.assert_array_equal(model.score_samples(new), -model.background_distance(new).min(axis=1))


def test_distance_follows_its_law(rng):
    """New rows that vary as a background does are at chi-squared distance from it: the mean within four errors."""
    background, new = rows(rng, 5000, [1, 0, 0]), rows(rng, 4000, [1, 0, 0])
    model = UCA(2, scale=False).fit(rows(rng, 5000, [1, 1, 0]), backgrounds=background)
    found = model.background_distance(new)[:, 0]
    assert abs(found.mean() - 2) < 4 * (4 / 4000 + 4 / 5000) ** 0.5
    share = np.mean(found > stats.chi2(2).isf(0.01))
    assert abs(share - 0.01) < 4 * (0.01 / 4000) ** 0.5 + 0.002


def test_without_backgrounds_the_target_is_what_rows_are_compared_with(target):
    model = UCA(2).fit(target)
    scores = model.transform(target)
    np.testing.assert_allclose(model.score_samples(target), -(scores**2 / scores.var(axis=0, ddof=1)).sum(axis=1))
    with pytest.raises(ValueError, match="fitted without backgrounds: there is none to measure distances from"):
        model.background_distance(target)


@pytest.mark.parametrize(
    "model", [CPCA(2, alpha=1.0), CPCAPlusPlus(2), SparseUCA(2, n_nonzero=3, scale=False)], ids=str
)
def test_other_estimators(model, target, backgrounds):
    """Those without a prediction use the covariance of the fit."""
    background = backgrounds["one"]
    model.fit(target, backgrounds=background)
    fit_scores = own_scores(model, background, background, target)
    covariance = np.cov(fit_scores.T)
    expected = getattr(model, "expected_background_variance_", None)
    if expected is not None:
        widened = np.sqrt(expected[:, 0] / np.diag(covariance))
        covariance = covariance * np.outer(widened, widened)
    scores = own_scores(model, target, target, target)
    by_hand = np.einsum("ni,ij,nj->n", scores, np.linalg.inv(covariance), scores)
    np.testing.assert_allclose(model.background_distance(target)[:, 0], by_hand, rtol=1e-6)
    assert uca.drift(model, target, backgrounds=[background]).datasets == ("target", "background1")


def test_containers_give_the_same(target, backgrounds):
    model = UCA(2).fit(target, backgrounds=backgrounds)
    expected = model.background_distance(target)
    np.testing.assert_allclose(model.background_distance(sparse.csr_array(target)), expected, rtol=1e-9)
    same = uca.drift(model, sparse.csr_array(target))
    np.testing.assert_allclose(same.variance, uca.drift(model, target).variance, rtol=1e-9)
    streamed = UCA(2).partial_fit(target, backgrounds=backgrounds)
    np.testing.assert_allclose(streamed.background_distance(target), expected, rtol=1e-6)  # tolerance of the solver
    assert np.isnan(streamed.reference_.kurtosis).all()  # a stream keeps no rows
    np.testing.assert_allclose(uca.drift(streamed, target).ratio, 1, rtol=1e-6)


def test_tables(target, backgrounds):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(target, columns=list("abcdef"))
    frames = {name: pd.DataFrame(rows, columns=list("abcdef"))[list("fedcba")] for name, rows in backgrounds.items()}
    model = UCA(2).set_output(transform="pandas").fit(frame, backgrounds=frames)
    plain = UCA(2).fit(target, backgrounds=backgrounds)
    np.testing.assert_allclose(model.background_distance(frame), plain.background_distance(target), rtol=1e-9)
    found = uca.drift(model, frame, backgrounds=frames)
    np.testing.assert_allclose(found.variance, uca.drift(plain, target, backgrounds=backgrounds).variance, rtol=1e-9)


def test_dask_rows_stay_lazy(target, backgrounds):
    da = pytest.importorskip("dask.array", reason="pip install '.[dask]'")
    chunked = da.from_array(target, chunks=(100, 6))
    model = UCA(2).fit(
        chunked, backgrounds={name: da.from_array(b, chunks=(100, 6)) for name, b in backgrounds.items()}
    )
    plain = UCA(2).fit(target, backgrounds=backgrounds)
    lazy = model.background_distance(chunked)
    assert hasattr(lazy, "dask")
    assert hasattr(model.score_samples(chunked), "dask")
    np.testing.assert_allclose(lazy.compute(), plain.background_distance(target), rtol=1e-6)
    found = uca.drift(model, chunked)
    np.testing.assert_allclose(found.variance, uca.drift(plain, target).variance, rtol=1e-6)


# --- drift --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*MODELS, UCA(2, center=False, scale=False)], ids=str)
def test_variances_and_means_are_those_of_numpy(model, target, backgrounds, rng):
    model.fit(target, backgrounds=backgrounds)
    new, new_two = rows(rng, 300, [1, 2, 0], mean=5.5), rows(rng, 200, [1, 0.1, 0.3], mean=6)
    found = uca.drift(model, new, backgrounds={"two": new_two})
    assert found.datasets == ("target", "two")
    expected = [model.explained_variance_, model.expected_background_variance_[:, 1]]
    np.testing.assert_allclose(found.fitted, expected, rtol=1e-12)
    for i, (array, fit_rows) in enumerate([(new, target), (new_two, backgrounds["two"])]):
        if not model.center:
            np.testing.assert_allclose(found.variance[i], np.mean((array @ model.components_.T) ** 2, axis=0))
            continue
        scores = own_scores(model, array, fit_rows, target)
        np.testing.assert_allclose(found.variance[i], scores.var(axis=0, ddof=1), rtol=1e-9)
        np.testing.assert_allclose(found.shift[i], scores.mean(axis=0) / np.sqrt(found.fitted[i]), atol=1e-10)
    assert np.isnan(found.shift).all() == (not model.center)


def test_errors_are_those_of_the_formulas(target, backgrounds, rng):
    model = UCA(1, scale=False).fit(target, backgrounds=backgrounds)
    new = rows(rng, 300, [1, 1, 0], mean=5)
    found = uca.drift(model, new, alpha=0.05)
    scores = own_scores(model, new, target, target)[:, 0]
    fit = own_scores(model, target, target, target)[:, 0]
    w = (scores - scores.mean()) ** 2 / scores.var(ddof=1) - 1
    c = max(np.sum(w**2) / 299, stats.kurtosis(fit, fisher=False) - 1)
    t = stats.t(299).isf(0.05 / 2 / 2)  # two comparisons
    centre = np.log(scores.var(ddof=1) / fit.var(ddof=1)) + c * (1 / 300 - 1 / 800) / 2
    span = t * np.sqrt(c * (1 / 300 + 1 / 800))
    np.testing.assert_allclose(found.ratio, found.variance / found.fitted)
    np.testing.assert_allclose(found.ratio_low[0, 0], np.exp(centre - span), rtol=1e-9)
    np.testing.assert_allclose(found.ratio_high[0, 0], np.exp(centre + span), rtol=1e-9)
    error = scores.std(ddof=1) * np.sqrt(1 / 300 + 1 / 800) / fit.std(ddof=1)
    shift = scores.mean() / fit.std(ddof=1)
    np.testing.assert_allclose([found.shift_low[0, 0], found.shift_high[0, 0]], [shift - t * error, shift + t * error])
    np.testing.assert_allclose(found.shift_pvalues[0, 0], 2 * stats.t(299).sf(abs(shift / error)), rtol=1e-9)


def test_alarms_say_what_has_moved(target, backgrounds, rng):
    model = UCA(1).fit(target, backgrounds=backgrounds)
    quiet = uca.drift(
        model, rows(rng, 400, [1, 1, 0], mean=5), backgrounds={"one": rows(rng, 300, [1, 0, 0.2], mean=4)}
    )
    assert quiet.alarms == ()
    assert quiet.sentence.startswith("Nothing has moved beyond chance along UC1 in target, one (all comparisons")
    wider = uca.drift(model, rows(rng, 400, [1, 2, 0], mean=5))
    (alarm,) = wider.alarms
    assert (alarm.dataset, alarm.component, alarm.kind) == ("target", "UC1", "variance")
    assert 1 < alarm.low < alarm.value < alarm.high
    assert "The variance of the target along UC1 has risen to " in wider.sentence
    entered = uca.drift(
        model, backgrounds={"one": rows(rng, 300, [1, 1, 0.2], mean=4)}
    )  # it is no longer the target's own
    assert [(alarm.dataset, alarm.kind) for alarm in entered.alarms] == [("one", "variance")]
    moved = uca.drift(model, rows(rng, 400, [1, 1, 0], mean=[5, 5, 8, 8, 5, 5]))
    assert [alarm.kind for alarm in moved.alarms] == ["mean"]
    assert "along UC1 has moved by" in str(moved.alarms[0])
    narrower = uca.drift(model, rows(rng, 400, [1, 0, 0], mean=5))
    assert "has fallen to 0." in narrower.sentence
    assert "has fallen to" in str(narrower)
    json.dumps(narrower.table)  # plain numbers
    assert set(narrower.table[0]) > {
        "dataset",
        "component",
        "ratio",
        "ratio_low",
        "ratio_high",
        "shift",
        "variance_pvalue",
    }


LAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "uniform": lambda rng, size: rng.uniform(size=size),
    "heavy tails": lambda rng, size: rng.standard_t(5, size=size),
    "skewed": lambda rng, size: rng.exponential(size=size),
}


@pytest.mark.parametrize("law", LAWS)
def test_false_alarms_keep_their_level(law, rng):
    """300 batches in which nothing has changed, at level 5 %: at most 15 + 4 errors of the binomial law."""
    draw = LAWS[law]
    alarms = 0
    for _ in range(60):
        model = UCA(1, scale=False).fit(draw(rng, (600, 2)) * [3, 1], backgrounds=draw(rng, (600, 2)))
        alarms += sum(bool(uca.drift(model, draw(rng, (100, 2)) * [3, 1], alpha=0.05).alarms) for _ in range(5))
    assert alarms <= 30


def test_groups_keep_the_level_where_rows_depend_on_one_another(rng):
    """Forty hours of eight equal readings: single rows raise alarms by the dozen, groups keep to 5 %."""
    hours = np.repeat(np.arange(40), 8)

    def batch(n=40):
        return np.repeat(rng.normal(size=(n, 2)), 8, axis=0) * [3, 1]

    model = UCA(1, scale=False).fit(batch(200), backgrounds=batch(200)[:, ::-1] * [0.3, 1])
    alarms = {"rows": 0, "hours": 0}
    for _ in range(100):
        new = batch()
        alarms["rows"] += bool(uca.drift(model, new, alpha=0.05).alarms)
        alarms["hours"] += bool(uca.drift(model, new, groups=hours, alpha=0.05).alarms)
    assert alarms["rows"] > 30
    assert alarms["hours"] <= 14  # 5 and four errors of the binomial law


def test_groups_by_name(target, backgrounds):
    model = UCA(1).fit(target, backgrounds=backgrounds)
    found = uca.drift(
        model,
        target,
        backgrounds=backgrounds,
        groups={"target": np.arange(800) // 8, "one": [f"h{i // 7}" for i in range(700)]},
    )
    assert found.n_rows == (800, 700, 600)
    assert found.n_groups == (100, 100, 600)
    assert "800 in 100 groups" in found.summary()


def test_where_the_fit_predicts_nothing_it_is_said(target, backgrounds):
    model = UCA(1).fit(target, backgrounds=backgrounds)
    model.expected_background_variance_[0, 0] = np.inf  # as after a fit that has used up nine rows in ten
    with pytest.raises(
        ValueError, match=r"used up nearly all rows of background 'one' along UC1: how much new rows vary"
    ):
        model.background_distance(target)
    found = uca.drift(model, backgrounds=backgrounds)
    assert np.isnan(found.ratio[0]).all()
    assert np.isfinite(found.ratio[1]).all()
    assert found.alarms == ()
    assert "for 'one' along UC1 the fit has no usable prediction to compare with" in found.sentence


def test_a_background_that_does_not_vary_is_refused(rng):
    flat = rng.normal(size=(20, 1)) * [1, 2, 3]
    model = CPCA(2, alpha=0.0, scale=False).fit(rng.normal(size=(50, 3)) * [3, 2, 1], backgrounds=flat)
    with pytest.raises(ValueError, match="does not vary along some combination of the 2 components"):
        model.background_distance(rng.normal(size=(5, 3)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, t, b: uca.drift(m), ValueError, "nothing to compare: pass new rows as X"),
        (lambda m, t, b: uca.drift(m, t[:5]), ValueError, "target X has 5 new rows; at least 10 are needed"),
        (lambda m, t, b: uca.drift(m, t, groups=[1] * 800), ValueError, "target X has 1 new groups; at least 10"),
        (
            lambda m, t, b: uca.drift(m, t, groups=[1] * 9),
            ValueError,
            "groups has 9 labels for target X, which has 800",
        ),
        (lambda m, t, b: uca.drift(m, t, groups=[None] * 800), ValueError, "has missing labels"),
        (
            lambda m, t, b: uca.drift(m, t, groups={"one": [1]}),
            ValueError,
            r"groups names \['one'\], but the new rows are",
        ),
        (lambda m, t, b: uca.drift(m, t, backgrounds=b, groups=[1] * 800), ValueError, "pass groups by name"),
        (
            lambda m, t, b: uca.drift(m, t, backgrounds={"new": t}),
            ValueError,
            r"\['new'\] were not in the fit; its names",
        ),
        (
            lambda m, t, b: uca.drift(m, t, backgrounds=t),
            ValueError,
            "got 1 backgrounds without names, and the fit had 2",
        ),
        (lambda m, t, b: uca.drift(m, t[:, :3]), ValueError, "target X has 3 features, but the model was fitted on 6"),
        (
            lambda m, t, b: uca.drift(m, np.where(t == t[3, 2], np.nan, t)),
            ValueError,
            "1 NaN, the first at row 3, column 2",
        ),
        (lambda m, t, b: uca.drift(m, t, alpha=0), ValueError, "alpha must lie between 0 and 1"),
        (lambda m, t, b: uca.drift("m.skops", t), TypeError, "model must be a fitted"),
    ],
)
def test_wrong_input(target, backgrounds, call, error, message):
    model = UCA(1).fit(target, backgrounds=backgrounds)
    with pytest.raises(error, match=message):
        call(model, target, backgrounds)


def test_models_without_a_reference_say_why(target, backgrounds):
    by_matrix = UCA(1).fit_covariance(np.cov(target.T), backgrounds=np.cov(backgrounds["one"].T))
    with pytest.raises(
        ValueError, match="fitted on matrices, which do not say how many rows they come from: fit it on"
    ):
        by_matrix.background_distance(target)
    old = UCA(1).fit(target, backgrounds=backgrounds)
    del old.reference_
    with pytest.raises(ValueError, match="fitted by an older version of the package: fit it again"):
        uca.drift(old, target)
