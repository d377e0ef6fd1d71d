"""Differences in means between target and backgrounds: noted, because components do not show them."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
from needs import Optional
from scipy import sparse, stats

from uca import CPCA, UCA, CPCAPlusPlus, Moments, SparseUCA, load, save
from uca.inference import uniqueness_test
from uca.means import LEVEL, mean_differences_of_rows

da, pd = Optional("dask.array"), Optional("pandas")
GENES = [f"gene{i}" for i in range(10)]


def shifted(rng, n=40, p=10, size=6.0):
    """Treated and control rows of one law, but three features of all treated are shifted."""
    treated, control = rng.normal(size=(n, p)), rng.normal(size=(n, p))
    treated[:, :3] += size
    return treated, control


def by_hand(target, background):
    """Standardised differences and Welch p-values, by scipy."""
    d = (target.mean(axis=0) - background.mean(axis=0)) / np.sqrt(
        (target.var(0, ddof=1) + background.var(0, ddof=1)) / 2
    )
    return d, stats.ttest_ind(target, background, equal_var=False).pvalue


def test_the_shift_is_noted_where_the_test_sees_nothing(rng):
    treated, control = (pd.DataFrame(part, columns=GENES) for part in shifted(rng))
    model = UCA().fit(treated, backgrounds={"control": control})
    [found] = model.mean_differences_.backgrounds
    d, _ = by_hand(treated.to_numpy(), control.to_numpy())
    assert (found.background, found.n_large) == ("control", 3)
    assert set(found.names) == {"gene0", "gene1", "gene2"}
    np.testing.assert_allclose(found.sizes, sorted(d[:3], reverse=True), rtol=1e-12)
    told = str(model.summary())
    for words in ("3 of 10 features", "gene0", "does not look at means", "limma", "control rows of other subjects"):
        assert words in " ".join(told.split())
    assert uniqueness_test(treated, {"control": control}, n_components=1).n_unique_ == 0


def test_the_design_that_is_named_brings_it_into_view(rng):
    treated, control = shifted(rng, n=200)
    target, background = np.vstack([treated[:100], control[:100]]), control[100:]
    assert np.square(UCA(1).fit(target, backgrounds=background).components_[0, :3]).sum() > 0.9
    assert uniqueness_test(target, background, n_components=1).n_unique_ == 1


def test_rule_is_size_and_significance(rng):
    target, background = rng.normal(size=(12, 30)), 2.0 * rng.normal(size=(25, 30))
    target += np.linspace(0, 6, 30)
    d, pvalues = by_hand(target, background)
    expected = np.flatnonzero((np.abs(d) >= 1) & (pvalues <= LEVEL / 30))
    assert 3 < len(expected) < np.sum(np.abs(d) >= 1)  # both conditions matter here
    [found] = UCA().fit(target, backgrounds=background).mean_differences_.backgrounds
    assert found.n_large == len(expected)
    assert list(found.features) == expected[np.argsort(-np.abs(d[expected]))][:5].tolist()


def test_small_differences_are_not_noted_however_many_rows(rng):
    target, background = rng.normal(size=(4000, 3)) + 0.5, rng.normal(size=(4000, 3))
    assert UCA().fit(target, backgrounds=background).mean_differences_.n_large == 0


@pytest.mark.parametrize("n", [4, 10, 40])
def test_data_of_one_law_is_seldom_noted(n):
    """A nominal 1 % of runs; with skewed data in tiny samples too."""
    noted = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, n])
        draw = rng.normal if seed % 2 else rng.exponential
        rows = [draw(size=(n, 20)) for _ in range(3)]
        noted += mean_differences_of_rows(rows, ["a", "b"]).n_large > 0
    assert noted <= stats.binom(300, 0.01).ppf(0.999)


def test_several_backgrounds_are_told_apart(rng):
    treated, control = shifted(rng)
    found = (
        UCA().fit(treated, backgrounds={"far": control, "near": control + np.repeat([6, 0], [3, 7])}).mean_differences_
    )
    assert [part.n_large for part in found.backgrounds] == [3, 0]
    assert found.n_large == 3
    assert "'far'" in found.sentence
    assert "'near'" not in found.sentence
    both = UCA().fit(treated, backgrounds={"far": control, "low": control - 6}).mean_differences_
    assert [part.n_large for part in both.backgrounds] == [3, 10]
    assert "largest: " in both.sentence.split("'low'")[1]
    assert (
        both.short
        == "Means differ by 1 SD or more in 3 of 10 features between the target and 'far' and 10 of 10 "
        + ("features between the target and 'low'.")
    )


def moments_fit(treated, control, **how):
    model = UCA(**how).partial_fit(treated[:15], backgrounds=Moments.of(control))
    return model.partial_fit(treated[15:])


WAYS = {
    "covariance": lambda t, c, **how: UCA(representation="covariance", **how).fit(t, backgrounds=c),
    "reduced": lambda t, c, **how: UCA(representation="reduced", **how).fit(t, backgrounds=c),
    "implicit": lambda t, c, **how: UCA(representation="implicit", **how).fit(t, backgrounds=c),
    "product_svd": lambda t, c, **how: UCA(representation="product_svd", **how).fit(t, backgrounds=c),
    "sparse": lambda t, c, **how: UCA(**how).fit(sparse.csr_array(t), backgrounds=sparse.csc_array(c)),
    "dask": lambda t, c, **how: UCA(**how).fit(da.from_array(t, chunks=(15, 10)), backgrounds=da.from_array(c)),
    "stream": moments_fit,
    "few features": lambda t, c, **how: SparseUCA(n_nonzero=3, **how).fit(t, backgrounds=c),
    "cPCA": lambda t, c, **how: CPCA(alpha=1, **how).fit(t, backgrounds=c),
    "cPCA++": lambda t, c, **how: CPCAPlusPlus(**how).fit(t, backgrounds=c),
}


@pytest.mark.parametrize("scale", [True, False, "target"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_hold_data_says_the_same(rng, way, scale):
    treated, control = shifted(rng)
    [found] = WAYS[way](treated, control, scale=scale).mean_differences_.backgrounds
    d, _ = by_hand(treated, control)
    assert found.n_large == 3
    np.testing.assert_allclose(found.sizes, sorted(d[:3], reverse=True), rtol=1e-10)
    assert WAYS[way](treated, control, scale=scale, center=False).mean_differences_ is None  # means are compared then


def test_where_there_is_nothing_to_say(rng):
    treated, _ = shifted(rng)
    assert UCA().fit(treated).mean_differences_ is None
    assert UCA().fit_covariance(np.eye(3), backgrounds=np.eye(3)).mean_differences_ is None


def test_units_and_large_means_do_not_matter(rng):
    treated, control = shifted(rng)
    d, _ = by_hand(treated, control)
    for factor in (1e-200, 1e200):
        [found] = UCA().fit(factor * treated, backgrounds=factor * control).mean_differences_.backgrounds
        np.testing.assert_allclose(found.sizes, sorted(d[:3], reverse=True), rtol=1e-8)
    [far] = UCA().fit(treated + 1e9, backgrounds=control + 1e9).mean_differences_.backgrounds
    np.testing.assert_allclose(far.sizes, sorted(d[:3], reverse=True), rtol=1e-6)  # rows have 7 digits left


def test_constants_that_differ_and_constants_that_are_rounded(rng):
    treated, control = shifted(rng, size=0.0)
    treated[:, 0], control[:, 0] = 1.0, 0.0
    treated[:, 1], control[:, 1] = 0.1, np.float32(0.1)
    with pytest.warns(UserWarning, match="constant features"):
        model = UCA().fit(treated, backgrounds=control)
    [found] = model.mean_differences_.backgrounds
    assert (found.features, found.sizes) == ((0,), (np.inf,))


def test_subjects_count_where_rows_are_repeated(rng):
    subject = rng.normal(size=(6, 5))
    rows = np.repeat(subject, 30, axis=0) + 0.1 * rng.normal(size=(180, 5))
    target, background = rows[:90] + np.array([1.5, 0, 0, 0, 0]), rows[90:]
    by_rows = mean_differences_of_rows([target, background], ["b"])
    by_subjects = mean_differences_of_rows([target, background], ["b"], n=[3, 3])
    assert by_rows.n_large > 0
    assert by_subjects.n_large == 0


def test_model_files_keep_it_and_older_ones_are_read(rng, tmp_path):
    pytest.importorskip("skops")
    treated, control = shifted(rng)
    model = UCA().fit(treated, backgrounds=control)
    assert load(save(model, tmp_path / "new.skops")).mean_differences_ == model.mean_differences_
    del model.mean_differences_
    assert "means" not in str(load(save(model, tmp_path / "old.skops")).summary())


def test_verbose_logs_it(rng, caplog):
    treated, control = shifted(rng)
    with caplog.at_level(logging.INFO, logger="uca"):
        UCA(verbose=True).fit(treated, backgrounds=control)
    assert sum("does not look at means" in record.message for record in caplog.records) == 1


def test_program_and_report_say_it(rng, tmp_path, monkeypatch):
    pytest.importorskip("plotly")
    run = pytest.importorskip("commands").good
    monkeypatch.chdir(tmp_path)
    tables = [pd.DataFrame(part, columns=GENES) for part in shifted(rng)]
    for name, table in zip(("treated", "control"), tables, strict=True):
        table.to_csv(f"{name}.csv", index=False)
    files = ["treated.csv", "-b", "control.csv"]
    told = run("fit", *files, "--out", "found").output
    assert "3 of 10 features between the target and 'control' (gene" in told
    summary = json.loads((tmp_path / "found" / "summary.json").read_text())
    assert {row["feature"] for row in summary["means"]["backgrounds"][0]["largest"]} == set(GENES[:3])
    page = (tmp_path / "found" / "report.html").read_text()
    assert 'id="means"' in page
    assert "a t-test or limma does" in page
    assert "a t-test or limma does" in run("test", *files).output
    assert run("fit", *files, "--test", "--out", "tested").output.count("a t-test or limma does") == 1
    assert "a t-test or limma does" in run("info", "found/model.skops").output
