"""Data to try UCA on."""

from .textures import ContrastiveDataset, digits_on_grass, digits_on_grass_and_brick

__all__ = ["ContrastiveDataset", "digits_on_grass", "digits_on_grass_and_brick"]
