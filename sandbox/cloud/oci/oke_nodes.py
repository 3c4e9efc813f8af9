"""The nodes of a simulated OKE cluster, with Oracle's labels as far as they are published.

Made up: processors, memory and disks of shapes that are not flexible, names, and the values of topology labels.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_fabric.k8s.base import compact_json
from ...home import SandboxHome, file_lock, write_private
from ...simulated_nodes import GPU_NODE, GPUS_ANNOTATION, SYSTEM_NODE, clique_annotation, node_object
from . import facts

if TYPE_CHECKING:
    from gpu_fabric.catalog import Shape
    from gpu_fabric.spec.stack import StackSpec
    from ..store import Record
    from .tenancy import Tenancy

Object = dict[str, Any]

_RDMA, _HOST = "oci.oraclecloud.com/rdma", "oci.oraclecloud.com/host"
_TAINTS = re.compile(r"--register-with-taints=(?P<taints>[^'\"\s]+)")
_TAINT = re.compile(r"(?P<key>[^=:,]+)(?:=(?P<value>[^:,]*))?:(?P<effect>\w+)")
_IMAGES = "node-images.json"
# Oracle's documentation of preemptible capacity names label and taint; the taint's effect is made up.
_PREEMPTIBLE = "oci.oraclecloud.com/oke-is-preemptible"


def node_objects(tenancy: Tenancy, cluster: Record, pools: list[Record], machines: list[Record]) -> list[Object]:
    """The nodes of a cluster as Kubernetes objects: those of its node pools, and machines that have joined.

    GPUs are advertised only when a device plug-in runs: see `plugins`.
    """
    image = _image(tenancy, cluster)
    found = []
    for pool in pools:
        inputs = pool["inputs"]
        labels, taints = _preemptible(inputs)
        for node in pool["nodes"]:
            found.append(
                _node(
                    node["address"],
                    inputs["nodeShape"],
                    {**labels, **node["labels"]},
                    [*taints, *_taints(node["userData"])],
                    _places(
                        cluster["region"], node["availabilityDomain"], node["faultDomain"], node["id"], pool["rdma"], ""
                    ),
                    inputs.get("nodeShapeConfig") or {},
                    image,
                    node["id"],
                    node["version"],
                )
            )
    for machine in machines:
        inputs = machine["inputs"]
        metadata = inputs.get("metadata") or {}
        places = (inputs["availabilityDomain"], inputs.get("faultDomain") or machine["faultDomain"])
        found.append(
            _node(
                machine["address"],
                inputs["shape"],
                initial_labels(metadata.get("oke-initial-node-labels", "")),
                _taints(metadata.get("user_data", "")),
                _places(cluster["region"], *places, machine["id"], machine["rdma"], machine["fabric"]),
                inputs.get("shapeConfig") or {},
                image,
                # A memory cluster is of one memory fabric; Oracle chooses it for one whose configuration names none.
                fabric=machine["fabric"] or machine["pool"],
            )
        )
    return found


def initial_labels(text: str) -> dict[str, str]:
    """The labels of a list such as a=b,c=d."""
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {key.strip(): value for key, _, value in pairs}


def _node(
    address: str,
    shape_name: str,
    labels: dict[str, str],
    taints: list[dict[str, str]],
    places: dict[str, str],
    config: dict[str, Any],
    image: dict[str, dict[str, str]],
    provider_id: str = "",
    kubelet: str = "simulated",
    fabric: str = "",
) -> Object:
    shape = facts.shape_of(shape_name)
    own = {"node.kubernetes.io/instance-type": shape_name, **places}
    gpu_taints = [] if shape is None else [{"key": shape.gpus.resource, "value": "present", "effect": "NoSchedule"}]
    # nodes of Oracle's clusters are named by their addresses
    return node_object(
        address,
        IPv4Address(address),
        {**own, **labels},
        [*gpu_taints, *taints],
        _machine(shape, image, fabric),
        _capacity(shape, config),
        provider_id,
        kubelet,
    )


def _machine(shape: Shape | None, image: dict[str, dict[str, str]], fabric: str) -> dict[str, str]:
    from gpu_fabric.catalog import catalog
    from ...hardware.inventory import inventory_annotation

    if shape is None:
        return {}
    devices = image.get(shape.name) or inventory_annotation(shape)
    gpus = compact_json({shape.gpus.resource: shape.gpus.count})
    return {GPUS_ANNOTATION: gpus, **devices, **(clique_annotation(catalog(), shape, fabric) if fabric else {})}


def _capacity(shape: Shape | None, config: dict[str, Any]) -> dict[str, str]:
    if shape is not None:
        return GPU_NODE
    if not config.get("ocpus"):
        return SYSTEM_NODE
    # one of Oracle's processors is two for Kubernetes, but for Arm's
    memory = config.get("memoryInGbs") or 16 * config["ocpus"]
    return {**SYSTEM_NODE, "cpu": str(int(2 * config["ocpus"])), "memory": f"{int(memory)}Gi"}


def _preemptible(inputs: dict[str, Any]) -> tuple[dict[str, str], list[dict[str, str]]]:
    """What Oracle marks the nodes of a pool with that has preemptible machines."""
    placement = inputs["nodeConfigDetails"]["placementConfigs"][0]
    if not placement.get("preemptibleNodeConfig"):
        return {}, []
    return {_PREEMPTIBLE: "true"}, [{"key": _PREEMPTIBLE, "value": "present", "effect": "NoSchedule"}]


def _places(region: str, domain: str, fault_domain: str, machine: str, rdma: bool, fabric: str) -> dict[str, str]:
    labels = {
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": domain.partition(":")[2],
        "oci.oraclecloud.com/fault-domain": fault_domain,
    }
    if rdma:
        labels |= {
            f"{_RDMA}.hpc_island_id": _short("island", domain),
            f"{_RDMA}.network_block_id": _short("network-block", domain),
            f"{_RDMA}.local_block_id": _short("local-block", domain),
            f"{_RDMA}.host_id": _short("host", machine),
        }
    if fabric:
        labels[f"{_HOST}.gpu_memory_fabric_id"] = fabric.rpartition(".")[2][:63]
    return labels


def _short(kind: str, of: str) -> str:
    return hashlib.sha256(f"{kind}/{of}".encode()).hexdigest()[:11]


def _taints(user_data: str) -> list[dict[str, str]]:
    """The taints that a machine's boot script gives to its kubelet."""
    try:
        script = base64.b64decode(user_data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return []
    match = _TAINTS.search(script)
    return [
        {"key": each["key"], "value": each["value"] or "", "effect": each["effect"]}
        for each in _TAINT.finditer(match["taints"] if match else "")
    ]


def _image(tenancy: Tenancy, cluster: Record) -> dict[str, dict[str, str]]:
    inputs = cluster["inputs"]
    return _images(tenancy.folder / _IMAGES).get(_cluster_key(inputs["compartmentId"], inputs.get("name", "")), {})


def _images(file: Path) -> dict[str, dict[str, dict[str, str]]]:
    """What machines come up as: by cluster, then shape, annotations."""
    known: dict[str, dict[str, dict[str, str]]] = json.loads(file.read_text()) if file.exists() else {}
    return known


def _cluster_key(compartment: str, name: str) -> str:
    """A cluster before it has an id."""
    return f"{compartment}/{name}"


def remember_image(home: SandboxHome, spec: StackSpec) -> None:
    """Give machines of a stack's cluster the virtual functions and the RDMA mode that the stack declares for its image.

    A real image configures these at boot; no argument of Oracle's API does. A stack on another cloud has none.
    """
    from gpu_fabric.plan.case import shape_on_nodes
    from gpu_fabric.spec.oke import OkeClusterSpec
    from ...simulated_nodes import machine_annotations

    cluster = spec.cluster
    if not isinstance(cluster, OkeClusterSpec):
        return

    known = {
        pool.shape: machine_annotations(spec, shape_on_nodes(shape, spec.fabric))
        for pool in cluster.pools
        if (shape := spec.catalog.find(pool.shape)) is not None
    }
    file = home.cloud / "oci" / _IMAGES
    with file_lock(home.cloud / "oci-images.lock", wait=True):
        images = {**_images(file), _cluster_key(cluster.compartment_id, cluster.name or spec.name): known}
        write_private(file, json.dumps(images))
