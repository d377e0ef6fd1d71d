"""Products are as near to exact ones as the allowances of certificates say."""

from __future__ import annotations

import pytest
from benchmarks import rounding as measured

from uca.operators.statistics.rounding import UNIT, summation


@pytest.mark.skipif(not measured.WIDER, reason="long double is no wider than double on this machine")
@pytest.mark.parametrize(("n", "p"), [(60, 30), (300, 100), (2_500, 40)])
def test_products_are_within_the_allowance(n, p):
    limit = summation(n) / n**0.5
    for name, rows in measured.tables(n, p):
        spectral, frobenius = measured.errors(rows)
        assert max(spectral, frobenius) <= limit, name


def test_a_sum_of_blocks_is_better_than_one_sum():
    assert UNIT == 2.0**-53
    assert summation(100) == 40
    assert summation(1_000_000, 1_000) == 2 * summation(1_000) < summation(1_000_000, 1_000_000)
