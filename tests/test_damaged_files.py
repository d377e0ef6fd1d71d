"""Files that are damaged, hostile or not what their names say: an error names the file, what is wrong and what to try."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import uca
from uca import Moments, _memory
from uca._guard import Refusal, check_file, guarded
from uca.io import read_table

AGAIN = "copy or download it again, or write it anew"
MARKET = "%%MatrixMarket matrix coordinate real general\n"


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: Path, told: str, read=read_table) -> str:
    """What is said of a file that is refused; it has to be named."""
    with pytest.raises(ValueError, match=told) as error:
        read(path)
    assert path.name in str(error.value)
    return str(error.value)


@pytest.fixture
def little_memory(monkeypatch):
    """A machine with 10 MB of memory left."""
    monkeypatch.setattr(_memory, "ALWAYS", 0)
    for module in ("_memory", "_claims", "_guard"):
        monkeypatch.setattr(f"uca.{module}.available_bytes", lambda: 1e7)


class TestGuard:
    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (EOFError("ended"), r"it is cut short \(ended\): copy"),
            (zlib.error("Error -3"), r"its compressed content is damaged \(Error -3\): copy"),
            (gzip.BadGzipFile("CRC check failed"), r"its checksum is wrong, or something follows its end \(CRC"),
            (zipfile.BadZipFile("no"), "its archive is damaged or cut short"),
            (
                MemoryError(),
                r"it asks for more memory than there is \([\d.,]+ GB are free\).*if not, it is damaged: copy",
            ),
            (
                OSError(22, "Invalid argument"),
                r"it is damaged, cut short, or not what its name says \(\[Errno 22\] Inval",
            ),
            (KeyError("X"), r"not what its name says \(KeyError: 'X'\): copy or download it again"),
            (Refusal("it holds nothing: fill it"), "it holds nothing: fill it$"),
            (BaseException("a panic of Rust"), "BaseException: a panic of Rust"),
        ],
    )
    def test_every_error_becomes_one_that_names_the_file(self, error, told):
        with pytest.raises(ValueError, match=rf"^some/x.bin cannot be read as bin: .*{told}") as raised:  # noqa: SIM117
            with guarded("some/x.bin", "bin"):
                raise error
        assert raised.value.__cause__ is error

    @pytest.mark.parametrize(
        "error", [KeyboardInterrupt, SystemExit, ImportError("pip install x"), DeprecationWarning, IndexError]
    )
    def test_what_is_not_about_the_file_passes(self, error):
        with pytest.raises(error if isinstance(error, type) else type(error)), guarded("x", "bin", IndexError):
            raise error

    def test_text_of_a_file_cannot_command_a_terminal(self):
        with pytest.raises(ValueError, match=r"\(\?\[31mred\?\]0;title\?") as raised, guarded("x", "bin"):
            raise ValueError("\x1b[31mred\x1b]0;title\x07" + "long" * 1000)
        assert len(str(raised.value)) < 600

    def test_what_cannot_be_opened(self, tmp_path, monkeypatch):
        (tmp_path / "folder.csv").mkdir()
        refused(tmp_path / "folder.csv", "folder.csv is a folder, not a csv file: name a file in it")
        refused(put(tmp_path / "none.npy", b""), "none.npy is empty: nothing was written to it, or a copy failed")
        with pytest.raises(FileNotFoundError, match="gone.npy does not exist"):
            read_table(tmp_path / "gone.npy")

        def deny(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", deny)  # the superuser may read everything
        with pytest.raises(PermissionError, match=r"none.npy may not be read by this user: change its permissions"):
            check_file(tmp_path / "none.npy", "npy")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    @pytest.mark.parametrize("name", ["p.csv", "p.npz", "p.parquet", "p.skops"])
    def test_pipes_are_not_waited_for(self, tmp_path, name):
        os.mkfifo(tmp_path / name)
        (tmp_path / f"link-{name}").symlink_to(tmp_path / name)
        read = uca.load if name == "p.skops" else read_table
        for path in (tmp_path / name, tmp_path / f"link-{name}"):
            refused(
                path, "is a pipe or a device, not a file: .* write what comes out of it to a file, and name that", read
            )


class TestText:
    TEXT = "a,b,c\n" + "".join(f"{i},{i + 0.5},{i * i}\n" for i in range(500))

    def test_damaged_gzip(self, tmp_path):
        pytest.importorskip("pandas")
        whole = gzip.compress(self.TEXT.encode(), mtime=0)
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 255, whole[middle + 1] ^ 255]) + whole[middle + 2 :]
        crc = whole[:-8] + bytes(4) + whole[-4:]
        path = tmp_path / "t.csv.gz"
        assert (
            f"it is cut short (Compressed file ended before the end-of-stream marker was reached): {AGAIN}"
            in refused(put(path, whole[:middle]), "t.csv.gz cannot be read as csv.gz")
        )
        refused(put(path, flipped), "(its compressed content is damaged|its checksum is wrong)")
        refused(put(path, crc), r"its checksum is wrong.*CRC check failed")
        refused(put(path, self.TEXT), "it is not compressed by gzip: take .gz off its name, or compress it")
        assert read_table(put(path, whole)).values.shape == (500, 3)

    @pytest.mark.parametrize("mark", [b"", b"\xff\xfe"])  # text in UTF-16 is not looked through for its encoding
    def test_gzip_that_unpacks_to_more_than_memory(self, tmp_path, little_memory, mark):
        pytest.importorskip("pandas")
        path = put(tmp_path / "bomb.csv.gz", gzip.compress(mark + b"a,b\n" + b"1,2\n" * 5_000_000, mtime=0))
        refused(path, r"its [\d,]+ bytes unpack to more than 0.0 GB, and 0.0 GB of memory are free")

    def test_rows_of_unequal_length(self, tmp_path):
        pytest.importorskip("pandas")
        path = tmp_path / "t.csv"
        refused(
            put(path, "a,b\n1,2\n\n1,2,3\n1,2,3,4\n"),
            r"line 4 of .*t.csv has 3 cells.* its 2 columns, and so have 1 oth",
        )
        table = read_table(put(path, "a,b,c\n1,2,3\n4,5\n7,8,9\n"))
        assert table.notes[0].endswith("fewer cells than there are columns, whose last cells count as missing: line 3")
        np.testing.assert_array_equal(table.values, [[1, 2, 3], [4, 5, np.nan], [7, 8, 9]])
        refused(
            put(path, "a,b,c\n1,2,3\n4,5"), "t.csv is cut short: its last line, 3, ends after 2 of 3 cells, perhaps in"
        )
        refused(put(path, "a,b\n1,2\n3"), "t.csv is cut short: its last line, 3, ends after 1 of 2 cells")
        assert not read_table(put(path, "a,b,c\n1,2,3\n4,5,\n7,8,9")).notes  # a cell that is empty is there

    def test_bytes_that_are_no_text_far_down(self, tmp_path):
        pytest.importorskip("pandas")
        refused(put(tmp_path / "t.csv", self.TEXT * 9 + "1,\0,3\n"), "t.csv is not text: it holds bytes.*NUL")

    @pytest.mark.parametrize("before", ["", "1,2\n" * 40_000], ids=["first", "far down"])
    def test_one_endless_cell(self, tmp_path, before):
        pytest.importorskip("pandas")
        (told,) = read_table(put(tmp_path / "t.csv", f"a,b\n{before}1,{'9' * 3_000_000}\n")).notes
        assert told.startswith("column 'b' is set aside: ")
        assert "9" * 80 + "…" in told
        assert len(told) < 500
        refused(
            put(tmp_path / "t.csv", f'a,b\n{before}1,"{"9" * 3_000_000}\n'), "t.csv cannot be read as csv: .*string"
        )

    @pytest.mark.parametrize("kind", ["csv", "csv.gz"])
    @pytest.mark.parametrize("place", [0, 60_000])
    def test_long_cells_are_read_wherever_they_stand(self, tmp_path, place, kind):
        pytest.importorskip("pandas")
        rows = [f"r{i},{'ACGT' * (40_000 if i == place else 1)},{i}.5,{i}.25\n" for i in range(place + 2)]
        content = ("id,text,a,b\n" + "".join(rows)).encode()
        path = put(tmp_path / f"t.{kind}", gzip.compress(content) if kind == "csv.gz" else content)
        before = csv.field_size_limit()
        table = read_table(path)
        assert table.values[place].tolist() == [place + 0.5, place + 0.25]
        assert len(table.columns["text"][place]) == 160_000
        assert csv.field_size_limit() == before
        ragged = put(tmp_path / "t.csv", content + b"r,A,1.5\nr,A,1,2\n")  # which Python's reader is asked for
        assert read_table(ragged).notes[0].endswith(f"count as missing: line {place + 4}")

    @pytest.mark.parametrize("kind", ["csv", "csv.gz"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_large_files_that_end_inside_their_last_row(self, tmp_path, monkeypatch, kind, encoding):
        pytest.importorskip("pandas")
        monkeypatch.setattr("uca.io.ragged.MOST_SCANNED", 10)

        def written(text):
            content = text.encode(encoding)
            return put(tmp_path / f"t.{kind}", gzip.compress(content) if kind == "csv.gz" else content)

        refused(written(self.TEXT + "500,500.5"), r"is cut short: its last line, 502, ends after 2 of 3 cells, perhaps")
        for whole in ("500,500.5\n", "500,500.5,\n", "500,500.5,", "500,500.5,3", '500,500.5,"\n"'):
            assert len(read_table(written(self.TEXT + whole))) == 501


class TestMatrixMarket:
    def test_a_file_that_ends_inside_an_exponent(self, tmp_path):
        path = tmp_path / "t.mtx"
        for end in ("", "\n", " \n"):
            refused(
                put(path, f"{MARKET}2 2 2\n1 1 3\n2 2 2.5E-{end}"), "an exponent has no digits, in the line '2 2 2.5E-"
            )
        packed = put(tmp_path / "t.mtx.gz", gzip.compress(f"{MARKET}2 2 2\n1 1 3\n2 2 2.5E-".encode()))
        refused(packed, "t.mtx.gz cannot be read as mtx.gz: an exponent has no digits")
        for name, pack in (("t.mtx", bytes), ("t.mtx.gz", gzip.compress)):  # without an end of the last line
            table = read_table(put(tmp_path / name, pack(f"{MARKET}2 2 2\n1 1 3\n2 2 2.5E-1".encode())))
            np.testing.assert_array_equal(table.values.toarray(), [[3, 0], [0, 0.25]])

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (
                f"{MARKET}300000000 300000000 1\n1 1 1\n",
                "it claims 300,000,000 rows and 300,000,000 columns for 1 entries",
            ),
            (
                f"{MARKET}499990 499990 3\n1 1 1\n2 2 1\n3 1 1\n",  # 77 s and 2 GB for a fit
                "it claims 499,990 rows and 499,990 columns for 3 entries: if that is right, leave empty rows",
            ),
            (
                f"{MARKET}9 9 300000000\n1 1 1\n",
                "it claims 300,000,000 values, and the 6 bytes that follow are too few",
            ),
            (f"{MARKET}9 9 3\n1 1 1.25\n2 2 2.25\n", "it is cut short: it claims 3 lines of values, and 2 are there"),
            (
                MARKET.replace("coordinate", "array") + "30000 30000\n1\n",
                "it claims 900,000,000 values, and the 2 bytes",
            ),
            (f"{MARKET}2 2 1\n1 1 x\n", "it holds b'x' among its numbers, in the line '1 1 x'"),
            (f"{MARKET}2 2\n1 1 1\n", "the line with its numbers of rows, columns and entries is missing or damaged"),
            (
                f"{MARKET}-2 2 1\n1 1 1\n",
                "the line with its numbers of rows, columns and entries is missing or damaged",
            ),
            (
                MARKET.replace("real", "complex") + "1 1 1\n1 1 1 1\n",
                "it holds values of type complex, not real numbers",
            ),
            (
                MARKET.replace("general", "symmetric") + "3 2 1\n1 1 5\n",
                "it claims to be symmetric and has 3 rows and 2 columns: it is damaged",
            ),
            (
                MARKET.replace("real general", "pattern skew-symmetric") + "2 3 1\n2 1\n",
                "it claims to be skew-symmetric and has 2 rows and 3 columns",
            ),
            (
                MARKET.replace("real", "pattern") + "3 3 2\n1 1 5\n2 2\n",
                "there are more than 2 numbers in the line '1 1 5'",
            ),
            (f"{MARKET}3 3 2\n1 1 5 7\n \n2 2 1\n", "there are more than 3 numbers in the line '1 1 5 7'"),
            (f"{MARKET}3 3 3\n1 1 5\n\n2 2 1 \n3\t3\t1\t2", r"more than 3 numbers in the line '3..3..1..2'"),
            (
                MARKET.replace("coordinate", "array") + "2 2\n1 9\n2\n3\n4\n",
                "there are more than 1 numbers in the line '1 9'",
            ),
            ("id,a\n1,2\n", "its first line is not that of a Matrix Market file"),
            (f"{MARKET}2 2 1\n3 1 1\n", r"not what its name says \(Line 3: Row index out of bounds"),
        ],
    )
    def test_claims_are_checked_first(self, tmp_path, content, told, monkeypatch):
        if "out of bounds" not in told:
            monkeypatch.setattr("scipy.io.mmread", lambda *_, **__: pytest.fail("the parser has seen it"))
        elif tuple(map(int, __import__("scipy").__version__.split(".")[:2])) < (1, 12):
            pytest.skip("the parser of this version has another message")
        refused(put(tmp_path / "t.mtx", content), told)

    @pytest.mark.parametrize(
        ("field", "line", "told"),
        [
            ("real", "1 1 1.2.3", "'1.2.3' is not a number, in the line '1 1 1.2.3': it is damaged"),
            ("real", "1 1 12-5", "'12-5' is not a number"),
            ("real", "1 1 8TyF", "'8TyF' is not a number"),
            ("real", "1 1 infinit", "'infinit' is not a number"),
            ("real", "1 1 +-3", r"'\+-3' is not a number"),
            ("real", "1 1 .", r"'\.' is not a number"),
            ("real", "1.5 1 3", "'1.5' is not a row or column counted from 1"),
            ("real", "1 1", "there are fewer than 3 numbers in the line '1 1'"),
            ("integer", "1 1 1.7", "'1.7' is not a whole number"),
            ("integer", "1 1 1e2", "'1e2' is not a whole number"),
            ("unsigned-integer", "1 1 3-4", "'3-4' is not a whole number"),
            ("pattern", "1 1x", "it holds b'x' among its numbers"),
        ],
    )
    @pytest.mark.parametrize("end", ["\n", ""])
    def test_numbers_are_of_their_kind_to_the_last_character(self, tmp_path, field, line, told, end):
        """A parser takes what it can, and drops the rest: 1.2 for 1.2.3, and 12 for 12-5."""
        path = put(tmp_path / "t.mtx", f"{MARKET.replace('real', field)}2 2 1\n{line}{end}")
        refused(path, f"t.mtx cannot be read as mtx: .*{told}")

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_numbers_of_every_spelling(self, tmp_path, pack):
        words = ["+1.5", "-.5", "2.", "1e2", "+1.E+2", "3e-1", "007", "-0"]
        lines = "".join(f"{i} 1 {word}\r\n" for i, word in enumerate(words, 1))
        path = tmp_path / ("t.mtx" if pack is bytes else "t.mtx.gz")
        found = read_table(put(path, pack(f"{MARKET}8 1 8\n{lines}".encode()))).values.toarray()
        np.testing.assert_array_equal(found[:, 0], list(map(float, words)))
        whole = MARKET.replace("real", "integer")
        found = read_table(put(path, pack(f"{whole}2 1 2\n1 1 +7\n2 1 3.0".encode()))).values.toarray()
        np.testing.assert_array_equal(found[:, 0], [7, 3])

    @pytest.mark.parametrize("space", [" ", "  ", "\t", " \t "])
    @pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\n\n"])
    def test_blanks_do_not_matter(self, tmp_path, space, end):
        text = MARKET + "3 3 2\n" + end.join([f" 1{space}1{space}5", f"2{space}2{space}-1e-2", ""])
        found = read_table(put(tmp_path / "t.mtx", text)).values.toarray()
        np.testing.assert_array_equal(found, [[5, 0, 0], [0, -0.01, 0], [0, 0, 0]])

    def test_comments_and_symmetry_are_read(self, tmp_path):
        text = "%%MatrixMarket matrix array real symmetric\n% two\n%\n\n2 2\n1\n2\n3\n"
        np.testing.assert_array_equal(read_table(put(tmp_path / "t.mtx", text)).values, [[1, 2], [2, 3]])


class TestListsBesideAMatrix:
    """As 10x writes them: a matrix of genes x cells, and the names of both."""

    @pytest.fixture
    def folder(self, tmp_path):
        put(tmp_path / "matrix.mtx", f"{MARKET}3 2 3\n1 1 1\n2 2 2\n3 1 3\n")
        put(tmp_path / "barcodes.tsv", "AAA\nCCC\n")
        put(tmp_path / "features.tsv", "g1\tx\ng2\ty\ng3\tz\n")
        return tmp_path

    def test_cells_may_be_rows(self, folder):
        put(folder / "matrix.mtx", f"{MARKET}2 3 3\n1 1 1\n2 2 2\n1 3 3\n")
        table = read_table(folder / "matrix.mtx")
        np.testing.assert_array_equal(table.values.toarray(), [[1, 0, 3], [0, 2, 0]])
        assert (table.features, table.ids.tolist()) == (("g1", "g2", "g3"), ["AAA", "CCC"])
        assert table.notes == ("rows are the cells of barcodes.tsv, features those of features.tsv",)

    def test_a_mark_of_utf8_and_line_ends_of_windows_are_no_names(self, folder):
        put(folder / "features.tsv", b"\xef\xbb\xbfg1\r\ng2\r\n\r\ng3\r\n")
        assert read_table(folder / "matrix.mtx").features == ("g1", "g2", "g3")

    @pytest.mark.parametrize(("names", "count"), [("g1\ng2\n", "2"), ("g1\ng2\ng3\ng4\ng5\n", "more than 3")])
    def test_lists_that_do_not_fit(self, folder, names, count):
        put(folder / "features.tsv", names)
        told = (
            f"3 rows and 2 columns do not fit the 2 names in barcodes.tsv and {count} names in features.tsv beside it"
        )
        refused(folder / "matrix.mtx", f"matrix.mtx cannot be read as mtx: its {told}: .*move the lists to read it")
        (folder / "matrix.mtx").rename(folder / "other.mtx")  # which they need not belong to
        assert read_table(folder / "other.mtx").notes == (f"{told}, which were not used",)

    def test_one_list_alone_is_told(self, folder):
        (folder / "features.tsv").unlink()
        told = "barcodes.tsv beside it was not read, since the other list is not there: rows are not named"
        assert read_table(folder / "matrix.mtx").notes == (told,)

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (gzip.compress(b"g1\ng2\ng3\n")[:-6], "it is cut short"),
            (gzip.compress(b"g1\ng2\n\xff3\n"), "it holds text that is not in its encoding"),
            (gzip.compress(bytes(10**7)), "it has a line of 65,536 characters or more"),
            (b"g1\ng2\ng3\n", "Not a gzipped file"),
        ],
        ids=["cut", "latin", "bomb", "plain"],
    )
    def test_a_damaged_list_is_named(self, folder, content, told):
        (folder / "features.tsv").unlink()
        path = put(folder / "features.tsv.gz", content)
        said = refused(path, f"features.tsv.gz cannot be read as a list of names: .*{told}", self._read_matrix)
        assert "matrix.mtx" not in said

    @staticmethod
    def _read_matrix(path):
        return read_table(path.with_name("matrix.mtx"))

    def test_no_more_of_a_list_is_read_than_can_be_meant(self, folder):
        (folder / "features.tsv").unlink()
        put(folder / "features.tsv.gz", gzip.compress(b"g\n" * 50_000)[:-20])  # its end is never seen
        refused(folder / "matrix.mtx", "more than 3 names in features.tsv.gz beside it")


class TestArrays:
    def test_an_array_is_in_memory_and_its_file_may_change(self, tmp_path):
        """A mapped file that becomes shorter ends the process."""
        np.save(tmp_path / "t.npy", np.arange(30_000.0).reshape(-1, 3))
        table = read_table(tmp_path / "t.npy")
        os.truncate(tmp_path / "t.npy", 4096)
        np.testing.assert_array_equal(table.data(), np.arange(30_000.0).reshape(-1, 3))

    @pytest.mark.skipif(os.name == "nt", reason="Windows cuts no file that is mapped")
    def test_a_large_array_is_mapped_and_told_when_its_file_is_cut(self, tmp_path, monkeypatch):
        monkeypatch.setattr("uca.io.arrays.ALWAYS", 0)
        monkeypatch.setattr("uca.io.arrays.available_bytes", lambda: 4 * 8.0 * 30_000 - 1)
        path = tmp_path / "t.npy"
        np.save(path, np.zeros((10_000, 3), "i1"))
        table = read_table(path)
        assert isinstance(table.values, np.memmap)
        assert table.data() is table.values
        os.truncate(path, 4096)
        refused(path, "t.npy has become shorter since it was opened: .*Let nothing write to it", lambda _: table.data())
        monkeypatch.setattr("uca.io.arrays.available_bytes", lambda: 4 * 8.0 * 30_000)
        np.save(path, np.zeros((10_000, 3), "i1"))
        assert not isinstance(read_table(path).values, np.memmap)

    def test_names_that_are_not_those_of_the_columns(self, tmp_path):
        path = tmp_path / "t.npz"
        np.savez(path, X=np.ones((5, 3)), features=["a", "b"])
        refused(
            path, r"t.npz cannot be read as npz: 'features' in it should be the names of the 3 columns of X.*\(2,\)"
        )
        np.savez(path, X=np.ones((5, 3)), ids=["a", "b"])
        refused(
            path, r"t.npz cannot be read as npz: 'ids' in it should be the names of 5 rows, and it has the shape \(2,\)"
        )
        np.savez(path, X=np.ones((5, 3)), features=np.arange(3))
        (told,) = read_table(path).notes
        assert told.startswith("'features' in it are not names: they are of type int64; columns are told apart by")
        np.savez(path, X=np.ones((5, 3)), features=np.array([b"a", b"b", b"c"]), id="a study")
        assert read_table(path).features == ("a", "b", "c")

    def test_a_file_in_an_archive_that_is_no_array(self, tmp_path):
        np.savez(tmp_path / "t.npz", X=np.ones((5, 3)))
        with zipfile.ZipFile(tmp_path / "t.npz", "a") as archive:
            archive.writestr("README.txt", "text")
        table = read_table(tmp_path / "t.npz")
        assert table.values.shape == (5, 3)
        assert table.notes == ("left out, because it is no array: 'README.txt'",)
        with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
            archive.writestr("X.npy", "text and more")
        refused(tmp_path / "t.npz", "t.npz cannot be read as npz: .*magic string is not correct")

    def test_an_array_is_one_whatever_its_name(self, tmp_path):
        content = io.BytesIO()
        np.save(content, np.ones((3, 2)))
        changed = content.getvalue().replace(b"(3, 2), }" + b" " * 20, b"(300000000, 2), }" + b" " * 12)
        with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
            archive.writestr("X", changed)
        refused(tmp_path / "t.npz", "4,800,000,000 bytes, and 48 follow")

    @pytest.mark.parametrize("kind", ["csr", "csc"])
    @pytest.mark.parametrize(("part", "told"), [("indptr", "not in order"), ("indices", "indices|index values")])
    def test_wild_indices(self, tmp_path, kind, part, told):
        held = sparse.random(9, 7, 0.5, kind)
        getattr(held, part)[3] = 10**6
        sparse.save_npz(tmp_path / "wild.npz", held)
        refused(tmp_path / "wild.npz", rf"wild.npz cannot be read as npz: .*({told}).*copy or download it again")

    def test_indices_whose_order_scipy_does_not_see(self, tmp_path):
        order = np.array([0, 1, 0, 1, 0])
        content = {
            "format": b"csc",
            "shape": np.array([3, 4]),
            "data": np.ones(2),
            "indices": np.array([0, 1]),
            "indptr": order,
        }
        np.savez(tmp_path / "wild.npz", **content)
        refused(tmp_path / "wild.npz", "the rows or columns of its sparse matrix are not in order")

    def test_claims(self, tmp_path):
        np.save(tmp_path / "t.npy", np.zeros((3, 2)))
        whole = (tmp_path / "t.npy").read_bytes()
        refused(
            put(tmp_path / "t.npy", whole[:-1]), r"it claims \(3, 2\) values of type float64, 48 bytes, and 47 follow"
        )
        changed = whole.replace(b"(3, 2), }" + b" " * 20, b"(300000000, 2), }" + b" " * 12)
        assert changed != whole
        refused(
            put(tmp_path / "t.npy", changed),
            "it claims .300000000, 2. values of type float64, 4,800,000,000 bytes, and 4",
        )
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as held:
            held.writestr("X.npy", changed)
        refused(put(tmp_path / "t.npz", archive.getvalue()), "4,800,000,000 bytes, and 48 follow")

    def test_archives_that_unpack_to_more_than_memory(self, tmp_path, little_memory):
        np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((2000, 1000)))
        assert (tmp_path / "bomb.npz").stat().st_size < 1e5
        refused(tmp_path / "bomb.npz", "it unpacks to 16,000,128 bytes, 0.0 GB in memory, and 0.0 GB are free")
        refused(tmp_path / "bomb.npz", "it unpacks to 16,000,128 bytes", Moments.load)
        refused(tmp_path / "bomb.npz", "it unpacks to 16,000,128 bytes", uca.load)

    def test_moments(self, tmp_path, rng):
        Moments.of(rng.normal(size=(9, 3))).save(tmp_path / "m.npz")
        whole = (tmp_path / "m.npz").read_bytes()
        refused(put(tmp_path / "m.npz", whole[:-30]), "m.npz cannot be read as a file of moments", Moments.load)
        np.savez(tmp_path / "m.npz", n=3, mean=np.zeros(2), scatter=np.zeros((3, 3)), dtype="float64")
        refused(tmp_path / "m.npz", r"it holds moments of inconsistent shapes \(2,\), \(3, 3\)", Moments.load)
        np.savez(tmp_path / "m.npz", n=3, mean=np.array(["a"]), scatter=np.zeros((1, 1)), dtype="float64")
        refused(tmp_path / "m.npz", "it does not hold numbers where", Moments.load)


class TestSpreadsheets:
    def test_cells_far_apart(self, tmp_path):
        """The library would ask for the whole rectangle, 17 billion cells, and end the process."""
        openpyxl = pytest.importorskip("openpyxl")
        pytest.importorskip("pandas")
        book = openpyxl.Workbook()
        book.active["A1"], book.active["XFD1048576"] = "a", 3
        book.save(tmp_path / "t.xlsx")
        refused(tmp_path / "t.xlsx", "a sheet of it has 1,048,576 rows and 16,384 columns, 1,374.4 GB in memory")

    def test_a_sheet_may_lie_anywhere(self, tmp_path):
        openpyxl = pytest.importorskip("openpyxl")
        pytest.importorskip("pandas")
        book = openpyxl.Workbook()
        book.active.append(["a", "b"])
        book.active.append([1.5, 2.5])
        book.save(tmp_path / "plain.xlsx")
        book.active["XFD1048576"] = 3
        book.save(tmp_path / "far.xlsx")
        for name in ("plain.xlsx", "far.xlsx"):
            with zipfile.ZipFile(tmp_path / name) as archive:
                files = {member: archive.read(member) for member in archive.namelist()}
            with zipfile.ZipFile(tmp_path / f"moved-{name}", "w") as archive:
                for member, data in files.items():
                    moved = data.replace(b"/xl/worksheets/sheet1.xml", b"/data/1.part")
                    archive.writestr(member.replace("xl/worksheets/sheet1.xml", "data/1.part"), moved)
        np.testing.assert_array_equal(read_table(tmp_path / "moved-plain.xlsx").values, [[1.5, 2.5]])
        refused(
            tmp_path / "moved-far.xlsx", "a sheet of it has 1,048,576 rows and 16,384 columns, 1,374.4 GB in memory"
        )

    def test_a_binary_workbook(self, tmp_path):
        pytest.importorskip("openpyxl")
        pytest.importorskip("pandas")
        with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
            archive.writestr("xl/workbook.bin", b"")
        refused(tmp_path / "t.xlsx", "t.xlsx cannot be read as xlsx: it is a binary workbook, .* save it as .xlsx")

    def test_repeated_cells(self, tmp_path):
        pytest.importorskip("python_calamine")
        pytest.importorskip("odf")
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame({"a": [1, 2], "b": [3, 4]}).to_excel(tmp_path / "t.ods", index=False, engine="odf")
        with zipfile.ZipFile(tmp_path / "t.ods") as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        whole = files["content.xml"]
        rows = whole.rindex(b"<table:table-row")
        repeated = whole[:rows] + whole[rows:].replace(
            b"table-row", b'table-row table:number-rows-repeated="9000000"', 1
        )
        cell = repeated.rindex(b"<table:table-cell")
        repeated = repeated[:cell] + repeated[cell:].replace(b"-cell", b'-cell table:number-columns-repeated="9000"', 1)
        end = whole.rindex(b"</table:table>")
        empty = b'<table:table-row table:number-rows-repeated="1048570"><table:table-cell '
        empty += b'table:number-columns-repeated="16384"/></table:table-row>'
        padded = whole[:end] + empty + whole[end:]  # as LibreOffice writes: nothing, to the end
        unended = whole[:end] + b"</table:able>" + whole[end + len(b"</table:table>") :]  # read for ever by some
        entities = whole.replace(b"?>", b'?><!DOCTYPE x [<!ENTITY a "aaaa">]>', 1)
        for content in (repeated, padded, unended, entities):
            with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
                for name, data in {**files, "content.xml": content}.items():
                    archive.writestr(name, data)
            if content is repeated:
                refused(tmp_path / "t.ods", "a sheet of it has 9,000,002 rows and 9,001 columns")
            elif content is unended:
                refused(tmp_path / "t.ods", r"content.xml in it is damaged \(mismatched tag: line \d+, column \d+\)")
            elif content is entities:
                refused(tmp_path / "t.ods", "it declares entities, which spreadsheets do not")
            else:
                np.testing.assert_array_equal(read_table(tmp_path / "t.ods").values, [[1, 3], [2, 4]])

    def test_wrong_checksum(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("openpyxl")
        pandas.DataFrame({"a": [1, 2]}).to_excel(tmp_path / "t.xlsx", index=False)
        with zipfile.ZipFile(tmp_path / "t.xlsx") as archive:
            place = archive.getinfo("xl/worksheets/sheet1.xml").header_offset
        data = bytearray((tmp_path / "t.xlsx").read_bytes())
        data[place + 60] ^= 255
        refused(
            put(tmp_path / "t.xlsx", bytes(data)),
            "t.xlsx cannot be read as xlsx: (its archive|its compressed content|xl/.* in it) is dam",
        )


class TestTables:
    def test_arrow_with_wild_offsets(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pandas")
        offsets = pyarrow.py_buffer(np.array([0, 1, 10**8, 3], dtype=np.int32))
        text = pyarrow.StringArray.from_buffers(3, offsets, pyarrow.py_buffer(b"abc"))
        table = pyarrow.table({"k": text, "x": [1.0, 2.0, 3.0]})
        with pyarrow.ipc.new_stream(str(tmp_path / "t.arrow"), table.schema) as stream:
            stream.write_table(table)
        refused(tmp_path / "t.arrow", "t.arrow cannot be read as feather: .*[Oo]ffset")

    def test_parquet_that_claims_more_than_memory(self, tmp_path, little_memory):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        pandas.DataFrame({"a": np.zeros(2_000_000)}).to_parquet(tmp_path / "t.parquet")
        assert (tmp_path / "t.parquet").stat().st_size < 1e5
        refused(tmp_path / "t.parquet", "it claims 2,000,000 rows and 1 columns, 0.0 GB in memory")

    @pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "column_encoding": {"k": "DELTA_BYTE_ARRAY"}}])
    def test_parquet_whose_text_unpacks_to_more_than_memory(self, tmp_path, little_memory, options):
        """A long text that stands in the file once, and in every row."""
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pytest.importorskip("pandas")
        table = pyarrow.table({"k": ["x" * 100_000] * 3000, "y": np.arange(3000.0)})
        options = options and {**options, "column_encoding": {**options["column_encoding"], "y": "PLAIN"}}
        parquet.write_table(table, tmp_path / "t.parquet", **options)
        assert (tmp_path / "t.parquet").stat().st_size < 1e5
        before = pyarrow.default_memory_pool().max_memory()
        refused(tmp_path / "t.parquet", "its text and lists unpack to more than [0-9,]+ bytes, 0.[0-9] GB in memory")
        assert pyarrow.default_memory_pool().max_memory() < before + 5e7  # of 300 MB
        (tmp_path / "folder.parquet").mkdir()
        (tmp_path / "t.parquet").rename(tmp_path / "folder.parquet" / "part.parquet")
        refused(tmp_path / "folder.parquet", "its text and lists unpack to more than")

    @pytest.mark.parametrize("kind", ["feather", "arrow"])
    def test_batches_that_unpack_to_more_than_memory(self, tmp_path, little_memory, kind):
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pandas")
        new = pyarrow.ipc.new_file if kind == "feather" else pyarrow.ipc.new_stream
        table, path = pyarrow.table({"y": np.zeros(2_000_000)}), tmp_path / f"t.{kind}"
        with new(str(path), table.schema, options=pyarrow.ipc.IpcWriteOptions(compression="zstd")) as stream:
            stream.write_table(table)
        assert path.stat().st_size < 1e4
        before = pyarrow.total_allocated_bytes()
        refused(path, "it claims 2,000,000 rows and 1 columns, 0.0 GB in memory")
        assert pyarrow.total_allocated_bytes() < before + 1e5
        nothing = pyarrow.table({"y": pyarrow.nulls(2_000_000)})  # rows without a byte
        with new(str(path), nothing.schema) as stream:
            stream.write_table(nothing)
        refused(path, "it claims 2,000,000 rows and 1 columns, 0.0 GB in memory")
        coded = pyarrow.table({"k": pyarrow.array(["x" * 100_000] * 300).dictionary_encode()})
        with new(str(path), coded.schema) as stream:
            stream.write_table(coded)
        refused(path, "its columns unpack to [0-9,]+ bytes, 0.0 GB in memory")

    def test_feather_whose_list_of_batches_is_another(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pandas")
        table = pyarrow.table({"y": np.arange(20.0)})
        with pyarrow.ipc.new_file(str(tmp_path / "t.feather"), table.schema) as stream:
            stream.write_table(table, max_chunksize=10)
        whole = (tmp_path / "t.feather").read_bytes()
        end = whole.rindex(b"\xff\xff\xff\xff\0\0\0\0")  # of the batches
        batch = whole.rindex(b"\xff\xff\xff\xff", 0, end)
        refused(
            put(tmp_path / "t.feather", whole[:batch] + whole[end:]),
            "t.feather cannot be read as feather: it is damaged: it lists 2 batches of rows, and 1 are there; copy or down",
        )

    def test_parquet_that_is_cut(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        pandas.DataFrame({"a": np.arange(2000.0)}).to_parquet(tmp_path / "t.parquet")
        whole = (tmp_path / "t.parquet").read_bytes()
        refused(
            put(tmp_path / "t.parquet", whole[: len(whole) // 2]),
            f"it is damaged, cut short, or not what its name says .*magic bytes.*: {AGAIN}, or check the end of its name",
        )

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("window", [4096, 1 << 26])
    def test_text_of_hdf5_that_would_be_read_for_ever_or_from_nowhere(self, tmp_path, window, monkeypatch):
        anndata = pytest.importorskip("anndata")
        monkeypatch.setattr("uca.io.hdf5.WINDOW", window)
        anndata.AnnData(np.ones((3, 2))).write_h5ad(tmp_path / "t.h5ad")
        data, whole = (bytearray((tmp_path / "t.h5ad").read_bytes()) for _ in range(2))
        heap = data.index(b"GCOL")
        data[heap + 16 : heap + 32] = bytes(16)  # the first item: free, of no length
        refused(
            put(tmp_path / "t.h5ad", bytes(data)),
            "t.h5ad cannot be read as h5ad: the place where it keeps its text is d",
        )
        whole[whole.index(b"\x19\x01\x01\x00\x10") + 1] = (
            5  # text of varying length, which is now neither text nor a list
        )
        refused(put(tmp_path / "t.h5ad", bytes(whole)), "in it has values of varying length that are not text")
        refused(put(tmp_path / "t.h5ad", b"no HDF5"), "it does not begin as HDF5 files do")

    @pytest.mark.filterwarnings("ignore")
    def test_datasets_that_claim_more_than_memory(self, tmp_path):
        h5py = pytest.importorskip("h5py")
        pytest.importorskip("anndata")
        with h5py.File(tmp_path / "t.h5ad", "w") as file:
            file.create_dataset("X", shape=(10**8, 10**6), chunks=(1, 10), dtype="f8")
        refused(tmp_path / "t.h5ad", "'X' in it claims .100000000, 1000000. values, 800,000.0 GB in memory")

    @pytest.mark.filterwarnings("ignore")
    def test_datasets_that_claim_more_than_memory_together(self, tmp_path, little_memory):
        h5py = pytest.importorskip("h5py")
        pytest.importorskip("anndata")
        with h5py.File(tmp_path / "t.h5ad", "w") as file:
            for i in range(3):
                file.create_dataset(f"uns/{i}", shape=(600_000,), chunks=(1000,), dtype="f8")
        refused(tmp_path / "t.h5ad", "its datasets claim 14,400,000 bytes together, 0.0 GB in memory")

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("n_values", [10, 50_000])
    def test_chunks_that_unpack_to_more_than_a_chunk(self, tmp_path, little_memory, n_values):
        """More than twice a chunk is stored, or what is stored is inflated a little to see."""
        h5py = pytest.importorskip("h5py")
        anndata = pytest.importorskip("anndata")
        cells = anndata.AnnData(np.ones((9, 2)))
        cells.uns["a"] = np.zeros(n_values)
        cells.write_h5ad(tmp_path / "t.h5ad", compression="gzip")
        assert read_table(tmp_path / "t.h5ad").values.shape == (9, 2)
        with h5py.File(tmp_path / "t.h5ad", "a") as file:
            chunk = file["uns/a"].chunks or (n_values,)
            del file["uns/a"]
            data = file.create_dataset("uns/a", (n_values,), "f8", chunks=chunk, compression="gzip")
            data.id.write_direct_chunk((0,), zlib.compress(bytes(40_000_000)))
        refused(tmp_path / "t.h5ad", f"'uns/a' in it has a chunk that unpacks to more than its {8 * chunk[0]:,} bytes")

    @pytest.mark.filterwarnings("ignore")
    def test_zarr_arrays_that_claim_more_than_memory(self, tmp_path, little_memory):
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(str(tmp_path / "t.zarr"), mode="w")
        for i in range(3):
            zarr.open_array(str(tmp_path / f"t.zarr/{i}"), mode="w", shape=(600_000,), chunks=(1000,), dtype="f8")
        refused(tmp_path / "t.zarr", "its arrays claim 14,400,000 bytes together, 0.0 GB in memory")
        zarr.open_array(str(tmp_path / "one.zarr"), mode="w", shape=(1000, 2), chunks=(1000, 2), dtype="<U2000")
        refused(tmp_path / "one.zarr", r"in it claims \[1000, 2\] values, 0.0 GB in memory")
        assert group is not None

    @pytest.mark.filterwarnings("ignore")
    def test_zarr_chunks(self, tmp_path):
        zarr = pytest.importorskip("zarr")
        store = tmp_path / "t.zarr"
        array = zarr.open_array(str(store), mode="w", shape=(6, 2), chunks=(2, 2), dtype="f8")
        array[:] = np.arange(1.0, 13).reshape(6, 2)
        assert read_table(store).notes == ()
        chunks = sorted(file for file in store.rglob("*") if file.is_file() and file.name[-1].isdigit())
        assert len(chunks) == 3
        chunks[1].unlink()
        told = "1 of 3 chunks of the array are absent, and their values count as 0"
        table = read_table(store)
        assert table.notes[0].startswith(told)
        np.testing.assert_array_equal(table.values, [[1, 2], [3, 4], [0, 0], [0, 0], [9, 10], [11, 12]])
        whole = chunks[0].read_bytes()
        put(chunks[0], whole + bytes(5000))
        refused(store, "the array in it has a chunk of 5,0[0-9]+ bytes, more than it can hold: it is damaged")
        chunks[0].unlink()
        chunks[2].unlink()
        refused(store, "no chunk of the array in it is there, and all its values would count as 0")

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
    def test_zarr_chunks_of_single_cells(self, tmp_path, kind):
        anndata = pytest.importorskip("anndata")
        pytest.importorskip("zarr")
        store = tmp_path / "t.zarr"
        cells = anndata.AnnData(kind(np.arange(1.0, 7).reshape(3, 2)), layers={"zeros": np.zeros((3, 2))})
        cells.obs["group"] = ["a"] * 3  # whose codes are zeros, and no chunk of these is stored
        cells.write_zarr(store)
        assert read_table(store).notes == ()
        part = store / ("X" if kind is np.asarray else "X/data")
        for file in part.rglob("*"):
            if file.is_file() and file.name[-1].isdigit():
                file.unlink()
        name = part.relative_to(store).as_posix()
        refused(store, f"no chunk of '{name}' in it is there")

    @pytest.mark.filterwarnings("ignore")
    def test_zarr(self, tmp_path):
        zarr = pytest.importorskip("zarr")
        about = {
            "zarr_format": 2,
            "shape": [2, 2],
            "chunks": [2, 2],
            "dtype": "|O",
            "compressor": None,
            "fill_value": 0,
        }
        about |= {"order": "C", "filters": [{"id": "pickle", "protocol": 5}]}
        store = tmp_path / "t.zarr"
        store.mkdir()
        put(store / ".zarray", json.dumps(about))
        put(store / "0.0", b"cos\nsystem\n(S'touch " + str(tmp_path / "canary").encode() + b"'\ntR.")
        refused(store, r"t.zarr cannot be read as zarr: .zarray in it asks for unpickling, which may run code")
        assert not (tmp_path / "canary").exists()
        put(store / ".zarray", json.dumps({**about, "filters": None, "dtype": "<f8", "shape": [10**6, 10**8]}))
        refused(store, r"\.zarray in it claims \[1000000, 100000000\] values, 800,000.0 GB in memory")
        put(store / ".zarray", "{")
        refused(store, r"\.zarray in it is damaged")
        assert zarr


def test_the_program_says_it_in_one_line(tmp_path):
    pytest.importorskip("typer")
    from commands import run

    path = put(tmp_path / "t.mtx", f"{MARKET}2 2 2\n1 1 3\n2 2 2.5E-")
    result = run("fit", path, "-b", path, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(f"uca: {path} cannot be read as mtx: an exponent has no digits")
