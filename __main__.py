"""The Pulumi program: configuration to plan, plan to resources, resources to outputs; the guard stands before them."""

from pathlib import Path

from stacks.configuration import program_plan
from stacks.gpu_cluster import gpu_cluster
from stacks.guard import guarded

root = Path(__file__).parent
gpu_cluster(guarded(program_plan(root), root), root).export()
