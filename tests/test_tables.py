"""Tables in, tables out: pandas and polars, as scikit-learn's ``set_output`` asks."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
import sklearn
from needs import Optional
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA, pool

pd, pl = Optional("pandas"), Optional("polars")
da, dd = Optional("dask.array"), Optional("dask.dataframe")

NAMES = list("abcde")
rng = np.random.default_rng(5)
TARGET = rng.normal(size=(60, 5)) @ np.diag([3, 1, 1, 2, 1.0]) + 4
BACKGROUND = rng.normal(size=(50, 5)) @ np.diag([3, 1, 1, 1, 1.0]) - 2


def in_pandas(array):
    return pd.DataFrame(array, columns=NAMES, index=[f"row{i}" for i in range(len(array))])


def in_polars(array):
    return pl.DataFrame(array, schema=NAMES)


INPUTS = {
    "numpy": np.asarray,
    "pandas": in_pandas,
    "polars": in_polars,
    "nullable": lambda array: in_pandas(array).astype("Float64"),
    "sparse": sparse.csr_array,
    "dask": lambda array: da.from_array(array, chunks=(20, -1)),
    "dask.dataframe": lambda array: dd.from_pandas(in_pandas(array), npartitions=3, sort=False),
}
ESTIMATORS = {"uca": UCA, "cpca": lambda: CPCA(alpha=1.0), "cpcaplusplus": CPCAPlusPlus, "sparseuca": SparseUCA}
FRAMES = {"pandas": (pd, in_pandas), "polars": (pl, in_polars)}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("output", FRAMES)
@pytest.mark.parametrize("given", INPUTS)
def test_output_is_the_table_that_was_asked_for(name, output, given):
    make = INPUTS[given]
    expected = ESTIMATORS[name]().fit(TARGET, backgrounds=BACKGROUND).transform(TARGET)
    model = ESTIMATORS[name]().set_output(transform=output)
    for scores in (
        model.fit(make(TARGET), backgrounds=make(BACKGROUND)).transform(make(TARGET)),
        model.fit_transform(make(TARGET), backgrounds=make(BACKGROUND)),
    ):
        assert type(scores) is FRAMES[output][0].DataFrame
        prefix = "cPC" if name.startswith("cpca") else "UC"
        assert list(scores.columns) == [f"{prefix}1", f"{prefix}2"] == list(model.get_feature_names_out())
        # Sparse and dask data take another order of summation.
        np.testing.assert_allclose(np.asarray(scores, dtype=float), expected, atol=1e-6)


SINGLE = {
    "pandas": lambda array: in_pandas(array.astype(np.float32)),
    "nullable": lambda array: in_pandas(array).astype("Float32"),
    "polars": lambda array: in_polars(array.astype(np.float32)),
}


@pytest.mark.parametrize("given", SINGLE)
def test_float32_stays(given):
    target, background = SINGLE[given](TARGET), SINGLE[given](BACKGROUND)
    model = UCA().fit(target, backgrounds=background)
    assert model.components_.dtype == np.float32
    assert model.transform(target).dtype == np.float32
    scores = model.set_output(transform="polars").transform(target)
    assert scores.dtypes == [pl.Float32, pl.Float32]
    wide = target.cast({"a": pl.Float64}) if given == "polars" else target.astype({"a": float})
    assert UCA().fit(wide).components_.dtype == np.float64


def test_rows_keep_their_ids():
    model = UCA().set_output(transform="pandas").fit(in_pandas(TARGET), backgrounds=in_pandas(BACKGROUND))
    assert model.transform(in_pandas(BACKGROUND)).index.tolist() == [f"row{i}" for i in range(50)]


def test_without_set_output_scores_are_arrays():
    for make in (in_pandas, in_polars):
        model = UCA().fit(make(TARGET), backgrounds=make(BACKGROUND))
        assert type(model.transform(make(TARGET))) is np.ndarray
    lazy = UCA().fit(INPUTS["dask"](TARGET)).transform(INPUTS["dask"](TARGET))
    assert isinstance(lazy, da.Array)


def test_global_setting():
    with sklearn.config_context(transform_output="polars"):
        scores = UCA().fit_transform(in_pandas(TARGET), backgrounds=in_polars(BACKGROUND))
    assert type(scores) is pl.DataFrame


def test_pandas_target_polars_background_columns_by_name():
    expected = UCA().fit(TARGET, backgrounds=BACKGROUND)
    model = UCA().set_output(transform="polars")
    model.fit(in_pandas(TARGET), backgrounds=in_polars(BACKGROUND).select(NAMES[::-1]))
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-12)
    scores = model.transform(in_polars(TARGET).select(NAMES[::-1]))
    np.testing.assert_allclose(scores.to_numpy(), expected.transform(TARGET), atol=1e-12)


@pytest.mark.parametrize("output", FRAMES)
def test_pipeline(output):
    package, make = FRAMES[output]
    with sklearn.config_context(enable_metadata_routing=True):
        steps = StandardScaler(), UCA(scale=False).set_fit_request(backgrounds=True)
        pipe = make_pipeline(*steps, transform_input=["backgrounds"]).set_output(transform=output)
        scores = pipe.fit(make(TARGET), backgrounds=(make(BACKGROUND),)).transform(make(TARGET))
    assert isinstance(scores, package.DataFrame)
    mean, spread = TARGET.mean(axis=0), TARGET.std(axis=0)
    by_hand = UCA(scale=False).fit((TARGET - mean) / spread, backgrounds=(BACKGROUND - mean) / spread)
    np.testing.assert_allclose(np.asarray(scores), by_hand.transform((TARGET - mean) / spread), atol=1e-6)


TEXT = {
    "pandas text": lambda: in_pandas(TARGET).assign(sex="f", batch=["x", "y"] * 30),
    "pandas category": lambda: in_pandas(TARGET).assign(sex=pd.Categorical(["f"] * 60), batch="x"),
    "pandas dates": lambda: in_pandas(TARGET).assign(sex="f", batch=pd.Timestamp("2020-01-01")),
    "pandas durations": lambda: in_pandas(TARGET).assign(sex="f", batch=pd.Timedelta(1, "s")),
    "pandas objects": lambda: in_pandas(TARGET).assign(sex="f", batch=np.array([pd.Timedelta(1)] * 60, dtype=object)),
    "polars text": lambda: in_polars(TARGET).with_columns(sex=pl.lit("f"), batch=pl.lit("x")),
    "polars times": lambda: in_polars(TARGET).with_columns(sex=pl.lit(date(2020, 1, 1)), batch=pl.duration(seconds=1)),
}


@pytest.mark.parametrize("case", TEXT)
def test_columns_of_text_are_named(case):
    with pytest.raises(
        ValueError, match="target X has columns 'sex', 'batch' that are not numeric: drop or encode such"
    ):
        UCA().fit(TEXT[case]())
    fewer = ["a", "b", "c", "sex", "batch"]
    with pytest.raises(ValueError, match="X has columns 'sex', 'batch' that are not numeric: drop or encode such"):
        UCA().fit(pd.DataFrame(TARGET, columns=fewer)).transform(TEXT[case]()[fewer])


@pytest.mark.parametrize("unit", ["timedelta64[ns]", "datetime64[ns]"])
@pytest.mark.parametrize("make", [in_pandas, in_polars])
def test_a_table_of_nothing_but_times(make, unit):
    """Of one type, such a table converts to numbers without complaint."""
    table = in_pandas((TARGET * 1e9).astype("int64").astype(unit))
    with pytest.raises(ValueError, match="target X has columns 'a', 'b', 'c', 'd', 'e' that are not numeric"):
        UCA().fit(table if make is in_pandas else pl.from_pandas(table))


REPEATED = {
    "pandas": lambda array: pd.DataFrame(array, columns=list("abbda")),
    "dask.dataframe": lambda array: dd.from_pandas(pd.DataFrame(array, columns=list("abbda")), npartitions=2),
}


@pytest.mark.parametrize("given", REPEATED)
def test_duplicated_columns_are_named(given):
    repeated = "has columns 'a', 'b' more than once: rename or drop the duplicated columns"
    make = REPEATED[given]
    for estimator in (UCA(), CPCA(alpha=1.0), CPCAPlusPlus(), SparseUCA(n_nonzero=2)):
        with pytest.raises(ValueError, match=f"target X {repeated}"):
            estimator.fit(make(TARGET), backgrounds=make(BACKGROUND))
        with pytest.raises(ValueError, match=f"background 'controls' {repeated}"):
            estimator.fit(in_pandas(TARGET), backgrounds={"controls": make(BACKGROUND)})
        with pytest.raises(ValueError, match=f"X {repeated}"):
            estimator.fit(TARGET).transform(make(TARGET))
        with pytest.raises(ValueError, match=f"X {repeated}"):
            estimator.fit(in_pandas(TARGET)).transform(make(TARGET))
    with pytest.raises(ValueError, match=f"target X {repeated}"):
        UCA().partial_fit(make(TARGET))
    with pytest.raises(ValueError, match=f"background 2 {repeated}"):
        pool(TARGET, make(BACKGROUND))


def test_one_column_of_text_in_a_background():
    mixed = in_pandas(BACKGROUND).assign(a=["high"] + ["1.0"] * 49)
    with pytest.raises(ValueError, match="background 'controls' has column 'a' that is not numeric"):
        UCA().fit(in_pandas(TARGET), backgrounds={"controls": mixed})


def test_numbers_in_object_columns_are_taken():
    np.testing.assert_array_equal(
        UCA().fit(in_pandas(TARGET).astype(object)).components_, UCA().fit(TARGET).components_
    )
    table = in_pandas(TARGET).astype({"b": object})
    UCA().fit(table)
    assert table["b"].dtype.kind == "O"  # the user's table is not changed


@pytest.mark.parametrize("value", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_missing_values_in_object_columns_are_counted(value):
    table = in_pandas(TARGET).astype({"b": object})
    table.iloc[4, 1] = value
    with pytest.raises(ValueError, match="target X contains 1 NaN, the first at row 4, column 1"):
        UCA().fit(table)
    with pytest.raises(ValueError, match="X contains 1 NaN, the first at row 4, column 1"):
        UCA().fit(in_pandas(TARGET)).transform(table)


def test_sparse_columns_of_pandas():
    zeros = in_pandas(np.where(TARGET > 4, TARGET, 0.0))
    expected = UCA().fit(zeros).components_
    for fill in (0.0, np.nan):
        stored = zeros.astype(pd.SparseDtype(float, fill))
        np.testing.assert_allclose(UCA().fit(stored).components_, expected, atol=1e-10)


def test_pyarrow_columns_by_name():
    pyarrow = pytest.importorskip("pyarrow")
    expected = UCA().fit(TARGET, backgrounds=BACKGROUND)
    target, background = (pyarrow.table(dict(zip(NAMES, array.T, strict=True))) for array in (TARGET, BACKGROUND))
    model = UCA().fit(target, backgrounds=background.select(NAMES[::-1]))
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-12)
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="target X has column 'sex' that is not numeric"):
        UCA().fit(target.append_column("sex", [["f"] * 60]))


def test_nullable_columns_in_dask():
    expected = UCA().fit(TARGET, backgrounds=BACKGROUND)
    target, background = (
        dd.from_pandas(in_pandas(array).astype("Float64"), npartitions=2, sort=False) for array in (TARGET, BACKGROUND)
    )
    model = UCA().fit(target, backgrounds=background)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-6)
    np.testing.assert_allclose(model.transform(target).compute(), expected.transform(TARGET), atol=1e-6)


@pytest.mark.parametrize("make", [in_pandas, in_polars])
def test_missing_values_are_counted(make):
    holes = TARGET.copy()
    holes[[3, 7], 2] = np.nan
    table = make(holes)
    table = table.fill_nan(None) if make is in_polars else table.astype("Float64")
    with pytest.raises(ValueError, match="target X contains 2 NaN, the first at row 3, column 2"):
        UCA().fit(table)


def test_lazy_frame_says_collect():
    with pytest.raises(TypeError, match=r"LazyFrame holds no rows yet: pass frame.collect\(\)"):
        UCA().fit(in_polars(TARGET).lazy())
    model = UCA().fit(in_polars(TARGET))
    with pytest.raises(TypeError, match=r"pass frame.collect\(\)"):
        model.transform(in_polars(TARGET).lazy())
