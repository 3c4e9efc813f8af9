"""Every committed stack, recorded once."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import yaml
from recording import Recording, record

ROOT = Path(__file__).parents[2]
STACKS = {
    path.name.removeprefix("Pulumi.").removesuffix(".yaml"): path
    for folder in (ROOT, ROOT / "examples")
    for path in sorted(folder.glob("Pulumi.*.yaml"))
}
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: stub
contexts: [{name: stub, context: {cluster: stub, user: stub}}]
clusters: [{name: stub, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: stub, user: {token: a-secret-token}}]
"""


def stack_config(path: Path, kubeconfig: Path) -> dict[str, dict[str, object]]:
    """A stack file's sections, with the kubeconfig at a place of the test's own."""
    config = yaml.safe_load(path.read_text())["config"]
    config["gpu-fabric:cluster"]["kubeconfig"] = str(kubeconfig)
    return {key: value for key, value in config.items() if key.startswith("gpu-fabric:")}


def as_engine_config(config: dict[str, dict[str, object]]) -> dict[str, str]:
    """Sections as the engine hands them to a program."""
    return {key: json.dumps(value) for key, value in config.items()}


def run_program(stack: str, config: dict[str, dict[str, object]]) -> Recording:
    """The real program's composition, recorded."""
    # Imported here: test collection need not pay for the SDK.
    from stacks.configuration import program_plan
    from stacks.gpu_cluster import gpu_cluster

    return record(lambda: gpu_cluster(program_plan(ROOT), ROOT).export(), stack=stack, config=as_engine_config(config))


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    path.write_text(KUBECONFIG)
    return path


@pytest.fixture(scope="session")
def recorded(kubeconfig: Path) -> Callable[[str], Recording]:
    @cache
    def recorded_stack(name: str) -> Recording:
        return run_program(name, stack_config(STACKS[name], kubeconfig))

    return recorded_stack


@pytest.fixture(scope="session", params=sorted(STACKS))
def stack(request: pytest.FixtureRequest, recorded: Callable[[str], Recording]) -> Recording:
    """Each committed stack in turn."""
    return recorded(request.param)


@pytest.fixture(scope="session")
def dev(recorded: Callable[[str], Recording]) -> Recording:
    return recorded("dev")
