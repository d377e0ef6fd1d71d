"""Tables and figure of docs/real-data.md, from what is saved in docs/real.json."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.pages import between
from scipy import stats

from .methods import METHODS, RUNS, SCALES, SLOW, named
from .scoring import LEVEL
from .summary import DECIDES

Saved = dict[str, Any]

NONE = "\N{EN DASH}"
BY_UNITS = "by units"

COLUMNS = ("AUC on 1", "AUC on 2", "AUC on 5", "ARI on 1", "ARI on 2", "ARI on 5")
DRAWN = {
    "PCA": ("#999999", "o"),
    "cPCA, automatic": ("#E69F00", "s"),
    "cPCA++, shrinkage .1": ("#D55E00", "D"),
    "gcPCA v4": ("#CC79A7", "v"),
    "UCA": ("#0072B2", "o"),
    "UCA, own means": ("#56B4E9", "^"),
}


def write(saved: Saved, docs: Path) -> None:
    page = docs / "real-data.md"
    page.write_text(renewed(page.read_text(), saved))
    draw(saved, docs / "images" / "real-data.svg")


def renewed(text: str, saved: Saved) -> str:
    """The page with its tables made anew."""
    for mark, make in MARKS.items():
        text = between(text, mark, f"\n{make(saved)}\n")
    return text


def overview(saved: Saved) -> str:
    """What is printed after a run."""
    return "\n\n".join(make(saved) for make in MARKS.values())


def runs_of(saved: Saved, run: str) -> dict[str, Saved]:
    """What a method found, by setting; without the settings where it cannot run."""
    found = {name: setting["runs"].get(by_units(run, setting["units"])) for name, setting in saved["settings"].items()}
    return {name: one for name, one in found.items() if one is not None}


def by_units(run: str, units: str) -> str:
    """The run that stands for a method whose scaling goes by units; other runs stand for themselves."""
    return run.replace(BY_UNITS, "unscaled" if units == "common" else "scaled")


def everywhere(saved: Saved) -> list[str]:
    """Settings where every method runs."""
    names = set(saved["settings"])
    for run in RUNS:
        names &= set(runs_of(saved, run))
    return [name for name in saved["settings"] if name in names]


def overall(saved: Saved) -> str:
    """Means over settings, a row for each method and scaling."""
    shared, n = everywhere(saved), len(saved["settings"])
    heads = ("method", *COLUMNS, f"AUC on 2, {len(shared)} settings where all run", "settings")
    lines = [head(heads)]
    for run in [*RUNS, *(named(method, BY_UNITS) for method in METHODS)]:
        found = runs_of(saved, run)
        if not found:
            continue
        means = [number(np.mean([one[column][0] for one in found.values()])) for column in COLUMNS]
        if len(found) < n:
            means = [NONE] * len(COLUMNS)
        fair = [found[name][DECIDES][0] for name in shared]
        lines.append(row(run, *means, number(np.mean(fair)) if fair else NONE, len(found)))
    return "\n".join(lines)


def against(saved: Saved) -> str:
    """Who is ahead, by the figure that decides: in how many settings, and by how much on average."""
    heads = ("method", "best in", "as good as the best in", "ahead of PCA", "clearly ahead : behind")
    lines = [head((*heads, "ahead of UCA", "clearly ahead : behind"))]
    for run in RUNS:
        found = runs_of(saved, run)
        best = sum(setting["best"] == run for setting in saved["settings"].values())
        close = sum(not clear(one["behind the best"]) for one in found.values())
        cells = []
        for other in ("PCA", "UCA"):
            pairs = [one[f"ahead of {other}"] for one in found.values() if f"ahead of {other}" in one]
            itself = run.startswith(f"{other}, ") and RUNS[run][0] == other and RUNS[run][1] in SCALES.values()
            cells += ["", ""] if itself else [over_settings(pairs), tally(pairs)]
        lines.append(row(run, best or "", f"{close} of {len(found)}", *cells))
    return "\n".join(lines)


def clear(pair: list[float | None]) -> int:
    """1 or -1 where the interval of a difference excludes 0, else 0; a difference without spread counts by its sign."""
    mean, half = pair
    return int(np.sign(mean)) if mean is not None and abs(mean) > (half or 0.0) else 0


def tally(pairs: Iterable[list[float | None]]) -> str:
    signs = [clear(pair) for pair in pairs]
    return f"{signs.count(1)} : {signs.count(-1)}"


def over_settings(pairs: list[list[float | None]]) -> str:
    """Mean over settings and half the width of its interval, by Student's t."""
    means = np.array([pair[0] for pair in pairs], dtype=float)
    if len(means) < 2:
        return ""
    half = stats.t.ppf((1 + LEVEL) / 2, len(means) - 1) * means.std(ddof=1) / np.sqrt(len(means))
    return f"{means.mean():+.3f} ± {half:.3f}"


def by_setting(saved: Saved) -> str:
    """The figure that decides, by setting: one table for each scaling, the best of both in bold."""
    return "\n\n".join(_by_setting(saved, scale) for scale in SCALES)


def _by_setting(saved: Saved, scale: str) -> str:
    lines = [f"AUC on 2 components, {scale}:", "", head(("setting", *METHODS))]
    for name, setting in saved["settings"].items():
        cells = []
        for method in METHODS:
            one = setting["runs"].get(named(method, scale))
            told = NONE if one is None else f"{number(one[DECIDES][0])} ± {number(one[DECIDES][1])}"
            good = one is not None and not clear(one["behind the best"])
            cells.append(f"**{told}**" if good else told)
        lines.append(row(name, *cells))
    return "\n".join(lines)


def shapes(saved: Saved) -> str:
    """Sizes of the settings."""
    lines = [head(("setting", "target rows", "held out", "features", "background rows", "labels", "units"))]
    for name, one in saved["settings"].items():
        units = f"by group, of {one['groups']}" if one["groups"] < one["rows"] else "by row"
        rows = " + ".join(map(str, one["backgrounds"].values()))
        lines.append(row(name, one["rows"], units, one["features"], rows, one["labels"], one["units"]))
    slow = ", ".join(f"{method}: the first {n}" for method, n in SLOW.items())
    lines += ["", f"{saved['splits']} splits ({slow}). Sizes are those of the last."]
    lines += [f"Skipped: {name}: {reason}." for name, reason in saved["skipped"].items()]
    return "\n".join(lines)


def scaling(saved: Saved) -> str:
    """Unscaled against scaled, by the units of the features."""
    lines = [head(("method", "common units: unscaled ahead by", "clearly : behind", "mixed units", "clearly : behind"))]
    for method in METHODS:
        cells = []
        for units in ("common", "mixed"):
            found = runs_of(saved, named(method, "scaled"))
            pairs = [
                one["unscaled ahead of scaled"]
                for name, one in found.items()
                if saved["settings"][name]["units"] == units and "unscaled ahead of scaled" in one
            ]
            cells += [over_settings(pairs), tally(pairs)]
        lines.append(row(method, *cells))
    target = runs_of(saved, "UCA, scaled by the target")
    pairs = [one["ahead of UCA"] for one in target.values()]
    told = f'`UCA(scale="target")` against `scale=True`: {over_settings(pairs)}, clearly ahead : behind {tally(pairs)}.'
    return "\n".join([*lines, "", told])


def clustering(saved: Saved) -> str:
    """What dividing scores by their SDs does to k-means."""
    lines = [head(("scores", "1 component", "2", "5"))]
    for told, metric in (("each divided by its SD (`whiten=True`)", "ARI"), ("as they are", "ARI, raw")):
        means = [
            np.mean([one[f"{metric} on {k}"][0] for run in RUNS for one in runs_of(saved, run).values()])
            for k in (1, 2, 5)
        ]
        lines.append(row(told, *map(number, means)))
    return "\n".join(lines)


def reasons(saved: Saved) -> str:
    """Where a method could not run, and why."""
    told: dict[str, list[str]] = {}
    for name, setting in saved["settings"].items():
        for run, reason in setting["reasons"].items():
            short = reason.split(": ", 1)[-1].split(" (rank")[0].split(", so")[0]
            told.setdefault(f"{run}: {short}", []).append(name)
    return "\n".join(f"- {key}. {len(names)} settings: {', '.join(names)}." for key, names in told.items())


def head(names: Iterable[Any]) -> str:
    names = list(names)
    return f"{row(*names)}\n{'|---' * len(names)}|"


def row(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def number(value: float | None) -> str:
    """Two digits, without the 0 before the point."""
    return "?" if value is None else f"{value:.2f}".replace("0.", ".", 1)


MARKS = {
    "shapes": shapes,
    "overall": overall,
    "against": against,
    "scaling": scaling,
    "clustering": clustering,
    "by setting": by_setting,
    "reasons": reasons,
}


def draw(saved: Saved, path: Path) -> None:
    """A row a setting, a panel a scaling: AUC on two components with its interval."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(saved["settings"])
    with plt.rc_context({"svg.hashsalt": "uca", "svg.fonttype": "none"}):
        figure, axes = plt.subplots(
            1, 2, figsize=(10, 0.5 * len(names) + 1.2), layout="constrained", sharex=True, sharey=True
        )
        for ax, scale in zip(axes, SCALES, strict=True):
            for i, (method, (colour, marker)) in enumerate(DRAWN.items()):
                found = runs_of(saved, named(method, scale))
                places = [names.index(name) + 0.13 * (i - (len(DRAWN) - 1) / 2) for name in found]
                means = np.array([one[DECIDES] for one in found.values()], dtype=float)
                ax.errorbar(
                    *(means[:, 0], places),
                    xerr=np.nan_to_num(means[:, 1]),
                    **{"fmt": marker, "color": colour, "ms": 4, "lw": 0.8, "label": method},
                )
            ax.set(title=scale, xlabel="AUC of held-out rows, two components", xlim=(0.2, 1.02))
            ax.set_yticks(range(len(names)), names)
            ax.axvline(0.5, color="#333333", lw=0.7)
            ax.spines[["top", "right"]].set_visible(False)
            for line in range(len(names) - 1):
                ax.axhline(line + 0.5, color="#dddddd", lw=0.6)
        axes[0].set_ylim(len(names) - 0.5, -0.5)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(DRAWN), frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
