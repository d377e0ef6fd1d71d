"""What labels of rows are: one rule for figures and reports."""

from __future__ import annotations

import numpy as np
import pytest

from uca._labels import as_text, check_labels

pd = pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")


def test_groups_stand_in_order_of_what_they_are():
    groups = check_labels([10, 9, 10, 2], 4)
    assert groups.levels == ["2", "9", "10"]
    assert groups.codes.tolist() == [2, 1, 2, 0]
    assert check_labels(["b", 1, None], 3).levels == ["1", "b"]
    assert check_labels([True, False], 2).levels == ["False", "True"]
    assert check_labels(np.array([2.0, np.nan, 0.5]), 3).levels == ["0.5", "2"]


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (np.arange(20), False),
        (np.arange(21), True),
        (np.arange(20.0), False),  # whole numbers, though a table with gaps holds them as floats
        (np.arange(8) / 2, False),
        (np.arange(9) / 2, True),
        ([True, False] * 20, False),
        ([f"{i}" for i in range(30)], False),
        (pd.array([*range(21), None], dtype="Int64"), True),
        ([*np.arange(8) / 2, np.inf, np.nan], False),  # neither is a value of a scale
    ],
    ids=lambda value: str(value)[:20],
)
def test_many_numbers_are_a_scale(values, scale):
    found = check_labels(values, len(values))
    assert (found.values is not None, found.levels == []) == (scale, scale)


def test_a_scale_keeps_its_numbers_and_has_gaps():
    numbers = [*np.linspace(0, 1, 30), np.nan, np.inf]
    found = check_labels(pd.Series(numbers, name="age"), 32)
    assert found.name == "age"
    np.testing.assert_array_equal(found.values, [*numbers[:30], np.nan, np.nan])


@pytest.mark.parametrize(
    "labels",
    [
        np.ma.array(["a", "?", "b"], mask=[False, True, False]),
        pd.array(["a", pd.NA, "b"], dtype="string"),
        ["a", pd.NaT, "b"],
        ["a", np.datetime64("NaT", "ns"), "b"],
        ["a", np.ma.masked, "b"],
    ],
    ids=["masked", "NA", "NaT of pandas", "NaT of numpy", "masked constant"],
)
def test_missing_labels_belong_to_no_group(labels):
    found = check_labels(labels, 3)
    assert found.levels == ["a", "b"]
    assert found.codes.tolist() == [0, -1, 1]


def test_dates_are_labels():
    days = np.array(["2020-01-02", "NaT", "2020-01-01"], dtype="datetime64[ns]")
    for labels in (days, pd.Series(days)):
        assert [level[:10] for level in check_labels(labels, 3).levels] == ["2020-01-01", "2020-01-02"]


def test_as_text_leaves_the_point_of_whole_numbers_and_what_is_missing_out():
    assert as_text([1.0, 2.5, None, "x", np.float32(3)]).tolist() == ["1", "2.5", "", "x", "3"]
