"""Unique Component Analysis with the face of a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._deadline import Deadline
from .._parameters import check_bool, check_bound, check_choice, check_positive_int, check_time_limit, check_tolerance
from .._progress import progress
from .._types import Array
from ..dual import DualResult, Status
from ..solvers.relaxed import solve_relaxed
from ..solvers.sequential import solve_sequential
from ..solvers.solve import SOLVERS, solve
from .bounded import BoundedTransformer
from .crossfit import choose, cut_short
from .expected_words import with_expectation
from .problem import Problem
from .restriction import Restriction, TradeOff, as_restricted, check_bound_on


class UCA(BoundedTransformer):
    """Unique Component Analysis: directions that vary in a target and not in its backgrounds.

    The first component maximises the variance of the target subject to explaining no more than a bound in each
    background; without backgrounds it is PCA on standardised data. There is no parameter to tune.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most the number of features.
    center : bool, default=True
        Subtract each dataset's own means. If False, variances are second moments about zero.
    scale : bool or "target", default=True
        True divides each dataset by its own standard deviations (the paper): for features in mixed units. False leaves
        units alone: for features in common units (log-expression, counts, pixels), which did a little better so in 12 real
        settings with held-out rows; those in mixed units did worse in 4. "target" divides every dataset by the target's
        deviations, so that differences in spread survive; it was no better than True there.
    bound : "mean", float, or one float for each background, default="mean"
        Largest variance that the first component may explain in each background. "mean" is what a random direction
        explains on average, ``tr(B_j) / p``: 1 on standardised data. Numbers may be given in order or by name (a dict).
    bound_on : "rows", "new rows" or Restriction, default="rows"
        Which rows the bounds are meant for. "rows" bounds the variance in the rows at hand (the paper). With few rows
        relative to features, new rows exceed that by far; "new rows" restricts the fit to avoid this: to the leading
        directions of the target, with tighter bounds, both chosen on held-out rows (five folds, twice: at many times
        the cost). Rows are assumed independent; with repeated rows choose by subject, with
        :func:`uca.inference.choose_restriction`, and pass the result.
    components : {"joint", "sequential"}, default="joint"
        "joint" takes the top eigenvectors of one matrix (the paper); only the first is bounded. "sequential" solves again
        in the orthogonal complement, so that every component respects every bound.
    whiten : bool, default=False
        Divide scores by the target's standard deviation along each component.
    solver : {"auto", "subspace", "root", "lbfgs", "coordinate", "bisection"}, default="auto"
        Algorithm for the multipliers; "coordinate" is the paper's. Every one ends with the same certificate.
    representation : {"auto", "covariance", "reduced", "implicit", "product_svd"}, default="auto"
        How the data is held: p x p covariances, a reduced form for more features than rows, as it is with products
        only (sparse data, many rows and many features), or the paper's product of two factors. "auto" takes the cheapest of
        the first three; the answer is the same.
    missing : {"error", "em"}, default="error"
        What to do with missing values (NaN, masked values, ``pandas.NA``, NaN stored in a sparse matrix). "error" refuses
        them. "em" estimates the mean and covariance of each dataset by itself, by maximum likelihood for a normal law: of
        all features if there are more rows than features, else of a few factors. It is for values that are missing at
        random, not for those below a detection limit. Without gaps it changes nothing. See ``docs/missing-values.md``.
    tol : float, default=1e-9
        Certified relative gap at which to stop.
    max_iter : int, default=100
        Iterations of the solver; for "coordinate" and "bisection" an iteration is a cycle over the backgrounds, and all of
        them together take at most 200 eigen-solves for each that is allowed.
    time_limit : float or None, default=None
        Seconds for the solver, all components together; None: no limit. When they are over, the fit ends with the best
        bounds found so far, which hold as ever: ``certificate_.status`` is ``"time_limit"``, and a warning names the gap.
        The choice that ``bound_on="new rows"`` makes on held-out rows gets half of the time: past it, the best candidate on
        the parts that were measured is taken, or none, and a warning says so. The clock is looked at between eigen-solves
        and programmes; reading the data and the certificate are not cut short. A fit that ends so depends on the machine.
    random_state : int, RandomState or None, default=None
        Seed of start vectors in iterative eigen-solvers. None is a fixed seed: fits are reproducible.
    verbose : bool or callable, default=False
        True shows the bounds after each pass: as a live line on a terminal (with tqdm), else through the logger ``uca``.
        A callable gets (pass, upper bound, lower bound, relative gap).

    Attributes
    ----------
    components_ : array of shape (k, p)
        Orthonormal directions on the standardised features. The largest absolute entry of each is positive. They are the
        weights that make a score: they also include features that only cancel what a background shares.
    patterns_ : array of shape (k, p)
        What follows the score: by how much each (standardised) feature rises in the target when the score
        rises by 1, ``A v / (v'Av)``. Read these to interpret a component.
    pattern_correlations_ : array of shape (k, p), or None
        Correlation of each feature with the score in the target; None if the spread of features is not known (data that
        is neither centred nor scaled, and is not held as a covariance).
    lambdas_ : array of shape (m,)
        Multiplier of each background: how much it shapes the components. 0: it does not.
    eigenvalues_ : array of shape (k,)
        Eigenvalues of ``A - sum_j lambda_j B_j``.
    explained_variance_, explained_variance_ratio_ : array of shape (k,)
        Target variance of each component, and its share of the total.
    background_variance_ : array of shape (k, m)
        Variance of each component in each background, in the rows of the fit.
    expected_background_variance_ : array of shape (k, m), or None
        The same in new rows of each background, centred and scaled as those of the fit: a prediction, made without new
        rows, for rows that are independent. ``inf`` if there is no usable prediction (the fit has used up nine rows in ten).
        A warning says if it is above twice the bound. For repeated rows use
        :func:`uca.inference.expected_background_variance`. None after :meth:`fit_covariance`: matrices do not say how
        many rows they come from; also None if covariances were estimated from rows with gaps.
    rows_used_ : array of shape (m,), or None
        How many rows of each background the first component has used up; the closer to all rows, the less its
        bound can be trusted in new rows.
    background_names_ : list of str
    bounds_ : array of shape (m,)
        The bounds that were asked for; with ``bound_on="new rows"`` those that new rows should respect, while the fit
        itself respects ``restriction_.factor`` times as much.
    restriction_ : Restriction or None
        How the fit was restricted for new rows, with the table that this was chosen from; None with ``bound_on="rows"``. The
        certificate, the multipliers and the eigenvalues are those of the restricted problem.
    mean_, scale_ : array of shape (p,)
        What the target was centred and scaled by. ``scale_`` is 0 for a feature that is constant in the target; such a
        feature contributes nothing to scores.
    mean_differences_ : MeanDifferences or None
        Features whose means differ by 1 SD or more between the target and a background: UCA does not look at means. None
        where data is not centred, where there is no background, and after :meth:`fit_covariance`.
    law_ : NormalLaw or None
        With ``missing="em"``: the law of the target, by which :meth:`transform` fills gaps. None otherwise, and where the
        target is not in memory. ``law_.n_values`` has the values of each feature.
    reference_ : Reference or None
        What :meth:`background_distance`, :meth:`score_samples` and :func:`uca.drift` compare new rows with: rows, means,
        scales and score covariances of target and backgrounds. None after :meth:`fit_covariance`.
    certificate_ : Certificate
        Proof of how well the first component's problem was solved. If values are missing it is for estimated covariances:
        ``certificate_.estimated``.
    certificates_ : tuple of Certificate
        One for each solved problem: one for joint components, k for sequential ones.
    component_lambdas_ : array of shape (k, m)
        The multipliers behind each component; rows are equal for joint components.
    n_iter_ : int
    n_samples_ : int or None
        Rows of the target that have a value; None after :meth:`fit_covariance`.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the target had column names.
    representation_, solver_ : str
        What was used.

    See Also
    --------
    uca.solve_dual : The solver for covariance matrices and operators.

    Notes
    -----
    Tu, Foss & Zhao, "Capturing patterns of variation unique to a specific dataset", arXiv:2104.08157 (2021). The paper
    prints the dual as a maximisation of a concave function; it is a minimisation of a convex one.

    Examples
    --------
    >>> import numpy as np
    >>> from uca import UCA
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=(300, 1)) * [3, 3, 0, 0, 0]
    >>> unique = rng.normal(size=(300, 1)) * [0, 0, 2, 2, 0]
    >>> background = rng.normal(size=(300, 1)) * [3, 3, 0, 0, 0] + rng.normal(size=(300, 5))
    >>> target = shared + unique + rng.normal(size=(300, 5))
    >>> model = UCA(n_components=1).fit(target, backgrounds=background)
    >>> bool(np.abs(model.components_[0, 2:4]).min() > 0.6)
    True
    >>> model.certificate_.status, model.certificate_.tight
    ('optimal', True)
    """

    parts = (*BoundedTransformer.parts, Restriction, TradeOff)
    component_prefix = "UC"
    method_name = "UCA"

    restriction_: Restriction | None

    def __init__(
        self,
        n_components: int = 2,
        *,
        center: bool = True,
        scale: bool | str = True,
        bound: Any = "mean",
        bound_on: Any = "rows",
        components: str = "joint",
        whiten: bool = False,
        solver: str = "auto",
        representation: str = "auto",
        missing: str = "error",
        tol: float = 1e-9,
        max_iter: int = 100,
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: Any = False,
    ):
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.bound = bound
        self.bound_on = bound_on
        self.components = components
        self.whiten = whiten
        self.solver = solver
        self.representation = representation
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_bound_on(self.bound_on, self.n_components)
        check_choice("components", self.components, ("joint", "sequential"))
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        check_tolerance(self.tol)
        check_positive_int("max_iter", self.max_iter)
        check_time_limit(self.time_limit)
        if not callable(self.verbose):
            check_bool("verbose", self.verbose)

    def _check_without_rows(self, what: str) -> None:
        if isinstance(self.bound_on, str) and self.bound_on == "new rows":
            raise ValueError(
                f"bound_on='new rows' is chosen on held-out rows, and {what} has none: choose it on rows in memory with "
                "uca.inference.choose_restriction(X, backgrounds), and pass the result as bound_on"
            )

    def _solve(self, problem: Problem) -> dict[str, Any]:
        deadline = Deadline.after(self.time_limit)
        restriction = self._restriction(problem, deadline)
        if restriction is None:
            return {**self._solve_held(problem, deadline), "restriction_": None}
        return self._solve_held(problem.restricted(restriction.n_leading), deadline, restriction)

    def _restriction(self, problem: Problem, deadline: Deadline) -> Restriction | None:
        """How the fit is held back; None where it is not. To choose it takes half of the time at most."""
        if not problem.names or isinstance(self.bound_on, Restriction):
            return self.bound_on if problem.names else None
        if self.bound_on == "rows":
            return None
        assert problem.data is not None
        if problem.held.estimated:
            raise ValueError(
                "bound_on='new rows' is chosen on held-out rows without gaps, and values are missing: choose it on "
                "complete rows, with uca.inference.choose_restriction(X, backgrounds), and pass the result as bound_on"
            )
        chosen = choose(self, problem.data, problem, deadline=deadline.shared(2))
        if told := cut_short(chosen):
            warnings.warn(told, ConvergenceWarning, stacklevel=5)
        return chosen

    def _solve_held(
        self, problem: Problem, deadline: Deadline, restriction: Restriction | None = None
    ) -> dict[str, Any]:
        bounds = problem.bounds(check_bound(self.bound, problem.names))
        with progress(self.verbose) as callback:
            options = self._options(problem) | {"callback": callback, "deadline": deadline}
            results = self._results(problem, bounds, options, restriction)
        lost = any(result.certificate.status == Status.ROUNDING for result in results)
        if lost and (sharper := problem.sharper()) is not None:
            return self._solve_held(sharper, deadline, restriction)
        used = {}
        if restriction is not None:
            used["restriction_"], results = as_restricted(restriction, results, bounds)
        fitted = {**self._attributes(problem, results), **self._expected(problem, results), **used}
        return with_expectation(fitted, problem.names, problem.n_rows, self.component_prefix)

    def _expected(self, problem: Problem, results: Sequence[DualResult]) -> dict[str, Any]:
        """The attributes that speak of new rows."""
        vectors = np.hstack([result.vectors for result in results])
        eigenvalues = np.concatenate([result.eigenvalues for result in results])
        lambdas = np.stack([results[i % len(results)].lambdas for i in range(vectors.shape[1])])
        return problem.expected(vectors, eigenvalues, lambdas, joint=self.components == "joint")

    def _options(self, problem: Problem) -> dict[str, Any]:
        """What the solver is told."""
        return {
            "names": problem.names,
            "solver": self.solver,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "seed": problem.seed,
            "powers": problem.powers,
        }

    def _results(
        self, problem: Problem, bounds: Array, options: dict[str, Any], restriction: Restriction | None
    ) -> list[DualResult]:
        each: Callable[..., DualResult] = solve
        if restriction is not None:
            each, bounds = partial(solve_relaxed, ceiling=bounds), restriction.factor * bounds
        if self.components == "sequential":
            return solve_sequential(problem.eigen, bounds, k=problem.k, each=each, **options)
        return [each(problem.eigen, bounds, k=problem.k, **options)]
