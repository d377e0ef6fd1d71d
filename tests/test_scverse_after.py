"""What follows a fit on AnnData: the test, donors, genes and the page, against direct calls on dense arrays."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from uca import CPCA, UCA, SparseUCA, pool
from uca.comparison import compare
from uca.inference import bootstrap, leave_one_group_out, uniqueness_test

ad = pytest.importorskip("anndata", reason="pip install 'unique-component-analysis[scverse]'")

import dask.array as da  # noqa: E402
import pandas as pd  # noqa: E402

import uca.scverse as scverse  # noqa: E402

ASK = {"groupby": "state", "target": "treated", "backgrounds": {"control": "control", "other": ["o1", "o2"]}}
N_SPLITS = 2  # enough to compare two calls


@pytest.fixture(scope="module")
def cells():
    """360 cells of 36 donors, 30 genes, many zeros; genes 3 and 4 vary together in treated cells alone."""
    rng = np.random.default_rng(7)
    state = np.repeat(["treated", "control", "o1", "o2"], [120, 120, 60, 60])
    values = rng.normal(size=(360, 30)) + rng.normal(size=(360, 1)) * rng.normal(size=30)
    values[:120, 3:5] += 3 * rng.normal(size=(120, 1))
    obs = pd.DataFrame(
        {
            "state": pd.Categorical(state),
            "donor": [f"d{i // 10}" for i in range(360)],
            "few": [f"{name}{i % 4}" for i, name in enumerate(state)],
            "kind": pd.Categorical(np.where(np.arange(360) % 3, "a", "b")),
        },
        index=[f"cell{i}" for i in range(360)],
    )
    names = pd.DataFrame({"highly_variable": np.arange(30) % 5 != 1}, index=[f"gene{i}" for i in range(30)])
    return ad.AnnData(sparse.csr_matrix(np.maximum(values, 0)), obs=obs, var=names)


@pytest.fixture
def adata(cells):
    return cells.copy()


@pytest.fixture
def fitted(adata):
    scverse.uca(adata, **ASK, n_comps=2)
    return adata


def parts(adata, values=None, genes=None):
    """Rows and donors of target and backgrounds, dense, by hand."""
    genes = adata.var["highly_variable"].to_numpy() if genes is None else genes
    values = adata.X.toarray()[:, genes] if values is None else values
    state = adata.obs["state"].astype(str)
    which = [(state == "treated").to_numpy(), (state == "control").to_numpy(), state.isin(["o1", "o2"]).to_numpy()]
    rows = [values[part] for part in which]
    return rows[0], {"control": rows[1], "other": rows[2]}, [adata.obs["donor"].to_numpy()[part] for part in which]


def assert_same_test(found, expected):
    for name in ("pvalues", "background_pvalues", "average_pvalues", "variances", "low", "high"):
        # Sparse and dense rows add up in another order; a refit stops at 1e-4, and its vectors are as far apart.
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=2e-2, atol=1e-6, err_msg=name)
    assert found.n_unique_ == expected.n_unique_
    assert found.n_subjects == expected.n_subjects
    assert found.background_names == expected.background_names


class TestTest:
    def test_against_a_direct_call(self, fitted):
        target, backgrounds, donors = parts(fitted)
        expected = uniqueness_test(
            target, backgrounds, groups=donors, n_components=2, model=UCA(scale=False), n_splits=N_SPLITS
        )
        assert_same_test(scverse.test(fitted, donor="donor", n_splits=N_SPLITS), expected)
        assert expected.n_subjects == (12, 12, 12)

    @pytest.mark.parametrize(
        "options", [{"scale": True}, {"components": "sequential"}, {"bound": {"control": 2.0, "other": 3.0}}]
    )
    def test_parameters_are_those_of_the_fit(self, adata, options, tmp_path):
        scverse.uca(adata, **ASK, **options)
        target, backgrounds, donors = parts(adata)
        model = UCA(**({"scale": False} | options))
        expected = uniqueness_test(target, backgrounds, groups=donors, n_components=2, model=model, n_splits=N_SPLITS)
        adata.write_h5ad(tmp_path / "fit.h5ad")  # which turns Python's types into numpy's
        found = scverse.test(ad.read_h5ad(tmp_path / "fit.h5ad"), donor="donor", n_splits=N_SPLITS)
        assert_same_test(found, expected)
        told = {name: value for name, value in options.items() if name != "bound"}
        assert told.items() <= found.parameters.items()

    def test_sparse_components(self, adata):
        scverse.uca(adata, **ASK, n_nonzero=4, n_comps=1)
        target, backgrounds, donors = parts(adata)
        model = SparseUCA(n_nonzero=4, scale=False)
        expected = uniqueness_test(target, backgrounds, groups=donors, n_components=1, model=model, n_splits=N_SPLITS)
        assert_same_test(scverse.test(adata, donor="donor", n_splits=N_SPLITS), expected)

    def test_another_question(self, fitted):
        target, backgrounds, donors = parts(fitted, genes=slice(None))
        expected = uniqueness_test(
            target, {"control": backgrounds["control"]}, groups=donors[:2], n_components=1, n_splits=N_SPLITS
        )
        found = scverse.test(
            fitted,
            donor="donor",
            groupby="state",
            target="treated",
            backgrounds="control",
            mask_var=None,
            scale=True,
            n_comps=1,
            n_splits=N_SPLITS,
        )
        assert_same_test(found, expected)
        with pytest.raises(ValueError, match="give all of groupby, target, backgrounds, or none of them"):
            scverse.test(fitted, target="treated")
        with pytest.raises(ValueError, match="scale: read from the fit 'uca'. To ask another question, give groupby"):
            scverse.test(fitted, scale=True)

    @pytest.mark.parametrize("kind", ["dask", "backed"])
    def test_data_that_is_not_in_memory(self, fitted, kind, tmp_path):
        expected = scverse.test(fitted, donor="donor", n_splits=N_SPLITS)
        if kind == "dask":
            fitted.X = da.from_array(fitted.X.toarray(), chunks=(100, -1)).map_blocks(sparse.csr_matrix)
        else:
            fitted.write_h5ad(tmp_path / "cells.h5ad")
            fitted = ad.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        assert_same_test(scverse.test(fitted, donor="donor", n_splits=N_SPLITS), expected)
        fitted.file.close()

    def test_representation(self, adata):
        adata.obsm["X_pca"] = adata.X.toarray()[:, :6]
        scverse.uca(adata, **ASK, use_rep="X_pca")
        target, backgrounds, donors = parts(adata, adata.obsm["X_pca"])
        expected = uniqueness_test(
            target, backgrounds, groups=donors, n_components=2, model=UCA(scale=False), n_splits=N_SPLITS
        )
        assert_same_test(scverse.test(adata, donor="donor", n_splits=N_SPLITS), expected)

    def test_without_donors_it_cautions(self, fitted):
        with pytest.warns(UserWarning, match="Cells were taken as independent. Cells of one donor, .* are not"):
            found = scverse.test(fitted, n_splits=N_SPLITS)
        assert found.cautions[0].startswith("Cells were taken as independent")
        assert "p-values are far too small" in found.sentence
        assert "Cells were taken as independent" in str(found)
        stored = fitted.uns["uca_test"]
        assert stored["donor"] == ""
        assert stored["cautions"][0] == found.cautions[0]
        assert len(stored["n_donors"]) == 0
        target, backgrounds, _ = parts(fitted)
        model = UCA(scale=False)
        assert_same_test(found, uniqueness_test(target, backgrounds, n_components=2, model=model, n_splits=N_SPLITS))

    def test_summary_survives_h5ad(self, fitted, tmp_path):
        found = scverse.test(fitted, donor="donor", n_splits=N_SPLITS)
        fitted.write_h5ad(tmp_path / "tested.h5ad")
        stored = ad.read_h5ad(tmp_path / "tested.h5ad").uns["uca_test"]
        assert stored["n_unique"] == found.n_unique_
        np.testing.assert_array_equal(stored["pvalues"], found.pvalues)
        np.testing.assert_array_equal(stored["variances"], found.variances)
        assert stored["n_donors"].tolist() == [12, 12, 12]
        assert stored["n_cells"].tolist() == [120, 120, 120]
        assert stored["sentence"] == found.sentence
        assert stored["donor"] == "donor"
        assert list(stored["cautions"]) == found.cautions
        assert stored["groups"]["group"].astype(str).tolist() == ["treated", "control", "o1", "o2"]

    def test_few_donors_are_refused_and_shown_where_to_go(self, fitted):
        with pytest.raises(ValueError, match=r"target X has 4 groups; at least 8 are needed.*uca.scverse.donors"):
            scverse.test(fitted, donor="few")
        assert "uca_test" not in fitted.uns

    def test_errors(self, fitted):
        with pytest.raises(ValueError, match="donor='doner' is not a column of adata.obs; did you mean 'donor'"):
            scverse.test(fitted, donor="doner")
        with pytest.raises(TypeError, match="uca.scverse.test has no parameter 'groups'; did you mean 'donor'"):
            scverse.test(fitted, groups="donor")
        with pytest.raises(ValueError, match="no fit under key='ucb'; did you mean 'uca'.: call uca.scverse.uca first"):
            scverse.test(fitted, key="ucb")
        fitted.obs.loc[fitted.obs_names[:2], "donor"] = None
        with pytest.raises(ValueError, match="2 cells of these groups have no value in adata.obs.'donor'"):
            scverse.test(fitted, donor="donor")


class TestTheSameQuestionAgain:
    """An object that has changed since the fit is not asked another question in silence."""

    def test_mask_that_changed_does_not_matter(self, fitted):
        expected = scverse.test(fitted, donor="donor", n_splits=N_SPLITS)
        fitted.var["highly_variable"] = True
        assert_same_test(scverse.test(fitted, donor="donor", n_splits=N_SPLITS), expected)

    @pytest.mark.parametrize("change", [lambda a: a[:, :20].copy(), lambda a: a[:, ::-1].copy()])
    def test_other_genes(self, fitted, change):
        with pytest.raises(ValueError, match="does not have the genes of the fit any more: fit again"):
            scverse.test(change(fitted), donor="donor")

    def test_fewer_genes_where_all_were_used(self, adata):
        scverse.uca(adata, **ASK, mask_var=None)
        with pytest.raises(ValueError, match="does not have the genes of the fit any more: fit again"):
            scverse.rank_genes(adata[:, :20].copy())

    @pytest.mark.parametrize("options", [{}, {"scale": True}, {"scale": "target"}, {"whiten": True}])
    def test_other_values(self, adata, options):
        scverse.uca(adata, **ASK, **options)
        scverse.donors(adata, donor="few", n_comps=1)  # as it was
        adata.X = adata.X.power(2)
        with pytest.raises(
            ValueError, match="adata has changed since the fit: the variance of the target along UC1 was"
        ):
            scverse.donors(adata, donor="few", n_comps=1)

    def test_other_values_of_a_representation(self, adata):
        adata.obsm["X_pca"] = adata.X.toarray()[:, :6]
        scverse.uca(adata, **ASK, use_rep="X_pca")
        scverse.donors(adata, donor="few", n_comps=1)
        adata.obsm["X_pca"] = 2 * adata.obsm["X_pca"]
        with pytest.raises(ValueError, match="adata has changed since the fit"):
            scverse.test(adata, donor="donor")

    def test_fewer_cells(self, fitted):
        some = fitted[np.arange(360) != 0].copy()
        with pytest.warns(UserWarning, match="other numbers of cells than at the fit .'treated' had 120 and has 119"):
            scverse.donors(some, donor="few")

    def test_group_that_is_gone(self, fitted):
        some = fitted[fitted.obs["state"] != "o2"].copy()
        with pytest.raises(ValueError, match="has no cell of group 'o2' any more: fit again"):
            scverse.donors(some, donor="few")

    def test_object_as_parameter(self, adata):
        from uca.inference import choose_restriction

        target, backgrounds, _ = parts(adata)
        scverse.uca(adata, **ASK, bound_on=choose_restriction(target, backgrounds, model=UCA(scale=False)))
        with pytest.raises(ValueError, match="the fit was made with bound_on as an object, which adata does not keep"):
            scverse.donors(adata, donor="few")

    def test_entry_of_an_older_version(self, fitted):
        del fitted.uns["uca"]["leading_genes"]
        with pytest.raises(ValueError, match="was not written by this version of uca.scverse.uca: fit again"):
            scverse.rank_genes(fitted)

    def test_page_of_values_that_changed(self, fitted, tmp_path):
        pytest.importorskip("plotly", reason="pip install 'unique-component-analysis[report]'")
        fitted.X = fitted.X * 2
        with pytest.raises(ValueError, match="adata has changed since the fit: the optimum was"):
            scverse.report(fitted, tmp_path / "page.html")
        assert not list(tmp_path.iterdir())


class TestDonors:
    def test_against_a_direct_call(self, fitted, tmp_path):
        found = scverse.donors(fitted, donor="few")
        target, backgrounds, _ = parts(fitted)
        few = fitted.obs["few"].to_numpy()
        groups = [few[:120], few[120:240], few[240:]]
        expected = leave_one_group_out(target, backgrounds, groups=groups, model=UCA(scale=False))
        assert found.group_names == expected.group_names
        for name in ("means", "deviations", "variances", "cosines", "space_cosines", "between", "n_rows"):
            np.testing.assert_allclose(
                getattr(found, name), getattr(expected, name), rtol=1e-3, atol=1e-4, err_msg=name
            )  # refits stop at 1e-6
        fitted.write_h5ad(tmp_path / "donors.h5ad")
        stored = ad.read_h5ad(tmp_path / "donors.h5ad").uns["uca_donors"]
        assert list(stored["donors"]) == list(found.group_names)
        assert list(stored["datasets"]) == ["target", "control", "other"]
        assert stored["sentence"] == found.sentence
        np.testing.assert_array_equal(stored["variances"], found.variances)
        np.testing.assert_array_equal(stored["n_cells"], found.n_rows)
        assert stored["groups"]["n_cells"].tolist() == [120, 120, 60, 60]

    def test_scores_are_those_of_the_object(self, fitted):
        found = scverse.donors(fitted, donor="few")
        table = pd.DataFrame(fitted.obsm["X_uca"]).groupby(
            [fitted.obs["state"].to_numpy(), fitted.obs["few"].to_numpy()]
        )
        i = found.group_names.index("treated2")
        np.testing.assert_allclose(found.means[i, 0], table.mean().loc[("treated", "treated2")], atol=1e-6)
        np.testing.assert_allclose(found.deviations[i, 0], table.std().loc[("treated", "treated2")], rtol=1e-6)

    def test_names_and_columns(self, fitted):
        with pytest.raises(TypeError, match="uca.scverse.donors has no parameter 'n_pcs'; did you mean 'n_comps'"):
            scverse.donors(fitted, donor="few", n_pcs=2)
        assert scverse.donors(fitted, donor="few", n_comps=1).cosines.shape == (16, 1)


class TestGenes:
    @pytest.mark.parametrize(("by", "varm"), [("pattern", "UC_patterns"), ("correlation", "UC_correlations")])
    def test_order_by_hand(self, fitted, by, varm):
        scverse.rank_genes(fitted, by=by)
        ranked = fitted.uns["rank_genes_uca"]
        used = fitted.var["highly_variable"].to_numpy()
        for i, name in enumerate(ranked["names"].dtype.names):
            assert name == f"UC{i + 1}"
            values = pd.Series(fitted.varm[varm][used, i], index=fitted.var_names[used])
            expected = values.loc[values.abs().sort_values(ascending=False).index]
            assert ranked["names"][name].tolist() == expected.index.tolist()
            np.testing.assert_allclose(ranked["scores"][name], expected, rtol=1e-6)
        assert set(ranked["names"]["UC1"][:2]) == {"gene3", "gene4"}
        assert ranked["params"]["method"] == f"uca_{by}"

    def test_signed_order_and_number(self, fitted):
        scverse.rank_genes(fitted, rankby_abs=False, n_genes=3, key_added="top")
        scores = fitted.uns["top"]["scores"]["UC1"]
        assert len(scores) == 3
        values = np.sort(fitted.varm["UC_patterns"][fitted.var["highly_variable"], 0])[::-1]
        np.testing.assert_allclose(scores, values[:3], rtol=1e-6)

    def test_copy(self, fitted):
        copied = scverse.rank_genes(fitted, copy=True)
        assert "rank_genes_uca" in copied.uns
        assert "rank_genes_uca" not in fitted.uns

    @pytest.mark.parametrize("kind", ["sparse", "dense", "dask"])
    @pytest.mark.parametrize("by", ["pattern", "correlation"])
    def test_genes_of_a_representation(self, adata, by, kind):
        """All genes, by hand: slope on the score and correlation among cells of the target."""
        values = adata.X.toarray()
        adata.X = {"sparse": adata.X, "dense": values, "dask": da.from_array(values, chunks=(100, -1))}[kind]
        adata.obsm["X_pca"] = values[:, :6]
        adata.layers["twice"] = 2 * values
        scverse.uca(adata, **ASK, use_rep="X_pca")
        score = adata.obsm["X_uca"][:120, 0]
        measure = {
            "pattern": lambda x: np.polyfit(score, x, 1)[0],
            "correlation": lambda x: np.corrcoef(score, x)[0, 1],
        }
        expected = {name: measure[by](gene) for name, gene in zip(adata.var_names, values[:120].T, strict=True)}
        for layer, factor in ((None, 1), ("twice", 2 if by == "pattern" else 1)):
            scverse.rank_genes(adata, by=by, layer=layer)
            ranked = adata.uns["rank_genes_uca"]
            found = dict(zip(ranked["names"]["UC1"], ranked["scores"]["UC1"], strict=True))
            assert len(found) == 30
            for name, value in expected.items():
                assert found[name] == pytest.approx(factor * value, abs=1e-5)

    def test_errors(self, fitted):
        with pytest.raises(ValueError, match="by must be one of 'pattern', 'correlation'; got 'loading'"):
            scverse.rank_genes(fitted, by="loading")
        with pytest.raises(ValueError, match="layer is for fits on use_rep"):
            scverse.rank_genes(fitted, layer="counts")
        with pytest.raises(ValueError, match="n_genes must be at least 1; got 0"):
            scverse.rank_genes(fitted, n_genes=0)
        del fitted.varm["UC_correlations"]
        with pytest.raises(ValueError, match="adata.varm.'UC_correlations'. is not there"):
            scverse.rank_genes(fitted, by="correlation")

    def test_scanpy_reads_it(self, fitted, tmp_path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what scanpy's dependencies warn of at import is not ours
            sc = pytest.importorskip("scanpy", reason="pip install scanpy")
        plt = pytest.importorskip("matplotlib.pyplot", reason="pip install matplotlib")
        scverse.rank_genes(fitted)
        fitted.write_h5ad(tmp_path / "ranked.h5ad")
        for adata in (fitted, ad.read_h5ad(tmp_path / "ranked.h5ad")):
            one = sc.get.rank_genes_groups_df(adata, group="UC1", key="rank_genes_uca")
            assert one["names"].tolist()[:2] == adata.uns["rank_genes_uca"]["names"]["UC1"].tolist()[:2]
            assert len(one) == 24
            assert one["pvals_adj"].isna().all()
            both = sc.get.rank_genes_groups_df(adata, group=None, key="rank_genes_uca")
            assert both["group"].cat.categories.tolist() == ["UC1", "UC2"]
            assert len(sc.get.rank_genes_groups_df(adata, group="UC1", key="rank_genes_uca", pval_cutoff=0.05)) == 0
            axes = sc.pl.rank_genes_groups(adata, key="rank_genes_uca", n_genes=5, show=False)
            assert axes[0].get_title() == "UC1 vs. control, other"
            assert [text.get_text() for text in axes[0].texts] == one["names"].tolist()[:5]
            plt.close("all")


class TestPage:
    @pytest.fixture(autouse=True)
    def _needs_plotly(self):
        pytest.importorskip("plotly", reason="pip install 'unique-component-analysis[report]'")

    def test_labels_ids_and_genes(self, fitted, tmp_path):
        found = scverse.test(fitted, donor="donor", n_splits=N_SPLITS)
        path = scverse.report(fitted, tmp_path / "page.html", color="kind", test=found, title="Treated cells")
        text = path.read_text(encoding="utf-8")
        assert isinstance(path, Path)
        for word in ("Treated cells", "cell17", "gene3", "kind", "held out of the fit"):
            assert word in text, word
        assert 'gene1"' not in text  # outside the mask

    @pytest.mark.parametrize("kind", ["dask", "backed"])
    def test_data_that_is_not_in_memory(self, fitted, kind, tmp_path):
        if kind == "dask":
            fitted.X = da.from_array(fitted.X.toarray(), chunks=(100, -1))
        else:
            fitted.write_h5ad(tmp_path / "cells.h5ad")
            fitted = ad.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        text = scverse.report(fitted, tmp_path / "page.html").read_text(encoding="utf-8")
        fitted.file.close()
        assert "cell17" in text
        assert "gene3" in text

    def test_representation(self, adata, tmp_path):
        adata.obsm["X_pca"] = adata.X.toarray()[:, :6]
        scverse.uca(adata, **ASK, use_rep="X_pca")
        text = scverse.report(adata, tmp_path / "page.html").read_text(encoding="utf-8")
        assert '"pca1"' in text
        assert "gene3" not in text

    def test_several_groups_are_coloured(self, adata, tmp_path):
        scverse.uca(adata, groupby="state", target=["o1", "o2"], backgrounds="control")
        text = scverse.report(adata, tmp_path / "page.html").read_text(encoding="utf-8")
        assert '"state"' in text

    def test_errors(self, fitted, tmp_path):
        with pytest.raises(ValueError, match="color='kinds' is not a column of adata.obs; did you mean 'kind'"):
            scverse.report(fitted, tmp_path / "page.html", color="kinds")
        with pytest.raises(TypeError, match="uca.scverse.report has no parameter 'labels'; did you mean 'color'"):
            scverse.report(fitted, tmp_path / "page.html", labels="kind")


@pytest.mark.parametrize("name", ["test", "donors", "rank_genes", "report"])
def test_not_an_anndata_object(name):
    given = {"donors": {"donor": "d"}, "report": {"path": "page.html"}}.get(name, {})
    with pytest.raises(TypeError, match="adata must be an AnnData object; got ndarray"):
        getattr(scverse, name)(np.ones((4, 4)), **given)


class TestArraysWanted:
    """Functions that take rows say where AnnData objects go."""

    CALLS: ClassVar = {
        "fit": lambda a: UCA().fit(a),
        "backgrounds": lambda a: UCA().fit(a.X.toarray(), backgrounds={"b": a}),
        "sparse": lambda a: SparseUCA().fit(a, backgrounds="control"),
        "cPCA": lambda a: CPCA().fit(a, backgrounds=a),
        "partial_fit": lambda a: UCA().partial_fit(a),
        "transform": lambda a: UCA().fit(a.X.toarray()).transform(a),
        "test": lambda a: uniqueness_test(a),
        "test by name": lambda a: uniqueness_test(a, "control"),
        "bootstrap": lambda a: bootstrap(a, ["control"]),
        "pool": lambda a: pool(a, a),
        "compare": lambda a: compare(a, {"b": a}),
    }

    @pytest.mark.parametrize("call", CALLS)
    def test_points_to_scverse(self, adata, call):
        message = (
            r"is an AnnData object. uca.scverse takes those: uca.scverse.uca\(adata, groupby=..., target=..., back"
        )
        with pytest.raises(TypeError, match=message):
            self.CALLS[call](adata)

    def test_view(self, adata):
        with pytest.raises(TypeError, match="target X is an AnnData object"):
            UCA().fit(adata[:50])
