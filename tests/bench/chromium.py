"""Where a Chromium is that reports can be opened in; none is brought along."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def found_browser() -> str | None:
    """The program: what CHROMIUM names, or the first of the usual names; None where there is none."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name)) is not None), None)
