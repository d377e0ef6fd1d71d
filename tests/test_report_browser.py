"""The report in a real browser: headless Chromium, driven by Playwright's Python package.

Set UCA_SCREENSHOTS to a folder to keep the screenshots.
"""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import browsers
import numpy as np
import pytest
from test_report import problem

from uca import UCA
from uca.inference import background_influence, bootstrap, uniqueness_test
from uca.report import report

imread = pytest.importorskip("matplotlib.image", reason="pip install 'unique-component-analysis[plot]'").imread
pd = pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")

pytestmark = browsers.NEEDED
NASTY = "</script><b>bold</b>&amp;"
LABEL = "response to a long treatment with <b>two</b> drugs, as the clinic wrote it down"


@pytest.fixture(scope="module")
def browser():
    with browsers.started() as running:
        yield running


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A model with everything on its page, and the file."""
    X, backgrounds = problem(n=60, p=12)
    frame = pd.DataFrame(X, columns=[f"gene{i}" for i in range(12)], index=[f"cell {i}" for i in range(60)])
    model = UCA(n_components=3).fit(frame, backgrounds=backgrounds)
    labels = np.array(["treated", NASTY])[(X[:, -1] > 5).astype(int)]
    path = tmp_path_factory.mktemp("report") / "report.html"
    evidence = {
        "test": uniqueness_test(X, backgrounds, n_components=4, n_splits=3),
        "stability": bootstrap(X, backgrounds, n_components=3, n_resamples=20),
        "influence": background_influence(X, backgrounds, n_components=3),
    }
    told = {"labels": labels, "label_name": LABEL, "image_shape": (3, 4), "title": NASTY}
    report(model, path, frame, backgrounds=backgrounds, **told, **evidence)
    return model, frame, labels, path


#: Holds the unpacking of the drawing library until the test calls ``unpack()``.
HELD = """const held = new Promise((resolve) => (window.unpack = resolve));
    const text = Response.prototype.text;
    Response.prototype.text = async function () { await held; return text.call(this); };"""


class Opened:
    """A page with what it logged and what it asked the network for; ``early`` is called before the plots can be drawn."""

    def __init__(self, browser, path, policy=None, early=None, **options):
        self.context = browser.new_context(**{"viewport": {"width": 1240, "height": 900}, **options})
        self.page = self.context.new_page()
        if early:
            self.page.add_init_script(HELD)
        self.problems, self.requests = [], []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if policy is None:
            self.page.goto(path.as_uri())
        else:
            headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": policy}
            self.page.route("**/*", lambda route: route.fulfill(body=path.read_bytes(), headers=headers))
            self.page.goto("http://report.invalid/")
        if early:
            early(self.page)
            self.page.evaluate("unpack()")
        self.page.wait_for_selector("html[data-ready=yes]", timeout=60_000)

    def points(self):
        """Coordinates of the target's points."""
        trace = "document.getElementById('scatter').data[R.scatter.curves.indexOf(0)]"
        return np.array(self.page.evaluate(f"[Array.from({trace}.x), Array.from({trace}.y)]"), dtype=float).T

    def place(self, row):
        """Where a row of the target is on the screen."""
        return self.page.evaluate(
            """(i) => {
                const box = document.getElementById("scatter"), { xaxis, yaxis } = box._fullLayout;
                box.scrollIntoView({ block: "center", behavior: "instant" });
                const trace = box.data[R.scatter.curves.indexOf(0)], at = box.getBoundingClientRect();
                return [at.left + xaxis._offset + xaxis.l2p(trace.x[i]), at.top + yaxis._offset + yaxis.l2p(trace.y[i])];
            }""",
            row,
        )

    def hover(self, row):
        x, y = self.place(row)
        self.page.mouse.move(x - 40, y - 40)
        self.page.mouse.move(x, y, steps=3)
        layer = "document.querySelector('#scatter .hoverlayer').textContent"
        self.page.wait_for_function(f"{layer}.includes('cell {row}')", timeout=5000)
        return self.page.evaluate(layer)

    def save_picture(self):
        """The name of the saved file, the texts that were written into it, and its pixels."""
        self.page.evaluate(
            """() => {
                window.written = [];
                const context = CanvasRenderingContext2D.prototype, write = context.fillText;
                context.fillText = function (text, ...at) { window.written.push(text); write.call(this, text, ...at); };
            }"""
        )
        with self.page.expect_download() as download:
            self.page.click("#picture")
        kept = os.environ.get("UCA_SCREENSHOTS")
        if kept:
            download.value.save_as(Path(kept) / download.value.suggested_filename)
        pixels = imread(download.value.path(), format="png")
        return download.value.suggested_filename, self.page.evaluate("window.written"), pixels

    def slide(self, key, position):
        self.page.focus("#contrast")
        self.page.keyboard.press(key)
        self.page.wait_for_function(f"R.scatter.position === {position}")


@pytest.fixture
def opened(browser, example):
    page = Opened(browser, example[3])
    yield page
    page.context.close()
    assert page.problems == []
    assert page.requests == [example[3].as_uri()]  # the file itself and nothing else


def test_scatter_shows_the_scores_and_the_slider_moves_them_to_pca(opened, example):
    model, frame, _, _ = example
    scores = model.transform(frame)
    np.testing.assert_allclose(opened.points(), scores[:, :2], rtol=1e-5, atol=1e-6)
    opened.slide("Home", 0)
    z = (frame.to_numpy() - frame.to_numpy().mean(axis=0)) / frame.to_numpy().std(axis=0, ddof=1)
    pca = z @ np.linalg.eigh(np.cov(z.T))[1][:, :-3:-1]
    moved = opened.points()
    for c in range(2):
        assert abs(np.corrcoef(moved[:, c], pca[:, c])[0, 1]) > 1 - 1e-8
    assert "plain PCA" in opened.page.inner_text("#contrast-text")
    assert opened.page.get_attribute("#contrast", "aria-valuetext") == "λ = 0, plain PCA"
    opened.page.click("#to-optimum")
    opened.page.wait_for_function("R.scatter.position === 10")
    np.testing.assert_allclose(opened.points(), scores[:, :2], rtol=1e-5, atol=1e-6)


def test_a_page_that_is_used_before_its_plots_are_unpacked(browser, example):
    def early(page):
        page.emulate_media(color_scheme="dark")
        page.click("#theme")
        page.click("#theme")
        page.focus("#contrast")
        page.keyboard.press("Home")
        page.click("text=Zoom")
        page.select_option("#pick-x", "1")
        page.select_option("#pick-loading", "1")
        page.fill("#find", "cell 1")
        page.click("#reset")
        page.click("#picture")
        assert not page.evaluate("'Plotly' in window")

    opened = Opened(browser, example[3], early=early)
    opened.page.wait_for_function("R.scatter.position === 0 && document.getElementById('path').data")
    opened.page.wait_for_timeout(300)
    assert opened.problems == []
    assert opened.page.evaluate("document.getElementById('scatter').layout.dragmode") == "zoom"
    assert opened.page.inner_text("#theme") == "Light"
    for box in ("scatter", "bars", "top", "path", "held-out"):
        assert opened.page.locator(f"#{box} svg.main-svg").count() > 0
    waited = opened.points()
    late = Opened(browser, example[3])
    late.page.select_option("#pick-x", "1")
    late.slide("Home", 0)
    np.testing.assert_allclose(waited, late.points(), rtol=1e-6, atol=1e-9)
    for each in (opened, late):
        each.context.close()


def test_points_pass_through_places_between_the_steps(opened):
    opened.page.evaluate(
        """() => { window.seen = []; const move = R.scatter.move;
                   R.scatter.move = () => { window.seen.push(R.scatter.position); return move(); }; }"""
    )
    opened.slide("End", 20)
    seen = opened.page.evaluate("window.seen")
    assert seen == sorted(seen)
    assert any(10 < place < 20 for place in seen)


def test_hover_shows_id_and_label_as_they_are(opened, example):
    model, frame, labels, _ = example
    ours = np.flatnonzero(labels == NASTY)
    row = int(ours[model.transform(frame)[ours, 0].argmax()])  # at the edge, where no other point is nearer
    assert f"{LABEL}: {NASTY}"[:59] in opened.hover(row)
    assert opened.page.inner_text("h1") == NASTY
    assert NASTY in opened.page.inner_text("#legend")


def test_lasso_lists_rows_and_they_stay_selected_when_the_slider_moves(opened, example):
    page = opened.page
    x, y = opened.place(5)
    page.mouse.move(x - 12, y - 12)
    page.mouse.down()
    for dx, dy in ((12, -12), (12, 12), (-12, 12), (-12, -11)):
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    page.wait_for_selector("#selection-table tbody tr")
    listed = page.locator("#selection-table tbody tr").all_inner_texts()
    assert any(row.startswith("cell 5\ttarget") for row in listed)
    opened.slide("Home", 0)
    assert page.locator("#selection-table tbody tr").all_inner_texts() == listed
    with page.expect_download() as download:
        page.click("#selection-csv")
    assert len(Path(download.value.path()).read_text().splitlines()) == len(listed) + 1
    page.click("#clear")
    assert page.is_disabled("#selection-csv")


def test_rows_are_found_by_keyboard(opened, example):
    _, _, labels, _ = example
    opened.page.fill("#find", "treated")
    expected = int(np.sum(labels == "treated"))
    assert opened.page.inner_text("#selection-count").startswith(f"{expected} rows: {expected} treated")
    opened.page.fill("#find", "no such row")
    assert opened.page.inner_text("#selection-count") == "No row matches."


def test_table_filters_and_sorts_and_download_gives_the_csv(opened, example):
    model, frame, _, _ = example
    page = opened.page
    page.fill("#search", "GENE1")
    assert page.inner_text("#search-count") == "3 of 12 features"
    assert set(page.locator("#loadings-table tbody th").all_inner_texts()) == {"gene1", "gene10", "gene11"}
    page.fill("#search", "")
    page.select_option("#pick-loading", "1")
    for kind, values in (("loadings", model.components_), ("patterns", model.patterns_)):
        page.select_option("#pick-kind", kind)
        order = np.argsort(-np.abs(values[1]))
        assert page.locator("#loadings-table tbody th").all_inner_texts() == [f"gene{i}" for i in order]
    with page.expect_download() as download:
        page.click("#loadings-csv")
    assert download.value.suggested_filename == "loadings.csv"
    header, *rows = csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8")))
    assert header == ["feature", "UC1", "UC2", "UC3", "UC1 pattern", "UC2 pattern", "UC3 pattern"]
    assert [row[0] for row in rows] == list(frame.columns)
    both = np.vstack([model.components_, model.patterns_]).T
    np.testing.assert_allclose(np.array([row[1:] for row in rows], float), both, rtol=1e-5, atol=1e-7)


def test_components_colour_and_groups_can_be_chosen(opened, example):
    model, frame, labels, _ = example
    page = opened.page
    page.select_option("#pick-x", "2")
    np.testing.assert_allclose(opened.points()[:, 0], model.transform(frame)[:, 2], rtol=1e-5, atol=1e-6)
    page.locator("#legend button", has_text="treated").click()
    page.wait_for_function("R.scatter.hidden.size === 1 && !R.scatter.quiet")
    np.testing.assert_array_equal(np.isnan(opened.points()[:, 0]), labels == "treated")
    page.select_option("#pick-colour", "f0")
    strongest = int(np.abs(model.components_).max(axis=0).argmax())
    colours = "document.getElementById('scatter').data[R.scatter.curves.indexOf(0)].marker.color"
    values = np.array(page.evaluate(f"Array.from({colours})"), float)
    np.testing.assert_allclose(values, frame.to_numpy()[:, strongest], atol=1e-3)  # 16 bits of its range
    assert page.locator("#image-grid canvas").count() == 3


def test_backgrounds_stand_on_the_same_axes(opened):
    layout = opened.page.evaluate(
        "(({ xaxis, xaxis2, xaxis3, yaxis, yaxis3 }) => [xaxis, xaxis2, xaxis3, yaxis, yaxis3].map((a) => a.range))"
        "(document.getElementById('scatter')._fullLayout)"
    )
    assert layout[0] == layout[1] == layout[2]
    assert layout[3] == layout[4]


@pytest.mark.parametrize("width", [390, 800, 1280])
@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_the_same_spread_is_as_large_in_every_panel(browser, m, width, tmp_path):
    X, backgrounds = problem(n=30, names=[f"control {j}" for j in range(m)])
    model = UCA().fit(X, backgrounds=backgrounds)
    opened = Opened(
        browser,
        report(model, tmp_path / "r.html", X, backgrounds=backgrounds),
        viewport={"width": width, "height": 900},
    )
    panels = opened.page.evaluate(
        """() => { const full = document.getElementById("scatter")._fullLayout;
                   return Object.keys(full).filter((key) => /^[xy]axis/.test(key)).map((key) =>
                     [key[0], full[key]._length, full[key].range, full[key]._vals.map((tick) => tick.x)]); }"""
    )
    for letter in "xy":
        (_, length, span, ticks), *others = [panel for panel in panels if panel[0] == letter]
        assert len(others) == m
        assert len(ticks) >= 2
        for _, its_length, its_span, its_ticks in others:
            assert its_length == pytest.approx(length, abs=1.0)  # pixels
            assert (its_span, its_ticks) == (span, ticks)
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    opened.context.close()


def test_controls_stand_on_one_line_at_1280(browser, example):
    opened = Opened(browser, example[3], viewport={"width": 1280, "height": 900})
    bottoms = opened.page.evaluate(
        "Array.from(document.querySelectorAll('#scores .controls.line > *'), (e) => e.getBoundingClientRect().bottom)"
    )
    assert len(bottoms) == 6
    assert max(bottoms) - min(bottoms) < 1
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 1280
    opened.context.close()


def test_colour_menu_and_legend_say_the_name_of_the_label(opened):
    assert opened.page.inner_text("#pick-colour option[value=label]") == LABEL[:39] + "…"
    assert opened.page.inner_text("#legend .of") == LABEL[:39] + "…"


def test_saved_picture_says_what_it_shows(opened):
    name, written, pixels = opened.save_picture()
    assert name == ("script-b-bold-b-amp_UCA_lambda-as-fitted_UC1-UC2_by-response-to-a-long-treatment-with-b-two.png")
    assert {NASTY, "UCA, λ as fitted", LABEL[:59] + "…", "treated", "Target", "control", "placebo"} <= set(written)
    assert sum(text.startswith("UC1 (") and text.endswith("% of target variance)") for text in written) == 1
    opened.slide("Home", 0)
    pca_name, pca_written, pca_pixels = opened.save_picture()
    assert "_UCA_lambda-0-PCA_UC1-UC2_" in pca_name
    assert "UCA, λ = 0 (PCA): not the fitted components" in pca_written
    assert pca_pixels.shape == pixels.shape
    assert np.mean(np.any(pca_pixels != pixels, axis=2)) > 0.01  # its points stand elsewhere
    opened.slide("End", 20)
    assert "UCA, λ = 10 \N{MULTIPLICATION SIGN} fitted λ: not the fitted components" in opened.save_picture()[1]


def test_saved_picture_has_the_groups_and_colours_of_the_page(opened, example):
    """The symbols of the legend have the exact colours; those of points shine through one another."""
    blue, orange = (0, 0x72, 0xB2), (0xD5, 0x5E, 0x00)
    has = lambda pixels, colour: bool(np.all(np.rint(255 * pixels[..., :3]) == colour, axis=2).any())  # noqa: E731
    pixels = opened.save_picture()[2]
    assert has(pixels, blue)
    assert has(pixels, orange)
    opened.page.locator("#legend button", has_text="treated").click()
    opened.page.check("#overlay")
    _, written, pixels = opened.save_picture()
    assert "not shown: treated" in written
    assert written.count("control") > 1  # in the legend too
    assert has(pixels, blue) != has(pixels, orange)
    opened.page.select_option("#pick-colour", "f0")
    name, written, _ = opened.save_picture()
    model, frame, _, _ = example
    strongest = frame.columns[np.abs(model.components_).max(axis=0).argmax()]
    assert strongest in written
    assert name.endswith(f"_by-{strongest}.png")
    assert "treated" not in written


def test_saved_picture_does_not_depend_on_the_width_of_the_page(browser, example):
    pictures = []
    for width in (390, 1280):
        opened = Opened(browser, example[3], viewport={"width": width, "height": 900})
        pictures.append(opened.save_picture())
        opened.context.close()
    assert pictures[0][:2] == pictures[1][:2]
    np.testing.assert_array_equal(pictures[0][2], pictures[1][2])


@pytest.mark.parametrize(
    "policy",
    [
        "script-src 'unsafe-inline'",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'",
    ],
)
def test_everything_is_saved_under_a_strict_content_policy(browser, example, policy):
    opened = Opened(browser, example[3], policy)
    name, written, pixels = opened.save_picture()
    assert name.endswith(".png")
    assert "UCA, λ as fitted" in written
    assert pixels.shape[1] == 2400
    with opened.page.expect_download() as download:
        opened.page.click("#loadings-csv")
    assert download.value.suggested_filename == "loadings.csv"
    # The empty icon, which keeps browsers from asking a server for one, is all that a policy without images stops.
    assert [text for text in opened.problems if "'data:,'" not in text] == []
    opened.context.close()


def test_held_out_variances_are_drawn_with_their_intervals(opened):
    page = opened.page
    held = page.evaluate("R.data.heldOut")
    drawn = page.evaluate(
        "document.getElementById('held-out').data.map((t) => [t.y, t.error_y.array, t.error_y.arrayminus])"
    )
    n_sets, unique = 3, held["unique"]
    assert 0 < unique < 4
    assert len(drawn) == 2 * n_sets  # unique, and not, for each dataset
    for g in range(n_sets):
        y, up, down = (np.concatenate(parts) for parts in zip(*drawn[2 * g : 2 * g + 2], strict=True))
        np.testing.assert_allclose(y, np.array(held["values"])[:, g])
        np.testing.assert_allclose(y + up, np.array(held["high"])[:, g])
        np.testing.assert_allclose(y - down, np.array(held["low"])[:, g])
    page.click("header .chip[href='#real']")
    assert page.evaluate("location.hash") == "#real"
    assert page.inner_text("header .chip[href='#real']").startswith(f"{unique} unique component")


def test_everything_is_reached_by_keyboard(opened):
    reached = set()
    for _ in range(70):
        opened.page.keyboard.press("Tab")
        reached.add(opened.page.evaluate("document.activeElement.id || document.activeElement.name || ''"))
    wanted = {"theme", "pick-x", "pick-y", "pick-colour", "mode", "overlay", "reset", "picture", "play", "contrast"}
    assert wanted | {"find", "pick-loading", "search", "loadings-csv"} <= reached


@pytest.mark.parametrize(
    ("name", "width", "scheme"), [("light", 1240, "light"), ("dark", 1240, "dark"), ("phone", 390, "light")]
)
def test_fits_the_screen_in_light_and_dark(browser, example, name, width, scheme, tmp_path):
    opened = Opened(browser, example[3], viewport={"width": width, "height": 860}, color_scheme=scheme)
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") == width  # nothing sticks out
    ink, ground = (page.evaluate(f"getComputedStyle(document.body).{which}") for which in ("color", "backgroundColor"))
    brightness = [sum(map(int, value[4:-1].split(","))) for value in (ink, ground)]
    assert (brightness[0] > brightness[1]) == (scheme == "dark")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).color") != ink
    page.click("#theme")
    page.wait_for_function("!R.scatter.quiet")
    folder = Path(os.environ.get("UCA_SCREENSHOTS", tmp_path))
    page.screenshot(path=folder / f"report_{name}.png", full_page=True)
    assert (folder / f"report_{name}.png").stat().st_size > 50_000
    assert opened.problems == []
    opened.context.close()


def test_a_hundred_thousand_rows_open(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 4)) * [4, 3, 1, 1]
    background = rng.normal(size=(500, 4)) * [4, 1, 1, 1]
    model = UCA(scale=False).fit(X, backgrounds=background)
    path = report(model, tmp_path / "r.html", X, backgrounds=background, labels=rng.normal(size=100_000))
    opened = Opened(browser, path)
    assert len(opened.points()) > 15_000
    assert "random sample" in opened.page.inner_text("#sampling")
    opened.slide("ArrowLeft", 9)
    assert [text for text in opened.problems if "GPU stall" not in text] == []  # WebGL in software says so
    opened.context.close()
