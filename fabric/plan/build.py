"""From a spec to its plan: a pure function, the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.catalog import Shape, catalog
from fabric.k8s.base import ObjectMeta
from fabric.k8s.core import Namespace
from fabric.plan import networks, operators
from fabric.plan.addresses import plan_addresses
from fabric.plan.nccl_files import nccl_config_maps, plan_nccl_files
from fabric.plan.plan import Plan, PlannedCluster, PlannedPool
from fabric.plan.rails import device_plugin_config, plan_rails
from fabric.plan.records import PlannedObject
from fabric.plan.workload import plan_workload
from fabric.rules import ConfigurationError, Finding, errors, finding
from fabric.spec import StackSpec
from fabric.spec.problems import dotted


def build(spec: StackSpec) -> Plan:
    """The plan of a stack.

    Raises:
        ConfigurationError: the spec is well-formed but cannot work; with every reason.
    """
    known = catalog()
    shape = known.shapes[spec.cluster.pools[0].shape]
    line = known.releases[spec.software.release_line]
    nodes = sum(pool.nodes for pool in spec.cluster.pools)
    addresses, address_findings = plan_addresses(
        spec.fabric.addressing, spec.cluster.ranges, rails=shape.rails, vfs_per_nic=shape.vfs_per_nic, nodes=nodes
    )
    findings = (*_shape_findings(spec), *address_findings, *_network_findings(spec, shape))
    if addresses is None or errors(findings):
        raise ConfigurationError(errors(findings), f"Pulumi.{spec.name}.yaml")
    rails = plan_rails(shape, addresses)
    operators_own = operators.operator_namespaces(line)
    config = device_plugin_config(shape, rails)
    network_operator = operators.network_operator(spec, line)
    nccl = plan_nccl_files(shape, known)
    offered = tuple(entry.name for entry in spec.fabric.namespaces)
    mtu = spec.fabric.mtu or shape.mtu
    return Plan(
        stack=spec.name,
        release_line=line.name,
        model=spec.fabric.model,
        manager=spec.fabric.manager,
        cluster=_cluster(spec),
        rails=rails,
        addresses=addresses,
        device_plugin=config,
        nccl=nccl,
        namespaces=(*operators_own, *_created_namespaces(spec, operators_own)),
        gpu_operator=operators.gpu_operator(spec, line),
        gpu_operator_ready=operators.gpu_operator_ready(line),
        network_operator=network_operator,
        network_operator_needs_nfd=operators.needs_feature_discovery(network_operator),
        policy=operators.nic_cluster_policy(spec, line, config),
        ip_pools=networks.ip_pools(addresses, line.charts["network-operator"].namespace),
        networks=networks.networks(rails, offered, mtu=mtu, rdma_mode=spec.fabric.rdma_mode),
        nccl_config_maps=nccl_config_maps(nccl, offered),
        workload=plan_workload(
            stack=spec.name,
            shape=shape,
            model=spec.fabric.model,
            nodes=nodes,
            namespaces=offered,
            rails=rails,
            mtu=mtu,
            nccl=nccl,
            labels=_common_labels(spec),
            tolerations=operators.tolerations(spec),
        ),
        findings=findings,
    )


def _cluster(spec: StackSpec) -> PlannedCluster:
    cluster, known = spec.cluster, catalog().shapes
    return PlannedCluster(
        provider=cluster.provider,
        kubeconfig=cluster.kubeconfig,
        kubeconfig_secret=cluster.kubeconfig_secret,
        context=cluster.context,
        id=cluster.id,
        pools=tuple(
            PlannedPool(
                name=pool.name,
                shape=pool.shape,
                nodes=pool.nodes,
                gpus=pool.nodes * known[pool.shape].gpus.count,
                nics=pool.nodes * known[pool.shape].rails,
            )
            for pool in cluster.pools
        ),
    )


def _common_labels(spec: StackSpec) -> dict[str, str]:
    first, *others = (pool.labels for pool in spec.cluster.pools)
    return {key: value for key, value in sorted(first.items()) if all(labels.get(key) == value for labels in others)}


def _created_namespaces(spec: StackSpec, present: tuple[PlannedObject, ...]) -> tuple[PlannedObject, ...]:
    # Jobs need IPC_LOCK, which the level `baseline` forbids.
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    return tuple(
        PlannedObject(object=Namespace(metadata=ObjectMeta(name=entry.name, labels=labels)))
        for entry in spec.fabric.namespaces
        if entry.create and entry.name not in {namespace.name for namespace in present}
    )


def _shape_findings(spec: StackSpec) -> Iterator[Finding]:
    pools = spec.cluster.pools
    for place, pool in enumerate(pools):
        if pool.shape != pools[0].shape:
            yield finding(
                "CLU002",
                dotted(("cluster", "pools", place, "shape")),
                f"pool {pool.name} has shape {pool.shape}, pool {pools[0].name} has {pools[0].shape}",
                f"write {pools[0].shape}, or move the pool to a stack of its own",
            )


def _network_findings(spec: StackSpec, shape: Shape) -> Iterator[Finding]:
    fabric = spec.fabric
    if fabric.mtu is not None and fabric.mtu > shape.mtu:
        yield finding(
            "NET001",
            dotted(("fabric", "mtu")),
            f"{fabric.mtu} bytes exceed the {shape.mtu} of {shape.name}'s RDMA interfaces",
            f"write {shape.mtu} or less, or leave it out",
        )
    if fabric.rdma_mode == "exclusive":
        yield finding(
            "NET002",
            dotted(("fabric", "model")),
            "the networks call the CNI plug-ins sriov and rdma, which the node image must bring",
            "check for /opt/cni/bin/sriov and /opt/cni/bin/rdma on a GPU node before the first job",
        )
    else:
        yield finding(
            "NET002",
            dotted(("fabric", "model")),
            "the networks call the CNI plug-in sriov, which the node image must bring",
            "check for /opt/cni/bin/sriov on a GPU node before the first job",
        )
    yield finding(
        "NET003",
        dotted(("fabric", "rdmaMode")),
        f"the nodes must run in RDMA mode {fabric.rdma_mode}",
        f"`rdma system` on a node must print `netns {fabric.rdma_mode}`; else set rdmaMode to what it prints",
    )
    if fabric.addressing.layout == "flat":
        yield finding(
            "DEV001",
            dotted(("fabric", "addressing", "layout")),
            f"all {shape.rails} rails share one resource, so only pods that ask for all of them get one of each",
            "write layout: per-rail if pods may ask for fewer",
        )
    if shape.name not in catalog().topologies:
        yield finding(
            "NCL001",
            dotted(("cluster", "pools")),
            f"{shape.name} gets no NCCL topology file",
            "nothing to do, unless nccl-tests shows traffic crossing NUMA nodes",
        )
