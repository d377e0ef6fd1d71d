"""The demo runs offline and shows what it claims."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("skimage", reason="the demo needs scikit-image: pip install '.[demo]'")
pytest.importorskip("matplotlib", reason="the demo needs matplotlib: pip install '.[demo]'")

from uca import datasets, demo


def test_demo_prints_tables_and_saves_the_figure(tmp_path, capsys):
    demo.main(["--seeds", "2", "--out", str(tmp_path / "new")])
    printed = capsys.readouterr().out
    for text in (
        "(a) one background",
        "(b) two backgrounds",
        "UCA, split",
        "Optimal: the certified relative gap",
        "ahead of",
        "digits 0 and 1 over grass: UC1",
        "grass without digits: For no component could it be shown",
        "digits 3 and 8 over grass + brick: UC1 varies more in the target than in every one of 2 backgrounds",
    ):
        assert text in printed
    assert (tmp_path / "new" / "uca-demo.png").stat().st_size > 50_000
    page = (tmp_path / "new" / "report.html").read_text(encoding="utf-8")
    assert "<title>Digits 3 and 8 over grass + brick" in page
    assert "1 unique component" in page
    assert '"labels":{"name":"digit","levels":["3","8"]' in page


def test_auc_is_the_mean_of_five_folds(rng):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    labels = np.repeat([3, 8], [40, 60])
    scores = rng.standard_normal((100, 2)) * [1, 30] + (labels == 8)[:, np.newaxis]
    folds = StratifiedKFold(5, shuffle=True, random_state=7)
    wanted = cross_val_score(LogisticRegression(), scores, labels, cv=folds, scoring="roc_auc").mean()
    assert demo.label_auc(scores, labels, 7) == pytest.approx(wanted, abs=1e-12)  # the same sums in another order


def test_best_line_is_that_of_held_out_regressions(rng):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    labels = np.repeat([3, 8], [40, 60])
    scores = rng.standard_normal((100, 2)) * [1, 3] + 2 * (labels == 8)[:, np.newaxis]
    folds = StratifiedKFold(5, shuffle=True, random_state=7)
    odds = cross_val_predict(LogisticRegression(), scores, labels, cv=folds, method="decision_function")
    places = demo.along_best_line(scores, labels, 7)
    assert np.corrcoef(places, odds)[0, 1] == pytest.approx(1.0, abs=1e-12)  # the same odds, by way of probabilities
    within = [places[labels == label].var() for label in (3, 8)]
    assert (places.mean(), np.mean(within)) == pytest.approx((0.0, 1.0), abs=1e-12)


def test_one_background_reveals_the_digit():
    aucs = demo.repeat(datasets.digits_on_grass, 4)
    assert aucs["PCA"].mean() < 0.7
    assert aucs["UCA, grass only"].min() > 0.9


def test_split_beats_pooling_on_average():
    aucs = demo.repeat(datasets.digits_on_grass_and_brick, 6)
    assert aucs["UCA, split"].mean() > aucs["UCA, pooled"].mean() + 0.05
    assert aucs["PCA"].mean() < 0.6


def test_patches_of_target_and_background_share_no_pixel():
    from uca.datasets.textures import _patches

    columns = np.tile(np.arange(512.0), (512, 1))
    rng = np.random.RandomState(0)
    assert _patches(columns, 500, rng, half="left").max() < 256
    assert _patches(columns, 500, rng, half="right").min() >= 256


def test_datasets_are_what_they_say():
    data = datasets.digits_on_grass_and_brick(random_state=1)
    assert data.target.shape == (357, 64)
    assert {name: len(rows) for name, rows in data.backgrounds.items()} == {"grass": 150, "brick": 1850}
    assert set(np.unique(data.labels)) == {3, 8}
    again = datasets.digits_on_grass_and_brick(random_state=1)
    np.testing.assert_array_equal(again.target, data.target)
    grass = datasets.digits_on_grass(n_background=20_000).backgrounds["grass"]
    assert grass.std() == pytest.approx(1.0, abs=0.1)


def test_wrong_number_of_seeds(capsys):
    with pytest.raises(SystemExit):
        demo.main(["--seeds", "0"])
    assert "--seeds must be at least 1" in capsys.readouterr().err
