"""The smallest registrations that show something, and changes of recorded ones."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from recording import Registration

DOKS, POOL = (
    "digitalocean:index/kubernetesCluster:KubernetesCluster",
    "digitalocean:index/kubernetesNodePool:KubernetesNodePool",
)
OKE, OKE_POOL = "oci:ContainerEngine/cluster:Cluster", "oci:ContainerEngine/nodePool:NodePool"
VCN, RULE = "oci:Core/vcn:Vcn", "oci:Core/networkSecurityGroupSecurityRule:NetworkSecurityGroupSecurityRule"
SUBNET, MACHINE = "oci:Core/subnet:Subnet", "oci:Core/instance:Instance"
LIST, STATEMENTS = "oci:Core/defaultSecurityList:DefaultSecurityList", "oci:Identity/policy:Policy"
RELEASE, SECRET = "kubernetes:helm.sh/v3:Release", "kubernetes:core/v1:Secret"
CONFIG_MAP, NAMESPACE = "kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:Namespace"
SERVICE, ROLE = "kubernetes:core/v1:Service", "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"
NETWORK = "kubernetes:k8s.cni.cncf.io/v1:NetworkAttachmentDefinition"
IP_POOL, NIC_POLICY = (
    "kubernetes:nv-ipam.nvidia.com/v1alpha1:IPPool",
    "kubernetes:mellanox.com/v1alpha1:NicClusterPolicy",
)
PROVIDER = "pulumi:providers:kubernetes"
# sha256 of "NCCL_DEBUG=INFO\n" begins so.
NAMED_BY_CONTENT = "nccl-settings-622cd991"
OPTIONS: dict[str, Any] = {
    "name": "gpu-operator",
    "namespace": "gpu-operator",
    "chart": "gpu-operator",
    "version": "v26.3.3",
    "repositoryOpts": {"repo": "https://helm.ngc.nvidia.com/nvidia"},
    "timeout": 900.0,
    "maxHistory": 5.0,
    "resetValues": True,
    "createNamespace": False,
}


def made(kind: str, inputs: dict[str, Any] | None = None, *, name: str = "it", **options: Any) -> Registration:
    """A registration of a type with inputs; `options` are further fields of it."""
    plain: dict[str, Any] = {
        "type": kind,
        "name": name,
        "custom": True,
        "inputs": inputs or {},
        "dependencies": frozenset(),
        "comes_after": frozenset(),
        "parent": "",
        "provider": f"cluster-{kind.partition(':')[0]}",
        "protect": False,
        "delete_before_replace": False,
        "replace_on_changes": frozenset(),
        "retain_on_delete": False,
        "secrets": frozenset(),
        "import_id": "",
        "ignore_changes": frozenset(),
        "timeouts": {},
        "deleted_with": "",
        "error_hooks": (),
    }
    return Registration(**{**plain, **options})


def pods(container: dict[str, Any], *, name: str = "mine", kind: str = "DaemonSet", **spec: Any) -> Registration:
    """A workload with one container."""
    containers = [{"name": "c", **container}]
    return made(
        f"kubernetes:apps/v1:{kind}",
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"template": {"spec": {"containers": containers, **spec}}},
        },
    )


def network(name: str, resource: str, *, namespace: str = "default", config: str = "") -> Registration:
    return made(
        NETWORK,
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "annotations": {"k8s.v1.cni.cncf.io/resourceName": resource},
            },
            "spec": {"config": config},
        },
        name=f"{name}-{namespace}",
    )


def advertising(*names: str) -> Registration:
    entries = ",".join(f'{{"resourceName":"{name}"}}' for name in names)
    return made(NIC_POLICY, {"spec": {"sriovDevicePlugin": {"config": f'{{"resourceList":[{entries}]}}'}}})


def addresses(name: str, subnet: str) -> Registration:
    return made(IP_POOL, {"metadata": {"name": name}, "spec": {"subnet": subnet}}, name=name)


def release(**changes: Any) -> Registration:
    return made(RELEASE, {**OPTIONS, **changes}, name=changes.get("name", "gpu-operator"), delete_before_replace=True)


def labelled(name: str, level: str | None) -> Registration:
    labels = {"pod-security.kubernetes.io/enforce": level} if level else {}
    return made(NAMESPACE, {"metadata": {"name": name, "labels": labels}}, name=name)


def waiting(**annotations: str) -> Registration:
    return made(NIC_POLICY, {"metadata": {"annotations": {f"pulumi.com/{k}": v for k, v in annotations.items()}}})


def ingress(source: str, protocol: str = "6") -> Registration:
    return made(RULE, {"direction": "INGRESS", "protocol": protocol, "source": source})


PLAIN = pods({"image": "nvcr.io/nvidia/pytorch:25.01-py3"})
CHAIN = '{"name":"rail-00","plugins":[{"type":"sriov"}]}'
KEY = "-----BEGIN PRIVATE KEY-----\nMII"


Change = Callable[[list[Registration]], list[Registration]]


def with_input(where: str, path: str, value: Any) -> Change:
    """One input of the first resource whose type or name ends so, by its keys with bars."""

    def is_at(resource: Registration) -> bool:
        return resource.custom and (resource.type.endswith(f":{where}") or resource.name.endswith(where))

    def changed(resources: list[Registration]) -> list[Registration]:
        found = next(index for index, resource in enumerate(resources) if is_at(resource))
        inputs = copy.deepcopy(resources[found].inputs)
        *outer, last = path.split("|")
        inner: Any = inputs
        for key in outer:
            inner = inner[key]
        inner[last] = value
        return [*resources[:found], replace(resources[found], inputs=inputs), *resources[found + 1 :]]

    return changed
