"""``uca info``: what a model file holds."""

from __future__ import annotations

import json

import typer

from .._readable import listed
from . import options as o
from .program import say, warnings_as_notes
from .results import describe, show
from .transform import ModelFile, read_model


def info(model_file: ModelFile, as_json: o.Json = False, debug: o.Debug = False) -> None:
    """Multipliers, variances, certificate and features of a model file.

    Examples:
      uca info result
      uca info result/model.skops --json
    """
    notes: list[str] = []
    with warnings_as_notes(notes):
        model = read_model(model_file)
    found = describe(model)
    names = getattr(model, "feature_names_in_", None)
    if as_json:
        features = None if names is None else [str(name) for name in names]
        typer.echo(json.dumps({**found, "features": features, "notes": notes}))
        return
    say(notes)
    show(found)
    if names is not None:
        typer.echo(f"features: {listed(list(map(str, names)))}")
