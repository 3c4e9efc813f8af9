"""The plan for people."""

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from planned_fabrics import plan_of
from rich.console import Console

from gpu_fabric.plan import Plan
from gpu_fabric.report.text import plan_report, print_report, summary

PlanWith = Callable[[Any], Plan]


def printed(report: Any) -> str:
    stream = io.StringIO()
    print_report(report, Console(file=stream))
    return stream.getvalue()


def named(plans: tuple[Plan, ...], stack: str) -> Plan:
    return next(plan for plan in plans if plan.stack == stack)


def section(text: str, heading: str) -> str:
    return text.split(f"\n{heading}", 1)[1].split("\n\n", 1)[0]


def test_the_report_has_a_line_for_every_rail_with_all_its_names(dev_plan: Plan) -> None:
    text = printed(plan_report(dev_plan))

    for rail in dev_plan.rails:
        subnet = str(dev_plan.addresses.pool_of(rail.index).subnet)
        words = [
            str(rail.index),
            rail.pci,
            rail.rdma_device,
            rail.interface,
            str(rail.nearest_gpu),
            rail.resource_name,
            rail.network,
            subnet,
        ]
        assert re.search(r"\s+".join(map(re.escape, words)), text)


def test_the_report_proves_the_addresses_with_numbers(dev_plan: Plan) -> None:
    text = printed(plan_report(dev_plan))

    assert re.search(r"rail-15 +192\.168\.240\.0/20 +none +4094 +1 +3 +4091 +4094 nodes", text)
    assert "3 nodes fit" in text
    assert "pods 10.244.0.0/16, services 10.96.0.0/16, nodes 10.0.0.0/16" in text
    assert "rail-15: node 0 192.168.240.1, node 2 192.168.240.3" in text
    assert (
        "Growth: 4091 more steps of 1 node, to 4094; then the addresses of rail-00 end, and each pool needs a /19, "
        "the fabric a supernet of /15."
    ) in text


def test_prefixes_of_nodes_are_shown_with_their_size_and_what_a_pod_can_hold(stack_plans: tuple[Plan, ...]) -> None:
    text = printed(plan_report(named(stack_plans, "spiderpool-sriov-per-node")))

    assert "8 pools of /27 (28 addresses) a node out of 172.17.0.0/21 by spiderpool, room for 8 nodes" in text
    assert "rail-07: node 0 172.17.7.0/27, node 7 172.17.7.224/27" in text
    assert re.search(r"rail-00 +172\.17\.0\.0/24 +172\.17\.0\.1, one a node", text)


def test_a_stack_of_another_cloud_is_reported_without_addresses_and_charts_of_its_own(
    stack_plans: tuple[Plan, ...],
) -> None:
    text = printed(plan_report(named(stack_plans, "doks-b300")))

    assert "none planned: the provider gives the NICs theirs" in text
    assert "roce-net-fabric0 to roce-net-fabric15 in namespace default" in text
    assert re.search(r"charts +none", text)


def test_what_a_cloud_makes_comes_first_with_sizes_counts_and_the_way_in(stack_plans: tuple[Plan, ...]) -> None:
    for text in (
        printed(plan_report(named(stack_plans, "doks-h200"))),
        printed(summary(named(stack_plans, "doks-h200"), "Pulumi.doks-h200.yaml")),
    ):
        rows = [re.split(r"  +", line.strip(), maxsplit=1) for line in text.strip().splitlines()[1:8]]
        assert rows == [
            ["VPC", "doks-h200, 10.158.0.0/20"],
            ["cluster", "doks-h200 in nyc2 of DigitalOcean, Kubernetes 1.36.1-do.0, VPC-native"],
            ["pool system", "2 x s-4vcpu-8gb"],
            ["kubeconfig", "by the API token, which does not expire"],
            ["protected", "no: destroy and replacement are not refused"],
            ["pool gpu", "2 x gpu-h200x8-1128gb-fabric-contracted, 16 GPUs, 16 RDMA NICs"],
            ["model", "host-device by doks, release line 26.4"],
        ]


def test_what_exists_already_and_how_pools_scale_is_said() -> None:
    scaled = {"contractedNodes": 6, "autoScale": {"minNodes": 1, "maxNodes": 6}}
    changes: Any = {
        "cluster.vpc.id": "c33931f2-a26a-4e61-b85c-4e95a2ec431b",
        "cluster.version": "1.36",
        "cluster.ranges": {},
        "cluster.adopt": {
            "cluster": "5a4981aa-9653-4bd1-bef5-d6bff52042e4",
            "pools": {"gpu": "1e3ef32b-1a2b-4c3d-8e4f-0123456789ab"},
        },
        "cluster.project": {"name": "research"},
        "cluster.kubeconfig.mode": "exec",
        "cluster.protect": True,
        **{f"cluster.pools[0].{key}": value for key, value in scaled.items()},
    }
    text = printed(plan_report(plan_of("doks-h200", changes)))

    assert "c33931f2-a26a-4e61-b85c-4e95a2ec431b, which exists and stays" in text
    assert "Kubernetes the newest 1.36, taken over from 5a4981aa-9653-4bd1-bef5-d6bff52042e4" in text
    assert (
        "16 RDMA NICs, 1 to 6 nodes by automatic scaling, taken over from 1e3ef32b-1a2b-4c3d-8e4f-0123456789ab" in text
    )
    assert "research, a new one" in text
    assert "by doctl at every call" in text
    assert re.search(r"protected +yes", text)


def test_a_clouds_resources_are_the_first_steps_and_the_look_at_the_devices_comes_before_networks(
    stack_plans: tuple[Plan, ...],
) -> None:
    text = section(printed(plan_report(named(stack_plans, "doks-b300"))), "Applied, in this order")
    titles = [line.split("  ")[0].strip() for line in text.splitlines()[2:] if not line.startswith("  ")]

    assert titles == ["VPC", "cluster", "GPU pool", "Multus", "CNI plug-ins", "devices", "networks", "NCCL files"]
    assert "at least 2 nodes, every one with rdma/fabric0 to rdma/fabric15" in text
    assert "running, 90 minutes at most" in text


@pytest.fixture(scope="module")
def reports(stack_plans: tuple[Plan, ...]) -> list[str]:
    return [printed(plan_report(plan)) for plan in stack_plans]


@pytest.mark.parametrize("heading", ["Rails", "Addresses", "Applied, in this order", "A job's pod carries"])
def test_every_stack_that_can_be_planned_can_be_reported(reports: list[str], heading: str) -> None:
    assert all(heading in text for text in reports)


@pytest.mark.parametrize("layout", ["flat", "per-rail"])
def test_findings_are_shown_with_severity_rule_place_and_remedy(plan_with: PlanWith, layout: str) -> None:
    plan = plan_with({"fabric.addressing.layout": layout})
    text = " ".join(printed(plan_report(plan)).split())

    for entry in plan.findings:
        assert f"{entry.severity} {entry.id} {entry.path}: {entry.message} -> {entry.remedy}" in text


def test_the_summary_says_what_is_up_and_what_to_do_next(dev_plan: Plan) -> None:
    text = printed(summary(dev_plan, "Pulumi.dev.yaml"))

    assert "Stack dev is up" in text
    assert "3 x BM.GPU.H100.8, 24 GPUs, 48 RDMA NICs" in text
    assert "nvidia.com/rail_00 to nvidia.com/rail_15" in text
    assert ".sandbox/bin/kubectl get nodes" in text
    assert "make destroy STACK=dev" in text
    assert "edit Pulumi.dev.yaml, then make preview STACK=dev" in text


def test_a_kubeconfig_that_no_file_has_yet_is_written_by_a_command_that_is_named(plan_with: PlanWith) -> None:
    plan = plan_with({"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access", "access": {"secure": "x"}})

    text = printed(summary(plan, "examples/Pulumi.own.yaml", " SANDBOX=1"))
    assert "make kubeconfig STACK=dev SANDBOX=1 > ~/.kube/dev" in text
    assert "kubectl --kubeconfig ~/.kube/dev get nodes" in text


def test_a_kubeconfig_of_ones_own_is_named_to_kubectl(plan_with: PlanWith) -> None:
    plan = plan_with({"cluster.kubeconfig": "~/.kube/config"})
    assert "kubectl --kubeconfig ~/.kube/config get nodes" in printed(summary(plan, "examples/Pulumi.own.yaml"))


@pytest.mark.parametrize(("rule", "together"), [(False, True), (True, False)])
def test_the_report_says_whether_the_two_charts_are_installed_together(
    plan_with: PlanWith, rule: bool, together: bool
) -> None:
    values = {"nfd": {"deployNodeFeatureRules": rule}}
    plan = plan_with({"software.networkOperator": {"values": values}})
    line = next(row for row in printed(plan_report(plan)).splitlines() if row.startswith("Network Operator "))

    assert ("at the same time" in line) is together


@pytest.mark.parametrize(
    ("stack", "networks", "addresses"),
    [
        ("dranet-infiniband", "pods claim NICs by templates fabric-node, fabric-pair", "the nodes' own configuration"),
        ("host-network", "pods run on the host's own network", "none planned\n"),
    ],
)
def test_a_plan_without_networks_says_how_pods_come_to_the_nics(
    stack_plans: tuple[Plan, ...], stack: str, networks: str, addresses: str
) -> None:
    text = printed(plan_report(named(stack_plans, stack)))

    assert f"none: {networks}\n" in text
    assert addresses in text
