"""A cluster that Oracle makes: the plan's records as resources, what waits for what, and how the stack reaches it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from programs import ANSWERS, OKE, ROOT, STACKS, TENANCY, run_program, stack_config
from recording import AUTHORITY, Recording, Registration

from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Record
from gpu_fabric.prepare import prepare_stack
from sandbox.cloud.oci.fields import fields_of
from sandbox.cloud.schema import failures

pytestmark = pytest.mark.components

Run = Callable[..., Recording]
IMAGE = "ocid1.image.oc1.iad.aaaaaaaaexample"
CLUSTER, POOL, SYSTEM = "cluster-cluster", "cluster-pool-gpu", "cluster-system-pool"
NETWORK = "v1:NetworkAttachmentDefinition"


@pytest.fixture
def run(kubeconfig: Path) -> Run:
    """Records the H100 stack with other settings of its cluster; `pool` are those of its pool."""

    def with_settings(
        changed: dict[str, Any] | None = None, pool: dict[str, Any] | None = None, **options: Any
    ) -> Recording:
        config = stack_config(STACKS["oke-h100"], kubeconfig)
        cluster = config["gpu-fabric:cluster"]
        cluster |= changed or {}
        cluster["pools"][0] |= {"imageId": IMAGE, **(pool or {})}
        return run_program("oke-h100", config, **options)

    return with_settings


@pytest.fixture(scope="module")
def h100(recorded: Callable[[str], Recording]) -> Recording:
    return recorded("oke-h100")


@pytest.fixture(params=OKE)
def planned(request: pytest.FixtureRequest, recorded: Callable[[str], Recording]) -> tuple[OkeResources, Recording]:
    """Each committed stack: what its plan has for Oracle, and what was registered."""
    file = STACKS[request.param]
    resources = prepare_stack(request.param, file.parent).cluster.oke
    assert resources is not None
    return resources, recorded(request.param)


def at_oracle(recording: Recording) -> list[Registration]:
    return [entry for entry in recording.resources if entry.type.startswith("oci:")]


def kind(entry: Registration) -> str:
    return entry.type.rpartition(":")[2]


def before(resources: OkeResources, record: Record) -> set[str]:
    """The records that one must come after, by its own words."""
    network = {entry.logical_name for entry in resources.network.records}
    made = {entry.logical_name for entry in resources.records}
    named = {name for entry in record.after for name in (network if entry == "network" else {entry})}
    return named | ({reference.ref for reference in record.references} & made)


def test_oracles_provider_takes_all_that_it_is_told(on_oke: Recording) -> None:
    wrong = [(entry.name, failures(fields_of(kind(entry)), entry.inputs)) for entry in at_oracle(on_oke)]
    assert [entry for entry in wrong if entry[1]] == []


# Order, waits and deletion


def test_every_resource_comes_after_all_that_its_record_needs(planned: tuple[OkeResources, Recording]) -> None:
    resources, recording = planned
    early = [
        (record.logical_name, name)
        for record in resources.records
        for name in before(resources, record)
        if not recording.comes_after(f"cluster-{record.logical_name}", f"cluster-{name}")
    ]
    assert early == []


def test_only_what_clashes_by_name_or_range_is_deleted_before_it_is_made_anew(run: Run) -> None:
    addons = {"addons": [{"name": "CertManager"}], "access": {"mode": "none"}}
    early = {kind(entry) for entry in at_oracle(run(addons)) if entry.delete_before_replace}
    assert early == {"Addon", "DynamicGroup", "Policy", "Subnet"}


def test_all_that_lies_on_the_cluster_goes_with_it_and_machines_do_not(run: Run) -> None:
    recording = run({"addons": [{"name": "CertManager"}]})
    on_cluster = {entry.name for entry in recording.resources if entry.type.startswith("kubernetes:")}
    gone = {entry.name for entry in recording.resources if entry.deleted_with == CLUSTER}
    assert gone == on_cluster | {"cluster-addon-certmanager"}
    assert {entry.deleted_with for entry in recording.resources} == {CLUSTER, ""}


def test_where_a_protected_cluster_stays_nothing_on_it_is_taken_for_gone(run: Run) -> None:
    assert {entry.deleted_with for entry in run({"protect": True}).resources} == {""}


def test_charts_come_after_the_cpu_pool_and_networks_after_the_machines_have_joined(on_oke: Recording) -> None:
    charts = [entry.name for entry in on_oke.of_type("helm.sh/v3:Release")]
    provider = on_oke["cluster-kubernetes"]
    assert charts
    assert SYSTEM in provider.dependencies
    networks = on_oke.of_type(NETWORK)
    assert [entry.name for entry in networks if not on_oke.comes_after(entry.name, POOL)] == []
    assert not on_oke.comes_after("gpu-operator-gpu-operator", POOL)


# Providers and the account


def test_everything_goes_by_one_provider_of_the_clusters_region(on_oke: Recording) -> None:
    assert {entry.provider for entry in at_oracle(on_oke)} == {"cluster-oci"}
    assert [entry.name for entry in on_oke.resources if entry.type == "pulumi:providers:oci"] == ["cluster-oci"]


def test_dynamic_groups_and_policies_go_by_a_provider_of_the_home_region_where_that_is_another(run: Run) -> None:
    recording = run({"identity": {"homeRegion": "us-phoenix-1"}})
    home = {kind(entry) for entry in at_oracle(recording) if entry.provider == "cluster-oci-home"}
    assert home == {"DynamicGroup", "Policy"}
    regions = [recording[name].inputs["region"] for name in ("cluster-oci", "cluster-oci-home")]
    assert regions == ["us-ashburn-1", "us-phoenix-1"]


def test_the_accounts_settings_are_handed_on_as_secrets_and_the_region_is_the_stack_files(run: Run) -> None:
    settings = {"oci:tenancyOcid": TENANCY, "oci:privateKey": "the-key", "oci:region": "eu-frankfurt-1"}
    provider = run(secrets=settings)["cluster-oci"]
    assert provider.inputs == {"tenancyOcid": TENANCY, "privateKey": "the-key", "region": "us-ashburn-1"}
    assert provider.secrets == {"tenancyOcid", "privateKey"}


def test_without_settings_the_provider_finds_the_account_in_the_environment(h100: Recording) -> None:
    assert h100["cluster-oci"].inputs == {"region": "us-ashburn-1"}


def test_an_unknown_tenancy_ends_the_run_before_any_resource_and_names_the_ways_to_state_it(run: Run) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError) as raised:
        run(environment={}, recording=recording)
    for way in ("pulumi config set oci:tenancyOcid", "TF_VAR_tenancy_ocid", "gpu-fabric:cluster.tenancyId"):
        assert way in str(raised.value)
    assert recording.resources == []


def test_each_question_is_asked_once(on_oke: Recording) -> None:
    names = [name for name, _ in on_oke.looked_up]
    assert sorted(names) == sorted(set(names))
    assert "getClusterKubeConfig" in names


def test_an_availability_domain_is_found_by_the_end_of_its_name(run: Run) -> None:
    recording = run(pool={"availabilityDomain": "AD-2"})
    placement = recording[POOL].inputs["placementConfiguration"]
    assert placement["availabilityDomain"] == "acct:REGION-AD-2"


def test_an_availability_domain_that_the_region_does_not_have_is_named_with_those_it_has(run: Run) -> None:
    one = {**ANSWERS, "getAvailabilityDomains": {"availabilityDomains": [{"name": "acct:REGION-AD-1"}]}}
    with pytest.raises(pulumi.RunError, match="no availability domain AD-3; it has acct:REGION-AD-1"):
        run(pool={"availabilityDomain": "AD-3"}, answers=one)


@pytest.mark.parametrize(
    ("shape", "image"), [("VM.Standard.E5.Flex", "2026.08.14"), ("VM.Standard.A1.Flex", "aarch64-2026.08.14")]
)
def test_the_cpu_pool_starts_from_the_newest_image_for_its_processors(run: Run, shape: str, image: str) -> None:
    recording = run({"systemPool": {"shape": shape}})
    assert recording[SYSTEM].inputs["nodeSourceDetails"]["imageId"] == image


@pytest.mark.parametrize(
    ("version", "state", "image"),
    [
        ("", "ACTIVE", "the-first"),
        ("", "NEEDS_ATTENTION", "the-first"),
        ("v1.25.1", "ACTIVE", "2026.08.14"),
        ("", "DELETED", "2026.08.14"),
    ],
)
def test_a_node_pool_keeps_its_image_until_its_version_changes(run: Run, version: str, state: str, image: str) -> None:
    wanted = run()[SYSTEM].inputs["kubernetesVersion"]
    pool = {"name": "system", "kubernetesVersion": version or wanted, "state": state}
    known = {"nodePools": [{**pool, "nodeSourceDetails": [{"imageId": "the-first"}]}, {**pool, "name": "other"}]}
    recording = run(answers={**ANSWERS, "getNodePools": known})
    assert recording[SYSTEM].inputs["nodeSourceDetails"]["imageId"] == image


def test_a_version_without_an_image_says_where_to_write_one(run: Run) -> None:
    with pytest.raises(pulumi.RunError, match=r"write gpu-fabric:cluster\.systemPool\.imageId"):
        run(answers={**ANSWERS, "getNodePoolOption": {"sources": []}})


# How the stack and its people reach the cluster


def kubeconfig_of(recording: Recording) -> dict[str, Any]:
    """The kubeconfig, which is secret on its way in and out."""
    provider = recording["cluster-kubernetes"]
    assert "kubeconfig" in provider.secrets
    assert "kubeconfig" in recording.secret_outputs
    assert recording.outputs["kubeconfig"] == provider.inputs["kubeconfig"]
    found: dict[str, Any] = yaml.safe_load(provider.inputs["kubeconfig"])
    return found


def test_oracles_command_is_asked_for_tokens(h100: Recording) -> None:
    found = kubeconfig_of(h100)
    (user,), (cluster,) = found["users"], found["clusters"]
    command = ["ce", "cluster", "generate-token", "--cluster-id", f"{CLUSTER}-id", "--region", "us-ashburn-1"]
    assert (user["user"]["exec"]["command"], user["user"]["exec"]["args"]) == ("oci", command)
    assert cluster["cluster"] == {"server": "https://10.140.0.5:6443", "certificate-authority-data": AUTHORITY}
    assert found["current-context"] == "oke-us-ashburn-1-oke-h100"


def test_a_public_address_is_used_where_there_is_one(run: Run) -> None:
    found = kubeconfig_of(run({"endpoint": {"public": True, "allowed": ["203.0.113.0/24"]}}))
    assert found["clusters"][0]["cluster"]["server"] == "https://203.0.113.5:6443"


TOKEN = {"kubeconfig": {"mode": "token", "tokenSecret": "deployer-token"}}


def test_a_service_accounts_token_comes_from_its_secret_key_and_is_nowhere_in_plain_sight(run: Run) -> None:
    recording = run(TOKEN, secrets={"gpu-fabric:deployer-token": "the-token"})
    assert kubeconfig_of(recording)["users"][0]["user"] == {"token": "the-token"}
    plain = [(key, value) for r in recording.resources for key, value in r.inputs.items() if key not in r.secrets]
    outputs = [value for key, value in recording.outputs.items() if key not in recording.secret_outputs]
    assert "the-token" not in json.dumps([plain, outputs], default=str)


def test_a_token_that_is_not_there_ends_the_run_before_any_resource(run: Run) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError, match="pulumi config set --secret deployer-token"):
        run(TOKEN, recording=recording)
    assert recording.resources == []


def test_the_clusters_own_id_tells_it_from_another(on_oke: Recording) -> None:
    assert on_oke["cluster-kubernetes"].inputs["clusterIdentifier"] == f"{CLUSTER}-id"
    assert on_oke.outputs["clusterId"] == f"{CLUSTER}-id"


def test_the_way_in_is_an_output_where_there_is_one(recorded: Callable[[str], Recording]) -> None:
    assert recorded("oke-a100").outputs["access"] == "ssh -J opc@203.0.113.9 opc@10.140.0.9"
    assert "--bastion-id cluster-bastion-id --target-private-ip 10.140.0.5" in recorded("oke-h200").outputs["access"]
    assert "access" not in recorded("oke-h100").outputs


def test_an_oracle_stack_leaves_the_default_provider_switched_off() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    assert "oci" in project["config"]["pulumi:disable-default-providers"]["value"]
