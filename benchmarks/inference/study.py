"""Is the test of uniqueness right? Levels, power, number of components, time, and what it says of real data.

Run with ``make study`` (an hour and a half on two cores; ``--quick`` takes minutes, ``--only PART`` one part). Without
options it prints; with ``--save`` the figures go to docs/inference.json, the tables into docs/inference.md and the plots
to docs/images.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import Figures, compare, in_fresh_process
from joblib import Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

from uca import UCA, pool
from uca.datasets import DataNotFoundError, digits_on_grass, digits_on_grass_and_brick, load_mice
from uca.inference import estimate_n_components, uniqueness_test
from uca.inference.halvings import AUTO, measure
from uca.inference.number import MOST_COUNTED
from uca.inference.parameters import seed_of
from uca.inference.sample import check_sample
from uca.inference.uniqueness import conclude, model_of_halves
from uca.reproduce.mice import BACKGROUNDS

from . import coverage, newrows, option
from .influences import part as influence
from .known import Known
from .laws import NULLS, Draw, planted
from .pages import write
from .rivals import contrastive_dimension, f_test, twice_median
from .sceptic import CAUTIONED, HOLDS
from .truths import intervals, limit, second, seeds

ROOT = Path(__file__).resolve().parents[2]
SAVED = ROOT / "docs" / "inference.json"
LEVEL = 0.05
POWER = {  # rows of each dataset: strengths
    50: (1.0, 2.0, 3.0, 3.5, 3.7, 4.0, 5.0),
    100: (1.0, 1.5, 2.0, 2.5, 3.0, 4.0),
    200: (1.0, 1.5, 1.8, 1.9, 2.0, 2.5, 3.0),
    500: (0.75, 1.0, 1.3, 1.35, 1.38, 1.4, 1.5, 2.0),
    1000: (0.75, 1.0, 1.1, 1.15, 1.2, 1.25, 1.5),
}


SEVERAL = {2: (2.0, 2.5, 3.0, 4.0), 5: (2.5, 3.0, 4.0, 5.0)}  # backgrounds of 100 rows: strengths


def all_ways(draw: Draw, seed: int, *, rivals: bool) -> dict[str, Any]:
    """p-values for "nothing is unique", ours and the others' on the same data, and whether our result has a caution."""
    sample = check_sample(draw.target, draw.backgrounds, draw.groups)
    model = model_of_halves(UCA(scale=draw.scale), 1, sample)
    halves = measure(sample, model, AUTO, LEVEL, seed_of(seed))
    test, z = conclude(sample, halves, model, LEVEL), halves.z
    rng = np.random.default_rng(seed)
    pvalues = {
        "ours": float(test.pvalues[0]),
        "one split": float(stats.norm.sf(z[0, :, 0]).max()),
        "twice the median": twice_median(z[:, :, 0]),
    }
    if len(draw.backgrounds) == 1:
        pvalues["F-test, one split"] = f_test(draw.target, draw.backgrounds[0], rng)
    if rivals:
        pvalues["contrastive dimension"] = contrastive_dimension(
            draw.target, pool(*draw.backgrounds), rng, resamples=100
        ).pvalue
    cautioned = bool(test.rows.heavier.any() or test.rows.dependent[:, 0].any())
    return {"p": pvalues, "mean z": float(z[:, 0, 0].mean()), "cautioned": cautioned, "halvings": test.n_splits}


def repetition(law: Callable[[np.random.Generator], Draw], seed: int, rivals: bool) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return all_ways(law(np.random.default_rng([seed, 1])), seed, rivals=rivals)


def rates(law: Callable[[np.random.Generator], Draw], n: int, n_rivals: int) -> dict[str, Any]:
    """Share of repetitions in which each way rejects, at both levels, and what else is told of them."""
    found = Parallel(n_jobs=-1)(delayed(repetition)(law, i, i < n_rivals) for i in range(n))
    ways = dict.fromkeys(way for row in found for way in row["p"])
    out: dict[str, Any] = {}
    for way in ways:
        p = np.array([row["p"][way] for row in found if way in row["p"]])
        out[way] = {"rate": float(np.mean(p <= LEVEL)), "rate at 1 %": float(np.mean(p <= 0.01)), "n": len(p)}
    out["ours"]["5 % quantile of p"] = float(np.quantile([row["p"]["ours"] for row in found], LEVEL))
    out["cautioned"] = float(np.mean([row["cautioned"] for row in found]))
    out["halvings"] = float(np.mean([row["halvings"] for row in found]))
    out["variance of mean z"] = float(np.var([row["mean z"] for row in found]))
    return out


def levels(scale: float, known: Known) -> dict[str, Any]:
    laws = {**NULLS, **HOLDS, **CAUTIONED}
    for name, law in laws.items():
        if name not in known:
            compared = max(10, round(40 * scale)) if name in NULLS else 0
            known[name] = {**rates(law, max(20, round(1000 * scale)), compared), "cautious": name in CAUTIONED}
            show(name, known[name])
    return {name: known[name] for name in laws}


def any_counted(law: Callable[[np.random.Generator], Draw], seed: int) -> bool:
    """Whether ``estimate_n_components`` finds any, by its test alone."""
    draw = law(np.random.default_rng([seed, 1]))
    test = uniqueness_test(
        draw.target,
        draw.backgrounds,
        n_components=min(MOST_COUNTED, draw.target.shape[1]),
        groups=draw.groups,
        alpha=LEVEL,
        random_state=seed,
        order="contrast",
    )
    return test.n_unique_ > 0


def counting(scale: float, known: Known) -> dict[str, Any]:
    """Share of repetitions in which components are counted though none is unique."""
    for name, law in NULLS.items():
        if name not in known:
            n = max(20, round(400 * scale))
            found = Parallel(n_jobs=-1)(delayed(any_counted)(law, i) for i in range(n))
            known[name] = {"rate": float(np.mean(found)), "n": n}
            print(f"{name:<46} counted at least one: {known[name]['rate']:.3f}", flush=True)
    return {name: known[name] for name in NULLS}


def power(scale: float, known: Known) -> dict[str, Any]:
    """Rejections against strength, for growing n."""
    for n, strengths in POWER.items():
        known[str(n)] = power_curve(scale, strengths, known.get(str(n), []), n=n)
    return dict(known)


def several(scale: float, known: Known) -> dict[str, Any]:
    """The same for several backgrounds."""
    for m, strengths in SEVERAL.items():
        known[str(m)] = power_curve(scale, strengths, known.get(str(m), []), n=100, m=m)
    return dict(known)


def power_curve(scale: float, strengths: Sequence[float], before: list[Any], **setting: int) -> list[Any]:
    """A point a strength; those that are known are kept."""
    curve = {row["strength"]: row for row in before}
    for strength in strengths:
        if strength not in curve:
            law = partial(planted, p=20, strength=strength, **setting)
            found = rates(law, max(10, round(150 * scale)), max(5, round(40 * scale)))
            show(f"{setting}, strength {strength}", found)
            curve[strength] = {"strength": strength, **found}
    return [curve[strength] for strength in strengths]


def show(name: str, found: dict[str, Any]) -> None:
    told = "  ".join(f"{way} {value['rate']:.3f}" for way, value in found.items() if isinstance(value, dict))
    more = f"ours at 1 % {found['ours']['rate at 1 %']:.3f}  cautioned {found['cautioned']:.2f}"
    print(f"{name:<46} {told}  {more}  var(mean z) {found['variance of mean z']:.2f}", flush=True)


def count_once(seed: int, directions: int, m: int) -> tuple[int, int, int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw = planted(np.random.default_rng([seed, 2]), n=300, p=30, strength=3.5, directions=directions, m=m)
        found = estimate_n_components(draw.target, draw.backgrounds, max_components=8, random_state=seed)
        other = contrastive_dimension(
            draw.target, pool(*draw.backgrounds), np.random.default_rng(seed), resamples=1
        ).dimension
    return found.n_components_, found.n_screened_, other


def number(scale: float, known: Known) -> dict[str, Any]:
    """Estimates for 0 to 5 planted directions, with one background and with two."""
    out: dict[str, Any] = {}
    for m in (1, 2):
        n = max(5, round(60 * scale))
        found = {
            directions: Parallel(n_jobs=-1)(delayed(count_once)(i, directions, m) for i in range(n))
            for directions in range(6)
        }
        for way, i in (("test", 0), ("screening", 1), ("contrastive dimension", 2)):
            counts = {d: np.bincount([row[i] for row in rows], minlength=12).tolist() for d, rows in found.items()}
            error = np.mean([abs(row[i] - d) for d, rows in found.items() for row in rows])
            out.setdefault(way, {})[f"{m} background{'s' * (m > 1)}"] = {"error": float(error), "counts": counts}
            print(f"number of components, {m} background(s), {way}: mean absolute error {error:.2f}", flush=True)
    return out


def one_test(repeats: int) -> Figures:
    """One test with p = 1 000, ours and the contrastive dimension's with 1 000 resamples, on one BLAS thread."""
    draw = planted(np.random.default_rng(0), n=100, p=1000, strength=8.0)
    threadpool_limits(1)  # of this process, which does nothing else
    return compare(
        lambda: uniqueness_test(draw.target, draw.backgrounds, n_components=1),
        {
            "contrastive dimension": lambda: contrastive_dimension(
                draw.target, draw.backgrounds[0], np.random.default_rng(0), resamples=1000
            )
        },
        sum(rows.nbytes for rows in (draw.target, *draw.backgrounds)) / 2**20,
        repeats,
    )


def timing(scale: float, known: Known) -> dict[str, Any]:
    """Seconds and memory of one test, medians in one run."""
    figures = in_fresh_process(one_test, 3 if scale >= 1 else 1)
    ours, (peer,) = figures.ours, figures.peers.values()
    found = {"ours": ours.seconds, "peer": peer.seconds, "ours_mb": ours.mb, "peer_mb": peer.mb}
    found["input_mb"] = figures.input_mb
    print(f"p = 1 000, 100 + 100 rows: {found}, ratio {peer.seconds / ours.seconds:.1f}", flush=True)
    return found


def mice(scale: float, known: Known) -> dict[str, Any] | None:
    """Both analyses of the paper, with and without subjects."""
    try:
        data = load_mice()
    except (DataNotFoundError, OSError) as error:
        print(f"mouse proteins: {error}")
        return None
    out = {}
    analyses = {
        "one background": (("c-SC-s", "t-SC-s"), ("c-CS-s",)),
        "three backgrounds": (("c-CS-s", "t-CS-s"), BACKGROUNDS),
    }
    for name, (target, backgrounds) in analyses.items():
        groups = [data.labels(*classes)[1] for classes in (target, *((b,) for b in backgrounds))]
        tables = {b: data.rows(b) for b in backgrounds}
        for told, given in (("groups = mouse", groups), ("no groups (wrong here)", None)):
            test = uniqueness_test(data.rows(*target), tables, groups=given, n_components=3)
            print(f"mice, {name}, {told}\n{test}\n", flush=True)
            out[f"{name}, {told}"] = {"text": str(test), "sentence": test.sentence, "n_unique": test.n_unique_}
    return out


def demo(scale: float, known: Known) -> dict[str, Any]:
    """Digits under textures, and textures alone, as targets."""
    out = {}
    digits, both = digits_on_grass(), digits_on_grass_and_brick()
    plain = digits_on_grass(random_state=1, n_background=2 * len(digits.target)).backgrounds["grass"]
    cases: dict[str, tuple[Any, Any]] = {
        "digits over grass against grass": (digits.target, digits.backgrounds),
        "grass alone against grass": (plain[: len(digits.target)], digits.backgrounds),
        "digits over grass and brick against 150 grass, 1850 brick": (both.target, both.backgrounds),
        "digits over grass and brick against 2000 grass, 1850 brick": (
            both.target,
            digits_on_grass_and_brick(n_grass=2000).backgrounds,
        ),
    }
    for name, (target, backgrounds) in cases.items():
        test = uniqueness_test(target, backgrounds, n_components=3)
        print(f"{name}\n{test}\n", flush=True)
        out[name] = {"text": str(test), "sentence": test.sentence, "n_unique": test.n_unique_}
    return out


PARTS: dict[str, Callable[[float, Known], Any]] = {
    "levels": levels,
    "counting": counting,
    "second": second,
    "intervals": intervals,
    "seeds": seeds,
    "limit": limit,
    "power": power,
    "several": several,
    "number": number,
    "influence": influence,
    "coverage": coverage.part,
    "timing": timing,
    "mice": mice,
    "demo": demo,
    "newrows": newrows.part,
    "option": option.part,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions; not with --save")
    parser.add_argument("--only", action="append", choices=PARTS, help="run this part; may be repeated")
    parser.add_argument("--save", action="store_true", help="renew docs/inference.json, docs/inference.md and plots")
    parser.add_argument("--resume", action="store_true", help="keep levels, counting and curves of docs/inference.json")
    options = parser.parse_args(arguments)
    if options.quick and options.save:
        parser.error("--quick figures are too rough to be saved")
    saved = json.loads(SAVED.read_text()) if SAVED.exists() else {}

    def keep(name: str, found: Any) -> None:
        saved[name] = found
        if options.save:
            SAVED.write_text(json.dumps(saved, indent=1) + "\n")

    for name in options.only or PARTS:
        started = time.perf_counter()
        known = Known(saved.get(name, {}) if options.resume else {}, partial(keep, name))
        found = PARTS[name](0.1 if options.quick else 1.0, known)
        print(f"({name}: {time.perf_counter() - started:.0f} s)\n", flush=True)
        if found is not None:
            keep(name, found)
    if options.save:
        write(saved, ROOT / "docs")


if __name__ == "__main__":
    main()
