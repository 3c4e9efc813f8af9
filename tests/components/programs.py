"""The committed stacks as programs that a test can change and record."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from recording import Recording, record

from fabric.plan import PlannedCapacity, PlannedWait

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
DOKS = sorted(name for name in STACKS if name.startswith("doks-"))
API_TOKEN = "the-token-of-the-account"
VERSIONS = {"getKubernetesVersions": {"latestVersion": "1.36.1-do.7", "validVersions": ["1.36.1-do.7", "1.36.1-do.0"]}}

Config = dict[str, dict[str, Any]]


def stack_config(path: Path, kubeconfig: Path) -> Config:
    """A stack file's sections, with the kubeconfig of a cluster that exists at a place of the test's own."""
    config = yaml.safe_load(path.read_text())["config"]
    if config["gpu-fabric:cluster"]["provider"] == "existing":
        config["gpu-fabric:cluster"]["kubeconfig"] = str(kubeconfig)
    return {key: value for key, value in config.items() if key.startswith("gpu-fabric:")}


def as_engine_config(config: Config) -> dict[str, str]:
    """Sections as the engine hands them to a program."""
    return {key: json.dumps(value) for key, value in config.items()}


def run_program(
    stack: str,
    config: Config,
    secrets: dict[str, str] | None = None,
    *,
    environment: dict[str, str] | None = None,
    answers: Mapping[str, dict[str, Any]] = VERSIONS,
    recording: Recording | None = None,
    preview: bool = False,
) -> Recording:
    """The real program's composition, recorded; `secrets` are further keys of the engine's configuration.

    The account's token is in the environment, unless another `environment` is given.
    """
    # Imported here: test collection need not pay for the SDK.
    from stacks.configuration import program_plan
    from stacks.gpu_cluster import gpu_cluster

    others = {name: text for name, text in os.environ.items() if not name.startswith("DIGITALOCEAN_")}
    account = {"DIGITALOCEAN_TOKEN": API_TOKEN} if environment is None else environment
    with (
        patch.dict(os.environ, {**others, **account}, clear=True),
        patch("components.node_states.looking", _all_in_sync),
        patch("components.rdma.capacity.looking", _all_offered),
    ):
        return record(
            lambda: gpu_cluster(program_plan(ROOT), ROOT).export(),
            stack=stack,
            config=as_engine_config(config) | (secrets or {}),
            recording=recording,
            preview=preview,
            answers=answers,
        )


def _all_in_sync(wait: PlannedWait, _kubeconfig: str, _context: str | None) -> Any:
    """A cluster whose one node is as the SR-IOV operator wants it."""
    from components.node_states import Seen

    outer, inner = wait.field.split(".")
    offered = {name: str(least) for name, least in wait.resources.items()}
    return lambda: Seen({"gpu-0": offered}, {"gpu-0": {outer: {inner: wait.value}}})


def _all_offered(planned: PlannedCapacity, _kubeconfig: str, _context: str | None) -> Any:
    """A cluster whose nodes are all there and offer every device."""
    from components.rdma.capacity import Capacity

    offered = dict.fromkeys(planned.resources, "63")
    return lambda: Capacity({f"gpu-{node}": offered for node in range(planned.count)})
