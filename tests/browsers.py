"""Pages in a real browser: headless Chromium, driven by Playwright's Python package."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

NEEDED = [
    pytest.mark.skipif(
        CHROMIUM is None, reason="needs Chromium: apt-get install chromium (or any Chromium on the PATH)"
    ),
    pytest.mark.skipif(sync_playwright is None, reason="needs Playwright's Python package: pip install playwright"),
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def started() -> Iterator[Any]:
    """A running browser."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield running
        running.close()
