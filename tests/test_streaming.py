"""Streams, moments, sizes that do not fit, progress and Ctrl-C."""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from scipy import sparse

import uca
from uca import UCA, Moments
from uca import _memory as memory


@pytest.fixture
def tables(rng):
    target = 5 + rng.standard_normal((83, 6)) @ rng.standard_normal((6, 6))
    return target, rng.standard_normal((61, 6)) * 3 - 7, rng.standard_normal((47, 6)) @ rng.standard_normal((6, 6))


def _pieces(table, rng):
    return np.split(table, np.sort(rng.choice(np.arange(1, len(table)), size=4, replace=False)))


@pytest.mark.parametrize("seed", range(5))
def test_stream_in_any_order_equals_the_whole(tables, seed):
    rng = np.random.default_rng(seed)
    target, first, second = tables
    pieces = [("target", piece) for piece in _pieces(target, rng)]
    pieces += [(name, piece) for name, table in (("a", first), ("b", second)) for piece in _pieces(table, rng)]
    model = UCA()
    for i in rng.permutation(len(pieces)):
        name, piece = pieces[i]
        model.partial_fit(piece) if name == "target" else model.partial_fit(backgrounds={name: piece})
    order = model.background_names_
    whole = UCA().fit(target, backgrounds={name: {"a": first, "b": second}[name] for name in order})
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-10)
    np.testing.assert_allclose(model.lambdas_, whole.lambdas_, atol=1e-10)
    np.testing.assert_allclose(model.mean_, whole.mean_, rtol=1e-10)
    assert model.certificate_.upper == pytest.approx(whole.certificate_.upper, rel=1e-10)
    assert model.n_samples_ == 83


def test_stream_takes_sparse_chunks(tables):
    target, first, _ = (np.where(np.abs(table) < 1, 0, table) for table in tables)
    model = UCA()
    for piece in np.array_split(target, 3):
        model.partial_fit(sparse.csr_array(piece), backgrounds=None)
    model.partial_fit(backgrounds=sparse.csc_array(first))
    np.testing.assert_allclose(model.components_, UCA().fit(target, backgrounds=first).components_, atol=1e-10)


def test_moments_are_a_map_reduce(tables, tmp_path):
    """Mapped in pieces, saved, loaded and merged pairwise: the same model as on all rows."""
    target, first, second = tables
    for i, piece in enumerate(np.array_split(target, 5)):
        Moments.of(piece).save(tmp_path / f"{i}.npz")
    parts = [Moments.load(tmp_path / f"{i}.npz") for i in range(5)]
    while len(parts) > 1:
        parts = [parts[i].merge(parts[i + 1]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    others = {"a": Moments.empty(6).add(first[:9]).add(first[9:]), "b": Moments.of(second)}
    np.testing.assert_allclose(parts[0].covariance(), np.cov(target.T), rtol=1e-12, atol=1e-12)
    model = UCA().partial_fit(parts[0], backgrounds=others)
    whole = UCA().fit(target, backgrounds={"a": first, "b": second})
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-10)
    before = parts[0].n
    model.partial_fit(target[:3])  # the stream grows, the object it was given does not
    assert (parts[0].n, model.n_samples_) == (before, before + 3)


def test_results_are_told_in_a_line(rng):
    from uca.comparison import compare

    rows = rng.normal(size=(30, 4)).astype(np.float32)
    assert repr(Moments.of(rows)) == "Moments(30 rows, 4 features, float32)"
    (first, *_) = compare(rows, {"other": rng.normal(size=(20, 4))})
    assert repr(first).startswith("Compared('PCA': target ")
    assert "array" not in repr(first)


def test_moments_errors(tmp_path, rng):
    moments = Moments.of(rng.standard_normal((5, 3)))
    with pytest.raises(ValueError, match="4 features cannot be merged with those of 3"):
        moments.merge(Moments.of(rng.standard_normal((5, 4))))
    with pytest.raises(ValueError, match="X contains 1 NaN, the first at row 1, column 2"):
        moments.add([[1.0, 2.0, 3.0], [1.0, 2.0, np.nan]])
    assert moments.n == 5
    (tmp_path / "no.npz").write_bytes(b"nothing")
    with pytest.raises(
        ValueError, match="no.npz cannot be read as a file of moments written by Moments.save: its archive is damaged"
    ):
        Moments.load(tmp_path / "no.npz")
    with pytest.raises(ValueError, match="has 4 features, but UCA is expecting 3"):
        UCA().partial_fit(moments).partial_fit(Moments.of(rng.standard_normal((5, 4))))


def test_save_of_moments_is_whole_or_not_at_all(tmp_path, rng, monkeypatch):
    moments = Moments.of(rng.standard_normal((5, 3)))
    moments.save(tmp_path / "m.npz")

    def full(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="disk full"):
        Moments.of(rng.standard_normal((5, 3))).save(tmp_path / "m.npz")
    np.testing.assert_array_equal(Moments.load(tmp_path / "m.npz").mean, moments.mean)
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


def test_matrices_that_do_not_fit_are_refused_before_work(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e9)
    rows = np.zeros((3, 8_000))  # 512 MB a matrix
    message = r"8,000 x 8,000 matrix for each of 2 datasets: 2.0 GB.*1.0 GB are free.*memmap.*dask"
    model = UCA()
    with pytest.raises(MemoryError, match="partial_fit holds a " + message):
        model.partial_fit(rows, backgrounds=rows)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(MemoryError, match="representation='covariance' holds a " + message):
        UCA(representation="covariance").fit(rows, backgrounds=rows)
    with pytest.raises(MemoryError, match="a Moments object holds"):
        Moments.empty(8_000)


def test_auto_goes_implicit_where_covariances_do_not_fit(rng, monkeypatch):
    """Tall data whose p x p matrices do not fit is read in blocks."""
    tall = rng.standard_normal((900, 300))
    expected = UCA().fit(tall[:600], backgrounds=tall[600:])
    assert expected.representation_ == "covariance"
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e6)
    monkeypatch.setattr(memory, "ALWAYS", 0.0)
    model = UCA().fit(tall[:600], backgrounds=tall[600:])
    assert model.representation_ == "implicit"
    assert model.certificate_.upper == pytest.approx(expected.certificate_.upper, rel=1e-9)
    assert "not proven" in model.certificate_.message
    assert "not proven" not in expected.certificate_.message


def test_available_memory_is_bounded_by_a_limit_of_the_process():
    code = """
        import resource
        from uca._memory import available_bytes
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        print(available_bytes())
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert 0 < float(out.stdout) < 4 << 30


# --- progress -----------------------------------------------------------------------------------------------------------


def test_verbose_logs_a_line_a_pass(tables, caplog):
    with caplog.at_level(logging.INFO, logger="uca"):
        model = UCA(verbose=True).fit(tables[0], backgrounds=tables[1])
    assert sum(message.startswith("pass ") for message in caplog.messages) == model.n_iter_
    assert caplog.messages[-1].startswith(f"pass {model.n_iter_}  upper ")


def test_silent_by_default(tables, capfd):
    UCA().fit(tables[0], backgrounds=tables[1])
    assert capfd.readouterr() == ("", "")


def test_verbose_takes_a_callback(tables):
    seen = []
    model = UCA(verbose=lambda *line: seen.append(line)).fit(tables[0], backgrounds=tables[1])
    numbers, upper, lower, gap = zip(*seen, strict=True)
    assert list(numbers) == list(range(1, model.n_iter_ + 1))
    assert gap[-1] <= 1e-9
    assert upper[-1] == pytest.approx(lower[-1], rel=1e-9)


def test_live_line_on_a_terminal():
    """Under a pseudo-terminal the line is rewritten in place by tqdm, not logged."""
    pty = pytest.importorskip("pty", reason="needs a Unix terminal")
    pytest.importorskip("tqdm", reason="pip install unique-component-analysis[progress]")
    import os
    import termios

    code = "import numpy as np, uca; r = np.random.default_rng(0)\n"
    code += "uca.UCA(verbose=True).fit(r.normal(size=(40, 5)), backgrounds=r.normal(size=(40, 5)))"
    here, there = pty.openpty()
    termios.tcsetwinsize(there, (24, 120))
    with subprocess.Popen([sys.executable, "-c", code], stderr=there) as process:
        os.close(there)
        shown = b""
        with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
            while part := os.read(here, 1024):
                shown += part
    os.close(here)
    assert process.returncode == 0
    assert b"\r" in shown
    assert b"uca: pass" in shown
    assert b"gap" in shown


# --- Ctrl-C -------------------------------------------------------------------------------------------------------------


def test_interrupt_leaves_the_estimator_as_it_was(tables):
    target, first, second = tables
    model = UCA().fit(target, backgrounds=first)
    before = dict(model.__dict__)

    def interrupt(*_):
        raise KeyboardInterrupt

    model.verbose = interrupt
    with pytest.raises(KeyboardInterrupt):
        model.fit(second, backgrounds=first)
    model.verbose = False
    assert model.__dict__ == before


def test_interrupted_chunk_is_added_whole_or_not_at_all(tables, monkeypatch):
    target, first, _ = tables
    model = UCA().partial_fit(target, backgrounds=first)
    merge, calls = Moments.merge, []

    def interrupted(self, other):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return merge(self, other)

    monkeypatch.setattr(Moments, "merge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(target, backgrounds=first)
    monkeypatch.undo()
    assert model.n_samples_ == len(target)
    np.testing.assert_allclose(model.components_, UCA().fit(target, backgrounds=first).components_, atol=1e-12)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs Unix signals")
@pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
def test_real_ctrl_c_in_the_middle_of_a_pass(rng, representation, monkeypatch):
    """SIGINT while lanes work: the fit ends soon, the model keeps its old answer, and the next fit works."""
    from uca.operators.sources import chunks, columns, memory
    from uca.operators.statistics import moments

    target, background = rng.standard_normal((2, 600, 700))
    model = UCA(representation=representation).fit(target[:50], backgrounds=background[:60])
    before = dict(model.__dict__)
    started = threading.Event()

    def slow(function):
        def wrapped(*args, **kwargs):
            started.set()
            threading.Event().wait(0.02)
            return function(*args, **kwargs)

        return wrapped

    for module, name in ((moments, "center_block"), (columns, "center_block"), (memory, "both")):
        monkeypatch.setattr(module, name, slow(getattr(module, name)))
        monkeypatch.setattr(module, "PARALLEL_BYTES", 0)
        monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    monkeypatch.setattr(chunks, "center_block", slow(chunks.center_block))
    main = threading.main_thread().ident

    def press():
        started.wait(10)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=press)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a parent in the background switches off
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(target, backgrounds=background)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, handler)
    assert model.__dict__ == before
    monkeypatch.undo()
    model.fit(target[:100], backgrounds=background[:100])
    assert model.n_samples_ == 100


def test_moments_is_public():
    assert uca.Moments is Moments
