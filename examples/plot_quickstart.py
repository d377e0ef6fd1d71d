"""
Quick start
===========

Two groups of samples are measured: treated ones and controls. All samples vary with the cell cycle and with stress, which
is a large effect; some of the treated respond to a drug, which is a small one. PCA shows what is large. UCA shows what the
treated have and the controls do not.
"""

# %%
# Data
# ----
# Fifteen genes. Five follow the cell cycle and four follow stress, in both groups. Three respond to the drug, in about half
# of the treated.

import matplotlib.pyplot as plt
import numpy as np

from uca import UCA, plotting

rng = np.random.default_rng(0)
sizes = {"cycle": 5, "stress": 4, "drug": 3, "other": 3}
genes = [f"{kind} {i + 1}" for kind, size in sizes.items() for i in range(size)]
cycle, stress, drug = (np.array([gene.startswith(kind) for gene in genes], dtype=float) for kind in list(sizes)[:3])


def everybody(n):
    """What varies in every sample."""
    return rng.normal(size=(n, 1)) * 3 * cycle + rng.normal(size=(n, 1)) * 2 * stress + rng.normal(size=(n, len(genes)))


response = rng.integers(0, 2, size=150)
treated = everybody(150) + np.outer(response, 2 * drug)
control = everybody(120)
labels = np.where(response, "responds", "does not")

# %%
# Fit
# ---
# There is nothing to tune. The summary shows the multiplier of the background, the variance of each component in both
# groups, and a certificate that proves how good the solution is.

model = UCA(n_components=2).fit(treated, backgrounds={"control": control})
print(model.summary())

# %%
# Scores
# ------
# Without backgrounds the same class is PCA on standardised data. Its components are the cell cycle and stress, along which
# treated and controls vary equally. The first component of UCA is the response; the controls vary less there.

pca = UCA(n_components=2).fit(treated)
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for ax, fitted, name in zip(axes, (pca, model), ("PCA", "UCA"), strict=True):
    plotting.scores(fitted, treated, labels=labels, backgrounds={"control": control}, ax=ax)
    ax.set_title(name)
axes[0].get_legend().remove()

# %%
# Which genes?
# ------------

plotting.loadings(model, feature_names=genes, n_features=8)

# %%
# How much of it is in the controls?
# ----------------------------------
# The first component respects the bound: the controls have no more variance along it than along a random direction. Later
# components need not; with ``UCA(components="sequential")`` all do.

plotting.variance(model)

# %%
# From PCA to UCA
# ---------------
# Along the path from no contrast (PCA) to ten times the contrast that UCA found, the response appears before t = 1. It is
# lost again far beyond, where all that counts is that the controls hardly vary. UCA finds its place on
# this path by itself, without knowing who responds.

plotting.contrast_path(model, treated, backgrounds={"control": control}, show="scores", labels=labels)
plt.show()
