"""What a notebook shows: results as tables, a report in a frame, the contrast slider."""

from __future__ import annotations

import os
import pickle
import re
from html.parser import HTMLParser
from pathlib import Path

import browsers
import notebooks
import numpy as np
import pytest
from needs import Optional
from test_report import problem

import uca
from uca import CPCA, UCA, SparseUCA
from uca._shown import LONGEST_CELL, Summary, Text, as_text, escaped, folded, table, text
from uca.inference import (
    Restriction,
    background_influence,
    bootstrap,
    choose_restriction,
    estimate_n_components,
    expected_background_variance,
    row_leverage,
    uniqueness_test,
)
from uca.inference.outcome import p_text
from uca.plotting import explore
from uca.report import frame
from uca.report.frame import ReportPath

NASTY = "<script>alert('x')</script> & $y$"
EMPTY = {"meta", "link", "br", "input"}  # elements without an end
SAFE = {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre"}
pd = Optional("pandas")


class Page(HTMLParser):
    """Elements, texts and tables of a page; complains of elements that are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes, self.tables = [], [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes.append(dict(attributes))
        if tag not in EMPTY:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((data, tuple(self.open)))
        if self.open and self.open[-1] in ("th", "td"):
            self.tables[-1][-1][-1] += data

    def place(self, words):
        """Number of the first text with some words, and the elements around it."""
        return next((i, around) for i, (data, around) in enumerate(self.texts) if words in data)


def page_of(result) -> Page:
    return Page(result._repr_html_())


@pytest.fixture(scope="module")
def study():
    """A model whose features and backgrounds have names that must stay text."""
    X, backgrounds = problem(n=60, p=8)
    names = [f"{NASTY} {i}" for i in range(8)]
    named = {f"{NASTY} {name}": rows for name, rows in backgrounds.items()}
    frame = pd.DataFrame(X, columns=names)
    tables = {name: pd.DataFrame(rows, columns=names) for name, rows in named.items()}
    return UCA().fit(frame, backgrounds=tables), frame, tables


@pytest.fixture(scope="module")
def results(study):
    model, X, backgrounds = study
    seed = {"random_state": 0}
    restriction = choose_restriction(X, backgrounds, **seed)
    shifted = {name: rows - 9 for name, rows in backgrounds.items()}
    return {
        "Summary": model.summary(),
        "Summary, held back": UCA(bound_on=restriction).fit(X, backgrounds=backgrounds).summary(),
        "Certificate": model.certificate_,
        "SparseCertificate": SparseUCA(1, n_nonzero=2).fit(X, backgrounds=backgrounds).certificate_,
        "DualResult": uca.solve_dual(np.diag([3.0, 2, 1]), [np.diag([2.0, 1, 0])]),
        "ContrastiveResult": CPCA(alpha=1.5).fit(X, backgrounds=next(iter(backgrounds.values()))).results_[0],
        "MeanDifferences": UCA().fit(X, backgrounds=shifted).mean_differences_,
        "MeanDifferences, none": model.mean_differences_,
        "Drift": uca.drift(model, X, backgrounds=backgrounds),
        "UniquenessTest": uniqueness_test(X, backgrounds, n_components=3, n_splits=3, **seed),
        "NumberOfComponents": estimate_n_components(
            X, backgrounds, max_components=3, n_splits=3, n_permutations=5, **seed
        ),
        "Bootstrap": bootstrap(X, backgrounds, n_resamples=20, **seed),
        "BackgroundInfluence": background_influence(X, backgrounds, n_resamples=0),
        "ExpectedVariance": expected_background_variance(X, backgrounds, n_folds=3, **seed),
        "RowLeverage": row_leverage(model, X),
        "SparsityPath": SparseUCA(1).path([2, 3], X, backgrounds=backgrounds, n_folds=2),
        "Restriction": restriction,
        "Restriction, given": Restriction(3, 0.5),
        "TradeOff": restriction.trade_off,
    }


NAMES = ["Summary", "Summary, held back", "Certificate", "SparseCertificate", "DualResult", "ContrastiveResult"]
NAMES += ["MeanDifferences", "MeanDifferences, none", "Drift", "UniquenessTest", "NumberOfComponents", "Bootstrap"]
NAMES += ["BackgroundInfluence", "ExpectedVariance", "RowLeverage", "SparsityPath", "Restriction", "Restriction, given"]
NAMES += ["TradeOff"]


@pytest.mark.parametrize("name", NAMES)
def test_html_is_sound_and_names_stay_text(results, name):
    html = results[name]._repr_html_()
    page = Page(html)
    assert set(page.tags) <= SAFE
    assert "alert(" not in "".join(page.tags)
    assert {key for attributes in page.attributes for key in attributes} <= {"class", "style", "scope"}
    styles = " ".join(attributes.get("style", "") for attributes in page.attributes)
    assert not re.search(
        r"background|(?<!current)color\s*:|#|rgb", styles
    )  # light and dark are the notebook's business
    assert "mathjax_ignore" in page.attributes[0]["class"]


@pytest.mark.parametrize("name", NAMES)
def test_html_says_what_the_text_says(results, name):
    """Every cell of a table and every word of the text is there."""
    words = lambda whole: {word for word in whole.split() if not set(word) <= {"-"}}  # noqa: E731
    html = words(" ".join(data for data, _ in page_of(results[name]).texts))
    told = words(str(results[name]))
    assert told - html <= {f"{component}:" for component in ("UC1", "UC2")}  # there in bold, without the colon


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("Summary")])
def test_repr_is_one_line_without_arrays(results, name):
    shown = repr(results[name])
    assert "\n" not in shown
    assert len(shown) <= 400  # with names of 32 characters
    assert "array(" not in shown
    assert name.split(",")[0] in shown


def test_summary_is_text_and_shows_features_first_then_the_certificate_and_details_last(study, results):
    model, X, _ = study
    summary = results["Summary"]
    assert isinstance(summary, str)
    assert repr(summary) == str(summary)
    page = page_of(summary)
    strongest = X.columns[np.abs(model.components_[0] * model.patterns_[0]).argmax()]
    places = [page.place(words) for words in (f"{strongest} ", "Certificate: proven optimal", "eigenvalue", "Details")]
    assert [i for i, _ in places] == sorted(i for i, _ in places)
    assert all("details" not in around for _, around in places[:3])
    assert "details" in page.place("lambda")[1]
    assert "details" not in page.place("uca.inference.uniqueness_test(X, backgrounds)")[1]


def test_cautions_are_not_folded_away():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(3, 600))
    X, few = (rng.normal(size=(n, 3)) @ shared + rng.normal(size=(n, 600)) for n in (30, 20))
    with pytest.warns(uca.NewRowsWarning):
        page = page_of(UCA().fit(X + 90, backgrounds={"few": few}).summary())
    for words in ("Means differ by 1 SD or more", "expected in new ones"):
        _, around = page.place(words)
        assert around[-1] == "p"
        assert "details" not in around


def test_tables_have_the_numbers_of_the_result(study, results):
    model, _, backgrounds = study
    test = results["UniquenessTest"]
    header, *rows = page_of(test).tables[0]
    assert header[1:4] == ["target", *backgrounds]
    for i, row in enumerate(rows):
        assert row[0] == f"UC{i + 1}"
        assert row[1].startswith(f"{test.variances[i, 0]:.3g} [{test.low[i, 0]:.3g},")
        assert row[4:6] == [p_text(p) for p in test.background_pvalues[i]]
    _, *rows = page_of(results["Summary"]).tables[0]
    assert [float(row[2]) for row in rows] == pytest.approx(model.explained_variance_, rel=1e-4)  # five digits
    values = dict(page_of(model.certificate_).tables[0][1:])
    assert float(values["upper"]) == pytest.approx(model.certificate_.upper, rel=1e-7)
    assert values["status"] == "optimal"
    assert values["proven"] == str(model.certificate_.proven)


def test_finding_of_the_test_stands_before_the_table(results):
    page, test = page_of(results["UniquenessTest"]), results["UniquenessTest"]
    assert page.place("on rows held out of the fit (level")[0] < page.place("component")[0]
    assert test.sentence in str(test)
    for caution in test.cautions:
        _, around = page.place(caution)
        assert around == ("div", "p")


def test_parts_as_text_by_hand():
    parts = [
        text("Title", place="top"),
        table(["a", "b"], [["x", "1"], ["long", ""]]),
        text("", "one two", kind="note", apart=False),
        text(),
        *folded([text("w " * 60, wrapped=True)]),
    ]
    lines = [
        "Title",
        "",
        "a     b",
        "-------",
        "x     1",
        "long",
        "one two",
        "",
        ("w " * 50).strip(),
        ("w " * 10).strip(),
    ]
    assert as_text(parts).splitlines() == lines
    page = Page(Summary.of(parts)._repr_html_())
    assert page.tables == [[["a", "b"], ["x", "1"], ["long", ""]]]
    assert page.tags.count("details") == 1
    assert "details" in page.place("w w")[1]


def test_text_of_any_characters_can_be_sent():
    assert escaped("a\ud800<\"'&") == "a?&lt;&quot;&#x27;&amp;"
    Summary.of([Text(paragraphs=("\ud800",))])._repr_html_().encode()
    assert Page(Summary(f"plain {NASTY}")._repr_html_()).texts == [(f"plain {NASTY}", ("pre",))]
    long = Page(Summary.of([table(["a", "b"], [["x" * (LONGEST_CELL + 1), "1"]])])._repr_html_())
    assert ["nowrap" in a.get("style", "") for a in long.attributes[-2:]] == [False, True]


def test_summary_can_be_copied_and_stored(results):
    again = pickle.loads(pickle.dumps(results["Summary"]))
    assert again == results["Summary"]
    assert again._repr_html_() == results["Summary"]._repr_html_()


def test_estimators_keep_the_html_of_scikit_learn(study):
    model, _, _ = study
    assert "sk-top-container" in model._repr_html_()
    assert "Restriction(n_leading=3, factor=0.5)" in UCA(bound_on=Restriction(3, 0.5))._repr_html_()


# --- the report as a path -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(study, tmp_path_factory):
    model, X, backgrounds = study
    pytest.importorskip("jinja2", reason="pip install 'unique-component-analysis[report]'")
    return model.report(tmp_path_factory.mktemp("page") / "my report.html", X, backgrounds=backgrounds)


def test_report_is_a_path_in_every_way(written):
    plain = Path(str(written))
    assert isinstance(written, Path)
    assert (written, hash(written)) == (plain, hash(plain))
    assert (written.name, written.suffix, os.fspath(written)) == ("my report.html", ".html", str(plain))
    assert written.stat().st_size == len(plain.read_bytes())
    assert pickle.loads(pickle.dumps(written)) == plain
    with open(written, encoding="utf-8") as stream:
        assert stream.readline() == "<!DOCTYPE html>\n"
    assert repr(written) == f"ReportPath({plain.as_posix()!r})"
    assert written.parent / "my report.html" == plain


def test_report_shows_the_page_itself_in_a_sandbox(written, monkeypatch):
    monkeypatch.chdir(written.parent)
    page = page_of(written)
    (attributes,) = [a for tag, a in zip(page.tags, page.attributes, strict=True) if tag == "iframe"]
    assert attributes["srcdoc"] == written.read_text(encoding="utf-8")
    assert attributes["sandbox"].split() == ["allow-scripts", "allow-downloads"]  # the notebook is out of reach
    (link,) = [a["href"] for tag, a in zip(page.tags, page.attributes, strict=True) if tag == "a"]
    assert link == "my%20report.html"


def test_path_of_no_report_shows_nothing(written, tmp_path, monkeypatch):
    other = ReportPath(tmp_path / "other.html")
    assert other._repr_html_() is None
    other.write_text("<!DOCTYPE html><p>another page")
    assert other._repr_html_() is None
    other.write_bytes(b"\xff\xfe")
    assert other._repr_html_() is None
    assert ReportPath(tmp_path)._repr_html_() is None
    monkeypatch.setattr(frame, "MOST_INLINE", 1000)
    page = page_of(written)
    assert page.tags == ["p"]  # its folder is not below that of the notebook: a name, no link
    assert page.texts[0][0].startswith("The report has 2 MB, too large to show in a notebook. Open the file: ")


# --- the slider -----------------------------------------------------------------------------------------------------------


def test_slider_is_one_page_that_can_be_saved(study, tmp_path):
    model, X, backgrounds = study
    found = explore(model, X, backgrounds=backgrounds, title=NASTY)
    assert repr(found) == f"Exploration(title={NASTY!r})"
    path = found.save(tmp_path / "slider.html")
    assert path.read_text(encoding="utf-8") == found.html
    (attributes,) = [a for a in page_of(found).attributes if "srcdoc" in a]
    assert attributes["srcdoc"] == found.html
    inside = re.sub(r"<script.*?</script>|<style.*?</style>", "", found.html, flags=re.DOTALL)
    _, around = Page(inside.replace("<!DOCTYPE html>", "")).place(NASTY)
    assert around == ("html", "head", "title")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        found.save(tmp_path / "none" / "slider.html")


def test_slider_says_why_there_is_none(study):
    model, X, backgrounds = study
    with pytest.raises(ValueError, match="needs the rows of the backgrounds: pass them as backgrounds="):
        explore(model, X, backgrounds=None)
    with pytest.raises(ValueError, match="needs the rows that the model was fitted on"):
        explore(model, X.iloc[:30], backgrounds=backgrounds)
    with pytest.raises(ValueError, match="chosen by search: there is no contrast to vary"):
        explore(SparseUCA(1).fit(X, backgrounds=backgrounds), X, backgrounds=backgrounds)
    with pytest.raises(TypeError, match="the model of a contrast slider"):
        explore(CPCA(), X, backgrounds=backgrounds)


# --- a notebook, run and exported -----------------------------------------------------------------------------------------

PREPARE = """
import warnings
import numpy as np, pandas as pd, uca
from uca import UCA, SparseUCA
from uca.inference import *
from test_report import problem
warnings.simplefilter("ignore")
X, backgrounds = problem(n=60, p=8)
X = pd.DataFrame(X, columns=[f"gene{i}" for i in range(8)], index=[f"cell {i}" for i in range(60)])
model = UCA().fit(X, backgrounds=backgrounds)
np.savez("scores.npz", fitted=model.transform(X), X=X.to_numpy())
labels = pd.Series(np.where(X["gene7"] > 5, "high", "low"), name="marker")
model
"""
CELLS = [
    PREPARE,
    "model.summary()",
    "model.certificate_",
    "uniqueness_test(X, backgrounds, n_components=3, n_splits=3, random_state=0)",
    "bootstrap(X, backgrounds, n_resamples=20, random_state=0)",
    "background_influence(X, backgrounds, n_resamples=0)",
    "estimate_n_components(X, backgrounds, max_components=3, n_splits=3, n_permutations=5, random_state=0)",
    "expected_background_variance(X, backgrounds, n_folds=3)",
    "restriction = choose_restriction(X, backgrounds, random_state=0)\nrestriction",
    "restriction.trade_off",
    "row_leverage(model, X)",
    "SparseUCA(1).path([2, 3], X, backgrounds=backgrounds, n_folds=2)",
    "SparseUCA(1, n_nonzero=2).fit(X, backgrounds=backgrounds).certificate_",
    "uca.drift(model, X, backgrounds=backgrounds)",
    "model.mean_differences_",
    "uca.plotting.explore(model, X, backgrounds=backgrounds, labels=labels)",
    'model.report("report.html", X, backgrounds=backgrounds, labels=labels)',
]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A notebook with its outputs, and the folder that it ran in."""
    pytest.importorskip("jinja2", reason="pip install 'unique-component-analysis[report]'")
    folder = tmp_path_factory.mktemp("notebook")
    return notebooks.execute(CELLS, folder), folder


def test_notebook_shows_every_result(ran):
    notebook, folder = ran
    for cell in notebook.cells[1:]:
        data = notebooks.shown(cell)
        assert "text/html" in data, cell.source
        assert cell.source == "model.summary()" or "\n" not in data["text/plain"]
    assert "sk-top-container" in notebooks.shown(notebook.cells[0])["text/html"]
    assert notebooks.shown(notebook.cells[-1])["text/plain"] == "ReportPath('report.html')"
    assert (folder / "report.html").stat().st_size > 1e6


class Exported:
    """An exported notebook in a browser without a network; frames by their order."""

    def __init__(self, running, path, width, scheme="light"):
        self.context = running.new_context(viewport={"width": width, "height": 1400}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.problems, self.asked = [], []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append((request.frame.parent_frame, request.url)))
        self.page.route("http*://**", lambda route: route.abort())  # nbconvert's pages ask for fonts of formulas
        self.page.goto(path.as_uri(), wait_until="domcontentloaded")

    def frame(self, i):
        element = self.page.locator("iframe").nth(i).element_handle()
        element.scroll_into_view_if_needed()
        inside = element.content_frame()
        inside.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        return inside


@pytest.fixture(scope="module")
def browser():
    with browsers.started() as running:
        yield running


@pytest.fixture
def exported(ran, browser):
    notebook, folder = ran
    path = folder / "notebook.html"
    path.write_text(notebooks.to_html(notebook), encoding="utf-8")
    opened = []

    def open_at(width, scheme="light"):
        opened.append(Exported(browser, path, width, scheme))
        return opened[-1]

    yield open_at
    for each in opened:
        each.context.close()
        assert [text for text in each.problems if "MathJax" not in text and "require" not in text] == []
        assert [url for parent, url in each.asked if parent is not None and not url.startswith("about:")] == []


POINTS = """() => { const t = document.getElementById("scatter").data[R.scatter.curves.indexOf(0)];
                    return [Array.from(t.x), Array.from(t.y)]; }"""


@pytest.mark.parametrize("width", [1280, 390])
class TestExported:
    pytestmark = browsers.NEEDED

    def test_slider_moves_the_scores_to_pca(self, exported, ran, width):
        with np.load(ran[1] / "scores.npz") as file:
            kept = dict(file)
        inside = exported(width).frame(0)
        np.testing.assert_allclose(np.transpose(inside.evaluate(POINTS)), kept["fitted"], rtol=1e-5, atol=1e-6)
        inside.focus("#contrast")
        inside.press("#contrast", "Home")
        inside.wait_for_function("R.scatter.position === 0")
        z = (kept["X"] - kept["X"].mean(axis=0)) / kept["X"].std(axis=0, ddof=1)
        pca = z @ np.linalg.eigh(np.cov(z.T))[1][:, :-3:-1]
        for moved, score in zip(inside.evaluate(POINTS), pca.T, strict=True):
            assert abs(np.corrcoef(moved, score)[0, 1]) > 1 - 1e-8
        assert inside.inner_text("#contrast-text").startswith("λ = 0, plain PCA")

    def test_frame_is_as_tall_as_the_slider_page_and_as_wide_as_the_screen(self, exported, width):
        opened = exported(width)
        inside = opened.frame(0)
        inside.wait_for_function("document.documentElement.scrollHeight <= innerHeight")
        assert inside.evaluate("innerHeight - document.body.offsetHeight") < 30
        assert inside.evaluate("document.documentElement.scrollWidth === innerWidth")
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
        # The slider and the target's points are seen together on a small screen.
        assert (
            inside.evaluate(
                """document.getElementById("scatter").getBoundingClientRect().top + 250
               - document.querySelector(".contrast").getBoundingClientRect().top"""
            )
            < 700
        )

    def test_report_works_inside_the_frame(self, exported, width):
        opened = exported(width)
        inside = opened.frame(1)
        inside.click("nav a[href='#certificate']")
        inside.wait_for_function("Math.abs(document.getElementById('certificate').getBoundingClientRect().top) < 400")
        assert inside.evaluate("location.href") == "about:srcdoc"
        with opened.page.expect_download() as download:
            inside.click("#loadings-csv")
        assert download.value.suggested_filename == "loadings.csv"
        assert (
            inside.evaluate("(() => { try { return window.parent.document.title } catch { return null } })()") is None
        )

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_tables_fit_the_page(self, exported, width, scheme, tmp_path):
        opened = exported(width, scheme)
        wide = opened.page.evaluate(
            """Array.from(document.querySelectorAll("div.uca"), (box) => {
                 const page = box.closest(".jp-OutputArea-output").getBoundingClientRect();
                 return [box, ...box.children].some((e) => e.getBoundingClientRect().right > page.right + 1); })"""
        )
        assert len(wide) == len(CELLS) - 3
        assert not any(wide)
        for i in range(2):
            opened.frame(i)
        folder = Path(os.environ.get("UCA_SCREENSHOTS", tmp_path))
        opened.page.screenshot(path=folder / f"notebook_{scheme}_{width}.png", full_page=True)
        assert (folder / f"notebook_{scheme}_{width}.png").stat().st_size > 50_000
