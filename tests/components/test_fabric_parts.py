"""The parts of a fabric as components of their own: together they are the fabric, and each can be used twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
import yaml
from programs import STACKS, answered_waits
from recording import Recording, Registration, record
from stub_cluster import KUBECONFIG

import components
from components import (
    FabricArgs,
    FabricNetworks,
    GpuFabric,
    GpuFabricArgs,
    GpuPoolArgs,
    HostPreparation,
    IpPools,
    Multus,
    NcclFiles,
    NetworkOperator,
    Spiderpool,
    Verification,
    VerificationSettingsArgs,
)
from components.args import AddressingArgs, HostPreparationSettingsArgs, NcclArgs, OfferedNamespaceArgs
from components.fabric_component import FabricComponent

pytestmark = pytest.mark.components

PARTS: list[type[FabricComponent]] = [
    *(components.GpuOperator, NetworkOperator, Spiderpool, Multus, HostPreparation),
    *(IpPools, FabricNetworks, NcclFiles, Verification),
]
# Schedulers, controllers of jobs, and what concerns nodes as a whole belong to a whole fabric alone.
IN_NO_PART = {
    *("Kueue", "Volcano", "MpiOperator", "JobSet", "LeaderWorkerSet"),
    *("FabricCheck", "FabricReadiness", "NodeLabels", "Waves", "Schedule", "Monitoring"),
}
ON_ANY_CLUSTER = sorted(
    name
    for name, path in STACKS.items()
    if yaml.safe_load(path.read_text())["config"].get("gpu-fabric:cluster", {}).get("provider") == "existing"
)


def arguments(**changes: Any) -> GpuFabricArgs:
    """Those of a small fabric, with changes."""
    known: dict[str, Any] = {
        "kubeconfig": KUBECONFIG,
        "pools": [GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=3)],
        "fabric": FabricArgs(model="sriov", addressing=AddressingArgs(supernet="192.168.0.0/16")),
    }
    return GpuFabricArgs(**{**known, **changes})


def of_stack(stack: str) -> GpuFabricArgs:
    """The sections of a committed stack file as arguments."""
    config = {
        key.partition(":")[2]: value for key, value in yaml.safe_load(STACKS[stack].read_text())["config"].items()
    }
    cluster = {key: config["cluster"].get(key) for key in ("pools", "ranges", "shapes", "installed", "kubernetes")}
    secrets = {key: '{"certificate": "a", "key": "b", "authority": "c"}' for key in ("certificate",)}
    sections = {key: config.get(key) for key in ("fabric", "fabrics", "software", "verification", "monitoring")}
    return GpuFabricArgs(kubeconfig=KUBECONFIG, secrets=dict(secrets), **cluster, **sections)


def run(program: Callable[[], object], **options: Any) -> Recording:
    """What a program registers, on a cluster where every wait ends at once."""

    def registered() -> None:
        program()

    with answered_waits():
        return record(registered, stack="mine", **options)


def on_cluster(recording: Recording, prefixes: list[str]) -> Counter[tuple[str, str]]:
    """Type and name of all that is not a component or a provider, without the components' prefixes."""

    def shortened(entry: Registration) -> str:
        return next(
            (entry.name.removeprefix(f"{name}-") for name in prefixes if entry.name.startswith(name)), entry.name
        )

    return Counter(
        (entry.type, shortened(entry))
        for entry in recording.resources
        if not entry.type.startswith(("gpu-fabric:", "pulumi:providers:"))
    )


@pytest.mark.parametrize("stack", ON_ANY_CLUSTER)
def test_the_parts_of_a_fabric_register_together_what_the_fabric_does(stack: str) -> None:
    args = of_stack(stack)

    def in_parts() -> None:
        before: list[pulumi.Resource] = []
        for part in PARTS:
            try:
                before.append(part(part.__name__.lower(), args, pulumi.ResourceOptions(depends_on=list(before))))
            except pulumi.RunError as error:
                assert "has nothing for a component" in str(error)  # noqa: PT017

    whole = run(lambda: GpuFabric("whole", args))
    of_whole, of_parts = (
        on_cluster(whole, ["whole"]),
        on_cluster(run(in_parts), [part.__name__.lower() for part in PARTS]),
    )
    missing, more = of_whole - of_parts, of_parts - of_whole
    outside = {entry.name for entry in whole.resources if entry.type.rpartition(":")[2] in IN_NO_PART}

    assert not more
    assert {name for _, name in missing if not any(f"whole-{name}".startswith(f"{part}-") for part in outside)} <= {
        f"namespaces-{name}"
        for name in ("kueue-system", "volcano-system", "mpi-operator", "jobset-system", "lws-system")
    }


def on_digitalocean() -> GpuFabricArgs:
    pools = [GpuPoolArgs(name="gpu", shape="gpu-h200x8-1128gb-fabric-contracted", nodes=2)]
    return arguments(pools=pools, fabric=FabricArgs(model="host-device", manager="doks"))


ALONE: dict[type[FabricComponent], Callable[[], GpuFabricArgs]] = {
    components.GpuOperator: arguments,
    NetworkOperator: arguments,
    IpPools: arguments,
    FabricNetworks: arguments,
    NcclFiles: arguments,
    Multus: on_digitalocean,
    Spiderpool: lambda: of_stack("spiderpool-sriov"),
    HostPreparation: lambda: of_stack("spiderpool-macvlan"),
    Verification: lambda: of_stack("verification"),
}


@pytest.mark.parametrize("part", ALONE, ids=lambda part: part.__name__)
def test_a_part_can_be_used_twice_and_its_children_are_its_own(part: type[FabricComponent]) -> None:
    def program() -> None:
        for name in ("one", "two"):
            part(name, ALONE[part](), pulumi.ResourceOptions(protect=True))

    recording = run(program)
    names = [(entry.type, entry.name) for entry in recording.resources]
    inside = [entry for entry in recording.resources if entry.name not in ("one", "two")]

    assert len(names) == len(set(names))
    assert recording["one"].type == f"gpu-fabric:index:{part.__name__}"
    assert sorted(ALONE, key=str) == sorted(PARTS, key=str)
    assert len(inside) >= 4
    assert {entry.name.partition("-")[0] for entry in inside} == {"one", "two"}
    for name in ("one", "two"):
        own = [entry for entry in inside if entry.name.startswith(name)]
        assert {entry.parent.partition("-")[0] for entry in own} == {name}
        assert {entry.provider for entry in own if entry.type.startswith("kubernetes:")} <= {f"{name}-kubernetes"}
    assert all(entry.protect for entry in recording.resources)


@pytest.mark.parametrize("part", ALONE, ids=lambda part: part.__name__)
def test_a_provider_in_the_options_takes_the_place_of_a_parts_own(part: type[FabricComponent]) -> None:
    def program() -> None:
        provider = pulumi.ProviderResource("kubernetes", "theirs", {"kubeconfig": KUBECONFIG})
        part("mine", ALONE[part](), pulumi.ResourceOptions(provider=provider))

    recording = run(program)
    on_cluster = [entry for entry in recording.resources if entry.type.startswith("kubernetes:")]

    assert {entry.provider for entry in on_cluster} <= {"theirs"}
    assert [entry.name for entry in recording.resources if entry.type == "pulumi:providers:kubernetes"] == ["theirs"]


def test_a_provider_in_the_options_is_used_and_dependencies_still_come_first() -> None:
    def program() -> None:
        provider = pulumi.ProviderResource("kubernetes", "theirs", {"kubeconfig": KUBECONFIG})
        pool = pulumi.CustomResource("example:index:Pool", "pool", {})
        IpPools("pools", arguments(), pulumi.ResourceOptions(provider=provider, depends_on=[pool]))

    pools = [entry for entry in run(program).resources if entry.type.endswith(":IPPool")]

    assert len(pools) == 16
    assert {entry.provider for entry in pools} == {"theirs"}
    assert all("pool" in entry.dependencies for entry in pools)


def test_a_part_comes_after_the_resources_and_waits_of_the_parts_that_it_depends_on() -> None:
    seen: list[str] = []

    def program() -> None:
        operator = NetworkOperator("operator", arguments())
        operator.ready.apply(lambda _: seen.append("ready"))
        IpPools("pools", arguments(), pulumi.ResourceOptions(depends_on=[operator]))

    recording = run(program)

    assert seen == ["ready"]
    assert "operator-nic-policies-nic-cluster-policy" in recording["pools-kubernetes"].dependencies


def test_networks_bring_the_namespaces_that_they_create_and_operators_their_own() -> None:
    offered = FabricArgs(
        model="sriov",
        addressing=AddressingArgs(supernet="192.168.0.0/16"),
        namespaces=[OfferedNamespaceArgs(name="jobs", create=True)],
    )

    def namespaces(part: type[FabricComponent]) -> list[str]:
        found = run(lambda: part("a", arguments(fabric=offered))).of_type("core/v1:Namespace")
        return [entry.inputs["metadata"]["name"] for entry in found]

    assert namespaces(FabricNetworks) == ["jobs"]
    assert namespaces(NetworkOperator) == ["nvidia-network-operator"]
    assert namespaces(components.GpuOperator) == ["gpu-operator"]
    assert namespaces(NcclFiles) == namespaces(IpPools) == []


@pytest.mark.parametrize(
    ("part", "remedy"),
    [
        (Spiderpool, "write fabric.manager: spiderpool"),
        (Multus, "use it where the fabric's manager is doks"),
        (HostPreparation, "ask for jobs in fabric.hostPreparation"),
        (Verification, "write verification.enabled: true"),
    ],
)
def test_a_part_of_which_the_plan_has_nothing_is_refused_with_the_remedy(
    part: type[FabricComponent], remedy: str
) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError) as refused:
        run(lambda: part("mine", arguments()), recording=recording)

    assert f"the plan of these arguments has nothing for a component {part.__name__}" in str(refused.value)
    assert remedy in str(refused.value)
    assert recording.resources == []


def test_each_part_has_the_outputs_that_belong_to_it() -> None:
    def program() -> None:
        pulumi.export("pools", IpPools("pools", arguments()).address_plan)
        networks = FabricNetworks("networks", arguments())
        pulumi.export("networks", networks.networks)
        pulumi.export("contract", networks.contract)
        pulumi.export("files", NcclFiles("files", arguments()).contract)

    outputs = run(program).outputs

    assert len(outputs["pools"]["pools"]) == len(outputs["networks"]) == 16
    assert outputs["contract"] == {**outputs["files"], "stack": "networks"}


def test_arguments_with_types_are_those_of_a_stack_file() -> None:
    typed = FabricArgs(
        model="sriov",
        addressing=AddressingArgs(supernet="192.168.0.0/16", reserved_first=8),
        nccl=NcclArgs(settings={"NCCL_DEBUG": "INFO"}),
        namespaces=[OfferedNamespaceArgs(name="jobs", create=True)],
    )
    written = {
        "model": "sriov",
        "addressing": {"supernet": "192.168.0.0/16", "reservedFirst": 8},
        "nccl": {"settings": {"NCCL_DEBUG": "INFO"}},
        "namespaces": [{"name": "jobs", "create": True}],
    }
    by_type, by_key = (run(lambda f=found: GpuFabric("a", arguments(fabric=f))) for found in (typed, written))  # type: ignore[misc]

    assert sorted(by_type.resources, key=str) == sorted(by_key.resources, key=str)


def test_a_mistake_in_typed_arguments_is_named_as_python_spells_it() -> None:
    wrong = FabricArgs(
        model="sriov",
        vfs_per_nic=999,
        addressing=AddressingArgs(supernet="192.168.0.0/16", growth_step=0),
        nccl=NcclArgs(settings={"NCCL_DEBUG": " INFO"}),
        host_preparation=HostPreparationSettingsArgs(link_type="none"),
    )
    with pytest.raises(pulumi.RunError) as refused:
        run(lambda: GpuFabric("a", arguments(fabric=wrong)))

    for place in ("vfs_per_nic", "addressing.growth_step", "nccl.settings.NCCL_DEBUG", "host_preparation.link_type"):
        assert f"GpuFabric a: fabric.{place}: " in str(refused.value)


def test_a_class_that_extends_a_component_is_that_component() -> None:
    class Ours(GpuFabric):
        """A team's own defaults."""

    found: list[Any] = []
    recording = run(lambda: found.append(Ours("a", arguments())))

    assert recording["a"].type == "gpu-fabric:index:GpuFabric"
    assert found[0].networks is not None


def test_the_measurement_alone_is_of_the_planned_fabric() -> None:
    settings = VerificationSettingsArgs(enabled=True, image="registry.example/nccl-tests:1")
    recording = run(lambda: Verification("measure", arguments(verification=settings)))

    found = [entry.name for entry in recording.of_type("Verification")]
    assert found == ["measure", "measure-verification", "measure-verification-run"]
