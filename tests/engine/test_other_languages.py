"""Programs in YAML, TypeScript and Go with the components, by the real CLI: what compiles, and what they register.

The hosts for these languages are those of tests/support/language_hosts.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from language_hosts import place_language_hosts
from npm import npm_environment, shown
from previews import Engine, Preview
from stub_cluster import KUBECONFIG

from sandbox.cloud.account import account_token
from sandbox.home import project_root
from sandbox.toolchain.golang import build_environment, find_go
from sandbox.toolchain.recipes import recipes

pytestmark = pytest.mark.slow

EXAMPLES = project_root() / "examples" / "components"
STACK = "two"
PYTHON = """\
import pulumi
from components import GpuFabric, GpuFabricArgs, GpuPoolArgs, RangesArgs

config = pulumi.Config()
for name, settings in {
    "train": {"model": "sriov", "mtu": 4220, "addressing": {"supernet": "192.168.0.0/16"}},
    "research": {"model": "sriov", "addressing": {"supernet": "172.20.0.0/16"}},
}.items():
    fabric = GpuFabric(name, GpuFabricArgs(
        kubeconfig=config.require_secret(f"{name}-kubeconfig"),
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=3)],
        ranges=RangesArgs(pods="10.244.0.0/16", services="10.96.0.0/16", nodes="10.0.0.0/16"),
        fabric=settings,
        software={"charts": "bundled", "releaseLine": "26.7"},
    ))
    pulumi.export(name, fabric.contract)
"""


class Program:
    """A project in a folder of its own, as its files are in examples/components."""

    def __init__(self, engine: Engine, folder: Path, language: str) -> None:
        self.engine = engine
        self.folder = shutil.copytree(EXAMPLES / language, folder / language)
        # Pulumi runs what is written in Python with this environment, and bundled charts are found from here.
        (self.folder / ".venv").symlink_to(sys.prefix)
        (self.folder / "sandbox").symlink_to(project_root() / "sandbox")
        # Of a copy: the host for YAML keeps the schema beside the folder.
        package = shutil.copytree(project_root() / "components", folder / "clone" / "components")
        added = self.pulumi("package", "add", str(package))
        assert added.returncode == 0, added.stdout + added.stderr
        self.text = (self.folder / "Pulumi.yaml").read_text()

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.engine.run([*arguments, "--non-interactive"], self.folder)

    def with_stack(self) -> Program:
        """The same with a stack that holds nothing and has the secrets."""
        self.pulumi("stack", "init", STACK)
        for name in ("train", "research"):
            set_secret = ["config", "set", "--secret", f"{name}-kubeconfig", "--stack", STACK]
            done = subprocess.run(
                [self.engine.workspace.command, *set_secret],
                cwd=self.folder,
                env=self.engine.workspace.environment(),
                input=KUBECONFIG,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
        return self

    def with_bundled_charts(self, file: str, line: str, charts: str) -> None:
        """Add to the release line of the program's software that its charts need no repository."""
        text = (self.folder / file).read_text()
        assert line in text
        (self.folder / file).write_text(text.replace(line, f"{line}, {charts}"))

    @property
    def document(self) -> dict[str, Any]:
        """The project's file, with the packages that were added."""
        found: dict[str, Any] = yaml.safe_load(self.text)
        return found

    def preview(self, document: dict[str, Any]) -> Preview:
        """A preview of the program in YAML with other content."""
        (self.folder / "Pulumi.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
        return preview(self.engine, self.folder)


def preview(engine: Engine, folder: Path) -> Preview:
    """A preview of the program in a folder, on a stack that holds nothing."""
    return Preview(engine.run(["preview", "--json", "--non-interactive", "--stack", STACK], folder))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An engine with the hosts of other languages."""
    engine = Engine(tmp_path_factory.mktemp("languages"))
    place_language_hosts(engine.workspace)
    return engine


@pytest.fixture(scope="module")
def program(host: Engine, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The example in YAML, after `pulumi package add`, with the charts of this checkout."""
    return Program(host, tmp_path_factory.mktemp("yaml"), "yaml").with_stack()


@pytest.fixture(scope="module")
def of_python(host: Engine, program: Program, tmp_path_factory: pytest.TempPathFactory) -> Preview:
    """What the same program in Python registers."""
    folder = tmp_path_factory.mktemp("python")
    (folder / "Pulumi.yaml").write_text("name: two-clusters\nruntime: python\n")
    (folder / "__main__.py").write_text(PYTHON)
    (folder / "sandbox").symlink_to(project_root() / "sandbox")
    shutil.copy(program.folder / f"Pulumi.{STACK}.yaml", folder)
    found = preview(host, folder)
    assert found.status == 0, found.printed
    return found


@pytest.fixture
def document(program: Program) -> dict[str, Any]:
    """The program's content with charts that need no repository."""
    found = program.document
    for name in ("train", "research"):
        found["resources"][name]["properties"]["software"]["charts"] = "bundled"
    return found


def registered(found: Preview) -> dict[str, dict[str, Any]]:
    """What a preview registers for fabrics, by URN: all but the places in programs, and dependencies in one order."""
    places = {"sourcePosition", "stackTrace"}
    states = {step["urn"]: step["newState"] for step in found.digest.get("steps", [])}
    return {
        urn: {
            key: sorted(value) if key == "dependencies" else value for key, value in state.items() if key not in places
        }
        for urn, state in states.items()
        if urn.rpartition("::")[2].startswith(("train", "research")) and not urn.endswith("train-cluster")
    }


def errors(found: Preview) -> str:
    """The errors of a preview, as they are shown."""
    assert found.status != 0
    shown = [entry["message"] for entry in found.digest["diagnostics"] if entry["severity"] == "error"]
    return "\n".join(shown)


def test_a_program_in_yaml_registers_what_one_in_python_does(
    program: Program, document: dict[str, Any], of_python: Preview
) -> None:
    of_yaml = program.preview(document)

    assert of_yaml.status == 0, of_yaml.printed
    assert of_yaml.steps["facts"] == "create"
    assert len(registered(of_python)) > 100
    assert registered(of_yaml) == registered(of_python)


def test_problems_of_arguments_are_one_message_with_the_names_that_the_program_has(
    program: Program, document: dict[str, Any]
) -> None:
    properties = document["resources"]["train"]["properties"]
    properties["pools"][0] |= {"shape": "BM.GPU.H100.9", "nodeNames": ["a"]}
    properties["fabric"]["addressing"]["supernet"] = "10.244.0.0/16"
    shown = errors(program.preview(document))

    assert "GpuFabric train: 3 problems, nothing was created." in shown
    assert "did you mean 'BM.GPU.H100.8'?" in shown
    assert "error SPC002 GpuFabric train: pools[0].nodeNames: 1 names for 3 nodes" in shown
    assert "fabric.addressing.supernet: 10.244.0.0/16 overlaps" in shown
    assert "Traceback" not in shown
    assert 'File "' not in shown


def test_warnings_name_arguments_as_the_schema_does(program: Program, document: dict[str, Any]) -> None:
    document["resources"]["train"]["properties"]["software"]["releaseLine"] = "26.4"
    found = program.preview(document)
    shown = "\n".join(entry["message"] for entry in found.digest["diagnostics"])

    assert re.search(r'REL016 GpuFabric train: software\.releaseLine: .* -> write software\.releaseLine: "', shown)
    assert "release_line" not in shown


def test_an_output_in_the_place_of_a_plain_value_is_refused_wherever_it_is(
    program: Program, document: dict[str, Any]
) -> None:
    properties = document["resources"]["research"]["properties"]
    properties["pools"][0]["shape"] = "${train.contract.shape}"
    properties["ranges"]["pods"] = "${train.addressPlan.supernet}"
    properties["fabric"]["addressing"]["supernet"] = "at ${train.ready}"
    shown = errors(program.preview(document))

    assert "GpuFabric research: 3 problems, nothing was created." in shown
    for place in ("pools[0].shape", "ranges.pods", "fabric.addressing.supernet"):
        assert f"GpuFabric research: {place}: this is an Output" in shown


def test_a_kubeconfig_of_a_resource_that_does_not_exist_yet_previews(
    program: Program, document: dict[str, Any]
) -> None:
    research = document["resources"]["research"]
    research["properties"]["kubeconfig"] = '${facts.data["ready"]}'
    research["options"] = {"dependsOn": ["${facts}"]}
    found = program.preview(document)

    assert found.status == 0, found.printed
    (provider,) = [step["newState"] for step in found.digest["steps"] if step["urn"].endswith("::research-kubernetes")]
    assert any(urn.endswith("::facts") for urn in provider["dependencies"])


def test_an_environment_without_the_components_is_named_before_anything_is_created(
    program: Program, document: dict[str, Any], tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty"], check=True)
    document["runtime"]["options"]["virtualenv"] = str(tmp_path / "empty")
    found = program.preview(document)

    assert f"{tmp_path / 'empty' / 'bin' / 'python'}', which lacks components" in errors(found)
    assert "pip install 'PATH[pulumi]'" in errors(found)
    assert registered(found) == {}


def test_a_wait_that_fails_in_the_provider_is_one_message(host: Engine, tmp_path: Path) -> None:
    complaint = "after 1200 s not all nodes offer GPUs; those that lack something:\n  node-1: no GPU\n  node-2: no GPU"
    resource = {"type": "gpu-fabric:Late", "properties": {"complaint": complaint}}
    package = str(shutil.copytree(Path(__file__).parent / "late_package", tmp_path / "package"))
    document = {"name": "late", "runtime": "yaml", "packages": {"gpu-fabric": package}, "resources": {"one": resource}}
    (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump(document))
    host.run(["stack", "init", "late", "--non-interactive"], tmp_path)
    done = host.run(["up", "--yes", "--skip-preview", "--non-interactive", "--stack", "late"], tmp_path)

    assert done.returncode != 0
    _, diagnostics = done.stdout.split("Diagnostics:\n")
    reported = diagnostics.partition("\nResources:")[0].strip().splitlines()
    assert reported[0].strip() == "pulumi:pulumi:Stack (late-late):"
    assert "\n".join(line.removeprefix("    ") for line in reported[1:]).strip() == (
        f"error: gpu-fabric:index:Late resource 'one' has a problem: {complaint}"
    )


def with_cluster(document: dict[str, Any], token: str) -> dict[str, Any]:
    """A program with a cluster at the simulated DigitalOcean alone."""
    cluster = {
        "name": "train",
        "token": {"fn::secret": token},
        "region": "nyc2",
        "version": "1.36",
        "pools": [{"name": "gpu", "shape": "gpu-h200x8-1128gb-fabric-contracted", "nodes": 2}],
        "ranges": {"pods": "10.156.0.0/16", "services": "10.157.0.0/19", "nodes": "10.158.0.0/20"},
    }
    properties = {"doks": cluster, "software": {"charts": "bundled"}}
    resources = {"train": {"type": "gpu-fabric:GpuCluster", "properties": properties}}
    return {**document, "resources": resources, "outputs": {"kubeconfig": "${train.kubeconfig}"}}


def test_a_secret_deep_in_an_argument_stays_one_and_the_rest_of_it_plain(
    program: Program, document: dict[str, Any]
) -> None:
    token = account_token(program.engine.workspace.home)
    found = program.preview(with_cluster(document, token))

    assert found.status == 0, found.printed
    states = {step["urn"].rpartition("::")[2]: step["newState"] for step in found.digest["steps"]}
    assert states["train-digitalocean"]["inputs"]["token"] == "[secret]"
    assert token not in found.printed


def test_a_clouds_refusal_of_a_look_up_is_a_message_without_a_traceback(
    program: Program, document: dict[str, Any]
) -> None:
    shown = errors(program.preview(with_cluster(document, "another-token")))

    assert "invoke of digitalocean:index/getKubernetesVersions" in shown
    assert 'File "' not in shown
    assert "another-token" not in shown


def registers_the_same(found: Preview, of_python: Preview) -> None:
    """Fail unless a program's fabrics are those of Python's; only there `train` has an MTU of its own."""
    assert found.status == 0, found.printed
    ours, theirs = registered(found), registered(of_python)
    assert set(ours) == set(theirs)
    of_research = {urn for urn in theirs if urn.rpartition("::")[2].startswith("research")}
    assert len(of_research) > 50
    assert {urn: ours[urn] for urn in of_research} == {urn: theirs[urn] for urn in of_research}


def test_the_sdk_for_typescript_and_a_program_with_it_compile_and_register_what_one_in_python_does(
    host: Engine, of_python: Preview, tmp_path: Path
) -> None:
    made = Program(host, tmp_path, "typescript")
    environment = npm_environment()
    installed = shown(["npm", "install", "--no-audit", "--no-fund"], made.folder, environment)
    if "ENOTFOUND" in installed.stderr or "ECONNREFUSED" in installed.stderr:
        pytest.skip("npm reaches no registry of packages")
    assert installed.returncode == 0, installed.stderr

    for folder in (made.folder / "sdks" / "gpu-fabric", made.folder):
        compiled = shown(["npx", "tsc", "--noEmit"], folder, environment)
        assert compiled.returncode == 0, compiled.stdout
    made.with_bundled_charts("index.ts", 'releaseLine: "26.7"', 'charts: "bundled"')
    registers_the_same(preview(host, made.with_stack().folder), of_python)


def test_the_sdk_for_go_and_a_program_with_it_compile_and_register_what_one_in_python_does(
    host: Engine, of_python: Preview, tmp_path: Path
) -> None:
    made = Program(host, tmp_path, "go")
    # The versions and the flags of the toolchain, whose packages are compiled by now.
    recipe = recipes()["language-hosts"]
    shutil.copy(recipe.folder / "go.sum", made.folder)
    with (made.folder / "go.mod").open("a") as file:
        needed = [line for line in (recipe.folder / "go.mod").read_text().splitlines() if line.startswith("\t")]
        file.write("\n".join(["require (", *(line for line in needed if "pulumi/sdk/" not in line), ")", ""]))
    made.with_bundled_charts("main.go", 'ReleaseLine: pulumi.StringRef("26.7")', 'Charts: pulumi.StringRef("bundled")')
    go = find_go(print)
    command = [str(go.command), *recipe.arguments(tmp_path, tmp_path / "actions.json")]
    command = [word.replace("-mod=readonly", "-mod=mod") for word in command]
    compiled = shown(command, made.folder, build_environment(go))

    assert compiled.returncode == 0, compiled.stderr
    project = yaml.safe_load((made.folder / "Pulumi.yaml").read_text())
    project["runtime"]["options"]["binary"] = shutil.move(tmp_path / recipe.outputs[0], made.folder / "program").name
    (made.folder / "Pulumi.yaml").write_text(yaml.safe_dump(project, sort_keys=False))
    registers_the_same(preview(host, made.with_stack().folder), of_python)
