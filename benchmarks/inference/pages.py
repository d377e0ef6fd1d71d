"""The study's figures as tables and plots of docs/inference.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.pages import between

from .influences import table as influence

OURS, PLAIN, OTHER = "#0072B2", "#D55E00", "#009E73"
NOT_YET = "\n(No figures yet: `make study STUDY=--save` writes them.)\n"
RIVALS = ("one split", "twice the median", "F-test, one split", "contrastive dimension")
CURVES = {"ours": (OURS, "-"), "F-test, one split": (PLAIN, "--"), "contrastive dimension": (OTHER, ":")}


def write(saved: dict[str, Any], docs: Path) -> None:
    page = docs / "inference.md"
    page.write_text(renewed(page.read_text(), saved))
    if "levels" in saved:
        draw_levels(saved["levels"], docs / "images" / "inference-levels.png")
    draw_power(saved["power"], docs / "images" / "inference-power.png")
    if "newrows" in saved:
        draw_newrows(saved["newrows"], docs / "images" / "inference-newrows.png")


def renewed(text: str, saved: dict[str, Any]) -> str:
    """The page with its tables made anew."""
    for mark, make in MARKS.items():
        text = between(text, mark, make(saved))
    return between(text, "newrows", newrows(saved)) if "newrows" in saved else text


def percent(found: dict[str, Any], way: str) -> str:
    return f"{100 * found[way]['rate']:.1f}" if way in found else ""


def levels(saved: dict[str, Any]) -> str:
    """Rejections in percent, a row a setting."""
    if "levels" not in saved:
        return NOT_YET
    counted = saved.get("counting", {})
    heads = ("nothing is unique", "ours, 5 %", "ours, 1 %", "cautioned", "counting", *RIVALS)
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, found in saved["levels"].items():
        ours = (
            percent(found, "ours"),
            f"{100 * found['ours']['rate at 1 %']:.1f}",
            f"{100 * found['cautioned']:.0f}",
            f"{100 * counted[name]['rate']:.1f}" if name in counted else "",
        )
        lines.append(f"| {' | '.join((name, *ours, *(percent(found, way) for way in RIVALS)))} |")
    rows = saved["levels"].values()
    counts = {way: max((found[way]["n"] for found in rows if way in found), default=0) for way in ("ours", *RIVALS)}
    counts["counting"] = max((found["n"] for found in counted.values()), default=0)
    told = "; ".join(f"{way}: {n}" for way, n in counts.items())
    return "\n".join(["", *lines, "", f"(Repetitions: {told}.)", ""])


def truths(saved: dict[str, Any]) -> str:
    """The second component, the intervals of the test, and seeds."""
    if not {"second", "intervals", "seeds"} <= saved.keys():
        return "\n"
    rates = "; ".join(
        f"{100 * row['0.05']:.1f} % at 5 % and {100 * row['0.01']:.1f} % at 1 % for a first of {name}"
        for name, row in saved["second"].items()
    )
    covered = "; ".join(
        f"{name} {100 * row['target']:.0f} and {100 * row['background']:.0f} %"
        for name, row in saved["intervals"].items()
    )
    n, of = (next(iter(saved[part].values()))["n"] for part in ("second", "intervals"))
    seeds = saved["seeds"]
    return "\n".join(
        [
            "",
            f"**The second component**, where one direction is planted ({n} repetitions): called unique in {rates}.",
            "",
            "**Intervals of the test** at 95 %, for the variances along the directions of the halves, in the target and in "
            f"the background ({of} repetitions): {covered}.",
            "",
            f"**Seeds.** Of {seeds['n']} data sets with a p-value between .01 and .15, five seeds disagreed about 5 % in "
            f"{100 * seeds['disagree']:.0f} %; the p-values of one data set had a standard deviation of "
            f"{seeds['deviation of p']:.3f}.",
            "",
        ]
    )


def limit(saved: dict[str, Any]) -> str:
    """Variances of the mean z beside the bound."""
    if "limit" not in saved:
        return "\n"
    shares = saved["limit"]
    names = [name for name in next(iter(shares.values())) if name != "bound"]
    lines = [
        "| variance of the mean z, by simulation | "
        + " | ".join(f"share that trains: {share}" for share in shares)
        + " |"
    ]
    lines.append("|---" * (len(shares) + 1) + "|")
    lines += [
        f"| {name} | " + " | ".join(f"{rows[name]:.3f}" for rows in shares.values()) + " |"
        for name in ("bound", *names)
    ]
    return "\n".join(["", *lines, ""])


def power(saved: dict[str, Any]) -> str:
    """For each n, the strength at which the plain way is at 60 % or below and ours is furthest ahead."""
    lines = ["| rows each | strength | ours | F-test, one split | contrastive dimension |", "|---|---|---|---|---|"]
    for n, curve in saved["power"].items():
        behind = [row for row in curve if row["F-test, one split"]["rate"] <= 0.6]
        row = max(behind, key=lambda row: row["ours"]["rate"])
        cells = (percent(row, way) for way in ("ours", "F-test, one split", "contrastive dimension"))
        lines.append(f"| {n} | {row['strength']:g} | {' | '.join(cells)} |")
    lines += ["", "Several backgrounds, 100 rows each:", ""]
    lines += ["| backgrounds | strength | ours | contrastive dimension (pooled) |", "|---|---|---|---|"]
    lines += [
        f"| {m} | {row['strength']:g} | {percent(row, 'ours')} | {percent(row, 'contrastive dimension')} |"
        for m, curve in saved.get("several", {}).items()
        for row in curve
    ]
    return "\n".join(["", *lines, ""])


def number(saved: dict[str, Any]) -> str:
    """Mean absolute errors, and the confusion table of the test."""
    lines = ["| mean absolute error | 1 background | 2 backgrounds |", "|---|---|---|"]
    lines += [
        f"| {way} | {found['1 background']['error']:.2f} | {found['2 backgrounds']['error']:.2f} |"
        for way, found in saved["number"].items()
    ]
    counts = saved["number"]["test"]["1 background"]["counts"]
    most = max(i for row in counts.values() for i, n in enumerate(row) if n)
    lines += [
        "",
        f"| planted ↓, found by the test → | {' | '.join(map(str, range(most + 1)))} |",
        "|---" * (most + 2) + "|",
    ]
    lines += [f"| {planted} | {' | '.join(str(n or '') for n in row[: most + 1])} |" for planted, row in counts.items()]
    seconds = saved["timing"]
    ratio = seconds["peer"] / seconds["ours"]
    lines += [
        "",
        f"Time of one test with 100 + 100 rows and 1 000 features, medians in one run, one BLAS thread: "
        f"{seconds['ours']:.2g} s, {seconds['peer']:.3g} s for the contrastive dimension with 1 000 resamples "
        f"(ratio {ratio:.0f}). Memory on top of the "
        f"{seconds['input_mb']:.1f} MB of input: {seconds['ours_mb']:.0f} and {seconds['peer_mb']:.0f} MB.",
    ]
    return "\n".join(["", *lines, ""])


INTERVALS = ("loadings, large", "loadings, small", "target", "background", "lambda")
NO_FIGURES = "(No figures yet: `make study STUDY=--save` writes them.)"


def coverage(saved: dict[str, Any]) -> str:
    """Coverage of the intervals of ``bootstrap`` in percent, and how often it names a feature that has no loading."""
    found = saved.get("coverage")
    if not found:
        return f"\n{NO_FIGURES}\n"
    heads = ["law", "given", *INTERVALS, "target, percentiles", "a false reliable feature"]
    keys = ("given", *INTERVALS, "target, percentiles", "false reliable")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, row in found.items():
        cells = (None if row.get(key) is None else f"{100 * row[key]:.1f}" for key in keys)
        lines.append(f"| {name} | {' | '.join(cell or '' for cell in cells)} |")
    outside = sum(row["estimate outside"] * row["n"] for row in found.values())
    repetitions = min(row["n"] for row in found.values())
    note = f"({repetitions} repetitions or more of each law. Intervals that exclude their own estimate: {outside:.0f}.)"
    return "\n".join(["", *lines, "", note, ""])


def examples(saved: dict[str, Any]) -> str:
    """Mice and demo data: the sentences, and the tables of the mice."""
    lines = [""]
    mice = {f"mouse proteins, {name}": found for name, found in saved.get("mice", {}).items()}
    for name, found in {**saved["demo"], **mice}.items():
        lines += [f"**{name[0].upper()}{name[1:]}.** {found['sentence']}", ""]
        if "groups = mouse" in name:
            table = found["text"].split("\n\n")[1]
            lines += ["```text", *(line.rstrip() for line in table.splitlines()), "```", ""]
    return "\n".join(lines)


def newrows(saved: dict[str, Any]) -> str:
    """Predictions beside truths, and the mice."""
    found = saved["newrows"]
    heads = (
        "predicted / truth: median [90 %]",
        "extremes",
        "within a factor of 2",
        "so in the rows of the fit",
        "near, but far",
    )
    lines = [f"| | n | usable | {' | '.join(heads)} |", "|---" * (len(heads) + 3) + "|"]
    lines += [
        f"| {name} | {row['n']} | {100 * row['usable']:.0f} % | {row['median']:.2f} [{row['low']:.2f}, {row['high']:.2f}] | "
        f"{row['smallest']:.2f} to {row['largest']:.1f} | {100 * row['within 2']:.0f} % | "
        f"{100 * row['in rows, within 2']:.0f} % | {row['near, but far']} |"
        for name, row in found["table"].items()
    ]
    lines += ["", f"({found['n_fits']} fits of normal rows; n counts backgrounds.)"]
    if found.get("mice"):
        heads = ("in the rows of the fit", "predicted", "rows left out", "mice left out")
        lines += ["", f"| mouse proteins, UC1 in | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
        lines += [
            f"| {row['background']} | {row['in rows']:.2f} | {row['predicted']:.2f} | {row['rows left out']:.2f} | "
            f"{row['mice left out']:.1f} ± {row['error']:.1f} |"
            for row in found["mice"]
        ]
    return "\n".join(["", *lines, ""])


def draw_newrows(saved: dict[str, Any], path: Path) -> None:
    plt = pyplot()
    points = [[math.nan if value is None else value for value in point] for point in saved["points"]]
    ratios = [(truth / bound, expected / bound, own / bound) for expected, truth, bound, own in points if bound > 0]
    truth, expected, own = zip(*ratios, strict=True)
    figure, ax = plt.subplots(figsize=(5.4, 5.0), layout="constrained")
    ends = [0.2, 1.5 * max(truth)]
    ax.fill_between(ends, [e / 2 for e in ends], [2 * e for e in ends], color="#eeeeee", label="within a factor of 2")
    ax.plot(ends, ends, color="#333333", lw=0.7)
    ax.plot(truth, own, ".", color="#999999", ms=4, label="in the rows of the fit")
    ax.plot(truth, expected, ".", color=OURS, ms=5, label="predicted for new rows")
    ax.set(xscale="log", yscale="log", xlim=ends, xlabel="true variance / bound", ylabel="variance / bound")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper left", frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def option(saved: dict[str, Any]) -> str:
    """Simulated settings and real data: the plain fit beside the one that is held back."""
    found = saved.get("option")
    if not found:
        return "\n(not run yet)\n"
    simulated = {name: row for name, row in found.items() if not row.get("real")}
    real = {name: row for name, row in found.items() if row.get("real")}
    columns = {"background": "background / bound", "target": "target / optimum", "within": "target within the bound"}
    lines = _changes("simulated", simulated, {**columns, "cosine": "cosine to the optimum"})
    lines += ["", *_changes("real data, other half of the rows", real, {**columns, "target": "target"})]
    counts = {row["n"] for row in simulated.values()}
    halves = {row["n"] for row in real.values()}
    told = f"{', '.join(map(str, counts))} repetitions, {', '.join(map(str, halves))} random halves"
    return "\n".join(["", *lines, "", f"(Medians, plain → held back; {told}.)", ""])


def _changes(head: str, found: dict[str, Any], columns: dict[str, str]) -> list[str]:
    """A table of figures before and after."""
    lines = [f"| {head} | {' | '.join(columns.values())} |", "|---" * (len(columns) + 1) + "|"]
    for name, row in found.items():
        cells = (f"{row['rows'][what]:.3g} → {row['new rows'][what]:.3g}" for what in columns)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


MARKS: dict[str, Callable[[dict[str, Any]], str]] = {
    "levels": levels,
    "truths": truths,
    "limit": limit,
    "power": power,
    "number": number,
    "influence": influence,
    "coverage": coverage,
    "option": option,
    "examples": examples,
}


def draw_levels(saved: dict[str, Any], path: Path) -> None:
    plt = pyplot()
    names = list(saved)
    figure, ax = plt.subplots(figsize=(8.6, 0.34 * len(names) + 1.2), layout="constrained")
    shown = {"ours": (OURS, "o"), "F-test, one split": (PLAIN, "x"), "contrastive dimension": (OTHER, "+")}
    for way, (colour, marker) in shown.items():
        points = [(100 * saved[name][way]["rate"], i) for i, name in enumerate(names) if way in saved[name]]
        ax.plot(*zip(*points, strict=True), marker, color=colour, label=way, clip_on=False)
    ax.axvline(5, color="#333333", lw=0.9)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set(xlabel="rejections where nothing is unique, % (nominal 5)", xlim=(-1, 101))
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_power(saved: dict[str, Any], path: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(1, len(saved), figsize=(2.6 * len(saved), 2.9), layout="constrained", sharey=True)
    for ax, (n, curve) in zip(axes, saved.items(), strict=True):
        for way, (colour, line) in CURVES.items():
            ax.plot(
                [row["strength"] for row in curve],
                [100 * row[way]["rate"] for row in curve],
                line,
                color=colour,
                label=way,
            )
        ax.set(title=f"{n} rows each", xlabel="strength")
        ax.axhline(5, color="#333333", lw=0.7)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("rejections, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
