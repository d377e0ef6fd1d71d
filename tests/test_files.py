"""Files are written whole or not at all, by one module."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from uca._files import new_file, write_file


def test_text_and_bytes_replace_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    write_file(path, "é\r\n")  # line ends are not translated
    assert path.read_bytes() == b"\xc3\xa9\r\n"
    write_file(str(path), b"\x00")
    assert path.read_bytes() == b"\x00"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_fails_halfway_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupted():
        with new_file(path) as stream:
            stream.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("a.txt", "old")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no umask for groups and others")
def test_permissions_are_those_of_a_new_file(tmp_path):
    old = os.umask(0o027)
    try:
        write_file(tmp_path / "a.txt", "content")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_file(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
