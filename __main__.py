"""The Pulumi program: configuration to plan, plan to resources, resources to outputs."""

from pathlib import Path

from stacks.configuration import program_plan
from stacks.gpu_cluster import gpu_cluster

root = Path(__file__).parent
gpu_cluster(program_plan(root), root).export()
