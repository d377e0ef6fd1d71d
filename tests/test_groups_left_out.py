"""leave_one_group_out against fits and moments by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from uca import UCA
from uca.inference import leave_one_group_out, uniqueness_test

K = 2


@pytest.fixture(scope="module")
def data():
    """Four donors of either kind, 30 rows each, and one donor who is in both; eight features."""
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(1, 8))
    target = 0.3 * rng.normal(size=(120, 1)) * shared + rng.normal(size=(120, 8)) + 5.0
    target[:, 2:6] += 3 * rng.normal(size=(120, 1))
    control = 1.5 * (rng.normal(size=(150, 1)) * shared + rng.normal(size=(150, 8)))
    groups = [np.repeat(["t1", "t2", "t3", "both"], 30), np.repeat(["c1", "c2", "both", "c3", "c4"], 30)]
    return target, {"control": control}, groups


@pytest.fixture(scope="module", params=[True, "target", False])
def found(request, data):
    target, backgrounds, groups = data
    return leave_one_group_out(target, backgrounds, groups=groups, model=UCA(K, scale=request.param))


def by_hand(data, group, scale):
    """Components without a group, and variances of its rows along them in the units of that fit."""
    target, backgrounds, groups = data
    inside = [labels != group for labels in groups]
    rows = [target, backgrounds["control"]]
    model = UCA(K, scale=scale).fit(rows[0][inside[0]], backgrounds=rows[1][inside[1]])
    own = [part[keep].std(axis=0, ddof=1) for part, keep in zip(rows, inside, strict=True)]
    by = {True: own, "target": [own[0], own[0]], False: [1.0, 1.0]}[scale]
    out = [part[~keep] for part, keep in zip(rows, inside, strict=True)]
    variances = [
        (part / size @ model.components_.T).var(axis=0, ddof=1) if len(part) else np.full(K, np.nan)
        for part, size in zip(out, by, strict=True)
    ]
    return model.components_, np.array(variances)


def test_components_and_variances_by_hand(data, found):
    assert found.group_names == ("t1", "t2", "t3", "both", "c1", "c2", "c3", "c4")
    for i, group in enumerate(found.group_names):
        components, variances = by_hand(data, group, found.model.scale)
        cosines = np.abs(np.sum(components * found.model.components_, axis=1))
        # Refits stop at a gap of 1e-6, in vectors about its root.
        np.testing.assert_allclose(found.cosines[i], cosines, atol=2e-3)
        np.testing.assert_allclose(found.variances[i], variances, rtol=1e-2)
        overlap = components @ found.model.components_.T
        np.testing.assert_allclose(found.space_cosines[i, -1], np.linalg.svd(overlap)[1].min(), atol=2e-3)
    np.testing.assert_allclose(np.cos(np.radians(found.angles)), found.cosines, atol=1e-12)


def test_scores_by_hand(data, found):
    target, backgrounds, groups = data
    for j, rows in enumerate([target, backgrounds["control"]]):
        scores = found.model.transform(rows)
        for i, group in enumerate(found.group_names):
            part = scores[groups[j] == group]
            assert found.n_rows[i, j] == len(part)
            if len(part):
                np.testing.assert_allclose(found.means[i, j], part.mean(axis=0))
                np.testing.assert_allclose(found.deviations[i, j], part.std(axis=0, ddof=1))
            else:
                assert np.isnan(found.means[i, j]).all()
    assert found.n_groups == (4, 5)


def test_share_between_groups_by_hand(data, found):
    target, _, groups = data
    scores = found.model.transform(target)
    means = np.stack([scores[groups[0] == name].mean(axis=0) for name in ("t1", "t2", "t3", "both")])
    expected = means.var(axis=0) / scores.var(axis=0)  # groups of one size
    np.testing.assert_allclose(found.between, expected)


def test_a_component_that_one_donor_makes(data):
    """Three donors vary along nothing of their own; the fourth has a cluster of its own."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=(120, 8))
    target[90:, 6:] += 6 * rng.normal(size=(30, 1))
    found = leave_one_group_out(target, rng.normal(size=(120, 8)), groups=[data[2][0], None], n_components=1)
    assert found.angles[3, 0] > 60
    assert found.angles[:3, 0].max() < 20
    assert "UC1 turns far when 'both' (" in found.sentence
    assert "is left out: it depends on that group." in found.sentence
    assert found.n_groups == (4, 0)


def test_a_component_between_donors(data):
    """Donors differ in their means and in nothing else: left out, none of them varies."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=(120, 8)) + np.repeat([-9, -3, 3, 9], 30)[:, np.newaxis] * (np.arange(8) < 2)
    control = rng.normal(size=(120, 8))
    names = np.repeat(["k1", "k2", "k3", "k4"], 30)
    found = leave_one_group_out(target, control, groups=[data[2][0], names], model=UCA(1, scale=False))
    assert found.between[0] > 0.9
    assert "it is mostly a difference between 4 groups" in found.sentence
    assert found.variances[:4, 0].max() < 2
    assert "Every group of the target" not in found.sentence


def test_sentence_of_a_clear_case(data, found):
    text = found.sentence
    assert "UC1 keeps its direction whichever of 8 groups is left out" in text
    assert "Variance of groups along it when they are left out of the fit: 4 of the target " in text
    assert "5 of 'control' " in text
    assert "Every group of the target varies more than every group of the backgrounds." in text
    assert "no test: with 4 groups in the smallest dataset nothing can be said about others" in text
    assert "(uniqueness_test needs 8 in every dataset)" in text
    assert found.sentence in str(found)
    assert "t1" in str(found)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ([1.0, 1.5, 2.0, 3.0], "No group of the target varies more than every group of the backgrounds."),
        ([1.0, 1.5, 2.0, 4.0], "1 group of the target varies more than every group of the backgrounds."),
        ([1.0, 1.5, 4.0, 5.0], "2 groups of the target vary more than every group of the backgrounds."),
        ([1.0, 4.0, 5.0, 6.0], "3 groups of the target vary more than every group of the backgrounds."),
        ([4.0, 5.0, 6.0, 7.0], "Every group of the target varies more than every group of the backgrounds."),
    ],
)
def test_how_many_groups_vary_more_in_words(found, target, told):
    variances = found.variances.copy()
    variances[:4, 0, 0], variances[3:, 1, 0] = target, 3.0
    assert told in dataclasses.replace(found, variances=variances).sentence


def test_one_group_is_no_range(found):
    variances = found.variances.copy()
    variances[:, 0, 0], variances[:, 1, 0] = np.nan, np.nan
    variances[0, 0, 0], variances[4:6, 1, 0] = 2.5, [1.0, 2.0]
    text = dataclasses.replace(found, variances=variances).sentence
    assert "when they are left out of the fit: 1 of the target 2.5; 2 of 'control' 1 to 2." in text
    assert "Every group of the target varies more" in text


def test_shows_itself(found):
    assert len(repr(found).splitlines()) == 1
    turn = np.degrees(np.arccos(found.cosines[:, 0].min()))
    assert repr(found) == f"<LeftOutGroups: 8 groups; UC1 turns by {turn:.0f}° at most without one of them>"
    html = found._repr_html_()
    assert "<table" in html
    assert html.count("<tr>") == 10  # a header, four groups of the target, five of the background
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.between = 0


def test_names_are_escaped(data):
    target, backgrounds, groups = data
    odd = [np.char.add("<b>", part) for part in groups]
    html = leave_one_group_out(target, backgrounds, groups=odd, n_components=1)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;t1" in html


def test_table_has_plain_numbers(found):
    assert len(found.table) == 9 * K
    first = found.table[0]
    assert (first["group"], first["dataset"], first["component"], first["rows"]) == ("t1", "target", "UC1", 30)
    assert first["variance, left out"] == found.variances[0, 0, 0]
    assert type(first["mean"]) is float


def test_sparse_rows(data):
    target, backgrounds, groups = data
    dense = leave_one_group_out(target, backgrounds, groups=groups)
    thin = leave_one_group_out(
        sparse.csr_matrix(target), {"control": sparse.csr_matrix(backgrounds["control"])}, groups=groups
    )
    np.testing.assert_allclose(thin.cosines, dense.cosines, atol=2e-3)
    np.testing.assert_allclose(thin.variances, dense.variances, rtol=1e-2)


def test_missing_values(data):
    """A few gaps change little; what they would hold counts as variance."""
    target, backgrounds, groups = data
    gapped = target.copy()
    gapped[np.random.default_rng(0).random(target.shape) < 0.02] = np.nan
    full = leave_one_group_out(target, backgrounds, groups=groups)
    holes = leave_one_group_out(gapped, backgrounds, groups=groups, model=UCA(missing="em"))
    assert (holes.cosines[:, 0] > 0.95).all()
    np.testing.assert_allclose(holes.variances[:4, 0, 0], full.variances[:4, 0, 0], rtol=0.25)


def test_workers_do_not_matter(data):
    target, backgrounds, groups = data
    one, two = (leave_one_group_out(target, backgrounds, groups=groups, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.variances, two.variances)


def test_only_group_of_a_background_stays(data):
    target, backgrounds, groups = data
    alone = np.full(150, "k")
    found = leave_one_group_out(target, backgrounds, groups=[groups[0], alone], n_components=1)
    assert np.isnan(found.cosines[found.group_names.index("k")]).all()
    assert not np.isnan(found.cosines[:4]).any()
    assert "'k' cannot be left out: some dataset has no other group." in found.sentence
    assert "of 'control'" not in found.sentence


def test_errors(data):
    target, backgrounds, groups = data
    with pytest.raises(ValueError, match="groups=None: name the group of each row"):
        leave_one_group_out(target, backgrounds, groups=None)
    with pytest.raises(ValueError, match="target X has 1 group; at least 2 are needed to leave one out"):
        leave_one_group_out(target, backgrounds, groups=[np.full(120, "a"), groups[1]])
    with pytest.raises(ValueError, match="target X has 0 groups; at least 2 are needed"):
        leave_one_group_out(target, backgrounds, groups=[None, groups[1]])


def test_the_test_that_refuses_names_it(data):
    target, backgrounds, groups = data
    with pytest.raises(ValueError, match=r"target X has 4 groups; at least 8 .*uca.inference.leave_one_group_out\("):
        uniqueness_test(target, backgrounds, groups=groups)
    with pytest.raises(
        ValueError, match=r"5 rows; at least 8 are needed. With fewer, nothing can be said beyond them.$"
    ):
        uniqueness_test(target[:5], backgrounds)


def test_enough_groups_point_to_the_test(data):
    target, backgrounds, _ = data
    groups = [np.arange(120) // 10, 100 + np.arange(150) // 10]
    text = leave_one_group_out(target, backgrounds, groups=groups, n_components=1).sentence
    assert text.endswith("This describes the groups at hand and is no test: uniqueness_test with these groups is one.")
