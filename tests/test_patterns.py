"""Patterns: what follows the score in the target, against numpy on the standardised rows."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from commands import run
from scipy import sparse

from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA
from uca.estimators.leading import MINUS, leading, shares

RTOL = 1e-7  # of iterative eigenvectors; patterns follow them


def data(p: int = 12, n: int = 80, seed: int = 0):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(p, p)) / np.sqrt(p) + np.eye(p)
    target = rng.normal(size=(n, p)) @ mixed + rng.normal(size=(n, 1)) * rng.normal(size=p) + 3.0
    return target, rng.normal(size=(n // 2 + 5, p)) @ mixed


def standardised(rows, scale: bool):
    rows = np.asarray(rows, dtype=float)
    rows = rows - rows.mean(axis=0)
    return rows / rows.std(axis=0, ddof=1) if scale else rows


def regression(rows, scores):
    """Slope of every feature on every score, one at a time."""
    return np.array([[np.polyfit(score, feature, 1)[0] for feature in rows.T] for score in scores.T])


def correlation(rows, scores):
    return np.array([[np.corrcoef(score, feature)[0, 1] for feature in rows.T] for score in scores.T])


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("whiten", [True, False])
@pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit", "product_svd"])
def test_pattern_is_the_slope_of_each_feature_on_the_score(representation, whiten, scale):
    target, background = data(p=30, n=20) if representation == "reduced" else data()
    model = UCA(3, scale=scale, whiten=whiten, representation=representation).fit(target, backgrounds=background)
    rows = standardised(target, scale)
    scores = rows @ model.components_.T  # not whitened: patterns are of components
    np.testing.assert_allclose(model.patterns_, regression(rows, scores), atol=RTOL)
    np.testing.assert_allclose(model.pattern_correlations_, correlation(rows, scores), atol=RTOL)


@pytest.mark.parametrize(
    "model",
    [
        UCA(2, components="sequential"),
        UCA(2, scale="target"),
        UCA(2, bound_on="new rows"),
        SparseUCA(2, n_nonzero=4),
        CPCA(2),
        CPCAPlusPlus(2),
    ],
    ids=str,
)
def test_every_estimator_has_patterns(model):
    target, background = data(n=200)
    model.fit(target, backgrounds=background)
    rows = standardised(target, scale=True)
    scores = rows @ model.components_.T
    np.testing.assert_allclose(model.patterns_, regression(rows, scores), atol=RTOL)
    np.testing.assert_allclose(model.pattern_correlations_, correlation(rows, scores), atol=RTOL)


def test_wide_sparse_components_have_patterns():
    """A sparse component is not in the span of the rows; its pattern is."""
    rng = np.random.default_rng(1)
    target, background = rng.normal(size=(25, 4200)), rng.normal(size=(20, 4200))
    target[:, :5] += 3.0 * rng.normal(size=(25, 1))
    model = SparseUCA(1, n_nonzero=5, proof="none").fit(target, backgrounds=background)
    assert model.representation_ == "reduced"
    rows = standardised(target, scale=True)
    np.testing.assert_allclose(model.patterns_, regression(rows, rows @ model.components_.T), atol=RTOL)


def test_sparse_rows_covariances_and_streams_give_the_same():
    target, background = data()
    dense = UCA(2).fit(target, backgrounds=background)
    stored = UCA(2, representation="implicit").fit(sparse.csr_array(target), backgrounds=background)
    stream = (
        UCA(2).partial_fit(target[:30], backgrounds=background[:9]).partial_fit(target[30:], backgrounds=background[9:])
    )
    matrices = UCA(2).fit_covariance(np.corrcoef(target.T), backgrounds=np.corrcoef(background.T))
    for other in (stored, stream, matrices):
        np.testing.assert_allclose(other.patterns_, dense.patterns_, atol=RTOL)
        np.testing.assert_allclose(other.pattern_correlations_, dense.pattern_correlations_, atol=RTOL)


def test_correlations_of_covariances_in_any_units():
    target, background = data()
    model = UCA(2).fit_covariance(1e-12 * np.cov(target.T), backgrounds=1e9 * np.cov(background.T))
    rows = standardised(target, scale=False)
    np.testing.assert_allclose(model.pattern_correlations_, correlation(rows, rows @ model.components_.T), atol=RTOL)


def test_a_constant_feature_follows_nothing():
    target, background = data()
    target[:, 3] = 7.0
    with pytest.warns(UserWarning, match="constant features"):
        model = UCA(2).fit(target, backgrounds=background)
    assert np.all(model.patterns_[:, 3] == 0)
    assert np.all(model.pattern_correlations_[:, 3] == 0)


def test_filter_and_pattern_differ_where_a_feature_only_cancels():
    """Two features share the background's factor, one of them also has the unique one: the other only cancels."""
    rng = np.random.default_rng(0)
    n = 5_000
    shared, unique = rng.normal(size=n), rng.normal(size=n)
    noise = 0.3 * rng.normal(size=(n, 3))
    target = np.column_stack([3 * shared + 2 * unique, 3 * shared, np.zeros(n)]) + noise
    background = 3 * rng.normal(size=(n, 1)) * [1, 1, 0] + 0.3 * rng.normal(size=(n, 3))
    model = UCA(1, scale=False, bound=0.2).fit(target, backgrounds=background)
    loading, correlated = np.abs(model.components_[0]), np.abs(model.pattern_correlations_[0])
    assert loading[1] > 0.5 * loading[0]  # a large weight
    assert correlated[1] < 0.5 * correlated[0]  # that follows the score little
    assert [row.names for row in leading(model)] == [("x0",)]


def test_float32_stays_float32():
    target, background = data()
    model = UCA(2).fit(target.astype(np.float32), backgrounds=background.astype(np.float32))
    assert model.patterns_.dtype == model.pattern_correlations_.dtype == np.float32


def test_spread_that_is_not_known_gives_no_correlation():
    target, background = data(p=30, n=20)
    model = UCA(2, center=False, scale=False, representation="reduced").fit(target, backgrounds=background)
    assert model.pattern_correlations_ is None
    second = target.T @ target / (len(target) - 1)
    image = second @ model.components_.T
    expected = (image / np.einsum("pk,kp->k", image, model.components_)).T
    np.testing.assert_allclose(model.patterns_, expected, atol=RTOL)


# --- in words ------------------------------------------------------------------------------------------------------------


def planted():
    import pandas as pd

    rng = np.random.default_rng(3)
    names = ["IL6", "CRP", "ALB", "a", "b", "c"]
    unique = rng.normal(size=(300, 1)) * [2.5, 2.0, -1.8, 0, 0, 0]
    target = pd.DataFrame(unique + rng.normal(size=(300, 6)), columns=names)
    return target, pd.DataFrame(rng.normal(size=(200, 6)), columns=names)


def test_summary_begins_with_the_leading_features():
    target, background = planted()
    model = UCA(1).fit(target, backgrounds={"control": background})
    lines = model.summary().splitlines()
    named = next(line for line in lines if line.startswith("UC1: "))
    assert set(named[5:].split(", ")) == {"IL6 +", "CRP +", f"ALB {MINUS}"}
    assert lines.index(named) < next(i for i, line in enumerate(lines) if "lambda" in line)
    assert any(line.startswith("Certificate: proven optimal") for line in lines)


def test_a_sparse_component_names_all_its_features():
    target, background = planted()
    model = SparseUCA(1, n_nonzero=5).fit(target, backgrounds=background)
    assert set(leading(model)[0].names) == set(model.support_[0])


def test_other_names_and_models_of_older_versions():
    target, background = planted()
    model = UCA(1).fit(target, backgrounds=background)
    assert leading(model, list("uvwxyz"), n=1)[0].names == ("u",)
    del model.patterns_
    assert leading(model)[0].names[0] == "IL6"  # by loading


def test_shares_add_up_and_leave_out_features_that_only_follow():
    """Age varies in everybody and the bound lets some of it into the score: markers follow it without a weight."""
    rng = np.random.default_rng(0)
    age, disease = np.array([0, 3.0, 3.0, 3.0, 0]), np.array([1.6, 1.6, 0, 0, 0])
    target = rng.normal(size=(500, 1)) * age + rng.normal(size=(500, 1)) * disease + 0.7 * rng.normal(size=(500, 5))
    background = rng.normal(size=(400, 1)) * age + 0.7 * rng.normal(size=(400, 5))
    model = UCA(1, scale=False).fit(target, backgrounds=background)
    np.testing.assert_allclose(shares(model).sum(axis=1), 1.0)
    assert model.pattern_correlations_[0, 2] > 0.6
    assert model.pattern_correlations_[0, 0] < model.pattern_correlations_[0, 2]
    assert set(leading(model)[0].names) == {"x0", "x1"}


def test_the_program_names_features_and_writes_patterns(tmp_path):
    target, background = planted()
    target.to_csv(tmp_path / "t.csv", index=False)
    background.to_csv(tmp_path / "b.csv", index=False)
    told = run("fit", tmp_path / "t.csv", "-b", tmp_path / "b.csv", "-o", tmp_path / "out", "--no-report")
    assert told.exit_code == 0, told.output
    assert told.output.index(f"ALB {MINUS}") < told.output.index("lambda")
    model = UCA(2).fit(target, backgrounds=background)
    with open(tmp_path / "out" / "components.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {"": model.components_, "_pattern": model.patterns_, "_correlation": model.pattern_correlations_}
    for ending, values in columns.items():
        written = np.array([[float(row[f"UC{i + 1}{ending}"]) for row in rows] for i in range(2)])
        np.testing.assert_allclose(written, values, atol=RTOL)
    shown = run("info", tmp_path / "out", "--json")
    first = json.loads(shown.stdout)["components"][0]["leading"]
    assert first[0] == {"feature": "IL6", "sign": "+"}


def test_loadings_plot_of_patterns():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="pip install 'unique-component-analysis[plot]'")
    from uca.plotting import loadings

    target, background = planted()
    model = UCA(1).fit(target, backgrounds=background)
    ax = loadings(model, kind="patterns", n_features=3)
    assert ax.get_xlabel().startswith("pattern of")
    lengths = sorted((abs(bar.get_width()) for bar in ax.patches), reverse=True)
    np.testing.assert_allclose(lengths, np.sort(np.abs(model.patterns_[0]))[::-1][:3])
    both = loadings(model, kind="both", n_features=3)
    np.testing.assert_allclose(np.sort(both.lines[-1].get_xdata()), np.sort(model.components_[0, :3]))
    with pytest.raises(ValueError, match="kind must be"):
        loadings(model, kind="weights")
    del model.patterns_
    with pytest.raises(ValueError, match="older version"):
        loadings(model, kind="patterns")
    pyplot.close("all")
