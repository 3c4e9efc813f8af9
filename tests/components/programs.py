"""The committed stacks as programs that a test can change and record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from recording import Recording, record

from fabric.plan import PlannedWait

ROOT = Path(__file__).parents[2]
STACKS = {
    path.name.removeprefix("Pulumi.").removesuffix(".yaml"): path
    for folder in (ROOT, ROOT / "examples")
    for path in sorted(folder.glob("Pulumi.*.yaml"))
}


def stack_config(path: Path, kubeconfig: Path) -> dict[str, dict[str, object]]:
    """A stack file's sections, with the kubeconfig at a place of the test's own."""
    config = yaml.safe_load(path.read_text())["config"]
    config["gpu-fabric:cluster"]["kubeconfig"] = str(kubeconfig)
    return {key: value for key, value in config.items() if key.startswith("gpu-fabric:")}


def as_engine_config(config: dict[str, dict[str, object]]) -> dict[str, str]:
    """Sections as the engine hands them to a program."""
    return {key: json.dumps(value) for key, value in config.items()}


def run_program(stack: str, config: dict[str, dict[str, object]], secrets: dict[str, str] | None = None) -> Recording:
    """The real program's composition, recorded; `secrets` are further keys of the engine's configuration."""
    # Imported here: test collection need not pay for the SDK.
    from stacks.configuration import program_plan
    from stacks.gpu_cluster import gpu_cluster

    with patch("components.node_states.looking", _all_in_sync):
        return record(
            lambda: gpu_cluster(program_plan(ROOT), ROOT).export(),
            stack=stack,
            config=as_engine_config(config) | (secrets or {}),
        )


def _all_in_sync(wait: PlannedWait, _kubeconfig: str, _context: str | None) -> Any:
    """A cluster whose one node is as the SR-IOV operator wants it."""
    from components.node_states import Seen

    outer, inner = wait.field.split(".")
    offered = {name: str(least) for name, least in wait.resources.items()}
    return lambda: Seen({"gpu-0": offered}, {"gpu-0": {outer: {inner: wait.value}}})
