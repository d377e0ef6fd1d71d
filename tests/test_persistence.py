"""Model files: what comes back is what went in, and a file that was tampered with is refused."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import uca
from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA

pd = pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")
skops = pytest.importorskip("skops.io", reason="model files need skops: pip install '.[cli]'")


@pytest.fixture
def data(rng):
    return pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcd")), rng.normal(size=(25, 4))


@pytest.fixture
def model(data):
    target, background = data
    return UCA().fit(target, backgrounds={"control": background})


@pytest.fixture
def path(model, tmp_path):
    return uca.save(model, tmp_path / "model.skops")


def rewrite(path, change):
    """The archive with its files changed by ``change(name, content)``; checksums are made anew, as a forger would."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, change(name, content))


def edit_schema(path, edit):
    def change(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        edit(schema)
        return json.dumps(schema).encode()

    rewrite(path, change)


@pytest.mark.parametrize(
    "estimator",
    [
        UCA(),
        UCA(components="sequential", whiten=True, bound={"control": 1.5}, scale="target"),
        CPCA(alpha=[0.5, 5.0]),
        CPCA(),
        CPCAPlusPlus(shrinkage=0.1),
        SparseUCA(n_nonzero=2),
    ],
    ids=lambda e: type(e).__name__,
)
def test_round_trip(data, tmp_path, estimator):
    target, background = data
    fitted = estimator.fit(target, backgrounds={"control": background})
    again = uca.load(uca.save(fitted, tmp_path / "m.skops"))
    assert type(again) is type(fitted)
    assert again.get_params() == fitted.get_params()
    assert vars(again).keys() == vars(fitted).keys() - {"_problem", "_seen"}  # a file holds no rows
    np.testing.assert_array_equal(again.transform(target), fitted.transform(target))
    assert again.feature_names_in_.tolist() == list("abcd")
    if isinstance(fitted, UCA | SparseUCA):
        assert again.certificates_ == fitted.certificates_
        assert again.summary() == fitted.summary()


def test_stream_is_solved_and_its_sums_are_left_out(data, tmp_path):
    target, background = data
    stream = UCA().partial_fit(target, backgrounds={"control": background})
    again = uca.load(uca.save(stream, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.components_, stream.components_)
    assert "_stream" not in vars(again)
    stream.partial_fit(target)  # the stream itself goes on
    assert stream.n_samples_ == 60


def test_no_rows_are_in_the_file(data, path):
    with zipfile.ZipFile(path) as archive:
        arrays = [np.load(io.BytesIO(archive.read(n))) for n in archive.namelist() if n.endswith(".npy")]
    assert max(array.size for array in arrays) == 2 * 4  # the components


@pytest.mark.parametrize("foreign", [("posix", "system"), ("builtins", "eval"), ("subprocess", "Popen")])
def test_foreign_type_is_refused_before_it_is_built(path, foreign, monkeypatch):
    module, name = foreign

    def edit(schema):
        certificate = next(v for k, v in schema["content"].items() if k == "model")["content"]["content"][
            "certificate_"
        ]
        certificate["__module__"], certificate["__class__"] = module, name

    edit_schema(path, edit)
    monkeypatch.setattr(skops, "loads", lambda *_, **__: pytest.fail("the file was loaded"))
    with pytest.raises(ValueError, match=rf"names types that do not occur in models: {module}\.{name}.*not loaded"):
        uca.load(path)


def test_pickled_array_is_refused(path):
    hidden = io.BytesIO()
    np.save(hidden, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    rewrite(path, lambda name, content: hidden.getvalue() if name.endswith(".npy") else content)
    with pytest.raises(ValueError, match=r"is damaged .*it holds Python objects, which are not read"):
        uca.load(path)


def test_arrays_that_do_not_fit_are_refused(path):
    wrong = io.BytesIO()
    np.save(wrong, np.zeros((2, 7)))

    def change(name, content):
        fits = name.endswith(".npy") and np.load(io.BytesIO(content)).shape == (2, 4)
        return wrong.getvalue() if fits else content

    rewrite(path, change)
    with pytest.raises(ValueError, match="parts do not fit together"):
        uca.load(path)


def test_changed_byte_and_cut_file(path):
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        start = archive.infolist()[0].header_offset
    content[start + 90] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a model file, or is damaged"):
        uca.load(path)
    path.write_bytes(content[:200])
    with pytest.raises(ValueError, match="is not a model file, or is damaged"):
        uca.load(path)


def test_other_objects_are_no_models(tmp_path, data):
    with pytest.raises(
        TypeError,
        match=r"\(CPCA, CPCAPlusPlus, UCA, SparseUCA, ContrastivePipeline\); got sklearn.*LogisticRegression",
    ):
        uca.save(LogisticRegression(), tmp_path / "m.skops")
    skops.dump({"model": LogisticRegression()}, tmp_path / "m.skops")  # harmless to skops, but no model
    with pytest.raises(ValueError, match=r"not one that uca\.save wrote"):
        uca.load(tmp_path / "m.skops")
    with pytest.raises(NotFittedError):
        uca.save(UCA(), tmp_path / "m.skops")


def test_functions_are_not_saved(data, tmp_path):
    fitted = UCA(verbose=lambda *_: None).fit(data[0])
    with pytest.raises(TypeError, match=r"which a model file may not.*verbose=False"):
        uca.save(fitted, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


def test_version_mismatch_is_warned_of_and_a_new_format_refused(path):
    def older(schema):
        versions = schema["content"]["versions"]["content"]
        versions["unique-component-analysis"]["content"] = '"0.0.1"'

    edit_schema(path, older)
    with pytest.warns(UserWarning, match=r"written by version 0\.0\.1 .*fit the model again"):
        uca.load(path)

    def newer(schema):
        schema["content"]["format"]["content"] = "99"

    edit_schema(path, newer)
    with pytest.raises(ValueError, match="file format 99, this version reads 1"):
        uca.load(path)


@pytest.mark.parametrize("versions", ["0.2", None, 3, ["0.2"]])
def test_versions_of_another_kind_are_refused_with_the_name_of_the_file(path, model, versions):
    skops.dump({"format": 1, "versions": versions, "model": model}, path)
    with pytest.raises(ValueError, match=r"model\.skops is not a model file, or is damaged"):
        uca.load(path)


@pytest.mark.parametrize("name", ["explained_variance_", "feature_names_in_", "components_"])
def test_attributes_of_another_kind_are_refused_with_the_name_of_the_file(model, tmp_path, name):
    setattr(model, name, 3.0)
    path = tmp_path / "m.skops"
    skops.dump({"format": 1, "versions": {}, "model": model}, path)
    with pytest.raises(ValueError, match=r"m\.skops (is not a model file|holds a model whose parts)"):
        uca.load(path)


def test_failed_save_leaves_the_old_file(model, path, monkeypatch):
    import pathlib

    before = path.read_bytes()

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pathlib.Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        uca.save(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model.skops"]


def test_missing_skops_says_what_to_install(model, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(ImportError, match=r"pip install 'unique-component-analysis\[cli\]'"):
        uca.save(model, tmp_path / "m.skops")
