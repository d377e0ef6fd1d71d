"""The quick version of the simulation study (``make study`` is the full one): levels, power, rivals, the command itself.

What takes long is marked slow: ``make test-slow``.

Repetitions are few, so limits are those that a right test exceeds once in a thousand runs; seeds are fixed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.inference import coverage, laws, newrows, option, pages, rivals, sceptic, study
from scipy import linalg, stats

from uca import UCA, solve_dual
from uca.inference import uniqueness_test

N = 40
ALL = {**laws.NULLS, **sceptic.HOLDS, **sceptic.CAUTIONED}
QUICK = {
    "10 % in a far cluster, 200 and 20 rows",
    "shared factors, scale=False",
    "8 rows",
    "noise",
    "shared factors",
    "heavy tails (t3)",
    "400 target rows, 12 background rows",
    "repeated rows, 16 and 9 subjects, groups given",
}
SLOWER = {  # with `make test-slow`; all of the study with `make study`
    "5 % of rows in a far cluster, 200 and 30 rows",
    "factors in one row of ten, 200 and 20 rows",
    "counts, 80 % zeros, 200 and 80 rows",
    "paired subjects, groups given",
    "shared factors, 2 backgrounds",
    "weakened copy",
    "structure in the background only",
    "400 target rows, 40 background rows",
    "p > n: 60 rows, 150 features",
    "rare binary features, 400 and 40 rows",
}


HARD = (
    "shared factors",
    "heavy tails (t3)",
    "400 target rows, 40 background rows",
    "400 target rows, 12 background rows",
)


@cache
def rejections(name):
    law, count = ALL[name], 0
    for seed in range(N):
        draw = law(np.random.default_rng([seed, 9]))
        test = uniqueness_test(
            draw.target,
            draw.backgrounds,
            n_components=1,
            n_splits=4,
            groups=draw.groups,
            random_state=seed,
            model=UCA(scale=draw.scale),
        )
        count += test.n_unique_
    return count


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in sorted(QUICK | SLOWER)]
)
def test_level(name):
    assert rejections(name) <= stats.binom(N, 0.06).ppf(0.999)


@pytest.mark.slow
def test_level_where_it_is_hardest_to_keep():
    # Together they tell what 40 draws of one do not: 5 % would be 8 of 160.
    assert sum(map(rejections, HARD)) <= stats.binom(N * len(HARD), 0.06).ppf(0.999)


@pytest.mark.slow
def test_level_of_counting():
    # The half that fits the components orders them too; ordered by held-out variances, a third of these would be rejected.
    count = 0
    for seed in range(N):
        draw = laws.same_law(np.random.default_rng([seed, 9]), n=100, n_background=100, p=8, factors=0)
        options = {"n_components": 8, "n_splits": 4, "order": "contrast", "random_state": seed}
        count += uniqueness_test(draw.target, draw.backgrounds, **options).n_unique_ > 0
    assert count <= stats.binom(N, 0.06).ppf(0.999)


def test_without_groups_repeated_rows_look_unique():
    assert rejections("repeated rows, groups NOT given") > 0.25 * N


@pytest.mark.slow
def test_power_beside_a_plain_split():
    ours = plain = 0
    for seed in range(N):
        draw = laws.planted(np.random.default_rng([seed, 3]), n=100, p=20, strength=2.5)
        ours += uniqueness_test(draw.target, draw.backgrounds, n_components=1, random_state=seed).n_unique_
        plain += rivals.f_test(draw.target, draw.backgrounds[0], np.random.default_rng(seed)) <= 0.05
    assert ours >= 0.7 * N
    assert ours > plain


def test_intervals_cover_the_variances_of_the_directions():
    # What is covered: the variance, in the law itself, along the directions that halves choose; nearly the planted one.
    strength, p, inside = 4.0, 10, 0
    direction = np.full(p, p**-0.5)
    for seed in range(N):
        rng = np.random.default_rng([seed, 4])
        target = rng.normal(size=(300, p)) + strength * rng.normal(size=(300, 1)) * direction
        test = uniqueness_test(target, rng.normal(size=(300, p)), n_components=1, n_splits=4, random_state=seed)
        covariance = np.eye(p) + strength**2 * np.outer(direction, direction)
        truth = direction @ covariance @ direction / covariance[0, 0]
        inside += (test.low[0] <= [truth, 1.0]) & ([truth, 1.0] <= test.high[0])
    assert np.all(inside >= stats.binom(N, 0.92).ppf(0.001))


def bootstrapped(monkeypatch, law, n=N):
    monkeypatch.setattr(coverage, "RESAMPLES", 40)
    rows = [coverage.repetition(law, [seed, 6]) for seed in range(n)]
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


@pytest.mark.slow
def test_intervals_of_a_bootstrap_cover(monkeypatch):
    found = bootstrapped(monkeypatch, lambda rng: coverage.planted(rng, 100, 12))
    assert found["estimate outside"].sum() == 0
    assert found["given"].mean() > 0.8
    for name in ("target", "background", "lambda"):
        given = found[name][~np.isnan(found[name])]
        assert given.sum() >= stats.binom(len(given), 0.92).ppf(0.001), name
    assert np.nanmean(found["loadings"]) > 0.88  # 12 of a sample hang together: as sure as 3 that do not
    # Percentiles of resamples, which are optimistic twice, do not pass.
    assert found["target, percentiles"].sum() < stats.binom(N, 0.92).ppf(0.001)
    assert found["false reliable"].sum() <= stats.binom(N, 0.05).ppf(0.999)
    assert np.nanmean(found["reliable, large"]) > 0.5


@pytest.mark.slow
def test_little_is_reliable_in_noise(monkeypatch):
    found = bootstrapped(monkeypatch, lambda rng: coverage.noise(rng, 60, 5))
    assert found["stability"].mean() > 0.7  # noise comes back, in the sample
    assert found["false reliable"].sum() <= stats.binom(N, 0.05).ppf(0.999)


@pytest.mark.parametrize("name", [*coverage.LAWS, *coverage.NULLS])
def test_moments_of_the_laws_of_coverage(name):
    case = {**coverage.LAWS, **coverage.NULLS}[name](np.random.default_rng(1))
    many = replace(case, n_rows=tuple(4000 for _ in case.n_rows)).rows(np.random.default_rng(2))
    for rows, moment in zip(many, case.moments(), strict=True):
        found = np.corrcoef(rows.T) if case.scale else np.cov(rows.T)
        assert np.abs(found - moment).max() < 0.12 * moment.max()


def test_table_of_coverage():
    row = {"n": 7, "given": 0.5, "target": 0.951, "lambda": None, "false reliable": 0.04, "estimate outside": 0.0}
    text = pages.coverage({"coverage": {"some law": row}})
    assert "| some law | 50.0 |  |  | 95.1 |  |  |  | 4.0 |" in text
    assert "exclude their own estimate: 0." in text
    assert pages.NO_FIGURES in pages.coverage({})


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 2])
def test_number_of_components(m):
    found = [(d, study.count_once(seed, d, m)[0]) for d in (0, 2, 4) for seed in range(3)]
    assert np.mean([abs(d - count) for d, count in found]) <= 0.3


def test_study_uses_the_public_test():
    draw = laws.planted(np.random.default_rng(0), n=60, p=10, strength=2.0)
    found = study.all_ways(draw, 7, rivals=False)
    assert set(found["p"]) == {"ours", "one split", "twice the median", "F-test, one split"}
    test = uniqueness_test(draw.target, draw.backgrounds, n_components=1, random_state=7)
    assert found["p"]["ours"] == test.pvalues[0]
    assert found["halvings"] == test.n_splits


def test_command(capsys, monkeypatch):
    monkeypatch.setattr(study, "PARTS", {"timing": lambda scale, known: {"ours": scale}})
    study.main(["--quick"])
    assert "(timing:" in capsys.readouterr().out


def test_page_shows_what_was_measured():
    saved = json.loads(study.SAVED.read_text())
    page = (study.ROOT / "docs" / "inference.md").read_text()
    assert pages.renewed(page, saved) == page
    for name, found in saved.get("levels", {}).items():
        assert found["ours"]["n"] >= 1000, name
        holds = found["ours"]["rate"] <= 0.06 and found["ours"]["rate at 1 %"] <= 0.02
        assert holds or (name in sceptic.CAUTIONED and found["cautioned"] >= 0.9), name
    for name, found in saved.get("counting", {}).items():
        assert found["rate"] <= 0.06, name


def test_predictions_for_new_rows():
    """Sixty fits of the study: what the page shows of four hundred, with room for so few."""
    found = [row for seed in range(60) for row in newrows.one_fit(seed)]
    first = newrows.judge(newrows.kinds(found)["UC1"])
    assert 0.8 < first["median"] < 1.3
    assert first["within 2"] >= 0.9
    assert first["near, but far"] == 0
    # The rows of the fit themselves tell much less.
    assert first["in rows, within 2"] < 0.85


def test_the_truth_of_the_study_is_the_variance_of_new_rows():
    setting = newrows.setting(np.random.default_rng([7, 8]))
    for law in newrows.LAWS.values():
        rng = np.random.default_rng(0)
        loadings, v = rng.normal(size=(3, setting.p)), rng.normal(size=setting.p)
        scores = np.concatenate([newrows.factor_rows(rng, 2000, loadings, law) @ v for _ in range(10)])
        truth = v @ v + np.sum((loadings @ v) ** 2)
        assert np.mean(scores**2) == pytest.approx(
            truth, rel=0.12
        )  # 20 000 rows; fourth moments up to ten times normal


def test_page_of_predictions():
    rows = [row for seed in range(3) for row in newrows.one_fit(seed)]
    found = {"table": {"UC1": newrows.judge(rows)}, "points": [], "n_fits": 3, "mice": None}
    page = pages.renewed((study.ROOT / "docs" / "inference.md").read_text(), saved_with(newrows=found))
    assert f"| UC1 | {len(rows)} | " in page
    assert "(3 fits of normal rows" in page


def saved_with(**parts):
    return {**json.loads(study.SAVED.read_text()), **parts}


def test_option():
    """The population's optimum by a full-size problem; and the table of what was measured."""
    cell = option.Cell(30, 12, "weak", 2)
    population = option.Population(cell, np.random.default_rng(0))
    matrices = [(f.T @ f + np.eye(30)) / (1 + np.sum(f[:, 0] ** 2)) for f in population.loadings]
    best = population.optimum()
    np.testing.assert_allclose(population.variances(best), [best @ s @ best for s in matrices])
    whole = solve_dual(matrices[0], matrices[1:], bounds=1.0, n_components=1)
    assert np.all(population.variances(best)[1:] <= 1 + 1e-6)
    np.testing.assert_allclose(population.variances(best)[0], whole.value, rtol=1e-6)
    found = option.medians([option.repetition(cell, seed) for seed in range(2)])
    assert set(found["rows"]) == {"background", "target", "within", "cosine"}
    text = pages.option({"option": {cell.name: {"n": 2, **found}, "mice": {"n": 3, "real": True, **found}}})
    assert f"| {cell.name} | {found['rows']['background']:.3g} → " in text
    assert "| mice |" in text
    assert "2 repetitions, 3 random halves" in text


class TestRivals:
    def test_cosines_against_scipy(self, rng):
        first, second = rng.normal(size=(50, 6)), rng.normal(size=(40, 6))
        bases = [np.linalg.svd(rows - rows.mean(axis=0))[2][:2].T for rows in (first, second)]
        wanted = np.sort(np.cos(linalg.subspace_angles(*bases)))[::-1]
        np.testing.assert_allclose(rivals.cosines(first, second, 2, 2), wanted, atol=1e-6)

    def test_contrastive_dimension(self):
        draw = laws.planted(np.random.default_rng(0), n=300, p=20, strength=6.0)
        found = rivals.contrastive_dimension(draw.target, draw.backgrounds[0], np.random.default_rng(0), resamples=50)
        assert found.dimension >= 1
        assert found.pvalue < 0.05
        null = laws.same_law(np.random.default_rng(0), n=300, n_background=300, p=20)
        found = rivals.contrastive_dimension(null.target, null.backgrounds[0], np.random.default_rng(0), resamples=50)
        assert (found.dimension, found.pvalue > 0.05) == (0, True)


@pytest.mark.slow
def test_demo_data():
    from uca.datasets import digits_on_grass

    pytest.importorskip("skimage", reason="pip install 'unique-component-analysis[demo]'")
    digits = digits_on_grass()
    test = uniqueness_test(digits.target, digits.backgrounds, n_components=3)
    assert test.n_unique_ >= 1
    grass = digits_on_grass(random_state=1).backgrounds["grass"][: len(digits.target)]
    assert uniqueness_test(grass, digits.backgrounds, n_components=3).n_unique_ == 0


def test_mice(mice):
    """With mice as subjects: two unique components beside one background, none beside three; rows alone say otherwise."""
    groups = {name: np.arange(len(rows)) // 15 for name, rows in mice.items()}  # the file lists a mouse's rows together
    for target, backgrounds, n_unique in (
        (("c-SC-s", "t-SC-s"), ("c-CS-s",), 2),
        (("c-CS-s", "t-CS-s"), ("t-SC-m", "t-CS-m", "t-SC-s"), 0),
    ):
        rows = np.vstack([mice[name] for name in target])
        subjects = [
            np.concatenate([[f"{name}{i}" for i in groups[name]] for name in target]),
            *([f"{name}{i}" for i in groups[name]] for name in backgrounds),
        ]
        tables = {name: mice[name] for name in backgrounds}
        told = uniqueness_test(rows, tables, groups=subjects, n_components=3)
        assert told.n_unique_ == n_unique
        assert uniqueness_test(rows, tables, n_components=3).n_unique_ == 3
