"""``uca.each``: numbers of hand-made fits and tests, adjusted p-values, groups that cannot be compared, what is refused."""

from __future__ import annotations

from functools import cache
from itertools import chain, combinations

import numpy as np
import pytest
from scipy import sparse

import uca
from uca import UCA, SparseUCA
from uca.groupwise.holm import across_groups, holm
from uca.inference import choose_restriction, expected_background_variance, uniqueness_test

# A worker, and a fit here, may add blocks in another order. Fits are exact to 1e-9 in the value.
SAME = {"rtol": 1e-6, "atol": 1e-8}
NAMES = ["a", "b", "c"]
SIZES = (70, 60, 80)
GROUPS = np.repeat(NAMES, SIZES)
SHARED, OWN = np.array([2.0, 2, 0, 0, 0, 0]), np.array([0, 0, 4.0, 4, 0, 0])


@cache
def rows() -> np.ndarray:
    """Three groups that share a pattern; the first has one of its own."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(sum(SIZES), 1)) * SHARED + rng.normal(size=(sum(SIZES), 6))
    X[: SIZES[0]] += rng.normal(size=(SIZES[0], 1)) * OWN
    return X


def parts(X=None, groups=GROUPS, names=NAMES):
    X = rows() if X is None else X
    return {name: X[groups == name] for name in names}


def others(name, own):
    return {key: value for key, value in own.items() if key != name}


@cache
def compared() -> uca.Each:
    return uca.each(rows(), GROUPS, n_splits=4)


# --- the same as by hand ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_models_and_tests_are_those_made_by_hand(name):
    own = parts()
    model = UCA().fit(own[name], backgrounds=others(name, own))
    test = uniqueness_test(own[name], others(name, own), n_components=2, n_splits=4, alpha=0.05 / 3, model=UCA())
    found = compared()[name]
    np.testing.assert_allclose(found.model.components_, model.components_, **SAME)
    np.testing.assert_allclose(found.model.background_variance_, model.background_variance_, **SAME)
    np.testing.assert_allclose(found.expected, model.expected_background_variance_, **SAME)
    np.testing.assert_allclose(found.test.pvalues, test.pvalues, **SAME)
    np.testing.assert_allclose(found.test.variances, test.variances, **SAME)
    assert found.test.alpha == test.alpha
    assert list(found.backgrounds) == [key for key in NAMES if key != name] == list(model.background_names_)


def test_pooled_backgrounds_are_stacked():
    own = parts()
    found = uca.each(rows(), GROUPS, pooled=True, n_components=1, n_splits=3, random_state=7)["b"]
    background = {"all others": np.vstack([own["a"], own["c"]])}
    model = UCA(1).fit(own["b"], backgrounds=background)
    test = uniqueness_test(own["b"], background, n_components=1, n_splits=3, alpha=0.05 / 3, random_state=7)
    np.testing.assert_allclose(found.model.components_, model.components_, **SAME)
    np.testing.assert_allclose(found.test.pvalues, test.pvalues, **SAME)
    assert found.backgrounds == ("a", "c")


@pytest.mark.parametrize("pooled", [False, True])
def test_subjects_stay_together(pooled):
    """Each subject has rows in all groups; labels go to each dataset in its order, and new rows are new subjects."""
    subjects = np.concatenate([np.arange(n) % 12 for n in SIZES])
    own, told = parts(), parts(subjects)
    found = uca.each(rows(), GROUPS, subjects=[f"s{i}" for i in subjects], pooled=pooled, n_components=1, n_splits=3)[
        "a"
    ]
    background, labels = others("a", own), [told["a"], told["b"], told["c"]]
    if pooled:
        background = {"all others": np.vstack([own["b"], own["c"]])}
        labels = [told["a"], np.concatenate([told["b"], told["c"]])]
    test = uniqueness_test(own["a"], background, n_components=1, n_splits=3, alpha=0.05 / 3, groups=labels)
    left_out = expected_background_variance(own["a"], background, n_components=1, groups=labels, model=UCA(1))
    np.testing.assert_allclose(found.test.pvalues, test.pvalues, **SAME)
    np.testing.assert_allclose(found.expected, left_out.expected, **SAME)
    assert (found.n_subjects, found.test.grouped) == (12, True)


def test_parameters_are_the_model_s():
    model = UCA(3, scale=False, bound=2.0, components="sequential")
    found = uca.each(rows(), GROUPS, model=model, test=False)
    by_hand = UCA(3, scale=False, bound=2.0, components="sequential").fit(
        parts()["c"], backgrounds=others("c", parts())
    )
    np.testing.assert_allclose(found["c"].model.components_, by_hand.components_, **SAME)
    assert not hasattr(model, "components_")  # the one given is not touched
    assert [len(group.table) for group in found] == [3, 3, 3]


def test_sparse_components():
    found = uca.each(rows(), GROUPS, model=SparseUCA(1, n_nonzero=2, proof="none"), test=False)
    by_hand = SparseUCA(1, n_nonzero=2, proof="none").fit(parts()["a"], backgrounds=others("a", parts()))
    np.testing.assert_array_equal(found["a"].model.support_, by_hand.support_)
    assert set(found["a"].leading[0].names) == {f"x{i}" for i in np.flatnonzero(by_hand.components_[0])}


def test_missing_values_are_left_to_the_model():
    X = rows().copy()
    X[np.random.default_rng(0).random(X.shape) < 0.04] = np.nan
    X[0] = np.nan  # a row without a value
    found = uca.each(X, GROUPS, model=UCA(1, missing="em"), n_splits=2)["a"]
    own = parts(X)
    with pytest.warns(UserWarning, match="1 row of target X without any value"):
        model = UCA(1, missing="em").fit(own["a"], backgrounds=others("a", own))
    assert any("1 row of target X without any value" in text for text in found.warnings)
    test = uniqueness_test(own["a"], others("a", own), n_components=1, n_splits=2, model=model, alpha=0.05 / 3)
    np.testing.assert_allclose(found.model.components_, model.components_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.test.pvalues, test.pvalues, rtol=1e-4)
    assert (found.n_rows, found.n_subjects) == (70, 69)
    assert found.table[0]["expected_variance"] is None


def test_bound_for_new_rows_is_chosen_by_subject():
    subjects = np.concatenate([np.arange(n) // 3 for n in SIZES])
    model = UCA(1, bound_on="new rows")
    found = uca.each(rows(), GROUPS, subjects=subjects, model=model, test=False)["a"]
    own, told = parts(), parts(subjects)
    chosen = choose_restriction(own["a"], others("a", own), groups=[told[name] for name in NAMES], model=model)
    assert (found.model.bound_on.n_leading, found.model.bound_on.factor) == (chosen.n_leading, chosen.factor)


# --- containers and workers ---------------------------------------------------------------------------------------------


def same(one: uca.Each, other: uca.Each, **tolerance) -> None:
    for a, b in zip(one.groups, other.groups, strict=True):
        assert (a.name, a.failed, a.untested) == (b.name, b.failed, b.untested)
        np.testing.assert_allclose(a.model.components_, b.model.components_, **tolerance)
        if a.test is not None:
            np.testing.assert_allclose(a.test.pvalues, b.test.pvalues, **tolerance)
            np.testing.assert_allclose(a.adjusted, b.adjusted, **tolerance)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, lambda X: X.tolist(), np.asfortranarray])
def test_containers_give_the_same(kind):
    same(uca.each(kind(rows()), GROUPS, n_splits=4), compared(), **SAME)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_tables_name_features_and_groups(package):
    library = pytest.importorskip(package, reason="pip install pandas polars")
    table = library.DataFrame({f"gene{i}": rows()[:, i] for i in range(6)})
    found = uca.each(table, library.Series(GROUPS.tolist()).rename("arm"), n_splits=4)
    same(found, compared(), **SAME)
    assert list(found.models["a"].feature_names_in_) == list(table.columns)
    assert set(found["a"].leading[0].names) == {"gene2", "gene3"}
    assert found.grouped_by == "arm"


def test_feature_names_of_an_array():
    found = uca.each(sparse.csr_array(rows()), GROUPS, feature_names=list("uvwxyz"), test=False)
    assert set(found["a"].leading[0].names) == {"w", "x"}


def test_dask_is_fitted_and_not_tested():
    da = pytest.importorskip("dask.array", reason="pip install 'unique-component-analysis[dask]'")
    X = da.from_array(rows(), chunks=(50, 6))
    same(uca.each(X, GROUPS, test=False), uca.each(rows(), GROUPS, test=False), **SAME)
    with pytest.raises(TypeError, match=r"need rows in memory: pass X\.compute\(\), or test=False"):
        uca.each(X, GROUPS)


def test_workers_do_not_change_the_answer():
    same(uca.each(rows(), GROUPS, n_splits=4, n_jobs=2), compared(), rtol=0, atol=0)
    large = np.random.default_rng(0).normal(size=(1500, 100))  # arrays that joblib maps into its workers
    large[:700] *= np.linspace(1, 3, 100)
    groups = np.repeat([1, 2], [1300, 200])
    one, two = (uca.each(large, groups, test=False, n_jobs=n) for n in (None, 2))
    same(one, two, rtol=0, atol=0)


def test_progress_is_told():
    seen = []
    uca.each(rows(), GROUPS, test=False, verbose=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


# --- adjusted p-values --------------------------------------------------------------------------------------------------


def test_holm_against_numbers_of_r():
    """p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm"), and ties with a value above 1."""
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.02, 0.02, 0.9])), [0.06, 0.06, 0.9])
    np.testing.assert_allclose(holm(np.array([0.6, 0.7])), [1.0, 1.0])


def closed_test(pvalues):
    """Adjusted p-values over all intersections of hypotheses: Bonferroni over the first component of each group in it."""
    hypotheses = [(g, i) for g, own in enumerate(pvalues) for i in range(len(own))]
    subsets = chain.from_iterable(combinations(hypotheses, n) for n in range(1, len(hypotheses) + 1))
    adjusted = dict.fromkeys(hypotheses, 0.0)
    for subset in subsets:
        first = {}
        for g, i in subset:
            first[g] = min(i, first.get(g, i))
        p = min(1.0, len(first) * min(pvalues[g][i] for g, i in first.items()))
        for key in subset:
            adjusted[key] = max(adjusted[key], p)
    return [np.array([adjusted[g, i] for i in range(len(own))]) for g, own in enumerate(pvalues)]


def test_adjusted_across_groups_is_the_closed_test():
    rng = np.random.default_rng(0)
    for sizes in ([1, 1, 1], [2, 2, 2], [3, 2, 3], [3, 3]):
        for _ in range(10):
            pvalues = [np.sort(rng.random(n) ** 3) for n in sizes]
            for found, wanted in zip(across_groups(pvalues), closed_test(pvalues), strict=True):
                np.testing.assert_allclose(found, wanted)
    one = [np.array([p]) for p in (0.01, 0.04, 0.03, 0.005)]  # one component: plain Holm
    np.testing.assert_allclose(np.concatenate(across_groups(one)), [0.03, 0.06, 0.06, 0.02])


def test_verdicts_are_by_adjusted_pvalues():
    found = compared()
    adjusted = across_groups([test.pvalues for test in found.tests.values()])
    for group, own in zip(found, adjusted, strict=True):
        np.testing.assert_allclose(group.adjusted, own)
        assert group.n_unique == int((own <= 0.05).sum())
        wanted = ["unique"] * group.n_unique + ["not shown"] + ["not judged"] * 2
        assert [group.verdict(i) for i in range(2)] == wanted[:2]
    assert found.n_unique == {"a": 1, "b": 0, "c": 0}
    strict = uca.each(rows(), GROUPS, n_splits=4, alpha=1e-12)
    assert strict.n_unique == {"a": 0, "b": 0, "c": 0}


# --- groups that cannot be compared -------------------------------------------------------------------------------------


def with_small(n=5):
    X = np.vstack([rows(), rows()[:n], rows()[:1]])
    return X, np.concatenate([GROUPS, ["few"] * n, ["single"]])


def test_small_groups_are_told_and_stop_nobody():
    X, groups = with_small()
    found = uca.each(X, groups, n_splits=4)
    same(uca.each(rows(), GROUPS, n_splits=4), compared(), **SAME)
    for name in NAMES:  # as if the small ones were not there
        np.testing.assert_allclose(found[name].test.pvalues, compared()[name].test.pvalues, **SAME)
        assert found[name].left_out == ("few", "single")
    assert found["few"].model is not None
    assert found["few"].untested == "5 rows: at least 8 are needed, four on each side of a split"
    assert found["single"].failed == "1 row: at least 2 are needed"
    assert list(found.models) == [*NAMES, "few"]
    assert list(found.tests) == NAMES
    assert found.tests["a"].alpha == pytest.approx(0.05 / 3)  # three tests
    assert "Not tested: few (5 rows" in found.sentence
    assert "Not fitted: single (1 row" in found.sentence
    assert "Too small to be a background of the others: few, single." in found.sentence


def test_small_groups_are_in_the_pool_and_are_backgrounds_without_a_test():
    X, groups = with_small()
    pooled = uca.each(X, groups, pooled=True, n_splits=2)
    assert pooled["a"].backgrounds == ("b", "c", "few")
    assert pooled["a"].test.n_rows == (70, 60 + 80 + 5)
    assert uca.each(X, groups, test=False)["a"].model.background_names_ == ["b", "c", "few"]


def test_only_small_groups():
    X, groups = rows()[[0, 1, 2, 70, 71, 72, 73]], np.repeat(["a", "b"], [3, 4])
    found = uca.each(X, groups)
    assert found["a"].backgrounds == ("b",)
    assert "3 rows: at least 8 are needed" in found["a"].untested
    assert found.n_unique == {"a": None, "b": None}
    assert found["a"].verdict(0) == "not tested"
    large = uca.each(np.vstack([X, rows()[100:160]]), np.concatenate([groups, ["c"] * 60]))
    assert large["c"].untested == "no other group has 8 rows, which a background of the test needs"
    assert large["c"].backgrounds == ("a", "b")


def test_a_group_that_cannot_be_fitted_stops_nobody():
    X = rows().copy()
    X[GROUPS == "b"] = 1.0
    found = uca.each(X, GROUPS, n_splits=2)
    assert found["b"].model is None
    assert "no variance in any feature" in found["b"].failed
    assert list(found.models) == ["a", "c"]
    assert any("constant features" in text for text in found["a"].warnings)
    assert found.table[2]["note"].startswith("not fitted: ")
    assert any(text.startswith("100 % of UC1 lies in features that are constant") for text in found["a"].cautions)


# --- what is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "options", "told"),
    [
        (None, {}, "groups is None: pass one label for each row of X"),
        (["a"] * 210, {}, r"groups has one group only \('a'\): at least two are needed"),
        ([*GROUPS[:-2], None, "c"], {}, "groups has 1 missing label, the first at row 208: give every row one"),
        ([" ", *GROUPS[1:-1], np.nan], {}, "groups has 2 missing labels, the first at row 0"),
        (GROUPS[:-1], {}, "groups has 209 entries, but there are 210 rows"),
        (np.linspace(0, 1, 210), {}, "groups has 210 different numbers: they look like a measurement"),
        ([f"g{i}" for i in range(210)], {}, "only 0 of 210 groups has two rows or more"),
        (GROUPS, {"subjects": [None] * 210}, "subjects has 210 missing labels"),
        (GROUPS, {"subjects": [1, 2]}, "subjects has 2 entries, but there are 210 rows"),
        (GROUPS, {"n_components": 7}, "n_components"),
        (GROUPS, {"alpha": 2}, "alpha"),
        (GROUPS, {"n_splits": "many"}, "n_splits must be"),
        (GROUPS, {"model": UCA(bound=[1.0, 2.0])}, "bound has a number for each background"),
        (GROUPS, {"model": UCA(bound={"a": 1.0})}, "bound has a number for each background"),
        (GROUPS, {"model": UCA(bound=1e-9), "test": False}, "no group could be fitted. 'a': "),
        (GROUPS, {"feature_names": ["one"]}, "feature_names has 1 entries"),
    ],
)
def test_refused(groups, options, told):
    with pytest.raises(ValueError, match=told):
        uca.each(rows(), groups, **options)


def test_refused_kinds():
    with pytest.raises(TypeError, match=r"uca\.each\(table\.drop\(columns='arm'\), table\['arm'\]\)"):
        uca.each(rows(), "arm")
    with pytest.raises(TypeError, match="model must be a"):
        uca.each(rows(), GROUPS, model=uca.CPCA())
    with pytest.raises(TypeError, match="pooled"):
        uca.each(rows(), GROUPS, pooled="yes")


def test_values_that_are_not_finite_are_found_in_the_whole_table():
    X = rows().copy()
    X[100, 2] = np.nan
    with pytest.raises(ValueError, match="X contains 1 NaN, the first at row 100, column 2"):
        uca.each(X, GROUPS)


def test_labels_in_another_order_than_the_rows():
    pd = pytest.importorskip("pandas", reason="pip install pandas")
    table, labels = pd.DataFrame(rows()), pd.Series(GROUPS)
    with pytest.raises(ValueError, match=r"in another order.*pass groups\.loc\[X\.index\]"):
        uca.each(table, labels[::-1])
    renumbered = labels.set_axis(range(1000, 1210))
    assert list(uca.each(table, renumbered, test=False).models) == NAMES


# --- reading the result -------------------------------------------------------------------------------------------------


def test_groups_are_in_order_and_found_by_name():
    found = uca.each(rows(), np.repeat([10, 2, 1.5], SIZES), test=False)
    assert [group.name for group in found] == ["1.5", "2", "10"]
    assert found[10] is found["10"] is found.groups[2]
    assert len(found) == 3
    with pytest.raises(KeyError, match=r"there is no group 'x'; the groups are \['1.5', '2', '10'\]"):
        found["x"]


def test_table_and_frame():
    pytest.importorskip("pandas", reason="pip install pandas")
    frame = compared().to_frame()
    assert frame.shape == (6, 14)
    model, row = compared().models["b"], frame.iloc[3]
    assert (row.group, row.component, row["rows"]) == ("b", "UC2", 60)
    assert row.target_variance == model.explained_variance_[1]
    assert row.background_variance == model.background_variance_[1].max()
    assert row.background == model.background_names_[int(model.background_variance_[1].argmax())]
    assert row.expected_variance == model.expected_background_variance_[1].max()
    assert row.p == compared().tests["b"].pvalues[1]
    assert row.p_adjusted == compared()["b"].adjusted[1]


def test_words():
    found = compared()
    text = str(found)
    assert text == str(found.summary())
    assert "1 of 3 groups tested has a component that varies more in it than in each of the others" in found.sentence
    assert "a (UC1)" in found.sentence
    assert "p-values are adjusted for 3 tests (Holm), level 5 % for all of them together." in found.sentence
    assert "Rows count as independent." in found.sentence
    assert len([line for line in text.splitlines() if " UC1 " in line or " UC2 " in line]) >= 6
    assert len(repr(found).splitlines()) <= 2
    assert "3 groups against the others; 3 tested, unique components in a (Holm" in repr(found)
    assert repr(found["a"]) == "<EachGroup: 'a', 70 rows, 1 unique component>"
    untested = uca.each(rows(), GROUPS, test=False, pooled=True)
    assert untested.sentence.startswith("No group was tested: any data has components, noise included.")
    assert "not tested" in repr(untested)


def test_one_test_is_not_called_adjusted():
    X, groups = with_small()
    keep = np.isin(groups, ["a", "few"])
    found = uca.each(X[keep], groups[keep], pooled=True, n_splits=2)
    assert found["a"].untested == "all other groups together have fewer than 8 rows"
    keep = np.isin(groups, ["a", "b"])
    keep[:70] = np.arange(70) < 5  # five rows of a
    found = uca.each(X[keep], groups[keep], n_splits=2)
    assert found.tests == {}


def test_html_escapes():
    nasty = "<script>alert(1)</script>&"
    found = uca.each(
        rows(), np.where(GROUPS == "a", nasty, GROUPS), test=False, feature_names=[f"<b>{i}</b>" for i in range(6)]
    )
    html = found._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in html
    assert "&lt;b&gt;2&lt;/b&gt;" in html


def test_caution_names_the_argument_that_tells_subjects():
    """Rows in the order of time: the test says what to give, by the name that it has here."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:100, 0] += np.repeat(3 * rng.normal(size=10), 10)
    found = uca.each(X, np.repeat(["a", "b"], 100), n_components=1, n_splits=2, model=UCA(scale=False))
    assert any("Give subjects: subjects, or blocks of successive rows" in text for text in found["a"].cautions)
