"""Every file that a tool needs to deploy the cluster part of a plan, with the index that allows to replace them."""

from __future__ import annotations

import re
from typing import Any, get_args

from gpu_fabric.findings import Finding, finding
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedWaves
from gpu_fabric.plan.waves import WAVES
from gpu_fabric.render.gitops.adoption import fragments
from gpu_fabric.render.gitops.argo import argo_files
from gpu_fabric.render.gitops.flux import flux_files
from gpu_fabric.render.gitops.kustomize import kustomize_files
from gpu_fabric.render.gitops.notes import notes
from gpu_fabric.render.gitops.place import Place
from gpu_fabric.render.gitops.units import Tool, Unit, can_be_waited_for, units
from gpu_fabric.render.layout import TOOL, WRITTEN_BY, json_text
from gpu_fabric.render.model import VERSION
from gpu_fabric.render.places import INDEX
from gpu_fabric.spec.places import dotted

NOTES = "NOTES.md"
"""What to do with the files, and what they do not do."""

TOOLS: tuple[Tool, ...] = get_args(Tool)
"""Every tool."""

# The name of a user of SSH is not a secret; over HTTPS it may be a token.
_CREDENTIALS = re.compile(r"https?://[^/]*@|\w+://[^/@]*:[^/@]*@")

# Charts with values that kustomize does not take though Helm does: chart, version, the value's path, and why.
_NOT_BUILT = (
    (
        "network-operator",
        "26.1.2",
        ("sriovNetworkOperator", "enabled"),
        "its SR-IOV operator's Deployment has the key securityContext twice, which Helm takes and kustomize does not",
    ),
)


class GitOpsError(Exception):
    """A plan cannot be written for a tool; the message says why, and what to do."""


def gitops_files(plan: Plan, tool: Tool, place: Place) -> dict[str, str]:
    """Every file by its path; the same plan and place give the same bytes.

    Raises:
        GitOpsError: the plan has nothing on a cluster, or something that the tool cannot be given.
    """
    _refuse(plan, tool, place)
    # Argo CD judges the health of an Application's own objects, so there is no Application that only waits.
    found = units(plan) if tool == "argo" else units(plan, can_be_waited_for)
    checks = {unit.step: unit.checks for unit in units(plan, lambda _: True) if unit.checks}
    match tool:
        case "kustomize":
            files = kustomize_files(found)
        case "argo":
            files = argo_files(found, (check for each in checks.values() for check in each), place)
        case "flux":
            files = flux_files(found, place)
    files |= {fragment.path: fragment.text for fragment in fragments(plan)}
    files[NOTES] = notes(plan, tool, place, found, checks)
    files[INDEX] = json_text(_index(plan, tool, found, sorted(files)))
    return dict(sorted(files.items()))


def gitops_findings(plan: Plan) -> tuple[Finding, ...]:
    """What does not work of the stack file where a tool applies the plan, and `up` does not."""
    return (finding("UPG007", dotted(("upgrade",))),) if plan.record(PlannedWaves, WAVES) else ()


def _index(plan: Plan, tool: Tool, found: tuple[Unit, ...], paths: list[str]) -> dict[str, Any]:
    return {
        "writtenBy": WRITTEN_BY,
        "schemaVersion": VERSION,
        TOOL: tool,
        "stack": plan.stack,
        "files": paths,
        "units": [
            {"name": unit.name, "step": unit.step, "wave": unit.wave, "after": list(unit.after)} for unit in found
        ],
    }


def _refuse(plan: Plan, tool: Tool, place: Place) -> None:
    if not any(unit.is_applied for unit in units(plan)):
        raise GitOpsError(
            f"stack {plan.stack} applies nothing on a cluster: name the stack that does, the one with part platform"
        )
    if bundled := [release.name for release in plan.releases if release.chart.path is not None]:
        raise GitOpsError(
            f"stack {plan.stack}: {_charts(bundled)} from a folder of this repository, where {tool} cannot get it: set "
            "gpu-fabric:software.charts to upstream, or to a mirror's URL"
        )
    if tool == "argo" and place.repository is None:
        raise GitOpsError("--as argo writes Applications that name their Git repository: give its URL with --git")
    if _CREDENTIALS.match(place.repository or ""):
        raise GitOpsError(
            "--git: the URL has a user or a password, and would be written with it: leave that out, and give it to "
            "Argo CD in a Secret of the repository"
        )
    for release in plan.releases if tool == "kustomize" else ():
        for chart, version, path, reason in _NOT_BUILT:
            if (release.chart.name, release.chart.version) == (chart, version) and _at(release.values, path) is True:
                raise GitOpsError(
                    f"stack {plan.stack}: kustomize cannot build chart {chart} {version} with {'.'.join(path)}: "
                    f"{reason}: use --as flux or argo, or a newer software.releaseLine"
                )
    secret = [(release.name, value.key) for release in plan.releases for value in release.secret_values]
    if secret and tool != "flux":
        name, key = secret[0]
        raise GitOpsError(
            f"stack {plan.stack}: chart {name} takes values from the secret {key}, and {tool} cannot read a chart's "
            "values from a Secret: use --as flux, or settings of the chart without a secret of the stack"
        )


def _at(values: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _charts(names: list[str]) -> str:
    return f"chart {names[0]} comes" if len(names) == 1 else f"charts {', '.join(names)} come"
