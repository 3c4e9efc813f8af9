"""The DaemonSets of this project on the GPU nodes, and the Bash scripts that they run in the host's root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gpu_fabric.k8s.apps import NODE_NAME, Container, DaemonSet, PodSpec, Volume, daemon_set, pod_spec
from gpu_fabric.on_nodes import program
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.releases import node_tolerations
from gpu_fabric.plan.records import PlannedObject, file_config_map

COMPONENT_LABEL = "gpu-fabric/component"
"""The label of this project's pods on the nodes, with the component's name."""


def node_daemon(
    case: Case,
    name: str,
    labels: dict[str, str],
    nodes: dict[str, str],
    containers: tuple[Container, ...],
    volumes: tuple[Volume, ...],
    *,
    grace_seconds: int,
    sees_processes: bool = False,
) -> DaemonSet:
    """A privileged DaemonSet on the nodes with the given labels.

    It runs on the host's network, since the pod network may depend on it. Nodes are configured independently and keep
    what is already correct, so all of them are updated at once. `sees_processes` means the host's process namespace.
    """
    pod = PodSpec(
        automount_service_account_token=False,
        image_pull_secrets=case.pull_secrets,
        host_network=True,
        host_pid=True if sees_processes else None,
        priority_class_name="system-node-critical",
        termination_grace_period_seconds=grace_seconds,
        node_selector=nodes,
        tolerations=node_tolerations(case) or None,
        containers=containers,
        volumes=volumes,
    )
    return daemon_set(name, manager_of(case).namespace, labels | case.own_labels, pod)


# The parts before each script, in order; each may use the definitions of the parts before it.
_PARTS: dict[str, tuple[str, ...]] = {
    "acs": ("desired_state",),
    "claimed_nic_addresses": ("desired_state", "policy_routing", "rail_addresses"),
    "fabric_rule": ("desired_state", "policy_routing"),
    "ipoib": ("desired_state", "rail_interfaces"),
    "link_type": ("desired_state", "pci_nics"),
    "lossless": ("desired_state", "rail_interfaces"),
    "nic_addresses": ("desired_state", "policy_routing", "rail_addresses"),
    "rdma_mode": ("desired_state", "rdma_subsystem"),
    "virtual_functions": ("pci_nics", "rdma_subsystem"),
}


def script(name: str) -> str:
    """A script such as `fabric_rule`, for Bash's standard input; its first lines explain its environment.

    Raises:
        KeyError: no script has that name.
    """
    return "\n".join(program(f"host/{part}.sh") for part in ("library", *_PARTS[name], name))


TABLES = "/run/gpu-fabric/addresses"
"""The path of a script's tables in the host's root: a folder per ConfigMap."""

_NODES_LABEL = "gpu-fabric/nodes"


def script_daemons(
    case: Case,
    component: str,
    environments: Sequence[tuple[NodeGroup, Mapping[str, str]]],
    *,
    timeout: int,
    tables: Mapping[str, str] | None = None,
    dry_run: bool = False,
    variant: str | None = None,
) -> tuple[PlannedObject, ...]:
    """The ConfigMap with a component's script, and its DaemonSet for each node group.

    A pod is ready where the script's mode `check` succeeds. `tables` are ConfigMaps by the name of their folder below
    TABLES. In a dry run the script only reports, and nothing waits for the pods. `timeout` is in seconds. `variant` is
    the script in the place of that with the component's name.
    """
    stem = _stem(component)
    # A new script is a new ConfigMap, which restarts the pods (rolling).
    files = file_config_map(case.named(component), manager_of(case).namespace, f"{stem}.sh", script(variant or stem))
    daemons = (
        _script_daemon(case, component, group, files.metadata.name, environment, tables or {}, dry_run=dry_run)
        for group, environment in environments
    )
    return (
        PlannedObject(object=files),
        *(PlannedObject(object=daemon, timeout=timeout, awaited=not dry_run) for daemon in daemons),
    )


def _script_daemon(
    case: Case,
    component: str,
    group: NodeGroup,
    files: str,
    environment: Mapping[str, str],
    folders: Mapping[str, str],
    *,
    dry_run: bool,
) -> DaemonSet:
    tables = {f"table-{folder}": (f"/host{TABLES}/{folder}", name) for folder, name in folders.items()}
    values = {
        "component": component,
        "script": _stem(component),
        "image": case.standalone_image("hostPreparation", case.spec.software.host_image),
        "mode": "report" if dry_run else "configure",
        "variables": [NODE_NAME, *({"name": name, "value": value} for name, value in environment.items())],
        "files": files,
        "mounts": [{"name": name, "mountPath": path, "readOnly": True} for name, (path, _) in tables.items()],
        "volumes": [{"name": name, "configMap": {"name": table}} for name, (_, table) in tables.items()],
    }
    pod = pod_spec(Path(__file__).with_suffix(".yaml"), values)
    suffix = f"-{group.name}" if len(case.groups) > 1 else ""
    return node_daemon(
        case,
        f"{case.own_copy(component)}{suffix}",
        {COMPONENT_LABEL: component, _NODES_LABEL: case.own_name(group.name)},
        group.selector,
        pod.containers,
        pod.volumes or (),
        grace_seconds=10,
        # The scripts work on the host's interfaces and processes.
        sees_processes=True,
    )


def _stem(component: str) -> str:
    return component.replace("-", "_")
