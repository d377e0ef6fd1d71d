"""How often uca.drift raises an alarm, at level 5 %: the tables of docs/production.md.

python benchmarks/drift_level.py
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.preprocessing import StandardScaler

import uca

LAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "uniform": lambda rng, size: rng.uniform(size=size),
    "Laplace": lambda rng, size: rng.laplace(size=size),
    "Student's t, 5 degrees of freedom": lambda rng, size: rng.standard_t(5, size=size),
    "exponential": lambda rng, size: rng.exponential(size=size),
}
MODELS, BATCHES, ALPHA = 200, 10, 0.05


def level(draw, *, rows: int = 100, repeated: int = 1, groups: bool = False) -> float:
    """Share of batches with an alarm; every row of scores occurs ``repeated`` times."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(rows // repeated), repeated) if groups else None

    def sample(n, sizes):
        return np.repeat(draw(rng, (n // repeated, 2)), repeated, axis=0) * sizes

    alarms = 0
    for _ in range(MODELS):
        model = uca.UCA(1, scale=False).fit(sample(600 * repeated, [3, 1]), backgrounds=sample(600 * repeated, [1, 1]))
        for _ in range(BATCHES):
            alarms += bool(uca.drift(model, sample(rows, [3, 1]), groups=labels, alpha=ALPHA).alarms)
    return alarms / (MODELS * BATCHES)


def fits(p: int, n_fit: int, n_new: int, k: int, *, change: str | None = None, runs: int = 200) -> float:
    """Share of whole fits (a scaler, two backgrounds) whose new rows raise an alarm; ``change`` is what has moved."""
    alarms = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, p, n_fit])
        shared, unique = rng.normal(size=(2, p)), np.zeros((1, p))
        unique[0, :3] = 1.2
        both = {"a": shared, "b": shared[:1].repeat(2, axis=0)}

        def sample(n, factors, own, rng=rng, p=p):
            rows = rng.normal(size=(n, 2)) @ factors
            return rows + (0 if own is None else rng.normal(size=(n, 1)) @ own) + rng.normal(size=(n, p))

        target = sample(n_fit, shared, unique)
        steps = [("scale", StandardScaler()), ("uca", uca.UCA(k, scale=False))]
        backgrounds = {name: sample(n_fit, factors, None) for name, factors in both.items()}
        model = uca.ContrastivePipeline(steps).fit(target, backgrounds=backgrounds)
        new = sample(n_new, shared, 1.6 * unique if change == "variance" else unique)
        new = new + 0.5 * unique if change == "mean" else new
        entered = {"a": unique if change == "background" else None, "b": None}
        others = {name: sample(n_new, factors, entered[name]) for name, factors in both.items()}
        alarms += bool(uca.drift(model, new, backgrounds=others, alpha=ALPHA).alarms)
    return alarms / runs


def main() -> None:
    for name, draw in LAWS.items():
        print(f"| {name} | {100 * level(draw):.1f} % |")
    for groups in (False, True):
        share = level(LAWS["normal"], rows=320, repeated=8, groups=groups)
        print(f"forty groups of eight equal readings, groups {'given' if groups else 'not given'}: {100 * share:.1f} %")
    warnings.simplefilter("ignore")
    for case in ((8, 400, 150, 1), (8, 400, 150, 2), (8, 100, 60, 2), (20, 60, 60, 2)):
        print(f"sensors, rows of the fit, rows of a batch, components: {case}: {100 * fits(*case):.0f} %")
    for change in ("variance", "mean", "background"):
        print(f"{change} has moved: {100 * fits(8, 400, 150, 1, change=change, runs=100):.0f} %")


if __name__ == "__main__":
    main()
