"""UCA beside its peers at every shape: time, peak memory and growth. Part of ``make bench``.

Each workload runs in a fresh process, ours and all alternatives in turns on the same data: every solver of scikit-learn's
PCA that suits the shape, or the settings of another package. The ratio is that of medians in one run, against the fastest,
whose name stands in the row; memory is the growth of the peak resident size. Targets are printed beside what was measured,
reached or not. ``--only TEXT`` runs the workloads whose name contains TEXT, ``--list`` names them all. With ``--save`` the
figures go to docs/benchmarks.json and, as those of this version, to benchmarks/history.json; the tables of docs/scale.md and
README.md are renewed, and the growth of time is drawn.
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
from dataclasses import asdict, dataclass
from pathlib import Path

import history
import numpy as np
import pca
import sklearn
from measure import Cost, Figures, compare, cost, in_fresh_process, run
from pages import between
from scipy import sparse

from uca import UCA, __version__

ROOT = Path(__file__).resolve().parents[1]
DOCS, README = ROOT / "docs", ROOT / "README.md"


def megabytes(*arrays) -> float:
    return sum(a.data.nbytes + a.indices.nbytes if sparse.issparse(a) else a.nbytes for a in arrays) / 1e6


def factors(rng, n: int, p: int, dtype=np.float64, *, n_own: int = 3) -> np.ndarray:
    """Rows with ten common factors, some of their own, and noise."""
    common = np.random.default_rng(99).standard_normal((10, p)) * 0.3
    own = rng.standard_normal((n_own, p)) * 0.3
    rows = rng.standard_normal((n, 10)) @ common + rng.standard_normal((n, n_own)) @ own
    rows = rows.astype(dtype)
    rows += rng.standard_normal((n, p), dtype=dtype)
    return rows


def beside_pca(target, backgrounds, repeats: int, **how) -> Figures:
    """UCA beside PCA of the stacked rows, by every solver that suits the shape."""
    rows = [target, *backgrounds]
    stack = sparse.vstack(rows).tocsr() if sparse.issparse(target) else np.vstack(rows)
    jobs = pca.jobs(stack)
    return compare(
        lambda: UCA().fit(target, backgrounds=backgrounds),
        jobs,
        megabytes(stack),
        repeats,
        always={pca.DEFAULTS},
        **how,
    )


def wide(p: int) -> Figures:
    rng = np.random.default_rng(p)
    target, background = (rng.standard_normal((100, p)) for _ in range(2))
    return beside_pca(target, [background], 21 if p <= 10_000 else 7)


def million_rows() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((50, 1_000_000), dtype=np.float32) for _ in range(2)]


def million() -> Figures:
    target, background = million_rows()
    return beside_pca(target, [background], 3)


def million_beside_gram() -> Figures:
    target, background = million_rows()
    stack = np.vstack([target, background])
    gram = pca.with_one_thread({"bare Gram product": lambda: stack @ stack.T})
    return compare(lambda: UCA().fit(target, backgrounds=background), gram, megabytes(stack), 7)


def tall() -> Figures:
    rng = np.random.default_rng(0)
    target, *backgrounds = (rng.standard_normal((n, 100)) for n in (1_000_000, 300_000, 300_000, 300_000))
    return beside_pca(target, backgrounds, 5)


def both_large(n_own: int) -> Figures:
    """Rows whose datasets have factors of their own; without them the top of the contrast's spectrum is flat."""
    target, *backgrounds = (factors(np.random.default_rng(s), 5_000, 5_000, n_own=n_own) for s in range(3))
    return beside_pca(target, backgrounds, 3)


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
    return beside_pca(target, backgrounds, 1)


def fewer_sparse_rows() -> Figures:
    """In CPU time: how the passes over rows are shared among cores is another question."""
    target, *backgrounds = (topics(n, 4_000, 80, s) for s, n in enumerate((20_000, 10_000, 10_000)))
    return beside_pca(target, backgrounds, 5, clock=time.process_time)


@contextlib.contextmanager
def quiet():
    """Peers print and warn."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def beside_slow_peer(target, background, peer_name: str, peer) -> Figures:
    """One run of the peer with all BLAS threads and one with a single thread, between two halves of many runs of ours.

    The first run of ours is not counted.
    """

    def ours() -> object:
        return UCA().fit(target, backgrounds=background)

    ours()
    first = [run(ours) for _ in range(11)]
    peers = {name: cost([run(job)]) for name, job in pca.with_one_thread({peer_name: peer}).items()}
    runs = first + [run(ours) for _ in range(11)]
    return Figures(cost(runs), peers, megabytes(target, background))


def peer_rows(p: int) -> list[np.ndarray]:
    return [factors(np.random.default_rng(s), n, p) for s, n in enumerate((135, 270))]


def contrastive_peer() -> Figures:
    from contrastive import CPCA as Peer

    target, background = peer_rows(1_000)

    def peer() -> None:
        with quiet():
            Peer(n_components=2).fit_transform(target, background, plot=False, gui=False)

    return beside_slow_peer(target, background, "contrastive, automatic", peer)


def contrastive_given_alpha() -> Figures:
    """For a user who knows alpha: one eigenproblem instead of 41."""
    from contrastive import CPCA as Peer

    target, background = peer_rows(1_000)

    def peer() -> None:
        with quiet():
            Peer(n_components=2).fit_transform(target, background, alpha_selection="manual", alpha_value=1.0)

    return beside_slow_peer(target, background, "contrastive, one given alpha", peer)


def gcpca_peer() -> Figures:
    from generalized_contrastive_PCA import gcPCA

    target, background = peer_rows(2_000)

    def fit(version: str):
        def peer() -> None:
            with quiet():
                gcPCA(method=version, Ncalc=2).fit(target, background)

        return peer

    peers = pca.with_one_thread({f"gcPCA {version}": fit(version) for version in ("v1", "v2", "v3", "v4")})
    return compare(lambda: UCA().fit(target, backgrounds=background), peers, megabytes(target, background), 7)


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


@dataclass(frozen=True)
class Target:
    """The ratio of times that we want to reach, to one alternative or, by default, to the fastest."""

    limit: float
    peer: str | None = None


AS_RUN = Target(0.5, pca.DEFAULTS)
# Workload, its arguments, and what we want to reach.
WORKLOADS = {
    "wide, 100 + 100 rows, p = 1,000": (wide, (1_000,), (AS_RUN, Target(1.3))),
    **{f"wide, 100 + 100 rows, p = {p:,}": (wide, (p,), (AS_RUN,)) for p in (3_000, 10_000, 30_000, 100_000)},
    "wide, 50 + 50 rows, p = 1,000,000, float32": (million, (), (AS_RUN,)),
    "wide, 50 + 50 rows, p = 1,000,000, float32, a product alone": (million_beside_gram, (), (Target(2.0),)),
    "tall, 1,000,000 + 3 x 300,000 rows, p = 100": (tall, (), (Target(1.3),)),
    "5,000 + 2 x 5,000 rows, p = 5,000": (both_large, (3,), (Target(2.0, pca.name("arpack")),)),
    "5,000 + 2 x 5,000 rows, p = 5,000, nothing unique": (both_large, (0,), (Target(4.0, pca.name("arpack")),)),
    "sparse 2 %, 100,000 + 2 x 50,000 rows, p = 20,000": (sparse_rows, (), (Target(3.0),)),
    "sparse 2 %, 20,000 + 2 x 10,000 rows, p = 4,000, CPU time": (fewer_sparse_rows, (), (Target(1.4),)),
    "135 + 270 rows, p = 1,000": (contrastive_peer, (), (Target(1 / 1000),)),
    "135 + 270 rows, p = 1,000, alpha known": (contrastive_given_alpha, (), ()),
    "135 + 270 rows, p = 2,000": (gcpca_peer, (), (Target(1 / 10),)),
}


@dataclass(frozen=True)
class Row:
    """A workload with its alternatives, fastest first."""

    workload: str
    targets: tuple[Target, ...]
    figures: Figures

    @classmethod
    def saved(cls, entry: dict) -> Row:
        peers = {name: Cost(**costs) for name, costs in entry["peers"].items()}
        targets = tuple(Target(**target) for target in entry["targets"])
        return cls(entry["workload"], targets, Figures(Cost(**entry["ours"]), peers, entry["input_mb"]))

    def entry(self) -> dict:
        targets = [asdict(target) for target in self.targets]
        return {"workload": self.workload, "targets": targets, **asdict(self.figures)}

    @property
    def ranked(self) -> list[str]:
        peers = self.figures.peers
        return sorted((name for name in peers if name != pca.DEFAULTS), key=lambda name: peers[name].seconds)

    @property
    def fastest(self) -> str:
        return self.ranked[0]

    @property
    def fastest_exact(self) -> str | None:
        """The fastest alternative that is exact, where the fastest of all is not."""
        return None if pca.is_exact(self.fastest) else next(filter(pca.is_exact, self.ranked), None)

    def ratio(self, peer: str | None = None) -> float:
        """Our time over that of an alternative, by default the fastest."""
        return self.figures.ours.seconds / self.figures.peers[peer or self.fastest].seconds

    @property
    def verdict(self) -> str:
        return "; ".join(map(self._reached, self.targets)) or "none"

    def _reached(self, target: Target) -> str:
        """A target and whether it is reached; of an alternative the better of its thread settings counts."""
        if target.peer is None:
            return f"≤ {target.limit:g}" + ("" if self.ratio() <= target.limit else ", missed")
        settings = (target.peer, target.peer + pca.ONE_THREAD)
        ratio = max(self.ratio(name) for name in settings if name in self.figures.peers)
        return f"≤ {target.limit:g} of {target.peer}: {ratio:.2g}" + ("" if ratio <= target.limit else ", missed")

    @property
    def others(self) -> str:
        """Time and ratio of the other alternatives, each at the better of its thread settings."""
        best: dict[str, str] = {}
        for name in self.ranked:
            best.setdefault(name.removesuffix(pca.ONE_THREAD), name)
        told = (f"{n} {seconds(self.figures.peers[n].seconds)}, ratio {self.ratio(n):.2g}" for n in best.values())
        return "; ".join(list(told)[1:])

    @property
    def memory(self) -> str:
        grown = (self.figures.ours.mb, self.figures.peers[self.fastest].mb)
        return " / ".join("?" if mb is None else f"{mb:.0f}" for mb in (*grown, self.figures.input_mb)) + " MB"


def line(row: Row) -> str:
    ours, peer = row.figures.ours.seconds, row.figures.peers[row.fastest].seconds
    told = f"{row.ratio():.2g}, target {row.verdict}"
    others = f"\n{'':<60} also: {row.others}" if row.others else ""
    return f"{row.workload:<60} {row.fastest:<32} {ours:9.3f} {peer:9.3f} {told:<28} {row.memory}{others}"


def markdown(saved: dict) -> str:
    """The table of docs/scale.md."""
    heads = (
        "workload",
        "fastest alternative",
        "UCA",
        "it",
        "ratio",
        "target",
        "others, same run",
        "extra memory, UCA / it / input",
    )
    lines = [f"\n| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in map(Row.saved, saved["workloads"]):
        times = f"{seconds(row.figures.ours.seconds)} | {seconds(row.figures.peers[row.fastest].seconds)}"
        lines.append(
            f"| {row.workload} | {row.fastest} | {times} | {row.ratio():.2g} | {row.verdict} | {row.others} | {row.memory} |"
        )
    lines += ["", f"({saved['versions']}; {saved['machine']}; {saved['date']})", ""]
    return "\n".join(lines)


def seconds(value: float) -> str:
    return f"{1e3 * value:.0f} ms" if value < 1 else f"{value:.1f} s"


def short(saved: dict) -> str:
    """The rows of the README's table."""
    lines = ["\n| workload | compared with the fastest alternative | ratio of times |", "|---|---|---|"]
    for row in map(Row.saved, saved["workloads"]):
        exact = row.fastest_exact
        more = f" (exact: {exact}, {row.ratio(exact):.2g})" if exact else ""
        lines.append(f"| {row.workload} | {row.fastest}{more} | {row.ratio():.2g} |")
    return "\n".join([*lines, ""])


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
    parser.add_argument("--only", help="run workloads whose name contains this")
    parser.add_argument("--list", action="store_true", help="name the workloads and end")
    parser.add_argument("--save", action="store_true", help="write the figures, tables and plot of the docs")
    parser.add_argument(
        "--folder", help="where 8 GB may be written for a while (default: the system's temporary folder)"
    )
    options = parser.parse_args()
    if options.list:
        print(*WORKLOADS, sep="\n")
        return
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    versions = f"uca {__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    print(f"{versions}; {machine}; medians in one run, memory is growth of the peak in MB\n")
    heads = f"{'UCA s':>9} {'it, s':>9} {'ratio':<28} MB: UCA / it / input"
    print(f"{'workload':<60} {'fastest alternative':<32} {heads}")
    table = measured(options.only or "")
    saved: dict[str, object] = {"versions": versions, "machine": machine, "date": time.strftime("%Y-%m-%d")}
    about = {"version": __version__, **saved}
    if options.only:
        if options.save and table:
            write(renewed(json.loads((DOCS / "benchmarks.json").read_text()), table))
            history.save(about, table, DOCS / "scale.md")
        return
    saved["workloads"] = [row.entry() for row in table]
    saved["out_of_core"] = out_of_core(options.folder)
    print("\n8 GB on disk, 2 GB of address space:", saved["out_of_core"])
    saved["growth"] = growth()
    for name, curve in saved["growth"].items():
        print(f"time grows with {name}: log-log slope {curve['slope']:.2f}")
    if options.save:
        write(saved)
        history.save(about, table, DOCS / "scale.md")


def measured(only: str) -> list[Row]:
    """Run the workloads whose name contains a text, each in a process of its own, and print them."""
    table = []
    for name, (workload, arguments, targets) in WORKLOADS.items():
        if only not in name:
            continue
        try:
            row = Row(name, targets, in_fresh_process(workload, *arguments))
        except EOFError:
            print(f"{name:<60} failed: is the peer installed? pip install unique-component-analysis[bench]")
            continue
        print(line(row), flush=True)
        table.append(row)
    return table


def renewed(saved: dict, table: list[Row]) -> dict:
    """The saved figures with some rows renewed or added, in the order of the workloads; rows of no workload go."""
    entries = {entry["workload"]: entry for entry in saved["workloads"]}
    entries |= {row.workload: row.entry() for row in table}
    return {**saved, "workloads": [entries[name] for name in WORKLOADS if name in entries]}


if __name__ == "__main__":
    main()
