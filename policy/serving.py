"""The policy pack as the program that Pulumi's engine starts, from an installed package or a checkout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pulumi_policy.policy
from pulumi_policy import EnforcementLevel, PolicyPack

from . import __version__
from .assembled import policies

_PROGRAM = "gpu-fabric-policy"


class _Servicer(pulumi_policy.policy._PolicyAnalyzerServicer):
    """Answers the engine's questions with the pack's version; the SDK has none, and answers 0.0.1 for every pack."""

    def __init__(self, name: str, _version: str, *others: Any) -> None:
        super().__init__(name, __version__, *others)


def serve() -> None:
    """Serve the pack to the engine, until the engine ends it."""
    pulumi_policy.policy._PolicyAnalyzerServicer = _Servicer  # type: ignore[assignment, misc]
    PolicyPack("gpu-fabric", policies(), enforcement_level=EnforcementLevel.MANDATORY)


def main() -> None:
    """The command `gpu-fabric-policy`: serve the pack where the engine starts it, and else print the command's path."""
    given = sys.argv[1:]
    if not given:
        print(Path(sys.argv[0]).resolve())
    elif given == ["--version"]:
        print(f"{_PROGRAM} {__version__}")
    elif given[0].startswith("-"):
        sys.exit(f'{_PROGRAM} takes no options but --version: pulumi preview --policy-pack "$({_PROGRAM})"')
    else:
        serve()
