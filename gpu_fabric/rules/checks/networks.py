"""Checks of the networks: MTU, CNI plug-ins, RDMA mode, namespaces, and pods with DPDK."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.base.api_objects import field
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import MTU_OF_RDMA_4096, Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rail import one_resource
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.rules.clashes import Stated, clashes
from gpu_fabric.rules.planned_network import planned_networks
from gpu_fabric.rules.planned_nodes import prepares_rdma_mode, sets_rdma_mode
from gpu_fabric.rules.registry import Problem, check, check_of, check_plan, in_fabric, in_software
from gpu_fabric.spec.fabric import DpdkSpec
from gpu_fabric.spec.places import Location, dotted

_CNI_PLUGINS = in_software("cniPlugins")
# Source: RFC 4391 and 4392, IP over InfiniBand: the link's MTU less a header of four bytes.
_MOST_ON_INFINIBAND = 4092
# Plug-ins whose interface comes without a verbs device in any mode.
_WITHOUT_DEVICE = ("ipoib",)
_MODELS = ("sriov", "host-device")
_MEBIBYTES = {"Mi": 1, "Gi": 1024}


def mebibytes(text: str) -> int:
    """An amount of memory, such as 2Gi, in MiB."""
    return int(text[:-2]) * _MEBIBYTES[text[-2:]]


@check("NET001")
def mtu_fits_the_host(case: Case) -> Iterator[Problem]:
    """The pods' MTU is at most that of the host's RDMA interfaces."""
    mtu, host = case.spec.fabric.mtu, case.shape.mtu
    if mtu is not None and host is not None and mtu > host:
        yield Problem(
            in_fabric("mtu"),
            f"{mtu} bytes exceed the {host} of {case.shape.name}'s RDMA interfaces",
            f"write {host} or less, or leave it out",
        )


@check("NET002")
def nodes_bring_the_plugins(case: Case) -> Iterator[Problem]:
    """Every CNI plug-in that the networks call is installed."""
    if case.spec.software.cni_plugins == "node-image" and (called := manager_of(case).node_image_plugins):
        several = len(called) > 1
        yield Problem(
            _CNI_PLUGINS,
            f"the networks call the CNI plug-in{'s' if several else ''} {' and '.join(called)}, which the node image "
            "must bring",
            f"check for {' and '.join(f'{case.cni_plugins_folder}/{name}' for name in called)} on a GPU node before "
            "the first job, or leave it out",
        )


@check("NET003")
def nodes_run_in_the_mode(case: Case) -> Iterator[Problem]:
    """The user knows which RDMA mode the nodes must run in."""
    mode, row = case.choices.rdma_mode, case.choices.row
    switched = sets_rdma_mode(case) is not None or prepares_rdma_mode(case)
    # SPI010 warns of it.
    warned = row is not None and "shared" not in row.rdma_modes
    if (
        manager_of(case).nics_configured_by is None
        and case.choices.model != "host-network"
        and not switched
        and not warned
    ):
        yield Problem(
            in_fabric("rdmaMode"),
            f"the nodes must run in RDMA mode {mode}",
            f"`rdma system` on a node must print `netns {mode}`; else set rdmaMode to what it prints, or write "
            "hostPreparation.rdmaMode: true",
        )


@check("NET004")
def link_layer_is_the_clouds(case: Case) -> Iterator[Problem]:
    """On a cloud's machines the link layer is the one that the cloud wired."""
    stated, shape = case.spec.fabric.link_type, case.shapes[0]
    own = shape.nic_model.link_type if shape.nic_model else None
    if stated is not None and own is not None and shape.provider in ("oci", "doks") and stated != own:
        yield Problem(in_fabric("linkType"), f"{shape.name} has {own} links, not {stated}")


@check("NET005")
def partition_keys_have_an_effect(case: Case) -> Iterator[Problem]:
    """A partition key is given only for virtual functions of InfiniBand NICs."""
    if case.spec.fabric.pkey is not None and case.choices.model != "ib-sriov":
        yield Problem(in_fabric("pkey"), f"it has no effect with the model {case.choices.model}")


@check("NET006")
def mtu_carries_the_largest_rdma_mtu(case: Case) -> Iterator[Problem]:
    """The Ethernet MTU leaves room for an RDMA MTU of 4096 bytes, unless the host's is known to leave none."""
    mtu, host = case.spec.fabric.mtu, case.shape.mtu
    if _sets_mtu(case) and mtu is not None and mtu < MTU_OF_RDMA_4096 <= (host or MTU_OF_RDMA_4096):
        allowed = f", although {case.shape.name} allows {host}" if host else ""
        yield Problem(
            in_fabric("mtu"),
            f"{mtu} bytes leave no room for an RDMA MTU of 4096 bytes{allowed}",
            f"leave it out, or write {MTU_OF_RDMA_4096} or more"
            if host
            else f"raise it on hosts and switches, and write {MTU_OF_RDMA_4096} or more",
        )


@check("NET007")
def mtu_is_known(case: Case) -> Iterator[Problem]:
    """The MTU of an Ethernet fabric is stated, by the shape or by the stack file."""
    if _sets_mtu(case) and case.mtu is None:
        yield Problem(
            in_fabric("mtu"), f"neither the stack file nor {case.shape.name} states the MTU of the RDMA interfaces"
        )


@check("NET008")
def mtu_has_an_effect(case: Case) -> Iterator[Problem]:
    """The MTU is stated only where the networks set it."""
    if case.spec.fabric.mtu is not None and not _sets_mtu(case):
        if case.choices.model == "host-network":
            reason = "pods use the host's interfaces as they are"
        elif manager_of(case).nics_configured_by is not None:
            reason = f"{manager_of(case).nics_configured_by} sets it on the host"
        elif not manager_of(case).networks_set_mtu:
            reason = "the NIC keeps the MTU of the host"
        else:
            reason = "on InfiniBand the subnet manager sets it"
        yield Problem(in_fabric("mtu"), f"it has no effect: {reason}")


@check("NET009")
def offered_namespaces_are_for_jobs(case: Case) -> Iterator[Problem]:
    """No namespace in which jobs run is the cluster's own or an operator's."""
    operators = {chart.namespace: name for name, chart in case.line.charts.items()}
    for place, entry in enumerate(case.spec.fabric.namespaces):
        if entry.name.startswith("kube-") or entry.name in operators:
            owner = "the cluster itself" if entry.name.startswith("kube-") else operators[entry.name]
            yield Problem(in_fabric("namespaces", place), f"{entry.name} belongs to {owner}")


@check("NET010")
def created_namespaces_are_new(case: Case) -> Iterator[Problem]:
    """No namespace that every cluster has is to be created."""
    for place, entry in enumerate(case.spec.fabric.namespaces):
        if entry.create and entry.name == "default":
            yield Problem(in_fabric("namespaces", place))


@check("NET011")
def networks_differ(case: Case) -> Iterator[Problem]:
    """Every rail has a network of its own name, unless all rails share one on purpose."""
    if one_resource(case) or case.choices.model == "host-network":
        return
    rails = group_rails(case, case.groups[0])
    named = {
        entry.rail: ("fabric", "rails", place, "network")
        for place, entry in enumerate(case.spec.fabric.rails)
        if entry.network is not None and entry.rail < len(rails)
    }
    fixed = {rail.network or "": f"rail {rail.index}" for rail in rails if rail.index not in named}
    stated = [Stated(place, rails[number].network or "", f"rail {number}") for number, place in named.items()]
    for clash in clashes(fixed, stated):
        yield Problem(dotted(clash.stated.place), f"{clash.other} has the network {clash.stated.value} already")


@check("NET012")
def partition_keys_are_read(case: Case) -> Iterator[Problem]:
    """A partition key is given only where something puts virtual functions into partitions."""
    remedy = manager_of(case).partition_keys_remedy
    if case.spec.fabric.pkey is not None and case.choices.model == "ib-sriov" and remedy is not None:
        yield Problem(
            in_fabric("pkey"),
            "it takes effect only with ib-kubernetes and UFM, which this stack does not install",
            f"{remedy}, or leave it out and let the subnet manager assign partitions",
        )


@check("NET013")
def node_images_plugins_are_called(case: Case) -> Iterator[Problem]:
    """CNI plug-ins are left to the node image only where the networks call some that no operator installs."""
    if case.spec.software.cni_plugins == "node-image" and not manager_of(case).node_image_plugins:
        yield Problem(_CNI_PLUGINS)


@check("NET014")
def default_networks_are_of_pods(case: Case) -> Iterator[Problem]:
    """The pods' own first network is named only where pods have networks of their own."""
    if case.spec.fabric.default_network is not None and case.choices.model == "host-network":
        yield Problem(in_fabric("defaultNetwork"))


def _sets_mtu(case: Case) -> bool:
    """Whether the networks set an MTU: on Ethernet, unless the interfaces are the host's or the cloud's business."""
    choices, manager = case.choices, manager_of(case)
    on_host = manager.nics_configured_by is not None or not manager.networks_set_mtu
    return choices.link_type == "ether" and not on_host and choices.model != "host-network"


@check("NET015")
def offered_namespaces_are_the_users(case: Case) -> Iterator[Problem]:
    """No namespace in which jobs run is one of other software's."""
    own = {chart.namespace for chart in case.line.charts.values()}
    for place, entry in enumerate(case.spec.fabric.namespaces):
        owner = case.known.foreign_namespaces.get(entry.name)
        if owner is not None and entry.name not in own:
            yield Problem(in_fabric("namespaces", place), f"{entry.name} is usually the namespace of {owner}")


@check("NET016")
def infiniband_carries_the_mtu(case: Case) -> Iterator[Problem]:
    """Interfaces on InfiniBand have an MTU that its packets hold."""
    if case.choices.link_type != "infiniband":
        return
    stated: list[tuple[Location, int | None]] = [
        (("cluster", "shapes", name, "mtu"), row.mtu) for name, row in case.spec.cluster.shapes.items()
    ]
    stated += [(("fabric", "mtu"), case.spec.fabric.mtu)]
    for place, mtu in stated:
        if mtu is not None and mtu > _MOST_ON_INFINIBAND:
            yield Problem(
                dotted(place),
                f"{mtu} bytes do not fit into a packet of InfiniBand, which holds 4096 with 4 of IPoIB's own",
                f"write {_MOST_ON_INFINIBAND} or less, or leave it out; only the connected mode, which newer NICs "
                "lack, takes more",
            )


@check_plan("RDM001")
def networks_fit_the_mode(case: Case, plan: Plan) -> Iterator[Problem]:
    """All networks move the RDMA device in mode exclusive, and none does in mode shared."""
    exclusive = plan.choices.rdma_mode == "exclusive"
    wrong = [
        network.name
        for network in planned_networks(plan)
        if network.moves_rdma != exclusive and not (exclusive and network.plugin in _WITHOUT_DEVICE)
    ]
    if wrong:
        does = "leave the RDMA device on the host" if exclusive else "move the RDMA device"
        yield Problem(
            in_fabric("rdmaMode"),
            f"the networks {', '.join(dict.fromkeys(wrong))} {does}, which does not work in mode "
            f"{plan.choices.rdma_mode}",
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
    # Older lines create the policy from the chart's values, which the stack file may change.
    chart = plan.release("network-operator")
    by_chart = chart is not None and field(chart.values, "rdmaSharedDevicePlugin", "deploy") is True
    if plan.shared_plugin is not None or by_policy or by_chart:
        yield Problem(
            in_fabric("rdmaMode"),
            f"the model {plan.choices.model} needs the RDMA shared device plug-in, which exits in mode exclusive",
        )


@check_of("DPK001", lambda case: case.spec.fabric.dpdk)
def dpdk_has_a_nic_of_its_own(case: Case, dpdk: DpdkSpec) -> Iterator[Problem]:
    """DPDK is asked for only where a pod has a NIC, or a virtual function, for itself."""
    choices = case.choices
    if not (choices.model in _MODELS and choices.link_type == "ether"):
        yield Problem(
            in_fabric("dpdk"),
            f"{choices.model} on {choices.link_type} links gives a pod no Ethernet device of its own to drive",
            f"leave it out, or write model: {' or '.join(_MODELS)} on Ethernet",
        )


@check_of("DPK002", lambda case: case.spec.fabric.dpdk)
def memory_is_a_number_of_pages(case: Case, dpdk: DpdkSpec) -> Iterator[Problem]:
    """The memory in huge pages is a whole number of pages."""
    if rest := mebibytes(dpdk.huge_pages) % (size := mebibytes(dpdk.page_size)):
        less = mebibytes(dpdk.huge_pages) - rest
        amounts = [f"{amount}Mi" for amount in (less, less + size) if amount]
        yield Problem(
            in_fabric("dpdk", "hugePages"),
            f"{dpdk.huge_pages} is not a whole number of pages of {dpdk.page_size}",
            f"write {' or '.join(amounts)}",
        )


@check_of("DPK003", lambda case: case.spec.fabric.dpdk)
def pages_are_reserved(case: Case, dpdk: DpdkSpec) -> Iterator[Problem]:
    """The user knows what the nodes must reserve for DPDK."""
    if case.choices.model in _MODELS:
        yield Problem(
            in_fabric("dpdk"),
            f"every node must reserve {dpdk.huge_pages} in pages of {dpdk.page_size}, and its kubelet must give "
            "processors to one pod alone",
        )
