"""What the plots show, against numbers computed another way; and what they refuse."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from needs import array_api_dispatch
from scipy import sparse
from scipy.stats import gaussian_kde
from sklearn.exceptions import NotFittedError

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install '.[plot]'")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from plot_cases import CASES, NAMES, P, study

from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA, plotting, solve_dual
from uca.fitted import problem_of
from uca.plotting.densities import curve, mass_levels, surface
from uca.plotting.dual_values import dual_values
from uca.plotting.names import arrange

plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def s():
    return study()


def correlation(rows: np.ndarray) -> np.ndarray:
    return np.corrcoef(rows, rowvar=False)


def g(A: np.ndarray, Bs: list[np.ndarray], lambdas: np.ndarray, bounds: np.ndarray) -> float:
    """The dual function as it is written, from dense matrices."""
    return np.linalg.eigvalsh(A - np.tensordot(lambdas, Bs, axes=1))[-1] + lambdas @ bounds


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax: Axes, label: str):
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return found


def points(ax: Axes, label: str) -> np.ndarray:
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return np.asarray(found.get_offsets())


# --- the contract -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_draws_on_the_axes_it_is_given_and_returns_them(name, s):
    _, ax = plt.subplots(layout="constrained")
    assert CASES[name](s, ax) is ax
    before = len(plt.get_fignums())
    new = CASES[name](s, None)
    assert isinstance(new, Axes)
    assert len(plt.get_fignums()) == before + 1


def test_import_brings_no_matplotlib_and_a_missing_one_says_what_to_install():
    code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
import numpy as np
from uca import UCA, plotting
model = UCA().fit(np.random.default_rng(0).normal(size=(9, 3)))
try:
    plotting.variance(model)
except ImportError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'unique-component-analysis[plot]'" in out


@pytest.mark.parametrize(
    "model", [CPCA(alpha=2.0), CPCAPlusPlus(shrinkage=0.1), UCA(), SparseUCA()], ids=lambda m: type(m).__name__
)
def test_works_with_every_model(model, s):
    model.fit(s.target, backgrounds=s.only)
    plotting.scores(model, s.target, backgrounds=s.only)
    plotting.biplot(model, s.target)
    plotting.loadings(model)
    plotting.eigenimages(model, (3, 3))
    plotting.density(model, s.target)
    assert ("bound" in legend(plotting.variance(model))) == isinstance(model, UCA | SparseUCA)


def test_pca_has_no_background_to_draw(s):
    model = UCA().fit(s.target)
    assert legend(plotting.variance(model)) == ["target"]
    assert plotting.scores(model, s.target).get_legend() is None


# --- scores ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filled", [True, False])
def test_many_points_look_as_few_do(filled, rng):
    """Markers that are copied are as dark as those that are drawn one by one, and as much where they are.

    Copies are put on whole pixels, so that they may be half a pixel off: squares of 20 pixels are compared.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from uca.plotting import scatter
    from uca.plotting.groups import Group

    places = rng.uniform(size=(300, 2))
    seen = []
    for limit in (10, 1000):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(scatter, "RASTER_FROM", limit)
            figure = Figure(figsize=(4, 3), dpi=100)
            scatter._draw_group(figure.subplots(), places, Group("a", np.arange(300), "#336699", filled=filled), 20.0)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        dark = 1 - np.asarray(canvas.buffer_rgba(), dtype=float)[..., :3].mean(axis=2) / 255
        seen.append(dark.reshape(15, 20, 20, 20).sum(axis=(1, 3)).ravel())
    copied, drawn = seen
    assert np.corrcoef(copied, drawn)[0, 1] > 0.95
    assert copied.sum() == pytest.approx(drawn.sum(), rel=0.05)


def test_scores_are_the_standardised_rows_times_the_components(s):
    ax = plotting.scores(s.model, s.target, labels=s.labels, components=(2, 1))
    z = (s.target - s.target.mean(axis=0)) / s.target.std(axis=0, ddof=1)
    expected = z @ s.model.components_[[2, 1]].T
    for label in "abc":
        np.testing.assert_allclose(points(ax, label), expected[s.labels == label], atol=1e-12)
    share = s.model.explained_variance_[2] / P
    assert ax.get_xlabel() == f"UC3 ({100 * share:.1f} % of target variance)"
    assert legend(ax) == ["a", "b", "c"]


@pytest.mark.parametrize("scale", [True, "target", False])
@pytest.mark.parametrize("center", [True, False])
def test_backgrounds_have_the_variance_of_the_fit(s, scale, center):
    model = UCA(scale=scale, center=center).fit(s.target, backgrounds=s.backgrounds)
    ax = plotting.scores(model, s.target, backgrounds=s.backgrounds)
    for j, (name, rows) in enumerate(s.backgrounds.items()):
        shown = points(ax, name)
        # Second moments about the mean, or about zero without centring; ddof = 1 as in the fit.
        variance = np.sum((shown - shown.mean(axis=0) * center) ** 2, axis=0) / (len(rows) - 1)
        np.testing.assert_allclose(variance, model.background_variance_[:, j], rtol=1e-9)


def test_backgrounds_in_units_of_the_target(s):
    ax = plotting.scores(s.model, s.target, backgrounds=s.backgrounds, background_units="target")
    np.testing.assert_allclose(points(ax, "control"), s.model.transform(s.backgrounds["control"])[:, :2])


def test_containers_show_the_same_points(s):
    pd = pytest.importorskip("pandas")
    expected = points(plotting.scores(s.model, s.target, backgrounds=s.backgrounds), "control")
    model = UCA(3).fit(
        pd.DataFrame(s.target, columns=NAMES),
        backgrounds={name: pd.DataFrame(rows, columns=NAMES) for name, rows in s.backgrounds.items()},
    )
    model.set_output(transform="pandas")
    turned = pd.DataFrame(s.backgrounds["control"], columns=NAMES)[NAMES[::-1]]
    ax = plotting.scores(model, pd.DataFrame(s.target, columns=NAMES), backgrounds={"control": turned})
    np.testing.assert_allclose(points(ax, "control"), expected, atol=1e-9)
    ax = plotting.scores(s.model, s.target, backgrounds={"control": sparse.csr_array(s.backgrounds["control"])})
    np.testing.assert_allclose(points(ax, "control"), expected, atol=1e-9)


def test_dask_rows(s):
    da = pytest.importorskip("dask.array")
    expected = points(plotting.scores(s.model, s.target, backgrounds=s.only), "control")
    lazy = {"control": da.from_array(s.only["control"], chunks=(20, P))}
    ax = plotting.scores(s.model, da.from_array(s.target, chunks=(30, P)), backgrounds=lazy)
    np.testing.assert_allclose(points(ax, "control"), expected, atol=1e-9)


def test_arrays_of_another_namespace(s):
    xp = pytest.importorskip("array_api_strict")
    with array_api_dispatch():
        target, background = xp.asarray(s.target), xp.asarray(s.only["control"])
        model = UCA(2).fit(target, backgrounds={"control": background})
        ax = plotting.scores(model, target, backgrounds={"control": background})
        expected = plotting.scores(s.single, s.target, backgrounds=s.only)
        np.testing.assert_allclose(points(ax, "control"), points(expected, "control"), atol=1e-9)
        plotting.variance(model)
        plotting.biplot(model, target)
        plotting.dual(model, target, backgrounds={"control": background})
        plotting.contrast_path(model, target, backgrounds={"control": background}, show="scores")


def test_a_streamed_model_draws_as_a_fitted_one(s):
    model = UCA(3).partial_fit(s.target[:40], backgrounds=s.backgrounds).partial_fit(s.target[40:])
    ax = plotting.scores(model, s.target, backgrounds=s.backgrounds)
    expected = plotting.scores(s.model, s.target, backgrounds=s.backgrounds)
    np.testing.assert_allclose(points(ax, "vehicle"), points(expected, "vehicle"), atol=1e-9)
    plotting.dual(model, s.target, backgrounds=s.backgrounds)


def test_numbers_become_a_scale_of_colours(s):
    values = s.target[:, 0].copy()
    values[:3] = np.nan
    ax = plotting.scores(s.model, s.target, labels=values)
    np.testing.assert_array_equal(ax.collections[0].get_array(), values[3:])
    np.testing.assert_allclose(points(ax, "no label"), s.model.transform(s.target[:3])[:, :2])


def test_labels_are_sorted_as_what_they_are_and_missing_ones_come_last(s):
    pd = pytest.importorskip("pandas")
    numbers = np.resize([10, 9, 2], 75)
    assert legend(plotting.scores(s.model, s.target, labels=numbers)) == ["2", "9", "10"]
    mixed = np.resize(np.array(["x", None, 3], dtype=object), 75)
    assert legend(plotting.scores(s.model, s.target, labels=mixed)) == ["3", "x", "no label"]
    for value in (pd.NA, pd.NaT, np.datetime64("NaT", "ns"), float("nan")):
        mixed[1::3] = value
        assert legend(plotting.scores(s.model, s.target, labels=mixed)) == ["3", "x", "no label"]
    masked = np.ma.array(np.resize(["x", "y", "z"], 75), mask=np.arange(75) % 3 == 1)
    assert legend(plotting.scores(s.model, s.target, labels=masked)) == ["x", "z", "no label"]
    days = np.resize(np.array(["2020-01-02", "NaT", "2020-01-01"], dtype="datetime64[D]"), 75)
    assert legend(plotting.scores(s.model, s.target, labels=days)) == ["2020-01-01", "2020-01-02", "no label"]


def test_masked_rows_are_refused(s):
    masked = np.ma.array(s.target, mask=np.zeros(s.target.shape, dtype=bool))
    masked[:, 1] = np.ma.masked
    with pytest.raises(ValueError, match="X contains 75 NaN .masked"):
        plotting.scores(s.model, masked)
    with pytest.raises(ValueError, match="target X contains 75 NaN .masked"):
        plotting.dual(s.single, masked, backgrounds=s.only)
    with pytest.raises(ValueError, match="background '.*' contains 75 NaN .masked"):
        plotting.density(s.single, s.target, backgrounds=masked)


def test_biplot_arrows_are_the_longest_loadings(s):
    ax = plotting.biplot(s.model, s.target, n_features=4, feature_names=NAMES, components=(0, 2))
    plane = s.model.components_[[0, 2]].T
    longest = np.argsort(-np.hypot(*plane.T))[:4]
    arrows = np.array([text.xy for text in ax.texts if text.get_text() == ""])
    factor = np.linalg.norm(arrows[0]) / np.linalg.norm(plane[longest[0]])
    np.testing.assert_allclose(arrows, factor * plane[longest])
    assert {text.get_text().strip() for text in ax.texts} - {""} == {NAMES[i] for i in longest}
    assert ax.get_aspect() == 1


def overlapping(boxes):
    """Pairs of boxes (x0, y0, x1, y1) that share more than an edge."""
    return [
        (i, j)
        for i, a in enumerate(boxes)
        for j, b in enumerate(boxes[:i])
        if min(a[2], b[2]) - max(a[0], b[0]) > 1e-9 and min(a[3], b[3]) - max(a[1], b[1]) > 1e-9
    ]


def written_boxes(ax):
    """Where names stand after the figure was drawn, in pixels."""
    renderer = ax.figure.canvas.get_renderer()
    return [text.get_window_extent(renderer).extents for text in ax.texts if text.get_text()]


@pytest.mark.parametrize("size", [(6.4, 4.8), (3.2, 2.4)])
@pytest.mark.parametrize("n_features", [3, 9])
def test_names_of_a_biplot_do_not_overprint(s, n_features, size):
    figure, ax = plt.subplots(figsize=size)
    plotting.biplot(s.model, s.target, n_features=n_features, feature_names=NAMES, ax=ax)
    for dpi in (60, 150):  # also when it is drawn again, larger
        figure.set_dpi(dpi)
        figure.canvas.draw()
        boxes = written_boxes(ax)
        assert len(boxes) == n_features
        assert overlapping(boxes) == []
        frame = ax.get_window_extent().extents
        assert all(np.all(box[:2] >= frame[:2] - 1) and np.all(box[2:] <= frame[2:] + 1) for box in boxes)
    plt.close(figure)


def test_names_of_equal_arrows_do_not_overprint(rng):
    """Thirty features that load alike: the hardest case."""
    X = rng.normal(size=(60, 1)) + 0.01 * rng.normal(size=(60, 30))
    ax = plotting.biplot(UCA(2).fit(X), X, n_features=30, feature_names=[f"a long name {i}" for i in range(30)])
    ax.figure.canvas.draw()
    assert overlapping(written_boxes(ax)) == []


def test_points_lie_over_arrows(s):
    ax = plotting.biplot(s.model, s.target, labels=s.labels, backgrounds=s.backgrounds)
    arrows = [text.get_zorder() for text in ax.texts if text.get_text() == ""]
    assert max(arrows) < min(points.get_zorder() for points in ax.collections)


def test_a_name_stands_beyond_its_tip_and_avoids_rows_and_others():
    tip, size, room = np.array([[60.0, 50.0]]), np.array([[20.0, 8.0]]), np.array([200.0, 100.0])
    none = np.empty((0, 2))
    free = arrange(tip, size, np.array([50.0, 50.0]), room, none)
    np.testing.assert_allclose(free, [[60 + 3 + 10, 50]])  # 3 beyond the tip, half of its width more
    crowd = np.column_stack([np.linspace(62, 90, 50), np.full(50, 50.0)])
    moved = arrange(tip, size, np.array([50.0, 50.0]), room, crowd)
    assert abs(moved[0, 1] - 50) > 4  # above or below the rows
    twice = arrange(np.repeat(tip, 2, axis=0), np.repeat(size, 2, axis=0), np.array([50.0, 50.0]), room, none)
    np.testing.assert_allclose(twice[0], free[0])
    assert overlapping(np.hstack([twice - size / 2, twice + size / 2])) == []
    corner = arrange(np.array([[199.0, 99.0]]), size, np.array([50.0, 50.0]), room, none)
    assert np.all(corner + size / 2 <= room)


# --- titles ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("scores", "UCA scores, target against control and vehicle"),
        ("biplot", "UCA biplot, target against control and vehicle"),
        ("loadings", "Loadings on UC2: the 6 largest of 9 features"),
        ("variance", "Variance of each component, target against control and vehicle"),
        ("density", "UCA densities, target against control and vehicle"),
        ("density_plane", "UCA scores: outlines of 50 and 90 % of the rows"),
        ("dual_line", "Dual function and its certified minimum"),
        ("dual_contours", "Dual function and its certified minimum"),
        ("contrast_path", "Variance of UC1 from PCA to strong contrast"),
        ("contrast_path_scores", "Scores on UC1 from PCA to strong contrast"),
        ("eigenimages", "UCA components as images"),
    ],
)
def test_figures_have_a_title_unless_the_axes_have_one(s, name, title):
    assert CASES[name](s, None).get_title() == title
    for loc in ("left", "center", "right"):
        ax = plt.subplots()[1]
        ax.set_title("mine", loc=loc)
        CASES[name](s, ax)
        assert [ax.get_title(place) for place in ("left", "center", "right") if ax.get_title(place)] == ["mine"]
    plt.close("all")


def test_titles_say_what_was_fitted(s):
    assert plotting.scores(UCA(2).fit(s.target), s.target).get_title() == "PCA scores"
    many = {f"control {j}": s.backgrounds["control"] + j for j in range(3)}
    ax = plotting.scores(UCA(2).fit(s.target, backgrounds=many), s.target)
    assert ax.get_title() == "UCA scores, target against 3 backgrounds"
    ax.set_title("")
    assert ax.get_title() == ""


# --- bars -----------------------------------------------------------------------------------------------------------


def test_loadings_in_order_of_size(s):
    ax = plotting.loadings(s.model, component=1, n_features=5, feature_names=NAMES)
    component = s.model.components_[1]
    order = sorted(range(P), key=lambda i: -abs(component[i]))[:5]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], component[order])
    assert [text.get_text() for text in ax.get_yticklabels()] == [NAMES[i] for i in order]
    assert ax.get_title() == "Loadings on UC2: the 5 largest of 9 features"


def test_variance_bars_and_bounds(s):
    model = UCA(2, bound=[1.5, 2.0]).fit(s.target, backgrounds=s.backgrounds)
    ax = plotting.variance(model)
    heights = np.array([[bar.get_height() for bar in bars] for bars in ax.containers])
    matrices = [correlation(rows) for rows in (s.target, *s.backgrounds.values())]
    expected = [[v @ matrix @ v for v in model.components_] for matrix in matrices]
    np.testing.assert_allclose(heights, expected, rtol=1e-9)
    bounds = [segment[0, 1] for segment in ax.collections[0].get_segments()]
    np.testing.assert_array_equal(bounds, [1.5, 2.0, 1.5, 2.0])
    assert legend(ax) == ["target", "control", "vehicle", "bound"]


# --- the dual -------------------------------------------------------------------------------------------------------


def test_dual_line_is_g(s):
    A, B = correlation(s.target), correlation(s.only["control"])
    ax = plotting.dual(s.single, s.target, backgrounds=s.only)
    x, y = line(ax, "g(λ)").get_data()
    np.testing.assert_allclose(y, [g(A, [B], np.array([t]), np.ones(1)) for t in x], rtol=1e-12)
    result = solve_dual(A, B)
    best = next(drawn for drawn in ax.lines if drawn.get_label().startswith("optimum"))
    np.testing.assert_allclose(np.ravel(best.get_data()), [result.lambdas[0], result.value], rtol=1e-7)
    assert y.min() >= result.certificate.lower * (1 - 1e-12)
    band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    np.testing.assert_allclose([band.y0, band.y1], [result.value] * 2, rtol=1e-9)


@pytest.mark.parametrize("along", ["ray", "vehicle"])
def test_dual_through_the_optimum_of_several(s, along):
    matrices = [correlation(rows) for rows in s.backgrounds.values()]
    ax = plotting.dual(s.model, s.target, backgrounds=s.backgrounds, along=along)
    x, y = line(ax, "g(λ)").get_data()
    best = s.model.lambdas_
    lambdas = [t * best if along == "ray" else np.array([best[0], t]) for t in x]
    np.testing.assert_allclose(y, [g(correlation(s.target), matrices, row, np.ones(2)) for row in lambdas], rtol=1e-12)
    assert x[y.argmin()] == pytest.approx(1.0 if along == "ray" else best[1])


def test_contours_are_those_of_g(s):
    """A point of each drawn contour has the level that the contour stands for."""
    matrices = [correlation(rows) for rows in s.backgrounds.values()]
    ax = plotting.dual(s.model, s.target, backgrounds=s.backgrounds)
    lines = next(c for c in ax.collections if not getattr(c, "filled", True))
    checked = 0
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        for point in path.vertices[::25]:
            # Lines run straight between grid points, which misses a curved g a little: 1 % of its range at most.
            assert g(correlation(s.target), matrices, point, np.ones(2)) == pytest.approx(level, rel=0.01)
            checked += 1
    assert checked > 20
    np.testing.assert_allclose(np.ravel(ax.lines[0].get_data()), s.model.lambdas_)


def test_three_backgrounds_show_the_ray(s):
    backgrounds = {**s.backgrounds, "third": s.backgrounds["vehicle"][::-1] ** 2}
    model = UCA(2).fit(s.target, backgrounds=backgrounds)
    ax = plotting.dual(model, s.target, backgrounds=backgrounds)
    assert "t λ̂" in ax.get_xlabel()
    assert line(ax, "g(λ)").get_ydata().min() == pytest.approx(model.certificate_.upper)


def test_a_background_that_does_not_matter_still_has_a_dual(s):
    model = UCA(bound=50.0).fit(s.target, backgrounds=s.only)
    assert model.lambdas_[0] == 0
    x, y = line(plotting.dual(model, s.target, backgrounds=s.only), "g(λ)").get_data()
    assert x[-1] > 0
    assert y.argmin() == 0


def test_dual_from_matrices_and_from_a_result():
    """A problem with a kink, known by hand (see test_kinks): the optimum 2.2 at (0.5, 0.5)."""
    A = np.array([[3.0, 0.0], [0.0, 1.0]])
    Bs = {"a": np.array([[3.0, 1.0], [1.0, 1.0]]), "b": np.array([[3.0, -1.0], [-1.0, 1.0]])}
    for model in (UCA(1, bound=2.2).fit_covariance(A, backgrounds=Bs), solve_dual(A, Bs, 2.2)):
        ax = plotting.dual(model, A, backgrounds=Bs, along="ray")
        x, y = line(ax, "g(λ)").get_data()
        np.testing.assert_allclose(
            y, [g(A, list(Bs.values()), t * np.full(2, 0.5), np.full(2, 2.2)) for t in x], rtol=1e-6
        )
        assert y.min() == pytest.approx(2.2)
        at = int(y.argmin())
        slopes = np.diff(y) / np.diff(x)
        assert slopes[at] - slopes[at - 1] > 0.5  # a kink, drawn as one
        plotting.dual(model, A, backgrounds=Bs)


@pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
def test_larger_problems_are_interpolated_well(representation):
    rng = np.random.default_rng(3)
    mix = rng.normal(size=(90, 90)) * np.arange(1, 91) ** -0.7
    target, *others = (rng.normal(size=(120, 90)) @ (mix + 0.5 * rng.normal(size=(90, 90))).T for _ in range(3))
    model = UCA(representation=representation).fit(target, backgrounds=others)
    problem = problem_of(model, target, others)
    assert problem.held.pencil.size > 64
    ax = plotting.dual(model, target, backgrounds=others, along="ray")
    x, y = line(ax, "g(λ)").get_data()
    A, Bs = correlation(target), [correlation(rows) for rows in others]
    exact = np.array([g(A, Bs, t * model.lambdas_, np.ones(2)) for t in x])
    assert np.all(y <= exact * (1 + 1e-9))  # a subspace never shows too much
    np.testing.assert_allclose(y, exact, rtol=1e-4)  # less than the width of a line
    plane = model.lambdas_ * rng.uniform(0, 2, size=(40, 2))
    anchors = np.stack(np.meshgrid(*(np.linspace(0, 2, 7) * end for end in model.lambdas_)), -1).reshape(-1, 2)
    found = dual_values(problem, plane, anchors=anchors)
    np.testing.assert_allclose(found, [g(A, Bs, row, np.ones(2)) for row in plane], rtol=2e-3)


def test_a_stopped_fit_says_so(s):
    """Its legend, and the hatched region that must hold the optimum; neither where the fit converged."""

    def hatched(ax):
        return any(getattr(drawn, "hatches", [None]) == ["////"] for drawn in ax.collections)

    ax = CASES["dual_stopped"](s, None)
    assert legend(ax)[0].startswith("best found 1.975 at λ̂ = (0.5, 0.5)")
    assert hatched(ax)
    ax = CASES["dual_contours"](s, None)
    assert legend(ax)[0].startswith("optimum")
    assert not hatched(ax)


# --- the path -------------------------------------------------------------------------------------------------------


def test_path_of_variances(s):
    A, Bs = correlation(s.target), [correlation(rows) for rows in s.backgrounds.values()]
    ax = plotting.contrast_path(s.model, s.target, backgrounds=s.backgrounds, component=1)
    x = line(ax, "target").get_xdata()
    assert (x[0], x[-1]) == (0.0, pytest.approx(10.0))
    for name, matrix in zip(["target", "control", "vehicle"], [A, *Bs], strict=True):
        y = line(ax, name).get_ydata()
        for i in (0, 20, len(x) - 1):
            contrast = A - x[i] * np.tensordot(s.model.lambdas_, Bs, axes=1)
            v = np.linalg.eigh(contrast)[1][:, -2]
            assert y[i] == pytest.approx(v @ matrix @ v, rel=1e-8)
    assert line(ax, "bound").get_ydata()[0] == 1.0


@pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
def test_path_of_scores_passes_through_the_model(s, representation):
    model = UCA(2, representation=representation).fit(s.target, backgrounds=s.only)
    assert model.certificate_.tight
    ax = plotting.contrast_path(model, s.target, backgrounds=s.only, show="scores", labels=s.labels)
    scores = model.transform(s.target)[:, 0]
    pca = np.linalg.svd((s.target - s.target.mean(axis=0)) / s.target.std(axis=0), full_matrices=False)[2][0]
    z = (s.target - s.target.mean(axis=0)) / s.target.std(axis=0, ddof=1)
    for label in "abc":
        x, y = line(ax, label).get_data()
        rows = s.labels == label
        assert y[x == 1.0] == pytest.approx(np.median(scores[rows]), abs=1e-6)
        assert abs(y[0]) == pytest.approx(abs(np.median(z[rows] @ pca)), abs=1e-6)


def test_backgrounds_of_the_dual_are_matched_by_name(s):
    turned = dict(reversed(s.backgrounds.items()))
    first = plotting.dual(s.model, s.target, backgrounds=turned)
    assert first.get_xlabel() == "λ of control"


# --- densities ------------------------------------------------------------------------------------------------------


def test_density_agrees_with_scipy(s):
    ax = plotting.density(s.model, s.target, backgrounds=s.backgrounds, components=1)
    z = s.model.transform(s.target)[:, 1]
    x, y = line(ax, "target").get_data()
    # Binning on 512 points costs less than 1 % of the peak.
    np.testing.assert_allclose(y, gaussian_kde(z)(x), atol=0.01 * y.max())
    assert legend(ax) == ["target", "control", "vehicle"]


def test_densities_integrate_to_one_and_outlines_hold_their_share(rng):
    rows = rng.normal(size=(4000, 2)) * [1.0, 5.0]
    x, y = curve(rows[:, 0], -3, 3)
    assert np.sum(y) * (x[1] - x[0]) == pytest.approx(1, abs=1e-6)
    x, y, z = surface(rows)
    assert z.shape == (len(y), len(x))
    assert z.sum() * (x[1] - x[0]) * (y[1] - y[0]) == pytest.approx(1, abs=1e-6)
    outer, inner = mass_levels(z)
    # For a normal distribution, density at the outline of mass m is (1 - m) times the peak; 4000 rows know it to 10 %.
    assert outer / z.max() == pytest.approx(0.1, rel=0.15)
    assert inner / z.max() == pytest.approx(0.5, rel=0.15)


# --- images ---------------------------------------------------------------------------------------------------------


def test_eigenimages_show_the_components(s):
    ax = plotting.eigenimages(s.model, (3, 3), components=[2, 0])
    for image, i in zip(ax.images, (2, 0), strict=True):
        component = s.model.components_[i]
        np.testing.assert_allclose(image.get_array(), component.reshape(3, 3) / np.abs(component).max())
        assert image.get_clim() == (-1, 1)
    assert ax.texts[0].get_text().startswith("UC3 (")


# --- what is refused ------------------------------------------------------------------------------------------------

REFUSED = [
    (lambda s: plotting.scores(UCA(), s.target), NotFittedError, "not fitted yet"),
    (
        lambda s: plotting.variance(object()),
        TypeError,
        "must be a fitted CPCA, CPCAPlusPlus, UCA or SparseUCA; got object",
    ),
    (lambda s: plotting.variance(s.model, ax="left"), TypeError, "must be a matplotlib Axes or None; got str"),
    (lambda s: plotting.scores(s.model, s.target[:, :4]), ValueError, "X has 4 features, but UCA is expecting 9"),
    (lambda s: plotting.scores(s.model, s.target, components=(0, 3)), ValueError, "the model has 3 components"),
    (lambda s: plotting.scores(s.model, s.target, components=(1, 1)), ValueError, "two different numbers"),
    (lambda s: plotting.scores(s.model, s.target, components=(0, 1, 2)), ValueError, "must be two numbers"),
    (lambda s: plotting.scores(s.model, s.target, components=(0, 1.5)), TypeError, "must be an integer; got 1.5"),
    (
        lambda s: plotting.scores(s.model, s.target, labels=s.labels[1:]),
        ValueError,
        "but there are 75 rows: give one for each row",
    ),
    (
        lambda s: plotting.scores(s.model, s.target, labels=[f"{i}" for i in range(75)]),
        ValueError,
        "75 different values",
    ),
    (
        lambda s: plotting.scores(s.model, s.target, backgrounds={"b": s.target[:, :5]}),
        ValueError,
        "background 'b' has 5 features, but the model was fitted on 9",
    ),
    (
        lambda s: plotting.scores(s.model, s.target, background_units="mine"),
        ValueError,
        "background_units must be one of 'own', 'target'",
    ),
    (lambda s: plotting.biplot(s.model, s.target, n_features=0), ValueError, "n_features must be at least 1"),
    (lambda s: plotting.loadings(s.model, feature_names=["x"]), ValueError, "has 1 names, but the model .* 9 features"),
    (lambda s: plotting.loadings(s.model, component=-1), ValueError, "component=-1, but the model has 3"),
    (lambda s: plotting.loadings(s.model, n_features=2.5), TypeError, "n_features must be an integer"),
    (lambda s: plotting.eigenimages(s.model, (2, 4)), ValueError, r"\(2, 4\) has 8 values, but .* on 9 features"),
    (lambda s: plotting.eigenimages(s.model, 9), ValueError, "must be .height, width. or"),
    (lambda s: plotting.eigenimages(s.model, (3, 3), components=[]), ValueError, "components is empty"),
    (lambda s: plotting.density(s.model, s.target, labels=s.target[:, 0]), ValueError, "densities need groups"),
    (
        lambda s: plotting.density(s.model, s.target, labels=["one"] + ["rest"] * 74),
        ValueError,
        "'one' has 1 rows with no spread",
    ),
    (lambda s: plotting.dual(s.model, s.target, backgrounds=s.only), ValueError, "must be those of the fit"),
    (
        lambda s: plotting.dual(s.model, s.target[1:], backgrounds=s.backgrounds),
        ValueError,
        "not what the model was fit",
    ),
    (
        lambda s: plotting.dual(s.single, s.target, backgrounds=s.only, along="x"),
        ValueError,
        "along must be None, 'ray'",
    ),
    (lambda s: plotting.dual(s.single, s.target, backgrounds=s.only, reach=0.5), ValueError, "reach must be a number"),
    (
        lambda s: plotting.dual(CPCA(alpha=1).fit(s.target), s.target, backgrounds=s.only),
        TypeError,
        "CPCA has no dual problem",
    ),
    (lambda s: plotting.dual(UCA().fit(s.target), s.target, backgrounds=s.only), ValueError, "no dual to draw"),
    (
        lambda s: plotting.dual(solve_dual(np.eye(2), [np.eye(2)] * 2), np.eye(2), backgrounds=np.eye(2)),
        ValueError,
        "got 1 backgrounds, but the model was fitted on 2",
    ),
    (
        lambda s: plotting.contrast_path(s.model, s.target, backgrounds=s.backgrounds, show="both"),
        ValueError,
        "show must be one of 'variance', 'scores'",
    ),
    (
        lambda s: plotting.contrast_path(s.single, s.target, backgrounds=s.only, labels=s.labels),
        ValueError,
        "use them with show='scores'",
    ),
    (
        lambda s: plotting.contrast_path(s.single, s.target, backgrounds=s.only, labels=["x"], show="scores"),
        ValueError,
        "but there are 75 rows",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED, ids=[text[:40] for *_, text in REFUSED])
def test_refused_with_a_reason_and_no_empty_figure(s, call, kind, text):
    with pytest.raises(kind, match=text):
        call(s)
    assert plt.get_fignums() == []


def test_path_needs_multipliers_and_rows(s):
    idle = UCA(bound=50.0).fit(s.target, backgrounds=s.only)
    with pytest.raises(ValueError, match="all multipliers are 0"):
        plotting.contrast_path(idle, s.target, backgrounds=s.only)
    with pytest.raises(ValueError, match="no ray through the optimum"):
        plotting.dual(idle, s.target, backgrounds=s.only, along="ray")
    A, B = correlation(s.target), correlation(s.only["control"])
    model = UCA().fit_covariance(A, backgrounds=B)
    plotting.contrast_path(model, A, backgrounds=B)
    with pytest.raises(ValueError, match="covariance matrices has no rows"):
        plotting.contrast_path(model, A, backgrounds=B, show="scores")
