"""The tool behind ``make mutants``: what it plants, which tests it chooses, what it counts. The run itself takes long."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="limits of processes are those of POSIX systems")

from tools.mutants import __main__ as mutants
from tools.mutants.faults import faults
from tools.mutants.reach import Reach

ROOT = Path(__file__).resolve().parents[1]
SOURCE = textwrap.dedent(
    '''
    """A text with 1 < 2 in it."""
    from __future__ import annotations

    LIMIT = 5  # é: columns are counted in bytes


    def largest(values: list[int] = (), é=True) -> int | None:
        """Nothing: 3 > 2."""
        if not values or len(values) > LIMIT:
            return None
        out = max(values) * 2 - 1
        check(f"{out + 1}")
        zip(values, strict=True)
        return -out
    '''
)


def _planted():
    return {(fault.kind, fault.before, fault.after): fault for fault in faults(SOURCE)}


def test_faults_of_a_small_file_are_these():
    assert set(_planted()) == {
        ("constant", "5", "(6)"),
        ("constant", "True", "(False)"),
        ("boolean", "not values or len(values) > LIMIT", "(not values and len(values) > LIMIT)"),
        ("boolean", "not values", "(values)"),
        ("comparison", "len(values) > LIMIT", "(len(values) >= LIMIT)"),
        ("comparison", "len(values) > LIMIT", "(len(values) <= LIMIT)"),
        ("arithmetic", "max(values) * 2 - 1", "(max(values) * 2 + 1)"),
        ("arithmetic", "max(values) * 2", "(max(values) / 2)"),
        ("swapped", "max(values)", "(min(values))"),
        ("constant", "2", "(3)"),
        ("constant", "1", "(2)"),
        ("left out", 'check(f"{out + 1}")', "pass"),
        ("left out", "zip(values, strict=True)", "pass"),
        ("return", "return -out", "return None"),
        ("arithmetic", "-out", "(out)"),
    }


def test_each_fault_changes_its_place_alone_and_compiles():
    for fault in faults(SOURCE):
        text = fault.planted(SOURCE)
        compile(text, "planted", "exec")
        assert text != SOURCE
        assert text.replace(fault.after, fault.before, 1) == SOURCE or text.count(fault.after) > 1
        changed = [i for i, (a, b) in enumerate(zip(SOURCE.split("\n"), text.split("\n"), strict=True), 1) if a != b]
        assert changed == [fault.line]


def test_what_runs_on_import_is_reached_by_any_line_of_the_file():
    found = _planted()
    assert found["constant", "5", "(6)"].lines is None
    assert found["constant", "True", "(False)"].lines is None  # a default
    line = found["swapped", "max(values)", "(min(values))"].line
    assert found["swapped", "max(values)", "(min(values))"].lines == (line, line)


def test_faults_can_be_planted_in_every_file_of_the_packages():
    """Not one of them alone: all of a file, which is larger than the example and has all that the language has."""
    path = ROOT / "src" / "uca" / "dual.py"
    source = path.read_text()
    found = faults(source)
    assert len(found) > 100
    assert found == faults(source)
    for fault in found[::10]:
        ast.parse(fault.planted(source))


def test_the_sample_is_that_of_its_seed(capsys):
    first, again, other = (mutants.sample("dual", 20, seed) for seed in (0, 0, 1))
    assert first == again != other
    assert len(set(first)) == 20
    assert mutants.sample("dual", 30, 0)[:20] == first  # a larger sample begins with the smaller one


REACH = Reach(
    {"a::slow": 9.0, "a::fast": 0.1, "a::other": 0.2, "a::middle": 3.0},
    {"src/uca/dual.py": {3: ["a::slow", "a::fast"], 4: ["a::middle"], 90: ["a::other"]}},
)


def _fault(lines):
    found = faults("x = 1")[0]
    return type(found)(**{**vars(found), "lines": lines})


@pytest.mark.parametrize(
    ("lines", "budget", "chosen", "reaching"),
    [
        ((3, 3), 20.0, ["a::fast", "a::slow"], 2),
        ((3, 4), 5.0, ["a::fast", "a::middle"], 3),
        ((4, 4), 1.0, ["a::middle"], 1),  # one test at least
        ((5, 80), 9.0, [], 0),
        (None, 1.0, ["a::fast", "a::other"], 4),
    ],
)
def test_the_fastest_tests_that_reach_a_fault_are_chosen(lines, budget, chosen, reaching):
    found = mutants.choose([REACH, Reach()], "src/uca/dual.py", _fault(lines), budget)
    assert found[:2] == (chosen, reaching)
    assert found[2] == pytest.approx(sum(REACH.seconds[test] for test in chosen))


class _Bench:
    """Runs nothing: the codes of pytest come from a list, and what was asked for is kept."""

    def __init__(self, *codes):
        self.codes, self.asked = list(codes), []

    @contextmanager
    def holding(self, file, text):
        yield

    def run(self, work, seconds):
        self.asked.append(work.args[0])
        return self.codes.pop(0)


@pytest.mark.parametrize(
    ("codes", "budgets", "fate", "asked"),
    [
        ([1], (5.0, 20.0), "noticed", [["a::fast", "a::middle"]]),
        ([None], (5.0, 20.0), "endless", [["a::fast", "a::middle"]]),
        ([0, 1], (5.0, 20.0), "noticed", [["a::fast", "a::middle"], ["a::slow"]]),
        ([0, 0], (5.0, 20.0), "survived", [["a::fast", "a::middle"], ["a::slow"]]),
        ([0], (5.0, 6.0), "survived", [["a::fast", "a::middle"]]),
        ([0], (20.0, 20.0), "survived", [["a::fast", "a::middle", "a::slow"]]),
    ],
)
def test_survivors_meet_the_slower_tests_as_well(codes, budgets, fate, asked):
    bench = _Bench(*codes)
    found = mutants.plant(bench, [REACH], "dual", "src/uca/dual.py", _fault((3, 4)), *budgets)
    assert bench.asked == asked
    assert (found.fate, found.tests, found.ran) == (fate, 3, sum(map(len, asked)))


def test_a_fault_that_no_test_reaches_is_not_planted():
    bench = _Bench()
    found = mutants.plant(bench, [REACH], "dual", "src/uca/dual.py", _fault((5, 9)), 5.0, 20.0)
    assert (found.fate, found.tests, found.ran, bench.asked) == ("unreached", 0, 0, [])


def test_tests_that_fail_without_a_fault_are_left_out(capsys):
    bench = _Bench(["a::fast", "b::gone"])
    (found,) = mutants.without_failing(bench, [REACH])
    assert bench.asked == [["a::fast", "a::other", "a::middle", "a::slow"]]
    assert found.tests("src/uca/dual.py", (3, 4)) == ["a::middle", "a::slow"]
    assert set(found.seconds) == {"a::slow", "a::other", "a::middle"}
    assert "left out, as it fails without a fault: a::fast" in capsys.readouterr().out
    bench.log = lambda: "why"
    bench.codes = [None]
    with pytest.raises(SystemExit, match="could not be run without a fault:\nwhy"):
        mutants.without_failing(bench, [REACH])


def test_files_whose_tests_share_results_are_run_whole():
    sharing = Reach(REACH.seconds, REACH.lines, shares=True)
    assert sharing.tests("src/uca/dual.py", (4, 4)) == list(REACH.seconds)
    assert sharing.tests("src/uca/dual.py", (5, 5)) == []
    assert Reach.from_dict(sharing.as_dict()) == sharing


def _outcome(package, fate):
    return mutants.Outcome(package, "src/uca/dual.py", 7, "constant", 0, "1", "(2)", fate, 3, 2)


def test_the_table_counts_faults_and_lists_survivors():
    fates = ["noticed", "noticed", "endless", "survived"]
    told = mutants.table([*(_outcome("dual", fate) for fate in fates), _outcome("io", "unreached")])
    assert "| dual | 4 | 3 | 75 % | 22 % | 0 |" in told  # sqrt(.75 * .25 / 4) = .217
    assert "| io | 1 | 0 | 0 % | 0 % | 1 |" in told
    assert "| all | 5 | 3 | 60 % | 22 % | 1 |" in told
    assert told.count("src/uca/dual.py:7 constant: '1' -> '(2)'") == 2
    assert "(survived; 2 of 3 tests)" in told


TOY = """
from pathlib import Path
from tools.mutants.bench import Bench
from tools.mutants.reach import failing, failures, reached
import tools.mutants.bench as bench
bench.LIBRARIES = []
made = Bench(Path("toy"), Path("copy").resolve())
reach = made.run(lambda: reached("tests/test_toy.py", ["src/"], 60).as_dict(), 60, compiled=True)
assert reach is not None, made.log()
print(sorted(reach["seconds"]), reach["lines"]["src/toy.py"])
print(made.run(lambda: failures(["tests/test_toy.py::test_bad", "tests/test_toy.py::test_one"]), 60))
print(made.run(lambda: failing(["tests/test_toy.py::test_one"]), 60))
for text, seconds in (("def one():\\n    return 2\\n", 60), ("def one():\\n    while True:\\n        pass\\n", 1)):
    with made.holding("src/toy.py", text):
        print(made.run(lambda: failing(["tests/test_toy.py::test_one"]), seconds))
print(made.run(lambda: failing(["tests/test_toy.py::test_one"]), 60))
"""


def test_a_planted_fault_is_noticed_and_the_checkout_is_left_alone(tmp_path):
    """A toy of one function: right, wrong, without end, and right again."""
    pytest.importorskip("coverage", reason="coverage is not installed: it comes with the extra test")
    toy = tmp_path / "toy"
    for name, text in {
        "src/toy.py": "def one():\n    return 1\n",
        "tests/test_toy.py": "from toy import one\ndef test_one():\n    assert one() == 1\ndef test_bad():\n    assert 0\n",
    }.items():
        (toy / name).parent.mkdir(parents=True)
        (toy / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-W", "ignore", "-c", TOY]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    reached, failed, *codes = done.stdout.splitlines()
    assert reached == "['tests/test_toy.py::test_one'] {'2': ['tests/test_toy.py::test_one']}"
    assert failed == "['tests/test_toy.py::test_bad']"
    assert codes == ["0", "1", "None", "0"]
    assert (toy / "src" / "toy.py").read_text() == "def one():\n    return 1\n"
