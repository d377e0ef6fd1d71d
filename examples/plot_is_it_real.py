"""
Is it real?
===========

Every method of this kind finds components in any data, noise included. Here the digits hidden in grass are tested, and then
grass without digits, where there is nothing to find.
"""

import matplotlib.pyplot as plt

from uca import UCA, datasets, plotting
from uca.inference import bootstrap, row_leverage, uniqueness_test

data = datasets.digits_on_grass()
target, grass = data.target, data.backgrounds["grass"]
more_grass = datasets.digits_on_grass(random_state=1).backgrounds["grass"][: len(target)]
model = UCA(4, scale=False)

# %%
# The test
# --------
# The model is fitted on half of the rows and the components are measured on the other half; then the halves swap roles, and
# all is repeated with other halves. A component is unique if the target varies along it more than every background does.
# ``alpha=0.01`` asks for strong evidence.

options = {"n_components": 4, "alpha": 0.01, "model": model}
real = uniqueness_test(target, {"grass": grass}, **options)
nothing = uniqueness_test(more_grass, {"grass": grass}, **options)
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
for ax, test, name in zip(axes, (real, nothing), ("digits on grass", "grass alone"), strict=True):
    plotting.uniqueness(test, ax=ax)
    ax.set_title(name)
print(real)

# %%
# The first component is real: the difference between the digits. The second is less certain. Digits of one kind differ too,
# but 360 of them are not enough to decide.
#
# Grass against other grass gives components as well, and in the rows of the fit they vary more in the target. On held-out
# rows the difference is gone:

fitted = model.fit(more_grass, backgrounds={"grass": grass})
print(f"fit:      target {fitted.explained_variance_[0]:.2f}, grass {fitted.background_variance_[0, 0]:.2f}")
print(f"held out: target {nothing.variances[0, 0]:.2f}, grass {nothing.variances[0, 1]:.2f}\n")
print(nothing.sentence)

# %%
# How stable?
# -----------
# The rows are resampled with replacement and the model is refitted. The first component stays nearly the same; the
# others do not. So few pixels of the second one, on the right, have reliable loadings.

resampled = bootstrap(target, {"grass": grass}, n_components=4, n_resamples=100, model=model)
figure, axes = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
plotting.stability(resampled, ax=axes[0])
plotting.reliable_loadings(resampled, component=1, ax=axes[1])

# %%
# Does it depend on single rows?
# ------------------------------
# Half of the variance of the first component is spread over more images than it would be with a normal distribution, as two
# kinds of digits stand on its two sides. Then one image is spoilt: its left half is white. It dominates the component, and
# the figure says which row to look at.

spoilt_rows = target.copy()
spoilt_rows[0].reshape(data.image_shape)[:, :4] += 30
clean, spoilt = (row_leverage(model.fit(rows, backgrounds={"grass": grass}), rows) for rows in (target, spoilt_rows))
figure, axes = plt.subplots(1, 2, figsize=(12, 3.6), layout="constrained")
for ax, found, name in zip(axes, (clean, spoilt), ("as they are", "one image spoilt"), strict=True):
    plotting.leverage(found, ax=ax)
    ax.set_title(name)
print(spoilt)

# %%
# ``model.report("report.html", X, backgrounds=..., test=..., stability=...)`` puts all of this on one page.

# sphinx_gallery_thumbnail_number = 1
plt.show()
