"""``uca info``: what a model file holds."""

from __future__ import annotations

from pathlib import Path

import typer

from .._readable import listed
from .program import say, warnings_as_notes
from .results import describe, line, show
from .safe import json_of
from .transform import read_model


def info(*, model_file: Path, as_json: bool, debug: bool) -> None:
    """Read a model and say what it holds."""
    notes: list[str] = []
    with warnings_as_notes(notes):
        model = read_model(model_file)
    found = describe(model)
    names = getattr(model, "feature_names_in_", None)
    if as_json:
        features = None if names is None else [str(name) for name in names]
        typer.echo(json_of({**found, "features": features, "notes": notes}))
        return
    say(notes)
    show(found)
    if names is not None:
        line(f"features: {listed(list(map(str, names)))}")
