"""Units and the order of rows: what must not change, does not.

Multiplying by a power of two changes no digit of a float, so all results change by exact powers of two and nothing else; the
order of rows changes the last digits of sums, and no more.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from uca import CPCA, UCA, CPCAPlusPlus, Moments, NewRowsWarning, SparseUCA, solve_dual
from uca.inference import uniqueness_test
from uca.means import mean_differences_of_rows
from uca.operators.representations.build import KINDS

REPRESENTATIONS = tuple(KINDS)
SHAPES = {"tall": (30, 25, 20, 6), "wide": (6, 5, 7, 40), "one": (20, 18, None, 5)}

powers = st.integers(-500, 500)
cases = st.tuples(
    st.sampled_from(sorted(SHAPES)),
    st.sampled_from(REPRESENTATIONS),
    st.sampled_from([True, False, "target"]),
    st.booleans(),
    st.integers(0, 5),
)


def tables(shape, seed):
    n, m1, m2, p = SHAPES[shape]
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(1, p))
    return [rng.normal(size=(rows, 1)) * shared + rng.normal(size=(rows, p)) + 3 for rows in (n, m1, m2) if rows]


def fit(arrays, representation, scale, center):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NewRowsWarning)  # a handful of rows: true, and the same in all units
        model = UCA(2, representation=representation, scale=scale, center=center)
        return model.fit(arrays[0], backgrounds=arrays[1:])


def exponents(scale, shifts):
    """By which power of two the covariance of each dataset changes: twice that of its rows, unless scaling takes it out."""
    if scale is True:
        return [0] * len(shifts)
    return [2 * (shift - shifts[0] if scale == "target" else shift) for shift in shifts]


def assert_same_but_for_units(model, moved, scale, shifts):
    target, *backgrounds = exponents(scale, shifts)
    backgrounds = np.array(backgrounds)
    assert moved.components_.tolist() == model.components_.tolist()
    for name, power in (
        ("eigenvalues_", target),
        ("explained_variance_", target),
        ("background_variance_", backgrounds),
        ("bounds_", backgrounds),
        ("lambdas_", target - backgrounds),
        ("mean_", shifts[0]),
        ("scale_", shifts[0] if scale else 0),
    ):
        assert getattr(moved, name).tolist() == np.ldexp(getattr(model, name), power).tolist(), name
    for name in ("upper", "lower", "allowance"):
        assert getattr(moved.certificate_, name) == np.ldexp(getattr(model.certificate_, name), target), name
    for name in ("gap", "tight", "kkt", "status", "n_eigensolves", "message", "proven"):
        assert getattr(moved.certificate_, name) == getattr(model.certificate_, name), name


@settings(max_examples=60, deadline=None)
@given(case=cases, power=powers)
def test_all_data_times_a_power_of_two(case, power):
    shape, representation, scale, center, seed = case
    arrays = tables(shape, seed)
    model = fit(arrays, representation, scale, center)
    moved = fit([np.ldexp(array, power) for array in arrays], representation, scale, center)
    assert_same_but_for_units(model, moved, scale, [power] * len(arrays))


@settings(max_examples=60, deadline=None)
@given(case=cases, power=powers, which=st.integers(0, 2))
def test_one_dataset_times_a_power_of_two(case, power, which):
    shape, representation, scale, center, seed = case
    arrays = tables(shape, seed)
    which %= len(arrays)
    shifts = [power * (i == which) for i in range(len(arrays))]
    model = fit(arrays, representation, scale, center)
    moved = fit([np.ldexp(a, shift) for a, shift in zip(arrays, shifts, strict=True)], representation, scale, center)
    assert_same_but_for_units(model, moved, scale, shifts)


@settings(max_examples=40, deadline=None)
@given(case=cases, order=st.integers(0, 2**32 - 1))
def test_order_of_rows(case, order):
    shape, representation, scale, center, seed = case
    arrays = tables(shape, seed)
    rng = np.random.default_rng(order)
    model = fit(arrays, representation, scale, center)
    moved = fit([array[rng.permutation(len(array))] for array in arrays], representation, scale, center)
    size = abs(model.certificate_.upper)
    assert moved.certificate_.upper == pytest.approx(model.certificate_.upper, rel=1e-12)
    assert moved.certificate_.lower == pytest.approx(model.certificate_.lower, rel=1e-12)
    # The value is flat in lambda, so that rounding moves lambda by more (1.6e-11 was seen beside 1e-15), and an eigenvalue
    # moves as lambda does; it is what the multipliers leave of the value, and both are as sharp as the KKT residual, 1e-9.
    for fitted in (model, moved):
        value = fitted.eigenvalues_[0] + fitted.lambdas_ @ fitted.bounds_
        assert value == pytest.approx(fitted.certificate_.upper, rel=1e-12, abs=2 * fitted.certificate_.allowance)
    np.testing.assert_allclose(moved.eigenvalues_, model.eigenvalues_, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("kind", ["CSR", "CSC", "Moments", "matrices", "memmap"])
@pytest.mark.parametrize("power", [-500, 500])
def test_other_ways_in(power, kind, tmp_path):
    arrays = tables("one", 0)
    moved = [np.ldexp(array, power) for array in arrays]
    if kind == "matrices":
        a, b = np.cov(arrays[0].T), np.cov(arrays[1].T)
        model = UCA().fit_covariance(a, backgrounds=b)
        other = UCA().fit_covariance(np.ldexp(a, 2 * power), backgrounds=np.ldexp(b, 2 * power))
        assert other.components_.tolist() == model.components_.tolist()
        value = solve_dual(np.ldexp(a, 2 * power), np.ldexp(b, 2 * power)).value
        assert value == np.ldexp(solve_dual(a, b).value, 2 * power) == other.certificate_.upper
        return
    if kind == "Moments":
        one, two = (UCA(scale=False).partial_fit(Moments.of(a), backgrounds=Moments.of(b)) for a, b in (arrays, moved))
    elif kind == "memmap":
        np.save(tmp_path / "rows.npy", moved[0])
        mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
        one = UCA(scale=False).fit(arrays[0], backgrounds=arrays[1])
        two = UCA(scale=False).fit(mapped, backgrounds=moved[1])
    else:
        hold = sparse.csr_array if kind == "CSR" else sparse.csc_array
        one, two = (UCA(scale=False).fit(hold(a), backgrounds=hold(b)) for a, b in (arrays, moved))
    assert two.components_.tolist() == one.components_.tolist()
    assert two.certificate_.upper == np.ldexp(one.certificate_.upper, 2 * power)


@pytest.mark.parametrize(
    "model",
    [CPCA(alpha=0.5), CPCA(), CPCAPlusPlus(), SparseUCA(n_nonzero=2)],
    ids=["CPCA", "CPCA auto", "CPCA++", "SparseUCA"],
)
@pytest.mark.parametrize("power", [-500, 300, 500])
def test_other_estimators(model, power):
    """One power for all data: the ratio of target to background does not change, and neither do the components."""
    target, background = tables("one", 0)
    model.set_params(scale=False)
    expected = model.fit(target, backgrounds=background)
    components, variance = expected.components_.copy(), expected.explained_variance_.copy()
    moved = model.fit(np.ldexp(target, power), backgrounds=np.ldexp(background, power))
    assert moved.components_.tolist() == components.tolist()
    assert moved.explained_variance_.tolist() == np.ldexp(variance, 2 * power).tolist()


def test_variances_that_no_float_holds_are_an_error():
    target, background = tables("one", 0)
    with pytest.raises(OverflowError, match="rescale the features, or use scale=True"):
        UCA(scale=False).fit(target * 1e-160, backgrounds=background * 1e-160)
    assert UCA(scale=False).fit(target, backgrounds=target).lambdas_[0] > 0.1  # so this multiplier would be 1e600
    with pytest.raises(OverflowError, match="rescale the features, or use scale=True"):
        UCA(scale=False).fit(target * 1e150, backgrounds=target * 1e-150)
    model = UCA().fit(target * 1e-200, backgrounds=background * 1e200)  # units that are divided out
    assert model.certificate_.status == "optimal"
    np.testing.assert_allclose(model.components_, UCA().fit(target, backgrounds=background).components_, atol=1e-12)


def test_no_warning_leaks_at_large_values(rng):
    """Squares of 1e110 overflow nowhere on the way, also in the threads of a large fit."""
    target, background = (1e110 * rng.standard_normal((40, 40_000)) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert UCA(scale=False).fit(target, backgrounds=background).certificate_.status == "optimal"


@pytest.mark.parametrize("representation", ["auto", *REPRESENTATIONS])
@pytest.mark.parametrize("scale", [True, "target", False])
def test_squares_that_vanish_altogether(representation, scale):
    """At 1e-170 every square is exactly 0: moments alone know nothing, the rows do."""
    rng = np.random.default_rng(5)
    target, background = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6)), rng.standard_normal((50, 6))
    expected = UCA(scale=scale).fit(target, backgrounds=background)
    if scale is False:  # variances in these units are no floats
        with pytest.raises(OverflowError, match="outside the range of float64"):
            UCA(scale=scale, representation=representation).fit(target * 1e-170, backgrounds=background * 1e-170)
        return
    found = UCA(scale=scale, representation=representation).fit(target * 1e-170, backgrounds=background * 1e-170)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-7)  # 1e-170 is no power of two
    np.testing.assert_allclose(found.lambdas_, expected.lambdas_, rtol=1e-6)


@pytest.mark.parametrize("scale", [True, "target", False])
@pytest.mark.parametrize("power", [-480, 480])
def test_the_test_of_uniqueness_in_any_units(scale, power, rng):
    target = rng.normal(size=(40, 1)) * [2, 2, 0, 0] + rng.normal(size=(40, 4))
    background = rng.normal(size=(30, 4))
    how = {"n_components": 2, "n_splits": 3, "model": UCA(scale=scale)}
    plain = uniqueness_test(target, background, **how)
    scaled = uniqueness_test(np.ldexp(target, power), np.ldexp(background, power), **how)
    # Features are brought to moderate units one by one where they are scaled anyway: the last digits of means of them move.
    np.testing.assert_allclose(scaled.pvalues, plain.pvalues, rtol=1e-12)
    unit = 1.0 if scale else 4.0**power
    np.testing.assert_allclose(scaled.variances, unit * plain.variances, rtol=1e-12)
    np.testing.assert_allclose(scaled.rows.tails, plain.rows.tails, rtol=1e-12)
    assert scaled.cautions == plain.cautions


def test_the_test_of_uniqueness_with_datasets_in_units_of_their_own(rng):
    target = rng.normal(size=(40, 1)) * [2, 2, 0, 0] + rng.normal(size=(40, 4))
    background = rng.normal(size=(30, 4))
    how = {"n_components": 1, "n_splits": 3}
    plain = uniqueness_test(target, background, **how)
    scaled = uniqueness_test(np.ldexp(target, -600), background, **how)
    np.testing.assert_allclose(scaled.pvalues, plain.pvalues, rtol=1e-12)


def test_variances_of_the_test_that_no_float_holds_are_an_error(rng):
    rows = np.ldexp(rng.normal(size=(20, 3)), 600)
    with pytest.raises(OverflowError, match="rescale the features"):
        uniqueness_test(rows, rows[:10], model=UCA(scale=False))


def test_differences_in_means_in_any_units(rng):
    target, background = rng.normal(size=(40, 3)), rng.normal(size=(30, 3)) + np.array([0, 3, 0])
    plain = mean_differences_of_rows([target, background], ["control"])
    for power in (-600, 600):
        scaled = mean_differences_of_rows([np.ldexp(rows, power) for rows in (target, background)], ["control"])
        assert scaled == plain
    assert plain.backgrounds[0].features == (1,)
