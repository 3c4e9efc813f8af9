"""The programs on pages and in examples run as they are printed: components, transforms and stacks from Python."""

import json
from pathlib import Path
from typing import Any

import pulumi
import pytest
from attached_pods import NETWORKS, at
from markdown_it import MarkdownIt
from programs import ANSWERS, ROOT, TENANCY, answered_waits
from pydantic.alias_generators import to_snake
from recording import Recording, World, record
from stack_plans import stack_plan
from stub_cluster import KUBECONFIG, TOKEN

import components
import components.automation
from components.package.provider import public_components


def blocks(page: str) -> list[str]:
    """A page's blocks of Python, with the name that the package has in a checkout."""
    tokens = MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8").partition("\n## In a Pulumi program\n")[-1])
    tokens = tokens or MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8"))
    found = [token.content for token in tokens if token.type == "fence" and token.info == "python"]
    return [text.replace("gpu_fabric.components", "components") for text in found]


PAGES = {page: blocks(page) for page in ("README.md", "docs/programs.md")}
JOB, DEPLOYMENT, MPI_JOB = blocks("docs/workloads.md")
AUTOMATION = blocks("docs/automation.md")
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples" / "components").glob("*.py"))}
PUBLIC = [kind.__name__ for kind in public_components()]
ACCOUNT = "of-the-account"
GUIDE = 'release_line="23.10"'
CONFIG = {
    **{name: KUBECONFIG for name in ("kubeconfig", "train-kubeconfig", "research-kubeconfig")},
    **{name: ACCOUNT for name in ("token", "user", "fingerprint", "privateKey")},
    "compartment": "ocid1.compartment.oc1..aaaaaaaaexample",
    "tenancy": TENANCY,
}


def run(program: str, *, preview: bool = False) -> Recording:
    """What a documented program registers; the other stack that it may refer to is `dev`, as it is committed."""
    contract = stack_plan("dev", ROOT).workload.model_dump(mode="json", by_alias=True, exclude_none=True)
    world = World(ANSWERS, others={"dev": {"fabric": contract}})
    config = {f"gpu-fabric:{name}": value for name, value in CONFIG.items()}
    text = program.replace("gpu_fabric.components", "components")
    with answered_waits():
        return record(lambda: exec(text, {}), stack="mine", config=config, world=world, preview=preview)  # noqa: S102


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What components warn of in a run."""
    found: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_: found.append(text))
    return found


@pytest.mark.parametrize(("page", "number"), [(page, number) for page in PAGES for number in range(len(PAGES[page]))])
def test_each_program_of_a_page_runs_without_a_warning(page: str, number: int, warned: list[str]) -> None:
    recording = run(PAGES[page][number])

    assert warned == []

    assert recording.of_type("NetworkAttachmentDefinition")
    assert TOKEN not in str(recording.outputs)
    if (page, number) == ("docs/programs.md", 0):
        assert {entry.name for entry in recording.of_type(":GpuFabric")} == {"train", "research"}


@pytest.mark.parametrize("kind", PUBLIC)
def test_each_component_has_a_program_that_registers_it_and_has_an_output(kind: str, warned: list[str]) -> None:
    program = EXAMPLES[to_snake(kind)].read_text(encoding="utf-8")
    recording = run(program)

    # The guide's machines have a line of their own.
    assert [text for text in warned if "releaseLine" in text or "release_line" in text] == [] or GUIDE in program

    assert len(recording.of_type(f"gpu-fabric:index:{kind}")) == 1
    assert recording.outputs
    plain = {key: value for key, value in recording.outputs.items() if key not in recording.secret_outputs}
    assert [secret for secret in (TOKEN, ACCOUNT) if secret in str(plain)] == []


def attached(recording: Recording, name: str, template: str) -> tuple[int, int]:
    """How many networks a pod template of a resource has, and how many rails its one container asks for."""
    found = at(recording[name].inputs, template)
    (container,) = found["spec"]["containers"]
    networks = found.get("metadata", {}).get("annotations", {}).get(NETWORKS)
    requests = container.get("resources", {}).get("requests", {})
    return len(json.loads(networks)) if networks else 0, sum(name.startswith("nvidia.com/rail") for name in requests)


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
@pytest.mark.parametrize(
    ("program", "name", "rails"),
    [
        (JOB, "pretrain", {"spec.template": 16}),
        (DEPLOYMENT, "model", {"spec.template": 16}),
        (
            MPI_JOB,
            "all-reduce",
            {"spec.mpiReplicaSpecs.Worker.template": 16, "spec.mpiReplicaSpecs.Launcher.template": 0},
        ),
    ],
    ids=["Job", "Deployment", "MPIJob"],
)
def test_the_workload_of_a_program_gets_every_rail_and_comes_after_the_fabric(
    program: str, name: str, rails: dict[str, int], preview: bool
) -> None:
    recording = run(program, preview=preview)

    for template, count in rails.items():
        assert attached(recording, name, template) == (count, count)
    fabric = {entry.name for entry in recording.resources if entry.name.startswith("train-") and entry.custom}
    # One program has its fabric in another stack.
    assert bool(fabric) == (program != DEPLOYMENT)
    assert preview or fabric <= recording[name].dependencies


def test_what_the_fabric_creates_is_left_alone_by_a_transform_of_the_whole_stack() -> None:
    """The transform is registered before the fabric here, which Pulumi would otherwise wait for."""
    line = "pulumi.runtime.register_resource_transform(fabric_transform(fabric.contract))\n"
    assert line in MPI_JOB
    moved = MPI_JOB.replace(line, "").replace(
        "fabric = GpuFabric(",
        "later = asyncio.get_running_loop().create_future()\n"
        "pulumi.runtime.register_resource_transform(fabric_transform(pulumi.Output.from_input(later)))\n"
        "fabric = GpuFabric(",
    )
    moved = f"import asyncio\n{moved}\nfabric.ready.apply(lambda _: fabric.contract.apply(later.set_result))\n"

    assert attached(run(moved), "all-reduce", "spec.mpiReplicaSpecs.Worker.template") == (16, 16)


# Stacks from Python


def test_the_refused_stack_prints_what_the_page_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(AUTOMATION[0], "docs/automation.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out

    assert printed.startswith("ADR001 gpu-fabric:fabric.addressing.supernet 600 nodes x 1 address = 600 per pool, but ")
    assert printed.endswith("-> use a supernet of /18 or larger\n")
    assert len(printed.splitlines()) == 1


def test_every_method_and_option_of_the_page_exists() -> None:
    compile(AUTOMATION[1], "docs/automation.md", "exec")
    page = Path(ROOT / "docs/automation.md").read_text(encoding="utf-8")
    public = [name for name in vars(components.automation.FabricStack) if not name.startswith("_")]
    options: dict[str, Any] = components.automation.FabricStack.__init__.__kwdefaults__

    assert [name for name in public if f"`{name}(" not in page] == []
    assert [name for name in options if name != "project" and f"`{name}`" not in page] == []
