"""Strangers' environments: the wheel alone with core dependencies, and with one extra at a time.

``make test-extras`` (part of CI): wheels are gathered once, every environment is then made from them without a network,
and what the extra is for is used once. ``EXTRAS="io mne"`` names some; torch is large and tried only by name.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.environments

ROOT = Path(__file__).resolve().parents[1]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
DEVELOPERS = {"docs", "bench", "test"}  # make docs, bench and test install and use them
LARGE = {"torch"}
ROWS = "import numpy as np; T, B = np.random.default_rng(0).normal(size=(2, 40, 5)); "
#: What each extra is for, in a line or two.
USED = {
    "core": ROWS
    + "import uca; from uca import *; assert UCA(2).fit(T, backgrounds=B).certificate_.status == 'optimal'",
    "cli": "import subprocess as s; s.run(['uca', 'fit', 't.csv', '-b', 'b.csv', '--out', 'o'], check=True); "
    "s.run(['uca', 'info', 'o/model.skops'], check=True)",
    "io": "import pandas as pd, uca.io as io; pd.read_csv('t.csv').to_parquet('t.parquet'); assert "
    "io.read_table('t.parquet').values.shape == (40, 5)",
    "excel": "import pandas as pd, uca.io as io; pd.read_csv('t.csv').to_excel('t.xlsx', index=False); assert "
    "io.read_table('t.xlsx').values.shape == (40, 5)",
    "plot": ROWS + "import uca, uca.plotting as p; p.scores(uca.UCA(2).fit(T, backgrounds=B), T, backgrounds=B)",
    "report": ROWS
    + "import uca, uca.report as r; r.report(uca.UCA(2).fit(T, backgrounds=B), 'r.html', T, backgrounds=B); "
    "assert '</html>' in open('r.html').read()",
    "demo": "import subprocess as s, sys; s.run([sys.executable, '-m', 'uca.demo', '--out', 'o'], check=True)",
    "paper": "import subprocess as s; s.run(['uca', 'reproduce', '--help'], check=True); import matplotlib, PIL",
    "progress": ROWS + "from uca.inference import bootstrap; bootstrap(T, B, n_resamples=20, verbose=True)",
    "dask": ROWS + "import uca, dask.array as da; a = uca.UCA(2).fit(da.from_array(T, (10, 5)), backgrounds=B); "
    "np.testing.assert_allclose(a.lambdas_, uca.UCA(2).fit(T, backgrounds=B).lambdas_, atol=1e-6)",
    "scverse": ROWS + "import anndata, uca.scverse as s; a = anndata.AnnData(np.vstack([T, B])); "
    "a.obs['g'] = ['t'] * 40 + ['b'] * 40; s.uca(a, groupby='g', target='t', backgrounds=['b']); assert 'X_uca' in a.obsm",
    "mne": "import uca.mne; uca.mne.UCA(n_components=2)",
    "torch": ROWS + "import os; os.environ['SCIPY_ARRAY_API'] = '1'; import torch, sklearn, uca; "
    "sklearn.set_config(array_api_dispatch=True); uca.UCA(2).fit(torch.asarray(T), backgrounds=torch.asarray(B))",
}


def asked() -> list[str]:
    named = os.environ.get("EXTRAS", "").split()
    return named or [extra for extra in USED if extra not in LARGE]


def test_every_extra_is_tried():
    assert set(USED) == {"core", *DECLARED} - DEVELOPERS


def run(*arguments: str, folder: Path) -> str:
    outside = ("PYTHONPATH", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in outside}
    environment["PATH"] = f"{Path(arguments[0]).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> Path:
    """This package and everything that the extras need, in one folder."""
    pytest.importorskip("build", reason="the package build is not installed: make test-extras")
    pytest.importorskip("uv", reason="uv is not installed: make test-extras")
    folder = tmp_path_factory.mktemp("wheels")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT), folder=folder)
    (wheel,) = folder.glob("unique_component_analysis-*.whl")
    extras = ",".join(extra for extra in asked() if extra != "core")
    named = f"{wheel}[{extras}]" if extras else str(wheel)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(folder), named, folder=folder)
    return folder


def environment(wheels: Path, folder: Path, extra: str) -> Path:
    """The folder of programs of an environment that has the package, with one extra or none, and nothing else."""
    venv.create(folder / "venv", with_pip=False)
    programs = folder / "venv" / "bin"
    (wheel,) = wheels.glob("unique_component_analysis-*.whl")
    named = str(wheel) if extra == "core" else f"{wheel}[{extra}]"
    offline = ["--offline", "--no-index", "--find-links", str(wheels), "--python", str(programs / "python")]
    run(sys.executable, "-m", "uv", "pip", "install", "--quiet", *offline, named, folder=folder)
    return programs


@pytest.mark.parametrize("extra", asked())
def test_one_extra_alone(extra, wheels, tmp_path):
    python = environment(wheels, tmp_path, extra) / "python"
    for name in ("t.csv", "b.csv"):
        lines = "\n".join(
            ",".join(str((i * i * 7 + j * 11 * i + ord(name[0]) * (i % 3)) % 13) for j in range(5)) for i in range(40)
        )
        (tmp_path / name).write_text("a,b,c,d,e\n" + lines + "\n")
    run(str(python), "-W", "error::ImportWarning", "-c", USED[extra], folder=tmp_path)


def test_the_program_without_its_extra_says_what_to_install(wheels, tmp_path):
    program = environment(wheels, tmp_path, "core") / "uca"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode != 0
    assert "unique-component-analysis[cli]" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_wheel_and_archive_are_built_reproducibly(tmp_path):
    """Twice from the same files: the same bytes."""
    pytest.importorskip("build", reason="the package build is not installed: make test-extras")
    digests = []
    for turn in ("one", "two"):
        folder = tmp_path / turn
        run(sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT), folder=tmp_path)
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())})
    assert len(digests[0]) == 2
    assert digests[0] == digests[1]
