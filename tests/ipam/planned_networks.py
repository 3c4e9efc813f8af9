"""The stacks whose networks the tests of this tier look at, and the manifests of these networks."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from changes import changed
from committed_stacks import ROOT, STACKS
from ipam_programs import Json, Programs

from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.stack_text import StackDocument

FILES = {
    str(path.parent.relative_to(ROOT) / path.name.split(".")[1]): path
    for folder in (ROOT, ROOT / "examples", STACKS)
    for path in sorted(folder.glob("Pulumi.*.yaml"))
}
"""The file of every committed stack, by its folder and name."""


@cache
def document(stack: str) -> StackDocument:
    path = FILES[stack]
    return read_document(path.name.split(".")[1], path.parent)


def planned(stack: str, changes: Mapping[str, Any] | None = None) -> Plan:
    """The plan of a committed stack with single values changed. Raises ConfigurationError where it is refused."""
    return prepare(changed(document(stack), changes or {}), for_up=False).plan


def definitions(programs: Programs, plan: Plan) -> list[Json]:
    """The networks as NetworkAttachmentDefinitions, but for those of Spiderpool."""
    prefixes = {network.network: (network.resource or "").partition("/")[0] for network in plan.workload.networks}
    manifests = [entry.object.manifest() for entry in plan.applied("networks")]
    of_operator = [entry for entry in manifests if entry["kind"] in ("SriovNetwork", "SriovIBNetwork")]
    return [
        *(entry for entry in manifests if entry["kind"] == "NetworkAttachmentDefinition"),
        *programs.sriov([{"network": entry, "prefix": prefixes[entry["metadata"]["name"]]} for entry in of_operator]),
    ]


def configurations(programs: Programs, plan: Plan) -> dict[str, Json]:
    """What each network's definition configures, with the name that Multus gives one without."""
    found = ((entry["metadata"]["name"], json.loads(entry["spec"]["config"])) for entry in definitions(programs, plan))
    return {name: {"name": name, **config} for name, config in found}
