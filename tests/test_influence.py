"""What each background contributes: fits by hand, chance by rows that are dealt out anew, verdicts and words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse, stats

import uca
from uca import UCA
from uca._subjects import deal
from uca.inference import background_influence
from uca.inference.exchange import drawn_again, share_as_far
from uca.inference.sample import check_sample

P = 12
SHARED = np.repeat([[3.0, 0.0, 0.0]], [4, 5, 3], axis=1)
UNIQUE = np.repeat([[0.0, 2.0, 0.0]], [4, 5, 3], axis=1)


def study(rng, n=100, m=1, unique=1.0):
    target = rng.normal(size=(n, 1)) * SHARED + unique * rng.normal(size=(n, 1)) * UNIQUE + rng.normal(size=(n, P))
    return target, {f"b{j}": rng.normal(size=(n, 1)) * SHARED + rng.normal(size=(n, P)) for j in range(m)}


def test_against_fits_by_hand(rng):
    target, backgrounds = study(rng, m=3)
    found = background_influence(target, backgrounds)
    full = UCA().fit(target, backgrounds=backgrounds)
    assert found.value == pytest.approx(full.certificate_.upper, rel=1e-9)
    for j, name in enumerate(backgrounds):
        rest = {key: rows for key, rows in backgrounds.items() if key != name}
        part = UCA().fit(target, backgrounds=rest)
        assert found.values[j] == pytest.approx(part.certificate_.upper, rel=1e-9)
        others = [i for i in range(3) if i != j]
        np.testing.assert_allclose(found.lambdas_without[j, others], part.lambdas_, atol=1e-6)
        assert np.isnan(found.lambdas_without[j, j])
        assert found.cosines[j] == pytest.approx(abs(full.components_[0] @ part.components_[0]), abs=1e-6)
    pooled = UCA().fit(target, backgrounds=uca.pool(*backgrounds.values()))
    assert found.pooled_value == pytest.approx(pooled.certificate_.upper, rel=1e-9)
    assert len(json.loads(json.dumps(found.table, allow_nan=False))) == 4
    assert "all pooled" in str(found)
    json.dumps(background_influence(target, backgrounds, n_resamples=0).table, allow_nan=False)


def test_redundant_decisive_and_replaceable(rng):
    target, backgrounds = study(rng, n=300, unique=0.5)
    other = rng.normal(size=(300, P))  # noise: no bound is active beside the structured background
    found = background_influence(target, {"control": backgrounds["b0"], "noise": other}, n_components=1)
    assert found.decisive == ["control"]
    assert found.verdict("noise") in ("redundant", "replaceable")
    assert "Decisive in these rows, without it the components rotate by more than 26 degrees" in found.sentence
    assert found.verdict("nobody") == ""
    twice = background_influence(target, {"a": backgrounds["b0"], "b": backgrounds["b0"].copy()})
    assert set(twice.replaceable) | set(twice.redundant) == {"a", "b"}
    assert twice.decisive == []


def test_redundant_has_no_multiplier(rng):
    target, backgrounds = study(rng, n=300)
    quiet = rng.normal(size=(300, P))
    bounds = {"b0": 1.0, "quiet": 50.0}  # a bound that is never reached
    found = background_influence(target, {**backgrounds, "quiet": quiet}, model=UCA(bound=bounds))
    assert found.redundant == ["quiet"]
    assert found.values[1] == pytest.approx(found.value, rel=1e-9)
    assert "Multiplier 0 in these rows, changes nothing there: 'quiet'" in found.sentence
    assert (found.gain_pvalues[1], found.turn_pvalues[1]) == (1.0, 1.0)


def test_later_components_count(rng):
    # The first component respects both bounds without help; the second does not.
    a, b = rng.normal(size=(300, P)), rng.normal(size=(300, P))
    target = 3 * rng.normal(size=(300, 2)) @ np.eye(P)[:2] * [1.0, 0.9, *[0.0] * 10] + rng.normal(size=(300, P))
    b[:, 1] *= 3
    model = UCA(components="sequential", scale=False, bound=2.0)
    found = background_influence(target, {"a": a, "b": b}, model=model)
    assert found.lambdas[1] == pytest.approx(0, abs=1e-6)
    assert found.subspace_cosines[1] < 0.9
    assert (found.redundant, found.decisive) == (["a"], ["b"])


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_units_of_backgrounds_do_not_matter(rng, factor):
    target, backgrounds = study(rng, n=300, unique=0.5)
    others = {"control": factor * backgrounds["b0"], "noise": factor * rng.normal(size=(300, P))}
    found = background_influence(target, others, n_components=1, model=UCA(scale=False))
    assert "control" in found.decisive
    assert found.redundant == []


def test_fits_that_stop_early_are_told(rng):
    target, backgrounds = study(rng, m=3)
    assert background_influence(target, backgrounds).n_unconverged == 0
    found = background_influence(target, backgrounds, model=UCA(max_iter=1, representation="implicit"))
    assert found.n_unconverged > 0
    assert f"{found.n_unconverged} of the fits did not reach the tolerance" in found.sentence


def test_pool_that_keeps_no_bound(rng):
    target, b = rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    a = rng.normal(size=(200, 1)) + 0.1 * rng.normal(size=(200, 3))  # nearly one factor: small bounds can be kept
    found = background_influence(target, {"a": a, "b": b}, n_components=1, model=UCA(bound=[0.05, 5.0]))
    assert np.isnan(found.pooled_value)
    assert [row["left out"] for row in found.table] == ["a", "b"]
    assert "Pooled, they leave no direction that respects the smallest of the bounds" in found.sentence
    assert str(found).endswith(found.sentence)


def test_two_of_one_law_can_be_left_out():
    """The promise is 5 %; what is drawn and what is decided are independent of it."""
    mattered = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, 3])
        loadings = rng.normal(size=(2, 8))
        target, a, b = (rng.normal(size=(60, 2)) @ loadings + rng.normal(size=(60, 8)) for _ in range(3))
        found = background_influence(target, {"a": a, "b": b + 3.0}, n_components=1, random_state=seed)
        mattered += 2 - len(found.redundant) - len(found.replaceable)
    assert mattered <= stats.binom(16, 0.05).ppf(0.999)


def test_chance_by_hand(rng):
    target, backgrounds = study(rng, n=40, m=3)
    sample = check_sample(target, backgrounds)
    full = UCA(1).fit(target, backgrounds=backgrounds)
    stream = np.random.SeedSequence(7)
    gain, cosine = drawn_again((0, 2, stream), sample, full, UCA(1), None)
    a, b1, b2 = ((rows - rows.mean(0)) / rows.std(0, ddof=1) for rows in backgrounds.values())
    order = np.random.default_rng(stream).permutation(np.setxor1d(sample.subjects[1], sample.subjects[3]))
    first = np.isin(np.concatenate([sample.subjects[1], sample.subjects[3]]), order[:40])
    both = np.vstack([a, b2])
    before = UCA(1).fit(target, backgrounds=[both[first], b1, both[~first]])
    after = UCA(1).fit(target, backgrounds=[b1, both[~first]])
    assert gain == pytest.approx(after.certificate_.upper / before.certificate_.upper - 1, abs=1e-8)
    assert cosine == pytest.approx(abs(after.components_[0] @ before.components_[0]), abs=1e-6)


def test_p_values_count_the_draws_that_go_as_far():
    null = np.array([0.0, 0.1, 0.2, 0.3, np.nan])
    assert share_as_far(null, 0.2) == 3 / 5
    assert share_as_far(null, 0.5) == 1 / 5
    assert share_as_far(null, 0.0) == 1.0


def test_the_one_that_takes_its_place(rng):
    target, backgrounds = study(rng, n=200)
    noise = rng.normal(size=(200, P))
    others = {"a": backgrounds["b0"], "noise": noise, "again": backgrounds["b0"] + 0.05 * rng.normal(size=(200, P))}
    found = background_influence(target, others, n_components=1, n_resamples=0)
    used = ["a", "again"][int(found.lambdas[2] > found.lambdas[0])]  # of two that are nearly equal, one has the weight
    assert found.takes_place[list(others).index(used)] == {"a": "again", "again": "a"}[used]
    assert background_influence(target, backgrounds, n_resamples=0).takes_place == (None,)


def test_verdicts_without_resamples_are_about_these_rows(rng):
    target, backgrounds = study(rng, n=100, m=2)
    found = background_influence(target, backgrounds, n_resamples=0)
    assert np.isnan(found.gain_pvalues).all()
    assert "Sampling error was not assessed (n_resamples=0)" in found.sentence
    assert "in these rows" in found.sentence
    assert "p, gain" not in str(found)


def test_same_seed_same_result_for_any_workers_and_for_sparse_rows(rng):
    target, backgrounds = study(rng, n=40, m=2)
    options = {"n_components": 1, "random_state": 3}
    one = background_influence(target, backgrounds, **options)
    two = background_influence(target, backgrounds, **options, n_jobs=2)
    rows = {name: sparse.csr_array(part) for name, part in backgrounds.items()}
    thin = background_influence(target, rows, **options)
    for other in (two, thin):
        np.testing.assert_array_equal(one.gain_pvalues, other.gain_pvalues)
        np.testing.assert_array_equal(one.turn_pvalues, other.turn_pvalues)


def test_whole_subjects_are_dealt_out(rng):
    a, b = np.repeat([0, 1, 2, 9], 3), np.repeat([5, 6, 7, 8, 9], 2)
    codes, crossed = np.concatenate([a, b]), set()
    for _ in range(60):
        first, second = deal((a, b), rng)
        assert sorted([*first, *second]) == list(range(22))
        sides = [set(codes[part]) for part in (first, second)]
        assert sides[0] & sides[1] == {9}  # who occurs in both still does, with one of the two sets of rows
        assert [len(side) for side in sides] == [4, 5]
        nine = [np.sum(codes[part] == 9) for part in (first, second)]
        assert nine in ([3, 2], [2, 3])
        crossed.add((tuple(nine), tuple(sorted(sides[0]))))
    assert len(crossed) > 20


def test_repeated_rows_need_groups():
    """Six nearly equal rows a subject: without groups, chance seems small, and samples of one law seem to matter."""
    counted = {"with": 0, "without": 0}
    for seed in range(5):
        rng = np.random.default_rng([seed, 11])
        loadings = rng.normal(size=(2, 6))
        tables = [
            np.repeat(rng.normal(size=(10, 2)) @ loadings + rng.normal(size=(10, 6)), 6, axis=0) for _ in range(3)
        ]
        target, a, b = (table + 0.1 * rng.normal(size=table.shape) for table in tables)
        groups = [np.repeat(np.arange(10) + 10 * i, 6) for i in range(3)]
        for name, given in (("with", groups), ("without", None)):
            found = background_influence(target, {"a": a, "b": b}, n_components=1, groups=given)
            counted[name] += 2 - len(found.redundant) - len(found.replaceable)
    assert counted["with"] <= stats.binom(10, 0.05).ppf(0.999)
    assert counted["without"] > counted["with"]


@pytest.mark.parametrize(("n", "error"), [(5, ValueError), (-1, ValueError), (40.5, ValueError), ("40", TypeError)])
def test_wrong_number_of_resamples(rng, n, error):
    with pytest.raises(error, match="n_resamples must be"):
        background_influence(rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), n_resamples=n)


def test_few_rows_will_do(rng):
    assert background_influence(rng.normal(size=(20, 3)), rng.normal(size=(3, 3))).background_names == ("background1",)


def test_one_background_leaves_pca(rng):
    target, backgrounds = study(rng)
    found = background_influence(target, backgrounds)
    assert found.values[0] == pytest.approx(np.linalg.eigvalsh(np.corrcoef(target.T))[-1])
    assert np.isnan(found.pooled_value)
    assert len(found.table) == 1
