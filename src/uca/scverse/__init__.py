"""Single cells: Unique Component Analysis on an AnnData object, beside scanpy's tools.

* :func:`uca`: fit on groups of cells, score all cells.
* :func:`test`: are the components unique, on held-out donors?
* :func:`donors`: what a handful of donors can show, where the test refuses.
* :func:`rank_genes`: the genes that follow each component, in the structure of scanpy's ``rank_genes_groups``.
* :func:`report`: one HTML page of the fit.
* :func:`each`: each group of cells against all others.

Promises: the matrix of ``adata`` is read as it is and never changed. Nothing is written to ``adata`` before everything has
succeeded, and only what an h5ad file can hold; :class:`Keys` says where. What follows a fit asks the same question again:
same groups, same genes, same parameters, as they stand in ``adata.uns``.
"""

from .fit import uca
from .genes import rank_genes
from .groups import each
from .keys import Keys
from .page import report
from .tested import donors, test

__all__ = ["Keys", "donors", "each", "rank_genes", "report", "test", "uca"]
