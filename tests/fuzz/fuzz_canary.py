"""What a hostile model file names: whoever imports it or calls what is in it has run code from outside."""

from __future__ import annotations

import sys

sys.audit("fuzz.canary", "imported")


def sing(*args: object, **options: object) -> None:
    sys.audit("fuzz.canary", "called")


class Singer:
    def __new__(cls, *args: object, **options: object) -> Singer:
        sys.audit("fuzz.canary", "made")
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        sys.audit("fuzz.canary", "filled")
