"""The policy pack in the real engine's hands: `preview --policy-pack`, with the owner's levels and settings.

The language host that the sandbox can build is older than the message by which the CLI has a host start a pack. For a
runtime without a host, the CLI starts the program `pulumi-analyzer-policy-RUNTIME` instead, which the tests put there.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from previews import Engine

from gpu_fabric import __version__
from sandbox.home import project_root

pytestmark = pytest.mark.engine
PACK = project_root() / "policy"
RUNTIME = "python-of-the-sandbox"


class Pack:
    """The pack under a runtime of the test's own, and previews with it."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        described = (PACK / "PulumiPolicy.yaml").read_text()
        assert "name: python\n" in described
        (folder / "PulumiPolicy.yaml").write_text(described.replace("name: python\n", f"name: {RUNTIME}\n"))
        program = folder / f"pulumi-analyzer-policy-{RUNTIME}"
        program.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, '-u', str(PACK)])}\n")
        program.chmod(0o700)

    def preview(self, stack: str, **policies: Any) -> subprocess.CompletedProcess[str]:
        """A preview under the pack; `policies` are levels and settings, by name with underscores."""
        settings = self.folder / "settings.json"
        settings.write_text(json.dumps({name.replace("_", "-"): value for name, value in policies.items()}))
        file = project_root() / f"Pulumi.{stack}.yaml"
        assert self.engine.preview(file).status == 0
        options = ["--stack", stack, "--config-file", str(self.engine.folder / file.name)]
        pack = ["--policy-pack", str(self.folder), "--policy-pack-config", str(settings)]
        environment = {
            **self.engine.workspace.environment(),
            # The program beside the pack lies on PATH, where the sandbox has the engine take nothing from.
            "PULUMI_IGNORE_AMBIENT_PLUGINS": "false",
        }
        environment["PATH"] = os.pathsep.join([environment["PATH"], str(self.folder)])
        return subprocess.run(
            [self.engine.workspace.command, "preview", "--non-interactive", "--suppress-outputs", *options, *pack],
            cwd=project_root(),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )


@pytest.fixture
def pack(engine: Engine, tmp_path: Path) -> Pack:
    return Pack(engine, tmp_path)


@pytest.mark.parametrize("stack", ["dev", "doks-h200", "oke-h200"])
def test_a_committed_stack_keeps_the_pack_in_a_preview(pack: Pack, stack: str) -> None:
    """A cloud's stack is shown with everything unknown that only its cluster will tell."""
    result = pack.preview(stack)

    assert result.returncode == 0, result.stdout + result.stderr
    assert f"✅ gpu-fabric@v{__version__}" in result.stdout
    assert "violation" not in result.stdout


def test_a_broken_policy_fails_the_preview_and_says_what_to_do(pack: Pack) -> None:
    result = pack.preview("dev", allowed_registries={"registries": ["mirror.example.com/*"]})

    assert result.returncode != 0
    assert "[mandatory] [severity: high]  allowed-registries" in result.stdout
    assert "nic-policies-nic-cluster-policy: image nvcr.io/nvidia/mellanox/nvidia-k8s-ipam" in result.stdout
    assert "Remedy: mirror the image" in result.stdout


def test_an_advice_is_printed_and_fails_nothing(pack: Pack) -> None:
    advice = {"enforcementLevel": "advisory", "registries": ["mirror.example.com/*"]}
    result = pack.preview("dev", allowed_registries=advice)

    assert result.returncode == 0, result.stdout + result.stderr
    assert "[advisory] [severity: high]  allowed-registries" in result.stdout


def test_a_setting_of_the_wrong_type_is_refused_by_the_engine(pack: Pack) -> None:
    result = pack.preview("dev", node_counts={"perPool": "many"})

    assert result.returncode != 0
    assert "perPool" in result.stdout + result.stderr
