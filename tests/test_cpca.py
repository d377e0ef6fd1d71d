"""cPCA and cPCA++ against their definitions and against the packages that people use."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
import pytest
from needs import Optional
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from uca import CPCA, UCA, CPCAPlusPlus, pool
from uca.estimators.cpca import score_affinity, select_alphas
from uca.operators.contract.dense import DenseCovariance

pd, pl, da = Optional("pandas"), Optional("polars"), Optional("dask.array")


@parametrize_with_checks([CPCA(n_alphas=8), CPCA(alpha=1.5), CPCAPlusPlus(), CPCAPlusPlus(shrinkage=0.2, whiten=True)])
def test_check_estimator(estimator, check):
    check(estimator)


def make(rng, n_target=40, n_background=30, p=8):
    return tuple(rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) for n in (n_target, n_background))


def correlation(rows):
    return np.corrcoef(rows, rowvar=False)


def angle(a, b):
    return subspace_angles(a.T, b.T).max()


class TestCPCA:
    @pytest.mark.parametrize("alpha", [0, 0.5, 2.0, 100.0])
    @pytest.mark.parametrize("p", [8, 100])
    def test_is_the_definition(self, rng, p, alpha):
        target, background = make(rng, p=p)
        contrast = correlation(target) - alpha * correlation(background)
        values, vectors = np.linalg.eigh(contrast)
        model = CPCA(alpha=alpha).fit(target, backgrounds=background)
        assert model.representation_ == ("covariance" if p == 8 else "reduced")
        np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-9, atol=1e-9)
        assert angle(model.components_, vectors[:, -2:].T) < 1e-6
        v = model.components_.T
        np.testing.assert_allclose(model.explained_variance_, np.diag(v.T @ correlation(target) @ v))
        np.testing.assert_allclose(model.background_variance_[:, 0], np.diag(v.T @ correlation(background) @ v))

    def test_alpha_zero_is_pca(self, rng):
        target, background = make(rng)
        z = (target - target.mean(axis=0)) / target.std(axis=0, ddof=1)
        for model in (CPCA(alpha=0).fit(target, backgrounds=background), CPCA().fit(target)):
            assert angle(model.components_, PCA(2).fit(z).components_) < 1e-7

    @pytest.mark.parametrize("representation", ["covariance", "reduced"])
    def test_infinite_alpha_is_pca_on_the_null_space(self, rng, representation):
        target, background = make(rng, n_background=20, p=50)
        b = correlation(background)
        values, vectors = np.linalg.eigh(b)
        null = vectors[:, values < 1e-9]
        projected = null @ null.T @ correlation(target) @ null @ null.T
        expected = np.linalg.eigh(projected)[1][:, -2:].T
        limit = CPCA(alpha=np.inf, representation=representation).fit(target, backgrounds=background)
        large = CPCA(alpha=1e8, representation=representation).fit(target, backgrounds=background)
        assert angle(limit.components_, expected) < 1e-6
        assert angle(large.components_, expected) < 1e-4
        np.testing.assert_allclose(limit.background_variance_, 0, atol=1e-9)

    def test_infinite_alpha_without_null_space(self, rng):
        target, background = make(rng)
        with pytest.raises(ValueError, match=r"alpha=inf leaves 0 directions.*use a finite alpha"):
            CPCA(alpha=np.inf).fit(target, backgrounds=background)

    def test_list_of_alphas(self, rng):
        target, background = make(rng)
        model = CPCA(alpha=[3.0, 0.5]).fit(target, backgrounds=background)
        assert [result.alpha for result in model.results_] == [3.0, 0.5]
        assert model.alpha_ == 3.0
        single = CPCA(alpha=0.5).fit(target, backgrounds=background)
        np.testing.assert_array_equal(model.results_[1].components, single.components_)

    def test_automatic_selection(self, rng):
        target, background = make(rng, n_target=60, n_background=60)
        model = CPCA().fit(target, backgrounds=background)
        assert len(model.alphas_) == 41
        assert model.alphas_[0] == 0
        np.testing.assert_allclose([model.alphas_[1], model.alphas_[-1]], [0.1, 1000.0])
        np.testing.assert_allclose(np.diag(model.affinity_), 1.0)
        assert len(model.results_) == 3
        selected = [result.alpha for result in model.results_]
        assert selected == sorted(selected)
        assert set(selected) <= set(model.alphas_)
        assert model.alpha_ == selected[1]
        again = CPCA().fit(target, backgrounds=background)
        assert [result.alpha for result in again.results_] == selected

    @pytest.mark.parametrize("representation", ["covariance", "reduced", "implicit"])
    def test_affinity_is_the_product_of_cosines_between_scores(self, rng, representation):
        target, background = make(rng, p=60)
        model = CPCA(alpha=[0.0, 1.0, 50.0], scale=False, representation=representation)
        model.fit(target, backgrounds=background)
        scores = [(target - target.mean(axis=0)) @ result.components.T for result in model.results_]
        for i, a in enumerate(scores):
            for j, b in enumerate(scores):
                expected = np.prod(np.cos(subspace_angles(a, b)))
                assert model.affinity_[i, j] == pytest.approx(expected, abs=1e-7)

    def test_affinity_where_the_target_does_not_vary(self):
        """Diagonal matrices: scores of axis 2 are zero, so they span less than those of axes 0 and 1."""
        axes = np.eye(3)
        target = DenseCovariance(np.diag([2.0, 1.0, 0.0]))
        affinity = score_affinity(target, [axes[:, [0, 1]], axes[:, [0, 2]], axes[:, [2, 0]], axes[:, [1, 2]]])
        expected = [[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
        np.testing.assert_allclose(affinity, expected, atol=1e-12)

    @pytest.mark.parametrize(("first", "expected"), [(range(5), [7, 9]), (range(5, 9), [2, 9]), (range(9, 15), [2, 7])])
    def test_medoids_of_clear_groups_without_that_of_the_first_value(self, first, expected):
        """Three groups with a centre each; the value in the first place belongs to one of them, which is dropped."""
        groups = [range(5), range(5, 9), range(9, 15)]
        affinity = np.full((15, 15), 0.05)
        for group, centre in zip(groups, (2, 7, 9), strict=True):
            affinity[np.ix_(group, group)] = 0.9
            affinity[centre, group] = affinity[group, centre] = 0.99
        np.fill_diagonal(affinity, 1.0)
        order = [*first, *(i for i in range(15) if i not in first)]  # positions of the shuffled matrix
        selected = select_alphas(affinity[np.ix_(order, order)], 2, None)
        assert sorted(order[i] for i in selected) == expected

    def test_two_members_are_equal_and_the_smaller_is_taken(self):
        """Rounding must not decide: a medoid of two is the first, whichever sum came out larger in the last digit."""
        affinity = np.kron(np.eye(3), np.full((2, 2), 0.9)) + 0.01
        np.fill_diagonal(affinity, 1.0)
        affinity[3, 3] += 1e-15
        assert select_alphas(affinity, 2, None) == [2, 4]

    def test_as_many_as_are_tried(self, rng):
        target, background = make(rng)
        model = CPCA(n_alphas=5, n_select=5).fit(target, backgrounds=background)
        assert [result.alpha for result in model.results_] == model.alphas_[1:].tolist()

    def test_nothing_to_select(self, rng):
        """With as many components as features, every alpha spans the whole space."""
        target, background = make(rng, p=2)
        model = CPCA().fit(target, backgrounds=background)
        assert [result.alpha for result in model.results_] == [0.0]

    @pytest.mark.parametrize("alpha", [0.5, 2.0, 20.0])
    def test_peer_contrastive(self, rng, alpha):
        """The peer divides by the population deviation; with equal numbers of rows that is one common factor."""
        contrastive = pytest.importorskip("contrastive", reason="peer not installed: pip install contrastive")
        target, background = make(rng, 50, 50)
        peer = contrastive.CPCA(standardize=True)
        peer.fit(target.copy(), background.copy())
        ours = CPCA(alpha=alpha).fit_transform(target, backgrounds=background)
        assert subspace_angles(peer.cpca_alpha(peer.fg, alpha), ours).max() < 1e-7


def by_class(load, target, background):
    """Rows of some classes against those of others."""
    values, classes = load(return_X_y=True)
    return values[np.isin(classes, target)], values[np.isin(classes, background)]


def diabetes_halves():
    values, progression = load_diabetes(return_X_y=True)
    worse = progression > np.median(progression)
    return values[worse], values[~worse]


def simulated(seed, n_target, n_background, p, n_shared, freedom=np.inf):
    """Factors that both datasets share and two that only the target has; t-distributed where freedom is finite."""
    rng = np.random.default_rng(seed)
    shared, own = rng.standard_normal((n_shared, p)), rng.standard_normal((2, p))

    def draw(n, k):
        return rng.standard_normal((n, k)) if np.isinf(freedom) else rng.standard_t(freedom, (n, k))

    target = 2 * draw(n_target, n_shared) @ shared + draw(n_target, 2) @ own + draw(n_target, p)
    return target, 2 * draw(n_background, n_shared) @ shared + draw(n_background, p)


SELECTION = {
    "breast cancer, malignant": lambda: by_class(load_breast_cancer, 0, 1),
    "breast cancer, benign": lambda: by_class(load_breast_cancer, 1, 0),
    "wine 1, 2 against 0": lambda: by_class(load_wine, [1, 2], 0),
    "wine 0, 1 against 2": lambda: by_class(load_wine, [0, 1], 2),
    "wine 0, 2 against 1": lambda: by_class(load_wine, [0, 2], 1),
    "iris 1, 2 against 0": lambda: by_class(load_iris, [1, 2], 0),
    "iris 0, 1 against 2": lambda: by_class(load_iris, [0, 1], 2),
    "digits 3, 8 against 0": lambda: by_class(load_digits, [3, 8], 0),
    "digits 4, 9 against 7": lambda: by_class(load_digits, [4, 9], 7),
    "digits 5, 6 against 8": lambda: by_class(load_digits, [5, 6], 8),
    "diabetes, worse half": diabetes_halves,
    "simulated, 200 + 200, p = 10": lambda: simulated(0, 200, 200, 10, 2),
    "simulated, 300 + 300, p = 20, t(4)": lambda: simulated(0, 300, 300, 20, 3, freedom=4),
    "simulated, wide, 20 + 30, p = 60": lambda: simulated(2, 20, 30, 60, 3),
    "simulated, 150 + 90, p = 5": lambda: simulated(0, 150, 90, 5, 1),
}


def selected_by_peer(target, background, standardize, **options):
    """Selected alphas of ``contrastive``, without the 0 that it puts first, and its affinities."""
    contrastive = pytest.importorskip("contrastive", reason="peer not installed: pip install contrastive")
    peer = contrastive.CPCA(standardize=standardize, n_components=options.pop("n_components", 2))
    np.random.seed(0)  # noqa: NPY002 - its clustering draws from the global generator
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides by the deviations of constant pixels
        _, alphas = peer.fit_transform(target.copy(), background.copy(), return_alphas=True, **options)
    assert alphas[0] == 0
    return alphas[1:], peer.get_affinity_matrix()


class TestSelectionOfThePeer:
    """Selected alphas equal those of ``contrastive`` 1.2.

    Both cluster by k-means from random starts, so there is an answer to compare only where the starts do not matter: each
    set here gave one selection in 30 seeds of the package and in 30 of ours. Left out because it did not: iris 0 and 2
    against 1, digits 1 and 7 against 3, and simulations with other seeds. Left out because components at large alpha lie
    in features that are constant, where the package compares rounding noise: digits 0 and 1 against 2, diabetes by sex.
    """

    @pytest.mark.parametrize("standardize", [True, False], ids=["standardised", "raw"])
    @pytest.mark.parametrize("name", SELECTION)
    def test_same_alphas(self, name, standardize):
        target, background = SELECTION[name]()
        expected, affinity = selected_by_peer(target, background, standardize)
        if standardize:  # as the peer does it, by the population deviation
            target, background = (standardised(rows) for rows in (target, background))
        model = CPCA(scale=False).fit(target, backgrounds=background)
        # 5e-10 was seen for features in units 1e8 apart, 1e-12 elsewhere.
        np.testing.assert_allclose(model.affinity_, affinity, atol=1e-7)
        np.testing.assert_allclose([result.alpha for result in model.results_], expected, rtol=1e-6)

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            ({"n_select": 2}, {"n_alphas_to_return": 3}),
            ({"n_alphas": 25, "max_log_alpha": 2}, {"n_alphas": 25, "max_log_alpha": 2}),
        ],
        ids=["two values", "another grid"],
    )
    def test_same_alphas_with_other_settings(self, ours, theirs):
        target, background = SELECTION["breast cancer, malignant"]()
        expected, _ = selected_by_peer(target, background, True, **theirs)
        model = CPCA(scale=False, **ours).fit(standardised(target), backgrounds=standardised(background))
        np.testing.assert_allclose([result.alpha for result in model.results_], expected, rtol=1e-6)

    def test_three_components(self):
        """From three components on, the package multiplies the two largest cosines; the publication and we, all.

        Nothing else differs: from the package's affinities our selection is the package's.
        """
        target, background = (standardised(rows) for rows in SELECTION["breast cancer, malignant"]())
        expected, affinity = selected_by_peer(target, background, False, n_components=3)
        model = CPCA(3, scale=False).fit(target, backgrounds=background)
        at = [0, 15, 30]
        few = CPCA(3, alpha=model.alphas_[at], scale=False).fit(target, backgrounds=background).results_
        scores = [target @ result.components.T for result in few]
        cosines = np.array([[np.cos(subspace_angles(a, b))[::-1] for b in scores] for a in scores])
        np.testing.assert_allclose(affinity[np.ix_(at, at)], cosines[..., :2].prod(axis=-1), atol=1e-7)
        np.testing.assert_allclose(model.affinity_[np.ix_(at, at)], cosines.prod(axis=-1), atol=1e-7)
        np.testing.assert_allclose(model.alphas_[select_alphas(affinity, 3, None)], expected, rtol=1e-6)

    def test_same_alphas_by_default(self):
        """With equal numbers of rows the divisor of the deviation does not matter: nothing to do by hand."""
        target, background = SELECTION["simulated, 200 + 200, p = 10"]()
        expected, _ = selected_by_peer(target, background, True)
        model = CPCA().fit(target, backgrounds=background)
        np.testing.assert_allclose([result.alpha for result in model.results_], expected, rtol=1e-6)


def standardised(rows):
    """By the population deviation; constant features become 0."""
    deviations = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(deviations > 0, deviations, 1)


class TestCPCAPlusPlus:
    def test_is_the_generalised_eigenproblem(self, rng):
        target, background = make(rng)
        values, vectors = eigh(correlation(target), correlation(background))
        model = CPCAPlusPlus().fit(target, backgrounds=background)
        np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2])
        assert angle(model.components_, vectors[:, -2:].T) < 1e-7
        np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
        np.testing.assert_allclose(model.explained_variance_ / model.background_variance_[:, 0], model.eigenvalues_)

    @pytest.mark.parametrize("representation", ["covariance", "reduced"])
    def test_singular_background_needs_shrinkage(self, rng, representation):
        target, background = make(rng, 15, 12, p=40)
        model = CPCAPlusPlus(representation=representation)
        with pytest.raises(ValueError, match=r"singular \(rank 11 of 40 features\).*set shrinkage"):
            model.fit(target, backgrounds=background)
        model.set_params(shrinkage=0.3).fit(target, backgrounds=background)
        metric = 0.7 * correlation(background) + 0.3 * np.eye(40)
        values, vectors = eigh(correlation(target), metric)
        np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-8)
        assert angle(model.components_, vectors[:, -2:].T) < 1e-6

    def test_peer_generalized_contrastive_pca(self, rng):
        """Method v2 of the peer is the ratio of target to background."""
        reason = "peer not installed: pip install generalized_contrastive_PCA"
        peer = pytest.importorskip("generalized_contrastive_PCA", reason=reason)
        target, background = make(rng, 50, 40)
        z = [(x - x.mean(axis=0)) / x.std(axis=0) for x in (target, background)]
        other = peer.gcPCA(method="v2", normalize_flag=False)
        other.fit(*z)
        model = CPCAPlusPlus().fit(target, backgrounds=background)
        assert subspace_angles(other.loadings_[:, :2], model.components_.T).max() < 1e-7

    def test_without_background_it_is_pca(self, rng):
        target, _ = make(rng)
        assert angle(CPCAPlusPlus().fit(target).components_, UCA().fit(target).components_) < 1e-7


@pytest.mark.parametrize("model", [CPCA(), CPCAPlusPlus()])
def test_several_backgrounds_are_refused(rng, model):
    target, background = make(rng)
    with pytest.raises(ValueError, match=r"takes one background, got 2: stack them with uca.pool.*UCA"):
        model.fit(target, backgrounds=[background, background])
    model.fit(target, backgrounds={"only": background})
    assert model.background_names_ == ["only"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CPCA(alpha=-1), "at least 0"),
        (CPCA(alpha=[]), "at least 0"),
        (CPCA(alpha="best"), "alpha must be one of 'auto'"),
        (CPCA(alpha=[1, "a"]), "a number or a list of numbers"),
        (CPCA(n_select=41), "n_select=41 is more than the n_alphas=40 values tried besides 0"),
        (CPCA(max_log_alpha=20), "max_log_alpha must be a number between -1 and 15"),
        (CPCAPlusPlus(shrinkage=2), "shrinkage must be a number between 0 and 1"),
    ],
)
def test_parameters(rng, model, message):
    target, background = make(rng)
    with pytest.raises(ValueError, match=message):
        model.fit(target, backgrounds=background)


class TestPool:
    @pytest.mark.parametrize("kind", ["array", "float32", "pandas", "polars", "dask", "list"])
    def test_each_about_its_own_mean(self, rng, kind):
        a, b = rng.normal(size=(20, 3)) + np.array([5, 0, -100]), rng.normal(size=(30, 3))
        make = {
            "array": np.asarray,
            "float32": lambda rows: rows.astype(np.float32),
            "pandas": lambda rows: pd.DataFrame(rows, columns=list("pqr")),
            "polars": lambda rows: pl.DataFrame(rows, schema=list("pqr"), orient="row"),
            "dask": lambda rows: da.from_array(rows, chunks=(7, 3)),
            "list": lambda rows: rows.tolist(),
        }[kind]
        given, before = [make(a), make(b)], a.copy()
        pooled = pool(*given, center=True)
        assert type(pooled) is type(pool(*given))
        expected = np.vstack([a - a.mean(axis=0), b - b.mean(axis=0)])
        np.testing.assert_allclose(np.asarray(pooled), expected, atol=3e-5 if kind == "float32" else 1e-12)
        np.testing.assert_array_equal(a, before)
        if kind != "float32":
            # Rows of the two vary about two means: the scatter within, over one row less than there are.
            within = ((a - a.mean(0)).T @ (a - a.mean(0)) + (b - b.mean(0)).T @ (b - b.mean(0))) / 49
            np.testing.assert_allclose(np.cov(np.asarray(pooled).T), within, rtol=1e-9, atol=1e-12)

    def test_centred_pool_leaves_missing_values_where_they_are(self, rng):
        a = rng.normal(size=(20, 3)) + 5
        a[3, 1] = np.nan
        for table in (a, pd.DataFrame(a)):
            np.testing.assert_allclose(np.asarray(pool(table, table, center=True))[:20], a - np.nanmean(a, axis=0))

    def test_pooled_background_is_one_constraint(self, rng):
        target, a = make(rng)
        b = rng.standard_normal((25, 8)) + 5
        pooled = UCA().fit(target, backgrounds=pool(a, b))
        assert pooled.lambdas_.shape == (1,)
        stacked = np.vstack([a, b])
        by_hand = UCA().fit_covariance(correlation(target), backgrounds=correlation(stacked))
        np.testing.assert_allclose(pooled.components_, by_hand.components_, atol=1e-7)

    def test_kinds(self, rng):
        a, b = make(rng, p=3)
        expected = np.vstack([a, b])
        for pooled in (pool(a, b), pool([a, b]), pool({"x": a, "y": b}), pool((a, b))):
            np.testing.assert_array_equal(pooled, expected)
        frames = pd.DataFrame(a, columns=list("pqr")), pd.DataFrame(b, columns=list("pqr"))
        out = pool(frames[0], frames[1][["r", "p", "q"]])
        assert list(out.columns) == list("pqr")
        np.testing.assert_array_equal(out, expected)
        assert isinstance(pool(*(pl.from_pandas(f) for f in frames)), pl.DataFrame)

    def test_masked_values_stay_missing(self, rng):
        a, b = make(rng, p=3)
        masked = np.ma.array(b, mask=np.zeros(b.shape, dtype=bool))
        np.testing.assert_array_equal(pool(a, masked), np.vstack([a, b]))
        masked[2, 1] = np.ma.masked
        expected = np.vstack([a, masked.filled(np.nan)])
        np.testing.assert_array_equal(pool(a, masked), expected)
        np.testing.assert_array_equal(pool(a, list(masked)), expected)
        np.testing.assert_array_equal(pool(pd.DataFrame(a), masked), expected)
        np.testing.assert_array_equal(pool(sparse.csr_array(a), masked).toarray(), expected)
        np.testing.assert_array_equal(pool(da.from_array(a), masked).compute(), expected)
        chunks = da.from_array(masked, chunks=5)
        with pytest.raises(ValueError, match=f"contains 1 NaN, the first at row {len(a) + 2}, column 1"):
            UCA().fit(a, backgrounds=pool(a, chunks))

    def test_errors(self, rng):
        a, b = make(rng, p=3)
        with pytest.raises(TypeError, match="background 2 is sparse, and centred rows would not be"):
            pool(a, sparse.csr_array(b), center=True)
        with pytest.raises(ValueError, match="nothing to pool"):
            pool()
        with pytest.raises(ValueError, match="same number of features"):
            pool(a, b[:, :2])
        with pytest.raises(ValueError, match="background 2 holds dates or times"):
            pool(a, b.astype("timedelta64[s]"))
        with pytest.raises(ValueError, match="background 1 is None: pass rows"):
            pool(None, a)
        with pytest.raises(ValueError, match="background 2 lacks column 'q'"):
            pool(pd.DataFrame(a, columns=list("pqr")), pd.DataFrame(b[:, ::2], columns=list("pr")))
