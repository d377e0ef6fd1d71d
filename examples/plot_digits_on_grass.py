"""
Digits hidden in grass
======================

Digits 0 and 1 are laid over photographs of grass, at half the contrast of the grass. Another piece of the lawn is the
background. The digits come with scikit-learn, the photograph with scikit-image; no method sees a label.
"""

import matplotlib.pyplot as plt
import numpy as np

from uca import UCA, datasets, plotting

data = datasets.digits_on_grass()
digits = np.array([f"digit {label}" for label in data.labels])

# %%
# What the methods see
# --------------------

figure, axes = plt.subplots(2, 8, figsize=(8, 2.2), layout="constrained")
for row, rows, name in zip(axes, (data.target, data.backgrounds["grass"]), ("target", "grass"), strict=True):
    for ax, image in zip(row, rows, strict=False):
        ax.imshow(image.reshape(data.image_shape), cmap="gray")
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)

# %%
# Components as images
# --------------------
# ``scale=False``, because all pixels have the same unit. PCA finds the waves of light and shade that any lawn has. The
# first component of UCA is purple where a 1 has ink and orange where a 0 has.

pca = UCA(4, scale=False).fit(data.target)
model = UCA(4, scale=False).fit(data.target, backgrounds=data.backgrounds)
figure, axes = plt.subplots(2, 1, figsize=(7.5, 4.2), layout="constrained")
for ax, fitted, name in zip(axes, (pca, model), ("PCA", "UCA"), strict=True):
    plotting.eigenimages(fitted, data.image_shape, ax=ax)
    ax.set_title(name)

# %%
# Scores
# ------
# The grass, drawn in grey, spreads as far as the target on the components of PCA. On the first component of UCA it is
# narrow, and the two digits come apart.

figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for ax, fitted, name in zip(axes, (pca, model), ("PCA", "UCA"), strict=True):
    plotting.scores(fitted, data.target, labels=digits, backgrounds=data.backgrounds, ax=ax)
    ax.set_title(name)
axes[0].get_legend().remove()
# sphinx_gallery_thumbnail_number = 3

# %%
# From PCA to strong contrast
# ---------------------------
# As the contrast grows, the digits come apart before t = 1, where the variance in the grass has fallen to its bound. Far
# beyond, little variance of the target is left.

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
plotting.contrast_path(model, data.target, backgrounds=data.backgrounds, ax=axes[0])
plotting.contrast_path(model, data.target, backgrounds=data.backgrounds, show="scores", labels=digits, ax=axes[1])
plt.show()
