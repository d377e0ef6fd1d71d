"""The study on real data (``make real``): what its settings hold, that no method sees labels, and how it scores."""

from __future__ import annotations

import inspect
import json
import os

import numpy as np
import pytest
from scipy import linalg, stats
from scripts import ROOT, need_benchmarks

need_benchmarks()

import benchmarks.real as real  # noqa: E402
from benchmarks.real import methods, pages, scoring, sets, setting, study, summary  # noqa: E402

from uca import UCA, pool  # noqa: E402

#: Target rows, features, backgrounds with their rows where these are the same in every draw, and labels.
PROMISED = {
    "mice, 1 background": (270, 76, [135], 2),
    "mice, 3 backgrounds": (270 - 30, 76, [135, 135, 135], 2),
    "London faces": (100, 384, [51], 2),
    "blood, myeloid": (369, 765, [192, 95, 31], 2),
    "blood, T and NK": (223, 765, [129, 240, 95], 3),
    "tumours": (142, 1000, [23, 19], 4),
    "coffee": (40, 460, [20], 2),
    "stocks": (247, 20, [261, 156, 260], 3),
    "motions": (60, 150, [20], 3),
    "speakers": (None, 36, [None] * 5, 4),
    "digits": (None, 64, [None] * 8, 2),
    "digits on grass": (360, 64, [1000], 2),
    "digits on grass, brick": (357, 64, [150, 1850], 2),
    "wine": (None, 13, [None], 2),
    "breast": (212 + 179, 30, [178], 2),
    "faces among patches": (150, 625, [50], 2),
}
BY_NAME = {one.name: one for one in sets.SETTINGS}


@pytest.fixture(autouse=True)
def shared_data(monkeypatch):
    """The folder that other tests find mice in."""
    if "UCA_DATA" not in os.environ and (ROOT.parent / "shared" / "data").is_dir():
        monkeypatch.setenv("UCA_DATA", str(ROOT.parent / "shared" / "data"))


def draw_of(name, seed=0):
    """The draw, or a skip that says how to get the data."""
    try:
        return BY_NAME[name].draw(seed)
    except setting.NotHereError as error:
        pytest.skip(str(error))


@pytest.fixture
def planted(rng):
    """Two groups of a target on features 0 and 1, a nuisance on 2 and 3 in all datasets, two rows a subject."""
    labels = np.repeat(["a", "b"], 30)
    target = rng.normal(size=(60, 8))
    target[:, :2] += np.where(labels == "a", 2.0, -2.0)[:, np.newaxis]
    backgrounds = {name: rng.normal(size=(40, 8)) for name in ("one", "two")}
    for rows in (target, *backgrounds.values()):
        rows[:, 2:4] += 4 * rng.normal(size=(len(rows), 1))
    return setting.Draw(target, labels, np.arange(60) // 2, backgrounds)


class TestSettings:
    def test_all_are_promised_and_described(self):
        assert list(PROMISED) == list(BY_NAME)
        for name in BY_NAME:
            assert f"\n{name} " in real.__doc__, name
        needed = (ROOT / "benchmarks" / "real" / "requirements.txt").read_text()
        for package in {one.package for one in sets.SETTINGS} - {"", "scanpy", "skimage"}:
            assert f"\n{package}>=" in needed

    @pytest.mark.parametrize("name", PROMISED)
    def test_shapes(self, name):
        draw = draw_of(name)
        rows, features, others, labels = PROMISED[name]
        assert rows is None or len(draw.target) == rows
        assert {part.shape[1] for part in (draw.target, *draw.backgrounds.values())} == {features}
        assert len(draw.backgrounds) == len(others)
        for found, expected in zip(draw.backgrounds.values(), others, strict=True):
            assert expected is None or len(found) == expected
        assert len(draw.labels) == len(draw.groups) == len(draw.target)
        assert len(np.unique(draw.labels)) == labels
        assert all(np.isfinite(part).all() for part in (draw.target, *draw.backgrounds.values()))

    @pytest.mark.parametrize("name", PROMISED)
    def test_no_row_of_the_target_is_background(self, name):
        draw = draw_of(name, seed=3)
        background = {row.tobytes() for part in draw.backgrounds.values() for row in np.ascontiguousarray(part)}
        assert not any(row.tobytes() in background for row in np.ascontiguousarray(draw.target))

    @pytest.mark.parametrize("name", ["mice, 1 background", "mice, 3 backgrounds", "London faces", "stocks"])
    def test_rows_are_grouped_where_they_belong_together(self, name):
        draw = draw_of(name)
        counts = np.unique(draw.groups, return_counts=True)[1]
        assert counts.max() <= 15
        assert counts.min() >= (1 if name == "stocks" else 2)

    def test_weeks_of_stocks_by_hand(self):
        import pandas as pd

        draw = draw_of("stocks")
        path = setting.folder("skfolio") / "datasets" / "data" / "sp500_dataset.csv.gz"
        prices = pd.read_csv(path, index_col=0).loc["2000-03-24":"2000-03-31", "AAPL"].to_numpy()
        # The bear market begins on a Friday; the first whole week is that of Monday 27 March.
        expected = np.log(np.diff(np.log(prices)).std(ddof=1) + 1e-3)
        assert draw.target[0, 0] == pytest.approx(expected)
        assert draw.groups[0] == "2000Q1"

    def test_absent_data_says_how_to_get_it(self, monkeypatch, tmp_path, capsys):
        with pytest.raises(setting.NotHereError, match="pip install --no-deps not_a_package"):
            setting.folder("not_a_package")
        absent = setting.Setting("absent", "common", lambda seed: setting.folder("not_a_package"))
        here, skipped = study.available((absent,))
        assert here == []
        assert "pip install --no-deps not_a_package" in skipped["absent"]
        assert "skipped absent" in capsys.readouterr().out
        monkeypatch.setenv("UCA_DATA", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        with pytest.raises(setting.NotHereError, match="figshare 5047666"):
            sets.london(0)


class TestSplit:
    def test_groups_stay_together_and_labels_are_on_both_sides(self, planted):
        for seed in range(5):
            fit, held = setting.split(planted, seed)
            assert sorted([*fit, *held]) == list(range(60))
            assert not set(planted.groups[fit]) & set(planted.groups[held])
            assert len(held) == 20  # a third of the 15 subjects of each label
            assert np.unique(planted.labels[held], return_counts=True)[1].tolist() == [10, 10]

    def test_a_person_with_both_labels(self):
        labels = np.tile(["neutral", "smiling"], 12)
        draw = setting.Draw(np.zeros((24, 2)), labels, np.repeat(np.arange(12), 2), {})
        _, held = setting.split(draw, 0)
        assert np.unique(labels[held], return_counts=True)[1].tolist() == [4, 4]


class TestMethods:
    def test_labels_are_no_argument(self):
        for name, method in methods.METHODS.items():
            assert list(inspect.signature(method).parameters) == ["target", "backgrounds", "scale"], name

    def test_methods_get_the_rows_that_are_not_held_out(self, planted, monkeypatch):
        seen = []

        def spy(target, backgrounds, scale):
            seen.append((target, backgrounds, scale))
            return methods.pca(target, backgrounds, scale)

        monkeypatch.setitem(methods.METHODS, "PCA", spy)
        values = study.Values("planted", "common")
        one = setting.Setting("planted", "common", lambda seed: planted)
        study.one_split(values, one, 4, {"PCA, unscaled": ("PCA", False)})
        ((target, backgrounds, scale),) = seen
        fit, _ = setting.split(planted, 4)
        assert scale is False
        assert np.array_equal(target, planted.target[fit])
        assert backgrounds is planted.backgrounds
        assert sorted(values.found["PCA, unscaled"]) == sorted(
            scoring.figure(metric, k) for metric in scoring.METRICS for k in methods.COMPONENTS
        )

    @pytest.mark.parametrize("method", methods.METHODS)
    @pytest.mark.parametrize("scale", [True, False])
    def test_scores_of_new_rows(self, planted, method, scale):
        if method == "gcPCA v4":
            pytest.importorskip("generalized_contrastive_PCA", reason="pip install generalized_contrastive_PCA")
        with np.errstate(all="ignore"):
            found = methods.METHODS[method](planted.target, planted.backgrounds, scale)
        for k, project in found.items():
            scores = project(planted.target[:7])
            assert scores.shape == (7, k)
            assert scores == pytest.approx(project(planted.target)[:7])  # row by row, whatever else is scored

    def test_unscaled_pca_is_that_of_numpy(self, planted):
        centred = planted.target - planted.target.mean(axis=0)
        first = np.linalg.svd(centred)[2][0]
        scores = methods.pca(planted.target, {}, False)[1](planted.target)[:, 0]
        assert abs(np.corrcoef(scores, centred @ first)[0, 1]) == pytest.approx(1.0)

    @pytest.mark.parametrize("scale", [True, False])
    def test_gcpca_solves_its_eigenproblem(self, planted, scale):
        """Version 4 maximises v'(A - B)v / v'(A + B)v: by scipy, on the features."""
        pytest.importorskip("generalized_contrastive_PCA", reason="pip install generalized_contrastive_PCA")
        other = pool(planted.backgrounds)
        a, b = (np.corrcoef(rows.T) if scale else np.cov(rows.T) for rows in (planted.target, other))
        vector = linalg.eigh(a - b, a + b)[1][:, -1]
        rows = planted.target - planted.target.mean(axis=0)
        expected = (rows / rows.std(axis=0, ddof=1) if scale else rows) @ vector
        found = methods.gcpca(planted.target, planted.backgrounds, scale)[1](planted.target)[:, 0]
        assert abs(np.corrcoef(found, expected)[0, 1]) == pytest.approx(1.0)

    @pytest.mark.parametrize("name", methods.SAME_FOR_ONE)
    def test_one_background_is_not_fitted_again(self, planted, name):
        one = {"one": planted.backgrounds["one"]}
        found = methods.METHODS[name](planted.target, one, True)[2](planted.target)
        assert found == pytest.approx(UCA(2).fit(planted.target, backgrounds=one).transform(planted.target), abs=1e-6)


class TestScoring:
    def test_auc_is_the_rank_statistic(self, rng):
        """On one component the regression is monotone, so its AUC is Mann & Whitney's, turned as the other rows say."""
        labels = np.repeat([0, 1], 40)
        scores = rng.normal(size=(80, 1)) + labels[:, np.newaxis]
        fit, held = np.arange(0, 80, 2), np.arange(1, 80, 2)
        found = scoring.judge(scores[fit], scores[held], labels[fit], labels[held])
        one, two = (scores[held][labels[held] == label, 0] for label in (1, 0))
        assert found["AUC"] == pytest.approx(stats.mannwhitneyu(one, two).statistic / (len(one) * len(two)))

    def test_auc_of_three_labels(self, rng):
        """Clusters that lie apart: 1. The held-out labels exchanged between two of them: by hand."""
        labels = np.repeat(["a", "b", "c"], 20)
        scores = np.repeat([[0.0, 9.0], [9.0, 0.0], [-9.0, -9.0]], 20, axis=0) + 0.1 * rng.normal(size=(60, 2))
        assert scoring.judge(scores, scores, labels, labels)["AUC"] == 1.0
        turned = np.repeat(["b", "a", "c"], 20)
        found = scoring.judge(scores, scores, labels, turned)["AUC"]
        assert found < 0.7  # c is still told from the rest, a and b are the wrong way round
        assert found >= 1 / 3

    def test_clusters(self):
        """Two far clusters, one of four rows with the other's label: adjusted Rand index from the pairs, by hand."""
        scores = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1], [9.2], [9.3]])
        labels = np.array([0, 0, 0, 1, 1, 1, 1, 1])
        together = 3 + 0 + 6  # pairs that share label and cluster: C(3, 2) + C(1, 2) + C(4, 2)
        expected = (3 + 10) * (6 + 6) / 28
        index = (together - expected) / ((13 + 12) / 2 - expected)
        found = scoring.judge(scores, scores, labels, labels)
        assert found["ARI"] == pytest.approx(index)
        assert found["ARI, raw"] == pytest.approx(index)

    def test_interval_by_hand(self):
        values = np.array([0.6, 0.7, 0.8, 0.9])
        error = np.sqrt(np.var(values, ddof=1) * (1 / 4 + 1 / 2))
        mean, half = scoring.interval(values)
        assert mean == pytest.approx(0.75)
        assert half == pytest.approx(3.182446 * error, rel=1e-6)  # 97.5 % of t with 3 degrees of freedom

    def test_interval_holds_its_mean_in_repeated_studies(self):
        """Splits of one sample share rows: the plain interval misses too often, the corrected one does not."""
        rng = np.random.default_rng(0)
        plain = corrected = 0
        for _ in range(200):
            sample = rng.normal(size=60)
            means = np.array([rng.permutation(sample)[:20].mean() for _ in range(15)])
            mean, half = scoring.interval(means)
            corrected += abs(mean) > half
            plain += abs(mean) > half * np.sqrt((1 / 15) / (1 / 15 + 1 / 2))
        assert corrected <= stats.binom(200, 0.05).ppf(0.999)
        assert plain > stats.binom(200, 0.05).ppf(0.999)


class TestSummary:
    def kept(self):
        def figures(auc):
            return {
                scoring.figure(metric, k): list(auc if (metric, k) == ("AUC", 2) else np.zeros(len(auc)))
                for metric in scoring.METRICS
                for k in methods.COMPONENTS
            }

        found = {
            "PCA, scaled": figures([0.6, 0.7, 0.65]),
            "UCA, scaled": figures([0.9, 0.8, 0.85]),
            "UCA, unscaled": figures([0.95, 0.85, 0.9]),
            "UCA, sparse, scaled": figures([0.9, 0.7]),
        }
        values = {"name": "some", "units": "common", "shape": {"rows": 9}, "found": found}
        values |= {"reasons": {"cPCA++, scaled": "singular"}, "seconds": dict.fromkeys(found, 3.0)}
        return {"splits": 3, "skipped": {}, "values": [values]}

    def test_differences_are_paired(self):
        some = summary.summarise(self.kept())["settings"]["some"]
        assert some["best"] == "UCA, unscaled"
        mean, half = some["runs"]["UCA, scaled"]["unscaled ahead of scaled"]
        assert (mean, half) == (pytest.approx(0.05), pytest.approx(0.0, abs=1e-9))
        assert some["runs"]["UCA, scaled"]["ahead of PCA"][0] == pytest.approx(0.2)
        assert some["runs"]["UCA, sparse, scaled"]["ahead of UCA"][0] == pytest.approx(
            -0.05
        )  # of the two splits it has
        assert some["runs"]["UCA, sparse, scaled"]["splits"] == 2
        assert "cPCA++, scaled" not in some["runs"]

    def test_the_best_is_fitted_in_all_splits(self):
        kept = self.kept()
        kept["values"][0]["found"]["UCA, sparse, scaled"][summary.DECIDES] = [0.99, 0.99]
        some = summary.summarise(kept)["settings"]["some"]
        assert some["best"] == "UCA, unscaled"
        assert some["runs"]["UCA, sparse, scaled"]["behind the best"][0] == pytest.approx(0.9 - 0.99)  # two splits

    def test_scaling_by_units(self):
        assert pages.by_units("UCA, by units", "common") == "UCA, unscaled"
        assert pages.by_units("UCA, by units", "mixed") == "UCA, scaled"
        assert pages.by_units("PCA, scaled", "common") == "PCA, scaled"

    def test_clear(self):
        assert [pages.clear(pair) for pair in ([0.1, 0.05], [-0.1, 0.05], [0.1, 0.2], [0.1, None])] == [1, -1, 0, 1]
        assert pages.tally([[0.1, 0.05], [-0.1, 0.05], [0.3, 0.1]]) == "2 : 1"


def test_page_is_that_of_the_saved_figures():
    saved = json.loads((ROOT / "docs" / "real.json").read_text())
    text = (ROOT / "docs" / "real-data.md").read_text()
    assert pages.renewed(text, saved) == text
    assert set(saved["settings"]) | set(saved["skipped"]) == set(BY_NAME)
