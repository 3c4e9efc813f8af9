"""The documented programs with components run, and the reference of the components is what the schema says."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
from programs import ANSWERS, ROOT, TENANCY, answered_waits
from pydantic.alias_generators import to_snake
from recording import Recording, World, record
from stub_cluster import KUBECONFIG, TOKEN

import components

pytestmark = pytest.mark.components

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {page: _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")) for page in ("README.md", "docs/programs.md")}
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples" / "components").glob("*.py"))}
PUBLIC = [
    name
    for name in components.__all__
    if inspect.isclass(found := getattr(components, name)) and "args" in inspect.get_annotations(found.__init__)
]
ACCOUNT = "of-the-account"
CONFIG = {
    **{name: KUBECONFIG for name in ("kubeconfig", "train-kubeconfig", "research-kubeconfig")},
    **{name: ACCOUNT for name in ("token", "user", "fingerprint", "privateKey")},
    "compartment": "ocid1.compartment.oc1..aaaaaaaaexample",
    "tenancy": TENANCY,
}


def run(program: str) -> Recording:
    """What a documented program registers, with the configuration that it reads."""
    # The name of the package in a checkout.
    text = program.replace("gpu_fabric.components", "components")
    config = {f"gpu-fabric:{name}": value for name, value in CONFIG.items()}
    with answered_waits():
        return record(lambda: exec(text, {}), stack="mine", config=config, world=World(ANSWERS))  # noqa: S102  # from the page


@pytest.mark.parametrize(("page", "number"), [(page, number) for page in PAGES for number in range(len(PAGES[page]))])
def test_each_program_of_a_page_runs(page: str, number: int) -> None:
    recording = run(PAGES[page][number])

    assert recording.of_type("NetworkAttachmentDefinition")
    assert TOKEN not in str(recording.outputs)


def test_the_first_program_of_the_readme_has_fifteen_lines() -> None:
    assert len(PAGES["README.md"][0].splitlines()) <= 15


def test_the_first_program_of_the_page_has_two_fabrics_in_few_lines() -> None:
    assert len(PAGES["docs/programs.md"][0].splitlines()) <= 25
    found = {entry.name for entry in run(PAGES["docs/programs.md"][0]).of_type(":GpuFabric")}
    assert found == {"train", "research"}


def test_each_component_has_a_program() -> None:
    assert sorted(EXAMPLES) == sorted(map(to_snake, PUBLIC))


@pytest.mark.parametrize("path", EXAMPLES.values(), ids=EXAMPLES)
def test_each_program_registers_its_component_and_has_an_output(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    recording = run(text)
    (kind,) = (name for name in PUBLIC if to_snake(name) == path.stem)

    assert ast.get_docstring(ast.parse(text))
    assert len(recording.of_type(f"gpu-fabric:index:{kind}")) == 1
    assert recording.outputs
    plain = {key: value for key, value in recording.outputs.items() if key not in recording.secret_outputs}
    assert [secret for secret in (TOKEN, ACCOUNT) if secret in str(plain)] == []
