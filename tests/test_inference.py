"""Inference: held-out variances, splits, the test and its result, number, bootstrap and leverage."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from needs import Optional
from scipy import sparse, stats
from scripts import need_benchmarks

import uca
from uca import UCA
from uca._subjects import folds, halves, resample
from uca.inference import (
    bootstrap,
    estimate_n_components,
    row_leverage,
    uniqueness_test,
)
from uca.inference.halvings import by_contrast
from uca.inference.heldout import FURTHEST, _error, _measure, held_out
from uca.inference.judged import spread
from uca.inference.leverage import leverage_of
from uca.inference.number import permute_columns
from uca.inference.optimism import (
    AllRows,
    average_variance,
    expected_variances,
    freedom_of,
    freedom_of_products,
    hold_out,
)
from uca.inference.rows import FAR, ScaledRows
from uca.inference.sample import check_sample
from uca.inference.stability import compare

pd = Optional("pandas")

P = 12
SHARED = np.repeat([[3.0, 0.0, 0.0]], [4, 5, 3], axis=1)
UNIQUE = np.repeat([[0.0, 2.0, 0.0]], [4, 5, 3], axis=1)


def study(rng, n=100, m=1, unique=1.0):
    target = rng.normal(size=(n, 1)) * SHARED + unique * rng.normal(size=(n, 1)) * UNIQUE + rng.normal(size=(n, P))
    return target, {f"b{j}": rng.normal(size=(n, 1)) * SHARED + rng.normal(size=(n, P)) for j in range(m)}


def orthonormal(rng, k, p=P):
    return np.linalg.qr(rng.normal(size=(p, k)))[0].T


def log_variances(rows, components, *, center, scale):
    """The same from whole matrices: log v'Sv of every dataset, scaled as a model scales."""
    out = []
    moments = [np.cov(part.T) if center else part.T @ part / (len(part) - 1) for part in rows]
    for moment in moments:
        deviation = np.ones(len(moment))
        if scale:
            deviation = np.sqrt(np.diag(moments[0] if scale == "target" else moment))
        matrix = moment / np.outer(deviation, deviation)
        out.append(np.log(np.einsum("kp,pq,kq->k", components, matrix, components)))
    return np.array(out)


def log_average(rows, *, center, scale):
    """log tr(A)/p."""
    moment = np.cov(rows.T) if center else rows.T @ rows / (len(rows) - 1)
    return 0.0 if scale else np.log(np.trace(moment) / len(moment))


class TestHeldOut:
    @pytest.mark.parametrize("scale", [True, "target", False])
    @pytest.mark.parametrize("center", [True, False])
    def test_variances_and_errors_against_brute_force(self, rng, scale, center):
        loadings = rng.normal(size=(2, P))
        rows = [rng.normal(size=(n, 2)) @ loadings + rng.normal(size=(n, P)) + 0.3 for n in (300, 400)]
        components = orthonormal(rng, 3)
        subjects = [np.arange(300), np.arange(1000, 1400)]
        got = held_out(rows, subjects, components, center=center, scale=scale)
        whole = log_variances(rows, components, center=center, scale=scale)
        # Where each dataset is scaled by itself, a few far rows are pulled in, and variances agree up to that.
        np.testing.assert_allclose(got.log_variance, whole, rtol=0, atol=0.06 if scale is True else 1e-9)
        # The jackknife, by leaving every row out and computing everything anew.
        changes = []
        for j in range(2):
            for i in range(len(rows[j])):
                less = [np.delete(part, i, axis=0) if d == j else part for d, part in enumerate(rows)]
                found = log_variances(less, components, center=center, scale=scale)
                average = log_average(less[0], center=center, scale=scale)
                changes.append(np.vstack([found, found[0] - found[1], found[0] - average]))
        beyond = whole[0] - log_average(rows[0], center=center, scale=scale)
        changes = np.array(changes) - np.vstack([whole, whole[0] - whole[1], beyond])
        error = np.sqrt((changes**2).sum(axis=0))
        np.testing.assert_allclose(got.error, error[:2], rtol=0.12 if scale is True else 0.03)
        z = np.clip(np.array([whole[0] - whole[1], beyond]) / error[2:], -8, 8)
        np.testing.assert_allclose(got.z, z, rtol=0.1, atol=0.25 if scale is True else 0.1)

    @pytest.mark.parametrize("scale", [True, "target", False])
    @pytest.mark.parametrize("center", [True, False])
    def test_sparse_rows_give_the_same(self, rng, scale, center):
        rows = [rng.standard_t(3, size=(n, P)) * (rng.random((n, P)) < 0.6) for n in (60, 50)]
        components, subjects = orthonormal(rng, 2), [np.arange(60), np.arange(100, 150)]
        dense = held_out(rows, subjects, components, center=center, scale=scale)
        thin = held_out([sparse.csr_matrix(part) for part in rows], subjects, components, center=center, scale=scale)
        for name in ("log_variance", "error", "z"):
            np.testing.assert_allclose(getattr(thin, name), getattr(dense, name), rtol=1e-9, atol=1e-9)

    def test_far_rows_are_pulled_in(self, rng):
        rows = rng.normal(size=(200, P))
        rows[0] = 1e4
        subjects = [np.arange(200), np.arange(200, 400)]
        everywhere = np.full((1, P), P**-0.5)
        others = rng.normal(size=(200, P))
        got = held_out([rows, others], subjects, everywhere, center=True, scale=True)
        assert (
            np.exp(got.log_variance[0, 0]) < 1 + 2 * FAR**2 * P / 200
        )  # untouched, it would be 12: all correlations are 1
        common = held_out([rows, others], subjects, everywhere, center=True, scale=False)
        np.testing.assert_allclose(np.exp(common.log_variance[0, 0]), np.var(rows @ everywhere[0], ddof=1), rtol=1e-9)

    def test_where_rows_are_pulled_in_the_smaller_z_counts(self, rng):
        # A factor in one row of ten of the background: pulled in, it is gone; the rows as they are show it.
        loadings = rng.normal(size=(1, P))
        active = (rng.random((300, 1)) < 0.1) * rng.normal(size=(300, 1)) / np.sqrt(0.1)
        rows = [2 * part @ loadings + rng.normal(size=(300, P)) for part in (rng.normal(size=(300, 1)), active)]
        subjects = [np.arange(300), np.arange(300, 600)]
        components = loadings / np.linalg.norm(loadings)
        pulled, plain = (
            _measure([ScaledRows(part, center=True, pull=pull) for part in rows], subjects, components, True)
            for pull in (True, False)
        )
        assert pulled.z[0, 0] > 2 > plain.z[0, 0]
        got = held_out(rows, subjects, components, center=True, scale=True)
        np.testing.assert_array_equal(got.z, np.minimum(pulled.z, plain.z))
        np.testing.assert_array_equal(got.log_variance, pulled.log_variance)

    def test_errors_count_subjects_not_rows(self, rng):
        rows = [rng.normal(size=(60, P)), rng.normal(size=(50, P))]
        components, subjects = orthonormal(rng, 2), [np.arange(60), np.arange(100, 150)]
        single = held_out(rows, subjects, components, center=True, scale=True)
        copies = held_out(
            [np.repeat(part, 5, axis=0) for part in rows],
            [np.repeat(codes, 5) for codes in subjects],
            components,
            center=True,
            scale=True,
        )
        np.testing.assert_allclose(copies.error, single.error, rtol=0.03)  # the divisor counts rows
        np.testing.assert_allclose(copies.z, single.z, rtol=0.05, atol=0.05)  # logs differ by the divisor

    @pytest.mark.parametrize("scale", [True, "target", False])
    def test_feature_that_is_constant_somewhere_counts_nowhere(self, rng, scale):
        rows = [rng.normal(size=(30, P)), rng.normal(size=(30, P))]
        rows[1][:, 0] = 4.0
        subjects = [np.arange(30), np.arange(30, 60)]
        components = orthonormal(rng, 2)
        got = held_out(rows, subjects, components, center=True, scale=scale)
        without = components.copy()
        without[:, 0] = 0.0
        same = held_out(rows, subjects, without, center=True, scale=scale)
        np.testing.assert_array_equal(got.z[0], same.z[0])
        alone = held_out(rows, subjects, np.eye(P)[:2], center=True, scale=scale)
        assert alone.z[0, 0] == 0.0
        assert np.isfinite(alone.log_variance).all()
        # As if the feature were not there, in the average direction too.
        fewer = held_out([part[:, 1:] for part in rows], subjects, components[:, 1:], center=True, scale=scale)
        np.testing.assert_allclose(got.z, fewer.z, rtol=1e-9, atol=1e-9)

    def test_nothing_varies(self):
        rows = [np.ones((10, 3)), np.zeros((10, 3))]
        got = held_out(rows, [np.arange(10), np.arange(10, 20)], np.eye(3)[:1], center=True, scale=True)
        assert np.all(got.z <= 0)

    def test_degrees_of_freedom_are_those_of_welch(self, rng):
        sizes = (12, 30)
        values = [rng.normal(size=(n, 1)) * 0.01 for n in sizes]
        values = [part - part.mean(axis=0) for part in values]
        codes = [np.arange(12), np.arange(100, 130)]
        for part, code, n in zip(values, codes, sizes, strict=True):
            assert _error([(code, part, 1)])[1] == pytest.approx(n - 1)
        terms = [part.var(ddof=1) / n for part, n in zip(values, sizes, strict=True)]
        welch = sum(terms) ** 2 / sum(term**2 / (n - 1) for term, n in zip(terms, sizes, strict=True))
        error, df, _ = _error([(codes[0], values[0], 1), (codes[1], values[1], -1)])
        assert error[0] == pytest.approx(sum(terms) ** 0.5, rel=0.02)
        assert df[0] == pytest.approx(welch, rel=0.05)

    def test_no_sample_claims_to_vary_less_than_all_do_together(self, rng):
        quiet, loud = 1e-6 * rng.normal(size=(6, 1)), 0.05 * rng.normal(size=(60, 1))
        parts = [(np.arange(6), quiet, 1), (np.arange(10, 70), loud, -1)]
        assert _error(parts, pooled=True)[0] > 2 * _error(parts)[0]
        rows = [rng.normal(size=(60, 1)), np.tile([[0.5], [-0.5]], (3, 1))]  # six rows that happen to be alike
        got = held_out(rows, [np.arange(60), np.arange(60, 66)], np.eye(1), center=True, scale=False)
        assert 1 < got.z[0, 0] < 4  # with errors of their own, 7

    def test_average_moves_with_the_component(self, rng):
        # A feature that holds nearly all variance is nearly three times the average, whatever the rows are.
        rows = [rng.normal(size=(60, 3)) * [10, 1, 1], rng.normal(size=(60, 3))]
        got = held_out(rows, [np.arange(60), np.arange(60, 120)], np.eye(3)[:1], center=True, scale=False)
        assert got.z[-1, 0] == FURTHEST

    def test_spread_covers_the_variance_of_the_mean(self):
        # Of a direction that does not depend on the split; ones that do vary less.
        found = []
        for seed in range(600):
            rng = np.random.default_rng(seed)
            rows = [rng.normal(size=(60, 4)) for _ in range(2)]
            subjects = (np.arange(60), np.arange(60, 120))
            direction, z = orthonormal(rng, 1, 4), []
            for _ in range(4):
                first = halves(subjects, rng)
                for side in (first, tuple(~part for part in first)):
                    taken = [part[chosen] for part, chosen in zip(rows, side, strict=True)]
                    codes = [part[chosen] for part, chosen in zip(subjects, side, strict=True)]
                    z.append(held_out(taken, codes, direction, center=True, scale=False).z[0])
            found.append(np.mean(z) / np.sqrt(spread(np.array(z), 60)))
        assert 0.5 < np.var(found) < 0.9

    def test_unequal_subjects_against_leaving_each_out(self, rng):
        sizes = [60, *[5] * 11]
        codes = [np.repeat(np.arange(12), sizes), np.repeat(np.arange(20, 32), sizes)]
        rows = [np.repeat(rng.normal(size=(12, P)), sizes, axis=0) + rng.normal(size=(115, P)) for _ in range(2)]
        components = orthonormal(rng, 2)
        got = held_out(rows, codes, components, center=True, scale=False)
        whole = log_variances(rows[:1], components, center=True, scale=False)[0]
        changes = [
            log_variances([rows[0][codes[0] != i]], components, center=True, scale=False)[0] - whole for i in range(12)
        ]
        error = np.sqrt(11 / 12 * np.sum(np.square(changes), axis=0))
        np.testing.assert_allclose(got.error[0], error, rtol=0.3)  # influences do not follow the mean

    def test_bias_of_a_small_background_is_taken_out(self):
        means = []
        for seed in range(150):
            rng = np.random.default_rng(seed)
            rows = [rng.normal(size=(200, P)), rng.normal(size=(6, P))]
            subjects = [np.arange(200), np.arange(200, 206)]
            means.append(held_out(rows, subjects, orthonormal(rng, 1), center=True, scale=False).z[0, 0])
        assert abs(np.mean(means)) < 0.25


class TestSubjects:
    def test_halves_keep_subjects_whole_across_datasets(self, rng):
        target, background = rng.integers(20, size=200), rng.integers(10, 35, size=150)
        sample = check_sample(rng.normal(size=(200, 3)), rng.normal(size=(150, 3)), [target, background])
        for seed in range(20):
            first = halves(sample.subjects, np.random.default_rng(seed))
            side = {}
            for codes, rows in zip(sample.subjects, first, strict=True):
                for code, row in zip(codes.tolist(), rows.tolist(), strict=True):
                    assert side.setdefault(code, row) == row
            assert abs(sum(side.values()) - len(side) / 2) <= 1

    def test_halves_are_even_and_random(self, rng):
        sample = check_sample(rng.normal(size=(101, 3)), rng.normal(size=(40, 3)))
        first = [halves(sample.subjects, np.random.default_rng(seed)) for seed in range(200)]
        assert {int(rows[0].sum()) for rows in first} == {50, 51}
        share = np.mean([rows[0] for rows in first], axis=0)
        assert 0.3 < share.min() < share.max() < 0.7

    def test_folds_hold_every_row_once_and_keep_subjects_whole(self, rng):
        subjects = (np.repeat(np.arange(12), 3), np.repeat(np.arange(8, 13), 2), np.array([30, 31, 32, 33]))
        dealt = folds(subjects, 10, rng)
        assert len(dealt) == 10
        for j, codes in enumerate(subjects):
            sides = np.stack([fold[j] for fold in dealt])
            np.testing.assert_array_equal(sides.sum(axis=0), 1)
            assert sides.any(axis=1).sum() >= min(4, len(set(codes)))
        for subject in range(13):  # in one fold, in whatever dataset
            inside = {i for i, fold in enumerate(dealt) for j in (0, 1) if fold[j][subjects[j] == subject].any()}
            assert len(inside) == 1
        assert max(len(np.unique(subjects[2][fold[2]])) for fold in dealt) == 1
        assert len(folds(subjects[2:], 10, rng)) == 4  # no empty ones

    def test_resamples_draw_whole_subjects(self, rng):
        groups = np.repeat(np.arange(12), 5)
        sample = check_sample(rng.normal(size=(60, 3)), rng.normal(size=(30, 3)), [groups, None])
        target, background = resample(sample.subjects, np.random.default_rng(0))
        counts = np.bincount(target, minlength=60).reshape(12, 5)
        assert (counts == counts[:, :1]).all()
        assert counts[:, 0].sum() == 12
        assert len(background) == 30

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            ([["a"] * 3, None], "3 labels for target X, which has 40 rows"),
            ([range(40), [f"{i}" for i in range(20, 50)]], "groups has the labels 20 and '20', which look the same"),
            ([np.arange(40)], "1 sequences for 2 datasets"),
            ({"nobody": np.arange(40)}, "the datasets are 'target' and"),
            (np.arange(7), "groups has 7 labels"),
            ([np.repeat([1, 2], 20), None], "target X has 2 groups; at least 8"),
            ([pd.array([1] * 39 + [pd.NA], dtype="Int64"), None], "missing labels"),
            ([np.ones((40, 2)), None], r"one label per row; got an array of shape \(40, 2\)"),
            ([[None] * 40, None], "missing labels"),
            ({"target": np.arange(40)}, r"no labels for \['b'\]: give them, or None where rows are independent"),
            ([np.full(40, np.nan), None], "missing labels"),
            ([pd.Series([pd.NaT] * 40), None], "missing labels"),
            ([np.ma.array(np.arange(40), mask=np.arange(40) == 3), None], "groups of target X has missing labels"),
            (np.ma.array(np.arange(70), mask=np.arange(70) == 50), "groups of background 'b' has missing labels"),
        ],
    )
    def test_wrong_groups(self, rng, groups, message):
        with pytest.raises(ValueError, match=message):
            uniqueness_test(rng.normal(size=(40, 3)), {"b": rng.normal(size=(30, 3))}, groups=groups)

    def test_forms_of_groups_mean_the_same(self, rng):
        target, backgrounds = study(rng, n=40, m=2)
        a, b, c = (np.arange(40) // 4 + 100 * j for j in range(3))
        forms = [
            [a, b, c],
            {"target": a, "b0": b, "b1": c},
            (a, {"b0": b, "b1": c}),
            np.concatenate([a, b, c]),
            [pd.Series(a), b.tolist(), [f"{x}" for x in c]],
        ]
        found = [uniqueness_test(target, backgrounds, n_components=1, n_splits=3, groups=form) for form in forms]
        assert {test.n_subjects for test in found} == {(10, 10, 10)}
        assert len({test.pvalues[0] for test in found}) == 1
        column = uniqueness_test(target, backgrounds, n_components=1, n_splits=3, groups=[a[:, np.newaxis], b, c])
        assert column.pvalues[0] == found[0].pvalues[0]
        numbers = uniqueness_test(
            target, dict(enumerate(backgrounds.values())), n_components=1, n_splits=3, groups={"target": a, 0: b, 1: c}
        )
        assert numbers.n_subjects == (10, 10, 10)
        some = {"target": a, "b0": None, "b1": c}
        assert uniqueness_test(target, backgrounds, n_splits=1, groups=some).n_subjects == (10, 40, 10)
        with pytest.warns(UserWarning, match="labels for the target alone"):
            alone = uniqueness_test(target, backgrounds, n_components=1, n_splits=3, groups=a)
        assert alone.n_subjects == (10, 40, 40)
        assert "b0 40 rows" in alone.sentence

    def test_name_of_a_column_is_not_groups(self, rng):
        with pytest.raises(TypeError, match="must hold labels of rows"):
            uniqueness_test(rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), groups="mouse")

    def test_background_called_target(self, rng):
        target, background = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
        with pytest.raises(ValueError, match="give groups as a list"):
            uniqueness_test(target, {"target": background}, groups={"target": np.arange(20)})


class TestUniqueness:
    def test_finds_what_is_planted_and_only_that(self, rng):
        target, backgrounds = study(rng)
        test = uniqueness_test(target, backgrounds, n_components=3)
        assert test.n_unique_ == 1
        assert test.pvalues[0] < 0.001
        assert np.all(np.diff(test.pvalues) >= 0)
        assert test.low[0, 0] > test.high[0, 1]
        assert "UC1 varies more in the target than in the background" in test.sentence
        assert "UC2: p = " in test.sentence
        assert str(test).endswith(test.sentence)

    def test_every_background_counts(self, rng):
        target, backgrounds = study(rng, m=2)
        assert uniqueness_test(target, backgrounds, n_components=1).n_unique_ == 1
        again, _ = study(rng)  # the target's own law
        test = uniqueness_test(target, {**backgrounds, "again": again}, n_components=1)
        assert test.n_unique_ == 0
        assert test.background_pvalues[0].argmax() == 2
        assert test.pvalues[0] == max(*test.background_pvalues[0], test.average_pvalues[0])
        assert "'again'" in test.sentence

    def test_noise_target_beside_structured_background(self, rng):
        # Along most directions the noise varies more than the background, in its own units; it is not unique.
        background = rng.normal(size=(200, 2)) @ rng.normal(scale=2, size=(2, P)) + rng.normal(size=(200, P))
        target = rng.normal(size=(200, P))
        test = uniqueness_test(target, background, n_components=2)
        assert test.n_unique_ == 0
        assert test.average_pvalues[0] > 0.05
        # Genes that nobody expresses make no direction exceed the average.
        target, background = (np.hstack([rows, np.zeros((200, 3 * P))]) for rows in (target, background))
        wide = uniqueness_test(target, background, n_components=2)
        assert wide.n_unique_ == 0
        assert wide.average_pvalues[0] > 0.05

    def test_features_that_only_the_target_has_are_told(self, rng):
        target, control = (rng.normal(size=(100, P)) for _ in range(2))
        target[:, 8:] += 5 * rng.normal(size=(100, 1))
        control[:, 8:] = 0.0
        test = uniqueness_test(target, control, n_components=1)
        assert test.kept[0] < 0.2
        assert "% of it lies in features that are constant in some dataset" in test.sentence
        other, backgrounds = study(rng)
        test = uniqueness_test(other, backgrounds, n_components=1)
        assert test.kept[0] == 1
        assert "constant" not in test.sentence

    def test_table_is_plain(self, rng):
        target, backgrounds = study(rng, m=2)
        test = uniqueness_test(target, backgrounds, n_components=2, n_splits=2)
        row = json.loads(json.dumps(test.table))[0]
        assert row["component"] == 1
        assert row["unique"] is True
        assert row["variance in b1"] == [test.variances[0, 2], test.low[0, 2], test.high[0, 2]]
        assert row["p against b0"] == test.background_pvalues[0, 0]
        assert pd.DataFrame(test.table).shape == (2, 11)

    def test_names_of_backgrounds_cannot_hide_columns(self, rng):
        target, backgrounds = study(rng, m=2)
        named = dict(zip(("target", "average"), backgrounds.values(), strict=True))
        test = uniqueness_test(target, named, n_components=1, n_splits=2)
        assert test.table[0]["target variance"][0] == test.variances[0, 0]
        assert test.table[0]["variance in target"][0] == test.variances[0, 1]
        assert test.table[0]["p, average direction"] == test.average_pvalues[0]

    def test_same_for_any_number_of_workers(self, rng):
        target, backgrounds = study(rng, n=40)
        one = uniqueness_test(target, backgrounds, n_components=2, n_splits=4, random_state=3)
        two = uniqueness_test(target, backgrounds, n_components=2, n_splits=4, random_state=3, n_jobs=2)
        other = uniqueness_test(target, backgrounds, n_components=2, n_splits=4, random_state=4)
        np.testing.assert_array_equal(one.pvalues, two.pvalues)
        np.testing.assert_array_equal(one.variances, two.variances)
        assert not np.array_equal(one.pvalues, other.pvalues)

    def test_units_of_features_do_not_matter_where_each_dataset_is_scaled(self, rng):
        target, backgrounds = study(rng, n=60)
        units = 10.0 ** rng.integers(-3, 4, size=P)
        plain = uniqueness_test(target, backgrounds, n_components=1, n_splits=3)
        scaled = uniqueness_test(target * units + 5, {"b0": backgrounds["b0"] * 7 - 1}, n_components=1, n_splits=3)
        np.testing.assert_allclose(scaled.pvalues, plain.pvalues, rtol=1e-3)

    def test_containers_give_the_same(self, rng):
        target, backgrounds = study(rng, n=40)
        background = backgrounds["b0"]
        names = [f"g{i}" for i in range(P)]
        plain = uniqueness_test(target, background, n_components=1, n_splits=2)
        frames = uniqueness_test(
            pd.DataFrame(target, columns=names),
            pd.DataFrame(background, columns=names)[names[::-1]],
            n_components=1,
            n_splits=2,
        )
        thin = uniqueness_test(sparse.csc_matrix(target), sparse.coo_array(background), n_components=1, n_splits=2)
        assert frames.pvalues == plain.pvalues
        np.testing.assert_allclose(thin.pvalues, plain.pvalues, rtol=1e-5)

    @pytest.mark.parametrize("scale", [True, "target", False])
    @pytest.mark.parametrize("components", ["joint", "sequential"])
    def test_parameters_of_the_model_are_used(self, rng, scale, components):
        target, backgrounds = study(rng)
        model = UCA(n_components=7, scale=scale, components=components)
        test = uniqueness_test(target, backgrounds, n_components=2, n_splits=5, model=model)
        assert test.n_unique_ >= 1
        assert test.parameters == {
            "center": True,
            "scale": scale,
            "bound": "mean",
            "bound_on": "rows",
            "components": components,
        }
        assert not hasattr(model, "components_")  # nor fitted
        assert model.n_components == 7

    def test_one_halving_works(self, rng):
        target, backgrounds = study(rng)
        assert uniqueness_test(target, backgrounds, n_components=1, n_splits=1).n_unique_ == 1

    def test_fewest_rows(self, rng):
        with pytest.raises(ValueError, match="background 'background1' has 7 rows; at least 8 are needed"):
            uniqueness_test(rng.normal(size=(40, 3)), rng.normal(size=(7, 3)))
        test = uniqueness_test(rng.normal(size=(40, 3)), rng.normal(size=(8, 3)))
        assert len(test.pvalues) == 3  # as many as there are features
        assert "has 8 independent rows: few" in test.sentence

    def test_half_that_cannot_be_fitted(self, rng):
        target, background = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
        bound = 1.02 * np.linalg.eigvalsh(np.corrcoef(background.T))[0]
        UCA(bound=bound).fit(target, backgrounds=background)
        with pytest.raises(
            uca.InfeasibleBoundsError, match="cannot be fitted to a random half of the rows: no direction"
        ):
            uniqueness_test(target, background, n_components=1, model=UCA(bound=bound))

    def test_generator_and_equality(self, rng):
        target, backgrounds = study(rng, n=20)
        one, two = (
            uniqueness_test(target, backgrounds, n_splits=2, random_state=np.random.default_rng(5)) for _ in range(2)
        )
        np.testing.assert_array_equal(one.pvalues, two.pvalues)
        assert one != two
        assert len({one, two}) == 2

    def test_progress(self, rng, caplog):
        target, backgrounds = study(rng, n=20)
        with caplog.at_level("INFO", logger="uca"):
            uniqueness_test(target, backgrounds, n_components=1, n_splits=20, alpha=0.999, verbose=True)  # all are open
        for told, work in ((caplog.messages[:10], "halvings"), (caplog.messages[10:], "exchanges of labels")):
            assert told[-1] == f"20 of 20 {work}"
            assert len(told) == 10
            assert re.fullmatch(rf"2 of 20 {work}, about \d+ (s|min) left", told[0])

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"alpha": 1.0}, ValueError, "alpha must lie between 0 and 1"),
            ({"alpha": "5%"}, TypeError, "alpha must be a number"),
            ({"n_splits": 0}, ValueError, "n_splits must be at least 1"),
            ({"n_components": 13}, ValueError, "n_components=13 is more than n_features=12"),
            ({"model": "UCA"}, TypeError, "model must be a UCA"),
            ({"backgrounds": None}, ValueError, "pass at least one"),
        ],
    )
    def test_wrong_parameters(self, rng, change, error, message):
        target, backgrounds = study(rng, n=20)
        with pytest.raises(error, match=message):
            uniqueness_test(target, **{"backgrounds": backgrounds, **change})

    def test_missing_values_are_counted_before_any_split(self, rng):
        target, backgrounds = study(rng, n=20)
        backgrounds["b0"][7, 2] = np.nan
        with pytest.raises(ValueError, match=r"background 'b0' contains 1 NaN, the first at row 7, column 2"):
            uniqueness_test(target, backgrounds)

    def test_dask_is_refused(self, rng):
        array = pytest.importorskip("dask.array", reason="pip install 'unique-component-analysis[dask]'")
        with pytest.raises(TypeError, match=r"pass \.compute\(\)"):
            uniqueness_test(array.ones((20, 3)), rng.normal(size=(20, 3)))

    def test_import_on_use(self):
        assert uca.inference.uniqueness_test is uniqueness_test


class TestNumber:
    def test_two_planted(self, rng):
        directions = orthonormal(rng, 2)
        target = 3 * rng.normal(size=(200, 2)) @ directions + rng.normal(size=(200, P))
        found = estimate_n_components(target, rng.normal(size=(200, P)), max_components=4, n_permutations=20)
        assert (found.n_components_, found.n_screened_) == (2, 2)
        assert found.n_components_ == found.test.n_unique_
        assert "They agree" in found.sentence
        assert [row["unique"] for row in found.table] == [True, True, False, False]
        assert str(found).endswith(found.sentence)

    def test_none_in_noise_and_default_number(self, rng):
        found = estimate_n_components(rng.normal(size=(80, 5)), rng.normal(size=(80, 5)), n_splits=5)
        assert (found.n_components_, len(found.eigenvalues)) == (0, 5)

    def test_by_contrast_against_numpy(self, rng):
        target, backgrounds = study(rng, m=2)
        model = UCA(n_components=4).fit(target, backgrounds=backgrounds)
        a, *others = (np.corrcoef(rows.T) for rows in (target, *backgrounds.values()))
        contrast = [v @ a @ v - max(v @ b @ v for b in others) for v in model.components_]
        order = by_contrast(model)
        assert order.tolist() == np.argsort(contrast)[::-1].tolist()
        assert order.tolist() != [0, 1, 2, 3]

    def test_a_shared_factor_between_unique_components(self):
        # Shared factors as large as the unique ones, and multipliers near zero: joint components mix them in any order.
        rng = np.random.default_rng(2)
        shared, unique = np.vsplit(3 * orthonormal(rng, 5, 30), [2])
        target, control = (rng.normal(size=(400, 2)) @ shared + rng.normal(size=(400, 30)) for _ in range(2))
        target += rng.normal(size=(400, 3)) @ unique
        model = uniqueness_test(target, control)
        counted = uniqueness_test(target, control, order="contrast")
        assert (model.n_unique_, counted.n_unique_) == (1, 3)
        assert "counted by their contrast" in counted.sentence
        assert "contrast" not in model.sentence
        assert estimate_n_components(target, control, n_permutations=5).n_components_ == 3
        np.testing.assert_array_equal(
            uniqueness_test(target, control, n_components=1).pvalues, model.pvalues[:1]
        )  # of the model's order, the first alone is the same however many are tested
        with pytest.raises(ValueError, match="order must be one of 'model', 'contrast'; got 'size'"):
            uniqueness_test(target, control, order="size")

    def test_is_the_test_with_the_same_seed(self, rng):
        target, backgrounds = study(rng, n=60)
        options = {"n_splits": 2, "random_state": 3}
        found = estimate_n_components(target, backgrounds, max_components=4, n_permutations=5, **options)
        test = uniqueness_test(target, backgrounds, n_components=4, order="contrast", **options)
        np.testing.assert_array_equal(found.test.pvalues, test.pvalues)
        groups = np.arange(60) // 2
        with pytest.warns(UserWarning, match="labels for the target alone") as told:
            estimate_n_components(target, backgrounds, max_components=1, groups=groups, n_permutations=5, **options)
        assert [Path(warning.filename).name for warning in told] == ["test_inference.py"]

    @pytest.mark.parametrize("p", [3, 6])
    def test_defaults_of_a_sequential_model(self, rng, p):
        target, background, model = rng.normal(size=(80, p)), rng.normal(size=(80, p)), UCA(components="sequential")
        assert len(uniqueness_test(target, background, model=model, n_splits=2).pvalues) == p // 2
        assert len(estimate_n_components(target, background, model=model, n_splits=2).eigenvalues) == p // 2
        for wrong in (0, p + 1):
            with pytest.raises(ValueError, match="max_components"):
                estimate_n_components(target, background, max_components=wrong)

    def test_thresholds_against_numpy(self, rng):
        target, backgrounds = study(rng, n=150)
        found = estimate_n_components(target, backgrounds, max_components=3, n_splits=1, n_permutations=200)
        model = UCA(n_components=3).fit(target, backgrounds=backgrounds)
        np.testing.assert_allclose(found.eigenvalues, model.eigenvalues_, rtol=1e-4)
        background = np.corrcoef(backgrounds["b0"].T)
        values = [
            np.linalg.eigvalsh(np.corrcoef(rng.permuted(target, axis=0).T) - model.lambdas_[0] * background)[::-1][:3]
            for _ in range(300)
        ]
        np.testing.assert_allclose(found.thresholds, np.quantile(values, 0.95, axis=0), rtol=0.06)

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
    def test_permuted_columns_keep_their_values(self, rng, kind):
        rows = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.5)
        out = permute_columns(kind(rows), np.random.default_rng(0))
        dense = out.toarray() if sparse.issparse(out) else out
        np.testing.assert_array_equal(np.sort(dense, axis=0), np.sort(rows, axis=0))
        assert not np.array_equal(dense, rows)


def assert_estimates_inside(found):
    """No interval excludes its own estimate."""
    for value, low, high in (
        (found.model.components_, found.loadings_low, found.loadings_high),
        (found.model.lambdas_, found.lambdas_low, found.lambdas_high),
        (found.expected_variances, found.expected_low, found.expected_high),
    ):
        given = ~np.isnan(low)
        assert np.all((low <= value) & (value <= high), where=given)


def ends_of(found):
    return found.expected_variances[0, 0], found.expected_low[0, 0], found.expected_high[0, 0]


class TestBootstrap:
    def test_multipliers_by_hand(self, rng):
        """Square roots, and a spread that is larger the fewer background rows are left."""
        need_benchmarks()
        from benchmarks.inference.coverage import LAWS

        target, background = LAWS["300 target rows, 60 background rows"](rng).rows(rng)
        found = bootstrap(target, background, n_components=1, n_resamples=40)
        value, used = found.model.lambdas_[0], found.model.rows_used_[0]
        assert value > 0
        assert used > 1
        distance = np.sqrt(np.mean((np.sqrt(found.lambdas[:, 0]) - np.sqrt(value)) ** 2))
        reach = stats.t.ppf(0.975, freedom_of_products(60)) * distance / (1 - used / 59)
        np.testing.assert_allclose(found.lambdas_high[0], (np.sqrt(value) + reach) ** 2)
        np.testing.assert_allclose(found.lambdas_low[0], max(np.sqrt(value) - reach, 0) ** 2)

    def test_multipliers_where_rows_used_are_not_known(self, rng):
        target, backgrounds = study(rng, n=50)
        target[3, 1] = np.nan
        found = bootstrap(target, backgrounds, n_components=1, n_resamples=20, model=UCA(missing="em"))
        assert found.model.rows_used_ is None
        assert_estimates_inside(found)
        assert not np.isnan(found.lambdas_low).any()

    def test_same_for_any_number_of_workers(self, rng):
        target, backgrounds = study(rng, n=50)
        one = bootstrap(target, backgrounds, n_resamples=20, random_state=1)
        two = bootstrap(target, backgrounds, n_resamples=20, random_state=1, n_jobs=2)
        same = ("cosines", "subspace_cosines", "loadings_low", "loadings_error", "lambdas", "variances", "expected_low")
        for name in same:
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))

    def test_errors_are_those_of_new_samples(self):
        draws, found = [], []
        for seed in range(60):
            target, backgrounds = study(np.random.default_rng(seed), n=200)
            draws.append(UCA(n_components=1).fit(target, backgrounds=backgrounds).components_[0])
            if seed < 5:
                found.append(bootstrap(target, backgrounds, n_components=1, n_resamples=60).loadings_error[0])
        ratio = np.mean(found, axis=0) / np.std(draws, axis=0)
        assert 0.85 < np.mean(ratio) < 1.2
        assert 0.6 < ratio.min() < ratio.max() < 2.0

    def test_reliable_features(self):
        wrong = right = 0
        for seed in range(20):
            target, backgrounds = study(np.random.default_rng(seed), n=200)
            found = bootstrap(target, backgrounds, n_components=1, n_resamples=40)
            right += found.reliable[0, 4:9].sum()
            wrong += found.reliable[0, 9:].any()
        assert right >= 95  # of 100
        assert wrong <= 4  # at most one in twenty for all features together; 4 of 20 has a chance of 1.6 %

    def test_intervals_and_tables(self, rng):
        target, backgrounds = study(rng, n=150, m=2)
        columns = [f"g{i}" for i in range(P)]
        frames = {name: pd.DataFrame(rows, columns=columns) for name, rows in backgrounds.items()}
        found = bootstrap(pd.DataFrame(target, columns=columns), frames, n_resamples=40)
        assert found.stability_[0] > 0.95
        assert_estimates_inside(found)
        assert set(found.reliable_features(0)[:5]) == {f"g{i}" for i in range(4, 9)}
        crossing = (found.loadings_low <= 0) & (found.loadings_high >= 0)
        assert not found.reliable[crossing].any()
        low, high = found.interval(found.lambdas)
        np.testing.assert_allclose([low, high], np.percentile(found.lambdas, [2.5, 97.5], axis=0))
        row = json.loads(json.dumps(found.table, allow_nan=False))[0]
        assert row["reliable features"] == int(found.reliable[0].sum())
        assert row["target variance, these rows"] == pytest.approx(found.model.explained_variance_[0])
        assert row["variance in b1, new rows"] == [
            pytest.approx(part[0, 2]) for part in (found.expected_variances, found.expected_low, found.expected_high)
        ]
        for text in (
            "40 resamples",
            "target, these rows",
            "b1, new rows",
            "{:.3g} [{:.3g}, {:.3g}]".format(*ends_of(found)),
        ):
            assert text in str(found)
        assert found.n_unconverged == 0

    def test_signs_and_rotations(self, rng):
        components = orthonormal(rng, 3)
        cosines, spaces, turned = compare(components, -components[[1, 0, 2]])
        np.testing.assert_allclose(cosines, [0, 0, 1], atol=1e-9)
        np.testing.assert_allclose(spaces, [0, 1, 1], atol=1e-9)
        np.testing.assert_allclose(turned["rotation"] @ -components[[1, 0, 2]], components, atol=1e-12)
        flipped = components * [[-1], [1], [-1]]
        np.testing.assert_allclose(compare(components, flipped)[2]["sign"] @ flipped, components, atol=1e-12)

    def test_little_is_reliable_in_noise_however_many_components(self, rng):
        target, background = rng.normal(size=(60, 6)), rng.normal(size=(60, 6))
        found = bootstrap(target, background, n_components=6, n_resamples=40)
        assert found.reliable.mean() < 0.2  # a bootstrap takes the sample's components for the law's, so it is not 5 %
        turned = bootstrap(target, background, n_components=6, n_resamples=40, align="rotation")
        assert turned.loadings_error.max() < 1e-5  # the whole space turns back: why this is not the default

    def test_components_of_noise_are_not_found_again(self):
        # One factor is unique, one is shared; beyond them there is noise.
        target, backgrounds = study(np.random.default_rng(0), n=60)
        found = bootstrap(target, backgrounds, n_components=5, n_resamples=30)
        assert found.found_again[0]
        assert found.loadings_low[0, 4] > 0 or found.loadings_high[0, 4] < 0
        crossing = ~((found.loadings_low > 0) | (found.loadings_high < 0))  # or no interval
        assert not found.reliable[crossing].any()
        lost = ~found.found_again
        assert lost.any()
        assert (found.stability_[lost] < 0.8).any()
        assert np.isnan(found.loadings_low[lost]).all()
        assert np.isnan(found.expected_high[lost, 0]).all()
        assert np.isfinite(found.expected_variances).all()
        assert np.isfinite(found.expected_high[:, 1:]).all()
        first = int(np.flatnonzero(lost)[0])
        assert f"UC{first + 1}" in str(found)
        assert "not found again" in str(found)

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
    @pytest.mark.parametrize("scale", [True, "target", False])
    def test_variances_of_all_rows_are_those_of_the_fit(self, rng, scale, kind):
        target, backgrounds = study(rng, n=40, m=2)
        sample = check_sample(kind(target), {name: kind(rows) for name, rows in backgrounds.items()})
        for center in (True, False):
            model = sample.fit(UCA(scale=scale, center=center))
            rows = AllRows.of(sample, model)
            found = rows.variances(rows.sums_of_squares(model.components_))
            np.testing.assert_allclose(found[:, 0], model.explained_variance_, rtol=1e-8)
            np.testing.assert_allclose(found[:, 1:], model.background_variance_, rtol=1e-8)
            spread = np.trace(np.cov(target.T)) if center else (target**2).sum() / (len(target) - 1)
            if not scale:
                assert average_variance(model) == pytest.approx(spread / P)

    def test_held_out_rows_against_fits_by_hand(self, rng):
        target, backgrounds = study(rng, n=30)
        sample = check_sample(target, backgrounds)
        model = sample.fit(UCA())
        stream = np.random.SeedSequence(3)
        found = hold_out(stream, sample, model, AllRows.of(sample, model), None)
        again = np.random.default_rng(stream)
        z = [(rows - rows.mean(axis=0)) / rows.std(axis=0, ddof=1) for rows in sample.arrays]
        tenths = [fold for _ in range(2) for fold in folds(sample.subjects, 10, again)]
        halved = [fold for _ in range(5) for fold in folds(sample.subjects, 2, again)]
        sums, logs = np.zeros((2, 2)), []
        for fold in [*tenths, *halved]:
            parts = [rows[~side] for rows, side in zip(sample.arrays, fold, strict=True)]
            vectors = UCA().fit(parts[0], backgrounds=parts[1]).components_
            squares = np.array(
                [((rows[side] @ vectors.T) ** 2).sum(axis=0) for rows, side in zip(z, fold, strict=True)]
            ).T
            if fold[0].sum() <= 4:  # a tenth of the 60 subjects
                sums += squares / 2
            else:
                logs.append(np.log(squares[:, 0] / (fold[0].sum() - 1)))
        np.testing.assert_allclose(found.variances, sums / 29, rtol=1e-5)
        np.testing.assert_allclose(found.above_average, np.mean(logs, axis=0), rtol=1e-5)
        assert found.n_unconverged == 0

    def test_optimism_is_taken_out(self):
        # One component, one background; in every resample the target shows 20 % more than in all rows.
        spread = np.exp([[[-0.1, 0.0]], [[0.1, 0.0]]])
        whole = np.full((2, 1, 2), 2.0)
        found = expected_variances(
            np.array([[3.0, 1.0]]), np.array([[2.0, 1.0]]), 1.2 * whole * spread, whole, np.array([[18.0], [10.0]]), 0.9
        )
        middle = np.sqrt(3.0 / 1.2 * 2.0)
        error = np.hypot(0.1 * np.sqrt(1 + 9 / 18), np.log(3.0 / 1.2 / 2.0) / 2)
        assert found.value[0, 0] == pytest.approx(middle)
        assert found.error[0, 0] == pytest.approx(error)
        assert found.high[0, 0] == pytest.approx(middle * np.exp(stats.t(10).ppf(0.95) * error))
        assert found.low[0, 1] == pytest.approx(found.value[0, 1] * np.exp(-stats.t(10).ppf(0.95) * found.error[0, 1]))
        nothing = expected_variances(
            np.array([[3.0, 0.0]]), np.array([[2.0, 0.5]]), whole, whole, np.array([[10.0], [10.0]]), 0.9
        )
        assert nothing.value[0, 1] == 0.5
        assert np.isnan([nothing.low[0, 1], nothing.high[0, 1]]).all()

    def test_degrees_of_freedom(self, rng):
        assert freedom_of_products(41) == 10.0
        assert (freedom_of_products(9), freedom_of_products(4)) == (4.0, 3.0)
        squares, subjects = rng.normal(size=(400, 3)) ** 2, np.repeat(np.arange(40), 10)
        for codes, sums in ((np.arange(400), squares), (subjects, squares.reshape(40, 10, 3).sum(axis=1))):
            kurtosis = stats.kurtosis(sums, axis=0, fisher=False)
            np.testing.assert_allclose(
                freedom_of(squares, codes), np.clip(2 * len(sums) / (kurtosis - 1), 4, len(sums) - 1)
            )
        heavy = rng.standard_t(5, size=(400, 3)) ** 2
        assert np.all(freedom_of(heavy, np.arange(400)) < freedom_of(squares, np.arange(400)))
        assert freedom_of(np.ones((9, 1)), np.arange(9))[0] == 8.0  # nothing varies

    def test_groups_widen_intervals_of_repeated_rows(self, rng):
        def repeated():
            between = rng.normal(size=(15, 1)) * SHARED + rng.normal(size=(15, P))
            return np.repeat(between, 8, axis=0) + 0.2 * rng.normal(size=(120, P))

        target, background = repeated(), repeated()
        groups = [np.repeat(np.arange(15), 8), np.repeat(np.arange(15, 30), 8)]
        alone = bootstrap(target, background, n_components=1, n_resamples=40)
        told = bootstrap(target, background, n_components=1, n_resamples=40, groups=groups)
        assert told.loadings_error.mean() > 1.5 * alone.loadings_error.mean()
        wide, narrow = (np.log(one.expected_high / one.expected_low)[0, 1] for one in (told, alone))
        assert wide > 1.5 * narrow
        assert_estimates_inside(told)
        assert_estimates_inside(alone)

    @pytest.mark.parametrize(
        ("change", "message"),
        [({"n_resamples": 5}, "at least 20"), ({"level": 1.0}, "level must be a number between")],
    )
    def test_wrong_parameters(self, rng, change, message):
        with pytest.raises(ValueError, match=message):
            bootstrap(rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), **change)

    def test_resample_that_cannot_be_fitted(self, rng):
        target = np.zeros((30, 1))
        target[0, 0] = 1.0  # a resample has no such row once in three
        with pytest.raises(ValueError, match="cannot be fitted to resampled rows: the target X has no variance"):
            bootstrap(target, rng.normal(size=(30, 1)), n_components=1)


class TestLeverage:
    def test_shares_of_variance(self, rng):
        target, backgrounds = study(rng)
        model = UCA().fit(target, backgrounds=backgrounds)
        found = row_leverage(model, target)
        scores = model.transform(target)
        np.testing.assert_allclose(found.leverage, scores**2 / (scores**2).sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.leverage.sum(axis=0), 1)
        assert not found.few.any()
        assert found.warnings == []
        assert "No component depends on only a few rows" in str(found)

    def test_component_carried_by_three_rows(self, rng):
        target, backgrounds = study(rng, unique=0.0)
        target[[5, 20, 33], 10:] += [[40, -40], [38, -38], [42, -42]]
        model = UCA(n_components=2).fit(target, backgrounds=backgrounds)
        found = row_leverage(model, target)
        assert found.few[0]
        assert set(found.outlying(0)) <= {5, 20, 33}
        rows = found.outlying(0)
        share = 100 * found.leverage[rows, 0].sum()
        told = (
            f"{len(rows)} of 100 rows ({', '.join(map(str, rows))}) have {share:.0f} % of its variance in the target."
        )
        assert found.warnings[0] == f"UC1 depends on only a few rows: {told}"
        ids = [f"m{i}" for i in range(100)]
        assert found.warnings_about(ids, "UC")[0].startswith(
            f"UC1 depends on only a few rows: {len(rows)} of 100 rows (m"
        )

    @pytest.mark.parametrize(("n", "rows", "few"), [(10, 1, True), (20, 1, True), (40, 2, True), (39, 2, False)])
    def test_few_in_small_targets(self, n, rows, few):
        scores = np.ones((n, 1))
        scores[:rows] = np.sqrt((n - rows) / rows)  # these hold exactly half
        found = leverage_of(scores, center=False)
        assert (found.n_half[0], found.few[0]) == (rows, few)
        assert found.outlying(0).tolist() == (list(range(rows)) if few else [])

    def test_model_that_gives_tables(self, rng):
        target, backgrounds = study(rng)
        model = UCA().fit(target, backgrounds=backgrounds)
        wanted = row_leverage(model, target).leverage
        np.testing.assert_array_equal(row_leverage(model.set_output(transform="pandas"), target).leverage, wanted)

    def test_half_is_carried_by_one_normal_row_in_eight(self, rng):
        found = leverage_of(rng.normal(size=(20_000, 1)))
        bound = stats.chi2(3).median() ** 0.5  # E[z^2; |z| > c] is half at this c
        assert found.n_half[0] / 20_000 == pytest.approx(2 * stats.norm.sf(bound), rel=0.05)

    def test_constant_scores(self):
        found = leverage_of(np.zeros((30, 1)))
        np.testing.assert_allclose(found.leverage, 1 / 30)
        assert not found.few[0]

    def test_wrong_input(self, rng):
        with pytest.raises(TypeError, match="must be a fitted CPCA, CPCAPlusPlus, UCA or SparseUCA"):
            row_leverage("model", rng.normal(size=(5, 2)))


def test_summary_points_to_the_test(rng):
    target, backgrounds = study(rng)
    text = str(UCA().fit(target, backgrounds=backgrounds).summary())
    assert "uca.inference.uniqueness_test" in text
    assert "uniqueness_test" not in str(UCA().fit(target).summary())
