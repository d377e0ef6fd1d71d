"""The figures of what uca.inference returns: every number drawn is one of the result; and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install '.[plot]'")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from uca import UCA, plotting
from uca.inference import background_influence, bootstrap, estimate_n_components, row_leverage, uniqueness_test
from uca.plotting.influences import normal_leverage
from uca.plotting.style import GREYS

plt.switch_backend("Agg")
P = 8


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@cache
def results(n_backgrounds=2, k=3) -> SimpleNamespace:
    """One result of each kind: a pattern of the target's own, one that it shares with the first background."""
    rng = np.random.default_rng(1)
    shared, own = np.where(np.arange(P) < 3, 2.5, 0.0), np.where(np.arange(P) > 4, 1.5, 0.0)
    target = rng.normal(size=(90, 1)) * shared + rng.normal(size=(90, 1)) * own + rng.normal(size=(90, P))
    target[:2, 3:5] += [[30, -30], [-30, 30]]
    control = rng.normal(size=(70, 1)) * shared + rng.normal(size=(70, P))
    backgrounds = {"control": control, "blank": rng.normal(size=(60, P))}
    backgrounds = dict(list(backgrounds.items())[:n_backgrounds])
    model = UCA(k).fit(target, backgrounds=backgrounds)
    return SimpleNamespace(
        test=uniqueness_test(target[2:], backgrounds, n_components=k, n_splits=5),
        number=estimate_n_components(target[2:], backgrounds, max_components=k, n_splits=5, n_permutations=10),
        bootstrap=bootstrap(target[2:], backgrounds, n_components=k, n_resamples=20),
        influence=background_influence(target[2:], backgrounds, n_components=k),
        leverage=row_leverage(model, target),
    )


DRAW = {
    "uniqueness": lambda r, **o: plotting.uniqueness(r.test, **o),
    "n_components": lambda r, **o: plotting.n_components(r.number, **o),
    "stability": lambda r, **o: plotting.stability(r.bootstrap, **o),
    "reliable_loadings": lambda r, **o: plotting.reliable_loadings(r.bootstrap, **o),
    "influence": lambda r, **o: plotting.influence(r.influence, **o),
    "leverage": lambda r, **o: plotting.leverage(r.leverage, **o),
}


@pytest.mark.parametrize("name", DRAW)
def test_titles_say_what_is_drawn_and_yield_to_the_users(name):
    found = results()
    title = {
        "uniqueness": f"Test of uniqueness: {found.test.n_unique_} unique component",
        "n_components": f"Number of components: {found.number.n_components_} by the test",
        "stability": f"Stability of the components, {len(found.bootstrap.cosines)} resamples",
        "reliable_loadings": "Loadings on UC1",
        "influence": "What changes without each background",
        "leverage": "Leverage of single rows on UC1",
    }[name]
    assert DRAW[name](found).get_title().startswith(title)
    ax = plt.subplots()[1]
    ax.set_title("mine", loc="left")
    assert (DRAW[name](found, ax=ax).get_title("left"), ax.get_title()) == ("mine", "")


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def dots(ax: Axes) -> np.ndarray:
    """All points drawn with a marker and no line, (n, 2), in order."""
    return np.concatenate([line.get_xydata() for line in ax.lines if line.get_linestyle() == "None"])


def bars(ax: Axes) -> np.ndarray:
    """Ends of all interval lines, (n, 2, 2)."""
    return np.concatenate([np.array(c.get_segments()) for c in ax.collections if hasattr(c, "get_segments")])


def labels(axis) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


@pytest.mark.parametrize("name", DRAW)
@pytest.mark.parametrize(("n_backgrounds", "k"), [(1, 1), (1, 3), (2, 1), (2, 3)])
def test_draws_on_the_axes_it_is_given_and_returns_them(name, n_backgrounds, k):
    figure, ax = plt.subplots(layout="constrained")
    found = results(n_backgrounds, k)
    assert DRAW[name](found, ax=ax) is ax
    figure.canvas.draw()
    before = len(plt.get_fignums())
    DRAW[name](found).figure.canvas.draw()
    assert len(plt.get_fignums()) == before + 1


@pytest.mark.parametrize(
    ("draw", "makes"),
    [
        (plotting.uniqueness, "uniqueness_test"),
        (plotting.n_components, "estimate_n_components"),
        (plotting.stability, "bootstrap"),
        (plotting.reliable_loadings, "bootstrap"),
        (plotting.influence, "background_influence"),
        (plotting.leverage, "row_leverage"),
    ],
)
def test_refuses_other_things_and_says_what_makes_the_right_one(draw, makes):
    with pytest.raises(TypeError, match=f"as uca.inference.{makes} returns it; got UCA"):
        draw(UCA())
    assert plt.get_fignums() == []


def test_uniqueness_draws_variances_and_intervals_and_marks_what_is_unique():
    test = results().test
    assert 1 <= test.n_unique_ < 3
    ax = plotting.uniqueness(test)
    np.testing.assert_array_equal(dots(ax)[:, 1], test.variances.T.ravel())
    ends = bars(ax)[:, :, 1]
    np.testing.assert_array_equal(ends, np.column_stack([test.low.T.ravel(), test.high.T.ravel()]))
    grey = np.reshape([to_hex(line.get_color()).upper() in GREYS for line in ax.lines], (3, 3))
    np.testing.assert_array_equal(grey, np.broadcast_to(np.arange(3) >= test.n_unique_, (3, 3)))
    assert labels(ax.xaxis) == [f"UC{i + 1}\np = {p:.3f}" for i, p in enumerate(test.pvalues)]
    assert legend(ax) == ["target", "control", "blank", "unique (p ≤ 0.05)"]


def test_without_a_unique_component_nothing_is_marked():
    rng = np.random.default_rng(0)
    test = uniqueness_test(rng.normal(size=(40, 4)), rng.normal(size=(40, 4)), n_components=2, n_splits=3)
    assert test.n_unique_ == 0
    assert legend(plotting.uniqueness(test)) == ["target", "background1"]


def test_n_components_draws_eigenvalues_thresholds_and_both_numbers():
    found = results().number
    ax = plotting.n_components(found)
    np.testing.assert_array_equal(dots(ax)[:, 1], found.eigenvalues)
    (limits,) = [line for line in ax.lines if str(line.get_label()).startswith("permuted")]
    np.testing.assert_array_equal(limits.get_xydata(), np.column_stack([[1, 2, 3], found.thresholds]))
    text = " ".join(legend(ax)).replace("\n", " ")
    if found.n_components_ == found.n_screened_:
        assert f"by the test and by screening: {found.n_components_}" in text
    else:
        assert f"by the test: {found.n_components_} by screening: {found.n_screened_}" in text


def test_stability_draws_every_resample_and_the_medians():
    found = results().bootstrap
    ax = plotting.stability(found)
    drawn = dots(ax)[:, 1].reshape(2, 3, 20)
    np.testing.assert_array_equal(drawn[0], found.cosines.T)
    np.testing.assert_array_equal(drawn[1], found.subspace_cosines.T)
    medians = [*found.stability_, *found.subspace_stability_]
    assert [text.get_text() for text in ax.texts] == [f"{value:.2f}" for value in medians]


@pytest.mark.parametrize("component", [0, 1])
def test_reliable_loadings_draws_the_largest_with_their_intervals(component):
    found = replace(results().bootstrap, found_again=np.array([True, False, False]))
    given = np.array([True, False, False])[:, np.newaxis]
    ends = np.stack([found.model.components_ - 0.1, found.model.components_ + 0.1], axis=2)
    low, high = (np.where(given, ends[:, :, side], np.nan) for side in (0, 1))
    found = replace(found, loadings_low=low, loadings_high=high)
    ax = plotting.reliable_loadings(found, component=component, n_features=5)
    values = found.model.components_[component]
    chosen = np.argsort(-np.abs(values))[:5]
    sure = found.reliable[component, chosen]
    order = np.concatenate([chosen[sure], chosen[~sure]])
    np.testing.assert_allclose(dots(ax)[:, 0], values[order])
    if component == 0:
        np.testing.assert_allclose(bars(ax)[:, :, 0], ends[0, order])
    else:
        assert not np.isfinite(bars(ax)).any()
    assert ("not found again: no intervals" in ax.get_xlabel()) == (component == 1)
    assert labels(ax.yaxis) == [f"x{i}" for i in chosen]
    assert ax.get_title() == f"Loadings on UC{component + 1}: the 5 largest of 8 features"
    with pytest.raises(ValueError, match="component=3, but the model has 3 components"):
        plotting.reliable_loadings(found, component=3)


@pytest.mark.parametrize("n_backgrounds", [1, 2])
def test_influence_draws_gains_and_cosines_and_says_who_decides(n_backgrounds):
    found = results(n_backgrounds).influence
    ax = plotting.influence(found)
    left, right = ax.child_axes
    np.testing.assert_allclose([bar.get_width() for bar in left.patches], [100 * row["gain"] for row in found.table])
    (points,) = [
        c for c in right.collections if len(c.get_offsets()) == len(found.table) and not hasattr(c, "get_segments")
    ]
    np.testing.assert_allclose(points.get_offsets()[:, 0], [row["subspace cosine"] for row in found.table])
    told = labels(left.yaxis)
    assert told[0] == f"without control\n{found.verdict('control')}"
    if n_backgrounds == 2:
        assert told[1] == f"without blank\n{found.verdict('blank')}"
        assert told[2] == "all pooled"


def test_influence_without_resamples_speaks_of_these_rows(rng):
    rows = rng.normal(size=(3, 40, 5))
    found = background_influence(rows[0], {"a": rows[1], "b": rows[2]}, n_resamples=0)
    told = labels(plotting.influence(found).child_axes[0].yaxis)
    assert told[:2] == [f"without {name}\n{found.verdict(name)} in these rows" for name in "ab"]


def test_leverage_draws_shares_in_order_and_names_the_few():
    found = results().leverage
    few, many = int(np.argmax(found.few)), int(np.argmin(found.few))
    assert found.few[few]
    assert not found.few[many]
    names = [f"mouse {i}" for i in range(90)]
    ax = plotting.leverage(found, component=few, ids=names)
    np.testing.assert_allclose(dots(ax)[:, 1], 100 * np.sort(found.leverage[:, few])[::-1])
    assert [text.get_text() for text in ax.texts] == [names[i] for i in found.outlying(few)]
    ax = plotting.leverage(found, component=many)
    assert not ax.texts
    assert legend(ax)[1] == f"{found.n_half[many]} of 90 rows have half"
    with pytest.raises(ValueError, match="ids has 3 entries, but there are 90 rows"):
        plotting.leverage(found, ids=list("abc"))


def test_normal_leverage_is_what_normal_scores_have(rng):
    samples = np.sort(rng.normal(size=(4000, 60)) ** 2, axis=1)[:, ::-1]
    shares = (samples / samples.sum(axis=1, keepdims=True)).mean(axis=0)
    expected = normal_leverage(60)
    assert expected.sum() == pytest.approx(1)
    np.testing.assert_allclose(expected, shares, atol=0.01)  # the largest of 60 is 0.1
