"""EEG and MEG: Unique Component Analysis on MNE's Raw and Epochs objects, alongside MNE's own spatial filters.

Promises: recordings are never changed. Data is taken in MNE's units (V, T, T/m). Only covariances are used, so
recordings may differ in length and sampling rate, and be Raw or Epochs.
"""

from .decoder import UCA

__all__ = ["UCA"]
