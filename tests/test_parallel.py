"""Pieces of work at home and with workers, and what is told of the time left."""

from __future__ import annotations

import pytest
from joblib import parallel_config

from uca._progress import _duration
from uca.inference import parallel


def square(item: int, shift: int) -> int:
    return item**2 + shift


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_results_come_in_order(n_jobs):
    assert parallel.run(square, range(7), 3, n_jobs=n_jobs) == [3, 4, 7, 12, 19, 28, 39]


def test_workers_take_over_where_work_is_long(monkeypatch):
    monkeypatch.setattr(parallel, "LITTLE", 0.0)  # workers are started at once, and take over whenever they are ready
    assert parallel.run(square, range(300), 1, n_jobs=2) == [i**2 + 1 for i in range(300)]


def test_backends_of_the_user_are_used(monkeypatch):
    monkeypatch.setattr(parallel, "_start_workers", None)
    with parallel_config(backend="threading"):
        assert parallel.run(square, range(5), 0, n_jobs=2) == [0, 1, 4, 9, 16]


def test_errors_of_pieces_are_raised():
    with pytest.raises(ZeroDivisionError):
        parallel.run(lambda item: 1 / item, [1, 0, 2], n_jobs=2)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.2, "about 1 s"), (61, "about 61 s"), (600, "about 10 min"), (9000, "about 2.5 h")]
)
def test_durations_in_words(seconds, told):
    assert _duration(seconds) == told
