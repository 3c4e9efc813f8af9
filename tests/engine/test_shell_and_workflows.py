"""Every workflow by actionlint, and every shell script by shellcheck, as they are run: whole."""

import base64
import binascii
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from own_files import own_files
from stack_plans import stack_plan

from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.load import stack_names
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

ROOT = Path(__file__).parents[2]
SHELLCHECK = Path(sys.executable).parent / "shellcheck"


def _shellcheck(script: str) -> str:
    """Findings that weigh more than a matter of taste."""
    arguments = [str(SHELLCHECK), "--severity", "warning", "--format", "gcc", "-"]
    ended = subprocess.run(arguments, input=script, capture_output=True, text=True)
    # It judged the script: 0 without a finding, 1 with some.
    assert ended.returncode == bool(ended.stdout), ended.stderr
    return ended.stdout


def test_actionlint_and_shellcheck_find_nothing_in_the_workflows() -> None:
    assert len(list((ROOT / ".github" / "workflows").glob("*.yaml"))) >= 6
    actionlint = ensure(["lint"], Progress()).folder("actionlint") / "actionlint"
    arguments = [str(actionlint), "-no-color", "-oneline", "-shellcheck", str(SHELLCHECK), "-pyflakes", ""]
    files = [
        str(file) for folder in (ROOT, ROOT / "templates/repository") for file in folder.glob(".github/workflows/*")
    ]
    ended = subprocess.run([*arguments, *files], cwd=ROOT, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)


def _scripts_of_stacks() -> dict[str, str]:
    """Every script that some stack gives to nodes, pods or machines, with where it was first found."""
    found: dict[str, str] = {}
    for folder in (ROOT, ROOT / "tests" / "stacks"):
        for stack in stack_names(folder):
            for resource in rendered(stack_plan(stack, folder)).resources:
                for text in _scripts(resource.properties):
                    found.setdefault(text, f"{stack}: {resource.name}")
    return found


def _scripts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _scripts(entry)
    elif isinstance(value, str):
        # What cloud-init runs is encoded.
        text = _decoded(value) if value.startswith("IyEv") else value
        if text.startswith("#!/"):
            yield text


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return value


def test_shellcheck_warns_of_nothing_in_the_scripts_that_stacks_run_on_nodes_and_in_pods() -> None:
    scripts = _scripts_of_stacks()
    assert len(scripts) >= 12
    assert {where: said for text, where in scripts.items() if (said := _shellcheck(text))} == {}


def test_shellcheck_warns_of_nothing_in_the_repositorys_own_scripts() -> None:
    # Parts of scripts for nodes are judged above, put together.
    own = [ROOT / name for name in own_files() if not name.startswith("gpu_fabric/plan/")]
    scripts = {str(file): file.read_text() for file in own if _is_shell(file)}
    assert str(ROOT / ".ci" / "run") in scripts
    assert {name: said for name, text in scripts.items() if (said := _shellcheck(text))} == {}


def _is_shell(file: Path) -> bool:
    with file.open("rb") as content:
        first = content.readline(80)
    return first.startswith(b"#!") and first.rstrip().endswith((b"sh", b"bash"))
