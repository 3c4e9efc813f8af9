"""A cluster that DigitalOcean makes: what is asked for, what waits for what, and how the stack reaches it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from programs import ANSWERS, API_TOKEN, ROOT, STACKS, run_program, stack_config
from recording import AUTHORITY, ENDPOINT, MINTED, Recording, Registration, World

pytestmark = pytest.mark.components

Run = Callable[..., Recording]
CLUSTER, POOL, VPC = "cluster-doks", "cluster-pool-gpu", "cluster-vpc"
NETWORK = "v1:NetworkAttachmentDefinition"
SOME_ID, VPC_ID, POOL_ID = (
    "5a4981aa-9653-4bd1-bef5-d6bff52042e4",
    "c33931f2-a26a-4e61-b85c-4e95a2ec431b",
    "1e3ef32b-1a2b-4c3d-8e4f-0123456789ab",
)


@pytest.fixture
def run(kubeconfig: Path) -> Run:
    """Records the H200 stack with other settings of its cluster; `options` are those of `run_program`."""

    def with_settings(changed: dict[str, Any] | None = None, **options: Any) -> Recording:
        config = stack_config(STACKS["doks-h200"], kubeconfig)
        config["gpu-fabric:cluster"] |= changed or {}
        return run_program("doks-h200", config, **options)

    return with_settings


@pytest.fixture(scope="module")
def h200(recorded: Callable[[str], Recording]) -> Recording:
    return recorded("doks-h200")


def at_digitalocean(recording: Recording) -> list[Registration]:
    return [entry for entry in recording.resources if entry.type.startswith("digitalocean:")]


def test_everything_at_digitalocean_goes_by_the_stacks_own_provider(on_doks: Recording) -> None:
    assert {entry.provider for entry in at_digitalocean(on_doks)} == {"cluster-digitalocean"}


# The account's token


def configured(token: str) -> dict[str, str]:
    return {"digitalocean:token": token}


@pytest.mark.parametrize("variable", ["DIGITALOCEAN_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN"])
def test_the_token_may_be_in_either_environment_variable(run: Run, variable: str) -> None:
    provider = run(environment={variable: "another-token"})["cluster-digitalocean"]
    assert provider.inputs["token"] == "another-token"
    assert "token" in provider.secrets


def test_a_token_of_the_stacks_own_configuration_comes_before_the_environment(run: Run) -> None:
    provider = run(secrets=configured("the-stacks-token"))["cluster-digitalocean"]
    assert provider.inputs["token"] == "the-stacks-token"
    assert "token" in provider.secrets


def test_without_a_token_the_run_ends_before_any_resource_and_names_both_ways(run: Run) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError) as raised:
        run(environment={}, recording=recording)
    assert "pulumi config set --secret digitalocean:token" in str(raised.value)
    assert "DIGITALOCEAN_TOKEN or DIGITALOCEAN_ACCESS_TOKEN" in str(raised.value)
    assert recording.resources == []


# The version


def there(answers: dict[str, dict[str, Any]] = ANSWERS) -> World:
    """A world in which the stack's last run has left a cluster."""
    return World(answers, outputs={"clusterId": "the-cluster"})


def test_an_exact_version_is_taken_as_it_is_and_asked_for_only_before_there_is_a_cluster(run: Run) -> None:
    first, later = run(), run(world=there())
    assert first[CLUSTER].inputs["version"] == later[CLUSTER].inputs["version"] == "1.36.1-do.0"
    assert first.looked_up == [("getKubernetesVersions", {"versionPrefix": "1.36.1-do.0"})]
    assert later.looked_up == []


@pytest.mark.parametrize(("version", "prefix"), [("1.36", "1.36."), ("1.36.1", "1.36.1-")])
def test_the_newest_of_a_versions_slugs_is_asked_for_once(run: Run, version: str, prefix: str) -> None:
    recording = run({"version": version})
    assert recording[CLUSTER].inputs["version"] == "1.36.1-do.7"
    assert recording.looked_up == [("getKubernetesVersions", {"versionPrefix": prefix})]


NONE_OFFERED = {"getKubernetesVersions": {"latestVersion": "", "validVersions": []}}


def test_a_version_that_is_no_longer_offered_is_no_obstacle_for_a_cluster_that_has_it(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    recording = run({"version": "1.36"}, world=there(NONE_OFFERED))
    assert recording[CLUSTER].inputs["version"] == "1.36"
    assert "DigitalOcean offers no Kubernetes version 1.36.*" in caplog.text


@pytest.mark.parametrize("version", ["1.36", "1.36.1", "1.36.1-do.0"])
def test_a_version_that_is_no_longer_offered_makes_no_cluster_and_nothing_else(run: Run, version: str) -> None:
    recording = Recording()
    with pytest.raises(pulumi.RunError, match=rf"offers no Kubernetes version {version}.*nothing was created"):
        run({"version": version}, answers=NONE_OFFERED, recording=recording)
    assert at_digitalocean(recording) == []


def test_an_adopted_cluster_needs_no_version_that_is_offered(run: Run) -> None:
    adopted = {"version": "1.36.1-do.0", "adopt": {"cluster": SOME_ID}}
    assert run(adopted, answers=NONE_OFFERED)[CLUSTER].inputs["version"] == "1.36.1-do.0"


def test_a_version_that_is_to_apply_always_must_be_offered(run: Run) -> None:
    with pytest.raises(pulumi.RunError, match=r"offers no Kubernetes version 1\.36\.\*; `doctl kubernetes options"):
        run({"version": "1.36", "versionApplies": "always", "protect": True}, answers=NONE_OFFERED)


# Changes, waits and deletion


def test_what_has_a_fixed_name_is_deleted_before_it_is_made_anew(run: Run) -> None:
    recording = run({"project": {"name": "training"}})
    assert [entry.name for entry in at_digitalocean(recording) if not entry.delete_before_replace] == []


def test_the_vpc_the_cluster_and_its_pools_can_be_protected(run: Run) -> None:
    assert {entry.name for entry in at_digitalocean(run({"protect": True})) if entry.protect} == {VPC, CLUSTER, POOL}
    assert [entry.name for entry in run().resources if entry.protect] == []


def test_all_that_lies_on_the_cluster_goes_with_it_and_nothing_else_does(on_doks: Recording) -> None:
    pools = {entry.name for entry in on_doks.resources if entry.type.endswith(":KubernetesNodePool")}
    on_cluster = {entry.name for entry in on_doks.resources if entry.type.startswith("kubernetes:")} | pools
    assert {entry.name for entry in on_doks.resources if entry.deleted_with == CLUSTER} == on_cluster
    assert {entry.deleted_with for entry in on_doks.resources} == {CLUSTER, ""}


def test_where_the_cluster_cannot_go_nothing_on_it_is_taken_for_gone(run: Run) -> None:
    assert {entry.deleted_with for entry in run({"protect": True}).resources} == {""}


def test_nothing_stays_when_the_stack_goes(on_doks: Recording) -> None:
    assert [entry.name for entry in on_doks.resources if entry.retain_on_delete and not is_patch(entry)] == []


def test_what_is_written_into_others_objects_is_never_taken_back(stack: Recording) -> None:
    """The provider refuses to where the cluster is gone or is another one, and then no destroy ends."""
    assert [entry.name for entry in stack.resources if is_patch(entry) and not entry.retain_on_delete] == []


def is_patch(entry: Registration) -> bool:
    """Whether a resource writes into an object that something else owns."""
    return entry.type.startswith("kubernetes:") and entry.type.endswith("Patch")


@pytest.mark.parametrize("stack", ["dev", "spiderpool-sriov", "whereabouts"])
def test_on_a_cluster_that_exists_everything_is_deleted_by_itself(
    recorded: Callable[[str], Recording], stack: str
) -> None:
    assert {entry.deleted_with for entry in recorded(stack).resources} == {""}


def waits(recording: Recording, later: str, earlier: str) -> bool:
    """Whether every resource of a kind or name waits for every one of another."""
    pairs = [(b.name, a.name) for b in recording.of_type(later) for a in recording.of_type(earlier)]
    assert pairs
    return all(recording.comes_after(b, a) for b, a in pairs)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        (NETWORK, ":DaemonSet"),
        (NETWORK, ":CustomResourceDefinition"),
        (":DaemonSet", ":KubernetesNodePool"),
        (":KubernetesNodePool", ":KubernetesCluster"),
        (":KubernetesCluster", ":Vpc"),
    ],
)
def test_networks_go_before_multus_multus_before_the_nodes_the_nodes_before_cluster_and_vpc(
    on_doks: Recording, later: str, earlier: str
) -> None:
    assert waits(on_doks, later, earlier)


def test_what_needs_no_gpu_node_comes_up_while_the_nodes_do(on_doks: Recording) -> None:
    (definition,) = on_doks.of_type(":CustomResourceDefinition")
    assert not on_doks.comes_after(definition.name, POOL)


def test_the_plug_in_that_keeps_addresses_is_on_the_nodes_before_networks_name_it(
    recorded: Callable[[str], Recording],
) -> None:
    b300 = recorded("doks-b300")
    (plugin,) = [entry for entry in b300.of_type(":DaemonSet") if entry.parent == "cni-plugins"]
    assert b300.comes_after(plugin.name, POOL)
    assert [r.name for r in b300.of_type(NETWORK) if not b300.comes_after(r.name, plugin.name)] == []


def test_the_gpu_operators_chart_comes_up_while_the_nodes_do_and_is_ready_after_them(run: Run) -> None:
    recording = run({"plugins": {"gpu": "operator"}})
    assert not recording.comes_after("gpu-operator-gpu-operator", POOL)
    assert recording.comes_after("gpu-operator-cluster-policy-ready", POOL)


# What exists already


ADOPTED = {"adopt": {"vpc": VPC_ID, "cluster": SOME_ID, "pools": {"gpu": POOL_ID}}}


def test_what_is_adopted_is_taken_over_by_its_id(run: Run) -> None:
    recording = run(ADOPTED)
    found = {entry.name: entry.import_id for entry in recording.resources if entry.import_id}
    assert found == {VPC: VPC_ID, CLUSTER: SOME_ID, POOL: POOL_ID}


def test_what_is_adopted_goes_with_the_stack_as_all_else_does(run: Run) -> None:
    resources = run(ADOPTED).resources
    assert [
        entry.name for entry in resources if entry.protect or (entry.retain_on_delete and not is_patch(entry))
    ] == []


def failed(recording: Recording, name: str, operation: str, error: str = "timed out") -> tuple[bool, str]:
    """What the hook of a resource answers when an operation on it has failed; its name is the second."""
    (hook,) = recording[name].error_hooks
    failure = pulumi.ErrorHookArgs("urn", "", name, "type", failed_operation=operation, errors=[error])
    return bool(recording.hooks[hook](failure)), hook


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
    run: Run, monkeypatch: pytest.MonkeyPatch, error: str, refused: bool
) -> None:
    said: list[str] = []
    recording = run()
    monkeypatch.setattr(pulumi.log, "error", said.append)
    failed(recording, CLUSTER, "create", error)
    (message,) = said
    assert ("refused the request, so there is nothing of it" in message) is refused
    assert ("may have it nonetheless" in message) is not refused


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (CLUSTER, ("the cluster doks-h200", "doctl kubernetes cluster list", "gpu-fabric:cluster.adopt.cluster")),
        (
            POOL,
            (
                "the pool gpu of the cluster doks-h200",
                "doctl kubernetes cluster node-pool list doks-h200",
                "gpu-fabric:cluster.adopt.pools.gpu",
            ),
        ),
    ],
)
def test_a_failed_creation_says_what_may_exist_and_how_to_adopt_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, said: tuple[str, ...]
) -> None:
    errors: list[str] = []
    recording = run()
    monkeypatch.setattr(pulumi.log, "error", errors.append)
    again, _ = failed(recording, name, "create")
    assert not again
    (message,) = errors
    assert [part for part in said if part not in message] == []


@pytest.mark.parametrize("operation", ["update", "delete"])
def test_what_the_stack_knows_needs_no_such_advice(run: Run, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    errors: list[str] = []
    recording = run()
    monkeypatch.setattr(pulumi.log, "error", errors.append)
    assert failed(recording, CLUSTER, operation)[0] is False
    assert errors == []


# How the stack reaches the cluster


def kubeconfig_of(recording: Recording) -> dict[str, Any]:
    """The kubeconfig, which is secret on its way in and out."""
    provider = recording["cluster-kubernetes"]
    assert "kubeconfig" in provider.secrets
    assert recording.secret_outputs == {"kubeconfig"}
    assert recording.outputs["kubeconfig"] == provider.inputs["kubeconfig"]
    found: dict[str, Any] = yaml.safe_load(provider.inputs["kubeconfig"])
    return found


def test_by_default_the_accounts_token_opens_the_cluster_and_never_ends(run: Run) -> None:
    found = kubeconfig_of(run())
    (user,) = found["users"]
    (cluster,) = found["clusters"]
    assert user["user"] == {"token": API_TOKEN}
    assert cluster["cluster"] == {"server": ENDPOINT, "certificate-authority-data": AUTHORITY}
    assert found["current-context"] == "do-nyc2-doks-h200"


def test_doctl_is_asked_for_credentials_where_none_may_be_in_the_state(run: Run) -> None:
    recording = run({"kubeconfig": {"mode": "exec"}})
    found = kubeconfig_of(recording)
    (user,) = found["users"]
    assert user["user"]["exec"] == {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "doctl",
        "args": [
            "kubernetes",
            "cluster",
            "kubeconfig",
            "exec-credential",
            "--version=v1beta1",
            "cluster-doks-id",
        ],
    }
    assert API_TOKEN not in recording.outputs["kubeconfig"]


def test_the_raw_kubeconfig_is_digitaloceans_own(run: Run) -> None:
    found = kubeconfig_of(run({"kubeconfig": {"mode": "raw", "expireSeconds": 3600}}))
    assert found == {"users": [{"token": MINTED}]}


@pytest.mark.parametrize("mode", ["token", "exec", "raw"])
def test_no_token_is_in_plain_sight_in_any_mode(run: Run, mode: str) -> None:
    recording = run({"kubeconfig": {"mode": mode}})
    plain = [(key, value) for r in recording.resources for key, value in r.inputs.items() if key not in r.secrets]
    outputs = [value for key, value in recording.outputs.items() if key not in recording.secret_outputs]
    shown = json.dumps([plain, outputs], default=str)
    assert [token for token in (API_TOKEN, MINTED) if token in shown] == []


def test_the_clusters_own_id_tells_it_from_another(on_doks: Recording) -> None:
    assert on_doks["cluster-kubernetes"].inputs["clusterIdentifier"] == "cluster-doks-id"
    assert on_doks.outputs["clusterId"] == "cluster-doks-id"


# No cloud's SDK: importing one takes seconds


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
    stacks = ["doks-h200", "oke-h100", "dev"]
    folders = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "tests" / "components")]
    program = PROGRAM.format(folders=folders, stacks=stacks, kubeconfig=str(kubeconfig))
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
