"""The scripts that machines run at their first start, as user data of cloud-init: each one text, without downloads."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from typing import Literal

from gpu_fabric.on_nodes import program

BootScript = Literal["join", "operator"]


def boot_script(name: BootScript, settings: Mapping[str, str]) -> str:
    """A script with its settings; its head says which those are."""
    assignments = "\n".join(f"{key}={shlex.quote(value)}" for key, value in settings.items())
    return "\n".join(("#!/bin/bash", assignments, program("boot/library.sh"), program(f"boot/{name}.sh")))


def user_data(script: str) -> str:
    """A script as the metadata key user_data wants it.

    Not compressed, although cloud-init would take that: what a compressor writes differs by its version, and with it
    every plan.
    """
    return base64.b64encode(script.encode()).decode()


def encoded(text: str | None) -> str:
    """A text in base64; empty for none."""
    return base64.b64encode((text or "").encode()).decode()
