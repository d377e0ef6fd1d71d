"""What a path over numbers of features found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._readable import listed
from .._shown import Part, Shown, table, text
from .._types import Array
from ..dual import Certificate


@dataclass(frozen=True, eq=False, repr=False)
class SparsityPath(Shown):
    """Result of :meth:`uca.SparseUCA.path`; ``print`` it for the table.

    Attributes
    ----------
    n_nonzero : integer array of shape (s,)
        Numbers of features, ascending.
    variance : array of shape (s,)
        Target variance of the first component with that number of features, in the rows of the fit.
    upper : array of shape (s,)
        What no other choice of that number of features exceeds.
    background_variance : array of shape (s, m)
    support : tuple of arrays
        The features: their names where these are known, their positions otherwise; largest loading first.
    certificates : tuple of SparseCertificate
    held_out, held_out_background : array of shape (s,) and (s, m), or None
        The same variances in held-out rows. None where there are no rows to hold out.
    bounds : array of shape (m,)
    background_names : tuple of str
    n_folds : int
    grouped : bool
        Whether folds kept the rows of subjects together.
    """

    n_nonzero: Array
    variance: Array
    upper: Array
    background_variance: Array
    support: tuple[Array, ...]
    certificates: tuple[Certificate, ...]
    held_out: Array | None
    held_out_background: Array | None
    bounds: Array
    background_names: tuple[str, ...]
    n_folds: int
    grouped: bool

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each number of features, as plain values."""
        rows = []
        for i, k in enumerate(self.n_nonzero.tolist()):
            row = {
                "features": k,
                "target": float(self.variance[i]),
                "at most": float(self.upper[i]),
                "status": str(self.certificates[i].status),
            }
            if self.held_out is not None and self.held_out_background is not None:
                row["target, held out"] = float(self.held_out[i])
                for j, name in enumerate(self.background_names):
                    row[f"{name}, held out"] = float(self.held_out_background[i, j])
            rows.append({**row, "support": self.support[i].tolist()})
        return rows

    def _brief(self) -> str:
        told = [f"{value:.4g} with {k}" for k, value in zip(self.n_nonzero, self.variance, strict=True)]
        return f"target variance {listed(told, 4)} features; {self._proven()}"

    def _proven(self) -> str:
        proven = sum(certificate.status == "optimal" for certificate in self.certificates)
        return f"{proven} of {len(self.certificates)} proven to be the best with that number of features"

    def _parts(self) -> list[Part]:
        rows = self.table
        header = [name for name in rows[0] if name != "support"]
        cells = [
            [f"{row[name]:.4g}" if isinstance(row[name], float) else f"{row[name]}" for name in header] for row in rows
        ]
        return [table(header, cells), text(self.sentence)]

    @property
    def sentence(self) -> str:
        """What the columns are, in words."""
        told = self._proven()
        if self.held_out is None:
            return f"{told}. There are no rows to hold out: path(..., X, backgrounds=...) takes them."
        who = "subjects" if self.grouped else "rows"
        return (
            f"{told}. Held out: the search was repeated without each of {self.n_folds} folds of {who}, and its component "
            "measured on the fold."
        )
