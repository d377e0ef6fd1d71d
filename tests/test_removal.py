"""``uca.remove`` and ``inverse_transform`` against numpy on dense copies."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import uca
from uca import CPCA, UCA, ContrastivePipeline, CPCAPlusPlus, SparseUCA

P = 6
NAMES = list("abcdef")
MODELS = {
    "UCA": UCA(2),
    "sequential": UCA(3, components="sequential"),
    "whiten": UCA(2, whiten=True),
    "units": UCA(2, scale=False),
    "target": UCA(2, scale="target", whiten=True),
    "about zero": UCA(2, center=False),
    "about zero, units": UCA(2, center=False, scale=False),
    "sparse": SparseUCA(3, n_nonzero=3),
    "cPCA": CPCA(2, alpha=1.5),
    "cPCA++": CPCAPlusPlus(3, whiten=True),
}


def tables():
    rng = np.random.default_rng(3)
    mix = rng.normal(size=(P, P))
    target = rng.normal(size=(80, P)) @ mix * [1, 20, 1, 0.1, 1, 5] + [0, 100, -3, 1, 0, 7]
    background = rng.normal(size=(70, P)) @ rng.normal(size=(P, P)) + 1
    new = rng.normal(size=(30, P)) @ mix * [2, 10, 1, 0.3, 1, 5] - 4
    return target, background, new


def fitted(model):
    target, background, _ = tables()
    return model.fit(target, backgrounds=background)


def standard(model, target):
    """Mean and scale of the target, by numpy."""
    mean = target.mean(axis=0) if model.center else np.zeros(P)
    second = target.var(axis=0, ddof=1) if model.center else np.square(target).sum(axis=0) / (len(target) - 1)
    return mean, np.sqrt(second) if model.scale else np.ones(P)


def projected(vectors, z):
    """The part of rows in a space, through an orthonormal basis of it."""
    basis = np.linalg.qr(vectors.T)[0]
    return z @ basis @ basis.T


@pytest.mark.parametrize("chosen", [None, 0, [1], [1, 0]], ids=str)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_what_is_removed_is_the_projection(model, chosen):
    target, _, new = tables()
    mean, scale = standard(fitted(model), target)
    vectors = np.atleast_2d(model.components_[slice(None) if chosen is None else chosen])
    for rows in (target, new):
        expected = rows - scale * projected(vectors, (rows - mean) / scale)
        np.testing.assert_allclose(uca.remove(rows, model, components=chosen), expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_rest_and_part_are_the_rows(model):
    target, _, new = tables()
    mean, scale = standard(fitted(model), target)
    for rows in (target, new):
        part = model.inverse_transform(model.transform(rows))
        expected = mean + scale * projected(model.components_, (rows - mean) / scale)
        np.testing.assert_allclose(part, expected, rtol=1e-10, atol=1e-9)
        rest = uca.remove(rows, model)
        np.testing.assert_allclose(rest + part - model.mean_, rows, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(model.transform(rest), 0.0, atol=1e-9)
        np.testing.assert_allclose(model.transform(part), model.transform(rows), atol=1e-9)


@pytest.mark.parametrize("chosen", [None, [1]], ids=str)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_patterns_are_a_regression_on_the_scores(model, chosen):
    target, _, new = tables()
    mean, scale = standard(fitted(model), target)
    pick = slice(None) if chosen is None else chosen
    z, scores = (target - mean) / scale, model.transform(target)[:, pick]
    coefficients = np.linalg.lstsq(scores, z, rcond=None)[0]
    for rows in (target, new):
        expected = rows - scale * (model.transform(rows)[:, pick] @ coefficients)
        rest = uca.remove(rows, model, components=chosen, along="patterns")
        np.testing.assert_allclose(rest, expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(model.transform(rest)[:, pick], 0.0, atol=1e-8)
    left = (uca.remove(target, model, components=chosen, along="patterns") - mean) / scale
    np.testing.assert_allclose(scores.T @ left, 0.0, atol=1e-6)  # sums over 80 rows


def test_without_backgrounds_both_ways_agree():
    target, _, new = tables()
    model = UCA(2).fit(target)
    np.testing.assert_allclose(uca.remove(new, model), uca.remove(new, model, along="patterns"), atol=1e-8)


def test_a_feature_that_only_cancels_is_changed_by_projection_alone():
    """As in docs/reading.md: age varies in everybody, and the score subtracts its markers."""
    rng = np.random.default_rng(0)
    age, disease = np.array([0, 3.0, 3.0, 3.0, 0]), np.array([1.6, 1.6, 0, 0, 0])
    patients = rng.normal(size=(500, 1)) * age + rng.normal(size=(500, 1)) * disease + 0.7 * rng.normal(size=(500, 5))
    controls = rng.normal(size=(400, 1)) * age + 0.7 * rng.normal(size=(400, 5))
    model = UCA(1, scale=False, bound=0.53).fit(patients, backgrounds=controls)
    score = model.transform(patients)[:, 0]

    def followed(rows):
        return np.abs([np.corrcoef(score, column)[0, 1] for column in rows.T])

    before, projection, regression = (
        followed(rows)
        for rows in (patients, uca.remove(patients, model), uca.remove(patients, model, along="patterns"))
    )
    assert before[0] > 0.8  # a marker of the disease
    assert regression.max() < 1e-10
    assert (projection[2:4] > before[2:4] + 0.1).all()  # markers of age hold more of the score than before


def test_constant_features_stay():
    target, background, new = tables()
    target[:, 2] = 5.0
    with pytest.warns(UserWarning, match="constant features"):
        model = UCA(2).fit(target, backgrounds=background)
    for along in ("components", "patterns"):
        np.testing.assert_array_equal(uca.remove(new, model, along=along)[:, 2], new[:, 2])
    np.testing.assert_array_equal(model.inverse_transform(model.transform(new))[:, 2], 5.0)


def test_large_means_cost_no_digits():
    target, background, _ = tables()
    near, far = (UCA(2).fit(target + shift, backgrounds=background) for shift in (0, 2**20))
    np.testing.assert_allclose(uca.remove(target + 2**20, far) - 2**20, uca.remove(target, near), atol=1e-6)


def test_covariance_matrices():
    target, background, new = tables()
    matrices = np.cov(target.T), np.cov(background.T)
    model = UCA(2).fit_covariance(matrices[0], backgrounds=matrices[1])
    np.testing.assert_allclose(uca.remove(new, model), new - projected(model.components_, new), atol=1e-9)


def test_equal_components_are_removed_once():
    """A target of rank one has one sparse component; the second may be the same."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=(50, 1)) @ np.ones((1, 4))
    background = rng.normal(size=(50, 4)) * [0.1, 0.1, 3, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing is left for the second
        model = SparseUCA(2, n_nonzero=2, scale=False).fit(target, backgrounds=background)
    model.components_[1] = model.components_[0]
    rest = uca.remove(target, model)
    np.testing.assert_allclose(rest, target - projected(model.components_[:1], target - target.mean(axis=0)), atol=1e-9)
    part = model.inverse_transform(model.transform(target))
    np.testing.assert_allclose(rest + part - model.mean_, target, atol=1e-9)


def test_gaps_stay_gaps():
    target, background, new = tables()
    target[3, 1] = target[9, 4] = np.nan
    model = UCA(2, missing="em").fit(target, backgrounds=background)
    rows = new.copy()
    rows[0, 2] = rows[4, 5] = np.nan
    rows[6] = np.nan
    filled = model.law_.complete(rows).rows
    expected = np.where(np.isnan(rows), np.nan, uca.remove(filled, model))
    np.testing.assert_allclose(uca.remove(rows, model), expected, atol=1e-10)
    whole = ~np.isnan(rows).any(axis=1)
    np.testing.assert_allclose(uca.remove(rows, model)[whole], uca.remove(new, model)[whole], rtol=1e-12)
    rows[1, 1] = np.inf
    with pytest.raises(ValueError, match=r"X contains 1 infinity \(inf\), the first at row 1, column 1"):
        uca.remove(rows, model)


def test_tables_keep_kind_columns_and_index():
    pd = pytest.importorskip("pandas")
    target, background, new = tables()
    frame = pd.DataFrame(target, columns=NAMES)
    model = UCA(2).fit(frame, backgrounds=pd.DataFrame(background, columns=NAMES))
    expected = uca.remove(new, model)
    turned = pd.DataFrame(new, columns=NAMES, index=[f"row{i}" for i in range(len(new))])[NAMES[::-1]]
    rest = uca.remove(turned, model)
    pd.testing.assert_frame_equal(rest, pd.DataFrame(expected, columns=NAMES, index=turned.index)[NAMES[::-1]])
    with pytest.raises(ValueError, match="X lacks column 'a'"):
        uca.remove(turned.drop(columns="a"), model)
    numbered = UCA(2).fit(target, backgrounds=background)
    pd.testing.assert_frame_equal(uca.remove(pd.DataFrame(new), numbered), pd.DataFrame(expected))


def test_tables_of_polars_and_pyarrow():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    target, background, new = tables()
    model = UCA(2).fit(pl.DataFrame(target, schema=NAMES), backgrounds=pl.DataFrame(background, schema=NAMES))
    expected = uca.remove(new, model)
    turned = {name: new[:, NAMES.index(name)] for name in NAMES[::-1]}
    for table in (pl.DataFrame(turned), pa.table(turned)):
        rest = uca.remove(table, model)
        assert type(rest) is type(table)
        for name in NAMES:
            np.testing.assert_allclose(np.asarray(rest[name]), expected[:, NAMES.index(name)])


def test_dask_stays_lazy():
    da = pytest.importorskip("dask.array")
    _, _, new = tables()
    model = fitted(UCA(2))
    lazy = uca.remove(da.from_array(new, chunks=(7, 4)), model, along="patterns")
    assert isinstance(lazy, da.Array)
    assert lazy.shape == new.shape
    np.testing.assert_allclose(lazy.compute(), uca.remove(new, model, along="patterns"))
    single = uca.remove(da.from_array(new.astype(np.float32), chunks=(7, 4)), model)
    assert single.dtype == single.compute().dtype == np.float32
    in_chunks = da.from_array(new, chunks=(7, -1)).map_blocks(sparse.csr_array)
    np.testing.assert_allclose(uca.remove(in_chunks, model).compute(), uca.remove(new, model))
    with pytest.raises(ValueError, match="X has 4 features, but the model was fitted on 6"):
        uca.remove(da.zeros((5, 4)), model)


def test_dtypes():
    _, _, new = tables()
    model = fitted(UCA(2))
    single = uca.remove(new.astype(np.float32), model)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, uca.remove(new, model), atol=1e-4)  # values up to 100, to 6e-8 of them
    whole = new.round().astype(int)
    np.testing.assert_allclose(uca.remove(whole, model), uca.remove(whole.astype(float), model))
    np.testing.assert_allclose(uca.remove(new.tolist(), model), uca.remove(new, model))


def test_scores_as_tables_do_not_matter():
    pytest.importorskip("pandas")
    _, _, new = tables()
    model = fitted(UCA(2))
    expected = uca.remove(new, model)
    np.testing.assert_array_equal(uca.remove(new, model.set_output(transform="pandas")), expected)


def test_errors():
    _, _, new = tables()
    model = fitted(UCA(2))
    refused = {
        "X is sparse, and what is left of it is not: pass X.toarray()": (TypeError, sparse.csr_array(new), {}),
        "X has 5 features, but the model was fitted on 6": (ValueError, new[:, :5], {}),
        "components is empty": (ValueError, new, {"components": []}),
        "components must lie between 0 and 1 (0 is UC1, 1 is UC2); got [2]": (ValueError, new, {"components": [2]}),
        "components must lie between 0 and 1 (0 is UC1, 1 is UC2); got -1": (ValueError, new, {"components": -1}),
        "components must be integers, counted from 0; got ['UC1']": (TypeError, new, {"components": ["UC1"]}),
        "components must be integers, counted from 0; got [True, False]": (
            TypeError,
            new,
            {"components": [True, False]},
        ),
        "along must be one of 'components', 'patterns'; got 'loadings'": (ValueError, new, {"along": "loadings"}),
    }
    for text, (kind, rows, options) in refused.items():
        with pytest.raises(kind, match=re.escape(text)):
            uca.remove(rows, model, **options)
    spoilt = new.copy()
    spoilt[2, 1] = np.nan
    with pytest.raises(ValueError, match="X contains 1 NaN, the first at row 2, column 1"):
        uca.remove(spoilt, model)
    with pytest.raises(TypeError, match="model must be a fitted .*UCA or SparseUCA; got PCA"):
        uca.remove(new, type("PCA", (), {})())


def test_pipelines_are_told_what_to_pass():
    target, background, new = tables()
    pipeline = ContrastivePipeline([("scale", StandardScaler()), ("uca", UCA(2, scale=False))])
    pipeline.fit(target, backgrounds=background)
    with pytest.raises(TypeError, match=re.escape("uca.remove(pipeline[:-1].transform(X), pipeline[-1])")):
        uca.remove(new, pipeline)
    rest = uca.remove(pipeline[:-1].transform(new), pipeline[-1])
    np.testing.assert_allclose(pipeline[-1].transform(rest), 0.0, atol=1e-10)


def test_tensors_come_back_as_tensors():
    torch = pytest.importorskip("torch")
    import sklearn

    target, background, new = tables()
    with sklearn.config_context(array_api_dispatch=True):
        model = UCA(2).fit(torch.asarray(target), backgrounds=torch.asarray(background))
        rest = uca.remove(torch.asarray(new), model)
        assert isinstance(rest, torch.Tensor)
        assert rest.dtype == torch.float64
        with pytest.raises(ValueError, match=re.escape("uca.remove() must use the same namespace")):
            uca.remove(new, model)
    expected = uca.remove(new, UCA(2).fit(target, backgrounds=background))
    np.testing.assert_allclose(rest.numpy(), expected, atol=1e-7)
