"""Clusters that clouds make for a stack: what is asked for, what goes with what, and how the stack reaches them."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from programs import ANSWERS, API_TOKEN, OKE, ROOT, STACKS, TENANCY, run_program, stack_config
from recording import AUTHORITY, ENDPOINT, MINTED, Recording, Registration, World
from stack_plans import stack_plan

from gpu_fabric.base.cloud_time import MINUTE_VARIABLE
from sandbox.cloud.oci.fields import fields_of
from sandbox.cloud.schema import failures

Run = Callable[..., Recording]
Stack = Callable[[str], Recording]
D, K = "doks-h200", "oke-h100"
CLUSTERS = {D: "cluster-doks", K: "cluster-cluster"}
VPC_ID, CLUSTER_ID, POOL_ID = (
    "c33931f2-a26a-4e61-b85c-4e95a2ec431b",
    "5a4981aa-9653-4bd1-bef5-d6bff52042e4",
    "1e3ef32b-1a2b-4c3d-8e4f-0123456789ab",
)
IMAGE = "ocid1.image.oc1.iad.aaaaaaaaexample"
NONE_OFFERED = {"getKubernetesVersions": {"latestVersion": "", "validVersions": []}}


@pytest.fixture
def run(kubeconfig: Path) -> Run:
    """Records a stack with other settings of its cluster; `pool` are those of its pool."""

    def with_settings(
        stack: str, changed: dict[str, Any] | None = None, pool: dict[str, Any] | None = None, **options: Any
    ) -> Recording:
        config = stack_config(STACKS[stack], kubeconfig)
        cluster = config["gpu-fabric:cluster"]
        cluster |= changed or {}
        cluster["pools"][0] |= pool or {}
        return run_program(stack, config, **options)

    return with_settings


def at_cloud(recording: Recording) -> list[Registration]:
    return [entry for entry in recording.resources if entry.type.startswith(("digitalocean:", "oci:"))]


def kind(entry: Registration) -> str:
    return entry.type.rpartition(":")[2]


def is_patch(entry: Registration) -> bool:
    """Whether a resource writes into an object that something else owns."""
    return entry.type.startswith("kubernetes:") and entry.type.endswith("Patch")


# What goes with what


@pytest.mark.parametrize(
    ("stack", "changes", "kinds"),
    [
        (D, {"project": {"name": "training"}},
            {"Vpc", "KubernetesCluster", "KubernetesNodePool", "Project", "ProjectResources"}),
        (K, {"addons": [{"name": "CertManager"}], "access": {"mode": "none"}},
            {"Addon", "DynamicGroup", "Policy", "Subnet"}),
    ],
)  # fmt: skip
def test_only_what_clashes_by_name_or_range_is_deleted_before_it_is_made_anew(
    run: Run, stack: str, changes: dict[str, Any], kinds: set[str]
) -> None:
    assert {kind(entry) for entry in at_cloud(run(stack, changes)) if entry.delete_before_replace} == kinds


@pytest.mark.parametrize(
    ("stack", "changes", "with_it"),
    [(D, {}, "KubernetesNodePool"), (K, {"addons": [{"name": "CertManager"}]}, "Addon")],
)
def test_all_that_lies_on_the_cluster_goes_with_it_and_nothing_stays(
    run: Run, stack: str, changes: dict[str, Any], with_it: str
) -> None:
    resources = run(stack, changes).resources
    on_cluster = {e.name for e in resources if e.type.startswith("kubernetes:") or kind(e) == with_it}
    assert {entry.name for entry in resources if entry.deleted_with == CLUSTERS[stack]} == on_cluster
    assert {entry.deleted_with for entry in resources} == {CLUSTERS[stack], ""}
    assert [e.name for e in resources if e.protect or (e.retain_on_delete and not is_patch(e))] == []


@pytest.mark.parametrize("stack", CLUSTERS)
def test_where_a_protected_cluster_stays_nothing_on_it_is_taken_for_gone(run: Run, stack: str) -> None:
    recording = run(stack, {"protect": True})
    assert {entry.deleted_with for entry in recording.resources} == {""}
    kept = {D: {"Vpc", "KubernetesCluster", "KubernetesNodePool"}, K: {"Vcn", "Cluster", "NodePool", "ClusterNetwork"}}
    assert {kind(entry) for entry in recording.resources if entry.protect} == kept[stack]


def test_what_is_written_into_others_objects_is_never_taken_back(stack: Recording) -> None:
    """The provider refuses to where the cluster is gone or is another one, and then no destroy ends."""
    assert [entry.name for entry in stack.resources if is_patch(entry) and not entry.retain_on_delete] == []


@pytest.mark.parametrize("stack", ["dev", "spiderpool-sriov", "whereabouts"])
def test_on_a_cluster_that_exists_everything_is_deleted_by_itself(recorded: Stack, stack: str) -> None:
    assert {entry.deleted_with for entry in recorded(stack).resources} == {""}


def test_what_is_adopted_is_taken_over_by_its_id_and_goes_with_the_stack_as_all_else_does(run: Run) -> None:
    resources = run(D, {"adopt": {"vpc": VPC_ID, "cluster": CLUSTER_ID, "pools": {"gpu": POOL_ID}}}).resources
    adopted = {entry.name: entry.import_id for entry in resources if entry.import_id}
    assert adopted == {"cluster-vpc": VPC_ID, "cluster-doks": CLUSTER_ID, "cluster-pool-gpu": POOL_ID}
    assert [e.name for e in resources if e.protect or (e.retain_on_delete and not is_patch(e))] == []


@pytest.mark.parametrize("name", OKE)
def test_every_resource_at_oracle_comes_after_all_that_its_record_needs(recorded: Stack, name: str) -> None:
    resources, recording = stack_plan(name, STACKS[name].parent).cluster.oke, recorded(name)
    assert resources is not None
    network = {entry.logical_name for entry in resources.network.records}
    made = {entry.logical_name for entry in resources.records}
    early = [
        (record.logical_name, earlier)
        for record in resources.records
        for earlier in {found for entry in record.after for found in (network if entry == "network" else {entry})}
        | ({reference.ref for reference in record.references} & made)
        if not recording.comes_after(f"cluster-{record.logical_name}", f"cluster-{earlier}")
    ]
    assert early == []


def test_oracles_provider_takes_all_that_it_is_told(on_oke: Recording) -> None:
    assert [entry.name for entry in at_cloud(on_oke) if failures(fields_of(kind(entry)), entry.inputs)] == []


# Accounts


@pytest.mark.parametrize("variable", ["DIGITALOCEAN_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN", "digitalocean:token"])
def test_the_token_is_in_either_environment_variable_or_first_in_the_configuration(run: Run, variable: str) -> None:
    found = {variable: "another-token"}
    provider = run(D, **({"secrets": found} if ":" in variable else {"environment": found}))["cluster-digitalocean"]
    assert provider.inputs["token"] == "another-token"
    assert "token" in provider.secrets


def test_oracles_settings_are_handed_on_as_secrets_and_the_region_is_the_stack_files(run: Run, recorded: Stack) -> None:
    settings = {"oci:tenancyOcid": TENANCY, "oci:privateKey": "the-key", "oci:region": "eu-frankfurt-1"}
    provider = run(K, secrets=settings)["cluster-oci"]
    assert provider.inputs == {"tenancyOcid": TENANCY, "privateKey": "the-key", "region": "us-ashburn-1"}
    assert provider.secrets == {"tenancyOcid", "privateKey"}
    # Without settings the provider finds the account in the environment.
    assert recorded(K)["cluster-oci"].inputs == {"region": "us-ashburn-1"}


TOKEN_MODE = {"kubeconfig": {"mode": "token", "tokenSecret": "deployer-token"}}


@pytest.mark.parametrize(
    ("stack", "changes", "environment", "ways"),
    [
        (D, {}, {}, ["pulumi config set --secret digitalocean:token", "DIGITALOCEAN_TOKEN or DIGITALOCEAN_ACC"]),
        (K, {}, {}, ["pulumi config set oci:tenancyOcid", "TF_VAR_tenancy_ocid", "gpu-fabric:cluster.tenancyId"]),
        (K, TOKEN_MODE, None, ["pulumi config set --secret deployer-token"]),
    ],
)  # fmt: skip
def test_without_the_account_the_run_ends_before_any_resource_and_names_the_ways(
    run: Run, stack: str, changes: dict[str, Any], environment: dict[str, str] | None, ways: list[str]
) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError) as raised:
        run(stack, changes, environment=environment, recording=recording)
    assert [way for way in ways if way not in str(raised.value)] == []
    assert recording.resources == []


# Versions, images and other answers of a cloud


def there(answers: dict[str, dict[str, Any]] = ANSWERS) -> World:
    """A world in which the stack's last run has left a cluster."""
    return World(answers, outputs={"clusterId": "the-cluster"})


@pytest.mark.parametrize(
    ("version", "prefix", "found"),
    [("1.36.1-do.0", "1.36.1-do.0", "do.0"), ("1.36", "1.36.", "do.7"), ("1.36.1", "1.36.1-", "do.7")],
)
def test_the_newest_of_a_versions_slugs_is_asked_for_once(run: Run, version: str, prefix: str, found: str) -> None:
    recording = run(D, {"version": version})
    assert recording["cluster-doks"].inputs["version"] == f"1.36.1-{found}"
    assert recording.looked_up == [("getKubernetesVersions", {"versionPrefix": prefix})]


def test_a_version_that_is_no_longer_offered_is_no_obstacle_for_a_cluster_that_has_it(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    recording = run(D, {"version": "1.36"}, world=there(NONE_OFFERED))
    assert recording["cluster-doks"].inputs["version"] == "1.36"
    assert "DigitalOcean offers no Kubernetes version 1.36.*" in caplog.text
    # An exact one is not asked for once there is a cluster, nor for one that is adopted.
    assert run(D, world=there()).looked_up == []
    adopted = run(D, {"version": "1.36.1-do.0", "adopt": {"cluster": CLUSTER_ID}}, answers=NONE_OFFERED)
    assert adopted["cluster-doks"].inputs["version"] == "1.36.1-do.0"


@pytest.mark.parametrize("version", ["1.36", "1.36.1", "1.36.1-do.0"])
def test_a_version_that_is_no_longer_offered_makes_no_cluster_and_nothing_else(run: Run, version: str) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError, match=rf"offers no Kubernetes version {version}.*nothing was created"):
        run(D, {"version": version}, answers=NONE_OFFERED, recording=recording)
    assert at_cloud(recording) == []
    with pytest.raises(pulumi.RunError, match=r"offers no Kubernetes version 1\.36\.\*; `doctl kubernetes options"):
        run(D, {"version": "1.36", "versionApplies": "always", "protect": True}, answers=NONE_OFFERED)


def test_each_question_to_oracle_is_asked_once(on_oke: Recording) -> None:
    names = [name for name, _ in on_oke.looked_up]
    assert sorted(names) == sorted(set(names))
    assert "getClusterKubeConfig" in names


def test_an_availability_domain_is_found_by_the_end_of_its_name(run: Run) -> None:
    placement = run(K, pool={"availabilityDomain": "AD-2"})["cluster-pool-gpu"].inputs["placementConfiguration"]
    assert placement["availabilityDomain"] == "acct:REGION-AD-2"
    one = {**ANSWERS, "getAvailabilityDomains": {"availabilityDomains": [{"name": "acct:REGION-AD-1"}]}}
    with pytest.raises(pulumi.RunError, match="no availability domain AD-3; it has acct:REGION-AD-1"):
        run(K, pool={"availabilityDomain": "AD-3"}, answers=one)


def image(recording: Recording) -> Any:
    return recording["cluster-system-pool"].inputs["nodeSourceDetails"]["imageId"]


@pytest.mark.parametrize(
    ("shape", "newest"), [("VM.Standard.E5.Flex", "2026.08.14"), ("VM.Standard.A1.Flex", "aarch64-2026.08.14")]
)
def test_the_cpu_pool_starts_from_the_newest_image_for_its_processors(run: Run, shape: str, newest: str) -> None:
    assert image(run(K, {"systemPool": {"shape": shape}})) == newest
    with pytest.raises(pulumi.RunError, match=r"write gpu-fabric:cluster\.systemPool\.imageId"):
        run(
            K,
            {"systemPool": {"shape": shape}},
            {"imageId": IMAGE},
            answers={**ANSWERS, "getNodePoolOption": {"sources": []}},
        )


@pytest.mark.parametrize(
    ("version", "state", "kept"),
    [("", "ACTIVE", True), ("", "NEEDS_ATTENTION", True), ("v1.25.1", "ACTIVE", False), ("", "DELETED", False)],
)
def test_a_node_pool_keeps_its_image_until_its_version_changes(
    run: Run, recorded: Stack, version: str, state: str, kept: bool
) -> None:
    wanted = recorded(K)["cluster-system-pool"].inputs["kubernetesVersion"]
    pool = {"name": "system", "kubernetesVersion": version or wanted, "state": state}
    known = {"nodePools": [{**pool, "nodeSourceDetails": [{"imageId": "the-first"}]}, {**pool, "name": "other"}]}
    assert image(run(K, answers={**ANSWERS, "getNodePools": known})) == ("the-first" if kept else "2026.08.14")


# What is said and done after a refusal of a cloud


class Said:
    """What the program logs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.errors: list[str] = []
        self.lines: list[str] = []
        monkeypatch.setattr(pulumi.log, "error", self.errors.append)
        monkeypatch.setattr(pulumi.log, "info", self.lines.append)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    # A pause that is over at once.
    monkeypatch.setenv(MINUTE_VARIABLE, "0")
    return Said(monkeypatch)


def asked_again(recording: Recording, name: str, *errors: str, operation: str = "create") -> bool:
    """Whether the program wants the operation tried once more; errors are the newest first."""
    (hook,) = recording[name].error_hooks
    failure = pulumi.ErrorHookArgs("urn", "", name, "type", failed_operation=operation, errors=list(errors))

    async def answer() -> bool:
        found = recording.hooks[hook](failure)
        return found if isinstance(found, bool) or found is None else await found

    return bool(asyncio.run(answer()))


_POST = "Error creating Kubernetes cluster: POST https://api.digitalocean.com/v2/kubernetes/clusters"


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (f'{_POST}: 422 (request "a") unsupported Kubernetes version', True),
        (f'{_POST}: 403 (request "a") You are not authorized', True),
        (f'{_POST}: 429 (request "a") Too many requests; giving up after 5 attempt(s)', False),
        (f'{_POST}: 500 (request "a") Server Error', False),
        ("Kubernetes cluster is in state error", False),
        ('GET https://api.digitalocean.com/v2/kubernetes/clusters/a: 404 (request "a") not found', False),
    ],
)
def test_a_refused_request_is_not_said_to_have_left_something(
    recorded: Stack, said: Said, error: str, refused: bool
) -> None:
    assert not asked_again(recorded(D), "cluster-doks", error)
    (message,) = said.errors
    assert ("refused the request, so there is nothing of it" in message) is refused
    assert ("may have it nonetheless" in message) is not refused


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("cluster-doks", ["the cluster doks-h200", "kubernetes cluster list", "gpu-fabric:cluster.adopt.cluster"]),
        ("cluster-pool-gpu",
            ["the pool gpu of the cluster doks-h200", "doctl kubernetes cluster node-pool list doks-h200",
                "gpu-fabric:cluster.adopt.pools.gpu"]),
    ],
)  # fmt: skip
def test_a_failed_creation_says_what_may_exist_and_how_to_adopt_it(
    recorded: Stack, said: Said, name: str, parts: list[str]
) -> None:
    assert not asked_again(recorded(D), name, "timed out")
    (message,) = said.errors
    assert [part for part in parts if part not in message] == []
    for operation in ("update", "delete"):
        assert not asked_again(recorded(D), name, "timed out", operation=operation)
    # What the stack knows needs no such advice.
    assert len(said.errors) == 1


def test_what_passes_by_itself_at_oracle_is_tried_again_and_given_up_with_advice_in_the_end(
    recorded: Stack, said: Said
) -> None:
    busy = "409-IncorrectState, the cluster is being updated"
    tries = [asked_again(recorded(K), "cluster-cluster", *[busy] * number) for number in range(1, 12)]
    assert tries == [True] * 10 + [False]
    assert said.lines[0].endswith("which cluster has to wait for: trying again in 30 s (1 of 10)")
    (message,) = said.errors
    assert "run `up` again" in message


@pytest.mark.parametrize(
    ("name", "error", "begins"),
    [
        ("cluster-pool-gpu", "500-InternalError, Out of host capacity.",
            ["Oracle has no free hosts for pool gpu (4 of BM.GPU.H100.8) now. What to do:\n  - "]),
        # Oracle's own words stay.
        ("cluster-vcn", "something new", []),
    ],
)  # fmt: skip
def test_what_does_not_pass_at_oracle_is_explained_and_not_tried_again(
    recorded: Stack, said: Said, name: str, error: str, begins: list[str]
) -> None:
    assert asked_again(recorded(K), name, error) is False
    assert said.lines == []
    assert [message.startswith(begin) for message, begin in zip(said.errors, begins, strict=True)] == [True] * len(
        begins
    )


def test_everything_at_oracle_has_the_one_hook(on_oke: Recording) -> None:
    assert {entry.error_hooks for entry in at_cloud(on_oke)} == {tuple(on_oke.hooks)}
    assert len(on_oke.hooks) == 1


# How the stack and its people reach the cluster


def kubeconfig_of(recording: Recording, *secrets: str) -> dict[str, Any]:
    """The kubeconfig, which is secret on its way in and out; no other input or output shows these secrets."""
    provider = recording["cluster-kubernetes"]
    assert "kubeconfig" in provider.secrets
    assert recording.secret_outputs == {"kubeconfig"}
    assert recording.outputs["kubeconfig"] == provider.inputs["kubeconfig"]
    assert provider.inputs["clusterIdentifier"] == recording.outputs["clusterId"]
    plain = [(key, value) for r in recording.resources for key, value in r.inputs.items() if key not in r.secrets]
    outputs = [value for key, value in recording.outputs.items() if key not in recording.secret_outputs]
    shown = json.dumps([plain, outputs], default=str)
    assert [secret for secret in secrets if secret in shown] == []
    found: dict[str, Any] = yaml.safe_load(provider.inputs["kubeconfig"])
    return found


def user_of(found: dict[str, Any]) -> Any:
    (user,) = found["users"]
    return user["user"]


def test_digitaloceans_cluster_is_opened_by_the_accounts_token_by_doctl_or_by_its_own_kubeconfig(run: Run) -> None:
    by_token = kubeconfig_of(run(D), API_TOKEN, MINTED)
    assert user_of(by_token) == {"token": API_TOKEN}
    assert by_token["clusters"][0]["cluster"] == {"server": ENDPOINT, "certificate-authority-data": AUTHORITY}
    assert by_token["current-context"] == "do-nyc2-doks-h200"

    recording = run(D, {"kubeconfig": {"mode": "exec"}})
    command = ["kubernetes", "cluster", "kubeconfig", "exec-credential", "--version=v1beta1", "cluster-doks-id"]
    by_doctl = user_of(kubeconfig_of(recording, API_TOKEN, MINTED))["exec"]
    assert by_doctl == {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "doctl", "args": command}
    assert API_TOKEN not in recording.outputs["kubeconfig"]

    raw = run(D, {"kubeconfig": {"mode": "raw", "expireSeconds": 3600}})
    assert kubeconfig_of(raw, API_TOKEN, MINTED) == {"users": [{"token": MINTED}]}


def test_oracles_cluster_is_opened_by_its_command_line_or_by_a_service_accounts_token(
    run: Run, recorded: Stack
) -> None:
    by_command = kubeconfig_of(recorded(K))
    command = ["ce", "cluster", "generate-token", "--cluster-id", "cluster-cluster-id", "--region", "us-ashburn-1"]
    found = user_of(by_command)["exec"]
    assert (found["command"], found["args"]) == ("oci", command)
    server = by_command["clusters"][0]["cluster"]
    assert server == {"server": "https://10.140.0.5:6443", "certificate-authority-data": AUTHORITY}
    assert by_command["current-context"] == "oke-us-ashburn-1-oke-h100"

    public = run(K, {"endpoint": {"public": True, "allowed": ["203.0.113.0/24"]}, **TOKEN_MODE}, secrets=DEPLOYER)
    by_token = kubeconfig_of(public, "the-token-of-a-deployer")
    assert by_token["clusters"][0]["cluster"]["server"] == "https://203.0.113.5:6443"
    assert user_of(by_token) == {"token": "the-token-of-a-deployer"}


DEPLOYER = {"gpu-fabric:deployer-token": "the-token-of-a-deployer"}


def test_the_way_in_is_an_output_where_there_is_one(recorded: Stack) -> None:
    assert recorded("oke-a100").outputs["access"] == "ssh -J opc@203.0.113.9 opc@10.140.0.9"
    assert "--bastion-id cluster-bastion-id --target-private-ip 10.140.0.5" in recorded("oke-h200").outputs["access"]
    assert "access" not in recorded(K).outputs


def test_an_oracle_stack_leaves_the_default_provider_switched_off() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    assert "oci" in project["config"]["pulumi:disable-default-providers"]["value"]


# Importing a cloud's SDK takes seconds.
PROGRAM = """
import os, sys
sys.path[:0] = {folders}
from pathlib import Path
from programs import STACKS, run_program, stack_config
for stack in {stacks}:
    run_program(stack, stack_config(STACKS[stack], Path({kubeconfig!r})))
    print(*(f"{{stack}}:{{name}}" for name in ("pulumi_digitalocean", "pulumi_oci") if name in sys.modules))
"""


def test_a_stack_imports_no_clouds_sdk(kubeconfig: Path) -> None:
    folders = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "tests" / "components")]
    program = PROGRAM.format(folders=folders, stacks=[D, K, "dev"], kubeconfig=str(kubeconfig))
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
