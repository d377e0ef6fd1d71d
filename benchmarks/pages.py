"""Pages of the docs whose figures a benchmark writes: what stands between two marks is renewed."""

from __future__ import annotations


def between(text: str, mark: str, new: str) -> str:
    """The page with what stands between two marks renewed."""
    before, rest = text.split(f"<!-- {mark} -->\n")
    after = rest.split(f"<!-- /{mark} -->")[1]
    return f"{before}<!-- {mark} -->\n{new}\n<!-- /{mark} -->{after}"
