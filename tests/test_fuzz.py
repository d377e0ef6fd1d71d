"""A short run of the fuzzing (``make fuzz`` is the long one), and whether it would see what it looks for."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

pytest.importorskip("resource", reason="limits of processes are those of POSIX")
if not sys.platform.startswith("linux"):
    pytest.skip("the memory of a process is read from /proc", allow_module_level=True)

from fuzz import campaign as rules
from fuzz import worker
from fuzz.campaign import FINE, Tally, Worker, campaign, files
from fuzz.run import note, report, restored
from fuzz.seeds import ending, possible, put, seeds

FILES = 60  # of each format


@pytest.mark.parametrize("kind", possible())
def test_no_file_ends_the_process_or_goes_unnamed(kind):
    tally = Tally(kind)
    for i, answer in campaign(kind, 10**6, FILES):  # other files than those of the long run
        tally.add(i, answer)
    assert tally.failures == []
    assert tally.outcomes["refused"] > 0
    assert tally.outcomes["read"] > 0


@pytest.mark.parametrize(("kind", "number"), [("parquet", 7304)])
def test_files_that_ended_the_process(kind, number):
    """With the libraries of the time; with others it is one damaged file more."""
    if kind not in possible():
        pytest.skip("its packages are not installed")
    assert [answer["outcome"] for _, answer in campaign(kind, number, 1)] in (["refused"], ["read"])


@pytest.mark.parametrize("kind", possible())
@pytest.mark.filterwarnings("ignore")
def test_every_seed_is_read(kind, tmp_path):
    """Else what is changed is not what readers read."""
    for i, content in enumerate(seeds(kind)):
        assert worker.judge(kind, put(content, tmp_path / f"{i}{ending(kind)}")) == {"outcome": "read", "told": ""}


def test_a_number_gives_the_same_file():
    assert [content for _, content in files("npy", 5, 3)] == [content for _, content in files("npy", 5, 3)]
    assert dict(files("csv", 0, 9))[4] == dict(files("csv", 4, 1))[4]
    assert len({content for _, content in files("npy", 0, 40)}) > 30


def test_what_the_worker_sees(tmp_path, monkeypatch):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((2, 2)))

    def outcome(act):
        monkeypatch.setattr(worker, "read", lambda kind, path: act())
        return worker.judge("npy", path)["outcome"]

    def fail(error):
        raise error

    assert outcome(lambda: None) == "read"
    assert outcome(lambda: fail(ValueError("x.npy is damaged"))) == "refused"
    assert outcome(lambda: fail(OSError(22, "Invalid argument"))) == "no name"
    assert outcome(lambda: fail(MemoryError("x.npy"))) == "wrong error"
    assert outcome(lambda: worker.watch("os.system", ("ls",))) == "code ran"
    assert outcome(lambda: worker.watch("open", ("y", "w", 1))) == "code ran"


class Scripted(Worker):
    """A worker that answers its valid file, then does what a script says."""

    script = ""

    def _command(self):
        answer = 'print(\'{"outcome": "read", "told": ""}\', flush=True)'
        return [
            sys.executable,
            "-c",
            f"import os, sys, time\nsys.stdin.readline()\n{answer}\nsys.stdin.readline()\n{self.script}",
        ]


@pytest.mark.parametrize(
    ("script", "outcome", "told"),
    [
        ("os.kill(os.getpid(), 11)", "crash", "SIGSEGV"),
        ("os.abort()", "crash", "SIGABRT"),
        ("os._exit(3)", "crash", "exit code 3"),
        ("time.sleep(60)", "hang", "no answer"),
    ],
)
def test_a_worker_that_dies_is_seen_and_started_again(script, outcome, told, tmp_path, monkeypatch):
    monkeypatch.setattr(rules, "SECONDS", 5.0 if outcome == "hang" else 60.0)
    alive = Scripted("npy", tmp_path / "valid.npy")
    alive.script = script
    try:
        for _ in range(2):
            answer = alive.ask(tmp_path / "x.npy")
            assert answer["outcome"] == outcome
            assert told in answer["told"]
    finally:
        alive.stop()


def test_a_run_goes_on_where_it_was(tmp_path):
    tally = Tally("npy")
    tally.add(0, {"outcome": "read", "told": ""})
    tally.add(1, {"outcome": "crash", "told": "SIGSEGV"})
    note(tmp_path, tally)
    again = restored(tmp_path, "npy")
    assert (again.n_files, again.outcomes, again.failures) == (2, tally.outcomes, tally.failures)
    assert report([again]).splitlines()[-1] == "| npy | 2 | 1 | 0 | 1 |"
    assert restored(tmp_path, "csv").n_files == 0


def nodes(schema):
    """The objects of a schema that name a class."""
    if isinstance(schema, (dict, list)):
        if "__class__" in schema:
            yield schema
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from nodes(part)


def test_hostile_model_files_run_nothing(tmp_path):
    """Names of what runs code in every place of the schema where a name stands."""
    pytest.importorskip("skops")
    from fuzz.damage import WORDS
    from fuzz.seeds import members, packed

    whole = members(seeds("skops")[0])
    alive = Worker("skops", put(seeds("skops")[0], Path(tmp_path) / "valid.skops"))
    random, outcomes = Random(0), []
    pairs = [
        ("fuzz_canary", "sing"),
        ("fuzz_canary", "Singer"),
        ("os", "system"),
        ("builtins", "eval"),
        ("functools", "partial"),
    ]
    try:
        for i in range(30):
            module, name = pairs[i % len(pairs)]
            schema = json.loads(whole["schema.json"])
            node = random.choice([node for node in nodes(schema) if node["__loader__"] != "JsonNode"])
            loader = random.choice([word.decode() for word in WORDS["skops"] if word.endswith(b"Node")])
            node |= {"__class__": name, "__module__": module, "__loader__": random.choice((loader, node["__loader__"]))}
            changed = json.dumps(schema)
            path = put(packed({**whole, "schema.json": changed.encode()}), tmp_path / f"hostile-{i}.skops")
            answer = alive.ask(path)
            assert answer["outcome"] in FINE, (i, answer)
            outcomes.append(answer["outcome"])
        assert outcomes.count("refused") > 5  # loaders of plain values do not look at the names
    finally:
        alive.stop()
