"""`gpu-fabric images`: every image and chart, by digest where it is known, and what is not known."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changes import Changes
from program_lists import LINES
from typer.testing import CliRunner, Result

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.app import app
from gpu_fabric.plan import Plan
from gpu_fabric.plan.images import ImageList, image_list

PlanWith = Callable[[Changes], Plan]
NFD = "registry.k8s.io/nfd/node-feature-discovery:v0.18.3"


def listed(plan: Plan) -> ImageList:
    return image_list(plan, catalog(), {})


def references(plan: Plan) -> set[str]:
    return {image.reference for image in listed(plan).images}


@pytest.fixture
def folder(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two stack files, as the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.doks-mi325x.yaml"):
        shutil.copy(root / name, tmp_path)
    return tmp_path


def images(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["images", *arguments])


@pytest.mark.parametrize(
    ("changes", "image"),
    [
        ({"software.gpuOperator.driver": True}, "nvcr.io/nvidia/driver:580.126.20"),
        ({"software.gpuOperator.gdrcopy": True}, "nvcr.io/nvidia/cloud-native/gdrdrv:v2.5.2"),
        ({"software.schedulers": {"volcano": {}}}, "docker.io/volcanosh/vc-scheduler:v1.15.1"),
        ({"software.schedulers": {"mpiOperator": {}}}, "docker.io/mpioperator/mpi-operator:0.8.0"),
        ({"fabric.check": {}, "fabric.vfsPerNic": 2}, "ghcr.io/spidernet-io/rdma-tools:light-v12.5.8"),
    ],
)
def test_what_is_switched_on_is_listed_and_nothing_else(
    plan_with: PlanWith, dev_plan: Plan, changes: dict[str, Any], image: str
) -> None:
    assert image in references(plan_with(changes)) - references(dev_plan)


def test_a_version_of_the_users_own_values_is_the_one_that_is_listed(plan_with: PlanWith) -> None:
    plan = plan_with({"software.gpuOperator.values": {"toolkit": {"version": "v9"}}})

    assert "nvcr.io/nvidia/k8s/container-toolkit:v9" in references(plan)


def test_a_digest_is_said_where_it_is_known_and_is_not_invented_for_other_versions(plan_with: PlanWith) -> None:
    other = {"software.gpuOperator.values": {"node-feature-discovery": {"image": {"tag": "v9"}}}}
    known = {image.reference: image.digest for image in listed(plan_with({})).images}
    unknown = {image.reference: image.digest for image in listed(plan_with(other)).images}

    assert (known[NFD] or "").startswith("sha256:")
    assert unknown["registry.k8s.io/nfd/node-feature-discovery:v9"] is None


@pytest.mark.parametrize("name", LINES[1:])
def test_every_image_that_nvidia_publishes_with_the_network_operator_has_its_digest(name: str) -> None:
    line = catalog().releases[name]
    charts = catalog().chart_versions["network-operator"][line.charts["network-operator"].version]
    of_chart = {
        "/".join(row.image[:-1]) + f":{row.image[-1]}" if row.image[1:] else row.image[0] for row in charts.images
    }
    operands = {line.images.image(component).reference for component in line.images.names}
    vendors = {image for image in of_chart | operands if image.startswith("nvcr.io/")}

    # The page does not list Node Feature Discovery, and drivers with the operating system in their tag alone.
    lacking = {image.rpartition(":")[0] for image in vendors - set(catalog().image_digests)}
    assert lacking == {"nvcr.io/nvidia/mellanox/node-feature-discovery", "nvcr.io/nvidia/mellanox/doca-driver"}


# Images of the stack's own privileged pods for which no source at hand states a digest.
WITHOUT_DIGEST = {
    "ghcr.io/k8snetworkplumbingwg/multus-cni": "its releases name tags alone",
    "ghcr.io/digitalocean-packages/ip-preserving-host-device": "DigitalOcean's guide names the tag alone",
    "ghcr.io/k8snetworkplumbingwg/sriov-cni": "line 23.10: its public sources name tags alone",
    "ghcr.io/k8snetworkplumbingwg/ib-sriov-cni": "line 23.10: its public sources name tags alone",
    "ghcr.io/k8snetworkplumbingwg/rdma-cni": "line 23.10: its public sources name tags alone",
}


def test_what_runs_as_root_on_nodes_is_named_by_its_digest(stack_plans: tuple[Plan, ...]) -> None:
    root_on_nodes = {
        container["image"]
        for plan in stack_plans
        for entry in plan.objects
        for pod in [entry.object.manifest().get("spec", {}).get("template", {}).get("spec", {})]
        for container in (*pod.get("containers", ()), *pod.get("initContainers", ()))
        if container.get("securityContext", {}).get("privileged")
    }
    by_tag = {image.rpartition(":")[0] for image in root_on_nodes if "@sha256:" not in image}

    assert any(image.startswith("docker.io/library/busybox:1.36.1@sha256:") for image in root_on_nodes)
    assert by_tag <= set(WITHOUT_DIGEST)


def test_an_image_with_tag_and_digest_is_listed_once_by_its_tag(plan_with: PlanWith) -> None:
    rows = listed(plan_with({"fabric.hostPreparation": {"lossless": {}}})).images
    (busybox,) = (image for image in rows if image.reference.startswith("docker.io/library/busybox"))

    assert busybox.reference == busybox.pulled_as == "docker.io/library/busybox:1.36.1"
    assert (busybox.digest or "").startswith("sha256:9ae97d36")


def test_a_digest_that_the_user_wrote_is_known(plan_with: PlanWith) -> None:
    digest = f"sha256:{'0' * 64}"
    plan = plan_with({"fabric.check": {"image": f"own.example/tools@{digest}"}, "fabric.vfsPerNic": 2})

    assert {image.digest for image in listed(plan).images if image.reference.startswith("own.")} == {digest}


@pytest.mark.usefixtures("folder")
def test_the_command_lists_images_charts_and_what_is_unknown() -> None:
    result = images("-s", "doks-mi325x")

    assert (result.exit_code, result.stderr) == (0, "")
    assert "ghcr.io/k8snetworkplumbingwg/multus-cni:v4.3.0-thick\n    digest     unknown" in result.stdout
    assert "Charts\n\nnone" in result.stdout
    assert "provider doks: what DigitalOcean runs" in result.stdout


def test_the_command_says_where_a_mirror_has_them(folder: Path) -> None:
    file = folder / "Pulumi.dev.yaml"
    text = file.read_text(encoding="utf-8")
    assert text.count("gpu-fabric:software:") == 1
    mirror = 'gpu-fabric:software:\n    registries: {"*": mirror.example}'
    file.write_text(text.replace("gpu-fabric:software:", mirror), encoding="utf-8")

    result = images("--json")

    assert result.exit_code == 0
    found = {row["reference"]: row["pulledAs"] for row in json.loads(result.stdout)["images"]}
    assert found[NFD] == "mirror.example/nfd/node-feature-discovery:v0.18.3"
