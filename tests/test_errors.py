"""Wrong input gets an error that says what to do, and nothing is lost."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from uca import UCA, solve_dual


@pytest.fixture
def target(rng):
    return rng.standard_normal((20, 4))


@pytest.fixture
def background(rng):
    return rng.standard_normal((15, 4))


def with_value(array, row, column, value):
    out = array.copy()
    out[row, column] = value
    return out


@pytest.mark.parametrize("representation", ["covariance", "reduced", "product_svd"])
@pytest.mark.parametrize("center", [True, False])
def test_nan_and_inf_are_counted_and_placed(target, background, representation, center):
    model = UCA(representation=representation, center=center)
    bad = with_value(with_value(background, 3, 2, np.nan), 7, 1, np.nan)
    with pytest.raises(
        ValueError, match=re.escape("background 'b' contains 2 NaN, the first at row 3, column 2. Impute")
    ):
        model.fit(target, backgrounds={"b": bad})
    bad = with_value(with_value(target, 5, 0, np.inf), 6, 0, np.nan)
    with pytest.raises(ValueError, match=re.escape("target X contains 1 NaN and 1 infinity (inf), the first at row 5")):
        model.fit(bad, backgrounds=background)
    large = model.fit(target * 1e200, backgrounds=background).components_  # large is not infinite: units do not matter
    np.testing.assert_allclose(large, model.fit(target, backgrounds=background).components_, atol=1e-9)


def test_nan_in_transform(target):
    model = UCA().fit(target)
    with pytest.raises(ValueError, match="X contains 1 NaN, the first at row 2, column 1"):
        model.transform(with_value(target, 2, 1, np.nan))


@pytest.mark.parametrize(
    ("backgrounds", "error", "message"),
    [
        ([], ValueError, "backgrounds is empty: pass at least one dataset, or backgrounds=None for plain PCA"),
        ({}, ValueError, "backgrounds is empty"),
        ((), ValueError, "backgrounds is empty"),
        ("controls", TypeError, "backgrounds must be an array or table, a list or tuple of them, or a dict"),
        (3.0, TypeError, "backgrounds must be an array or table"),
        ([np.zeros((5, 3))], ValueError, "background 'background1' has 3 features, but UCA is expecting 4 features"),
        ({"one": np.ones((1, 4))}, ValueError, "1 sample"),
        ({1: np.ones((5, 4)), "1": np.ones((5, 4))}, ValueError, "background names must differ as text"),
        ([np.zeros((5, 4, 2))], ValueError, "dim 3"),
        ([[["a", "b", "c", "d"]] * 3], ValueError, "could not convert string to float"),
    ],
)
def test_backgrounds(target, backgrounds, error, message):
    with pytest.raises(error, match=message):
        UCA().fit(target, backgrounds=backgrounds)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"n_components": 5},
            ValueError,
            "n_components=5 is more than n_features=4; choose n_components between 1 and 4",
        ),
        ({"n_components": 0}, ValueError, "n_components must be at least 1; got 0"),
        ({"n_components": 1.5}, TypeError, "n_components must be an integer; got 1.5"),
        ({"n_components": True}, TypeError, "n_components must be an integer"),
        ({"scale": "own"}, ValueError, "scale must be one of True, False, 'target'; got 'own'"),
        ({"center": "yes"}, TypeError, "center must be True or False"),
        ({"whiten": 1}, TypeError, "whiten must be True or False"),
        ({"components": "both"}, ValueError, "components must be one of 'joint', 'sequential'"),
        (
            {"solver": "magic"},
            ValueError,
            "solver must be one of 'auto', 'subspace', 'root', 'lbfgs', 'coord",
        ),
        (
            {"representation": "dense"},
            ValueError,
            "representation must be one of 'auto', 'covariance', 'reduced', 'implicit', 'p",
        ),
        ({"tol": 0}, ValueError, "tol must be positive and finite"),
        ({"tol": "small"}, TypeError, "tol must be a number"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"bound": "median"}, ValueError, "bound must be 'mean', a number, or one number a background; got 'median'"),
        ({"bound": -1.0}, ValueError, "every bound must be positive and finite"),
        ({"bound": [1.0, 2.0]}, ValueError, r"bound has shape \(2,\), but there are 1 backgrounds"),
        ({"bound": {"other": 1.0}}, ValueError, "bound names"),
        ({"bound": 1e-6}, ValueError, "background 'b' has bound 1e-06, the smallest attainable is"),
    ],
)
def test_parameters(target, background, parameters, error, message):
    with pytest.raises(error, match=message):
        UCA(**parameters).fit(target, backgrounds={"b": background})


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        (
            np.array([[1.0, 0.5], [0.2, 1.0]]),
            np.eye(2),
            ValueError,
            r"target matrix A is not symmetric.*\(M \+ M.T\) / 2",
        ),
        (
            np.diag([1.0, -0.5]),
            np.eye(2),
            ValueError,
            "target matrix A is indefinite.*not a covariance matrix.*solve_dual",
        ),
        (np.eye(2), np.diag([1.0, -0.5]), ValueError, "matrix of background 'background1' is indefinite"),
        (
            np.eye(2),
            np.eye(3),
            ValueError,
            r"background 'background1' has shape \(3, 3\), the target matrix A has \(2, 2\)",
        ),
        (np.ones((2, 3)), None, ValueError, "must be a square matrix"),
        (np.array([["a"]]), None, TypeError, "must hold real numbers"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), None, ValueError, "target matrix A contains 2 NaN"),
    ],
)
def test_matrices(a, b, error, message):
    with pytest.raises(error, match=message):
        UCA(1).fit_covariance(a, backgrounds=b)


def test_fewer_than_two_rows(target):
    with pytest.raises(ValueError, match="1 sample"):
        UCA().fit(target[:1])
    with pytest.raises(ValueError, match="n_samples=1 so far, a minimum of 2 is required: add rows"):
        UCA().partial_fit(target[:1]).summary()


def test_target_without_variance():
    with pytest.raises(ValueError, match="no variance in any feature"), pytest.warns(UserWarning, match="constant"):
        UCA().fit(np.ones((5, 3)))


@pytest.mark.parametrize("representation", ["covariance", "reduced", "product_svd"])
def test_constant_features_are_zero_and_counted(rng, representation):
    target, background = rng.standard_normal((20, 5)), rng.standard_normal((30, 5))
    target[:, 1] = 0.1
    background[:, [0, 3]] = [1e9 + 0.1, -7.0]
    with pytest.warns(UserWarning, match="1 in target X, 2 in background 'b'") as caught:
        model = UCA(representation=representation).fit(target, backgrounds={"b": background})
    assert len(caught) == 1
    assert model.scale_[1] == 0
    assert np.all(np.isfinite(model.components_))
    changed = target.copy()
    changed[:, 1] = 99.0  # a feature that told nothing in training contributes nothing
    np.testing.assert_array_equal(model.transform(changed), model.transform(target))
    np.testing.assert_allclose(model.inverse_transform(model.transform(target))[:, 1], 0.1)
    np.testing.assert_allclose(model.bounds_, [3 / 5])


def test_background_without_variance_constrains_nothing(rng):
    target = rng.standard_normal((20, 5))
    with pytest.warns(UserWarning, match="5 in background 'flat'"):
        model = UCA().fit(target, backgrounds={"flat": np.ones((4, 5))})
    np.testing.assert_allclose(model.components_, UCA().fit(target).components_, atol=1e-12)
    np.testing.assert_array_equal(model.lambdas_, 0)


def test_failed_fit_leaves_the_estimator_as_it_was(target, background):
    model = UCA().fit(target, backgrounds=background)
    before = dict(vars(model))
    wide = np.hstack([target, target])
    failures = [
        lambda: model.fit(wide, backgrounds=background),
        lambda: model.fit(target, backgrounds=with_value(background, 0, 0, np.nan)),
        lambda: model.fit(with_value(target, 0, 0, np.nan)),
        lambda: model.fit_covariance(np.diag([1.0, -1.0])),
        lambda: model.partial_fit(target, backgrounds=with_value(background, 0, 0, np.nan)),
    ]
    for fail in failures:
        with pytest.raises(ValueError, match=r"."):
            fail()
        assert vars(model) == before
    fresh = UCA()
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(with_value(target, 0, 0, np.nan))
    with pytest.raises(NotFittedError):
        fresh.transform(target)


def test_failed_chunk_adds_nothing(target, background):
    stream = UCA().partial_fit(target[:10], backgrounds={"b": background})
    expected = stream.components_.copy()
    with pytest.raises(ValueError, match="NaN"):
        stream.partial_fit(target[10:], backgrounds={"b": with_value(background, 0, 0, np.nan)})
    np.testing.assert_array_equal(stream.components_, expected)
    assert stream.n_samples_ == 10


def test_refit_with_fewer_attributes_leaves_nothing_behind(target):
    import pandas as pd

    model = UCA().fit(pd.DataFrame(target, columns=list("abcd")))
    model.fit(target)
    assert not hasattr(model, "feature_names_in_")


def test_inverse_transform_wants_k_columns(target):
    with pytest.raises(ValueError, match="Z has 3 columns, but there are 2 components"):
        UCA().fit(target).inverse_transform(np.zeros((2, 3)))


def test_interrupt_leaves_the_estimator_as_it_was(target, background, monkeypatch):
    from uca.estimators import uca as module

    model = UCA().fit(target)
    before = dict(vars(model))

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(target, backgrounds=background)
    assert vars(model) == before


def test_solve_dual_checks_its_input():
    with pytest.raises(ValueError, match="tol must be positive"):
        solve_dual(np.eye(2), np.eye(2), tol=-1)
    with pytest.raises(ValueError, match="not symmetric"):
        solve_dual(np.triu(np.ones((3, 3))), np.eye(3))
    with pytest.raises(ValueError, match="n_components=9 is more than"):
        solve_dual(np.eye(2), np.eye(2), n_components=9)
