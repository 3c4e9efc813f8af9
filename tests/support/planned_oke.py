"""Stacks on Oracle's cloud, with every construct and every part that may come, and what Oracle is asked for."""

from typing import Any

from changes import Changes, changed
from committed_stacks import folder_of
from planned_fabrics import plan_of

from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Record
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.spec.oke import OkeClusterSpec

POOL = "cluster.pools[0]"
IMAGE = "ocid1.image.oc1.iad.aaaaaaaaexample"
VCN = "ocid1.vcn.oc1.iad.aaaaaaaaexample"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample someone@example"
FABRICS = [f"ocid1.computegpumemoryfabric.oc1.iad.fabric{number}" for number in range(2)]

HOSTS: dict[str, Any] = {
    "mode": "bastion-host",
    "allowed": ["203.0.113.0/24", "198.51.100.7/32"],
    "sshPublicKeys": [KEY],
    "bastion": {"imageId": IMAGE},
    "operator": {"imageId": IMAGE, "user": "ubuntu"},
}

Stack = tuple[str, Changes]

PLACEMENTS: dict[str, Stack] = {
    "cluster-network": ("oke-h100-26-4", {f"{POOL}.imageId": IMAGE}),
    "compute-cluster": ("oke-h100-26-4", {f"{POOL}.imageId": IMAGE, f"{POOL}.placement": "compute-cluster"}),
    "compute-cluster-instances": (
        "oke-h100-26-4",
        {f"{POOL}.imageId": IMAGE, f"{POOL}.placement": "compute-cluster-instances"},
    ),
    "gpu-memory-cluster": (
        "oke-h100-26-4",
        {
            f"{POOL}.imageId": IMAGE,
            f"{POOL}.placement": "gpu-memory-cluster",
            f"{POOL}.shape": "BM.GPU.GB200-v3.4",
            f"{POOL}.nodes": 36,
            f"{POOL}.memoryFabricIds": FABRICS,
            "fabric": {"model": "host-network"},
        },
    ),
}

EVERYTHING: dict[str, Stack] = {
    "a100": ("oke-a100", {}),
    "h200": ("oke-h200", {}),
    "open": (
        "oke-h100-26-4",
        {
            "cluster.endpoint": {"public": True, "allowed": ["203.0.113.0/24", "198.51.100.0/24"]},
            "cluster.cni": "vcn-native",
            "cluster.vcn": {"publicLoadBalancers": True, "fileStorage": True},
            "cluster.access": HOSTS,
            "cluster.identity": {"registry": True, "homeRegion": "us-phoenix-1"},
            "cluster.addons": [{"name": "CertManager", "version": "v1.16.1", "configurations": {"replicas": "1"}}],
            f"{POOL}.hpcIslandId": "ocid1.hpcisland.oc1.iad.example",
            f"{POOL}.networkBlockIds": ["ocid1.networkblock.oc1.iad.example"],
        },
    ),
    "there-already": (
        "oke-h100-26-4",
        {
            "cluster.vcn": {
                "id": VCN,
                "subnetIds": {"workers": "ocid1.subnet.oc1.iad.workers"},
                "routeTableIds": {"private": "ocid1.routetable.oc1.iad.private"},
            },
            "cluster.identity": {
                "domain": {"name": "Machines", "endpoint": "https://idcs-example.identity.oraclecloud.com:443"}
            },
            f"{POOL}.hostGroupId": "ocid1.computehostgroup.oc1.iad.example",
            f"{POOL}.capacityReservationId": "ocid1.capacityreservation.oc1.iad.example",
        },
    ),
}


def resources_of(stack: str, changes: Changes | None = None) -> OkeResources:
    """What Oracle is asked for by a stack of tests/stacks, with single values changed."""
    found = plan_of(stack, changes).cluster.oke
    assert found is not None
    return found


def oke_of(stack: str, changes: Changes | None = None) -> OkeClusterSpec:
    """What a stack file says of its cluster at Oracle."""
    spec, problems = validate(changed(read_document(stack, folder_of(stack)), changes or {}))
    assert not problems
    assert spec is not None
    assert isinstance(spec.cluster, OkeClusterSpec)
    return spec.cluster


def record_of(resources: OkeResources, name: str) -> Record:
    """The record of a logical name."""
    return next(record for record in resources.records if record.logical_name == name)


def names_of(resources: OkeResources, kind: str) -> list[str]:
    """Logical names of all records of a class."""
    return [record.logical_name for record in resources.records if record.kind == kind]
