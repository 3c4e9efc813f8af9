"""Public components in programs of users: what they register, refuse and give out, and that they read nothing else."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pulumi
import pytest
import yaml
from fake_api_server import FakeApiServer, serving
from program_lists import SCHEDULER_NAMESPACES
from programs import ANSWERS, STACKS, TENANCY, answered_waits
from pulumi.output import UNKNOWN
from pydantic.alias_generators import to_snake
from recording import Recording, Registration, World, record
from stack_plans import stack_plan
from stub_cluster import KUBECONFIG, TOKEN

import components
from components import (
    AddressingArgs,
    CniFoldersArgs,
    DoksCluster,
    DoksClusterArgs,
    DoksPoolArgs,
    FabricArgs,
    FabricNetworks,
    FurtherFabricArgs,
    GpuCluster,
    GpuClusterArgs,
    GpuFabric,
    GpuFabricArgs,
    GpuPoolArgs,
    HostPreparation,
    IpPools,
    Multus,
    NcclFiles,
    NetworkOperator,
    OkeCluster,
    OkeClusterArgs,
    OkePoolArgs,
    RangesArgs,
    Spiderpool,
    Verification,
    VerificationSettingsArgs,
)
from components.args import (
    DoksKubeconfigArgs,
    HostPreparationSettingsArgs,
    IdentityArgs,
    NcclArgs,
    OfferedNamespaceArgs,
    OkeKubeconfigArgs,
)
from components.bases.arguments import named_by_schema, warnings
from components.bases.fabric_component import FabricComponent
from gpu_fabric.contract.cluster import ClusterContract
from gpu_fabric.findings import Finding, examples, finding, rules
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from gpu_fabric.spec.kubeconfig import cluster_identity
from gpu_fabric.spec.stack import spec_keys

ACCOUNT, KEY = "the-token-of-the-program", "the-private-key"
H200, H100 = "gpu-h200x8-1128gb-fabric-contracted", "BM.GPU.H100.8"
CLOUDS = ("digitalocean:", "oci:")
Options = pulumi.ResourceOptions | None
Make = Callable[[str, Options], Any]
SRIOV = FabricArgs(model="sriov", addressing=AddressingArgs(supernet="192.168.0.0/16"))


def doks(**changes: Any) -> DoksClusterArgs:
    """The committed H200 stack's cluster, with the account's token."""
    pools = [DoksPoolArgs(name="gpu", shape=H200, nodes=2)]
    ranges = RangesArgs(pods="10.156.0.0/16", services="10.157.0.0/19", nodes="10.158.0.0/20")
    args = DoksClusterArgs(region="nyc2", version="1.36.1-do.0", pools=pools, ranges=ranges, token=ACCOUNT)
    return replace(args, **changes)


def oke(**changes: Any) -> OkeClusterArgs:
    """The committed H100 stack's cluster, with an account's settings."""
    args = OkeClusterArgs(
        region="us-ashburn-1",
        compartment_id="ocid1.compartment.oc1..aaaaaaaaexample",
        tenancy_id=TENANCY,
        version="1.27.2",
        pools=[OkePoolArgs(name="gpu", shape=H100, nodes=4, availability_domain="AD-1")],
        ranges=RangesArgs(pods="10.240.0.0/12", services="10.96.0.0/16", nodes="10.140.0.0/16"),
        settings={"tenancyOcid": TENANCY, "privateKey": KEY},
    )
    return replace(args, **changes)


def sections(stack: str) -> dict[str, Any]:
    """The sections of a committed stack file."""
    config = yaml.safe_load(STACKS[stack].read_text())["config"]
    return {key.partition(":")[2]: value for key, value in config.items()}


def platform(stack: str) -> dict[str, Any]:
    """Those about what is on the cluster."""
    return {key: sections(stack).get(key) for key in ("fabric", "software")}


def gpu(stack: str, **changes: Any) -> GpuClusterArgs:
    """A cluster with its fabric, as a committed stack has it."""
    cluster = {"doks": doks()} if stack.startswith("doks") else {"oke": oke()}
    return GpuClusterArgs(**{**cluster, **platform(stack), **changes})


def arguments(**changes: Any) -> GpuFabricArgs:
    """Those of a small fabric, with changes."""
    known = {"kubeconfig": KUBECONFIG, "pools": [GpuPoolArgs(name="gpu", shape=H100, nodes=3)], "fabric": SRIOV}
    return GpuFabricArgs(**{**known, **changes})


def of_stack(stack: str, **changes: Any) -> GpuFabricArgs:
    """The sections of a committed stack file of a cluster that exists as arguments."""
    config = sections(stack)
    cluster = {key: config["cluster"].get(key) for key in ("pools", "ranges", "shapes", "installed", "kubernetes")}
    others = {key: config.get(key) for key in ("fabric", "fabrics", "software", "verification", "monitoring")}
    return arguments(**{**cluster, **others, **changes})


def run(program: Callable[[], object], **options: Any) -> Recording:
    """What a program registers, at clouds and on clusters where every wait ends at once."""

    def registered() -> None:
        program()

    with answered_waits():
        return record(registered, stack="mine", **{"world": World(ANSWERS), **options})


def fabric(options: Options = None, **changes: Any) -> Recording:
    """One fabric, alone in a program."""
    return run(lambda: GpuFabric("train", arguments(**changes), options))


def refusal(program: Callable[[], object]) -> tuple[str, Recording]:
    """How a program is refused, and what it had registered."""
    recording = Recording()
    with pytest.raises(pulumi.RunError) as refused:
        run(program, recording=recording)
    return str(refused.value), recording


def with_provider(package: str) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(provider=pulumi.ProviderResource(package, "theirs", {}))


PARTS: dict[type[FabricComponent], Callable[[], GpuFabricArgs]] = {
    components.GpuOperator: arguments,
    NetworkOperator: arguments,
    Spiderpool: lambda: of_stack("spiderpool-sriov"),
    Multus: lambda: arguments(pools=[GpuPoolArgs("gpu", H200, 2)],
        fabric=FabricArgs(model="host-device", manager="doks")),
    HostPreparation: lambda: of_stack("spiderpool-macvlan"),
    IpPools: arguments,
    FabricNetworks: arguments,
    NcclFiles: arguments,
    Verification: lambda: of_stack("verification"),
}  # fmt: skip
"""The parts of a fabric in their order, each with arguments under which there is one."""
CLUSTERS: dict[str, Make] = {
    "DoksCluster": lambda name, opts: DoksCluster(name, doks(), opts),
    "OkeCluster": lambda name, opts: OkeCluster(name, oke(), opts),
    "GpuCluster at DigitalOcean": lambda name, opts: GpuCluster(name, gpu("doks-h200"), opts),
    "GpuCluster at Oracle": lambda name, opts: GpuCluster(name, gpu("oke-h100"), opts),
}
WHOLE: dict[str, Make] = {**CLUSTERS, "GpuFabric": lambda name, opts: GpuFabric(name, arguments(), opts)}
ON_CLUSTER: dict[str, Make] = {
    "GpuFabric": WHOLE["GpuFabric"],
    **{part.__name__: (lambda name, opts, p=part: p(name, PARTS[p](), opts)) for part in PARTS},  # type: ignore[misc]
}
EVERY: dict[str, Make] = {**WHOLE, **ON_CLUSTER}
every_cluster = pytest.mark.parametrize("make", CLUSTERS.values(), ids=CLUSTERS)


def of_providers(entries: list[Registration], prefix: str, *providers: str) -> dict[str, Any]:
    """Resources of some providers by their names without a prefix: the inputs of each."""
    return {
        entry.name.removeprefix(prefix): (
            entry.type,
            entry.inputs,
            entry.ignore_changes,
            entry.timeouts,
            entry.replace_on_changes,
        )
        for entry in entries
        if entry.type.startswith(providers)
    }


class SameIds(World):
    """Ids that do not depend on a component's name, so that its resources can be compared with a stack's."""

    def __init__(self, prefix: str) -> None:
        super().__init__(ANSWERS)
        self.prefix = prefix

    def id_of(self, name: str) -> str:
        return super().id_of(name.replace(self.prefix, "cluster-", 1))


# Names, parents and options


@pytest.mark.parametrize("kind", EVERY)
def test_two_in_one_program_have_nothing_in_common_and_options_reach_every_resource(kind: str) -> None:
    seen: set[str] = set()

    def look(args: pulumi.ResourceTransformationArgs) -> None:
        seen.add(args.name)

    def program() -> None:
        for name in ("train", "research"):
            EVERY[kind](name, pulumi.ResourceOptions(protect=True, transformations=[look]))

    recording = run(program)

    names = [(entry.type, entry.name) for entry in recording.resources]
    assert len(names) == len(set(names))
    assert {entry.name for entry in recording.resources} == seen
    assert [entry.name for entry in recording.resources if not entry.protect or entry.deleted_with] == []
    for name, other in (("train", "research"), ("research", "train")):
        assert recording[name].type == f"gpu-fabric:index:{kind.partition(' ')[0]}"
        own = [entry for entry in recording.resources if entry.name.startswith(f"{name}-")]
        assert len(own) >= 3
        assert {entry.parent.partition("-")[0] for entry in own} == {name}
        assert {entry.provider.partition("-")[0] for entry in own} <= {name, ""}
        assert [entry.name for entry in own for needed in entry.dependencies if needed.startswith(other)] == []
    assert {entry.name.partition("-")[0] for entry in recording.resources} == {"train", "research"}
    hooks = [hook for entry in recording.resources for hook in entry.error_hooks]
    # Advice is on what clouds refuse.
    assert bool(hooks) == any(entry.type.startswith(CLOUDS) for entry in recording.resources)
    assert not hooks or {hook.partition(":")[0] for hook in hooks} == {"train", "research"}


SAME = {
    "a cluster with a fabric": (lambda s: GpuCluster(s, gpu(s)), ["doks-h200", "oke-h100"], (*CLOUDS, "kubernetes:")),
    "a cluster": (lambda s: DoksCluster(s, doks()) if s == "doks-h200" else OkeCluster(s, oke()),
        ["doks-h200", "oke-h100"], CLOUDS),
    "a fabric": (lambda s: GpuFabric(s, of_stack(s)), ["sriov-flat"], ("kubernetes:",)),
}  # fmt: skip


@pytest.mark.parametrize("what", SAME)
def test_a_component_registers_what_a_stack_of_the_same_sections_does(
    what: str, recorded: Callable[[str], Recording]
) -> None:
    make, stacks, providers = SAME[what]
    for stack in stacks:
        found = run(lambda s=stack: make(s), world=SameIds(f"{stack}-")).resources  # type: ignore[misc]
        expected = of_providers(recorded(stack).resources, "", *providers)
        assert of_providers(found, f"{stack}-", *providers) == {
            name.removeprefix("cluster-"): resource for name, resource in expected.items()
        }
        assert ("kubernetes:" in providers) == any(entry.type.startswith("kubernetes:") for entry in found)


@pytest.mark.parametrize("make", ON_CLUSTER.values(), ids=ON_CLUSTER)
def test_a_provider_in_the_options_takes_the_place_of_its_own_and_what_it_depends_on_comes_first(make: Make) -> None:
    def program(provider: bool) -> None:
        pool = pulumi.CustomResource("example:index:Pool", "pool", {})
        theirs = pulumi.ProviderResource("kubernetes", "theirs", {"kubeconfig": KUBECONFIG}) if provider else None
        make("mine", pulumi.ResourceOptions(provider=theirs, depends_on=[pool]))

    recording = run(lambda: program(True))
    on_cluster = [entry for entry in recording.resources if entry.type.startswith("kubernetes:")]
    assert {entry.provider for entry in on_cluster} <= {"theirs"}
    assert [entry.name for entry in on_cluster if not recording.comes_after(entry.name, "pool")] == []
    assert [entry.name for entry in recording.of_type("providers:kubernetes")] == ["theirs"]
    assert "pool" in run(lambda: program(False))["mine-kubernetes"].dependencies


@every_cluster
def test_a_cluster_comes_after_what_it_depends_on_and_is_protected_with_its_parent(make: Make) -> None:
    def program() -> None:
        first = pulumi.CustomResource("example:index:Order", "order", {})
        protect = pulumi.ResourceOptions(protect=True)
        outer = pulumi.ComponentResource("example:index:Platform", "platform", None, protect)
        make("train", pulumi.ResourceOptions(depends_on=[first], parent=outer))

    recording = run(program)

    clouds = [entry for entry in recording.resources if entry.type.startswith(CLOUDS)]
    assert clouds
    assert [entry.name for entry in clouds if "order" not in entry.dependencies] == []
    assert recording["train"].parent == "platform"
    inside = [entry for entry in recording.resources if entry.name.startswith("train")]
    assert [entry.name for entry in inside if not entry.protect or entry.deleted_with] == []


@pytest.mark.parametrize(("stack", "cluster"), [("doks-h200", "train-doks"), ("oke-h100", "train-cluster")])
def test_objects_on_the_cluster_are_deleted_with_it_without_requests_of_their_own(stack: str, cluster: str) -> None:
    recording = run(lambda: GpuCluster("train", gpu(stack)))

    on_cluster = [entry for entry in recording.resources if entry.type.startswith("kubernetes:")]
    assert len(on_cluster) > 10
    assert {entry.deleted_with for entry in on_cluster} == {cluster}


def test_groups_of_objects_of_two_fabrics_on_one_cluster_are_not_taken_for_each_others() -> None:
    def program() -> None:
        for name in ("train", "research"):
            GpuFabric(name, of_stack("spiderpool-sriov"))

    groups = [entry.inputs["keptBy"] for entry in run(program).of_type("KeptObjects")]

    assert len(groups) == len(set(groups)) > 1


# Accounts


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_nothing_is_read_from_the_environment_the_configuration_or_the_stack(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def registered(**options: Any) -> dict[tuple[str, str], Registration]:
        entries = run(lambda: make("train", None), **options).resources
        return {(entry.type, entry.name): entry for entry in entries}

    expected = registered()
    for name in ("DIGITALOCEAN_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN", "DIGITALOCEAN_API_URL", "SPACES_ENDPOINT_URL"):
        monkeypatch.setenv(name, "https://of-the-environment.example")
    for name in ("TF_VAR_tenancy_ocid", "OCI_CLI_CONFIG_FILE", "KUBECONFIG"):
        monkeypatch.setenv(name, "of-the-environment")
    config = {
        "digitalocean:token": "of-the-stack",
        "oci:tenancyOcid": "of-the-stack",
        "gpu-fabric:cluster": '{"provider": "existing"}',
        "gpu-fabric:fabric": '{"model": "ipoib"}',
    }
    with (
        patch("pulumi.Config", side_effect=AssertionError("the configuration is read")),
        patch("pulumi.get_stack", side_effect=AssertionError("the stack's name is read")),
    ):
        assert registered(config=config) == expected


@every_cluster
def test_what_opens_the_account_is_secret_wherever_it_is(make: Make) -> None:
    recording = run(lambda: pulumi.export("kubeconfig", make("train", None).kubeconfig))

    assert recording.secret_outputs == {"kubeconfig"}
    plain = [(k, v) for entry in recording.resources for k, v in entry.inputs.items() if k not in entry.secrets]
    assert [secret for secret in (ACCOUNT, KEY) if secret in json.dumps(plain, default=str)] == []


@pytest.mark.parametrize("cloud", ["digitalocean", "oci"])
@pytest.mark.parametrize("passed", ["provider", "providers", "by name", "by the parent"])
def test_a_clouds_provider_in_the_options_makes_all_at_the_cloud_and_the_look_ups(cloud: str, passed: str) -> None:
    def program() -> None:
        account = pulumi.ProviderResource(cloud, "theirs", {})
        opts = {
            "provider": pulumi.ResourceOptions(provider=account),
            "providers": pulumi.ResourceOptions(providers=[account]),
            "by name": pulumi.ResourceOptions(providers={cloud: account}),
        }
        if passed == "by the parent":
            outer = pulumi.ComponentResource("example:index:Platform", "platform", None, opts["providers"])
            opts[passed] = pulumi.ResourceOptions(parent=outer)
        exec_mode = doks(token=None, version="1.36", kubeconfig=DoksKubeconfigArgs(mode="exec"))
        args = {"doks": exec_mode} if cloud == "digitalocean" else {"oke": oke(settings=None), **platform("oke-h100")}
        GpuCluster("train", GpuClusterArgs(**args), opts[passed])

    asked: list[str] = []
    invoke = pulumi.runtime.invoke_output

    def seen(function: str, arguments: Any, opts: Any) -> Any:
        asked.append(opts.provider.pulumi_resource_name)
        return invoke(function, arguments, opts)

    with patch("pulumi.runtime.invoke_output", seen):
        recording = run(program)

    assert set(asked) == ({"theirs"} if cloud == "oci" else set())
    assert {entry.provider for entry in recording.resources if entry.type.startswith(CLOUDS)} == {"theirs"}
    assert [entry.name for entry in recording.of_type(f"providers:{cloud}")] == ["theirs"]
    assert {entry.provider for entry in recording.of_type(":NetworkAttachmentDefinition")} == {"train-kubernetes"}


def test_policies_of_another_home_region_go_by_a_second_provider_with_the_same_settings() -> None:
    recording = run(lambda: OkeCluster("train", oke(identity=IdentityArgs(home_region="us-phoenix-1"))))

    regions = {entry.name: entry.inputs["region"] for entry in recording.of_type("providers:oci")}
    assert regions == {"train-oci": "us-ashburn-1", "train-oci-home": "us-phoenix-1"}
    assert {entry.provider for entry in recording.of_type(":Policy")} == {"train-oci-home"}
    assert recording["train-oci-home"].secrets == {"tenancyOcid", "privateKey"}

    def without_policies() -> None:
        identity = IdentityArgs(create=False, home_region="us-phoenix-1")
        OkeCluster("train", oke(settings=None, identity=identity), with_provider("oci"))

    assert [entry.name for entry in run(without_policies).of_type("providers:oci")] == ["theirs"]


def test_the_tenancy_may_be_among_the_settings_and_a_token_an_output() -> None:
    def program() -> None:
        token = {"kubeconfig": OkeKubeconfigArgs(mode="token"), "kubeconfig_token": pulumi.Output.from_input("theirs")}
        OkeCluster("train", oke(tenancy_id=None, settings={"tenancyOcid": pulumi.Output.secret(TENANCY)}, **token))

    recording = run(program)

    configuration, provider = recording["train-configuration-gpu"], recording["train-kubernetes"]
    details = configuration.inputs["instanceDetails"]["launchDetails"]
    assert (details["metadata"]["oke-tenancy-id"], configuration.secrets) == (TENANCY, frozenset())
    assert yaml.safe_load(provider.inputs["kubeconfig"])["users"][0]["user"] == {"token": "theirs"}
    assert provider.secrets == {"kubeconfig"}


@pytest.mark.parametrize(
    "make",
    [
        lambda late: DoksCluster("train", doks(token=late, version="1.36", version_applies="always", protect=True)),
        lambda late: OkeCluster("train", oke(settings={"tenancyOcid": TENANCY, "privateKey": late})),
        lambda late: GpuFabric("train", arguments(kubeconfig=late)),
    ],
)
def test_a_preview_shows_every_resource_while_account_or_cluster_is_not_known_yet(make: Callable[[Any], Any]) -> None:
    unanswered = World({function: {} for function in ANSWERS})
    shown = run(lambda: make(pulumi.Output.from_input(UNKNOWN)), preview=True, world=unanswered)

    created = run(lambda: make(pulumi.Output.from_input(KUBECONFIG)))
    assert {entry.name for entry in shown.resources} == {entry.name for entry in created.resources}


def test_the_kubeconfig_may_be_an_output_of_another_resource_and_stays_secret() -> None:
    def program() -> None:
        cluster = pulumi.CustomResource("example:index:Cluster", "cluster", {"kubeconfig": KUBECONFIG})
        GpuFabric("train", arguments(kubeconfig=cluster.urn.apply(lambda _: KUBECONFIG)))
        GpuFabric("other", arguments(cluster_id=pulumi.Output.from_input("rack-7")))

    recording = run(program)

    provider = recording["train-kubernetes"]
    assert (provider.inputs["kubeconfig"], provider.secrets) == (KUBECONFIG, {"kubeconfig"})
    assert provider.inputs["clusterIdentifier"] == cluster_identity(KUBECONFIG, None)
    assert recording["other-kubernetes"].inputs["clusterIdentifier"] == "rack-7"
    shown = [(key, value) for entry in recording.resources for key, value in entry.inputs.items()]
    assert TOKEN not in json.dumps([pair for pair in shown if pair[0] != "kubeconfig"], default=str)


# Refusals

MANY_OF_A_CLUSTER = GpuClusterArgs(
    doks=doks(
        token="",
        pools=[DoksPoolArgs(name="gpu", shape="gpu-h200x9", nodes=0, contracted_nodes=0)],
        ranges=RangesArgs(pods="10.244.0.0"),
        system_pool={"sise": "s-4vcpu-8gb"},
    ),
    fabric={"modell": "sriov"},
)
MANY_OF_A_FABRIC = GpuFabricArgs(
    kubeconfig="~/.kube/config",
    pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.9", nodes=0, node_names=["a", "a"])],
    ranges=RangesArgs(pods="10.244.0.0"),
    fabric={"model": "sriov", "vfsPerNik": 1, "addressing": {"supernet": "192.168.0.0/16"}},
    verification=VerificationSettingsArgs(rail_bar=0),
)


@pytest.mark.parametrize(
    ("kind", "args", "lines"),
    [
        (
            GpuCluster,
            MANY_OF_A_CLUSTER,
            [
                "SPC002 doks.token: must be text, or an Output of it",
                "SPC002 doks.pools[0].shape: no shape 'gpu-h200x9' in the catalog",
                "SPC002 doks.pools[0].nodes: must be greater than or equal to 1",
                "SPC002 doks.pools[0].contracted_nodes: must be greater than or equal to 1",
                "SPC002 doks.ranges.pods: this is not a valid network",
                "SPC001 doks.system_pool.sise: this key is not known",
                "SPC001 fabric.modell: this key is not known",
            ],
        ),
        (
            GpuFabric,
            MANY_OF_A_FABRIC,
            [
                "CLU001 kubeconfig: is not a kubeconfig: it has no contexts",
                "SPC002 ranges.pods: this is not a valid network",
                "SPC002 pools[0].shape: no shape 'BM.GPU.H100.9' in the catalog",
                "SPC002 pools[0].nodes: must be greater than or equal to 1",
                "SPC002 pools[0].node_names: a node is named twice",
                "SPC001 fabric.vfsPerNik: this key is not known",
                "SPC002 verification.rail_bar: must be greater than or equal to 0.01",
            ],
        ),
    ],
)
def test_all_mistakes_are_reported_at_once_by_rule_and_argument_and_nothing_is_registered(
    kind: Any, args: Any, lines: list[str]
) -> None:
    refused, recording = refusal(lambda: kind("train", args))

    assert refused.startswith(f"{kind.__name__} train: {len(lines)} problems, nothing was created.")
    named = [line.replace(" ", f" {kind.__name__} train: ", 1) for line in lines]
    assert [line for line in named if f"  error {line}\n" not in refused] == []
    assert recording.resources == []


TLS = {"spiderpool": {"tls": {"method": "provided", "secret": "certificate"}}}
HOME = IdentityArgs(home_region="us-phoenix-1")
REFUSED: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: DoksCluster("train", doks(token=None)),
        "error SPC003 DoksCluster train: token: no API token of DigitalOcean",
        "a provider of the package digitalocean in the options"),
    (lambda: DoksCluster("train", doks(token=None), with_provider("digitalocean")),
        "DoksCluster train: token: the kubeconfig holds the API token",
        "or choose another kubeconfig.mode: exec or raw"),
    (lambda: OkeCluster("train", oke(tenancy_id=None, settings=None)),
        "error SPC003 OkeCluster train: tenancy_id: machines need the tenancy's id to join",
        "write it, or settings.tenancyOcid"),
    (lambda: OkeCluster("train", oke(settings={"tenancyOcd": TENANCY})),
        "error SPC001 OkeCluster train: settings: the provider has no setting 'tenancyOcd'",
        "did you mean 'tenancyOcid'?"),
    (lambda: OkeCluster("train", oke(settings={"privateKey": 7})),
        "error SPC002 OkeCluster train: settings: the value of privateKey must be text, or an Output of it",
        "give it a text that is not empty"),
    (lambda: OkeCluster("train", oke(settings="~/.oci/config")),
        "error SPC002 OkeCluster train: settings: must be a mapping of names to texts", "write {name: text}"),
    (lambda: OkeCluster("train", oke(kubeconfig=OkeKubeconfigArgs(mode="token"))),
        "OkeCluster train: kubeconfig_token: a kubeconfig of mode token needs the token",
        "before there is a cluster, choose kubeconfig.mode: exec"),
    (lambda: OkeCluster("train", oke(kubeconfig_token=KEY)),
        "error SPC002 OkeCluster train: kubeconfig_token: no kubeconfig holds this token",
        "or choose kubeconfig.mode: token"),
    (lambda: OkeCluster("train", oke(settings=None, identity=HOME), with_provider("oci")),
        "OkeCluster train: settings: policies are created in region us-phoenix-1", "for a second provider"),
    (lambda: GpuCluster("train", GpuClusterArgs()), "error SPC002 GpuCluster train: neither `doks` nor `oke` is given",
        "give one of them"),
    (lambda: GpuCluster("train", GpuClusterArgs(doks=doks(), oke=oke())),
        "error SPC002 GpuCluster train: both `doks` and `oke` are given", "give one of them"),
    (
        lambda: GpuCluster("train", None),  # type: ignore[arg-type]
        "error SPC002 GpuCluster train: the arguments are of type NoneType, and must be GpuClusterArgs",
        "give it GpuClusterArgs(...)",
    ),
    (
        lambda: GpuFabric("train", {"kubeconfig": KUBECONFIG}),  # type: ignore[arg-type]
        "GpuFabric train: the arguments are of type dict, and must be GpuFabricArgs",
        "give it GpuFabricArgs(...)",
    ),
    (lambda: DoksCluster("Train_1", doks()), "DoksCluster Train_1: name: ", ""),
    (lambda: GpuFabric("train", arguments(pools=[])),
        "error SPC002 GpuFabric train: pools: must be a list of at least 1 item", ""),
    (lambda: GpuFabric("train", arguments(secrets=["certificate"])),
        "error SPC002 GpuFabric train: secrets: must be a mapping of names to texts", ""),
    (lambda: GpuFabric("train", of_stack("spiderpool-sriov", software=TLS)),
        "GpuFabric train: software.spiderpool.tls.secret: the secret 'certificate' is not among `secrets`", ""),
    (
        lambda: GpuFabric("train",
            arguments(ranges=RangesArgs(pods="192.168.0.0/16", services="10.96.0.0/16", nodes="10.0.0.0/16"))),
        "error ADR002 GpuFabric train: fabric.addressing.supernet: 192.168.0.0/16 overlaps", ""),
    (lambda: GpuFabric("train", arguments(verification=VerificationSettingsArgs(enabled=True))),
        "error VFY001 GpuFabric train: verification.image: the verification has no image", ""),
    (lambda: GpuFabric("train", arguments(fabrics={"old": FurtherFabricArgs(pools=["missing"])})),
        "GpuFabric train: fabrics.old.pools[0]: the stack has no GPU pool missing", ""),
    *(
        (
            (lambda p=part: p("mine", arguments())),
            f"the plan of these arguments has nothing for a component {part.__name__}",
            remedy,
        )
        for part, remedy in (
            (Spiderpool, "write fabric.manager: spiderpool"),
            (Multus, "use it where the fabric's manager is doks"),
            (HostPreparation, "ask for jobs in fabric.host_preparation"),
            (Verification, "write verification.enabled: true"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("program", "line", "remedy"), REFUSED)
def test_what_cannot_be_used_is_refused_by_its_argument(program: Callable[[], Any], line: str, remedy: str) -> None:
    refused, recording = refusal(program)

    assert line in refused
    assert remedy in refused
    assert "gpu-fabric:" not in refused
    assert [entry.name for entry in recording.resources if entry.name != "theirs"] == []


def test_an_unusable_kubeconfig_of_another_resource_is_refused_without_its_content() -> None:
    kubeconfig = "a-secret: text"
    refused, _ = refusal(lambda: GpuFabric("train", arguments(kubeconfig=pulumi.Output.from_input(kubeconfig))))

    assert "error CLU001 GpuFabric train: kubeconfig: is not a kubeconfig: it has no contexts" in refused
    assert "a-secret" not in refused


def test_a_mistake_in_typed_arguments_is_named_as_python_spells_it() -> None:
    wrong = FabricArgs(
        model="sriov",
        vfs_per_nic=999,
        addressing=AddressingArgs(supernet="192.168.0.0/16", growth_step=0),
        nccl=NcclArgs(settings={"NCCL_DEBUG": " INFO"}),
        host_preparation=HostPreparationSettingsArgs(link_type="none"),
    )
    refused, _ = refusal(lambda: GpuFabric("a", arguments(fabric=wrong)))

    for place in ("vfs_per_nic", "addressing.growth_step", "nccl.settings.NCCL_DEBUG", "host_preparation.link_type"):
        assert f"GpuFabric a: fabric.{place}: " in refused


@pytest.mark.parametrize(
    ("place", "make"),
    [
        ("DoksCluster train: region", lambda late: DoksCluster("train", doks(region=late))),
        ("GpuCluster train: doks", lambda late: GpuCluster("train", GpuClusterArgs(doks=late))),
        ("GpuCluster train: fabric", lambda late: GpuCluster("train", gpu("doks-h200", fabric=late))),
        ("GpuFabric train: pools", lambda late: GpuFabric("train", arguments(pools=late))),
        ("GpuFabric a: pools[0].nodes", lambda late: GpuFabric("a", arguments(pools=[GpuPoolArgs("a", H100, late)]))),
        ("GpuFabric train: ranges.pods", lambda late: GpuFabric("train", arguments(ranges=RangesArgs(pods=late)))),
        ("GpuFabric train: fabric.model", lambda late: GpuFabric("train", arguments(fabric={"model": late}))),
        ("GpuFabric train: context", lambda late: GpuFabric("train", arguments(context=late))),
    ],
)  # fmt: skip
def test_an_output_in_the_place_of_a_plain_value_is_refused(place: str, make: Callable[[Any], Any]) -> None:
    refused, recording = refusal(lambda: make(pulumi.Output.from_input("nyc2")))

    assert f"{place}: this is an Output, and decides which resources there are" in refused
    assert recording.resources == []


@pytest.mark.parametrize(
    ("make", "answers", "said"),
    [
        (lambda: DoksCluster("train", doks(version="1.36", version_applies="always", protect=True)),
            {"getKubernetesVersions": {"latestVersion": "", "validVersions": []}},
            r"Write one in the arguments of DoksCluster train as version"),
        (lambda: GpuCluster("train", gpu("oke-h100")), {"getNodePoolOption": {"sources": []}},
            r"write oke\.(system_pool|pools\[\])\.image_id"),
    ],
)  # fmt: skip
def test_what_a_cloud_does_not_offer_names_the_argument(make: Callable[[], Any], answers: Any, said: str) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError, match=said):
        run(make, world=World({**ANSWERS, **answers}), recording=recording)

    assert recording.of_type((":KubernetesCluster", ":NodePool")) == []


@pytest.mark.parametrize(
    ("make", "name", "error", "said"),
    [
        (lambda: DoksCluster("train", doks()), "train-doks", "timed out",
            "write its id in the arguments of DoksCluster train as adopt.cluster"),
        (lambda: GpuCluster("train", gpu("doks-h200")), "train-pool-gpu", "timed out",
            "write its id in the arguments of GpuCluster train as doks.adopt.pools.gpu"),
        (lambda: GpuCluster("train", gpu("oke-h100")), "train-group-nodes",
            "403-NotAllowed, must be directed to the home region",
            "write it into the arguments of GpuCluster train: oke.identity.home_region"),
    ],
)  # fmt: skip
def test_advice_names_arguments(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any], name: str, error: str, said: str
) -> None:
    messages: list[str] = []
    recording = run(make)
    monkeypatch.setattr(pulumi.log, "error", messages.append)
    (hook,) = recording[name].error_hooks
    failure = pulumi.ErrorHookArgs("urn", "", name, "type", failed_operation="create", errors=[error])
    answer = recording.hooks[hook](failure)
    if not isinstance(answer, bool):
        with pytest.raises(StopIteration):
            answer.send(None)  # type: ignore[union-attr]

    assert said in messages[0]
    assert "gpu-fabric:" not in messages[0]


@pytest.mark.parametrize(("software", "argument"), [(None, "release_line"), ({}, "releaseLine")])
def test_the_remedy_of_an_old_release_line_is_an_argument_and_no_command_that_reads_a_stack_file(
    software: Any, argument: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_: said.append(text))
    fabric(software=software)

    (text,) = [entry for entry in said if entry.startswith("REL016 ")]
    assert re.search(rf'-> write software\.{argument}: "\d+\.\d+"$', text)


KEYS = {key for key in spec_keys() if key != to_snake(key)}
OF_PYTHON = {to_snake(key) for key in KEYS}


def every_finding() -> list[Finding]:
    """What each rule says by the book, at each key that it is about, and what is said of some committed stacks."""
    of_book = [
        finding(rule, f"gpu-fabric:{key}", rules()[rule].message or "it is wrong", rules()[rule].remedy or "correct it")
        for rule, example in examples().items()
        for key in example.keys
    ]
    # Each takes a quarter of a second.
    some = list(STACKS.items())[::4]
    of_stacks = [entry for stack, path in some for entry in stack_plan(stack, path.parent).findings]
    assert len(of_book) > 200
    assert len({entry.id for entry in of_stacks}) > 10
    return of_book + of_stacks


def words_of(text: str) -> set[str]:
    """The words of a text that may be keys: not what is below a chart's values, and no file or command."""
    return set(re.findall(r"(?<![\w/`-])\w+", re.sub(r"\.values\.\S+|`[^`]*`", "", text)))


def test_every_finding_names_keys_as_the_programs_language_does() -> None:
    found = [entry for entry in every_finding() if entry.id != "SPC001"]
    in_python = list(warnings("GpuFabric a", found))
    with named_by_schema():
        elsewhere = list(warnings("GpuFabric a", found))
    as_in_files = list(warnings("GpuFabric a", found, as_in_files=("fabric", "fabrics", "software")))

    assert [text for text in in_python if words_of(text) & KEYS] == []
    assert [text for text in elsewhere if words_of(text) & OF_PYTHON] == []
    assert [text for text in (*in_python, *elsewhere, *as_in_files) if "gpu-fabric:" in text] == []
    assert sum(bool(words_of(text) & OF_PYTHON) for text in in_python) > 100
    of_fabric = [text for text in as_in_files if text.split()[3].startswith(("fabric", "software"))]
    assert [text for text in of_fabric if words_of(text) & OF_PYTHON] == []


def test_a_further_fabric_of_typed_arguments_is_named_as_python_spells_it() -> None:
    wrong = FurtherFabricArgs(pools=["gpu"], host_preparation=HostPreparationSettingsArgs(link_type="none"))
    refused, _ = refusal(lambda: GpuFabric("a", arguments(fabrics={"old": wrong})))

    assert "GpuFabric a: fabrics.old.host_preparation.link_type: " in refused


# What arguments mean


def test_arguments_with_types_and_those_of_other_languages_are_those_of_a_stack_file() -> None:
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
    # None stands for what is not given, and numbers have a point.
    pools = [{"name": "gpu", "shape": H100, "nodes": 3.0, "taints": None}]
    by_type = fabric(fabric=typed)
    by_key = fabric(fabric=written, pools=pools, software={"schedulers": {"kueue": None}})

    assert sorted(by_type.resources, key=str) == sorted(by_key.resources, key=str)


def test_folders_of_arguments_reach_the_chart() -> None:
    recording = fabric(cni_folders=CniFoldersArgs(plugins="/var/lib/cni/bin"))

    (release,) = (entry for entry in recording.of_type(":Release") if entry.inputs["name"] == "network-operator")
    assert release.inputs["values"]["operator"]["cniBinDirectory"] == "/var/lib/cni/bin"


def test_a_secret_reaches_the_chart_in_base64_and_is_secret() -> None:
    content = json.dumps({"certificate": "b", "key": "c", "authority": "a"})

    def program() -> None:
        secrets = {"certificate": pulumi.Output.from_input(content)}
        GpuFabric("train", of_stack("spiderpool-sriov", software=TLS, secrets=secrets))

    recording = run(program)

    (release,) = (entry for entry in recording.of_type(":Release") if entry.inputs["name"] == "spiderpool")
    assert release.secrets == {"values"}
    assert release.inputs["values"]["spiderpoolController"]["tls"]["provided"]["tlsKey"] == "Yw=="


def test_a_class_that_extends_a_component_is_that_component() -> None:
    class Ours(GpuFabric):
        """A team's own defaults."""

    found: list[Any] = []
    recording = run(lambda: found.append(Ours("a", arguments())))

    assert recording["a"].type == "gpu-fabric:index:GpuFabric"
    assert found[0].networks is not None


# Outputs


def exported(make: Callable[[], Any], *names: str, **options: Any) -> dict[str, Any]:
    def program() -> None:
        found = make()
        for name in names:
            pulumi.export(name, getattr(found, name))

    return run(program, **options).outputs


@pytest.mark.parametrize(
    ("make", "identity"),
    [(lambda: DoksCluster("train", doks()), "train-doks-id"), (lambda: OkeCluster("train", oke()), "train-cluster-id")],
)
def test_a_cluster_alone_has_the_contract_of_a_cluster_stack(make: Callable[[], Any], identity: str) -> None:
    outputs = exported(make, "cluster", "cluster_id", "ready")

    assert ClusterContract.model_validate_json(json.dumps(outputs["cluster"])).cluster_id == identity
    assert (outputs["cluster_id"], outputs["ready"]) == (identity, True)


def test_the_outputs_have_the_cluster_the_contract_the_addresses_and_the_names_of_the_networks() -> None:
    names = ("cluster_id", "access", "contract", "address_plan", "networks", "verification", "ready")
    outputs = exported(lambda: GpuCluster("train", gpu("oke-h100")), *names)
    contract = outputs["contract"]

    assert (outputs["cluster_id"], outputs["ready"]) == ("train-cluster-id", True)
    assert (contract["schemaVersion"], contract["stack"], contract["nodes"]) == ("v1", "train", 4)
    assert outputs["networks"] == [entry["network"] for entry in contract["networks"]] != []
    assert all(name in contract["annotations"][NETWORKS_ANNOTATION] for name in outputs["networks"])
    assert outputs["address_plan"]["pools"]
    assert outputs.get("access") is outputs.get("verification") is None


def test_the_way_to_a_cluster_without_a_public_address_is_an_output() -> None:
    args = {key: value for key, value in sections("oke-a100")["cluster"].items() if key != "provider"}
    cluster = GpuClusterArgs(oke={**args, "tenancyId": TENANCY}, **platform("oke-a100"))  # type: ignore[arg-type]

    found = exported(lambda: GpuCluster("train", cluster), "access")
    assert found["access"] == "ssh -J opc@203.0.113.9 opc@10.140.0.9"


class Cluster(World):
    """A cluster that measures, and refuses resources of one kind."""

    def __init__(self, refused: str = "") -> None:
        super().__init__(ANSWERS)
        self.refused = refused

    def computed(self, kind: str, name: str) -> dict[str, Any]:
        if kind == self.refused:
            raise RuntimeError("refused")
        outcome = {"outcome": json.dumps({"state": "passed", "job": "a"})}
        return outcome if kind == "Verification" else super().computed(kind, name)


def test_the_outcome_of_a_verification_is_an_output() -> None:
    verification = VerificationSettingsArgs(enabled=True, image="registry.example/nccl-tests:1")
    make = lambda: GpuFabric("train", arguments(verification=verification))  # noqa: E731
    outputs = exported(make, "verification", "ready", world=Cluster())

    assert outputs == {"verification": {"state": "passed", "job": "a"}, "ready": True}


@pytest.mark.parametrize(
    ("make", "refused"),
    [
        (lambda: GpuFabric("train", arguments()), "NetworkAttachmentDefinition"),
        (lambda: DoksCluster("train", doks()), "KubernetesNodePool"),
    ],
)
def test_nothing_is_ready_while_a_resource_is_missing(make: Callable[[], Any], refused: str) -> None:
    recording = Recording()
    with pytest.raises(Exception, match="refused"):
        run(lambda: pulumi.export("ready", make().ready), recording=recording, world=Cluster(refused))

    assert "ready" not in recording.outputs


def test_a_fabric_that_depends_on_a_cluster_waits_until_its_machines_have_joined() -> None:
    def program() -> None:
        cluster = OkeCluster("train", oke())
        pools = [GpuPoolArgs(name="gpu", shape=H100, nodes=4)]
        args = GpuFabricArgs(kubeconfig=cluster.kubeconfig, pools=pools, **platform("oke-h100"))
        GpuFabric("fabric", args, pulumi.ResourceOptions(depends_on=[cluster]))

    async def stay_away(*_: object) -> None:
        raise pulumi.RunError("nodes stay away")

    with patch("components.cluster.oke.wait_until_joined", stay_away):
        refused, recording = refusal(program)

    assert "nodes stay away" in refused
    assert "train-pool-gpu" in {entry.name for entry in recording.resources}
    assert [entry.name for entry in recording.resources if entry.type.startswith("kubernetes:")] == []


def test_what_uses_the_contract_comes_after_every_resource_of_the_fabric() -> None:
    def program() -> None:
        found = GpuFabric("train", arguments())
        pulumi.CustomResource("example:index:Job", "job", {"networks": found.networks, "contract": found.contract})

    recording = run(program)

    made = {entry.name for entry in recording.resources if entry.custom and entry.parent not in ("", "train")}
    assert made - {"job"} <= recording["job"].dependencies
    assert recording["job"].inputs["networks"]


def test_further_fabrics_have_networks_and_a_contract_of_their_own() -> None:
    pools = [GpuPoolArgs("new", H100, 2), GpuPoolArgs("old", "BM.GPU.A100-v2.8", 2)]
    old = FurtherFabricArgs(pools=["old"], model="sriov", addressing=AddressingArgs(supernet="172.20.0.0/16"))

    def program() -> None:
        found = GpuFabric("train", arguments(pools=pools, fabrics={"old": old}))
        pulumi.export("contract", found.contract)
        pulumi.export("contracts", found.contracts)

    recording = run(program)

    networks = [entry.name for entry in recording.of_type(":NetworkAttachmentDefinition")]
    # Sixteen rails of each kind of machines.
    assert (len([name for name in networks if "old-rail-" in name]), len(networks)) == (16, 32)
    contracts = recording.outputs["contracts"]
    assert contracts["main"] == recording.outputs["contract"]
    assert contracts["old"]["resources"]["nvidia.com/old_rail_15"] == "1"


# Parts of a fabric

# Schedulers, controllers of jobs, DRA drivers, AMD's operator, and what concerns nodes as a whole belong to a whole
# fabric alone.
WITHOUT_PARTS = {
    "AmdGpuOperator": "kube-amd-gpu",
    "AmdNetworkOperator": "kube-amd-network",
    "Dranet": "dranet",
    "GpuDraDriver": "dra-driver-nvidia-gpu",
}
IN_NO_PART = {
    *WITHOUT_PARTS,
    *("DeviceConfig", "NetworkConfig", "Domains"),
    *(f"{key[0].upper()}{key[1:]}" for key in SCHEDULER_NAMESPACES),
    *("FabricCheck", "FabricReadiness", "NodeLabels", "Waves", "Schedule", "Monitoring"),
}
ON_ANY_CLUSTER = sorted(
    name for name in STACKS if sections(name).get("cluster", {}).get("provider") == "existing"
)  # fmt: skip


def on_cluster(recording: Recording, prefixes: list[str]) -> Counter[tuple[str, str]]:
    """Type and name of all that is not a component or a provider, without the components' prefixes."""

    def shortened(name: str) -> str:
        return next((name.removeprefix(f"{prefix}-") for prefix in prefixes if name.startswith(prefix)), name)

    planned = (e for e in recording.resources if not e.type.startswith(("gpu-fabric:", "pulumi:providers:")))
    return Counter((entry.type, shortened(entry.name)) for entry in planned)


@pytest.mark.parametrize("stack", ON_ANY_CLUSTER)
def test_the_parts_of_a_fabric_register_together_what_the_fabric_does(stack: str) -> None:
    args = of_stack(stack, secrets={"certificate": '{"certificate": "a", "key": "b", "authority": "c"}'})

    def in_parts() -> None:
        before: list[pulumi.Resource] = []
        for part in PARTS:
            try:
                before.append(part(part.__name__.lower(), args, pulumi.ResourceOptions(depends_on=list(before))))
            except pulumi.RunError as error:
                assert "has nothing for a component" in str(error)  # noqa: PT017

    whole = run(lambda: GpuFabric("whole", args))
    of_whole = on_cluster(whole, ["whole"])
    of_parts = on_cluster(run(in_parts), [part.__name__.lower() for part in PARTS])
    missing, more = of_whole - of_parts, of_parts - of_whole
    outside = {entry.name for entry in whole.resources if entry.type.rpartition(":")[2] in IN_NO_PART}

    assert not more
    assert {name for _, name in missing if not any(f"whole-{name}".startswith(f"{part}-") for part in outside)} <= {
        f"namespaces-{name}" for name in (*SCHEDULER_NAMESPACES.values(), *WITHOUT_PARTS.values())
    }


def test_a_part_comes_after_the_resources_and_waits_of_the_parts_that_it_depends_on() -> None:
    seen: list[str] = []

    def program() -> None:
        operator = NetworkOperator("operator", arguments())
        operator.ready.apply(lambda _: seen.append("ready"))
        IpPools("pools", arguments(), pulumi.ResourceOptions(depends_on=[operator]))

    recording = run(program)

    assert seen == ["ready"]
    assert "operator-nic-policies-nic-cluster-policy" in recording["pools-kubernetes"].dependencies


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


class OfAnother(FakeApiServer):
    """A cluster on which another stack has every ConfigMap, whatever its name is."""

    def answer(self, method: str, target: str, body: Any, bearer: str) -> tuple[int, Any]:
        place, _, name = target.rpartition("/")
        if not place.endswith("/configmaps"):
            return super().answer(method, target, body, bearer)
        marked = {"name": name, "namespace": "training", "annotations": {"gpu-fabric/stack": "other"}}
        return 200, {"metadata": marked}


@pytest.mark.parametrize("make", [GpuFabric, NcclFiles], ids=["whole", "part"])
@pytest.mark.parametrize("late", [False, True], ids=["text", "output"])
def test_a_component_takes_over_nothing_of_another_stack_on_a_shared_cluster(make: Any, late: bool) -> None:
    def program(server: FakeApiServer) -> None:
        text = server.kubeconfig(TOKEN)
        shared = replace(SRIOV, prefix="team", namespaces=["training"])
        make("train", arguments(kubeconfig=pulumi.Output.from_input(text) if late else text, fabric=shared))

    with serving(OfAnother()) as server:
        recording = Recording()
        with pytest.raises(pulumi.RunError) as refused:
            record(lambda: program(server), stack="mine", world=World(ANSWERS), recording=recording)

    text = str(refused.value)
    assert "1 problem, nothing was created" in text
    assert "of stack other" in text
    assert not [entry for entry in recording.resources if entry.type.startswith("kubernetes:")]
