"""Make docs/images/each.png: the figure of the first example of docs/each.md. Run with ``python docs/each_image.py``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from uca.plotting.groupwise import picture

DOCS = Path(__file__).resolve().parent


def main() -> None:
    """Run the example and draw its result."""
    block = re.search(
        r"^```python\n(.*?)^```", (DOCS / "each.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert block is not None
    names: dict[str, Any] = {}
    exec(block.group(1), names)
    (DOCS / "images" / "each.png").write_bytes(picture(names["result"], dots=110))


if __name__ == "__main__":
    main()
