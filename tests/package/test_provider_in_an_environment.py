"""The provider of the components as Pulumi installs it beside a clone: the folder, with the wheel beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

from installed_wheel import Installed, run_in


def test_the_wheel_is_what_the_provider_needs(root: Path, installed_with_pulumi: Installed) -> None:
    """What pip installs for the folder is there: no package would be fetched."""
    needed = shutil.copy(root / "components/requirements.txt", installed_with_pulumi.work)
    done = run_in(
        [installed_with_pulumi.programs / "python", "-m", "pip", "install", "--no-index", "-r", "requirements.txt"],
        Path(needed).parent,
    )

    assert done.returncode == 0, done.stderr
    assert "Would install" not in done.stdout


def test_a_clones_folder_serves_the_components_of_the_wheel(
    root: Path, installed_with_pulumi: Installed, tmp_path: Path
) -> None:
    folder = shutil.copytree(root / "components", tmp_path / "clone" / "components")
    done = run_in([installed_with_pulumi.programs / "python", folder, "schema"], tmp_path)

    assert done.stdout == (root / "docs/schema/components.json").read_text(encoding="utf-8"), done.stderr
    assert installed_with_pulumi.python("-m", "gpu_fabric.components", "schema") == done.stdout
