"""Which test reaches which line, and how long it takes: one run of each test file under coverage.

Promises: :func:`reached` runs one file of tests (or the doctests of one folder) in the current process and returns what its
passing tests reach. Files that keep results for several tests (a cache, a wider fixture) are marked as sharing: there the
first test alone is seen to reach what all of them use.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

QUIET = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=line", "--hypothesis-seed=0"]
QUIET += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # libraries are imported before
QUIET += ["-p", "no:fast_array_utils"]  # a plugin that comes with scanpy and imports numba in every run
SHARING = ("import cache", "lru_cache", "scope=")


@dataclass
class Reach:
    """Seconds of processor time by test, and tests by line by file."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    shares: bool = False

    def as_dict(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict) -> Reach:
        lines = {file: {int(line): tests for line, tests in at.items()} for file, at in stored["lines"].items()}
        return cls(stored["seconds"], lines, stored["shares"])

    def without(self, left_out: Collection[str]) -> Reach:
        """The same where some tests are not run."""
        seconds = {test: spent for test, spent in self.seconds.items() if test not in left_out}
        lines = {
            file: {line: [test for test in tests if test not in left_out] for line, tests in at.items()}
            for file, at in self.lines.items()
        }
        return Reach(seconds, lines, self.shares)

    def tests(self, file: str, lines: tuple[int, int] | None) -> list[str]:
        """Tests that reach one of the lines of a file, or any of its lines."""
        at = self.lines.get(file, {})
        wanted = at if lines is None else range(lines[0], lines[1] + 1)
        reaching = {test for line in wanted for test in at.get(line, ())}
        return list(self.seconds) if reaching and self.shares else sorted(reaching)


def processor_time() -> float:
    """Seconds of this process and of the children it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


class _Watch:
    """Tells coverage which test is running; stops after ``limit`` seconds of processor time."""

    def __init__(self, coverage: object, limit: float):
        self.coverage, self.limit = coverage, limit
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.began = processor_time()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        self.coverage.switch_context(item.nodeid)
        start = processor_time()
        yield
        self.seconds[item.nodeid] = round(processor_time() - start, 3)
        self.coverage.switch_context("")
        if processor_time() - self.began > self.limit:
            item.session.shouldstop = "the time limit"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:  # skipped ones as well
            self.failed.add(report.nodeid)


def reached(target: str, packages: list[str], limit: float) -> Reach:
    """Run the tests of ``target`` in the current folder and return what they reach in ``packages`` (paths under src)."""
    from coverage import Coverage

    coverage = Coverage(data_file=None, include=[f"{Path.cwd()}/{name}*" for name in packages], config_file=False)
    watch = _Watch(coverage, limit)
    coverage.start()
    pytest.main([*QUIET, target], plugins=[watch])
    coverage.stop()
    seconds = {test: spent for test, spent in watch.seconds.items() if test not in watch.failed}
    data, lines = coverage.get_data(), defaultdict(dict)
    for file in data.measured_files():
        for line, tests in data.contexts_by_lineno(file).items():
            passing = [test for test in tests if test in seconds]
            if passing:
                lines[str(Path(file).relative_to(Path.cwd()))][line] = passing
    text = Path(target).read_text() if target.endswith(".py") else ""
    return Reach(seconds, dict(lines), any(word in text for word in SHARING))


class _Chosen:
    """Keeps the chosen tests, in their order."""

    def __init__(self, tests: list[str]):
        self.place = {test: i for i, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.place]
        items[:] = sorted(chosen, key=lambda item: self.place[item.nodeid])


def collected(targets: list[str]) -> int:
    """Import all tests without running any, so that they and what they import are compiled; pytest's exit code."""
    return int(pytest.main([*QUIET, "--collect-only", "-q", *targets]))


def failing(tests: list[str]) -> int:
    """Run tests in the current folder until one fails; pytest's exit code."""
    return int(pytest.main([*QUIET, "-x", *_files(tests)], plugins=[_Chosen(tests)]))


def failures(tests: list[str]) -> list[str]:
    """Run all of these tests in the current folder, in their order; those that fail."""
    found = _Failures()
    pytest.main([*QUIET, *_files(tests)], plugins=[_Chosen(tests), found])
    return sorted(found.failed)


def _files(tests: list[str]) -> list[str]:
    return list(dict.fromkeys(test.split("::")[0] for test in tests))


class _Failures:
    def __init__(self) -> None:
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
