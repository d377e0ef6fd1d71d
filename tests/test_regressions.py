"""Problems that were once answered wrongly, slowly or with an obscure error."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from needs import Optional
from scipy.sparse.linalg import aslinearoperator
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from uca import CPCA, UCA, CPCAPlusPlus, InfeasibleBoundsError, pool, solve_dual

pd = Optional("pandas")


def test_lanczos_on_a_large_null_space(rng, monkeypatch):
    """Eigenvalue 0 of high multiplicity was missed, and a feasible problem called infeasible."""
    from uca.operators.eigen import direct as dense

    target, background = (np.tile(rng.standard_normal((100, 20)), 4) for _ in range(2))
    direct = UCA().fit(target, backgrounds=background)
    monkeypatch.setattr(dense, "DIRECT_MAX", 10)
    lanczos = UCA().fit(target, backgrounds=background)
    assert lanczos.certificate_.status == "optimal"
    assert lanczos.certificate_.upper == pytest.approx(direct.certificate_.upper, rel=1e-8)


def test_attainable_bound_of_a_background_with_constant_features(rng):
    """Its smallest attainable bound is 0; only the other background is to blame."""
    first, second = rng.standard_normal((2, 200, 40))
    first[:, :13] = 1
    second[:, :13] *= 5
    with pytest.raises(InfeasibleBoundsError, match="'b' has bound 0.3") as error:
        UCA(scale=False, bound=[0.05, 0.3]).fit(rng.standard_normal((200, 40)), backgrounds={"a": first, "b": second})
    assert "'a'" not in str(error.value)


@pytest.mark.parametrize("representation", ["reduced", "covariance"])
def test_float32_spectra_keep_their_small_variance(rng, representation):
    """Smooth spectra: the reduced form in float32 once dropped real variance and certified a value 1.5 % off."""
    grid = np.linspace(0, 1, 500)

    def spectra(n, peaks):
        centres = np.linspace(0.05, 0.95, peaks)[:, np.newaxis]
        signal = rng.gamma(2, size=(n, peaks)) @ np.exp(-((grid - centres) ** 2) / 0.0128)
        return (signal + 0.01 * rng.standard_normal((n, 500))).astype(np.float32)

    target, background = spectra(40, 26), spectra(30, 13)
    model = UCA(scale=False, representation=representation).fit(target, backgrounds=background)
    a, b = (np.cov(x.astype(float), rowvar=False) for x in (target, background))
    value = np.linalg.eigvalsh(a - model.lambdas_[0] * b)[-1] + model.lambdas_[0] * model.bounds_[0]
    assert model.certificate_.upper == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("noise", [1e-3, 1e-6])
def test_components_have_the_variances_they_report(rng, noise):
    """Nearly equal features: rounding pivots of the Gram matrix once spoiled the lifted components."""
    target, *backgrounds = (rng.standard_normal((n, 1)) + noise * rng.standard_normal((n, 100)) for n in (20, 15, 15))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = UCA(3, representation="reduced").fit(target, backgrounds=backgrounds)
    v = model.components_[0]
    measured = [v @ np.corrcoef(b, rowvar=False) @ v for b in backgrounds]
    np.testing.assert_allclose(measured, model.background_variance_[0], atol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "root"])
def test_rounding_is_in_the_certificate(rng, solver):
    """Units a million apart leave few digits: upper and lower must not cross and must not claim a gap of 0."""
    target, background = (rng.standard_normal((n, 10)) * np.r_[1e6, np.ones(9)] for n in (300, 200))
    with pytest.warns(ConvergenceWarning, match="similar units|solver='subspace'"):
        model = UCA(scale=False, bound=1.0, solver=solver).fit(target, backgrounds=background)
    assert model.certificate_.lower <= model.certificate_.upper
    assert model.certificate_.gap > 1e-9


def test_crossed_bounds_are_a_gap(rng):
    target, background = rng.standard_normal((60, 10)), rng.standard_normal((50, 10))
    bound = np.linalg.eigvalsh(np.corrcoef(background, rowvar=False))[0] * (1 - 1e-13)
    with pytest.warns(ConvergenceWarning):
        model = UCA(solver="root", bound=bound).fit(target, backgrounds=background)
    assert model.certificate_.status != "optimal"


def test_feasible_direction_beside_the_eigenspace():
    """Eight backgrounds in four dimensions: none in the eigenspace is feasible, one beside it is."""
    rng = np.random.default_rng(10)
    tables = [rng.standard_normal((9, 4)) @ rng.standard_normal((4, 4)) for _ in range(9)]
    for components in ("joint", "sequential"):
        model = UCA(1, components=components).fit(tables[0], backgrounds=tables[1:])
        assert not model.certificate_.tight
        assert model.background_variance_.max() <= 1 + 1e-6
        assert model.explained_variance_[0] > 0.98 * model.certificate_.lower


def test_strongly_correlated_features_end_soon(rng):
    """The refinement of the small programme was once unlimited in size."""
    target, *backgrounds = (rng.standard_normal((n, 1)) + 3e-4 * rng.standard_normal((n, 100)) for n in (200, 150, 150))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = UCA().fit(target, backgrounds=backgrounds).certificate_
    assert certificate.gap < 1e-6


def test_infeasible_linear_operators():
    operators = [aslinearoperator(m) for m in (np.eye(30), np.diag(np.linspace(1, 2, 30)))]
    with pytest.raises(InfeasibleBoundsError, match="has bound 0.5, the smallest attainable is 1"):
        solve_dual(operators[0], operators[1], 0.5)


def test_tiny_bound_on_a_singular_background():
    result = solve_dual(np.diag([3.0, 2, 1]), np.diag([2.0, 0, 1]), 1e-8)
    assert result.value == pytest.approx(2.0, rel=1e-6)


def test_background_without_a_mean_bound():
    with pytest.raises(ValueError, match=r"trace 0, so its mean bound is no bound: pass bounds="):
        solve_dual(np.diag([1.0, 2, 3, 4]), np.diag([-1.0, -1, 1, 1]))


def test_inverse_of_oblique_components(rng):
    target, background = (rng.standard_normal((60, 6)) @ rng.standard_normal((6, 6)) for _ in range(2))
    model = CPCAPlusPlus().fit(target, backgrounds=background)
    np.testing.assert_allclose(model.transform(model.inverse_transform(np.eye(2))), np.eye(2), atol=1e-10)


def test_product_svd_beyond_the_rank(rng):
    components = UCA(5, representation="product_svd").fit(rng.standard_normal((4, 5))).components_
    np.testing.assert_allclose(components @ components.T, np.eye(5), atol=1e-12)


def test_numbered_columns_are_labels_too(rng):
    """Tables with integer labels were matched by position."""
    target, background = (pd.DataFrame(rng.standard_normal((20, 3))) for _ in range(2))
    expected = UCA().fit(target, backgrounds=background).components_
    np.testing.assert_array_equal(UCA().fit(target, backgrounds=background[[2, 0, 1]]).components_, expected)
    assert pool(target, background[[2, 0, 1]]).shape == (40, 3)
    with pytest.raises(ValueError, match="background 2 lacks column 0 and has unknown column 3"):
        pool(target, background.set_axis([1, 2, 3], axis=1))


def test_labelled_matrices_must_agree(rng):
    target, background = (pd.DataFrame(rng.standard_normal((20, 3)), columns=list("abc")) for _ in range(2))
    with pytest.raises(ValueError, match="in another order: reorder them"):
        UCA().fit_covariance(target.corr(), backgrounds=background[["c", "a", "b"]].corr())
    UCA().fit_covariance(target.corr(), backgrounds=background.corr())


@pytest.mark.parametrize("model", [CPCA(alpha=1.0), CPCAPlusPlus(shrinkage=0.1)])
def test_constant_target(rng, model):
    with pytest.raises(ValueError, match="no variance"), pytest.warns(UserWarning, match="constant"):
        model.fit(np.ones((5, 3)), backgrounds=rng.standard_normal((9, 3)))


def test_display_of_a_stream_that_cannot_be_solved_yet(rng):
    stream = UCA().partial_fit(rng.standard_normal((1, 3)))
    assert "UCA" in stream._repr_html_()
    assert not hasattr(stream, "components_")


def test_stream_checks_the_number_of_components_again(rng):
    stream = UCA().partial_fit(rng.standard_normal((9, 3))).set_params(n_components=5)
    with pytest.raises(ValueError, match="n_components=5 is more than n_features=3"):
        stream.transform(rng.standard_normal((2, 3)))


def test_background_passed_as_y(rng):
    target, background = rng.standard_normal((2, 20, 4))
    with pytest.warns(UserWarning, match="y is ignored by UCA; if it is a background, pass it as backgrounds="):
        UCA().fit(target, background)


def test_bound_by_a_name_that_is_a_number(rng):
    model = UCA(bound={1: 1.5}).fit(rng.standard_normal((9, 3)), backgrounds={1: rng.standard_normal((9, 3))})
    np.testing.assert_array_equal(model.bounds_, 1.5)


@pytest.mark.parametrize(("unit", "dtype"), [(1e-25, np.float32), (1e80, np.float64), (1e-80, np.float64)])
def test_extreme_units(rng, unit, dtype):
    target, background = ((unit * rng.standard_normal((50, 3))).astype(dtype) for _ in range(2))
    reference = UCA(scale=False).fit(target.astype(float) / unit, backgrounds=background.astype(float) / unit)
    model = UCA(scale=False).fit(target, backgrounds=background)
    assert model.certificate_.status == "optimal"
    np.testing.assert_allclose(model.components_, reference.components_, atol=1e-5)


def test_parallel_fits_leave_the_blas_threads_alone(rng):
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    tables = rng.standard_normal((8, 40, 30))
    UCA().fit(tables[0])
    before = threads()
    with ThreadPoolExecutor(4) as executor:
        models = list(executor.map(lambda table: UCA().fit(table, backgrounds=tables[0]), tables[1:]))
    assert threads() == before
    serial = UCA().fit(tables[1], backgrounds=tables[0])
    np.testing.assert_array_equal(models[0].components_, serial.components_)


def test_eigen_solver_that_gives_up(rng, monkeypatch):
    """LAPACK's dsyevr fails on rare matrices with an internal error; the answer then comes from another method."""
    from uca.operators.eigen import direct as dense

    target, background = (m @ m.T for m in rng.standard_normal((2, 12, 12)))
    expected = solve_dual(target, background)

    def gives_up(*args, **kwargs):
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr(dense, "eigh", gives_up)
    result = solve_dual(target, background)
    assert result.value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(np.abs(result.vectors.T @ expected.vectors), np.eye(2), atol=1e-7)


@pytest.mark.parametrize("factor", [1e-65, 1e-80, 1e70])
def test_units_that_a_fit_takes_are_taken_with_the_model_too(rng, factor, tmp_path):
    """Report, comparison and figures standardise backgrounds as the fit did, in whatever units."""
    pytest.importorskip("matplotlib", reason="pip install 'unique-component-analysis[plot]'")
    pytest.importorskip("plotly", reason="pip install 'unique-component-analysis[report]'")
    pytest.importorskip("jinja2", reason="pip install 'unique-component-analysis[report]'")
    from uca import plotting
    from uca.comparison import compare

    X, B = rng.standard_normal((40, 5)), rng.standard_normal((50, 5))
    X[:, 1] += 2 * X[:, 0]
    model = UCA(2).fit(factor * X, backgrounds=factor * B)
    ax = plotting.density(model, factor * X, backgrounds=factor * B)
    ax[0].figure.clear() if np.ndim(ax) else ax.figure.clear()
    assert model.report(tmp_path / "r.html", factor * X, backgrounds=factor * B).exists()
    *_, last = compare(factor * X, {"b": factor * B})
    assert last.metrics["b"] == pytest.approx(model.background_variance_[0, 0], rel=1e-9)


def test_comparison_of_another_namespace(rng):
    from sklearn import config_context

    from uca.comparison import compare

    torch = pytest.importorskip("torch", reason="pip install torch")
    X, B = rng.standard_normal((40, 5)), rng.standard_normal((50, 5))
    expected = compare(X, {"b": B})[-1].metrics["b"]
    with config_context(array_api_dispatch=True):
        found = compare(torch.asarray(X), {"b": torch.asarray(B)})[-1].metrics["b"]
    assert found == pytest.approx(expected, rel=1e-9)


def test_errors_with_a_remedy_leave_a_process_whole():
    import pickle

    from uca import CPCAPlusPlus
    from uca.estimators.base import FitError

    rows = np.random.default_rng(0).standard_normal((30, 6))
    with pytest.raises(FitError, match="set shrinkage") as caught:
        CPCAPlusPlus().fit(rows, backgrounds=rows[:4])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.remedy) == (type(caught.value), str(caught.value), {"shrinkage": 0.1})


def test_a_stream_of_a_subclass_with_notes_of_its_own(rng):
    class Noted(UCA):
        note_: str

    model = Noted(1).partial_fit(rng.standard_normal((20, 3)), backgrounds=rng.standard_normal((20, 3)))
    assert not hasattr(model, "note_")
    assert model.components_.shape == (1, 3)
