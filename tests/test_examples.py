"""The examples of the gallery run without a warning and show what their text claims."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the examples need matplotlib: pip install '.[plot]'")

import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def run(monkeypatch):
    """Run an example; give its names, and the number of its figures as ``n_figures``."""
    plt.switch_backend("Agg")
    plt.close("all")  # what other tests left open
    monkeypatch.setattr(plt, "show", lambda: None)

    def run_example(name: str) -> dict:
        names = runpy.run_path(str(EXAMPLES / f"{name}.py"))
        figures = [plt.figure(i) for i in plt.get_fignums()]
        for figure in figures:
            figure.canvas.draw()
        return {**names, "n_figures": len(figures)}

    yield run_example
    plt.close("all")


def correlation(x, y) -> float:
    return abs(np.corrcoef(x, y)[0, 1])


def test_quickstart(run, capsys):
    names = run("plot_quickstart")
    assert names["n_figures"] == 4
    assert "Unique Component Analysis: target 150 x 15, 1 background" in capsys.readouterr().out
    pca, model = (names[name].transform(names["treated"]) for name in ("pca", "model"))
    response = names["response"]
    assert max(correlation(pca[:, i], response) for i in (0, 1)) < 0.4
    assert correlation(model[:, 0], response) > 0.8
    largest = np.argsort(-np.abs(names["model"].components_[0]))[:3]
    assert {names["genes"][i] for i in largest} == {"drug 1", "drug 2", "drug 3"}


def test_choosing_backgrounds(run):
    names = run("plot_choosing_backgrounds")
    assert names["n_figures"] == 3
    rng = np.random.default_rng(0)
    target, batch, response = names["measure"](rng, 200, treated=True)
    whole, split = (names[name].transform(target)[:, 0] for name in ("whole_fit", "split_fit"))
    assert correlation(whole, response) > 0.8 > 0.4 > correlation(whole, batch)
    assert correlation(split, batch) > 0.9 > 0.3 > correlation(split, response)
    leaked = names["leaked"].mean(axis=0)
    assert leaked[0] > 0.8
    assert leaked[len(leaked) // 2] < 0.5
    assert leaked[-1] < 0.3
    means = {key: np.mean(values) for key, values in names["results"].items()}
    assert means["A: stronger in the target", "target"] > means["A: stronger in the target", True] + 0.2
    assert means["B: other gains", True] > means["B: other gains", "target"] + 0.5


def test_dual(run, capsys):
    names = run("plot_dual")
    assert names["n_figures"] == 4
    assert "Not optimal: solver 'coordinate' stopped" in capsys.readouterr().out
    assert names["coordinate"].value > 1.2 * names["result"].value


def test_digits_on_grass(run):
    pytest.importorskip("skimage", reason="the photograph needs scikit-image: pip install '.[demo]'")
    names = run("plot_digits_on_grass")
    assert names["n_figures"] == 4
    labels, target = names["data"].labels, names["data"].target
    assert correlation(names["model"].transform(target)[:, 0], labels) > 0.6
    assert max(correlation(names["pca"].transform(target)[:, i], labels) for i in (0, 1)) < 0.3


def test_is_it_real(run, capsys):
    pytest.importorskip("skimage", reason="the photograph needs scikit-image: pip install '.[demo]'")
    names = run("plot_is_it_real")
    assert names["n_figures"] == 3
    assert names["real"].n_unique_ == 1
    assert names["nothing"].n_unique_ == 0
    assert names["resampled"].stability_[0] > 0.9
    assert not names["clean"].few.any()
    assert names["spoilt"].outlying(0).tolist() == [0]
    assert "For no component could it be shown" in capsys.readouterr().out


def test_pipeline(run, capsys):
    names = run("plot_pipeline")
    assert names["n_figures"] == 1
    printed = capsys.readouterr().out
    assert "the steps before it ('fill', 'scale' and 'pca'). Use uca.ContrastivePipeline" in printed
    assert "The variance of the target along UC1 has risen to" in printed
    assert correlation(names["scores"][:, 0], names["new_worn"]) > 0.7
    assert np.mean(names["distance"][names["new_worn"]]) > 3 * np.mean(names["distance"][~names["new_worn"]])


def test_nonlinear(run, capsys):
    names = run("plot_nonlinear")
    assert names["n_figures"] == 2
    new, area, table = names["new"], names["area"], names["table"]
    assert area(names["plain"].transform(new)[:, 0]) < 0.6
    assert area(names["narrow"].transform(new)[:, 0]) > 0.95
    assert table.min() < 0.6 < 0.95 < table.max()  # as the text says: the choice matters
    assert "after the map with" in capsys.readouterr().out


def test_every_example_is_tested():
    tested = {name[5:] for name in globals() if name.startswith("test_") and name != "test_every_example_is_tested"}
    assert {path.stem.removeprefix("plot_") for path in EXAMPLES.glob("*.py")} == tested


def test_sparse_components(run, capsys):
    names = run("plot_sparse_components")
    assert names["n_figures"] == 2
    assert set(names["sparse"].support_[0]) == set(names["response_genes"])
    assert names["sparse"].certificate_.status == "optimal"
    assert "Proven: no component with 5 features" in capsys.readouterr().out
    path = names["path"]
    held_out = dict(zip(path.n_nonzero.tolist(), path.held_out, strict=True))
    assert held_out[5] > 1.3 * held_out[3]
    assert held_out[8] < 1.1 * held_out[5]


def test_eeg(run, capsys):
    pytest.importorskip("mne", reason="pip install '.[mne]'")
    names = run("plot_eeg")
    assert names["n_figures"] == 3
    agreement = names["agreement"]
    assert agreement["UCA, three backgrounds"] > 0.8
    assert max(agreement["PCA"], agreement["CSP, pooled"]) < 0.3
    assert agreement["GED, equal weights"] == pytest.approx(agreement["UCA, three backgrounds"], abs=1e-3)
    assert (names["model"].lambdas_ == 0).all()  # as the text says
    assert "muscle: 4000 samples, rank 32" in capsys.readouterr().out


def test_each(run, capsys):
    names = run("plot_each")
    assert names["n_figures"] == 2
    assert "3 of 3 groups tested have a component" in capsys.readouterr().out
    assert names["result"].n_unique == {"0": 1, "4": 1, "7": 1}
    assert names["result"]["0"].n_subjects == 13
    variances = {row["group"]: row["target_variance"] for row in names["result"].table}
    assert all(row["background_variance"] < variances[row["group"]] / 5 for row in names["result"].table)
