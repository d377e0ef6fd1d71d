"""``bound_on="new rows"``: the restricted problem against independent answers, the choice on held-out rows, its limits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from problems import covariance
from scipy import sparse
from sdp import full_sdp
from sklearn.base import clone

import uca
from uca import UCA
from uca._subjects import folds
from uca.fitted import problem_of
from uca.inference import Restriction, TradeOff, choose_restriction
from uca.solvers.infeasible import InfeasibleBoundsError


def factor_data(seed, *, p, n, m=1, strength=0.3):
    """Rows of target and backgrounds with three shared factors, one of the target's own; and the loadings of each."""
    rng = np.random.default_rng(seed)
    shared = strength * rng.choice([-1.0, 1.0], size=(3, p))
    own = strength * rng.choice([-1.0, 1.0], size=(1, p))
    loadings = [np.vstack([shared, own]), *[shared] * m]
    rows = [rng.normal(size=(n, len(f))) @ f + rng.normal(size=(n, p)) for f in loadings]
    return rows, loadings


def population_variances(loadings, v):
    """In units of the deviations of each dataset, which are the same for every feature."""
    return np.array([(np.sum((f @ v) ** 2) + 1.0) / (1.0 + np.sum(f[:, 0] ** 2)) for f in loadings])


def leading(target, q):
    return np.linalg.eigh(covariance(target))[1][:, ::-1][:, :q]


# --- the restricted problem -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize(("p", "representation"), [(12, "covariance"), (60, "reduced"), (60, "product_svd")])
def test_restricted_optimum_is_that_of_the_full_programme(p, representation, m):
    rows, _ = factor_data(m, p=p, n=30, m=m, strength=0.6)
    model = UCA(2, bound_on=Restriction(7, 0.8), representation=representation).fit(rows[0], backgrounds=rows[1:])
    basis = leading(rows[0], 7)
    matrices = [basis.T @ covariance(part) @ basis for part in rows]
    factor = model.restriction_.factor
    assert factor == 0.8  # tight enough to be felt, loose enough to be kept
    expected = full_sdp(matrices[0], matrices[1:], np.full(m, factor))
    # 1e-7: what the interior-point solver of the programme reaches.
    np.testing.assert_allclose(model.certificate_.upper, expected, rtol=1e-7)
    assert model.certificate_.status == "optimal"
    np.testing.assert_allclose(model.bounds_, 1.0)
    assert np.all(model.background_variance_[0] <= 0.8 * (1 + 1e-6))
    outside = model.components_ - model.components_ @ basis @ basis.T
    assert np.abs(outside).max() < 1e-7
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-10)


def test_products_alone_find_the_same_where_the_leading_directions_stand_apart():
    """A subspace iteration finds leading eigenvectors that are set apart; more would be mixtures of their neighbours."""
    rows, _ = factor_data(0, p=40, n=300, strength=1.0)
    restriction = Restriction(4, 0.5)
    dense = UCA(1, bound_on=restriction).fit(rows[0], backgrounds=rows[1:])
    for data in (rows, [sparse.csr_array(part) for part in rows]):
        model = UCA(1, bound_on=restriction, representation="implicit").fit(data[0], backgrounds=data[1:])
        np.testing.assert_allclose(model.components_, dense.components_, atol=1e-4)
        assert model.certificate_.status == "optimal"


def plane(a, *bs):
    """Every direction of a plane, half a turn of them: the target's variances and the backgrounds', (200 000,) each."""
    angle = np.linspace(0, np.pi, 200_001)
    v = np.stack([np.cos(angle), np.sin(angle)])
    return v, *(np.einsum("dn,de,en->n", v, s, v) for s in (a, *bs))


@pytest.mark.parametrize("m", [1, 2])
def test_where_no_direction_keeps_the_bounds_the_largest_ratio_is_taken(m):
    a = np.diag([9.0, 4.0])
    bs = [np.array([[3.0, 0.4], [0.4, 2.0]]), np.array([[2.0, -0.9], [-0.9, 2.5]])][:m]
    model = UCA(1, bound=1.0, bound_on=Restriction(2, 0.5)).fit_covariance(a, backgrounds=bs)
    v, target, *backgrounds = plane(a, *bs)
    best = int(np.argmax(target / np.max(backgrounds, axis=0)))
    assert abs(model.components_[0] @ v[:, best]) > 1 - 1e-6
    np.testing.assert_allclose(model.restriction_.factor, np.max(backgrounds, axis=0)[best], rtol=1e-4)
    assert "No direction there respects the bounds themselves" in model.certificate_.message
    assert model.certificate_.status == "optimal"


def test_bounds_are_tightened_to_the_largest_ratio_and_no_further():
    a, b = np.diag([9.0, 4.0]), np.diag([0.9, 0.3])
    _, target, background = plane(a, b)
    best = int(np.argmax(target / background))  # ratio 13.3 at 0.3
    for asked, used in ((0.6, 0.6), (0.31, 0.31), (0.1, background[best])):
        model = UCA(1, bound=1.0, bound_on=Restriction(2, asked)).fit_covariance(a, backgrounds=b)
        np.testing.assert_allclose(model.restriction_.factor, used, rtol=1e-5)
        np.testing.assert_allclose(
            model.explained_variance_[0], target[background <= used * (1 + 1e-5)].max(), rtol=1e-4
        )


def test_bounds_that_can_be_kept_are_not_given_up_for_a_ratio():
    """The largest ratio lies above the bound, and some directions below it."""
    a, b = np.diag([100.0, 1.0]), np.diag([4.0, 0.1])
    model = UCA(1, bound=1.0, bound_on=Restriction(2, 0.5)).fit_covariance(a, backgrounds=b)
    _, target, background = plane(a, b)
    assert model.background_variance_[0, 0] <= 1 + 1e-6
    np.testing.assert_allclose(model.explained_variance_[0], target[background <= 1].max(), rtol=1e-4)


def test_all_directions_and_the_bounds_as_they_are_is_the_plain_fit():
    rows, _ = factor_data(1, p=30, n=50)
    plain = UCA(2).fit(rows[0], backgrounds=rows[1:])
    model = UCA(2, bound_on=Restriction()).fit(rows[0], backgrounds=rows[1:])
    assert plain.restriction_ is None
    np.testing.assert_array_equal(model.components_, plain.components_)
    np.testing.assert_array_equal(model.lambdas_, plain.lambdas_)
    assert model.certificate_.upper == plain.certificate_.upper
    assert model.restriction_.sentence.startswith("Not restricted")


def test_every_sequential_component_is_restricted():
    rows, _ = factor_data(2, p=40, n=60, strength=0.6)
    model = UCA(3, components="sequential", bound_on=Restriction(12, 0.6)).fit(rows[0], backgrounds=rows[1:])
    assert np.all(model.background_variance_ <= 0.6 * (1 + 1e-6))
    basis = leading(rows[0], 12)
    np.testing.assert_allclose(model.components_ @ basis @ basis.T, model.components_, atol=1e-8)
    assert len(model.certificates_) == 3
    assert all("restricted for new ones" in certificate.message for certificate in model.certificates_)


def test_units_do_not_matter():
    rows, _ = factor_data(3, p=10, n=15)
    fits = [
        UCA(1, scale=False, bound_on="new rows").fit(c * rows[0], backgrounds=[c * rows[1]]) for c in (1.0, 2.0**-40)
    ]
    np.testing.assert_array_equal(fits[0].components_, fits[1].components_)
    np.testing.assert_array_equal(
        fits[0].restriction_.trade_off.target * 2.0**-80, fits[1].restriction_.trade_off.target
    )
    np.testing.assert_array_equal(fits[0].bounds_ * 2.0**-80, fits[1].bounds_)


# --- the choice -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few_rows():
    return factor_data(5, p=1000, n=25)


@pytest.fixture(scope="module")
def held_back(few_rows):
    rows, _ = few_rows
    return UCA(1, bound_on="new rows").fit(rows[0], backgrounds={"control": rows[1]})


def test_the_bound_holds_on_new_rows(few_rows, held_back):
    """Population variances: the plain fit is far above its bound of 1, the fit that is held back is near it."""
    rows, loadings = few_rows
    plain = UCA(1).fit(rows[0], backgrounds=rows[1:])
    before, after = (population_variances(loadings, model.components_[0]) for model in (plain, held_back))
    assert before[1] > 4
    assert after[1] < 1.5
    assert after[0] / max(1.0, after[1]) > 3 * before[0] / before[1]


def test_same_seed_same_choice():
    rows, _ = factor_data(1, p=12, n=12)
    first, again = (UCA(1, bound_on="new rows").fit(rows[0], backgrounds=rows[1]) for _ in range(2))
    np.testing.assert_array_equal(again.components_, first.components_)
    figures = first.restriction_.trade_off.target
    np.testing.assert_array_equal(again.restriction_.trade_off.target, figures)
    np.testing.assert_array_equal(choose_restriction(rows[0], rows[1], model=UCA(1)).trade_off.target, figures)
    labelled = choose_restriction(rows[0], rows[1], groups=[list("abcdefghijkl"), list("ABCDEFGHIJKL")], model=UCA(1))
    np.testing.assert_array_equal(labelled.trade_off.target, figures)  # labels do not matter
    other = choose_restriction(rows[0], rows[1], model=UCA(1), random_state=5)
    assert not np.array_equal(other.trade_off.target, figures)


@pytest.mark.parametrize("scale", [True, "target", False])
def test_figures_are_those_of_fits_without_the_fold(scale):
    """The candidate without any restriction, by hand: plain fits, held-out rows in units of all rows."""
    rows, _ = factor_data(4, p=20, n=15)
    rows[1] = 2 * rows[1][:12] + 3
    found = choose_restriction(rows[0], rows[1], model=UCA(1, scale=scale), random_state=1)
    plain = next(i for i, q in enumerate(found.trade_off.n_leading) if q is None)
    assert found.trade_off.factors[plain] == 1.0
    codes = [np.arange(15), np.arange(15, 27)]
    sums = np.zeros(2)
    deviations = [part.std(axis=0, ddof=1) for part in rows]
    units = {True: deviations, "target": [deviations[0]] * 2, False: [1.0, 1.0]}[scale]
    rng = np.random.default_rng(np.random.RandomState(1).randint(np.iinfo(np.int32).max))
    shuffled = [fold for _ in range(found.trade_off.n_repeats) for fold in folds(codes, 5, rng)]
    for held in shuffled:
        parts = [part[~out] for part, out in zip(rows, held, strict=True)]
        v = UCA(1, scale=scale).fit(parts[0], backgrounds=parts[1]).components_[0]
        for j, (part, out) in enumerate(zip(rows, held, strict=True)):
            sums[j] += np.sum(((part[out] - part.mean(axis=0)) / units[j] @ v) ** 2)
    expected = sums / found.trade_off.n_repeats / [14, 11]
    # Fits of folds are solved to 1e-5, so directions and variances agree to about its root.
    np.testing.assert_allclose(found.trade_off.target[plain], expected[0], rtol=1e-2)
    np.testing.assert_allclose(found.trade_off.background[plain], expected[1:], rtol=1e-2)


def test_folds_keep_subjects_whole_and_hold_every_row_out_equally_often():
    rng = np.random.default_rng(0)
    subjects = [rng.permutation(np.repeat(np.arange(12), 3)), np.repeat(np.arange(6, 20), 2)]  # six are in both
    times = [np.zeros(len(codes), dtype=int) for codes in subjects]
    for held in [*folds(subjects, 5, rng), *folds(subjects, 5, rng)]:
        out = [set(codes[side]) for codes, side in zip(subjects, held, strict=True)]
        kept = [set(codes[~side]) for codes, side in zip(subjects, held, strict=True)]
        assert not set.union(*out) & set.union(*kept)
        assert all(2 <= len(part) <= 4 for part in out)
        for count, side in zip(times, held, strict=True):
            count += side
    assert all(np.all(count == 2) for count in times)


def trade_off(target, background):
    n = len(target)
    return TradeOff(
        tuple(range(2, n + 2)),
        np.ones(n),
        np.array(target),
        np.array(background)[:, np.newaxis],
        np.ones(1),
        ("b",),
        5,
        2,
    )


@pytest.mark.parametrize(
    ("target", "background", "chosen"),
    [
        ([10.0, 8.0, 2.0], [5.0, 1.0, 0.5], 1),
        ([10.0, 9.9, 9.5], [0.9, 0.8, 0.1], 0),  # all within the bound: the largest target
        ([20.0, 8.0, 1.0], [2.0, 1.0, 0.5], 1),  # twice the bound costs more than twice the target gains
        ([30.0, 8.0, 1.0], [2.0, 1.0, 0.5], 0),
    ],
)
def test_the_rule(target, background, chosen):
    assert trade_off(target, background).best == chosen


def test_repeated_rows_need_groups():
    """Copies of one another in and out of a fold hide what new subjects show."""
    rows, _ = factor_data(5, p=200, n=12)
    repeated = [np.repeat(part, 3, axis=0) for part in rows]
    groups = [np.repeat(np.arange(12), 3) + 100 * j for j in range(2)]
    blind = choose_restriction(repeated[0], repeated[1], model=UCA(1))
    told = choose_restriction(repeated[0], repeated[1], groups=groups, model=UCA(1))
    plain = [next(i for i, q in enumerate(r.trade_off.n_leading) if q is None) for r in (blind, told)]
    assert told.trade_off.excess[plain[1]] > 1.5 * blind.trade_off.excess[plain[0]]
    model = UCA(1, bound_on=told).fit(repeated[0], backgrounds=repeated[1])
    assert model.restriction_.n_leading == told.n_leading


def test_few_subjects_are_left_out_one_by_one():
    rows, _ = factor_data(6, p=20, n=20)
    groups = [np.repeat(np.arange(4), 5), 10 + np.repeat(np.arange(10), 2)]
    assert choose_restriction(rows[0], rows[1], groups=groups).trade_off.n_folds == 4


def test_sparse_rows_give_the_same_choice():
    rng = np.random.default_rng(0)
    rows = [rng.poisson(0.5, size=(n, 12)).astype(float) * (1 + (np.arange(12) < 3)) for n in (30, 20)]
    dense = UCA(1, bound_on="new rows").fit(rows[0], backgrounds=rows[1])
    model = UCA(1, bound_on="new rows").fit(sparse.csc_array(rows[0]), backgrounds=sparse.csr_array(rows[1]))
    np.testing.assert_allclose(model.restriction_.trade_off.target, dense.restriction_.trade_off.target, rtol=1e-6)
    assert model.restriction_.n_leading == dense.restriction_.n_leading
    np.testing.assert_allclose(model.components_, dense.components_, atol=1e-6)


def test_candidates_leave_room_for_every_component():
    rows, _ = factor_data(7, p=15, n=15, m=2)
    model = UCA(6, bound_on="new rows").fit(rows[0], backgrounds=rows[1:])
    assert all(q is None or q >= 6 for q in model.restriction_.trade_off.n_leading)
    assert model.components_.shape == (6, 15)
    assert model.restriction_.trade_off.background.shape[1] == 2


def test_without_backgrounds_there_is_nothing_to_hold_back():
    rows, _ = factor_data(8, p=10, n=20)
    model, plain = UCA(bound_on="new rows").fit(rows[0]), UCA().fit(rows[0])
    assert model.restriction_ is None
    np.testing.assert_array_equal(model.components_, plain.components_)


# --- what is told, kept and refused ---------------------------------------------------------------------------------------


def test_summary_shows_the_trade_off(held_back):
    text = held_back.summary()
    assert all(words in text for words in ("the paper's bound", "chosen", "held-out rows"))
    assert "This refers to these rows and to a problem restricted for new ones" in text.replace("\n", " ")
    assert str(held_back.restriction_.n_leading) in held_back.restriction_.sentence
    assert repr(held_back) == "UCA(bound_on='new rows', n_components=1)"


def test_it_says_where_nothing_keeps_the_bound():
    found = Restriction(2, 1.0, trade_off([5.0, 4.0], [3.0, 2.0]))
    assert "No candidate respects every bound on held-out rows" in found.sentence
    assert "Nothing" not in Restriction(2, 1.0, trade_off([5.0, 4.0], [3.0, 1.0])).sentence


def test_report_and_certificate_speak_of_the_restricted_problem(held_back):
    words = pytest.importorskip("uca.report.words").certificate_sentence(held_back)
    assert held_back.restriction_.sentence in words
    assert "No direction that respects the bounds" not in words  # others may: outside of the leading ones


def test_clone_save_and_look_again(few_rows, held_back, tmp_path):
    rows, _ = few_rows
    pytest.importorskip("skops")
    given = UCA(1, bound_on=held_back.restriction_)
    assert clone(given).get_params() == given.get_params()
    model = clone(given).fit(rows[0], backgrounds={"control": rows[1]})
    np.testing.assert_allclose(model.components_, held_back.components_, atol=1e-7)
    loaded = uca.load(uca.save(model, tmp_path / "model.skops"))
    assert loaded.restriction_ == model.restriction_
    np.testing.assert_array_equal(loaded.restriction_.trade_off.background, model.restriction_.trade_off.background)
    assert loaded.summary() == model.summary()
    problem = problem_of(held_back, rows[0], {"control": rows[1]})  # refuses data of another problem
    np.testing.assert_allclose(problem.value, held_back.certificate_.upper, rtol=1e-6)


def test_program(tmp_path):
    pytest.importorskip("typer")
    from commands import run

    rows, _ = factor_data(9, p=12, n=24)
    for name, part in zip(("target", "control"), rows, strict=True):
        subject = np.repeat(np.arange(8), 3)[:, np.newaxis] + (100 if name == "control" else 0)
        header = ",".join(["mouse", *(f"f{i}" for i in range(12))])
        np.savetxt(tmp_path / f"{name}.csv", np.hstack([subject, part]), delimiter=",", header=header, comments="")
    tables = [str(tmp_path / "target.csv"), "-b", str(tmp_path / "control.csv")]
    common = ["--no-report", "--json", "--bound-on", "new rows", "-k", "1"]
    found = {}
    for name, extra in (("rows", ["--drop", "mouse"]), ("mice", ["--groups", "mouse"])):
        result = run("fit", *tables, *common, *extra, "-o", str(tmp_path / name))
        assert result.exit_code == 0, result.output
        found[name] = json.loads(result.stdout)["restriction"]
    expected = choose_restriction(
        rows[0], rows[1], groups=[np.repeat(np.arange(8), 3), 100 + np.repeat(np.arange(8), 3)], model=UCA(1)
    )
    assert found["mice"]["n_leading"] == expected.n_leading
    assert found["mice"]["sentence"] != found["rows"]["sentence"]
    refused = run("fit", *tables, "--groups", "mouse", "-o", str(tmp_path / "no"))
    assert refused.exit_code == 2
    assert "--bound-on 'new rows'" in refused.output


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        ("new", ValueError, "bound_on must be 'rows', 'new rows' or a Restriction"),
        (None, ValueError, "bound_on must be"),
        (Restriction(1), ValueError, "n_components=2 is more than n_leading=1"),
        (Restriction(0), ValueError, "n_leading must be at least 1"),
        (Restriction(2.5), TypeError, "n_leading must be an integer"),
        (Restriction(3, 0.0), ValueError, "factor tightens the bounds and must lie between 0 and 1"),
        (Restriction(3, 1.2), ValueError, "factor tightens the bounds and must lie between 0 and 1"),
        (Restriction(3, "half"), TypeError, "factor must be a number"),
    ],
)
def test_what_bound_on_may_not_be(value, error, match):
    rows, _ = factor_data(0, p=6, n=12)
    with pytest.raises(error, match=match):
        UCA(bound_on=value).fit(rows[0], backgrounds=rows[1])


def test_ways_to_fit_that_keep_no_rows_say_what_to_do():
    rows, _ = factor_data(0, p=6, n=12)
    model = UCA(bound_on="new rows")
    with pytest.raises(
        ValueError, match="fit_covariance has none: choose it on rows in memory with .*choose_restriction"
    ):
        model.fit_covariance(np.eye(3), backgrounds=np.eye(3))
    with pytest.raises(ValueError, match="partial_fit has none"):
        model.partial_fit(rows[0], backgrounds=rows[1])
    stream = UCA(1, bound_on=Restriction(3, 0.7)).partial_fit(rows[0], backgrounds=rows[1])
    at_once = UCA(1, bound_on=Restriction(3, 0.7)).fit(rows[0], backgrounds=rows[1])
    np.testing.assert_allclose(stream.components_, at_once.components_, atol=1e-8)
    assert stream.restriction_.n_leading == 3
    da = pytest.importorskip("dask.array")
    lazy = [da.from_array(part, chunks=(6, 6)) for part in rows]
    with pytest.raises(TypeError, match=r"target X is a dask collection.*choose_restriction"):
        model.fit(lazy[0], backgrounds=lazy[1])


def test_too_few_rows_and_impossible_bounds():
    rows, _ = factor_data(0, p=6, n=12)
    with pytest.raises(ValueError, match="background 'background1' has 3 independent rows or subjects"):
        UCA(bound_on="new rows").fit(rows[0], backgrounds=rows[1][:3])
    with pytest.raises(InfeasibleBoundsError, match="smallest attainable"):
        UCA(bound=1e-3, bound_on="new rows").fit(rows[0], backgrounds=rows[1])
    with pytest.raises(TypeError, match="model must be a UCA"):
        choose_restriction(rows[0], rows[1], model=uca.CPCA())
