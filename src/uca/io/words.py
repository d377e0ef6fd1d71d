"""Words that stand for a missing value in a cell of text, and those that say what to do about missing values."""

from __future__ import annotations

#: What is missing in every file of text or cells, besides an empty cell. They are those that pandas knows.
MISSING_WORDS = frozenset(
    (
        *("#N/A", "#N/A N/A", "#NA", "N/A", "n/a", "NA", "<NA>", "NULL", "null", "None"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    )
)
#: What a formula of a spreadsheet shows where it failed; no number either.
ERROR_WORDS = frozenset(("#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"))
#: What can be done about missing values.
MISSING = ("error", "mean", "median", "zero", "drop-rows", "drop-columns", "em")
