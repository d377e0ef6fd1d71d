"""``missing="em"``: what estimators take, what they keep, scores of rows with gaps, inference, and the program."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import uca
from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA
from uca.estimators.gaps import seldom_together
from uca.fitted import background_in_fit, problem_of_rows
from uca.inference import (
    background_influence,
    bootstrap,
    choose_restriction,
    estimate_n_components,
    expected_background_variance,
    uniqueness_test,
)
from uca.inference.gapped import completed_rows, scaled
from uca.inference.heldout import held_out
from uca.inference.rows import ScaledRows
from uca.operators.gaps.estimate import estimate

KINDS = [UCA(2), SparseUCA(2, n_nonzero=3), CPCA(2, alpha=1.5), CPCAPlusPlus(2)]
EACH = pytest.mark.parametrize("model", KINDS, ids=lambda model: type(model).__name__)


def with_em(model):
    return clone(model).set_params(missing="em")


@pytest.fixture
def whole(rng):
    """A target and a background of one shared and one unique factor, complete."""
    shared, unique = rng.normal(size=(1, 8)), np.array([[0, 0, 2, 2, 0, 0, 0, 0]])
    target = rng.normal(size=(90, 1)) @ shared + rng.normal(size=(90, 1)) @ unique + rng.normal(size=(90, 8))
    return target + 5.0, rng.normal(size=(80, 1)) @ shared + rng.normal(size=(80, 8))


@pytest.fixture
def gapped(whole, rng):
    return tuple(np.where(rng.random(rows.shape) < 0.15, np.nan, rows) for rows in whole)


def estimated(rows):
    """Mean and covariance as the package estimates them; tests/test_gaps.py checks these."""
    moments = estimate(rows, "X").moments
    return moments.mean, moments.covariance()


def correlations(rows):
    _, matrix = estimated(rows)
    deviation = np.sqrt(matrix.diagonal())
    return matrix / np.outer(deviation, deviation)


class TestFit:
    @EACH
    def test_without_gaps_nothing_changes(self, model, whole):
        plain, em = (each.fit(whole[0], backgrounds=whole[1]) for each in (clone(model), with_em(model)))
        np.testing.assert_array_equal(em.components_, plain.components_)
        np.testing.assert_array_equal(em.transform(whole[1]), plain.transform(whole[1]))
        assert em.representation_ == plain.representation_
        if hasattr(plain, "certificate_"):
            assert em.certificate_ == plain.certificate_
            assert not em.certificate_.estimated
        assert plain.law_ is None
        assert em.law_ is not None

    def test_it_is_a_fit_to_the_estimated_covariances(self, gapped):
        model = UCA(2, missing="em").fit(gapped[0], backgrounds={"b": gapped[1]})
        same = UCA(2).fit_covariance(correlations(gapped[0]), backgrounds={"b": correlations(gapped[1])})
        np.testing.assert_allclose(np.abs(model.components_ @ same.components_.T), np.eye(2), atol=1e-6)
        np.testing.assert_allclose(model.background_variance_, same.background_variance_, rtol=1e-6)
        np.testing.assert_allclose(model.mean_, estimated(gapped[0])[0])
        np.testing.assert_allclose(model.scale_, np.sqrt(estimated(gapped[0])[1].diagonal()))

    @pytest.mark.parametrize("scale", [False, "target"])
    def test_other_units(self, gapped, scale):
        model = UCA(2, missing="em", scale=scale).fit(gapped[0], backgrounds=gapped[1])
        (_, a), (_, b) = map(estimated, gapped)
        units = np.sqrt(a.diagonal()) if scale else np.ones(8)
        a, b = (matrix / np.outer(units, units) for matrix in (a, b))
        same = UCA(2).fit_covariance(a, backgrounds=b)
        np.testing.assert_allclose(np.abs(model.components_ @ same.components_.T), np.eye(2), atol=1e-6)

    def test_not_centred(self, gapped):
        model = UCA(1, missing="em", scale=False, center=False).fit(gapped[0])
        mean, matrix = estimated(gapped[0])
        n = len(gapped[0])
        values, vectors = np.linalg.eigh(matrix + n / (n - 1) * np.outer(mean, mean))
        assert abs(model.components_[0] @ vectors[:, -1]) > 1 - 1e-9
        np.testing.assert_allclose(model.eigenvalues_[0], values[-1])

    def test_the_certificate_says_what_it_is_for(self, gapped):
        for kind in (UCA(2, missing="em"), SparseUCA(2, n_nonzero=3, missing="em")):
            model = kind.fit(gapped[0], backgrounds=gapped[1])
            assert all(certificate.estimated for certificate in model.certificates_)
            assert "estimated covariances (missing='em')" in model.certificate_.message
            assert "estimated covariances (missing='em')" in " ".join(model.summary().split())
            assert model.expected_background_variance_ is None
            assert model.rows_used_ is None

    def test_one_dataset_with_gaps_is_enough(self, whole, gapped):
        model = UCA(2, missing="em").fit(whole[0], backgrounds=gapped[1])
        same = UCA(2).fit_covariance(np.corrcoef(whole[0].T), backgrounds=correlations(gapped[1]))
        np.testing.assert_allclose(np.abs(model.components_ @ same.components_.T), np.eye(2), atol=1e-6)
        assert model.certificate_.estimated
        assert model.law_.converged

    def test_more_features_than_rows(self, rng):
        factors = rng.normal(size=(3, 60))
        rows = rng.normal(size=(30, 3)) @ factors + 0.5 * rng.normal(size=(30, 60))
        other = rng.normal(size=(25, 2)) @ factors[:2] + 0.5 * rng.normal(size=(25, 60))
        gaps = [np.where(rng.random(part.shape) < 0.2, np.nan, part) for part in (rows, other)]
        model = UCA(1, missing="em").fit(gaps[0], backgrounds=gaps[1])
        truth = UCA(1).fit(rows, backgrounds=other)
        filled = [np.where(np.isnan(part), np.nanmean(part, axis=0), part) for part in gaps]
        means = UCA(1).fit(filled[0], backgrounds=filled[1])
        near, far = (abs(other.components_[0] @ truth.components_[0]) for other in (model, means))
        assert near > far
        assert 1 <= model.law_.rank <= 20
        assert model.transform(gaps[0]).shape == (30, 1)

    def test_means_are_compared_by_the_values_that_are_there(self, gapped):
        model = UCA(2, missing="em").fit(gapped[0], backgrounds={"b": gapped[1]})
        assert model.mean_differences_.n_large == 8  # the target lies 5 higher
        few = gapped[1].copy()
        few[3:, 0] = np.nan  # three values do not show a difference of means
        with pytest.warns(UserWarning, match="background 'b' has 3 pairs of features .* rows together"):
            assert UCA(2, missing="em").fit(gapped[0], backgrounds={"b": few}).mean_differences_.n_large < 8

    def test_a_restriction_goes_with_it(self, gapped):
        model = UCA(1, missing="em", bound_on=uca.inference.Restriction(n_leading=3)).fit(
            gapped[0], backgrounds=gapped[1]
        )
        leading = np.linalg.eigh(correlations(gapped[0]))[1][:, -3:]
        assert np.linalg.norm(leading.T @ model.components_[0]) == pytest.approx(1.0)


class TestInput:
    @EACH
    def test_every_kind_of_gap_is_the_same_gap(self, model, gapped):
        expected = with_em(model).fit(gapped[0], backgrounds=gapped[1])
        masked = [np.ma.masked_invalid(rows) for rows in gapped]
        stored = [sparse.csr_matrix(rows) for rows in gapped]
        for target, background in (masked, stored, (masked[0], stored[1])):
            found = with_em(model).fit(target, backgrounds=background)
            np.testing.assert_allclose(found.components_, expected.components_, atol=1e-9)
            np.testing.assert_allclose(found.transform(target), expected.transform(gapped[0]), atol=1e-9)

    def test_nullable_columns(self, gapped):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")

        expected = UCA(2, missing="em").fit(gapped[0], backgrounds=gapped[1])
        tables = [pd.DataFrame(rows, columns=[f"f{i}" for i in range(8)]) for rows in gapped]
        nullable = [table.astype("Float64").where(table.notna(), pd.NA) for table in tables]
        objects = [table.astype(object).where(table.notna(), None) for table in tables]
        for target, background in (tables, nullable, objects):
            found = UCA(2, missing="em").fit(target, backgrounds=background[[f"f{7 - i}" for i in range(8)]])
            np.testing.assert_allclose(found.components_, expected.components_, atol=1e-9)
            np.testing.assert_allclose(found.transform(target), expected.transform(gapped[0]), atol=1e-9)
        whole_numbers = pd.DataFrame({name: (10 * table).round() for name, table in tables[0].items()}).astype("Int64")
        plain = (10 * gapped[0]).round()
        np.testing.assert_allclose(
            UCA(1, missing="em").fit(whole_numbers).components_, UCA(1, missing="em").fit(plain).components_, atol=1e-9
        )

    def test_single_precision_stays_single(self, gapped):
        rows = [part.astype(np.float32) for part in gapped]
        model = UCA(2, missing="em").fit(rows[0], backgrounds=rows[1])
        assert model.transform(rows[0]).dtype == np.float32
        double = UCA(2, missing="em").fit(rows[0].astype(float), backgrounds=rows[1].astype(float))
        np.testing.assert_allclose(model.components_, double.components_, atol=1e-5)

    def test_rows_without_a_value_are_left_out_and_told(self, gapped):
        more = np.vstack([gapped[0], np.full((2, 8), np.nan)])
        with pytest.warns(UserWarning, match="2 rows of target X without any value: left out of the fit"):
            model = UCA(2, missing="em").fit(more, backgrounds=gapped[1])
        expected = UCA(2, missing="em").fit(gapped[0], backgrounds=gapped[1])
        np.testing.assert_array_equal(model.components_, expected.components_)
        assert model.n_samples_ == 90
        with pytest.warns(UserWarning, match="2 rows of X without any value: scored as the mean"):
            scores = model.transform(more)
        np.testing.assert_allclose(scores[-2:], 0.0, atol=1e-9)

    def test_what_is_refused(self, whole, gapped):
        with pytest.raises(ValueError, match=r"target X contains \d+ NaN, .* with missing='em'"):
            UCA().fit(gapped[0])
        with pytest.raises(ValueError, match="missing must be one of 'error', 'em'; got 'drop'"):
            UCA(missing="drop").fit(whole[0])
        with pytest.raises(ValueError, match="missing='em' estimates covariances, so representation='implicit'"):
            UCA(missing="em", representation="implicit").fit(gapped[0])
        infinite = gapped[1].copy()
        infinite[3, 4] = -np.inf
        with pytest.raises(
            ValueError, match=r"background 'b' contains 1 infinity .inf., the first at row 3, column 4. Corr"
        ):
            UCA(missing="em").fit(gapped[0], backgrounds={"b": infinite})
        empty = gapped[1].copy()
        empty[:, 5] = np.nan
        with pytest.raises(ValueError, match="background 'b' has no value in column 5: nothing can be estimated there"):
            UCA(missing="em").fit(gapped[0], backgrounds={"b": empty})
        with pytest.raises(ValueError, match="bound_on='new rows' is chosen on held-out rows without gaps"):
            UCA(missing="em", bound_on="new rows").fit(gapped[0], backgrounds=gapped[1])
        with pytest.raises(ValueError, match="path measures held-out rows, and values are missing"):
            SparseUCA(missing="em").path([2], gapped[0], backgrounds=gapped[1])

    def test_scores_of_what_is_not_missing_but_wrong(self, gapped):
        model = UCA(2, missing="em").fit(gapped[0], backgrounds=gapped[1])
        rows = gapped[0].copy()
        rows[7, 2] = np.inf
        with pytest.raises(ValueError, match="X contains 1 infinity .inf., the first at row 7, column 2"):
            model.transform(rows)
        with (
            pytest.raises(ValueError, match="X has values so large that their sum overflows"),
            np.errstate(over="ignore"),
        ):
            model.transform(np.vstack([gapped[0], np.full((1, 8), 1.7e308) * np.sign(model.components_[0])]))

    def test_matrices_that_do_not_fit(self, gapped, monkeypatch):
        monkeypatch.setattr("uca.operators.representations.estimated.matrices_fit", lambda p, n: False)
        with pytest.raises(MemoryError, match="missing='em' holds a 8 x 8 matrix for each of 2 datasets"):
            UCA(missing="em").fit(gapped[0], backgrounds=gapped[1])

    def test_streams_have_no_gaps(self, whole, gapped):
        model = UCA(missing="em").partial_fit(whole[0], backgrounds=whole[1])
        np.testing.assert_allclose(
            np.abs(model.components_), np.abs(UCA().fit(whole[0], backgrounds=whole[1]).components_), atol=1e-6
        )
        with pytest.raises(ValueError, match="NaN, .* pass all rows at once to fit with missing='em'"):
            UCA(missing="em").partial_fit(gapped[0])

    def test_distributed_rows_have_no_gaps(self, whole, gapped):
        da = pytest.importorskip("dask.array", reason="dask is not installed")

        with pytest.raises(ValueError, match="NaN, .* or fit rows in memory .* with missing='em'"):
            UCA(missing="em").fit(da.from_array(gapped[0], chunks=(30, 8)))
        assert UCA(missing="em").fit(da.from_array(whole[0], chunks=(30, 8))).law_ is None


class TestScores:
    @EACH
    def test_rows_without_gaps_have_the_same_scores(self, model, whole, gapped):
        fitted = with_em(model).fit(gapped[0], backgrounds=gapped[1])
        complete = ~np.isnan(gapped[0]).any(axis=1)
        assert complete.any()
        plain = (gapped[0][complete] - fitted.mean_) / fitted.scale_ @ fitted.components_.T
        np.testing.assert_allclose(fitted.transform(gapped[0])[complete], plain, atol=1e-12)
        # Products with other numbers of rows may round the last digit in another way.
        scores, alone = fitted.transform(gapped[0])[complete], fitted.transform(gapped[0][complete])
        np.testing.assert_allclose(scores, alone, rtol=1e-14, atol=1e-14)

    def test_rows_with_gaps_have_those_of_their_conditional_means(self, gapped):
        model = UCA(2, missing="em").fit(gapped[0], backgrounds=gapped[1])
        law, row = model.law_, gapped[0][np.isnan(gapped[0]).any(axis=1)][:1]
        gap = np.isnan(row[0])
        sigma = law.covariance
        weights = np.linalg.solve(sigma[np.ix_(~gap, ~gap)], sigma[np.ix_(~gap, gap)])
        filled = row.copy()
        filled[0, gap] = law.mean[gap] + (row[0, ~gap] - law.mean[~gap]) @ weights
        np.testing.assert_allclose(model.transform(row), model.transform(filled), atol=1e-9)

    def test_scores_are_nearer_to_the_truth_than_by_means(self, whole, gapped):
        model = UCA(1, missing="em").fit(gapped[0], backgrounds=gapped[1])
        incomplete = np.isnan(gapped[0]).any(axis=1)
        truth, found, by_means = (
            model.transform(rows[incomplete])
            for rows in (whole[0], gapped[0], np.where(np.isnan(gapped[0]), model.mean_, gapped[0]))
        )
        assert np.sum((found - truth) ** 2) < np.sum((by_means - truth) ** 2)

    def test_a_complete_target_can_score_rows_with_gaps(self, whole, gapped):
        model = UCA(2, missing="em").fit(whole[0], backgrounds=whole[1])
        assert np.isfinite(model.transform(gapped[0])).all()
        with pytest.raises(ValueError, match="X contains .* NaN"):
            UCA(2).fit(whole[0], backgrounds=whole[1]).transform(gapped[0])

    @EACH
    def test_copies_and_files_score_rows_with_gaps(self, model, gapped, tmp_path):
        pytest.importorskip("skops", reason="model files need skops")
        fitted = with_em(model).fit(gapped[0], backgrounds=gapped[1])
        expected = fitted.transform(gapped[0])
        loaded = uca.load(uca.save(fitted, tmp_path / "model.skops"))
        for copy in (loaded, pickle.loads(pickle.dumps(fitted))):
            np.testing.assert_array_equal(copy.transform(gapped[0]), expected)
        if hasattr(fitted, "certificate_"):
            assert loaded.certificate_.estimated

    def test_the_model_keeps_no_rows(self, gapped):
        model = UCA(2, missing="em").fit(gapped[0], backgrounds=gapped[1])
        sizes = [np.size(value) for value in (*vars(model).values(), *vars(model.law_).values())]
        assert max(sizes) <= 8 * 8

    def test_whitened_scores(self, gapped):
        plain, white = (
            UCA(2, missing="em", whiten=w).fit(gapped[0], backgrounds=gapped[1]).transform(gapped[0])
            for w in (False, True)
        )
        ratio = plain / white
        np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-9)


class TestElsewhere:
    def test_backgrounds_are_completed_by_their_own_law(self, gapped):
        model = UCA(2, missing="em").fit(gapped[0], backgrounds=gapped[1])
        own = background_in_fit(model, gapped[1])
        weights = (model.components_ * own.standard.factor).T
        squares = ((own.rows - own.standard.mean) @ weights) ** 2 + own.completed.along(weights)
        np.testing.assert_allclose(squares.sum(axis=0) / 79, model.background_variance_[:, 0], rtol=1e-4)
        assert problem_of_rows(model, gapped, 2).is_same_data()

    def test_plots(self, gapped):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        from uca import plotting

        model = UCA(2, missing="em").fit(gapped[0], backgrounds={"b": gapped[1]})
        ax = plotting.scores(model, gapped[0], backgrounds={"b": gapped[1]})
        drawn = np.vstack([part.get_offsets() for part in np.ravel(ax)[0].collections if len(part.get_offsets())])
        assert np.isfinite(np.asarray(drawn)).all()

    def test_a_report(self, gapped, tmp_path):
        pytest.importorskip("plotly", reason="plotly is not installed")
        model = UCA(2, missing="em").fit(gapped[0], backgrounds={"b": gapped[1]})
        page = model.report(tmp_path / "page.html", gapped[0], backgrounds={"b": gapped[1]}).read_text(encoding="utf-8")
        assert "estimated covariances (missing=" in page
        assert "only the fitted components are shown" not in page  # the slider knows the rows of the fit again
        infinite = gapped[1].copy()
        infinite[0, 0] = np.inf
        with pytest.raises(ValueError, match="background 'b' contains 1 infinity"):
            model.report(tmp_path / "page.html", gapped[0], backgrounds={"b": infinite})

    def test_a_comparison(self, gapped):
        from uca.comparison import compare

        results = {r.method: r for r in compare(gapped[0], {"b": gapped[1]}, missing="em")}
        assert results["UCA"].metrics["b"] == pytest.approx(1.0, abs=1e-3)
        assert results["cPCA++"].scores.shape == (90, 2)


class TestInference:
    def test_expected_squares_have_the_estimated_variance(self, gapped, rng):
        """What held-out rows measure is the covariance that a fit to them would have."""
        directions = np.linalg.qr(rng.normal(size=(8, 3)))[0]
        found = held_out(gapped, [np.arange(90), 100 + np.arange(80)], directions.T, center=True, scale=True)
        for j, rows in enumerate(gapped):
            variances = np.diag(directions.T @ correlations(rows) @ directions)
            # Far rows are pulled in by a little.
            np.testing.assert_allclose(np.exp(found.log_variance[j]), variances, rtol=0.1)
        part = scaled(gapped[0], completed_rows(gapped[0], "X"), center=True, pull=False)
        _, sigma = estimated(gapped[0])
        squares = part.squared_scores(directions)
        np.testing.assert_allclose(squares.sum(axis=0) / 89, np.diag(directions.T @ sigma @ directions), rtol=1e-4)
        image = part.image(part.scores(directions), directions)
        np.testing.assert_allclose(image / 89, sigma @ directions, atol=1e-3 * np.abs(sigma).max())

    def test_information_is_that_of_the_values_that_are_there(self, whole):
        """Along one feature, a row tells all or (features being independent) nothing."""
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(400, 3))
        rows[:100, 1] = np.nan
        part = scaled(rows, completed_rows(rows, "X"), center=True, pull=False)
        direction = np.eye(3)[:, 1:2]
        variance = part.squared_scores(direction).sum(axis=0) / 399
        np.testing.assert_allclose(part.information(direction, variance), 0.75, atol=0.02)
        plain = ScaledRows(whole[0], center=True, pull=False)
        assert plain.information(direction, variance) == 1.0

    def test_the_test_finds_what_is_there_and_needs_the_model_to_say_so(self, gapped):
        found = uniqueness_test(*gapped, n_components=2, n_splits=10, model=UCA(missing="em"), random_state=0)
        assert found.n_unique_ == 1
        assert found.means.n_large == 8
        with pytest.raises(ValueError, match=r"contains \d+ NaN.*or pass model=UCA\(missing='em'\)"):
            uniqueness_test(*gapped)
        with pytest.raises(ValueError, match=r"contains \d+ NaN.*choose_restriction"):
            choose_restriction(*gapped, model=UCA(missing="em"))

    def test_more_gaps_in_the_background_do_not_make_a_component_unique(self, rng):
        """One law; 5 % of the target's values are missing and 40 % of the background's. By means in the gaps, one in five
        such samples was called unique (docs/missing-values.md)."""
        loadings = rng.normal(size=(2, 10))
        target, background = (rng.normal(size=(60, 2)) @ loadings + rng.normal(size=(60, 10)) for _ in range(2))
        target[rng.random(target.shape) < 0.05] = np.nan
        background[rng.random(background.shape) < 0.4] = np.nan
        found = uniqueness_test(target, background, n_components=1, n_splits=10, model=UCA(missing="em"))
        assert found.n_unique_ == 0

    def test_rows_without_a_value_are_no_rows(self, gapped):
        more = np.vstack([gapped[0], np.full((3, 8), np.nan)])
        groups = [np.arange(93), None]
        found = uniqueness_test(more, gapped[1], n_components=1, n_splits=2, groups=groups, model=UCA(missing="em"))
        assert found.n_rows == (90, 80)

    def test_bootstrap_refits_by_em(self, whole, gapped):
        found = bootstrap(*gapped, n_components=1, n_resamples=20, model=UCA(missing="em"), random_state=0)
        complete = bootstrap(*whole, n_components=1, n_resamples=20, random_state=0)
        assert abs(found.model.components_[0] @ complete.model.components_[0]) > 0.95
        assert found.model.certificate_.estimated
        # Both speak of new rows; the gaps cost accuracy, not size.
        np.testing.assert_allclose(found.expected_variances, complete.expected_variances, rtol=0.25)

    def test_the_others(self, gapped):
        model = UCA(1, missing="em")
        left_out = expected_background_variance(*gapped, n_folds=5, model=model)
        assert 0.7 < left_out.expected[0, 0] < 1.6
        influence = background_influence(*gapped, model=model)
        assert influence.background_names == ("background1",)
        counted = estimate_n_components(*gapped, max_components=2, n_splits=2, n_permutations=5, model=model)
        assert counted.n_components_ <= 2


class TestProgram:
    @pytest.fixture
    def files(self, gapped, tmp_path, monkeypatch):
        pd = pytest.importorskip("pandas")
        pytest.importorskip("typer", reason="the program needs Typer: pip install '.[cli]'")
        pytest.importorskip("skops", reason="model files need skops: pip install '.[cli]'")
        monkeypatch.chdir(tmp_path)
        for name, rows in zip(("treated", "control"), gapped, strict=True):
            pd.DataFrame(rows, columns=[f"gene{i}" for i in range(8)]).to_csv(f"{name}.csv", index=False)
        return tmp_path

    def test_fit_and_transform(self, files, gapped):
        import pandas as pd
        from commands import good, run

        done = good("fit", "treated.csv", "-b", "control.csv", "--missing", "em", "-o", "out", "--no-report")
        assert "missing values" in done.stderr
        assert "left out of the estimates (em)" in done.stderr
        model = UCA(2, missing="em").fit(gapped[0], backgrounds=gapped[1])
        scores = pd.read_csv("out/scores.csv")[["UC1", "UC2"]].to_numpy()
        np.testing.assert_allclose(scores, model.transform(gapped[0]), atol=1e-6)
        summary = json.loads((files / "out/summary.json").read_text())
        assert summary["certificate"]["estimated"] is True
        assert summary["parameters"]["missing"] == "em"
        good("transform", "out", "control.csv", "--missing", "em", "-o", "control-scores.csv")
        found = pd.read_csv("control-scores.csv")[["UC1", "UC2"]].to_numpy()
        np.testing.assert_allclose(found, model.transform(gapped[1]), atol=1e-6)
        good("fit", "treated.csv", "-b", "control.csv", "--missing", "mean", "-o", "plain", "--no-report")
        refused = run("transform", "plain", "control.csv", "--missing", "em")
        assert refused.exit_code == 2
        assert "was fitted without it" in refused.stderr

    def test_test_and_compare(self, files):
        from commands import good

        tested = good(
            "test", "treated.csv", "-b", "control.csv", "--missing", "em", "-k", "1", "--splits", "2", "--json"
        )
        assert json.loads(tested.stdout)["parameters"]["missing"] == "em"
        compared = good("compare", "treated.csv", "-b", "control.csv", "--missing", "em", "--json")
        assert {row["method"] for row in json.loads(compared.stdout)["methods"]} >= {"PCA", "cPCA", "cPCA++", "UCA"}


@parametrize_with_checks([UCA(missing="em"), CPCAPlusPlus(missing="em", shrinkage=0.5)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


class TestWhatIsRefused:
    @pytest.mark.parametrize("spoilt", [np.inf, np.nan])
    def test_backgrounds_that_are_not_in_memory(self, gapped, spoilt):
        """A dask background is not looked at for gaps and infinities: beside a target with gaps it must not be taken."""
        array = pytest.importorskip("dask.array")
        background = gapped[1].copy()
        background[3, 3] = spoilt
        with pytest.raises(
            ValueError, match="background 'rest' is a dask collection: missing='em' takes rows in memory"
        ):
            UCA(missing="em").fit(gapped[0], backgrounds={"rest": array.from_array(background)})

    def test_drift_does_not_advise_what_was_done(self, gapped):
        model = UCA(missing="em").fit(gapped[0], backgrounds=gapped[1])
        with pytest.raises(ValueError, match="drift compares variances of complete rows.* leave out new rows") as told:
            uca.drift(model, gapped[0])
        assert "SimpleImputer" not in str(told.value)

    def test_the_held_out_half_says_whose(self, gapped):
        background = gapped[1].copy()
        background[:, 2] = np.nan
        subjects = [np.arange(len(rows)) for rows in gapped]
        with pytest.raises(ValueError, match="the held-out half of background 1 has no value in column 2"):
            held_out([gapped[0], background], subjects, np.eye(8)[:1], center=True, scale=True)


class TestSeldomTogether:
    def test_features_that_are_never_there_together(self, gapped):
        target = gapped[0].copy()
        target[:45, 3], target[45:, 4] = np.nan, np.nan
        with pytest.warns(
            UserWarning, match=r"target X has 1 pair of features .* fewer than 3 rows together, the first 3 and 4"
        ):
            UCA(missing="em").fit(target, backgrounds=gapped[1])

    def test_names_and_counts(self):
        rows = np.ones((9, 3))
        rows[2:, 0], rows[:2, 1] = np.nan, np.nan
        told = seldom_together(rows, ["a", "b", "c"])
        assert told.startswith("2 pairs of features with values in fewer than 3 rows together, the first 'a' and 'b'")
        assert seldom_together(rows[:, 1:], ["b", "c"]) is None
        assert seldom_together(np.ones((9, 3)), None) is None

    @pytest.mark.filterwarnings("ignore:target X has")
    @pytest.mark.filterwarnings("ignore:constant features")
    def test_a_feature_with_one_value_divides_nothing_by_zero(self, gapped):
        """Warnings are errors here: none of numpy's may come up."""
        target = gapped[0].copy()
        target[1:, 3], target[0, 3] = np.nan, 1.0
        model = UCA(missing="em").fit(target, backgrounds=gapped[1])
        assert np.isfinite(model.components_).all()
