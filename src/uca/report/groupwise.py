"""Each group against all others as one HTML file: table, figure, and every group's leading features and certificate.

Promises: the file makes no network request and has no script; text from the user is shown as text; the same result gives
the same file, but for the line that says when it was made.
"""

from __future__ import annotations

import base64
import os
import platform
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .._files import write_file
from .._parameters import check_type
from ..groupwise import Each, EachGroup
from ..groupwise import words as said
from ..inference.outcome import p_text
from .inputs import plain
from .make import check_path
from .page import check_jinja, render_still
from .words import PACKAGES, count, parameters_told, solved_chip, today


def each(result: Each, path: str | os.PathLike[str], *, title: str | None = None, made_on: str | None = None) -> Path:
    """Write what :func:`uca.each` found as one HTML file that works offline.

    The page has the table, the figure (:func:`uca.plotting.each`, where matplotlib is installed), and for each group its
    leading features, its certificate in a line, and what makes its p-values less certain.

    Parameters
    ----------
    result : Each
        From :func:`uca.each`.
    path : path
        The file to write; an older one is replaced, once the new one is complete.
    title : str, optional
        Heading of the page.
    made_on : str, optional
        Date to print. Default: today, or the date in the environment variable SOURCE_DATE_EPOCH.

    Returns
    -------
    path : pathlib.Path
        The file that was written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import uca
    >>> from uca.report import each
    >>> rng = np.random.default_rng(0)
    >>> result = uca.each(rng.normal(size=(60, 4)), np.repeat(["a", "b", "c"], 20), test=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     each(result, f"{folder}/each.html").name
    'each.html'
    """
    check_type(result, Each, "uca.each")
    check_jinja()
    place = check_path(path)
    heading = "What is unique to each group" if title is None else str(title)
    write_file(place, render_still("each.html.j2", _context(result, plain(heading), made_on)))
    return place


def _context(result: Each, heading: str, made_on: str | None) -> dict[str, Any]:
    figure, missing = _figure(result)
    return {
        "title": heading,
        "subtitle": f"{said.title(result)}.",
        "sentence": plain(result.sentence),
        "tone": "good" if any(group.n_unique for group in result.groups) else "warn",
        "rows": [
            {"cells": list(map(plain, cells)), "first": bool(cells[0]), "unique": row["verdict"] == "unique"}
            for cells, row in zip(said.cells(result), result.table, strict=True)
        ],
        "reading": plain(said.reading(result)),
        "figure": figure,
        "no_figure": missing,
        "groups": [_group(group, result.with_subjects) for group in result.groups],
        "how": _how(result, made_on),
    }


def _figure(result: Each) -> tuple[str, str]:
    """The figure as base64, or why there is none."""
    try:
        # Imported on use and by name: figures stand below, and need an extra of their own.
        picture = import_module("uca.plotting.groupwise").picture(result)
        return base64.b64encode(picture).decode(), ""
    except ImportError as error:
        return "", f"There is no figure: {error}"


def _group(group: EachGroup, with_subjects: bool) -> dict[str, Any]:
    return {
        "name": plain(group.name),
        "subtitle": plain(_subtitle(group, with_subjects)),
        "chips": _chips(group),
        "leading": group.leading,
        "certificate": "" if group.model is None else group.model.certificate_.brief,
        "told": list(map(plain, _told(group))),
        "cautions": list(map(plain, [*group.cautions, *group.warnings])),
    }


def _subtitle(group: EachGroup, with_subjects: bool) -> str:
    rows = count(group.n_rows, "row")
    rows = f"{rows} of {count(group.n_subjects, 'subject')}" if with_subjects else rows
    against = f", against {', '.join(group.backgrounds)}" if group.backgrounds else ""
    left = f"; too small to be a background: {', '.join(group.left_out)}" if group.left_out and against else ""
    return f"{rows}{against}{left}."


def _chips(group: EachGroup) -> list[tuple[str, str]]:
    """Is it real, and is it solved? In a few words with their styles."""
    if group.model is None:
        return [("not fitted", "warn")]
    tested = said.shortly(group)
    style = "plain" if group.n_unique is None else "good" if group.n_unique else "warn"
    return [(tested, style), solved_chip(group.model)]


def _told(group: EachGroup) -> list[str]:
    """p-values, or why there are none; means that differ."""
    if group.model is None:
        return [f"Not fitted: {group.failed}."]
    out = [f"Not tested: {group.untested}."] if group.untested else []
    if group.test is not None and group.adjusted is not None:
        pairs = zip(group.leading, group.test.pvalues, group.adjusted, strict=True)
        told = (f"{row.component} p = {p_text(p)}, adjusted {p_text(own)}" for row, p, own in pairs)
        out.append(f"On rows held out of the fit: {'; '.join(told).replace('= <', '< ')}.")
    if group.means is not None and group.means.n_large:
        out.append(group.means.short)
    return out


def _how(result: Each, made_on: str | None) -> list[tuple[str, str]]:
    tested = [group.test for group in result.groups if group.test is not None]
    splits = sorted({test.n_splits for test in tested})
    halvings = f"{splits[0]}" if len(splits) == 1 else f"{splits[0]} to {splits[-1]}" if splits else ""
    told = (
        f"level {100 * result.alpha:g} % for {count(len(tested), 'test')} together (Holm), {halvings} random halvings"
    )
    used = {name: package for name, package in PACKAGES.items() if name != "plotly"}
    sizes = [f"{group.name}: {group.n_rows} x {result.n_features}" for group in result.groups]
    return [
        ("Made on", made_on or today()),
        ("Data", plain("; ".join(sizes))),
        ("Groups", plain("" if result.grouped_by is None else result.grouped_by) or "as given"),
        ("Backgrounds", "the other groups, pooled" if result.pooled else "the other groups, each by itself"),
        ("Subjects", "told apart" if result.with_subjects else "none: rows count as independent"),
        ("Test", told if tested else "none"),
        ("Parameters", plain(parameters_told(result.parameters))),
        ("Versions", ", ".join(f"{name} {version(package)}" for name, package in used.items())),
        ("Python", platform.python_version()),
    ]
