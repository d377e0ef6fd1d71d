"""How well the first pattern of uca.mne shows a known source, beside generalised eigenvalue problems (docs/eeg.md).

python -m benchmarks.eeg
"""

from __future__ import annotations

import mne
import numpy as np
from scipy.linalg import eigh

import uca.mne

MONTAGE = mne.channels.make_standard_montage("biosemi32")
PLACES = MONTAGE.get_positions()["ch_pos"]
SENSORS = np.array([PLACES[name] for name in MONTAGE.ch_names])
INFO = mne.create_info(MONTAGE.ch_names, 100.0, "eeg", verbose=False)


def topography(place: np.ndarray, width: float) -> np.ndarray:
    """A smooth bump on the sensors; places and widths in m."""
    return np.exp(-((np.linalg.norm(SENSORS - place, axis=1) / width) ** 2) / 2)


TASK = topography(PLACES["C3"], 0.04)
SHAPES = {
    "blink": [topography((PLACES["Fp1"] + PLACES["Fp2"]) / 2, 0.05)],
    "alpha": [topography(PLACES["Oz"], 0.05)],
    "task": [TASK],
    "muscle": [topography(PLACES["T7"], 0.025), topography(PLACES["T8"], 0.025)],
}


def brain() -> np.ndarray:
    """Topographies of 200 sources at random places, the same in all recordings."""
    places = np.random.default_rng(5).normal(size=(200, 3))
    places /= np.linalg.norm(places, axis=1)[:, None]
    places[:, 2] = np.abs(places[:, 2])
    return 0.35 * np.stack([topography(0.095 * place, 0.05) for place in places], axis=1)


BRAIN = brain()
#: SDs of the sources in microvolt and numbers of samples: those of the task, then of rest, blinks and muscle.
CASES = {
    "3 among blinks of 10": (
        {"n": 6000, "blink": 10, "alpha": 6, "task": 3, "muscle": 5},
        {"n": 6000, "alpha": 8},
        {"n": 1500, "blink": 14, "alpha": 4},
        {"n": 1500, "muscle": 7, "alpha": 2},
    ),
    "3 among blinks of 30, long rest": (
        {"n": 6000, "blink": 30, "alpha": 12, "task": 3, "muscle": 15},
        {"n": 60_000, "alpha": 20},
        {"n": 400, "blink": 30, "alpha": 4},
        {"n": 400, "muscle": 15, "alpha": 2},
    ),
    "3 among blinks of 80": (
        {"n": 6000, "blink": 80, "alpha": 48, "task": 3, "muscle": 40},
        {"n": 6000, "alpha": 64},
        {"n": 1500, "blink": 110, "alpha": 32},
        {"n": 1500, "muscle": 56, "alpha": 16},
    ),
    "1 among blinks of 10": (
        {"n": 20_000, "blink": 10, "alpha": 6, "task": 1, "muscle": 5},
        {"n": 20_000, "alpha": 8},
        {"n": 3000, "blink": 14, "alpha": 4},
        {"n": 3000, "muscle": 7, "alpha": 2},
    ),
    "artefacts twice as strong in the task": (
        {"n": 6000, "blink": 40, "alpha": 12, "task": 3, "muscle": 20},
        {"n": 20_000, "alpha": 20},
        {"n": 600, "blink": 20, "alpha": 4},
        {"n": 600, "muscle": 10, "alpha": 2},
    ),
}


def record(rng: np.random.Generator, n: int, **sizes: float) -> np.ndarray:
    """Samples (32, n) in V."""
    values = BRAIN @ rng.normal(size=(BRAIN.shape[1], n)) + 0.5 * rng.normal(size=(len(SENSORS), n))
    for name, shapes in SHAPES.items():
        for shape in shapes:
            values += np.outer(shape, sizes.get(name, 0.0) * rng.normal(size=n))
    return 1e-6 * values


def agreements(case: tuple[dict[str, float], ...], seed: int) -> dict[str, float]:
    """Cosine between the first pattern and the true one, for each method."""
    rng = np.random.default_rng(seed)
    task, *others = (record(rng, **sizes) for sizes in case)
    raws = [mne.io.RawArray(values, INFO, verbose=False) for values in (task, *others)]
    model = uca.mne.UCA(1).fit(raws[0], backgrounds=dict(zip(("rest", "blinks", "muscle"), raws[1:], strict=True)))
    target = np.cov(task)
    filters = {
        "UCA": model.filters_[0],
        "GED, samples stacked": eigh(target, np.cov(np.hstack(others)))[1][:, -1],
        "GED, equal weights": eigh(target, sum(map(np.cov, others)))[1][:, -1],
    }
    patterns = {name: target @ weights for name, weights in filters.items()}
    return {name: abs(p @ TASK) / np.linalg.norm(p) / np.linalg.norm(TASK) for name, p in patterns.items()}


def main(n_seeds: int = 10) -> None:
    for name, case in CASES.items():
        found = [agreements(case, 100 + seed) for seed in range(n_seeds)]
        told = {key: [one[key] for one in found] for key in found[0]}
        print(name, *(f"{key} {np.median(v):.2f} ({np.min(v):.2f})" for key, v in told.items()), sep="; ", flush=True)


if __name__ == "__main__":
    main()
