"""`GpuFabric` in a program of a user's own: names, options, refusals and outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pytest
import yaml
from programs import STACKS, answered_waits
from pulumi.output import UNKNOWN
from recording import Recording, Registration, World, record
from stub_cluster import KUBECONFIG, TOKEN

from components import (
    AddressingArgs,
    FurtherFabricArgs,
    GpuFabric,
    GpuFabricArgs,
    GpuPoolArgs,
    RangesArgs,
    VerificationSettingsArgs,
)
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from gpu_fabric.spec.kubeconfig import cluster_identity

pytestmark = pytest.mark.components

Arguments = Callable[[], Mapping[str, Any]]


def arguments(**changes: Any) -> GpuFabricArgs:
    """Those of a small fabric, with changes."""
    known: dict[str, Any] = {
        "kubeconfig": KUBECONFIG,
        "pools": [GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=3)],
        "ranges": RangesArgs(pods="10.244.0.0/16", services="10.96.0.0/16", nodes="10.0.0.0/16"),
        "fabric": {"model": "sriov", "addressing": {"supernet": "192.168.0.0/16"}},
    }
    return GpuFabricArgs(**{**known, **changes})


def written(stack: str) -> dict[str, Any]:
    """The sections of a committed stack file as arguments."""
    config = {
        key.partition(":")[2]: value for key, value in yaml.safe_load(STACKS[stack].read_text())["config"].items()
    }
    of_cluster = {key: config["cluster"].get(key) for key in ("pools", "ranges", "shapes")}
    return {**of_cluster, "fabric": config["fabric"], "software": config.get("software")}


def run(program: Callable[[], object], **options: Any) -> Recording:
    """What a program registers, on a cluster where every wait ends at once."""

    def registered() -> None:
        program()

    with answered_waits():
        return record(registered, stack="mine", **options)


def fabric(options: pulumi.ResourceOptions | None = None, **changes: Any) -> Recording:
    """One fabric, alone in a program."""
    return run(lambda: GpuFabric("train", arguments(**changes), options))


def refusal(changes: Arguments) -> tuple[str, Recording]:
    """How a fabric with changed arguments is refused, and what was registered before."""
    recording = Recording()
    with pytest.raises(pulumi.RunError) as refused:
        run(lambda: GpuFabric("train", arguments(**changes())), recording=recording)
    return str(refused.value), recording


def children(recording: Recording, name: str = "train") -> list[Registration]:
    """All resources of a fabric but itself."""
    inside = {name} | {entry.name for entry in recording.resources if entry.parent == name}
    return [entry for entry in recording.resources if entry.parent in inside]


@pytest.fixture(scope="module")
def train() -> Recording:
    def program() -> None:
        found = GpuFabric("train", arguments())
        for name in ("contract", "address_plan", "networks", "verification", "ready"):
            pulumi.export(name, getattr(found, name))

    return run(program)


# Names, parents and options


def test_a_fabric_registers_what_the_stack_program_registers_for_the_same_sections(
    recorded: Callable[[str], Recording],
) -> None:
    recording = fabric(**written("sriov-flat"))

    def on_cluster(entries: list[Registration], prefix: str) -> dict[str, Any]:
        return {
            entry.name.removeprefix(prefix): (entry.type, entry.inputs, entry.replace_on_changes)
            for entry in entries
            if entry.type.startswith("kubernetes:")
        }

    assert on_cluster(recording.resources, "train-") == on_cluster(recorded("sriov-flat").resources, "")


def test_a_fabric_may_be_in_another_component() -> None:
    def program() -> None:
        platform = pulumi.ComponentResource("example:index:Platform", "platform")
        GpuFabric("train", arguments(), pulumi.ResourceOptions(parent=platform))

    assert run(program)["train"].parent == "platform"


def test_a_provider_in_the_options_takes_the_place_of_the_fabrics_own() -> None:
    def program() -> None:
        provider = pulumi.ProviderResource("kubernetes", "theirs", {"kubeconfig": KUBECONFIG})
        GpuFabric("train", arguments(), pulumi.ResourceOptions(provider=provider))

    recording = run(program)

    assert {entry.provider for entry in recording.of_type("core/v1:Namespace")} == {"theirs"}
    assert [entry.name for entry in recording.resources if entry.type == "pulumi:providers:kubernetes"] == ["theirs"]


def test_everything_on_the_cluster_comes_after_what_the_fabric_depends_on() -> None:
    def program() -> None:
        pool = pulumi.CustomResource("example:index:Pool", "pool", {})
        GpuFabric("train", arguments(), pulumi.ResourceOptions(depends_on=[pool]))

    recording = run(program)

    assert "pool" in recording["train-kubernetes"].dependencies
    assert {entry.provider for entry in recording.of_type("core/v1:Namespace")} == {"train-kubernetes"}


def test_groups_of_objects_of_two_fabrics_on_one_cluster_are_not_taken_for_each_others() -> None:
    def program() -> None:
        for name in ("train", "research"):
            GpuFabric(name, arguments(**written("spiderpool-sriov")))

    groups = [entry.inputs["keptBy"] for entry in run(program).of_type("KeptObjects")]

    assert len(groups) == len(set(groups)) > 1


# The cluster


def test_the_kubeconfig_may_be_an_output_of_another_resource_and_stays_secret() -> None:
    def program() -> None:
        cluster = pulumi.CustomResource("example:index:Cluster", "cluster", {"kubeconfig": KUBECONFIG})
        GpuFabric("train", arguments(kubeconfig=cluster.urn.apply(lambda _: KUBECONFIG)))

    recording = run(program)

    provider = recording["train-kubernetes"]
    assert (provider.inputs["kubeconfig"], provider.secrets) == (KUBECONFIG, {"kubeconfig"})
    assert provider.inputs["clusterIdentifier"] == cluster_identity(KUBECONFIG, None)
    shown = [(key, value) for entry in recording.resources for key, value in entry.inputs.items()]
    assert TOKEN not in json.dumps([pair for pair in shown if pair[0] != "kubeconfig"], default=str)


def test_a_preview_shows_every_resource_of_a_fabric_whose_cluster_does_not_exist_yet(train: Recording) -> None:
    def program() -> None:
        unknown: pulumi.Output[str] = pulumi.Output.from_input(UNKNOWN)  # type: ignore[arg-type]
        pulumi.export("ready", GpuFabric("train", arguments(kubeconfig=unknown)).ready)

    recording = run(program, preview=True)

    assert {entry.name for entry in recording.resources} == {entry.name for entry in train.resources}


def test_a_cluster_may_have_an_identity_of_its_own() -> None:
    recording = run(lambda: GpuFabric("train", arguments(cluster_id=pulumi.Output.from_input("rack-7"))))

    assert recording["train-kubernetes"].inputs["clusterIdentifier"] == "rack-7"


def test_an_unusable_kubeconfig_of_another_resource_is_refused_without_its_content() -> None:
    refused, _ = refusal(lambda: {"kubeconfig": pulumi.Output.from_input("a-secret: text")})

    assert "GpuFabric train: kubeconfig: is not a kubeconfig: it has no contexts [CLU001]" in refused
    assert "a-secret" not in refused


# Refusals


def test_all_mistakes_are_reported_at_once_by_rule_and_argument_and_nothing_is_registered() -> None:
    refused, recording = refusal(
        lambda: {
            "kubeconfig": "~/.kube/config",
            "pools": [GpuPoolArgs(name="gpu", shape="BM.GPU.H100.9", nodes=0, node_names=["a", "a"])],
            "ranges": RangesArgs(pods="10.244.0.0"),
            "fabric": {"model": "sriov", "vfsPerNik": 1, "addressing": {"supernet": "192.168.0.0/16"}},
        }
    )

    assert refused.startswith("GpuFabric train: 6 problems, nothing was created.")
    for line in (
        "GpuFabric train: kubeconfig: is not a kubeconfig: it has no contexts [CLU001]",
        "GpuFabric train: ranges.pods: this is not a valid network [SPC002]",
        "GpuFabric train: pools[0].shape: no shape 'BM.GPU.H100.9' in the catalog [SPC002]",
        "GpuFabric train: pools[0].nodes: must be greater than or equal to 1 [SPC002]",
        "GpuFabric train: pools[0].node_names: a node is named twice [SPC002]",
        "GpuFabric train: fabric.vfsPerNik: this key is not known [SPC001]",
    ):
        assert f"  {line}\n" in refused
    assert recording.resources == []


@pytest.mark.parametrize(("software", "argument"), [(None, "release_line"), ({}, "releaseLine")])
def test_the_remedy_of_an_old_release_line_is_an_argument_and_no_command_that_reads_a_stack_file(
    software: Any, argument: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_: said.append(text))
    fabric(software=software)

    (text,) = [entry for entry in said if entry.startswith("REL015 ")]
    assert re.search(rf'-> write software\.{argument}: "\d+\.\d+"$', text)


@pytest.mark.parametrize(
    "args", [None, {"kubeconfig": KUBECONFIG}, pulumi.ResourceOptions()], ids=["None", "mapping", "options"]
)
def test_anything_else_than_its_arguments_is_refused(args: Any) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError) as refused:
        run(lambda: GpuFabric("train", args), recording=recording)

    given = type(args).__name__
    assert f"  GpuFabric train: the arguments are of type {given}, and must be GpuFabricArgs" in str(refused.value)
    assert "give it GpuFabricArgs(...)" in str(refused.value)
    assert recording.resources == []


def test_an_empty_list_of_pools_is_refused_with_the_number_that_is_needed() -> None:
    refused, _ = refusal(lambda: {"pools": []})

    assert "GpuFabric train: pools: must be a list of at least 1 item [SPC002]" in refused


def test_secrets_that_are_no_mapping_are_refused() -> None:
    refused, recording = refusal(lambda: {"secrets": ["certificate"]})

    assert "GpuFabric train: secrets: must be a mapping of names to texts [SPC002]" in refused
    assert recording.resources == []


def test_what_cannot_work_is_refused_by_the_rule_of_stack_files() -> None:
    refused, _ = refusal(lambda: {"fabric": {"model": "sriov", "addressing": {"supernet": "10.244.0.0/16"}}})

    assert "GpuFabric train: fabric.addressing.supernet: 10.244.0.0/16 overlaps" in refused
    assert "[ADR002]" in refused
    assert "gpu-fabric:" not in refused


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        ("pools", lambda: {"pools": pulumi.Output.from_input([])}),
        ("pools[0].nodes", lambda: {"pools": [GpuPoolArgs("gpu", "BM.GPU.H100.8", pulumi.Output.from_input(2))]}),  # type: ignore[arg-type]
        ("ranges.pods", lambda: {"ranges": RangesArgs(pods=pulumi.Output.from_input("10.0.0.0/8"))}),  # type: ignore[arg-type]
        ("fabric.model", lambda: {"fabric": {"model": pulumi.Output.from_input("sriov")}}),
        ("software", lambda: {"software": pulumi.Output.from_input({})}),
        ("context", lambda: {"context": pulumi.Output.from_input("stub")}),
    ],
)
def test_an_output_in_the_place_of_a_plain_value_is_refused(place: str, changes: Arguments) -> None:
    refused, recording = refusal(changes)

    assert f"GpuFabric train: {place}: this is an Output, and decides which resources there are" in refused
    assert recording.resources == []


def test_pools_may_be_written_with_the_keys_of_a_stack_file() -> None:
    recording = fabric(pools=[{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 3.0}])

    assert len(children(recording)) > 40


def test_none_in_an_argument_stands_for_what_is_not_given_as_in_every_language(train: Recording) -> None:
    pools = [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 3, "taints": None}]
    recording = fabric(pools=pools, software={"schedulers": {"kueue": None}})

    assert {entry.name for entry in children(recording)} == {entry.name for entry in children(train)}


def test_a_mistake_in_the_verification_names_its_argument() -> None:
    refused, _ = refusal(lambda: {"verification": VerificationSettingsArgs(enabled=True, rail_bar=0)})

    assert "GpuFabric train: verification.rail_bar: must be greater than or equal to 0.01 [SPC002]" in refused
    assert "GpuFabric train: verification.image: the verification has no image [VFY001]" in refused


def test_a_secret_that_software_names_must_be_given() -> None:
    refused, _ = refusal(spiderpool)

    assert "GpuFabric train: software.spiderpool.tls.secret: the secret 'certificate' is not among `secrets`" in refused


def test_a_secret_reaches_the_chart_in_base64_and_is_secret() -> None:
    content = json.dumps({"certificate": "b", "key": "c", "authority": "a"})
    recording = run(
        lambda: GpuFabric(
            "train", arguments(**spiderpool(), secrets={"certificate": pulumi.Output.from_input(content)})
        )
    )

    (release,) = (entry for entry in recording.of_type(":Release") if entry.inputs["name"] == "spiderpool")
    assert release.secrets == {"values"}
    assert release.inputs["values"]["spiderpoolController"]["tls"]["provided"]["tlsKey"] == "Yw=="


def spiderpool() -> dict[str, Any]:
    found = written("spiderpool-sriov")
    tls = {"method": "provided", "secret": "certificate"}
    return {**found, "software": {**(found["software"] or {}), "spiderpool": {"tls": tls}}}


# Outputs


def test_the_outputs_have_the_contract_the_addresses_and_the_names_of_the_networks(train: Recording) -> None:
    contract = train.outputs["contract"]

    assert (contract["schemaVersion"], contract["stack"], contract["nodes"]) == ("v1", "train", 3)
    assert train.outputs["networks"] == [entry["network"] for entry in contract["networks"]]
    assert all(name in contract["annotations"][NETWORKS_ANNOTATION] for name in train.outputs["networks"])
    assert train.outputs["address_plan"]["pools"]
    assert train.secret_outputs == frozenset()


def test_a_fabric_is_ready_when_everything_is_applied(train: Recording) -> None:
    assert train.outputs["ready"] is True
    assert train.outputs.get("verification") is None


def test_the_outcome_of_a_verification_is_an_output() -> None:
    def program() -> None:
        verification = VerificationSettingsArgs(enabled=True, image="registry.example/nccl-tests:1")
        found = GpuFabric("train", arguments(verification=verification))
        pulumi.export("verification", found.verification)
        pulumi.export("ready", found.ready)

    class Measured(World):
        """A cluster on which the verification has passed."""

        def computed(self, kind: str, name: str) -> dict[str, Any]:
            outcome = {"outcome": json.dumps({"state": "passed", "job": "a"})}
            return outcome if kind == "Verification" else super().computed(kind, name)

    recording = run(program, world=Measured({}))

    assert recording.outputs == {"verification": {"state": "passed", "job": "a"}, "ready": True}
    assert recording["train-verification-run"].parent == "train-verification"


def test_a_fabric_is_not_ready_while_a_resource_is_missing() -> None:
    class Failing(World):
        """A cluster that refuses the networks."""

        def computed(self, kind: str, name: str) -> dict[str, Any]:
            if kind == "NetworkAttachmentDefinition":
                raise RuntimeError("refused")
            return super().computed(kind, name)

    recording = Recording()

    def program() -> None:
        pulumi.export("ready", GpuFabric("train", arguments()).ready)

    with pytest.raises(Exception, match="refused"):
        run(program, recording=recording, world=Failing({}))

    assert "ready" not in recording.outputs


def test_what_uses_the_contract_comes_after_every_resource_of_the_fabric() -> None:
    def program() -> None:
        found = GpuFabric("train", arguments())
        pulumi.CustomResource("example:index:Job", "job", {"networks": found.networks, "contract": found.contract})

    recording = run(program)
    expected = {entry.name for entry in children(recording) if entry.custom}

    assert expected <= recording["job"].dependencies
    assert recording["job"].inputs["networks"]


def test_further_fabrics_have_networks_and_a_contract_of_their_own() -> None:
    pools = [
        GpuPoolArgs(name="new", shape="BM.GPU.H100.8", nodes=2),
        GpuPoolArgs(name="old", shape="BM.GPU.A100-v2.8", nodes=2),
    ]
    old = FurtherFabricArgs(pools=["old"], model="sriov", addressing=AddressingArgs(supernet="172.20.0.0/16"))

    def program() -> None:
        found = GpuFabric("train", arguments(pools=pools, fabrics={"old": old}))
        pulumi.export("contract", found.contract)
        pulumi.export("contracts", found.contracts)

    recording = run(program)

    networks = {entry.name for entry in children(recording) if entry.type.endswith(":NetworkAttachmentDefinition")}
    # Sixteen rails of each kind of machines.
    assert len([name for name in networks if "old-rail-" in name]) == 16
    assert len(networks) == 32
    contracts = recording.outputs["contracts"]
    assert contracts["main"] == recording.outputs["contract"]
    assert contracts["old"]["resources"]["nvidia.com/old_rail_15"] == "1"


def test_a_problem_of_a_further_fabric_names_it() -> None:
    old = FurtherFabricArgs(pools=["missing"], addressing=AddressingArgs(supernet="172.20.0.0/16"))

    reason, recording = refusal(lambda: {"fabrics": {"old": old}})

    assert "fabrics.old.pools[0]: the stack has no GPU pool missing" in reason
    assert children(recording) == []
