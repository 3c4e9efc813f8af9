"""`pip install` of the policy pack's wheel, and the real engine with it, outside of any checkout."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from installed_wheel import Installed, run_in

import policy
from sandbox.failure import SandboxError

# The engine that previews committed stacks is the engine tier's.
sys.path.append(str(Path(__file__).parents[1] / "engine"))

from previews import Engine

# What a checkout alone needs: its own start, and the writer of its page.
LEFT_OUT = {"__main__.py", "page.py", "PulumiPolicy.yaml"}


def names_in(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def command(installed: Installed, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_in([installed.programs / "gpu-fabric-policy", *arguments], installed.work)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    try:
        return Engine(tmp_path_factory.mktemp("engine"))
    except SandboxError as error:
        pytest.fail(f"the toolchain cannot be had: {error.message} {error.remedy}", pytrace=False)


def preview(engine: Engine, root: Path, pack: str, settings: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """A preview of the stack `dev` under a pack, with settings of the pack's owner."""
    file, written = root / "Pulumi.dev.yaml", engine.folder / "settings.json"
    committed = engine.committed(file)
    assert committed.status == 0
    written.write_text(json.dumps(settings))
    stack = ["--stack", "dev", "--config-file", str(committed.file)]
    policies = ["--policy-pack", pack, "--policy-pack-config", str(written)]
    return engine.run(["preview", "--non-interactive", *stack, *policies], root)


def test_the_wheel_has_the_policies_and_nothing_else(root: Path, policy_wheel: Path) -> None:
    assert names_in(policy_wheel) == {
        f"gpu_fabric_policy/{path.name}"
        for path in (root / "policy").glob("*.[py]*")
        if path.suffix in (".py", ".yaml") and path.name not in LEFT_OUT
    }


def test_the_real_engine_lets_a_committed_stack_pass(engine: Engine, root: Path, installed_policies: Installed) -> None:
    printed = command(installed_policies).stdout.strip()
    result = preview(engine, root, printed, {})

    assert result.returncode == 0, result.stdout + result.stderr
    assert f"✅ gpu-fabric@v{policy.__version__}" in result.stdout


def test_the_real_engine_stops_at_a_violation(engine: Engine, root: Path, installed_policies: Installed) -> None:
    settings = {"allowed-registries": {"registries": ["mirror.example.com/*"]}}
    result = preview(engine, root, command(installed_policies).stdout.strip(), settings)

    assert result.returncode != 0
    assert "[mandatory] [severity: high]  allowed-registries" in result.stdout
    assert "Remedy: mirror the image" in result.stdout


def test_another_option_is_refused_with_the_way_to_start_it(installed_policies: Installed) -> None:
    refused = command(installed_policies, "--help")

    assert refused.returncode == 1
    assert 'pulumi preview --policy-pack "$(gpu-fabric-policy)"' in refused.stderr
