"""What an existing cluster has before a stack comes up: its nodes, and on a cloud with a profile what hands out NICs.

A profile says of a cloud whether a device plug-in or a DRA driver hands out the NICs. Here either is a DaemonSet in
kube-system, the one that a cloud installs and the one that its user installs alike; a driver comes with its class of
devices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpu_fabric.k8s.base import compact_json
from .cloud.daemon_sets import NAMESPACE, plugin_daemon_set
from .hardware.operands import CLOUD_PLUGIN
from .kubernetes_api import Api, ApiError, Object, apply_once_served, delete_path
from .simulated_nodes import NodeChanges, profile_of, reconcile_nodes, wait_nodes_ready

if TYPE_CHECKING:
    from gpu_fabric.catalog.cloud import CloudClaims
    from gpu_fabric.spec.stack import StackSpec

OF_CLOUD_LABEL = "sandbox.gpu-fabric/of-cloud"
"""On each object of the cloud: a hash of what it is without the label."""

_MACHINE = {"key": "node.kubernetes.io/instance-type", "operator": "Exists"}
_COLLECTIONS = {
    "DaemonSet": f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
}


def play_cluster(
    api: Api, spec: StackSpec, nodes: Sequence[Object], *, started: bool
) -> tuple[NodeChanges, tuple[str, ...]]:
    """Make the cluster what it is without the stack; gives what changed on nodes, and which are not ready in time.

    `started` is whether the control plane has just started, so that nodes may have to become ready. Raises ApiError.
    """
    changes = reconcile_nodes(api, nodes)
    placed = place_objects(api, objects_of_cloud(spec))
    return changes, tuple(wait_nodes_ready(api)) if started or changes or placed else ()


def objects_of_cloud(spec: StackSpec) -> list[Object]:
    """What hands out the NICs on a cluster of a cloud with a profile, in the way that the stack uses; else nothing."""
    cloud = profile_of(spec)
    if cloud is None:
        return []
    if spec.fabric.devices == "claims" and cloud.claims is not None:
        driver = plugin_daemon_set(f"{cloud.name}-dra-driver", cloud.claims.driver, [_MACHINE])
        return [_marked(_device_class(cloud.claims)), _marked(driver)]
    # Without a plug-in the devices of the NICs come with the GPUs, and nothing counts them.
    plugins = [] if cloud.plugin is None else [plugin_daemon_set(f"{cloud.name}-nic-plugin", CLOUD_PLUGIN, [_MACHINE])]
    return [*map(_marked, plugins)]


def place_objects(api: Api, wanted: Iterable[Object]) -> bool:
    """Make these objects those of the cloud, and delete those that another cloud left; gives whether any changed."""
    by_path = {f"{_COLLECTIONS[item['kind']]}/{item['metadata']['name']}": item for item in wanted}
    present = {
        f"{collection}/{item['metadata']['name']}": item["metadata"]["labels"][OF_CLOUD_LABEL]
        for collection in _COLLECTIONS.values()
        for item in _of_cloud(api, collection)
    }
    left = present.keys() - by_path.keys()
    for path in sorted(left):
        delete_path(api, path)
    changed = [
        item for path, item in by_path.items() if present.get(path) != item["metadata"]["labels"][OF_CLOUD_LABEL]
    ]
    for item in changed:
        apply_once_served(api, item)
    return bool(left or changed)


def _of_cloud(api: Api, collection: str) -> list[Object]:
    try:
        found: list[Object] = api.get(collection, labelSelector=OF_CLOUD_LABEL)["items"]
    except ApiError as error:
        # Classes of devices are served since Kubernetes 1.34, and the machine's own API server may be older.
        if error.status != 404:
            raise
        return []
    return found


def _device_class(claims: CloudClaims) -> Object:
    # The real classes select by what DRANET knows of the device, such as its PCI name, which is not played here.
    expression = f'device.driver == "{claims.driver}" && device.attributes["{claims.driver}"].rdma'
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": claims.device_class},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def _marked(item: Object) -> Object:
    digest = hashlib.sha256(compact_json(item).encode()).hexdigest()[:16]
    labels = {**item["metadata"].get("labels", {}), OF_CLOUD_LABEL: digest}
    return {**item, "metadata": {**item["metadata"], "labels": labels}}
