"""The operators at work: what they make of their custom resources, written as soon as something has changed."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import yaml

from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.mellanox import NIC_CLUSTER_POLICY_NAME, NIC_LABEL
from ..crds import section_folder
from ..kubernetes_api import Object
from .amd_operands import AMD_GPU_OPERATOR, AMD_NETWORK_OPERATOR, amd_operands, ready_patch
from .definition_jobs import ENDS_ANNOTATION, definitions, is_due
from .device_plugins import labels_of
from .gpu_policy import GPU_OPERATOR, gpu_policy_status, is_news
from .node_records import World
from .operands import (
    DRIVER_WAIT_LABEL,
    NETWORK_OPERATOR,
    PLAYED_LABEL,
    POLICY_LABEL,
    STATE_LABEL,
    Installed,
    installed,
    operands,
    operands_of,
    owner_reference,
    section_of,
    with_revision,
)
from .planes import (
    SPECTRUM_X,
    controlled_nodes,
    finalizer_patch,
    rail_objects,
    rail_pool_patch,
    selected_nodes,
    xplane_image,
)
from .policy_status import refusal, status_of, status_patch
from .views import Views
from .watching import Watched, key_of
from .writing import Writer, identity

# After a change of an operand or of a node's label its DaemonSet looks ready until Kubernetes has seen the change.
SETTLE_S = 0.5
# For so long the operator works on as if a policy had not changed: the status of v26.4.1 stayed for 1.3 to 4.7 s.
LATE_S = 1.5

log = logging.getLogger(__name__)


class Operators:
    """Reconciles the policies and networks of one cluster; an operator that is not installed does nothing."""

    def __init__(self, views: Views, writer: Writer) -> None:
        self._views = views
        self._writer = writer
        self._written: dict[str, float] = {}
        self._changed = Changed()
        self._labelled = -math.inf
        self._believed: dict[str, Object] = {}
        self._late: dict[str, float] = {}

    def version(self) -> tuple[int, ...]:
        """Changes whenever `world` may give something else."""
        views = self._views
        return tuple(
            collection.version()
            for collection in (
                views.operators,
                views.cluster_policies,
                views.node_policies,
                views.config_maps,
                views.definitions_of_networks,
                views.nic_configurations,
                views.nic_names,
            )
        )

    def world(self) -> World:
        """What counts for all nodes."""
        views = self._views
        obeyed = [policy for policy, refused in self._policies() if refused is None]
        in_cluster = any(policy["metadata"]["name"] == NIC_CLUSTER_POLICY_NAME for policy in obeyed)
        drivers = (policy["spec"].get("nodeSelector", {}) for policy in obeyed if "ofedDriver" in policy["spec"])
        return World(
            drivers=tuple(drivers) if in_cluster else None,
            config_maps=views.config_maps.objects(),
            networks=frozenset(views.definitions_of_networks.objects()),
            nic_configurations=_lasting(views.nic_configurations),
            nic_names=_lasting(views.nic_names),
        )

    def reconcile(self, now: float) -> float:
        """Write what is missing; gives the time (monotonic clock) at which to look again, infinite for none."""
        self._definitions()
        self._gpu_policies()
        self._operands(now)
        self._amd_configs(AMD_GPU_OPERATOR, self._views.device_configs)
        self._amd_configs(AMD_NETWORK_OPERATOR, self._views.network_configs)
        self._rail_pools()
        statuses = self._statuses(now)
        # Counted after the statuses, which read policies and so end some of these waits.
        late = [since + LATE_S for since in self._late.values()]
        return min(statuses, self._changed.next(), *late)

    def nodes_changed(self, now: float) -> None:
        """Take note that a node has become one on which operands may run, or no longer."""
        self._labelled = now

    def _operator(self, name: str) -> Object | None:
        found = self._views.operators.objects().values()
        return next((item for item in found if labels_of(item)["app.kubernetes.io/name"] == name), None)

    def _policies(self) -> list[tuple[Object, Object | None]]:
        """Every policy, with the status of one that is refused; none without the operator."""
        if self._operator(NETWORK_OPERATOR) is None:
            return []
        cluster = self._views.cluster_policies.objects()
        every = (*cluster.values(), *self._views.node_policies.objects().values())
        lasting = (policy for policy in every if "deletionTimestamp" not in policy["metadata"])
        return [(policy, refusal(policy)) for policy in map(self._as_believed, lasting)]

    def _as_believed(self, policy: Object) -> Object:
        """The policy as the operator last read it; it reads a change some time later."""
        uid, now = policy["metadata"]["uid"], time.monotonic()
        known = self._believed.get(uid, policy)
        is_same = known["metadata"].get("generation") == policy["metadata"].get("generation")
        if is_same or now - self._late.setdefault(uid, now) >= LATE_S:
            self._late.pop(uid, None)
            self._believed[uid] = known = policy
        return known

    def _operands(self, now: float) -> None:
        views, operator = self._views, self._operator(NETWORK_OPERATOR)
        wanted: dict[str, Object] = {}
        for policy, refused in self._policies() if operator else ():
            if operator and refused is None:
                found = installed(operator)
                for item in (*definitions_of(policy, found), *operands_of(policy, found)):
                    wanted[identity(item)] = item
        policies = (*views.cluster_policies.objects().values(), *views.node_policies.objects().values())
        known = {policy["metadata"]["uid"] for policy in policies}
        for item in self._writer.keep(
            wanted,
            NETWORK_OPERATOR,
            {
                "ConfigMap": views.config_maps,
                "CustomResourceDefinition": views.definitions,
                "DaemonSet": views.daemon_sets,
                "Deployment": views.deployments,
            },
            # without the operator only operands of a deleted policy are deleted, as by Kubernetes' garbage collection
            lambda item: operator is not None or labels_of(item)[POLICY_LABEL] not in known,
        ):
            self._written[labels_of(item)[POLICY_LABEL]] = now
            if item["kind"] == "DaemonSet" and (present := views.daemon_sets.objects().get(key_of(item))):
                self._changed.wrote(present)
        puts_back = operator is not None and not installed(operator).rolls
        self._put_back([item for item in wanted.values() if puts_back and item["kind"] == "DaemonSet"], now)

    def _put_back(self, wanted: Iterable[Object], now: float) -> None:
        """Write the DaemonSets that others have changed as they were."""
        collection = self._views.daemon_sets
        present = collection.objects()
        ours = {key: (item, present[key]) for item in wanted if (key := key_of(item)) in present}
        due = self._changed.due((found for _, found in ours.values()), now)
        for key, (item, found) in ours.items():
            if found["metadata"]["uid"] in due and self._writer.write(collection, item, found):
                self._changed.wrote(collection.objects()[key])

    def _definitions(self) -> None:
        """Apply what the jobs of charts apply, and let their pods end."""
        views = self._views
        for pod in views.definition_pods.objects().values():
            if not is_due(pod):
                continue
            applied = [self._writer.apply(item) for item in definitions(pod, views.config_maps.objects())]
            if applied and all(applied):
                ends = {"metadata": {"annotations": {ENDS_ANNOTATION: "0s"}}}
                self._writer.patch(views.definition_pods, pod, ends)

    def _gpu_policies(self) -> None:
        views, operator = self._views, self._operator(GPU_OPERATOR)
        if operator is None:
            return
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        labels = [labels_of(node) for node in views.nodes.objects().values()]
        operands = views.gpu_operands.objects().values()
        for policy in views.gpu_policies.objects().values():
            if "deletionTimestamp" in policy["metadata"]:
                continue
            status = gpu_policy_status(policy, labels, operands, operator["metadata"]["namespace"], moment)
            if is_news(policy, status):
                self._writer.patch(views.gpu_policies, policy, {"status": status}, status=True)
                log.info("ClusterPolicy %s is %s", policy["metadata"]["name"], status["state"])

    def _amd_configs(self, name: str, collection: Watched) -> None:
        views, operator = self._views, self._operator(name)
        configs = _lasting(collection)
        known = {config["metadata"]["uid"] for config in configs}
        wanted = {identity(item): item for config in configs if operator for item in amd_operands(config, name)}
        self._writer.keep(
            wanted,
            name,
            {"DaemonSet": views.daemon_sets},
            lambda item: operator is not None or labels_of(item)[POLICY_LABEL] not in known,
        )
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for config in configs if operator else ():
            if patch := ready_patch(config, moment):
                self._writer.patch(collection, config, patch, status=True)
                log.info("%s %s is ready", config["kind"], config["metadata"]["name"])

    def _rail_pools(self) -> None:
        """What the Spectrum-X operator makes of rails, while it has a pod, and where its nodes are with them."""
        views, writer = self._views, self._writer
        speaking = controlled_nodes(views.operand_pods.objects().values())
        if not speaking:
            return
        nodes, wanted = views.nodes.objects(), dict[str, Object]()
        for config in _lasting(views.rail_pools):
            namespace = config["metadata"]["namespace"]
            states, pools = (_within(each, namespace) for each in (views.node_states, views.cidr_pools))
            has_states = set(selected_nodes(config, nodes)) <= states.keys()
            image = xplane_image(views.cluster_policies.objects().values()) if has_states else None
            wanted |= {identity(item): item for item in rail_objects(config, pools, image)}
        writer.keep(wanted, SPECTRUM_X, views.of_rail_pools)
        for config in list(views.rail_pools.objects().values()):
            if patch := finalizer_patch(config):
                writer.patch(views.rail_pools, config, patch)
            elif "deletionTimestamp" not in config["metadata"]:
                states = _within(views.node_states, config["metadata"]["namespace"])
                if patch := rail_pool_patch(config, selected_nodes(config, nodes), speaking, states):
                    writer.patch(views.rail_pools, config, patch, status=True)
                    log.info("%s is %s", key_of(config), patch["status"]["syncStatus"])

    def _statuses(self, now: float) -> float:
        views, again = self._views, math.inf
        operator = self._operator(NETWORK_OPERATOR)
        if operator is None:
            return again
        workloads = [*views.daemon_sets.objects().values(), *views.deployments.objects().values()]
        ours = [item for item in workloads if labels_of(item).get(PLAYED_LABEL) == NETWORK_OPERATOR]
        have_drivers = all(
            labels_of(node).get(DRIVER_WAIT_LABEL) == "false"
            for node in views.nodes.objects().values()
            if labels_of(node).get(NIC_LABEL) == "true"
        )
        for policy, status in self._policies():
            if status is None:
                settles = max(self._written.get(policy["metadata"]["uid"], -math.inf), self._labelled) + SETTLE_S
                settled = have_drivers and now >= settles
                status = status_of(policy, installed(operator), ours, settled=settled)
                again = min(again, settles if now < settles else math.inf)
            if patch := status_patch(policy, status):
                collection = views.node_policies if policy["kind"] == "NicNodePolicy" else views.cluster_policies
                self._writer.patch(collection, policy, patch, status=True)
                log.info("%s %s is %s", policy["kind"], policy["metadata"]["name"], status["state"])
        return again


def _lasting(collection: Watched) -> tuple[Object, ...]:
    """The objects of a collection that are not being deleted."""
    return tuple(item for item in collection.objects().values() if "deletionTimestamp" not in item["metadata"])


def _within(collection: Watched, namespace: str) -> dict[str, Object]:
    """The objects of a namespace by name."""
    found = (item for item in collection.objects().values() if item["metadata"].get("namespace") == namespace)
    return {item["metadata"]["name"]: item for item in found}


def definitions_of(policy: Mapping[str, Any], operator: Installed) -> list[Object]:
    """Every definition that comes with the sections of a policy."""
    states = {item.key: item.state for item in operands() if section_of(policy, item) is not None}
    return [
        _owned(document, policy, state) for section, state in states.items() for document in _of(operator.line, section)
    ]


@cache
def _of(line: str | None, section: str) -> tuple[Object, ...]:
    """The definitions of a section, in the form of a release line; those of the newest for one that is not known."""
    folder = section_folder(f"{line or next(iter(catalog().releases))}/{NETWORK_OPERATOR}", section)
    return tuple(yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml")))


def _owned(document: Mapping[str, Any], policy: Mapping[str, Any], state: str) -> Object:
    labels = {PLAYED_LABEL: NETWORK_OPERATOR, STATE_LABEL: state, POLICY_LABEL: policy["metadata"]["uid"]}
    metadata = {**document["metadata"], "labels": labels, "ownerReferences": [owner_reference(policy)]}
    return with_revision({**document, "metadata": metadata})


# The last public candidate of 23.10 took 13 s; here it is enough that `up` has gone on meanwhile.
PUT_BACK_S = 3.0


class Changed:
    """Since when each DaemonSet is not as the operator wrote it, by the generation that Kubernetes counts."""

    def __init__(self) -> None:
        self._written: dict[str, int] = {}
        self._since: dict[str, float] = {}

    def wrote(self, item: Mapping[str, Any]) -> None:
        """Take note of a DaemonSet as it is after the operator's write."""
        self._written[_uid(item)] = item["metadata"]["generation"]

    def due(self, present: Iterable[Mapping[str, Any]], now: float) -> list[str]:
        """The uids of the DaemonSets that are to be put back now.

        One that was written before this process counts as changed: to put it back changes nothing.
        """
        changed = [_uid(item) for item in present if self._written.get(_uid(item)) != item["metadata"]["generation"]]
        self._since = {uid: self._since.get(uid, now) for uid in changed}
        return [uid for uid in changed if now - self._since[uid] >= PUT_BACK_S]

    def next(self) -> float:
        """When to look again, infinite where nothing was changed."""
        return min(self._since.values(), default=math.inf) + PUT_BACK_S


def _uid(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["uid"])
