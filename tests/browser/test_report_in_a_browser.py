"""The HTML report as Chromium shows it: drawn, silent, readable in both colour schemes, with hints, and on paper."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from headless_chromium import Chromium

Page = Callable[..., Path]


# How light the ground of the page is, of 765.
GROUND = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number).reduce((a, b) => a + b)"


@pytest.mark.parametrize(
    ("stack", "nodes"),
    [("dev", None), ("doks-b300", None), ("oke-h100", None), ("spiderpool-sriov", None), ("dev", 2048)],
)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_fabric_is_drawn_and_the_console_stays_silent(
    browser: Chromium, page: Page, stack: str, nodes: int | None, dark: bool
) -> None:
    file = page(stack, nodes)
    browser.open(file, dark=dark)
    width, height = browser.value(
        "(() => { const box = document.querySelector('#fabric-drawing').getBoundingClientRect();"
        "return [box.width, box.height]; })()"
    )
    assert min(width, height) > 150
    assert browser.value("document.querySelectorAll('#fabric-drawing .nic').length") >= 16
    assert browser.complaints == []
    assert browser.requests == [file.as_uri()]


def test_the_ground_follows_the_readers_colour_scheme(browser: Chromium, page: Page) -> None:
    grounds = []
    for dark in (False, True):
        browser.open(page("dev"), dark=dark)
        grounds.append(browser.value(GROUND))
    assert grounds[0] > 3 * 240
    assert grounds[1] < 3 * 40


def test_pointing_at_a_nic_shows_its_address_on_the_screen(browser: Chromium, page: Page) -> None:
    browser.open(page("dev"))
    browser.value("document.querySelector('.nic[data-rail=\"3\"]').scrollIntoView({block: 'center'})")
    before = browser.picture()
    browser.point_at('.nic[data-rail="3"]')
    assert "address 192.168.48.1\n" in browser.value("document.querySelector('#tip').innerText") + "\n"
    assert browser.picture() != before
    browser.point(1, 1)
    assert browser.value("getComputedStyle(document.querySelector('#tip')).display") == "none"


def test_the_keyboard_reaches_the_same_hint(browser: Chromium, page: Page) -> None:
    browser.open(page("dev"))
    browser.value("document.querySelector('#fabric-drawing .nic').focus({focusVisible: true})")
    said = []
    for key in ("Shift", "ArrowDown", "ArrowRight", "ArrowUp"):
        browser.press(key)
        said += re.findall(r"^address (\S+)$", browser.value("document.querySelector('#tip').innerText"), re.MULTILINE)
    assert said == ["192.168.0.1", "192.168.16.1", "192.168.16.2", "192.168.0.2"]


def test_every_text_of_the_drawing_stays_in_its_box(browser: Chromium, page: Page) -> None:
    browser.open(page("spiderpool-sriov"))
    outside = browser.value(
        "[...document.querySelectorAll('#fabric-drawing g')].filter((part) => part.querySelector(':scope > rect'))"
        ".flatMap((part) => { const box = part.querySelector(':scope > rect').getBoundingClientRect();"
        "return [...part.querySelectorAll(':scope > text')].filter((text) => {"
        "const own = text.getBoundingClientRect();"
        "return own.left < box.left || own.right > box.right; }).map((text) => text.textContent); })"
    )
    assert outside == []


@pytest.mark.parametrize("node", [7, 991, 2047])
def test_pointing_at_any_of_2048_nodes_tells_its_addresses(browser: Chromium, page: Page, node: int) -> None:
    browser.open(page("dev", 2048))
    x, y = browser.value(
        "(() => { const field = document.querySelector('#field');"
        "field.scrollIntoView({block: 'center'}); const box = field.querySelector('path').getBoundingClientRect();"
        f"return [box.left + {node} % 64 * 14 + 5, box.top + Math.floor({node} / 64) * 14 + 5]; }})()"
    )
    browser.point(x, y)
    told = browser.value("document.querySelector('#tip').innerText")
    third, fourth = divmod(node + 1, 256)
    assert told.startswith(f"Node gpu {node}\n")
    assert re.search(rf"rail 15 .* 192\.168\.{240 + third}\.{fourth}$", told, re.MULTILINE)


def test_a_node_is_found_by_its_number(browser: Chromium, page: Page) -> None:
    browser.open(page("sriov-ipv6", 300))
    browser.value(
        "(() => { const input = document.querySelector('#node-number'); input.value = 299;"
        "input.dispatchEvent(new Event('input')); })()"
    )
    told = browser.value("document.querySelector('#node-addresses').innerText")
    assert re.search(r"rail 0 .* fd00:10::12c$", told, re.MULTILINE)
    assert re.search(r"rail 7 .* fd00:10:0:7000::12c$", told, re.MULTILINE)


def test_the_drawing_and_its_hints_are_there_without_script(browser: Chromium, page: Page) -> None:
    browser.open(page("dev"), script=False)
    document = browser.ask("DOM.getDocument", depth=0)["root"]["nodeId"]
    found = browser.ask("DOM.querySelectorAll", nodeId=document, selector="#fabric-drawing .nic > title")
    assert len(found["nodeIds"]) == 48


def test_on_paper_the_page_is_light_whole_and_without_what_needs_a_screen(browser: Chromium, page: Page) -> None:
    browser.open(page("dev", 2048), dark=True, width=1030)
    browser.ask(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert browser.value(GROUND) > 3 * 240
    assert browser.value("document.documentElement.scrollWidth") <= 1030
    hidden = browser.value(
        "['nav', '#any-node', '#field'].map((part) => document.querySelector(part).getBoundingClientRect().height)"
    )
    assert hidden == [0, 0, 0]
    table = "[...document.querySelectorAll('#fabric details table')].map((part) => part.getBoundingClientRect().height)"
    assert min(browser.value(table)) > 100


def test_the_page_prints_on_few_sheets(browser: Chromium, page: Page) -> None:
    browser.open(page("dev", 2048))
    sheets = re.findall(rb"/Type\s*/Page\b", browser.paper())
    assert 3 <= len(sheets) <= 12
