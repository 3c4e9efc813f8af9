"""Which topology file a stack's jobs get, if any, and why."""

from __future__ import annotations

from gpu_fabric.catalog import Catalog, DeviceAccess, Shape
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.topology import Form
from gpu_fabric.nccl.tree_problems import tree_problems
from gpu_fabric.spec.fabric import TopologyWish


class TopologyChoice(FrozenModel):
    """The form of the topology file, None for no file, and the reason in words."""

    form: Form | None
    reason: str


def choose_topology(wish: TopologyWish, shape: Shape, known: Catalog, devices: DeviceAccess) -> TopologyChoice:
    """The file for pods that come by a shape's NICs in one way; a wish that cannot be met is for the rules to refuse.

    Virtual functions are what hides the tree. NCCL looks for one at function 0 of its adapter since 2.18.1
    (NCCL_IB_MERGE_VFS, on by default), where the lean form has it; the full form depends on how hosts number virtual
    functions, and serves older releases. Pods that hold a physical function or the host's own network see the tree.
    """
    tree = known.topologies.get(shape.name)
    virtual = devices == "virtual"
    if wish == "none":
        return _none("the stack file says so")
    if tree is None:
        return _none(f"no PCI tree of {shape.name} is published or in the stack file, and none is guessed")
    if tree_problems(shape, tree):
        return _none(f"the PCI tree of {shape.name} is not that of the NICs in the stack file")
    if tree.full is None:
        if wish == "full":
            return _none("a tree in the stack file has no full form")
        return TopologyChoice(form=Form.LEAN, reason="the tree is in the stack file")
    if wish == "lean":
        return TopologyChoice(form=Form.LEAN, reason="the stack file says so")
    if virtual and wish == "full":
        return TopologyChoice(
            form=Form.FULL, reason="the stack file says so; it names ports by their virtual functions"
        )
    if virtual:
        reason = "NCCL since 2.18.1 looks for a virtual function at function 0 of its adapter, which the tree has"
        return TopologyChoice(form=Form.LEAN, reason=reason)
    return _none("pods see the NICs where they are in the host's PCI tree")


def _none(reason: str) -> TopologyChoice:
    return TopologyChoice(form=None, reason=reason)
