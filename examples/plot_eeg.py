"""
EEG: a task compared with rest, blinks and muscle
=================================================

During a task, a weak rhythm appears over the left motor cortex. The recording also has what every recording has: alpha at
the back of the head, blinks and muscle. Each of these was recorded alone as well, as part of the usual calibration. So
there is one target and there are three backgrounds, and MNE's objects are used directly.
"""

# %%
# Recordings
# ----------
# Simulated, so that the answer is known. 32 sensors of a montage that comes with MNE; sources have smooth topographies, and
# the brain's other activity is 100 of them at random places. Rest is long; blinks and muscle were recorded for 20 s each.

import matplotlib.pyplot as plt
import mne
import numpy as np
from scipy.linalg import eigh

import uca.mne

mne.set_log_level("WARNING")
rng = np.random.default_rng(0)
montage = mne.channels.make_standard_montage("biosemi32")
info = mne.create_info(montage.ch_names, sfreq=200.0, ch_types="eeg").set_montage(montage)
places = montage.get_positions()["ch_pos"]
sensors = np.array([places[name] for name in info.ch_names])


def topography(place, width):
    """A smooth bump on the sensors; places and widths in m."""
    return np.exp(-((np.linalg.norm(sensors - place, axis=1) / width) ** 2) / 2)


def rhythm(n, low, high):
    """A rhythm of unit SD between two frequencies (Hz)."""
    values = mne.filter.filter_data(rng.normal(size=n), info["sfreq"], low, high)
    return values / values.std()


def blinks(n):
    """Pulses of 0.3 s, one in about 3 s, height 4."""
    return np.convolve(4.0 * (rng.random(n) < 1 / 600), np.hanning(60), mode="same")


truth = topography(places["C3"], 0.04)
shapes = {
    "task": truth,
    "alpha": topography(places["Oz"], 0.05),
    "blink": topography((places["Fp1"] + places["Fp2"]) / 2, 0.05),
    "left": topography(places["T7"], 0.025),
    "right": topography(places["T8"], 0.025),
}
directions = rng.normal(size=(100, 3))
directions[:, 2] = np.abs(directions[:, 2])
brain = np.stack([topography(0.095 * d / np.linalg.norm(d), 0.05) for d in directions])


def record(seconds, **sizes):
    """A recording; sizes of the sources in microvolt."""
    n = int(seconds * info["sfreq"])
    courses = {
        "task": rhythm(n, 10, 14),
        "alpha": rhythm(n, 8, 12),
        "blink": blinks(n),
        "left": rhythm(n, 30, 90),
        "right": rhythm(n, 30, 90),
    }
    values = 0.5 * brain.T @ rng.normal(size=(100, n)) + 0.5 * rng.normal(size=(32, n))
    for name, size in sizes.items():
        values += size * np.outer(shapes[name], courses[name])
    return mne.io.RawArray(1e-6 * values, info), courses["task"]


task, course = record(80, task=2.5, alpha=8, blink=16, left=6, right=6)
recordings = {
    "rest": record(160, alpha=10)[0],
    "blinks": record(20, alpha=4, blink=14)[0],
    "muscle": record(20, alpha=4, left=6, right=6)[0],
}

# %%
# Fit
# ---
# The summary shows which backgrounds shape the answer (lambda above 0), and the variance of each source in each recording;
# the mean over the four recordings is 1. The bounds apply to the first source only. The second exceeds a bound, marked by a
# star: it is not unique.

model = uca.mne.UCA(n_components=2).fit(task, backgrounds=recordings)
print(model.summary())

# %%
# Patterns
# --------
# A pattern is what a source looks like on the sensors. The first is the task; there was only one source to find. The second
# is an artefact, as the table says.

model.plot_patterns(show=False)

# %%
# Compared with other methods
# ---------------------------
# PCA finds the blinks. The backgrounds can also be stacked into one, as the second class for MNE's CSP. Most of
# these samples are rest, so muscle and blinks are rare in the stack, their ratio is large, and CSP finds muscle. Giving
# each background the same weight in a generalised eigenvalue problem (GED) solves that. Here no bound is reached (all
# lambda are 0), and then UCA is this GED; if a bound would be exceeded, only UCA respects it.

samples = {name: raw.get_data() for name, raw in {"task": task, **recordings}.items()}
covariances = {name: np.cov(values) for name, values in samples.items()}


def segments(values, length=400):
    """Trials for CSP: segments of 2 s."""
    n = values.shape[1] // length
    return values[:, : n * length].reshape(32, n, length).transpose(1, 0, 2)


trials = [segments(1e6 * samples["task"]), *(segments(1e6 * samples[name]) for name in recordings)]
labels = np.repeat([1, 0], [len(trials[0]), sum(map(len, trials[1:]))])
csp = mne.decoding.CSP(n_components=2, component_order="alternate").fit(np.concatenate(trials), labels)
ratios = [
    np.var(filters @ samples["task"]) / np.var(filters @ np.hstack([*samples.values()])) for filters in csp.filters_
]
csp_filter = csp.filters_[np.argmax(ratios)]
ged_filter = eigh(covariances["task"], sum(covariances[name] for name in recordings))[1][:, -1]
pca_filter = np.linalg.eigh(covariances["task"])[1][:, -1]


def pattern_of(filters):
    """Regression of the channels on a source, the sign that of the truth."""
    pattern = covariances["task"] @ filters / (filters @ covariances["task"] @ filters)
    return pattern * np.sign(pattern @ truth)


found = {
    "PCA": pca_filter,
    "CSP, pooled": csp_filter,
    "GED, equal weights": ged_filter,
    "UCA, three backgrounds": model.filters_[0],
}
agreement = {name: abs(np.corrcoef(filters @ samples["task"], course)[0, 1]) for name, filters in found.items()}
figure, axes = plt.subplots(1, 5, figsize=(12, 3), layout="constrained")
maps = {"truth": truth, **{name: pattern_of(filters) for name, filters in found.items()}}
for ax, (name, pattern) in zip(axes, maps.items(), strict=True):
    size = np.abs(pattern).max()
    mne.viz.plot_topomap(pattern, info, axes=ax, show=False, cmap="RdBu_r", vlim=(-size, size), contours=4)
    ax.set_title(name if name == "truth" else f"{name}\ncorrelation {agreement[name]:.2f}", fontsize=10)
# sphinx_gallery_thumbnail_number = 2

# %%
# The correlation is that of the time course with the simulated one.
#
# Sources as a recording
# ----------------------
# :meth:`uca.mne.UCA.sources` gives a Raw (or Epochs) object, for everything that MNE does with channels. The first source
# has its rhythm in the task alone.

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for name, raw in {"task": task, **recordings}.items():
    spectrum = model.sources(raw).compute_psd(method="welch", fmax=60, n_fft=400, picks=["UC1"])
    ax.plot(
        spectrum.freqs, 10 * np.log10(spectrum.get_data(picks=["UC1"])[0]), label=name, lw=2 if name == "task" else 1
    )
ax.set(xlabel="frequency (Hz)", ylabel="power of UC1 (dB)")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# The strengths of rhythm and artefacts were chosen so that the rhythm can be found. If artefacts are stronger during the
# task than in their own recording, no method here finds it; docs/eeg.md has the table.

plt.show()
