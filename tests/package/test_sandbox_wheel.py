"""`pip install` of the sandbox's wheel, and a template's program that comes up on it, outside of any checkout."""

import json
import os
from pathlib import Path
from zipfile import ZipFile

from installed_wheel import Installed, run_in
from new_projects import ANSWERS, Templates

from sandbox.engine.workspace import Workspace
from sandbox.home import SandboxHome
from sandbox.kubernetes_api import Api
from sandbox.toolchain.recipes import recipes

# What a checkout alone needs: how the wheel is made, and the name of the folder.
LEFT_OUT = {"hatch_build.py", "checkout.py", "pyproject.toml"}
NETWORKS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
KEYS = """
from gpu_fabric_sandbox.toolchain.recipes import recipes
print(*(recipe.cache_key("1") for recipe in recipes().values()))
"""
# Pulumi's CLI with its plug-ins, as the sandbox has built them; a user has them of Pulumi.
ENGINE = """
from gpu_fabric_sandbox.engine.workspace import Workspace
from gpu_fabric_sandbox.home import SandboxHome
from gpu_fabric_sandbox.toolchain.build import ensure
from gpu_fabric_sandbox.toolchain.progress import Progress
Workspace(SandboxHome.current()).prepare(ensure(["core"], Progress()))
"""


def test_the_wheel_has_every_file_of_the_sandbox_and_what_links_lead_to(root: Path, sandbox_wheel: Path) -> None:
    folder = root / "sandbox"
    files = {
        str(Path("gpu_fabric_sandbox", file.relative_to(folder))): file.read_bytes()
        for place, _, names in os.walk(folder, followlinks=True)
        for file in (Path(place, name) for name in names)
        if not {"__pycache__", ".ruff_cache"} & {*file.parts} and str(file.relative_to(folder)) not in LEFT_OUT
    }
    with ZipFile(sandbox_wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}

    assert "gpu_fabric_sandbox/charts/26.7/gpu-operator/crds/nvidia.com_clusterpolicies.yaml" in packed
    assert packed == files


def test_its_toolchain_is_that_of_the_checkout(installed_sandbox: Installed) -> None:
    assert installed_sandbox.python("-c", KEYS).split() == [recipe.cache_key("1") for recipe in recipes().values()]


def test_the_command_comes_with_the_sandbox_and_reads_its_own_arguments(
    installed: Installed, installed_sandbox: Installed
) -> None:
    assert "No such command 'sandbox'" in installed.run("sandbox", "status").stderr
    assert "simulated GPU" in installed_sandbox.output("--help")
    assert "Usage: gpu-fabric sandbox rail" in installed_sandbox.output("sandbox", "rail", "--help")
    assert installed_sandbox.run("sandbox", "down", "-s").returncode == 2
    assert installed_sandbox.output("sandbox", "down") == "there is no sandbox: nothing to stop\n"
    assert "no stack file: gpu-fabric sandbox up --shape TYPE" in installed_sandbox.run("sandbox", "up").stderr
    status = installed_sandbox.run("sandbox", "status")
    assert (status.returncode, status.stdout) == (1, "there is no sandbox; start one with: gpu-fabric sandbox up\n")


def test_a_templates_program_comes_up_on_it_changes_nothing_afterwards_and_is_destroyed(
    installed_sandbox: Installed, tmp_path: Path
) -> None:
    (tmp_path / "Pulumi.yaml").write_text("{name: engine, runtime: python}")
    made = run_in([installed_sandbox.programs / "python", "-c", ENGINE], tmp_path)
    assert made.returncode == 0, made.stderr
    engine = Workspace(SandboxHome(tmp_path / ".sandbox"))
    project = Templates(engine, tmp_path / "projects", installed_sandbox).new(
        "existing-python", **ANSWERS["existing-python"]
    )

    def sandbox(*arguments: str) -> str:
        done = run_in([installed_sandbox.programs / "gpu-fabric", "sandbox", *arguments], project.root)
        assert done.returncode == 0, done.stderr
        return done.stdout

    try:
        assert "4 nodes (4 added)" in sandbox("up", "--shape", "BM.GPU.H100.8", "--nodes", "3")
        kubeconfig = project.root / ".sandbox/kubeconfig"
        project.pulumi("config", "set", "--secret", "kubeconfig", given=kubeconfig.read_text())
        project.use_charts_of_the_sandbox()
        project.pulumi("up", "--yes", "--skip-preview")

        networks = {item["metadata"]["name"] for item in Api(kubeconfig).get(NETWORKS)["items"]}
        assert {entry["network"] for entry in project.outputs()["fabric"]["networks"]} == networks != set()
        state = json.loads(project.pulumi("stack", "export"))["deployment"]["resources"]
        charts = [entry["inputs"]["chart"] for entry in state if entry["type"].endswith(":Release")]
        assert charts != []
        assert all("/gpu_fabric_sandbox/charts/26.7/" in chart for chart in charts)

        project.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")
        project.pulumi("destroy", "--yes", "--skip-preview")
        assert Api(kubeconfig).get(NETWORKS)["items"] == []
    finally:
        assert "kube-apiserver" in sandbox("down")
