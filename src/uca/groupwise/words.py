"""The result of each group in words: a sentence, cautions, a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._readable import listed
from .._shown import Part, table, text
from ..estimators.expected_words import is_far
from ..estimators.leading import MINUS
from ..estimators.summary import prediction
from ..inference.outcome import p_text
from ..means import ELSEWHERE

if TYPE_CHECKING:
    from .outcome import Each, EachGroup

HEADS = ("group", "rows", "component", "variance", "in others", "new rows", "p", "adjusted p", "verdict")
FEATURES = "leading features"
LISTED = 12  # groups that a sentence names
READING = (
    f"Leading features: + rises with the score in the group, {MINUS} falls with it; in others: the largest variance in a "
    "background, in the rows of the fit; new rows: the largest to expect in rows of a background that were not in the fit, "
    "{how}; adjusted p: for testing several groups (Holm)."
)


def count(n: int, word: str) -> str:
    """A number with its noun: 1 row, 2 rows."""
    return f"{n} {word}{'' if n == 1 else 's'}"


def title(result: Each) -> str:
    """What was compared."""
    against = "all others together" if result.pooled else "all others"
    return f"Each of {len(result)} groups against {against}, {result.n_features} features"


def reading(result: Each) -> str:
    """How to read the table."""
    return READING.format(how="by leaving subjects out" if result.with_subjects else "for independent rows")


def cells(result: Each) -> list[list[str]]:
    """The table as text, under :data:`HEADS` and the leading features; a group is named in its first row."""
    return [row for group in result.groups for row in _rows(group)]


def _rows(group: EachGroup) -> list[list[str]]:
    return [_cells(row, i == 0) for i, row in enumerate(group.table)]


def _cells(row: dict[str, Any], first: bool) -> list[str]:
    known = row["expected_variance"]
    return [
        *((row["group"], f"{row['rows']}") if first else ("", "")),
        row["component"] or "",
        _number(row["target_variance"]),
        _number(row["background_variance"]),
        "" if known is None else prediction(known),
        *("" if row[key] is None else p_text(row[key]) for key in ("p", "p_adjusted")),
        row["verdict"],
        row["leading_features"] or row["note"] or "",
    ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def parts(result: Each) -> list[Part]:
    """The table and the sentences."""
    return [
        text(title(result), place="top"),
        table((*HEADS, FEATURES), cells(result), words_last=True),
        text(f"({reading(result)})", kind="note", apart=False, wrapped=True),
        text(sentence(result), place="top", wrapped=True),
        text(*cautions_of(result), kind="caution", wrapped=True),
    ]


def parts_of_group(group: EachGroup) -> list[Part]:
    """The rows of one group, and what is said of it."""
    certificate = "" if group.model is None else group.model.certificate_.brief
    return [
        text(f"{group.name}: {shortly(group)}.", place="top"),
        table((*HEADS, FEATURES), _rows(group), words_last=True),
        text(certificate),
        text(*group.cautions, *group.warnings, kind="caution", wrapped=True),
    ]


def cautions_of(result: Each) -> list[str]:
    """What makes p-values less certain than they look, each once, after the groups that it is said of."""
    said: dict[str, list[str]] = {}
    for group in result.groups:
        for caution in group.cautions:
            said.setdefault(caution, []).append(group.name)
    return [f"{listed(names, LISTED)}: {caution}" for caution, names in said.items()]


def sentence(result: Each) -> str:
    """What was found, on what level, and what could not be done."""
    parts = [*_finding(result), *_not_done(result), *_fits(result), *_means(result)]
    return " ".join(part for part in parts if part)


def _finding(result: Each) -> list[str]:
    tested = [group for group in result.groups if group.test is not None]
    if not tested:
        return ["No group was tested: any data has components, noise included."]
    unique = [group for group in tested if group.n_unique]
    others = "in all others together" if result.pooled else "in each of the others"
    units = ", each standardised by its own SD" if result.parameters["scale"] is True else ""
    more = f"than {others}{units}, on rows held out of the fit"
    if unique:
        named = listed([f"{group.name} ({_components(group)})" for group in unique], LISTED)
        have, own = ("has", "it") if len(unique) == 1 else ("have", "them")
        found = f"{len(unique)} of {len(tested)} groups tested {have} a component that varies more in {own} {more}: {named}."
    else:
        found = f"For none of {len(tested)} groups tested could it be shown that a component varies more in it {more}."
    n = len(tested)
    adjusted = (
        f"p-values are adjusted for {n} tests (Holm), level {100 * result.alpha:g} % for all of them together."
        if n > 1
        else f"One test was made, at level {100 * result.alpha:g} %."
    )
    return [found, adjusted, "" if result.with_subjects else "Rows count as independent."]


def _components(group: EachGroup) -> str:
    names = [row["component"] for row in group.table[: group.n_unique]]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" if len(names) > 2 else " and ".join(names)


def _not_done(result: Each) -> list[str]:
    """Groups that were not fitted, not tested, or no background of others, with the reasons."""
    failed = [f"{group.name} ({group.failed})" for group in result.groups if group.model is None]
    some = any(group.test is not None for group in result.groups)
    reasons = [group for group in result.groups if group.model is not None and group.untested]
    untested = [f"{group.name} ({group.untested})" for group in reasons]
    left_out = list(dict.fromkeys(name for group in result.groups for name in group.left_out))
    same = len({group.untested for group in reasons}) == 1
    told = reasons[0].untested if reasons and same and not some else listed(untested, LISTED)
    return [
        f"Not fitted: {listed(failed, LISTED)}." if failed else "",
        f"Not tested: {told}." if untested else "",
        f"Too small to be a background of the others: {listed(left_out, LISTED)}." if left_out else "",
    ]


def _fits(result: Each) -> list[str]:
    """What is not solved, and bounds that new rows should not keep."""
    certificates = {group.name: group.model.certificate_ for group in result.groups if group.model}
    unsolved = [name for name, own in certificates.items() if own.status not in own.settled]
    far = [
        group.name
        for group in result.groups
        if group.model is not None
        and group.expected is not None
        and is_far(group.expected[0], group.model.bounds_).any()
    ]
    return [
        f"Not solved to the tolerance: {listed(unsolved, LISTED)}." if unsolved else "",
        f"New rows of a background are expected to vary more than twice the bound along the first component of "
        f"{listed(far, LISTED)}, or nothing can be predicted: the bound holds for these rows."
        if far
        else "",
    ]


def _means(result: Each) -> list[str]:
    most = max((group.means.n_large for group in result.groups if group.means is not None), default=0)
    if not most:
        return []
    return [
        f"Means of groups differ as well, by 1 SD or more in up to {most} of {result.n_features} features. {ELSEWHERE}"
    ]


def shortly(group: EachGroup) -> str:
    """A group's test in a few words."""
    if group.failed:
        return f"not fitted: {group.failed}"
    if group.n_unique is None:
        return "not tested"
    return count(group.n_unique, "unique component") if group.n_unique else "no component shown to be unique"


def in_short(result: Each) -> str:
    """A few words, for an interpreter."""
    tested = [group for group in result.groups if group.test is not None]
    unique = [group.name for group in tested if group.n_unique]
    found = f"unique components in {listed(unique, 3) if unique else 'none'}"
    told = f"{len(tested)} tested, {found} (Holm, level {result.alpha:g})" if tested else "not tested"
    return f"{len(result)} groups against {'all others together' if result.pooled else 'the others'}; {told}"
