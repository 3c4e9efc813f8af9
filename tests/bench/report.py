"""The part of `make bench` that measures the HTML report: its size, and how long it takes to open; needs no sandbox."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from gpu_fabric.prepare import plan_spec
from gpu_fabric.report.html import html_report
from gpu_fabric.spec.load import load_stack
from sandbox.home import project_root
from tests.bench.budget import Budget
from tests.bench.chromium import found_browser

STACK = ("large-per-node", "tests/stacks")
NODES = 2048
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom")
_ROUNDS = 5


def reporting() -> tuple[Budget, ...]:
    """The page of 2,048 nodes with a prefix of their own on each of 16 rails: its size, and its opening in a browser.

    A browser that opens it and ends is held against the same browser with an empty page, in turns; what it takes longer
    is the page's. Without a Chromium only the size is measured.
    """
    name, folder = STACK
    spec = load_stack(name, project_root() / folder)
    if sum(pool.nodes for pool in spec.cluster.pools) != NODES:
        raise SystemExit(f"the bench's stack {name} is to have {NODES} nodes")
    page = html_report(plan_spec(spec))
    size = Budget(f"HTML report of {NODES:,} nodes", len(page.encode()) / 1e6, None, "MB", 5.0)
    browser = found_browser()
    if browser is None:
        return (size,)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        file = Path(place) / "report.html"
        file.write_text(page, encoding="utf-8")
        opened, empty = [], []
        for _ in range(_ROUNDS):
            empty.append(_seconds(browser, place, "about:blank"))
            opened.append(_seconds(browser, place, file.as_uri()))
    longer = max(0.0, statistics.median(opened) - statistics.median(empty))
    return size, Budget(f"opening it, beyond an empty page ({Path(browser).name})", longer, None, "s", 3.0)


def _seconds(browser: str, place: str, address: str) -> float:
    command = [browser, *_OPTIONS, f"--user-data-dir={place}/profile", address]
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return time.perf_counter() - began
