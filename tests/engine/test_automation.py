"""Stacks from Python: the Automation API, with the real engine and no cluster."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from previews import Engine
from pulumi import automation
from stub_cluster import KUBECONFIG, TOKEN

from components import ExistingCluster, register_steps
from components.automation import FabricStack, FailedRunError, Program, RefusedError, Sections
from gpu_fabric.plan import Plan
from gpu_fabric.resources import resources
from sandbox.home import project_root

ROOT = project_root()
EXAMPLE = ROOT / "examples/automation/many_stacks.py"


@pytest.fixture(scope="module")
def command(engine: Engine) -> automation.PulumiCommand:
    return automation.PulumiCommand(root=str(engine.workspace.home.root))


@pytest.fixture
def options(engine: Engine, command: automation.PulumiCommand, tmp_path: Path) -> dict[str, Any]:
    """What a program of this machine gives every stack: the CLI, a store for states, and a passphrase."""
    states = tmp_path / "states"
    states.mkdir()
    environment = {**engine.workspace.environment(), "PULUMI_BACKEND_URL": f"file://{states}?metadata=skip"}
    return {"environment": environment, "command": command}


def sections(kubeconfig: Path | None, **cluster: Any) -> dict[str, Any]:
    """A small stack on a cluster that exists."""
    pools = [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 2}]
    named = {} if kubeconfig is None else {"kubeconfig": str(kubeconfig)}
    return {
        "cluster": {"provider": "existing", "pools": pools, **named, **cluster},
        "fabric": {"addressing": {"supernet": "192.168.0.0/16"}},
        "software": {"charts": "bundled"},
    }


def test_a_stack_file_is_previewed_as_it_is_planned_and_stays_as_it_is(
    engine: Engine, options: dict[str, Any], tmp_path: Path
) -> None:
    document = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    document["config"]["gpu-fabric:cluster"]["kubeconfig"] = str(engine.kubeconfig)
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(yaml.safe_dump(document))
    heard: list[str] = []
    stack = FabricStack(file, ROOT, **options)
    preview = stack.preview(heard.append)

    # The stack itself and its components are resources, too.
    assert set(preview.changes) == {"create"}
    assert preview.changes["create"] > len(resources(stack.plan()))
    assert "\n".join(heard) == preview.text
    assert yaml.safe_load(file.read_text()) == document
    assert stack.outputs().values == {}


def test_a_refused_stack_says_all_rules_and_remedies_and_no_engine_starts(engine: Engine) -> None:
    wrong = sections(engine.kubeconfig, modell="sriov")
    wrong["fabric"]["addressing"]["supernet"] = "192.168.0.0/28"
    stack = FabricStack(Sections("wrong", wrong), ROOT, environment={"PATH": "/nowhere"})
    for act in (stack.plan, stack.preview, stack.up):
        with pytest.raises(RefusedError) as refused:
            act()
        found = {entry.path: entry for entry in refused.value.findings}
        assert set(found) == {"gpu-fabric:cluster.modell", "gpu-fabric:fabric.addressing.supernet"}
        assert found["gpu-fabric:cluster.modell"].id == "SPC001"
        assert all(entry.message and entry.remedy for entry in found.values())
        assert refused.value.stack == "wrong"


def test_a_plan_needs_no_kubeconfig_and_a_preview_without_one_is_refused(tmp_path: Path) -> None:
    stack = FabricStack(Sections("later", sections(tmp_path / "kubeconfig")), ROOT)

    assert len(stack.plan().rails) == 16
    with pytest.raises(RefusedError, match="no such file") as refused:
        stack.preview()
    assert [entry.id for entry in refused.value.findings] == ["CLU001"]


def test_a_missing_cli_is_one_sentence(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(FailedRunError, match="there is no `pulumi` on PATH: install the Pulumi CLI"):
        FabricStack(Sections("early", sections(engine.kubeconfig)), ROOT).preview()


def test_a_file_with_mistakes_is_refused_with_their_lines(tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        FabricStack(ROOT / "examples/wrong/mistakes.yaml", ROOT).plan()

    assert {entry.line for entry in refused.value.findings} == {14, 15, 16}


def test_a_kubeconfig_reaches_the_program_as_a_secret_and_no_file_or_argument(
    options: dict[str, Any], tmp_path: Path
) -> None:
    stack = FabricStack(
        Sections("secret", sections(None, kubeconfigSecret="admin")),
        ROOT,
        secrets={"admin": KUBECONFIG},
        folder=tmp_path / "work",
        **options,
    )
    preview = stack.preview()
    written = [path.read_text() for path in (tmp_path / "work").iterdir()]

    assert preview.changes["create"] > 50
    assert len(written) == 2
    assert not any(TOKEN in text for text in [*written, preview.text])


def mine(plan: Plan) -> None:
    """A program of the user's own, with the components."""
    cluster = ExistingCluster("mine", plan.cluster, Path("/")).handle
    register_steps(plan, cluster)


def test_a_program_of_ones_own_registers_the_plan(
    engine: Engine, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the bundled charts are.
    monkeypatch.chdir(ROOT)
    program: Program = mine
    stack = FabricStack(Sections("own", sections(engine.kubeconfig)), program, project="acme", **options)

    assert stack.preview().changes["create"] > len(resources(stack.plan()))


def test_the_example_previews_many_stacks_at_once(engine: Engine, options: dict[str, Any], tmp_path: Path) -> None:
    bin_first = os.pathsep.join([str(engine.workspace.home.bin), options["environment"]["PATH"]])
    kubeconfigs = [str(engine.kubeconfig)] * 3
    ran = subprocess.run(
        [sys.executable, EXAMPLE, "--charts", "bundled", "--checkout", str(ROOT), *kubeconfigs],
        env={**options["environment"], "PATH": bin_first, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [line.split(":")[0] for line in ran.stdout.splitlines()] == ["site-00", "site-01", "site-02"]
    assert all(re.fullmatch(r"site-0\d: 5\d to create", line) for line in ran.stdout.splitlines()), ran.stdout
