"""Names of the types that functions of the package take, for annotations and editors.

``Rows``
    A dataset, (n, p): an array, a list of lists, a table of pandas, polars or pyarrow, a sparse matrix, a mapped file, a
    dask array, a tensor.
``Backgrounds``
    One dataset, a list or tuple of them, or a dict of name -> dataset; None is none.
``Labels``
    One label for each row: text, numbers or a column of a table.
``Groups``
    Which rows belong to one subject: labels for each dataset (a list, target first, or a dict), or for all rows.
"""

from ._types import Backgrounds, Groups, Labels, Rows

__all__ = ["Backgrounds", "Groups", "Labels", "Rows"]
