"""The pieces behind a representation, one by one: room for rounding, units, costs, and what a product or a law is made of.

Room that is too small makes a proof wrong, room that is too large makes it useless: neither shows in a component. So each is
compared with a figure by hand, and matrices with numpy on the whole.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from uca import InfeasibleBoundsError, solve_dual
from uca._validation import OutOfRangeError
from uca.operators.contract.dense import DenseCovariance, DensePencil
from uca.operators.contract.operator import LinearCombination
from uca.operators.contract.pencil import OperatorPencil, embed, householder, reflect
from uca.operators.contract.units import ScaledPencil, canonical, in_user_units
from uca.operators.eigen import direct
from uca.operators.eigen.recycled import Recycler, _eigenvalue_error, _unfinished
from uca.operators.eigen.solver import Eigensolver
from uca.operators.eigen.span import Span, orthonormal
from uca.operators.gaps.estimate import _standardised
from uca.operators.gaps.factors import FactorLaw, _moved, _regress, expect_factors, fit_factors
from uca.operators.gaps.factors import _start as _start_of_factors
from uca.operators.gaps.law import NormalLaw
from uca.operators.gaps.normal import FullLaw, _start, precision
from uca.operators.representations import covariance, implicit, product_svd, reduced
from uca.operators.representations.leading import LeadingPencil, leading_vectors, restrict
from uca.operators.representations.representation import How, Representation, Size, fix_signs
from uca.operators.representations.units import _largest, divided, like_powers, to_moderate
from uca.operators.sources.columns import ColumnBlocks, _share_out, stacked
from uca.operators.sources.graphs import sum_of, tree
from uca.operators.sources.memory import MemorySource
from uca.operators.sources.repeated import first_equal
from uca.operators.statistics import blocks, rounding
from uca.operators.statistics.column_moments import ColumnMoments, beside
from uca.operators.statistics.moments import Moments
from uca.operators.statistics.standard import Standard, check_totals, deviations, inverse, standards

UNIT = 2.0**-53


def _covariances(rng, n, size):
    factors = rng.standard_normal((n, size, size))
    return factors @ factors.swapaxes(1, 2) / size


# --- room for rounding ------------------------------------------------------------------------------------------------


def test_units_of_rounding_of_sums():
    assert rounding.UNIT == UNIT
    assert rounding.summation(100) == 40.0
    assert rounding.summation(65_536) == 1024.0
    assert rounding.summation(65_537) == pytest.approx(1024 + 4 * np.sqrt(2))  # two blocks
    assert rounding.summation(100, 25) == 20.0 + 8.0  # four blocks of 25
    assert rounding.one_sum(16) == 16.0
    assert rounding.one_sum(10_000) == 2500.0
    assert rounding.product_allowance(100, 3.0 * np.eye(4)) == pytest.approx(UNIT * (80 + 16) * 6.0)


@pytest.mark.parametrize("size", [1e-300, 1e-139, 1.0, 1e139, 1e300])
def test_norms_neither_vanish_nor_overflow(size):
    assert rounding.frobenius(size * np.array([[3.0, 0.0], [4.0, 0.0]])) == pytest.approx(5 * size, rel=1e-14)


def test_the_norm_of_nothing():
    assert rounding.frobenius(np.zeros((2, 2))) == 0.0
    assert rounding.frobenius(np.zeros((0, 0))) == 0.0


def test_a_sum_of_two_floats_is_exact(rng):
    a, b = rng.standard_normal((2, 50)) * 10.0 ** rng.integers(-12, 12, (2, 50))
    total, rest = blocks.two_sum(a, b)
    for parts in zip(a, b, total, rest, strict=True):
        x, y, s, r = map(Fraction, parts)
        assert x + y == s + r


def test_means_are_exact_sums_of_two_floats(rng):
    rows = 1e9 + rng.standard_normal((37, 3))
    out = np.empty_like(rows)
    mean, rest = blocks.center_block(rows, out)
    for j in range(3):
        exact = sum(map(Fraction, rows[:, j])) / 37
        assert abs(float(Fraction(mean[j]) + Fraction(rest[j]) - exact)) < 1e-12  # one float is off by 1e-7
        np.testing.assert_allclose(out[:, j], [float(Fraction(x) - exact) for x in rows[:, j]], atol=1e-12)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 300])
def test_squares_are_summed_in_blocks(rng, n):
    rows = rng.standard_normal((n, 3))
    np.testing.assert_allclose(blocks.sums_of_squares(rows), (rows**2).sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("squares", "mean", "refused"),
    [
        (np.array([1.0, 0.0]), np.array([5.0, 0.0]), False),
        (np.array([1.0, 0.0]), np.array([5.0, 1e-101]), True),  # its squares may have vanished
        (np.array([1.0, 0.0]), np.array([5.0, 1e-99]), False),
        (np.array([1e-121, 1.0]), np.zeros(2), True),
        (np.array([1e-119, 1.0]), np.zeros(2), False),
        (np.array([1e119, 1.0]), np.zeros(2), False),
        (np.array([1e121, 1.0]), np.zeros(2), True),
        (0.0, np.array([1.0, 1e-101]), True),
        (0.0, np.array([1.0, 0.0]), False),
        (1e-130, np.array([1.0, 0.0]), True),
        (np.nan, np.array([1.0, 0.0]), False),
    ],
)
def test_the_range_of_squares_is_a_table(squares, mean, refused):
    if refused:
        with pytest.raises(OutOfRangeError, match="squares overflow or vanish"):
            blocks.check_range(squares, mean)
    else:
        blocks.check_range(squares, mean)


def test_lanes_share_a_tenth_of_the_input():
    assert blocks.lanes_within(10.0, 1000.0) == 10
    assert blocks.lanes_within(10.0, 1000.0, room=50.0) == 15
    assert blocks.lanes_within(1e9, 1000.0) == 1
    assert blocks.stored_bytes(np.zeros((3, 4))) == 96
    assert blocks.stored_bytes(sparse.csr_matrix(np.eye(5))) == 40


def test_blocks_of_columns_share_a_tenth_of_the_input(monkeypatch):
    monkeypatch.setattr("uca._threads.n_workers", lambda: 4)
    assert _share_out(100, 100, True) == (1, blocks.BLOCK_BYTES)  # small
    assert _share_out(1000, 100_000, False) == (1, blocks.BLOCK_BYTES)
    # 80 MB of rows: 8 MB for sums of 1.6 kB and blocks of 1 MB: as many as there are workers, of 2 MB each
    lanes, size = _share_out(10, 1_000_000, True)
    assert (lanes, size) == (4, 2_000_000 - 1600)
    assert _share_out(1000, 10_000, True)[0] == 1  # sums of 16 MB


def test_implicit_covariances_have_room_for_means(rng):
    """Rows of 3 features about means of 2: 2 (4 sqrt n) + 4 sqrt p + 16 units of the variances and the squared means."""
    rows = rng.standard_normal((64, 3)) + 2.0
    held = implicit.build(MemorySource([rows, rows], ["a", "b"]), How(True, False))
    operator = held.pencil.target
    sizes = rows.var(axis=0, ddof=1).sum() + (rows.mean(axis=0) ** 2).sum()
    longest = max(32.0, operator.rows.longest / 4)
    expected = UNIT * (2 * longest + 4 * np.sqrt(3) + 16) * sizes
    assert operator.allowance == pytest.approx(expected, rel=1e-9)
    assert operator.trace == operator.magnitude == pytest.approx(rows.var(axis=0, ddof=1).sum())
    assert operator.error_at(operator.trace / 4) == pytest.approx(operator.allowance / 2)
    assert operator.error_at(4 * operator.trace) == operator.allowance
    assert operator.error_at(-1.0) == 0.0
    np.testing.assert_allclose(operator @ np.eye(3), np.cov(rows.T), rtol=1e-12, atol=1e-13)


# --- costs --------------------------------------------------------------------------------------------------------------


def test_costs_are_as_documented():
    """100 and 50 rows of 20 features: products, factor, eigen-solves of three direct ones with 1.4 * 4/3 each."""
    size = Size((100, 50), 20)
    assert size.total == 150
    solves = 3 * 1.4 * 4 / 3
    assert covariance.cost(size) == pytest.approx(150 * 400 + solves * 20**3)
    assert reduced.cost(size) == pytest.approx(150**2 * 20 + 150**3 * 4 / 3 + solves * 150**3)
    assert implicit.cost(size) == pytest.approx(2 * 160 * 8 * 150 * 20)
    assert implicit.cost(Size((100, 50), 20, n_stored=300.0, pass_cost=2.0)) == pytest.approx(2 * 160 * 2 * 25 * 300)
    # Beyond order 700: 160 vectors times two matrices, eight times as dear, and a Cholesky factor.
    assert size.eigen_cost(700) == pytest.approx(solves * 700**3)
    assert size.eigen_cost(701) == pytest.approx(8 * 160 * 2 * 701**2 + 701**3 / 3)


# --- matrices and what is made of them ----------------------------------------------------------------------------------


def test_a_combination_is_the_sum_of_its_parts(rng):
    a, b, c = _covariances(rng, 3, 4)
    parts = tuple(DenseCovariance(m, e) for m, e in zip((a, b, c), (0.1, 0.2, 0.4), strict=True))
    mixed = LinearCombination(parts, (2.0, -3.0, 0.0))
    np.testing.assert_allclose(mixed @ np.eye(4), 2 * a - 3 * b, rtol=1e-13, atol=1e-13)
    assert mixed.trace == pytest.approx(2 * a.trace() - 3 * b.trace())
    assert mixed.magnitude == pytest.approx(2 * np.linalg.norm(a) + 3 * np.linalg.norm(b))
    assert mixed.allowance == pytest.approx(0.2 + 0.6)
    assert mixed.error_at(1.0) == mixed.allowance
    assert mixed.size == 4
    np.testing.assert_allclose(mixed.to_matrix(), 2 * a - 3 * b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("weights", [[1, 0, 0, 0, 0], [1, -2, 0, 0, 0], [1, -2, 3, 0, 0], [1, -2, 3, -4, 5]])
def test_dense_combinations_with_few_and_many_weights(rng, weights):
    matrices = _covariances(rng, 5, 4)
    found = DensePencil(matrices).combine(weights)
    np.testing.assert_allclose(found.matrix, np.tensordot(weights, matrices, axes=1), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("n", "shorter"), [(1, True), (2, False)])
def test_products_through_rows_or_matrices(rng, n, shorter):
    """Matrices of order 6 of two datasets: 12 rows to go through; twice the rows and once more are 3 or 6 times two."""
    rows = [rng.standard_normal((2 * n, 6)) for _ in range(2)]
    matrices = np.stack([r.T @ r for r in rows])
    pencil = DensePencil(matrices, rows=rows)
    assert pencil._rows_are_shorter is shorter
    vectors = rng.standard_normal((6, 3))
    np.testing.assert_allclose(pencil.products(vectors), matrices @ vectors, rtol=1e-12)
    np.testing.assert_array_equal(pencil.factor(1), rows[1].T)
    assert DensePencil(matrices).factor(1) is None


def test_the_pencil_of_the_least_attainable(rng):
    matrices = _covariances(rng, 4, 3)
    allowances = np.array([0.1, 0.2, 0.3, 0.4])
    found = DensePencil(matrices.copy(), 7, allowances).minimising(1, [0, 2])
    np.testing.assert_array_equal(found.target.matrix, -matrices[2])
    np.testing.assert_array_equal(found.backgrounds[0].matrix, matrices[1])
    np.testing.assert_array_equal(found.backgrounds[1].matrix, matrices[3])
    np.testing.assert_array_equal(found.allowances, [0.3, 0.2, 0.4])
    assert found.n_features == 7
    by_products = OperatorPencil([DenseCovariance(m) for m in matrices], 7).minimising(1, [0, 2])
    np.testing.assert_allclose(by_products.products(np.eye(3)), found.products(np.eye(3)), rtol=1e-13)


def test_the_complement_of_a_direction(rng):
    vector = rng.standard_normal(5)
    vector /= np.linalg.norm(vector)
    w = householder(vector)
    assert np.linalg.norm(w) == pytest.approx(1.0)
    inside = embed(np.eye(4), w)
    np.testing.assert_allclose(inside.T @ inside, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(inside.T @ vector, 0.0, atol=1e-14)
    np.testing.assert_allclose(np.abs(reflect(vector, w)), np.eye(5)[0], atol=1e-14)
    matrices = _covariances(rng, 2, 5)
    asked = []

    def errors_at(vectors, sizes):
        asked.append(vectors)
        return sizes / 10

    dense = DensePencil(matrices, 9, [1.0, 2.0], errors_at)
    products = OperatorPencil([DenseCovariance(m, a) for m, a in zip(matrices, (1.0, 2.0), strict=True)], 9)
    for whole in (dense, products):
        pencil, reflector = whole.complement(vector)
        expected = inside.T @ matrices @ inside
        np.testing.assert_allclose(pencil.products(np.eye(4)), expected, atol=1e-13)
        np.testing.assert_allclose(reflector, w)
        np.testing.assert_allclose(pencil.traces(), np.trace(expected, axis1=1, axis2=2))
        np.testing.assert_array_equal(pencil.allowances, [1.0, 2.0])
        assert (pencil.size, pencil.n_features, pencil.n_backgrounds) == (4, 9, 1)
    np.testing.assert_array_equal(
        dense.complement(vector)[0].errors_at(np.eye(4)[:, :1], np.array([3.0, 50.0])), [0.3, 2.0]
    )
    np.testing.assert_allclose(asked[0], inside[:, :1], atol=1e-14)
    magnitudes = [op.magnitude for op in products.complement(vector)[0].operators]
    np.testing.assert_allclose(magnitudes, np.linalg.norm(matrices, axis=(1, 2)))


def test_a_pencil_in_other_units(rng):
    matrices, rows = _covariances(rng, 3, 4), rng.standard_normal((3, 9, 4))
    factors = np.array([4.0, 0.25, 16.0])
    whole = factors[:, None, None] * matrices

    def errors_at(vectors, sizes):
        return np.sqrt(sizes) / 10

    inner = DensePencil(matrices, 4, [1.0, 1.0, 1.0], errors_at, list(rows))
    pencil, vectors = ScaledPencil(inner, factors), rng.standard_normal((4, 2))
    np.testing.assert_allclose(pencil.products(vectors), whole @ vectors)
    np.testing.assert_allclose(pencil.variances(vectors), np.einsum("dk,sde,ek->sk", vectors, whole, vectors))
    np.testing.assert_allclose(pencil.combine([1.0, -2.0, 0.5]).to_matrix(), whole[0] - 2 * whole[1] + whole[2] / 2)
    np.testing.assert_allclose(pencil.traces(), np.trace(whole, axis1=1, axis2=2))
    np.testing.assert_allclose(pencil.allowances, factors)
    np.testing.assert_allclose(pencil.errors_at(vectors, np.array([4.0, 4.0, 4.0])), [0.4, 0.1, 0.8])
    np.testing.assert_allclose(pencil.factor(2), 4.0 * rows[2].T)
    np.testing.assert_allclose(pencil.minimising(1, [0]).products(np.eye(4)), [-whole[2], whole[1]])
    assert pencil.in_memory
    complement, reflector = pencil.complement(np.eye(4)[0])
    inside = embed(np.eye(3), reflector)
    np.testing.assert_allclose(complement.products(np.eye(3)), inside.T @ whole @ inside, atol=1e-13)


@pytest.mark.parametrize(
    ("mean_variance", "power"),
    [(1.0, 0), (3.99, 0), (4.0, 1), (0.99, -1), (0.25, -1), (0.249, -2), (63.0, 2), (64.0, 3)],
)
def test_units_in_which_variances_lie_between_one_and_four(mean_variance, power):
    given = DensePencil(np.stack([mean_variance * np.eye(3), np.eye(3), np.zeros((3, 3))]))
    pencil, powers = canonical(given)
    np.testing.assert_array_equal(powers, [power, 0, 0])
    assert pencil.target.trace == mean_variance / 4.0**power * 3
    assert canonical(pencil)[1].tolist() == [0, 0, 0]
    if power == 0:
        assert pencil is given


def test_units_of_an_indefinite_matrix_are_those_of_its_norm():
    _, powers = canonical(DensePencil(np.stack([np.diag([16.0, -16.0]), np.eye(2)])))
    np.testing.assert_array_equal(powers, [2, 0])  # norm 22.6
    assert in_user_units(3.0, 2) == 48.0
    with pytest.raises(OverflowError, match="outside the range of float64"):
        in_user_units(1e300, 20)


def test_signs_make_the_largest_entry_positive():
    rows = np.array([[1.0, -3.0, 2.0], [-1.0, 3.0, -2.0], [2.0, -2.0, 0.0]])
    found = fix_signs(rows)
    np.testing.assert_array_equal(found, [[-1.0, 3.0, -2.0], [-1.0, 3.0, -2.0], [2.0, -2.0, 0.0]])
    assert rows[0, 1] == -3.0


# --- eigenpairs ---------------------------------------------------------------------------------------------------------


def test_lapack_that_gives_up_has_a_substitute(rng, monkeypatch):
    (matrix,) = _covariances(rng, 1, 6)
    values, vectors = np.linalg.eigh(matrix)
    for fails in ("raises", "returns fewer"):

        def eigh(*args, fails=fails, **options):
            if fails == "raises":
                raise direct.LinAlgError("no convergence")
            return values[-1:], vectors[:, -1:]

        monkeypatch.setattr(direct, "eigh", eigh)
        found = direct.direct_eigenpairs(matrix, 2)
        np.testing.assert_allclose(found.values, values[:-3:-1])
        np.testing.assert_allclose(np.abs(found.vectors.T @ vectors[:, :-3:-1]), np.eye(2), atol=1e-12)


def test_a_cholesky_factor_proves_a_bound():
    matrix = np.diag([3.0, 1.0, -5.0])
    assert direct.nothing_above(matrix, 3.0 + 1e-9)
    assert not direct.nothing_above(matrix, 3.0 - 1e-9)
    np.testing.assert_array_equal(matrix, np.diag([3.0, 1.0, -5.0]))


@pytest.mark.parametrize(
    ("values", "residual", "error"),
    [
        ([5.0, 3.0, 1.0], 0.1, 0.1 * 0.1 / 2.0),  # Kato and Temple: residual² / gap
        ([5.0, 4.95, 1.0], 0.1, 0.1 * 0.1 / 4.0),  # within the residual: no gap of its own
        ([5.0, 3.0], 3.0, 3.0),
        ([5.0], 0.5, 0.5),
        ([5.0, 5.0], 0.0, 0.0),
    ],
)
def test_how_far_an_eigenvalue_may_lie_above(values, residual, error):
    assert _eigenvalue_error(np.array(values), residual) == pytest.approx(error)


def test_pairs_that_need_another_pass():
    values, sizes = np.array([5.0, 3.0, 2.99, 0.0]), np.array([1e-8, 1e-9, 3e-10])
    # Sharp is 1e-8 of the distance to the next: 2e-8, 1e-10, 1e-10.
    np.testing.assert_array_equal(_unfinished(values, sizes, 5.0, None, 0.0), [False, True, True])
    np.testing.assert_array_equal(_unfinished(values, 1e-12 * sizes, 5.0, None, 0.0), [False, False, False])
    np.testing.assert_array_equal(_unfinished(values, sizes, 5.0, 1e-3, 2e-3), [True, True, True])
    np.testing.assert_array_equal(_unfinished(values, sizes, 5.0, 1e-3, 0.5e-3), [False, False, False])
    np.testing.assert_array_equal(_unfinished(values, sizes, 5.0, 0.0, 4e-14), [False, False, False])  # rounding


def test_how_many_vectors_are_remembered(rng):
    def most(size, n_backgrounds, block):
        pencil = SimpleNamespace(size=size, n_backgrounds=n_backgrounds)
        return Recycler._most_vectors(SimpleNamespace(_pencil=pencil), block)

    assert most(50, 1, 4) == 50
    assert most(10_000, 1, 4) == 120
    assert most(10_000, 1, 30) == 6 * 31
    assert most(1_000_000, 1, 4) == 1e9 // (8 * 1e6 * 3)
    assert most(10_000_000, 8, 4) == 30


def test_products_of_known_vectors_are_remembered(rng):
    matrices = _covariances(rng, 2, 8)
    calls = []

    class Counted(DensePencil):
        def products(self, vectors):
            calls.append(vectors.shape[1])
            return super().products(vectors)

    recycler = Recycler(Counted(matrices))
    recycler._span.extend(np.eye(8)[:, :3])
    inside = np.eye(8)[:, :3] @ rng.standard_normal((3, 2))
    np.testing.assert_allclose(recycler.known_products(inside), matrices @ inside, atol=1e-13)
    assert recycler.known_products(np.eye(8)[:, 2:4]) is None
    assert calls == [3]


def test_a_span_that_is_turned_and_cut_keeps_its_products(rng):
    matrices = _covariances(rng, 3, 40)
    span = Span(DensePencil(matrices))
    for _ in range(12):  # beyond the first allocation, several times
        assert span.extend(rng.standard_normal((40, 3))) == 3
    np.testing.assert_allclose(span.images, matrices @ span.basis, atol=1e-12)
    turn = np.linalg.qr(rng.standard_normal((36, 5)))[0]
    expected = span.basis @ turn
    span.restrict(turn)
    np.testing.assert_allclose(span.basis, expected, atol=1e-13)
    np.testing.assert_allclose(span.images, matrices @ expected, atol=1e-12)
    np.testing.assert_allclose(span.matrices, expected.T @ matrices @ expected, atol=1e-12)
    assert span.extend(expected) == 0
    weights = np.array([1.0, -0.5, 0.25])
    values, coordinates = span.ritz(weights)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(np.tensordot(weights, span.matrices, axes=1))[::-1])
    contrast = np.tensordot(weights, matrices, axes=1)
    np.testing.assert_allclose(span.image(weights, coordinates), contrast @ span.basis @ coordinates, atol=1e-12)


def test_dependent_directions_are_left_out(rng):
    vectors = np.array([[1.0, 1.0, 0.0], [0.0, 0.5e-7, 0.0], [0.0, 0.0, 2e-7]])
    assert orthonormal(vectors).shape == (3, 2)
    assert orthonormal(vectors, 1e-12).shape == (3, 3)
    assert orthonormal(vectors, 1e-3).shape == (3, 1)


def _few_rows(n, size=9, background=9):
    rng = np.random.default_rng(3)
    rows = [rng.standard_normal((n, size)), rng.standard_normal((background, size))]
    return Eigensolver(DensePencil(np.stack([r.T @ r for r in rows]), rows=rows)), rows


@pytest.mark.parametrize(("n", "k", "used"), [(6, 2, True), (7, 2, False), (3, 3, True), (3, 4, False)])
def test_eigenpairs_of_few_rows_are_those_of_their_products(n, k, used):
    """Up to two thirds as many rows as features, and as many as pairs that are asked for."""
    eigen, rows = _few_rows(n)
    found = eigen.top([0.5, 0.0], k, accuracy=0.1)
    assert found.loose is used
    values, vectors = np.linalg.eigh(0.5 * rows[0].T @ rows[0])
    np.testing.assert_allclose(found.values, values[::-1][:k], atol=1e-12)
    np.testing.assert_allclose(np.abs(found.vectors.T @ vectors[:, ::-1][:, :k])[:2, :2], np.eye(2), atol=1e-9)


def test_combinations_of_rows_are_not_those_of_few():
    eigen, rows = _few_rows(3)
    assert not eigen.top([1.0, -0.5], 2, accuracy=0.1).loose
    assert not eigen.top([1.0, 0.0], 2).loose
    assert not eigen.top([-1.0, 0.0], 2, accuracy=0.1).loose
    rows[0][2] = rows[0][1]  # a rank that is too small
    again = Eigensolver(DensePencil(np.stack([r.T @ r for r in rows]), rows=rows))
    assert not again.top([1.0, 0.0], 3, accuracy=0.1).loose


def test_bounds_on_eigenvalues_of_products_are_not_proven():
    """A matrix that is known through products alone has no Cholesky factor."""
    (matrix,) = _covariances(np.random.default_rng(0), 1, 5)
    eigen = Eigensolver(OperatorPencil([LinearCombination((DenseCovariance(matrix),), (1.0,))], 5))
    assert eigen.bound([1.0], 2.0, 0.1) == (2.0, False)
    assert not eigen.direct


# --- the product of rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 4, 6, 9])
@pytest.mark.parametrize("weights", [(1.0, 0.0), (1.0, -0.7), (1.0, -50.0)])
def test_eigenpairs_of_a_product_of_rows(rng, k, weights):
    """Two rows of each dataset in nine dimensions: at most two positive, five that are 0, two negative eigenvalues."""
    rows = rng.standard_normal((4, 9))
    pencil = product_svd.ProductPencil(product_svd.StackedRows.of(rows), stacked([2, 2]))
    operator = pencil.combine(weights)
    whole = rows.T @ (np.repeat(weights, 2)[:, np.newaxis] * rows)
    found = operator.own_eigenpairs(k)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(whole)[::-1][:k], atol=1e-11)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(whole @ found.vectors, found.vectors * found.values, atol=1e-10)
    assert operator.trace == pytest.approx(whole.trace())
    sizes = np.einsum("np,np->n", rows, rows)
    assert operator.magnitude == pytest.approx(np.abs(np.repeat(weights, 2)) @ sizes)
    units = 4.0 * (rounding.one_sum(4) + rounding.one_sum(9) + 16.0)
    assert operator.allowance == pytest.approx(operator.magnitude * (UNIT * units + 1e-13))
    np.testing.assert_allclose(operator @ np.eye(9), whole, atol=1e-13)
    np.testing.assert_allclose(pencil.products(np.eye(9))[1], rows[2:].T @ rows[2:], atol=1e-13)


def test_equal_singular_values_of_opposite_sign_are_told_apart():
    """Rows along two axes, one counted positive, one negative, of one size."""
    pencil = product_svd.ProductPencil(product_svd.StackedRows.of(np.eye(2)), stacked([1, 1]))
    turned = product_svd.StackedRows.of(np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2))
    for one in (pencil, product_svd.ProductPencil(turned, stacked([1, 1]))):
        np.testing.assert_allclose(one.combine([1.0, -1.0]).own_eigenpairs(2).values, [1.0, -1.0], atol=1e-12)


# --- the reduced form ---------------------------------------------------------------------------------------------------


def test_datasets_are_balanced_to_trace_one():
    gram = np.diag([2.0, 2.0, 3.0, 1.0, 2.0, 0.0, 0.0])
    weights, traces = reduced._balance(gram, [slice(0, 2), slice(2, 5), slice(5, 7)])
    np.testing.assert_allclose(weights, [0.5, 0.5, *[1 / np.sqrt(6)] * 3, 0.0, 0.0])
    np.testing.assert_allclose(traces, [4.0, 3.0, 0.0])  # over n - 1


def test_norms_by_a_few_steps_are_not_too_small(rng):
    """The power method from below, with half as much again; a matrix of trace 1 has none above 1."""
    for spread in (0.01, 0.5, 3.0):
        (matrix,) = _covariances(rng, 1, 12)
        matrix = matrix + spread * np.eye(12)
        matrix /= matrix.trace()
        true = np.linalg.eigvalsh(matrix)[-1]
        assert true <= reduced._norm(matrix) <= 1.5 * true + 1e-12
    assert reduced._norm(np.diag([1.0, 0.0])) == 1.0
    assert reduced._norm(np.zeros((2, 2))) == 0.0
    lower = np.asfortranarray(np.tril(rng.standard_normal((12, 12))) + 3 * np.eye(12))
    true = 1 / np.linalg.svd(lower, compute_uv=False)[-1]
    assert 0.9 * true <= reduced._inverse_norm(lower) <= 1.5 * true * (1 + 1e-9)
    assert reduced._inverse_norm(np.zeros((0, 0))) == 0.0


def test_a_basis_of_vectors_that_depend_on_each_other(rng):
    vectors = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 4))
    basis, coefficients = reduced._basis(vectors)
    assert basis.shape == (6, 2)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(basis @ coefficients, vectors, atol=1e-12)


def test_a_complement_is_orthonormal_and_orthogonal(rng):
    basis = np.linalg.qr(rng.standard_normal((7, 3)))[0]
    found = reduced._complement(basis, 2)
    np.testing.assert_allclose(found.T @ found, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(basis.T @ found, 0.0, atol=1e-15)


@pytest.mark.parametrize("repeated", [False, True])
def test_the_reduced_form_has_the_covariances_and_room_for_their_error(rng, repeated):
    """Both ways to make it: products in the working space equal those of the rows, within what is allowed."""
    tables = [rng.standard_normal((5, 40)), 3.0 * rng.standard_normal((6, 40))]
    if repeated:
        tables = [np.vstack([table, table[:2]]) for table in tables]
    source = MemorySource(tables, ["a", "b"])
    held = reduced.build(source, How(True, False, n_empty=2))
    sharper = held.sharper()
    for form in (held, sharper):
        size = form.pencil.size
        lifted = form.lift(np.eye(size))
        np.testing.assert_allclose(lifted @ lifted.T, np.eye(size), atol=1e-10)
        for table, operator in zip(tables, form.pencil.operators, strict=True):
            true = np.cov(table.T)
            error = np.linalg.norm(lifted @ true @ lifted.T - operator.to_matrix(), 2)
            assert error <= max(operator.allowance, 1e-13 * true.trace())
            assert 1e-16 * true.trace() < operator.allowance < 1e-11 * true.trace()
            assert operator.trace == pytest.approx(true.trace(), rel=1e-12)
        at = form.pencil.errors_at(np.eye(size)[:, :1], form.pencil.variances(np.eye(size)[:, :1])[:, 0])
        assert np.all(at > 0)
        assert np.all(at <= form.pencil.allowances)


def test_room_of_the_sharper_form_by_hand(rng):
    """Each row is off by 4 (sqrt p + sqrt N) units of its own size, twice, and products of 5 + 6 rows as everywhere."""
    tables = [rng.standard_normal((5, 40)), rng.standard_normal((6, 40))]
    form = reduced.build(MemorySource(tables, ["a", "b"]), How(True, False)).sharper()
    for table, allowance in zip(tables, form.pencil.allowances, strict=True):
        true = np.cov(table.T)
        share = 2 * UNIT * (4 * np.sqrt(40) + 4 * np.sqrt(11))
        products = UNIT * (2 * 4 * np.sqrt(11) + 16) * np.linalg.norm(true)
        assert allowance == pytest.approx(share * true.trace() + products, rel=1e-9)
    sizes = np.array([2.0, 3.0])
    at = form.pencil.errors_at(np.eye(form.pencil.size)[:, :1], sizes)
    for table, size, error in zip(tables, sizes, at, strict=True):
        true = np.cov(table.T)
        products = UNIT * (2 * 4 * np.sqrt(11) + 16) * np.linalg.norm(true)
        assert error == pytest.approx(share * np.sqrt(size * true.trace()) + products, rel=1e-9)


def test_room_of_the_reduced_form_is_that_of_its_gram_matrix(rng):
    """Twice 1.1 |E| / s times the root of the norm, of rows of trace 1; s is that of nine of the rows, smaller by little."""
    tables = [rng.standard_normal((5, 40)), rng.standard_normal((6, 40))]
    form = reduced.build(MemorySource(tables, ["a", "b"]), How(True, False))
    balanced = [(table - table.mean(axis=0)) / np.sqrt(np.cov(table.T).trace() * (len(table) - 1)) for table in tables]
    sizes = np.linalg.svd(np.vstack(balanced), compute_uv=False)[:9]  # centring takes one of each
    gram = UNIT * (4 * np.sqrt(40) + 4 * np.sqrt(11) + 16) * np.linalg.norm(np.vstack(balanced) @ np.vstack(balanced).T)
    for table, rows, allowance in zip(tables, balanced, form.pencil.allowances, strict=True):
        true = np.cov(table.T)
        products = UNIT * (2 * 4 * np.sqrt(11) + 16) * np.linalg.norm(true)
        room = 2 * 1.1 * gram / sizes[-1] * np.linalg.norm(rows, 2) * true.trace()
        assert 0.9 * room <= allowance - products <= 10 * room


def test_rows_that_repeat_are_told():
    first = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 2.0], [3.0, 5.0]])
    np.testing.assert_array_equal(first_equal([first, first[:3]]), [0, 1, 0, 0, 4, 5, 6, 5])
    wide = np.zeros((3, 64))
    wide[1, 5] = 1.0  # in a column that is not looked at first
    np.testing.assert_array_equal(first_equal([wide]), [0, 1, 0])
    np.testing.assert_array_equal(first_equal([np.array([[0.0], [-0.0]])]), [0, 1])


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False, "target"])
@pytest.mark.parametrize("mean", [0.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_passes_over_blocks_of_columns(rng, center, scale, mean, dtype):
    tables = [(rng.standard_normal((n, 150)) * 2 + mean).astype(dtype) for n in (4, 5)]
    passes = ColumnBlocks(tables, center=center, scale=scale, parallel=False)
    gram = passes.gram()
    z = []
    for table in tables:
        rows = table.astype(float) - (table.astype(float).mean(axis=0) if center else 0.0)
        own = tables[0].astype(float) - (tables[0].astype(float).mean(axis=0) if center else 0.0)
        by = {True: rows, "target": own, False: None}[scale]
        z.append(rows if by is None else rows / np.sqrt((by**2).sum(axis=0) / (len(by) - 1)))
    z = np.vstack(z)
    tolerance = 1e-9 * np.abs(z).max() ** 2 * (1 if mean == 0 else 1e3)
    np.testing.assert_allclose(gram, z @ z.T, atol=150 * tolerance)
    np.testing.assert_allclose(passes.standardised(), z, atol=tolerance)
    vectors, weights = rng.standard_normal((150, 2)), rng.standard_normal((9, 2))
    np.testing.assert_allclose(passes.product(vectors), z @ vectors, atol=150 * tolerance)
    # Components of float32 data are float32, where means are small.
    single = 1e-5 * np.abs(z).max() if dtype == np.float32 and mean == 0 else 0.0
    np.testing.assert_allclose(passes.transposed_product(weights), (z.T @ weights).T, atol=9 * tolerance + single)


# --- seen through the leading directions --------------------------------------------------------------------------------


def test_a_pencil_on_leading_directions(rng):
    matrices, basis = _covariances(rng, 3, 8), np.linalg.qr(rng.standard_normal((8, 3)))[0]
    whole = DensePencil(matrices, 11, [1e-3, 2e-3, 3e-3], lambda vectors, sizes: np.full(3, 1e-5) * vectors.shape[1])
    found = LeadingPencil(whole, basis)
    inside = basis.T @ matrices @ basis
    np.testing.assert_allclose(found.products(np.eye(3)), inside, atol=1e-14)
    np.testing.assert_allclose(found.traces(), np.trace(matrices, axis1=1, axis2=2))  # those of the whole data
    room = 2 * UNIT * 4 * np.sqrt(8) * np.linalg.norm(matrices @ basis, axis=(1, 2))
    np.testing.assert_allclose(found.allowances - whole.allowances, room, rtol=1e-3)
    at = found.errors_at(np.eye(3)[:, :2], np.ones(3))
    np.testing.assert_allclose(at - 2e-5, room, rtol=1e-6)
    assert (found.size, found.n_features) == (3, 11)
    first = found.first(2)
    np.testing.assert_allclose(first.products(np.eye(2)), inside[:, :2, :2], atol=1e-14)
    np.testing.assert_allclose(first.traces(), found.traces())
    np.testing.assert_allclose(first.allowances, found.allowances)
    np.testing.assert_allclose(first.errors_at(np.eye(2)[:, :1], np.ones(3)) - 1e-5, room, rtol=1e-6)


@pytest.mark.parametrize("known", ["matrix", "products"])
@pytest.mark.parametrize("q", [1, 3, 8, 12])
def test_leading_vectors_are_those_of_the_target(rng, known, q):
    axes = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    target = (axes * 4.0 ** -np.arange(8)) @ axes.T  # well apart: a few passes find them
    operators = [DenseCovariance(target), DenseCovariance(np.eye(8))]
    pencil = DensePencil(np.stack([target, np.eye(8)])) if known == "matrix" else OperatorPencil(operators, 8)
    found = leading_vectors(pencil, q)
    assert found.shape == (8, min(q, 8))
    np.testing.assert_allclose(np.abs(found.T @ axes[:, :q]), np.eye(min(q, 8)), atol=1e-6)


def test_a_restricted_representation_leads_back_to_features(rng):
    matrices = _covariances(rng, 2, 6)
    pencil = DensePencil(matrices)
    again = Representation("covariance", DensePencil(4.0 * matrices), ())
    held = Representation("covariance", pencil, (), sharper=lambda: again)
    small = restrict(held, 2)
    leading = np.linalg.eigh(matrices[0])[1][:, :-3:-1]
    np.testing.assert_allclose(np.abs(small.lift(np.eye(2)) @ leading), np.eye(2), atol=1e-9)
    np.testing.assert_allclose(small.sharper().pencil.traces(), 4.0 * pencil.traces())
    assert small.sharper().pencil.size == 2
    assert restrict(again, 3).sharper is None


# --- units of the data --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "moments"])
def test_tables_whose_columns_are_divided(rng, kind):
    rows = rng.standard_normal((6, 3)) * [1.0, 1e3, 1e-3]
    powers = np.array([1, -2, 3])
    if kind == "dense":
        np.testing.assert_array_equal(divided(rows, powers), rows / 2.0**powers)
        np.testing.assert_array_equal(_largest(rows), np.abs(rows).max(axis=0))
    elif kind == "sparse":
        found = divided(sparse.csr_matrix(rows), powers)
        np.testing.assert_array_equal(found.toarray(), rows / 2.0**powers)
        np.testing.assert_array_equal(_largest(sparse.csr_matrix(rows)), np.abs(rows).max(axis=0))
    else:
        found = divided(Moments.of(rows), powers)
        np.testing.assert_allclose(found.covariance(), np.cov((rows / 2.0**powers).T), rtol=1e-12)
        assert np.all(_largest(Moments.of(rows)) >= np.abs(rows).max(axis=0) / np.sqrt(6))
        assert _largest(Moments.of(1e-160 * rows)) is None  # the digits of squares are gone
    assert _largest("no table") is None


def test_moderate_units_are_those_of_datasets_and_columns():
    first, second = np.array([[4.0, 0.0], [-8.0, 0.0]]), np.array([[1.0, 64.0], [2.0, -3.0]])
    both = to_moderate([first, second], True)
    np.testing.assert_array_equal(both.columns, [[4, 0], [2, 7]])
    assert both.datasets == (0, 0)
    for table, powers, given in zip(both.tables, both.columns, (first, second), strict=True):
        np.testing.assert_array_equal(table * 2.0**powers, given)
    own = to_moderate([first, second], False)
    assert own.datasets == (4, 7)
    np.testing.assert_array_equal(own.columns, [[4, 4], [7, 7]])
    target = to_moderate([first, second], "target")
    assert target.datasets == (0, 7)  # columns by the target's own, then the largest of what is left
    np.testing.assert_array_equal(target.columns, [[4, 0], [11, 7]])
    assert to_moderate([first, "no table"], True) is None
    assert to_moderate([np.array([[np.inf, 1.0]])], True) is None


def test_rows_in_moderate_units_are_left_alone():
    moderate, large = np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[1e70, 1.0], [2e70, 3.0]])
    assert like_powers([moderate, moderate], each_dataset=True, each_feature=True) is None
    power = int(np.frexp(2e70)[1])
    each = like_powers([moderate, large], each_dataset=True, each_feature=True)
    np.testing.assert_array_equal(each, [[2, 0], [power, 2]])
    shared = like_powers([moderate, large], each_dataset=False, each_feature=True)
    np.testing.assert_array_equal(shared, [[power, 2], [power, 2]])
    one = like_powers([moderate, large], each_dataset=True, each_feature=False)
    np.testing.assert_array_equal(one, [[2, 2], [power, power]])
    assert like_powers([1e-61 * moderate], each_dataset=True, each_feature=True) is not None


# --- what datasets are standardised by ----------------------------------------------------------------------------------


def _moments(rows):
    rows = np.asarray(rows, dtype=float)
    mean = rows.mean(axis=0)
    full = np.full(rows.shape[1], len(rows))
    return ColumnMoments(len(rows), full, mean, np.zeros_like(mean), ((rows - mean) ** 2).sum(axis=0), rows.dtype)


def test_moments_of_columns_are_merged_and_joined(rng):
    a, b = rng.standard_normal((5, 3)) + 10.0, rng.standard_normal((7, 3))
    merged, whole = _moments(a).merge(_moments(b)), _moments(np.vstack([a, b]))
    for name in ("n", "stored", "mean", "squares"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-12)
    empty = ColumnMoments(0, np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.dtype(float))
    one = _moments(a)
    assert one.merge(empty) is one
    assert empty.merge(one) is one
    side = beside([_moments(a), _moments(a + 1.0)])
    np.testing.assert_allclose(side.mean, np.append(a.mean(axis=0), a.mean(axis=0) + 1))
    assert side.n == 5


def test_means_far_from_zero_are_taken_out():
    """More than four deviations, and a value in every row."""
    m = ColumnMoments(
        5, np.array([5, 5, 4]), np.array([4.1, 3.9, 9.0]), np.zeros(3), np.array([4.0, 4.0, 4.0]), np.dtype(float)
    )
    np.testing.assert_array_equal(m.far_origin(), [4.1, 0.0, 0.0])
    near = ColumnMoments(5, np.array([5]), np.array([3.9]), np.zeros(1), np.array([4.0]), np.dtype(float))
    assert near.far_origin() is None


def test_constant_columns_have_deviation_zero():
    found = deviations(np.array([8.0, 0.0, 1e-40]), np.array([1.0, 5.0, 5.0]), 3, np.dtype(float))
    np.testing.assert_array_equal(found, [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(inverse(found), [0.5, 0.0, 0.0])
    single = deviations(np.array([2 * (2.0**-24) ** 2]), np.array([1.0]), 3, np.dtype(np.float32))
    assert single[0] == 0.0  # less than the distance to the next float32
    assert deviations(np.array([2 * (2.0**-24) ** 2]), np.array([1.0]), 3, np.dtype(float))[0] == 2.0**-24


def test_standards_by_each_dataset_or_by_the_target(rng):
    tables = [rng.standard_normal((6, 3)) + 1.0, 3.0 * rng.standard_normal((5, 3))]
    moments = [_moments(t) for t in tables]
    own = [t.std(axis=0, ddof=1) for t in tables]
    each = standards(moments, center=True, scale=True)
    for standard, table, deviation in zip(each, tables, own, strict=True):
        np.testing.assert_allclose(standard.deviation, deviation)
        np.testing.assert_allclose(standard.mean, table.mean(axis=0))
        assert standard.spread is None
        np.testing.assert_allclose(standard.observed.deviation, deviation)
        block = table.copy()
        standard.apply(block)
        np.testing.assert_allclose(block, (table - table.mean(axis=0)) / deviation, atol=1e-14)
    target = standards(moments, center=True, scale="target")
    np.testing.assert_allclose(target[1].deviation, own[0])
    np.testing.assert_allclose(target[1].observed.deviation, own[1])
    assert target[0].spread is None
    plain = standards(moments, center=True, scale=False)
    assert plain[0].deviation is None
    np.testing.assert_array_equal(plain[0].factor, 1.0)
    np.testing.assert_array_equal(plain[0].scale, 1.0)
    np.testing.assert_allclose(plain[1].observed.deviation, own[1])
    assert plain[1].observed.n == 5
    raw = standards(moments, center=False, scale=True)
    roots = np.sqrt((tables[0] ** 2).sum(axis=0) / 5)
    np.testing.assert_allclose(raw[0].deviation, roots)
    np.testing.assert_array_equal(raw[0].mean, 0.0)
    assert raw[0].observed is None
    assert Standard.none(3).observed is None


def test_standards_are_cut_joined_and_brought_to_units():
    one = Standard(True, np.array([1.0, 2.0]), np.array([0.1, 0.2]), np.array([3.0, 0.0]), 5, np.array([7.0, 8.0]))
    assert one.n_constant == 1
    assert Standard(True, np.zeros(2), np.zeros(2), None).n_constant == 0
    part = one.part(slice(1, 2))
    assert (part.mean.tolist(), part.rest.tolist(), part.deviation.tolist()) == ([2.0], [0.2], [0.0])
    units = one.in_units(np.array([1, 2]))
    np.testing.assert_allclose(
        [units.mean, units.rest, units.deviation, units.spread], [[2, 8], [0.2, 0.8], [6, 0], [14, 32]]
    )
    assert units.n == 5
    both = Standard.beside([one, units])
    np.testing.assert_allclose(both.mean, [1, 2, 2, 8])
    np.testing.assert_allclose(both.deviation, [3, 0, 6, 0])
    np.testing.assert_allclose(both.spread, [7, 8, 14, 32])
    assert both.n == 5
    gaps = Standard(True, np.zeros(2), np.zeros(2), None, np.array([4, 5]))
    assert Standard.beside([gaps, gaps]).n.tolist() == [4, 5, 4, 5]
    assert Standard.beside([gaps, gaps]).deviation is None


@pytest.mark.parametrize(
    ("scale", "which", "refused"),
    [(False, 0, True), (False, 1, True), ("target", 1, True), ("target", 0, False), (True, 0, False), (True, 1, False)],
)
def test_totals_are_checked_where_columns_are_not(scale, which, refused):
    squares = [np.full(2, 1.0), np.full(2, 1.0)]
    squares[which] = np.full(2, 0.9e120)  # each in range, both together not
    moments = [ColumnMoments(3, np.full(2, 3), np.zeros(2), np.zeros(2), s, np.dtype(float)) for s in squares]
    given = [Standard(True, np.zeros(2), np.zeros(2), None)] * 2
    if refused:
        with pytest.raises(OutOfRangeError):
            check_totals(moments, given, scale)
    else:
        check_totals(moments, given, scale)


# --- laws of rows with gaps ---------------------------------------------------------------------------------------------


def _factor_law(rng, p=5, r=2):
    loadings, noise = rng.standard_normal((p, r)), rng.uniform(0.2, 1.0, p)
    origin, unit = np.arange(1.0, p + 1), np.arange(1.0, p + 1) / 2
    return FactorLaw(origin, unit, 9, np.full(p, 9), 3, True, 0.1 * np.ones(p), loadings, noise)


def _full_law(rng, p=5):
    (sigma,) = _covariances(rng, 1, p)
    origin, unit = np.arange(1.0, p + 1), np.arange(1.0, p + 1) / 2
    return FullLaw(origin, unit, 9, np.full(p, 9), 3, True, 0.1 * np.ones(p), sigma)


@pytest.mark.parametrize("law", [_factor_law, _full_law])
def test_gaps_are_filled_by_the_conditional_law(rng, law):
    """Means and covariances of what is missing given what is there, by the formula for one normal row after the other."""
    law: NormalLaw = law(rng)
    mean, covariance = law.mean, law.covariance
    np.testing.assert_allclose(mean, law.origin + 0.1 * law.unit)
    rows = rng.standard_normal((7, 5)) + 2.0
    rows[rng.random(rows.shape) < 0.4] = np.nan
    rows[0], rows[1] = np.arange(5.0), np.nan
    rows[1, 2] = 1.0
    found, total = law.complete(rows), np.zeros((5, 5))
    directions = rng.standard_normal((5, 2))
    for i, row in enumerate(rows):
        m, o = np.isnan(row), ~np.isnan(row)
        slope = covariance[np.ix_(m, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
        filled = row.copy()
        filled[m] = mean[m] + slope @ (row[o] - mean[o])
        own = np.zeros((5, 5))
        own[np.ix_(m, m)] = covariance[np.ix_(m, m)] - slope @ covariance[np.ix_(o, m)]
        total += own
        np.testing.assert_allclose(found.rows[i], filled, atol=1e-11)
        np.testing.assert_array_equal(found.rows[i][o], row[o])
        np.testing.assert_allclose(found.variances[i], own.diagonal(), atol=1e-11)
        np.testing.assert_allclose(found.along(directions)[i], np.diag(directions.T @ own @ directions), atol=1e-11)
    np.testing.assert_allclose(found.scatter(), total, atol=1e-10)
    drawn = np.stack([found.drawn(np.random.default_rng(seed)) for seed in range(4000)])
    np.testing.assert_array_equal(drawn[:, ~np.isnan(rows)], np.tile(rows[~np.isnan(rows)], (4000, 1)))
    # Standard errors of 4 000 draws: a sixtieth of the deviation, and a 45th of the variance; five of them.
    size = np.sqrt(found.variances)
    assert np.all(np.abs(drawn.mean(axis=0) - found.rows) <= 5 * size / 63 + 1e-9)
    assert np.all(np.abs(drawn.var(axis=0) - found.variances) <= 5 * size**2 / 44 + 1e-9)
    scatter = np.einsum("sni,snj->ij", drawn - found.rows, drawn - found.rows) / 4000
    np.testing.assert_allclose(scatter, total, atol=0.06 * total.diagonal().max())


def test_features_that_do_not_vary_take_no_part(rng):
    law = _full_law(rng, 2)
    law = FullLaw(
        np.array([5.0, 1.0, 2.0]), np.array([0.0, 2.0, 3.0]), 9, np.full(3, 9), 3, True, np.zeros(2), law.sigma
    )
    np.testing.assert_array_equal(law.varies, [1, 2])
    np.testing.assert_array_equal(law.covariance[0], 0.0)
    np.testing.assert_allclose(law.covariance[1:, 1:], law.sigma * [[4.0, 6.0], [6.0, 9.0]])
    found = law.complete(np.array([[np.nan, 1.0, np.nan]]))
    assert found.rows[0, 0] == 5.0
    assert found.variances[0, 0] == found.variances[0, 1] == 0.0
    assert found.variances[0, 2] > 0
    np.testing.assert_array_equal(found.drawn(rng)[0, :2], [5.0, 1.0])


def test_factors_are_expected_by_the_formula(rng):
    law, rows = _factor_law(rng), rng.standard_normal((6, 5))
    weight = (rng.random((6, 5)) < 0.7).astype(float)
    weight[:, 0] = 1.0
    for given in (weight, np.ones_like(weight)):
        scores, spread = expect_factors(rows * given, given, law.shift, law.loadings, law.noise)
        for i in range(6):
            o = given[i] > 0
            own, noise = law.loadings[o], law.noise[o]
            inner = np.linalg.inv(np.eye(2) + own.T @ (own / noise[:, np.newaxis]))
            np.testing.assert_allclose(spread[i], inner)
            np.testing.assert_allclose(scores[i], inner @ own.T @ ((rows[i, o] - 0.1) / noise), atol=1e-12)


def test_features_are_regressed_on_expected_factors(rng):
    """Ridge regression, feature by feature, on the rows that have it; the spread of the factors counts as data."""
    rows, scores = rng.standard_normal((8, 3)), rng.standard_normal((8, 2))
    weight = np.ones((8, 3))
    weight[:3, 1] = 0.0
    spread = np.stack([m @ m.T for m in 0.3 * rng.standard_normal((8, 2, 2))])
    for given in (weight, np.ones_like(weight)):
        mean, loadings, noise = _regress(rows * given, given, scores, spread, 0.7)
        for j in range(3):
            o = given[:, j] > 0
            x = np.column_stack([scores[o], np.ones(o.sum())])
            moments = x.T @ x + np.pad(spread[o].sum(axis=0) + 0.7 * np.eye(2), (0, 1))
            beta = np.linalg.solve(moments, x.T @ rows[o, j])
            np.testing.assert_allclose([*loadings[j], mean[j]], beta, atol=1e-12)
            left = (rows[o, j] ** 2).sum() - beta @ x.T @ rows[o, j]
            assert noise[j] == pytest.approx(max(left / o.sum(), 0.01))
    exact = _regress(np.ones((4, 1)), np.ones((4, 1)), np.zeros((4, 1)), np.zeros((4, 1, 1)), 1.0)
    assert exact[2][0] == 0.01  # of noise there is a hundredth at least


def test_where_the_steps_begin(rng):
    rows = rng.standard_normal((9, 4))
    mean, loadings, noise = _start_of_factors(rows, np.ones((9, 4)), 2)
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / 9)
    np.testing.assert_allclose(mean, rows.mean(axis=0))
    np.testing.assert_allclose(loadings @ loadings.T, (vectors[:, 2:] * values[2:]) @ vectors[:, 2:].T, atol=1e-12)
    np.testing.assert_allclose(noise, np.maximum(1 - (loadings**2).sum(axis=1), 0.1))
    start = _start(centred, np.arange(1.0, 5.0), 9, 0.5)
    expected = centred.T @ centred / 9
    np.fill_diagonal(expected, np.arange(1.0, 5.0))
    np.testing.assert_allclose(start, (expected + 0.5 * np.diag(np.arange(1.0, 5.0))) / 1.5)


def test_how_far_a_covariance_of_factors_moved(rng):
    old, new = rng.standard_normal((2, 5, 2))
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    noise = np.ones(5)
    assert _moved((old, noise), (old @ turn, noise)) < 1e-7  # turned among themselves
    expected = np.linalg.norm(old @ old.T - new @ new.T) / np.linalg.norm(new @ new.T)
    assert _moved((old, noise), (new, noise)) == pytest.approx(expected, rel=1e-9)
    assert _moved((old, noise), (old, np.array([4.0, 1.0, 1.0, 1.0, 5.0]))) == pytest.approx(np.sqrt(5.0))


def test_steps_of_the_factor_model_end_at_their_limit(rng):
    values = rng.standard_normal((6, 8))
    few = fit_factors(values, 1, tol=1e-12, max_iter=3)
    assert (few.n_iter, few.converged) == (3, False)
    assert fit_factors(values, 1, tol=1e9).n_iter == 1


def test_a_precision_is_an_inverse(rng):
    (sigma,) = _covariances(rng, 1, 5)
    np.testing.assert_allclose(precision(sigma + np.eye(5)), np.linalg.inv(sigma + np.eye(5)), atol=1e-13)


# --- backgrounds without any size ---------------------------------------------------------------------------------------


def test_a_background_of_zeros_beside_one_that_is_out_of_reach():
    """Figures of the message stay finite: nothing varies in the first, and the second cannot be so small."""
    with pytest.raises(InfeasibleBoundsError, match=r"'tight' has bound 0\.5, the smallest attainable is 1\. "):
        solve_dual(np.eye(3), {"none": np.zeros((3, 3)), "tight": np.diag([1.0, 2.0, 3.0])}, [1.0, 0.5])


# --- sums of parts, files of moments, means of large numbers ------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_parts_are_all_added_and_left_alone(rng, n):
    parts = list(rng.standard_normal((n, 2, 3)))
    kept = [part.copy() for part in parts]
    np.testing.assert_allclose(sum_of(parts), np.sum(kept, axis=0), rtol=1e-14)
    np.testing.assert_array_equal(parts, kept)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 70])
def test_trees_of_parts_have_all_of_them(n):
    dask = pytest.importorskip("dask")
    found = tree([dask.delayed([i]) for i in range(n)], lambda parts: [one for part in parts for one in part])
    assert sorted(found.compute(scheduler="synchronous")) == list(range(n))


@pytest.mark.parametrize(
    ("part", "value", "told"),
    [
        ("rest", np.zeros(2), r"inconsistent shapes \(3,\), \(3, 3\)"),
        ("scatter", np.zeros((2, 2)), r"inconsistent shapes \(3,\), \(2, 2\)"),
        ("mean", np.zeros((3, 1)), r"inconsistent shapes \(3, 1\), \(3, 3\)"),
        ("n", -1, "inconsistent shapes"),
        ("mean", np.zeros(3, dtype=int), "does not hold numbers where Moments.save writes them"),
        ("rest", np.array(["a", "b", "c"]), "does not hold numbers"),
        ("dtype", "int64", "does not hold numbers"),
    ],
)
def test_files_of_moments_whose_parts_do_not_fit_together(tmp_path, rng, part, value, told):
    Moments.of(rng.standard_normal((9, 3)) + 1e6).save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        held = dict(file)
    assert held["rest"].shape == (3,)
    np.savez(tmp_path / "b.npz", **{**held, part: value})
    with pytest.raises(ValueError, match=told):
        Moments.load(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", **held)
    assert Moments.load(tmp_path / "c.npz").n == 9


def test_laws_of_large_numbers_have_their_means(rng):
    """Means of 1e9 with a spread of 1: the sum of a thousand is rounded by more than a thousandth, and that is put right."""
    rows = 1e9 + rng.standard_normal((1000, 3))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[0] = 1e9 + 0.5
    values, (mean, unit, n, n_values) = _standardised(rows, np.dtype(float))
    there = ~np.isnan(rows)
    for j in range(3):
        exact = [Fraction(x) for x in rows[there[:, j], j]]
        middle = sum(exact) / len(exact)
        assert mean[j] == pytest.approx(float(middle), rel=0, abs=2e-7)  # floats of this size are 1.2e-7 apart
        spread = float(sum((x - middle) ** 2 for x in exact) / len(exact)) ** 0.5
        assert unit[j] == pytest.approx(spread, rel=1e-9)
        np.testing.assert_allclose(values[there[:, j], j], [float(x - middle) / spread for x in exact], atol=2e-7)
    assert (n, n_values.tolist()) == (1000, there.sum(axis=0).tolist())
