"""``uca plot``: a figure of an earlier result."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from .._files import new_path
from .again import read_again
from .destination import check_file
from .figures import KINDS, Wanted, new_figure
from .fit import parse_shape
from .program import say, usage_error, warnings_as_notes
from .progress import Steps
from .results import line
from .transform import like_table, read_model


def plot(
    *,
    result: Path,
    kind: Enum,
    component: list[int] | None,
    image_shape: str | None,
    out: Path | None,
    force: bool,
    quiet: bool,
    debug: bool,
) -> None:
    """Read a result, and its tables where the figure needs them, and draw."""
    if not result.is_dir():
        raise usage_error(f"{result} is not a folder; give the one that uca fit wrote")
    out = result / f"{kind.value}.png" if out is None else out
    figure = new_figure()
    _check(figure, kind.value, component or [], out, force)
    notes: list[str] = []
    with Steps(silent=quiet) as steps, warnings_as_notes(notes):
        steps.step(f"reading {result}")
        model = read_model(result)
        study = read_again(result, model) if KINDS[kind.value].needs_rows else None
        if study is not None:
            model = like_table(study.target, model)
        names = getattr(model, "feature_names_in_", None) if study is None else study.target.features
        shape = None if image_shape is None else parse_shape(image_shape)
        KINDS[kind.value].draw(Wanted(model, study, component or (), shape, names), figure.subplots())
        out.resolve().parent.mkdir(parents=True, exist_ok=True)
        with new_path(out) as place:
            figure.savefig(place, dpi=150, format=out.suffix[1:].lower())
    say(notes, quiet=quiet)
    if not quiet:
        line(f"wrote {out}")


def _check(figure: object, kind: str, components: list[int], out: Path, force: bool) -> None:
    """Refuse, before any work, what cannot be drawn or written."""
    wanted = KINDS[kind].components
    if components and len(components) != wanted:
        how = (
            f"{wanted} component{'s' if wanted > 1 else ''}: give -c for each, counting from 1"
            if wanted
            else "no components (-c)"
        )
        raise usage_error(f"{kind} takes {how}")
    known = figure.canvas.get_supported_filetypes()  # type: ignore[attr-defined]
    if out.suffix[1:].lower() not in known:
        raise usage_error(f"-o {out}: the format is taken from the end of the file name; choose .png, .svg or .pdf")
    check_file(out, force)
