"""What makes the suite the same everywhere: imitated machines, oldest versions, devices that are not there."""

from __future__ import annotations

import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import machines
import numpy as np
import pytest
from machines import ELSEWHERE, HERE, MACHINES, numerical
from needs import DISPATCH, absent_device, lacking
from packaging.requirements import Requirement
from packaging.version import Version

from uca import UCA, _threads
from uca._threads import n_workers, one_core
from uca.operators.sources import columns
from uca.operators.statistics import blocks

PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]


def floors() -> dict[str, set[Version]]:
    """The lowest version of every package that pyproject.toml names, in each place that names it."""
    found: dict[str, set[Version]] = {}
    for line in [
        *PROJECT["dependencies"],
        *(one for extra in PROJECT["optional-dependencies"].values() for one in extra),
    ]:
        requirement = Requirement(line)
        for clause in requirement.specifier:
            assert clause.operator == ">=", f"{line}: only floors are given"
            found.setdefault(requirement.name, set()).add(Version(clause.version))
    return found


def pins() -> dict[str, Version]:
    lines = (HERE / "oldest.txt").read_text().splitlines()
    requirements = [Requirement(re.sub(r"\s*#.*", "", line)) for line in lines if re.sub(r"\s*#.*", "", line)]
    return {one.name: Version(str(one.specifier).removeprefix("==")) for one in requirements}


def test_oldest_versions_are_the_floors():
    """A floor of 1.11 is tried with the first 1.11 that can be had."""
    for name, version in pins().items():
        floor = min(floors()[name])
        assert version.release[: len(floor.release)] == floor.release, f"{name}: {version} is tried, {floor} promised"


def test_every_dependency_is_tried_at_its_floor():
    needed = {Requirement(line).name for line in PROJECT["dependencies"]}
    assert needed == {"numpy", "scipy", "scikit-learn", "clarabel", "joblib", "threadpoolctl"}
    assert needed <= set(pins())


def test_files_that_are_not_numerical_exist():
    stems = {path.stem.removeprefix("test_") for path in HERE.glob("test_*.py")}
    assert stems >= ELSEWHERE
    assert {path.stem.removeprefix("test_") for path in numerical()} == stems - ELSEWHERE
    assert HERE / "test_random_suite.py" in numerical()


def test_machines_cover_what_they_should():
    assert {machine.core for machine in MACHINES} == {"Prescott", "Haswell", "Zen", "SkylakeX"}
    everywhere = [machine for machine in MACHINES if not machine.needs]
    assert {machine.threads for machine in everywhere} == {1, 4}
    assert {machine.workers for machine in everywhere} == {1, 8, 16}
    assert {machine.workers for machine in MACHINES} == {1, 2, 8, 16}


def test_core_type_that_is_not_taken_is_an_error(monkeypatch):
    monkeypatch.setattr(machines, "core_types", lambda machine: {"Haswell"})
    machines._check_core_types(MACHINES[1:3])
    with pytest.raises(SystemExit, match="OPENBLAS_CORETYPE=Prescott was not taken: the libraries answer .'Haswell'."):
        machines._check_core_types(MACHINES[:1])


def test_failing_run_fails_the_command(monkeypatch):
    codes = {"Prescott": 0, "Haswell": 1, "Zen": 0, "SkylakeX": 0}
    monkeypatch.setattr(machines, "_check_core_types", lambda found: None)
    monkeypatch.setattr(machines, "_run", lambda machine: codes[machine.core])
    assert machines.main([]) == 1
    codes["Haswell"] = 0
    assert machines.main([]) == 0


class TestWorkers:
    @pytest.mark.parametrize("number", [1, 16])
    def test_variable_sets_the_number_also_above_the_cores(self, monkeypatch, number):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
        monkeypatch.setenv("UCA_NUM_WORKERS", str(number))
        assert n_workers() == number
        with one_core():
            assert n_workers() == 1

    def test_without_it_the_other_variables_are_limits(self, monkeypatch):
        monkeypatch.delenv("UCA_NUM_WORKERS", raising=False)
        monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(6)), raising=False)
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "9")
        assert n_workers() == 6
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        assert n_workers() == 3

    @pytest.mark.parametrize("wrong", ["0", "-2", "many", "1.5"])
    def test_wrong_value(self, monkeypatch, wrong):
        monkeypatch.setenv("UCA_NUM_WORKERS", wrong)
        with pytest.raises(ValueError, match=f"UCA_NUM_WORKERS must be a whole number of at least 1, got '{wrong}'"):
            n_workers()

    @pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
    def test_same_answer_with_any_number(self, rng, monkeypatch, representation):
        """20 MB make work for 16 lanes, if they may take the memory; they add in another order: rounding differs."""
        for module in (blocks, columns):
            monkeypatch.setattr(module, "LANES_SHARE", 10.0)
        monkeypatch.setattr(columns, "LANE_BYTES", columns.BLOCK_BYTES)
        shape = (50, 50_000) if representation == "reduced" else (50_000, 50)
        target, background = rng.standard_normal((2, *shape))
        if representation == "reduced":
            target[:25] += 0.1
        else:
            target[:, 1] += target[:, 0]
        lanes = []

        def counted(number):
            lanes.append(number)
            return ThreadPoolExecutor(number)

        monkeypatch.setattr(_threads, "ThreadPoolExecutor", counted)
        models = []
        for number in (1, 2, 8, 16):
            monkeypatch.setenv("UCA_NUM_WORKERS", str(number))
            models.append(UCA(1, representation=representation).fit(target, backgrounds=background))
        assert {2, 8, 16} <= set(lanes)
        for model in models[1:]:
            np.testing.assert_allclose(model.components_, models[0].components_, atol=1e-6)
            assert model.certificate_.upper == pytest.approx(models[0].certificate_.upper, rel=1e-9)


CHECKS = {
    "device of scikit-learn 1.6": partial(print, array_namespace="torch", device="cuda", dtype_name="float32"),
    "device": partial(print, array_namespace="torch", device_name="cuda", dtype_name="float32"),
    "mixed": partial(
        print,
        X_ns_and_device=SimpleNamespace(xp="torch", device="cuda"),
        other_ns_and_device=SimpleNamespace(xp="numpy", device=None),
    ),
}


class TestDevices:
    """scikit-learn's checks ask whether torch was *built* for CUDA; what counts is whether there is a device."""

    @pytest.mark.parametrize("kind", CHECKS)
    @pytest.mark.parametrize("there", [False, True])
    def test_cuda(self, monkeypatch, kind, there):
        torch = pytest.importorskip("torch", reason="torch is not installed")
        monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
        assert absent_device(CHECKS[kind]) == (None if there else "cuda")

    def test_scipy_without_dispatch(self, monkeypatch):
        monkeypatch.delenv("SCIPY_ARRAY_API", raising=False)
        assert lacking(partial(print, array_namespace="numpy")) == DISPATCH
        assert lacking(partial(print, readonly_memmap=True)) is None

    @pytest.mark.parametrize(
        "check",
        [None, print, partial(print), partial(print, array_namespace="torch", device_name="cpu")],
        ids=["none", "function", "plain", "cpu"],
    )
    def test_other_checks_run(self, check):
        assert absent_device(check) is None

    def test_names_are_those_of_scikit_learn(self):
        """The keywords that are looked at are those that the installed scikit-learn passes."""
        from sklearn.utils.estimator_checks import estimator_checks_generator

        keywords = {
            key
            for _, check in estimator_checks_generator(UCA())
            for key in (check.keywords if isinstance(check, partial) else {})
        }
        if "array_namespace" not in keywords:
            pytest.skip("this scikit-learn makes no array-API checks here")
        assert "device_name" in keywords or "device" in keywords
