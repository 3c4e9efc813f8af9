"""The guide's example of an operator, followed to the letter in a copy of the repository."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from textwrap import dedent, indent

import yaml
from own_files import ROOT, own_files
from pydantic import TypeAdapter

from gpu_fabric.catalog.chart import ChartVersionTable
from gpu_fabric.catalog.operator import OperatorFacts, chart_versions, with_operators
from gpu_fabric.catalog.release import Chart

_PAGE = ROOT / "docs/architecture.md"
_BLOCK = re.compile(r"^ *```\w+\n(.*?)^ *```\n", re.M | re.S)
_SECTIONS = "class SoftwareSpec(FrozenModel):"
_LAST_KEY = "    host_image: "


def steps() -> dict[Path, list[str]]:
    """The files that the guide names, each with the texts that it gets."""
    example = _PAGE.read_text(encoding="utf-8").partition("\n### An operator: ")[2].partition("\n### ")[0]
    parts = re.split(r"^\d\. ", example, flags=re.M)[1:]
    name = re.findall(r"here `([\w-]+)`", example)[0]
    files = (re.findall(r"`([\w./<>-]+\.\w+)`", part)[0].replace("<name>", name) for part in parts)
    return {
        Path(name): [dedent(text) for text in _BLOCK.findall(part)] for name, part in zip(files, parts, strict=True)
    }


def copied(folder: Path) -> Path:
    """A copy of the repository, whose commands run in this test's environment."""
    without = shutil.ignore_patterns("__pycache__")
    for name in sorted({name.partition("/")[0] for name in own_files()}):
        copy = shutil.copy2 if (ROOT / name).is_file() else partial(shutil.copytree, symlinks=True, ignore=without)
        copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def follow(folder: Path) -> None:
    """Do the guide's steps in a copy."""
    for name, texts in steps().items():
        path = folder / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for added in texts:
            if added.startswith("class "):
                text = text.replace(_SECTIONS, f"{added}\n\n{_SECTIONS}")
            elif path.suffix == ".py":
                text = text.replace(_LAST_KEY, f"{indent(added, '    ')}{_LAST_KEY}")
            else:
                text += added
        path.write_text(text, encoding="utf-8")


def make(folder: Path, target: str) -> str:
    """What a target of the Makefile prints, with its status at the end."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = ["make", "--old-file=setup-dev", target]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return f"{done.stdout}{done.stderr}\nstatus {done.returncode}"


def test_the_guides_operator_is_three_files_and_its_own_says_all_that_the_catalog_needs() -> None:
    (facts, (text,)), *others = steps().items()
    operator = OperatorFacts.model_validate({"name": facts.stem, **yaml.safe_load(text)})
    line = with_operators("99.1", {"standalone": {}}, {facts.stem: operator})
    versions = TypeAdapter(ChartVersionTable).validate_python(chart_versions({}, {facts.stem: operator}))

    assert facts.parent == Path("gpu_fabric/catalog/operators")
    assert [name.parts[0] for name, _ in others] == ["gpu_fabric", "tests"]
    assert operator.release is not None
    assert Chart.model_validate(line["charts"][operator.release]).version in versions[operator.release]


def test_an_operator_that_is_added_by_the_guide_passes_the_fast_tests_and_breaks_none(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    follow(folder)

    assert make(folder, "docs").endswith("status 0")
    assert make(folder, "test-fast").endswith("status 0")
