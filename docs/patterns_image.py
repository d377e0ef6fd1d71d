"""Draws docs/images/patterns.png: the weights of a score beside what follows it."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

mpl.use("Agg")
import matplotlib.pyplot as plt

from uca import UCA
from uca.plotting import loadings

rng = np.random.default_rng(0)
N = 2000
NAMES = ["IL6", "CRP", "age marker 1", "age marker 2", "other"]
AGE = np.array([0.0, 3.0, 3.0, 3.0, 0.0])  # varies in everybody; CRP rises with age
DISEASE = np.array([1.6, 1.6, 0.0, 0.0, 0.0])  # varies in patients only
patients = rng.normal(size=(N, 1)) * AGE + rng.normal(size=(N, 1)) * DISEASE + 0.7 * rng.normal(size=(N, 5))
controls = rng.normal(size=(N, 1)) * AGE + 0.7 * rng.normal(size=(N, 5))
tables = [pd.DataFrame(rows, columns=NAMES) for rows in (patients, controls)]
model = UCA(1, scale=False, bound=0.53).fit(tables[0], backgrounds={"controls": tables[1]})

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
loadings(model, kind="loadings", ax=axes[0])
loadings(model, kind="patterns", ax=axes[1])
axes[0].set_title("components_: the weights that make the score.\nAge markers have weights, to cancel age")
axes[1].set_title("patterns_: what follows the score.\nIL6 and CRP follow it, age markers hardly")
figure.savefig(Path(__file__).parent / "images" / "patterns.png", dpi=90)
