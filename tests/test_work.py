"""Every fit is bounded work: limits of eigen-solves and of time, and bounds that hold wherever a solver was stopped."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problems import covariance, make_problems
from sdp import full_sdp
from sklearn.exceptions import ConvergenceWarning

from uca import UCA, InfeasibleBoundsError, SparseUCA, solve_dual
from uca._deadline import Deadline
from uca.estimators import crossfit
from uca.inference import choose_restriction
from uca.operators.contract.dense import DensePencil
from uca.operators.eigen.solver import Eigensolver
from uca.solvers import direction, projected
from uca.solvers.relaxed import solve_relaxed
from uca.solvers.sdp import solve_sdp
from uca.solvers.solve import SOLVERS
from uca.solvers.visited import PER_ITERATION

MANY = 200
CLOSE = 1e-7  # of the independent programme, relative


def many(p: int = 8, seed: int = 0) -> tuple[np.ndarray, list[np.ndarray]]:
    """Correlations of a target and of many unlike backgrounds."""
    rng = np.random.default_rng(seed)
    rows = [rng.standard_normal((60, p)) @ rng.standard_normal((p, p)) for _ in range(MANY + 1)]
    target, *backgrounds = (covariance(part) for part in rows)
    return target, backgrounds


@pytest.fixture
def ticking(monkeypatch):
    """A clock that a second passes on whenever it is read."""
    seconds = itertools.count()
    monkeypatch.setattr("uca._deadline.now", lambda: float(next(seconds)))


def assert_brackets(certificate, optimum: float) -> None:
    assert certificate.lower <= optimum * (1 + CLOSE)
    assert certificate.upper >= optimum * (1 - CLOSE)
    assert certificate.gap == pytest.approx((certificate.upper - certificate.lower) / certificate.upper, abs=1e-12)


@pytest.fixture(scope="module")
def optimum() -> float:
    target, backgrounds = many()
    return full_sdp(target, backgrounds, np.ones(MANY))


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "root"])
def test_two_hundred_backgrounds(solver, optimum):
    result = solve_dual(*many(), solver=solver, max_iter=20)
    own = result.certificate
    assert_brackets(own, optimum)
    assert own.status in {"optimal", "max_iter", "stalled"}
    assert (own.status == "optimal") == (own.gap <= 1e-9)
    # What max_iter promises, and a few for the certificate itself.
    assert own.n_eigensolves <= 20 * PER_ITERATION + 10
    if solver == "subspace":
        assert own.status == "optimal"


def test_each_of_two_hundred_backgrounds_by_root_finding(optimum):
    """One background is all that it takes; the optimum with all of them is not above that with any one."""
    target, backgrounds = many()
    for background in backgrounds[:20]:
        own = solve_dual(target, background, solver="root").certificate
        assert own.status == "optimal"
        assert own.upper >= optimum * (1 - CLOSE)


def test_an_estimator_with_two_hundred_backgrounds():
    """The mixture has more directions than a small programme takes: it grows with the number of backgrounds."""
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal((60, 16)) @ rng.standard_normal((16, 16)) for _ in range(MANY + 1)]
    model = UCA().fit(rows[0], backgrounds=rows[1:])
    target, *backgrounds = (covariance(part) for part in rows)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.upper == pytest.approx(full_sdp(target, backgrounds, np.ones(MANY)), rel=CLOSE)


@pytest.mark.parametrize(("p", "m"), [(30, 200), (40, 50)])
def test_many_backgrounds_on_more_features(p, m):
    """More directions than a programme takes at first; bounds of the certificate prove the optimum by themselves."""
    rng = np.random.default_rng(0)
    target, *backgrounds = (covariance(rng.standard_normal((60, p))) for _ in range(m + 1))
    own = solve_dual(target, backgrounds).certificate
    assert own.status == "optimal"
    assert own.proven


def test_two_hundred_bounds_that_cannot_be_kept_together():
    """Each of two could be kept alone; the error names one of the two, not one of the 198 that do not matter."""
    target = np.eye(3)
    backgrounds = {f"b{j}": np.diag([1e-3, 1e-3, 1e-3]) for j in range(MANY - 2)}
    backgrounds |= {"u": np.diag([0.0, 4.0, 4.0]), "w": np.diag([4.0, 0.0, 0.0])}
    with pytest.raises(InfeasibleBoundsError, match="together: background '[uw]' has bound 1, the smallest attainable"):
        solve_dual(target, backgrounds, 1.0)


# --- time ----------------------------------------------------------------------------------------------------------

KINDS = make_problems(22, 5, 30, seed=5)


@pytest.mark.parametrize("seconds", [0, 3])
@pytest.mark.parametrize(
    ("solver", "problem"),
    [(name, kind) for name in SOLVERS for kind in KINDS if name != "root" or len(kind.backgrounds) == 1],
    ids=str,
)
def test_bounds_hold_when_time_is_over(ticking, solver, seconds, problem):
    true = full_sdp(problem.target, problem.backgrounds, problem.bounds)
    result = solve_dual(problem.target, problem.backgrounds, solver=solver, time_limit=seconds)
    own = result.certificate
    assert np.isfinite(own.lower)  # mean bounds can always be kept
    assert own.lower <= true * (1 + CLOSE) + 1e-9
    assert own.upper >= true * (1 - CLOSE) - 1e-9
    if own.status == "time_limit":
        assert own.gap > 1e-9
        assert "stopped at the time limit with a relative gap of" in own.message
        assert "Raise time_limit" in own.message
        assert own.n_eigensolves <= seconds + 4
    else:  # solved, or as far as it goes, within the time
        assert own.status in {"optimal", "stalled", "rounding"}


@pytest.mark.parametrize("solver", ["subspace", "lbfgs", "coordinate", "bisection"])
def test_programmes_are_cut_short_as_well(monkeypatch, solver):
    """Past the time, one programme for a feasible matrix where none is at hand, and that one is not unlimited."""
    allowed = []

    def timed(a, b, low, box, seconds=np.inf):
        allowed.append(seconds)
        return solve_sdp(a, b, low, box, seconds)

    monkeypatch.setattr(projected, "solve_sdp", timed)
    target, backgrounds = many(40)
    own = solve_dual(target, backgrounds, solver=solver, time_limit=0.0).certificate
    assert own.status == "time_limit"
    assert allowed == [projected.GRACE] * len(allowed)
    assert len(allowed) <= 2


@pytest.mark.parametrize("solver", ["subspace", "lbfgs", "coordinate", "bisection"])
def test_a_fit_that_runs_out_of_time_says_so(ticking, rng, solver):
    rows = [rng.standard_normal((60, 10)) @ rng.standard_normal((10, 10)) for _ in range(4)]
    full = UCA(1).fit(rows[0], backgrounds=rows[1:])
    with pytest.warns(ConvergenceWarning, match="at the time limit"):
        model = UCA(1, solver=solver, time_limit=0.0, representation="implicit").fit(rows[0], backgrounds=rows[1:])
    own = model.certificate_
    assert own.status == "time_limit"
    assert "not solved to the tolerance" in own.brief
    assert own.lower <= full.certificate_.upper
    assert own.upper >= full.certificate_.lower
    excess = float(np.max(model.background_variance_[0] - model.bounds_))
    assert ("The first component exceeds a bound" in own.message) == (excess > 1e-7)


def test_components_share_the_time(ticking, rng):
    rows = [rng.standard_normal((60, 10)) @ rng.standard_normal((10, 10)) for _ in range(4)]
    with pytest.warns(ConvergenceWarning, match="at the time limit"):
        model = UCA(3, components="sequential", solver="bisection", time_limit=60).fit(rows[0], backgrounds=rows[1:])
    assert model.certificates_[-1].status == "time_limit"
    assert all(own.n_eigensolves <= 60 for own in model.certificates_)


def factors(m: int, p: int = 12, n: int = 40) -> list[np.ndarray]:
    """Rows of a target and of backgrounds."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) for _ in range(m + 1)]


def test_a_choice_of_a_restriction_ends_with_the_time(ticking, monkeypatch):
    """Half of the time is its own, and every fit that it makes looks at the clock."""
    rows = factors(3)
    fits = []

    def solve(*given, real=crossfit.solve_relaxed, **options):
        fits.append(0)
        return real(*given, **options)

    monkeypatch.setattr(crossfit, "solve_relaxed", solve)
    with pytest.warns(ConvergenceWarning) as told:
        model = UCA(1, bound_on="new rows", time_limit=20).fit(rows[0], backgrounds=rows[1:])
    assert len(fits) <= 10
    assert "the time was over before a part of the rows was held out" in str(told[0].message)
    assert told[0].filename == __file__
    assert model.restriction_.trade_off is None
    assert "Not restricted for new rows" in model.restriction_.sentence


def test_a_restriction_is_chosen_on_the_parts_that_were_measured(monkeypatch):
    """The clock stands still until three of the ten parts are measured."""
    rows = factors(2)
    calls = []

    def directions(*given, real=crossfit._directions):
        calls.append(0)
        return real(*given)

    monkeypatch.setattr(crossfit, "_directions", directions)
    whole = UCA(1, bound_on="new rows").fit(rows[0], backgrounds=rows[1:]).restriction_.trade_off
    assert (len(calls), whole.n_measured) == (10, None)
    calls.clear()
    monkeypatch.setattr("uca._deadline.now", lambda: 100.0 * (len(calls) > 3))
    with pytest.warns(ConvergenceWarning, match="chosen on 3 of 10 held-out parts"):
        model = UCA(1, bound_on="new rows", time_limit=10).fit(rows[0], backgrounds=rows[1:])
    found = model.restriction_.trade_off
    assert found.n_measured == 3
    assert "of which 3 were measured in time" in str(model.restriction_)
    assert model.restriction_.n_leading == found.n_leading[found.best]
    # Three folds of five: 24 of 40 rows, in units of their own variance, so that means are near those of all folds.
    np.testing.assert_allclose(found.background, whole.background, rtol=0.6)
    np.testing.assert_allclose(found.target, whole.target, rtol=0.6)


def test_a_restriction_by_subjects_takes_the_time_of_the_model():
    rows = factors(2)
    groups = [np.arange(40) // 2 + 100 * j for j in range(3)]
    model = UCA(1, time_limit=0)
    with pytest.warns(ConvergenceWarning, match="the time was over") as told:
        assert choose_restriction(rows[0], rows[1:], groups=groups, model=model).trade_off is None
    assert told[0].filename == __file__


def test_enough_time_for_a_choice_changes_nothing():
    rows = factors(2)
    models = [UCA(1, bound_on="new rows", time_limit=limit).fit(rows[0], backgrounds=rows[1:]) for limit in (None, 1e6)]
    np.testing.assert_array_equal(*(model.components_ for model in models))
    np.testing.assert_array_equal(*(model.restriction_.trade_off.background for model in models))


def test_past_the_time_one_local_search_is_left(monkeypatch, rng):
    """With 200 bounds each takes a tenth of a second, and there are 60 of them."""
    searches = []

    def minimize(*given, real=direction.minimize, **options):
        searches.append(0)
        return real(*given, **options)

    monkeypatch.setattr(direction, "minimize", minimize)
    a, *b = (part @ part.T for part in rng.standard_normal((6, 5, 5)))
    b = [part / np.trace(part) * 5 for part in b]
    full = direction.best_feasible_direction(a, np.stack(b))
    assert len(searches) == 5 + direction.N_STARTS
    searches.clear()
    cut = direction.best_feasible_direction(a, np.stack(b), Deadline.after(0))
    assert len(searches) == 1
    assert np.all((np.stack(b) @ cut) @ cut <= 1 + 1e-9)
    assert cut @ a @ cut <= full @ a @ full * (1 + 1e-9)


def test_bounds_out_of_reach_are_relaxed_past_the_time_as_well(rng):
    """The answer is that of an unlimited fit; where it is not waited for, the bounds count as infeasible."""
    a, b, c = np.diag([3.0, 2.0, 1.0]), np.diag([1.0, 9.0, 9.0]), np.diag([9.0, 1.0, 9.0])
    eigen, tight = Eigensolver(DensePencil(np.stack([a, b, c])), 0), np.full(2, 0.1)
    options = {"ceiling": 2 * tight, "k": 1, "names": ["b", "c"], "tol": 1e-9, "max_iter": 100}
    full = solve_relaxed(eigen, tight, **options)
    late = solve_relaxed(eigen, tight, **options, deadline=Deadline.after(0))
    np.testing.assert_allclose(late.bounds, full.bounds)
    with pytest.raises(InfeasibleBoundsError):
        solve_relaxed(eigen, tight, **options, deadline=Deadline.after(0), patient=False)


def test_a_clock_is_not_read_without_a_limit(monkeypatch, rng):
    monkeypatch.setattr("uca._deadline.now", lambda: pytest.fail("the clock was read"))
    rows = [rng.standard_normal((30, 5)) for _ in range(2)]
    UCA(1, bound_on="new rows").fit(rows[0], backgrounds=rows[1])
    for solver in SOLVERS:
        UCA(1, solver=solver).fit(rows[0], backgrounds=rows[1])


def test_enough_time_changes_nothing(rng):
    rows = [rng.standard_normal((60, 10)) @ rng.standard_normal((10, 10)) for _ in range(4)]
    models = [UCA(time_limit=limit).fit(rows[0], backgrounds=rows[1:]) for limit in (None, 1e6)]
    np.testing.assert_array_equal(*(model.components_ for model in models))


@pytest.mark.parametrize("kind", [UCA, SparseUCA])
@pytest.mark.parametrize(("value", "error"), [(-1, ValueError), ("long", TypeError), (np.nan, ValueError)])
def test_time_limits_are_checked(rng, kind, value, error):
    with pytest.raises(error, match="time_limit must be a number"):
        kind(time_limit=value).fit(rng.standard_normal((20, 4)))


def test_what_one_leaves_is_for_the_next(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("uca._deadline.now", lambda: clock[0])
    whole = Deadline.after(10.0)
    assert whole.shared(2).left == 5.0
    clock[0] = 1.0
    assert whole.shared(1).left == 9.0
    clock[0] = 10.0
    assert whole.passed
    assert whole.shared(3).left == 0.0
