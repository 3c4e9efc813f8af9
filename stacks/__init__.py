"""The stack program: configuration, guard, the components of a stack, and its outputs.

The wheel has this package as `gpu_fabric.program`, besides `gpu_fabric.components`: its modules import each other
relatively, and the builder (hatch_build.py) makes `..components` of `components`
(docs/decisions/0026-components-in-the-wheel.md).
"""

import sys
from pathlib import Path


def main(root: Path | None = None) -> None:
    """Run the program of a project; `root` is its folder, and by default the current one, as the engine starts it.

    A refused run ends the process, with what refused it as the engine's error.
    """
    from gpu_fabric.base.startup import shorten_start_and_end

    shorten_start_and_end()
    import pulumi

    try:
        from .program import program

        # The engine starts a program in its project's folder.
        program(Path.cwd() if root is None else root)
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        # The language host takes this status for a program that has said why it ends, and adds no error of its own.
        sys.exit(32)
