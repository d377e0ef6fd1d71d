"""What new rows should show: the prediction of a fit against its definition, against refits, and in words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import uca
from uca import UCA
from uca.estimators.expected import EXACT, FEW_ROWS, Solution, expected
from uca.estimators.expected_words import NO_PREDICTION, NewRowsWarning, about, in_both
from uca.inference import expected_background_variance
from uca.operators.contract.dense import DensePencil
from uca.operators.contract.operator import LinearCombination
from uca.operators.contract.pencil import OperatorPencil

WARNING = "new rows are expected to exceed them"


def draw(seed, p, n_backgrounds, n_target=80):
    """Shared factors, and a direction of the target's own."""
    rng = np.random.default_rng(seed)
    loadings, own = rng.normal(size=(2, p)), np.zeros(p)
    own[:3] = 1.5
    target = rng.normal(size=(n_target, 2)) @ loadings + rng.normal(size=(n_target, 1)) * own
    backgrounds = [rng.normal(size=(n, 2)) @ loadings + rng.normal(size=(n, p)) for n in n_backgrounds]
    return target + rng.normal(size=(n_target, p)), backgrounds


def quietly(model, target, backgrounds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(target, backgrounds=backgrounds)


def scattered(rows, scale):
    centred = rows - rows.mean(axis=0)
    return np.cov((centred / centred.std(axis=0, ddof=1) if scale else centred).T)


def by_definition(model, target, backgrounds):
    """Rows used and expected variance of the first component, with Q and a pseudo-inverse, as they are defined."""
    a, *bs = (scattered(rows, model.scale) for rows in (target, *backgrounds))
    v, lambdas = model.components_[0], model.lambdas_
    contrast = a - sum(weight * b for weight, b in zip(lambdas, bs, strict=True))
    fixed = np.stack([v, *(b @ v for weight, b in zip(lambdas, bs, strict=True) if weight > 0)], axis=1)
    q = np.linalg.qr(fixed, mode="complete")[0][:, fixed.shape[1] :]
    inverse = np.linalg.pinv(v @ contrast @ v * np.eye(q.shape[1]) - q.T @ contrast @ q)
    used, variance = [], []
    for weight, b, rows in zip(lambdas, bs, backgrounds, strict=True):
        freedom, own, inside = len(rows) - 1, v @ b @ v, q.T @ b @ q
        d = 1 + weight * np.trace(inside @ inverse)
        length = own * (weight / freedom) ** 2 * np.trace(inside @ inverse @ inverse)
        used.append(d)
        variance.append(own / ((1 - d / freedom) ** 2 + length))
    return np.array(used), np.array(variance)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize(("p", "n_backgrounds"), [(12, (40,)), (30, (50, 25, 90)), (90, (30,)), (25, (70, 80))])
def test_it_is_the_definition(p, n_backgrounds, scale):
    target, backgrounds = draw(p, p, n_backgrounds)
    model = quietly(UCA(scale=scale), target, backgrounds)
    used, variance = by_definition(model, target, backgrounds)
    # The ridge is 1e-10, and lambda is known to about 1e-6.
    np.testing.assert_allclose(model.rows_used_, used, rtol=1e-5)
    np.testing.assert_allclose(model.expected_background_variance_[0], variance, rtol=1e-5)
    assert model.rows_used_.max() > 1.5, "no background was in the way: nothing was tested"


@pytest.mark.parametrize("components", ["joint", "sequential"])
@pytest.mark.parametrize(("p", "n_backgrounds"), [(20, (60, 40)), (100, (30,))])
def test_representations_agree(p, n_backgrounds, components):
    target, backgrounds = draw(1, p, n_backgrounds)
    found = {
        name: quietly(UCA(3, representation=name, components=components), target, backgrounds)
        for name in ("covariance", "reduced", "implicit", "product_svd")
    }
    reference = found["covariance"]
    np.testing.assert_allclose(
        found["reduced"].expected_background_variance_, reference.expected_background_variance_, rtol=1e-4
    )
    for name in ("implicit", "product_svd"):  # conjugate gradients stop early; 100 coordinates: eight random vectors
        np.testing.assert_allclose(found[name].rows_used_, reference.rows_used_, rtol=0.02 if p <= 64 else 0.35)


def test_few_rows_are_exact_and_many_within_the_error_of_random_vectors():
    size = EXACT + 60
    rng = np.random.default_rng(0)
    for n_rows, accuracy in ((FEW_ROWS, 1e-6), (FEW_ROWS + 60, 0.1)):
        rows = [rng.normal(size=(n, size)) for n in (400, n_rows)]
        a, b = (np.cov(part.T) for part in rows)
        contrast = a - 0.4 * b
        values, vectors = np.linalg.eigh(contrast)
        v = vectors[:, -1:]
        pencil = DensePencil(np.stack([a, b]))
        found = expected(pencil, Solution(v, values[-1:], np.array([[0.4]]), pencil.products(v), [n_rows], True))
        q = np.linalg.qr(np.hstack([v, b @ v]), mode="complete")[0][:, 2:]
        inverse = np.linalg.inv(values[-1] * np.eye(size - 2) - q.T @ contrast @ q)
        assert found.rows_used[0, 0] == pytest.approx(1 + 0.4 * np.trace(q.T @ b @ q @ inverse), rel=accuracy)


def test_products_alone_give_it_too():
    rng = np.random.default_rng(0)
    a, b = (np.cov(rng.normal(size=(500, 80)).T) for _ in range(2))
    values, vectors = np.linalg.eigh(a - 0.5 * b)
    known = DensePencil(np.stack([a, b]))
    pencil = OperatorPencil([LinearCombination((op,), (1.0,)) for op in known.operators], 80)
    v = vectors[:, ::-1][:, :1]
    solution = Solution(v, values[-1:], np.array([[0.5]]), known.products(v), [500], True)
    assert expected(pencil, solution).rows_used == pytest.approx(expected(known, solution).rows_used, rel=0.2)


@pytest.mark.parametrize(("p", "n", "m"), [(8, 40, 1), (15, 40, 2), (30, 25, 1)])
def test_leaving_out_one_row_after_the_other_shows_the_same(p, n, m):
    """Refits without each background row, on five data sets: the prediction is their mean to 15 %, the fit itself is not."""
    predicted, measured, own = [], [], []
    for seed in range(5):
        target, backgrounds = draw(seed, p, (n,) * m)
        model = quietly(UCA(1, scale=False), target, backgrounds)
        squares = []
        for i in range(n):
            rest = np.delete(backgrounds[0], i, axis=0)
            refit = quietly(UCA(1, scale=False), target, [rest, *backgrounds[1:]])
            squares.append(float((backgrounds[0][i] - rest.mean(axis=0)) @ refit.components_[0]) ** 2)
        measured.append(np.mean(squares) * (n - 1) / n)
        predicted.append(model.expected_background_variance_[0, 0])
        own.append(model.background_variance_[0, 0])
    assert np.sum(predicted) == pytest.approx(np.sum(measured), rel=0.15)
    assert np.sum(own) < np.sum(predicted)


def test_order_of_rows_and_units_do_not_matter(rng):
    target, backgrounds = draw(5, 20, (40, 30))
    units = np.exp(rng.normal(size=20))
    model = quietly(UCA(), target, backgrounds)
    other = quietly(UCA(), rng.permutation(target) * units, [rng.permutation(b) * units for b in backgrounds])
    np.testing.assert_allclose(other.expected_background_variance_, model.expected_background_variance_, rtol=1e-4)
    common = quietly(UCA(scale=False), target, backgrounds)
    larger = quietly(UCA(scale=False), 2.0**7 * target, [2.0**7 * b for b in backgrounds])
    assert (larger.expected_background_variance_ == 2.0**14 * common.expected_background_variance_).all()
    assert (larger.rows_used_ == common.rows_used_).all()


def test_a_background_that_does_not_bind_has_used_one_row():
    target, backgrounds = draw(2, 10, (60,))
    model = UCA(bound=1e3).fit(target, backgrounds=backgrounds)
    assert model.lambdas_[0] == 0
    assert model.rows_used_[0] == 1
    expected_ = model.background_variance_[0, 0] / (1 - 1 / 59) ** 2
    assert model.expected_background_variance_[0, 0] == pytest.approx(expected_)


def test_it_holds_on_new_rows():
    """The law is known: noise, of which every direction has variance 1; few rows make a direction without variance of it."""
    found, used = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        target, background = rng.normal(size=(40, 60)), rng.normal(size=(20, 60)) @ np.diag(np.linspace(0.5, 2, 60))
        model = quietly(UCA(1, scale=False, bound=0.5), target, [background])
        truth = float(np.sum((model.components_[0] * np.linspace(0.5, 2, 60)) ** 2))
        found.append(model.expected_background_variance_[0, 0] / truth)
        used.append(model.background_variance_[0, 0] / truth)
    assert 0.75 < np.median(found) < 1.33
    assert np.median(used) < 0.6


def odd(name):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 6))
    return {
        "two rows": (x, [rng.normal(size=(2, 6))]),
        "one feature": (x[:, :1], [rng.normal(size=(9, 1))]),
        "two features": (x[:, :2], [rng.normal(size=(9, 2)), rng.normal(size=(8, 2))]),
        "the target itself": (x, [x.copy(), x.copy()]),
        "equal features": (x[:, [0, 0, 1, 1, 2, 2]], [rng.normal(size=(9, 3))[:, [0, 0, 1, 1, 2, 2]]]),
        "one direction": (x, [rng.normal(size=(9, 1)) @ rng.normal(size=(1, 6))]),
        "all directions alike": (x, [np.vstack([np.eye(6), -np.eye(6)])]),
        "units far apart": (x * 10.0 ** np.arange(-9, 9, 3), [rng.normal(size=(9, 6)) * 10.0 ** np.arange(-9, 9, 3)]),
    }[name]


NAMES = ["two rows", "one feature", "two features", "the target itself", "equal features", "one direction"]


@pytest.mark.parametrize("representation", ["auto", "implicit"])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("name", [*NAMES, "all directions alike", "units far apart"])
def test_odd_data_give_numbers(name, scale, representation):
    target, backgrounds = odd(name)
    k = min(2, target.shape[1])
    for components in (
        ("joint",) if name == "two features" else ("joint", "sequential")
    ):  # no second one keeps the bounds
        model = UCA(k, scale=scale, representation=representation, components=components)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NewRowsWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)  # units far apart
            model.fit(target, backgrounds=backgrounds)
        found = model.expected_background_variance_
        assert found.shape == (k, len(backgrounds))
        assert (found >= 0).all()
        # To rounding of the variance itself, where units are far apart.
        assert (found[0] >= (1 - 1e-9) * model.background_variance_[0] - 1e-9 * model.bounds_).all()
        assert (model.rows_used_ >= 1).all()


# --- where it is kept and what is said ---------------------------------------------------------------------------------


@pytest.fixture
def wide():
    """Few rows beside many features: the bound holds in them only."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(3, 600))
    return rng.normal(size=(30, 3)) @ loadings + rng.normal(size=(30, 600)), {
        "control": rng.normal(size=(20, 3)) @ loadings + rng.normal(size=(20, 600))
    }


def test_a_warning_above_twice_the_bound(wide):
    target, backgrounds = wide
    with pytest.warns(NewRowsWarning, match=WARNING) as caught:
        model = UCA().fit(target, backgrounds=backgrounds)
    assert caught[0].filename == __file__
    value = model.expected_background_variance_[0, 0]
    assert value > 2 * model.bounds_[0]
    told = f"1.00 in these rows; about {about(value)} expected in new ones"
    assert told in str(caught[0].message)
    assert "Optimal" in model.certificate_.message
    # ... which does not stand alone.
    assert (
        f"new rows of background 'control' (20 rows): about {about(value)} times the bound"
        in model.certificate_.message
    )
    text = " ".join(str(model.summary()).split())
    assert told in text
    assert "control, new rows" in text
    assert "rows used up" in text


def test_nothing_is_said_where_rows_suffice():
    target, backgrounds = draw(0, 8, (300,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = UCA().fit(target, backgrounds=backgrounds)
    assert model.expected_background_variance_[0, 0] < 1.3
    assert "new rows" not in model.certificate_.message


def test_nine_rows_in_ten_used_up_give_no_prediction():
    rng = np.random.default_rng(1)
    loadings = rng.normal(size=(3, 6000))
    target = rng.normal(size=(30, 3)) @ loadings + rng.normal(size=(30, 6000))
    background = rng.normal(size=(10, 3)) @ loadings + rng.normal(size=(10, 6000))
    with pytest.warns(NewRowsWarning, match="no usable prediction: the bound holds for these rows only"):
        model = UCA(1).fit(target, backgrounds=background)
    assert model.rows_used_[0] >= 0.9 * 9
    assert np.isposinf(model.expected_background_variance_).all()
    assert NO_PREDICTION in " ".join(str(model.summary()).split())


@pytest.mark.parametrize(("value", "text"), [(391.6, "390"), (1.234, "1.2"), (0.00123, "0.0012"), (12345.0, "12000")])
def test_predictions_have_two_digits(value, text):
    assert about(value) == text
    assert in_both(1.0, value) == f"1.00 in these rows; about {text} expected in new ones"


def test_streams_have_it_and_matrices_have_not(wide):
    target, backgrounds = draw(3, 12, (40, 30))
    whole = quietly(UCA(), target, backgrounds)
    stream = UCA()
    for part in range(4):
        stream.partial_fit(target[part::4], backgrounds=[b[part::4] for b in backgrounds])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(stream.expected_background_variance_, whole.expected_background_variance_, rtol=1e-5)
    matrices = UCA().fit_covariance(np.cov(target.T), backgrounds=[np.cov(b.T) for b in backgrounds])
    assert matrices.expected_background_variance_ is None
    assert matrices.rows_used_ is None
    assert "new rows" not in matrices.summary()
    plain = UCA().fit(target)
    assert plain.expected_background_variance_.shape == (2, 0)
    assert plain.rows_used_.shape == (0,)


def test_sparse_rows(rng):
    target, background = (sparse.random(60, 30, density=0.3, random_state=seed, format="csr") for seed in (1, 2))
    dense = quietly(UCA(representation="covariance"), target.toarray(), [background.toarray()])
    kept = quietly(UCA(representation="implicit"), target, [background])
    np.testing.assert_allclose(kept.rows_used_, dense.rows_used_, rtol=0.02)


def test_files_keep_it_and_older_ones_load(wide, tmp_path):
    pytest.importorskip("skops.io", reason="model files need skops: pip install '.[cli]'")
    model = quietly(UCA(), *wide)
    again = uca.load(uca.save(model, tmp_path / "model.skops"))
    assert (again.expected_background_variance_ == model.expected_background_variance_).all()
    assert (again.rows_used_ == model.rows_used_).all()
    del model.expected_background_variance_, model.rows_used_  # as versions before wrote them
    older = uca.load(uca.save(model, tmp_path / "older.skops"))
    assert not hasattr(older, "rows_used_")
    assert "rows used up" not in older.summary()
    assert "control" in older.summary()


# --- by leaving out subjects -------------------------------------------------------------------------------------------


def test_subjects_are_left_out_whole():
    rng = np.random.default_rng(0)
    mice = np.repeat(np.arange(12), 6)
    loadings = 2 * rng.normal(size=(2, 15))
    control = np.repeat(rng.normal(size=(12, 2)) @ loadings + rng.normal(size=(12, 15)), 6, axis=0)
    control += 0.2 * rng.normal(size=(72, 15))
    treated = rng.normal(size=(90, 2)) @ loadings + rng.normal(size=(90, 15))
    grouped = expected_background_variance(treated, {"control": control}, groups=[None, mice], n_components=1)
    single = expected_background_variance(treated, {"control": control}, n_components=1)
    predicted = grouped.model.expected_background_variance_[0, 0]
    # Rows left out one by one have their likes in the fit: they say what the fit predicts, and subjects say more.
    assert single.expected[0, 0] == pytest.approx(predicted, rel=0.25)
    assert grouped.expected[0, 0] > 1.5 * predicted
    assert grouped.n_folds == 12
    assert grouped.error[0, 0] > single.error[0, 0] > 0
    assert "by leaving out subjects (12 fits)" in grouped.sentence
    assert "give groups if they are not" in single.sentence
    assert "left out" in str(grouped)


def test_leaving_out_rows_is_what_it_says():
    """One fold for each row, by hand."""
    target, (background,) = draw(4, 6, (12,), n_target=12)
    found = expected_background_variance(target, background, n_components=1, random_state=3)
    assert found.n_folds == 12
    from uca._subjects import folds

    subjects = (-1 - np.arange(12), -13 - np.arange(12))
    squares = []
    for out_target, out in folds(subjects, 12, np.random.default_rng(uca._parameters.seed_from(3))):
        rest = background[~out]
        model = quietly(UCA(1), target[~out_target], [rest])
        z = (background[out] - rest.mean(axis=0)) / rest.std(axis=0, ddof=1) @ model.components_[0]
        squares.append(float(z[0]) ** 2 * 11 / 12)
    assert found.expected[0, 0] == pytest.approx(np.mean(squares), rel=1e-3)  # refits have tolerance 1e-6
    assert found.error[0, 0] == pytest.approx(np.std(squares, ddof=1) / np.sqrt(12), rel=1e-2)


def test_folds_are_checked():
    target, backgrounds = draw(4, 6, (12,))
    for wrong in (1, 13):
        with pytest.raises(ValueError, match="between 2 and 12"):
            expected_background_variance(target, backgrounds, n_folds=wrong)
    with pytest.raises(ValueError, match="at least 4"):
        expected_background_variance(target, [backgrounds[0][:3]])


def test_no_fit_uses_more_rows_than_there_are(rng):
    """The formula diverges where target and background are the same rows."""
    rows = rng.normal(size=(40, 5))
    model = UCA(2).fit(rows, backgrounds=rows)
    assert model.rows_used_[0] == 39
    assert np.isinf(model.expected_background_variance_[0, 0])
