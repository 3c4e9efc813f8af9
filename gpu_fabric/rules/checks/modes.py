"""Checks of the group `modes`: networks and device plug-ins agree on who owns the RDMA device."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.chart_values import value_at
from gpu_fabric.rules.planned_network import read_network
from gpu_fabric.rules.registry import Problem, check_plan
from gpu_fabric.spec.places import dotted

# Plug-ins whose interface comes without a verbs device in any mode.
_WITHOUT_DEVICE = ("ipoib",)


@check_plan("RDM001")
def networks_fit_the_mode(case: Case, plan: Plan) -> Iterator[Problem]:
    """All networks move the RDMA device in mode exclusive, and none does in mode shared."""
    exclusive = plan.choices.rdma_mode == "exclusive"
    wrong = [
        network.name
        for network in map(read_network, plan.applied("networks"))
        if network.moves_rdma != exclusive and not (exclusive and network.plugin in _WITHOUT_DEVICE)
    ]
    if wrong:
        does = "leave the RDMA device on the host" if exclusive else "move the RDMA device"
        yield Problem(
            dotted(("fabric", "rdmaMode")),
            f"the networks {', '.join(dict.fromkeys(wrong))} {does}, which does not work in mode "
            f"{plan.choices.rdma_mode}",
            "leave rdmaMode out; if that does not help, this program is wrong",
        )


@check_plan("RDM002")
def shared_plugin_runs_in_shared_mode(case: Case, plan: Plan) -> Iterator[Problem]:
    """The RDMA shared device plug-in is planned for mode shared only."""
    if plan.choices.rdma_mode == "shared":
        return
    policies = [entry.object for entry in plan.applied("nic-policies", "nic-node-policies")]
    by_policy = any(
        isinstance(policy, (NicClusterPolicy, NicNodePolicy)) and policy.spec.rdma_shared_device_plugin is not None
        for policy in policies
    )
    # Older lines make the policy from the chart's values, which the stack file may change.
    chart = plan.release("network-operator")
    by_chart = chart is not None and value_at(chart.values, "rdmaSharedDevicePlugin", "deploy") is True
    if plan.shared_plugin is not None or by_policy or by_chart:
        yield Problem(
            dotted(("fabric", "rdmaMode")),
            f"the model {plan.choices.model} needs the RDMA shared device plug-in, which exits in mode exclusive",
            "write rdmaMode: shared and run the nodes in it, or choose a model of virtual functions",
        )
