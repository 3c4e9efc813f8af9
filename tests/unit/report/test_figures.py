"""The figures at the top of a report: each is in the plan, has its unit, and is `unknown` where no fact is known."""

import pytest
from changes import Changes
from committed_stacks import stack_names
from planned_fabrics import example, plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.report.content import overview_rows
from gpu_fabric.report.figure import Figure
from gpu_fabric.report.figures import duration_text, plan_figures
from gpu_fabric.report.time_limit import longest_wait

H200 = "gpu-h200x8-1128gb-fabric-contracted"


def figures(plan: Plan) -> dict[str, Figure]:
    return {figure.name: figure for figure in plan_figures(plan)}


def test_a_stack_at_a_cloud_has_every_figure() -> None:
    plan = plan_of("doks-h200")

    assert [tuple(figure) for figure in plan_figures(plan)] == [
        ("GPUs", "16", f"2 x {H200}"),
        ("rails", "8", "16 RDMA NICs"),
        ("line rate of a node", "3.2 Tb/s", "8 NICs x 400 Gb/s"),
        ("bus bandwidth to reach", "368 GB/s", "not measured by up: the verification is off"),
        (
            "cost of an hour",
            "unknown",
            "DigitalOcean publishes no prices of contracted sizes; this program has no price of this size",
        ),
        ("region", "nyc2", "DigitalOcean"),
        ("resources to create", "18", "3 at DigitalOcean, 15 on the cluster"),
        ("time to create, at most", "3 h 15 min", "up fails after it; the usual time is unknown"),
    ]


def test_a_platform_has_its_clusters_region_and_not_its_cost() -> None:
    found = figures(example("doks-split-platform"))

    assert found["region"] == ("region", "nyc2", "the cluster of stack doks-split-cluster")
    assert found["cost of an hour"].value == "none of its own"


def test_a_cluster_alone_has_no_rails_and_no_bar() -> None:
    assert not {"rails", "bus bandwidth to reach"} & figures(example("doks-split-cluster")).keys()


def test_what_is_not_published_is_unknown_and_says_for_which_machines() -> None:
    found = figures(example("node-kinds"))

    assert found["line rate of a node"][1:] == ("unknown", "not published for first-make, second-make")
    assert found["bus bandwidth to reach"].value == "unknown"
    assert "first-make" in found["bus bandwidth to reach"].detail


def test_the_bar_of_the_stack_file_wins_and_up_measures_by_it() -> None:
    found = figures(example("verification", {"verification.bar": 301.5}))

    assert found["bus bandwidth to reach"][1:] == ("301.5 GB/s", "measured by up")


def test_every_report_has_the_bars_derivation() -> None:
    assert overview_rows(plan_of("dev"))["bar"] == (
        "16 NICs x 200 Gb/s / 8 = 400 GB/s; 92 % of it, rounded down, is 368 GB/s (source: OCI's NCCL sample and bars)"
    )
    assert overview_rows(plan_of("doks-mi325x"))["bar"].startswith("unknown: the line rate of the RDMA NICs of gpu-mi")


def test_a_resource_that_exists_is_not_created() -> None:
    found = figures(plan_of("doks-h200", {"cluster.adopt": {"vpc": "5a4981aa-9653-4bd1-bef5-d6bff52042e4"}}))

    assert found["resources to create"][1:] == (
        "17",
        "3 at DigitalOcean, 15 on the cluster, 1 exist and are taken over",
    )


@pytest.mark.parametrize("stack", stack_names())
def test_the_rendered_plan_keeps_the_same_figures(stack: str) -> None:
    plan = plan_of(stack)
    folder = rendered(plan)

    assert folder.figures == plan_figures(plan)
    created = int({figure.name: figure for figure in folder.figures}["resources to create"].value)
    assert created == len(folder.resources) - sum(entry.handling.adopts is not None for entry in folder.resources)


@pytest.mark.parametrize(
    ("stack", "changes", "minutes"),
    [
        # The cluster and then its pool have 90 minutes each, then the pods of Multus 15.
        ("doks-h200", {}, 90 + 90 + 15),
        ("doks-h200", {"cluster.createMinutes": 120}, 120 + 120 + 15),
        # Cluster, system pool, GPU pool, join; the GPU Operator's policy and its resource; the Network Operator, its
        # policy and the restart of its plug-in. The GPU Operator's own pods are waited for while machines start.
        ("oke-h100", {"cluster.joinMinutes": 75}, 3 * 180 + 75 + 30 + 30 + 15 + 20 + 20),
    ],
)
def test_the_longest_time_is_the_sum_of_the_limits_along_the_longest_chain(
    stack: str, changes: Changes, minutes: int
) -> None:
    assert longest_wait(plan_of(stack, changes)) == 60 * minutes


def test_a_verification_counts_where_up_waits_for_it() -> None:
    whole, alone = (longest_wait(example("verification", {"verification.wait": wait})) for wait in (True, False))

    assert whole - alone == 3600


def test_pools_that_are_created_at_the_same_time_count_once() -> None:
    pool = {"shape": H200, "nodes": 1}
    pools = [{"name": "one", **pool}, {"name": "two", **pool}]

    assert longest_wait(plan_of("doks-h200", {"cluster.pools": pools})) == longest_wait(plan_of("doks-h200"))


@pytest.mark.parametrize(("seconds", "text"), [(59, "1 min"), (3600, "1 h"), (3661, "1 h 2 min"), (7200, "2 h")])
def test_a_time_is_hours_and_minutes_rounded_up(seconds: int, text: str) -> None:
    assert duration_text(seconds) == text
