"""Every figure of the methods paragraph is that of an attribute, and nothing is claimed that was not done."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest

from uca import UCA, SparseUCA
from uca.inference import Restriction, bootstrap, uniqueness_test


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    shared, unique = np.array([[3.0, 3, 0, 0, 0, 0]]), np.array([[0, 0, 2.0, 2, 0, 0]])
    target = rng.normal(size=(90, 1)) * shared + rng.normal(size=(90, 1)) * unique + rng.normal(size=(90, 6))
    control = rng.normal(size=(80, 1)) * shared + rng.normal(size=(80, 6))
    return target, {"control": control, "site B": rng.normal(size=(70, 6)) * [1, 2, 1, 1, 1, 1]}


def number(pattern: str, text: str) -> float:
    (found,) = re.findall(pattern, text)
    return float(found)


def rounded(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")


def check_figures(model, text):
    """Figures that every fit to rows and two backgrounds has."""
    assert f"unique-component-analysis, version {version('unique-component-analysis')};" in text
    assert f"The target had {model.n_samples_} rows and {model.n_features_in_} features" in text
    for j, name in enumerate(model.background_names_):
        assert f"{name} ({model.reference_.n_rows[1 + j]} rows)" in text
        assert number(rf"\(λ\) were .*?([\d.]+) for {name}", text) == rounded(model.lambdas_[j])
        assert number(rf"at most a bound.*?\(.*?([\d.]+) in {name}.*?\)", text) == rounded(model.bounds_[j])
    assert number(r"relative gap ([\d.e+-]+)[,;)]", text) == rounded(max(c.gap for c in model.certificates_), 2)
    told = text.split("Variances in these data: ")[1].split(".  ")[0]
    for i in range(len(model.components_)):
        part = told.split(f"UC{i + 1}, ")[1]
        assert number(r"^([\d.]+) in the target", part) == rounded(model.explained_variance_[i])
        share = re.search(r"in the target \(([\d.]+) % of the total\)", part)
        assert float(share[1]) == pytest.approx(100 * model.explained_variance_ratio_[i], abs=0.05)
        for j, name in enumerate(model.background_names_):
            found = re.search(rf"([\d.]+) in {name}( \(above the bound\))?", part)
            assert float(found[1]) == rounded(model.background_variance_[i, j])
            assert bool(found[2]) == (model.background_variance_[i, j] > model.bounds_[j] * (1 + 1e-6))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "Each dataset was centred by its own means and divided by its own standard deviations."),
        ({"scale": "target"}, "centred by its own means and divided by the standard deviations of the target."),
        ({"scale": False}, "centred by its own means and left in its units."),
        ({"center": False}, "second moments about zero; each dataset was divided by its own root mean squares."),
        ({"components": "sequential"}, "so that every component is held to the bounds."),
        ({"components": "joint"}, "only the first is held to the bounds."),
        ({"bound": 1.25}, "is at most a bound, a value that was set (1.25 in control and 1.25 in site B)."),
        ({"bound": "mean"}, "is at most a bound, the variance of an average direction there (1 in"),
        ({"whiten": True}, "Scores were divided by the standard deviation of the target along each component."),
    ],
    ids=str,
)
def test_figures_and_words(data, options, said):
    target, backgrounds = data
    model = UCA(2, **options).fit(target, backgrounds=backgrounds)
    text = model.methods_text()
    check_figures(model, text)
    assert said in text
    assert "2 components were taken." in text
    assert f"than {model.certificate_.upper:.4g} (relative gap" in text
    assert f"; {model.solver_} solver)" in text
    for j, name in enumerate(model.background_names_):
        found = number(rf"to expect along UC1 is .*?about ([\d.]+) in {name}", text)
        assert found == rounded(model.expected_background_variance_[0, j], 2)
    assert "The components were not tested on rows held out of the fit" in text
    paragraph, reference = text.split("\n\n")
    assert "\n" not in paragraph
    assert reference.startswith("Reference: Tu, R., Foss, A. H. and Zhao, S. D. (2021).")
    assert reference.endswith("arXiv:2104.08157.")


def test_sparse_says_what_proved_it(data):
    target, backgrounds = data
    model = SparseUCA(2, n_nonzero=3).fit(target, backgrounds=backgrounds)
    text = model.methods_text()
    check_figures(model, text)
    assert "with at most 3 features in each component" in text
    assert model.certificate_.status == "optimal"
    assert "it is proven that no other choice of at most 3 features" in text
    assert model.certificate_.message.rsplit("; ", 1)[1].rstrip(".") in text  # what proved it
    assert "was not predicted" in text
    searched = SparseUCA(2, n_nonzero=3, proof="none").fit(target, backgrounds=backgrounds)
    assert searched.certificate_.status == "gap"
    text = searched.methods_text()
    assert "UC1 is not proven to be the best (relative gap" in text
    assert searched.certificate_.message in text
    unproven = sum(part.status != "optimal" for part in searched.certificates_)
    assert f"For {unproven} of 2 components it is not proven that they are the best." in text


def test_test_and_bootstrap(data):
    target, backgrounds = data
    model = UCA(2).fit(target, backgrounds=backgrounds)
    test = uniqueness_test(target, backgrounds, n_components=2, model=model, n_splits=3)
    resampled = bootstrap(target, backgrounds, model=model, n_resamples=20)
    text = model.methods_text(test=test, bootstrap=resampled)
    check_figures(model, text)
    assert test.sentence in text
    assert "3 random halvings" in text
    for i, p in enumerate(test.pvalues):
        assert f"UC{i + 1} {'p < 0.001' if p < 0.001 else f'p = {p:.3f}'}" in text.split("Overall p-values: ")[1]
    assert "drawn again with replacement 20 times" in text
    for i in range(2):
        assert f"{resampled.stability_[i]:.2f} for UC{i + 1}" in text
        again = f"{resampled.reliable[i].sum()} of 6 loadings of UC{i + 1} differ from 0 (95 % intervals"
        assert (again in text) == bool(resampled.found_again[i])
        assert (f"UC{i + 1} was not found again" in text) == (not resampled.found_again[i])
    assert "not tested" not in text
    lost = replace(resampled, found_again=np.array([True, False]))
    assert "UC2 was not found again in the resamples" in model.methods_text(bootstrap=lost)


def test_results_of_other_analyses_are_refused(data):
    target, backgrounds = data
    model = UCA(2).fit(target, backgrounds=backgrounds)
    test = uniqueness_test(target, backgrounds, n_components=1, model=model, n_splits=1)
    resampled = bootstrap(target, backgrounds, model=model, n_resamples=20)
    others = {
        "test is that of other data: it has 6 features, 90": (UCA(2).fit(target[:50], backgrounds=backgrounds), test),
        "test was made with another scale than the model": (
            UCA(2, scale=False).fit(target, backgrounds=backgrounds),
            test,
        ),
        "test was made with another bound than": (UCA(2, bound=[1, 1.2]).fit(target, backgrounds=backgrounds), test),
        "test is that of other data": (UCA(2).fit(target, backgrounds=backgrounds["control"]), test),
    }
    for text, (other, given) in others.items():
        with pytest.raises(ValueError, match=text):
            other.methods_text(test=given)
    with pytest.raises(ValueError, match="bootstrap is that of another model"):
        UCA(2, scale=False).fit(target, backgrounds=backgrounds).methods_text(bootstrap=resampled)
    with pytest.raises(TypeError, match="test must be a UniquenessTest of uca.inference; got Bootstrap"):
        model.methods_text(test=resampled)
    with pytest.raises(TypeError, match="bootstrap must be a Bootstrap of uca.inference; got UniquenessTest"):
        model.methods_text(bootstrap=test)


def test_matrices_and_no_background(data):
    target, backgrounds = data
    matrices = UCA(1).fit_covariance(np.cov(target.T), backgrounds={"b": np.cov(backgrounds["control"].T)})
    text = matrices.methods_text()
    assert "The input was the covariance matrix of a target with 6 features; the background was b, also as a" in text
    assert "1 component was taken." in text
    assert "For these covariance matrices, the problem is solved" in text
    assert "was not predicted" in text
    text = UCA(1).fit(target).methods_text()
    assert text.startswith("Principal component analysis, that is, Unique Component Analysis (UCA;")
    assert "The target was centred by its own means" in text
    for word in ("bound", "λ", "test", "expect"):
        assert word not in text


def test_missing_values_constant_features_and_restrictions(data):
    target, backgrounds = data
    gappy = target.copy()
    gappy[0, 0] = np.nan
    text = UCA(1, missing="em").fit(gappy, backgrounds=backgrounds).methods_text()
    assert "estimated by maximum likelihood for a normal law (EM algorithm)" in text
    assert "For the covariances as estimated, the problem is solved" in text
    assert "EM algorithm" not in UCA(1, missing="em").fit(target, backgrounds=backgrounds).methods_text()
    constant = target.copy()
    constant[:, 4] = 1.0
    with pytest.warns(UserWarning, match="constant"):
        model = UCA(1).fit(constant, backgrounds=backgrounds)
    assert "1 feature, constant in the target, contributed nothing." in model.methods_text()
    held = UCA(1, bound_on=Restriction(3, 0.9)).fit(target, backgrounds=backgrounds)
    text = held.methods_text()
    assert held.restriction_.sentence in text
    assert "no direction to which the fit was held back has more variance" in text


def test_not_tight_and_not_solved(data):
    target, backgrounds = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = UCA(1, max_iter=1, solver="lbfgs").fit(target, backgrounds=backgrounds)
    model.certificate_ = replace(model.certificate_, status="max_iter", message="Not optimal: told so.", tight=False)
    text = model.methods_text()
    assert "UC1 is not proven to be the best (relative gap" in text
    assert "Not optimal: told so." in text
    assert "No single direction attains the optimum" in text
    assert "problem is solved" not in text


def test_needs_a_fit():
    with pytest.raises(ValueError, match="not fitted"):
        UCA().methods_text()


def test_a_stream_is_solved_first(data):
    target, backgrounds = data
    model = UCA(2).partial_fit(target, backgrounds=backgrounds)
    check_figures(model, model.methods_text())
