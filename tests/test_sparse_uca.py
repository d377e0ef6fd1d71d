"""Sparse components as an estimator: counts, bounds, certificates, names, and the limits that are other methods."""

from __future__ import annotations

import gc
import itertools
import json
import pickle
import types
import weakref

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_reference import datasets

from uca import UCA, InfeasibleBoundsError, SparseUCA, plotting
from uca._subjects import folds
from uca.comparison import compare
from uca.estimators import sparse_component
from uca.inference import background_influence, bootstrap, estimate_n_components, row_leverage, uniqueness_test
from uca.inference.parameters import seed_of

pd = pytest.importorskip("pandas", reason="pip install pandas")


def draw(rng, n=200, p=12):
    shared, unique = 2 * rng.normal(size=(2, p)), np.zeros((1, p))
    unique[0, [1, 4, 7]] = 2.0
    target = rng.normal(size=(n, 2)) @ shared + rng.normal(size=(n, 1)) @ unique + rng.normal(size=(n, p))
    return target, rng.normal(size=(n, 2)) @ shared + rng.normal(size=(n, p))


def test_planted_features_with_proof(rng):
    target, background = draw(rng)
    model = SparseUCA(2, n_nonzero=3).fit(target, backgrounds=background)
    assert sorted(model.support_[0].tolist()) == [1, 4, 7]
    assert [np.count_nonzero(row) for row in model.components_] == [3, 3]
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    for certificate in model.certificates_:
        assert certificate.status == "optimal"
        assert certificate.proof == "levels"
        assert certificate.proven
        assert certificate.lower <= certificate.upper <= certificate.lower * (1 + 1e-9)
        assert "no component with 3 features" in certificate.message
    assert model.certificate_.lower == pytest.approx(model.explained_variance_[0], rel=1e-9)
    assert np.all(model.background_variance_ <= model.bounds_ * (1 + 1e-9))


def test_all_features_are_uca(rng):
    target, background = draw(rng)
    sparse = SparseUCA(1, n_nonzero=12).fit(target, backgrounds=background)
    whole = UCA(1).fit(target, backgrounds=background)
    np.testing.assert_allclose(sparse.components_, whole.components_, atol=1e-6)
    assert sparse.certificate_.upper == pytest.approx(whole.certificate_.upper, rel=1e-9)
    assert SparseUCA(1, n_nonzero=50).fit(target, backgrounds=background).certificate_.status == "optimal"


def test_one_feature_is_the_best_that_keeps_the_bounds(rng):
    target, background = draw(rng)
    model = SparseUCA(1, n_nonzero=1, scale=False).fit(target, backgrounds=background)
    spent, bound = background.var(axis=0, ddof=1), background.var(axis=0, ddof=1).mean()
    best = np.where(spent <= bound, target.var(axis=0, ddof=1), -np.inf).argmax()
    assert model.support_[0].tolist() == [best]
    assert model.components_[0, best] == 1.0


def test_names_of_features(rng):
    target, background = (pd.DataFrame(rows, columns=[f"gene{i}" for i in range(12)]) for rows in draw(rng))
    model = SparseUCA(1, n_nonzero=3).fit(target, backgrounds=background)
    assert sorted(model.support_[0]) == ["gene1", "gene4", "gene7"]
    sizes = np.abs(model.components_[0][[int(name[4:]) for name in model.support_[0]]])
    assert np.all(np.diff(sizes) <= 0)


def test_later_components_are_those_of_the_deflated_target(rng):
    target, background = draw(rng)
    a, b = np.corrcoef(target, rowvar=False), np.corrcoef(background, rowvar=False)
    model = SparseUCA(2, n_nonzero=4).fit_covariance(a, backgrounds=b)
    v = model.components_[0]
    rest = a - np.outer(a @ v, a @ v) / (v @ a @ v)
    again = SparseUCA(1, n_nonzero=4).fit_covariance((rest + rest.T) / 2 + 1e-14 * np.eye(12), backgrounds=b)
    np.testing.assert_allclose(again.components_[0], model.components_[1], atol=1e-6)
    assert model.explained_variance_[1] == pytest.approx(model.components_[1] @ a @ model.components_[1])


@pytest.mark.parametrize("proof", ["bound", "none"])
def test_a_gap_is_told_and_is_no_warning(mice, mice_reference, proof):
    target, backgrounds = datasets(mice, mice_reference["fig1"])
    model = SparseUCA(1, n_nonzero=10, proof=proof).fit(target, backgrounds=backgrounds)
    assert model.certificate_.status == "gap"
    assert 0.01 < model.certificate_.gap < 0.6
    assert "Not proven to be the best" in model.certificate_.message
    assert model.certificate_.lower == pytest.approx(5.842341, abs=1e-6)


def test_no_time_for_a_proof(mice, mice_reference):
    target, backgrounds = datasets(mice, mice_reference["fig1"])
    model = SparseUCA(1, n_nonzero=12, time_limit=0.0).fit(target, backgrounds=backgrounds)
    assert model.certificate_.status == "time_limit"
    assert "raise time_limit" in model.certificate_.message
    assert model.certificate_.lower >= 6.6076


def test_units_do_not_matter(rng):
    target, background = draw(rng)
    one, other = (SparseUCA(2, n_nonzero=3, scale=False) for _ in range(2))
    one.fit(target, backgrounds=background)
    other.fit(2.0**40 * target, backgrounds=2.0**40 * background)
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.explained_variance_ * 2.0**80, other.explained_variance_)


@parametrize_with_checks([SparseUCA(n_nonzero=2), SparseUCA(n_nonzero=3, whiten=True, proof="none")])
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_streams_and_matrices_are_the_same_problem(rng):
    target, background = draw(rng)
    rows = SparseUCA(2, n_nonzero=4).fit(target, backgrounds=background)
    stream = SparseUCA(2, n_nonzero=4).partial_fit(target[:70], backgrounds=background)
    stream.partial_fit(target[70:])
    matrices = SparseUCA(2, n_nonzero=4).fit_covariance(
        np.corrcoef(target, rowvar=False), backgrounds=np.corrcoef(background, rowvar=False)
    )
    for model in (stream, matrices):
        np.testing.assert_allclose(model.components_, rows.components_, atol=1e-7)
        assert model.certificate_.status == "optimal"


def test_scores_of_components_that_are_not_orthogonal(rng):
    target, background = draw(rng)
    model = SparseUCA(3, n_nonzero=5).fit(target, backgrounds=background)
    scores = model.transform(target)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), model.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(model.inverse_transform(scores)), scores, atol=1e-9)


def test_later_scores_are_nearly_uncorrelated(mice, mice_reference):
    target, backgrounds = datasets(mice, mice_reference["fig1"])
    model = SparseUCA(2, n_nonzero=5, proof="none").fit(target, backgrounds=backgrounds)
    assert abs(np.corrcoef(model.transform(target), rowvar=False)[0, 1]) < 0.1


def test_what_it_is_made_of_is_told(rng):
    target, background = (pd.DataFrame(rows, columns=[f"gene{i}" for i in range(12)]) for rows in draw(rng))
    text = str(SparseUCA(1, n_nonzero=3).fit(target, backgrounds={"control": background}).summary())
    assert text.startswith("Sparse Unique Component Analysis: target 200 x 12, 1 background")
    assert "UC1: gene" in text
    assert "Proven: no component with 3 features" in text


SIZES = (1, 2, 3, 5, 12)


@pytest.fixture(scope="module")
def data():
    return draw(np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(data):
    return SparseUCA(1).fit(data[0], backgrounds={"control": data[1]}).path(SIZES)


class TestPath:
    def test_each_number_is_a_fit_of_its_own(self, data, found):
        assert found.n_nonzero.tolist() == list(SIZES)
        for i, k in enumerate(SIZES):
            model = SparseUCA(1, n_nonzero=k).fit(data[0], backgrounds=data[1])
            assert found.variance[i] == pytest.approx(model.explained_variance_[0], rel=1e-9)
            assert found.background_variance[i] == pytest.approx(model.background_variance_[0], rel=1e-9)
            assert found.upper[i] == pytest.approx(model.certificate_.upper, rel=1e-9)
            assert found.support[i].tolist() == model.support_[0].tolist()
        assert np.all(np.diff(found.variance) >= -1e-9)
        assert {certificate.status for certificate in found.certificates} == {"optimal"}

    def test_held_out_rows_against_fits_by_hand(self, data, found):
        """Folds as the library deals them; fits, centring and scaling by hand."""
        n = len(data[0])
        subjects = [-1 - np.arange(n), -1 - n - np.arange(n)]
        sums = np.zeros((2, len(SIZES)))
        for fold in folds(subjects, 5, np.random.default_rng(seed_of(None))):
            inside = [rows[~held] for rows, held in zip(data, fold, strict=True)]
            for i, k in enumerate(SIZES):
                model = SparseUCA(1, n_nonzero=k).fit(inside[0], backgrounds=inside[1])
                for j, (rows, held, used) in enumerate(zip(data, fold, inside, strict=True)):
                    scores = ((rows[held] - used.mean(axis=0)) / used.std(axis=0, ddof=1)) @ model.components_[0]
                    sums[j, i] += np.sum(scores**2) * len(used) / (len(used) + 1)
        np.testing.assert_allclose(found.held_out, sums[0] / n, rtol=1e-6)
        np.testing.assert_allclose(found.held_out_background[:, 0], sums[1] / n, rtol=1e-6)

    def test_table_and_words(self, found):
        rows = found.table
        assert [row["features"] for row in rows] == list(SIZES)
        assert len(rows[2]["support"]) == 3
        assert "control, held out" in str(found)
        assert "5 of 5 proven" in found.sentence

    def test_model_stays_and_rows_may_be_given(self, data, found):
        model = SparseUCA(2, n_nonzero=4).fit(data[0], backgrounds={"control": data[1]})
        before = {name: value for name, value in vars(model).items() if name not in ("_problem", "_seen")}
        model.path([3])
        assert all(vars(model)[name] is value for name, value in before.items())
        again = SparseUCA().path(SIZES, data[0], backgrounds={"control": data[1]})
        np.testing.assert_array_equal(again.held_out, found.held_out)
        with pytest.raises(ValueError, match="has no data"):
            pickle.loads(pickle.dumps(model)).path([3])

    def test_rows_stay_with_the_user(self, data):
        """A model keeps none: what it can reach holds no table, and without the user's there is nothing to hold out."""
        target, background = (rows.copy() for rows in data)
        model = SparseUCA(1, n_nonzero=3).fit(target, backgrounds=[background])
        inside, ends = model.path([3]), model.path([3], target, backgrounds=[background])
        np.testing.assert_array_equal(inside.held_out, ends.held_out)
        assert not any(rows is target or rows is background for rows in reachable(model))
        gone = weakref.ref(background)
        del background
        assert gone() is None
        found = model.path([3])
        assert found.held_out is None
        assert found.variance == pytest.approx(inside.variance, rel=1e-12)

    @pytest.mark.parametrize("given", ["mapping", "tables", "lists"])
    def test_tables_as_they_were_given(self, data, given):
        target, background = data
        if given == "mapping":
            backgrounds = {"control": background}
        elif given == "tables":
            target, backgrounds = pd.DataFrame(target), pd.DataFrame(background)
        else:
            target, backgrounds = target.tolist(), background.tolist()
        found = SparseUCA(1, n_nonzero=3).fit(target, backgrounds=backgrounds).path([3])
        assert (found.held_out is None) == (given == "lists")
        assert found.background_names == (("control",) if given == "mapping" else ("background1",))

    def test_wide_rows_that_are_gone(self, monkeypatch):
        monkeypatch.setattr("uca.estimators.sparse_uca.MANY", 10)
        rng = np.random.default_rng(3)
        model = SparseUCA(1, n_nonzero=2).fit(rng.normal(size=(6, 50)), backgrounds=rng.normal(size=(6, 50)))
        assert model.representation_ == "reduced"
        with pytest.raises(ValueError, match="has no data"):
            model.path([2])

    def test_groups_stay_together(self, data):
        target, background = data
        subjects = np.arange(200) // 10
        target = np.repeat(target[::10], 10, axis=0)
        model = SparseUCA(1).fit(target, backgrounds=background)
        found = model.path([3], groups=[subjects, None])
        assert found.grouped
        assert found.held_out[0] != model.path([3]).held_out[0]
        with pytest.raises(ValueError, match="at least 30 are needed"):
            model.path([3], groups=[subjects, None], n_folds=30)

    def test_matrices_have_no_rows_to_hold_out(self, data):
        a, b = (np.corrcoef(rows, rowvar=False) for rows in data)
        found = SparseUCA(1).fit_covariance(a, backgrounds=b).path([2, 3])
        assert found.held_out is None
        assert "no rows to hold out" in str(found)

    @pytest.mark.parametrize(
        ("sizes", "error"), [([], ValueError), (3, TypeError), ([0], ValueError), ([2.5], TypeError), ("3", TypeError)]
    )
    def test_wrong_numbers(self, data, sizes, error):
        with pytest.raises(error, match="n_nonzero"):
            SparseUCA().path(sizes, data[0], backgrounds=data[1])

    def test_figure(self, found):
        ax = plotting.sparsity_path(found)
        told = [text.get_text() for text in ax.get_legend().get_texts()]
        assert told[:2] == ["target, proven best", "target, held out"]
        assert ax.get_xlabel() == "features of the component"
        with pytest.raises(TypeError, match="SparsityPath"):
            plotting.sparsity_path(object())


class TestElsewhere:
    """What takes a model with bounds takes this one, or says why not."""

    def test_uniqueness(self, data):
        test = uniqueness_test(*data, n_components=1, model=SparseUCA(n_nonzero=3), n_splits=5)
        assert test.n_unique_ == 1
        noise = uniqueness_test(data[1][:100], data[1][100:], n_components=1, model=SparseUCA(n_nonzero=3), n_splits=5)
        assert noise.n_unique_ == 0
        assert "not studied" not in test.sentence

    def test_halves_are_searched_again(self, data, monkeypatch):
        """With the features of the whole fit, rows held out would not be held out of the choice."""
        supports = set()
        component = sparse_component.Covariances.component

        def watched(self, k, **how):
            found = component(self, k, **how)
            supports.add((how["proof"], tuple(np.flatnonzero(found.vectors[:, 0]))))
            return found

        monkeypatch.setattr(sparse_component.Covariances, "component", watched)
        noise = np.random.default_rng(1).normal(size=(2, 60, 12))
        uniqueness_test(*noise, n_components=1, model=SparseUCA(n_nonzero=3), n_splits=4)
        assert len(supports) > 4
        assert {proof for proof, _ in supports} == {"none"}

    @pytest.mark.parametrize("function", [bootstrap, estimate_n_components])
    def test_what_was_not_studied_is_refused(self, data, function):
        with pytest.raises(TypeError, match="not studied for sparse components"):
            function(*data, model=SparseUCA())

    def test_influence_and_leverage(self, data):
        target, background = data
        found = background_influence(target, [background[:100], background[100:]], model=SparseUCA(1, n_nonzero=3))
        assert len(found.table) == 3
        assert row_leverage(SparseUCA(1).fit(target, backgrounds=background), target).n_half.shape == (1,)

    def test_no_dual_to_draw(self, data):
        model = SparseUCA().fit(data[0], backgrounds=data[1])
        with pytest.raises(TypeError, match="SparseUCA chooses features"):
            plotting.contrast_path(model, data[0], backgrounds=data[1])

    def test_comparison(self, data):
        found = compare(data[0], {"control": data[1]}, n_nonzero=3)
        assert [result.method for result in found] == ["PCA", "cPCA", "cPCA++", "UCA", "sparse UCA (3)"]
        assert np.count_nonzero(found[-1].model.components_[0]) == 3
        assert len(compare(data[0], {"control": data[1]})) == 4

    def test_program(self, data, tmp_path):
        pytest.importorskip("typer", reason="pip install 'unique-component-analysis[cli]'")
        from commands import good

        for name, rows in zip(("t", "b"), data, strict=True):
            pd.DataFrame(rows, columns=[f"gene{i}" for i in range(12)]).to_csv(tmp_path / f"{name}.csv", index=False)
        out = tmp_path / "out"
        told = good("fit", tmp_path / "t.csv", "-b", tmp_path / "b.csv", "--sparse", 3, "-k", 1, "-o", out).output
        (named,) = (line for line in told.splitlines() if line.startswith("UC1:"))
        assert {part.split()[0] for part in named.removeprefix("UC1: ").split(", ")} == {"gene1", "gene4", "gene7"}
        assert "Proven: no component with 3 features" in told
        found = json.loads((out / "summary.json").read_text())
        assert {part["feature"] for part in found["components"][0]["leading"]} == {"gene1", "gene4", "gene7"}
        weights = pd.read_csv(out / "components.csv", index_col="feature")["UC1"]
        assert np.count_nonzero(weights) == 3
        assert not np.signbit(weights[weights == 0]).any()
        assert named in good("info", out / "model.skops").output

    def test_report(self, data, tmp_path):
        pytest.importorskip("plotly", reason="pip install 'unique-component-analysis[report]'")
        proven = SparseUCA(2, n_nonzero=3).fit(data[0], backgrounds=data[1])
        page = proven.report(tmp_path / "r.html", data[0], backgrounds=data[1]).read_text()
        assert "proven optimal for these rows" in page
        assert "Proven: no component with 3 features" in page
        assert "chosen by search: there is no contrast to vary" in page
        test = uniqueness_test(*data, n_components=2, model=SparseUCA(n_nonzero=4), n_splits=2)
        with pytest.raises(ValueError, match="test was made with n_nonzero=4, but the model has 3"):
            proven.report(tmp_path / "r.html", data[0], backgrounds=data[1], test=test)
        gap = SparseUCA(2, n_nonzero=3, proof="none").fit(data[0], backgrounds=data[1])
        page = gap.report(tmp_path / "r.html", data[0], backgrounds=data[1]).read_text()
        assert "others have at most" in page

    def test_cells(self, data, tmp_path):
        anndata = pytest.importorskip("anndata", reason="pip install 'unique-component-analysis[scverse]'")
        from uca.scverse import uca

        obs = pd.DataFrame({"kind": ["a"] * 200 + ["b"] * 200}, index=[f"cell{i}" for i in range(400)])
        adata = anndata.AnnData(np.vstack(data), obs=obs)
        uca(adata, groupby="kind", target="a", backgrounds="b", n_nonzero=3)
        assert (np.count_nonzero(adata.varm["UCs"], axis=0) == 3).all()
        assert adata.uns["uca"]["params"]["n_nonzero"] == 3
        assert adata.uns["uca"]["certificate"]["proof"] == "levels"
        adata.write_h5ad(tmp_path / "cells.h5ad")


class TestBounds:
    def test_smallest_number_that_keeps_them(self, rng):
        """Ten features that rise and fall together in the background: few of them cannot cancel below the bound."""
        p, n = 10, 400
        background = rng.normal(size=(n, 1)) * np.linspace(1.0, 2.0, p) + 0.3 * rng.normal(size=(n, p))
        target = rng.normal(size=(n, p))
        alone = [minimum(background, k) for k in range(1, p + 1)]
        k = 3
        bound = (alone[k - 1] + alone[k - 2]) / 2  # kept with k features, not with k - 1
        with pytest.raises(InfeasibleBoundsError, match=f"n_nonzero={k} is the smallest"):
            SparseUCA(1, n_nonzero=1, scale=False, bound=bound).fit(target, backgrounds=background)
        model = SparseUCA(1, n_nonzero=k, scale=False, bound=bound).fit(target, backgrounds=background)
        assert model.background_variance_[0, 0] <= bound * (1 + 1e-9)

    def test_bounds_that_all_features_do_not_keep(self, rng):
        target, background = draw(rng)
        with pytest.raises(
            InfeasibleBoundsError, match=r"background 'control' has bound 1e-06, the smallest attainable"
        ):
            SparseUCA(1, n_nonzero=3, bound=1e-6).fit(target, backgrounds={"control": background})


def reachable(model):
    """Everything that a model refers to, directly or not."""
    found, left = {}, [model.__dict__]
    while left:
        thing = left.pop()
        if id(thing) not in found and not isinstance(thing, type | types.ModuleType | types.FunctionType):
            found[id(thing)] = thing
            left += gc.get_referents(thing)
    return found.values()


def minimum(rows, k):
    """The least variance of a direction of k features, by brute force."""
    covariance = np.cov(rows, rowvar=False)
    chosen = itertools.combinations(range(len(covariance)), k)
    return min(np.linalg.eigvalsh(covariance[np.ix_(s, s)])[0] for s in chosen)


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"n_nonzero": 0}, ValueError, "n_nonzero"),
        ({"n_nonzero": 2.5}, TypeError, "n_nonzero"),
        ({"proof": "yes"}, ValueError, "proof must be"),
        ({"time_limit": -1}, ValueError, "time_limit"),
    ],
)
def test_what_is_refused(rng, parameters, error, match):
    target, background = draw(rng)
    with pytest.raises(error, match=match):
        SparseUCA(1, **parameters).fit(target, backgrounds=background)
