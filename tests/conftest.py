from __future__ import annotations

import csv
import json
import os
from importlib.metadata import version
from pathlib import Path

if tuple(map(int, version("scipy").split(".")[:2])) >= (1, 14):  # below, scikit-learn refuses to dispatch
    os.environ.setdefault("SCIPY_ARRAY_API", "1")  # read when scipy is first imported; array-API tests need it

import numpy as np
import pytest
from needs import lacking

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
HOW = "set UCA_DATA to a folder with mice_protein.csv and mice_reference.json to run this"


def _find(name: str, kind: str) -> Path:
    places = [Path(os.environ["UCA_DATA"])] if "UCA_DATA" in os.environ else []
    for place in [*places, SHARED / kind]:
        if (place / name).is_file():
            return place / name
    pytest.skip(f"{name} was not found; {HOW}")


def pytest_configure() -> None:
    """As many BLAS threads as asked for (OpenBLAS itself stops at the number of cores); one where lanes share them."""
    lanes = "PYTEST_XDIST_WORKER" in os.environ
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "") or ("1" if lanes else "")
    if threads:
        import scipy.linalg  # noqa: F401  (for the library that it loads)
        from threadpoolctl import threadpool_limits

        threadpool_limits(int(threads), user_api="blas")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Checks of scikit-learn for what is not there skip."""
    reason = lacking(item.callspec.params.get("check")) if hasattr(item, "callspec") else None
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def mice() -> dict[str, np.ndarray]:
    """Rows of the 76 distinct proteins by class, missing values as 0 (the paper's preparation)."""
    with _find("mice_protein.csv", "data").open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    proteins = slice(1, 78)
    values = np.array([[float(cell) if cell else 0.0 for cell in row[proteins]] for row in rows])
    _, first = np.unique(values, axis=1, return_index=True)
    values = values[:, np.sort(first)]
    assert values.shape == (1080, 76), header
    classes = np.array([row[-1] for row in rows])
    return {name: values[classes == name] for name in np.unique(classes)}


@pytest.fixture(scope="session")
def mice_reference() -> dict[str, dict]:
    return json.loads(_find("mice_reference.json", "reference").read_text())


@pytest.fixture(params=["pyarrow", "pandas"])
def each_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is read by pyarrow where it can be, and by pandas: tests that use this run with both."""
    if request.param == "pandas":
        monkeypatch.setattr("uca.io.text.read_plain", lambda *_: None)
    else:
        monkeypatch.setattr("uca.io.plain.FEWEST_ROWS", 0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
