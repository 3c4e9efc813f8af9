"""Rows that are alike become one, which says from where to where they go; others stay."""

from planned_fabrics import plan_of
from report_page import Element, page_of

from gpu_fabric.plan import Plan
from gpu_fabric.report.alike import folded_pools, folded_rails, folded_rows
from gpu_fabric.report.console import report_text
from gpu_fabric.report.html import html_report
from gpu_fabric.report.text import plan_report


def table(plan: Plan, section: str, name: str) -> list[list[str]]:
    """The rows of a table of the page by the caption."""
    parts = page_of(html_report(plan)).one(section).all("table")
    (found,) = (part for part in parts if part.all("caption")[0].text == name)
    return [[cell.text for cell in cells(row)] for row in found.all("tbody")[0].all("tr")]


def cells(row: Element) -> list[Element]:
    return [*row.all("th"), *row.all("td")]


def test_sixteen_rails_that_are_alike_are_one_row() -> None:
    assert [*folded_rails(plan_of("dev"))] == [
        (
            *("0 to 15", "0000:0c:00.0 to 0000:d5:00.1", "mlx5_0 to mlx5_17", "rdma0 to rdma15", "0 to 7"),
            *("nvidia.com/rail_00 to nvidia.com/rail_15", "rail-00 to rail-15", "192.168.0.0/20 to 192.168.240.0/20"),
        )
    ]


def test_thirty_two_adapters_of_a_cloud_are_one_row_and_no_roce() -> None:
    text = report_text(plan_report(plan_of("eks-efa")), 140)

    assert "0 to 31  -    -            -          -    vpc.amazonaws.com/efa  -        -" in text.splitlines()
    assert (
        "links                     Amazon's own protocol (SRD) on Ethernet, which is neither RoCE nor InfiniBand"
        in text
    )
    assert "RoCE on Ethernet" not in text


def test_rails_of_networks_of_another_size_stay_apart() -> None:
    rows = [("0", "10.0.0.0/24"), ("1", "10.0.1.0/24"), ("2", "10.0.2.0/25"), ("3", "-")]

    assert [*folded_rows(("rail", "subnet"), rows, ("rail", "subnet"))] == [
        ("0 to 1", "10.0.0.0/24 to 10.0.1.0/24"),
        ("2", "10.0.2.0/25"),
        ("3", "-"),
    ]


def test_ipv6_networks_are_alike_by_their_size() -> None:
    rows = [("fd00:10::/68",), ("fd00:10:0:7000::/68",), ("fd00::/64",)]

    assert [*folded_rows(("subnet",), rows, ("subnet",))] == [("fd00:10::/68 to fd00:10:0:7000::/68",), ("fd00::/64",)]


def test_pools_with_another_count_stay_apart() -> None:
    rows = [("rail-0", "7"), ("rail-1", "7"), ("rail-2", "8")]

    assert [*folded_rows(("pool", "needed"), rows, ("pool",))] == [("rail-0 to rail-1", "7"), ("rail-2", "8")]


def test_every_rail_and_pool_is_on_the_page_one_by_one() -> None:
    plan = plan_of("oke-h100")

    assert [row[0] for row in table(plan, "fabric", "Rails")] == ["0 to 15"]
    assert [row[-1] for row in table(plan, "fabric", "Every rail")] == [
        str(pool.subnet) for pool in plan.addresses.pools
    ]
    assert len([*folded_pools(plan)]) == 1
    assert [row[0] for row in table(plan, "addresses", "Every pool")] == [pool.name for pool in plan.addresses.pools]
