"""How often uca.drift raises an alarm where nothing has changed, at level 5 %: the table of docs/production.md.

python benchmarks/drift_level.py
"""

from __future__ import annotations

import numpy as np

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


def main() -> None:
    for name, draw in LAWS.items():
        print(f"| {name} | {100 * level(draw):.1f} % |")
    for groups in (False, True):
        share = level(LAWS["normal"], rows=320, repeated=8, groups=groups)
        print(f"forty groups of eight equal readings, groups {'given' if groups else 'not given'}: {100 * share:.1f} %")


if __name__ == "__main__":
    main()
