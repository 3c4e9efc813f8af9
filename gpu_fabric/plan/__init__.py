"""The plan: every address, name, value and object, decided without a cloud."""

from gpu_fabric.plan.build import build
from gpu_fabric.plan.plan import Plan

__all__ = ["Plan", "build"]
