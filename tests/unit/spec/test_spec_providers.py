"""The form of `cluster` by provider: what is asked for, and that problems are placed as written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import ConfigurationError, Finding
from gpu_fabric.prepare import checked_plan, prepare
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.stack import StackSpec
from gpu_fabric.spec.stack_text import StackDocument

Changes = dict[str, Any]
DocumentWith = Callable[[Changes], StackDocument]

DOKS = {
    "provider": "doks",
    "region": "nyc2",
    "version": "1.36.1-do.0",
    "pools": [{"name": "gpu", "shape": "gpu-h200x8-1128gb-fabric-contracted", "nodes": 4}],
    "ranges": {"pods": "10.156.0.0/16", "services": "10.157.0.0/19", "nodes": "10.158.0.0/20"},
}
OKE = {
    "provider": "oke",
    "region": "us-ashburn-1",
    "compartmentId": "ocid1.compartment.oc1..aaaaaaaaexample",
    "version": "1.34.1",
    "pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 4, "availabilityDomain": "AD-1"}],
    "ranges": {"pods": "10.240.0.0/12", "services": "10.96.0.0/16", "nodes": "10.140.0.0/16"},
}
# A server as a stack file may describe it.
SERVER = {
    "gpus": {"vendor": "nvidia", "model": "A100", "count": 4},
    "nicModel": {"vendorId": "15b3", "vfDeviceId": "1018", "driver": "mlx5_core", "linkType": "ether"},
    "vfsPerNic": 2,
    "mtu": 9000,
    "nics": [
        {"pci": "0000:0b:00.0", "interface": "rdma0", "nearestGpu": 0},
        {"pci": "0000:0c:00.0", "interface": "rdma1", "nearestGpu": 2},
    ],
}


@pytest.fixture(scope="session")
def doks_with(document_with: DocumentWith) -> DocumentWith:
    """A stack on DigitalOcean's clusters, which needs no more than this, with some values changed."""
    return lambda changes: document_with({"cluster": DOKS, "fabric": None, "software": None, **changes})


@pytest.fixture(scope="session")
def oke_with(document_with: DocumentWith) -> DocumentWith:
    """A stack on Oracle's clusters with some values changed."""
    return lambda changes: document_with({"cluster": OKE, "software": None, **changes})


@pytest.fixture(scope="session")
def own_with(document_with: DocumentWith) -> DocumentWith:
    """The development stack on servers of one's own, described in the file, with some values changed."""
    return lambda changes: document_with(
        {"cluster.shapes": {"rack-7": SERVER}, "cluster.pools[0].shape": "rack-7", **changes}
    )


def spec_of(document: StackDocument) -> StackSpec:
    spec, problems = validate(document)
    assert spec is not None
    assert problems == ()
    return spec


def only_problem(document: StackDocument) -> Finding:
    (only,) = validate(document)[1]
    return only


def refusals(document: StackDocument) -> list[tuple[str, str]]:
    with pytest.raises(ConfigurationError) as refused:
        prepare(document, for_up=False)
    return [(entry.id, entry.path.removeprefix("gpu-fabric:")) for entry in refused.value.findings]


def test_each_provider_has_a_form_of_its_own(doks_with: DocumentWith, oke_with: DocumentWith) -> None:
    assert isinstance(spec_of(doks_with({})).cluster, DoksClusterSpec)
    assert isinstance(spec_of(oke_with({})).cluster, OkeClusterSpec)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("cluster.regoin", "atl1", "this key is not known -> did you mean 'region'? remove it, or use one of: shapes,"),
        ("cluster.kubeconfig", ".kube/config", "must be a mapping of keys to values"),
        ("cluster.compartmentId", "x", "this key is not known"),
        ("cluster.region", None, "this key is required -> add region: region, such as atl1"),
        ("cluster.region", "us-ashburn-1", "this is not a valid region of"),
        ("cluster.version", None, "this key is required -> add version: Kubernetes version: an exact slug such as"),
        ("cluster.version", 1.35, "must be text, in quotes where it looks like a number"),
        ("cluster.version", "1.36.1-do.0-beta", "this is not a valid version"),
        ("cluster.pools", [], "must be a list of at least 1 item -> allowed: "),
        ("cluster.pools[0].nodes", 0, "must be greater than or equal to 1"),
        ("cluster.pools[0].node", 4, "this key is not known -> did you mean 'nodes'? remove it, or use one of: name"),
        ("cluster.pools[0].bootVolume", {}, "this key is not known"),
        ("cluster.pools[0].autoScale", {"minNodes": -1, "maxNodes": 4}, ""),
        ("cluster.pools[0].gpuPartitionMode", "DPX", "must be 'AMD_PARTITION_MODE_SPX_NPS1' or"),
        ("cluster.pools[0].shape", "gpu-h200x8", "no shape 'gpu-h200x8' in the catalog -> did you mean 'gpu-h200x8-"),
        ("cluster.plugins.rdma", "operator", "must be 'managed' or 'off', and not 'operator' -> allowed: 'managed' or"),
        ("cluster.kubeconfig.mode", "file", "allowed: 'token', 'exec' or 'raw' (`token`: the API token, which"),
        ("cluster.controlPlaneFirewall", {"allowed": ["10.0.0.1/8"]}, "10.0.0.1/8 has host bits set -> write 10.0.0.0"),
        ("cluster.singleSignOn", {"issuerUrl": "https://id.example"}, "this key is required -> add clientId: id of"),
        ("cluster.tags", ["gpu", "a b"], "this is not a valid tag"),
    ],
)
def test_a_problem_of_a_doks_stack_is_placed_as_written(
    doks_with: DocumentWith, place: str, value: Any, says: str
) -> None:
    only = only_problem(doks_with({place: value}))

    assert only.path.startswith(f"gpu-fabric:{place}")
    assert ".doks" not in only.path
    assert says in f"{only.message} -> {only.remedy}"


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("cluster.compartment", "x", "this key is not known -> did you mean 'compartmentId'? remove it, or use one of"),
        ("cluster.highAvailability", True, "this key is not known"),
        ("cluster.compartmentId", None, "this key is required -> add compartmentId: id of the compartment"),
        ("cluster.compartmentId", "compartment", "this is not a valid id of a compartment"),
        ("cluster.region", "iad", "this is not a valid region of"),
        ("cluster.version", "latest", "this is not a valid version"),
        ("cluster.enhanced", "yes", "must be true or false without quotes"),
        ("cluster.cni", "cilium", "must be 'flannel' or 'vcn-native', and not 'cilium' -> allowed: 'flannel' or"),
        ("cluster.vcn.subnets", {"workers": "10.140.0.1/16"}, "10.140.0.1/16 has host bits set -> write 10.140.0.0/16"),
        ("cluster.vcn.subnets.worker", "10.1.0.0/16", "this key is not known -> did you mean 'workers'? remove it, or"),
        ("cluster.pools[0].nodes", 0, "must be greater than or equal to 1"),
        ("cluster.pools[0].placement", "cluster", "must be 'cluster-network', 'compute-cluster'"),
        ("cluster.pools[0].bootVolume", {"sizeGib": 10}, "must be greater than or equal to 50"),
        ("cluster.pools[0].maxPods", 111, "must be less than or equal to 110"),
        ("cluster.pools[0].contractedNodes", 2, "this key is not known"),
        ("cluster.endpoint.public", 1, "must be true or false without quotes"),
        ("cluster.systemPool", [], "must be a mapping of keys to values"),
    ],
)
def test_a_problem_of_an_oke_stack_is_placed_as_written(
    oke_with: DocumentWith, place: str, value: Any, says: str
) -> None:
    only = only_problem(oke_with({place: value}))

    assert only.path.startswith(f"gpu-fabric:{place}")
    assert ".oke" not in only.path
    assert says in f"{only.message} -> {only.remedy}"


@pytest.mark.parametrize("written", ["dok", "DOKS", "does"])
def test_a_mistyped_provider_hides_no_problem_of_the_form_of_its_nearest(doks_with: DocumentWith, written: str) -> None:
    assert refusals(doks_with({"cluster.provider": written, "cluster.pools[0].node": 4})) == [
        ("SPC002", "cluster.provider"),
        ("SPC001", "cluster.pools[0].node"),
    ]


def test_another_providers_form_is_told_key_by_key(doks_with: DocumentWith) -> None:
    changes = {"cluster.provider": "oke", "cluster.highAvailability": True, "fabric": {"model": "host-network"}}

    assert refusals(doks_with(changes)) == [
        ("SPC002", "cluster.region"),
        ("SPC003", "cluster.compartmentId"),
        ("SPC002", "cluster.version"),
        ("SPC001", "cluster.highAvailability"),
        ("CLU005", "cluster.pools[0].shape"),
        ("OKE036", "cluster.ranges.nodes"),
    ]


def test_two_pools_of_one_name_are_told_on_every_provider(doks_with: DocumentWith, oke_with: DocumentWith) -> None:
    for make, cluster in ((doks_with, DOKS), (oke_with, OKE)):
        only = only_problem(make({"cluster.pools": cluster["pools"] * 2}))  # type: ignore[operator]

        assert (only.path, only.message) == ("gpu-fabric:cluster.pools", "two pools have the name gpu")


def test_everything_wrong_with_a_doks_stack_comes_at_once(doks_with: DocumentWith) -> None:
    changes = {
        "cluster.regoin": "atl1",
        "cluster.region": None,
        "cluster.version": 1.35,
        "cluster.pools[0].autoScale": {"minNodes": 2},
        "cluster.pools[0].tags": ["a b"],
        "cluster.singleSignOn": {"required": True},
        "fabric": {"model": "macvlan"},
        "software": {"releaseLine": "23.10"},
    }

    assert sorted(refusals(doks_with(changes))) == [
        ("SPC001", "cluster.regoin"),
        ("SPC002", "cluster.pools[0].tags[0]"),
        ("SPC002", "cluster.version"),
        ("SPC003", "cluster.pools[0].autoScale.maxNodes"),
        ("SPC003", "cluster.region"),
        ("SPC003", "cluster.singleSignOn.clientId"),
        ("SPC003", "cluster.singleSignOn.issuerUrl"),
        ("SUP001", "fabric.model"),
    ]


def test_everything_wrong_with_an_oke_stack_comes_at_once(oke_with: DocumentWith) -> None:
    changes = {
        "cluster.compartmentId": None,
        "cluster.region": "Ashburn",
        "cluster.pools[0].shape": "BM.GPU.H1OO.8",
        "cluster.pools[0].bootVolume": {"vpusPerGib": 15},
        "cluster.vcn": {"subnets": {"gpu": "10.1.0.0/16"}},
        "fabric.addressing.supernet": "10.140.0.0/18",
        "fabric.mtu": 9000,
    }

    assert sorted(refusals(oke_with(changes))) == [
        ("ADR002", "fabric.addressing.supernet"),
        ("NET001", "fabric.mtu"),
        ("SPC001", "cluster.vcn.subnets.gpu"),
        ("SPC002", "cluster.pools[0].bootVolume.vpusPerGib"),
        ("SPC002", "cluster.pools[0].shape"),
        ("SPC002", "cluster.region"),
        ("SPC003", "cluster.compartmentId"),
    ]


@pytest.mark.parametrize("shape", [None, "wholly-else"])
def test_a_pool_without_a_usable_shape_is_one_problem_on_every_provider(
    doks_with: DocumentWith, oke_with: DocumentWith, shape: str | None
) -> None:
    for make in (doks_with, oke_with):
        assert [place for _, place in refusals(make({"cluster.pools[0].shape": shape}))] == ["cluster.pools[0].shape"]
        assert [place for _, place in refusals(make({"cluster.pools": None}))] == ["cluster.pools"]


def test_what_is_wrong_with_a_pool_that_nobody_wrote_is_not_told(oke_with: DocumentWith) -> None:
    assert refusals(oke_with({"cluster.pools": [], "fabric.model": "ipoib"})) == [("SPC002", "cluster.pools")]


def test_a_faulty_shape_without_virtual_functions_is_taken_to_have_none(own_with: DocumentWith) -> None:
    faulty = {**SERVER, "vfsPerNic": 0, "mtu": "large"}

    assert refusals(own_with({"cluster.shapes.rack-7": faulty, "fabric.model": "host-device"})) == [
        ("SPC002", "cluster.shapes.rack-7.mtu")
    ]


def test_a_pool_may_have_a_shape_that_the_stack_file_describes(own_with: DocumentWith) -> None:
    plan = checked_plan(spec_of(own_with({})))

    assert plan.cluster.pools[0].gpus == 3 * 4
    assert [(rail.pci, rail.nearest_gpu) for rail in plan.rails] == [("0000:0b:00.0", 0), ("0000:0c:00.0", 2)]
    assert {network.mtu for network in plan.workload.networks} == {9000}
    assert plan.addresses.addresses_per_nic == 2


def test_a_shape_of_ones_own_is_offered_for_a_mistyped_one(own_with: DocumentWith) -> None:
    assert "did you mean 'rack-7'?" in only_problem(own_with({"cluster.pools[0].shape": "rack-8"})).remedy


def test_a_shape_of_one_stack_is_unknown_to_the_next(own_with: DocumentWith, document_with: DocumentWith) -> None:
    spec_of(own_with({}))

    assert only_problem(document_with({"cluster.pools[0].shape": "rack-7"})).path.endswith("pools[0].shape")
    assert catalog().find("rack-7") is None


@pytest.mark.parametrize(
    ("place", "value", "at", "says"),
    [
        ("gpu", 4, "", "this key is not known -> did you mean 'gpus'?"),
        ("gpus", None, "", "this key is required -> add gpus"),
        ("gpus.count", "4", "", "must be a whole number without quotes"),
        (
            "gpus.vendor",
            "intel",
            "",
            "must be 'nvidia' or 'amd', and not 'intel' -> allowed: 'nvidia' or 'amd' (the vendor of the GPUs)",
        ),
        ("mtu", 65000, "", "must be less than or equal to 9216"),
        ("vfsPerNic", 500, "", "must be less than or equal to 128"),
        ("nics[1].pci", "0c:00.0", "", "'0c:00.0' is not a valid PCI address; write dddd:bb:dd.f"),
        ("nics[1].interface", "a-name-that-is-too-long", "", "is not a valid interface name"),
        ("nicModel.vfDeviceId", "0x1018", "", "'0x1018' is not a valid PCI id"),
        ("nics[1].pci", "0000:0b:00.0", "rack-7", "pci given to two NICs: 0000:0b:00.0"),
        ("nics[1].interface", None, "rack-7", "interface is given for some RDMA NICs only"),
        ("nics[1].nearestGpu", 4, "rack-7", "rail 1 names GPU 4 of 4, counted from 0"),
        ("nicModel", None, "rack-7", "RDMA NICs are listed, but nicModel is missing"),
    ],
)
def test_a_faulty_shape_of_ones_own_is_one_problem_at_its_place(
    own_with: DocumentWith, place: str, value: Any, at: str, says: str
) -> None:
    only = only_problem(own_with({f"cluster.shapes.rack-7.{place}": value}))

    assert only.path == f"gpu-fabric:cluster.shapes.{at or f'rack-7.{place}'}"
    assert says.replace("; ", " -> ") in f"{only.message} -> {only.remedy}"


@pytest.mark.parametrize(
    ("place", "value"), [("gpus", None), ("gpus.count", 0), ("nics[0].pci", "x"), ("nicModel", None), ("vfsPerNic", -1)]
)
def test_a_faulty_shape_of_ones_own_hides_no_other_problem_and_invents_none(
    own_with: DocumentWith, place: str, value: Any
) -> None:
    changes = {f"cluster.shapes.rack-7.{place}": value, "fabric.addressing.supernet": "10.0.0.0/16"}
    faulty, *others = refusals(own_with(changes))

    assert faulty[1].startswith("cluster.shapes.rack-7")
    assert others == [("ADR002", "fabric.addressing.supernet")]


def test_a_shape_of_ones_own_cannot_take_a_name_of_the_catalog(document_with: DocumentWith) -> None:
    only = only_problem(document_with({"cluster.shapes": {"BM.GPU.H100.8": SERVER}}))

    assert only.path == "gpu-fabric:cluster.shapes.BM.GPU.H100.8"
    assert f"{only.message} -> {only.remedy}" == "the catalog has a shape of this name -> give it another name"


@pytest.mark.parametrize("written", ["gpu-[001-003]", ["gpu-[001-003]"], ["gpu-001", "gpu-[002,003]"]])
def test_names_of_nodes_may_be_ranges(document_with: DocumentWith, written: Any) -> None:
    spec = spec_of(document_with({"cluster.pools[0].nodes": 3, "cluster.pools[0].nodeNames": written}))

    assert spec.cluster.pools[0].node_names == ("gpu-001", "gpu-002", "gpu-003")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (["gpu-[1-4]"], "4 names for 3 nodes"),
        (["gpu-[1-2]", "gpu-2"], "a node is named twice"),
        (["gpu-[3-1]"], "3-1 runs backwards"),
        ([7], "must be text"),
    ],
)
def test_ranges_of_names_are_checked_as_names_are(document_with: DocumentWith, written: Any, says: str) -> None:
    problem = only_problem(document_with({"cluster.pools[0].nodes": 3, "cluster.pools[0].nodeNames": written}))

    assert says in problem.message


@pytest.mark.parametrize(
    ("stack", "key", "problem", "remedy"),
    [
        ("doks-inference", "spot", "DigitalOcean has no spot or preemptible pools", "a GPU size that ends in -spot"),
        ("doks-inference", "preemptible", "DigitalOcean has no spot or preemptible pools", "leave it out"),
        ("oke-pools", "spot", "Oracle calls such machines preemptible", "write preemptible: true"),
        ("oke-pools", "spots", "this key is not known", "use one of: name, nodes"),
    ],
)
def test_a_key_that_a_cloud_does_not_have_is_refused_with_what_it_has(
    stack: str, key: str, problem: str, remedy: str
) -> None:
    place = f"cluster.otherPools[0].{key}"
    _, [found] = validate(changed(read_document(stack, folder_of(stack)), {place: True}))

    assert (found.id, found.path, found.message) == ("SPC001", f"gpu-fabric:{place}", problem)
    assert remedy in found.remedy


@pytest.mark.parametrize("place", ["cluster.ipv6", "cluster.ipFamilies", "cluster.vcn.ipv6"])
def test_ipv6_at_oracle_is_refused_with_the_reason(place: str) -> None:
    _, [found] = validate(changed(read_document("oke-h200", folder_of("oke-h200")), {place: True}))

    assert found.path == f"gpu-fabric:{place}"
    assert found.message.startswith("clusters with IPv6 are not planned")
