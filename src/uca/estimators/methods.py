"""A fitted model as a paragraph for the methods section of a paper, with its figures filled in.

Promises: every figure is that of a fitted attribute, or of a result that was passed; what was not done is said not to have
been done. Three statements are kept apart: what was solved (the rows analysed), what is expected of new rows, and what was
tested on rows held out of the fit. A test or a bootstrap of other data, or of a model with other parameters, is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Array
from ..dual import Status
from .expected_words import about
from .sparse_component import PROVED, SparseCertificate
from .summary import Summary, exceeds_bound

if TYPE_CHECKING:
    from .bounded import BoundedTransformer

PAPER = (
    "Tu, R., Foss, A. H. and Zhao, S. D. (2021). Capturing patterns of variation unique to a specific dataset. "
    "arXiv:2104.08157."
)
_DIVIDED = {
    True: "divided by its own standard deviations",
    "target": "divided by the standard deviations of the target",
    False: "left in its units",
}
SAME = 1e-5  # largest difference of components that are those of one fit


def methods_text(model: BoundedTransformer, test: Any = None, bootstrap: Any = None) -> Summary:
    """The paragraph, and the reference below it."""
    _check_results(model, test, bootstrap)
    sentences = [
        *_opening(model),
        *_standardised(model),
        *_problem(model),
        *_solved(model),
        *_variances(model),
        *_expected(model),
        *_tested(model, test),
        *([] if bootstrap is None else _resampled(model, bootstrap)),
    ]
    return Summary(f"{' '.join(sentences)}\n\nReference: {PAPER}")


# --- what was fitted ----------------------------------------------------------------------------------------------------


def _opening(model: BoundedTransformer) -> list[str]:
    package = f"the Python package unique-component-analysis, version {version('unique-component-analysis')}"
    k = len(model.components_)
    called = "Unique Component Analysis (UCA; Tu, Foss and Zhao, 2021)"
    if hasattr(model, "support_"):
        called = f"Sparse UCA, that is, {called} with {_at_most(model)} in each component,"
    if not model.background_names_:
        called = f"Principal component analysis, that is, {called} without a background,"
    was = f"{called} was computed with {package}; {_count(k, 'component')} {'was' if k == 1 else 'were'} taken."
    return [was, _data(model)]


def _data(model: BoundedTransformer) -> str:
    p = _count(model.n_features_in_, "feature")
    others = _joined([f"{name}{_rows_of(model, j)}" for j, name in enumerate(model.background_names_)])
    beside = f"; the background{' was' if len(model.background_names_) == 1 else 's were'} {others}" if others else ""
    if model.n_samples_ is None:
        return (
            f"The input was the covariance matrix of a target with {p}{beside}, also as a matrix."
            if others
            else (f"The input was the covariance matrix of {p}.")
        )
    return f"The target had {_count(model.n_samples_, 'row')} and {p}{beside}."


def _rows_of(model: BoundedTransformer, j: int) -> str:
    reference = getattr(model, "reference_", None)  # None after fit_covariance, absent from files of older versions
    return "" if reference is None else f" ({_count(reference.n_rows[1 + j], 'row')})"


def _standardised(model: BoundedTransformer) -> list[str]:
    if model.n_samples_ is None:
        return ["The matrices were used as they are."]
    text = []
    if model.certificate_.estimated:
        text.append(
            "Values were missing; the mean and covariance of each dataset were estimated by maximum likelihood for a normal "
            "law (EM algorithm), which assumes that values are missing at random."
        )
    divided = _DIVIDED[model.scale]
    if model.center:
        who = "Each dataset" if model.background_names_ else "The target"
        text.append(f"{who} was centred by its own means and {divided}.")
    else:
        divided = divided.replace("standard deviations", "root mean squares")
        text.append(
            f"Data were not centred, so that variances are second moments about zero; each dataset was {divided}."
        )
    constant = int(np.sum(model.to_numpy().scale_ == 0))
    if constant:
        text.append(f"{_count(constant, 'feature')}, constant in the target, contributed nothing.")
    if model.whiten:
        text.append("Scores were divided by the standard deviation of the target along each component.")
    return text


def _problem(model: BoundedTransformer) -> list[str]:
    names = model.background_names_
    if not names:
        return []
    prefix, k = model.component_prefix, len(model.components_)
    which = f"directions with {_at_most(model)}" if hasattr(model, "support_") else "directions"
    bounds = _joined([f"{bound:.4g} in {name}" for name, bound in zip(names, model.bounds_, strict=True)])
    mean = isinstance(getattr(model, "bound", None), str)
    source = "the variance of an average direction there" if mean else "a value that was set"
    text = [
        f"The first component, {prefix}1, is the direction of largest variance in the target among all {which} whose "
        f"variance in {'the' if len(names) == 1 else 'each'} background is at most a bound, {source} ({bounds})."
    ]
    if k > 1:
        text.append(_LATER["sparse" if hasattr(model, "support_") else model.components])
    lambdas = _joined([f"{value:.4g} for {name}" for name, value in zip(names, model.lambdas_, strict=True)])
    text.append(f"The Lagrange multiplier{' (λ) was' if len(names) == 1 else 's (λ) were'} {lambdas}.")
    restriction = getattr(model, "restriction_", None)
    return text if restriction is None else [*text, restriction.sentence]


_LATER = {
    "joint": "Components are the leading eigenvectors of one matrix, the target's covariance less the multipliers times the "
    "backgrounds' covariances; only the first is held to the bounds.",
    "sequential": "Each further component solves the same problem among the directions orthogonal to those before it, so "
    "that every component is held to the bounds.",
    "sparse": "Each further component solves the same problem after the target's covariance has been deflated by those "
    "before it, so that every component is held to the bounds.",
}


# --- solved -------------------------------------------------------------------------------------------------------------


def _solved(model: BoundedTransformer) -> list[str]:
    found, prefix = model.certificate_, model.component_prefix
    gaps = [part.gap for part in model.certificates_]
    gap = f"relative gap {max(gaps):.1e}{', the largest of all components' if len(gaps) > 1 else ''}"
    text = [f"For {_what(model)}, {_proof(model, gap)}"]
    unsolved = sum(part.status != Status.OPTIMAL for part in model.certificates_)
    if unsolved and len(gaps) > 1:
        text.append(f"For {unsolved} of {len(gaps)} components it is not proven that they are the best.")
    if not found.tight:
        text.append(
            f"No single direction attains the optimum, only a mixture of directions; {prefix}1 is the best direction found."
        )
    return text


def _what(model: BoundedTransformer) -> str:
    """What a certificate speaks of."""
    if model.certificate_.estimated:
        return "the covariances as estimated"
    return "these covariance matrices" if model.n_samples_ is None else "the rows analysed"


def _proof(model: BoundedTransformer, gap: str) -> str:
    found = model.certificate_
    if found.status != Status.OPTIMAL:
        return f"{model.component_prefix}1 is not proven to be the best ({gap}). {found.message}"
    if isinstance(found, SparseCertificate):
        which = f"no other choice of {_at_most(model)} gives {model.component_prefix}1 more variance in the target"
        return f"it is proven that {which}: {PROVED[found.proof]} ({gap})."
    sure = "a certificate proves" if found.proven else "an iterative eigen-solver finds, without a proof,"
    held_back = getattr(model, "restriction_", None) is not None
    within = " to which the fit was held back" if held_back else " within the bounds" if model.background_names_ else ""
    return (
        f"the problem is solved: {sure} that no direction{within} has more variance in the target than {found.upper:.4g} "
        f"({gap}; {model.solver_} solver)."
    )


def _variances(model: BoundedTransformer) -> list[str]:
    parts = []
    above = exceeds_bound(model.background_variance_, model.bounds_)
    for i, variance in enumerate(model.explained_variance_):
        beside = [
            f"{value:.4g} in {name}{' (above the bound)' if over else ''}"
            for name, value, over in zip(model.background_names_, model.background_variance_[i], above[i], strict=True)
        ]
        share = f"{variance:.4g} in the target ({100 * model.explained_variance_ratio_[i]:.1f} % of the total)"
        parts.append(f"{model.component_prefix}{i + 1}, {_joined([share, *beside])}")
    return [f"Variances in these data: {'; '.join(parts)}."]


# --- expected -----------------------------------------------------------------------------------------------------------


def _expected(model: BoundedTransformer) -> list[str]:
    if not model.background_names_:
        return []
    expected = getattr(model, "expected_background_variance_", None)  # absent from files of older versions
    if expected is None:
        return ["The variance of new background rows along the components was not predicted."]
    told = [
        f"{'no usable prediction' if not np.isfinite(value) else f'about {about(value)}'} in {name}"
        for name, value in zip(model.background_names_, expected[0], strict=True)
    ]
    return [
        "In new rows of the same kind, not used in the fit, the variance to expect along "
        f"{model.component_prefix}1 is {_joined(told)}, if rows are independent."
    ]


# --- real ---------------------------------------------------------------------------------------------------------------


def _tested(model: BoundedTransformer, test: Any) -> list[str]:
    if not model.background_names_:
        return []
    if test is None:
        others = "the background" if len(model.background_names_) == 1 else "every background"
        return [
            "The components were not tested on rows held out of the fit, so that it is not shown here that the target "
            f"varies more along them than {others} does."
        ]
    prefix = test.prefix if test.order == "model" else "component "
    values = [f"{prefix}{i + 1} {p_words(value)}" for i, value in enumerate(test.pvalues)]
    return [f"Test of uniqueness: {test.sentence}", f"Overall p-values: {', '.join(values)}."]


def _resampled(model: BoundedTransformer, bootstrap: Any) -> list[str]:
    names = [f"{model.component_prefix}{i + 1}" for i in range(len(bootstrap.stability_))]
    cosines = [f"{value:.2f} for {name}" for name, value in zip(names, bootstrap.stability_, strict=True)]
    text = [
        f"Rows (whole subjects, where these were given) were drawn again with replacement {len(bootstrap.cosines)} times; "
        f"the median cosine between a component and the one of all rows was {_joined(cosines)}."
    ]
    for i, name in enumerate(names):
        if bootstrap.found_again[i]:
            n, p = int(bootstrap.reliable[i].sum()), bootstrap.reliable.shape[1]
            text.append(
                f"{n} of {p} loadings of {name} differ from 0 ({100 * bootstrap.level:g} % intervals, Bonferroni-corrected)."
            )
        else:
            text.append(f"{name} was not found again in the resamples, so its loadings should not be interpreted.")
    return text


def p_words(value: float) -> str:
    """``p < 0.001``, or p to three digits."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _check_results(model: BoundedTransformer, test: Any, bootstrap: Any) -> None:
    """Refuse results that are not of their kind, or not of this analysis."""
    # Imported on use and by name: inference stands below the estimators.
    kinds = import_module("uca.inference") if test is not None or bootstrap is not None else None
    for name, value, kind in (("test", test, "UniquenessTest"), ("bootstrap", bootstrap, "Bootstrap")):
        if value is not None and not isinstance(value, getattr(kinds, kind)):
            raise TypeError(f"{name} must be a {kind} of uca.inference; got {type(value).__name__}")
    if test is not None:
        other = [name for name, value in test.parameters.items() if not _equal(value, getattr(model, name, None))]
        if other:
            raise ValueError(
                f"test was made with another {_joined(other)} than the model: pass model=model to uniqueness_test"
            )
        _check_same(model, "test", (test.n_features, test.n_rows[0], list(test.background_names)))
    if bootstrap is not None:
        own = bootstrap.model
        _check_same(model, "bootstrap", (own.n_features_in_, own.n_samples_, list(own.background_names_)))
        fitted: tuple[Array, Array] = (own.components_, model.to_numpy().components_)
        if fitted[0].shape != fitted[1].shape or not np.allclose(*fitted, atol=SAME):
            raise ValueError("bootstrap is that of another model: pass model=model to bootstrap")


def _check_same(model: BoundedTransformer, name: str, found: tuple[int, int | None, list[str]]) -> None:
    own = (model.n_features_in_, model.n_samples_, model.background_names_)
    if model.certificate_.estimated:  # rows without any value are left out of a fit
        own, found = (own[0], None, own[2]), (found[0], None, found[2])
    if found != own:
        raise ValueError(
            f"{name} is that of other data: it has {found[0]} features, {found[1]} target rows and backgrounds {found[2]}, "
            f"the model {own[0]}, {own[1]} and {own[2]}"
        )


def _equal(a: Any, b: Any) -> bool:
    return (
        bool(a == b) if isinstance(a, (str, dict, bool)) or isinstance(b, (str, dict, bool)) else np.array_equal(a, b)
    )


# --- words --------------------------------------------------------------------------------------------------------------


def _at_most(model: Any) -> str:
    return f"at most {_count(model.n_nonzero, 'feature')}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _joined(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else list(parts))
