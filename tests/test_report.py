"""The report: what is in the file, what it refuses, and that nothing in it comes from elsewhere."""

from __future__ import annotations

import base64
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse

import uca
from uca import CPCA, UCA
from uca.contrast import joint_steps, turn
from uca.estimators.expected_words import about
from uca.fitted import form_for, problem_of_rows
from uca.inference import background_influence, bootstrap, row_leverage, uniqueness_test
from uca.report import report
from uca.report.contrast import FACTORS, OPTIMUM, contrast_path
from uca.report.scores import choose_rows

pd = pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")


def problem(seed=0, n=80, p=6, names=("control", "placebo")):
    rng = np.random.default_rng(seed)
    shared = np.where(np.arange(p) < 2 * p // 3, 2.0, 0.3)  # varies everywhere, and most: PCA finds it first
    unique = np.where(np.arange(p) < 2 * p // 3, 0.2, 1.5)
    target = rng.normal(size=(n, 1)) * shared + rng.normal(size=(n, 1)) * unique + rng.normal(size=(n, p)) + 5.0
    backgrounds = {
        name: rng.normal(size=(n - 10, 1)) * shared * rng.uniform(0.7, 1.3, size=p) + rng.normal(size=(n - 10, p))
        for name in names
    }
    return target, backgrounds


@pytest.fixture
def fitted():
    X, backgrounds = problem()
    return UCA().fit(X, backgrounds=backgrounds), X, backgrounds


class Elements(HTMLParser):
    """Every start tag with its attributes, and the text of scripts by id."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.shown, self._script = [], {}, [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._script = dict(attrs).get("id", f"{tag}{len(self.scripts)}")
            self.scripts[self._script] = ""

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._script = None

    def handle_data(self, data):
        if self._script is None:
            self.shown.append(data)
        else:
            self.scripts[self._script] += data


def opened(path):
    page = Elements(path.read_text(encoding="utf-8"))
    return page, json.loads(page.scripts["data"])


def decoded(packed, dtype):
    return np.frombuffer(base64.b64decode(packed), dtype=np.dtype(dtype).newbyteorder("<"))


def dequantised(packed, shape):
    steps = decoded(packed["q"], "u2").reshape(shape).astype(float)
    low, span = np.array(packed["low"]), np.array(packed["span"])
    return low[..., np.newaxis] + (steps - 1) * span[..., np.newaxis] / 65_534


def test_scores_are_those_of_transform_and_backgrounds_have_the_fitted_variance(fitted, tmp_path):
    model, X, backgrounds = fitted
    _, data = opened(report(model, tmp_path / "r.html", X, backgrounds=backgrounds))
    sizes = [part["n"] for part in data["datasets"]]
    scores = decoded(data["scores"], "f4").reshape(2, sum(sizes))
    np.testing.assert_allclose(scores[:, : len(X)].T, model.transform(X), rtol=1e-5, atol=1e-6)  # float32 in the file
    for j, part in enumerate(np.split(scores, np.cumsum(sizes)[:-1], axis=1)[1:]):
        np.testing.assert_allclose(part.var(axis=1, ddof=1), model.background_variance_[:, j], rtol=1e-5)


@pytest.mark.parametrize("scale", [True, "target", False])
@pytest.mark.parametrize("whiten", [True, False])
def test_steps_of_the_contrast_are_eigenvectors_from_pca_to_ten_times(scale, whiten, tmp_path):
    X, backgrounds = problem()
    model = UCA(scale=scale, whiten=whiten).fit(X, backgrounds=backgrounds)
    _, data = opened(report(model, tmp_path / "r.html", X, backgrounds=backgrounds))
    N = sum(part["n"] for part in data["datasets"])
    frames = dequantised(data["path"]["scores"], (21, 2, N))
    spread = [X.std(axis=0, ddof=1) if scale else np.ones(6)]
    spread += [b.std(axis=0, ddof=1) if scale is True else spread[0] for b in backgrounds.values()]
    z = [(rows - rows.mean(axis=0)) / d for rows, d in zip([X, *backgrounds.values()], spread, strict=True)]
    cov = [np.cov(rows.T) for rows in z]
    for step, factor in ((0, 0.0), (4, 0.4), (10, 1.0), (20, 10.0)):
        matrix = cov[0] - factor * sum(weight * b for weight, b in zip(model.lambdas_, cov[1:], strict=True))
        vectors = np.linalg.eigh(matrix)[1][:, :-3:-1]
        expected = np.vstack(z) @ vectors
        if whiten:
            expected /= expected[: len(X)].std(axis=0, ddof=1)
        size = np.ptp(frames[step], axis=1) / 6e4  # one step of 16 bits
        for c in range(2):
            sign = np.sign(frames[step, c] @ expected[:, c])
            np.testing.assert_allclose(frames[step, c], sign * expected[:, c], atol=2 * size[c] + 1e-6)
        first = np.einsum("i,sij,j->s", vectors[:, 0], np.array(cov), vectors[:, 0])
        np.testing.assert_allclose(data["path"]["target"][step][0], first[0], rtol=1e-5)
        np.testing.assert_allclose(data["path"]["backgrounds"][step][0], first[1:], rtol=1e-5)


def test_neighbouring_steps_do_not_flip():
    X, backgrounds = problem(seed=3)
    model = UCA().fit(X, backgrounds=backgrounds)
    path = contrast_path(model, (X, *backgrounds.values()), 2)
    overlaps = np.einsum("skp,skp->sk", path.components[:-1], path.components[1:])
    assert overlaps.min() > -1e-6
    np.testing.assert_array_equal(path.components[OPTIMUM], model.components_)
    assert FACTORS[OPTIMUM] == 1.0
    assert (FACTORS[0], FACTORS[-1]) == (0.0, 10.0)


def test_equal_eigenvalues_are_rotated_and_others_only_flipped():
    previous = np.eye(3)
    angle = 0.7
    turned = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, -1.0]])
    np.testing.assert_allclose(turn(turned, np.array([2.0, 2.0, 1.0]), previous), previous, atol=1e-12)
    np.testing.assert_allclose(turn(turned, np.array([2.0, 1.5, 1.0]), previous)[:2], turned[:2], atol=1e-12)


def test_sequential_components_have_a_path_of_their_own():
    X, backgrounds = problem()
    model = UCA(3, components="sequential").fit(X, backgrounds=backgrounds)
    path = contrast_path(model, (X, *backgrounds.values()), 3)
    z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    pca = np.linalg.eigh(np.cov(z.T))[1][:, :-4:-1].T
    np.testing.assert_allclose(np.abs(np.sum(path.components[0] * pca, axis=1)), 1.0, rtol=1e-6)
    near = path.components[OPTIMUM - 1]  # factor 0.9: near the fitted ones, and orthonormal as they are
    np.testing.assert_allclose(near @ near.T, np.eye(3), atol=1e-8)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "expected"),
    [(500, 50, "auto"), (500, 2_000, "auto"), (500, 20_000, "reduced"), (50_000, 5_000, "implicit")],
)
def test_many_features_get_no_square_matrix(n_rows, n_features, expected):
    assert form_for(n_rows, n_features) == expected


def test_reduced_and_implicit_paths_agree_with_covariances(monkeypatch):
    X, backgrounds = problem(n=40, p=30)
    model = UCA().fit(X, backgrounds=backgrounds)
    arrays = (X, *backgrounds.values())
    plain = contrast_path(model, arrays, 2)
    for name in ("reduced", "implicit"):
        monkeypatch.setattr("uca.fitted.form_for", lambda *_, name=name: name)
        other = contrast_path(model, arrays, 2)
        # Products alone give what a picture needs: residuals of 3e-4 and, over the gaps here, vectors of about 1e-2.
        tolerance = 1e-5 if name == "reduced" else 2e-2
        np.testing.assert_allclose(other.target, plain.target, rtol=tolerance)
        np.testing.assert_allclose(other.components, plain.components, atol=tolerance)


def test_loose_steps_of_a_larger_problem_find_the_same_directions(monkeypatch):
    rng = np.random.default_rng(0)
    scales = np.linspace(3, 1, 300)
    X, background = rng.normal(size=(900, 300)) * scales, rng.normal(size=(800, 300)) * scales
    A, B = np.cov(X.T), np.cov(background.T)
    model = UCA(scale=False).fit(X, backgrounds=background)
    assert model.lambdas_[0] > 0
    monkeypatch.setattr("uca.fitted.form_for", lambda *_: "implicit")
    steps = joint_steps(problem_of_rows(model, [X, background], 2), FACTORS, 2)
    for factor, (values, vectors) in zip(FACTORS, steps, strict=True):
        exact = np.linalg.eigvalsh(A - factor * model.lambdas_[0] * B)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-10)
        np.testing.assert_allclose(values, exact[:-3:-1], atol=1e-2 * model.certificate_.upper)


def test_other_rows_than_the_fitted_ones_have_no_slider(fitted, tmp_path):
    model, X, backgrounds = fitted
    page, data = opened(report(model, tmp_path / "r.html", X[:30], backgrounds=backgrounds))
    assert data["path"] is None
    assert "different rows were given here" in "".join(page.shown)


@pytest.mark.parametrize(
    ("backgrounds", "kept", "text"),
    [
        (True, False, "needs the rows of the backgrounds"),
        (False, False, "no contrast to vary: the components are those"),
    ],
)
def test_says_why_there_is_no_slider(backgrounds, kept, text, tmp_path):
    X, controls = problem()
    model = UCA().fit(X, backgrounds=controls if backgrounds else None)
    page, data = opened(report(model, tmp_path / "r.html", X))
    assert data["path"] is None
    assert text in "".join(page.shown)
    assert ("input", "contrast") not in [(tag, a.get("id")) for tag, a in page.tags]


def test_text_of_the_user_stays_text(tmp_path):
    nasty = '</script><b>&amp;"\u2028<img src=x onerror=alert(1)>'
    X, (background, _) = (lambda t, b: (t, list(b.values())))(*problem())
    names = [nasty, *(f"f{i}" for i in range(5))]
    model = UCA().fit(X, backgrounds={nasty: background})
    labels = [nasty, *["b"] * 79]
    path = report(
        model,
        tmp_path / "r.html",
        X,
        backgrounds={nasty: background},
        labels=labels,
        ids=labels,
        feature_names=names,
        title=nasty,
    )
    page, data = opened(path)
    assert "img" not in {tag for tag, _ in page.tags}
    assert "<b>" not in path.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0]
    assert data["labels"]["levels"] == [nasty, "b"] or data["labels"]["levels"] == ["b", nasty]
    assert data["datasets"][0]["ids"][0] == data["features"][0] == data["datasets"][1]["name"] == nasty
    assert nasty in "".join(page.shown)  # the title, shown as it was typed


def test_nothing_is_fetched(fitted, tmp_path):
    model, X, backgrounds = fitted
    page, _ = opened(report(model, tmp_path / "r.html", X, backgrounds=backgrounds))
    links = [value for _, a in page.tags for name, value in a.items() if name in ("src", "href", "srcset", "action")]
    assert [link for link in links if not link.startswith(("#", "data:"))] == []
    own = "".join(text for name, text in page.scripts.items() if name not in ("data", "plotly-gz"))
    assert not re.search(r"fetch\(|XMLHttpRequest|sendBeacon|WebSocket|@import|url\(", own)
    assert re.findall(r"https?://[^\"']+", own) == ["http://www.w3.org/2000/svg"]  # a name, not an address


def test_two_thousand_rows_stay_under_six_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    X, backgrounds = rng.normal(size=(2000, 50)), {"a": rng.normal(size=(2000, 50)), "b": rng.normal(size=(2000, 50))}
    model = UCA(n_components=5).fit(X, backgrounds=backgrounds)
    path = report(model, tmp_path / "r.html", X, backgrounds=backgrounds, labels=rng.integers(4, size=2000))
    assert path.stat().st_size < 6_000_000
    _, data = opened(path)
    assert [part["shown"] for part in data["datasets"]] == [2000, 2000, 2000]  # nothing was left out to get there


def test_a_hundred_thousand_rows_are_sampled_and_the_page_says_so(tmp_path):
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(100_000, 5)).astype(np.float32), rng.normal(size=(1000, 5))
    model = UCA().fit(X, backgrounds=background)
    path = report(model, tmp_path / "r.html", X, backgrounds=background)
    page, data = opened(path)
    shown = [part["shown"] for part in data["datasets"]]
    assert shown[1] == 1000
    assert 15_000 < shown[0] < 20_000
    assert "a random sample with a fixed seed" in "".join(page.shown)
    rows = decoded(data["datasets"][0]["rows"], "u4")
    scores = decoded(data["scores"], "f4").reshape(2, -1)[:, : shown[0]]
    np.testing.assert_allclose(scores.T, model.transform(X[rows]), atol=1e-4)
    assert path.stat().st_size < 8_000_000


@pytest.mark.parametrize(
    ("n_rows", "k", "expected"),
    [
        ([100, 50], 2, [100, 50]),
        ([100_000], 2, [19_047]),
        ([100_000, 100_000, 10], 2, [9_523, 9_514, 10]),
        ([10, 100_000], 2, [10, 19_037]),
    ],
)
def test_which_rows_are_drawn(n_rows, k, expected):
    assert [len(rows) for rows in choose_rows(n_rows, k, 21)] == expected


def test_same_input_gives_the_same_file(fitted, tmp_path, monkeypatch):
    model, X, backgrounds = fitted
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    first, second = (report(model, tmp_path / f"{i}.html", X, backgrounds=backgrounds).read_bytes() for i in range(2))
    assert first == second
    assert b"<dd>1970-01-02</dd>" in first
    third = report(model, tmp_path / "3.html", X, backgrounds=backgrounds, made_on="on a Tuesday").read_bytes()
    assert third == first.replace(b"<dd>1970-01-02</dd>", b"<dd>on a Tuesday</dd>")


def test_tables_sparse_rows_and_lists_give_the_same_drawing(fitted, tmp_path):
    model, X, backgrounds = fitted
    _, plain = opened(report(model, tmp_path / "0.html", X, backgrounds=backgrounds))
    for i, kind in enumerate((pd.DataFrame, sparse.csr_array, sparse.csc_matrix, np.ndarray.tolist)):
        given = [kind(rows) for rows in backgrounds.values()]  # a list is matched by position
        _, other = opened(report(model, tmp_path / f"{i}.html", kind(X), backgrounds=given))
        np.testing.assert_allclose(decoded(other["scores"], "f4"), decoded(plain["scores"], "f4"), rtol=1e-5, atol=1e-6)
        assert [part["name"] for part in other["datasets"]] == ["target", "control", "placebo"]
        assert other["path"] is not None


@pytest.mark.parametrize("kind", ["array", "sparse chunks", "frame"])
def test_dask_gives_the_same_page_as_memory(kind, tmp_path):
    da = pytest.importorskip("dask.array", reason="pip install 'unique-component-analysis[dask]'")
    dd = pytest.importorskip("dask.dataframe", reason="pip install 'unique-component-analysis[dask]'")
    X, backgrounds = problem()
    tables = {"target": pd.DataFrame(X, columns=list("abcdef"))} | {
        name: pd.DataFrame(rows, columns=list("abcdef")) for name, rows in backgrounds.items()
    }
    lazily = {
        "array": lambda table: da.from_array(table.to_numpy(), chunks=(17, 4)),
        "sparse chunks": lambda table: da.from_array(table.to_numpy(), chunks=(17, 6)).map_blocks(sparse.csr_array),
        "frame": lambda table: dd.from_pandas(table, npartitions=3),
    }[kind]
    target, *others = (lazily(table) for table in tables.values())
    labels = pd.Series(["x", "y"] * 40, name="diet")
    model = UCA().fit(tables.pop("target"), backgrounds=tables)
    page, lazy = opened(
        report(model, tmp_path / "1.html", target, backgrounds=others, labels=dd.from_pandas(labels, npartitions=2))
    )
    _, plain = opened(report(model, tmp_path / "0.html", X, backgrounds=backgrounds, labels=labels))
    assert lazy["path"] is not None
    # float32 in the file; sums over chunks and over whole columns differ in the last bits.
    np.testing.assert_allclose(decoded(lazy["scores"], "f4"), decoded(plain["scores"], "f4"), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(lazy["path"]["target"], plain["path"]["target"], rtol=1e-6)
    assert lazy["labels"] == plain["labels"]
    assert lazy["datasets"] == plain["datasets"]
    assert "No component depends on only a few rows" in "".join(page.shown)


def test_of_a_large_dask_array_only_drawn_rows_come_into_memory(tmp_path, monkeypatch):
    da = pytest.importorskip("dask.array", reason="pip install 'unique-component-analysis[dask]'")
    sizes = []
    computed = da.Array.compute

    def compute(self, **options):
        out = computed(self, **options)
        sizes.append(out.size)
        return out

    X = da.random.default_rng(0).normal(size=(60_000, 30), chunks=(10_000, 30))
    model = UCA().fit(X)
    monkeypatch.setattr(da.Array, "compute", compute)
    page, data = opened(report(model, tmp_path / "r.html", X))
    shown, rows = data["datasets"][0]["shown"], decoded(data["datasets"][0]["rows"], "u4")
    assert max(sizes) == 30 * shown < X.size / 2
    scores = decoded(data["scores"], "f4").reshape(2, -1)
    np.testing.assert_allclose(scores.T, computed(model.transform(X))[rows], atol=1e-4)  # float32
    assert "a random sample with a fixed seed" in "".join(page.shown)


def test_missing_values_in_dask_chunks_are_refused(fitted, tmp_path):
    da = pytest.importorskip("dask.array", reason="pip install 'unique-component-analysis[dask]'")
    model, X, backgrounds = fitted
    X[41, 2] = np.nan
    with pytest.raises(ValueError, match="target X contains NaN or infinity in 1 row, the first is row 41"):
        report(model, tmp_path / "r.html", da.from_array(X, chunks=20))
    with pytest.raises(ValueError, match="target X contains 1 NaN, the first at row 41, column 2"):
        report(model, tmp_path / "r.html", da.from_array(X, chunks=20), backgrounds=backgrounds)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("labels", "name", "expected"),
    [
        (pd.Series(["x", "y"] * 40, name="diet"), None, "diet"),
        (pd.Series(["x", "y"] * 40, name="diet"), "diet of the mother", "diet of the mother"),
        (["x", "y"] * 40, "diet", "diet"),
        (np.arange(80.0), "dose", "dose"),
        (["x", "y"] * 40, None, "label"),
    ],
)
def test_labels_have_a_name(fitted, tmp_path, labels, name, expected):
    model, X, _ = fitted
    _, data = opened(report(model, tmp_path / "r.html", X, labels=labels, label_name=name))
    assert data["labels"]["name"] == expected


@pytest.mark.parametrize(
    ("model", "backgrounds", "method", "state"),
    [
        (UCA(), True, "UCA", "λ as fitted"),
        (UCA(), False, "PCA", "no background"),
        (UCA(bound=100.0), True, "UCA", "λ = 0 (PCA)"),  # a bound that PCA keeps
        (uca.SparseUCA(n_nonzero=3), True, "SparseUCA", "as fitted"),
    ],
)
def test_method_and_state_are_told_where_there_is_no_slider(model, backgrounds, method, state, tmp_path):
    X, controls = problem()
    model.fit(X, backgrounds=controls if backgrounds else None)
    _, data = opened(report(model, tmp_path / "r.html", X, title="Two diets"))
    assert data["path"] is None
    assert (data["title"], data["method"], data["state"]) == ("Two diets", method, state)


def test_names_come_from_the_table_and_columns_are_matched(tmp_path):
    X, backgrounds = problem()
    frame = pd.DataFrame(X, columns=list("abcdef"), index=[f"mouse {i}" for i in range(len(X))])
    model = UCA().fit(frame, backgrounds=[pd.DataFrame(b, columns=list("abcdef")) for b in backgrounds.values()])
    path = model.report(tmp_path / "r.html", frame[list("fedcba")], labels=pd.Series(["x", None] * 40, name="diet"))
    _, data = opened(path)
    assert data["features"] == list("abcdef")
    assert data["datasets"][0]["ids"][3] == "mouse 3"
    assert data["labels"]["name"] == "diet"
    assert data["labels"]["levels"] == ["x", "(missing)"]
    np.testing.assert_allclose(decoded(data["loadings"], "f4").reshape(2, 6), model.components_, rtol=1e-6)


def test_more_labels_than_sixteen_bits_tell_apart(tmp_path):
    rng = np.random.default_rng(0)
    n = 70_000
    X, background = rng.normal(size=(n, 3)), rng.normal(size=(100, 3))
    labels = np.array([f"cell {i:05d}" for i in rng.permutation(n)])
    model = UCA(1).fit(X, backgrounds=background)
    _, data = opened(report(model, tmp_path / "r.html", X, backgrounds=background, labels=labels))
    rows, codes = decoded(data["datasets"][0]["rows"], "u4"), decoded(data["labels"]["codes"], "u2")
    levels = data["labels"]["levels"]
    assert [levels[code] for code in codes] == labels[rows].tolist()
    assert len(levels) == len(rows)  # the file holds only those that are drawn, and the legend counts all
    assert data["labels"]["total"] == n


def test_certificate_and_how_it_was_made_are_told(fitted, tmp_path):
    model, X, backgrounds = fitted
    page, _ = opened(report(model, tmp_path / "r.html", X, backgrounds=backgrounds, seconds=1.25, title="Two diets"))
    text = " ".join("".join(page.shown).split())
    for part in (
        "Two diets",
        "proven optimal",
        model.certificate_.message,
        "and the first component reaches it",
        f"uca {uca.__version__}",
        f"numpy {np.__version__}",
        "target: 80 x 6; control: 70 x 6; placebo: 70 x 6",
        "n_components=2",
        "1.25 s",
        "arXiv:2104.08157",
    ):
        assert part in text, part


def test_a_proof_does_not_stand_alone_where_new_rows_will_exceed_the_bound(tmp_path):
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(3, 400))
    X, control = (rng.normal(size=(n, 3)) @ loadings + rng.normal(size=(n, 400)) for n in (30, 15))
    with pytest.warns(uca.NewRowsWarning):
        model = UCA(1).fit(X, backgrounds={"control": control})
    expected = model.expected_background_variance_[0, 0]
    text = " ".join("".join(opened(report(model, tmp_path / "r.html", X))[0].shown).split())
    assert f"1.00 in these rows; about {about(expected)} expected in new ones" in text
    assert "proven optimal for these rows" in text
    assert f"new rows: about {about(expected)} times the bound" in text
    assert "new rows are expected to exceed the bounds" in text
    assert "control, new rows" in text
    model.expected_background_variance_ = np.full((1, 1), np.inf)
    text = " ".join("".join(opened(report(model, tmp_path / "r.html", X))[0].shown).split())
    assert "1.00 in these rows; no usable prediction: the bound holds for these rows only" in text
    assert "new rows: no usable prediction" in text
    del model.expected_background_variance_  # a model of an older version
    text = " ".join("".join(opened(report(model, tmp_path / "r.html", X))[0].shown).split())
    assert "Along the same direction the variance is 1.00 in control (bound 1.00)." in text
    assert "control, new rows" not in text


def test_what_rests_on_an_iterative_method_is_not_called_proven(tmp_path):
    X, backgrounds = problem(n=400, p=300)  # too many features for the products to span all directions
    model = UCA(representation="implicit").fit(X, backgrounds=backgrounds)
    page, _ = opened(report(model, tmp_path / "r.html", X))
    text = " ".join("".join(page.shown).split())
    assert "though it is not proven (the note below says why)" in text
    assert "that of an iterative eigen-solver" in text
    assert "proven optimal" not in text


@pytest.mark.parametrize(("unit", "word"), [(1e100, "large"), (1e-100, "small")])
def test_scores_that_no_page_can_draw_are_refused(tmp_path, unit, word):
    rng = np.random.default_rng(0)
    X = unit * rng.normal(size=(20, 4))
    model = UCA(scale=False).fit(X)
    with pytest.raises(ValueError, match=f"too {word} for a page to draw: express the features in units nearer to 1"):
        report(model, tmp_path / "r.html", X)
    assert not list(tmp_path.iterdir())
    report(UCA().fit(X), tmp_path / "r.html", X)  # standardised, they can


@pytest.mark.parametrize("proven", [True, False])
def test_proven_is_a_field_whatever_the_message_says(tmp_path, proven):
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(20, 4)), rng.normal(size=(15, 4))
    model = UCA().fit(X, backgrounds=background)
    model.certificate_ = replace(model.certificate_, proven=proven, message="Words that nobody parses.")
    text = report(model, tmp_path / "r.html", X, backgrounds=background).read_text(encoding="utf-8")
    assert ("proven optimal" in text) is proven
    assert ("this is proven" in text) is proven


def rows_of(variances):
    """Rows whose sample covariance is the diagonal matrix of ``variances``, exactly but for rounding."""
    p = len(variances)
    half = np.diag(np.sqrt((2 * p - 1) / 2 * np.asarray(variances, dtype=float)))
    return np.vstack([half, -half])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_unfinished_search_is_not_called_optimal(tmp_path):
    """Coordinate descent stops at the ridge of a piecewise linear dual, on every machine: see test_paper.py."""
    X, *backgrounds = (rows_of(v) for v in ([2, 2, 7, 4], [2, 3, 3, 0.0], [2, 0.0, 2, 4]))
    model = UCA(1, solver="coordinate", scale=False).fit(X, backgrounds=backgrounds)
    assert model.certificate_.gap > 0.2  # 6 is reached, the optimum is 13/3
    page, _ = opened(report(model, tmp_path / "r.html", X))
    text = "".join(page.shown)
    assert "not proven optimal" in text
    assert "The search ended before optimality was proven" in text


def test_images(tmp_path):
    X, backgrounds = problem()
    model = UCA().fit(X, backgrounds=backgrounds)
    page, data = opened(report(model, tmp_path / "r.html", X, image_shape=(2, 3)))
    assert data["image"] == [2, 3]
    assert data["features"][5] == "row 1, column 2"
    assert ("div", {"id": "image-grid"}) in page.tags


def test_fitted_on_matrices(tmp_path):
    X, backgrounds = problem()
    centred, controls = X - X.mean(axis=0), [b - b.mean(axis=0) for b in backgrounds.values()]
    model = UCA().fit_covariance(np.cov(X.T), backgrounds=[np.cov(b.T) for b in controls])
    _, data = opened(report(model, tmp_path / "r.html", centred, backgrounds=controls))
    assert data["path"] is not None


# --- is it real? ----------------------------------------------------------------------------------------------------


def words_of(page):
    return " ".join("".join(page.shown).split())


def evidence(X, backgrounds):
    return {
        "test": uniqueness_test(X, backgrounds, n_components=3, n_splits=20, alpha=0.3),
        "stability": bootstrap(X, backgrounds, n_resamples=20),
        "influence": background_influence(X, backgrounds),
    }


def test_evidence_is_told_with_its_numbers(fitted, tmp_path):
    model, X, backgrounds = fitted
    found = evidence(X, backgrounds)
    path = report(
        model, tmp_path / "r.html", X, backgrounds=backgrounds, feature_names=[f"gene {i}" for i in range(6)], **found
    )
    page, data = opened(path)
    text, test = words_of(page), found["test"]
    assert test.n_unique_ == 1
    assert ("a", {"class": "chip good", "href": "#real"}) in page.tags
    for part in (
        "1 unique component",
        test.sentence,
        found["influence"].sentence,
        f"{test.variances[1, 2]:.3g} [{test.low[1, 2]:.3g}, {test.high[1, 2]:.3g}]",
        f"{test.average_pvalues[2]:.3f}",
        f"{found['stability'].subspace_stability_[1]:.2f}",
        ", ".join(f"gene {name[1:]}" for name in found["stability"].reliable_features(0)),
        f"{found['stability'].expected_variances[0, 1]:.3g} [{found['stability'].expected_low[0, 1]:.3g}, ",
        f"{found['influence'].values[1]:.4g}",
        "No component depends on only a few rows",
    ):
        assert part in text, part
    np.testing.assert_allclose(data["heldOut"]["values"], test.variances, rtol=1e-3)
    np.testing.assert_allclose(data["heldOut"]["high"], test.high, rtol=1e-3)
    assert data["heldOut"]["unique"] == 1
    assert len(json.dumps(data["heldOut"])) < 1000


def test_without_a_test_the_page_says_how_to_find_out(fitted, tmp_path):
    model, X, backgrounds = fitted
    page, data = opened(report(model, tmp_path / "r.html", X, backgrounds=backgrounds))
    text = words_of(page)
    assert data["heldOut"] is None
    assert "not tested" in text
    assert "Nothing on this page shows whether the components are real" in text
    assert "uca.inference.uniqueness_test" in text
    page, _ = opened(report(UCA().fit(X), tmp_path / "r.html", X))
    assert "nothing that a component could be unique against" in words_of(page)


def test_noise_has_no_unique_component(tmp_path):
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(60, 4)), {"control": rng.normal(size=(60, 4))}
    test = uniqueness_test(X, background, n_components=2, n_splits=3)
    page, _ = opened(report(UCA().fit(X, backgrounds=background), tmp_path / "r.html", X, test=test))
    assert ("a", {"class": "chip warn", "href": "#real"}) in page.tags
    assert "no component shown to be unique" in words_of(page)


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_a_component_that_depends_on_few_rows_is_reported_with_their_names(ids, scale, tmp_path):
    X, backgrounds = problem()
    X[[7, 30], -2:] += [[60, 50], [-60, -50]]
    frame = pd.DataFrame(X, index=[f"mouse {i}" for i in range(80)]) if ids else X
    model = UCA(scale=scale).fit(X, backgrounds=backgrounds)
    found = row_leverage(model, X)
    assert found.few[0]
    page, _ = opened(report(model, tmp_path / "r.html", frame, backgrounds=backgrounds))
    names = ", ".join(f"mouse {i}" if ids else str(i) for i in found.outlying(0))
    share = f"{100 * found.leverage[found.outlying(0), 0].sum():.0f}"
    text = words_of(page)
    assert found.n_half[0] == 2
    assert f"UC1 depends on only a few rows: 2 of 80 rows ({names}) have {share}" in text


@pytest.mark.parametrize("name", ["test", "stability", "influence"])
def test_evidence_about_something_else_is_refused(name, fitted, tmp_path):
    model, X, backgrounds = fitted
    with pytest.raises(TypeError, match=f"{name} must be a .*, as uca.inference.* returns it; got dict"):
        report(model, tmp_path / "r.html", X, **{name: {}})
    other = evidence(X, {"control": backgrounds["control"]})[name]
    with pytest.raises(ValueError, match=f"{name} is about the backgrounds .'control'., but the model was fitted with"):
        report(model, tmp_path / "r.html", X, **{name: other})
    if name != "test":
        fewer = evidence(X[:, :5], {key: rows[:, :5] for key, rows in backgrounds.items()})[name]
        with pytest.raises(ValueError, match=f"{name} is about 5 features, but the model was fitted on 6"):
            report(model, tmp_path / "r.html", X, **{name: fewer})
    assert list(tmp_path.iterdir()) == []


def test_a_test_in_another_order_is_refused(fitted, tmp_path):
    model, X, backgrounds = fitted
    test = uniqueness_test(X, backgrounds, n_components=2, n_splits=1, order="contrast")
    with pytest.raises(ValueError, match="test counts components by contrast, .* make it with order='model'"):
        report(model, tmp_path / "r.html", X, test=test)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"labels": ["a"] * 3}, ValueError, "labels has 3 entries, but there are 80 rows: give one for each row"),
        ({"labels": np.zeros((80, 2))}, ValueError, "labels must be one-dimensional"),
        ({"ids": ["a"] * 81}, ValueError, "ids has 81 entries"),
        ({"feature_names": ["a"]}, ValueError, "feature_names has 1 entries, but there are 6 features"),
        ({"image_shape": (2, 2)}, ValueError, "image_shape 2 x 2 has 4 pixels, but there are 6 features"),
        ({"image_shape": 6}, ValueError, r"image_shape must be \(height, width\)"),
        ({"backgrounds": {"other": np.zeros((9, 6))}}, ValueError, "backgrounds must be those of the fit"),
        ({"seconds": "long"}, TypeError, "seconds must be a number"),
        ({"X": np.zeros((4, 5))}, ValueError, "target X has 5 features"),
        ({"X": np.full((4, 6), np.nan)}, ValueError, "target X contains 24 NaN"),
        ({"X": np.ma.masked_less(np.zeros((4, 6)), 1)}, ValueError, "target X contains 24 NaN .masked values count as"),
        ({"X": np.zeros((4, 6), dtype="timedelta64[s]")}, ValueError, "target X holds dates or times"),
        ({"path": "."}, IsADirectoryError, "give a file name"),
        ({"path": "nowhere/at/all.html"}, FileNotFoundError, "make it first"),
    ],
)
def test_refuses_with_advice(fitted, options, error, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, X, _ = fitted
    given = {"path": "r.html", "X": X, **options}
    with pytest.raises(error, match=text):
        report(model, given.pop("path"), given.pop("X"), **given)
    assert list(tmp_path.iterdir()) == []


def test_refuses_other_models(fitted, tmp_path):
    _, X, _ = fitted
    with pytest.raises(TypeError, match="the model of a report must be a fitted UCA or SparseUCA; got CPCA"):
        report(CPCA(alpha=1.0).fit(X), tmp_path / "r.html", X)
    with pytest.raises(ValueError, match="not fitted"):
        UCA().report(tmp_path / "r.html", X)


def test_missing_extra_says_what_to_install(fitted, tmp_path, monkeypatch):
    model, X, _ = fitted
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'unique-component-analysis\[report\]'"):
        report(model, tmp_path / "r.html", X)


def test_a_failed_report_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    model, X, _ = fitted
    old = tmp_path / "r.html"
    old.write_text("old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        report(model, old, X)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("r.html", "old")]
