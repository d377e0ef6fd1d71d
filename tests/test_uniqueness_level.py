"""What keeps the test of uniqueness honest: exchanged labels, the variance of the mean z, halvings, and cautions."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.inference import sceptic, truths
from scipy import sparse, stats

from uca import UCA, _memory
from uca.inference import halvings, stacked, uniqueness_test
from uca.inference.cautions import ALIKE, _neighbours, by_subject, copies
from uca.inference.halvings import MOST_SPLITS, OPEN, ROUND, measure, measure_halves, together
from uca.inference.heldout import held_out
from uca.inference.judged import errors_from_level, judge, spread
from uca.inference.parallel import streams
from uca.inference.relabelled import _as_z, _differences, _Layout, relabelled_z
from uca.inference.rows import ScaledRows
from uca.inference.sample import check_sample
from uca.inference.stacked import StackedRows
from uca.inference.uniqueness import model_of_halves


def studentised_by_hand(first, second, direction, scale):
    """Difference of log variances over its standard error, from influences that are written out row by row."""
    logs, terms = [], []
    for rows in (first, second):
        n = len(rows)
        centred = rows - rows.mean(axis=0)
        units = {True: rows.std(axis=0, ddof=1), False: np.ones(rows.shape[1]), "target": first.std(axis=0, ddof=1)}[
            scale
        ]
        z = (centred / units) @ direction
        variance = z @ z / (n - 1)
        influence = z**2 / variance
        if scale is True:
            covariance = (centred / units).T @ z / (n - 1)
            influence = influence - (centred / units) ** 2 @ (direction * covariance / variance)
        logs.append(np.log(variance))
        terms.append(np.sum((influence - influence.mean()) ** 2) / n**2)
    sizes = np.array([len(first), len(second)])
    together = np.sum(sizes**2 * terms) / sizes.sum()
    return (logs[0] - logs[1]) / np.sqrt(np.maximum(terms, together / sizes).sum())


def scaled_rows(arrays, scale):
    parts = [ScaledRows(rows, center=True, pull=False) for rows in arrays]
    for part in parts:
        part.factor = 1.0 / part.deviation if scale is True else np.ones(len(part.mean))
    return StackedRows(parts)


class TestExchangedLabels:
    @pytest.mark.parametrize("scale", [True, False])
    def test_statistic_of_the_data_against_numpy(self, rng, scale):
        first, second = rng.normal(size=(30, 5)) * 3 + 7, rng.standard_t(5, size=(18, 5))
        directions = np.linalg.qr(rng.normal(size=(5, 2)))[0]
        layout = _Layout.of([np.arange(30), np.arange(30, 48)])
        member = layout.second[:, np.newaxis].astype(float)
        got = _differences(scaled_rows((first, second), scale), layout, member, directions, scale)
        wanted = [studentised_by_hand(first, second, column, scale) for column in directions.T]
        np.testing.assert_allclose(got[0], wanted, rtol=1e-10)

    @pytest.mark.parametrize("scale", [True, "target", False])
    def test_statistic_is_studentised(self, scale):
        # Correlated features, so that scaling moves the variance along the direction: by whose rows must be known.
        factor, direction = np.linalg.cholesky([[1.0, 0.8], [0.8, 1.0]]).T, np.full((2, 1), 0.5**0.5)
        layout = _Layout.of([np.arange(60), np.arange(60, 90)])
        member = layout.second[:, np.newaxis].astype(float)
        values = []
        for seed in range(400):
            rng = np.random.default_rng(seed)
            rows = scaled_rows([rng.normal(size=(n, 2)) @ factor for n in (60, 30)], scale)
            values.append(_differences(rows, layout, member, direction, scale)[0, 0])
        assert 0.75 < np.std(values) < 1.25

    def test_statistic_of_exchanged_labels_against_numpy(self, rng):
        # In common units nothing but the mean is done beforehand, so exchanged rows can simply be taken.
        arrays = [rng.normal(size=(20, 4)), rng.normal(size=(12, 4))]
        direction = np.linalg.qr(rng.normal(size=(4, 1)))[0]
        layout = _Layout.of([np.arange(20), np.arange(20, 32)])
        member = layout.exchanged(6, rng)
        got = _differences(scaled_rows(arrays, False), layout, member, direction, False)[:, 0]
        rows = np.vstack([part - part.mean(axis=0) for part in arrays])
        wanted = [
            studentised_by_hand(rows[column == 0], rows[column == 1], direction[:, 0], False) for column in member.T
        ]
        np.testing.assert_allclose(got, wanted, rtol=1e-10)

    @pytest.mark.parametrize("scale", [True, "target", False])
    def test_a_feature_that_is_constant_in_a_new_dataset_counts_in_neither(self, rng, scale):
        arrays = [rng.normal(size=(20, 4)), rng.normal(size=(12, 4))]
        for part in arrays:
            part[:, 3] = 0.0
        arrays[0][:2, 3] = [1.0, -1.0]  # two rows make it vary
        direction = np.linalg.qr(rng.normal(size=(4, 1)))[0]
        layout = _Layout.of([np.arange(20), np.arange(20, 32)])
        member = layout.exchanged(12, rng)
        lacking = (member[0] == member[1]).tolist()  # both in one of the new datasets
        assert 0 < sum(lacking) < len(lacking)
        with_it, without = (
            _differences(
                StackedRows([ScaledRows(part[:, :width], center=True, pull=False) for part in arrays]),
                layout,
                member,
                direction[:width],
                scale,
            )[:, 0]
            for width in (4, 3)
        )
        np.testing.assert_allclose(with_it[lacking], without[lacking], rtol=1e-10)
        assert np.all(np.abs(with_it / without - 1)[~np.array(lacking)] > 1e-4)

    @pytest.mark.parametrize("scale", [True, "target", False])
    def test_many_rows_are_not_copied(self, rng, monkeypatch, scale):
        arrays = [rng.standard_t(5, size=(n, 6)) + 3 for n in (30, 20)]
        subjects = [np.repeat(np.arange(10), 3), np.arange(5, 25)]  # some in both
        directions = np.linalg.qr(rng.normal(size=(6, 2)))[0]
        found = []
        for cells in (2**22, 0):
            monkeypatch.setattr(stacked, "CELLS", cells)
            rows = [ScaledRows(part, center=True, pull=False) for part in arrays]
            found.append(relabelled_z(rows, subjects, directions, scale, np.random.default_rng(0)))
        np.testing.assert_allclose(*found, rtol=1e-9)

    @pytest.mark.parametrize("scale", [True, "target", False])
    def test_sparse_as_dense(self, rng, scale):
        arrays = [rng.poisson(1.0, size=(40, 6)).astype(float), rng.poisson(1.5, size=(25, 6)).astype(float)]
        subjects = [np.arange(40), np.arange(40, 65)]
        directions = np.linalg.qr(rng.normal(size=(6, 2)))[0]
        found = [
            relabelled_z(
                [ScaledRows(kind(rows), center=True, pull=False) for rows in arrays],
                subjects,
                directions,
                scale,
                np.random.default_rng(0),
            )
            for kind in (np.asarray, sparse.csr_matrix)
        ]
        np.testing.assert_allclose(*found, rtol=1e-9)

    def test_sparse_rows_far_from_zero(self, rng):
        arrays = [1e7 + rng.normal(size=(n, 4)) for n in (30, 20)]
        arrays[0][:, 3] = arrays[1][:, 3] = 5.0  # constant: nothing that sparse rows would have to be made dense for
        dense, light = (
            uniqueness_test(*[kind(rows) for rows in arrays], n_components=1, n_splits=2)
            for kind in (np.asarray, sparse.csr_matrix)
        )
        np.testing.assert_allclose(light.pvalues, dense.pvalues, rtol=1e-12)
        assert not ScaledRows(sparse.csr_matrix(arrays[0][:, 3:]), center=True, pull=False).dense
        assert ScaledRows(sparse.csr_matrix(arrays[0]), center=True, pull=False).dense

    def test_sparse_rows_that_do_not_fit_when_dense(self, rng, monkeypatch):
        monkeypatch.setattr(_memory, "available_bytes", lambda: 1e3)
        monkeypatch.setattr(_memory, "ALWAYS", 0.0)
        with pytest.raises(MemoryError, match="made dense"):
            ScaledRows(sparse.csr_matrix(1e7 + rng.normal(size=(30, 4))), center=True, pull=False)

    def test_subjects_stay_whole(self, rng):
        one, other = np.repeat(np.arange(8), 3), np.repeat(np.arange(5, 12), 2)  # 5, 6 and 7 are in both
        layout = _Layout.of([one, other])
        member = layout.exchanged(50, rng)
        codes = np.concatenate([one, other])
        n_second = []
        for column in member.T:
            sides = {code: set(column[codes == code]) for code in np.unique(codes)}
            assert all(len(sides[code]) == (2 if code in (5, 6, 7) else 1) for code in sides)
            n_second.append(sum(sides[code] == {1.0} for code in sides))
        assert set(n_second) == {4}  # as many single subjects as the second dataset has
        assert len(np.unique(member, axis=1).T) > 40

    def test_exact_where_both_have_one_law(self):
        # Whatever the law: a share of 5 % beyond 1.645, for a direction that does not depend on the rows.
        beyond = 0
        for seed in range(400):
            rng = np.random.default_rng(seed)
            draw = sceptic.cluster(rng, n=60, n_background=15, share=0.1, p=4)
            rows = [ScaledRows(part, center=True, pull=False) for part in (draw.target, draw.backgrounds[0])]
            direction = np.full((4, 1), 0.5)
            beyond += relabelled_z(rows, [np.arange(60), np.arange(60, 75)], direction, False, rng)[0] > 1.6449
        assert beyond <= stats.binom(400, 0.05).ppf(0.999)

    def test_a_rare_kind_that_the_background_lacks(self, rng):
        target, background = rng.normal(size=(100, 5)), rng.normal(size=(12, 5))
        target[:10] += 6.0
        direction = np.full((1, 5), 5**-0.5)
        subjects = [np.arange(100), np.arange(100, 112)]
        told = [
            held_out([target, background], subjects, direction, center=True, scale=False, rng=source).z[0, 0]
            for source in (None, np.random.default_rng(0))
        ]
        assert told[0] > 2.5  # a standard error knows only the rows that are there
        assert told[1] < 1.5  # 12 of 112 rows hold none of ten in a third of all exchanges

    def test_beyond_the_exchanged_values(self):
        others = np.linspace(-2, 2, 99)
        assert _as_z(0.0, others) == pytest.approx(0.0, abs=0.05)
        assert _as_z(2 * others[94], others) == pytest.approx(2 * 1.6449, rel=1e-3)
        assert _as_z(-5.0, others) < -2


class TestComponentsWhoseLabelsAreExchanged:
    """Those that could be called unique without it; the others keep their p-value, which is above OPEN."""

    def sample_and_model(self, rng, strength=3.0):
        target, background = rng.normal(size=(60, 6)), rng.normal(size=(50, 6))
        target[:, 0] *= strength
        sample = check_sample(target, {"a": background, "b": rng.normal(size=(40, 6))})
        return sample, model_of_halves(UCA(scale=False), 3, sample)

    def test_as_if_all_were(self, rng):
        sample, model = self.sample_and_model(rng)
        found = measure(sample, model, 4, 0.05, 0)
        none, every = (
            together([measure_halves(seed, sample, model, exchanged=n) for seed in streams(0, 4)]) for n in (0, 3)
        )
        here = int(np.sum(judge(none, sample).pvalues <= OPEN))
        assert 1 <= here < 3
        np.testing.assert_array_equal(found.z[:, :, :here], every.z[:, :, :here])
        np.testing.assert_array_equal(found.z[:, :, here:], none.z[:, :, here:])
        assert not np.array_equal(every.z[:, :-1, :here], none.z[:, :-1, :here])  # it matters
        np.testing.assert_array_equal(found.log_variance, every.log_variance)

    def test_verdicts_are_those_of_exchanging_all(self):
        for seed in range(12):
            sample, model = self.sample_and_model(np.random.default_rng(seed), 1.0 + seed / 6)
            found = judge(measure(sample, model, 3, 0.05, seed), sample).pvalues
            every = judge(together([measure_halves(i, sample, model, exchanged=3) for i in streams(seed, 3)]), sample)
            np.testing.assert_array_equal(found <= OPEN, every.pvalues <= OPEN)
            np.testing.assert_array_equal(found[found <= OPEN], every.pvalues[found <= OPEN])

    @pytest.mark.parametrize("order", ["model", "contrast"])
    def test_where_components_are_not_kept_halves_are_fitted_again(self, rng, order, monkeypatch):
        sample, model = self.sample_and_model(rng)
        kept = measure(sample, model, 3, 0.05, 0, order)
        monkeypatch.setattr(halvings, "KEPT", 0)
        np.testing.assert_array_equal(measure(sample, model, 3, 0.05, 0, order).z, kept.z)

    def test_all_that_the_level_concerns(self, rng):
        sample, model = self.sample_and_model(rng)
        every = together([measure_halves(seed, sample, model, exchanged=3) for seed in streams(0, 2)])
        np.testing.assert_array_equal(measure(sample, model, 2, 1 - 1e-9, 0).z, every.z)

    @pytest.mark.parametrize("seed", range(6))
    def test_made_up_for_in_halvings_that_went_before(self, seed, monkeypatch):
        # Rounds of one halving: what the first leaves open, later ones may not.
        monkeypatch.setattr(halvings, "ROUND", 1)
        monkeypatch.setattr(halvings, "MOST_SPLITS", 6)
        monkeypatch.setattr(halvings, "settled", lambda *_: False)
        sample, model = self.sample_and_model(np.random.default_rng(seed), 1.2)
        found = measure(sample, model, "auto", 0.05, seed)
        every = together([measure_halves(i, sample, model, exchanged=3) for i in streams(seed, 6)])
        could_be = judge(found, sample).pvalues <= OPEN
        np.testing.assert_array_equal(found.z[:, :, could_be], every.z[:, :, could_be])


class TestMeanOfHalves:
    def test_variance_is_at_most_that_of_the_proof(self):
        found = truths.limit(0.1, truths.Known({}, lambda results: None))
        half, other = found["0.5"], found["0.8"]
        assert half["bound"] == 0.5
        assert other["bound"] == pytest.approx(0.4096)
        # 400 draws: the standard error of a variance of 1/2 is 0.035.
        assert all(half[name] <= 0.5 + 0.12 for name in truths.RULES)
        assert half["a fixed direction"] == pytest.approx(0.5, abs=0.12)
        # Above one half a rule can do worse than a fixed direction.
        assert other["towards the training rows"] > 1.3 * other["a fixed direction"]

    def test_room(self, rng):
        z = rng.normal(size=(20, 2, 1))
        assert np.all(spread(z[:2], 10**9) == pytest.approx(1.0))
        assert np.all(spread(z, 10**9) >= 0.55 - 1e-9)
        assert np.all(spread(z, 8) == pytest.approx(1.75 * spread(z, 10**12)))
        assert np.all(spread(np.ones((20, 1, 1)), 10**12) == pytest.approx(1.0))  # all halves agree
        assert np.all(spread(10 * z, 10**12) > 10)


class TestHalvings:
    def test_more_near_the_level(self):
        rng = np.random.default_rng(0)
        target, background = rng.normal(size=(60, 8)), rng.normal(size=(60, 8))
        target[:, :2] += 2 * rng.normal(size=(60, 1))
        clear = uniqueness_test(target, background, n_components=1)
        assert clear.n_splits == ROUND
        assert clear.pvalues[0] < OPEN
        close = uniqueness_test(target, background, n_components=1, alpha=float(clear.pvalues[0]))
        assert ROUND < close.n_splits <= MOST_SPLITS
        assert close.pvalue_errors[0] < clear.pvalue_errors[0]
        ten = uniqueness_test(target, background, n_components=1, n_splits=10, alpha=float(clear.pvalues[0]))
        np.testing.assert_array_equal(ten.pvalues, clear.pvalues)  # the first ten halvings are the same
        assert "UC1 is a close call" in ten.sentence

    def test_error_is_that_of_seeds(self):
        rng = np.random.default_rng(1)
        target, background = rng.normal(size=(60, 6)) * [2, 1, 1, 1, 1, 1], rng.normal(size=(60, 6))
        tests = [uniqueness_test(target, background, n_components=1, n_splits=10, random_state=i) for i in range(40)]
        deviation = np.std([test.pvalues[0] for test in tests])
        assert deviation / 2 < np.mean([test.pvalue_errors[0] for test in tests]) < 2 * deviation

    def test_default_seed_is_zero(self, rng):
        target, background = rng.normal(size=(30, 5)), rng.normal(size=(30, 5))
        first, second = (
            uniqueness_test(target, background, n_splits=3, random_state=seed).pvalues for seed in (None, 0)
        )
        np.testing.assert_array_equal(first, second)

    @pytest.mark.parametrize("wrong", ["many", 0, 2.5])
    def test_wrong_number(self, rng, wrong):
        with pytest.raises((ValueError, TypeError), match="n_splits"):
            uniqueness_test(rng.normal(size=(30, 5)), rng.normal(size=(30, 5)), n_splits=wrong)


def cautions(draw, **options):
    model = UCA(scale=draw.scale)
    options = {"n_components": 1, "n_splits": 2, "groups": draw.groups, "model": model, **options}
    return uniqueness_test(draw.target, draw.backgrounds, **options).cautions


class TestCautions:
    @pytest.mark.parametrize("name", sceptic.CAUTIONED)
    def test_where_the_level_cannot_be_had(self, name):
        law = sceptic.CAUTIONED[name]
        words = "tails" if "series" not in name and "repeated" not in name else "Neighbouring rows"
        told = [any(words in text for text in cautions(law(np.random.default_rng(seed)))) for seed in range(20)]
        assert sum(told) >= stats.binom(20, 0.9).ppf(0.001)

    def test_none_for_plain_data(self):
        laws = [sceptic.HOLDS[name] for name in ("shared factors, scale=False", "shared factors, scale='target'")]
        told = [cautions(law(np.random.default_rng(seed))) for law in laws for seed in range(15)]
        words = [text for found in told for text in found if "tails" in text or "Neighbouring" in text]
        assert len(words) <= 2

    def test_blocks_as_groups_end_the_caution(self):
        draw = sceptic.series(np.random.default_rng(0), n=480, p=6, memory=0.8, blocks=24)
        assert not any("Neighbouring" in text for text in cautions(draw))

    def test_autocorrelation_against_its_standard_error(self):
        # Independent rows in any order: beyond ALIKE in one of some thousand.
        far = [_neighbours(np.random.default_rng(i).standard_t(3, size=(80, 5)))[1] for i in range(100)]
        assert np.mean(np.array(far) > ALIKE) < 0.01
        assert _neighbours(np.sin(np.arange(100) / 5)[:, np.newaxis])[1][0] > ALIKE

    def test_means_of_subjects_in_order_of_appearance(self):
        means = by_subject(np.array([[1.0], [3.0], [10.0], [5.0]]), np.array([7, 7, 2, 7]))
        np.testing.assert_allclose(means, [[3.0], [10.0]])

    def test_a_few_extreme_rows(self, rng):
        target, background = rng.normal(size=(100, 8)), rng.normal(size=(100, 8))
        target[:5] += 15.0
        test = uniqueness_test(target, background, n_components=1, n_splits=4)
        assert test.n_unique_ == 1
        assert "UC1 depends on only a few rows" in test.sentence

    def test_settings_that_were_not_studied(self, rng):
        rows = rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
        test = uniqueness_test(*rows, n_splits=1, model=UCA(center=False, components="sequential"))
        assert "not studied by simulation for center=False and components='sequential'" in test.sentence

    def test_settings_that_were_not_studied_in_this_test_of_new_rows(self, rng):
        rows = rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
        test = uniqueness_test(*rows, n_splits=1, n_components=1, model=UCA(bound_on="new rows"))
        assert "not studied by simulation for bound_on='new rows'." in test.sentence

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, lambda rows: rows.astype(np.float32)])
    def test_copies_in_any_order(self, rng, make):
        target, background = rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
        target[rng.permutation(40)[:8]] = target[3]
        test = uniqueness_test(make(target), {"b": make(background)}, n_splits=1)
        twice = 40 - len(np.unique(target, axis=0))
        assert (
            f"{twice} of 40 rows of the target are copies of other rows: they are not independent, and p-values are too "
            "small. Remove copies, or give groups."
        ) in test.cautions
        assert "count as independent" not in test.sentence

    def test_copies_that_are_none(self, rng):
        whole = rng.integers(0, 2, size=(60, 3))
        assert copies(whole) == 0  # they agree by chance
        assert copies(whole + 0.5) > 40
        rows = rng.normal(size=(60, 3))
        rows[7] = rows[5]
        test = uniqueness_test(rows, rng.normal(size=(60, 3)), n_splits=1)
        assert test.rows.copies == (1, 0)  # one in sixty changes nothing
        assert not any("copies" in text for text in test.cautions)
        again = np.repeat(rows[:20], 2, axis=0)
        told = uniqueness_test(again, again, groups=[np.arange(40) // 2] * 2, n_splits=1)
        assert not any("copies" in text for text in told.cautions)  # of one subject

    def test_rows_count_as_independent(self, rng):
        target, background = rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
        alone = uniqueness_test(target, background, n_splits=1)
        assert "Rows count as independent: if several belong to one subject, give groups." in alone.sentence
        grouped = uniqueness_test(target, background, n_splits=1, groups=[np.arange(40) // 2, np.arange(40) // 2 + 50])
        assert "independent: " not in grouped.sentence

    def test_one_feature(self, rng):
        test = uniqueness_test(5 * rng.normal(size=(60, 1)), rng.normal(size=(60, 1)), model=UCA(scale=False))
        assert test.n_unique_ == 0
        assert any("With one feature" in text and "scipy.stats.levene" in text for text in test.cautions)


def test_more_than_the_background_but_not_than_the_average(rng):
    """All directions of the target vary as much: none of them stands out, and the sentence says which half was shown."""
    test = uniqueness_test(5 * rng.normal(size=(60, 5)), rng.normal(size=(60, 5)), model=UCA(scale=False), n_splits=5)
    assert test.n_unique_ == 0
    assert test.background_pvalues[0, 0] < 0.001
    assert test.sentence.startswith(
        "UC1 varies more in the target than in the background, on rows held out of the fit, but"
    )
    assert (
        "more than an average direction of the target could not be shown, so it is not called unique (" in test.sentence
    )


def test_errors_from_the_level_are_those_of_deviates_below_it_and_of_p_above():
    # z = 2.17 with an error of 0.25 (as p: 0.015 and 0.0095) is 2.1 errors from 1.645, not 3.7.
    z, error = 2.17, 0.25
    p, its = stats.norm.sf(z), stats.norm.pdf(z) * error
    assert errors_from_level(p, its, 0.05) == pytest.approx((z - stats.norm.isf(0.05)) / error)
    p, its = stats.norm.sf(1.2), stats.norm.pdf(1.2) * error
    assert errors_from_level(p, its, 0.05) == pytest.approx((p - 0.05) / its)
    assert errors_from_level(0.0, 0.0, 0.05) == np.inf
    assert errors_from_level(0.04, np.nan, 0.05) == np.inf


def test_differences_in_means_are_told(rng):
    treated, control = rng.normal(size=(40, 10)), rng.normal(size=(40, 10))
    treated[:, :3] += 6.0
    test = uniqueness_test(treated, {"control": control}, n_components=1, n_splits=2)
    assert test.n_unique_ == 0
    assert "Means differ by 1 SD or more in 3 of 10 features between the target and 'control'" in test.sentence
    assert "t-test" in test.sentence


def test_words(rng):
    target, background = rng.normal(size=(50, 6)), rng.normal(size=(50, 6))
    test = uniqueness_test(target, background, n_components=4, n_splits=2)
    assert test.n_unique_ == 0
    assert test.sentence.startswith("For no component could it be shown that it varies more in the target")
    assert "each dataset standardised by its own SD, on rows held out of the fit" in test.sentence
    assert "UC2 to UC4 were not judged" in test.sentence
    assert [test.verdict(i) for i in range(4)] == ["not shown", "not judged", "not judged", "not judged"]
    assert [row["verdict"] for row in test.table] == [test.verdict(i) for i in range(4)]
