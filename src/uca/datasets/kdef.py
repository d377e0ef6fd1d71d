"""KDEF: the Karolinska Directed Emotional Faces, as its owners ship it (free for research, not redistributable).

File names carry everything: session (A practice, B final), sex, two-digit actor, emotion, angle; ``BF07HAS.JPG`` is the
final session, female actor 7, happy, straight. Only straight views are read.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from .._optional import optional
from .._types import Array

EMOTIONS = {
    "AF": "afraid",
    "AN": "angry",
    "DI": "disgusted",
    "HA": "happy",
    "NE": "neutral",
    "SA": "sad",
    "SU": "surprised",
}
NEGATIVE = ("AF", "AN", "DI", "SA")
IMAGE_SHAPE = (68, 50)
_FILE = re.compile(r"(?P<session>[AB])(?P<sex>[FM])(?P<actor>\d\d)(?P<emotion>[A-Z]{2})(?P<angle>S|FL|FR|HL|HR)")
_IMAGES = {".jpg", ".jpeg", ".png"}


@dataclass(frozen=True)
class KDEF:
    """Straight grey images and what their names say; rows are standardised images.

    Attributes
    ----------
    images : array of shape (n, 3400)
    session, sex, actor, emotion : array of shape (n,)
    skipped : tuple of str
        Files that were not read, each with the reason.
    """

    images: Array
    session: Array
    sex: Array
    actor: Array
    emotion: Array
    skipped: tuple[str, ...]

    def study(self, emotion: str = "AF") -> tuple[Array, Array, Array, dict[str, Array]]:
        """Target rows, emotions and actors of the final session, and practice-session backgrounds without ``emotion``.

        Female actors, as in the paper.
        """
        if emotion not in EMOTIONS:
            raise ValueError(f"unknown emotion {emotion!r}; there are {', '.join(EMOTIONS)}")
        target = (self.session == "B") & (self.sex == "F")
        practice = (self.session == "A") & (self.sex == "F")
        backgrounds = {
            EMOTIONS[code]: self.images[practice & (self.emotion == code)] for code in EMOTIONS if code != emotion
        }
        few = {
            name: len(rows) for name, rows in {"target": self.images[target], **backgrounds}.items() if len(rows) < 3
        }
        if few:
            raise ValueError(
                f"too few straight female images to go on (at least 3 each): {few}; {len(self.skipped)} files were skipped"
                + (f", the first: {self.skipped[0]}" if self.skipped else "")
            )
        return self.images[target], self.emotion[target], self.actor[target], backgrounds


def load_kdef(path: str | os.PathLike[str]) -> KDEF:
    """Read the folder or zip file; unreadable, misnamed and constant images are skipped and listed."""
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"{place} does not exist: pass the KDEF folder or zip file (request it at kdef.se)")
    found: list[tuple[re.Match[str], Array]] = []
    skipped: list[str] = []
    for name, content in _files(place):
        match = _FILE.fullmatch(PurePosixPath(name).stem.upper())
        if match is None or match["emotion"] not in EMOTIONS:
            skipped.append(f"{name}: the name does not follow KDEF")
        elif match["angle"] == "S":
            try:
                found.append((match, _standardised(content)))
            except (OSError, ValueError) as error:
                skipped.append(f"{name}: {error}")
    if not found:
        raise ValueError(f"no straight KDEF image could be read in {place}; {len(skipped)} files were skipped")
    found.sort(key=lambda item: item[0].string)
    fields = {key: np.array([match[key] for match, _ in found]) for key in ("session", "sex", "actor", "emotion")}
    return KDEF(images=np.stack([image for _, image in found]), skipped=tuple(skipped), **fields)


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    if place.is_dir():
        for file in sorted(place.rglob("*")):
            if file.is_file() and file.suffix.lower() in _IMAGES:
                yield str(file.relative_to(place)), file.read_bytes()
        return
    try:
        with zipfile.ZipFile(place) as archive:
            for name in sorted(archive.namelist()):
                if PurePosixPath(name).suffix.lower() in _IMAGES and "__MACOSX" not in name:
                    yield name, archive.read(name)
    except zipfile.BadZipFile:
        raise ValueError(f"{place} is neither a folder nor a zip file") from None


def _standardised(content: bytes) -> Array:
    """A grey image at 50 x 68, minus its mean, over its spread."""
    pillow = optional("PIL.Image", "images need Pillow", "paper")
    try:
        with pillow.open(io.BytesIO(content)) as image:
            height, width = IMAGE_SHAPE
            grey = np.asarray(image.convert("L").resize((width, height)), dtype=float).ravel()
    except pillow.UnidentifiedImageError:
        raise ValueError("not an image") from None
    if grey.std() == 0:
        raise ValueError("the image has one colour")
    return (grey - grey.mean()) / grey.std()
