"""The benchmarks name the fastest alternative, and the tables of the docs are those of the saved figures."""

from __future__ import annotations

import json
import sys

import pytest
from scripts import ROOT, benchmark_scripts, need_benchmarks

need_benchmarks()


@pytest.fixture
def scale(monkeypatch):
    with benchmark_scripts(monkeypatch) as module:
        yield module("scale")


@pytest.fixture
def saved():
    return json.loads((ROOT / "docs" / "benchmarks.json").read_text())


def row_of(scale, ours, peers, *targets):
    costs = {name: scale.Cost(seconds, 1.0) for name, seconds in peers.items()}
    return scale.Row(
        "some rows",
        tuple(scale.Target(*target) for target in targets),
        scale.Figures(scale.Cost(ours, 2.0), costs, 3.0),
    )


@pytest.mark.parametrize(
    ("shape", "is_sparse", "expected"),
    [
        ((200, 1_000), False, {"arpack", "randomized", "covariance_eigh", "full"}),
        ((200, 30_000), False, {"arpack", "randomized", "full"}),  # p x p matrices of 7 GB
        ((200, 100_000), False, {"arpack", "randomized"}),
        ((1_900_000, 100), False, {"randomized", "covariance_eigh"}),  # arpack takes a minute
        ((15_000, 5_000), False, {"arpack", "randomized"}),  # a full SVD takes 90 s
        ((200_000, 20_000), True, {"arpack"}),
        ((200_000, 500), True, {"arpack", "covariance_eigh"}),
    ],
)
def test_solvers_for_a_shape(scale, shape, is_sparse, expected):
    assert set(scale.pca.solvers(*shape, is_sparse)) == expected


def test_every_solver_runs(scale, rng):
    jobs = scale.pca.jobs(rng.standard_normal((30, 8)))
    assert len(jobs) == 9  # four solvers, each with all BLAS threads and with one; and what a user gets
    for job in jobs.values():
        assert job().components_.shape == (2, 8)


class TestRow:
    def test_ratio_is_to_the_fastest(self, scale):
        row = row_of(scale, 1.0, {"PCA(2) full": 20.0, "PCA(2) arpack": 4.0, "PCA(2) covariance_eigh": 8.0}, (0.5,))
        assert row.fastest == "PCA(2) arpack"
        assert row.ratio() == 0.25
        assert row.fastest_exact is None  # the fastest is exact itself
        assert row.verdict == "≤ 0.5"
        assert row.others == "PCA(2) covariance_eigh 8.0 s, ratio 0.12; PCA(2) full 20.0 s, ratio 0.05"

    def test_an_approximate_fastest_is_told_with_the_fastest_exact(self, scale):
        peers = {"PCA(2) full": 20.0, "PCA(2) randomized, approximate": 1.0, "PCA(2) arpack": 4.0}
        row = row_of(scale, 2.0, peers, (0.5,))
        assert (row.fastest, row.fastest_exact) == ("PCA(2) randomized, approximate", "PCA(2) arpack")
        assert row.verdict == "≤ 0.5, missed"
        table = scale.short({"workloads": [row.entry()]})
        assert "| some rows | PCA(2) randomized, approximate (exact: PCA(2) arpack, 0.5) | 2 |" in table

    def test_the_better_thread_setting_stands_for_a_solver(self, scale):
        peers = {"A": 2.0, "A, one BLAS thread": 1.0, "B": 3.0, "B, one BLAS thread": 9.0}
        row = row_of(scale, 1.0, peers)
        assert row.fastest == "A, one BLAS thread"
        assert row.others == "B 3.0 s, ratio 0.33"
        assert row.verdict == "none"

    def test_a_target_may_name_an_alternative(self, scale):
        """Which is taken at its better thread setting; what a user gets by default is never the fastest."""
        peers = {scale.pca.DEFAULTS: 1.0, "A": 4.0, "A, one BLAS thread": 2.0, "B": 1.5}
        row = row_of(scale, 3.0, peers, (1.0, "A"), (3.0, scale.pca.DEFAULTS), (1.9,))
        assert row.fastest == "B"
        assert row.verdict == "≤ 1 of A: 1.5, missed; ≤ 3 of PCA(2) with its defaults: 3; ≤ 1.9, missed"

    def test_saved_and_read_again(self, scale):
        row = row_of(scale, 1.0, {"A": 2.0, "B": 3.0}, (0.5,), (2.0, "B"))
        assert scale.Row.saved(json.loads(json.dumps(row.entry()))) == row


def test_single_rows_are_renewed_in_their_place(scale):
    first, second, third = list(scale.WORKLOADS)[:3]
    old = {"date": "then", "workloads": [{"workload": name} for name in (third, first, "a workload of the past")]}
    figures = scale.Figures(scale.Cost(1.0, None), {"A": scale.Cost(2.0, None)}, 3.0)
    new = scale.renewed(old, [scale.Row(second, (), figures)])
    assert [entry["workload"] for entry in new["workloads"]] == [first, second, third]
    assert new["date"] == "then"


def test_all_jobs_are_measured_in_turns(scale, monkeypatch):
    """Ours, two near each other and one that is hopeless: it is run once, in the turn that is not counted for the others."""
    order: list[str] = []
    monkeypatch.setattr(sys.modules["measure"], "run", lambda job, clock: (job(), None))
    times = iter(range(1000))

    def job(name, seconds):
        def timed():
            order.append(name)
            return seconds + 0.001 * next(times)

        return timed

    peers = {"a": job("a", 2.0), "b": job("b", 7.0), "slow": job("slow", 9.0)}
    figures = scale.compare(job("ours", 1.0), peers, 1.0, repeats=3, always={"a"})
    assert order == ["ours", "a", "b", "slow", *["ours", "a", "b"] * 3]
    assert figures.ours.seconds == pytest.approx(1.007)  # the median of runs 4, 7 and 10
    assert figures.peers["b"].seconds == pytest.approx(7.009)
    assert figures.peers["slow"].seconds == pytest.approx(9.003)


@pytest.mark.parametrize(("page", "mark"), [("docs/scale.md", "benchmarks"), ("README.md", "ratios")])
def test_pages_show_the_saved_figures(scale, saved, page, mark):
    text = (ROOT / page).read_text()
    table = scale.markdown(saved) if mark == "benchmarks" else scale.short(saved)
    assert scale.between(text, mark, table) == text, "run: make bench-save"
