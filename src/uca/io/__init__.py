"""Tables from files: rows of numbers with names, ids and the columns that are not numbers.

Nothing is coerced in silence. Columns that do not hold numbers are kept apart and reported, missing values are an error
until the caller says what to do, and columns of several tables are matched by name.
"""

from .advice import Advice, Hint, TableError
from .formats import Format, Raw
from .missing import MISSING, handle_missing
from .readers import FORMATS, format_of, read_raw
from .table import Table, find_labels, match_features, read_table, split

__all__ = [
    "FORMATS",
    "MISSING",
    "Advice",
    "Format",
    "Hint",
    "Raw",
    "Table",
    "TableError",
    "find_labels",
    "format_of",
    "handle_missing",
    "match_features",
    "read_raw",
    "read_table",
    "split",
]
