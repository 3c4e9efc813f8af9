"""The report and the page on a change as a decider opens them: first screen, phone, paper, contrast, copying."""

import csv
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from headless_chromium import Chromium

Page = Callable[..., Path]

STACKS = ["dev", "doks-h200", "oke-h100", "doks-mi325x", "doks-split-cluster", "doks-split-platform", "node-kinds"]
REGION = {"cluster.region": "atl1"}
NODES = {"cluster.pools[0].nodes": 12}

# Elements that stick out of the page and are in nothing that scrolls, by their class or name.
WIDER = """
[...document.body.querySelectorAll("*")].filter((part) => {
  const box = part.getBoundingClientRect();
  return box.width > 1 && !part.closest(".scroll, .unseen, caption, pre, .difference table") &&
    (box.right > document.documentElement.clientWidth + 0.5 || box.left < -0.5);
}).map((part) => part.className.baseVal ?? (part.className || part.tagName))
"""

# The number of visible texts, and those whose contrast with the ground is less than 4.5 to 1 (WCAG 2.2, 1.4.3).
PALE = """
(() => {
  const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const light = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (part) => {
    for (let at = part; at !== null; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const words = [...document.body.querySelectorAll("*")].filter((part) =>
    part.closest("svg, script, [hidden]") === null && part.getBoundingClientRect().width > 1 &&
    [...part.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== ""));
  const pale = words.filter((part) => {
    const pair = [light(numbers(getComputedStyle(part).color)), light(ground(part))].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05) < 4.5;
  });
  return [words.length, pale.map((part) => `${part.tagName}.${part.className}: ${part.textContent.slice(0, 40)}`)];
})()
"""


def bottom(browser: Chromium, selector: str) -> float:
    found: float = browser.value(
        f"Math.max(...[...document.querySelectorAll('{selector}')].map((part) => part.getBoundingClientRect().bottom))"
    )
    return found


@pytest.mark.parametrize("stack", STACKS)
def test_figures_and_findings_are_on_the_first_screen(browser: Chromium, page: Page, stack: str) -> None:
    browser.open(page(stack), width=1280, height=800)

    assert browser.value("document.querySelectorAll('.tiles li').length") >= 7
    assert bottom(browser, ".tiles li") < 400
    assert bottom(browser, ".badge") < 480
    assert bottom(browser, ".glance li, nav") < 800


def test_the_first_screen_of_a_change_has_its_judgement_and_what_differs(browser: Chromium, change: Page) -> None:
    browser.open(change("doks-h200", **REGION), width=1280, height=800)

    assert bottom(browser, "header .badge") < 120
    assert bottom(browser, ".figures") < 800
    assert browser.value("document.querySelector('.figures .differs th').innerText") == "region"
    assert browser.complaints == []


@pytest.mark.parametrize("stack", STACKS)
def test_a_phone_shows_the_page_without_a_cut(browser: Chromium, page: Page, stack: str) -> None:
    browser.open(page(stack), width=390, height=844)

    assert browser.value("document.documentElement.scrollWidth") == 390
    assert browser.value(WIDER) == []
    # Letters of the drawing keep their size: it scrolls in its own frame.
    if browser.value("document.querySelector('#fabric-drawing') !== null"):
        assert browser.value("document.querySelector('#fabric-drawing').getBoundingClientRect().width") >= 640


@pytest.mark.parametrize(("stack", "after"), [("doks-h200", REGION), ("dev", NODES), ("oke-h100", NODES)])
def test_a_phone_shows_a_change_without_a_cut(
    browser: Chromium, change: Page, stack: str, after: dict[str, object]
) -> None:
    browser.open(change(stack, **after), width=390, height=844)

    assert browser.value("document.documentElement.scrollWidth") == 390
    assert browser.value(WIDER) == []


# A4 across, without its margins of 12 mm, in the browser's points.
PAPER = 1032


@pytest.mark.parametrize("stack", STACKS)
def test_paper_has_every_table_open_and_nothing_cut(browser: Chromium, page: Page, stack: str) -> None:
    browser.open(page(stack), width=PAPER)
    browser.as_paper(dark=False)

    assert browser.value("document.documentElement.scrollWidth") <= PAPER
    assert browser.value(WIDER.replace(".scroll, ", "")) == []
    parts = "[...document.querySelectorAll('details:not(.screen-only)')].map((part) => part.lastElementChild)"
    assert browser.value(f"{parts}.filter((part) => !part.checkVisibility()).length") == 0
    assert (
        browser.value("[...document.querySelectorAll('.button, nav')].some((part) => part.checkVisibility())") is False
    )


def test_paper_has_a_change_whole(browser: Chromium, change: Page) -> None:
    browser.open(change("oke-h100", **NODES), width=PAPER)
    browser.as_paper(dark=True)

    assert browser.value("document.documentElement.scrollWidth") <= PAPER
    assert browser.value(WIDER.replace(".scroll, ", "")) == []
    assert len(re.findall(rb"/Type\s*/Page\b", browser.paper())) <= 20


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_of_the_report_can_be_told_from_its_ground(browser: Chromium, page: Page, dark: bool) -> None:
    browser.open(page("oke-h100"), dark=dark)
    browser.value("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    words, pale = browser.value(PALE)

    assert words > 200
    assert pale == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_of_a_change_can_be_told_from_its_ground(browser: Chromium, change: Page, dark: bool) -> None:
    browser.open(change("doks-h200", **REGION), dark=dark)
    browser.value("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    words, pale = browser.value(PALE)

    assert words > 60
    assert pale == []


def test_the_mark_of_a_new_node_is_seen(browser: Chromium, change: Page) -> None:
    browser.open(change("dev", **{"cluster.pools[0].nodes": 4}))
    browser.value("document.querySelector('#after-fabric-drawing').scrollIntoView({block: 'center'})")
    with_mark = browser.picture()
    browser.value("document.querySelectorAll('.differs').forEach((part) => part.classList.remove('differs'))")

    assert browser.picture() != with_mark
    assert browser.complaints == []


# A browser writes to the clipboard after the click.
SOON = "new Promise((done) => setTimeout(done, 100))"


def test_a_button_copies_what_it_says(browser: Chromium, page: Page) -> None:
    browser.ask("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.open(page("dev"))
    copied = {}
    for name in ("attach-command", "subnets", "contract-json"):
        browser.click(f"[data-copy={name}]")
        copied[name] = browser.value(
            "new Promise((done) => setTimeout(done, 100)).then(() => navigator.clipboard.readText())"
        )

    assert copied["attach-command"] == "gpu-fabric attach job.yaml -s dev"
    assert copied["subnets"].splitlines()[15] == "192.168.240.0/20"
    assert '"stack": "dev"' in copied["contract-json"]
    assert browser.value("document.querySelector('[data-copy=subnets]').innerText") == "Copied"
    assert browser.complaints == []


def test_the_link_to_the_csv_saves_every_nic_in_a_file(browser: Chromium, page: Page, tmp_path: Path) -> None:
    browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.open(page("dev"))
    browser.click("a[download]")
    file = tmp_path / "dev-nics.csv"
    until = time.monotonic() + 20
    while not file.is_file() and time.monotonic() < until:
        browser.value(SOON)
    with file.open(encoding="utf-8") as text:
        rows = [*csv.DictReader(text)]

    assert len(rows) == 3 * 16
    assert (rows[-1]["node"], rows[-1]["rdma_device"], rows[-1]["share"]) == ("gpu 2", "mlx5_17", "192.168.240.3")
    assert browser.complaints == []


def test_without_a_clipboard_the_text_is_selected(browser: Chromium, page: Page) -> None:
    browser.open(page("dev"))
    browser.value("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))")
    browser.click("[data-copy=subnets]")

    assert browser.value(f"{SOON}.then(() => String(getSelection()))").startswith("192.168.0.0/20\n192.168.16.0/20\n")


def test_without_script_no_button_promises_to_copy(browser: Chromium, page: Page) -> None:
    browser.open(page("dev"), script=False)
    document = browser.ask("DOM.getDocument", depth=0)["root"]["nodeId"]
    buttons = browser.ask("DOM.querySelectorAll", nodeId=document, selector="button:not([hidden])")

    assert buttons["nodeIds"] == []
