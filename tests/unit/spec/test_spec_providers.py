"""The form of `cluster` by provider: what is asked for, and that problems are placed as written."""

from collections.abc import Callable
from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import ConfigurationError, Finding
from gpu_fabric.prepare import plan_spec, prepare
from gpu_fabric.spec.load import read_document, validate
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
    plan = plan_spec(spec_of(own_with({})))

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
    ("place", "value"), [("gpus", None), ("gpus.count", 0), ("nics[0].pci", "x"), ("nicModel", None), ("vfsPerNic", -1)]
)
def test_a_faulty_shape_of_ones_own_hides_no_other_problem_and_invents_none(
    own_with: DocumentWith, place: str, value: Any
) -> None:
    changes = {f"cluster.shapes.rack-7.{place}": value, "fabric.addressing.supernet": "10.0.0.0/16"}
    faulty, *others = refusals(own_with(changes))

    assert faulty[1].startswith("cluster.shapes.rack-7")
    assert others == [("ADR002", "fabric.addressing.supernet")]


@pytest.mark.parametrize("written", ["gpu-[001-003]", ["gpu-[001-003]"], ["gpu-001", "gpu-[002,003]"]])
def test_names_of_nodes_may_be_ranges(document_with: DocumentWith, written: Any) -> None:
    spec = spec_of(document_with({"cluster.pools[0].nodes": 3, "cluster.pools[0].nodeNames": written}))

    assert spec.cluster.pools[0].node_names == ("gpu-001", "gpu-002", "gpu-003")


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
