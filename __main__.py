"""The Pulumi program: configuration to plan, plan to resources, resources to outputs; the guard stands before them."""

from pathlib import Path

from stacks import main

main(Path(__file__).parent)
