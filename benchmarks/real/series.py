"""Settings from series: stocks of skfolio, motions and speakers of aeon. Files are read without importing the packages."""

from __future__ import annotations

from functools import cache

import numpy as np

from .setting import Draw, folder, rows_alone

#: Peak to trough of the S&P 500 in bear markets of at least 20 weeks, and calm calendar years between them.
BEARS = {
    "2000": ("2000-03-24", "2002-10-09"),
    "2007": ("2007-10-09", "2009-03-09"),
    "2022": ("2022-01-03", "2022-10-12"),
}
CALM = {
    "1992-1996": ("1992-01-01", "1996-12-31"),
    "2004-2006": ("2004-01-01", "2006-12-31"),
    "2013-2017": ("2013-01-01", "2017-12-31"),
}
LEAST_DAYS = 4  # of a week
FLOOR = 1e-3  # of a week's SD: a tenth of a per cent a day
TIMES = ("TRAIN", "TEST")
STILL = "standing"
BANDS = 25
TARGET_SPEAKERS = 4


def stocks(seed: int) -> Draw:
    weeks, quarters, values = _weeks()
    target, labels = _periods(weeks, values, BEARS)
    groups = _periods(weeks, quarters, BEARS)[0]
    return Draw(target, labels, groups, {name: _periods(weeks, values, {name: CALM[name]})[0] for name in CALM})


def _periods(weeks: np.ndarray, values: np.ndarray, periods: dict) -> tuple[np.ndarray, np.ndarray]:
    inside = {name: (weeks >= np.datetime64(a)) & (weeks <= np.datetime64(b)) for name, (a, b) in periods.items()}
    labels = np.repeat(list(inside), [int(rows.sum()) for rows in inside.values()])
    return np.concatenate([values[rows] for rows in inside.values()]), labels


@cache
def _weeks() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First days of weeks, their quarters, and the log of each stock's SD of daily log returns."""
    import pandas as pd

    path = folder("skfolio") / "datasets" / "data" / "sp500_dataset.csv.gz"
    prices = pd.read_csv(path, index_col=0, parse_dates=True)
    returns = np.log(prices).diff().iloc[1:]
    by_week = returns.groupby(returns.index.to_period("W"))
    whole = (by_week.size() >= LEAST_DAYS).to_numpy()
    spread = by_week.std(ddof=1)[whole]
    days = spread.index.start_time
    return days.to_numpy(), days.to_period("Q").astype(str).to_numpy(), np.log(spread.to_numpy() + FLOOR)


def motions(seed: int) -> Draw:
    series, labels = _read("BasicMotions", "BasicMotions")
    features = np.array([_log_power(one) for one in series])
    still = labels == STILL
    return rows_alone(features[~still], labels[~still], {STILL: features[still]})


def _log_power(channels: np.ndarray) -> np.ndarray:
    """Log of the power of each channel in bands of neighbouring frequencies, without the mean."""
    power = np.abs(np.fft.rfft(channels, axis=1))[:, 1:] ** 2
    return np.log(power.reshape(len(channels), BANDS, -1).sum(axis=2) + 1e-6).ravel()


def speakers(seed: int) -> Draw:
    series, labels = _read("JapaneseVowels", "JapaneseVowels")
    features = np.array(
        [np.concatenate([part.mean(axis=1) for part in np.array_split(one, 3, axis=1)]) for one in series]
    )
    order = np.random.default_rng([seed, 4]).permutation(np.unique(labels))
    chosen = np.isin(labels, order[:TARGET_SPEAKERS])
    others = {f"speaker {name}": features[labels == name] for name in sorted(order[TARGET_SPEAKERS:])}
    return rows_alone(features[chosen], labels[chosen], others)


@cache
def _read(data: str, name: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Series (channels, times) and labels of both files, in the format that aeon calls ts."""
    series, labels = [], []
    for part in TIMES:
        path = folder("aeon") / "datasets" / "data" / data / f"{name}_{part}.ts"
        rows = path.read_text().lower().split("@data")[1].split()
        for row in rows:
            *channels, label = row.split(":")
            series.append(np.array([np.array(channel.split(","), dtype=float) for channel in channels]))
            labels.append(label)
    return series, np.array(labels)
