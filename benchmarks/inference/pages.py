"""The study's figures as tables and plots of docs/inference.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.pages import between

OURS, PLAIN, OTHER = "#0072B2", "#D55E00", "#009E73"
COUNTING = "ours, counting"
WAYS = ("ours", COUNTING, "one split", "twice the median", "F-test, one split", "contrastive dimension")
CURVES = {"ours": (OURS, "-"), "F-test, one split": (PLAIN, "--"), "contrastive dimension": (OTHER, ":")}


def write(saved: dict[str, Any], docs: Path) -> None:
    page = docs / "inference.md"
    page.write_text(renewed(page.read_text(), saved))
    draw_levels(saved["levels"], docs / "images" / "inference-levels.png")
    draw_power(saved["power"], docs / "images" / "inference-power.png")


def renewed(text: str, saved: dict[str, Any]) -> str:
    """The page with its tables made anew."""
    for mark, make in (
        ("levels", levels),
        ("power", power),
        ("number", number),
        ("examples", examples),
        ("option", option),
    ):
        text = between(text, mark, make(saved))
    return text


def percent(found: dict[str, Any], way: str) -> str:
    return f"{100 * found[way]['rate']:.1f}" if way in found else ""


def levels(saved: dict[str, Any]) -> str:
    """Rejections in percent, a row a setting."""
    counted = saved.get("counting", {})
    settings = {
        name: {**found, **({COUNTING: counted[name]} if name in counted else {})}
        for name, found in saved["levels"].items()
    }
    lines = [f"| nothing is unique | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(percent(found, way) for way in WAYS)} |" for name, found in settings.items()]
    counts = {way: max((found[way]["n"] for found in settings.values() if way in found), default=0) for way in WAYS}
    told = "; ".join(f"{way}: {n}" for way, n in counts.items())
    return "\n".join(["", *lines, "", f"(Repetitions: {told}.)", ""])


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
        f"Time of one test with 100 + 100 rows and 1 000 features, medians in one run: {seconds['ours']:.2g} s, "
        f"{seconds['peer']:.3g} s for the contrastive dimension with 1 000 resamples (ratio {ratio:.0f}). Memory beside the "
        f"{seconds['input_mb']:.1f} MB of input: {seconds['ours_mb']:.0f} and {seconds['peer_mb']:.0f} MB.",
    ]
    return "\n".join(["", *lines, ""])


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
