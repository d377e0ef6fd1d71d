"""Each group against all others, for people: the figure, the page and the command."""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from html import unescape

import numpy as np
import pytest

import uca
from uca import UCA, plotting

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install '.[plot]'")
pytest.importorskip("jinja2", reason="pages need Jinja2: pip install '.[report]'")
pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")
pytest.importorskip("typer", reason="the program needs Typer: pip install '.[cli]'")

import matplotlib.pyplot as plt
import pandas as pd
from commands import NAMES, SAME_FIT, SHARED, UNIQUE, good, run
from matplotlib.colors import to_hex

from uca.cli.each import FILES
from uca.plotting.groupwise import picture
from uca.report import each as page

plt.switch_backend("Agg")
NASTY = "</script><b>bold</b>&amp; $x_{$"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@cache
def table() -> pd.DataFrame:
    """Three groups, of which ``treated`` has a pattern of its own, and a small one; mice are told."""
    rng = np.random.default_rng(2)
    sizes = {"treated": 180, "control": 160, "vehicle": 170, "few": 4}
    n = sum(sizes.values())
    values = rng.normal(size=(n, 1)) * SHARED + rng.normal(size=(n, 6))
    values[:180] += 2 * rng.normal(size=(180, 1)) * UNIQUE
    frame = pd.DataFrame(values, columns=NAMES)
    frame.insert(0, "sample", [f"s{i}" for i in range(n)])
    return frame.assign(arm=np.repeat(list(sizes), list(sizes.values())), mouse=[f"m{i}" for i in np.arange(n) // 2])


@cache
def result(k=2) -> uca.Each:
    return uca.each(table()[NAMES], table()["arm"], n_components=k, n_splits=4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("all.csv", index=False)
    return tmp_path


# --- the figure ---------------------------------------------------------------------------------------------------------


def points(ax, marker, filled=True):
    lines = [line for line in ax.get_lines() if line.get_marker() == marker and len(line.get_xdata()) == 1]
    if marker == "o":
        lines = [line for line in lines if (to_hex(line.get_markerfacecolor()) != "#ffffff") == filled]
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in lines]


def test_figure_draws_the_numbers_of_the_table():
    ax = plotting.each(result())
    rows = result().table
    assert [x for x, _ in points(ax, "o")] == [row["target_variance"] for row in rows]
    assert [x for x, _ in points(ax, "o", filled=False)] == [row["background_variance"] for row in rows]
    known = [row["expected_variance"] for row in rows]
    assert [x for x, _ in points(ax, "|")] == [value for value in known if np.isfinite(value)]
    assert [label.get_text() for label in ax.get_yticklabels()] == [row["component"] for row in rows]
    written = [text.get_text() for text in ax.texts]
    assert {"control", "few", "treated", "vehicle", "not tested"} <= set(written)
    assert "gene2 +, gene3 +" in written or "gene3 +, gene2 +" in written
    assert ax.get_title() == "Each group against all others: unique components in 1 of 3 tested"


def test_figure_colours_what_is_unique():
    ax = plotting.each(result())
    bars = [line for line in ax.get_lines() if len(line.get_xdata()) == 2]
    unique = [row["verdict"] == "unique" for row in result().table]
    assert sum(unique) == 1
    assert [to_hex(line.get_color()) == plotting.PALETTE[0].lower() for line in bars] == unique
    assert [line.get_linestyle() == ":" for line in bars] == [row["p"] is None for row in result().table]


def test_figure_is_drawn_where_it_is_told_and_on_a_logarithmic_axis_where_needed():
    _, ax = plt.subplots()
    assert plotting.each(result(), ax=ax) is ax
    assert ax.get_xscale() == "linear"
    wide = table()[NAMES] * [100, 1, 1, 1, 1, 1]
    assert plotting.each(uca.each(wide, table()["arm"], test=False, model=UCA(scale=False))).get_xscale() == "log"


def test_figure_of_untested_and_nasty_names_draws():
    groups = table()["arm"].replace("treated", NASTY)
    names = [f"{NASTY} {i}" for i in range(6)]
    found = uca.each(table()[NAMES].to_numpy(), groups, feature_names=names, test=False, pooled=True)
    assert picture(found).startswith(b"\x89PNG")
    assert plotting.each(found).get_title() == "Each group against all others together: not tested"


def test_figure_refuses_other_results():
    with pytest.raises(TypeError, match=r"must be an Each, as uca\.each returns it; got dict"):
        plotting.each({})


# --- the page -----------------------------------------------------------------------------------------------------------


def text_of(path) -> str:
    html = path.read_text(encoding="utf-8")
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.S))).split())


def test_page_has_table_figure_features_and_certificates(tmp_path):
    path = result().report(tmp_path / "each.html", title="My groups")
    html, text = path.read_text(encoding="utf-8"), text_of(path)
    assert "<h1>My groups</h1>" in html
    assert result().sentence in text
    for group in result().groups:
        assert group.model.certificate_.brief in text
        for row in group.leading:
            for name, sign in row.signed:
                assert f"{name}\N{NO-BREAK SPACE}{sign}" in unescape(html)
    assert html.count("<article") == 4
    assert "4 rows: at least 8 are needed, four on each side of a split" in text
    assert re.search(r'src="data:image/png;base64,iVBOR', html)


def test_page_is_whole_and_has_no_script(tmp_path):
    html = page(result(), tmp_path / "each.html", made_on="2000-01-01").read_text(encoding="utf-8")
    assert "<script" not in html
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", html)
    assert "url(" not in html
    assert html == page(result(), tmp_path / "again.html", made_on="2000-01-01").read_text(encoding="utf-8")


def test_page_escapes_names(tmp_path):
    groups = table()["arm"].replace("treated", NASTY).rename(NASTY)
    names = [f"{NASTY} {i}" for i in range(6)]
    found = uca.each(table()[NAMES].to_numpy(), groups, feature_names=names, n_splits=2)
    html = page(found, tmp_path / "each.html", title=NASTY).read_text(encoding="utf-8")
    assert "<b>" not in html
    assert "</script>" not in html
    assert "&lt;/script&gt;&lt;b&gt;bold&lt;/b&gt;&amp;amp; $x_{$" in html


def test_page_without_matplotlib_says_so(tmp_path, monkeypatch):
    def gone(result):
        raise ImportError("plots need matplotlib: pip install 'unique-component-analysis[plot]'")

    monkeypatch.setattr("uca.plotting.groupwise.picture", gone)
    text = text_of(page(result(), tmp_path / "each.html"))
    assert "There is no figure: plots need matplotlib" in text


def test_page_refuses_other_results_and_folders(tmp_path):
    with pytest.raises(TypeError, match=r"must be an Each, as uca\.each returns it"):
        page({}, tmp_path / "each.html")
    with pytest.raises(IsADirectoryError, match="is a folder; give a file name"):
        page(result(), tmp_path)


# --- the command --------------------------------------------------------------------------------------------------------


def test_command_writes_table_figure_and_page(folder):
    told = good("each", "all.csv", "--by", "arm", "--drop", "mouse", "--splits", 4, "-o", "result")
    assert {path.name for path in (folder / "result").iterdir()} == set(FILES)
    with (folder / "result" / "each.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    wanted = result().table
    assert [(row["group"], row["component"], row["verdict"]) for row in rows] == [
        (row["group"], row["component"], row["verdict"]) for row in wanted
    ]
    for key in ("target_variance", "background_variance", "expected_variance"):
        np.testing.assert_allclose([float(row[key]) for row in rows], [row[key] for row in wanted], **SAME_FIT)
    adjusted = [row["p_adjusted"] or 0.0 for row in wanted]
    np.testing.assert_allclose([float(row["p_adjusted"] or 0) for row in rows], adjusted, **SAME_FIT)
    content = json.loads((folder / "result" / "each.json").read_text(encoding="utf-8"))
    assert content["sentence"] == result().sentence
    assert [group["n_unique"] for group in content["groups"]] == [0, None, 1, 0]
    assert content["groups"][1]["untested"].startswith("4 rows: at least 8")
    assert result().sentence in told.stdout
    assert "wrote result: each.json, each.csv, each.png, each.html" in told.stdout
    assert "Each of 4 groups against all others" in text_of(folder / "result" / "each.html")
    assert (folder / "result" / "each.png").read_bytes().startswith(b"\x89PNG")
    again = run("each", "all.csv", "--by", "arm", "--drop", "mouse", "-o", "result")
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_command_with_subjects_as_json(folder):
    options = ["--by", "arm", "--subjects", "mouse", "-k", 1, "--splits", 3, "--pooled", "--scale", "none", "--json"]
    content = json.loads(good("each", "all.csv", *options).stdout)
    by_hand = uca.each(
        table()[NAMES],
        table()["arm"],
        subjects=table()["mouse"],
        pooled=True,
        n_splits=3,
        model=UCA(1, scale=False),
    )
    for group, wanted in zip(content["groups"], by_hand.groups, strict=True):
        assert (group["name"], group["subjects"]) == (wanted.name, wanted.n_subjects)
        (component,) = group["components"]
        np.testing.assert_allclose(component["target_variance"], wanted.model.explained_variance_[0], **SAME_FIT)
        assert [part["feature"] for part in component["leading"]] == list(wanted.leading[0].names)
        if wanted.adjusted is not None:
            np.testing.assert_allclose(component["p_adjusted"], wanted.adjusted[0], **SAME_FIT)
    assert content["parameters"]["subjects"] == "mouse"


def test_command_completes_each_group_by_itself(folder):
    frame = table().drop(columns="mouse")
    frame.loc[0, "gene0"] = np.nan
    frame.to_csv("gaps.csv", index=False)
    refused = run("each", "gaps.csv", "--by", "arm", "--no-test")
    assert refused.exit_code == 1
    assert "(group 'treated') has 1 missing value" in refused.stderr
    assert "try: uca each gaps.csv --by arm --no-test --missing median" in refused.stderr
    content = json.loads(good("each", "gaps.csv", "--by", "arm", "--no-test", "--missing", "mean", "--json").stdout)
    own = frame["arm"] == "treated"
    frame.loc[0, "gene0"] = frame.loc[own, "gene0"].mean()
    by_hand = uca.each(frame[NAMES], frame["arm"], test=False)
    found = [part["target_variance"] for group in content["groups"] for part in group["components"]]
    np.testing.assert_allclose(found, [row["target_variance"] for row in by_hand.table], **SAME_FIT)
    em = json.loads(good("each", "gaps.csv", "--by", "arm", "--no-test", "--missing", "em", "--json").stdout)
    assert em["parameters"]["missing"] == "em"


def test_command_leaves_groups_of_one_row_out(folder):
    pd.concat([table(), table().head(1).assign(arm="alone")]).to_csv("all.csv", index=False)
    told = good("each", "all.csv", "--by", "arm", "--drop", "mouse", "--no-test")
    assert "note: left out of 'arm', with one row each: 'alone'" in told.stderr
    assert "Each of 4 groups" in told.stdout
    assert "No group was tested: any data has components, noise included." in told.stdout
    assert "Add -o DIR" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--by", "arn"], 2, "--by arn: all.csv has no such column; did you mean 'arm'?"),
        (["--by", "arn"], 2, "try: uca each all.csv --by arm"),
        (["--by", "arm", "--subjects", "mose"], 2, "try: uca each all.csv --by arm --subjects mouse"),
        (["--by", "sample"], 1, "column 'sample' has 0 groups with two rows or more, at least two are needed"),
        (["--by", "arm", "--subjects", "arm"], 2, "--subjects arm: --by names that column too"),
        (["--by", "arm", "--drop", "arm"], 2, "--by arm: --id or --drop names that column too"),
        (["--by", "arm", "--alpha", "2"], 2, "--alpha 2: choose a level between 0 and 1"),
        (["--by", "arm", "--jobs", "0"], 2, "--jobs 0: choose 1 or more"),
        (["--by", "arm", "--drop", "mouse", "-k", "7"], 1, "n_components"),
        (["--by", "arm", "-o", "all.csv"], 2, "all.csv is a file; name a folder with -o"),
    ],
)
def test_command_refuses(folder, arguments, code, told):
    refused = run("each", "all.csv", *arguments)
    assert refused.exit_code == code
    assert told in refused.stderr


def test_command_refuses_rows_without_a_group(folder):
    frame = table().copy()
    frame.loc[[3, 9], "arm"] = ""
    frame.to_csv("all.csv", index=False)
    refused = run("each", "all.csv", "--by", "arm")
    assert refused.exit_code == 1
    assert (
        "has 2 rows without a value in column 'arm' (--by): give every row a group, or leave such rows out"
        in refused.stderr
    )


def test_help_has_examples():
    assert "uca each all.csv --by group -o groups" in " ".join(good("each", "--help").stdout.split())
