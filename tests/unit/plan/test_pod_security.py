"""What pods of the plans may do, and that they find what they name: nothing is left to a default."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from changes import changed
from committed_stacks import ROOT, STACKS, folder_of
from program_lists import SCHEDULER_NAMESPACES

from gpu_fabric.discover.look_job import job
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedHook
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document

# Privileged, and why: each changes something of the host itself.
PRIVILEGED = {
    "the host's plug-ins of networks": {
        *("ib-sriov-cni", "install-multus-binary", "ip-preserving-host-device", "kube-multus", "rdma-cni", "sriov-cni")
    },
    "the host's NICs, addresses, rules and PCI functions": {
        *("acs", "fabric-rule", "ipoib", "link-type", "lossless", "nic-addresses", "rdma-mode", "virtual-functions")
    },
    "whatever the user wants changed on a node": {"node-hook"},
    "the PCI configuration space, read": {"gpu-fabric-look"},
}
CONFINED = {"fabric-check", "fabric-pair", "fabric-readiness", "mpi-operator"}
# Jobs of the stack, in the user's image; memory that is registered with a NIC is locked.
OF_JOBS = {"mpiworker"}
# Sections with pods of their own that few of the stacks have, by a stack that they fit.
MORE: dict[str, dict[str, Any]] = {
    "dev": {"fabric.hostPreparation": {"linkType": "report", "rdmaMode": True, "disableAcs": True}},
    "doks-h200": {"fabric.readiness": {"lostNics": True}},
    "readiness": {
        "fabric.readiness": {"pair": {}},
        "upgrade": {"hook": {"image": "registry.example/fix:1", "command": ["/fix"]}},
    },
    "spiderpool-ib": {"fabric.check": {}, "fabric.hostPreparation": {"ipoib": True}},
}


def plans() -> Iterator[Plan]:
    folders: tuple[Path, ...] = (STACKS, ROOT, ROOT / "examples")
    for stack in sorted({path.name.split(".")[1] for folder in folders for path in folder.glob("Pulumi.*.yaml")}):
        yield prepare(read_document(stack, folder_of(stack)), for_up=False).plan
    for stack, more in MORE.items():
        yield prepare(changed(read_document(stack, folder_of(stack)), more), for_up=False).plan


def containers(found: Any) -> Iterator[dict[str, Any]]:
    """Of each pod that is anywhere in a manifest, or in a file of one."""
    if isinstance(found, dict):
        if isinstance(found.get("containers"), list):
            yield from (*found.get("initContainers", ()), *found["containers"])
        for inner in found.values():
            yield from containers(inner)
    elif isinstance(found, str) and found.startswith("{"):
        with contextlib.suppress(ValueError):
            yield from containers(json.loads(found))
    elif isinstance(found, list | tuple):
        for inner in found:
            yield from containers(inner)


def manifests(plan: Plan) -> Iterator[Any]:
    for step in plan.steps:
        for entry in step.items:
            yield entry.model_dump(mode="json", by_alias=True, exclude_none=True)
            if isinstance(entry, PlannedHook):
                yield entry.manifest


@pytest.fixture(scope="module")
def every_plan() -> tuple[Plan, ...]:
    return tuple(plans())


@pytest.fixture(scope="module")
def planned(every_plan: tuple[Plan, ...]) -> dict[str, list[dict[str, Any]]]:
    """The security contexts of all containers, by name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for plan in every_plan:
        for manifest in manifests(plan):
            for container in containers(manifest):
                found.setdefault(container["name"], []).append(container.get("securityContext") or {})
    for container in containers(job("gpu-0", "gpu-fabric-look", "image")):
        found.setdefault(container["name"], []).append(container["securityContext"])
    return found


def test_every_container_states_what_it_may_do_and_privileged_ones_are_those_that_change_the_host(
    planned: dict[str, list[dict[str, Any]]],
) -> None:
    privileged = {name for names in PRIVILEGED.values() for name in names}

    assert planned.keys() == privileged | CONFINED | OF_JOBS
    for name, contexts in planned.items():
        assert {context.get("privileged", False) for context in contexts} == {name in privileged}, name
        assert all(contexts), name


def test_what_needs_nothing_of_its_node_can_do_nothing_to_it(planned: dict[str, list[dict[str, Any]]]) -> None:
    for name in CONFINED:
        for context in planned[name]:
            capabilities = context["capabilities"]
            assert capabilities["drop"] == ["ALL"]
            assert capabilities.get("add") == (["IPC_LOCK"] if name == "fabric-pair" else None)
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}
            assert context.get("runAsNonRoot", False) == (name in ("fabric-readiness", "mpi-operator"))


def _named(manifest: dict[str, Any]) -> Iterator[tuple[str, str | None, str]]:
    """Kind, namespace and name of what an object needs beside it."""
    namespace = manifest["metadata"].get("namespace")
    if manifest["kind"] in ("RoleBinding", "ClusterRoleBinding"):
        yield from (("ServiceAccount", one["namespace"], one["name"]) for one in manifest["subjects"])
        role = manifest["roleRef"]
        if role["name"] != "view":  # Kubernetes' own.
            yield role["kind"], namespace if role["kind"] == "Role" else None, role["name"]
    pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
    if account := pod.get("serviceAccountName"):
        yield "ServiceAccount", namespace, account
    yield from (
        ("ConfigMap", namespace, volume["configMap"]["name"])
        for volume in pod.get("volumes", ())
        if "configMap" in volume
    )


def test_every_account_role_and_file_that_an_object_names_is_planned_and_no_role_is_for_everything(
    every_plan: tuple[Plan, ...],
) -> None:
    scripts = set()
    for plan in every_plan:
        objects = [entry.object.manifest() for entry in plan.objects]
        there = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]): one for one in objects}
        for manifest in objects:
            named = set(_named(manifest))
            assert named <= there.keys()
            files = {name for key in named for name in there[key].get("data", ())}
            for container in containers(manifest.get("spec")):
                run = set(re.findall(r"/script/([\w.]+)", " ".join(container.get("command", ()))))
                assert run <= files
                scripts |= run
            for rule in manifest.get("rules", ()) if manifest["kind"].endswith("Role") else ():
                assert "*" not in rule["apiGroups"]
                assert "secrets" not in rule["resources"] or manifest["metadata"]["name"] == "mpi-operator"

    assert len(scripts) > 8


def _levels(stack: str, **values: dict[str, Any]) -> dict[str, set[str]]:
    """The Pod Security levels of the namespaces of operators."""
    places = {f"software.schedulers.{name}.values": stated for name, stated in values.items()}
    plan = prepare(changed(read_document(stack, folder_of(stack)), places), for_up=False).plan
    return {
        entry.object.metadata.name: set((entry.object.metadata.labels or {}).values())
        for entry in plan.applied("namespaces")
    }


def test_namespaces_of_schedulers_admit_no_privileged_pods_unless_a_value_of_the_chart_needs_it() -> None:
    found = _levels("kueue")
    apart = SCHEDULER_NAMESPACES.values()

    assert {name: found[name] for name in apart} == {name: {"baseline"} for name in apart}
    assert found["nvidia-network-operator"] == {"privileged"}
    changed_by = _levels(
        "kueue",
        volcano={"custom": {"colocation_enable": True}},
        kueue={"controllerManager": {"hostNetwork": True}},
        jobSet={"controller": {"hostNetwork": False}},
    )
    assert {name for name in apart if changed_by[name] == {"privileged"}} == {"kueue-system", "volcano-system"}
