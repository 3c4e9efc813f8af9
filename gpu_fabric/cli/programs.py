"""Programs of the user that commands run: a cloud's command line, helm, and those of Docker's logins."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_fabric.base.simulators import chart_folder
from gpu_fabric.plan.records import ChartReference

_LIMIT_S = 120


class AccountError(Exception):
    """An account that was not read, in one line with the remedy."""


@dataclass(frozen=True)
class CloudCommand:
    """A cloud's command line, which prints JSON with these options."""

    program: str
    options: tuple[str, ...] = ("--output", "json")

    def __call__(self, *arguments: str) -> Any:
        """What a command prints.

        Raises:
            AccountError: the program is missing, failed, or printed something else. What it printed is not repeated: it
                may have a token in it.
        """
        shown = " ".join((self.program, *arguments[:3]))
        program = shutil.which(self.program)
        if program is None:
            raise AccountError(f"{self.program} is not on PATH: install it and log in, or leave --account out")
        try:
            result = _run([program, *arguments, *self.options])
        except subprocess.TimeoutExpired:
            raise AccountError(f"`{shown}` gave no answer in {_LIMIT_S} seconds; run it to see why") from None
        if result.returncode != 0:
            raise AccountError(f"`{shown}` failed with exit code {result.returncode}; run it to see why")
        try:
            # The OCI command line prints nothing for an empty list.
            return json.loads(result.stdout) if result.stdout.strip() else None
        except ValueError:
            raise AccountError(f"`{shown}` printed no JSON; run it to see why") from None


def _run(command: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
    """A command that has ended, with a text as its input. Raises OSError, and subprocess.TimeoutExpired."""
    return subprocess.run(command, input=given, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S)


def chart_definitions(chart: ChartReference, root: Path) -> tuple[dict[str, Any], ...]:
    """The definitions that a chart installs and never upgrades; none where the chart cannot be had from here."""
    import yaml

    if chart.path is not None:
        folder = chart_folder(chart.path, root) / "crds"
        texts = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.yaml"))]
    else:
        texts = [_crds(chart)]
    try:
        documents = [document for text in texts for document in yaml.safe_load_all(text)]
    except yaml.YAMLError:
        return ()
    return tuple(
        found for found in documents if isinstance(found, dict) and found.get("kind") == "CustomResourceDefinition"
    )


def _crds(chart: ChartReference) -> str:
    """What `helm show crds` prints; nothing without helm, or where it does not reach the repository."""
    program = shutil.which("helm")
    if program is None or chart.repository is None:
        return ""
    is_registry = chart.repository.startswith("oci://")
    source = [f"{chart.repository}/{chart.name}"] if is_registry else [chart.name, "--repo", chart.repository]
    try:
        done = _run([program, "show", "crds", *source, "--version", chart.version])
    except (subprocess.TimeoutExpired, OSError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def credential_of(helper: str, server: str) -> tuple[str, str] | None:
    """User and password for a server by a program for Docker's logins; None where it has none.

    The server goes by standard input, and the answer is never shown (docker/docker-credential-helpers, `get`).
    """
    program = shutil.which(f"docker-credential-{helper}") if re.fullmatch(r"[\w.-]+", helper) else None
    if program is None:
        return None
    try:
        done = _run([program, "get"], server)
        document = json.loads(done.stdout) if done.returncode == 0 else {}
        return str(document["Username"]), str(document["Secret"])
    except (subprocess.TimeoutExpired, OSError, ValueError, KeyError, TypeError):
        return None
