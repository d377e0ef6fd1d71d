"""Rows that occur more than once: found, and merged without a change of the answer."""

from __future__ import annotations

import numpy as np
import pytest

from uca import UCA
from uca.operators.representations import reduced
from uca.operators.sources.repeated import first_equal


def refused(*args, **options):
    raise AssertionError("rows were decomposed by QR")


@pytest.mark.parametrize("p", [3, 16, 100])
def test_equal_rows_are_found(p, rng):
    rows = rng.standard_normal((12, p))
    drawn = rng.integers(0, 12, 40)
    first = [int(np.flatnonzero(drawn == i)[0]) for i in drawn]
    other = rows[[5, 5, 7]]
    assert first_equal([rows[drawn], other]).tolist() == [*first, 40, 40, 42]


def test_rows_that_differ_in_one_value_are_not_equal(rng):
    rows = np.tile(rng.standard_normal(200), (4, 1))
    rows[2, 101] = np.nextafter(rows[2, 101], 2.0)
    rows[3, 5] = 0.0
    assert first_equal([rows]).tolist() == [0, 0, 2, 3]


@pytest.mark.parametrize("scale", [True, False, "target"])
@pytest.mark.parametrize("center", [True, False])
def test_repeated_rows_have_the_covariances_of_numpy(scale, center, rng, monkeypatch):
    """Against covariances on all features, without the way by QR that repeated rows would take if they were not merged."""
    target, background = (rng.standard_normal((25, 90)) @ rng.standard_normal((90, 90)) for _ in range(2))
    target, background = (part[rng.integers(0, 25, 25)] for part in (target, background))
    options = {"scale": scale, "center": center}
    known = UCA(representation="covariance", **options).fit(target, backgrounds=background)
    monkeypatch.setattr(reduced, "from_qr", refused)
    found = UCA(representation="reduced", **options).fit(target, backgrounds=background)
    assert found.certificate_.status == "optimal"
    assert found.certificate_.proven
    assert found.certificate_.upper == pytest.approx(known.certificate_.upper, rel=1e-10)
    np.testing.assert_allclose(found.lambdas_, known.lambdas_, rtol=1e-6)
    np.testing.assert_allclose(found.components_, known.components_, atol=1e-7)
    np.testing.assert_allclose(found.expected_background_variance_, known.expected_background_variance_, rtol=1e-6)
