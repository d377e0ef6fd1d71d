"""
A pipeline with two named backgrounds
=====================================

Real tables need some steps before the components: filling gaps, bringing features to common units, reducing many columns to
few. A scikit-learn pipeline takes the target through such steps and leaves backgrounds as they are.
``uca.ContrastivePipeline`` takes the backgrounds through too, under their names.
"""

# %%
# Data
# ----
# Thirty sensors of a pump. Load moves the first twelve and weather the next twelve. On one line a bearing wears, which
# moves the last six, a little. The backgrounds are a load test of a new machine, and a standstill.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import uca

rng = np.random.default_rng(0)
load, weather, wear = (np.repeat(part, [12, 12, 6]) for part in ([1, 0, 0], [0, 1, 0], [0, 0, 1]))
units = 10.0 ** rng.integers(-2, 3, size=30)  # millimetres, kilowatts


def readings(n, load_size, weather_size, wear_state):
    """Rows of a table with a gap here and there."""
    rows = np.outer(rng.normal(size=n) * load_size, load) + np.outer(rng.normal(size=n) * weather_size, weather)
    rows = (rows + np.outer(wear_state, wear) + rng.normal(size=(n, 30))) * units
    rows[rng.random(rows.shape) < 0.002] = np.nan
    return rows


worn = rng.random(400) < 0.3
line = readings(400, 1, 1, 2.5 * worn)
backgrounds = {"load test": readings(300, 1.2, 1, np.zeros(300)), "standstill": readings(300, 0, 1, np.zeros(300))}

# %%
# Fit
# ---
# Every step is fitted to the line. Backgrounds go through the same steps, so the last one gets all three in the same space.
# After a scaler fitted to the target, ``scale=False`` keeps its units.

pipeline = uca.ContrastivePipeline(
    [
        ("fill", SimpleImputer()),
        ("scale", StandardScaler()),
        ("pca", PCA(10, random_state=0)),
        ("uca", uca.UCA(n_components=2, scale=False)),
    ]
)
pipeline.fit(line, backgrounds=backgrounds)
print(pipeline["uca"].summary())

# %%
# With a plain pipeline the backgrounds would have skipped three steps. Here the numbers of features then differ, which
# is an error that says why; if they agree it is a warning.

try:
    Pipeline(clone(pipeline).steps).fit(line, uca__backgrounds=backgrounds)
except ValueError as error:
    print(error)

# %%
# New rows
# --------
# Rows that were not in the fit: their scores, and their distance from the nearest background. Rows with wear are far from
# both.

new_worn = rng.random(300) < 0.3
new = readings(300, 1, 1, 2.5 * new_worn)
scores = pipeline.transform(new)
distance = pipeline.background_distance(new).min(axis=1)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for state, label in ((False, "good"), (True, "worn")):
    chosen = new_worn == state
    axes[0].scatter(*scores[chosen].T, s=12, label=label)
    axes[1].hist(distance[chosen], bins=np.linspace(0, distance.max(), 30), alpha=0.7, label=label)
axes[0].set(xlabel="UC1", ylabel="UC2", title="Scores of new rows")
axes[1].set(xlabel="squared distance from the nearest background", title="Distance")
axes[1].legend()

# %%
# Drift
# -----
# A batch with more wear than the fit has seen: its variance along the first component has risen.

more = readings(300, 1, 1, 5 * (rng.random(300) < 0.5))
print(uca.drift(pipeline, more, backgrounds={"standstill": readings(200, 0, 1, np.zeros(200))}))
plt.show()
