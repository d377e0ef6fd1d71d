"""How far products lie from exact ones, in units of rounding: what the allowances of certificates rest on.

    python -m benchmarks.rounding

The error of ``Z'Z`` is measured against extended precision (numpy's long double, where it is wider than double), in its
spectral and its Frobenius norm, over ``u sqrt(n)`` times the Frobenius norm of the product. ``uca.operators.rounding``
takes 4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

UNIT = np.finfo(float).eps / 2
SHAPES = ((60, 30), (300, 600), (1_250, 300), (2_500, 100), (20_000, 40))
WIDER = np.finfo(np.longdouble).eps < np.finfo(float).eps / 100


def tables(n: int, p: int) -> Iterator[tuple[str, np.ndarray]]:
    """Data of many kinds, some of it chosen to make roundings go the same way."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(n, 1))
    yield "noise", rng.normal(size=(n, p))
    yield "shared factor", factor + rng.normal(size=(n, p))
    yield "strong factor", 10 * factor + rng.normal(size=(n, p))
    yield "positive", rng.uniform(size=(n, p))
    yield "all 0.1", np.full((n, p), 0.1)
    yield "nearly all 0.1", 0.1 + 1e-9 * rng.normal(size=(n, p))
    yield "0 and 1/3", rng.integers(0, 2, size=(n, p)) / 3
    yield "equal features", np.repeat(rng.normal(size=(n, -(-p // 10))), 10, axis=1)[:, :p]
    yield "Cauchy", rng.standard_cauchy(size=(n, p))
    yield "mixed units", rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-4, 4, size=p)
    yield "trend", np.linspace(0, 1, n)[:, np.newaxis] + 0.01 * rng.normal(size=(n, p))
    yield "sparse", np.where(rng.uniform(size=(n, p)) < 0.05, rng.normal(size=(n, p)), 0.0)


def errors(rows: np.ndarray) -> tuple[float, float]:
    """Spectral and Frobenius norm of the error of ``Z'Z`` over ``u sqrt(n)`` times the Frobenius norm of the product."""
    wide = rows.astype(np.longdouble)
    product = rows.T @ rows
    error = (product - wide.T @ wide).astype(float)
    size = UNIT * np.sqrt(len(rows)) * np.linalg.norm(product)
    return float(np.linalg.norm(error, 2) / size), float(np.linalg.norm(error) / size)


def main() -> None:
    if not WIDER:
        raise SystemExit("long double is no wider than double on this machine")
    print(f"{'rows x features':>16}  {'data':<16} spectral  Frobenius")
    for n, p in SHAPES:
        for name, rows in tables(n, p):
            spectral, frobenius = errors(rows)
            print(f"{f'{n:,} x {p}':>16}  {name:<16} {spectral:8.3f}  {frobenius:9.3f}")


if __name__ == "__main__":
    main()
