"""What people see of a result: described once, shown as text in a terminal and as HTML in a notebook.

Promises of the HTML: names that come from users stand there as text, never as markup or as a formula. It sets no colour and
no background, so that it is read in light and dark themes alike. It has no script, no style sheet and no id, and makes sense
where a viewer takes styles away. What answers the question stands at the top; what only some readers need is folded away at
the end, in one ``<details>``. Cautions are never folded away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from textwrap import wrap
from typing import Literal

LINE_WIDTH = 100  # characters, of wrapped text
LONGEST_CELL = 30  # characters that stay on one line of a table

Place = Literal["top", "body", "more"]  # in the HTML; "more" is folded away
Kind = Literal["plain", "caution", "note"]

# Notebooks would draw what stands between two dollar signs as a formula: the classes tell them not to.
_WHOLE = '<div class="uca mathjax_ignore tex2jax_ignore" style="overflow-wrap:anywhere">'
_STYLES: dict[Kind, str] = {
    "plain": "margin:0.4em 0;max-width:62em",
    "caution": "margin:0.4em 0;max-width:62em;border-left:3px solid currentColor;padding-left:0.6em",
    "note": "margin:0.4em 0;max-width:68em;font-size:0.9em;opacity:0.8",
}


def escaped(value: object) -> str:
    """A value as text inside HTML, whatever characters it has."""
    return escape(str(value).encode("utf-8", "replace").decode("utf-8"), quote=True)


@dataclass(frozen=True)
class Part:
    """A piece of what is shown.

    Attributes
    ----------
    place : {"top", "body", "more"}
        Where it stands in the HTML; within each, the order is that of the text.
    apart : bool
        Whether an empty line stands before it in the text.
    """

    place: Place = "body"
    apart: bool = True

    def lines(self) -> list[str]:
        """As lines of text."""
        raise NotImplementedError

    def html(self) -> str:
        """As HTML."""
        raise NotImplementedError


@dataclass(frozen=True)
class Text(Part):
    """Paragraphs. In the text each begins a line, ``wrapped`` at 100 characters if asked."""

    paragraphs: tuple[str, ...] = ()
    kind: Kind = "plain"
    wrapped: bool = False

    def lines(self) -> list[str]:
        """As lines of text."""
        told = list(self.paragraphs)
        return [line for text in told for line in wrap(text, LINE_WIDTH)] if self.wrapped else told

    def html(self) -> str:
        """As paragraphs of HTML."""
        return "".join(_paragraph(escaped(text), self.kind) for text in self.paragraphs)


@dataclass(frozen=True)
class Finding(Part):
    """What was found, and what makes it less certain than it looks: one line of text, paragraphs of HTML."""

    sentences: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """As one line of text."""
        return [" ".join([*self.sentences, *self.cautions])]

    def html(self) -> str:
        """The sentences in one paragraph, each caution in its own."""
        cautions = (_paragraph(escaped(text), "caution") for text in self.cautions)
        return _paragraph(escaped(" ".join(self.sentences)), "plain") + "".join(cautions)


@dataclass(frozen=True)
class Named(Part):
    """Names, each with a few words: ``UC1: gene4 +, gene5 +``."""

    entries: tuple[tuple[str, str], ...] = ()

    def lines(self) -> list[str]:
        """As lines of text, wrapped and indented."""
        told = [f"{name}: {words}" for name, words in self.entries]
        return [line for text in told for line in wrap(text, LINE_WIDTH, subsequent_indent="     ")]

    def html(self) -> str:
        """As paragraphs that begin with the name."""
        rows = (f"<b>{escaped(name)}</b>&ensp;{escaped(words)}" for name, words in self.entries)
        return "".join(_paragraph(row, "plain") for row in rows)


@dataclass(frozen=True)
class Table(Part):
    """A header and rows of text; the first column names the rows, the last may hold words (else numbers)."""

    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    words_last: bool = False

    def lines(self) -> list[str]:
        """As lines of text."""
        return [line.rstrip() for line in text_table(self.header, self.rows, words_last=self.words_last)]

    def html(self) -> str:
        """As a table that scrolls by itself where the page is narrow."""
        left = {0, len(self.header) - 1} if self.words_last else {0}
        head = "".join(
            f'<th scope="col" style="{_align(i in left)}">{escaped(cell)}</th>' for i, cell in enumerate(self.header)
        )
        body = "".join(
            f"<tr>{''.join(_cell(i, cell, i in left) for i, cell in enumerate(row))}</tr>" for row in self.rows
        )
        return (
            '<div style="overflow-x:auto;max-width:100%"><table style="margin:0.4em 0;overflow-wrap:normal">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _paragraph(html: str, kind: Kind) -> str:
    return f'<p style="{_STYLES[kind]}">{html}</p>'


def _align(left: bool) -> str:
    return f"text-align:{'left' if left else 'right'}"


def _cell(column: int, cell: str, left: bool) -> str:
    tag, scope = ("td", "") if column else ("th", ' scope="row"')
    # Numbers with their intervals stay on one line; a long name may be broken.
    whole = ";white-space:nowrap" if len(cell) <= LONGEST_CELL else ""
    return f'<{tag}{scope} style="{_align(left)}{whole}">{escaped(cell)}</{tag}>'


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words_last: bool = False) -> list[str]:
    """A header, a rule and rows as lines of text; the first column is left-aligned, and the last if it holds words."""
    rows = list(rows)
    n = len(header)
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(n)]
    widths[-1] = len(header[-1]) if words_last else widths[-1]  # words may be long: the rule need not be
    left = {0, n - 1} if words_last else {0}
    lines = [
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in (header, *rows)
    ]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def table(
    header: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    place: Place = "body",
    apart: bool = True,
    words_last: bool = False,
) -> Table:
    """A table from any sequences."""
    return Table(place, apart, tuple(header), tuple(tuple(row) for row in rows), words_last)


def text(
    *paragraphs: str,
    kind: Kind = "plain",
    place: Place = "body",
    apart: bool = True,
    wrapped: bool = False,
) -> Text:
    """Paragraphs; empty ones are left out."""
    return Text(place, apart, tuple(filter(None, paragraphs)), kind, wrapped)


def folded(parts: Iterable[Part]) -> list[Part]:
    """The same parts among the details."""
    return [replace(part, place="more") for part in parts]


def as_text(parts: Iterable[Part]) -> str:
    """All parts as text."""
    lines: list[str] = []
    for part in parts:
        own = part.lines()
        lines += [*([""] if part.apart and lines and own else []), *own]
    return "\n".join(lines)


def as_html(parts: Sequence[Part]) -> str:
    """All parts as HTML, details last."""
    top, body, more = ("".join(p.html() for p in parts if p.place == place) for place in ("top", "body", "more"))
    details = f'<details style="margin:0.4em 0"><summary>Details</summary>{more}</details>' if more else ""
    return f"{_WHOLE}{top}{body}{details}</div>"


class Summary(str):
    """Text that shows itself as text, also where an interpreter prints the value of an expression; in a notebook, as tables.

    Attributes
    ----------
    parts : tuple of Part
        What the text was made of; empty where it was made of plain text.
    """

    parts: tuple[Part, ...] = ()

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Summary:
        """The text of parts, which the HTML is made of."""
        kept = tuple(parts)
        made = cls(as_text(kept))
        made.parts = kept
        return made

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self.parts) if self.parts else f"<pre>{escaped(self)}</pre>"


class Shown:
    """What results have in common: ``repr`` is one line, ``print`` gives all, a notebook shows tables.

    A result says what it is made of (:meth:`_parts`), and what matters most in a few words (:meth:`_brief`). Dataclasses
    take ``repr=False``, else theirs is used.
    """

    def _parts(self) -> Sequence[Part]:
        raise NotImplementedError

    def _brief(self) -> str:
        raise NotImplementedError

    def summary(self) -> Summary:
        """All of it as text; in a notebook, as tables."""
        return Summary.of(self._parts())

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._brief()}>"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()
