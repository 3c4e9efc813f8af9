"""The HTML report as a page: what is drawn and said in it, that it needs nothing else, and that text stays text."""

import json
import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import pytest
from committed_stacks import stack_names
from planned_fabrics import example, plan_of
from report_page import Element, page_of

from gpu_fabric import __version__
from gpu_fabric.plan import Plan
from gpu_fabric.report.figures import plan_figures
from gpu_fabric.report.html import html_report

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\'"&`${1}`'


CSV = "data:text/csv;charset=utf-8"


def ids(page: Element) -> set[str]:
    return {part.attributes["id"] for part in page.all("") if "id" in part.attributes}


def nodes(count: int) -> dict[str, Any]:
    return {"cluster.pools[0].nodes": count}


@pytest.fixture(scope="module")
def dev() -> Element:
    return page_of(html_report(plan_of("dev")))


@pytest.fixture(scope="module")
def large() -> tuple[Plan, str]:
    plan = plan_of("dev", nodes(2048))
    return plan, html_report(plan)


def hints(page: Element, kind: str) -> list[str]:
    return [part.all("title")[0].text for part in page.one("fabric-drawing").all("g", kind)]


def test_every_rail_has_a_leaf_with_its_subnet(dev: Element) -> None:
    subnets = [str(pool.subnet) for pool in plan_of("dev").addresses.pools]
    leaves = dev.one("fabric-drawing").all("g", "leaf")
    assert [leaf.all("text")[1].text for leaf in leaves] == subnets


def test_every_nic_tells_its_own_address_when_pointed_at(dev: Element) -> None:
    addresses = plan_of("dev").addresses
    said = [re.findall(r"^address (\S+)$", hint, re.MULTILINE) for hint in hints(dev, "nic")]
    assert said == [[str(addresses.nic_address(node, rail))] for node in range(3) for rail in range(16)]


def test_rails_without_planned_addresses_are_drawn_with_their_networks() -> None:
    page = page_of(html_report(plan_of("doks-b300")))
    assert "roce-net-fabric15" in page.one("fabric-drawing").text
    assert "None planned: the provider gives the NICs theirs." in page.one("addresses").text


@pytest.mark.parametrize(
    ("stack", "changes"), [("dev", nodes(3)), ("large-per-node", None), ("sriov-whereabouts", None)]
)
def test_a_pools_bar_counts_every_address_of_its_range(stack: str, changes: dict[str, Any] | None) -> None:
    plan = plan_of(stack, changes)
    rows = page_of(html_report(plan)).one("address-map").all("g", "pool")
    assert len(rows) == len(plan.addresses.pools)
    for row, pool in zip(rows, plan.addresses.pools, strict=True):
        counts = [int(number) for number in re.findall(r"(\d+) (?:used|kept|reserved|free)", row.all("text")[-1].text)]
        assert sum(counts) == pool.space.num_addresses


def test_every_finding_comes_with_its_remedy() -> None:
    plan = plan_of("oke-h100")
    text = page_of(html_report(plan)).one("findings").text.replace("`", "")
    assert plan.findings
    for entry in plan.findings:
        assert entry.id in text
        assert entry.remedy.replace("`", "") in text


def test_the_first_screen_has_every_figure_and_the_programs_version() -> None:
    plan = plan_of("oke-h100")
    tiles = page_of(html_report(plan)).all("ul", "tiles")[0].all("li")
    shown = [tuple(part.text for tag in ("span", "b", "small") for part in tile.all(tag)) for tile in tiles]
    assert shown == [*map(tuple, plan_figures(plan)), ("version", __version__, "of gpu-fabric")]


def test_findings_at_the_top_lead_to_their_remedies_by_severity() -> None:
    plan = plan_of("oke-h100")
    page = page_of(html_report(plan))
    badges = [(badge.text, badge.attributes["href"]) for badge in page.all("a", "badge")]
    assert badges == [("3 warnings", "#warnings"), ("6 notes", "#notes")]
    lines = page.all("ul", "glance")[0].all("li")
    for line in lines[:-1]:
        target = page.one(line.all("a")[0].attributes["href"].removeprefix("#"))
        assert " ".join(line.text.split()[:2]) in " ".join(target.text.split())
        assert target.attributes["class"].split()[-1] == line.attributes["class"]
    assert lines[-1].text.strip() == "and 3 more findings"


def test_what_can_be_copied_is_on_the_page_and_buttons_wait_for_the_script(dev: Element) -> None:
    buttons = [button.attributes for button in dev.all("button")]
    copied = {entry["data-copy"]: dev.one(entry["data-copy"]).text for entry in buttons}
    assert copied["attach-command"] == "gpu-fabric attach job.yaml -s dev"
    assert copied["subnets"].split() == [str(pool.subnet) for pool in plan_of("dev").addresses.pools]
    assert json.loads(copied["contract-json"])["stack"] == "dev"
    assert all("hidden" in entry for entry in buttons)


def test_the_contract_on_the_page_is_the_stacks_output(dev: Element) -> None:
    (shown,) = (block.text for block in dev.one("contract").all("pre"))
    assert json.loads(shown) == plan_of("dev").workload.model_dump(mode="json", by_alias=True)


@pytest.mark.parametrize("stack", stack_names())
def test_every_committed_stack_has_a_whole_page_that_refers_to_nothing_outside(stack: str) -> None:
    text = html_report(plan_of(stack))
    page = page_of(text)
    links = [
        element.attributes[name] for element in page.all("") for name in ("href", "src") if name in element.attributes
    ]
    assert {link.partition(",")[0] for link in links if not link.startswith("#")} <= {"data:", CSV}
    assert {link[1:] for link in links if link.startswith("#")} <= ids(page)
    assert not re.search(r"@import|url\((?!#)", text)
    names = [part.attributes["id"] for part in page.all("") if "id" in part.attributes]
    assert len(names) == len(set(names))


def test_the_same_stack_gives_the_same_bytes(large: tuple[Plan, str]) -> None:
    assert html_report(plan_of("dev", nodes(2048))) == large[1]


def test_of_many_nodes_the_ends_are_drawn_and_the_others_counted(large: tuple[Plan, str]) -> None:
    drawing = page_of(large[1]).one("fabric-drawing")
    assert [node.all("text")[0].text for node in drawing.all("g", "node")][::5] == ["gpu 0", "gpu 2047"]
    assert "… 2,042" in drawing.text


def told(runs: list[list[Any]], node: int) -> str | None:
    """An address as the page's script finds it."""
    for first, count, start, step in runs:
        if first <= node < first + count:
            return str(ip_address(int(start) + int(step) * (node - first)))
    return None


@pytest.mark.parametrize(
    "planned",
    [
        pytest.param(lambda: plan_of("dev", nodes(2048)), marks=pytest.mark.slow),
        lambda: plan_of("sriov-per-node", nodes(12)),
        lambda: plan_of("sriov-whereabouts", nodes(30)),
        lambda: example("spiderpool-sriov"),
    ],
    ids=["blocks", "prefixes", "around-excluded-ones", "few"],
)
def test_the_field_of_nodes_has_every_nics_address(planned: Callable[[], Plan]) -> None:
    plan = planned()
    page = page_of(html_report(plan))
    found = [part for part in page.all("script") if part.attributes.get("id") == "field-data"]
    if plan.addresses.proof.nodes <= 8:
        assert not found
        return
    rails = json.loads(found[0].text)["rails"]
    for rail, entry in enumerate(rails):
        # Nodes with one distance between their addresses are one run, so that the page of 2,048 nodes stays small.
        assert len(entry["runs"]) < 4
        for node in range(plan.addresses.proof.nodes):
            planned_address = plan.addresses.nic_address(node, rail)
            assert told(entry["runs"], node) == (None if planned_address is None else str(planned_address))


def hostile(plan: Plan) -> Plan:
    """The plan with names that no stack file may have: nothing but this page keeps them from becoming markup."""
    pool = plan.cluster.pools[0].model_copy(update={"name": HOSTILE, "shape": HOSTILE})
    rails = tuple(rail.model_copy(update={"network": HOSTILE, "rdma_device": HOSTILE}) for rail in plan.rails)
    finding = plan.findings[0].model_copy(update={"path": HOSTILE, "message": HOSTILE, "remedy": HOSTILE})
    names = tuple(f"{HOSTILE}{node}" for node in range(plan.addresses.proof.nodes))
    return plan.model_copy(
        update={
            "stack": HOSTILE,
            "cluster": plan.cluster.model_copy(update={"pools": (pool,)}),
            "rails": rails,
            "findings": (finding,),
            "addresses": plan.addresses.model_copy(update={"node_names": names}),
            "workload": plan.workload.model_copy(update={"stack": HOSTILE, "advice": (HOSTILE,)}),
        }
    )


@pytest.mark.parametrize("count", [3, 20])
def test_nothing_a_user_wrote_becomes_markup(count: int) -> None:
    plan = plan_of("dev", nodes(count))
    tame, page = (page_of(html_report(entry)) for entry in (plan, hostile(plan)))
    assert [part.tag for part in page.all("script")] == [part.tag for part in tame.all("script")]
    assert not page.all("img")
    assert not [name for part in page.all("") for name in part.attributes if name.startswith("on")]
    assert HOSTILE in page.one("findings").text
