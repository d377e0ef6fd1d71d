"""The program among faults: signals, kills, full disks, other writers, input that changes, odd terminals, children."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import multiprocessing
import os
import pty
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from commands import good, run
from sklearn.base import clone

import uca
from uca import UCA
from uca._files import beside, new_file, new_path, remove_leftovers, write_file
from uca.cli.safe import replacing_streams

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits are those of POSIX")
PROGRAM = [sys.executable, "-m", "uca.cli"]
HERE = {**os.environ, "PYTHONPATH": str(Path(uca.__file__).parents[1])}
HERE.pop("COVERAGE_PROCESS_CONFIG", None)  # what is measured would be written to the disk that is full
HERE.pop("PYTHONUNBUFFERED", None)  # it hides what happens to results that standard output does not take
FIT = ["fit", "target.csv", "-b", "one.csv", "-o", "out", "--no-report"]
WHOLE = {"scores.csv", "components.csv", "model.skops", "methods.txt", "summary.json"}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("target", "one", "two"):
        frame = pd.DataFrame(rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6)))
        frame.add_prefix("g").to_csv(f"{name}.csv", index=False)
    return tmp_path


def assert_whole(folder: str = "out") -> None:
    assert set(os.listdir(folder)) >= WHOLE
    summary = json.loads(Path(folder, "summary.json").read_text())
    assert set(summary["files"]) == set(os.listdir(folder))
    assert len(pd.read_csv(f"{folder}/scores.csv")) == 40


# --- ends before the end -------------------------------------------------------------------------------------------

SLOW_SAVE = """
import sys, time, uca.persistence
def save(model, path):
    print("saving", flush=True)
    time.sleep(60)
uca.persistence.save = save
from uca.cli import app
app(sys.argv[1:], prog_name="uca")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_requests_to_end_clean_up(tables, number):
    before = sorted(os.listdir("."))
    program = subprocess.Popen(
        [sys.executable, "-c", SLOW_SAVE, *FIT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=HERE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # these tests may run where hang-ups are ignored
    )
    try:
        assert program.stdout.readline().strip() == "saving"
        assert any(name.startswith(".out.") for name in os.listdir("."))
        program.send_signal(number)
        _, errors = program.communicate(timeout=60)
    finally:
        program.kill()
    assert program.returncode == 128 + number
    assert errors.strip() == "uca: ended; no result was changed"
    assert sorted(os.listdir(".")) == before


@pytest.mark.parametrize("module", ["typer", "uca.cli.commands.fit"])
def test_interrupts_while_the_program_is_imported(module):
    """As of Ctrl-C in the first tenths of a second."""
    code = f"""
import sys
class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
import uca.cli
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=HERE)
    assert (done.returncode, done.stderr) == (130, "uca: interrupted; no result was changed\n")


@pytest.mark.parametrize(("first", "pause"), [(signal.SIGTERM, 0.0), (signal.SIGTERM, 0.001), (signal.SIGHUP, 0.05)])
def test_further_requests_do_not_disturb_the_cleaning_up(tables, first, pause):
    """Of which one part is slow here. systemd sends a hang-up right after the request to end."""
    before = sorted(os.listdir("."))
    slow = "import shutil, time\nremove = shutil.rmtree\n"
    slow += (
        "def rmtree(*given, **options):\n    time.sleep(0.1)\n    remove(*given, **options)\nshutil.rmtree = rmtree\n"
    )
    numbers = [first, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, first]
    program = subprocess.Popen(
        [sys.executable, "-c", slow + SLOW_SAVE, *FIT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=HERE,
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in numbers],
    )
    try:
        assert program.stdout.readline().strip() == "saving"
        for number in numbers:
            program.send_signal(number)
            time.sleep(pause)
        _, errors = program.communicate(timeout=60)
    finally:
        program.kill()
    assert errors.strip() == "uca: ended; no result was changed"
    assert program.returncode in {128 + signal.SIGTERM, 128 + signal.SIGHUP}  # which is seen first is up to the system
    assert sorted(os.listdir(".")) == before


@pytest.mark.parametrize("process", ["gone", "alive", "elsewhere", "elsewhere, a week ago"])
def test_what_a_kill_left_behind(tmp_path, process):
    place = tmp_path / "o9"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, young = beside(place), beside(place)
    prefix, host, _ = left.name.rsplit(".", 1)[0], *left.name.rsplit(".", 1)[1].split("-", 1)
    pid = os.getpid() if process == "alive" else gone.pid
    host = "00000000" if "elsewhere" in process else host
    left, young = (tmp_path / f"{prefix}.{host}-{pid}-0000000{i}" for i in range(2))
    others = [tmp_path / ".o9.notes", tmp_path / f".o10.{host}-{pid}-00000000", tmp_path / ".o9.1234abcd"]
    for path in (left, young, *others):
        path.mkdir()
        (path / "half.csv").write_text("1,2")
    age = 8 * 24 * 3600 if "week" in process else 2 * 3600
    for path in (left, *others):
        os.utime(path, (0, time.time() - age))
    remove_leftovers(place)
    assert left.exists() == (process in {"alive", "elsewhere"})
    assert young.exists()
    assert all(path.exists() for path in others)


def test_nothing_is_removed_before_the_new_result_is_there(tmp_path):
    """Where a kill came between two renames, what is left behind is the only copy of the old result."""
    place = tmp_path / "t.zarr"
    left = tmp_path / beside(place).name.replace(f"-{os.getpid()}-", "-999999999-")
    left.mkdir()
    os.utime(left, (0, 0))

    def failing():
        with new_path(place) as temporary:
            temporary.mkdir()
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        failing()
    assert left.exists()
    with new_path(place) as temporary:
        temporary.mkdir()
    assert os.listdir(tmp_path) == ["t.zarr"]


@pytest.mark.parametrize("write", ["write_file", "new_file", "save", "moments"])
def test_files_of_killed_runs_are_removed(tmp_path, rng, write):
    place = tmp_path / "m.npz"
    left, alive = beside(place).name.replace(f"-{os.getpid()}-", "-999999999-"), beside(place).name
    for name in (left, alive, ".m.npz.notes"):
        (tmp_path / name).write_text("half")
        os.utime(tmp_path / name, (0, time.time() - 2 * 3600))
    rows = rng.standard_normal((2, 20, 4))
    if write == "save":
        pytest.importorskip("skops")
        uca.save(UCA().fit(rows[0], backgrounds=rows[1]), place)
    elif write == "moments":
        uca.Moments.of(rows[0]).save(place)
    elif write == "write_file":
        write_file(place, "x")
    else:
        with new_file(place) as stream:
            stream.write(b"x")
            assert left in os.listdir(tmp_path)  # until the new one is there
    assert sorted(os.listdir(tmp_path)) == sorted([alive, ".m.npz.notes", "m.npz"])


def test_long_names_have_temporary_ones(tmp_path):
    with new_path(tmp_path / ("ü" * 125)) as temporary:
        temporary.write_text("x")
    assert os.listdir(tmp_path) == ["ü" * 125]


def test_kills_at_random_moments(tables):
    """A dozen forks; UCA_KILLS=100 runs as many processes of their own (make kills)."""
    n = os.environ.get("UCA_KILLS")
    options = ["12"] if n is None else [n, "--fresh"]
    script = Path(__file__).with_name("kills.py")
    done = subprocess.run([sys.executable, script, ".", *options], capture_output=True, text=True, env=HERE)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


# --- files -----------------------------------------------------------------------------------------------------------


def no_large_files() -> None:
    """As on a full disk: the system refuses to write beyond a size."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))


def test_full_disk(tables):
    good(*FIT)
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    listed = sorted(os.listdir("."))
    done = subprocess.run(
        [*PROGRAM, *FIT, "--force"], capture_output=True, text=True, env=HERE, preexec_fn=no_large_files
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("uca: out")
    assert done.stderr.strip().endswith(": File too large")
    assert "Traceback" not in done.stderr
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before
    assert sorted(os.listdir(".")) == listed


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx", "ods", "parquet"])
def test_full_disk_while_scores_are_written(tables, ending):
    """One line that names the file. Writers of archives try to end them when they are forgotten, which is silent too."""
    for package in {"xlsx": ["openpyxl"], "ods": ["odf"], "parquet": ["pyarrow"]}.get(ending, []):
        pytest.importorskip(package)
    good(*FIT)
    done = subprocess.run(
        [*PROGRAM, "transform", "out", "target.csv", "-o", f"s.{ending}"],
        capture_output=True,
        text=True,
        env=HERE,
        preexec_fn=no_large_files,
    )
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert told.startswith(f"uca: s.{ending}: ")
    assert told.endswith(os.strerror(errno.EFBIG))
    assert not list(Path().glob("*s." + ending))


def test_full_disk_while_a_model_is_saved(tables):
    code = "import numpy as np, uca\nmodel = uca.UCA().fit(np.random.default_rng(0).normal(size=(20, 3)))\n"
    code += "uca.save(model, 'm.skops')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=HERE, preexec_fn=no_large_files
    )
    assert done.stderr.strip().endswith(f"{os.strerror(errno.EFBIG)}: 'm.skops'")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "command", [["transform", "out", "target.csv"], ["transform", "out", "target.csv", "--json"], ["info", "out"]]
)
def test_standard_output_on_a_full_disk(tables, command):
    """One line, once: the stream keeps what was not written, and would fail again when the program ends."""
    good(*FIT)
    assert on_a_full_disk([*PROGRAM, *command]) == (1, "uca: [Errno 28] No space left on device\n")


UNFLUSHED = """
from uca.cli import app
@app.command()
def told():
    print("scores")
app(prog_name="uca")
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_results_that_wait_for_a_full_disk(tables):
    """A command that did not flush what it printed has failed as well."""
    assert on_a_full_disk([sys.executable, "-c", UNFLUSHED, "told"]) == (1, "uca: [Errno 28] No space left on device\n")


def on_a_full_disk(command: list[str]) -> tuple[int, str]:
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=HERE)
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_help_on_a_full_disk(tmp_path):
    """Without arguments the program prints its help, and fails as a command does."""
    assert on_a_full_disk(PROGRAM) == (1, "uca: [Errno 28] No space left on device\n")


class Unwritable(io.RawIOBase):
    """A stream without a number that takes nothing."""

    def writable(self):
        return True

    def write(self, data):
        raise OSError(28, "No space left on device")


def test_a_stream_that_is_no_file_and_takes_nothing(monkeypatch):
    stream, other = io.TextIOWrapper(io.BufferedWriter(Unwritable())), io.TextIOWrapper(io.BytesIO(), errors="strict")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", other)
    with replacing_streams():
        print("scores")
    monkeypatch.undo()
    assert other.errors == "strict"  # set back although the first could not be
    with contextlib.suppress(OSError):
        stream.close()


def test_two_writers(tables):
    """Both finish; the result is that of one of them, whole."""
    both = [
        subprocess.Popen(
            [*PROGRAM, "fit", "target.csv", "-b", f"{name}.csv", "-o", "out", "--force", "--no-report"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=HERE,
        )
        for name in ("one", "two")
    ]
    ends = [(program.communicate(timeout=120)[1], program.returncode) for program in both]
    assert all("Traceback" not in told for told, _ in ends)
    assert any(code == 0 for _, code in ends)
    assert_whole()
    assert not [name for name in os.listdir(".") if name.startswith(".")]


def test_input_that_vanishes(tables, monkeypatch):
    from uca.cli import inputs

    def read_one(path, columns, real=inputs.read_one):
        Path("one.csv").unlink(missing_ok=True)
        return real(path, columns)

    monkeypatch.setattr(inputs, "read_one", read_one)
    done = run(*FIT)
    assert done.exit_code in {1, 2}
    assert "one.csv" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not Path("out").exists()


def test_input_that_grows_while_it_is_read(tables):
    """Whatever moment the reader meets, a row that is half there is an error that names the file, or not counted."""
    text = Path("target.csv").read_text()
    end, row = threading.Event(), text.splitlines()[1]

    def write():
        with open("target.csv", "a") as stream:
            while not end.wait(0.001):
                for part in (row[:7], row[7:] + "\n"):
                    stream.write(part)
                    stream.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        ends = [run(*FIT, "--force") for _ in range(3)]
    finally:
        end.set()
        writer.join()
    for done in ends:
        assert done.exit_code == 0 or (done.exit_code == 1 and "target.csv" in done.stderr), done.output


@pytest.mark.parametrize("kind", ["folder", "forbidden"])
def test_unreadable_files(tables, kind, monkeypatch):
    if kind == "folder":
        Path("one.csv").unlink()
        Path("one.csv").mkdir()
    elif os.geteuid() == 0:
        pytest.skip("nothing is forbidden to root")
    else:
        Path("one.csv").chmod(0)
    done = run(*FIT)
    assert done.exit_code in {1, 2}
    assert "one.csv" in done.stderr
    assert not Path("out").exists()


# --- terminals -------------------------------------------------------------------------------------------------------


def test_closed_standard_output(tables):
    """As in ``uca fit … | head``: no traceback, and the files are there."""
    told = into_a_closed_pipe(FIT)
    assert "Traceback" not in told
    assert "Exception ignored" not in told
    assert_whole()


def closed_from_the_start(command: list[str], *numbers: int) -> subprocess.CompletedProcess[str]:
    """As in ``uca … >&- 2>&-``: Python then has None in place of the streams."""
    return subprocess.run(
        [*PROGRAM, *command],
        capture_output=True,
        text=True,
        env=HERE,
        preexec_fn=lambda: [os.close(number) for number in numbers],
    )


@pytest.mark.parametrize("numbers", [(1,), (2,), (1, 2)])
def test_streams_that_are_closed_from_the_start(tables, numbers):
    done = closed_from_the_start(FIT, *numbers)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("UC1" in done.stdout) == (1 not in numbers)
    assert_whole()
    for command in (["transform", "out", "target.csv"], ["info", "out"], ["info", "out", "--json"]):
        done = closed_from_the_start(command, *numbers)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert bool(done.stdout) == (1 not in numbers)
    assert closed_from_the_start(["fit", "nothing.csv", "-b", "one.csv"], *numbers).returncode == 2
    assert closed_from_the_start([], *numbers).returncode == 2


def test_progress_without_standard_error(monkeypatch, rng):
    """As under pythonw, which has no streams."""
    monkeypatch.setattr(sys, "stderr", None)
    target, background = rng.standard_normal((2, 20, 3))
    assert UCA(verbose=True).fit(target, backgrounds=background).certificate_.status == "optimal"


@pytest.mark.parametrize("command", [["transform", "out", "target.csv"], ["info", "out", "--json"]])
def test_a_reader_that_has_seen_enough(tables, command):
    """As in ``uca transform … | head``: that is no error of the user."""
    good(*FIT)
    assert into_a_closed_pipe(command) == ""


def into_a_closed_pipe(command: list[str]) -> str:
    """Standard error of the program."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run([*PROGRAM, *command], stdout=writer, stderr=subprocess.PIPE, text=True, env=HERE).stderr
    finally:
        os.close(writer)


def test_narrow_terminal(tables):
    parent, child = pty.openpty()
    environment = {**HERE, "COLUMNS": "20", "LINES": "10", "TERM": "xterm"}
    program = subprocess.Popen([*PROGRAM, *FIT], stdout=child, stderr=child, env=environment)
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(parent)
    assert program.wait(timeout=60) == 0, shown
    assert b"UC1" in shown
    assert b"Traceback" not in shown
    assert_whole()


# --- child processes -------------------------------------------------------------------------------------------------


def fit_and_send(model, target, background, queue) -> None:
    queue.put(clone(model).fit(target, backgrounds=background).components_)


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_child_processes_give_the_same_bits(rng, method):
    target, background = rng.standard_normal((2, 300, 20))
    model = UCA().fit(target, backgrounds=background)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=fit_and_send, args=(model, target, background, queue))
    child.start()
    try:
        found = queue.get(timeout=120)
    finally:
        child.join(20)
        child.kill()
    np.testing.assert_array_equal(found, model.components_)
