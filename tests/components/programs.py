"""The committed stacks as programs that a test can change and record."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from recording import AUTHORITY, Recording, World, record

from gpu_fabric.plan.clouds.oke.resources import PlannedConstruct
from gpu_fabric.plan.records import PlannedCapacity, PlannedConfiguration, PlannedState, PlannedWait

ROOT = Path(__file__).parents[2]
_FOUND = [
    path for folder in (ROOT, ROOT / "examples", ROOT / "tests" / "stacks") for path in sorted(folder.glob("Pulumi.*"))
]
STACKS = {
    path.name.removeprefix("Pulumi.").removesuffix(".yaml"): path
    for path in _FOUND
    if path.parent.name != "stacks" or path.name.startswith("Pulumi.doks-")
    if path.suffix == ".yaml" and path.name != "Pulumi.yaml"
}
PARTS = sorted(name for name in STACKS if "-split-" in name)
"""Stacks of one part: a cluster alone, and what lies on it."""
API_TOKEN = "the-token-of-the-account"
TENANCY = "ocid1.tenancy.oc1..aaaaaaaaaccount"
# What the clouds say to the program's questions.
ANSWERS: dict[str, dict[str, Any]] = {
    "getKubernetesVersions": {"latestVersion": "1.36.1-do.7", "validVersions": ["1.36.1-do.7", "1.36.1-do.0"]},
    "getServices": {
        "services": [{"id": "ocid1.service.oc1.iad.all", "cidrBlock": "all-iad-services-in-oracle-services-network"}]
    },
    "getAvailabilityDomains": {"availabilityDomains": [{"name": f"acct:REGION-AD-{number}"} for number in (1, 2, 3)]},
    "getNodePoolOption": {
        "sources": [
            {"imageId": name, "sourceName": f"Oracle-Linux-8.10-{name}-0-OKE-1.34.1-1191"}
            for name in ("2026.05.20", "2026.08.14", "Gen2-GPU-2026.08.14", "aarch64-2026.08.14", "2025.11.30")
        ]
    },
    "getNodePools": {"nodePools": []},
    "getClusterKubeConfig": {
        "content": f"clusters: [{{name: c, cluster: {{certificate-authority-data: {AUTHORITY}}}}}]"
    },
}

Config = dict[str, dict[str, Any]]


def stack_config(path: Path, kubeconfig: Path) -> Config:
    """A stack file's sections, with the kubeconfig of a cluster that exists at a place of the test's own."""
    config = yaml.safe_load(path.read_text())["config"]
    if config.get("gpu-fabric:cluster", {}).get("provider") == "existing":
        config["gpu-fabric:cluster"]["kubeconfig"] = str(kubeconfig)
    return {key: value for key, value in config.items() if key.startswith("gpu-fabric:")}


def _on(provider: str) -> list[str]:
    """Stacks with a cluster and what runs on it, of one provider."""
    clusters = {name: stack_config(STACKS[name], ROOT).get("gpu-fabric:cluster", {}) for name in STACKS}
    return sorted(name for name in STACKS if clusters[name].get("provider") == provider and name not in PARTS)


DOKS, OKE = _on("doks"), _on("oke")


def as_engine_config(config: Config) -> dict[str, str]:
    """Sections as the engine hands them to a program."""
    return {key: json.dumps(value) for key, value in config.items()}


def run_program(
    stack: str,
    config: Config,
    secrets: dict[str, str] | None = None,
    *,
    environment: dict[str, str] | None = None,
    answers: Mapping[str, dict[str, Any]] = ANSWERS,
    recording: Recording | None = None,
    preview: bool = False,
    world: World | None = None,
    today: date | None = None,
) -> Recording:
    """The real program's composition, recorded; `secrets` are further keys of the engine's configuration.

    The accounts' token and tenancy are in the environment, unless another `environment` is given. `world` says more
    than look-ups' `answers`, and takes their place. A platform stack finds its cluster stack brought up, unless the
    world has other stacks' outputs. `today` is the day of the run.
    """
    # Imported here: test collection need not pay for the SDK.
    from stacks.program import program

    world = World(answers) if world is None else world
    world.others = world.others or cluster_stacks_outputs(config)
    others = {name: text for name, text in os.environ.items() if not name.startswith(("DIGITALOCEAN_", "TF_VAR_"))}
    accounts = {"DIGITALOCEAN_TOKEN": API_TOKEN, "TF_VAR_tenancy_ocid": TENANCY}
    account = accounts if environment is None else environment
    # The engine says so which values it has decrypted.
    as_secrets = {"PULUMI_CONFIG_SECRET_KEYS": json.dumps(sorted(secrets or {}))}
    with patch.dict(os.environ, {**others, **account, **as_secrets}, clear=True), answered_waits():
        return record(
            lambda: program(ROOT, today),
            stack=stack,
            config=as_engine_config(config) | (secrets or {}),
            recording=recording,
            preview=preview,
            world=world,
        )


@contextmanager
def answered_waits() -> Iterator[None]:
    """Every wait finds a cluster that is in the awaited state."""
    with (
        patch("components.cluster.oke.looking", _all_joined),
        patch("components.engine.node_states.looking", _all_in_sync),
        patch("components.engine.object_states.looking", _in_state),
        patch("components.engine.plugin_restarts.looking", _all_restarted),
        patch("components.rdma.capacity.looking", _all_offered),
        # A shared cluster has what the stack relies on, and nothing of its names.
        patch("stacks.live_cluster.shares_its_cluster", lambda plan: False),
        patch("components.engine.live_cluster.shares_its_cluster", lambda plan: False),
        patch("components.bases.fabric_component.shares_its_cluster", lambda plan: False),
    ):
        yield


def cluster_stacks_outputs(config: Config) -> dict[str, dict[str, Any]]:
    """What the engine has on record of the cluster stack that a platform's sections name; nothing for other stacks."""
    named = config.get("gpu-fabric:split", {}).get("clusterStack")
    return {named: _outputs_of(named)} if named in STACKS else {}


@cache
def _outputs_of(stack: str) -> dict[str, Any]:
    return run_program(stack, stack_config(STACKS[stack], ROOT)).outputs


def _all_joined(pool: PlannedConstruct, _kubeconfig: str, _context: str | None) -> Any:
    """A cluster that all of a pool's machines have joined."""
    return lambda: {f"{pool.pool}-{node}": True for node in range(pool.nodes)}


def _all_in_sync(wait: PlannedWait, _kubeconfig: str, _context: str | None) -> Any:
    """A cluster whose one node is as the SR-IOV operator wants it."""
    from components.engine.node_states import Seen

    outer, inner = wait.field.split(".")
    offered = {name: str(least) for name, least in wait.resources.items()}
    return lambda: Seen({"gpu-0": offered}, {"gpu-0": {outer: {inner: wait.value}}})


def _all_restarted(planned: PlannedConfiguration, _kubeconfig: str, _context: str | None) -> Any:
    """A cluster whose device plug-ins run with the planned configuration."""
    from components.engine.plugin_restarts import Plugin

    return lambda: Plugin(planned.text, {"metadata": {}})


def _all_offered(planned: PlannedCapacity, _kubeconfig: str, _context: str | None) -> Any:
    """A cluster whose nodes are all there and offer every device."""
    from components.rdma.capacity import Capacity

    offered = dict.fromkeys(planned.resources, "63")
    return lambda: Capacity({f"gpu-{node}": offered for node in range(planned.count)})


def _in_state(planned: PlannedState, _kubeconfig: str, _context: str | None) -> Any:
    """A cluster whose object has the value that is waited for."""
    found: Any = planned.value
    for key in reversed(planned.field.split(".")):
        found = {key: found}
    return lambda: found
