"""Which topology file a stack's jobs get, if any, and why."""

from __future__ import annotations

from fabric.catalog import Catalog, DeviceAccess, Shape
from fabric.model import FrozenModel
from fabric.nccl.topology import Form
from fabric.nccl.tree_problems import tree_problems
from fabric.spec.nccl import TopologyWish


class TopologyChoice(FrozenModel):
    """The form of the topology file, None for no file, and the reason in words."""

    form: Form | None
    reason: str


def choose_topology(wish: TopologyWish, shape: Shape, known: Catalog, devices: DeviceAccess) -> TopologyChoice:
    """The file for pods that come by a shape's NICs in one way; a wish that cannot be met is for the rules to refuse.

    Virtual functions are what hides the tree: their devices are numbered anew. Whoever holds a physical function or the
    host's own network sees it where it is.
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
    if virtual:
        return TopologyChoice(
            form=Form.FULL,
            reason="Oracle published it for this shape; it names each port by the device of its virtual function",
        )
    return _none("pods see the NICs where they are in the host's PCI tree")


def _none(reason: str) -> TopologyChoice:
    return TopologyChoice(form=None, reason=reason)
