"""Make docs/images/report.png: the report of simulated cells, as headless Chromium shows it.

Run with ``python docs/report_image.py [page.html]``; it needs the extra ``report``, Playwright's Python package, Pillow and
Chromium. The cells are simulated: three programmes that vary in everybody (cell cycle, stress, metabolism) and two that vary
in the stimulated cells only.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from uca import UCA

PROGRAMMES = {
    "cycle": "MKI67 TOP2A CCNB1 CDK1 PCNA PGK1 LDHA VIM ACTB",
    "stress": "HSPA1A HSPA1B DNAJB1 FOS JUN EGR1 ATF3 NFKBIA CD69 KLF2",
    "metabolism": "MT-CO1 MT-ND4 MT-CYB RPLP0 RPS6 RPL13 GAPDH",
    "interferon": "ISG15 IFIT1 IFIT3 MX1 OAS1 STAT1 IRF7 RSAD2 CXCL10",
    "cytotoxic": "GZMB NKG7 PRF1 GNLY IFNG",
    "other": "CD3E CD4 CD8A IL7R CCR7 LEF1 S100A4 ANXA1 TXNIP SELL",
}
STRENGTH = {"cycle": 2.2, "stress": 2.0, "metabolism": 1.8, "interferon": 1.0, "cytotoxic": 1.1}
GENES = " ".join(PROGRAMMES.values()).split()
PLACES = np.array([[-1.0, -0.6], [1.1, -0.5], [0.1, 1.5]])  # of the groups, on interferon and cytotoxic
GROUPS = np.array(["no response", "interferon", "cytotoxic"])


def simulate(seed: int = 3) -> tuple[pd.DataFrame, pd.Series, dict[str, pd.DataFrame]]:
    """Stimulated cells, their groups, and two controls."""
    rng = np.random.default_rng(seed)
    weights = {
        name: np.isin(GENES, PROGRAMMES[name].split()) * size * rng.uniform(0.7, 1.1, len(GENES))
        for name, size in STRENGTH.items()
    }

    def cells(n: int, *sizes: float) -> np.ndarray:
        shared = sum(
            size * rng.normal(size=(n, 1)) * weights[name]
            for name, size in zip(("cycle", "stress", "metabolism"), sizes, strict=True)
        )
        return 6 + shared + 0.8 * rng.normal(size=(n, len(GENES)))

    group = rng.choice(3, size=420, p=[0.4, 0.35, 0.25])
    activity = PLACES[group] + 0.28 * rng.normal(size=(420, 2))
    target = cells(420, 1, 1, 1) + activity @ np.stack([weights["interferon"], weights["cytotoxic"]])
    names = [f"cell_{i:04d}" for i in range(420)]
    controls = {"resting donors": cells(300, 1, 1, 0.4), "batch control": cells(220, 0.3, 0.5, 1)}
    return (
        pd.DataFrame(target, columns=GENES, index=names),
        pd.Series(GROUPS[group], name="response"),
        {name: pd.DataFrame(rows, columns=GENES) for name, rows in controls.items()},
    )


def screenshot(page_path: Path) -> bytes:
    """The top of the page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1200, "height": 1440}, color_scheme="light")
        page.goto(page_path.resolve().as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        picture = page.screenshot()
        browser.close()
    return picture


def main(folder: Path = Path(__file__).parent / "images") -> None:
    """Write the picture."""
    from PIL import Image

    target, response, controls = simulate()
    model = UCA(n_components=3, components="sequential").fit(target, backgrounds=controls)
    with tempfile.TemporaryDirectory() as work:
        page = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(work) / "report.html"
        model.report(
            page,
            target,
            backgrounds=controls,
            labels=response,
            title="Stimulated cells against two controls (simulated)",
        )
        picture = Image.open(io.BytesIO(screenshot(page))).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(folder / "report.png", optimize=True)


if __name__ == "__main__":
    main()
