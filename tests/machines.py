"""The numerical tests on machines that this one can imitate: ``make test-machines``.

What a fit returns may depend on the last bits of the linear algebra, on the number of BLAS threads and on the number of
lanes that share a pass; what a test asserts must not. OpenBLAS, which the wheels of numpy and scipy carry, takes the
kernels of another processor from ``OPENBLAS_CORETYPE``. Two runs go side by side, each with its own output.

    python tests/machines.py              every machine below, then a table
    python tests/machines.py --list       the files that are run, for another environment (see the Makefile)
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Programs, files, pictures, pages, clusters and simulations: they have their turn in `make test`. All others are
# numerical, so that a new file is run here unless it is named.
ELSEWHERE = {
    *(
        "cli",
        "cli_files",
        "cli_test",
        "faults",
        "output",
        "soak",
        "columns_told",
        "damaged_files",
        "demo",
        "each_shown",
        "docs",
        "errors",
        "examples",
        "extras",
        "files",
        "first_run",
        "fuzz",
        "io",
        "machines",
        "persistence",
        "plain_text",
        "real",
        "spreadsheets",
        "startup",
        "tables",
        "text_files",
        "valid_files",
    ),
    *("distributed", "files", "inference_study", "labels", "notebooks", "paper", "structure"),
    *("scverse", "scverse_after", "scverse_each"),
    *("plotting", "plotting_images", "plotting_inference", "report", "report_browser"),
}
# Hundreds of fits each: on the first machine, and here.
RESAMPLING = {
    *("inference", "influence", "influence_study", "new_rows", "uniqueness_level"),
    *("sparse_uca", "supports"),
}
AT_ONCE = 2


@dataclass(frozen=True)
class Machine:
    """Kernels of a processor (as OpenBLAS names it, and as it answers), BLAS threads, and lanes of a pass."""

    core: str
    answers: frozenset[str]
    threads: int
    workers: int
    needs: str = ""
    plain: bool = False  # numpy's own loops without the extensions of newer processors
    whole: bool = False  # also the tests that resample

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **({"NPY_DISABLE_CPU_FEATURES": _extensions()} if self.plain else {}),
            "OPENBLAS_CORETYPE": self.core,
            "OPENBLAS_NUM_THREADS": str(self.threads),
            "OPENBLAS_THREAD_TIMEOUT": "4",  # threads beyond the cores sleep instead of spinning: a third of the time
            "UCA_NUM_WORKERS": str(self.workers),
            "UCA_CERTIFICATE_SEEDS": "4",  # exact optima take most of the time, and are the same everywhere
        }

    def __str__(self) -> str:
        return f"{self.core}, {self.threads} BLAS threads, {self.workers} workers"


# Every core type, every number of threads and every number of workers; not every combination. Prescott answers Katmai,
# and wheels without kernels for Zen take those of Haswell, as they do on a real one.
MACHINES = [
    Machine("Prescott", frozenset({"Prescott", "Katmai"}), threads=1, workers=1, plain=True, whole=True),
    Machine("Haswell", frozenset({"Haswell"}), threads=4, workers=8),
    Machine("Zen", frozenset({"Zen", "Haswell"}), threads=1, workers=16),
    Machine("SkylakeX", frozenset({"SkylakeX"}), threads=4, workers=2, needs="avx512f"),
]


def _extensions() -> str:
    """What numpy would use of this processor beyond its baseline."""
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    except ImportError:  # numpy 1
        from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    return " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name])


def numerical(*, whole: bool = True) -> list[Path]:
    """The numerical part of the suite, with or without what resamples."""
    left_out = ELSEWHERE if whole else ELSEWHERE | RESAMPLING
    return [path for path in sorted(HERE.glob("test_*.py")) if path.stem.removeprefix("test_") not in left_out]


def main(arguments: list[str]) -> int:
    if arguments == ["--list"]:
        print(*(path.relative_to(HERE.parent) for path in numerical(whole=False)))
        return 0
    features = _processor_features()
    machines = [machine for machine in MACHINES if not machine.needs or machine.needs in features]
    for machine in MACHINES:
        if machine not in machines:
            print(f"{machine.core}: left out, since this processor has no {machine.needs}")
    _check_core_types(machines)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        codes = list(pool.map(_run, machines))
    return int(any(codes))


def _processor_features() -> str:
    return Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""


def _check_core_types(machines: list[Machine]) -> None:
    """A core type that is not taken would test this machine again and say otherwise."""
    for machine in machines:
        found = core_types(machine)
        if not found:
            print(f"{machine.core}: numpy here carries no OpenBLAS, so only the number of workers differs")
        elif not found <= machine.answers:
            raise SystemExit(f"OPENBLAS_CORETYPE={machine.core} was not taken: the libraries answer {sorted(found)}")


def core_types(machine: Machine) -> set[str]:
    """What the libraries of numpy and scipy say that they run as."""
    code = (
        "import numpy, scipy.linalg, threadpoolctl\n"
        "print(*(p['architecture'] for p in threadpoolctl.threadpool_info() if p['internal_api'] == 'openblas'))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], env=machine.environment(), capture_output=True, text=True, check=True
    )
    return set(told.stdout.split())


def _run(machine: Machine) -> int:
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, numerical(whole=machine.whole))],
        cwd=HERE.parent,
        env=machine.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = done.stdout.rstrip().splitlines()
    if done.returncode:
        print("\n".join(lines[-200:]))
    print(f"{machine}: {lines[-1].strip('= ')} ({time.monotonic() - start:.0f} s)", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
