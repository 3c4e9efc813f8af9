"""`gpu-fabric images`: every image and chart, by digest where it is known, and what is not known."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from changes import Changes
from program_lists import LINES
from typer.testing import CliRunner, Result

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.app import app
from gpu_fabric.plan import Plan
from gpu_fabric.plan.images import ImageList, image_list

PlanWith = Callable[[Changes], Plan]
NFD = "registry.k8s.io/nfd/node-feature-discovery"


def listed(plan: Plan) -> ImageList:
    return image_list(plan, catalog(), {})


@pytest.fixture
def folder(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two stack files, as the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml", "examples/Pulumi.doks-mi325x.yaml"):
        shutil.copy(root / name, tmp_path)
    return tmp_path


def images(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["images", *arguments])


_SCHEDULERS = "software.schedulers"
_CHECK = {"fabric.vfsPerNic": 2, "fabric.check": {}}
_OWN = f"own.example/tools@sha256:{'0' * 64}"
_NFD_TAG = {"node-feature-discovery": {"image": {"tag": "v9"}}}


@pytest.mark.parametrize(
    ("changes", "image", "digest"),
    [
        ({"software.gpuOperator.driver": True}, "nvcr.io/nvidia/driver:595.91.07", None),
        ({"software.gpuOperator.gdrcopy": True}, "nvcr.io/nvidia/cloud-native/gdrdrv:v2.6", None),
        ({_SCHEDULERS: {"mpiOperator": {}}}, "docker.io/mpioperator/mpi-operator:0.8.0", None),
        (_CHECK, "ghcr.io/spidernet-io/rdma-tools:light-v12.5.8", None),
        ({"fabric.readiness": {"pair": {"image": "own.example/perftest:1"}}}, "own.example/perftest:1", None),
        # The user's own version counts, and no digest is invented for it.
        ({"software.gpuOperator.values": _NFD_TAG}, "registry.k8s.io/nfd/node-feature-discovery:v9", ""),
        ({**_CHECK, "fabric.check": {"image": _OWN}}, _OWN, "sha256:00000000"),
        # With tag and digest it is listed once, by its tag.
        ({"fabric.hostPreparation": {"lossless": {}}}, "docker.io/library/busybox:1.36.1", "sha256:9ae97d36"),
    ],
)
def test_what_is_switched_on_is_listed_and_nothing_else(
    plan_with: PlanWith, dev_plan: Plan, changes: Changes, image: str, digest: str | None
) -> None:
    before = {one.reference for one in listed(dev_plan).images}
    added = {one.reference: one for one in listed(plan_with(changes)).images if one.reference not in before}

    assert image in added
    assert digest is None or (added[image].digest or "")[:15] == digest


def test_every_chart_version_of_every_line_has_its_images() -> None:
    charts = {(name, chart.version) for line in catalog().releases.values() for name, chart in line.charts.items()}

    assert {(name, version) for name, rows in catalog().chart_versions.items() for version in rows} == charts


@pytest.mark.parametrize("name", LINES[1:])
def test_every_image_that_nvidia_publishes_with_the_network_operator_has_its_digest(name: str) -> None:
    line = catalog().releases[name]
    charts = catalog().chart_versions["network-operator"][line.charts["network-operator"].version]
    of_chart = {
        "/".join(row.image[:-1]) + f":{row.image[-1]}" if row.image[1:] else row.image[0] for row in charts.images
    }
    operands = {line.images.image(component).reference for component in line.images.names}
    vendors = {image for image in of_chart | operands if image.startswith("nvcr.io/")}

    # The page does not list Node Feature Discovery, drivers have the operating system in their tag, and of the service
    # of planes no release's tag is known.
    lacking = {image.rpartition(":")[0] for image in vendors - set(catalog().image_digests)}
    of_planes = {"nvcr.io/nvidia/doca/xplane"} if "xPlane" in line.images.names else set()
    known = {"nvcr.io/nvidia/mellanox/node-feature-discovery", "nvcr.io/nvidia/mellanox/doca-driver"}
    assert lacking == known | of_planes


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
    (tag,) = {reference.removeprefix(f"{NFD}:") for reference in found if reference.startswith(NFD)}
    assert found[f"{NFD}:{tag}"] == f"mirror.example/nfd/node-feature-discovery:{tag}"
