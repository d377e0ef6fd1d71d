"""How far the answer moves when the rows are drawn again.

Rows of every dataset are drawn with replacement (whole subjects, where ``groups`` are given), the model is fitted
anew, and its components are turned to those of the full data. What is reported: how well single components and the
spaces of the first 1, 2, … components are found again; intervals for loadings, multipliers and variances; and the
features whose loading is reliable.

What it is not: the variances are those of the rows that chose the components. They are optimistic in every resample as
in the original, and their intervals with them; :func:`~uca.inference.uniqueness_test` has variances on held-out rows.
A component can be stable and not unique, or unique and unstable. And a bootstrap takes the sample for the law: in pure
noise some loadings come back too, so ask whether a component is unique before asking which of its features are
reliable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._parameters import check_choice, check_n_components, check_number, check_positive_int, seed_from
from .._types import Array, Backgrounds, Groups, Rows
from ..estimators.bounded import BoundedTransformer
from ..estimators.summary import Summary, text_table
from .parallel import run, streams
from .parameters import check_model
from .sample import Sample, check_sample
from .subjects import resample

SPREAD_FLOOR = 1e-12  # of a loading that never moves
MIN_SUBJECTS = 4  # in every dataset
MIN_RESAMPLES = 20  # that a standard error may rest on


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Result of :func:`bootstrap`; ``print`` it for the table.

    Attributes
    ----------
    model : UCA
        Fitted to all rows.
    cosines : array of shape (r, k)
        For each resample: the cosine between each component and the one of the same number.
    subspace_cosines : array of shape (r, k)
        The smallest cosine of the principal angles between the spaces of the first 1, …, k components.
    loadings_low, loadings_high : arrays of shape (k, p)
        Ends of percentile intervals for the aligned loadings.
    loadings_error : array of shape (k, p)
        Their standard errors.
    reliable : boolean array of shape (k, p)
        Loadings that differ from 0 at the chosen level, for all features together (Bonferroni), and whose interval misses 0.
    lambdas : array of shape (r, m)
    variances : array of shape (r, k, m + 1)
        Target first; of the resampled rows.
    level : float
        Of the intervals.
    feature_names : array of str
    n_unconverged : int
        Fits that did not reach the tolerance.
    """

    model: BoundedTransformer
    cosines: Array
    subspace_cosines: Array
    loadings_low: Array
    loadings_high: Array
    loadings_error: Array
    reliable: Array
    lambdas: Array
    variances: Array
    level: float
    feature_names: Array
    n_unconverged: int

    @property
    def stability_(self) -> Array:
        """Median cosine of each component with that of the same number, (k,): 1 is perfectly stable."""
        return np.median(self.cosines, axis=0)

    @property
    def subspace_stability_(self) -> Array:
        """Median smallest cosine between the spaces of the first 1, …, k components."""
        return np.median(self.subspace_cosines, axis=0)

    def interval(self, values: Array) -> tuple[Array, Array]:
        """Percentile interval over resamples, axis 0."""
        tail = (1.0 - self.level) / 2
        low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
        return low, high

    def reliable_features(self, component: int = 0) -> list[str]:
        """Names of the features that are reliably loaded, largest loading first."""
        sizes = np.abs(self.model.components_[component])
        chosen = np.flatnonzero(self.reliable[component])
        return [str(self.feature_names[i]) for i in chosen[np.argsort(-sizes[chosen], kind="stable")]]

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row a component, as plain numbers."""
        low, high = self.interval(self.variances)
        names = ["target variance", *(f"variance in {name}" for name in self.model.background_names_)]
        fitted = np.column_stack([self.model.explained_variance_, self.model.background_variance_]).astype(float)
        return [
            {
                "component": i + 1,
                "stability": float(self.stability_[i]),
                "subspace stability": float(self.subspace_stability_[i]),
                **{name: (float(fitted[i, j]), float(low[i, j]), float(high[i, j])) for j, name in enumerate(names)},
                "reliable features": int(self.reliable[i].sum()),
            }
            for i in range(len(self.stability_))
        ]

    def summary(self) -> Summary:
        """Stability, variances and multipliers as text."""
        names = ("target", *self.model.background_names_)
        rows = [
            [
                f"{self.model.component_prefix}{row['component']}",
                f"{row['stability']:.2f}",
                f"{row['subspace stability']:.2f}",
                "{:.3g} [{:.3g}, {:.3g}]".format(*row["target variance"]),
                *("{:.3g} [{:.3g}, {:.3g}]".format(*row[f"variance in {name}"]) for name in names[1:]),
                f"{row['reliable features']} of {self.reliable.shape[1]}",
            ]
            for row in self.table
        ]
        lines = text_table(["component", "stability", "of the space", *names, "reliable features"], rows)
        if self.lambdas.shape[1]:
            low, high = self.interval(self.lambdas)
            told = zip(self.model.background_names_, self.model.lambdas_, low, high, strict=True)
            lines += [
                "",
                *text_table(["background", "lambda"], [[n, f"{v:.3g} [{a:.3g}, {b:.3g}]"] for n, v, a, b in told]),
            ]
        note = (
            f"{len(self.cosines)} resamples, {100 * self.level:g} % intervals. Stability: median cosine with the component "
            "of all rows. Variances are of the rows that chose the components; uniqueness_test has held-out ones."
        )
        if self.n_unconverged:
            note += f" {self.n_unconverged} fits did not reach the tolerance."
        return Summary("\n".join([*lines, "", note]))

    def __str__(self) -> str:
        return str(self.summary())


def bootstrap(
    X: Rows,
    backgrounds: Backgrounds,
    *,
    n_components: int = 2,
    n_resamples: int = 200,
    groups: Groups = None,
    level: float = 0.95,
    align: str = "sign",
    random_state: Any = None,
    model: BoundedTransformer | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Bootstrap:
    """Draw the rows of every dataset again, refit, and report what stays.

    Parameters
    ----------
    X, backgrounds, groups, random_state, model, n_jobs, verbose
        As in :func:`~uca.inference.uniqueness_test`. With groups, whole subjects are drawn.
    n_components : int, default=2
    n_resamples : int, default=200
        At least 20.
    level : float, default=0.95
        Coverage of intervals, and of the decision which loadings are reliable.
    align : {"sign", "rotation"}, default="sign"
        How components of a resample are laid beside those of all rows before loadings are compared. "sign" takes them in
        order and sets signs. "rotation" turns their whole space (orthogonal Procrustes), so that components which mix
        do not blur one another; with many components beside few features it hides what moves, and calls loadings
        reliable that are not.

    Returns
    -------
    Bootstrap

    Notes
    -----
    Percentile intervals of variances and multipliers can lie beside the estimate, where resampling moves it systematically:
    that shift is the optimism of the fit. Spaces are compared by principal angles, whatever ``align`` is.

    Examples
    --------
    >>> import numpy as np
    >>> from uca.inference import bootstrap
    >>> rng = np.random.default_rng(0)
    >>> treated = rng.normal(size=(200, 1)) * [2, 2, 0, 0, 0, 0] + rng.normal(size=(200, 6))
    >>> control = rng.normal(size=(200, 6))
    >>> found = bootstrap(treated, control, n_components=1, n_resamples=50)
    >>> sorted(found.reliable_features()), bool(found.stability_[0] > 0.95)
    (['x0', 'x1'], True)
    """
    check_positive_int("n_resamples", n_resamples)
    if n_resamples < MIN_RESAMPLES:
        raise ValueError(f"n_resamples must be at least {MIN_RESAMPLES}; got {n_resamples}")
    level = check_number("level", level, 0.5, 0.9999)
    sample = check_sample(X, backgrounds, groups, min_subjects=MIN_SUBJECTS)
    check_choice("align", align, ("sign", "rotation"))
    k = check_n_components(n_components, sample.n_features)
    fitted = sample.fit(check_model(model, n_components=k))
    seeds = streams(seed_from(random_state), n_resamples)
    found = run(refit_resample, seeds, sample, fitted, align, n_jobs=n_jobs, verbose=verbose, what="refits")
    cosines, spaces, loadings, lambdas, variances, converged = (np.stack(part) for part in zip(*found, strict=True))
    tail = (1.0 - level) / 2
    low, high = np.quantile(loadings, [tail, 1.0 - tail], axis=0)
    components = fitted.components_.astype(float)
    error = loadings.std(axis=0, dtype=float)
    certain = -ndtri((1.0 - level) / (2 * sample.n_features))
    names = sample.columns or [f"x{i}" for i in range(sample.n_features)]
    return Bootstrap(
        model=fitted,
        cosines=cosines,
        subspace_cosines=spaces,
        loadings_low=low,
        loadings_high=high,
        loadings_error=error,
        reliable=(np.abs(components) > certain * np.maximum(error, SPREAD_FLOOR)) & ((low > 0) | (high < 0)),
        lambdas=lambdas,
        variances=variances,
        level=level,
        feature_names=np.asarray([str(name) for name in names], dtype=object),
        n_unconverged=int(np.sum(~converged)),
    )


def refit_resample(
    stream: np.random.SeedSequence, sample: Sample, fitted: BoundedTransformer, align: str
) -> tuple[Any, ...]:
    """Cosines, cosines of spaces, aligned loadings, multipliers, variances, and whether the fit converged."""
    model = check_model(fitted)
    sample.fit_part(model, resample(sample.subjects, np.random.default_rng(stream)), "rows drawn again")
    reference, components = (part.components_.astype(float) for part in (fitted, model))
    cosines, spaces, turned = compare(reference, components)
    laid = turned[align] @ components
    variances = np.column_stack([model.explained_variance_, model.background_variance_])
    return (
        cosines,
        spaces,
        laid.astype(np.float32),
        model.lambdas_.astype(float),
        variances.astype(float),
        model.certificate_.status == "optimal",
    )


def compare(reference: Array, components: Array) -> tuple[Array, Array, dict[str, Array]]:
    """Cosines of components in order, smallest cosines of leading spaces, and what lays components beside the reference."""
    overlap = reference @ components.T
    own = overlap.diagonal()
    cosines = np.abs(own).clip(max=1.0)
    spaces = [
        np.linalg.svd(overlap[: i + 1, : i + 1], compute_uv=False)[-1].clip(max=1.0) for i in range(len(reference))
    ]
    left, _, right = np.linalg.svd(overlap)
    return cosines, np.array(spaces), {"sign": np.diag(np.where(own < 0, -1.0, 1.0)), "rotation": left @ right}
