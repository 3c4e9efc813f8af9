"""The Pulumi program: configuration to plan, plan to resources, resources to outputs; the guard stands before them."""

import sys
from pathlib import Path

import pulumi

from gpu_fabric.base.startup import shorten_start_and_end

try:
    shorten_start_and_end()
    from stacks.program import program

    program(Path(__file__).parent)
except pulumi.RunError as error:
    pulumi.log.error(str(error))
    # The language host takes this status for a program that has said why it ends, and adds no error of its own.
    sys.exit(32)
