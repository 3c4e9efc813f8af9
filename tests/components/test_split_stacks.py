"""A cluster and what lies on it as two stacks: what each registers, gives out and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pulumi
import pytest
from programs import ANSWERS, STACKS, Config, cluster_stacks_outputs, run_program, stack_config
from recording import MINTED, Recording, World

from gpu_fabric.contract.cluster import ClusterContract

pytestmark = pytest.mark.components

CLUSTER, PLATFORM = "doks-split-cluster", "doks-split-platform"
UP_FIRST = f"-> run `up` of that stack first: `pulumi up --stack {CLUSTER}`"
Outputs = dict[str, Any]


@pytest.fixture(scope="module")
def config(kubeconfig: Path) -> Config:
    return stack_config(STACKS[PLATFORM], kubeconfig)


@pytest.fixture(scope="module")
def made(config: Config) -> Outputs:
    """What the cluster stack has given out."""
    return cluster_stacks_outputs(config)[CLUSTER]


@pytest.fixture(scope="module")
def on_outputs(config: Config) -> Callable[[Outputs | None], Recording]:
    """The platform where the engine has such outputs of the cluster stack on record; None is no such stack at all."""

    def run(outputs: Outputs | None) -> Recording:
        others = {"another": {}} if outputs is None else {CLUSTER: outputs}
        recording = Recording()
        try:
            return run_program(PLATFORM, config, environment={}, recording=recording, world=World(ANSWERS, {}, others))
        except pulumi.RunError:
            assert recording.resources == []
            raise

    return run


def test_a_cluster_stack_makes_what_the_cloud_makes_and_nothing_on_the_cluster(
    recorded: Callable[[str], Recording],
) -> None:
    made = {entry.type.rpartition(":")[2] for entry in recorded(CLUSTER).resources if entry.custom}
    assert made == {"digitalocean", "Vpc", "KubernetesCluster", "KubernetesNodePool", "kubernetes"}


def test_a_platform_stack_makes_what_lies_on_the_cluster_and_nothing_at_the_cloud(
    recorded: Callable[[str], Recording],
) -> None:
    made = [entry for entry in recorded(PLATFORM).resources if entry.custom]
    assert {entry.type for entry in made if not entry.type.startswith("kubernetes:")} == {"pulumi:providers:kubernetes"}
    assert {entry.provider for entry in made} == {"", "cluster-kubernetes"}


def test_each_part_has_outputs_of_its_own(recorded: Callable[[str], Recording]) -> None:
    assert set(recorded(CLUSTER).outputs) == {"applied", "cluster", "clusterId", "kubeconfig"}
    assert set(recorded(PLATFORM).outputs) == {"applied", "fabric", "addressPlan"}


def test_the_cluster_output_keeps_its_schema_and_names_the_cluster_and_its_pools(made: Outputs) -> None:
    contract = ClusterContract.model_validate(made["cluster"])
    assert (contract.cluster_id, contract.name) == ("cluster-doks-id", CLUSTER)
    assert [(pool.name, pool.nodes) for pool in contract.pools] == [("gpu", 2)]
    assert MINTED not in json.dumps(made["cluster"])


def test_the_platforms_provider_is_the_cluster_stacks_cluster_by_its_secret_kubeconfig(
    recorded: Callable[[str], Recording], made: Outputs
) -> None:
    provider = recorded(PLATFORM)["cluster-kubernetes"]
    assert provider.inputs["clusterIdentifier"] == "cluster-doks-id"
    assert provider.inputs["kubeconfig"] == made["kubeconfig"]
    assert provider.secrets == {"kubeconfig"}


def test_a_preview_of_a_platform_knows_everything(config: Config, recorded: Callable[[str], Recording]) -> None:
    previewed = run_program(PLATFORM, config, environment={}, preview=True)
    whole = {entry.name: entry.inputs for entry in recorded(PLATFORM).resources}
    assert {entry.name: entry.inputs for entry in previewed.resources} == whole


def test_nothing_of_a_platform_goes_with_a_resource_of_another_stack(recorded: Callable[[str], Recording]) -> None:
    assert {entry.deleted_with for entry in recorded(PLATFORM).resources} == {""}


def test_a_platform_whose_cluster_stack_is_not_there_is_refused(
    on_outputs: Callable[[Outputs | None], Recording],
) -> None:
    with pytest.raises(pulumi.RunError, match=f"unknown stack 'organization/gpu-fabric/{CLUSTER}'") as refused:
        on_outputs(None)
    assert UP_FIRST in str(refused.value)


def test_a_platform_whose_cluster_is_not_made_yet_is_refused(on_outputs: Callable[[Outputs | None], Recording]) -> None:
    with pytest.raises(pulumi.RunError, match=f"the cluster stack {CLUSTER} has created no cluster yet") as refused:
        on_outputs({})
    assert UP_FIRST in str(refused.value)


def test_a_platform_on_a_cluster_that_is_not_as_its_file_says_is_refused_with_each_difference(
    on_outputs: Callable[[Outputs | None], Recording], made: Outputs
) -> None:
    older = deepcopy(made)
    older["cluster"]["pools"][0]["nodes"] = 1
    older["cluster"]["kubernetesVersion"] = "1.35.1-do.0"
    older["cluster"]["pools"].append({**older["cluster"]["pools"][0], "name": "gone"})
    with pytest.raises(pulumi.RunError) as refused:
        on_outputs(older)
    said = str(refused.value)
    assert "kubernetesVersion: it has 1.35.1-do.0, the file says 1.36.1-do.0" in said
    assert "pools.gpu.nodes: it has 1, the file says 2" in said
    assert "pools.gone.nodes: it has 1, the file says none" in said
    assert UP_FIRST in said


def test_an_output_of_another_version_is_refused(
    on_outputs: Callable[[Outputs | None], Recording], made: Outputs
) -> None:
    with pytest.raises(pulumi.RunError, match="was written by another version of this program"):
        on_outputs({**made, "cluster": {"schemaVersion": "v2"}})


@pytest.mark.parametrize("found", [None, "", "[secret]"])
def test_a_kubeconfig_that_the_engine_could_not_decrypt_is_refused(
    on_outputs: Callable[[Outputs | None], Recording], made: Outputs, found: str | None
) -> None:
    with pytest.raises(pulumi.RunError, match="give this run what decrypts that stack's secrets"):
        on_outputs({**made, "kubeconfig": found})


def test_another_organization_may_have_the_cluster_stack(config: Config, made: Outputs) -> None:
    asked: list[str] = []

    class Listening(World):
        def outputs_of(self, stack: str) -> dict[str, Any]:
            asked.append(stack)
            return super().outputs_of(stack)

    split = {**config["gpu-fabric:split"], "organization": "cluster-team"}
    run_program(PLATFORM, {**config, "gpu-fabric:split": split}, world=Listening(ANSWERS, {}, {CLUSTER: made}))
    assert {name for name in asked if name.endswith(CLUSTER)} == {f"cluster-team/gpu-fabric/{CLUSTER}"}
