"""The functions that a program may ask: domains, services, images, options, kubeconfigs, machines and add-ons."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..resource import Call, Function
from ..store import Record
from ..wire import Properties
from . import facts
from .kubernetes_clusters import kubeconfig
from .pools import machines_of
from .tenancy import Tenancy, invalid, not_found

_Answer = Callable[[Tenancy, Properties], Properties]


def functions(tenancy: Tenancy) -> dict[str, Function]:
    """The functions by Pulumi's tokens."""
    return {f"oci:{module}/{name}:{name}": _asked(tenancy, name, answer) for (module, name), answer in _ANSWERS.items()}


def _asked(tenancy: Tenancy, name: str, answer: _Answer) -> Function:
    def ask(call: Call, given: Properties) -> Properties:
        found = tenancy.request(call, name[0].upper() + name[1:], lambda: answer(tenancy, given))
        return {
            **{key: value for key, value in given.items() if key != "filters"},
            "id": f"{name}-{id(found)}",
            **found,
        }

    return ask


def _domains(tenancy: Tenancy, given: Properties) -> Properties:
    found = [
        {"name": name, "id": f"ocid1.availabilitydomain.oc1..{number}", "compartmentId": given["compartmentId"]}
        for number, name in enumerate(facts.domains(tenancy.account.tenancy, tenancy.region), start=1)
    ]
    return {"availabilityDomains": _filtered(found, given)}


def _services(tenancy: Tenancy, given: Properties) -> Properties:
    return {"services": _filtered(facts.services(tenancy.region), given)}


def _images(tenancy: Tenancy, given: Properties) -> Properties:
    offered = [
        {"id": image.id, "displayName": image.name, "operatingSystem": "Oracle Linux", "operatingSystemVersion": "8"}
        for image in facts.node_images(tenancy.region, facts.versions()[0])
    ]
    imported = [
        {"id": image["id"], "displayName": image["inputs"].get("displayName") or image["outputs"]["displayName"]}
        | {"operatingSystem": "Custom", "operatingSystemVersion": "Custom"}
        for image in tenancy.store.list("image")
    ]
    wanted = {key: given[key] for key in ("displayName", "operatingSystem", "operatingSystemVersion") if given.get(key)}
    found = [image for image in (*offered, *imported) if all(image[key] == text for key, text in wanted.items())]
    return {"images": _filtered([{**image, "state": "AVAILABLE"} for image in found], given)}


def _node_pool_option(tenancy: Tenancy, given: Properties) -> Properties:
    version = given.get("nodePoolK8sVersion") or facts.versions()[0]
    version = version if version.startswith("v") else f"v{version}"
    if not facts.is_offered(version):
        raise invalid(f"nodePoolK8sVersion {version} is not offered")
    images = facts.node_images(tenancy.region, version)
    return {
        "kubernetesVersions": facts.versions(),
        "images": [image.name for image in images],
        "shapes": [],
        "sources": [{"imageId": image.id, "sourceName": image.name, "sourceType": "IMAGE"} for image in images],
    }


def _node_pools(tenancy: Tenancy, given: Properties) -> Properties:
    names = [name for name in ("compartmentId", "clusterId", "name") if name in given]
    found = [
        {**pool["outputs"], **pool["inputs"], "id": pool["id"]}
        for pool in tenancy.store.list("nodepool")
        if all(pool["inputs"].get(name) == given[name] for name in names)
    ]
    shown = [
        {**pool, "nodeSourceDetails": [pool["nodeSourceDetails"]]} for pool in found if "nodeSourceDetails" in pool
    ]
    return {"nodePools": _filtered(shown, given)}


def _kubeconfig(tenancy: Tenancy, given: Properties) -> Properties:
    cluster = tenancy.found(given["clusterId"])
    return {"content": kubeconfig(cluster, given.get("endpoint") or "", tenancy.region)}


def _cluster_option(tenancy: Tenancy, given: Properties) -> Properties:
    return {"kubernetesVersions": facts.versions(), "clusterPodNetworkOptions": []}


def _addon_options(tenancy: Tenancy, given: Properties) -> Properties:
    offered = [
        {"name": name, "versions": [{"versionNumber": known["version"], "status": "ACTIVE"}], "state": "ACTIVE"}
        for name, known in facts.addons().items()
        if given.get("addonName") in (None, name)
    ]
    return {"addonOptions": _filtered(offered, given)}


def _cluster_network_instances(tenancy: Tenancy, given: Properties) -> Properties:
    return {"instances": _filtered(_pool_instances(tenancy, given["clusterNetworkId"]), given)}


def _instance_pool_instances(tenancy: Tenancy, given: Properties) -> Properties:
    # a cluster network's instance pool differs from it in the kind that its id names
    pool = given["instancePoolId"]
    inside = pool.replace("ocid1.instancepool.", "ocid1.clusternetwork.")
    owner = pool if tenancy.store.get("instancepool", pool) else inside
    return {"instances": _filtered(_pool_instances(tenancy, owner), given)}


def _pool_instances(tenancy: Tenancy, owner: str) -> list[Properties]:
    tenancy.found(owner)
    return [
        {
            "id": machine["id"],
            "instanceId": machine["id"],
            "availabilityDomain": machine["inputs"]["availabilityDomain"],
            "compartmentId": machine["inputs"]["compartmentId"],
            "displayName": machine["inputs"]["displayName"],
            "faultDomain": machine["faultDomain"],
            "region": tenancy.region,
            "shape": machine["inputs"]["shape"],
            "state": "Running",
            "timeCreated": machine["outputs"]["timeCreated"],
        }
        for machine in machines_of(tenancy, owner)
    ]


def _vnic_attachments(tenancy: Tenancy, given: Properties) -> Properties:
    machines = [each for each in tenancy.store.list("instance") if given.get("instanceId") in (None, each["id"])]
    found = [
        {
            "id": _vnic(machine).replace(".vnic.", ".vnicattachment."),
            "instanceId": machine["id"],
            "subnetId": machine["subnet"],
            "vnicId": _vnic(machine),
            "state": "ATTACHED",
        }
        for machine in machines
    ]
    return {"vnicAttachments": _filtered(found, given)}


def _one_vnic(tenancy: Tenancy, given: Properties) -> Properties:
    for machine in tenancy.store.list("instance"):
        if _vnic(machine) == given["vnicId"]:
            addresses = {"privateIpAddress": machine["address"], "publicIpAddress": machine["public"]}
            return {**addresses, "subnetId": machine["subnet"], "isPrimary": True, "state": "AVAILABLE"}
    raise not_found(given["vnicId"])


def _vnic(machine: Record) -> str:
    return str(machine["id"]).replace("ocid1.instance.", "ocid1.vnic.")


def _filtered(found: list[Any], given: Properties) -> list[Any]:
    """What passes every filter; a filter has one or several `values`, texts or patterns, and a name as Terraform's."""
    for rule in given.get("filters") or []:
        head, *rest = rule["name"].split("_")
        key = head + "".join(part.capitalize() for part in rest)
        wanted = [str(value) for value in rule["values"]]
        how = re.search if rule.get("regex") else re.fullmatch
        patterns = wanted if rule.get("regex") else [re.escape(text) for text in wanted]
        found = [each for each in found if any(how(pattern, str(each.get(key, ""))) for pattern in patterns)]
    return found


_ANSWERS: dict[tuple[str, str], _Answer] = {
    ("Identity", "getAvailabilityDomains"): _domains,
    ("Core", "getServices"): _services,
    ("Core", "getImages"): _images,
    ("Core", "getClusterNetworkInstances"): _cluster_network_instances,
    ("Core", "getInstancePoolInstances"): _instance_pool_instances,
    ("Core", "getVnicAttachments"): _vnic_attachments,
    ("Core", "getVnic"): _one_vnic,
    ("ContainerEngine", "getNodePoolOption"): _node_pool_option,
    ("ContainerEngine", "getNodePools"): _node_pools,
    ("ContainerEngine", "getClusterOption"): _cluster_option,
    ("ContainerEngine", "getClusterKubeConfig"): _kubeconfig,
    ("ContainerEngine", "getAddonOptions"): _addon_options,
}
