"""Where data files are looked for: a path, ``UCA_DATA``, a cache, and last their public home.

No file of others is part of this package. A file that is found is checked by its content, not by its name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


class DataNotFoundError(FileNotFoundError):
    """A data file was found nowhere; the message lists the places and how to get it."""


def cache_folder() -> Path:
    """Where downloads are kept: ``$XDG_CACHE_HOME/uca`` or ``~/.cache/uca``."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "uca"


def find(
    name: str, path: str | os.PathLike[str] | None, *, how: str, download: Callable[[Path], None] | None = None
) -> Path:
    """The file ``name``: at ``path`` (file or folder), else in ``UCA_DATA``, else in the cache, else downloaded.

    Parameters
    ----------
    name : str
        File name.
    path : path or None
        If given, the only place that is looked at.
    how : str
        What the error says about getting the file.
    download : callable, optional
        Writes the file to the path it is given; raises OSError where that fails.
    """
    if path is not None:
        place = Path(path) / name if Path(path).is_dir() else Path(path)
        if place.is_file():
            return place
        raise DataNotFoundError(f"{name} is not at {place}. {how}")
    environment = os.environ.get("UCA_DATA")
    looked = [Path(environment) / name] if environment else []
    looked.append(cache_folder() / name)
    for place in looked:
        if place.is_file():
            return place
    told = [str(place) for place in looked] + ([] if environment else ["UCA_DATA (not set)"])
    if download is not None:
        target = looked[-1]
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            download(target)
            return target
        except OSError as error:
            told.append(f"download ({error})")
    raise DataNotFoundError(f"{name} was not found. Looked at: {'; '.join(told)}. {how}")
