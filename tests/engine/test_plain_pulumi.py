"""A clean checkout, the Pulumi CLI and nothing else: neither `make` nor a virtual environment that is active."""

import shutil
import subprocess
from pathlib import Path

import pytest
from new_projects import user_environment
from previews import Engine, Preview
from stack_plans import stack_plan
from stub_cluster import KUBECONFIG
from whole_lives import assert_just_what_is_planned

from sandbox.home import project_root

pytestmark = pytest.mark.slow


class Checkout:
    """The repository's files as Git knows them, in a folder of their own, with a store for the states of its stacks."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.root = folder / "checkout"
        self.states = folder / "states"
        self.states.mkdir()
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=project_root(), capture_output=True, text=True)
        if listed.returncode != 0:
            pytest.skip(f"this is no checkout of Git's: {listed.stderr.strip()}")
        self.files = {name for name in listed.stdout.split("\0") if (project_root() / name).is_file()}
        for name in self.files:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project_root() / name, self.root / name)

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command as a user types it in the checkout."""
        return subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.root,
            env=user_environment(self.engine.workspace, self.states),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def written(self) -> set[str]:
        """What is new in the checkout's top folder, and new files below it, outside of the virtual environment."""
        kept = (self.root / ".venv", self.root / ".sandbox")
        new = (path for path in self.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        names = {str(path.relative_to(self.root)) for path in new if not any(map(path.is_relative_to, kept))}
        return names - self.files


@pytest.fixture(scope="module")
def checkout(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout after `pulumi install`, with a kubeconfig where the stack dev has its sandbox's."""
    made = Checkout(engine, tmp_path_factory.mktemp("plain"))
    installed = made.pulumi("install")
    if "No matching distribution found" in installed.stderr + installed.stdout:
        pytest.skip(f"pip reaches no index of packages: {installed.stderr.strip().splitlines()[-1]}")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    sandbox = made.root / ".sandbox"
    sandbox.mkdir()
    (sandbox / "kubeconfig").write_text(KUBECONFIG)
    return made


def test_an_installation_writes_into_the_virtual_environment_of_make_alone(checkout: Checkout) -> None:
    assert checkout.written() == set()
    assert (checkout.root / ".venv/bin/python").exists()


def test_a_committed_stack_previews_without_make_just_as_it_is_planned(checkout: Checkout) -> None:
    created = checkout.pulumi("stack", "init", "dev")
    assert created.returncode == 0, created.stderr
    preview = Preview(checkout.pulumi("preview", "--json", "--stack", "dev"))

    assert preview.status == 0, preview.printed
    assert_just_what_is_planned(
        (step["newState"] for step in preview.digest["steps"]), stack_plan("dev", project_root())
    )
    assert checkout.written() == set()


def test_a_stack_of_keys_set_one_by_one_previews_without_a_word_in_an_editor(checkout: Checkout) -> None:
    assert checkout.pulumi("stack", "init", "typed").returncode == 0
    for key, value in (
        ("cluster.provider", "existing"),
        ("cluster.kubeconfig", ".sandbox/kubeconfig"),
        ("cluster.pools[0].name", "gpu"),
        ("cluster.pools[0].shape", "BM.GPU.H100.8"),
        ("cluster.pools[0].nodes", "2"),
        ("fabric.addressing.supernet", "192.168.0.0/16"),
        ("software.charts", "bundled"),
    ):
        done = checkout.pulumi("config", "set", "--path", f"gpu-fabric:{key}", value, "--stack", "typed")
        assert done.returncode == 0, done.stderr
    preview = Preview(checkout.pulumi("preview", "--json", "--stack", "typed"))

    assert preview.status == 0, preview.printed
    assert preview.steps["cluster"] == "create"
    assert checkout.written() == {"Pulumi.typed.yaml"}


def test_a_renamed_project_keeps_the_keys_of_its_stack_files_and_refuses_those_of_its_name(checkout: Checkout) -> None:
    file = checkout.root / "Pulumi.yaml"
    file.write_text(file.read_text().replace("name: gpu-fabric\n", "name: fabric-of-acme\n", 1))
    created = checkout.pulumi("stack", "init", "dev")
    assert created.returncode == 0, created.stderr
    preview = Preview(checkout.pulumi("preview", "--json", "--stack", "dev"))

    assert preview.status == 0, preview.printed
    urns = [step["urn"] for step in preview.digest["steps"]]
    assert len(urns) > 50
    assert all("::fabric-of-acme::" in urn for urn in urns)

    assert checkout.pulumi("stack", "init", "short").returncode == 0
    # Without a namespace, the CLI takes the project's name.
    done = checkout.pulumi("config", "set", "--path", "cluster.provider", "existing", "--stack", "short")
    assert done.returncode == 0, done.stderr
    refused = checkout.pulumi("preview", "--stack", "short")

    assert refused.returncode != 0
    assert "fabric-of-acme:cluster: the keys of this program begin with gpu-fabric:" in refused.stdout
    assert "write gpu-fabric:cluster" in refused.stdout
    assert "error SPC001" in refused.stdout
