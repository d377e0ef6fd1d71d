"""Time and memory of a fit, as ratios measured in one run. Run ``make bench``.

Every workload times UCA beside scikit-learn's PCA(2) on the stacked rows, by every solver that suits the shape, and beside
the bare Gram or covariance product that no method can do without, in rotation, and takes medians. Ratios are to the fastest
PCA, whose solver is named. Memory is the growth of the peak resident size of a fresh process during the fit, as a share of
the input. Targets are printed beside what was measured, reached or not.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pca
import sklearn

from uca import UCA, __version__
from uca.datasets import DataNotFoundError, load_mice

WIDE = (1_000, 2_000, 3_000, 5_000, 10_000)
TURN = 4
MOUSE_BACKGROUNDS = ("t-SC-m", "t-CS-m", "t-SC-s")


def medians(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median milliseconds of each job, in rotation: a turn is one run that is not counted and four that are.

    The run that is not counted takes what the job before left behind: BLAS threads spin for some 25 ms after their work.
    """
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(max(1, repeats // TURN)):
        for name, job in jobs.items():
            job()
            for _ in range(TURN):
                start = time.perf_counter()
                job()
                times[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def against_pca(workload: str, target, backgrounds: list, repeats: int) -> dict[str, object]:
    """UCA beside PCA(2) on the stack, by the fastest solver for it, and the product that both need."""
    stack = np.vstack([target, *backgrounds])
    product = stack.T if stack.shape[0] > stack.shape[1] else stack
    alternatives = pca.jobs(stack)
    times = medians(
        {
            "uca": lambda: UCA().fit(target, backgrounds=backgrounds),
            "product": lambda: product @ product.T,
            **alternatives,
        },
        repeats,
    )
    fastest = min((name for name in alternatives if name != pca.DEFAULTS), key=lambda name: times[name])
    exact = min(
        (name for name in alternatives if name != pca.DEFAULTS and pca.is_exact(name)), key=lambda name: times[name]
    )
    solves = UCA().fit(target, backgrounds=backgrounds).certificate_.n_eigensolves
    return {
        "workload": workload,
        "uca": times["uca"],
        "product": times["product"],
        "pca": times[fastest],
        "fastest": fastest,
        "fastest_exact": exact,
        "uca_over_exact": times["uca"] / times[exact],
        "alternatives": {name: times[name] for name in alternatives},
        "eigensolves": solves,
    }


def wide(p: int, repeats: int) -> dict[str, object]:
    """The paper's timing study: 100 + 100 rows, p features."""
    rng = np.random.default_rng(p)
    target, background = (rng.standard_normal((100, p)) for _ in range(2))
    return against_pca(f"100 + 100 rows, p = {p:,}", target, [background], repeats)


def several(m: int, n: int, shared: bool, repeats: int) -> dict[str, object]:
    """Several backgrounds of n rows, p = 1,000: noise, or with three strong factors in all and three in the target."""
    rng, p = np.random.default_rng(m), 1_000
    data = [rng.standard_normal((n, p)) for _ in range(m + 1)]
    if shared:
        loadings = rng.standard_normal((3, p))
        data = [rows + rng.standard_normal((n, 3)) * [3, 2, 1] @ loadings for rows in data]
        data[0] += rng.standard_normal((n, 3)) * [2, 1.5, 1] @ rng.standard_normal((3, p))
    what = "factors" if shared else "noise"
    return against_pca(f"{n} + {m} x {n} rows, p = 1,000, {what}", data[0], data[1:], repeats)


def tall(repeats: int) -> dict[str, object]:
    """Many rows, few features, three backgrounds."""
    rng = np.random.default_rng(0)
    target, *backgrounds = (rng.standard_normal((n, 50)) for n in (100_000, 30_000, 30_000, 30_000))
    return against_pca("100,000 + 3 x 30,000 rows, p = 50", target, backgrounds, repeats)


def mouse_split(repeats: int) -> dict[str, object] | None:
    """The published split analysis with three backgrounds, where the data is at hand."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    try:
        mice = load_mice(beside if "UCA_DATA" not in os.environ and beside.is_dir() else None)
    except DataNotFoundError:
        return None
    backgrounds = [mice.rows(name) for name in MOUSE_BACKGROUNDS]
    return against_pca("mouse proteins, split (3 backgrounds)", mice.rows("c-CS-s", "t-CS-s"), backgrounds, repeats)


def _status(field: str) -> int:
    """Kilobytes from the kernel's account of this process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def _memory_child(p: int, dtype: str, connection) -> None:
    rng = np.random.default_rng(0)
    small = rng.standard_normal((20, 300))
    UCA().fit(small, backgrounds=small[:10])  # loads the libraries, which is no cost of the fit
    target, background = (np.empty((100, p), dtype=dtype) for _ in range(2))
    for array in (target, background):
        for row in array:
            row[:] = rng.standard_normal(p)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from what is resident now
    before = _status("VmRSS")
    UCA().fit(target, backgrounds=background)
    connection.send((_status("VmHWM") - before) * 1024 / (target.nbytes + background.nbytes))


def memory(p: int, dtype: str) -> float:
    """Growth of the peak resident size during a wide fit, as a share of the input."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_memory_child, args=(p, dtype, there))
    child.start()
    there.close()  # so that a child that dies ends the wait
    share = here.recv()
    child.join()
    return share


def told(row: dict) -> str:
    """The fastest PCA, and the fastest exact one where that is another."""
    more = f" (exact: {row['fastest_exact']}, UCA/PCA {row['uca_over_exact']:.2f})"
    return f"{row['fastest']}{'' if row['fastest'] == row['fastest_exact'] else more}"


def verdict(value: float, target: float) -> str:
    return f"{value:6.2f}  target <= {target:g}: {'reached' if value <= target else 'MISSED'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    print(f"uca {__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}; {machine}\n")
    results = [wide(p, options.repeats) for p in WIDE]
    results += [wide(100_000, 5), tall(5)]
    results += [several(m, n, shared, 8) for m, n in ((1, 100), (3, 100), (6, 80)) for shared in (False, True)]
    results += [mouse] if (mouse := mouse_split(2 * options.repeats)) else []
    heads = ("UCA ms", "PCA ms", "product", "UCA/PCA", "UCA/prod", "solves", "  fastest PCA")
    print(f"{'workload':<40} " + " ".join(f"{head:>8}" for head in heads))
    for row in results:
        row["uca_over_pca"], row["uca_over_product"] = row["uca"] / row["pca"], row["uca"] / row["product"]
        print(
            f"{row['workload']:<40} {row['uca']:8.1f} {row['pca']:8.1f} {row['product']:8.2f} "
            f"{row['uca_over_pca']:8.2f} {row['uca_over_product']:8.1f} {row['eigensolves']:8d}   {told(row)}"
        )
    print("\nTargets")
    for p, row in zip((*WIDE, 100_000), results, strict=False):
        print(f"  p = {p:>7,}: UCA / {pca.DEFAULTS} {verdict(row['uca'] / row['alternatives'][pca.DEFAULTS], 0.5)}")
    print(f"  p = 100,000: UCA / bare Gram      {verdict(results[len(WIDE)]['uca_over_product'], 3.0)}")
    alone = min(value for name, value in results[0]["alternatives"].items() if name.endswith(pca.ONE_THREAD))
    print(f"  p =   1,000: UCA / fastest PCA(2) on one thread {verdict(results[0]['uca'] / alone, 1.3)}")
    if mouse:
        print(f"  mouse split, milliseconds         {verdict(mouse['uca'], 15.0)}")
    else:
        print("  mouse split: skipped, set UCA_DATA to a folder with mice_protein.csv")
    if not Path("/proc/self/clear_refs").exists():
        print("  extra memory: skipped, it is read from Linux's /proc")
        shares = {}
    else:
        shares = {f"{d} p = {p:,}": memory(p, d) for d in ("float64", "float32") for p in (100_000, 400_000)}
    for name, share in shares.items():
        print(f"  extra memory / input, {name:<22} {verdict(share, 0.2)}")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "times": results, "memory": shares}, indent=1))


if __name__ == "__main__":
    main()
