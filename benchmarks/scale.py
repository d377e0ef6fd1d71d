"""UCA beside its peers at every shape: time, peak memory and growth. Part of ``make bench``.

Each workload runs in a fresh process, ours and the peer in turns on the same data. Figures are ratios of medians measured in
one run; memory is the growth of the peak resident size. Targets are printed beside what was measured, reached or not. With
``--save`` the figures go to docs/benchmarks.json and a plot of how time grows to docs/images/growth.png.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import sklearn
from measure import Figures, compare, in_fresh_process, run
from pages import between
from scipy import sparse
from sklearn.decomposition import PCA

from uca import UCA, __version__

ROOT = Path(__file__).resolve().parents[1]
DOCS, README = ROOT / "docs", ROOT / "README.md"


def megabytes(*arrays) -> float:
    return sum(a.data.nbytes + a.indices.nbytes if sparse.issparse(a) else a.nbytes for a in arrays) / 1e6


def factors(rng, n: int, p: int, dtype=np.float64) -> np.ndarray:
    """Rows with ten common factors and noise."""
    common = np.random.default_rng(99).standard_normal((10, p)) * 0.3
    own = rng.standard_normal((3, p)) * 0.3
    rows = rng.standard_normal((n, 10)) @ common + rng.standard_normal((n, 3)) @ own
    rows = rows.astype(dtype)
    rows += rng.standard_normal((n, p), dtype=dtype)
    return rows


def wide(p: int) -> Figures:
    rng = np.random.default_rng(p)
    target, background = (rng.standard_normal((100, p)) for _ in range(2))
    stack = np.vstack([target, background])
    repeats = 21 if p <= 10_000 else 7
    return compare(
        lambda: UCA().fit(target, backgrounds=background), lambda: PCA(2).fit(stack), megabytes(stack), repeats
    )


def million() -> Figures:
    rng = np.random.default_rng(0)
    target, background = (rng.standard_normal((50, 1_000_000), dtype=np.float32) for _ in range(2))
    stack = np.vstack([target, background])
    return compare(lambda: UCA().fit(target, backgrounds=background), lambda: stack @ stack.T, megabytes(stack), 7)


def tall() -> Figures:
    rng = np.random.default_rng(0)
    target, *backgrounds = (rng.standard_normal((n, 100)) for n in (1_000_000, 300_000, 300_000, 300_000))
    stack = np.vstack([target, *backgrounds])
    return compare(
        lambda: UCA().fit(target, backgrounds=backgrounds),
        lambda: PCA(2, svd_solver="covariance_eigh").fit(stack),
        megabytes(stack),
        5,
    )


def both_large() -> Figures:
    target, *backgrounds = (factors(np.random.default_rng(s), 5_000, 5_000) for s in range(3))
    stack = np.vstack([target, *backgrounds])
    return compare(
        lambda: UCA().fit(target, backgrounds=backgrounds),
        lambda: PCA(2, svd_solver="full").fit(stack),
        megabytes(stack),
        1,
    )


def topics(n: int, p: int, stored: int, seed: int) -> sparse.csr_array:
    """Sparse rows, half of whose features come from a few of thirty topics; topics differ between datasets by a third."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, p, (n, stored), dtype=np.int32)
    mixtures = rng.dirichlet(np.full(30, 0.1), size=2_000)
    drawn = np.array([rng.choice(30, size=stored // 2, p=mixture) for mixture in mixtures])[rng.integers(0, 2_000, n)]
    size = p // 120
    columns[:, : stored // 2] = (drawn + 10 * (seed % 3)) * size + rng.integers(0, size, drawn.shape)
    columns.sort(axis=1)
    values = rng.standard_exponential((n, stored))
    rows = sparse.csr_array((values.ravel(), columns.ravel(), np.arange(0, n * stored + 1, stored)), shape=(n, p))
    rows.sum_duplicates()
    return rows


def sparse_rows() -> Figures:
    target, *backgrounds = (topics(n, 20_000, 400, s) for s, n in enumerate((100_000, 50_000, 50_000)))
    stack = sparse.vstack([target, *backgrounds]).tocsr()
    return compare(
        lambda: UCA().fit(target, backgrounds=backgrounds),
        lambda: PCA(2, svd_solver="arpack").fit(stack),
        megabytes(stack),
        1,
    )


@contextlib.contextmanager
def quiet():
    """Peers print and warn."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def beside_slow_peer(target, background, peer) -> Figures:
    """One run of the peer between two halves of many runs of ours; the first of ours is not counted."""

    def ours() -> object:
        return UCA().fit(target, backgrounds=background)

    ours()
    first = [run(ours) for _ in range(11)]
    seconds, peer_mb = run(peer)
    runs = first + [run(ours) for _ in range(11)]
    memory = max((mb for _, mb in runs if mb is not None), default=None)
    return Figures(float(np.median([s for s, _ in runs])), seconds, memory, peer_mb, megabytes(target, background))


def contrastive_peer() -> Figures:
    from contrastive import CPCA as Peer

    target, background = (factors(np.random.default_rng(s), n, 1_000) for s, n in enumerate((135, 270)))

    def peer() -> None:
        with quiet():
            Peer(n_components=2).fit_transform(target, background, plot=False, gui=False)

    return beside_slow_peer(target, background, peer)


def gcpca_peer() -> Figures:
    from generalized_contrastive_PCA import gcPCA

    target, background = (factors(np.random.default_rng(s), n, 2_000) for s, n in enumerate((135, 270)))

    def peer() -> None:
        with quiet():
            gcPCA(method="v4", Ncalc=2).fit(target, background)

    return beside_slow_peer(target, background, peer)


LIMITED = """
import resource, sys, time
import numpy as np
import dask, dask.array as da
from uca import UCA
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
dask.config.set(scheduler="threads", num_workers=2)
target, background = (da.from_zarr(f"{sys.argv[1]}/{name}.zarr") for name in ("target", "background"))
start = time.perf_counter()
model = UCA().fit(target, backgrounds=background)
seconds = time.perf_counter() - start
part = UCA().fit(target[:, ::20], backgrounds=background[:, ::20])
np.savez(sys.argv[3], components=part.components_, upper=part.certificate_.upper, seconds=seconds)
print(model.representation_, model.certificate_.status, target.nbytes + background.nbytes)
"""


def out_of_core(folder: str | None) -> dict[str, object]:
    """8 GB on disk in a process that may use 2: it completes, and equals the in-memory answer on every 20th feature."""
    import zarr

    n, p, chunk, limit = {"target": 600_000, "background": 400_000}, 1_000, 5_000, 2 << 30
    with tempfile.TemporaryDirectory(dir=folder) as place:
        sampled = {}
        for s, (name, rows) in enumerate(n.items()):
            store = zarr.create_array(
                f"{place}/{name}.zarr", shape=(rows, p), chunks=(chunk, p), dtype="f8", compressors=None
            )
            sampled[name] = np.empty((rows, p // 20))
            for i in range(0, rows, chunk):
                block = factors(np.random.default_rng([s, i]), chunk, p)
                store[i : i + chunk] = block
                sampled[name][i : i + chunk] = block[:, ::20]
        result = f"{place}/result.npz"
        environment = {**os.environ, "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        arguments = [sys.executable, "-c", LIMITED, place, str(limit), result]
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            return {"completes": False, "error": done.stderr[-500:]}
        found = np.load(result)
    expected = UCA().fit(sampled["target"], backgrounds=sampled["background"])
    difference = float(np.abs(found["components"] - expected.components_).max())
    return {
        "completes": True,
        "limit_gb": limit / 2**30,
        "said": done.stdout.strip(),
        "seconds": float(found["seconds"]),
        "difference_from_memory": difference,
    }


def seconds_of(job) -> float:
    job()
    return float(np.median([run(job)[0] for _ in range(5)]))


def growth() -> dict[str, dict[str, object]]:
    """How time grows with rows, features and backgrounds, the others held."""

    def fit(n: int, p: int, m: int) -> float:
        target, *backgrounds = (factors(np.random.default_rng(s), n, p) for s in range(m + 1))
        return seconds_of(lambda: UCA().fit(target, backgrounds=backgrounds))

    axes = {
        "rows n, p = 100": ([10_000, 30_000, 100_000, 300_000], lambda n: fit(n, 100, 1)),
        "features p, n = 100": ([3_000, 10_000, 30_000, 100_000, 300_000], lambda p: fit(100, p, 1)),
        "backgrounds m, n = 2 000, p = 200": ([1, 2, 4, 8], lambda m: fit(2_000, 200, m)),
    }
    curves = {}
    for name, (values, job) in axes.items():
        times = [job(value) for value in values]
        slope = float(np.polyfit(np.log(values), np.log(times), 1)[0])
        curves[name] = {"values": values, "seconds": times, "slope": slope}
    return curves


WORKLOADS = {
    **{
        f"wide, 100 + 100 rows, p = {p:,}": (wide, (p,), "PCA(2)", 0.3) for p in (1_000, 3_000, 10_000, 30_000, 100_000)
    },
    "wide, 50 + 50 rows, p = 1,000,000, float32": (million, (), "bare Gram product", 2.0),
    "tall, 1,000,000 + 3 x 300,000 rows, p = 100": (tall, (), "PCA covariance_eigh", 1.3),
    "5,000 + 2 x 5,000 rows, p = 5,000": (both_large, (), "PCA(2) full", 0.3),
    "sparse 2 %, 100,000 + 2 x 50,000 rows, p = 20,000": (sparse_rows, (), "PCA(2) arpack", 3.0),
    "135 + 270 rows, p = 1,000": (contrastive_peer, (), "contrastive, automatic", 1 / 1000),
    "135 + 270 rows, p = 2,000": (gcpca_peer, (), "gcPCA v4", 1 / 10),
}


def row(name: str, peer: str, target: float, figures: Figures) -> str:
    ratio = figures.ours / figures.peer
    memory = "" if figures.ours_mb is None else f"{figures.ours_mb:8.0f} {figures.peer_mb:8.0f} {figures.input_mb:8.0f}"
    told = f"{ratio:9.3g} <= {target:<6g} {'reached' if ratio <= target else 'MISSED'}"
    return f"{name:<50} {peer:<24} {figures.ours:9.3f} {figures.peer:9.3f} {told:<28} {memory}"


def markdown(saved: dict) -> str:
    """The table of docs/scale.md."""
    lines = [
        "\n| workload | beside | UCA | peer | ratio | target | extra memory, UCA / peer / input |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in saved["workloads"]:
        ratio = entry["ours"] / entry["peer"]
        missed = "" if ratio <= entry["target"] else ", missed"
        memory = (
            ""
            if entry["ours_mb"] is None
            else f"{entry['ours_mb']:.0f} / {entry['peer_mb']:.0f} / {entry['input_mb']:.0f} MB"
        )
        lines.append(
            f"| {entry['workload']} | {entry['beside']} | {seconds(entry['ours'])} | {seconds(entry['peer'])} | {ratio:.2g} "
            f"| ≤ {entry['target']:g}{missed} | {memory} |"
        )
    lines += ["", f"({saved['versions']}; {saved['machine']}; {saved['date']})", ""]
    return "\n".join(lines)


def seconds(value: float) -> str:
    return f"{1e3 * value:.0f} ms" if value < 1 else f"{value:.1f} s"


def short(saved: dict) -> str:
    """The rows of the README's table."""
    rows = [f"| {e['workload']} | {e['beside']} | {e['ours'] / e['peer']:.2g} |" for e in saved["workloads"]]
    return "\n".join(["\n| workload | beside | ratio of times |", "|---|---|---|", *rows, ""])


def draw(curves: dict[str, dict[str, object]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(11, 3.4), layout="constrained")
    for ax, (name, curve) in zip(axes, curves.items(), strict=True):
        ax.loglog(curve["values"], curve["seconds"], "o-", color="#0072B2")
        ax.set_xlabel(name)
        ax.set_ylabel("seconds")
        ax.set_title(f"slope {curve['slope']:.2f}", fontsize=10)
        ax.grid(True, which="both", alpha=0.25)
        if max(curve["values"]) < 100:
            ax.set_xticks(curve["values"], [str(value) for value in curve["values"]])
            ax.minorticks_off()
    figure.savefig(path, dpi=110)


def write(saved: dict) -> None:
    """The figures, the table in the docs and the plot."""
    (DOCS / "benchmarks.json").write_text(json.dumps(saved, indent=1) + "\n")
    for page, mark, table in ((DOCS / "scale.md", "benchmarks", markdown(saved)), (README, "ratios", short(saved))):
        page.write_text(between(page.read_text(), mark, table))
    draw(saved["growth"], DOCS / "images" / "growth.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="run workloads whose name or peer contains this")
    parser.add_argument("--save", action="store_true", help="write docs/benchmarks.json and docs/images/growth.png")
    parser.add_argument(
        "--folder", help="where 8 GB may be written for a while (default: the system's temporary folder)"
    )
    options = parser.parse_args()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    versions = f"uca {__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    print(f"{versions}; {machine}; medians in one run, memory is growth of the peak in MB\n")
    heads = f"{'UCA s':>9} {'peer s':>9} {'ratio, target':<28} {'UCA MB':>8} {'peer':>8} {'input':>8}"
    print(f"{'workload':<50} {'beside':<24} {heads}")
    saved: dict[str, object] = {"versions": versions, "machine": machine, "date": time.strftime("%Y-%m-%d")}
    table = []
    for name, (workload, arguments, peer, target) in WORKLOADS.items():
        if options.only and options.only not in name and options.only not in peer:
            continue
        try:
            figures = in_fresh_process(workload, *arguments)
        except EOFError:
            print(f"{name:<50} failed: is the peer installed? pip install unique-component-analysis[bench]")
            continue
        print(row(name, peer, target, figures), flush=True)
        table.append({"workload": name, "beside": peer, "target": target, **asdict(figures)})
    if options.only:
        if options.save:  # renew these rows, keep the others
            saved = json.loads((DOCS / "benchmarks.json").read_text())
            renewed = {entry["workload"]: entry for entry in table}
            saved["workloads"] = [renewed.get(entry["workload"], entry) for entry in saved["workloads"]]
            write(saved)
        return
    saved["workloads"] = table
    saved["out_of_core"] = out_of_core(options.folder)
    print("\n8 GB on disk, 2 GB of address space:", saved["out_of_core"])
    saved["growth"] = growth()
    for name, curve in saved["growth"].items():
        print(f"time grows with {name}: log-log slope {curve['slope']:.2f}")
    if options.save:
        write(saved)


if __name__ == "__main__":
    main()
