"""The part of the simulation study on verdicts about backgrounds: its laws, its figures, its table."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.inference import influences
from joblib import parallel_config


@pytest.mark.parametrize("name", influences.LAWS)
def test_laws_give_what_the_function_takes(name):
    draw = influences.LAWS[name](np.random.default_rng(0))
    tables = [draw.target, *draw.backgrounds.values()]
    assert len({table.shape[1] for table in tables}) == 1
    if draw.groups is not None:
        assert [len(codes) for codes in draw.groups] == [len(table) for table in tables]


def test_part_counts_verdicts_and_keeps_what_is_known(monkeypatch):
    monkeypatch.setattr(influences, "LAWS", {"small": lambda rng: influences.alike(rng, n=10, p=3), "known": None})
    known = {"known": {"n": 1, "verdicts": {}}}
    with parallel_config(backend="threading"):  # other processes would not see the laws above
        found = influences.part(0.0, known)
    assert found["known"] == known["known"]
    assert found["small"]["n"] == 10
    assert all(sum(counts.values()) == 10 for counts in found["small"]["verdicts"].values())


def test_table():
    counts = {"a": {"redundant": 5, "replaceable": 14, "decisive": 1}}
    lines = influences.table({"influence": {"two": {"n": 20, "verdicts": counts}}}).splitlines()
    assert "| two | a | 25 | 70 |  | 5 |" in lines
    assert influences.table({}) == ""
