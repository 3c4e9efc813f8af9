"""What the SR-IOV operator does whose gate starts a DRA driver, in the place of the one that can be built.

Upstream's 1.6.0 has no such gate. That of Network Operator 26.4 deletes its device plug-in, starts the driver, and
writes of each policy which functions the driver publishes, with the resource's name as an attribute, and a DeviceClass
by which Kubernetes answers pods that name the resource (decision 0068, with the files).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from driver import DEFINITIONS, Sandbox, until

from gpu_fabric.catalog import catalog
from sandbox.hardware.operands import OPERAND_LABEL, OPERATOR_PLUGIN
from sandbox.hardware.resource_slices import SRIOV
from sandbox.kubernetes_api import ApiError, Object

NAMESPACE, PREFIX, FIRST_RAIL = "nvidia-network-operator", "nvidia.com", "nvidia.com/rail_00"
OPERATOR = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/network-operator-sriov-network-operator/scale"
DAEMON_SETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"
POLICIES = f"/apis/sriovnetwork.openshift.io/v1/namespaces/{NAMESPACE}/sriovnetworknodepolicies"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
PROCESS = "controller-network-operator-sriov-*.json"
GROUP, VERSION, NAME = SRIOV, "v1alpha1", "k8s.cni.cncf.io"
KINDS = {"sriovresourcepolicies": "SriovResourcePolicy", "deviceattributes": "DeviceAttributes"}


@contextlib.contextmanager
def gated(sandbox: Sandbox) -> Iterator[None]:
    """While this lasts the driver publishes the functions that the policies name, and no plug-in offers them."""
    api, policies = sandbox.api, sandbox.items(POLICIES)
    wanted = [(DEFINITIONS, definition(plural)) for plural in KINDS]
    for policy in policies:
        resource = policy["spec"]["resourceName"]
        wanted += of_policy(policy, f"{PREFIX}/{resource}", resource.replace("_", "-"))
    wanted.append((DAEMON_SETS, driver(policies[0]["spec"]["nodeSelector"])))
    try:
        api.patch(OPERATOR, {"spec": {"replicas": 0}})
        until(lambda: not list(sandbox.home.pids.glob(PROCESS)), "the operator has ended")
        api.delete(f"{DAEMON_SETS}/{OPERATOR_PLUGIN}")
        until(lambda: set(sandbox.allocatable(FIRST_RAIL).values()) <= {"0"}, "no plug-in offers functions")
        for path, item in wanted:
            until(lambda p=path, i=item: is_taken(sandbox, p, i), f"{path} is served")
        yield
    finally:
        for path, item in reversed(wanted):
            with contextlib.suppress(ApiError):
                api.delete(f"{path}/{item['metadata']['name']}")
        api.patch(OPERATOR, {"spec": {"replicas": 1}})


def is_taken(sandbox: Sandbox, path: str, item: Object) -> bool:
    """Create an object; the kind of a definition is served some time after it, and not found before."""
    try:
        sandbox.api.post(path, item)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True


def of_policy(policy: Object, resource: str, name: str) -> Iterator[tuple[str, Object]]:
    """The objects of a policy, each with its collection."""
    spec, labels = policy["spec"], {"resource": name}
    own = f"/apis/{GROUP}/{VERSION}/namespaces/{NAMESPACE}"
    yield (
        f"{own}/deviceattributes",
        {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": KINDS["deviceattributes"],
            "metadata": {"name": name, "labels": labels},
            "spec": {"attributes": {f"{NAME}/resourceName": {"string": resource}}},
        },
    )
    asked = {"vendors": [spec["nicSelector"]["vendor"]], "pfPciAddresses": spec["nicSelector"]["rootDevices"]}
    config = {"deviceAttributesSelector": {"matchLabels": labels}, "resourceFilters": [asked]}
    yield (
        f"{own}/sriovresourcepolicies",
        {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": KINDS["sriovresourcepolicies"],
            "metadata": {"name": name},
            "spec": {"configs": [config]},
        },
    )
    condition = f'device.driver == "{SRIOV}" && device.attributes["{NAME}"].resourceName == "{resource}"'
    selectors = [{"cel": {"expression": condition}}]
    yield CLASSES, {"metadata": {"name": name}, "spec": {"selectors": selectors, "extendedResourceName": resource}}


def definition(plural: str) -> Object:
    """The definition of a kind of the driver, which takes any content."""
    names = {
        "plural": plural,
        "singular": KINDS[plural].lower(),
        "kind": KINDS[plural],
        "listKind": f"{KINDS[plural]}List",
    }
    content = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": VERSION, "served": True, "storage": True, "schema": content}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}


def driver(nodes: Object) -> Object:
    """The driver's DaemonSet, on the nodes with these labels."""
    labels = {OPERAND_LABEL: SRIOV}
    container = {"name": "driver", "image": catalog().dra_drivers[SRIOV].images[0]}
    pods = {
        "nodeSelector": nodes,
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }
    template = {"metadata": {"labels": labels}, "spec": pods}
    return {
        "metadata": {"name": "sriov-dra-driver"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
