"""The interval [lower, upper] of a certificate holds the optimum of the numbers passed in.

Twenty kinds of data, sixteen problems a kind, every representation, against the optimum in exact arithmetic (oracle.py).
``SLACK`` is what the issue of a bound may be off by; nothing here comes near it, because bounds make room for rounding.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("flint", reason="the exact optimum needs python-flint: pip install python-flint")

import flint
from needs import array_api_dispatch
from oracle import Exact, Truth, exact_problem, solve

from uca import UCA
from uca.operators.representations.build import KINDS

REPRESENTATIONS = tuple(KINDS)
SLACK = 1e-13
N_SEEDS = int(os.environ.get("UCA_CERTIFICATE_SEEDS", "16"))  # fewer where the suite runs many times (machines.py)


def tables(rng, m, p, rows=(6, 16)):
    """A target and m backgrounds that share a factor, with rows enough for any shape."""
    shared = rng.normal(size=(1, p))
    sizes = rng.integers(*rows, size=m + 1)
    return [rng.normal(size=(n, 1)) * shared + rng.normal(size=(n, p)) for n in sizes]


def any_scale(rng):
    return {"center": bool(rng.integers(4)), "scale": [True, False, "target"][rng.integers(3)]}


def noise(rng):
    return tables(rng, rng.integers(1, 6), rng.integers(3, 9)), any_scale(rng)


def mixed_units(rng):
    arrays = tables(rng, rng.integers(1, 4), rng.integers(3, 9))
    units = 10.0 ** rng.uniform(-8, 8, size=arrays[0].shape[1])
    return [array * units for array in arrays], {"scale": False}


def mixed_units_scaled(rng):
    arrays = tables(rng, rng.integers(1, 4), rng.integers(3, 9))
    units = 10.0 ** rng.uniform(-8, 8, size=arrays[0].shape[1])
    return [array * units for array in arrays], {"scale": [True, "target"][rng.integers(2)]}


def one_large_feature(rng):
    """The case that was found: wide, and one feature a million times as large."""
    arrays = tables(rng, rng.integers(1, 3), 12, rows=(3, 5))
    units = np.ones(12)
    units[3] = 10.0 ** rng.integers(2, 9)
    return [array * units for array in arrays], {"scale": False}


def offsets(rng):
    arrays = tables(rng, rng.integers(1, 4), rng.integers(3, 9))
    far = 10.0 ** rng.uniform(4, 15)
    return [array + far * rng.normal(size=array.shape[1]) for array in arrays], {"scale": True}


def offsets_unscaled(rng):
    arrays = tables(rng, rng.integers(1, 4), rng.integers(3, 9))
    return [array + 10.0 ** rng.uniform(4, 14) for array in arrays], {"scale": [False, "target"][rng.integers(2)]}


def nearly_equal_features(rng):
    small = 10.0 ** rng.uniform(-9, -1)
    arrays = tables(rng, rng.integers(1, 3), 1)
    return [array + small * rng.normal(size=(len(array), 6)) for array in arrays], any_scale(rng)


def paired(rng):
    small, n, p = 10.0 ** rng.uniform(-9, -1), rng.integers(5, 12), rng.integers(4, 12)
    before = rng.normal(size=(n, p))
    return [before + small * rng.normal(size=(n, p)), before], any_scale(rng)


def wide(rng):
    return tables(rng, rng.integers(1, 3), 14, rows=(3, 5)), any_scale(rng)


def rank_one(rng):
    direction = rng.integers(1, 4, size=(1, 5)).astype(float)
    return [rng.integers(0, 9, size=(n, 1)) * direction for n in (9, 6)], {"scale": [True, False][rng.integers(2)]}


def single_precision(rng):
    arrays = tables(rng, rng.integers(1, 4), rng.integers(3, 9))
    return [(array + 10.0 ** rng.integers(0, 5)).astype(np.float32) for array in arrays], any_scale(rng)


def sparse_counts(rng):
    arrays = [rng.poisson(0.6, size=(rng.integers(8, 16), 6)).astype(float) for _ in range(rng.integers(2, 4))]
    kind = [sparse.csr_array, sparse.csc_array][rng.integers(2)]
    return [kind(array) for array in arrays], {"scale": [True, False][rng.integers(2)]}


def kink(rng):
    """Several backgrounds that each hold a direction of the target down: mixtures are optimal."""
    p = int(rng.integers(3, 6))
    arrays = [rng.normal(size=(12, p)) for _ in range(int(rng.integers(3, 6)))]
    return [array * (1 + 3 * (np.arange(p) == i % p)) for i, array in enumerate(arrays)], {"scale": False}


def equal_backgrounds(rng):
    target, background = tables(rng, 1, 5)
    return [target, background, background.copy(), background[::-1].copy()], any_scale(rng)


def constant_features(rng):
    arrays = tables(rng, rng.integers(1, 3), 6)
    for array in arrays:
        array[:, rng.integers(6)] = 0.1
    return arrays, {"scale": [True, "target", False][rng.integers(3)]}


def own_bounds(rng):
    arrays = tables(rng, rng.integers(1, 4), rng.integers(4, 8))
    return arrays, {"bound": rng.uniform(0.9, 3.0, size=len(arrays) - 1).tolist()}


def distant_sizes(rng):
    arrays = tables(rng, 2, rng.integers(3, 8))
    sizes = 10.0 ** rng.uniform(-70, 70, size=3)
    return [array * size for array, size in zip(arrays, sizes, strict=True)], {"scale": False}


def few_background_rows(rng):
    arrays = tables(rng, 2, rng.integers(3, 8))
    return [arrays[0], arrays[1][:2], arrays[2][:3]], any_scale(rng)


def heavy_tails(rng):
    arrays = [rng.standard_cauchy(size=(rng.integers(6, 14), 6)) for _ in range(rng.integers(2, 4))]
    return arrays, any_scale(rng)


def own_background(rng):
    (target,) = tables(rng, 0, rng.integers(3, 8))
    return [target, target[: len(target) - 1].copy()], any_scale(rng)


def no_background(rng):
    return tables(rng, 0, rng.integers(3, 12)), any_scale(rng)


#: Kind -> whether every certificate must come to 1e-9: data without a trap.
KINDS = {
    noise: True,
    mixed_units: False,
    mixed_units_scaled: True,
    one_large_feature: False,
    offsets: True,
    offsets_unscaled: True,
    nearly_equal_features: False,
    paired: False,
    wide: True,
    rank_one: True,
    single_precision: True,
    sparse_counts: True,
    kink: True,
    equal_backgrounds: True,
    constant_features: True,
    own_bounds: True,
    distant_sizes: True,
    few_background_rows: True,
    heavy_tails: False,
    own_background: True,
    no_background: True,
}


def problem(kind, seed):
    rng = np.random.default_rng([seed, *kind.__name__.encode()])
    return kind(rng)


def certificates(arrays, options):
    """The certificate of each representation."""
    target, *backgrounds = arrays
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant features; bounds that did not meet, which is what is looked at
        for representation in REPRESENTATIONS:
            model = UCA(1, representation=representation, **options)
            yield representation, model.fit(target, backgrounds=backgrounds or None).certificate_


@pytest.mark.parametrize("seed", range(N_SEEDS))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_interval_holds_the_optimum(kind, seed):
    arrays, options = problem(kind, seed)
    truth = solve(exact_problem(arrays, **options))
    for representation, certificate in certificates(arrays, options):
        excess = truth.excess(certificate.lower, certificate.upper)
        assert excess <= SLACK, (representation, certificate, excess)
        # Plain floats: a certificate is printed for people.
        assert {type(value) for value in (certificate.lower, certificate.upper, certificate.gap)} == {float}
        assert certificate.gap < np.inf
        if KINDS[kind]:
            assert certificate.status == "optimal", (representation, certificate)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_interval_holds_the_optimum_of_30_features(seed):
    """The exact optimum takes seconds here: offsets, mixed units, pairs and shared factors at once."""
    rng = np.random.default_rng(seed)
    arrays = tables(rng, 1 + seed % 3, 30, rows=(20, 50))
    arrays[1][:10] = arrays[0][:10] + 1e-5 * rng.normal(size=(10, 30))
    arrays = [array * 10.0 ** rng.uniform(-3, 3, size=30) + 10.0 ** rng.integers(0, 8) for array in arrays]
    options = {"scale": [True, False, "target"][seed % 3]}
    truth = solve(exact_problem(arrays, **options))
    for representation, certificate in certificates(arrays, options):
        assert truth.excess(certificate.lower, certificate.upper) <= SLACK, (representation, certificate)


@pytest.mark.parametrize(
    "kind", [offsets, wide, paired, sparse_counts, one_large_feature], ids=lambda kind: kind.__name__
)
def test_interval_holds_from_dask_and_torch(kind):
    da = pytest.importorskip("dask.array", reason="pip install unique-component-analysis[dask]")
    arrays, options = problem(kind, 100)
    truth = solve(exact_problem(arrays, **options))
    dense = [array.toarray() if sparse.issparse(array) else array for array in arrays]
    chunked = [da.from_array(array, chunks=(4, 3)) for array in dense]
    for representation in ("covariance", "reduced", "implicit"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = UCA(1, representation=representation, **options).fit(chunked[0], backgrounds=chunked[1:])
        assert truth.excess(model.certificate_.lower, model.certificate_.upper) <= SLACK, representation
    torch = pytest.importorskip("torch", reason="pip install unique-component-analysis[torch]")
    tensors = [torch.tensor(array) for array in dense]
    for representation in ("covariance", "reduced"):
        with array_api_dispatch(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = UCA(1, representation=representation, **options).fit(tensors[0], backgrounds=tensors[1:])
        assert truth.excess(model.certificate_.lower, model.certificate_.upper) <= SLACK, representation


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_proportional_data_has_a_first_component(representation):
    """Every direction ties at the optimum; the first component must be one that attains it."""
    rows = np.outer(np.arange(20.0), np.ones(5))
    model = UCA(2, scale=False, representation=representation).fit(rows, backgrounds=rows[:10])
    assert model.explained_variance_[0] == pytest.approx(35, rel=1e-9)
    assert model.background_variance_[0, 0] <= model.bounds_[0] * (1 + 1e-9)
    assert model.certificate_.tight


@pytest.mark.parametrize("factor", [1e3, 1e4, 1e6, 1e8])
def test_wide_data_in_mixed_units(factor):
    """Order 150 is too large for the exact optimum: the representations must agree as far as their bounds say."""
    rng = np.random.default_rng(6)
    units = np.ones(150)
    units[7] = factor
    target = rng.normal(size=(30, 150)) * units
    backgrounds = [rng.normal(size=(20, 150)) * units for _ in range(2)]
    found = dict(certificates([target, *backgrounds], {"scale": False}))
    assert max(c.lower for c in found.values()) <= min(c.upper for c in found.values())
    for name in ("covariance", "reduced", "product_svd"):
        assert found[name].proven
        # Eigenvalues are known to rounding of the largest unit: with units far apart, solvers stall above the tolerance.
        assert found[name].gap <= (1e-9 if factor <= 1e4 else 1e-6), found[name]


def test_the_oracle_itself():
    """Against optima that are known in closed form, one of them at a kink where coordinate descent stops at 6."""
    flint.ctx.prec = 600

    def diagonal(*values):
        return flint.arb_mat([[v if i == k else 0 for k in range(len(values))] for i, v in enumerate(values)])

    one = Exact(diagonal(3, 2, 1), [diagonal(2, flint.arb(1) / 2, flint.arb(1) / 2)], [flint.arb(1)])
    assert abs(solve(one).upper - flint.arb(7) / 3) < flint.arb(10) ** -30
    rows = np.outer(np.arange(20.0), np.ones(5))
    assert abs(solve(exact_problem([rows, rows[:10]], scale=False)).upper - 35) < flint.arb(10) ** -29
    truth = solve(exact_problem([rows], scale=False))  # PCA: the largest eigenvalue, 35 * 5
    assert truth.excess(174.999, 175.001) < 0 < truth.excess(170, 174) < 0.01


@pytest.mark.parametrize("hold", [np.asarray, sparse.csr_array, sparse.csc_array], ids=["dense", "CSR", "CSC"])
@pytest.mark.parametrize("scale", [True, False])
def test_long_sums_of_equal_terms(hold, scale):
    """Two binary columns: in one long sum every rounding goes the same way. The optimum of PCA has a closed form."""
    rng = np.random.default_rng(1)
    n = 120_000
    shared = rng.random((n, 1)) < 0.1
    rows = np.where(rng.random((n, 2)) < 0.8, shared, rng.random((n, 2)) < 0.1).astype(np.int64)
    sums, products = rows.sum(axis=0).tolist(), (rows.T @ rows).tolist()
    flint.ctx.prec = 300
    (a, b), (_, d) = (
        [flint.arb(flint.fmpq(products[i][k] * n - sums[i] * sums[k], n * (n - 1))) for k in (0, 1)] for i in (0, 1)
    )
    if scale:
        a, b, d = flint.arb(1), b / (a * d).sqrt(), flint.arb(1)
    optimum = (a + d) / 2 + (((a - d) / 2) ** 2 + b * b).sqrt()
    for representation in ("implicit", "product_svd", "covariance"):
        if representation == "product_svd" and hold is not np.asarray:
            continue
        certificate = UCA(1, scale=scale, representation=representation).fit(hold(rows.astype(float))).certificate_
        assert Truth(optimum, optimum).excess(certificate.lower, certificate.upper) <= SLACK, representation
        assert certificate.status == "optimal"


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_bounds_that_leave_no_room(representation):
    """A background that varies alike in all directions spends its bound in every one: the optimum is that of PCA."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=(20, 3))
    design = np.tile([[1.0, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1]], (3, 1))
    certificate = UCA(representation=representation).fit(target, backgrounds=design).certificate_
    assert certificate.status == "optimal"
    assert not certificate.proven
    assert "leave no room" in certificate.message
    assert certificate.upper == pytest.approx(UCA().fit(target).certificate_.upper, rel=1e-12)
    alone = UCA(1, representation=representation).fit(target[:, :1], backgrounds=design[:, :1] * 3).certificate_
    assert alone.status == "optimal"
    assert alone.proven  # one feature: the whole space respects the mean bound exactly


@pytest.mark.parametrize("seed", range(20))
def test_search_that_was_stopped_near_the_edge_of_what_is_feasible(seed):
    """Multipliers are then far from optimal, and no bound may rest on them."""
    rng = np.random.default_rng(seed)
    target, background = rng.normal(size=(2, 12, 4))
    smallest = np.linalg.eigvalsh(np.cov(background.T))[0]
    options = {"scale": False, "bound": [float(smallest * (1 + 10.0 ** rng.uniform(-9, -1)))]}
    truth = solve(exact_problem([target, background], **options))
    for solver, max_iter in (("lbfgs", 3), ("lbfgs", 100), ("root", 100), ("subspace", 100)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = UCA(1, solver=solver, max_iter=max_iter, **options).fit(target, backgrounds=background)
        assert truth.excess(model.certificate_.lower, model.certificate_.upper) <= SLACK, (solver, max_iter)


def test_background_without_variance_beside_another_gives_no_warning():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(20, 4)), rng.normal(size=(15, 4)), np.full((6, 4), 2.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = UCA(scale=False).fit(arrays[0], backgrounds=arrays[1:])
    assert model.certificate_.status == "optimal"
