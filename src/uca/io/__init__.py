"""Tables from files and to files: rows of numbers with names, ids and the columns that are not numbers.

Nothing is coerced in silence. Columns that do not hold numbers are kept apart and reported, missing values are an error
until the caller says what to do, and columns of several tables are matched by name.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .._lazy import on_use as _on_use

if _TYPE_CHECKING:
    from .advice import Advice, Hint, TableError
    from .cells import NotNumbers
    from .formats import Content, Format, Raw
    from .matching import match_features, set_empty_aside
    from .missing import handle_missing
    from .names import closest
    from .place import Place, locate
    from .readers import FORMATS, format_of, read_raw
    from .table import Table, find_labels, read_table, split
    from .turning import row_names, turn, turn_where_needed
    from .words import MISSING
    from .writers import check_writable, write_table

__all__ = [
    "FORMATS",
    "MISSING",
    "Advice",
    "Content",
    "Format",
    "Hint",
    "NotNumbers",
    "Place",
    "Raw",
    "Table",
    "TableError",
    "check_writable",
    "closest",
    "find_labels",
    "format_of",
    "handle_missing",
    "locate",
    "match_features",
    "read_raw",
    "read_table",
    "row_names",
    "set_empty_aside",
    "split",
    "turn",
    "turn_where_needed",
    "write_table",
]

#: Module -> the names that it brings.
_NAMES = {
    "advice": ("Advice", "Hint", "TableError"),
    "cells": ("NotNumbers",),
    "formats": ("Content", "Format", "Raw"),
    "matching": ("match_features", "set_empty_aside"),
    "missing": ("handle_missing",),
    "names": ("closest",),
    "place": ("Place", "locate"),
    "readers": ("FORMATS", "format_of", "read_raw"),
    "table": ("Table", "find_labels", "read_table", "split"),
    "turning": ("row_names", "turn", "turn_where_needed"),
    "writers": ("check_writable", "write_table"),
    "words": ("MISSING",),
}

__getattr__, __dir__ = _on_use(__name__, _NAMES)
