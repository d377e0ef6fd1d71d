"""Wrong input gets an error that says what to do, and nothing is lost."""

from __future__ import annotations

import datetime
import decimal
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from uca import CPCA, UCA, CPCAPlusPlus, Moments, SparseUCA, remove, solve_dual
from uca._missing import entries, is_missing
from uca.inference import bootstrap, row_leverage


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
        ([np.zeros((5, 4, 2))], ValueError, r"got 3 dimensions, shape \(5, 4, 2\). Flatten each row"),
        ([[["a", "b", "c", "d"]] * 3], ValueError, "has 'a' at row 0, column 0, which is not a number: drop or encode"),
        ({"b": None}, ValueError, "background 'b' is None: pass rows"),
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
        ({"bound": "median"}, ValueError, "bound must be 'mean', a number, or one number per background; got 'median'"),
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


ESTIMATORS = [UCA(), CPCA(alpha=1.0), CPCAPlusPlus(), SparseUCA()]


@pytest.fixture
def masked(target):
    """A value is masked, one more is NaN; what is under the mask is a number."""
    mask = np.zeros(target.shape, dtype=bool)
    mask[3, 2] = True
    return np.ma.array(with_value(target, 7, 1, np.nan), mask=mask)


MASKED = re.escape("2 NaN (masked values count as NaN), the first at row 3, column 2. Impute or drop")
READERS = {
    "fit": lambda rows, good: UCA().fit(rows, backgrounds=good),
    "background": lambda rows, good: UCA().fit(good, backgrounds={"b": rows}),
    "bare background": lambda rows, good: UCA().fit(good, backgrounds=rows),
    "cPCA": lambda rows, good: CPCA(alpha=1.0).fit(rows, backgrounds=good),
    "cPCA++": lambda rows, good: CPCAPlusPlus().fit(good, backgrounds=rows),
    "sparse UCA": lambda rows, good: SparseUCA().fit(good, backgrounds=rows),
    "partial_fit": lambda rows, good: UCA().partial_fit(rows),
    "Moments.of": lambda rows, good: Moments.of(rows),
    "Moments.add": lambda rows, good: Moments.of(good).add(rows),
    "transform": lambda rows, good: UCA().fit(good).transform(rows),
    "inverse_transform": lambda rows, good: UCA(4).fit(good).inverse_transform(rows),
    "remove": lambda rows, good: remove(rows, UCA().fit(good)),
    "bootstrap": lambda rows, good: bootstrap(rows, good),
    "row_leverage": lambda rows, good: row_leverage(UCA().fit(good), rows),
}


@pytest.mark.parametrize("reader", READERS)
def test_masked_values_are_missing_values(masked, target, reader):
    with pytest.raises(ValueError, match=MASKED):
        READERS[reader](masked, target)


@pytest.mark.parametrize("dtype", [float, np.float32, int, object])
def test_masked_values_of_every_type(masked, dtype):
    whole = np.ma.array(np.nan_to_num(np.round(masked.data * 9)), mask=masked.mask)
    whole[7, 1] = np.ma.masked
    with pytest.raises(ValueError, match=MASKED):
        UCA().fit(whole.astype(dtype))


def test_masked_rows_in_a_list(masked, target):
    for rows in (list(masked), [[np.ma.masked if (i, j) == (3, 2) else 1.0 for j in range(4)] for i in range(9)]):
        with pytest.raises(ValueError, match=r"target X contains [12] NaN, the first at row 3, column 2"):
            UCA().fit(rows)


def test_nothing_masked_is_an_array(target, background):
    plain = UCA().fit(target, backgrounds=background)
    for mask in (np.ma.nomask, np.zeros(target.shape, dtype=bool)):
        model = UCA().fit(np.ma.array(target, mask=mask), backgrounds=np.ma.array(background))
        np.testing.assert_array_equal(model.components_, plain.components_)
        np.testing.assert_array_equal(model.transform(np.ma.array(target, mask=mask)), plain.transform(target))


def test_masked_matrices():
    masked = np.ma.array(np.eye(3), mask=np.eye(3) > 0)
    message = r"contains 3 NaN \(masked values count as NaN\), the first at row 0, column 0"
    for call in (
        lambda: UCA(1).fit_covariance(masked),
        lambda: UCA(1).fit_covariance(np.eye(3), backgrounds=[masked]),
        lambda: solve_dual(masked, np.eye(3)),
        lambda: solve_dual(np.eye(3), [masked]),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (None, ValueError, "is None: pass a square, symmetric matrix"),
        (sparse.eye_array(3), TypeError, r"is sparse: pass it dense, as .toarray\(\)"),
        (np.eye(3).astype("timedelta64[s]"), TypeError, "must hold real numbers; got dtype timedelta64"),
        (pd.DataFrame(np.eye(3), columns=list("aba")), ValueError, "has column 'a' more than once"),
    ],
)
def test_matrices_of_another_kind(matrix, error, message):
    with pytest.raises(error, match=f"target matrix A {message}"):
        UCA(1).fit_covariance(matrix)
    with pytest.raises(error, match=f"matrix of background 'b' {message}"):
        solve_dual(np.eye(3), {"b": matrix})


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_no_target(model, background):
    for backgrounds in (None, background):
        with pytest.raises(ValueError, match="target X is None: pass the rows of the target as X"):
            model.fit(None, backgrounds=backgrounds)
    with pytest.raises(ValueError, match="nothing to fit: pass X, backgrounds, or both"):
        UCA().partial_fit(None)
    assert UCA().partial_fit(None, backgrounds=background).n_features_in_ == 4


TIMES = {
    "durations": lambda x: x.astype("timedelta64[s]"),
    "dates": lambda x: x.astype("timedelta64[s]") + np.datetime64("2020-01-01"),
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("reader", [name for name in READERS if name != "inverse_transform"])
def test_dates_and_times_are_not_numbers(target, kind, reader):
    with pytest.raises(ValueError, match="holds dates or times .*, not numbers: choose a unit and convert them"):
        READERS[reader](TIMES[kind](1e3 * target), target)


NOT_A_NUMBER = {
    "numpy duration": (np.timedelta64(3, "s"), ValueError, "it is a date or time"),
    "numpy date": (np.datetime64("2020-01-01"), ValueError, "it is a date or time"),
    "pandas duration": (pd.Timedelta(3, "s"), ValueError, "it is a date or time"),
    "pandas date": (pd.Timestamp("2020-01-01"), ValueError, "it is a date or time"),
    "date": (datetime.date(2020, 1, 1), ValueError, "it is a date or time"),
    "complex": (1 + 2j, ValueError, "it is complex"),
    "text": ("high", ValueError, "could not convert"),
    "too large": (10**400, ValueError, "too large"),
    "dict": ({"a": 1}, TypeError, "not 'dict'"),
}


@pytest.mark.parametrize("kind", NOT_A_NUMBER)
def test_objects_that_are_not_numbers_are_told_with_their_place(target, kind):
    value, error, reason = NOT_A_NUMBER[kind]
    rows = with_value(target.astype(object), 2, 1, value)
    message = f"X has .* at row 2, column 1, which is not a number: drop or encode such features .*{reason}"
    with pytest.raises(error, match=message):
        UCA().fit(rows)
    with pytest.raises(error, match=message):
        UCA().fit(target).transform(rows)


@pytest.mark.parametrize("value", [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT", "ns"), np.ma.masked], ids=str)
def test_missing_objects_are_counted(target, value):
    with pytest.raises(ValueError, match="target X contains 1 NaN, the first at row 2, column 1"):
        UCA().fit(with_value(target.astype(object), 2, 1, value))


def test_decimals_and_truth_values_are_numbers(target):
    exact = np.array([[decimal.Decimal(float(x)) for x in row] for row in target], dtype=object)
    np.testing.assert_array_equal(UCA().fit(exact).components_, UCA().fit(target).components_)
    np.testing.assert_array_equal(UCA().fit(target > 0).components_, UCA().fit((target > 0) * 1.0).components_)


TWO_DIMENSIONAL = "must be two-dimensional, rows by features; got"
WRONG = {
    "complex": (lambda x: x + 1j, ValueError, "holds complex numbers. Complex data not supported: pass real features"),
    "sparse complex": (lambda x: sparse.csr_array(x + 1j), ValueError, "Complex data not supported: pass real"),
    "records": (
        lambda x: pd.DataFrame(x).to_records(index=False),
        ValueError,
        "is an array of records .*: pass a table, for instance pandas.DataFrame",
    ),
    "one dimension": (lambda x: x[0], ValueError, rf"{TWO_DIMENSIONAL} shape \(4,\). Reshape your data: x.reshape"),
    "a number": (lambda x: 3.0, ValueError, TWO_DIMENSIONAL),
    "a Series": (lambda x: pd.Series(x[:, 0]), ValueError, rf"{TWO_DIMENSIONAL} shape \(20,\)"),
    "three dimensions": (lambda x: x[None], ValueError, f"{TWO_DIMENSIONAL} 3 dimensions"),
    "no columns": (lambda x: pd.DataFrame(x)[[]], ValueError, r"has 0 feature\(s\) .* Select at least one column"),
    "no rows": (lambda x: pd.DataFrame(x).iloc[:0], ValueError, r"has 0 sample\(s\) .*: pass more rows"),
    "empty table": (lambda x: pd.DataFrame(), ValueError, r"has 0 feature\(s\)"),
    "rows of different lengths": (
        lambda x: [[1, 2, 3], [1, 2]],
        ValueError,
        r"is a list of rows of different lengths \(2, 3\): every row needs one value for each feature",
    ),
    "a file": (lambda x: Path("x.csv"), TypeError, "got .*Path: read the file first.* uca.io.read_table"),
    "a dict": (lambda x: {"a": [1, 2]}, TypeError, r"must be a table or array of shape \(rows, features\); got dict"),
    "a generator": (iter, TypeError, "must be a table or array .*; got"),
    "a matrix": (np.asmatrix, TypeError, "np.matrix is not supported"),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("kind", WRONG)
def test_what_is_not_a_table_of_numbers(target, kind):
    make, error, message = WRONG[kind]
    with pytest.raises(error, match=f"target X .*{message}"):
        UCA().fit(make(target))
    with pytest.raises(error, match=f"background 'b' .*{message}"):
        UCA().fit(target, backgrounds={"b": make(target)})
    with pytest.raises(error, match=message):
        UCA().fit(target).transform(make(target))


def test_what_counts_as_missing():
    missing = [
        None,
        np.nan,
        np.float32("nan"),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT", "ns"),
        np.timedelta64("NaT", "ns"),
        np.ma.masked,
    ]
    present = [0, 0.0, "", "nan", "<NA>", False, np.inf, pd.Timestamp("2020-01-01"), np.zeros(2), ()]
    assert all(map(is_missing, [*missing, decimal.Decimal("NaN")]))
    assert not any(map(is_missing, present))
    assert entries(np.ma.array(["a", "b"], mask=[False, True])).tolist() == ["a", None]
    days = np.array(["2020-01-01", "NaT"], dtype="datetime64[ns]")
    assert [str(day) for day in entries(days)] == ["2020-01-01T00:00:00.000000000", "NaT"]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    "labels",
    [
        np.repeat(["a", "b"], 10),
        np.repeat([0, 1], 10),
        ["a"] * 20,
        pd.Series(["a"] * 20),
        pd.DataFrame({"y": ["a"] * 20}),
    ],
    ids=["text", "numbers", "list", "Series", "one column"],
)
def test_labels_passed_as_y(model, labels, target, background):
    advice = r"pass the rows of one group as X and those of the others as backgrounds=\{name: rows\}"
    message = f"y is ignored by {type(model).__name__}; if it holds labels of groups, {advice}"
    calls = [
        (lambda: model.fit(target, labels), f"{message}; without backgrounds this is plain PCA$"),
        (lambda: model.fit_transform(target, y=labels), f"{message}; without backgrounds this is plain PCA$"),
        (lambda: model.fit(target, labels, backgrounds=background), f"{message}$"),
    ]
    for call, text in calls:
        with pytest.warns(UserWarning, match=text) as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]  # it points at the user's line
    with pytest.warns(UserWarning, match="y is ignored by UCA"):
        UCA().partial_fit(target, labels)
