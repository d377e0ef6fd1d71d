"""The algorithms and figures of the paper."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from test_reference import datasets

from uca import UCA, solve_dual

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install '.[paper]'")
pytest.importorskip("PIL", reason="images need Pillow: pip install '.[paper]'")
pytest.importorskip("typer", reason="the program needs Typer: pip install '.[cli]'")

from PIL import Image
from typer.testing import CliRunner

from uca.cli import app
from uca.datasets import load_kdef, synthetic_study
from uca.datasets.kdef import EMOTIONS
from uca.reproduce import REPRODUCTIONS

RUNNER = CliRunner()
SMOOTH = ["fig1", "fig2-single-t-SC-m", "fig2-single-t-CS-m", "fig2-single-t-SC-s", "fig2-split", "fig2-pooled"]


class TestSolversOfThePaper:
    @pytest.mark.parametrize("solver", ["coordinate", "bisection"])
    @pytest.mark.parametrize("name", SMOOTH)
    def test_agree_on_the_smooth_mouse_analyses(self, mice, mice_reference, name, solver):
        target, backgrounds = datasets(mice, mice_reference[name])
        covariances = [np.corrcoef(rows, rowvar=False) for rows in (target, *backgrounds)]
        result = solve_dual(covariances[0], covariances[1:], solver=solver)
        exact = solve_dual(covariances[0], covariances[1:])
        assert result.solver == solver
        assert result.value == pytest.approx(exact.value, rel=1e-6)
        assert result.certificate.gap <= 1e-6
        assert subspace_angles(result.vectors, exact.vectors).max() < 1e-3

    @pytest.mark.parametrize("solver", ["coordinate", "bisection"])
    def test_stall_at_a_kink_is_seen(self, solver):
        """Diagonal matrices make the problem a linear programme and the dual piecewise linear.

        Coordinate descent stops at a ridge, 6, where no single multiplier improves; the optimum is 13/3.
        """
        a, b = np.array([2.0, 2, 7, 4]), np.array([[2.0, 3, 3, 0], [2, 0, 2, 4]])
        exact = -linprog(-a, A_ub=b, b_ub=b.mean(axis=1), A_eq=np.ones((1, 4)), b_eq=[1]).fun
        assert exact == pytest.approx(13 / 3)
        target, backgrounds = np.diag(a), [np.diag(row) for row in b]
        model = UCA(1, solver=solver)
        with pytest.warns(ConvergenceWarning, match=r"relative gap of .*Use solver='subspace'"):
            model.fit_covariance(target, backgrounds=backgrounds)
        certificate = model.certificate_
        assert certificate.status == "stalled"
        assert certificate.upper == pytest.approx(6.0)
        # Honest: the bounds still enclose the optimum.
        assert certificate.lower <= exact * (1 + 1e-9)
        assert certificate.gap == pytest.approx((certificate.upper - certificate.lower) / certificate.upper)
        assert solve_dual(target, backgrounds).value == pytest.approx(exact, rel=1e-9)

    @pytest.mark.parametrize("solver", ["coordinate", "bisection"])
    def test_mixture_optimum(self, solver):
        """A rank-2 optimum (2.2 by hand, see test_kinks): bounds enclose it whether or not the solver reaches it."""
        target = np.array([[3.0, 0.0], [0.0, 1.0]])
        backgrounds = [np.array([[3.0, 1.0], [1.0, 1.0]]), np.array([[3.0, -1.0], [-1.0, 1.0]])]
        certificate = solve_dual(target, backgrounds, 2.2, solver=solver).certificate
        assert certificate.lower <= 2.2 * (1 + 1e-9) <= certificate.upper * (1 + 2e-9)
        assert (certificate.status == "optimal") == (certificate.gap <= 1e-9)

    def test_coordinate_descent_starts_from_the_single_solutions(self, rng):
        """On one background it is the one-dimensional problem, solved at once."""
        a, b = (m @ m.T for m in rng.standard_normal((2, 6, 6)))
        result = solve_dual(a, b, solver="coordinate")
        assert result.n_iter == 1
        assert result.certificate.status == "optimal"


class TestProductSVD:
    @pytest.mark.parametrize("m", [1, 3])
    @pytest.mark.parametrize("p", [30, 400])
    def test_equals_the_eigendecomposition(self, rng, p, m):
        target, *backgrounds = (rng.standard_normal((25, p)) @ rng.standard_normal((p, p)) for _ in range(m + 1))
        product = UCA(3, representation="product_svd").fit(target, backgrounds=backgrounds)
        formed = UCA(3, representation="covariance").fit(target, backgrounds=backgrounds)
        assert product.representation_ == "product_svd"
        assert product.certificate_.upper == pytest.approx(formed.certificate_.upper, rel=1e-8)
        assert subspace_angles(product.components_.T, formed.components_.T).max() < 1e-6

    def test_opposite_eigenvalues_do_not_mix(self):
        """Eigenvalues 2 and -2 share a singular value; signs are sorted out in their span."""
        from uca.operators.representations.product_svd import ProductPencil, StackedRows

        rows = np.sqrt(2.0) * np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
        operator = ProductPencil(StackedRows.of(rows), [slice(0, 1), slice(1, 2)]).combine([1.0, -1.0])
        pairs = operator.own_eigenpairs(3)
        values, vectors = pairs.values, pairs.vectors
        np.testing.assert_allclose(values, [2.0, 0.0, 0.0], atol=1e-12)
        np.testing.assert_allclose(np.abs(vectors[:, 0]), [1, 0, 0, 0], atol=1e-9)

    def test_paper_combination_solves_mice(self, mice, mice_reference):
        reference = mice_reference["fig1"]
        target, backgrounds = datasets(mice, reference)
        model = UCA(representation="product_svd", solver="coordinate").fit(target, backgrounds=backgrounds)
        assert model.certificate_.upper == pytest.approx(reference["dual_value"], rel=1e-8)


def read(folder, name):
    with (folder / f"{name}.csv").open() as stream:
        return list(csv.DictReader(stream)), json.loads((folder / f"{name}.json").read_text())


@pytest.fixture
def data_folder(mice, monkeypatch):
    """The data folder, known to exist because the mouse fixture found it."""
    import conftest

    return conftest._find("mice_protein.csv", "data").parent


class TestReproduce:
    @pytest.mark.parametrize(("name", "methods", "rows"), [("mice-single", 8, 270), ("mice-multi", 12, 240)])
    def test_mice(self, tmp_path, data_folder, name, methods, rows):
        result = RUNNER.invoke(app, ["reproduce", name, "--out", str(tmp_path), "--data", str(data_folder)])
        assert result.exit_code == 0, result.output
        plotted, metrics = read(tmp_path, name)
        assert len(plotted) == methods * rows
        assert len(metrics["table"]) == methods
        auc = {row["method"]: row["AUC, folds by group"] for row in metrics["table"]}
        if name == "mice-single":
            assert auc["UCA"] > 0.9 > 0.6 > auc["PCA"]
            # Rows of one mouse on both sides flatter the fit.
            assert all(
                row["accuracy, random folds"] >= row["accuracy, folds by group"] - 0.01 for row in metrics["table"]
            )
        else:
            assert auc["UCA, split"] > auc["UCA, pooled"] > auc["PCA"]
            assert "Ahead of split here: UCA, t-CS-m" in metrics["notes"][-1]
        for kind in ("png", "svg"):
            assert (tmp_path / f"{name}.{kind}").stat().st_size > 10_000

    def test_faces_on_london(self, tmp_path, data_folder):
        options = ["reproduce", "faces", "--out", str(tmp_path), "--data", str(data_folder), "--quick"]
        result = RUNNER.invoke(app, options)
        assert result.exit_code == 0, result.output
        _, metrics = read(tmp_path, "faces")
        auc = {row["method"]: row["AUC, folds by group"] for row in metrics["table"]}
        assert auc["UCA, split"] > 0.8 > 0.7 > auc["PCA"]
        assert "London faces stand in" in metrics["notes"][0]
        assert {path.name for path in tmp_path.glob("*.png")} == {
            f"faces-{part}.png" for part in ("means", "scores", "eigenfaces", "densities")
        }

    def test_faces_without_any_data_are_synthetic_and_say_so(self, tmp_path, monkeypatch):
        monkeypatch.delenv("UCA_DATA", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        outcome = REPRODUCTIONS["faces"](quick=True)
        assert outcome.title.startswith("SYNTHETIC faces")
        assert all(figure.get_suptitle().startswith("SYNTHETIC") for figure in outcome.figures.values())
        assert "SYNTHETIC faces stand in" in outcome.notes[0]

    def test_timing_quick(self, tmp_path):
        result = RUNNER.invoke(app, ["reproduce", "timing", "--quick", "--out", str(tmp_path)])
        assert result.exit_code == 0, result.output
        plotted, metrics = read(tmp_path, "timing")
        values = {(row["p"], row["pair"]): [] for row in plotted}
        for row in plotted:
            values[row["p"], row["pair"]].append(float(row["value"]))
        assert all(max(v) - min(v) < 1e-7 * max(v) for v in values.values())  # every route finds the same optimum
        assert all(row["megabytes"] > 0 for row in metrics["table"])

    def test_missing_data_is_one_line_with_the_places(self, tmp_path, monkeypatch):
        monkeypatch.setenv("UCA_DATA", str(tmp_path / "nothing"))
        result = RUNNER.invoke(app, ["reproduce", "mice-single", "--out", str(tmp_path), "--data", str(tmp_path)])
        assert result.exit_code == 1
        assert "mice_protein.csv is not at" in result.output
        assert "UCI Machine Learning Repository" in result.output
        assert "Traceback" not in result.output


def write_face(folder, name, rng, smile=0.0):
    image = rng.integers(0, 256, (68, 50)).astype(np.uint8)
    image[40:50, 10:40] = np.uint8(120 + 100 * smile)
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).resize((100, 136)).save(folder / name)


@pytest.fixture
def kdef_folder(tmp_path, rng):
    """Small images that carry KDEF's names: 6 female actors, both sessions, all emotions, and some trouble."""
    root = tmp_path / "KDEF"
    for session in "AB":
        for actor in range(1, 7):
            for emotion in EMOTIONS:
                name = f"{session}F{actor:02d}{emotion}"
                write_face(root / name[:4], f"{name}S.JPG", rng, smile=float(emotion == "AF" and session == "B"))
                write_face(root / name[:4], f"{name}HL.JPG", rng)
            write_face(root / f"{session}M{actor:02d}", f"{session}M{actor:02d}NES.JPG", rng)
    (root / "BF01" / "BF01HAS.JPG").write_bytes(b"broken")
    write_face(root, "holiday.jpg", rng)
    Image.new("L", (50, 68), 7).save(root / "AF01" / "AF01SAS.JPG")
    return root


class TestKDEF:
    def test_reads_what_the_names_say(self, kdef_folder):
        kdef = load_kdef(kdef_folder)
        assert kdef.images.shape == (2 * 6 * 7 + 12 - 2, 3400)
        np.testing.assert_allclose(kdef.images.mean(axis=1), 0, atol=1e-12)
        np.testing.assert_allclose(kdef.images.std(axis=1), 1)
        assert len(kdef.skipped) == 3
        reasons = " | ".join(kdef.skipped)
        for text in (
            "BF01HAS.JPG: not an image",
            "holiday.jpg: the name does not follow KDEF",
            "AF01SAS.JPG: the image has one",
        ):
            assert text in reasons
        target, emotions, _, backgrounds = kdef.study("AF")
        assert len(target) == 41
        assert set(emotions) == set(EMOTIONS)
        assert {name: len(rows) for name, rows in backgrounds.items()} == {
            "angry": 6, "disgusted": 6, "happy": 6, "neutral": 6, "sad": 5, "surprised": 6,
        }  # fmt: skip

    def test_zip_equals_folder(self, kdef_folder, tmp_path):
        import shutil

        archive = shutil.make_archive(str(tmp_path / "kdef"), "zip", kdef_folder)
        np.testing.assert_array_equal(load_kdef(archive).images, load_kdef(kdef_folder).images)

    def test_pipeline_runs_on_it(self, kdef_folder, tmp_path):
        result = RUNNER.invoke(app, ["reproduce", "faces", "--kdef", str(kdef_folder), "--out", str(tmp_path / "out")])
        assert result.exit_code == 0, result.output
        _, metrics = read(tmp_path / "out", "faces")
        assert [row["method"] for row in metrics["table"]] == ["PCA", "UCA, pooled", "UCA, split"]
        assert "3 files skipped" in " ".join(metrics["notes"])

    def test_too_few_and_wrong_places(self, kdef_folder, tmp_path):
        with pytest.raises(ValueError, match="unknown emotion 'XX'"):
            load_kdef(kdef_folder).study("XX")
        with pytest.raises(FileNotFoundError, match="does not exist: pass the KDEF folder or zip"):
            load_kdef(tmp_path / "nowhere")
        few = tmp_path / "few"
        for name in ("BF01AFS.JPG", "AF01NES.JPG"):
            write_face(few, name, np.random.default_rng(0))
        with pytest.raises(ValueError, match="too few straight female images"):
            load_kdef(few).study()
        (tmp_path / "text.zip").write_text("no zip")
        with pytest.raises(ValueError, match="neither a folder nor a zip file"):
            load_kdef(tmp_path / "text.zip")


class TestLoaders:
    def test_mice_from_a_path_and_from_the_environment(self, data_folder, monkeypatch):
        from uca.datasets import load_mice

        direct = load_mice(data_folder)
        monkeypatch.setenv("UCA_DATA", str(data_folder))
        np.testing.assert_array_equal(load_mice().values, direct.values)
        assert direct.values.shape == (1080, 76)
        assert len(direct.proteins) == 76
        assert len(set(direct.mouse.tolist())) == 72
        with pytest.raises(ValueError, match="unknown class"):
            direct.rows("x-CS-s")

    def test_mice_with_changed_content_is_refused(self, data_folder, tmp_path):
        from uca.datasets import load_mice

        text = (data_folder / "mice_protein.csv").read_text(encoding="utf-8-sig")
        (tmp_path / "mice_protein.csv").write_text(text.replace("0.5", "0.6", 1))
        with pytest.raises(ValueError, match="checksum differs"):
            load_mice(tmp_path)
        (tmp_path / "other.csv").write_text("a,b\n1,2\n")
        with pytest.raises(ValueError, match="is not the mouse protein table: 1 rows"):
            load_mice(tmp_path / "other.csv")

    def test_offline_and_absent_lists_the_places(self, tmp_path, monkeypatch):
        from uca.datasets import DataNotFoundError, mice

        def offline(*args, **kwargs):
            raise OSError("no network")

        monkeypatch.setattr(mice.urllib.request, "urlopen", offline)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("UCA_DATA", raising=False)
        with pytest.raises(DataNotFoundError) as error:
            mice.load_mice()
        for part in ("Looked at:", "cache", "UCA_DATA (not set)", "download (no network)", "OpenML"):
            assert part in str(error.value)

    def test_download_is_kept_only_if_right(self, data_folder, tmp_path, monkeypatch):
        from uca.datasets import DataNotFoundError, mice

        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.delenv("UCA_DATA", raising=False)
        right = (data_folder / "mice_protein.csv").read_bytes()
        for content in (b"a,b\n1,2\n", right):
            import io

            monkeypatch.setattr(mice.urllib.request, "urlopen", lambda *_, content=content, **__: io.BytesIO(content))
            if content is right:
                assert mice.load_mice().values.shape == (1080, 76)
                assert (tmp_path / "uca" / "mice_protein.csv").is_file()
            else:
                with pytest.raises(DataNotFoundError, match="not the mouse protein table"):
                    mice.load_mice()
                assert list((tmp_path / "uca").iterdir()) == []

    def test_synthetic_faces_hide_the_smile_from_the_backgrounds(self):
        study = synthetic_study(random_state=3)
        assert study.synthetic
        assert study.target.shape == (100, 384)
        assert set(study.backgrounds) == {"identity", "lighting"}
        again = synthetic_study(random_state=3)
        np.testing.assert_array_equal(again.target, study.target)
