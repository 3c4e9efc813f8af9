"""Multus where no operator installs it: on nodes of DigitalOcean, whose clusters come without one, and with AMD's NICs.

The thick form: a daemon on every node does the work, and the container runtime calls a small program that asks it. All
of it is in kube-system.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from gpu_fabric.k8s.apps import DaemonSet, daemon_set, pod_spec
from gpu_fabric.k8s.cni import network_kind_definition
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import SYSTEM_NAMESPACE, manager_of
from gpu_fabric.plan.operators.operator import Operator, rights_of, service_account
from gpu_fabric.plan.records import PlannedObject, file_config_map
from gpu_fabric.plan.steps import NODES, Context, Step, Words, daemon_sets

_NAME = "multus"
_DAEMON_SET = "kube-multus-ds"
_LABELS = {"app": _NAME, "tier": "node", "name": _NAME}
_CONFIGURATION = {
    # Plug-ins are run in the host's root, where their libraries and state are.
    "chrootDir": "/hostroot",
    "cniVersion": "0.3.1",
    "logLevel": "verbose",
    "logToStderr": True,
    "cniConfigDir": "/host/etc/cni/net.d",
    "multusAutoconfigDir": "/host/etc/cni/net.d",
    # Its own network is made from the cluster's, which it follows when that changes.
    "multusConfigFile": "auto",
    "socketDir": "/host/run/multus/",
}


def brings_multus(case: Case) -> bool:
    """Whether the stack installs it: where networks need it, no manager installs it, and the cluster has none.

    A manager that the cluster has comes with one.
    """
    manager = manager_of(case)
    by_others = manager.multus_switch is not None or manager.is_present
    by_multus = manager.attaches_by_multus and manager.dra_driver is None
    return not by_others and by_multus and "multus" not in case.spec.present


def _steps(context: Context) -> Iterator[Step]:
    """Its DaemonSet waits for the nodes, so that its readiness is theirs, too; the rest does not.

    Networks come after it: they are of the kind that it defines, and a pod that starts on a node without it gets none.
    """
    component, kind = "multus", "operators:Multus"
    planned = multus(context.case)
    what = f"{daemon_sets(planned)} in {SYSTEM_NAMESPACE}, and the kind NetworkAttachmentDefinition"
    yield Step(
        name=component,
        component=component,
        kind=kind,
        items=planned[:-1],
        after=("namespaces",),
        in_order=True,
        words=(Words(title="Multus", what=what, waits="the kind, and its pods on every node"),),
    )
    after = ("namespaces", component, NODES)
    yield Step(name="multus-daemon", component=component, kind=kind, items=planned[-1:], after=after)


OPERATOR = Operator(_steps)


def multus_memory(case: Case) -> str:
    """The memory of the daemon, in Mi or Gi: the stack's, or the catalog's."""
    memory = case.spec.software.multus.memory or case.line.standalone["multus"].memory
    assert memory is not None, "the catalog's row has one"
    return memory


def multus(case: Case) -> tuple[PlannedObject, ...]:
    """Definition, identity, configuration and DaemonSet, in the order in which they are needed."""
    if not brings_multus(case):
        return ()
    # The daemon reads it when it starts: another text is another name, which rolls the pods.
    text = json.dumps(_CONFIGURATION, indent=2) + "\n"
    configuration = file_config_map("multus-daemon-config", SYSTEM_NAMESPACE, "daemon-config.json", text, _LABELS)
    return (
        PlannedObject(object=network_kind_definition(), wait_for="condition=Established"),
        *service_account(_NAME, SYSTEM_NAMESPACE, _LABELS, rights_of(_NAME)),
        PlannedObject(object=configuration),
        # Images of every node, CPU nodes too, are pulled first.
        PlannedObject(object=_daemon_set(case, configuration.metadata.name), timeout=900),
    )


def _daemon_set(case: Case, configuration: str) -> DaemonSet:
    image = case.standalone_image("multus", case.spec.software.multus.image)
    values = {"image": image, "memory": multus_memory(case), "configuration": configuration}
    pod = pod_spec(Path(__file__).with_suffix(".yaml"), {**values, "pullSecrets": case.pull_secrets})
    # A node starts no pod while its daemon is replaced.
    most = "10%"
    return daemon_set(_DAEMON_SET, SYSTEM_NAMESPACE, _LABELS, pod, selected_by={"name": _NAME}, max_unavailable=most)
