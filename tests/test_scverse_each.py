"""uca.scverse.each against uca.each on dense arrays."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import uca
from uca import UCA

ad = pytest.importorskip("anndata", reason="pip install 'unique-component-analysis[scverse]'")
import pandas as pd  # noqa: E402

import uca.scverse as scverse  # noqa: E402

TYPES = ["B", "NK", "T"]


@pytest.fixture
def adata():
    """300 cells of 30 donors; two genes move together among B cells alone; the last two genes are not highly variable."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 8))
    values[:100, :2] += 2 * rng.normal(size=(100, 1))
    obs = pd.DataFrame(
        {"type": np.repeat(TYPES, 100), "donor": [f"d{i // 10}" for i in range(300)]},
        index=[f"cell{i}" for i in range(300)],
    )
    var = pd.DataFrame({"highly_variable": [True] * 6 + [False] * 2}, index=[f"gene{i}" for i in range(8)])
    return ad.AnnData(values, obs=obs, var=var)


def expected(adata, columns, cells=slice(None), **options):
    values, obs = np.asarray(adata.X)[cells][:, columns], adata.obs.iloc[cells]
    return uca.each(values, obs["type"].astype(str).to_numpy(), model=UCA(1, scale=False), **options)


def same(found, wanted):
    assert found.sentence == wanted.sentence
    for one, other in zip(found.groups, wanted.groups, strict=True):
        assert one.name == other.name
        np.testing.assert_allclose(one.model.components_, other.model.components_, atol=1e-6)
        np.testing.assert_allclose(one.adjusted, other.adjusted, atol=1e-6)


def test_is_each_on_the_highly_variable_genes_by_donor(adata):
    found = scverse.each(adata, groupby="type", donor="donor", n_comps=1, n_splits=10)
    same(found, expected(adata, range(6), subjects=adata.obs["donor"].to_numpy(), n_splits=10))
    assert found.n_unique == {"B": 1, "NK": 0, "T": 0}
    assert set(found["B"].leading[0].names) == {"gene0", "gene1"}


def test_sparse_and_dask_give_the_same(adata):
    da = pytest.importorskip("dask.array", reason="pip install 'unique-component-analysis[dask]'")
    options = {"groupby": "type", "donor": "donor", "n_comps": 1, "n_splits": 10, "mask_var": None}
    wanted = expected(adata, range(8), subjects=adata.obs["donor"].to_numpy(), n_splits=10)
    for values in (sparse.csr_matrix(adata.X), da.from_array(adata.X, chunks=(70, 8))):
        other = adata.copy()
        other.X = values
        same(scverse.each(other, **options), wanted)


def test_some_groups_of_a_column(adata):
    found = scverse.each(adata, groupby="type", groups=["B", "T"], donor="donor", n_comps=1, n_splits=10)
    cells = np.flatnonzero(adata.obs["type"] != "NK")
    same(found, expected(adata, range(6), cells, subjects=adata.obs["donor"].to_numpy()[cells], n_splits=10))


def test_the_table_survives_a_file(adata, tmp_path):
    found = scverse.each(adata, groupby="type", donor="donor", n_comps=2, n_splits=10)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    stored = ad.read_h5ad(tmp_path / "cells.h5ad").uns["uca_each"]
    assert (stored["sentence"], stored["donor"], bool(stored["pooled"])) == (found.sentence, "donor", False)
    table = found.to_frame()
    for name in ("group", "component", "verdict", "leading_features"):
        assert stored["table"][name].astype(str).tolist() == table[name].astype(str).tolist()
    for name in ("target_variance", "background_variance", "p", "p_adjusted"):
        np.testing.assert_allclose(stored["table"][name], table[name].astype(float))


def test_a_group_without_a_model_is_in_the_file_too(adata, tmp_path):
    adata.obs["type"] = adata.obs["type"].astype(str)
    adata.obs.iloc[0, adata.obs.columns.get_loc("type")] = "rare"
    found = scverse.each(adata, groupby="type", donor="donor", n_comps=1, n_splits=10)
    assert found["rare"].model is None
    adata.write_h5ad(tmp_path / "cells.h5ad")
    table = ad.read_h5ad(tmp_path / "cells.h5ad").uns["uca_each"]["table"].set_index("group")
    assert table.loc["rare", "note"].startswith("not fitted:")
    assert np.isnan(table.loc["rare", "target_variance"])


def test_without_donors_it_warns_and_without_a_test_it_does_not(adata):
    with pytest.warns(UserWarning, match="Cells were taken as independent"):
        found = scverse.each(adata, groupby="type", n_comps=1, n_splits=10)
    assert all("Cells were taken as independent" in group.cautions[0] for group in found.groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scverse.each(adata, groupby="type", n_comps=1, test=False)
    assert found.n_unique == dict.fromkeys(TYPES)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"groupby": "typ"}, ValueError, r"groupby='typ' is not a column of adata.obs; did you mean 'type'\?"),
        ({"groups": ["B", "X"]}, ValueError, "no cell has 'X' in adata.obs"),
        ({"groups": ["B"]}, ValueError, "one group only"),
        ({"donor": "doner"}, ValueError, r"donor='doner' is not a column of adata.obs; did you mean 'donor'\?"),
        ({"n_pcs": 3}, TypeError, r"uca.scverse.each has no parameter 'n_pcs'; did you mean 'n_comps'\?"),
        ({"key_added": "a/b"}, ValueError, "key_added must be a name without '/'"),
    ],
)
def test_errors_say_what_to_do_and_write_nothing(adata, options, error, text):
    with pytest.raises(error, match=text):
        scverse.each(adata, **({"groupby": "type", "donor": "donor"} | options))
    assert not adata.uns
