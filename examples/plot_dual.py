r"""
The dual, drawn
===============

UCA maximises the target's variance :math:`v^\top A v` over unit vectors, with at most :math:`c_j` of variance in background
j. Its dual is a convex function of one multiplier for each background,

.. math:: g(\lambda) = \lambda_{\max}\Big(A - \sum_j \lambda_j B_j\Big) + \sum_j \lambda_j c_j,\quad \lambda \ge 0,

and every fit finds its minimum. Each value of g is an upper bound on what can be reached within the
bounds. The certificate adds a lower bound; together they are the band in these figures, which for a converged fit is as
thin as a line.
"""

import matplotlib.pyplot as plt
import numpy as np

from uca import UCA, plotting, solve_dual

# %%
# One background, smooth
# ----------------------
# At 0 the value is that of PCA, which ignores the background. At the minimum the slope :math:`c - v^\top B v` is 0: the
# first component has exactly the allowed variance in the background.

rng = np.random.default_rng(1)
shared, unique = rng.normal(size=(2, 1, 10))
target = rng.normal(size=(100, 1)) * 2 * shared + rng.normal(size=(100, 1)) * unique + rng.normal(size=(100, 10))
control = rng.normal(size=(80, 1)) * 2 * shared + rng.normal(size=(80, 10))
model = UCA().fit(target, backgrounds={"control": control})
plotting.dual(model, target, backgrounds={"control": control})

# %%
# One background, with kinks
# --------------------------
# Matrices that share their axes have eigenvalues that cross instead of avoiding each other. g is then a maximum of straight
# lines, one for each axis, and its minimum is a corner. With one background a single direction attains it all the same: a
# mixture of the two axes that meet there.

A = np.diag([3.0, 2.2, 1.0, 0.5])
B = np.diag([2.6, 0.9, 0.3, 0.2])
result = solve_dual(A, {"background": B})
ax = plotting.dual(result, A, backgrounds={"background": B})
multipliers = np.linspace(0, ax.get_xlim()[1], 2)
for a, b in zip(np.diag(A), np.diag(B), strict=True):
    ax.plot(multipliers, a + multipliers * (result.bounds[0] - b), color="#BBBBBB", lw=0.8, zorder=0)
ax.set_ylim(1.8, 3.1)
print(result.certificate.message)

# %%
# Two backgrounds, smooth
# -----------------------
# Two nuisance patterns, one background for each. The minimum is at the bottom of a bowl.

second = rng.normal(size=(1, 10))
target = target + rng.normal(size=(100, 1)) * 1.5 * second
vehicle = rng.normal(size=(80, 1)) * 1.5 * second + rng.normal(size=(80, 10))
backgrounds = {"control": control, "vehicle": vehicle}
model = UCA(scale=False).fit(target, backgrounds=backgrounds)
plotting.dual(model, target, backgrounds=backgrounds)
print(model.certificate_.message)

# %%
# Two backgrounds, kinked
# -----------------------
# Matrices that share their axes again: g is a maximum of planes, its contours are polygons, and creases run down to the
# optimum, where they meet. A method that moves one multiplier at a time (the paper's algorithm, here
# ``solver="coordinate"``) stops at the first crease, since along either axis g rises from there. Its certificate shows the
# gap. With several backgrounds an optimum at a kink may also need a *mixture* of directions; the message of the certificate
# then says so.

A = np.diag([3.5, 3.3, 2.1, 1.8])
backgrounds = {"first": np.diag([2.9, 1.3, 1.4, 1.0]), "second": np.diag([0.9, 2.7, 0.9, 0.5])}
result = solve_dual(A, backgrounds)
coordinate = solve_dual(A, backgrounds, solver="coordinate")
figure, axes = plt.subplots(1, 2, figsize=(11, 4.0), layout="constrained")
ax = plotting.dual(result, A, backgrounds=backgrounds, ax=axes[0])
ax.plot(*coordinate.lambdas, "X", color=plotting.PALETTE[3], ms=10, mec="white", clip_on=False)
ax.annotate("one multiplier at a time\nstops here", coordinate.lambdas, (0.2, 0.12), color="white", fontsize="small")
plotting.dual(result, A, backgrounds=backgrounds, along="ray", ax=axes[1])
print(result.certificate.message)
print()
print(coordinate.certificate.message)
plt.show()
# sphinx_gallery_thumbnail_number = 4
