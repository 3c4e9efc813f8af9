"""The policy pack in the real engine's hands: `preview --policy-pack`, with the owner's levels and settings.

The language host that the sandbox can build is older than the message by which the CLI has a host start a pack. So the
tests give the CLI the pack's own program, which it starts itself.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from previews import Engine

from gpu_fabric.spec.load import stack_file
from policy import __version__
from sandbox.home import project_root

PACK = "policy/gpu-fabric-policy"


class Pack:
    """Previews with the checkout's pack."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.settings = folder / "settings.json"

    def preview(self, stack: str, pack: str = PACK, **policies: Any) -> subprocess.CompletedProcess[str]:
        """A preview under the pack; `policies` are levels and settings, by name with underscores."""
        self.settings.write_text(json.dumps({name.replace("_", "-"): value for name, value in policies.items()}))
        file = stack_file(stack, project_root())
        committed = self.engine.committed(file)
        assert committed.status == 0
        options = ["--stack", stack, "--config-file", str(committed.file)]
        policy = ["--policy-pack", pack, "--policy-pack-config", str(self.settings)]
        return self.engine.run(
            ["preview", "--non-interactive", "--suppress-outputs", *options, *policy], project_root()
        )


@pytest.fixture
def pack(engine: Engine, tmp_path: Path) -> Pack:
    return Pack(engine, tmp_path)


def test_a_committed_stack_keeps_the_pack_in_a_preview(pack: Pack) -> None:
    result = pack.preview("dev")

    assert result.returncode == 0, result.stdout + result.stderr
    assert f"✅ gpu-fabric@v{__version__}" in result.stdout
    assert "violation" not in result.stdout


def test_a_broken_policy_fails_the_preview_and_says_what_to_do(pack: Pack) -> None:
    result = pack.preview("dev", allowed_registries={"registries": ["mirror.example.com/*"]})

    assert result.returncode != 0
    assert "[mandatory] [severity: high]  allowed-registries" in result.stdout
    assert "nic-policies-nic-cluster-policy: image nvcr.io/nvidia/mellanox/nvidia-k8s-ipam" in result.stdout
    assert "Remedy: mirror the image" in result.stdout


def test_the_sandboxs_language_host_does_not_start_a_folder(pack: Pack) -> None:
    """If it does some day, docs/policy.md can do without the second way."""
    result = pack.preview("dev", "policy")

    assert result.returncode != 0
    assert "failed to start" in result.stderr
