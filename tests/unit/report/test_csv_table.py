"""Every NIC as CSV: read back, it is the plan."""

import csv
from io import StringIO
from pathlib import Path
from urllib.parse import unquote

import pytest
from command_line import result_of
from committed_stacks import stack_names
from planned_fabrics import example, plan_of
from report_page import page_of

from gpu_fabric.plan import Plan
from gpu_fabric.report.csv_table import csv_report
from gpu_fabric.report.html import html_report


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def links(plan: Plan) -> list[str]:
    page = page_of(html_report(plan))
    return [part.attributes["href"] for part in page.all("a") if "download" in part.attributes]


@pytest.mark.parametrize("stack", [name for name in stack_names() if name != "large-per-node"])
def test_every_nic_is_a_row_with_the_share_that_the_plan_lists(stack: str) -> None:
    plan = plan_of(stack).with_shares()
    rows = read(csv_report(plan))
    nodes = [pool for pool in plan.cluster.pools for _ in range(pool.nodes)]

    assert len(rows) == len(nodes) * len(plan.rails)
    for number, row in enumerate(rows):
        node, rail = divmod(number, len(plan.rails))
        pool = plan.addresses.pool_of(rail)
        assert (row["pool"], row["shape"], row["rail"]) == (nodes[node].name, nodes[node].shape, str(rail))
        assert row["share"] == ("" if pool is None else pool.shares[node])
        assert row["network"] == (plan.rails[rail].network or "")


def test_a_row_has_every_fact_of_its_nic() -> None:
    row = read(csv_report(plan_of("dev")))[-1]

    assert row == {
        "pool": "gpu",
        "shape": "BM.GPU.H100.8",
        "node": "gpu 2",
        "rail": "15",
        "pci": "0000:d5:00.1",
        "rdma_device": "mlx5_17",
        "interface": "rdma15",
        "nearest_gpu": "7",
        "network": "rail-15",
        "resource": "nvidia.com/rail_15",
        "address_pool": "rail-15",
        "subnet": "192.168.240.0/20",
        "share": "192.168.240.3",
        "gateway": "",
        "host_address": "",
    }


def test_nodes_of_two_kinds_have_their_own_nics() -> None:
    rows = read(csv_report(example("node-kinds")))

    assert len({row["interface"] for row in rows if row["rail"] == "0"}) == 2


def test_a_node_with_a_prefix_of_its_own_has_it_as_its_subnet() -> None:
    rows = read(csv_report(plan_of("sriov-per-node")))

    assert len({row["subnet"] for row in rows}) == len(rows)
    assert {row["subnet"] == row["share"] for row in rows} == {True}


def test_the_link_of_the_page_has_what_the_command_prints(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    (link,) = links(plan_of("dev"))
    head, _, data = link.partition(",")

    assert head == "data:text/csv;charset=utf-8"
    assert unquote(data) == result_of("plan", "-s", "dev", "--format", "csv")


def test_the_page_of_many_nodes_names_the_command_instead() -> None:
    plan = plan_of("dev", {"cluster.pools[0].nodes": 9})

    assert links(plan) == []
    assert "gpu-fabric plan -s dev --format csv > dev-nics.csv" in page_of(html_report(plan)).one("csv-command").text
