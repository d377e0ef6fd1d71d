"""
Each group against all others
=============================

Three handwritten digits, about 180 images of each. Every digit is the target once, the other two are its backgrounds: in
what do sevens differ from one another, beyond what differs in any digit?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import uca
from uca import UCA, plotting

digits = load_digits()
chosen = (digits.target == 0) | (digits.target == 4) | (digits.target == 7)
X, labels = digits.data[chosen], digits.target[chosen]
names = [f"r{i} c{j}" for i in range(8) for j in range(8)]

# %%
# One call
# --------
# Pixels have common units, so they are not scaled. Each digit's component is tested on images that were held out of the fit,
# and the p-values are adjusted for three tests. The images are of 13 people; who wrote which is not in the data, but
# neighbours in the file are alike. So 13 blocks of successive images stand for the people, and whole blocks are held out.

blocks = (13 * np.arange(len(chosen)) // len(chosen))[chosen]
result = uca.each(X, labels, model=UCA(1, scale=False), subjects=blocks, feature_names=names, n_splits=10)
print(result)

# %%
# One figure
# ----------
# The filled point is the variance in the digit itself, the open one the largest variance along the same direction in
# another digit.

plotting.each(result)

# %%
# What it looks like
# ------------------
# Every group has a fitted model of its own. Here are the components as images: pixels that count with a positive weight are
# purple, those with a negative one orange.

figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
for ax, group in zip(axes, result, strict=True):
    plotting.eigenimages(group.model, (8, 8), ax=ax)
    ax.set_title(f"{group.name} against the others")

# %%
# The images show in what the images of one digit differ. What distinguishes one digit from another is a difference of means,
# which this does not look at.

# sphinx_gallery_thumbnail_number = 1
plt.show()
