"""cPCA and cPCA++ against their definitions and against the packages that people use."""

from __future__ import annotations

import numpy as np
import pytest
from needs import Optional
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from uca import CPCA, UCA, CPCAPlusPlus, pool

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

    def test_affinity_is_the_product_of_cosines(self, rng):
        target, background = make(rng)
        model = CPCA(alpha=[0.0, 1.0, 50.0]).fit(target, backgrounds=background)
        for i, a in enumerate(model.results_):
            for j, b in enumerate(model.results_):
                expected = np.prod(np.cos(subspace_angles(a.components.T, b.components.T)))
                assert model.affinity_[i, j] == pytest.approx(expected, abs=1e-7)

    def test_medoids_of_clear_groups(self):
        from uca.estimators.cpca import select_medoids

        groups = np.repeat([0, 1, 2], [5, 4, 6])
        affinity = np.where(groups[:, None] == groups, 0.9, 0.05)
        affinity[2, :5] = affinity[:5, 2] = affinity[7, 5:9] = affinity[5:9, 7] = affinity[9, 9:] = affinity[9:, 9] = (
            0.99
        )
        np.fill_diagonal(affinity, 1.0)
        assert select_medoids(affinity, 3, None) == [2, 7, 9]

    @pytest.mark.parametrize("alpha", [0.5, 2.0, 20.0])
    def test_peer_contrastive(self, rng, alpha):
        """The peer divides by the population deviation; with equal numbers of rows that is one common factor."""
        contrastive = pytest.importorskip("contrastive", reason="peer not installed: pip install contrastive")
        target, background = make(rng, 50, 50)
        peer = contrastive.CPCA(standardize=True)
        peer.fit(target.copy(), background.copy())
        ours = CPCA(alpha=alpha).fit_transform(target, backgrounds=background)
        assert subspace_angles(peer.cpca_alpha(peer.fg, alpha), ours).max() < 1e-7


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
        (CPCA(n_select=50), "n_select=50 is more than"),
        (CPCA(max_log_alpha=20), "max_log_alpha must be a number between -1 and 15"),
        (CPCAPlusPlus(shrinkage=2), "shrinkage must be a number between 0 and 1"),
    ],
)
def test_parameters(rng, model, message):
    target, background = make(rng)
    with pytest.raises(ValueError, match=message):
        model.fit(target, backgrounds=background)


class TestPool:
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
