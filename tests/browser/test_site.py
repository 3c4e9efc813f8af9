"""The site: it builds without a warning, finds an error text, and fits on a phone; nothing is fetched from others."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from headless_chromium import Chromium

HITS = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.getAttribute('href'))"


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *_args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, which is built without a warning."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run([*command, "--config-file", str(root / "site/mkdocs.yml")], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr + built.stdout
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_an_error_text_is_found_by_the_search_and_nothing_is_fetched_from_others(browser: Chromium, site: str) -> None:
    browser.open(f"{site}/index.html?q=status%3D12")
    until = time.monotonic() + 60
    while not (found := browser.value(HITS)):
        assert time.monotonic() < until, browser.complaints
        time.sleep(0.2)

    assert any("symptoms.html" in link for link in found), found
    assert [address for address in browser.requests if not address.startswith((site, "data:", "blob:"))] == []


@pytest.mark.parametrize("page", ["index.html", "symptoms.html", "starting.html"])
def test_a_page_is_no_wider_than_a_phone(browser: Chromium, site: str, page: str) -> None:
    browser.open(f"{site}/{page}", width=390, height=844)

    assert browser.value("document.documentElement.scrollWidth") <= 390
    assert browser.value("document.querySelector('h1').innerText")


def test_the_old_address_of_a_page_leads_to_its_new_one(browser: Chromium, site: str) -> None:
    browser.open(f"{site}/templates.html")
    until = time.monotonic() + 20
    while not browser.value("location.href").endswith("/starting.html"):
        assert time.monotonic() < until, browser.value("location.href")
        time.sleep(0.2)


def test_a_file_of_the_repository_is_a_page_that_shows_it(browser: Chromium, site: str) -> None:
    browser.open(f"{site}/networks.html")
    linked = browser.value("document.querySelector('a[href*=\"oke-guide.yaml\"]').href")

    browser.open(linked)
    assert "gpu-fabric:cluster:" in browser.value("document.body.innerText")
