"""
Choosing backgrounds: three pitfalls
====================================

A background shows the method what is *not* of interest. It should vary like the target in everything except what you are
looking for. Three ways to spoil one, each on simulated data for which the answer is known.
"""

import matplotlib.pyplot as plt
import numpy as np

from uca import UCA, plotting

P = 20


def pattern(first, last):
    """A direction: 1 for features from ``first`` up to ``last``, else 0."""
    return ((np.arange(P) >= first) & (np.arange(P) < last)).astype(float)


def agreement(scores, truth):
    """Absolute correlation of the first score with what it should show."""
    return abs(np.corrcoef(scores[:, 0], truth)[0, 1])


# %%
# 1. Splitting a background throws away the variance between its parts
# --------------------------------------------------------------------
# Samples were measured in two batches, which moves eight features, in treated and controls alike. A treatment moves four
# others. With the controls as *one* background, the batches are part of its variance, and UCA leaves them out.
#
# Now give each batch of controls as a background of its own. Each is centred by its own mean, so the difference between
# the batches is gone from both. Nothing shows the method any more that batches are uninteresting, and they come first.


def measure(rng, n, treated):
    """Rows, their batch and whether they respond to the treatment."""
    batch, response = rng.integers(0, 2, n), rng.integers(0, 2, n) * treated
    rows = np.outer(2.5 * batch, pattern(0, 8)) + np.outer(2.0 * response, pattern(12, 16)) + rng.normal(size=(n, P))
    return rows, batch, response


rng = np.random.default_rng(0)
target, target_batch, response = measure(rng, 200, treated=True)
control, control_batch, _ = measure(rng, 200, treated=False)
parts = {f"batch {i + 1}": control[control_batch == i] for i in (0, 1)}
whole_fit = UCA().fit(target, backgrounds={"control": control})
split_fit = UCA().fit(target, backgrounds=parts)

words = np.array(["no response", "responds"])[response]
labels = np.array([f"batch {b + 1}, {word}" for b, word in zip(target_batch, words, strict=True)])
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for ax, model, name in zip(axes, (whole_fit, split_fit), ("one background", "split by batch"), strict=True):
    plotting.density(model, target, labels=labels, ax=ax)
    found = {
        truth: agreement(model.transform(target), values)
        for truth, values in (("treatment", response), ("batch", target_batch))
    }
    ax.set_title(f"{name}\ncorrelation: " + ", ".join(f"{truth} {value:.2f}" for truth, value in found.items()))
axes[0].get_legend().remove()
# sphinx_gallery_thumbnail_number = 1

# %%
# Split a background when its parts are *different kinds* of control, each with nuisance variation of its own, not when they
# are samples of one kind. If in doubt, :func:`uca.pool` puts them back together: rows are stacked first and centred
# afterwards.

# %%
# 2. Rows of the target in the background are leakage
# ---------------------------------------------------
# "Everything" makes a tempting background. It contains the target, so what is unique to the target is in the background as
# well, and the constraint removes it. Here a growing share of the background's 200 rows is taken from the target.

shares = np.linspace(0, 1, 9)
leaked = np.empty((12, len(shares)))
for seed in range(len(leaked)):
    rng = np.random.default_rng(seed)
    target, _, response = measure(rng, 200, treated=True)
    control, _, _ = measure(rng, 200, treated=False)
    for i, share in enumerate(shares):
        n = round(200 * share)
        mixed = np.vstack([control[: 200 - n], target[:n]])
        leaked[seed, i] = agreement(UCA().fit_transform(target, backgrounds=mixed), response)

figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
ax.plot(100 * shares, leaked.T, color="#BBBBBB", lw=0.8)
ax.plot(100 * shares, leaked.mean(axis=0), color=plotting.PALETTE[0], lw=2.5, label="mean of 12 simulations")
ax.set(
    xlabel="rows of the background that are target rows (%)",
    ylabel="correlation of score 1\nwith the treatment",
    ylim=(0, 1),
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower left")

# %%
# With all rows shared the two covariances are equal and there is nothing left to find. The same holds for repeated
# measurements of one subject: keep a subject in the target or in a background, never in both.

# %%
# 3. ``scale=True`` or ``scale="target"``
# ---------------------------------------
# ``scale=True`` (the paper's choice, and the default) standardises each dataset by its own SD: only *patterns* of
# correlation are compared, and a difference in size is gone. ``scale="target"`` divides every dataset by the target's
# deviations: sizes stay. (Where features have one unit, ``scale=False`` keeps sizes too, and on real sets it did better than
# either: the page on choosing backgrounds has the figures.)
#
# Case A: five features vary together in both datasets, three times as strongly in the target. Case B: the pattern is in the
# target alone, but the background comes from an instrument with another gain for each feature, from a fifth to five-fold.


def amplified(rng):
    """The same pattern in both, stronger in the target."""
    strength = rng.normal(size=200)
    shared = [np.outer(rng.normal(size=200), 2 * pattern(0, 8)) + 0.5 * rng.normal(size=(200, P)) for _ in range(2)]
    target = shared[0] + np.outer(3 * strength, pattern(12, 17))
    return target, shared[1] + np.outer(rng.normal(size=200), pattern(12, 17)), strength


def other_gains(rng):
    """A pattern in the target alone; the background's features in other units."""
    strength = rng.normal(size=200)
    shared = [np.outer(rng.normal(size=200), 2 * pattern(0, 8)) + rng.normal(size=(200, P)) for _ in range(2)]
    target = shared[0] + np.outer(strength, pattern(12, 17))
    return target, shared[1] * 5.0 ** rng.uniform(-1, 1, size=P), strength


results = {}
for name, simulate in (("A: stronger in the target", amplified), ("B: other gains", other_gains)):
    for scale in (True, "target"):
        values = []
        for seed in range(12):
            target, control, strength = simulate(np.random.default_rng(seed))
            values.append(agreement(UCA(scale=scale).fit_transform(target, backgrounds=control), strength))
        results[name, scale] = values

figure, ax = plt.subplots(figsize=(6.2, 3.0), layout="constrained")
for place, ((_, scale), values) in enumerate(results.items()):
    colour = plotting.PALETTE[0 if scale is True else 1]
    ax.plot(values, np.full(12, -place), "o", color=colour, alpha=0.5, ms=5)
    ax.plot(np.mean(values), -place, "|", color=colour, ms=22, mew=2.5)
ax.set_yticks(-np.arange(4), [f"{name}\nscale={scale!r}" for name, scale in results])
ax.set(xlabel="correlation of score 1 with the pattern (bar: mean of 12)", xlim=(0, 1.02))
ax.spines[["top", "right"]].set_visible(False)

# %%
# Use ``"target"`` if units are comparable (expression on one platform, images from one camera): then stronger variation of
# the same kind counts as unique. Use ``True`` if they are not.

for (name, scale), values in results.items():
    print(f"{name:<26} scale={scale!r:<9} mean correlation {np.mean(values):.2f}")
plt.show()
