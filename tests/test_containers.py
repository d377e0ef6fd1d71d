"""Every representation x solver x container gives the answer that numpy gives on a dense copy."""

from __future__ import annotations

import contextlib
import tempfile

import numpy as np
import pytest
import sklearn
from needs import array_api_dispatch
from scipy import sparse
from scipy.linalg import subspace_angles

from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA, _threads
from uca.operators.representations.build import KINDS as REPRESENTATIONS
from uca.solvers.solve import SOLVERS

N, M, P = 50, 40, 24


def _tables() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    shared = rng.standard_normal((4, P))
    target = rng.standard_normal((N, 4)) @ shared + rng.standard_normal((N, 3)) @ rng.standard_normal((3, P))
    background = 2 * rng.standard_normal((M, 4)) @ shared
    tables = [table + 0.5 * rng.standard_normal(table.shape) for table in (target, background)]
    for table in tables:
        table[np.abs(table) < 0.7] = 0.0  # so that sparse containers have something to leave out
    return tables


def _dask(chunks, convert=None):
    def make(array):
        da = pytest.importorskip("dask.array", reason="pip install unique-component-analysis[dask]")
        lazy = da.from_array(array, chunks=chunks)
        return lazy if convert is None else lazy.map_blocks(convert, meta=convert(np.zeros((1, 1))))

    return make


def _dask_frame(array):
    dd = pytest.importorskip("dask.dataframe", reason="pip install unique-component-analysis[dask]")
    import pandas

    return dd.from_pandas(pandas.DataFrame(array, columns=[f"f{i}" for i in range(array.shape[1])]), npartitions=3)


def _frame(array):
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    return pandas.DataFrame(array, columns=[f"f{i}" for i in range(array.shape[1])])


def _polars(array):
    polars = pytest.importorskip("polars", reason="pip install polars")
    return polars.DataFrame(array, schema=[f"f{i}" for i in range(array.shape[1])])


def _torch(dtype):
    def make(array):
        torch = pytest.importorskip("torch", reason="pip install unique-component-analysis[torch]")
        return torch.tensor(array, dtype=getattr(torch, dtype))

    return make


def _with_duplicates(array):
    """COO with every value stored twice, as halves."""
    half = sparse.coo_array(array / 2)
    twice = (np.tile(half.data, 2), (np.tile(half.row, 2), np.tile(half.col, 2)))
    return sparse.coo_array(twice, shape=array.shape)


FOLDER = tempfile.TemporaryDirectory()  # of mapped files; it goes with the process


def _memmap(array):
    path = f"{FOLDER.name}/{array.shape[0]}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


CONTAINERS = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "float32": lambda array: array.astype(np.float32),
    "float32 F order": lambda array: np.asfortranarray(array, dtype=np.float32),
    "strided": lambda array: np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda array: np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1],
    "memmap": _memmap,
    "lists": lambda array: array.tolist(),
    "DataFrame": _frame,
    "polars": _polars,
    "CSR": sparse.csr_array,
    "CSR matrix": sparse.csr_matrix,
    "CSR float32": lambda array: sparse.csr_array(array.astype(np.float32)),
    "CSC": sparse.csc_array,
    "COO with duplicates": _with_duplicates,
    "LIL": sparse.lil_array,
    "dask rows": _dask((11, -1)),
    "dask columns": _dask((-1, 7)),
    "dask both": _dask((17, 9)),
    "dask CSR": _dask((17, -1), sparse.csr_array),
    "dask CSC both": _dask((17, 9), sparse.csc_array),
    "dask.dataframe": _dask_frame,
    "torch": _torch("float64"),
    "torch float32": _torch("float32"),
}
REFUSED = {("dask", "product_svd"), ("torch", "product_svd"), ("torch", "implicit")}


def is_refused(container, representation):
    return (container.split(".")[0].split(" ")[0], representation) in REFUSED


def taken(containers, representations):
    """All pairs but those that are refused with an error."""
    return [(c, r) for c in containers for r in representations if not is_refused(c, r)]


@contextlib.contextmanager
def dispatch(container):
    """Array-API dispatch for torch."""
    with array_api_dispatch() if container.startswith("torch") else contextlib.nullcontext():
        yield


def as_numpy(value):
    return np.asarray(value.compute() if hasattr(value, "compute") else value, dtype=float)


@pytest.fixture(scope="module")
def expected():
    """The dense answer: correlation matrices by numpy, solved at full size."""
    target, background = _tables()
    return UCA().fit_covariance(np.corrcoef(target.T), backgrounds=np.corrcoef(background.T))


def _check(model, expected, container):
    # float32 rounds the data itself to 6e-8; directions move by that over the eigenvalue gap.
    single = "float32" in container
    assert model.certificate_.upper == pytest.approx(expected.certificate_.upper, rel=1e-6 if single else 1e-8)
    angle = subspace_angles(as_numpy(model.components_).T, expected.components_.T).max()
    assert angle <= (1e-5 if single else 1e-6)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_every_combination(representation, solver, container, expected):
    target, background = (CONTAINERS[container](table) for table in _tables())
    model = UCA(representation=representation, solver=solver, tol=1e-9)
    with dispatch(container):
        if is_refused(container, representation):
            with pytest.raises(ValueError, match="representation="):
                model.fit(target, backgrounds=background)
            return
        model.fit(target, backgrounds=background)
    assert model.representation_ == representation
    assert model.solver_ == solver
    _check(model, expected, container)


@pytest.mark.parametrize("container", CONTAINERS)
def test_transform_in_every_container(container, expected):
    target, background = _tables()
    standard = (target - target.mean(axis=0)) / target.std(axis=0, ddof=1)
    given = CONTAINERS[container](target)
    with dispatch(container):
        model = UCA().fit(given, backgrounds=CONTAINERS[container](background))
        scores = model.transform(given)
        if container.startswith("dask"):
            assert hasattr(scores, "compute"), "transform must stay lazy"
        if container.startswith("torch"):
            assert type(scores) is type(given) is type(model.components_)
            assert scores.dtype == given.dtype == model.components_.dtype
            back = model.inverse_transform(scores)
            assert type(back) is type(given)
    tolerance = 1e-4 if "float32" in container else 1e-6
    np.testing.assert_allclose(as_numpy(scores), standard @ expected.components_.T, atol=tolerance)


MIXTURES = [("CSR", "F order"), ("C order", "CSC"), ("dask both", "CSR"), ("memmap", "dask rows"), ("DataFrame", "CSR")]


@pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
@pytest.mark.parametrize("kinds", MIXTURES)
def test_each_dataset_in_its_own_container(kinds, representation, expected):
    target, background = (CONTAINERS[kind](table) for kind, table in zip(kinds, _tables(), strict=True))
    _check(UCA(representation=representation).fit(target, backgrounds=background), expected, "")


@pytest.mark.parametrize("container", ["CSR", "CSC", "dask both", "torch"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False, "target"])
def test_centring_and_scaling_in_other_containers(scale, center, container):
    target, background = _tables()
    options = {"scale": scale, "center": center}
    expected = UCA(representation="covariance", **options).fit(target, backgrounds=[background, target[:20] ** 2])
    given = [CONTAINERS[container](table) for table in (target, background, target[:20] ** 2)]
    for representation in ("covariance", "reduced", "implicit"):
        if is_refused(container, representation):
            continue
        with dispatch(container):
            model = UCA(representation=representation, **options).fit(given[0], backgrounds=given[1:])
        _check(model, expected, container)
        np.testing.assert_allclose(as_numpy(model.mean_), expected.mean_, atol=1e-12)
        np.testing.assert_allclose(as_numpy(model.scale_), expected.scale_, rtol=1e-12)
        np.testing.assert_allclose(as_numpy(model.background_variance_), expected.background_variance_, rtol=1e-6)


@pytest.mark.parametrize(
    ("container", "representation"),
    taken(["CSR", "CSC", "memmap", "dask both", "torch"], ["covariance", "reduced", "implicit"]),
)
def test_values_that_are_not_finite_are_counted_and_placed(representation, container):
    target, background = _tables()
    background[31, 17] = np.nan
    background[35, 2] = np.inf
    message = "background 'b' contains 1 NaN and 1 infinity.*row 31, column 17"
    with dispatch(container), pytest.raises(ValueError, match=message):
        UCA(representation=representation).fit(
            CONTAINERS[container](target), backgrounds={"b": CONTAINERS[container](background)}
        )


@pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
def test_masked_chunks_of_dask_are_missing_values(representation):
    da = pytest.importorskip("dask.array", reason="pip install unique-component-analysis[dask]")
    target, background = _tables()
    masked = np.ma.array(background, mask=np.zeros(background.shape, dtype=bool))
    masked[31, 17] = masked[35, 2] = np.ma.masked
    chunks = da.from_array(masked, chunks=(16, 8))
    with pytest.raises(ValueError, match="background 'b' contains 2 NaN, the first at row 31, column 17"):
        UCA(representation=representation).fit(target, backgrounds={"b": chunks})
    scores = UCA(representation=representation).fit(target).transform(chunks).compute()
    assert np.flatnonzero(np.isnan(scores).any(axis=1)).tolist() == [31, 35]


@pytest.mark.parametrize("kind", ["timedelta64[s]", "datetime64[s]", complex, object])
def test_dask_arrays_of_other_things_than_numbers(kind):
    da = pytest.importorskip("dask.array", reason="pip install unique-component-analysis[dask]")
    target, _ = _tables()
    chunks = da.from_array(target.astype(int).astype(kind), chunks=16)
    with pytest.raises(ValueError, match="target X .*(not numbers|not supported|convert the rest with .astype)"):
        UCA().fit(chunks)
    with pytest.raises(ValueError, match="X .*(not numbers|not supported|convert the rest with .astype)"):
        UCA().fit(target).transform(chunks)


@pytest.mark.parametrize("container", ["CSR", "dask both"])
def test_cpca_takes_the_same_containers(container):
    target, background = _tables()
    given = [CONTAINERS[container](table) for table in (target, background)]
    for estimator in (CPCA(alpha=1.5), CPCAPlusPlus(shrinkage=0.1)):
        expected = sklearn.clone(estimator).fit(target, backgrounds=background)
        for representation in ("auto", "implicit"):
            model = (
                sklearn.clone(estimator).set_params(representation=representation).fit(given[0], backgrounds=given[1])
            )
            np.testing.assert_allclose(model.components_, expected.components_, atol=1e-6)


@pytest.mark.parametrize("container", CONTAINERS)
def test_few_features_from_any_container(container):
    target, background = _tables()
    given = [CONTAINERS[container](table) for table in (target, background)]
    expected = SparseUCA(n_nonzero=3).fit(target, backgrounds=background)
    found = SparseUCA(n_nonzero=3).fit(given[0], backgrounds=given[1]).to_numpy()
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-6)


def test_sparse_data_is_never_made_dense():
    """4 000 x 30 000 with 1 % stored: a dense copy would take 960 MB, the stored values take 14."""
    import tracemalloc

    rng = np.random.default_rng(0)
    target, background = (sparse.csr_array(sparse.random(n, 30_000, 0.01, "csr", None, rng)) for n in (4_000, 3_000))
    tracemalloc.start()
    UCA(tol=1e-3, representation="implicit").fit(target, backgrounds=background)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * 4_000 * 30_000


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_sparse_blocks_are_views(kind, monkeypatch):
    from uca.operators.sources import memory as implicit

    monkeypatch.setattr(implicit, "SPARSE_BYTES", 100)
    matrix = kind(_tables()[0])
    chunks = implicit.Rows(matrix).chunks
    assert len(chunks) > 5
    for chunk in chunks:
        assert np.shares_memory(chunk.data, matrix.data)
        assert np.shares_memory(chunk.indices, matrix.indices)


@pytest.mark.parametrize("n_workers", [2, 16])
@pytest.mark.parametrize("representation", ["covariance", "implicit", "reduced"])
def test_mapped_file_is_read_in_blocks(tmp_path, monkeypatch, representation, n_workers):
    """Peak memory of a fit on a file, counted by the allocator, stays under a fifth of the file, on any number of cores."""
    import tracemalloc

    monkeypatch.setattr(_threads, "n_workers", lambda: n_workers)
    shape = (150, 60_000) if representation == "reduced" else (60_000, 150)
    mapped = np.lib.format.open_memmap(tmp_path / "rows.npy", mode="w+", dtype=float, shape=shape)
    rng = np.random.default_rng(0)
    for start in range(0, shape[0], 1_000):
        block = mapped[start : start + 1_000]
        block[:] = rng.standard_normal(block.shape) + rng.standard_normal((len(block), 1))
    cut = shape[0] // 2
    model = UCA(representation=representation)
    tracemalloc.start()
    model.fit(mapped[:cut], backgrounds=mapped[cut:])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 0.2 * mapped.nbytes


def test_memmap_of_integers_is_not_copied(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "counts.npy"
    np.save(path, rng.poisson(3, size=(3_000, 200)).astype(np.int16))
    mapped = np.load(path, mmap_mode="r")
    whole = np.asarray(mapped, dtype=float)
    for representation in ("covariance", "implicit"):
        model = UCA(representation=representation).fit(mapped[:2_000], backgrounds=mapped[2_000:])
        expected = UCA(representation=representation).fit(whole[:2_000], backgrounds=whole[2_000:])
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-7)
        assert model.components_.dtype == np.float64


@pytest.mark.parametrize(
    ("container", "representation"),
    taken(["C order", "CSR", "CSC", "dask both", "dask CSR", "torch"], REPRESENTATIONS),
)
def test_mean_of_1e8_keeps_six_digits(representation, container):
    """Mean 1e8, spread 1: against the covariance in long double."""
    tables = [1e8 + table for table in _tables()]
    exact = [table.astype(np.longdouble) for table in tables]
    correlations = []
    for table in exact:
        z = table - table.mean(axis=0)
        z /= np.sqrt((z**2).sum(axis=0))
        correlations.append((z.T @ z).astype(float))
    expected = UCA().fit_covariance(correlations[0], backgrounds=correlations[1])
    with dispatch(container):
        model = UCA(representation=representation).fit(
            CONTAINERS[container](tables[0]), backgrounds=CONTAINERS[container](tables[1])
        )
        scores = model.transform(CONTAINERS[container](tables[0]))
    assert model.certificate_.upper == pytest.approx(expected.certificate_.upper, rel=1e-6)
    np.testing.assert_allclose(as_numpy(model.components_), expected.components_, atol=1e-6)
    spread = exact[0].std(axis=0, ddof=1)
    z = ((exact[0] - exact[0].mean(axis=0)) / spread).astype(float)
    np.testing.assert_allclose(as_numpy(scores), z @ expected.components_.T, atol=1e-5)


@pytest.mark.parametrize("chunks", [(11, -1), (17, 9)])
def test_dask_makes_one_graph_a_pass(chunks, monkeypatch):
    """All datasets share a graph: means first, then one for each product of the pencil."""
    from uca.operators.sources import distributed

    counts = {"graphs": 0, "products": 0}
    compute, products = distributed.compute, distributed.DaskPencil.products

    def counted_graph(lazy):
        counts["graphs"] += 1
        return compute(lazy)

    def counted_products(self, vectors):
        counts["products"] += 1
        return products(self, vectors)

    monkeypatch.setattr(distributed, "compute", counted_graph)
    monkeypatch.setattr(distributed.DaskPencil, "products", counted_products)
    tables = [*_tables(), _tables()[0][:20] ** 2]
    lazy = [_dask(chunks)(table) for table in tables]
    UCA(representation="implicit").fit(lazy[0], backgrounds=lazy[1:])
    assert counts["graphs"] == 1 + counts["products"]
    assert counts["products"] >= 2
