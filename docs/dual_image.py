"""Draws docs/images/dual.png: the dual of one and of two backgrounds, the second with a kink."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from uca import plotting, solve_dual

A, B = np.diag([3.0, 2.0, 1.0]), np.diag([2.0, 0.5, 0.5])
first, second = np.diag([2.2, 0.4, 0.4]), np.diag([0.4, 2.2, 0.4])
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
plotting.dual(solve_dual(A, B), A, backgrounds=B, ax=axes[0])
plotting.dual(solve_dual(A, [first, second]), A, backgrounds=[first, second], ax=axes[1])
figure.savefig(Path(__file__).parent / "images" / "dual.png", dpi=90)
