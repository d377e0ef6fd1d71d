"""What is asked of recordings (MNE's Raw and Epochs): channels matched by name, covariances, ranks, a common subspace.

Promises: recordings are never changed. Channels have the order of the target. Covariances and ranks come from MNE's public
functions, on the samples that are not annotated as bad, about the mean of each channel.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._optional import optional
from .._readable import listed
from .._types import Array
from .._validation import name_backgrounds

TYPES = ("eeg", "mag", "grad", "seeg", "ecog", "dbs")
# Amplitudes below this share of the largest are rounding, also in files that store float32.
RANK_TOLERANCE = 1e-6


def mne_package() -> Any:
    """MNE itself: inside this package the name ``mne`` is an absolute import, so it is never :mod:`uca.mne`."""
    return optional("mne", "uca.mne needs MNE-Python", "mne")


@dataclass(frozen=True)
class Spread:
    """The covariance of one recording, in channel units, its rank, and the number of samples behind it."""

    covariance: Array
    rank: int
    n_samples: int


# --- recordings and channels --------------------------------------------------------------------------------------------


def check_recording(inst: Any, label: str) -> None:
    """Raise unless ``inst`` is a Raw or Epochs object."""
    mne = mne_package()
    if not isinstance(inst, (mne.io.BaseRaw, mne.BaseEpochs)):
        raise TypeError(f"{label} must be a Raw or Epochs object of MNE; got {type(inst).__name__}")


def name_recordings(backgrounds: Any) -> dict[str, Any]:
    """Backgrounds by name; each is a Raw or Epochs object."""
    if backgrounds is not None and not isinstance(backgrounds, (Mapping, list, tuple)):
        backgrounds = [backgrounds]
    named = name_backgrounds(backgrounds)
    for name, inst in named.items():
        check_recording(inst, f"background {name!r}")
    return named


def pick_names(info: Any, picks: Any) -> list[str]:
    """Names of the channels to use, all of one type."""
    mne = mne_package()
    nothing = mne.EvokedArray(np.zeros((len(info["ch_names"]), 1)), info, verbose=False)  # the lightest that can pick
    picked = nothing.pick("data" if picks is None else picks, exclude="bads", verbose=False)
    kinds = sorted(set(picked.get_channel_types()))
    if not set(kinds) <= set(TYPES):
        others = listed([kind for kind in kinds if kind not in TYPES])
        raise ValueError(f"picks selects channels of type {others}; choose among {', '.join(TYPES)}")
    if len(kinds) > 1:
        raise ValueError(
            f"channels of several types ({', '.join(kinds)}) have different units, and components would depend on them; "
            f"choose one type, such as picks={kinds[0]!r}"
        )
    return list(picked.ch_names)


def check_channels(inst: Any, names: Sequence[str], label: str) -> None:
    """Raise unless a recording has all channels, none of them marked as bad."""
    if missing := [name for name in names if name not in inst.ch_names]:
        raise ValueError(f"{label} lacks {len(missing)} of {len(names)} channels: {listed(missing)}. {_LEAVE_OUT}")
    if bad := [name for name in names if name in inst.info["bads"]]:
        raise ValueError(f"{label} marks channels as bad: {listed(bad)}. Interpolate them there first. {_LEAVE_OUT}")


_LEAVE_OUT = "To leave them out of all recordings, name the others with picks=."


def indices(inst: Any, names: Sequence[str]) -> list[int]:
    """Where the channels stand in a recording."""
    place = {name: i for i, name in enumerate(inst.ch_names)}
    return [place[name] for name in names]


def info_of(inst: Any, names: Sequence[str]) -> Any:
    """The measurement info of the channels, with only those projections that the data has been through."""
    info = mne_package().pick_info(inst.info, indices(inst, names))
    info["bads"] = []
    return info


def warn_different(target: Any, inst: Any, label: str) -> None:
    """Warn where a background was filtered or referenced in another way than the target."""
    told = [
        f"{what} {theirs:g} Hz against {ours:g} Hz"
        for what in ("highpass", "lowpass")
        if not np.isclose(ours := target.info[what], theirs := inst.info[what])
    ]
    if int(target.info["custom_ref_applied"]) != int(inst.info["custom_ref_applied"]):
        told.append("another reference")
    if told:
        warnings.warn(
            f"{label} was prepared differently from the target ({', '.join(told)}): such differences look like unique "
            "variation. Filter and reference all recordings alike",
            stacklevel=4,
        )


def warn_projections(inst: Any, label: str) -> None:
    """Warn of projections that are stored but not applied: nothing here applies them."""
    if waiting := [proj["desc"] for proj in inst.info["projs"] if not proj["active"]]:
        warnings.warn(
            f"{label} has projections that are not applied ({listed(waiting)}); they are ignored. Call apply_proj() first "
            "to use them, or del_proj() to drop them",
            stacklevel=4,
        )


# --- samples and covariances --------------------------------------------------------------------------------------------


def samples_of(inst: Any, names: Sequence[str], label: str) -> Array:
    """Samples (n_channels, n) about their means, without what is annotated as bad; epochs one after the other."""
    picks = indices(inst, names)
    if isinstance(inst, mne_package().io.BaseRaw):
        samples = inst.get_data(picks=picks, reject_by_annotation="omit", verbose=False)
    else:
        samples = np.concatenate([np.empty((len(picks), 0)), *inst.get_data(picks=picks, verbose=False)], axis=1)
    if samples.shape[1] < 2:
        raise ValueError(f"{label} has {samples.shape[1]} samples left: all others are annotated or dropped as bad")
    if not np.isfinite(samples).all():
        spoilt = [name for name, channel in zip(names, samples, strict=True) if not np.isfinite(channel).all()]
        raise ValueError(
            f"{label} contains NaN or infinity in channels {listed(spoilt)}; annotate or drop these samples"
        )
    return samples - samples.mean(axis=1, keepdims=True)  # before squares: offsets of amplifiers are large


def spread_of(inst: Any, names: Sequence[str], label: str, *, method: Any, rank: Any) -> Spread:
    """Covariance and rank of a recording, by MNE's estimators."""
    mne = mne_package()
    samples = samples_of(inst, names, label)
    info = info_of(inst, names)
    raw = mne.io.RawArray(samples, info, copy=None, verbose=False)
    waiting = [i for i, proj in enumerate(info["projs"]) if not proj["active"]]
    raw.del_proj(waiting)
    found = mne.compute_rank(
        raw, rank=rank, tol=RANK_TOLERANCE, tol_kind="relative", proj=isinstance(rank, str), verbose=False
    )
    # Time plays no part in a covariance: at 1 Hz and with one segment for all, no sample is lost at an edge.
    (kind,) = set(info.get_channel_types())
    plain = mne.create_info(list(names), 1.0, kind, verbose=False)
    raw = mne.io.RawArray(samples, plain, copy=None, verbose=False)
    covariance = mne.compute_raw_covariance(raw, tstep=None, method=method, rank=found, verbose=False)
    return Spread(covariance.data, int(sum(found.values())), samples.shape[1])
