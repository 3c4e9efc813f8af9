"""The Pulumi program: configuration to plan, plan to resources, resources to outputs; the guard stands before them."""

import sys
from pathlib import Path

import pulumi

from stacks.program import program

# The language host takes this status for a program that has said why it ends, and adds no error of its own.
_REPORTED = 32

try:
    program(Path(__file__).parent)
except pulumi.RunError as error:
    pulumi.log.error(str(error))
    sys.exit(_REPORTED)
