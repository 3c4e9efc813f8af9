"""The real engine, the real language host and the real Kubernetes plug-in, with no cluster at hand."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from previews import Engine
from stack_plans import stack_plan
from stub_cluster import TOKEN
from whole_lives import HOST_NETWORK, MODELS, assert_just_what_is_planned

from sandbox.home import project_root

# What the engine writes in a preview in the place of a value that is not known yet.
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

# A stack that comes up in the sandbox is compared with its plan there.
FILES = [
    path
    for folder in (project_root(), project_root() / "examples")
    for path in sorted(folder.glob("Pulumi.*.yaml"))
    if path.name.split(".")[1] not in {*MODELS, HOST_NETWORK}
]
DEV, EXAMPLES = project_root() / "Pulumi.dev.yaml", project_root() / "examples"


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_a_committed_stack_previews_and_creates_just_what_its_plan_holds(engine: Engine, file: Path) -> None:
    preview = engine.committed(file)
    plan = stack_plan(file.name.removeprefix("Pulumi.").removesuffix(".yaml"), project_root())
    assert preview.status == 0, preview.printed
    assert set(preview.steps.values()) == {"create"}
    assert_just_what_is_planned((step["newState"] for step in preview.digest["steps"]), plan)


def test_no_secret_shows_in_a_preview(engine: Engine) -> None:
    """Neither a kubeconfig's token, nor a cloud's, nor the kubeconfig that is made of it."""
    pools, platform = (EXAMPLES / f"Pulumi.{name}.yaml" for name in ("spiderpool-sriov", "doks-split-platform"))
    for file in (DEV, pools, platform, project_root() / "examples/Pulumi.doks-h200.yaml"):
        preview = engine.committed(file)
        assert preview.status == 0, preview.printed
        assert TOKEN not in preview.printed
        assert engine.workspace.environment()["DIGITALOCEAN_TOKEN"] not in preview.printed


def test_a_preview_of_a_platform_has_nothing_that_is_known_only_later(engine: Engine) -> None:
    preview = engine.committed(EXAMPLES / "Pulumi.doks-split-platform.yaml")
    made = [step["newState"] for step in preview.digest["steps"] if step["op"] == "create"]
    objects = [state for state in made if state["type"].startswith("kubernetes:")]
    assert len(objects) == len(stack_plan("doks-split-platform", project_root()).objects)
    assert UNKNOWN not in json.dumps([state["inputs"] for state in made if "inputs" in state])


def test_a_platform_without_its_cluster_is_refused_before_anything_is_planned(engine: Engine) -> None:
    def name_another(config: dict[str, Any]) -> None:
        config["gpu-fabric:split"]["organization"] = "organization"
        config["gpu-fabric:split"]["clusterStack"] = "doks-split-elsewhere"

    preview = engine.preview(EXAMPLES / "Pulumi.doks-split-platform.yaml", name_another)
    assert preview.status != 0
    assert "there is no stack file for 'doks-split-elsewhere'" in preview.printed
    assert "gpu-fabric:split.clusterStack" in preview.printed
    assert "Traceback" not in preview.printed
    assert preview.steps == {}


def stray_resource(engine: Engine, folder: Path, program: str) -> str:
    """What is printed of a program with this project's settings that makes a resource and names no provider."""
    project = (project_root() / "Pulumi.yaml").read_text()
    project = project.replace("gpu-fabric", "stray", 1).replace("virtualenv: .venv", f"virtualenv: {sys.prefix}", 1)
    (folder / "Pulumi.yaml").write_text(project)
    (folder / "__main__.py").write_text(program)
    engine.run(["stack", "init", folder.name, "--non-interactive"], folder)
    engine.run(["config", "set", "--path", "cluster.x", "1", "--stack", folder.name], folder)
    result = engine.run(["preview", "--non-interactive", "--stack", folder.name], folder)
    assert result.returncode != 0
    return result.stdout + result.stderr


def spoil(config: dict[str, Any]) -> None:
    config["gpu-fabric:fabric"]["modell"] = "sriov"
    config["gpu-fabric:cluster"]["pools"][0]["shape"] = "BM.GPU.H100.80"
    config["gpu-fabric:cluster"]["pools"][0]["nodes"] = 0
    config["gpu-fabric:fabric"]["mtu"] = "large"


def lose_the_kubeconfig(config: dict[str, Any]) -> None:
    config["gpu-fabric:cluster"]["kubeconfig"] = "nowhere/kubeconfig"
    config["gpu-fabric:fabric"]["addressing"]["supernet"] = "192.168.0.0/27"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (spoil, ("fabric.modell", "pools[0].shape", "pools[0].nodes", "fabric.mtu")),
        (lose_the_kubeconfig, ("nowhere/kubeconfig: no such file", "192.168.0.0/27")),
    ],
)
def test_bad_configuration_ends_with_one_message_no_traceback_and_nothing_planned(
    engine: Engine, change: Callable[[dict[str, Any]], None], said: tuple[str, ...]
) -> None:
    preview = engine.preview(DEV, change)
    assert preview.status != 0
    for text in said:
        assert text in preview.printed
    assert "Traceback" not in preview.printed
    assert preview.steps == {}


@pytest.mark.parametrize(
    ("program", "provider"),
    [
        ("import pulumi_kubernetes as k\nk.core.v1.Namespace('stray')\n", "kubernetes"),
        ("import pulumi_digitalocean as d\nd.Vpc('stray', region='nyc2')\n", "digitalocean"),
    ],
)
def test_a_resource_without_the_stacks_own_provider_is_refused(
    engine: Engine, tmp_path: Path, program: str, provider: str
) -> None:
    assert f"Default provider for '{provider}' disabled" in stray_resource(engine, tmp_path, program)
