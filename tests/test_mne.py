"""uca.mne against numpy's covariances on the same samples, on recordings that are simulated."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.linalg import helmert, inv, sqrtm
from sklearn.base import clone
from sklearn.covariance import OAS

import uca

mne = pytest.importorskip("mne", reason="pip install 'unique-component-analysis[mne]'")

from uca.mne import UCA  # noqa: E402

NAMES = mne.channels.make_standard_montage("biosemi32").ch_names[::2]
P = len(NAMES)
# Same matrices in another order of summation, solved to a gap of 1e-9: vectors agree to about the root of it.
CLOSE = {"rtol": 0, "atol": 1e-4}


def info_of(names=NAMES, sfreq=100.0):
    info = mne.create_info(list(names), sfreq, "eeg")
    return info.set_montage("biosemi32", on_missing="ignore")


def topography(name, width=0.04):
    """A smooth bump of height 1 at a sensor; width in m."""
    places = info_of().get_montage().get_positions()["ch_pos"]
    distances = np.array([np.linalg.norm(places[other] - places[name]) for other in NAMES])
    return np.exp(-((distances / width) ** 2) / 2)


BLINK, ALPHA, TASK = topography("Fp1"), topography("O1"), topography("CP1")


def samples(seed, n=4000, **sizes):
    """Samples (P, n) in V: white noise of 1 microvolt and sources of given SD in microvolt."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(P, n))
    for name, pattern in {"blink": BLINK, "alpha": ALPHA, "task": TASK}.items():
        values += np.outer(pattern, sizes.get(name, 0) * rng.normal(size=n))
    return 1e-6 * values


def raw(values, names=NAMES, sfreq=100.0):
    return mne.io.RawArray(values.copy(), info_of(names, sfreq), verbose=False)


TARGET = samples(0, task=3, blink=20, alpha=8)
REST = samples(1, n=3000, alpha=10)
BLINKS = samples(2, n=2500, blink=25)


def dense(target, backgrounds, **parameters):
    """The fit on numpy's covariances."""
    matrices = {name: np.cov(values) for name, values in backgrounds.items()}
    return uca.UCA(**parameters).fit_covariance(np.cov(target), backgrounds=matrices)


@pytest.fixture(scope="module")
def fitted():
    return UCA(2).fit(raw(TARGET), backgrounds={"rest": raw(REST), "blinks": raw(BLINKS)})


def aligned(rows, like):
    """Rows with the signs of others."""
    return rows * np.sign(np.sum(rows * like, axis=1))[:, None]


# --- the same answer as without MNE -------------------------------------------------------------------------------------


@pytest.mark.parametrize("components", ["joint", "sequential"])
def test_raw_is_the_dense_problem(components):
    """With another order of channels, a further channel, another sampling rate and offsets in a background."""
    order = np.random.default_rng(3).permutation(P)
    mixed = np.vstack([REST[order], np.ones(REST.shape[1])]) + 0.02
    rest = raw(mixed, [*np.array(NAMES)[order], "T8"], sfreq=512.0)
    model = UCA(2, scale=False, components=components)
    with pytest.warns(UserWarning, match="lowpass 256 Hz against 50 Hz"):
        model.fit(raw(TARGET - 0.05), backgrounds={"rest": rest, "blinks": raw(BLINKS)})
    expected = dense(TARGET, {"rest": REST, "blinks": BLINKS}, components=components)
    np.testing.assert_allclose(model.filters_, expected.components_, **CLOSE)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-4)
    np.testing.assert_allclose(model.background_variance_, expected.background_variance_, rtol=1e-3)
    np.testing.assert_allclose(model.bounds_, expected.bounds_, rtol=1e-9)
    np.testing.assert_allclose(model.lambdas_, expected.lambdas_, rtol=1e-3)
    assert model.background_names_ == ["rest", "blinks"]
    assert model.ch_names_ == list(NAMES)
    assert model.certificate_.status == "optimal"
    assert model.n_samples_ == {"target": 4000, "rest": 3000, "blinks": 2500}


@pytest.mark.parametrize("components", ["joint", "sequential"])
def test_whitened_is_the_dense_problem_in_white_coordinates(components, fitted):
    """The symmetric root of the mean covariance, where the module takes another."""
    recordings = {"target": TARGET, "rest": REST, "blinks": BLINKS}
    root = inv(sqrtm(np.mean([np.cov(values) for values in recordings.values()], axis=0)))
    backgrounds = {name: root @ recordings[name] for name in ("rest", "blinks")}
    expected = dense(root @ TARGET, backgrounds, n_components=2, components=components)
    model = clone(fitted).set_params(components=components)
    model.fit(raw(TARGET), backgrounds={"rest": raw(REST), "blinks": raw(BLINKS)})
    filters = aligned(expected.components_ @ root, model.filters_)
    np.testing.assert_allclose(model.filters_, filters, rtol=0, atol=1e-4 * np.abs(filters).max())
    np.testing.assert_allclose(model.background_variance_, expected.background_variance_, rtol=1e-3)
    np.testing.assert_allclose(model.explained_variance_ + model.background_variance_.sum(axis=1), 3)  # mean 1


def test_whitened_sources_do_not_depend_on_the_mixing_of_channels(fitted):
    mixing = np.eye(P) + 0.3 * np.random.default_rng(0).normal(size=(P, P)) / np.sqrt(P)
    backgrounds = {"rest": raw(mixing @ REST), "blinks": raw(mixing @ BLINKS)}
    sources = UCA(2).fit_transform(raw(mixing @ TARGET), backgrounds=backgrounds)
    expected = fitted.transform(TARGET)
    np.testing.assert_allclose(aligned(sources, expected), expected, rtol=0, atol=1e-3)  # their SD is about 1


def test_epochs_keep_the_evoked_response_and_need_not_be_baseline_corrected():
    response = 1e-4 * np.outer(topography(NAMES[5]), np.hanning(50))
    trials = TARGET.reshape(P, 80, 50).transpose(1, 0, 2) + response
    epochs = mne.EpochsArray(trials, info_of(), verbose=False)
    model = UCA(1, scale=False).fit(epochs, backgrounds=[raw(REST)])
    rows = trials.transpose(1, 0, 2).reshape(P, -1)
    np.testing.assert_allclose(model.filters_, dense(rows, {"rest": REST}, n_components=1).components_, **CLOSE)
    rest = (trials - trials.mean(axis=0)).transpose(1, 0, 2).reshape(P, -1)
    without = UCA(1, scale=False).fit(epochs.copy().subtract_evoked(), backgrounds=[raw(REST)])
    np.testing.assert_allclose(without.filters_, dense(rest, {"rest": REST}, n_components=1).components_, **CLOSE)
    assert np.abs(without.filters_ - model.filters_).max() > 0.05


def test_bad_segments_are_left_out(fitted):
    spoilt = np.hstack([TARGET[:, :1000], samples(9, n=500, task=1000), TARGET[:, 1000:]])
    target = raw(spoilt)
    target.set_annotations(mne.Annotations(onset=[10.0], duration=[5.0], description=["BAD_movement"]))
    model = UCA(2).fit(target, backgrounds={"rest": raw(REST), "blinks": raw(BLINKS)})
    assert model.n_samples_["target"] == 4000
    np.testing.assert_allclose(model.filters_, fitted.filters_, **CLOSE)


@pytest.mark.parametrize("scale", [True, "target"])
def test_scale_is_that_of_the_estimator_for_rows(scale):
    gains = np.geomspace(0.2, 5, P)[:, None]
    model = UCA(1, scale=scale).fit(raw(gains * TARGET), backgrounds={"rest": raw(REST)})
    rows = uca.UCA(1, scale=scale).fit((gains * TARGET).T, backgrounds={"rest": REST.T})
    np.testing.assert_allclose(model.filters_ * rows.scale_, rows.components_, **CLOSE)
    np.testing.assert_allclose(model.explained_variance_, rows.explained_variance_, rtol=1e-4)


def test_regularised_covariances_are_those_of_scikit_learn():
    """OAS does not depend on the coordinates, so that MNE's way through principal components is the same."""
    short, rest = TARGET[:, :160], REST[:, :100]
    model = UCA(1, method="oas", scale=False).fit(raw(short), backgrounds={"rest": raw(rest)})
    matrices = [OAS().fit(1e6 * values.T).covariance_ for values in (short, rest)]
    variance = 160 / 159 * model.filters_[0] @ matrices[0] @ model.filters_[0]  # MNE divides by n - 1
    np.testing.assert_allclose(1e12 * model.explained_variance_[0], variance, rtol=1e-9)
    expected = uca.UCA(1).fit_covariance(matrices[0], backgrounds={"rest": matrices[1]})
    np.testing.assert_allclose(model.filters_, expected.components_, **CLOSE)
    empirical = dense(short, {"rest": rest}, n_components=1)
    assert not np.allclose(model.explained_variance_, empirical.explained_variance_, rtol=1e-3, atol=0)


def test_no_background_is_pca():
    model = UCA(3, scale=False).fit(raw(TARGET))
    values, vectors = np.linalg.eigh(np.cov(TARGET))
    np.testing.assert_allclose(model.explained_variance_, values[::-1][:3], rtol=1e-9)
    np.testing.assert_allclose(np.abs(model.filters_), np.abs(vectors[:, ::-1][:, :3].T), **CLOSE)


# --- what it finds ------------------------------------------------------------------------------------------------------


def test_source_is_found_under_larger_blinks_and_alpha(fitted):
    def likeness(pattern):
        return abs(pattern @ TASK) / np.linalg.norm(pattern) / np.linalg.norm(TASK)

    pca = UCA(1, scale=False).fit(raw(TARGET))
    assert likeness(fitted.patterns_[0]) > 0.98
    assert likeness(pca.patterns_[0]) < 0.5
    assert (fitted.background_variance_[0] <= fitted.bounds_ * (1 + 1e-6)).all()


@pytest.mark.parametrize("scale", ["whiten", False, True])
def test_patterns_are_regressions_of_channels_on_sources(scale):
    model = UCA(3, scale=scale).fit(raw(TARGET), backgrounds={"rest": raw(REST)})
    centred = TARGET - TARGET.mean(axis=1, keepdims=True)
    for pattern, source in zip(model.patterns_, model.transform(centred), strict=True):
        slopes = np.linalg.lstsq(source[:, None], centred.T, rcond=None)[0][0]
        np.testing.assert_allclose(pattern, slopes, rtol=0, atol=1e-9 * np.abs(slopes).max())


# --- rank ---------------------------------------------------------------------------------------------------------------


def average(values):
    return values - values.mean(axis=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_average_reference_stays_out_of_the_filters(dtype):
    """Solved in a basis of our own of the contrasts; float32 is what files store."""
    target, rest = (average(values).astype(dtype).astype(float) for values in (TARGET, REST))
    model = UCA(2, scale=False).fit(raw(target), backgrounds={"rest": raw(rest)})
    assert (model.rank_, model.ranks_) == (P - 1, {"target": P - 1, "rest": P - 1})
    assert model.basis_.shape == (P, P - 1)
    np.testing.assert_allclose(model.filters_.sum(axis=1), 0, atol=1e-6)
    contrasts = helmert(P)
    expected = dense(contrasts @ target, {"rest": contrasts @ rest}, n_components=2).components_ @ contrasts
    np.testing.assert_allclose(model.filters_, aligned(expected, model.filters_), **CLOSE)
    white = UCA(2).fit(raw(target), backgrounds={"rest": raw(rest)})
    np.testing.assert_allclose(white.filters_.sum(axis=1), 0, atol=1e-6 * np.abs(white.filters_).max())
    assert (np.take_along_axis(model.filters_, np.abs(model.filters_).argmax(axis=1)[:, None], 1) > 0).all()


def test_direction_that_one_background_cannot_show_is_not_taken_for_unique():
    """A channel that was interpolated at rest has no variance of its own there."""
    weights = np.zeros(P)
    weights[[1, 2]] = 0.5
    rest = REST.copy()
    rest[0] = weights @ rest
    gone = np.eye(P)[0] - weights
    noisy = TARGET.copy()
    noisy[0] += 2e-5 * np.random.default_rng(0).normal(size=TARGET.shape[1])
    model = UCA(2, scale=False).fit(raw(noisy), backgrounds={"rest": raw(rest)})
    assert model.ranks_ == {"target": P, "rest": P - 1}
    np.testing.assert_allclose(model.filters_ @ gone, 0, atol=1e-9)
    blind = UCA(1, rank="full", scale=False).fit(raw(noisy), backgrounds={"rest": raw(rest)})
    assert abs(blind.filters_[0] @ gone) > 0.5


def test_different_null_directions_are_all_left_out():
    rest = REST - REST[3]  # referenced to one channel
    target = raw(average(TARGET))
    model = UCA(1, scale=False).fit(target, backgrounds={"rest": raw(rest)})
    assert model.rank_ == P - 2
    np.testing.assert_allclose([model.filters_.sum(), model.filters_[0, 3]], 0, atol=1e-9)


def test_rank_can_be_given():
    model = UCA(1, rank={"eeg": P - 4}).fit(raw(TARGET), backgrounds={"rest": raw(REST)})
    assert model.ranks_ == {"target": P - 4, "rest": P - 4}


def test_applied_projection_counts_and_a_waiting_one_is_told():
    target, rest = raw(TARGET), raw(REST)
    for inst in (target, rest):
        inst.set_eeg_reference("average", projection=True, verbose=False)
    with pytest.warns(UserWarning, match=r"projections that are not applied \(Average EEG reference\)") as caught:
        waiting = UCA(1).fit(target, backgrounds={"rest": rest})
    assert waiting.rank_ == P
    assert len(caught) == 2
    for inst in (target, rest):
        inst.apply_proj(verbose=False)
    for rank in (None, "info"):
        assert UCA(1, rank=rank).fit(target, backgrounds={"rest": rest}).rank_ == P - 1


# --- sources ------------------------------------------------------------------------------------------------------------


def test_transform_of_raw_epochs_and_arrays(fitted):
    expected = fitted.filters_ @ TARGET
    order = np.random.default_rng(0).permutation(P)
    trials = TARGET.reshape(P, 80, 50).transpose(1, 0, 2)
    np.testing.assert_allclose(
        fitted.transform(raw(TARGET[order], np.array(NAMES)[order])), expected, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(fitted.transform(TARGET), expected, rtol=0, atol=1e-9)
    split = expected.reshape(2, 80, 50).transpose(1, 0, 2)
    np.testing.assert_allclose(fitted.transform(trials), split, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        fitted.transform(mne.EpochsArray(trials, info_of(), verbose=False)), split, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(np.var(expected, axis=1, ddof=1), fitted.explained_variance_, rtol=1e-9)
    np.testing.assert_array_equal(
        clone(fitted).fit_transform(raw(TARGET), backgrounds={"rest": raw(REST), "blinks": raw(BLINKS)}),
        fitted.transform(raw(TARGET)),
    )


def test_sources_of_raw_keep_times_and_annotations(fitted):
    target = mne.io.RawArray(TARGET.copy(), info_of(), first_samp=700, verbose=False)
    target.set_meas_date(1_000_000_000)
    target.set_annotations(mne.Annotations([9.0], [2.0], ["BAD_cough"], orig_time=target.info["meas_date"]))
    found = fitted.sources(target)
    assert found.ch_names == ["UC1", "UC2"]
    assert set(found.get_channel_types()) == {"misc"}
    assert (found.first_samp, found.info["meas_date"]) == (700, target.info["meas_date"])
    assert found.annotations == target.annotations
    np.testing.assert_allclose(found.get_data(), fitted.transform(TARGET), rtol=0, atol=1e-9)


def test_sources_of_epochs_keep_events_and_metadata(fitted):
    pd = pytest.importorskip("pandas", reason="metadata needs pandas")
    trials = TARGET.reshape(P, 80, 50).transpose(1, 0, 2)
    events = np.column_stack([np.arange(80) * 50, np.zeros(80, int), np.arange(80) % 2 + 1])
    metadata = pd.DataFrame({"trial": np.arange(80)})
    epochs = mne.EpochsArray(
        trials, info_of(), events, tmin=-0.2, event_id={"left": 1, "right": 2}, metadata=metadata, verbose=False
    )
    epochs = epochs[10:]
    found = fitted.sources(epochs)
    np.testing.assert_array_equal(found.events, epochs.events)
    np.testing.assert_array_equal(found.times, epochs.times)
    np.testing.assert_array_equal(found.metadata["trial"], np.arange(10, 80))
    assert (found.event_id, found.drop_log) == (epochs.event_id, epochs.drop_log)
    np.testing.assert_allclose(found["left"].get_data(), fitted.transform(epochs["left"]), rtol=0, atol=1e-9)


def test_summary_names_recordings(fitted):
    text = fitted.summary()
    assert f"{P} channels; all recordings together span {P} dimensions" in text
    assert f"blinks: 2500 samples, rank {P}" in text
    assert "Optimal: the certified relative gap" in text


# --- maps ---------------------------------------------------------------------------------------------------------------


def test_maps_by_name(fitted):
    plt = pytest.importorskip("matplotlib.pyplot", reason="maps need matplotlib")
    plt.switch_backend("Agg")
    figure = fitted.plot_patterns(show=False, colorbar=False)
    assert [ax.get_title() for ax in figure.axes] == ["UC1", "UC2"]
    order = np.random.default_rng(0).permutation(P)
    again = fitted.plot_patterns(info_of(np.array(NAMES)[order]), show=False, components=[1], colorbar=False)
    images = [axes.images[0].get_array() for axes in (figure.axes[1], again.axes[0])]
    np.testing.assert_allclose(*images, atol=1e-9)
    assert figure.axes[0].images[0].get_clim() == pytest.approx(np.abs(fitted.patterns_[0]).max() * np.array([-1, 1]))
    filters = fitted.plot_filters(show=False)
    assert len(filters.axes) == 4  # two maps, two colour bars
    assert filters.axes[0].images[0].get_clim()[1] == pytest.approx(np.abs(fitted.filters_[0]).max())
    with pytest.raises(ValueError, match="one for each of the 2 maps; got 1"):
        fitted.plot_patterns(axes=plt.subplots()[1], show=False)
    with pytest.raises(ValueError, match=f"info lacks channels of the fit: {NAMES[0]}"):
        fitted.plot_patterns(info_of(NAMES[1:]))
    plt.close("all")


# --- what is refused, and what is warned of -----------------------------------------------------------------------------


def test_channels_that_a_background_lacks_are_named():
    with pytest.raises(ValueError, match=rf"background 'rest' lacks 2 of {P} channels: {NAMES[0]}, {NAMES[1]}"):
        UCA().fit(raw(TARGET), backgrounds={"rest": raw(REST[2:], NAMES[2:])})
    rest = raw(REST)
    rest.info["bads"] = [NAMES[4]]
    with pytest.raises(ValueError, match=rf"background 'rest' marks channels as bad: {NAMES[4]}. Interpolate"):
        UCA().fit(raw(TARGET), backgrounds={"rest": rest})
    target = raw(TARGET)
    target.info["bads"] = [NAMES[4]]
    model = UCA().fit(target, backgrounds={"rest": rest})
    assert model.ch_names_ == [name for name in NAMES if name != NAMES[4]]
    few = UCA(2, picks=NAMES[6:2:-1]).fit(raw(TARGET), backgrounds={"rest": raw(REST)})
    assert sorted(few.ch_names_) == sorted(NAMES[3:7])


def test_types_of_channels():
    kinds = ["eeg"] * (P - 4) + ["mag", "mag", "eog", "misc"]
    mixed = mne.io.RawArray(TARGET.copy(), mne.create_info(list(NAMES), 100.0, kinds), verbose=False)
    with pytest.raises(ValueError, match=r"several types \(eeg, mag\).*picks='eeg'"):
        UCA().fit(mixed)
    with pytest.raises(ValueError, match="picks selects channels of type eog, misc; choose among eeg, mag"):
        UCA(picks=["eog", "misc", "eeg"]).fit(mixed)
    assert UCA(picks="eeg").fit(mixed).ch_names_ == list(NAMES[:-4])
    magnetometers = UCA(2, picks="mag", scale=True).fit(mixed)  # values far from those of magnetometers
    assert magnetometers.ranks_ == {"target": 2}


def test_wrong_input_is_refused(fitted):
    with pytest.raises(TypeError, match="the target must be a Raw or Epochs object of MNE; got ndarray"):
        UCA().fit(TARGET)
    with pytest.raises(TypeError, match="background 'rest' must be a Raw or Epochs object of MNE; got ndarray"):
        UCA().fit(raw(TARGET), backgrounds={"rest": REST})
    with pytest.raises(ValueError, match="backgrounds is empty"):
        UCA().fit(raw(TARGET), backgrounds={})
    with pytest.raises(ValueError, match="scale must be one of"):
        UCA(scale="own").fit(raw(TARGET))
    with pytest.raises(ValueError, match=rf"shape \(\[n_epochs, \]{P}, n_times\).*got \({P - 1}, 4000\)"):
        fitted.transform(TARGET[1:])
    spoilt = TARGET.copy()
    spoilt[2, 5] = np.nan
    with pytest.raises(ValueError, match=f"the target contains NaN or infinity in channels {NAMES[2]};"):
        UCA().fit(raw(spoilt))
    flat = REST.copy()
    flat[1] = 0
    with pytest.raises(ValueError, match=f"channels are flat in background 'rest': {NAMES[1]}. They have no scale"):
        UCA(scale=True).fit(raw(TARGET), backgrounds={"rest": raw(flat)})
    ignored = raw(REST)
    ignored.set_annotations(mne.Annotations([0.0], [30.0], ["bad"]))
    with pytest.raises(ValueError, match="background 'rest' has 0 samples left"):
        UCA().fit(raw(TARGET), backgrounds={"rest": ignored})


def test_more_components_than_dimensions():
    rest = REST.copy()
    rest[3:] = np.random.default_rng(0).normal(size=(P - 3, 3)) @ rest[:3]
    with pytest.raises(
        ValueError, match=rf"4 is more than the 3 dimensions.*ranks: target {P}, rest 3, of {P} channels"
    ):
        UCA(4).fit(raw(TARGET), backgrounds={"rest": raw(rest)})


def test_recordings_prepared_differently_are_told():
    target, rest = raw(TARGET), raw(REST).filter(2, 30, verbose=False)
    with pytest.warns(UserWarning, match="'rest' was prepared differently.*highpass 2 Hz against 0 Hz, lowpass 30 Hz"):
        UCA(1).fit(target, backgrounds={"rest": rest})
    rest = raw(REST).set_eeg_reference([NAMES[0]], verbose=False)
    with pytest.warns(UserWarning, match=r"prepared differently from the target \(another reference\)"):
        UCA(1).fit(target, backgrounds={"rest": rest})


def test_few_samples_are_told_by_mne():
    with pytest.warns(RuntimeWarning, match="Too few samples"):
        UCA(1).fit(raw(TARGET), backgrounds={"rest": raw(REST[:, :60])})


def test_a_failed_fit_leaves_the_model_as_it_was(fitted):
    model = clone(fitted).fit(raw(TARGET), backgrounds={"rest": raw(REST)})
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(raw(TARGET), backgrounds={"rest": raw(np.full_like(REST, np.nan))})
    assert vars(model) == before


def test_recordings_are_not_changed(fitted):
    target, rest = raw(TARGET.copy()), raw(REST.copy() + 1e-3)
    UCA(1).fit(target, backgrounds={"rest": rest})
    np.testing.assert_array_equal(target.get_data(), TARGET)
    np.testing.assert_array_equal(rest.get_data(), REST + 1e-3)


def test_without_mne_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mne", None)
    with pytest.raises(ImportError, match=r"uca.mne needs MNE-Python: pip install 'unique-component-analysis\[mne\]'"):
        UCA().fit(None)


def test_maps_without_positions_say_how_to_set_them():
    plain = mne.create_info(list(NAMES), 100.0, "eeg")
    target, rest = (mne.io.RawArray(values.copy(), plain, verbose=False) for values in (TARGET, REST))
    model = UCA(n_components=1).fit(target, backgrounds={"rest": rest})
    with pytest.raises(ValueError, match="the channels have no positions.* set a montage first"):
        model.plot_patterns(show=False)


def test_saving_names_the_kind_of_model(tmp_path, fitted):
    with pytest.raises(TypeError, match=r"got uca\.mne\.decoder\.UCA\. .* models of other kinds with pickle"):
        uca.save(fitted, tmp_path / "m.skops")
