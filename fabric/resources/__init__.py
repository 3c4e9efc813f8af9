"""The plan as the stack's resources: what components register, and what a rendered plan shows."""

from fabric.resources.losses import OF_MACHINES, Loss, losses, together
from fabric.resources.order import COMPONENTS, Wait, resources, waits
from fabric.resources.resource import Handling, Leaf, Resource, Timeouts, with_leaves

__all__ = [
    "COMPONENTS",
    "Handling",
    "Leaf",
    "OF_MACHINES",
    "Loss",
    "Resource",
    "Timeouts",
    "Wait",
    "losses",
    "resources",
    "together",
    "waits",
    "with_leaves",
]
