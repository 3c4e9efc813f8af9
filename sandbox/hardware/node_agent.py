"""The changes on one simulated node: a pure function of the node, its pods and the policies.

It simulates the drivers' label, this stack's DaemonSets, the SR-IOV operators' config daemons, and the device plug-ins
as the kubelet sees them. All of its state is in the cluster: the configuration that a plug-in has loaded on its pod,
what an SR-IOV operator's daemon has applied on the node. So it can be called at any time and any number of times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_fabric.k8s.mellanox import NIC_LABEL
from ..simulated_nodes import RDMA_MODE_ANNOTATION
from .device_plugins import annotations_of, is_plugin, labels_of, loaded, resources_of, runs
from .host_preparation import prepared
from .node_records import Object, Outcome, World, change_devices, devices_on, node_after
from .operands import DRIVER, DRIVER_WAIT_LABEL, OPERAND_LABEL
from .planes import NIC_DAEMON, configured, waiting
from .sriov_agent import config_daemons
from .virtual_functions import COMPONENT, COMPONENT_LABEL, setup_of


def play(
    node: Mapping[str, Any],
    pods: Mapping[str, Object],
    states: Mapping[str, Object],
    world: World,
    *,
    sync_is_over: bool,
) -> Outcome:
    """The changes on a node with these pods (running ones or not) and SriovNetworkNodeStates (by namespace).

    `sync_is_over` says whether the time that a sync takes has passed. Raises pydantic.ValidationError (a ValueError)
    for a node whose inventory cannot be read.
    """
    outcome = Outcome()
    running = {key: pod for key, pod in pods.items() if runs(pod)}
    _driver(node, running, world, outcome)
    _own_daemon_sets(node, running, world, outcome)
    _nic_configuration(node, running, world, outcome)
    config_daemons(node, running, states, outcome, sync_is_over=sync_is_over)
    _plugins(node_after(node, outcome), running, world, outcome)
    return outcome


def _driver(node: Mapping[str, Any], pods: Mapping[str, Object], world: World, outcome: Outcome) -> None:
    if world.drivers is None:
        return
    labels = labels_of(node)
    wanted = None
    if labels.get(NIC_LABEL) == "true":
        installed = any(selector.items() <= labels.items() for selector in world.drivers)
        missing = installed and not any(labels_of(pod).get(OPERAND_LABEL) == DRIVER for pod in pods.values())
        wanted = "true" if missing else "false"
    if labels.get(DRIVER_WAIT_LABEL) != wanted:
        outcome.labels[DRIVER_WAIT_LABEL] = wanted


def _nic_configuration(node: Mapping[str, Any], pods: Mapping[str, Object], world: World, outcome: Outcome) -> None:
    if not any(labels_of(pod).get(OPERAND_LABEL) == NIC_DAEMON for pod in pods.values()):
        return
    before = devices_on(node)
    after = configured(before, labels_of(node), world.nic_configurations, world.nic_names)
    change_devices(node, after, outcome)
    outcome.labels |= waiting(node, changes=after != before)


def _own_daemon_sets(node: Mapping[str, Any], pods: Mapping[str, Object], world: World, outcome: Outcome) -> None:
    for key, pod in pods.items():
        component = labels_of(pod).get(COMPONENT_LABEL)
        if component is None:
            continue
        try:
            if component == COMPONENT:
                _virtual_functions(node, pod, pods, outcome)
            else:
                outcome.annotations |= prepared(pod, node, world)
        except ValueError as problem:
            outcome.failures[key] = str(problem)
            continue
        outcome.ready.append(key)


def _virtual_functions(
    node: Mapping[str, Any], pod: Mapping[str, Any], pods: Mapping[str, Object], outcome: Outcome
) -> None:
    setup = setup_of(pod)
    after = setup.applied(devices_on(node))
    if after != devices_on(node):
        change_devices(node, after, outcome)
        # its container is ended, and starts again in the same pod
        outcome.restarted |= {name for name in pods if setup.plugin_pod and name.startswith(setup.plugin_pod)}
    if setup.rdma_mode is not None and annotations_of(node).get(RDMA_MODE_ANNOTATION) != setup.rdma_mode:
        outcome.annotations[RDMA_MODE_ANNOTATION] = setup.rdma_mode


def _plugins(node: Mapping[str, Any], pods: Mapping[str, Object], world: World, outcome: Outcome) -> None:
    for key, pod in pods.items():
        if not is_plugin(pod):
            continue
        resources = None if key in outcome.restarted else loaded(pod)
        try:
            if resources is None:
                resources = dict(resources_of(pod, node, world.config_maps))
                outcome.loads[key] = resources
        except ValueError as problem:
            outcome.failures[key] = str(problem)
            continue
        outcome.resources |= resources
        outcome.ready.append(key)
