"""The plan as resources: components register them, and a rendered plan shows them."""

from gpu_fabric.resources.losses import Loss, together
from gpu_fabric.resources.order import resources
from gpu_fabric.resources.resource import Handling, Resource

__all__ = [
    "Handling",
    "Loss",
    "Resource",
    "resources",
    "together",
]
