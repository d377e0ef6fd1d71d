"""uca.scverse against a direct fit on dense numpy arrays, on cells that come with scanpy."""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict

import numpy as np
import pytest
from scipy import sparse

from uca import UCA

ad = pytest.importorskip("anndata", reason="pip install 'unique-component-analysis[scverse]'")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what scanpy's dependencies warn of at import is not ours
    sc = pytest.importorskip("scanpy", reason="pip install scanpy")

import dask.array as da  # noqa: E402
import pandas as pd  # noqa: E402

import uca.scverse as scverse  # noqa: E402

TARGET, BACKGROUNDS = "Dendritic", ["CD14+ Monocyte", "CD4+/CD25 T Reg"]  # a name with "/", which h5ad keys cannot have
ASK = {"groupby": "bulk_labels", "target": TARGET, "backgrounds": BACKGROUNDS}
# Same problem in another order of summation, float32 input: certified to 1e-9 in the optimum, about its root in vectors.
CLOSE = {"rtol": 0, "atol": 2e-4}


@pytest.fixture(scope="module")
def cells():
    """700 cells, 60 genes that vary in every group, as non-negative float32 with zeros."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the stored file is old
        bundled = sc.datasets.pbmc68k_reduced()
    values = np.maximum(bundled.X, 0)
    groups = [values[bundled.obs["bulk_labels"] == name] for name in (TARGET, *BACKGROUNDS)]
    genes = np.flatnonzero(np.min([(group > 0).sum(axis=0) for group in groups], axis=0) >= 5)[:60]
    assert len(genes) == 60
    obs = bundled.obs[["bulk_labels", "phase"]].copy()
    return ad.AnnData(values[:, genes].astype(np.float32), obs=obs, var=bundled.var.iloc[genes][["n_counts"]].copy())


@pytest.fixture
def adata(cells):
    return cells.copy()


def direct(adata, values=None, genes=slice(None), target=(TARGET,), backgrounds=None, **parameters):
    """The fit on dense float64 arrays, and the scores of all cells."""
    values = np.asarray(adata.X if values is None else values, dtype=float)[:, genes]
    labels = adata.obs["bulk_labels"].astype(str).to_numpy()
    backgrounds = {name: [name] for name in BACKGROUNDS} if backgrounds is None else backgrounds
    model = UCA(**({"scale": False} | parameters)).fit(
        values[np.isin(labels, target)],
        backgrounds={name: values[np.isin(labels, groups)] for name, groups in backgrounds.items()},
    )
    return model, model.transform(values)


def check(adata, model, scores, key="uca", varm="UCs", genes=slice(None)):
    assert isinstance(adata.obsm[f"X_{key}"], np.ndarray)
    np.testing.assert_allclose(adata.obsm[f"X_{key}"], scores, rtol=0, atol=2e-4 * np.abs(scores).max())
    np.testing.assert_allclose(adata.varm[varm][genes], model.components_.T, **CLOSE)
    for name, values in (("patterns", model.patterns_), ("correlations", model.pattern_correlations_)):
        found = adata.varm[varm.removesuffix("s") + f"_{name}"][genes]
        np.testing.assert_allclose(found, values.T, rtol=0, atol=1e-3 * np.abs(values).max())
    assert list(adata.uns[key]["background_names"]) == model.background_names_
    np.testing.assert_allclose(adata.uns[key]["lambdas"], model.lambdas_, rtol=1e-3)
    np.testing.assert_allclose(adata.uns[key]["variance"], model.explained_variance_, rtol=1e-4)
    np.testing.assert_allclose(adata.uns[key]["background_variance"], model.background_variance_, rtol=1e-3)
    expected = adata.uns[key]["expected_background_variance"]
    assert expected.shape == model.background_variance_.shape
    assert (expected[0] >= adata.uns[key]["background_variance"][0]).all()
    assert adata.uns[key]["certificate"]["upper"] == pytest.approx(model.certificate_.upper, rel=1e-6)
    assert adata.uns[key]["certificate"]["status"] == "optimal"


CONTAINERS = {
    "dense": np.asarray,
    "F order": np.asfortranarray,
    "CSR matrix": sparse.csr_matrix,
    "CSR array": sparse.csr_array,
    "CSC matrix": sparse.csc_matrix,
    "dask": lambda x: da.from_array(x, chunks=(150, -1)),
    "dask both": lambda x: da.from_array(x, chunks=(150, 25)),
    "dask CSR": lambda x: da.from_array(x, chunks=(150, -1)).map_blocks(sparse.csr_matrix),
}


@pytest.fixture(params=CONTAINERS)
def contained(request, adata):
    """The same cells in each container, with what must not be called on the way."""
    adata.X = CONTAINERS[request.param](adata.X)
    return adata


@pytest.fixture
def never_dense(monkeypatch):
    """Make any conversion of a sparse matrix as a whole to a dense one fail."""

    def refuse(self, *args, **kwargs):
        raise AssertionError("sparse data was made dense")

    for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(kind, name, refuse)


class TestAgainstDirectFit:
    def test_containers(self, contained, cells, never_dense):
        before = contained.X
        kind = type(before)
        assert scverse.uca(contained, **ASK) is None
        assert contained.X is before
        assert type(contained.X) is kind
        check(contained, *direct(cells))

    @pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
    def test_containers_masked(self, contained, cells, representation, never_dense):
        mask = np.arange(60) % 3 != 0
        scverse.uca(contained, **ASK, mask_var=mask, representation=representation, key_added="other")
        check(contained, *direct(cells, genes=mask), key="other", varm="other_UCs", genes=mask)
        assert contained.uns["other"]["representation"] == representation
        for name in ("other_UCs", "other_UC_patterns", "other_UC_correlations"):
            assert (contained.varm[name][~mask] == 0).all()

    def test_view(self, contained, cells):
        some = np.isin(cells.obs["bulk_labels"], [TARGET, *BACKGROUNDS])
        view = contained[some]
        assert view.is_view
        with pytest.warns(ad.ImplicitModificationWarning):  # anndata's word for: the view became an object
            scverse.uca(view, **ASK)
        check(view, *direct(cells[some]))

    def test_layer(self, adata):
        adata.layers["squares"] = sparse.csr_matrix(adata.X**2)
        scverse.uca(adata, **ASK, layer="squares")
        check(adata, *direct(adata, adata.layers["squares"].toarray()))

    def test_layer_where_there_is_no_x(self, adata):
        values = adata.X
        adata.layers["only"] = values
        adata.X = None
        scverse.uca(adata, **ASK, layer="only")
        check(adata, *direct(adata, values))
        with pytest.raises(ValueError, match="adata.X is empty .None.: name the layer"):
            scverse.uca(adata, **ASK)

    def test_mask_by_name(self, adata):
        adata.var["chosen"] = mask = np.arange(60) < 30
        scverse.uca(adata, **ASK, mask_var="chosen")
        check(adata, *direct(adata, genes=mask), genes=mask)
        assert adata.uns["uca"]["params"]["mask_var"] == "chosen"

    def test_blocks_of_scores(self, adata, monkeypatch):
        monkeypatch.setattr("uca.scverse.fit.BLOCK_BYTES", 8 * 40 * 13)  # 13 cells a block
        mask = np.arange(60) < 40
        scverse.uca(adata, **ASK, mask_var=mask)
        check(adata, *direct(adata, genes=mask), genes=mask)

    def test_groups_together(self, adata):
        lists = {"myeloid": ["CD14+ Monocyte"], "T": ["CD4+/CD25 T Reg", "CD8+ Cytotoxic T"]}
        target = [TARGET, "CD19+ B"]
        model, scores = direct(adata, target=target, backgrounds=lists, n_components=3)
        scverse.uca(
            adata,
            groupby="bulk_labels",
            target=target,
            backgrounds=lists | {"myeloid": "CD14+ Monocyte"},
            n_components=3,
        )
        check(adata, model, scores)
        table = adata.uns["uca"]["groups"]
        assert table["name"].tolist() == ["target", "target", "myeloid", "T", "T"]
        counts = adata.obs["bulk_labels"].value_counts()
        assert table["n_cells"].tolist() == [counts[group] for group in table["group"]]

    def test_names_of_unnamed_backgrounds(self, adata):
        scverse.uca(
            adata, groupby="bulk_labels", target=TARGET, backgrounds=["CD19+ B", ["CD56+ NK", "CD4+/CD25 T Reg"]]
        )
        assert adata.uns["uca"]["background_names"].tolist() == ["CD19+ B", "CD56+ NK+CD4+/CD25 T Reg"]
        scverse.uca(adata, groupby="bulk_labels", target=TARGET, backgrounds="CD19+ B")
        assert adata.uns["uca"]["background_names"].tolist() == ["CD19+ B"]

    def test_parameters_reach_the_estimator(self, adata):
        options = {"scale": "target", "components": "sequential", "whiten": True, "bound": 0.8, "n_components": 3}
        scverse.uca(adata, **ASK, **options)
        check(adata, *direct(adata, **options))
        assert {name: adata.uns["uca"]["params"][name] for name in options} == options

    def test_number_of_components_by_either_name(self, adata):
        scverse.uca(adata, **ASK, n_comps=3)
        check(adata, *direct(adata, n_components=3))
        scverse.uca(adata, **ASK, n_comps=3, n_components=3)
        assert adata.uns["uca"]["params"]["n_components"] == 3
        with pytest.raises(ValueError, match="n_comps=3 and n_components=2 are two names of one number: give one"):
            scverse.uca(adata, **ASK, n_comps=3, n_components=2)

    def test_scale_is_false_unless_given(self, adata):
        scverse.uca(adata, **ASK)
        assert adata.uns["uca"]["params"]["scale"] is False
        scverse.uca(adata, **ASK, scale=True)
        check(adata, *direct(adata, scale=True))

    def test_patterns_are_those_of_the_cells(self, adata):
        """By hand: slope of each gene on the score, and correlation, among cells of the target."""
        scverse.uca(adata, **ASK)
        cells = adata.obs["bulk_labels"] == TARGET
        for i, score in enumerate(adata.obsm["X_uca"][cells].T.astype(float)):
            genes = adata.X[cells].astype(float)
            slopes = [np.polyfit(score, gene, 1)[0] for gene in genes.T]
            correlations = [np.corrcoef(score, gene)[0, 1] for gene in genes.T]
            np.testing.assert_allclose(adata.varm["UC_patterns"][:, i], slopes, rtol=0, atol=1e-5)
            np.testing.assert_allclose(adata.varm["UC_correlations"][:, i], correlations, rtol=0, atol=1e-5)

    def test_leading_genes(self, adata):
        """Genes are ordered by weight times pattern, by hand; the sign is that of the weight."""
        scverse.uca(adata, **ASK)
        table = adata.uns["uca"]["leading_genes"]
        share = adata.varm["UCs"] * adata.varm["UC_patterns"]
        for i, (name, part) in enumerate(table.groupby("component")):
            assert name == f"UC{i + 1}"
            order = np.argsort(-share[:, i])[: len(part)]
            assert part["gene"].tolist() == adata.var_names[order].tolist()
            np.testing.assert_allclose(part["share"], share[order, i], rtol=1e-4)
            assert part["sign"].tolist() == np.where(adata.varm["UCs"][order, i] > 0, "+", "-").tolist()

    def test_highly_variable_genes_by_default(self, adata):
        """As scanpy's pca: the column where it is, all genes where it is not or where None is given."""
        adata.var["highly_variable"] = mask = np.arange(60) % 2 == 0
        scverse.uca(adata, **ASK)
        check(adata, *direct(adata, genes=mask), genes=mask)
        assert adata.uns["uca"]["params"]["mask_var"] == "highly_variable"
        np.testing.assert_array_equal(adata.uns["uca"]["genes"], mask)
        sc.pp.pca(adata, n_comps=2)
        np.testing.assert_array_equal((adata.varm["PCs"] != 0).any(axis=1), (adata.varm["UCs"] != 0).any(axis=1))
        scverse.uca(adata, **ASK, mask_var=None)
        check(adata, *direct(adata))
        assert "mask_var" not in adata.uns["uca"]["params"]
        assert adata.uns["uca"]["genes"].all()

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, pd.DataFrame])
    def test_representation(self, adata, kind):
        values = adata.X @ np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
        table = kind(values)
        if isinstance(table, pd.DataFrame):
            table = table.set_axis([f"axis {i}" for i in range(8)], axis=1).set_axis(adata.obs_names)
        adata.obsm["X_rotated"] = table
        adata.var["highly_variable"] = False  # a mask of genes is none of its columns
        scverse.uca(adata, **ASK, use_rep="X_rotated")
        model, scores = direct(adata, values)
        np.testing.assert_allclose(adata.obsm["X_uca"], scores, rtol=0, atol=2e-4 * np.abs(scores).max())
        found = adata.uns["uca"]
        np.testing.assert_allclose(found["components"], model.components_.T, **CLOSE)
        np.testing.assert_allclose(found["patterns"], model.patterns_.T, rtol=0, atol=1e-3)
        np.testing.assert_allclose(found["correlations"], model.pattern_correlations_.T, rtol=0, atol=1e-3)
        called = "axis " if kind is pd.DataFrame else "rotated"
        assert found["leading_genes"]["gene"].str.startswith(called).all()
        assert found["params"]["use_rep"] == "X_rotated"
        assert "UCs" not in adata.varm

    def test_a_new_fit_leaves_nothing_of_the_old_one(self, adata):
        scverse.uca(adata, **ASK)
        scverse.rank_genes(adata)
        adata.uns["uca_test"] = adata.uns["uca_donors"] = {"old": True}
        adata.obsm["X_other"] = adata.X[:, :5]
        scverse.uca(adata, **ASK, use_rep="X_other")
        assert set(adata.uns) == {"uca"}
        assert not adata.varm.keys()

    def test_groups_that_are_not_text(self, adata):
        adata.obs["is_target"] = adata.obs["bulk_labels"] == TARGET
        adata.obs["number"] = np.where(
            adata.obs["is_target"], 1, np.where(adata.obs["bulk_labels"] == BACKGROUNDS[0], 2, 3)
        )
        model, scores = direct(adata, backgrounds={"2": BACKGROUNDS[:1]})
        scverse.uca(adata, groupby="number", target=1, backgrounds=[2])
        check(adata, model, scores)
        scverse.uca(adata, groupby="is_target", target=True, backgrounds={"rest": False})
        assert adata.uns["uca"]["groups"]["n_cells"].tolist() == [240, 460]

    def test_global_output_setting_does_not_matter(self, adata):
        import sklearn

        with sklearn.config_context(transform_output="pandas"):
            scverse.uca(adata, **ASK)
        assert isinstance(adata.obsm["X_uca"], np.ndarray)


class TestFiles:
    @pytest.fixture(params=["dense", "CSR matrix", "CSC matrix"])
    def path(self, request, adata, tmp_path):
        adata.X = CONTAINERS[request.param](adata.X)
        adata.write_h5ad(tmp_path / "cells.h5ad")
        return tmp_path / "cells.h5ad"

    @pytest.mark.parametrize("mode", ["r", "r+"])
    @pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
    def test_backed(self, path, cells, mode, representation, monkeypatch, never_dense):
        monkeypatch.setattr("uca._anndata.BLOCK_BYTES", 12_000)  # dozens of blocks
        backed = ad.read_h5ad(path, backed=mode)
        mask = np.arange(60) % 2 == 0
        scverse.uca(backed, **ASK, mask_var=mask, representation=representation)
        assert backed.isbacked
        check(backed, *direct(cells, genes=mask), genes=mask)
        backed.file.close()

    def test_backed_is_read_in_blocks(self, path, monkeypatch):
        """No read of the file is larger than a block, but for files stored by columns, where a block is all rows of some."""
        import h5py

        monkeypatch.setattr("uca._anndata.BLOCK_BYTES", 12_000)
        backed = ad.read_h5ad(path, backed="r")
        sizes, getitem = [], h5py.Dataset.__getitem__

        def recorded(self, *args, **kwargs):
            found = getitem(self, *args, **kwargs)
            if self.name in ("/X", "/X/data"):
                sizes.append(np.size(found))
            return found

        monkeypatch.setattr(h5py.Dataset, "__getitem__", recorded)
        scverse.uca(backed, **ASK, representation="implicit")
        backed.file.close()
        assert len(sizes) > 20
        # 12 000 bytes are 3 000 float32, or 1 000 sparse values in the mean; some rows or columns hold more than that.
        assert max(sizes) <= 3000
        assert 3 * max(sizes) < 700 * 60

    def test_copy_of_a_backed_object_is_refused(self, path):
        backed = ad.read_h5ad(path, backed="r")
        with pytest.raises(ValueError, match="copy=True needs the data in memory: pass adata.to_memory"):
            scverse.uca(backed, **ASK, copy=True)
        backed.file.close()

    @pytest.mark.parametrize("options", [{}, {"bound": dict.fromkeys(BACKGROUNDS, 0.9)}, {"random_state": 3}])
    def test_results_survive_h5ad(self, adata, tmp_path, options):
        mask = np.arange(60) < 50
        scverse.uca(adata, **ASK, mask_var=mask, verbose=lambda *args: None, **options)
        adata.write_h5ad(tmp_path / "results.h5ad")
        read = ad.read_h5ad(tmp_path / "results.h5ad")
        np.testing.assert_array_equal(read.obsm["X_uca"], adata.obsm["X_uca"])
        np.testing.assert_array_equal(read.varm["UCs"], adata.varm["UCs"])
        assert_same(read.uns["uca"], adata.uns["uca"])

    def test_results_survive_zarr(self, adata, tmp_path):
        scverse.uca(adata, **ASK)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # anndata and zarr talk of each other's versions
            adata.write_zarr(tmp_path / "results.zarr")
            read = ad.read_zarr(tmp_path / "results.zarr")
        assert_same(read.uns["uca"], adata.uns["uca"])


def assert_same(read, written):
    assert set(read) == set(written)
    for name, value in written.items():
        if isinstance(value, dict):
            assert_same(read[name], value)
        elif isinstance(value, pd.DataFrame):
            assert read[name].astype(str).equals(value.astype(str))
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(read[name], value)
        else:
            assert read[name] == value, name


class TestObject:
    def test_copy(self, adata):
        copied = scverse.uca(adata, **ASK, copy=True)
        assert "X_uca" not in adata.obsm
        assert "uca" not in adata.uns
        check(copied, *direct(adata))

    def test_keys(self):
        assert asdict(scverse.Keys.of("uca")) == {
            "obsm": "X_uca",
            "varm": "UCs",
            "patterns": "UC_patterns",
            "correlations": "UC_correlations",
            "uns": "uca",
            "test": "uca_test",
            "donors": "uca_donors",
            "rank_genes": "rank_genes_uca",
        }
        named = scverse.Keys.of("ifn")
        assert (named.obsm, named.varm, named.patterns, named.uns) == ("X_ifn", "ifn_UCs", "ifn_UC_patterns", "ifn")
        assert (named.test, named.donors, named.rank_genes) == ("ifn_test", "ifn_donors", "rank_genes_ifn")
        with pytest.raises(ValueError, match="key_added must be a name without '/'; got 'a/b'"):
            scverse.Keys.of("a/b")

    def test_nothing_is_written_by_a_fit_that_fails(self, adata):
        adata.X[0, 0] = np.nan
        with pytest.raises(ValueError, match="1 NaN"):
            scverse.uca(adata, **ASK)
        assert not adata.obsm.keys()
        assert not adata.varm.keys()
        assert not adata.uns.keys()

    def test_nan_outside_the_groups(self, adata):
        other = int(np.flatnonzero(~np.isin(adata.obs["bulk_labels"], [TARGET, *BACKGROUNDS]))[0])
        adata.X[other, 3] = np.nan
        with pytest.raises(ValueError, match=f"1 NaN, the first at row {other}, column 3"):
            scverse.uca(adata, **ASK)
        adata.X = da.from_array(adata.X, chunks=(100, -1))
        with pytest.raises(ValueError, match="NaN or infinity in cells outside the groups"):
            scverse.uca(adata, **ASK)

    def test_masked_values_are_missing(self, adata):
        cell = int(np.flatnonzero(adata.obs["bulk_labels"] == TARGET)[2])
        masked = np.ma.array(adata.X, mask=np.zeros(adata.shape, dtype=bool))
        masked[cell, 3] = np.ma.masked
        adata.layers["masked"] = masked
        with pytest.raises(ValueError, match="target X contains 1 NaN .masked values.*, the first at row 2, column 3"):
            scverse.uca(adata, layer="masked", **ASK)

    def test_reachable_from_the_package(self):
        import uca

        assert uca.scverse is scverse


class TestScanpy:
    def test_neighbours_and_embedding(self, adata):
        import matplotlib

        matplotlib.use("Agg")
        scverse.uca(adata, **ASK, n_components=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what scanpy and numba warn of is theirs
            sc.pp.neighbors(adata, use_rep="X_uca", n_neighbors=10)
            axes = sc.pl.embedding(adata, basis="uca", color="bulk_labels", show=False)
        assert adata.uns["neighbors"]["params"]["use_rep"] == "X_uca"
        np.testing.assert_allclose(axes.collections[0].get_offsets(), adata.obsm["X_uca"][:, :2], rtol=1e-6)
        # The graph is that of the scores: the nearest neighbour of the first cell, found by hand.
        distances = np.linalg.norm(adata.obsm["X_uca"] - adata.obsm["X_uca"][0], axis=1)
        graph = adata.obsp["distances"][0].toarray().ravel()
        nearest = np.argsort(distances)[1]
        assert graph[nearest] == pytest.approx(distances[nearest], rel=1e-4)


ERRORS = {
    "missing column": ({"groupby": "bulk_label"}, "groupby='bulk_label' is not a column .* did you mean 'bulk_labels'"),
    "no such column": ({"groupby": "xyz"}, "there is 'bulk_labels', 'phase'"),
    "unknown target": ({"target": "dendritic"}, "target: no cell has 'dendritic' .* did you mean 'Dendritic'"),
    "unknown background": ({"backgrounds": {"mono": "CD14 Monocyte"}}, "background 'mono': no cell has .* 'CD14. Mono"),
    "no close match": ({"target": 7}, "no cell has 7 .* there is 'CD14"),
    "overlap": (
        {"backgrounds": [TARGET, "CD19+ B"]},
        "background 'Dendritic' and the target share the group 'Dendritic'",
    ),
    "overlap in a list": ({"target": [TARGET, "CD19+ B"], "backgrounds": {"b": ["CD19+ B"]}}, "share the group 'CD19"),
    "no background": ({"backgrounds": []}, "backgrounds is empty: name at least one"),
    "empty dict": ({"backgrounds": {}}, "backgrounds is empty: name at least one"),
    "None": ({"backgrounds": None}, "backgrounds must be a value of adata.obs.groupby. or a list of them; got None"),
    "empty target": ({"target": []}, r"target must be a value .*; got \[\]"),
    "nested": ({"backgrounds": [[["CD19+ B"]]]}, "backgrounds must be a value"),
    "same name": ({"backgrounds": ["CD19+ B", ["CD19+ B"]]}, "background names must differ"),
    "layer": ({"layer": "count"}, "layer='count' is not in adata.layers; did you mean 'counts'"),
    "mask column": (
        {"mask_var": "n_count"},
        "mask_var='n_count' is not a column of adata.var; did you mean 'n_counts'",
    ),
    "mask length": ({"mask_var": np.ones(3, dtype=bool)}, r"mask_var has shape \(3,\), but adata has 60 variables"),
    "mask empty": ({"mask_var": np.zeros(60, dtype=bool)}, "mask_var selects no variable"),
    "use_rep": ({"use_rep": "X_pcs"}, "use_rep='X_pcs' is not in adata.obsm; did you mean 'X_pca'"),
    "use_rep and layer": (
        {"use_rep": "X_pca", "layer": "counts"},
        "use_rep='X_pca' takes adata.obsm .*: leave layer out",
    ),
    "use_rep and mask": ({"use_rep": "X_pca", "mask_var": "n_counts"}, "takes adata.obsm .*: leave mask_var out"),
    "too many": ({"n_components": 61}, "n_components=61 is more than n_features=60"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(adata, case):
    changed, message = ERRORS[case]
    adata.layers["counts"] = adata.X
    adata.obsm["X_pca"] = adata.X[:, :3]
    with pytest.raises(ValueError, match=message):
        scverse.uca(adata, **(ASK | changed))


UNKNOWN = {
    "n_component": "'n_component'; did you mean 'n_components'",
    "n_pcs": "'n_pcs'; did you mean 'n_comps'",
    "use_highly_variable": "'use_highly_variable'; did you mean 'mask_var'",
    "zero_center": "'zero_center'; did you mean 'center'",
    "alpha": "'alpha'.*Parameters are groupby, target, backgrounds, .*use_rep, n_comps, .*bound, .*scale, .*n_nonzero",
    "proof": "'proof'.*n_nonzero",  # which a sparse model has
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_names_are_refused_with_a_hint(adata, name):
    with pytest.raises(TypeError, match=f"uca.scverse.uca has no parameter {UNKNOWN[name]}"):
        scverse.uca(adata, **ASK, **{name: 1})
    assert not adata.uns.keys()


@pytest.mark.parametrize("mask", ["n_counts", np.ones(60), list(range(60))])
def test_mask_that_is_not_boolean(adata, mask):
    with pytest.raises(TypeError, match="mask_var must be boolean; got values of type"):
        scverse.uca(adata, **ASK, mask_var=mask)


def test_cells_without_a_group(adata):
    adata.obs.loc[adata.obs_names[:3], "bulk_labels"] = np.nan
    with pytest.raises(
        ValueError, match="3 of 700 cells have no value in adata.obs.'bulk_labels'.. Give them one, or drop"
    ):
        scverse.uca(adata, **ASK)


def test_not_an_anndata_object():
    with pytest.raises(TypeError, match="adata must be an AnnData object; got ndarray"):
        scverse.uca(np.ones((4, 4)), **ASK)


def test_missing_package_says_what_to_install(adata, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match=r"needs anndata: pip install 'unique-component-analysis\[scverse\]'"):
        scverse.uca(adata, **ASK)
