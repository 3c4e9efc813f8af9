"""Mirrors of registries: with one for every registry nothing of a plan names another."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from changes import Changes
from committed_stacks import stack_names
from planned_fabrics import plan_of
from planned_steps import with_items
from program_lists import EVERY_SCHEDULER

from gpu_fabric.base.registries import pulled
from gpu_fabric.catalog import catalog
from gpu_fabric.findings import Severity
from gpu_fabric.k8s.apps import DaemonSet
from gpu_fabric.plan import Plan
from gpu_fabric.plan.images import foreign_images, known_registries
from gpu_fabric.render.layout import files
from gpu_fabric.render.rendering import rendered

MIRROR = "mirror.example/all"
EVERY = {"*": MIRROR}
MIRRORED: dict[str, Any] = {"software.registries": EVERY, "software.charts": "oci://mirror.example/charts"}
# Everything of our own that has an image: host preparation, check, verification, schedulers.
BUSY: dict[str, Any] = {
    "fabric.check": {},
    "fabric.vfsPerNic": 2,
    "fabric.hostPreparation": {"lossless": {}},
    "software.schedulers": EVERY_SCHEDULER,
    "verification": {"enabled": True, "image": "nvcr.io/own/nccl-tests:1"},
}

PlanWith = Callable[[Changes], Plan]


def outside(plan: Plan) -> list[str]:
    return [found.reference for found in foreign_images(plan, catalog(), EVERY)]


def foreign_in_files(plan: Plan) -> set[str]:
    """Every place in the rendered plan, whatever file it is in, where one of the known registries stands."""
    hosts = "|".join(map(re.escape, known_registries(catalog())))
    text = "\n".join(files(rendered(plan)).values())
    return set(re.findall(rf"(?<![\w.-])(?:{hosts})(?![\w.-])\S*", text))


@pytest.mark.parametrize("stack", [*(name for name in stack_names() if not name.startswith("large")), "busy"])
def test_with_a_mirror_of_every_registry_a_stack_names_no_other_one(stack: str) -> None:
    plan = plan_of("dev", {**BUSY, **MIRRORED}) if stack == "busy" else plan_of(stack, MIRRORED)

    assert outside(plan) == []
    assert foreign_in_files(plan) == set()
    assert [entry.id for entry in plan.findings if entry.id in ("IMG001", "IMG002")] == []
    assert stack != "busy" or f"{MIRROR}/own/nccl-tests:1" in str(plan.verification and plan.verification.manifests)


@pytest.mark.parametrize("mirror", ["mirror.example/my_own", "mirror.example:5000/a_b/c"])
@pytest.mark.parametrize("stack", ["dev", "sriov-operator"])
def test_a_mirror_with_a_port_or_an_underscore_is_taken_by_every_operator(stack: str, mirror: str) -> None:
    every = {"*": mirror}
    plan = plan_of(stack, {"software.registries": every, "software.charts": f"oci://{mirror}/charts"})

    assert list(foreign_images(plan, catalog(), every)) == []
    assert [entry for entry in plan.findings if entry.severity is Severity.ERROR] == []
    assert mirror in "\n".join(files(rendered(plan)).values())


@pytest.mark.parametrize(
    ("key", "value", "caught"),
    [
        ("image", "evil.example/tool:1", "evil.example/tool:1"),
        # Docker's own registry goes without saying.
        ("image", "busybox", "busybox"),
        ("args", ["-c", "crictl pull ghcr.io/some/thing:2 && exit"], "ghcr.io/some/thing:2"),
    ],
)
def test_an_image_that_was_doctored_into_a_plan_is_caught(key: str, value: Any, caught: str) -> None:
    plan = plan_of("dev", MIRRORED)
    first, *others = plan.applied("cni-plugins")
    document = first.object.to_dict()
    document["spec"]["template"]["spec"]["containers"][0][key] = value
    made = first.model_copy(update={"object": DaemonSet.model_validate(document)})

    assert outside(with_items(plan, "cni-plugins", (made, *others))) == [caught]


def test_a_chart_that_was_left_to_its_own_defaults_is_caught(plan_with: PlanWith) -> None:
    plan = plan_with(MIRRORED)
    assert plan.release("gpu-operator") is not None
    values = {key: value for key, value in plan.release("gpu-operator").values.items() if key != "validator"}
    altered = plan.release("gpu-operator").model_copy(update={"values": values})

    image = f"nvcr.io/nvidia/gpu-operator:{altered.chart.version}"
    assert outside(with_items(plan, "gpu-operator", (altered,))) == [image]


def test_a_chart_in_a_registry_moves_with_its_images(plan_with: PlanWith) -> None:
    plan = plan_with({**BUSY, "software.registries": EVERY, "software.charts": "upstream"})

    assert plan.release("kueue") is not None
    assert plan.release("kueue").chart.repository == f"oci://{MIRROR}/kueue/charts"


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("nvcr.io/nvidia/driver:1", "m.example/nv/nvidia/driver:1"),
        ("nvcr.io", "m.example/nv"),
        ("busybox:1.36.1", "all.example/library/busybox:1.36.1"),
        ("mpioperator/mpi-operator:1", "all.example/mpioperator/mpi-operator:1"),
        ("localhost:5000/tool", "all.example/tool"),
        ("quay.io/a/b@sha256:00", "all.example/a/b@sha256:00"),
        ("m.example/nv/nvidia/driver:1", "m.example/nv/nvidia/driver:1"),
        ("own.example/tool:1", "own.example/tool:1"),
    ],
)
def test_an_image_moves_with_its_path_its_tag_and_its_digest(reference: str, found: str) -> None:
    registries = {"nvcr.io": "m.example/nv", "*": "all.example", "own.example": "own.example"}

    assert pulled(registries, reference) == found


def test_without_mirrors_nothing_changes(plan_with: PlanWith, dev_plan: Plan) -> None:
    assert plan_with({"software.registries": {}}) == dev_plan
