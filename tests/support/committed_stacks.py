"""Where the committed stacks lie that tests go through: those of tests/stacks, and those of clouds at the root."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STACKS = ROOT / "tests" / "stacks"


def folder_of(stack: str) -> Path:
    """The folder of a stack's file; the one of tests/stacks goes before one of the same name elsewhere."""
    return STACKS if (STACKS / f"Pulumi.{stack}.yaml").is_file() else ROOT


def stack_names() -> list[str]:
    """The stacks of tests/stacks, and those of the root that make a cloud's cluster, which `dev` does not."""
    of_clouds = [path for path in ROOT.glob("Pulumi.*.yaml") if path.name != "Pulumi.dev.yaml"]
    return sorted(path.name.split(".")[1] for path in [*STACKS.glob("Pulumi.*.yaml"), *of_clouds])
