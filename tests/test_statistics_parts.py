"""The pieces of inference and of the estimators, one by one, against numpy on the rows, a law that is known, or by hand."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from scipy.stats import t as student_law

from uca import CPCA, UCA, InfeasibleBoundsError, SparseUCA, solve_dual
from uca._shown import Shown
from uca.estimators.crossfit import Grid, _check_enough, _sums_of_squares
from uca.estimators.expected import Expected, Inside, Solution, _factor, expected
from uca.estimators.expected_words import about, in_both, is_far
from uca.estimators.gaps import check_missing, seldom_together
from uca.estimators.methods import methods_text
from uca.estimators.patterns import correlations, patterns
from uca.estimators.reference import _kurtosis, _whitening
from uca.estimators.restriction import Restriction, TradeOff, _told, check_bound_on
from uca.estimators.restriction import _factor as _factor_of
from uca.estimators.steps import check_steps
from uca.estimators.summary import exceeds_bound
from uca.inference import bootstrap, choose_restriction, uniqueness_test
from uca.inference.cautions import _correlations, _neighbours, _tails, by_subject
from uca.inference.exchange import _dealt, _standardised, share_as_far, who_takes_its_place
from uca.inference.groups_left_out import _variance, between_groups, by_group
from uca.inference.heldout import _measure, held_out
from uca.inference.influence import BackgroundInfluence
from uca.inference.left_out import _number, _range
from uca.inference.leverage import leverage_of
from uca.inference.newrows import ExpectedVariance, _over_subjects
from uca.inference.optimism import expected_variances, freedom_of, student
from uca.inference.outcome import p_text
from uca.inference.relabelled import _as_z, _centred, _Layout, _NewDatasets, _Samples
from uca.inference.rows import ScaledRows, _is_far
from uca.inference.sample import check_sample
from uca.inference.stability import _distance, _only, compare
from uca.inference.stacked import StackedRows
from uca.operators.contract.dense import DenseCovariance, DensePencil
from uca.operators.contract.pencil import OperatorPencil
from uca.operators.statistics.standard import Standard

COMPUTING = ["dual", "solvers", "supports", "operators", "estimators", "inference", "io"]
GROWS = {"uca.dual.Dual", "uca.operators.statistics.moments.Moments", "uca.estimators.stream.Stream"}


def _dataclasses():
    for name in COMPUTING:
        package = importlib.import_module(f"uca.{name}")
        below = pkgutil.walk_packages(getattr(package, "__path__", []), f"uca.{name}.")
        for module in [package, *(importlib.import_module(found.name) for found in below)]:
            for one in vars(module).values():
                if isinstance(one, type) and one.__module__ == module.__name__ and "__dataclass_params__" in vars(one):
                    yield f"{module.__name__}.{one.__name__}", one


def test_what_is_found_cannot_be_changed():
    """All that hold results and parts of them; the others count, add up or merge, and say so."""
    found = dict(_dataclasses())
    assert len(found) > 70
    assert {name for name, one in found.items() if not one.__dataclass_params__.frozen} == GROWS


def test_results_are_shown_and_compared_as_documented():
    """A result shows itself in a line of its own; with arrays in it, it equals itself alone instead of raising an error."""
    for name, one in _dataclasses():
        if not issubclass(one, Shown) or name.endswith(".Restriction"):
            continue  # a restriction is a parameter: its repr is what was typed, and equal ones are equal
        assert one.__repr__ is Shown.__repr__, name
        if any("Array" in str(kind) for kind in one.__annotations__.values()):
            assert one.__eq__ is object.__eq__, name
    for name, one in _dataclasses():
        for part in dataclasses.fields(one):
            hidden = name.endswith(".Restriction") and part.name == "trade_off"
            assert (part.repr, part.compare) == ((False, False) if hidden else (True, True)), (name, part.name)


def test_two_results_can_be_compared():
    first, second = (solve_dual(np.eye(3), np.diag([1.0, 2.0, 3.0])) for _ in range(2))
    assert first == first
    assert first != second
    assert len({first, second}) == 2


# --- rows and what is computed from them ------------------------------------------------------------------------------


def _raw(rng, n=14, p=4):
    rows = rng.standard_normal((n, p)) * [1.0, 2.0, 0.5, 3.0] + 1.0
    rows[rng.random(rows.shape) < 0.3] = 0.0
    rows[2] = [40.0, -80.0, 30.0, 90.0]  # far
    return rows


def _by_numpy(raw, center, pull, factor):
    """Centred, pulled in and scaled, as the page of the test says, by plain loops."""
    mean = raw.mean(axis=0) if center else np.zeros(raw.shape[1])
    about, pulled = raw - mean, np.ones(len(raw))
    deviation = np.sqrt((about**2).sum(axis=0) / (len(raw) - 1))
    for _ in range(5 if pull else 0):
        distance = np.sqrt(((about / deviation) ** 2).sum(axis=1))
        limit = 3.0 * np.median(distance)
        if not np.any(distance > limit):
            pulled = np.ones(len(raw))
            break
        pulled = np.where(distance > limit, limit / distance, 1.0)
        if center:
            about = about - (pulled[:, None] * about).sum(axis=0) / len(raw)
        z = pulled[:, None] * about
        spread = (z**2).sum(axis=0) - (z.sum(axis=0) ** 2 / len(raw) if center else 0.0)
        deviation = np.sqrt(spread / (len(raw) - 1))
    return pulled[:, None] * about * factor, deviation


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("pull", [True, False])
def test_scaled_rows_are_those_of_numpy(rng, kind, center, pull):
    raw, factor = _raw(rng), np.array([2.0, 0.5, 1.0, 3.0])
    rows = ScaledRows(sparse.csr_matrix(raw) if kind == "sparse" else raw, center=center, pull=pull)
    z, deviation = _by_numpy(raw, center, pull, factor)
    np.testing.assert_allclose(rows.deviation, deviation, rtol=1e-9)
    assert rows.pulled is pull
    assert rows.dense is (kind == "dense")
    rows.factor = factor
    directions, scores, weights = rng.standard_normal((4, 2)), rng.standard_normal((14, 3)), rng.random((4, 2))
    found = z @ directions
    found = found - found.mean(axis=0) if center else found
    np.testing.assert_allclose(rows.scores(directions), found, atol=1e-10)
    np.testing.assert_allclose(rows.squared_scores(directions), found**2, atol=1e-9)
    np.testing.assert_allclose(rows.back(scores), z.T @ scores, atol=1e-10)
    np.testing.assert_allclose(rows.image(scores, directions), z.T @ scores, atol=1e-10)
    np.testing.assert_allclose(rows.squares(weights), z**2 @ weights, atol=1e-9)
    np.testing.assert_allclose(rows.sums_of_squares(scores**2), (z**2).T @ scores**2, atol=1e-8)
    assert rows.information(directions, np.ones(2)) == 1.0
    if kind == "dense":
        np.testing.assert_allclose(rows.standardised(), z, atol=1e-12)


def test_sparse_rows_with_a_mean_far_beyond_their_spread_are_dense():
    far = np.array([[1e6, 0.0], [1e6 + 1, 2.0], [1e6, 0.0]])
    assert _is_far(sparse.csr_matrix(far))
    assert ScaledRows(sparse.csr_matrix(far), center=True, pull=False).dense
    assert not ScaledRows(sparse.csr_matrix(far), center=False, pull=False).dense
    assert not _is_far(sparse.csr_matrix(far - [1e6 - 5, 0.0]))
    assert not _is_far(sparse.csr_matrix(np.full((3, 1), 7.0)))  # does not vary at all


@pytest.mark.parametrize("kind", ["dense", "sparse", "large"])
def test_rows_of_two_datasets_stacked(rng, monkeypatch, kind):
    if kind == "large":
        monkeypatch.setattr("uca.inference.stacked.CELLS", 10)
    raw = [_raw(rng), _raw(rng)[:9]]
    make = sparse.csr_matrix if kind == "sparse" else np.asarray
    rows = [ScaledRows(make(part), center=True, pull=False) for part in raw]
    rows[0].factor, rows[1].factor = np.array([2.0, 0.5, 1.0, 3.0]), np.array([1.0, 1.5, 2.0, 0.25])
    z = np.vstack([(part - part.mean(axis=0)) * one.factor for part, one in zip(raw, rows, strict=True)])
    found, right, left = StackedRows(rows), rng.standard_normal((4, 2)), rng.standard_normal((23, 2))
    np.testing.assert_allclose(found.scores(right), z @ right, atol=1e-11)
    np.testing.assert_allclose(found.back(left), z.T @ left, atol=1e-11)
    np.testing.assert_allclose(found.squares(right), z**2 @ right, atol=1e-10)
    np.testing.assert_allclose(found.sums_of_squares(left), (z**2).T @ left, atol=1e-10)
    assert (found.n, found.n_features, found.centred) == (23, 4, True)


# --- exchanged labels ---------------------------------------------------------------------------------------------------


def test_labels_of_subjects_are_exchanged_together(rng):
    """Subjects 0 to 3 in the first dataset alone, 6 to 8 in the second alone, 4 and 5 in both."""
    first, second = np.array([0, 0, 1, 2, 3, 4, 4, 5]), np.array([4, 5, 5, 6, 7, 8, 8])
    layout = _Layout.of([first, second])
    np.testing.assert_array_equal(layout.paired, [False] * 4 + [True] * 2 + [False] * 3)
    np.testing.assert_array_equal(layout.second, [False] * 8 + [True] * 7)
    found, codes = layout.exchanged(400, rng), np.concatenate([first, second])
    np.testing.assert_array_equal(found[:, 0], layout.second)
    assert set(np.unique(found)) == {0.0, 1.0}
    for column in found.T:
        for code in (0, 8):
            assert len(set(column[codes == code])) == 1  # all rows of a subject go together
        assert sum(column[codes == code][0] for code in (0, 1, 2, 3, 6, 7, 8)) == 3  # as many as there were
        for code in (4, 5):
            sides = [set(column[side & (codes == code)]) for side in (~layout.second, layout.second)]
            assert sides in ([{0.0}, {1.0}], [{1.0}, {0.0}])  # both sides, or neither
    # Three of seven, and one of two: within five standard errors of 400 draws.
    share = found[:, 1:].mean(axis=1)
    assert abs(share[codes == 0][0] - 3 / 7) < 5 * np.sqrt(12 / 49 / 400)
    assert abs(share[codes == 4][0] - 1 / 2) < 5 * 0.5 / 20
    values = rng.standard_normal((15, 2))
    sums = np.array([values[codes == code].sum(axis=0) for code in range(9)])
    np.testing.assert_allclose(layout.sums(values), sums, atol=1e-13)
    single = _Layout.of([np.array([3, 1]), np.array([0, 2])])
    np.testing.assert_array_equal(single.sums(values[:4]), values[[2, 1, 3, 0]])


@pytest.mark.parametrize(
    ("own", "others", "z"),
    [
        (0.5, np.arange(99.0) - 49, -norm.ppf(50 / 100)),  # 49 of 99 as large
        (-100.0, np.arange(99.0), -norm.ppf(1 - 0.5 / 99)),  # all are larger: half a draw is left
        (200.0, np.arange(1.0, 100.0), norm.ppf(0.95) * 200 / 95),  # in proportion to the 95th of a hundred
        (96.0, np.arange(1.0, 100.0), max(-norm.ppf(5 / 100), norm.ppf(0.95) * 96 / 95)),
        (5.0, -np.arange(1.0, 100.0), -norm.ppf(1 / 100)),  # a limit below 0 says nothing of proportions
        (0.5, np.zeros(99), -norm.ppf(1 / 100)),  # nor does one of 0
    ],
)
def test_the_place_among_exchanged_values(own, others, z):
    assert _as_z(own, list(others)) == pytest.approx(z, rel=1e-12)


@pytest.mark.parametrize("scale", [True, False, "target"])
@pytest.mark.parametrize("center", [True, False])
def test_exchanged_variances_and_influences_are_those_of_the_rows(rng, scale, center):
    """Log variances of new datasets by numpy; influences by giving a row a little more weight."""
    raw = [rng.standard_normal((11, 3)) + 1.0, 2.0 * rng.standard_normal((8, 3))]
    rows = [ScaledRows(part, center=center, pull=False) for part in raw]
    second = np.zeros((19, 2))
    second[11:, 0] = 1.0
    second[[1, 3, 5, 7, 11, 14, 15, 18], 1] = 1.0
    new = _NewDatasets.of(StackedRows(rows), second, scale)
    v = np.array([0.6, -0.8, 0.3])
    logs, influence = new.along(v)
    z = np.vstack([part - part.mean(axis=0) if center else part for part in raw])

    def log_variance(column, sample, weights):
        """Of a sample (0 the first, 1 the second) under weights on rows: counts of each in units of n."""
        member = (second[:, column] == sample).astype(float)
        target = (second[:, column] == 0).astype(float)

        def spread(of, x):
            w = of * weights
            about = x - (w @ x / w.sum() if center else 0.0)
            return (w @ about**2 / w.sum()) * of.sum() / (of.sum() - 1)

        by = {True: member, "target": target, False: None}[scale]
        deviation = np.ones(3) if by is None else np.sqrt(spread(by, z))
        return np.log(spread(member, z / deviation @ v))

    for place, (sample, column) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        assert logs[place] == pytest.approx(log_variance(column, sample, np.ones(19)), rel=1e-9)
        # New means are near 0, and left out of what scaling does: there, no label is exchanged.
        for i in range(19 if column == 0 or not (center and scale) else 0):
            up, down = (log_variance(column, sample, np.ones(19) + sign * 1e-5 * np.eye(19)[i]) for sign in (1, -1))
            n = np.sum(second[:, column] == second[i, column])
            # A weight counts one row of n, a deviation has n - 1 of them.
            assert influence[i, place] == pytest.approx((1 - 1 / n) * (up - down) / 2e-5, abs=2e-7)


def test_influences_are_centred_over_the_members():
    values, member = np.array([[1.0], [3.0], [8.0]]), np.array([[1.0], [1.0], [0.0]])
    np.testing.assert_allclose(_centred(values, member), [[-0.5], [0.5], [0.0]])


def test_differences_over_their_errors_by_hand():
    """Subjects 0, 1, 2 in one dataset, 3, 4 in the other: variances add up, but neither below that of all together."""
    layout = _Layout.of([np.array([0, 1, 2]), np.array([3, 4])])
    second = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    samples = _Samples.of(layout, second)
    influence = np.column_stack([np.array([0.3, -0.2, -0.1, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.01, -0.01])])
    terms = np.array([0.09 + 0.04 + 0.01, 0.0002])
    sizes = np.array([3.0, 2.0])
    together = (sizes**2 * terms).sum() / sizes.sum()
    error = np.sqrt(np.maximum(terms, together / sizes).sum())
    np.testing.assert_allclose(samples.studentised(np.array([1.7, 0.2]), influence), [1.5 / error])
    paired = _Layout.of([np.array([0, 1]), np.array([0, 1])])
    both = _Samples.of(paired, np.array([[0.0], [0.0], [1.0], [1.0]]))
    influence = np.column_stack([np.array([0.3, -0.3, 0.0, 0.0]), np.array([0.0, 0.0, 0.1, -0.1])])
    # Of each subject the sum over both sides: 0.3 - 0.1, and its negative.
    np.testing.assert_allclose(both.studentised(np.array([1.0, 0.0]), influence), [1 / np.sqrt(2 * 0.2**2)])


# --- held-out variances -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [True, False, "target"])
def test_errors_of_held_out_variances_are_those_of_a_jackknife(rng, scale):
    """Rows left out one at a time, everything computed anew from the rest."""
    raw = [rng.standard_normal((60, 3)) * [2.0, 1.0, 1.0], rng.standard_normal((50, 3)) + 3.0]
    v = np.array([0.8, 0.6, 0.0])

    def logs(tables):
        own = [part.std(axis=0, ddof=1) for part in tables]
        by = {True: own, "target": [own[0]] * 2, False: [np.ones(3)] * 2}[scale]
        return np.array([np.log(np.var(part / d @ v, ddof=1)) for part, d in zip(tables, by, strict=True)])

    found = held_out(raw, [np.arange(60), 60 + np.arange(50)], v[np.newaxis], center=True, scale=scale)
    pulled = scale is True
    if pulled:  # far rows would be pulled in: measure the rows as they are
        sets = [ScaledRows(part, center=True, pull=False) for part in raw]
        found = _measure(sets, [np.arange(60), 60 + np.arange(50)], v[np.newaxis], scale)
    np.testing.assert_allclose(found.log_variance[:, 0], logs(raw), rtol=1e-9)
    for j in range(2):
        variance = 0.0
        for k in range(2):
            without = [
                [np.delete(part, i, axis=0) if k == s else part for s, part in enumerate(raw)]
                for i in range(len(raw[k]))
            ]
            left = np.array([logs(tables)[j] for tables in without])
            variance += (len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum()
        # To first order in one of 50 rows, of which a few are large: within a tenth.
        assert found.error[j, 0] == pytest.approx(np.sqrt(variance), rel=0.1)
    np.testing.assert_allclose(found.kept, 1.0)


def test_features_that_are_constant_in_one_half_count_in_none(rng):
    raw = [rng.standard_normal((30, 3)), rng.standard_normal((30, 3))]
    raw[1][:, 0] = 4.0
    found = held_out(raw, [np.arange(30), 30 + np.arange(30)], np.array([[0.6, 0.8, 0.0]]), center=True, scale=False)
    np.testing.assert_allclose(found.kept, 0.64)
    np.testing.assert_allclose(found.log_variance[:, 0], [np.log(0.64 * part[:, 1].var(ddof=1)) for part in raw])
    average = np.log(raw[0][:, 1:].var(axis=0, ddof=1).mean())
    assert np.sign(found.z[-1, 0]) == np.sign(found.log_variance[0, 0] - average)


# --- what makes a test less sure ----------------------------------------------------------------------------------------


def test_autocorrelations_by_hand():
    values = np.array([[1.0], [2.0], [4.0], [1.0], [2.0], [2.0]])
    c = values[:, 0] - 2.0
    expected = [(c[lag:] * c[:-lag]).sum() / (c**2).sum() for lag in range(1, 6)]
    np.testing.assert_allclose(_correlations(values)[:, 0], expected, atol=1e-15)
    np.testing.assert_array_equal(_correlations(np.ones((6, 1))), 0.0)


def test_neighbours_are_alike_in_scores_or_in_their_squares(rng):
    n = 64
    slow = np.repeat([1.0, -1.0, 2.0, -2.0], 16)[:, np.newaxis] + 0.1 * rng.standard_normal((n, 1))
    r, far = _neighbours(slow)
    plain, squared = _correlations(slow), _correlations(slow**2)
    assert r[0] == pytest.approx(max(plain[0, 0], squared[0, 0]))
    sums = [np.sqrt(n / window) * one[:window].sum() for window in (1, 5) for one in (plain, squared)]
    assert far[0] == pytest.approx(max(sums))
    assert _neighbours(slow[:15])[1][0] == 0.0  # few rows have no order
    assert _neighbours(slow[:16])[1][0] > 0.0
    alternating = np.tile([1.0, -1.5], 32)[:, np.newaxis]
    assert _neighbours(alternating)[1][0] == 0.0  # unlike neighbours are no dependence of this kind


def test_scores_of_subjects_are_means_in_order_of_appearance():
    scores, codes = np.array([[1.0], [2.0], [3.0], [6.0]]), np.array([7, 2, 7, 5])
    np.testing.assert_allclose(by_subject(scores, codes), [[2.0], [2.0], [6.0]])
    np.testing.assert_allclose(by_subject(np.array([[1.0], [9.0], [3.0]]), np.array([8, 1, 8])), [[2.0], [9.0]])


def test_the_weight_of_tails_is_a_kurtosis_of_distances(rng):
    raw = rng.standard_normal((20, 3))
    squares = ((raw - raw.mean(axis=0)) ** 2).sum(axis=1)
    found = _tails(ScaledRows(raw, center=True, pull=False))
    assert found == pytest.approx((squares**2).mean() / squares.mean() ** 2)
    assert _tails(ScaledRows(np.ones((5, 2)), center=True, pull=False)) == 1.0


@pytest.mark.parametrize(
    ("n", "n_half", "few"), [(20, 1, True), (20, 2, False), (40, 2, True), (60, 3, True), (60, 4, False), (10, 1, True)]
)
def test_few_rows_are_one_or_one_in_twenty(n, n_half, few):
    scores = np.full((n, 1), 1e-3)
    scores[:n_half] = 1.0
    found = leverage_of(np.sqrt(scores), center=False)
    # Of 4 equal ones, 2 have half; so the ones are made unequal enough to need all of them.
    weights = np.full((n, 1), 0.5 / (n - n_half + 1e-9))
    weights[:n_half] = 0.5001 / n_half
    found = leverage_of(np.sqrt(weights), center=False)
    assert found.n_half[0] == n_half
    assert bool(found.few[0]) is few
    np.testing.assert_allclose(found.leverage.sum(axis=0), 1.0)
    np.testing.assert_array_equal(found.outlying(), np.arange(n_half) if few else [])


def test_words_about_few_rows():
    scores = np.full((400, 2), 0.01)
    scores[:12, 0], scores[5, 1] = 3.0, 9.0
    found = leverage_of(scores, center=False, prefix="UC")
    told = found.each_warning()
    assert told[0].startswith(
        "UC1 depends on only a few rows: 7 of 400 rows (0, 1, 2, 3, 4, 5, 6) have 58 % of its variance"
    )
    assert told[1] == "UC2 depends on only a few rows: 1 of 400 rows (5) has 100 % of its variance in the target."
    assert found.warnings_about([f"r{i}" for i in range(400)], "PC")[1].startswith(
        "PC2 depends on only a few rows: 1 of 400 rows (r5)"
    )
    assert "of 400 rows, those with half of a component's variance: UC1 7 (few), UC2 1 (few)" in repr(found)
    wide = np.full((400, 1), 0.01)
    wide[:30] = 3.0
    many = leverage_of(wide, center=False)
    assert many.n_half[0] == 16
    assert "16 of 400 rows (0, 1, 2, 3, 4, 5, 6, 7, 8, 9 …) have" in many.each_warning()[0]
    even = leverage_of(np.ones((8, 1)), center=False)
    assert even.warnings == []
    assert "No component depends on only a few rows." in str(even)
    assert "12.5 %" in str(even)
    assert "37.5 %" in str(even)
    assert "4 of 8" in str(even)


# --- exchange, optimism, stability --------------------------------------------------------------------------------------


def test_a_share_counts_the_observed_as_a_draw():
    assert share_as_far(np.array([0.1, 0.2, 0.3, np.nan]), 0.2) == 3 / 4
    assert share_as_far(np.array([0.1, 0.2, 0.3]), 0.20005) == 3 / 4  # within the tolerance of the fits
    assert share_as_far(np.array([0.1, 0.2, 0.3]), 0.21) == 2 / 4
    assert share_as_far(np.array([np.nan]), 0.2) == 1.0


def test_the_background_whose_price_grows_takes_the_place():
    def model(lambdas, bounds):
        each = np.atleast_2d(lambdas)
        return SimpleNamespace(lambdas_=each[0], component_lambdas_=each, bounds_=np.array(bounds))

    full = model([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], [1.0, 1.0, 2.0])
    # Without the first: prices go from 3 and 6 to 4 and 6.4.
    assert who_takes_its_place(0, full, model([[4.0, 3.2], [0.0, 0.0]], [1.0, 2.0])) == 1
    assert who_takes_its_place(0, full, model([[3.5, 3.5], [0.0, 0.0]], [1.0, 2.0])) == 2
    assert who_takes_its_place(2, full, model([[2.0, 2.0], [0.0, 1.5]], [1.0, 1.0])) == 0
    assert who_takes_its_place(0, model([[1.0]], [1.0]), model(np.empty((1, 0)), [])) is None


def test_components_are_compared_by_cosines_and_angles_of_spaces(rng):
    reference = np.eye(4)[:2]
    c, s = np.cos(0.3), np.sin(0.3)
    turned = np.array([[c, s, 0.0, 0.0], [s, -c, 0.0, 0.0]])
    cosines, spaces, laid = compare(reference, turned)
    np.testing.assert_allclose(cosines, [c, c])
    np.testing.assert_allclose(spaces, [c, 1.0])
    np.testing.assert_allclose(laid["sign"], np.diag([1.0, -1.0]))
    np.testing.assert_allclose(laid["rotation"] @ turned, reference, atol=1e-14)
    tilted = np.array([[1.0, 0, 0, 0], [0, c, 0, s]])
    np.testing.assert_allclose(compare(reference, tilted)[1], [1.0, c])


def test_distances_and_intervals_that_are_left_out():
    resampled, value = np.array([[1.0, 2.0], [3.0, 2.0]]), np.array([1.0, 3.0])
    np.testing.assert_allclose(_distance(resampled, value), [np.sqrt(2.0), 1.0])
    ends = np.arange(6.0).reshape(2, 3)
    out = _only(np.array([True, False]), ends)
    np.testing.assert_array_equal(out, [[0.0, 1.0, 2.0], [np.nan, 4.0, 5.0]])
    np.testing.assert_array_equal(ends, np.arange(6.0).reshape(2, 3))


def test_variances_to_expect_by_hand(rng):
    """One component, one background: logs of the two estimates, their mean, and an error of both parts."""
    fit, by_folds = np.array([[8.0, 0.5]]), np.array([[4.0, 1.0]])
    own = np.exp(rng.normal(0.3, 0.2, (50, 1, 2)))
    whole = np.exp(rng.normal(0.0, 0.1, (50, 1, 2)))
    freedom = np.array([[6.0], [20.0]])
    found = expected_variances(fit, by_folds, own, whole, freedom, 0.9)
    optimism = np.log(own / whole)[:, 0]
    resampled = np.log(fit[0]) - optimism.mean(axis=0)
    spread = optimism.std(axis=0) * [np.sqrt(1 + 9 / 6), 1.0]
    error = np.sqrt(spread**2 + ((resampled - np.log(by_folds[0])) / 2) ** 2)
    middle = (resampled + np.log(by_folds[0])) / 2
    reach = student_law.ppf(0.95, 6.0)
    np.testing.assert_allclose(found.value[0], np.exp(middle), rtol=1e-12)
    np.testing.assert_allclose(found.error[0], error, rtol=1e-12)
    np.testing.assert_allclose(found.low[0], np.exp(middle - reach * error), rtol=1e-9)
    np.testing.assert_allclose(found.high[0], np.exp(middle + reach * error), rtol=1e-9)
    assert student(0.9, 6.0) == pytest.approx(reach)
    none = expected_variances(fit * [1.0, 0.0], by_folds, own, whole, freedom, 0.9)
    assert none.value[0, 1] == 1.0
    assert np.isnan([none.error[0, 1], none.low[0, 1], none.high[0, 1]]).all()
    assert np.isfinite([none.error[0, 0], none.low[0, 0], none.high[0, 0]]).all()


def test_degrees_of_freedom_go_by_subjects():
    squares = np.array([[1.0], [3.0], [2.0], [2.0], [4.0], [0.0]])  # sums over subjects are all 4: nothing varies
    np.testing.assert_allclose(freedom_of(squares, np.array([0, 0, 1, 1, 2, 2])), 2.0)


def test_errors_over_subjects_by_hand(rng):
    """Mean over rows, and the error of a ratio of sums: subjects have 1, 2 and 3 rows."""
    squares, codes = rng.random((6, 2)), np.array([4, 7, 7, 9, 9, 9])
    mean, error = _over_subjects(squares, codes)
    np.testing.assert_allclose(mean, squares.mean(axis=0))
    sums = np.array([(squares[codes == code] - mean).sum(axis=0) for code in (4, 7, 9)])
    np.testing.assert_allclose(error, np.sqrt((sums**2).sum(axis=0) * 3 / 2) / 6)
    assert _over_subjects(squares[:2], np.array([1, 1]))[1].shape == (2,)


def _expected(expected, grouped=True, predicted=0.7):
    model = SimpleNamespace(
        component_prefix="UC",
        background_names_=["a", "b"],
        bounds_=np.array([1.0, 2.0]),
        background_variance_=np.array([[1.0, 2.0]]),
        expected_background_variance_=np.full((1, 2), predicted),
    )
    return ExpectedVariance(model, np.array([expected]), np.array([[0.1, 0.25]]), 10, (10, 20, 30), grouped)


def test_words_about_variances_of_subjects_left_out():
    near, far = _expected([1.5, 3.5]), _expected([2.5, 3.5], grouped=False)
    assert near.sentence == (
        "Variance of UC1, by leaving out subjects (10 fits): in 'a' it is 1.00 in these rows; about 1.5 expected in new "
        "ones; in 'b' it is 2.00 in these rows; about 3.5 expected in new ones."
    )
    assert far.sentence.endswith(
        "about 3.5 expected in new ones. The bound holds for the rows of the fit, not for new ones. Rows are assumed to be "
        "independent: give groups if they are not."
    )
    assert "UC1 along subjects left out of the fit: variance 1.5 in 'a' (bound 1), 3.5 in 'b' (bound 2)" in repr(near)
    assert "along rows left out" in repr(far)
    assert near.table[1] == {
        "component": "UC1",
        "background": "b",
        "bound": 2.0,
        "in these rows": 2.0,
        "predicted, independent rows": 0.7,
        "left out": 3.5,
        "standard error": 0.25,
    }
    assert "none" in str(_expected([1.5, 3.5], predicted=np.inf))
    assert "0.25" in str(near)


# --- influence of backgrounds -------------------------------------------------------------------------------------------


def _influence(
    *,
    prices=(1.0, 1.0),
    values=(10.0, 10.0),
    cosines=(0.95, 0.95),
    n_resamples=0,
    gain=(0.5, 0.5),
    turn=(0.5, 0.5),
    pooled=np.nan,
):
    model = SimpleNamespace(
        component_lambdas_=np.array([prices]) / [2.0, 4.0],
        bounds_=np.array([2.0, 4.0]),
        certificates_=[SimpleNamespace(upper=10.0)],
    )
    return BackgroundInfluence(
        model=model,
        background_names=("a", "b"),
        lambdas=np.array(prices) / [2.0, 4.0],
        values=np.array(values),
        lambdas_without=np.full((2, 2), np.nan),
        cosines=np.array([0.99, 0.98]),
        subspace_cosines=np.array(cosines),
        pooled_value=pooled,
        pooled_cosine=0.97,
        pooled_subspace_cosine=0.91 if pooled != 99.0 else 0.5,
        n_unconverged=0 if pooled != 99.0 else 3,
        n_resamples=n_resamples,
        gain_pvalues=np.array(gain),
        turn_pvalues=np.array(turn),
        takes_place=("b", "a"),
    )


@pytest.mark.parametrize(
    ("given", "verdicts"),
    [
        ({"prices": (1.01e-5, 0.99e-5)}, ("replaceable", "redundant")),  # a millionth of the value
        ({"values": (10.0, 11.0)}, ("replaceable", "counts")),
        ({"values": (10.0 * (1 + 0.9e-6), 10.0 * (1 + 1.1e-6))}, ("replaceable", "counts")),
        ({"cosines": (0.89, 0.91)}, ("decisive", "replaceable")),
        ({"cosines": (0.89, 0.91), "n_resamples": 40}, ("replaceable", "replaceable")),
        ({"cosines": (0.89, 0.91), "n_resamples": 40, "gain": (0.02, 0.02)}, ("decisive", "counts")),
        ({"cosines": (0.89, 0.91), "n_resamples": 40, "turn": (0.02, 0.03)}, ("decisive", "replaceable")),
    ],
)
def test_verdicts_on_backgrounds_are_a_table(given, verdicts):
    found = _influence(**given)
    assert tuple(map(found.verdict, "ab")) == verdicts
    assert found.verdict("c") == ""
    for name in ("redundant", "replaceable", "decisive"):
        assert getattr(found, name) == [b for b, verdict in zip("ab", verdicts, strict=True) if verdict == name]
    assert repr(found).count(f"'a' {verdicts[0]}, 'b' {verdicts[1]}") == 1


def test_words_about_backgrounds():
    plain = _influence(values=(10.0, 11.0), pooled=12.0)
    assert plain.sentence == (
        "Can be left out, one at a time, which leaves the attainable variance in these rows as it is: 'a'. Counts in these "
        "rows, but without it the components stay within 26 degrees: 'b'. Pooling all of them gives nearly the same "
        "components (cosine 0.91). Sampling error was not assessed (n_resamples=0)."
    )
    tested = _influence(cosines=(0.5, 0.95), n_resamples=40, gain=(0.01, 0.01), pooled=99.0)
    assert "(not by chance alone): 'a'" in tested.sentence
    assert "other components (cosine 0.50). 3 of the fits did not reach the tolerance" in tested.sentence
    assert "Sampling error" not in tested.sentence
    assert "leave no direction that respects the smallest" in _influence().sentence
    assert [row["p, gain"] for row in tested.table] == [0.01, 0.01, None]
    assert [row["p, turn"] for row in plain.table] == [None, None, None]
    assert plain.table[1]["gain"] == pytest.approx(0.1)
    assert plain.table[2]["gain"] == pytest.approx(0.2)
    assert plain.table[2]["left out"] == "(none: all pooled)"
    assert "attainable target variance is 10" in str(plain)
    assert "+10.0 %" in str(plain)
    assert "0.010" in str(tested)


# --- holding a fit back -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "in_memory", "n_rows", "k", "leading", "factors"),
    [
        (100, True, 40, 2, (2, 4, 7, 12, 22, 40), 4),
        (300, False, 400, 2, (2, 5, 15, 40, 110), 4),  # all 300 are no restriction
        (301, False, 400, 2, (2, 4, 7, 14, 26, 50), 1),
        (301, True, 400, 3, (3, 8, 19, 48, 119, 300), 1),
        (10, True, 6, 8, (), 4),  # fewer than the components
        (10, True, 8, 8, (8,), 4),
        (3, True, 40, 1, (2,), 4),
    ],
)
def test_candidates_are_a_table(size, in_memory, n_rows, k, leading, factors):
    grid = Grid.of(SimpleNamespace(size=size, in_memory=in_memory), n_rows, k)
    assert grid.n_leading == leading
    assert len(grid.factors_of_all) == factors
    assert grid.candidates[: 4 * len(leading)] == [(q, f) for q in leading for f in (1.0, 0.7, 0.5, 0.35)]
    assert grid.candidates[4 * len(leading) :] == [(None, f) for f in (1.0, 0.7, 0.5, 0.35)[:factors]]


def test_squares_of_held_out_scores(rng):
    rows, components = rng.standard_normal((6, 4)), rng.standard_normal((2, 4))
    standard = Standard(True, np.arange(4.0), np.full(4, 0.5), np.array([1.0, 2.0, 0.0, 4.0]))
    z = (rows - np.arange(4.0) - 0.5) * [1.0, 0.5, 0.0, 0.25]
    np.testing.assert_allclose(_sums_of_squares(rows, standard, components), ((z @ components.T) ** 2).sum(axis=0))


def test_folds_need_four_rows_or_subjects():
    assert _check_enough([np.arange(9), np.array([1, 1, 2, 3, 4])], ["target", "background 'b'"]) == 4
    with pytest.raises(ValueError, match=r"background 'b' has 3 independent rows or subjects; .* and needs 4 of them"):
        _check_enough([np.arange(9), np.array([1, 1, 2, 3, 3])], ["target", "background 'b'"])


def _trade_off(background=((1.2, 0.9), (0.8, 0.7), (2.0, 1.0))):
    return TradeOff(
        n_leading=(3, 3, None),
        factors=np.array([1.0, 0.7, 1.0]),
        target=np.array([5.0, 4.0, 9.0]),
        background=np.array(background),
        bounds=np.array([1.0, 1.0]),
        names=("a", "b"),
        n_folds=5,
        n_repeats=2,
    )


def test_what_a_restriction_trades():
    found = _trade_off()
    np.testing.assert_allclose(found.excess, [1.2, 0.8, 2.0])
    np.testing.assert_allclose(found.criterion, [5.0 / 1.2**1.5, 4.0, 9.0 / 2**1.5])
    assert found.best == 1
    assert found.best_of_each() == [1, 2]
    assert "best of 3 restrictions on held-out rows: the 3 leading directions, bounds times 0.7" in repr(found)
    printed = str(found)
    assert "chosen" in printed
    assert "the paper's bound" in printed
    assert "2*" in printed
    assert "0.8*" not in printed
    assert "5 folds, 2 times; * above the bound." in printed


def test_a_restriction_in_words():
    found = Restriction(3, 0.7, _trade_off())
    assert found.sentence == (
        "Restricted for new rows: the 3 leading directions of the target, bounds times 0.7. On held-out rows: 4 in the "
        "target, 0.8 in 'a' (bound 1), 0.7 in 'b' (bound 1)."
    )
    none = Restriction(3, 0.7, _trade_off(((1.2, 0.9), (1.1, 0.7), (2.0, 1.0))))
    assert none.sentence.endswith("No candidate respects every bound on held-out rows.")
    assert Restriction().sentence == "Not restricted for new rows: all directions, bounds as they are."
    assert Restriction(1, 1.0).sentence == (
        "Restricted for new rows: the leading direction of the target, bounds times 1."
    )
    assert Restriction(None, 0.5).sentence == "Restricted for new rows: all directions, bounds times 0.5."
    assert Restriction(3, 0.7, _trade_off()) == Restriction(3, 0.7)
    assert repr(Restriction(3, 0.7, _trade_off())) == repr(Restriction(3, 0.7))
    assert _told(None, 1.0) == "This refers to these rows."
    assert _told(2, 0.7).endswith("components made of the 2 leading directions of the target, bounds times 0.7.")
    assert _told(None, 0.7).endswith("restricted for new ones: bounds times 0.7.")
    assert _told(None, 1.1).endswith("bounds times 1.1. No direction there respects the bounds themselves.")
    assert "themselves" not in _told(2, 1.0)


def test_factors_that_were_used():
    assert _factor_of(np.array([0.5, 3.0, 0.0]), np.array([1.0, 4.0, 0.0]), 9.0) == 0.75
    assert _factor_of(np.array([0.0]), np.array([0.0]), 9.0) == 9.0


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Restriction(None, 0.0), "must lie between 0 and 1; got 0.0"),
        (Restriction(None, 1.5), "must lie between 0 and 1; got 1.5"),
        (Restriction(1, 0.5), "n_components=2 is more than n_leading=1"),
        ("new", "bound_on must be 'rows', 'new rows' or a Restriction"),
        (None, "bound_on must be 'rows', 'new rows' or a Restriction"),
    ],
)
def test_restrictions_are_checked(value, told):
    with pytest.raises(ValueError, match=told):
        check_bound_on(value, 2)
    for fine in ("rows", "new rows", Restriction(2, 1.0), Restriction(None, 1e-3)):
        check_bound_on(fine, 2)
    check_bound_on(Restriction(1, 0.5), "all")


def test_the_choice_is_made_on_held_out_rows(rng):
    """Few background rows: the chosen restriction keeps the bound better on new rows than none does."""
    law = rng.standard_normal((60, 60)) / 8
    target, background = rng.standard_normal((40, 60)) @ law, rng.standard_normal((25, 60)) @ law
    chosen = choose_restriction(target, background, random_state=0)
    plain = next(i for i, q in enumerate(chosen.trade_off.n_leading) if q is None)
    assert chosen.trade_off.excess[chosen.trade_off.best] < chosen.trade_off.excess[plain]
    new = rng.standard_normal((2000, 60)) @ law

    def outside(model):
        z = (new - background.mean(axis=0)) / background.std(axis=0, ddof=1) @ model.components_[0]
        return z.var() / model.bounds_[0]

    free, held = (UCA(1, bound_on=value).fit(target, backgrounds=background) for value in ("rows", chosen))
    assert outside(held) < outside(free)


# --- new rows -----------------------------------------------------------------------------------------------------------


def test_rows_used_and_variances_to_expect_by_the_formula(rng):
    """d = 1 + lambda tr(B R), with R = (mu - C)^-1 on what is orthogonal to v and B v, by dense linear algebra."""
    rows = rng.standard_normal((2, 40, 6)) * np.array([3.0, 2.0, 1.5, 1.0, 0.8, 0.5])
    matrices = np.stack([np.cov(part.T) for part in rows])
    result = solve_dual(matrices[0], matrices[1])
    v, lam = result.vectors[:, 0], result.lambdas[0]
    c = matrices[0] - lam * matrices[1]
    mu = v @ c @ v
    fixed = np.linalg.qr(np.column_stack([v, matrices[1] @ v]))[0]
    rest = np.linalg.svd(np.eye(6) - fixed @ fixed.T)[0][:, :4]
    r = rest @ np.linalg.inv(rest.T @ (mu * np.eye(6) - c) @ rest) @ rest.T
    used = 1 + lam * np.trace(matrices[1] @ r)
    own = v @ matrices[1] @ v
    less = (1 - used / 39) ** 2 + own * (lam / 39) ** 2 * np.trace(matrices[1] @ r @ r)
    products = OperatorPencil([DenseCovariance(m) for m in matrices], 6)  # by conjugate gradients, to a few per cent
    for pencil, rtol in ((DensePencil(matrices), 1e-6), (products, 0.01)):
        images = matrices @ v[:, np.newaxis]
        solution = Solution(v[:, np.newaxis], np.array([mu]), np.array([[lam]]), images, [40], joint=True)
        found = expected(pencil, solution)
        assert isinstance(found, Expected)
        np.testing.assert_allclose(found.rows_used, used, rtol=rtol)
        np.testing.assert_allclose(found.variance, own / less, rtol=rtol)
    few = Solution(v[:, np.newaxis], np.array([mu]), np.array([[lam]]), images, [3], joint=True)
    assert expected(DensePencil(matrices), few).variance[0, 0] == np.inf
    assert expected(DensePencil(matrices), few).rows_used[0, 0] == min(used, 2.0)
    idle = Solution(v[:, np.newaxis], np.array([mu]), np.zeros((1, 1)), images, [40], joint=True)
    np.testing.assert_allclose(expected(DensePencil(matrices), idle).variance, own / (1 - 1 / 39) ** 2)


def test_a_factor_of_an_operator(rng):
    root = rng.standard_normal((7, 3))
    found = _factor(DenseCovariance(root @ root.T), rng.standard_normal((7, 4)))
    np.testing.assert_allclose(found @ found.T, root @ root.T, atol=1e-12)


def test_the_inverse_inside_is_that_of_the_complement(rng):
    (matrix,) = (m @ m.T / 5 for m in rng.standard_normal((1, 5, 5)))
    fixed = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    rest = np.linalg.svd(np.eye(5) - fixed @ fixed.T)[0][:, :3]
    mu = np.linalg.eigvalsh(matrix)[-1] + 0.5
    expected_inverse = rest @ np.linalg.inv(rest.T @ (mu * np.eye(5) - matrix) @ rest) @ rest.T
    vectors = rng.standard_normal((5, 2))
    inside = Inside(DensePencil(np.stack([matrix, np.eye(5)])), np.array([1.0, 0.0]), fixed)
    found = inside.resolvent(mu, 1.0, 0)
    np.testing.assert_allclose(found @ vectors, expected_inverse @ vectors, rtol=1e-6)
    np.testing.assert_allclose(found.whole(), expected_inverse, atol=1e-8)
    np.testing.assert_allclose(
        found.traces(0, 9), [np.trace(expected_inverse), np.trace(expected_inverse @ expected_inverse)], rtol=1e-6
    )
    products = Inside(
        OperatorPencil([DenseCovariance(matrix), DenseCovariance(np.eye(5))], 5), np.array([1.0, 0.0]), fixed
    )
    by_products = products.resolvent(mu, 1.0, 0)
    np.testing.assert_allclose(
        by_products @ vectors, expected_inverse @ vectors, atol=0.03 * np.abs(expected_inverse).max() * 5
    )
    assert inside.resolvent(np.linalg.eigvalsh(rest.T @ matrix @ rest)[-1] - 0.1, 1.0, 0) is None


@pytest.mark.parametrize(("value", "told"), [(1.234, "1.2"), (0.0456, "0.046"), (123.0, "120"), (2.0, "2")])
def test_predictions_have_two_digits(value, told):
    assert about(value) == told
    assert in_both(1.0, value) == f"1.00 in these rows; about {told} expected in new ones"


def test_what_is_far_and_what_is_not_known():
    np.testing.assert_array_equal(is_far([2.0, 2.01, np.inf], [1.0, 1.0, 1.0]), [False, True, True])
    assert in_both(1.0, np.inf) == "1.00 in these rows; no usable prediction: the bound holds for these rows only"
    np.testing.assert_array_equal(exceeds_bound([1.0, 1.0 + 0.9e-6, 1.0 + 1.1e-6], 1.0), [False, False, True])


# --- scores and distances -----------------------------------------------------------------------------------------------


def test_patterns_and_correlations_by_hand():
    images, variances = np.array([[2.0, 0.0], [1.0, 3.0]]), np.array([4.0, 0.0])
    np.testing.assert_array_equal(patterns(images, variances), [[0.5, 0.0], [0.25, 0.0]])
    found = correlations(np.array([[0.5, 0.25, 1.0]]), np.array([4.0]), np.array([2.0, 0.0, 1.0]))
    np.testing.assert_array_equal(found, [[0.5, 0.0, 1.0]])  # no more than 1, and 0 for what does not vary
    assert correlations(np.array([[0.5]]), np.array([4.0]), None) is None


@pytest.mark.parametrize("center", [True, False])
def test_the_kurtosis_of_scores_of_evenly_spaced_rows(rng, center, monkeypatch):
    rows = rng.standard_normal((100, 3)) ** 3 + 1.0
    standard = Standard(center, rows.mean(axis=0) if center else np.zeros(3), np.zeros(3), np.array([1.0, 2.0, 0.0]))
    components = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])

    def by_numpy(some):
        z = (some - standard.mean) * [1.0, 0.5, 0.0] @ components[0]
        z = z - z.mean() if center else z
        return (z**4).mean() / (z**2).mean() ** 2

    found = _kurtosis(rows, standard, components)
    assert found[0] == pytest.approx(by_numpy(rows))
    assert np.isnan(found[1])  # does not vary
    assert _kurtosis(sparse.csr_matrix(rows), standard, components)[0] == pytest.approx(by_numpy(rows))
    assert np.isnan(_kurtosis(rows[:29], standard, components)).all()
    assert np.isfinite(_kurtosis(rows[:30], standard, components)[0])
    assert np.isnan(_kurtosis(sparse.csc_matrix(rows), standard, components)).all()
    monkeypatch.setattr("uca.estimators.reference.MOST_ROWS", 40)
    assert _kurtosis(rows, standard, components)[0] == pytest.approx(by_numpy(rows[::3]))


def test_distances_whiten_the_scores_of_a_background(rng):
    target, background = rng.standard_normal((80, 4)), rng.standard_normal((70, 4)) * [1.0, 2.0, 1.0, 0.5]
    model = UCA(2, scale=False).fit(target, backgrounds=background)
    z = (background - background.mean(axis=0)) @ model.components_.T
    covariance = np.cov(z.T)
    widened = covariance * np.sqrt(np.outer(*2 * [model.expected_background_variance_[:, 0] / covariance.diagonal()]))
    w = _whitening(model, 1)
    np.testing.assert_allclose(w.T @ widened @ w, np.eye(2), atol=1e-9)
    rows = rng.standard_normal((5, 4))
    scores = (rows - target.mean(axis=0)) @ model.components_.T
    distances = np.einsum("ni,ij,nj->n", scores, np.linalg.inv(widened), scores)
    np.testing.assert_allclose(model.background_distance(rows)[:, 0], distances, rtol=1e-8)
    np.testing.assert_allclose(model.score_samples(rows), -distances, rtol=1e-8)
    with pytest.raises(ValueError, match="was fitted without backgrounds"):
        UCA(1).fit(target).background_distance(rows)
    own = UCA(1, scale=False).fit(target)
    square = ((rows - target.mean(axis=0)) @ own.components_[0]) ** 2 / own.explained_variance_[0]
    np.testing.assert_allclose(own.score_samples(rows), -square, rtol=1e-8)


def test_models_on_matrices_have_no_distances():
    model = UCA(1).fit_covariance(np.diag([2.0, 1.0]), backgrounds=np.eye(2))
    with pytest.raises(ValueError, match="fitted on matrices, which do not say how many rows"):
        model.score_samples(np.ones((1, 2)))


# --- missing values -----------------------------------------------------------------------------------------------------


def test_features_that_are_seldom_together():
    rows = np.ones((8, 4))
    rows[:6, 0] = np.nan  # two rows
    rows[3:, 1] = np.nan  # three rows, none of them with the first
    told = seldom_together(rows, ["a", "b", "c", "d"])
    assert told.startswith(
        "3 pairs of features with values in fewer than 3 rows together, the first 'a' and 'b': how they vary"
    )
    rows[5, 0] = 1.0  # now three, with the complete ones too
    assert seldom_together(rows, None).startswith(
        "1 pair of features with values in fewer than 3 rows together, the first 0 and 1:"
    )
    rows[:3, 0] = 1.0
    assert seldom_together(rows, None) is None
    assert seldom_together(np.ones((2, 3)), None) is None
    rows[:, 2] = np.nan  # without any value: refused elsewhere
    assert seldom_together(rows, None) is None


@pytest.mark.parametrize("representation", ["reduced", "implicit", "product_svd"])
def test_estimated_covariances_are_matrices(representation):
    with pytest.raises(ValueError, match=f"representation='{representation}' has no rows to hold"):
        check_missing("em", representation)
    check_missing("em", "covariance")
    check_missing("em", "auto")
    check_missing("error", representation)
    with pytest.raises(ValueError, match="missing must be"):
        check_missing("mean", "auto")


# --- parameters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [UCA, CPCA, SparseUCA])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"center": "yes"}, "center"),
        ({"scale": "rows"}, "scale"),
        ({"representation": "dense"}, "representation must be"),
        ({"n_components": 0}, "n_components"),
        ({"missing": "mean"}, "missing must be"),
    ],
    ids=str,
)
def test_parameters_of_every_model_are_checked(rng, model, given, told):
    if next(iter(given)) not in model().get_params():
        pytest.skip(f"{model.__name__} has no {next(iter(given))}")
    with pytest.raises((ValueError, TypeError), match=told):
        model(**given).fit(rng.standard_normal((9, 3)), backgrounds=rng.standard_normal((9, 3)))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"tol": 0.0}, "tol"),
        ({"tol": -1e-3}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"solver": "newton"}, "solver must be"),
        ({"components": "both"}, "components must be"),
        ({"bound_on": "some rows"}, "bound_on must be"),
    ],
    ids=str,
)
def test_parameters_of_a_bounded_model_are_checked(rng, given, told):
    rows = rng.standard_normal((2, 9, 3))
    with pytest.raises((ValueError, TypeError), match=told):
        UCA(**given).fit(rows[0], backgrounds=rows[1])
    if next(iter(given)) in {"tol", "max_iter", "time_limit", "solver"}:
        with pytest.raises((ValueError, TypeError), match=told):
            solve_dual(np.eye(3), np.eye(3), **given)


def test_mean_bounds_of_indefinite_backgrounds():
    with pytest.raises(ValueError, match=r"background 'b' has trace -1, so its mean bound is no bound: pass bounds="):
        solve_dual(np.eye(2), {"b": np.diag([1.0, -2.0])})
    assert solve_dual(np.diag([2.0, 1.0]), {"none": np.zeros((2, 2))}).value == pytest.approx(2.0)  # nothing varies


# --- words of a test, and groups ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tested():
    rng = np.random.default_rng(5)
    target, backgrounds = (
        rng.standard_normal((80, 5)),
        {"a": rng.standard_normal((60, 5)), "b": rng.standard_normal((50, 5))},
    )
    target[:, 0] *= 6.0
    return uniqueness_test(target, backgrounds, n_components=3, n_splits=2, model=UCA(scale=False), random_state=0)


def _with_rows(result, *, dependent=(), tails=(1.0, 1.0, 1.0), **more):
    far = np.zeros((3, 3), dtype=bool)
    for place in dependent:
        far[place] = True
    r = np.array([[0.31, 0.32, 0.33], [0.41, 0.42, 0.43], [0.51, 0.52, 0.53]])
    return dataclasses.replace(
        result, rows=dataclasses.replace(result.rows, dependent=far, autocorrelation=r, tails=np.array(tails)), **more
    )


@pytest.mark.parametrize(
    ("dependent", "n_unique", "grouped", "told"),
    [
        (
            [(0, 0)],
            1,
            False,
            "Neighbouring rows of the target are alike along UC1 (autocorrelation 0.31): in a time series",
        ),
        ([(0, 0), (2, 1)], 1, False, "Neighbouring rows of 'b' are alike along UC2 (autocorrelation 0.52)"),
        ([(1, 0)], 1, True, "Neighbouring subjects of 'a' are alike along UC1 (autocorrelation 0.41)"),
        ([(0, 2)], 1, False, None),  # beyond the first that is not unique, nothing is judged
        ([(0, 2)], 2, False, "alike along UC3"),
        ([(0, 2)], 3, False, "alike along UC3"),
        ([], 1, False, None),
    ],
)
def test_dependence_is_told_of_what_was_judged(tested, dependent, n_unique, grouped, told):
    found = [
        text
        for text in _with_rows(tested, dependent=dependent, n_unique_=n_unique, grouped=grouped).cautions
        if text.startswith("Neighbouring")
    ]
    assert len(found) == (told is not None)
    if told:
        assert told in found[0]


@pytest.mark.parametrize(
    ("tails", "told"),
    [
        ((2.0, 2.9, 3.1), "Rows of 'b' have heavier tails than the target's"),
        ((1.0, 1.6, 1.7), "Rows of 'a' and 'b' have heavier tails than the target's"),
        ((2.0, 3.0, 3.0), None),
    ],
)
def test_heavier_tails_are_told_by_name(tested, tails, told):
    found = [text for text in _with_rows(tested, tails=tails).cautions if "heavier tails" in text]
    assert len(found) == (told is not None)
    if told:
        assert found[0].startswith(told)
        assert "too small, all the more in common units. Look at the far rows" in found[0]


def test_a_test_in_one_line(tested):
    assert tested.n_unique_ == 1
    assert repr(tested).count("1 of 3 components unique at level 5 %; p: UC1 ") == 1
    assert tested.verdict(0) == "unique"
    assert (tested.verdict(1), tested.verdict(2)) == ("not shown", "not judged")
    assert "target 80 rows, a 60 rows, b 50 rows" in str(tested)
    assert p_text(0.0009) == "<0.001"
    assert p_text(0.001) == "0.001"
    by_contrast = dataclasses.replace(tested, order="contrast")
    assert by_contrast._name(1) == "Component 2"
    assert (by_contrast._named(2), by_contrast._named(3), tested._named(3), tested._named(2)) == (
        "Components 1 and 2",
        "Components 1 to 3",
        "UC1 to UC3",
        "UC1 and UC2",
    )
    assert tested._named(2, 1) == "UC2"
    groups = dataclasses.replace(tested, n_subjects=(8, 60, 50))
    assert groups._sizes() == "target 8 subjects with 80 rows, a 60 rows, b 50 rows"
    worst = int(np.argmax([*tested.background_pvalues[1], tested.average_pvalues[1]]))
    name = ("'a'", "'b'", "an average direction of the target")[worst]
    assert tested._reason(1).endswith(f"against {name}")


def test_scores_of_groups_by_hand():
    scores = [np.array([[1.0], [2.0], [6.0], [4.0]]), np.array([[5.0], [7.0]])]
    n_rows, means, deviations = by_group(scores, (np.array([0, 0, 1, 0]), np.array([2, 1])), [0, 1, 2])
    np.testing.assert_array_equal(n_rows, [[3, 0], [1, 1], [0, 1]])
    np.testing.assert_allclose(means[:, :, 0], [[7 / 3, np.nan], [6.0, 7.0], [np.nan, 5.0]])
    np.testing.assert_allclose(deviations[:, :, 0], [[np.std([1, 2, 4], ddof=1), np.nan], [np.nan] * 2, [np.nan] * 2])
    between = between_groups(scores[0], np.array([0, 0, 1, 0]))
    np.testing.assert_allclose(between, (3 * (7 / 3 - 3.25) ** 2 + (6 - 3.25) ** 2) / ((scores[0] - 3.25) ** 2).sum())
    assert between_groups(np.ones((3, 1)), np.array([0, 1, 1]))[0] == 0.0


def test_the_variance_of_a_group_that_was_left_out(rng):
    target, background = rng.standard_normal((30, 4)), rng.standard_normal((25, 4)) * [1.0, 2.0, 1.0, 0.5]
    model = UCA(2).fit(target, backgrounds=background)
    outside = rng.standard_normal((6, 4)) + 5.0
    scores = outside / background.std(axis=0, ddof=1) @ model.components_.T
    np.testing.assert_allclose(_variance(model, background, outside), scores.var(axis=0, ddof=1), rtol=1e-9)
    assert np.isnan(_variance(model, background, outside[:1])).all()
    assert np.isfinite(_variance(model, background, outside[:2])).all()


@pytest.mark.filterwarnings("ignore:constant features were scaled to 0")
def test_constant_features_are_told_in_the_methods(rng):
    target, background = rng.standard_normal((2, 20, 4))
    assert "constant in the target" not in str(methods_text(UCA(1).fit(target, backgrounds=background)))
    target[:, 1] = 2.0
    told = " ".join(str(methods_text(UCA(1).fit(target, backgrounds=background))).split())
    assert "1 feature, constant in the target, contributed nothing." in told
    target[:, 2] = 2.0
    told = " ".join(str(methods_text(UCA(1).fit(target, backgrounds=background))).split())
    assert "2 features, constant in the target, contributed nothing." in told


def test_a_later_component_that_cannot_respect_the_bounds():
    """Two of three axes vary little: the third component has nowhere to go."""
    background = np.diag([1.0, 1.0, 9.0])
    model = UCA(3, components="sequential", bound=2.0)
    with pytest.raises(
        InfeasibleBoundsError,
        match=r"component 3 cannot respect the bounds orthogonally to the first 2: .* lower n_components to 2",
    ):
        model.fit_covariance(np.diag([3.0, 2.0, 1.0]), backgrounds={"b": background})
    with pytest.raises(InfeasibleBoundsError, match="^no direction satisfies the bounds"):
        UCA(2, components="sequential", bound=0.5).fit_covariance(np.eye(3), backgrounds={"b": background})


def test_more_than_a_background_is_not_more_than_an_average_direction(rng):
    """A target that varies alike in all directions, four times as much as the background: one question says yes, one no."""
    found = uniqueness_test(
        2.0 * rng.standard_normal((80, 4)),
        rng.standard_normal((80, 4)),
        n_components=1,
        n_splits=3,
        model=UCA(scale=False),
        random_state=0,
    )
    assert found.background_pvalues[0, 0] < 0.01
    assert found.average_pvalues[0] > 0.1
    assert found.pvalues[0] >= found.average_pvalues[0]
    assert found.n_unique_ == 0


# --- rows drawn again ---------------------------------------------------------------------------------------------------


def _sample_of(rng):
    tables = [rng.standard_normal((20, 3)), rng.standard_normal((8, 3)) + 5.0, 3.0 * rng.standard_normal((6, 3))]
    return check_sample(tables[0], {"a": tables[1], "b": tables[2]}, None, min_subjects=2, gaps=False), tables


@pytest.mark.parametrize("scale", [True, False, "target"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_of_two_backgrounds_are_dealt_about_their_own_means(rng, scale, kind):
    """Every row is in one of the two again, about the mean of where it came from (over its deviations with scale=True)."""
    sample, tables = _sample_of(rng)
    if kind == "sparse":
        sample = dataclasses.replace(sample, arrays=(sample.arrays[0], *map(sparse.csr_matrix, sample.arrays[1:])))
    z = [t - t.mean(axis=0) for t in tables[1:]]
    z = [part / part.std(axis=0, ddof=1) for part in z] if scale is True else z
    for j, place in ((0, 1), (1, 0)):
        dealt = _dealt(sample, j, place, SimpleNamespace(center=True, scale=scale), rng)
        assert [len(part) for part in dealt.arrays] == [20, 8, 6]
        np.testing.assert_array_equal(dealt.arrays[0], tables[0])
        found, expected_rows = np.vstack(dealt.arrays[1:]), np.vstack(z)
        order, other = np.lexsort(found.T), np.lexsort(expected_rows.T)
        np.testing.assert_allclose(found[order], expected_rows[other], atol=1e-12)
        assert not np.allclose(dealt.arrays[1], z[0])
    raw = _standardised(tables[1], SimpleNamespace(center=False, scale=False))
    np.testing.assert_array_equal(raw, tables[1])


def test_rows_with_gaps_are_dealt_about_estimated_means(rng):
    rows = rng.standard_normal((200, 3)) + 5.0
    complete = _standardised(rows, SimpleNamespace(center=True, scale=False))
    rows[:20, 0] = np.nan
    found = _standardised(rows, SimpleNamespace(center=True, scale=False))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(rows))
    assert np.abs(found[20:] - complete[20:]).max() < 0.2  # a tenth of one column is missing: a few hundredths


@pytest.mark.parametrize(("mean", "far"), [(0.9e4, False), (1.1e4, True)])
def test_means_are_far_from_ten_thousand_deviations_on(mean, far):
    rows = np.tile([[mean - 1.0, 1.0], [mean + 1.0, 3.0]], (50, 1))
    assert _is_far(sparse.csr_matrix(rows)) is far


def test_later_components_may_vary_less_in_new_rows():
    """Of joint components only the first was chosen to vary little: for others a prediction may be smaller."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((2, 12, 8)) * np.linspace(3.0, 0.5, 8)
    joint, sequential = (
        UCA(3, scale=False, components=how).fit(rows[0], backgrounds=rows[1]) for how in ("joint", "sequential")
    )
    assert np.all(sequential.expected_background_variance_ >= sequential.background_variance_ * (1 - 1e-9))
    assert joint.expected_background_variance_[0, 0] >= joint.background_variance_[0, 0] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([("a", None), ("a", None)], r"names of steps must differ and not contain '__'; got \['a', 'a'\]"),
        ([("a__b", "passthrough"), ("c", UCA())], r"must differ and not contain '__'"),
        ([("a", "passthrough"), ("c__", UCA())], r"must differ and not contain '__'"),
        ([], "at least one entry"),
        ("ab", "must be a list of"),
    ],
)
def test_names_of_steps(steps, told):
    with pytest.raises(ValueError, match=told):
        check_steps(steps)


# --- words of results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("values", "told"), [([0.5], "0.5"), ([2.0, 0.25, 1.0], "0.25 to 2")])
def test_ranges_of_groups(values, told):
    assert _range(np.array(values)) == told
    assert (_number(np.nan), _number(1.2345)) == ("", "1.23")


def test_components_of_a_bootstrap_are_numbered_from_one(rng):
    target, background = rng.standard_normal((2, 40, 4)) * [3.0, 2.0, 1.0, 1.0]
    found = bootstrap(target, background, n_components=2, n_resamples=20, random_state=0)
    assert [row["component"] for row in found.table] == [1, 2]
    assert [row["stability"] for row in found.table] == found.stability_.tolist()


def test_parameters_are_checked_wherever_a_model_is_used(rng):
    rows = rng.standard_normal((2, 20, 4))
    with pytest.raises(ValueError, match="proof must be"):
        SparseUCA(2, proof="none so far").path([2], rows[0], backgrounds=rows[1])
    for n_folds, told in ((1, "n_folds must be at least 2; got 1"), (0, "n_folds must be"), (2.5, "n_folds must be")):
        with pytest.raises((ValueError, TypeError), match=told):
            SparseUCA(2).path([2], rows[0], backgrounds=rows[1], n_folds=n_folds)
    with pytest.raises(ValueError, match="scale must be"):
        choose_restriction(rows[0], rows[1], model=UCA(scale="rows"))


def test_why_later_components_are_above_a_bound(rng):
    rows = rng.standard_normal((2, 40, 4)) * [3.0, 2.0, 1.0, 1.0]
    told = " ".join(str(UCA(3).fit(rows[0], backgrounds=rows[1]).summary()).split())
    assert "* more than the bound. Only the first component is bound; components='sequential' bounds them all." in told
