"""Figures by version are kept, and two commits are compared fairly."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from scripts import ROOT, benchmark_scripts, need_benchmarks

need_benchmarks()


@pytest.fixture
def module(monkeypatch):
    with benchmark_scripts(monkeypatch) as module:
        yield module


@pytest.fixture
def history(module):
    return module("history")


@pytest.fixture
def row(module):
    scale = module("scale")

    def row(workload: str, ours: float, peer: float):
        costs = {"A": scale.Cost(peer, None), "B": scale.Cost(10 * peer, None)}
        return scale.Row(workload, (), scale.Figures(scale.Cost(ours, None), costs, 1.0))

    return row


def about(version: str, **others) -> dict:
    return {"version": version, "date": "2030-01-02", "commit": "abc1234", **others}


class TestHistory:
    def test_a_new_version_is_added(self, history, row):
        old = history.added([], about("0.1.0"), [row("wide", 1.0, 2.0)])
        new = history.added(old, about("0.2.0"), [row("wide", 1.0, 4.0)])
        assert [entry["version"] for entry in new] == ["0.1.0", "0.2.0"]
        assert new[0] == old[0]
        assert new[1]["workloads"]["wide"] == {"fastest": "A", "seconds": 1.0, "fastest_seconds": 4.0, "ratio": 0.25}

    def test_the_same_version_is_replaced_row_by_row(self, history, row):
        old = history.added([], about("0.1.0"), [row("wide", 1.0, 2.0), row("tall", 1.0, 1.0)])
        old = history.added(old, about("0.2.0"), [row("wide", 1.0, 1.0)])
        new = history.added(old, about("0.1.0", commit="fff0000"), [row("wide", 3.0, 2.0)])
        assert [entry["version"] for entry in new] == ["0.1.0", "0.2.0"]
        assert new[0]["commit"] == "fff0000"
        assert {name: figures["ratio"] for name, figures in new[0]["workloads"].items()} == {"wide": 1.5, "tall": 1.0}

    def test_table(self, history, row):
        entries = history.added([], about("0.1.0"), [row("wide", 1.0, 2.0), row("gone", 1.0, 1.0)])
        entries = history.added(entries, about("0.2.0", commit=None), [row("wide", 1.0, 4.0), row("new", 2.0, 1.0)])
        assert history.table(entries).split("\n") == [
            "",
            "| workload | 0.1.0 | 0.2.0 |",
            "|---|---|---|",
            "| wide | 0.5 | 0.25 |",
            "| new |  | 2 |",
            "| gone | 1 |  |",
            "",
            "(0.1.0: 2030-01-02, commit abc1234; 0.2.0: 2030-01-02, commit unknown)",
            "",
        ]

    def test_table_shows_the_last_versions(self, history, row):
        entries: list[dict] = []
        for minor in range(history.SHOWN + 2):
            entries = history.added(entries, about(f"0.{minor}.0"), [row("wide", 1.0, 2.0)])
        assert "| workload | 0.2.0 | 0.3.0 |" in history.table(entries)
        assert "0.1.0" not in history.table(entries)

    def test_save_writes_file_and_page(self, history, row, tmp_path, monkeypatch):
        monkeypatch.setattr(history, "FILE", tmp_path / "history.json")
        page = tmp_path / "page.md"
        history.FILE.write_text("[]\n")
        page.write_text("before\n<!-- history -->\nold\n<!-- /history -->\nafter\n")
        history.save({"version": "0.1.0", "date": "then"}, [row("wide", 1.0, 2.0)], page)
        (entry,) = json.loads(history.FILE.read_text())
        assert entry["workloads"]["wide"]["ratio"] == 0.5
        assert entry["commit"] is None  # the temporary folder is in no repository
        assert "| wide | 0.5 |" in page.read_text()
        assert "old" not in page.read_text()

    def test_the_page_shows_the_kept_figures(self, history):
        text = (ROOT / "docs" / "scale.md").read_text()
        kept = json.loads(history.FILE.read_text())
        assert history.between(text, "history", history.table(kept)) == text, "run: make bench-save"


class TestCompareCommits:
    @pytest.fixture
    def compare(self, module):
        return module("compare_commits")

    def test_sides_take_turns_in_going_first(self, compare):
        assert "".join(compare.turns(3)) == "ABBAAB"

    def test_medians_over_processes_and_largest_memory(self, compare):
        costs = [compare.Cost(3.0, 1.0), compare.Cost(1.0, 5.0), compare.Cost(2.0, None)]
        assert compare.together(costs) == compare.Cost(2.0, 5.0)
        assert compare.together([compare.Cost(3.0, None)]) == compare.Cost(3.0, None)
        assert compare.together([costs[0], "TypeError: no", costs[1]]) == "TypeError: no"

    def test_a_side_that_fails_is_not_run_again(self, compare, monkeypatch):
        asked = []

        def measure(name, source):
            asked.append(source)
            return "ImportError: no" if source == "a" else compare.Cost(1.0, 2.0)

        monkeypatch.setattr(compare, "measure", measure)
        found = compare.in_turns("wide", {"A": "a", "B": "b"}, 3)
        assert found == {"A": ["ImportError: no"], "B": [compare.Cost(1.0, 2.0)] * 3}
        assert asked == ["a", "b", "b", "b"]

    def test_row(self, compare):
        a = [compare.Cost(seconds, 3.0) for seconds in (0.5, 0.4, 1.0)]
        b = [compare.Cost(seconds, None) for seconds in (0.25, 0.5, 0.2)]
        told = compare.line("wide", {"A": a, "B": b})
        assert told.split() == ["wide", "0.5000", "0.2500", "0.50", "0.20", "to", "1.25", "3.0"]
        told = compare.line("wide", {"A": a, "B": ["TypeError: no"]})
        assert told.splitlines()[0].split() == ["wide", "0.5000", "failed", "3.0"]
        assert told.splitlines()[1] == "    B: TypeError: no"

    def test_a_child_measures_the_sources_it_was_given(self, compare):
        name, own = "135 + 3 x 135 rows, p = 76", ROOT / "src"
        cost = compare.measure(name, own)
        assert isinstance(cost, compare.Cost), cost
        assert cost.seconds > 0

    def test_a_child_refuses_other_sources(self, compare, tmp_path):
        assert "which is not of" in compare.measure("import uca", tmp_path)

    @pytest.mark.parametrize("name", ["sequential", "solve_dual", "uniqueness_test"])
    def test_workloads_run(self, compare, name):
        (full,) = (workload for workload in compare.WORKLOADS if workload.startswith(name))
        assert compare.WORKLOADS[full]()() is not None

    def test_unknown_workload(self, compare, capsys):
        with pytest.raises(SystemExit, match="2"):
            compare.main(["HEAD", "HEAD", "--only", "nothing like it"])
        assert "no workload contains 'nothing like it'; there are: import uca; wide" in capsys.readouterr().err

    def test_worktrees_are_those_of_the_commits_and_go_away(self, compare, tmp_path, monkeypatch):
        if shutil.which("git") is None:
            pytest.skip("git is not installed")

        def git(*arguments):
            who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
            return subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)

        git("init", "-q")
        (tmp_path / "src").mkdir()
        for text in ("x = 1\n", "x = 2\n"):
            (tmp_path / "src" / "module.py").write_text(text)
            git("add", "-A")
            git("commit", "-q", "-m", text)
        monkeypatch.setattr(compare, "ROOT", tmp_path)
        with compare.checked_out(A="HEAD~1", B="HEAD") as sources:
            texts = {side: (source / "module.py").read_text() for side, source in sources.items()}
            assert all(source.exists() for source in sources.values())
        assert texts == {"A": "x = 1\n", "B": "x = 2\n"}
        assert not any(source.exists() for source in sources.values())
        assert len(git("worktree", "list").stdout.splitlines()) == 1
        with pytest.raises(SystemExit, match="git knows no commit 'no-such-commit'"):
            compare.commit_of("no-such-commit")
