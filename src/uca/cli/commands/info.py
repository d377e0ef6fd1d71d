"""Options of ``uca info``."""

from __future__ import annotations

from .. import options as o


def info(*, model_file: o.ModelFile, as_json: o.Json = False, debug: o.Debug = False) -> None:
    """Multipliers, variances, certificate and features of a model file.

    Examples:
      uca info result
      uca info result/model.skops --json
    """
