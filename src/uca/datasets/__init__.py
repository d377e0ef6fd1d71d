"""Data to try UCA on."""

from .faces import FaceStudy, LondonFaces, load_london_faces, london_study, synthetic_study
from .files import DataNotFoundError
from .kdef import KDEF, load_kdef
from .mice import MouseProteins, load_mice
from .textures import ContrastiveDataset, digits_on_grass, digits_on_grass_and_brick

__all__ = [
    "KDEF",
    "ContrastiveDataset",
    "DataNotFoundError",
    "FaceStudy",
    "LondonFaces",
    "MouseProteins",
    "digits_on_grass",
    "digits_on_grass_and_brick",
    "load_kdef",
    "load_london_faces",
    "load_mice",
    "london_study",
    "synthetic_study",
]
