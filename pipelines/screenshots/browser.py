"""The machine's own Chromium, driven by Playwright; no browser is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Page, ViewportSize, sync_playwright

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SHOWN_MS_MAX: Final = 60_000.0


def chromium() -> str | None:
    """Return where Chromium or Chrome is; None: it is not on the PATH."""
    return next((path for name in _NAMES if (path := shutil.which(name)) is not None), None)


@contextmanager
def browser_page(executable: str, *, width: int = 1400, height: int = 900) -> Iterator[Page]:
    """Yield an empty page of a browser without a window; what a call waits for must come within a minute."""
    # Chromium's sandbox refuses to work for root, as whom containers run.
    without_sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=without_sandbox)
        try:
            page = browser.new_page(viewport=ViewportSize(width=width, height=height))
            page.set_default_timeout(_SHOWN_MS_MAX)
            yield page
        finally:
            browser.close()
