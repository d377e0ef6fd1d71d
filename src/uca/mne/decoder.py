"""The estimator, with the face of MNE's decoders."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._parameters import check_choice, check_positive_int
from .._shown import Summary, text
from .._types import Array
from ..dual import Certificate
from ..estimators.uca import UCA as MatrixUCA
from .maps import plot_maps
from .recordings import (
    Spread,
    check_channels,
    check_recording,
    indices,
    info_of,
    mne_package,
    name_recordings,
    pick_names,
    spread_of,
    warn_different,
    warn_projections,
)
from .sources import as_recording
from .space import common_space, inside_of, scaled, whitened, with_signs


class UCA(BaseEstimator):
    """Spatial filters for what varies in one recording and not in others: several backgrounds, each with its own bound.

    Channels are whitened by the mean covariance of all recordings. Among sources of unit mean variance, the first has the
    largest variance in the target while its variance in each background is at most what a random source has there. MNE's
    CSP and SSD compare two covariances; here any number of backgrounds (rest, blinks, muscle) is kept apart.

    Parameters
    ----------
    n_components : int, default=4
    picks : str, list or None, default=None
        Channels of the target, as in MNE: a type, names or indices. None is all good data channels. One type only: units of
        different types do not compare.
    method : str or list of str, default="empirical"
        Estimator of the covariances, see :func:`mne.compute_covariance`: ``"oas"``, ``"ledoit_wolf"``, ``"shrunk"``, ...
    rank : None, "info", "full" or dict, default=None
        Rank of each recording, see :func:`mne.compute_rank`. None estimates it from the samples. A dict holds for all
        recordings.
    bound : "mean", float, or one float for each background, default="mean"
        Largest variance of the first source in each background, as in :class:`uca.UCA`; "mean" is that of a random source.
        Numbers are variances of the sources, so that their unit depends on ``scale``.
    components : {"joint", "sequential"}, default="joint"
        As in :class:`uca.UCA`: only the first component is bound, or all of them.
    scale : "whiten", False, True or "target", default="whiten"
        "whiten" brings the mean covariance of all recordings (the target and each background count alike) to the identity,
        as CSP does: variances are then relative to the mean of the recordings, and large artefacts do not rule the bounds.
        False leaves the units alone: filters of unit length. True divides each recording by its own standard deviation in
        each channel, "target" divides all by the target's.

    Attributes
    ----------
    filters_ : array of shape (k, n_channels)
        Weights of the channels; a source is ``filters_ @ data``. The largest absolute weight of each is positive.
    patterns_ : array of shape (k, n_channels)
        What a source looks like on the sensors: the covariance of each channel with the source in the target, divided by
        the variance of the source (Haufe et al. 2014). Interpret and plot these rather than the filters.
    explained_variance_ : array of shape (k,)
        Variance of each source in the target. With ``scale="whiten"`` the mean over all recordings is 1.
    background_variance_ : array of shape (k, m)
    bounds_, lambdas_ : array of shape (m,)
        Bound of each background, and how much it shapes the components (0: not at all).
    background_names_ : list of str
    certificate_ : Certificate
        Proof of how well the problem was solved for these covariances. It does not say that a source is real.
    ch_names_ : list of str
        Channels, in the order of the filters.
    info_ : mne.Info
        That of the target, for these channels.
    ranks_, n_samples_ : dict of name -> int
        Rank and number of samples of each recording; the target is ``"target"``.
    rank_ : int
        Dimension of the space that all recordings span; the problem is solved there.
    basis_ : array of shape (n_channels, r)
        Coordinates of that space: ``filters_`` is ``model_.components_ @ basis_.T``, but for signs.
    model_ : uca.UCA
        The model, fitted on covariances in these coordinates.

    Notes
    -----
    Each channel is taken about its mean over the whole recording, or over all epochs together. The evoked response is part
    of the variance of epochs; to look at what is not phase-locked, pass ``epochs.copy().subtract_evoked()``.

    Haufe et al., "On the interpretation of weight vectors of linear models in multivariate neuroimaging", NeuroImage 87
    (2014).

    Examples
    --------
    >>> import mne, numpy as np
    >>> from uca.mne import UCA
    >>> rng = np.random.default_rng(0)
    >>> info = mne.create_info(["C3", "Cz", "C4", "Pz", "Oz"], 100.0, "eeg")
    >>> alpha, mu = np.array([[0, 0, 0, 3, 5]]).T, np.array([[3, 1, 0, 0, 0]]).T
    >>> def record(*sources):
    ...     noise = rng.normal(size=(5, 2000))
    ...     return mne.io.RawArray(1e-6 * (sum(s * rng.normal(size=2000) for s in sources) + noise), info, verbose=False)
    >>> model = UCA(n_components=1).fit(record(alpha, mu), backgrounds={"rest": record(alpha)})
    >>> model.ch_names_[np.argmax(np.abs(model.patterns_[0]))]
    'C3'
    """

    filters_: Array
    patterns_: Array
    explained_variance_: Array
    background_variance_: Array
    bounds_: Array
    lambdas_: Array
    background_names_: list[str]
    certificate_: Certificate
    ch_names_: list[str]
    info_: Any
    ranks_: dict[str, int]
    n_samples_: dict[str, int]
    rank_: int
    basis_: Array
    model_: MatrixUCA

    def __init__(
        self,
        n_components: int = 4,
        *,
        picks: Any = None,
        method: Any = "empirical",
        rank: Any = None,
        bound: Any = "mean",
        components: str = "joint",
        scale: bool | str = "whiten",
    ):
        self.n_components = n_components
        self.picks = picks
        self.method = method
        self.rank = rank
        self.bound = bound
        self.components = components
        self.scale = scale

    # --- fit ------------------------------------------------------------------------------------------------------------

    def fit(self, inst: Any, y: Any = None, *, backgrounds: Any = None) -> Self:
        """Find filters for the target.

        Parameters
        ----------
        inst : Raw or Epochs
            The target. Segments annotated as bad are left out.
        y : ignored
        backgrounds : dict of name -> Raw or Epochs, a list of them, or one; optional
            Recordings with the same channels, in any order; further channels are ignored. None is plain PCA.

        Returns
        -------
        self
        """
        check_positive_int("n_components", self.n_components)
        check_choice("scale", self.scale, ("whiten", False, True, "target"))
        check_recording(inst, "the target")
        named = name_recordings(backgrounds)
        names = pick_names(inst.info, self.picks)
        warn_projections(inst, "the target")
        for name, other in named.items():
            check_channels(other, names, f"background {name!r}")
            warn_different(inst, other, f"background {name!r}")
            warn_projections(other, f"background {name!r}")
        recordings: dict[str | None, Any] = {None: inst}
        recordings.update(named)
        spreads = {
            name: spread_of(each, names, _label(name), method=self.method, rank=self.rank)
            for name, each in recordings.items()
        }
        self._solve(spreads, names)
        self.ch_names_, self.info_ = names, info_of(inst, names)
        return self

    def _solve(self, spreads: dict[str | None, Spread], names: list[str]) -> None:
        matrices, deviations = scaled(spreads, names, self.scale)
        ranks = {name or "target": spread.rank for name, spread in spreads.items()}
        basis = common_space(list(matrices.values()), list(ranks.values()))
        if basis.shape[1] < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} is more than the {basis.shape[1]} dimensions that all recordings span "
                f"(ranks: {', '.join(f'{name} {rank}' for name, rank in ranks.items())}, of {len(names)} channels)"
            )
        if self.scale == "whiten":
            basis = whitened(basis, list(matrices.values()))
        inside = {name: inside_of(basis, matrix) for name, matrix in matrices.items()}
        target = inside.pop(None)
        model = MatrixUCA(self.n_components, bound=self.bound, components=self.components)
        model.fit_covariance(target, backgrounds=inside or None)
        basis = basis / deviations[:, None]
        filters = with_signs(model.components_ @ basis.T)
        outward = filters @ spreads[None].covariance
        self.filters_ = filters
        self.patterns_ = outward / np.sum(outward * filters, axis=1, keepdims=True)
        self.model_, self.basis_, self.rank_, self.ranks_ = model, basis, basis.shape[1], ranks
        self.n_samples_ = {name or "target": spread.n_samples for name, spread in spreads.items()}
        self.background_names_, self.lambdas_, self.bounds_ = (
            list(model.background_names_),
            model.lambdas_,
            model.bounds_,
        )
        self.explained_variance_, self.background_variance_ = model.explained_variance_, model.background_variance_
        self.certificate_ = model.certificate_

    def summary(self) -> Summary:
        """Recordings, multipliers, variances and the certificate as text."""
        check_is_fitted(self, "filters_")
        lines = [
            f"{len(self.ch_names_)} channels; all recordings together span {self.rank_} dimensions",
            *(f"{name}: {n} samples, rank {self.ranks_[name]}" for name, n in self.n_samples_.items()),
        ]
        return Summary.of([text(*lines, place="top"), *self.model_.summary().parts])

    # --- sources --------------------------------------------------------------------------------------------------------

    def transform(self, inst: Any) -> Array:
        """Time courses of the sources.

        Parameters
        ----------
        inst : Raw, Epochs, or array of shape ([n_epochs, ]n_channels, n_times)
            An array has the channels of ``ch_names_``, in that order.

        Returns
        -------
        sources : array of shape ([n_epochs, ]k, n_times)
            As the data is: not centred, and with the segments that are annotated as bad.
        """
        check_is_fitted(self, "filters_")
        if not isinstance(inst, np.ndarray):
            check_recording(inst, "inst")
            check_channels(inst, self.ch_names_, "inst")
            inst = inst.get_data(picks=indices(inst, self.ch_names_), verbose=False)
        elif inst.ndim not in (2, 3) or inst.shape[-2] != len(self.ch_names_):
            raise ValueError(
                f"an array must have shape ([n_epochs, ]{len(self.ch_names_)}, n_times), the channels of ch_names_; "
                f"got {inst.shape}"
            )
        return self.filters_ @ inst

    def fit_transform(self, inst: Any, y: Any = None, *, backgrounds: Any = None) -> Array:
        """Fit, then the sources of the target."""
        return self.fit(inst, backgrounds=backgrounds).transform(inst)

    def sources(self, inst: Any) -> Any:
        """The sources as a recording of channels UC1, UC2, ... of type "misc".

        Parameters
        ----------
        inst : Raw or Epochs

        Returns
        -------
        sources : RawArray or EpochsArray
            With the annotations, or the events, metadata and drop log, of ``inst``.
        """
        check_recording(inst, "inst")
        return as_recording(self.transform(inst), inst)

    # --- maps -----------------------------------------------------------------------------------------------------------

    def plot_patterns(self, info: Any = None, **options: Any) -> Any:
        """Topographic maps of the patterns, by MNE.

        Parameters
        ----------
        info : mne.Info, optional
            Positions of the channels, found by name. Default: those of the target.
        **options
            ``components`` (indices from 0; default: all), ``axes`` (one for each map), ``colorbar=True``, ``show=True``;
            others go to :func:`mne.viz.plot_topomap`.

        Returns
        -------
        figure : matplotlib.figure.Figure
        """
        check_is_fitted(self, "filters_")
        return plot_maps(self.patterns_, self._positions(info), **options)

    def plot_filters(self, info: Any = None, **options: Any) -> Any:
        """Topographic maps of the filters; see :meth:`plot_patterns`, which shows what a source looks like."""
        check_is_fitted(self, "filters_")
        return plot_maps(self.filters_, self._positions(info), **options)

    def _positions(self, info: Any) -> Any:
        found = self._named(info)
        places = np.array([channel["loc"][:3] for channel in found["chs"]], dtype=float)
        if not (np.isfinite(places) & (places != 0)).any():
            raise ValueError(
                "the channels have no positions, so there is no map to draw: set a montage first, for instance "
                "raw.set_montage('standard_1020'), and pass info=raw.info or fit again"
            )
        return found

    def _named(self, info: Any) -> Any:
        if info is None:
            return self.info_
        if missing := [name for name in self.ch_names_ if name not in info["ch_names"]]:
            raise ValueError(f"info lacks channels of the fit: {', '.join(missing)}")
        return mne_package().pick_info(info, [info["ch_names"].index(name) for name in self.ch_names_])


def _label(name: str | None) -> str:
    return "the target" if name is None else f"background {name!r}"
