"""Every construct that can hold machines at Oracle: its resources, what each waits for, what is protected, and what
policies say for it, row by row of the data."""

from __future__ import annotations

from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from programs import ANSWERS, STACKS, TENANCY, _all_joined
from recording import Recording, World, record

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.case import case_of
from gpu_fabric.plan.clouds.oke.resources import oke_resources
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.spec.oke import OkeClusterSpec
from sandbox.cloud.oci.fields import fields_of
from sandbox.cloud.schema import failures

pytestmark = pytest.mark.components

COMPARTMENT = "ocid1.compartment.oc1..aaaaaaaaexample"
IMAGE = "ocid1.image.oc1.iad.aaaaaaaaexample"
FABRICS = [f"ocid1.computegpumemoryfabric.oc1.iad.fabric{number}" for number in range(2)]
WAITED = {"policy-join", "system-pool"}
LIES = {"subnet-workers", "nsg-workers"}
ALWAYS = {"cluster", "system-pool", "vcn"}
ENDS = ("-gpu", "-gpu-0", "-gpu-1")
RACKS = {f"memory-cluster-{part}" for part in ("instances", "networks", "volumes", "tags", "configurations")}


class Construct(NamedTuple):
    """Changes of the pool; its resources by type and name, what each comes straight after, and which can be protected.

    `rows` are those of the policies' data that it needs.
    """

    pool: dict[str, Any]
    edges: dict[str, set[str]]
    protected: set[str]
    rows: set[str]


CONSTRUCTS = {
    "cluster-network": Construct(
        {},
        {
            "InstanceConfiguration configuration-gpu": {"cluster", *LIES},
            "ClusterNetwork pool-gpu": {"configuration-gpu", "subnet-workers", *WAITED},
        },
        {"pool-gpu"},
        {"join"},
    ),
    "compute-cluster": Construct(
        {},
        {
            "ComputeCluster compute-cluster-gpu": set(),
            "NodePool pool-gpu": {"cluster", "compute-cluster-gpu", "policy-services", *LIES},
        },
        {"compute-cluster-gpu", "pool-gpu"},
        {"launch-in-compute-cluster"},
    ),
    "compute-cluster-instances": Construct(
        {"nodes": 2},
        {
            "ComputeCluster compute-cluster-gpu": set(),
            "Instance pool-gpu-0": {"cluster", "compute-cluster-gpu", *LIES, *WAITED},
            "Instance pool-gpu-1": {"cluster", "compute-cluster-gpu", *LIES, *WAITED},
        },
        {"compute-cluster-gpu", "pool-gpu-0", "pool-gpu-1"},
        {"join"},
    ),
    "instance-pool": Construct(
        {"shape": "BM.GPU.A10.4", "nodes": 2},
        {
            "InstanceConfiguration configuration-gpu": {"cluster", *LIES},
            "InstancePool pool-gpu": {"configuration-gpu", "subnet-workers", *WAITED},
        },
        {"pool-gpu"},
        {"join"},
    ),
    "gpu-memory-cluster": Construct(
        {"shape": "BM.GPU.GB200-v3.4", "nodes": 36, "memoryFabricIds": FABRICS},
        {
            "ComputeCluster compute-cluster-gpu": set(),
            "InstanceConfiguration configuration-gpu": {"cluster", "compute-cluster-gpu", *LIES},
            "ComputeGpuMemoryCluster pool-gpu-0": {"compute-cluster-gpu", "configuration-gpu", *WAITED},
            "ComputeGpuMemoryCluster pool-gpu-1": {"compute-cluster-gpu", "configuration-gpu", *WAITED},
        },
        {"compute-cluster-gpu", "pool-gpu-0", "pool-gpu-1"},
        {"join", *RACKS},
    ),
}
HOSTS = {
    "mode": "bastion-host",
    "allowed": ["203.0.113.0/24"],
    "sshPublicKeys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample someone@example"],
    "bastion": {"imageId": IMAGE},
    "operator": {"imageId": IMAGE},
}
# Settings of the cluster, each with the rows that it adds to those of a cluster network.
SETTINGS: dict[str, tuple[Any, set[str]]] = {
    "identity": ({"registry": True}, {"images"}),
    "vcn": ({"fileStorage": True}, {"cluster-file-systems", "cluster-file-networks"}),
    "access": (HOSTS, {"operator"}),
    "otherPools": (
        [
            {
                "name": "cpu",
                "shape": "VM.Standard.E5.Flex",
                "ocpus": 4,
                "memoryGib": 32,
                "nodes": 1,
                "autoScale": {"minNodes": 1, "maxNodes": 4},
            }
        ],
        {
            "autoscaler-node-pools",
            "autoscaler-instances",
            "autoscaler-subnets",
            "autoscaler-networks",
            "autoscaler-interfaces",
            "autoscaler-compartments",
        },
    ),
}
NATIVE = {"pod-subnets", "pod-interfaces", "pod-security-groups"}
HOST_GROUP = {"placement": "compute-cluster", "hostGroupId": "ocid1.computehostgroup.oc1.iad.example"}


def run(pool: dict[str, Any], **cluster: Any) -> Recording:
    """Records the cluster of the H100 stack alone, all of it protected; `pool` are settings of its pool.

    The rest of the stack would refuse an instance pool, which gives no RDMA.
    """
    from stacks.oke_cluster import StackOkeCluster as Component

    document = read_document("oke-h100", STACKS["oke-h100"].parent)
    section = {**document.sections["cluster"], "protect": True, **cluster}
    section["pools"] = [{**section["pools"][0], "imageId": IMAGE, **pool}]
    spec, problems = validate(document.model_copy(update={"sections": {**document.sections, "cluster": section}}))
    assert spec is not None, problems
    assert isinstance(spec.cluster, OkeClusterSpec)
    planned = oke_resources(case_of(spec), spec.cluster)

    def program() -> None:
        Component("cluster", planned)

    with patch("components.cluster.oke_nodes.looking", _all_joined):
        return record(program, stack="oke", config={"oci:tenancyOcid": TENANCY}, world=World(ANSWERS))


def of_pool(recording: Recording) -> dict[str, set[str]]:
    """The pool's resources, with their types, and what each waits for, without the component's name."""
    found = [entry for entry in recording.resources if entry.type.startswith("oci:") and entry.name.endswith(ENDS)]
    return {
        f"{entry.type.rpartition(':')[2]} {short(entry.name)}": {short(name) for name in entry.dependencies}
        for entry in found
    }


def short(name: str) -> str:
    return name.removeprefix("cluster-")


def statements(recording: Recording) -> list[str]:
    """What all policies say together."""
    return [text for entry in recording.of_type(":Policy") for text in entry.inputs["statements"]]


def said_by(rows: set[str]) -> list[str]:
    """What the data says in these rows, and in the one that every cluster needs."""
    words = {
        "compartment": COMPARTMENT,
        "cluster": "cluster-cluster-id",
        "nodes": "dynamic-group 'oke-h100-nodes'",
        "operator": "dynamic-group 'oke-h100-operator'",
    }
    wanted = {*rows, "cluster-security-groups"}
    return [row.statement.format(**words) for row in catalog().oke_clusters.policies if row.name in wanted]


@pytest.fixture(scope="module", params=CONSTRUCTS)
def made(request: pytest.FixtureRequest) -> tuple[Construct, Recording]:
    """Each construct, and what is registered for it."""
    construct = CONSTRUCTS[request.param]
    return construct, run({**construct.pool, "placement": request.param})


def test_a_construct_is_made_of_its_resources_each_after_what_it_needs(made: tuple[Construct, Recording]) -> None:
    construct, recording = made

    assert of_pool(recording) == construct.edges


def test_what_holds_machines_can_be_protected(made: tuple[Construct, Recording]) -> None:
    construct, recording = made

    assert {short(entry.name) for entry in recording.resources if entry.protect} == ALWAYS | construct.protected


def test_policies_say_the_rows_that_the_construct_needs(made: tuple[Construct, Recording]) -> None:
    construct, recording = made

    assert sorted(statements(recording)) == sorted(said_by(construct.rows))


def test_oracles_provider_takes_every_construct(made: tuple[Construct, Recording]) -> None:
    at_oracle = [entry for entry in made[1].resources if entry.type.startswith("oci:")]

    assert [entry.name for entry in at_oracle if failures(fields_of(entry.type.rpartition(":")[2]), entry.inputs)] == []


def test_every_setting_adds_its_own_rows_to_the_policies() -> None:
    settings = {key: value for key, (value, _) in SETTINGS.items()}
    rows = {row for _, added in SETTINGS.values() for row in added}

    assert sorted(statements(run({}, cni="vcn-native", **settings))) == sorted(said_by({"join", *NATIVE, *rows}))


def test_a_group_of_hosts_adds_the_row_that_lets_node_pools_use_it() -> None:
    rows = {"launch-in-compute-cluster", "launch-on-host-group"}

    assert sorted(statements(run(HOST_GROUP))) == sorted(said_by(rows))


def test_every_row_of_the_data_is_compared_here() -> None:
    compared = {"cluster-security-groups", "launch-on-host-group", *NATIVE}
    compared |= {row for construct in CONSTRUCTS.values() for row in construct.rows}
    compared |= {row for _, rows in SETTINGS.values() for row in rows}

    assert {row.name for row in catalog().oke_clusters.policies} == compared
