"""Checks of the group `nccl_topology`: which topology file NCCL gets, and whether it can serve."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.nccl.tree_problems import tree_problems
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.nccl_files import TOPOLOGY_PLACE, config_map_name
from gpu_fabric.rules.registry import Problem, check, check_plan
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.stack import own_shape

_WISH = dotted(("fabric", "nccl", "topology"))
_GRAPHS = "NCCL_GRAPH_FILE"


@check("NCT001")
def own_trees_are_those_of_their_shapes(case: Case) -> Iterator[Problem]:
    """Every PCI tree in the stack file has all GPUs and NICs of its shape once, near each other as the shape says."""
    for name, hardware in case.spec.cluster.shapes.items():
        if hardware.topology is not None:
            for location, message, remedy in tree_problems(own_shape(name, hardware), hardware.topology):
                yield Problem(dotted(("cluster", "shapes", name, *location)), message, remedy)


@check("NCT002")
def wanted_trees_are_known(case: Case) -> Iterator[Problem]:
    """Where a topology file is asked for, the PCI tree of every shape is published or in the stack file."""
    if case.spec.fabric.nccl.topology not in ("lean", "full"):
        return
    for group in case.groups:
        if group.shape.name not in case.known.topologies:
            published = ", ".join(name for name, tree in case.known.topologies.items() if tree.full is not None)
            yield Problem(
                _WISH,
                f"no PCI tree of {group.shape.name} is published or in the stack file, and none is guessed",
                f"write auto or none; for a shape of your own, its topology; published are those of {published}",
            )


@check("NCT003")
def full_forms_are_published_and_fit(case: Case) -> Iterator[Problem]:
    """The full form is asked for only where it is published and pods hold virtual functions."""
    row = case.choices.row
    if case.spec.fabric.nccl.topology != "full" or row is None:
        return
    trees = {group.shape.name: case.known.topologies.get(group.shape.name) for group in case.groups}
    for name, tree in trees.items():
        if tree is not None and tree.full is None:
            yield Problem(_WISH, f"a tree in the stack file, as that of {name}, has no full form", "write lean or auto")
        elif tree is not None and row.access != "virtual":
            message = f"the full form for {name} names virtual functions; pods of model {row.model} hold none"
            yield Problem(_WISH, message, "write none or auto, or lean to have a file all the same")


@check("NCT004")
def bare_metal_needs_no_file(case: Case) -> Iterator[Problem]:
    """No topology file is asked for where pods see the PCI tree of bare metal themselves."""
    row = case.choices.row
    if case.spec.fabric.nccl.topology != "lean" or row is None or row.access == "virtual":
        return
    if case.shape.provider == "oci" and case.shape.name in case.known.topologies:
        yield Problem(
            _WISH,
            f"pods of model {row.model} see the PCI tree of {case.shape.name} themselves",
            "write auto, unless nccl-tests is faster with the file",
        )


@check("NCT005")
def rails_are_where_the_published_tree_has_them(case: Case) -> Iterator[Problem]:
    """NICs that the stack file puts elsewhere are in the places of the shape's published tree, or no file is made."""
    row, wish = case.choices.row, case.spec.fabric.nccl.topology
    if row is None or wish == "none" or (wish == "auto" and row.access != "virtual"):
        return
    for group in case.groups:
        tree = case.known.topologies.get(group.shape.name)
        # The tree of an own shape is held against the shape itself, and again here where single rails are changed.
        moved = any(entry.pci or entry.nearest_gpu is not None for entry in case.spec.fabric.rails)
        problems = tree_problems(group.shape, tree) if tree is not None and moved else ()
        if problems:
            yield Problem(
                dotted(("fabric", "rails")),
                f"not as in the PCI tree of {group.shape.name}: {problems[0].message}",
                f"correct pci or nearestGpu, or write {_WISH}: none",
            )


@check_plan("NCT006")
def the_topology_file_is_where_nccl_looks(case: Case, plan: Plan) -> Iterator[Problem]:
    """The topology file lies in every offered namespace, is mounted from there, and NCCL_TOPO_FILE is its path."""
    contract = plan.workload
    files = [file for file in plan.nccl.files if file.variable is not None]
    there = {
        (entry.object.metadata.namespace, entry.object.metadata.name): entry.object.data or {}
        for entry in plan.applied("nccl")
        if isinstance(entry.object, ConfigMap)
    }
    container: dict[str, Any] = _patch(contract.pod_template_patch)
    mounted = {(mount["mountPath"], mount.get("subPath")) for mount in container.get("volumeMounts", ())}
    variables = {entry["name"]: entry["value"] for entry in container.get("env", ())}
    ours = "if your stack file is not at fault, this program is wrong"
    for file, namespace in product(files, contract.namespaces):
        if there.get((namespace, file.config_map), {}).get(file.key) != file.content:
            yield Problem(_WISH, f"ConfigMap {file.config_map} is not in {namespace} with {file.key}", ours)
    for file in files:
        if file.config_map != config_map_name(file.config_map.rpartition("-")[0], file.content):
            yield Problem(_WISH, f"the name of ConfigMap {file.config_map} does not carry its content's hash", ours)
        if (file.mount_path, file.key) not in mounted or variables.get(str(file.variable)) != file.mount_path:
            yield Problem(
                _WISH, f"{file.variable} does not lead to the file that is mounted at {file.mount_path}", ours
            )


@check_plan("NCT007")
def nothing_leads_nccl_elsewhere(case: Case, plan: Plan) -> Iterator[Problem]:
    """No setting names a graph file, or a topology file other than the stack's own."""
    settings, topology = plan.nccl.environment, str(TOPOLOGY_PLACE.variable)
    for name in (_GRAPHS, topology):
        if name in settings:
            remedy = "take it out" if name == _GRAPHS else f"take it out; {_WISH} says which file there is"
            yield Problem(dotted(("fabric", "nccl", "settings")), f"the settings have {name}={settings[name]}", remedy)


def _patch(patch: dict[str, Any]) -> dict[str, Any]:
    (container,) = patch["spec"]["containers"]
    return dict(container)
