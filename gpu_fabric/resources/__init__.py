"""The plan as resources: components register them, and a rendered plan shows them."""

from gpu_fabric.resources.losses import OF_MACHINES, Loss, losses, together
from gpu_fabric.resources.order import Wait, resources, waits
from gpu_fabric.resources.resource import Handling, Leaf, Resource, Timeouts, with_leaves

__all__ = [
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
