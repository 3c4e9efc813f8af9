"""Public components, most of which create a cluster: what they register and refuse, and that they read nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pulumi
import pytest
import yaml
from programs import ANSWERS, STACKS, TENANCY, answered_waits
from pulumi.output import UNKNOWN
from recording import Recording, Registration, World, record
from stub_cluster import KUBECONFIG

from components import (
    DoksCluster,
    DoksClusterArgs,
    DoksPoolArgs,
    GpuCluster,
    GpuClusterArgs,
    GpuFabric,
    GpuFabricArgs,
    GpuPoolArgs,
    OkeCluster,
    OkeClusterArgs,
    OkePoolArgs,
    RangesArgs,
)
from components.args import DoksKubeconfigArgs, IdentityArgs, OkeKubeconfigArgs
from gpu_fabric.contract.cluster import ClusterContract

pytestmark = pytest.mark.components

TOKEN, KEY = "the-token-of-the-program", "the-private-key"
H200 = "gpu-h200x8-1128gb-fabric-contracted"
CLOUDS = ("digitalocean:", "oci:")
Options = pulumi.ResourceOptions | None
Make = Callable[[str, Options], Any]


def doks(**changes: Any) -> DoksClusterArgs:
    """The committed H200 stack's cluster, with the account's token."""
    pools = [DoksPoolArgs(name="gpu", shape=H200, nodes=2)]
    ranges = RangesArgs(pods="10.156.0.0/16", services="10.157.0.0/19", nodes="10.158.0.0/20")
    args = DoksClusterArgs(region="nyc2", version="1.36.1-do.0", pools=pools, ranges=ranges, token=TOKEN)
    return replace(args, **changes)


def oke(**changes: Any) -> OkeClusterArgs:
    """The committed H100 stack's cluster, with an account's settings."""
    args = OkeClusterArgs(
        region="us-ashburn-1",
        compartment_id="ocid1.compartment.oc1..aaaaaaaaexample",
        tenancy_id=TENANCY,
        version="1.27.2",
        pools=[OkePoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=4, availability_domain="AD-1")],
        ranges=RangesArgs(pods="10.240.0.0/12", services="10.96.0.0/16", nodes="10.140.0.0/16"),
        settings={"tenancyOcid": TENANCY, "privateKey": KEY},
    )
    return replace(args, **changes)


def platform(stack: str) -> dict[str, Any]:
    """The sections of a committed stack file about what is on the cluster."""
    config = yaml.safe_load(STACKS[stack].read_text())["config"]
    return {key: config.get(f"gpu-fabric:{key}") for key in ("fabric", "software")}


def gpu(stack: str, **changes: Any) -> GpuClusterArgs:
    """A cluster with its fabric, as a committed stack has it."""
    cluster = {"doks": doks()} if stack.startswith("doks") else {"oke": oke()}
    return GpuClusterArgs(**{**cluster, **platform(stack), **changes})


MAKES: dict[str, Make] = {
    "DoksCluster": lambda name, opts: DoksCluster(name, doks(), opts),
    "OkeCluster": lambda name, opts: OkeCluster(name, oke(), opts),
    "GpuCluster at DigitalOcean": lambda name, opts: GpuCluster(name, gpu("doks-h200"), opts),
    "GpuCluster at Oracle": lambda name, opts: GpuCluster(name, gpu("oke-h100"), opts),
}
every_cluster = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
FABRIC = GpuFabricArgs(
    kubeconfig=KUBECONFIG,
    pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=4)],
    fabric={"model": "sriov", "addressing": {"supernet": "192.168.0.0/16"}},
)
EVERY: dict[str, Make] = {**MAKES, "GpuFabric": lambda name, opts: GpuFabric(name, FABRIC, opts)}
every_component = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def run(program: Callable[[], object], **options: Any) -> Recording:
    """What a program registers, at clouds and on clusters where every wait ends at once."""

    def registered() -> None:
        program()

    with answered_waits():
        return record(registered, stack="mine", **{"world": World(ANSWERS), **options})


def alone(make: Make, opts: Options = None, **options: Any) -> Recording:
    return run(lambda: make("train", opts), **options)


def refusal(program: Callable[[], object]) -> tuple[str, Recording]:
    """How a program is refused, and what it had registered."""
    recording = Recording()
    with pytest.raises(pulumi.RunError) as refused:
        run(program, recording=recording)
    return str(refused.value), recording


def kinds(recording: Recording) -> set[str]:
    return {entry.type.rpartition(":")[2] for entry in recording.resources}


def by_name(recording: Recording) -> dict[tuple[str, str], Registration]:
    return {(entry.type, entry.name): entry for entry in recording.resources}


def of_providers(entries: list[Registration], prefix: str, *providers: str) -> dict[str, Any]:
    """Resources of some providers by their names without a prefix: the inputs of each."""
    return {
        entry.name.removeprefix(prefix): (entry.type, entry.inputs, entry.ignore_changes, entry.timeouts)
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


@every_component
def test_every_resource_is_in_the_component_and_its_name_begins_with_the_components(make: Make) -> None:
    recording = alone(make)

    inside = {"train"} | {entry.name for entry in recording.resources if entry.parent == "train"}
    assert [entry.name for entry in recording.resources[1:] if entry.parent not in inside] == []
    assert [entry.name for entry in recording.resources[1:] if not entry.name.startswith("train-")] == []
    assert recording.resources[0].type == f"gpu-fabric:index:{type_of(recording)}"


def type_of(recording: Recording) -> str:
    return recording["train"].type.rpartition(":")[2]


@every_component
def test_two_in_one_program_have_nothing_in_common(make: Make) -> None:
    def program() -> None:
        make("train", None)
        make("research", None)

    recording = run(program)

    names = [(entry.type, entry.name) for entry in recording.resources]
    assert len(names) == len(set(names))
    for name, other in (("train", "research"), ("research", "train")):
        own = [entry for entry in recording.resources if entry.name.startswith(f"{name}-")]
        assert {entry.provider.partition("-")[0] for entry in own} <= {name, ""}
        assert [entry.name for entry in own for needed in entry.dependencies if needed.startswith(other)] == []
    hooks = [hook for entry in recording.resources for hook in entry.error_hooks]
    # Advice is on what clouds refuse.
    assert bool(hooks) == any(entry.type.startswith(CLOUDS) for entry in recording.resources)
    assert not hooks or {hook.partition(":")[0] for hook in hooks} == {"train", "research"}


@pytest.mark.parametrize("stack", ["doks-h200", "oke-h100"])
def test_a_cluster_with_a_fabric_is_what_a_stack_of_the_same_sections_is(
    stack: str, recorded: Callable[[str], Recording]
) -> None:
    providers = (*CLOUDS, "kubernetes:")
    found = run(lambda: GpuCluster(stack, gpu(stack)), world=SameIds(f"{stack}-")).resources

    assert of_providers(found, f"{stack}-", *providers) == {
        name.removeprefix("cluster-"): resource
        for name, resource in of_providers(recorded(stack).resources, "", *providers).items()
    }


@pytest.mark.parametrize("stack", ["doks-h200", "oke-h100"])
def test_a_cluster_alone_is_a_stacks_cluster_without_what_is_on_it(
    stack: str, recorded: Callable[[str], Recording]
) -> None:
    make = {"doks-h200": lambda: DoksCluster(stack, doks()), "oke-h100": lambda: OkeCluster(stack, oke())}[stack]
    recording = run(make, world=SameIds(f"{stack}-"))

    expected = of_providers(recorded(stack).resources, "cluster-", *CLOUDS)
    assert of_providers(recording.resources, f"{stack}-", *CLOUDS) == expected
    assert [entry for entry in recording.resources if entry.type.startswith("kubernetes:")] == []


@every_component
def test_protection_reaches_every_resource_and_nothing_is_taken_for_gone_with_the_cluster(make: Make) -> None:
    recording = alone(make, pulumi.ResourceOptions(protect=True))

    assert [entry.name for entry in recording.resources if not entry.protect] == []
    assert {entry.deleted_with for entry in recording.resources} == {""}


def test_protection_of_a_parent_is_protection_of_the_cluster() -> None:
    def program() -> None:
        outer = pulumi.ComponentResource(
            "example:index:Platform", "platform", None, pulumi.ResourceOptions(protect=True)
        )
        GpuCluster("train", gpu("doks-h200"), pulumi.ResourceOptions(parent=outer))

    recording = run(program)

    assert recording["train"].parent == "platform"
    assert [entry.name for entry in recording.resources if not entry.protect or entry.deleted_with] == []


@pytest.mark.parametrize(("stack", "cluster"), [("doks-h200", "train-doks"), ("oke-h100", "train-cluster")])
def test_objects_on_the_cluster_are_deleted_with_it_without_requests_of_their_own(stack: str, cluster: str) -> None:
    recording = run(lambda: GpuCluster("train", gpu(stack)))

    on_cluster = [entry for entry in recording.resources if entry.type.startswith("kubernetes:")]
    assert len(on_cluster) > 10
    assert {entry.deleted_with for entry in on_cluster} == {cluster}


@every_cluster
def test_everything_at_the_cloud_comes_after_what_the_component_depends_on(make: Make) -> None:
    def program() -> None:
        first = pulumi.CustomResource("example:index:Order", "order", {})
        make("train", pulumi.ResourceOptions(depends_on=[first]))

    recording = run(program)

    clouds = [entry for entry in recording.resources if entry.type.startswith(CLOUDS)]
    assert clouds
    assert [entry.name for entry in clouds if "order" not in entry.dependencies] == []


@every_component
def test_a_transformation_reaches_every_resource(make: Make) -> None:
    seen: set[str] = set()

    def look(args: pulumi.ResourceTransformationArgs) -> None:
        seen.add(args.name)

    recording = alone(make, pulumi.ResourceOptions(transformations=[look]))

    assert {entry.name for entry in recording.resources} == seen


# Accounts


@every_component
def test_nothing_is_read_from_the_environment_the_configuration_or_the_stack(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = by_name(alone(make))
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
        assert by_name(alone(make, config=config)) == expected


@every_cluster
def test_what_opens_the_account_is_secret_wherever_it_is(make: Make) -> None:
    def program() -> None:
        pulumi.export("kubeconfig", make("train", None).kubeconfig)

    recording = run(program)

    assert recording.secret_outputs == {"kubeconfig"}
    plain = [(k, v) for entry in recording.resources for k, v in entry.inputs.items() if k not in entry.secrets]
    assert [secret for secret in (TOKEN, KEY) if secret in json.dumps(plain, default=str)] == []


def test_a_provider_of_digitalocean_in_the_options_takes_the_place_of_a_token() -> None:
    def program() -> None:
        account = pulumi.ProviderResource("digitalocean", "theirs", {})
        args = doks(token=None, kubeconfig=DoksKubeconfigArgs(mode="exec"))
        GpuCluster("train", GpuClusterArgs(doks=args), pulumi.ResourceOptions(provider=account))

    recording = run(program)

    assert {entry.provider for entry in recording.resources if entry.type.startswith(CLOUDS)} == {"theirs"}
    assert [entry.name for entry in recording.of_type("providers:digitalocean")] == ["theirs"]
    assert {entry.provider for entry in recording.of_type(":NetworkAttachmentDefinition")} == {"train-kubernetes"}


@pytest.mark.parametrize("passed", ["provider", "providers", "by name", "by the parent"])
def test_a_provider_of_oracle_in_the_options_makes_the_look_ups_too(passed: str) -> None:
    def program() -> None:
        account = pulumi.ProviderResource("oci", "theirs", {})
        opts = {
            "provider": pulumi.ResourceOptions(provider=account),
            "providers": pulumi.ResourceOptions(providers=[account]),
            "by name": pulumi.ResourceOptions(providers={"oci": account}),
        }
        if passed == "by the parent":
            outer = pulumi.ComponentResource("example:index:Platform", "platform", None, opts["providers"])
            opts[passed] = pulumi.ResourceOptions(parent=outer)
        OkeCluster("train", oke(settings=None), opts[passed])

    asked: list[str] = []
    invoke = pulumi.runtime.invoke_output

    def seen(function: str, arguments: Any, opts: Any) -> Any:
        asked.append(opts.provider.pulumi_resource_name)
        return invoke(function, arguments, opts)

    with patch("pulumi.runtime.invoke_output", seen):
        recording = run(program)

    assert set(asked) == {"theirs"}
    assert {entry.provider for entry in recording.resources if entry.type.startswith(CLOUDS)} == {"theirs"}
    assert [entry.name for entry in recording.of_type("providers:oci")] == ["theirs"]


def test_policies_of_another_home_region_go_by_a_second_provider_with_the_same_settings() -> None:
    recording = run(lambda: OkeCluster("train", oke(identity=IdentityArgs(home_region="us-phoenix-1"))))

    regions = {entry.name: entry.inputs["region"] for entry in recording.of_type("providers:oci")}
    assert regions == {"train-oci": "us-ashburn-1", "train-oci-home": "us-phoenix-1"}
    assert {entry.provider for entry in recording.of_type(":Policy")} == {"train-oci-home"}
    assert recording["train-oci-home"].secrets == {"tenancyOcid", "privateKey"}


def test_without_policies_of_its_own_a_cluster_needs_no_second_provider() -> None:
    def program() -> None:
        identity = IdentityArgs(create=False, home_region="us-phoenix-1")
        OkeCluster("train", oke(settings=None, identity=identity), with_provider("oci"))

    assert [entry.name for entry in run(program).of_type("providers:oci")] == ["theirs"]


def test_the_tenancy_may_be_among_the_settings_and_is_then_no_secret_of_the_machines() -> None:
    def program() -> None:
        OkeCluster("train", oke(tenancy_id=None, settings={"tenancyOcid": pulumi.Output.secret(TENANCY)}))

    recording = run(program)

    configuration = recording["train-configuration-gpu"]
    details = configuration.inputs["instanceDetails"]["launchDetails"]
    assert (details["metadata"]["oke-tenancy-id"], configuration.secrets) == (TENANCY, frozenset())


def test_a_service_accounts_token_is_an_argument_and_may_be_an_output() -> None:
    def program() -> None:
        kubeconfig = OkeKubeconfigArgs(mode="token")
        OkeCluster("train", oke(kubeconfig=kubeconfig, kubeconfig_token=pulumi.Output.from_input("of-the-account")))

    recording = run(program)

    provider = recording["train-kubernetes"]
    assert yaml.safe_load(provider.inputs["kubeconfig"])["users"][0]["user"] == {"token": "of-the-account"}
    assert provider.secrets == {"kubeconfig"}


@pytest.mark.parametrize(
    "make",
    [
        lambda unknown: DoksCluster(
            "train", doks(token=unknown, version="1.36", version_applies="always", protect=True)
        ),
        lambda unknown: OkeCluster("train", oke(settings={"tenancyOcid": TENANCY, "privateKey": unknown})),
        lambda unknown: GpuCluster("train", gpu("doks-h200", doks=doks(token=unknown, version="1.36"))),
    ],
)
def test_a_preview_shows_every_resource_while_the_account_is_not_known_yet(make: Callable[[Any], Any]) -> None:
    unanswered = World({function: {} for function in ANSWERS})
    shown = run(lambda: make(pulumi.Output.from_input(UNKNOWN)), preview=True, world=unanswered)

    created = run(lambda: make(pulumi.Output.from_input("known")))
    assert {entry.name for entry in shown.resources} == {entry.name for entry in created.resources}


# Refusals


def test_all_mistakes_are_reported_at_once_by_rule_and_argument_and_nothing_is_registered() -> None:
    pools = [DoksPoolArgs(name="gpu", shape="gpu-h200x9", nodes=0, contracted_nodes=0)]
    args = doks(token="", pools=pools, ranges=RangesArgs(pods="10.244.0.0"), system_pool={"sise": "s-4vcpu-8gb"})
    cluster = GpuClusterArgs(doks=args, fabric={"modell": "sriov"})
    refused, recording = refusal(lambda: GpuCluster("train", cluster))

    assert refused.startswith("GpuCluster train: 7 problems, nothing was created.")
    for line in (
        "doks.token: must be text, or an Output of it [SPC002]",
        "doks.pools[0].shape: no shape 'gpu-h200x9' in the catalog [SPC002]",
        "doks.pools[0].nodes: must be greater than or equal to 1 [SPC002]",
        "doks.pools[0].contracted_nodes: must be greater than or equal to 1 [SPC002]",
        "doks.ranges.pods: this is not a valid network [SPC002]",
        "doks.system_pool.sise: this key is not known [SPC001]",
        "fabric.modell: this key is not known [SPC001]",
    ):
        assert f"  GpuCluster train: {line}\n" in refused
    assert recording.resources == []


@pytest.mark.parametrize(
    ("program", "line", "remedy"),
    [
        (
            lambda: DoksCluster("train", doks(token=None)),
            "DoksCluster train: token: no API token of DigitalOcean [SPC003]",
            "a provider of the package digitalocean in the options",
        ),
        (
            lambda: DoksCluster("train", doks(token=None), with_provider("digitalocean")),
            "DoksCluster train: token: the kubeconfig holds the API token",
            "or choose another kubeconfig.mode: exec or raw",
        ),
        (
            lambda: OkeCluster("train", oke(tenancy_id=None, settings=None)),
            "OkeCluster train: tenancy_id: machines need the tenancy's id to join [SPC003]",
            "write it, or settings.tenancyOcid",
        ),
        (
            lambda: OkeCluster("train", oke(settings={"tenancyOcd": TENANCY})),
            "OkeCluster train: settings: the provider has no setting 'tenancyOcd' [SPC001]",
            "did you mean 'tenancyOcid'?",
        ),
        (
            lambda: OkeCluster("train", oke(settings={"privateKey": 7})),
            "OkeCluster train: settings: the value of privateKey must be text, or an Output of it [SPC002]",
            "give it a text that is not empty",
        ),
        (
            lambda: OkeCluster("train", oke(settings="~/.oci/config")),
            "OkeCluster train: settings: must be a mapping of names to texts [SPC002]",
            "write {name: text}",
        ),
        (
            lambda: OkeCluster("train", oke(kubeconfig=OkeKubeconfigArgs(mode="token"))),
            "OkeCluster train: kubeconfig_token: a kubeconfig of mode token needs the token",
            "before there is a cluster, choose kubeconfig.mode: exec",
        ),
        (
            lambda: OkeCluster("train", oke(kubeconfig_token=KEY)),
            "OkeCluster train: kubeconfig_token: no kubeconfig holds this token [SPC002]",
            "or choose kubeconfig.mode: token",
        ),
        (
            lambda: OkeCluster(
                "train", oke(settings=None, identity=IdentityArgs(home_region="us-phoenix-1")), with_provider("oci")
            ),
            "OkeCluster train: settings: policies are created in region us-phoenix-1",
            "for a second provider",
        ),
        (
            lambda: GpuCluster("train", GpuClusterArgs()),
            "GpuCluster train: neither `doks` nor `oke` is given [SPC002]",
            "give one of them",
        ),
        (
            lambda: GpuCluster("train", GpuClusterArgs(doks=doks(), oke=oke())),
            "GpuCluster train: both `doks` and `oke` are given [SPC002]",
            "give one of them",
        ),
        (
            lambda: GpuCluster("train", GpuClusterArgs(doks=pulumi.Output.from_input(doks()))),  # type: ignore[arg-type]
            "GpuCluster train: doks: this is an Output, and decides which resources there are",
            "write a plain value",
        ),
        (
            lambda: GpuCluster(
                "train", GpuClusterArgs(doks={"region": "nyc2", "token": TOKEN, "systemPool": {"nodes": -1}})
            ),  # type: ignore[arg-type]
            "GpuCluster train: doks.systemPool.nodes: must be greater than or equal to 0 [SPC002]",
            "number of CPU nodes",
        ),
        (
            lambda: DoksCluster("train", {"region": "nyc2"}),  # type: ignore[arg-type]
            "DoksCluster train: the arguments are of type dict, and must be DoksClusterArgs [SPC002]",
            "give it DoksClusterArgs(...)",
        ),
        (
            lambda: OkeCluster("train", doks()),  # type: ignore[arg-type]
            "OkeCluster train: the arguments are of type DoksClusterArgs, and must be OkeClusterArgs [SPC002]",
            "give it OkeClusterArgs(...)",
        ),
        (
            lambda: GpuCluster("train", None),  # type: ignore[arg-type]
            "GpuCluster train: the arguments are of type NoneType, and must be GpuClusterArgs [SPC002]",
            "give it GpuClusterArgs(...)",
        ),
        (
            lambda: DoksCluster("Train_1", doks()),
            "DoksCluster Train_1: name: ",
            "",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_argument(program: Callable[[], Any], line: str, remedy: str) -> None:
    refused, recording = refusal(program)

    assert line in refused
    assert remedy in refused
    assert "gpu-fabric:" not in refused
    assert kinds(recording) <= {"digitalocean", "oci"}


def with_provider(package: str) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(provider=pulumi.ProviderResource(package, "theirs", {}))


@pytest.mark.parametrize(
    ("place", "make"),
    [
        ("DoksCluster train: region", lambda unknown: DoksCluster("train", doks(region=unknown))),
        (
            "DoksCluster train: pools[0].nodes",
            lambda unknown: DoksCluster("train", doks(pools=[DoksPoolArgs("gpu", H200, unknown)])),
        ),
        ("OkeCluster train: compartment_id", lambda unknown: OkeCluster("train", oke(compartment_id=unknown))),
        (
            "GpuCluster train: doks.version",
            lambda unknown: GpuCluster("train", GpuClusterArgs(doks=doks(version=unknown))),
        ),
        ("GpuCluster train: fabric", lambda unknown: GpuCluster("train", gpu("doks-h200", fabric=unknown))),
    ],
)
def test_an_output_in_the_place_of_a_plain_value_is_refused(place: str, make: Callable[[Any], Any]) -> None:
    refused, recording = refusal(lambda: make(pulumi.Output.from_input("nyc2")))

    assert f"{place}: this is an Output, and decides which resources there are" in refused
    assert recording.resources == []


def test_a_version_that_digitalocean_does_not_offer_names_the_argument() -> None:
    recording = Recording()
    world = World({"getKubernetesVersions": {"latestVersion": "", "validVersions": []}})
    args = doks(version="1.36", version_applies="always", protect=True)
    with pytest.raises(pulumi.RunError, match=r"Write one in the arguments of DoksCluster train as version"):
        run(lambda: DoksCluster("train", args), world=world, recording=recording)

    assert [entry for entry in recording.resources if entry.type.startswith("digitalocean:")] == []


def test_a_missing_image_of_oracle_names_the_argument() -> None:
    world = World({**ANSWERS, "getNodePoolOption": {"sources": []}})
    with pytest.raises(pulumi.RunError, match=r"write doks\.|write oke\.(system_pool|pools\[\])\.image_id"):
        run(lambda: GpuCluster("train", gpu("oke-h100")), world=world)


# Advice on what a cloud refuses


@pytest.mark.parametrize(
    ("make", "name", "error", "said"),
    [
        (
            lambda: DoksCluster("train", doks()),
            "train-doks",
            "timed out",
            "write its id in the arguments of DoksCluster train as adopt.cluster",
        ),
        (
            lambda: GpuCluster("train", gpu("doks-h200")),
            "train-pool-gpu",
            "timed out",
            "write its id in the arguments of GpuCluster train as doks.adopt.pools.gpu",
        ),
        (
            lambda: GpuCluster("train", gpu("oke-h100")),
            "train-group-nodes",
            "403-NotAllowed, must be directed to the home region",
            "write it into the arguments of GpuCluster train: oke.identity.home_region",
        ),
    ],
)
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


# Outputs


@pytest.mark.parametrize(
    ("make", "identity"),
    [
        (lambda: DoksCluster("train", doks()), "train-doks-id"),
        (lambda: OkeCluster("train", oke()), "train-cluster-id"),
    ],
)
def test_a_cluster_alone_has_the_contract_of_a_cluster_stack(make: Callable[[], Any], identity: str) -> None:
    def program() -> None:
        cluster = make()
        for name in ("cluster", "cluster_id", "ready"):
            pulumi.export(name, getattr(cluster, name))

    outputs = run(program).outputs

    assert ClusterContract.model_validate_json(json.dumps(outputs["cluster"])).cluster_id == identity
    assert (outputs["cluster_id"], outputs["ready"]) == (identity, True)


def test_a_cluster_with_a_fabric_has_the_outputs_of_both() -> None:
    def program() -> None:
        found = GpuCluster("train", gpu("doks-h200"))
        for name in ("cluster_id", "access", "contract", "address_plan", "networks", "verification", "ready"):
            pulumi.export(name, getattr(found, name))

    outputs = run(program).outputs

    assert (outputs["cluster_id"], outputs["ready"], outputs["contract"]["stack"]) == ("train-doks-id", True, "train")
    assert outputs["networks"] == [f"roce-net-fabric{rail}" for rail in range(8)]
    assert outputs.get("access") is outputs.get("verification") is None


def test_the_way_to_a_cluster_without_a_public_address_is_an_output() -> None:
    section = yaml.safe_load(STACKS["oke-a100"].read_text())["config"]["gpu-fabric:cluster"]
    args = {key: value for key, value in section.items() if key != "provider"}

    def program() -> None:
        cluster = GpuCluster("train", GpuClusterArgs(oke={**args, "tenancyId": TENANCY}, **platform("oke-a100")))  # type: ignore[arg-type]
        pulumi.export("access", cluster.access)

    assert run(program).outputs["access"] == "ssh -J opc@203.0.113.9 opc@10.140.0.9"


def test_a_fabric_that_depends_on_a_cluster_waits_until_its_machines_have_joined() -> None:
    recording = Recording()

    def program() -> None:
        cluster = OkeCluster("train", oke())
        pools = [GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=4)]
        fabric = GpuFabricArgs(kubeconfig=cluster.kubeconfig, pools=pools, **platform("oke-h100"))
        GpuFabric("fabric", fabric, pulumi.ResourceOptions(depends_on=[cluster]))

    with (
        patch("components.cluster.oke_nodes.wait_until_joined", stay_away),
        pytest.raises(pulumi.RunError, match="nodes stay away"),
    ):
        run(program, recording=recording)

    assert "train-pool-gpu" in {entry.name for entry in recording.resources}
    assert [entry.name for entry in recording.resources if entry.type.startswith("kubernetes:")] == []


async def stay_away(*_: object) -> None:
    raise pulumi.RunError("nodes stay away")


def test_a_cluster_is_not_ready_while_its_pool_is_missing() -> None:
    class Refusing(World):
        """An account that has no GPU nodes left."""

        def computed(self, kind: str, name: str) -> dict[str, Any]:
            if kind == "KubernetesNodePool":
                raise RuntimeError("no nodes left")
            return super().computed(kind, name)

    recording = Recording()

    def program() -> None:
        pulumi.export("ready", DoksCluster("train", doks()).ready)

    with pytest.raises(Exception, match="no nodes left"):
        run(program, recording=recording, world=Refusing(ANSWERS))

    assert "ready" not in recording.outputs
