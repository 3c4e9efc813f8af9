"""Runs the command line; apart from `__main__`, which imports nothing before it can end without a traceback."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpu_fabric.base.startup import shorten_start_and_end
from gpu_fabric.cli.standard_streams import run


def run_command_line() -> None:
    """Run `gpu-fabric`; ends the process."""
    run(_program)


def _program() -> Callable[[], Any]:
    shorten_start_and_end()
    from gpu_fabric.cli.app import app

    return partial(app, prog_name="gpu-fabric")
