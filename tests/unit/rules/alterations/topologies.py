"""Finished plans whose topology file NCCL would not find, as only a fault of this program can bring about."""

from __future__ import annotations

from collections.abc import Callable

from planned_steps import with_items

from gpu_fabric.plan import Plan
from rules.alterations.parts import patch_of, with_contract


def with_the_file_in_no_namespace(plan: Plan) -> Plan:
    kept = tuple(entry for entry in plan.applied("nccl") if "topology" not in entry.name)
    return with_items(plan, "nccl", kept)


def with_the_file_under_another_name(plan: Plan) -> Plan:
    """The ConfigMap keeps its name where its content changes, so that pods would not roll."""
    files = tuple(
        file.model_copy(update={"content": file.content + "<!-- new -->\n"}) if file.variable else file
        for file in plan.nccl.files
    )
    return plan.model_copy(update={"nccl": plan.nccl.model_copy(update={"files": files})})


def with_another_path_in_the_variable(plan: Plan) -> Plan:
    patch = patch_of(plan)
    for entry in patch["spec"]["containers"][0]["env"]:
        if entry["name"] == "NCCL_TOPO_FILE":
            entry["value"] = "/etc/nccl/topology.xml"
    return with_contract(plan, pod_template_patch=patch)


def without_the_mount_of_the_file(plan: Plan) -> Plan:
    patch = patch_of(plan)
    container = patch["spec"]["containers"][0]
    container["volumeMounts"] = [mount for mount in container["volumeMounts"] if mount.get("subPath") != "topo.xml"]
    return with_contract(plan, pod_template_patch=patch)


def with_setting(name: str, value: str) -> Callable[[Plan], Plan]:
    """The settings have one more."""

    def alter(plan: Plan) -> Plan:
        environment = {**plan.nccl.environment, name: value}
        return plan.model_copy(update={"nccl": plan.nccl.model_copy(update={"environment": environment})})

    return alter
