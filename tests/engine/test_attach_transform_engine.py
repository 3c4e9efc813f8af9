"""Pulumi programs whose workloads get the fabric, run by the real engine, which alone runs transforms."""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from attached_pods import NETWORKS, at
from previews import Engine, Preview
from stub_cluster import KUBECONFIG

from gpu_fabric.attach.stamp import STAMP

START = dedent("""\
    import sys
    from pathlib import Path

    sys.path.insert(0, {root!r})

    import pulumi
    import pulumi_kubernetes as k8s

    from components.rdma.attach import fabric_transform
    from gpu_fabric.prepare import prepare
    from gpu_fabric.spec.load import read_document

    provider = k8s.Provider("cluster", render_yaml_to_directory={rendered!r})
    planned = prepare(read_document("dev", Path({root!r})), for_up=False).plan.workload
    settings = k8s.core.v1.ConfigMap(
        "settings",
        metadata={{"name": "settings"}},
        data={{"a": {data!r}}},
        opts=pulumi.ResourceOptions(provider=provider),
    )
    # As a stack's output, and known when the ConfigMap exists.
    document = planned.model_dump(mode="json", by_alias=True, exclude_none=True)
    contract = settings.id.apply(lambda _: {{**document, **{overrides!r}}})
    options = {{"provider": provider, "transforms": [fabric_transform(contract)]}}
    gpus = {{"limits": {{"nvidia.com/gpu": "8"}}}}


    def main(**more):
        return {{"name": "main", "image": "registry.example/train:7", "resources": gpus, **more}}


    def job(name, namespace="default", **container):
        k8s.batch.v1.Job(
            name,
            metadata={{"name": name, "namespace": namespace}},
            spec={{"template": {{"spec": {{"restartPolicy": "Never", "containers": [main(**container)]}}}}}},
            opts=pulumi.ResourceOptions(**options),
        )
    """)
WORKLOADS = dedent("""\
    values = {"plain": "b", "linked": settings.metadata.name, "secret": pulumi.Output.secret("hush")}
    for name, value in values.items():
        job(name, env=[{"name": "A", "value": value}])

    labels = {"app": "a"}
    k8s.apps.v1.Deployment(
        "classes",
        metadata=k8s.meta.v1.ObjectMetaArgs(name="classes", namespace="default"),
        spec=k8s.apps.v1.DeploymentSpecArgs(
            selector=k8s.meta.v1.LabelSelectorArgs(match_labels=labels),
            template=k8s.core.v1.PodTemplateSpecArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(labels=labels),
                spec=k8s.core.v1.PodSpecArgs(
                    containers=[k8s.core.v1.ContainerArgs(**main(), image_pull_policy="Always")],
                ),
            ),
        ),
        opts=pulumi.ResourceOptions(**options),
    )
    worker = k8s.core.v1.PodSpecArgs(containers=[k8s.core.v1.ContainerArgs(**main(), image_pull_policy="Always")])
    launcher = {"containers": [{"name": "main", "image": "registry.example/train:7"}]}
    k8s.apiextensions.CustomResource(
        "custom",
        api_version="kubeflow.org/v2beta1",
        kind="MPIJob",
        metadata={"name": "custom", "namespace": "default"},
        spec={
            "mpiReplicaSpecs": {
                "Launcher": {"template": {"spec": launcher}},
                "Worker": {"replicas": 2, "template": k8s.core.v1.PodTemplateSpecArgs(spec=worker)},
            }
        },
        opts=pulumi.ResourceOptions(**options),
    )


    class Service(pulumi.ComponentResource):
        def __init__(self, name, kind, opts, namespace="default"):
            super().__init__(kind, name, None, opts)
            pod = {"containers": [main(image_pull_policy="Always")]}
            k8s.apps.v1.Deployment(
                name,
                metadata={"name": name, "namespace": namespace},
                spec={
                    "selector": {"match_labels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": pod},
                },
                opts=pulumi.ResourceOptions(parent=self, provider=provider),
            )


    inherited = pulumi.ResourceOptions(transforms=options["transforms"])
    Service("inner", "my:index:Service", inherited)
    Service("own", "gpu-fabric:index:GpuFabric", inherited)
    """)

SERVICE = 'Service("refused", "my:index:Service", inherited, namespace="research")'


class Project:
    """A program in a folder of its own, and its stack, whose manifests are rendered."""

    def __init__(self, engine: Engine, folder: Path, root: Path, name: str) -> None:
        self.engine, self.folder, self.root, self.name = engine, folder, root, name
        project = {"name": name, "runtime": {"name": "python", "options": {"virtualenv": str(Path(sys.prefix))}}}
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump(project))
        engine.run(["stack", "init", name, "--non-interactive"], folder)

    def pulumi(self, program: str, *command: str, data: str = "b", **overrides: Any) -> tuple[int, str]:
        """Exit status and text of a command for a program; `overrides` are keys of the contract."""
        places = {"root": str(self.root), "rendered": str(self.folder / "rendered")}
        start = START.format(**places, data=data, overrides=overrides)
        (self.folder / "__main__.py").write_text(f"{start}\n{program}")
        done = self.engine.run([*command, "--non-interactive", "--stack", self.name], self.folder)
        return done.returncode, done.stdout + done.stderr

    @property
    def manifests(self) -> dict[str, Any]:
        """What is rendered, by name."""
        found = [yaml.safe_load(path.read_text()) for path in sorted((self.folder / "rendered").rglob("*.yaml"))]
        return {manifest["metadata"]["name"]: manifest for manifest in found}

    def resources(self) -> dict[str, Any]:
        """The state's resources, by name."""
        exported = self.engine.run(["stack", "export", "--stack", self.name], self.folder)
        found: Iterable[Any] = json.loads(exported.stdout)["deployment"]["resources"]
        return {entry["urn"].rpartition("::")[2]: entry for entry in found}


@pytest.fixture(scope="module")
def project(engine: Engine, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose workloads are up."""
    made = Project(engine, tmp_path_factory.mktemp("attached"), root, "attached")
    status, printed = made.pulumi(WORKLOADS, "up", "--yes", "--skip-preview")
    assert status == 0, printed
    return made


WORKER = "spec.mpiReplicaSpecs.Worker.template"


def test_a_workload_is_applied_with_the_fabric_however_it_is_written(project: Project) -> None:
    places = dict.fromkeys(("plain", "linked", "secret", "classes", "inner"), "spec.template") | {"custom": WORKER}
    values = {"plain": "b", "linked": "settings", "secret": "hush"}
    for name, place in places.items():
        template = at(project.manifests[name], place)
        (container,) = template["spec"]["containers"]
        assert {NETWORKS, STAMP} <= set(template["metadata"]["annotations"]), name
        assert container["resources"]["requests"]["nvidia.com/rail_15"] == "1", name
        assert container["image"] == "registry.example/train:7", name
        if name in values:
            assert container["env"][0] == {"name": "A", "value": values[name]}
        else:
            # Names of fields are Kubernetes' own.
            assert (container["imagePullPolicy"], "image_pull_policy" in container) == ("Always", False), name
    assert "hush" not in json.dumps(project.resources())
    # The workloads of a fabric itself are left alone.
    assert "annotations" not in project.manifests["own"]["spec"]["template"]["metadata"]


def test_a_workload_depends_on_what_its_contract_depends_on(project: Project) -> None:
    (before,) = project.resources()["plain"]["dependencies"]

    assert before.endswith("ConfigMap::settings")
    # Pulumi takes dependencies over from transforms of the resource itself alone (docs/workloads.md).
    assert "dependencies" not in project.resources()["inner"]


def test_nothing_is_changed_by_a_second_run(project: Project) -> None:
    status, printed = project.pulumi(WORKLOADS, "preview", "--expect-no-changes")

    assert status == 0, printed


def test_a_contract_that_a_preview_does_not_know_replaces_no_deployment(project: Project) -> None:
    """The ConfigMap on which the contract depends is replaced."""
    status, printed = project.pulumi(WORKLOADS, "preview", "--json", data="c")

    assert status == 0, printed
    operations = {(step["urn"].rpartition("::")[2], step["op"]) for step in json.loads(printed)["steps"]}
    assert ("settings", "replace") in operations
    assert {op for name, op in operations if name in ("classes", "inner", "custom")} == {"update"}
    assert [op for name, op in operations if name == "own" and op != "same"] == []


def test_a_workload_that_cannot_be_attached_is_refused_in_words_and_others_go_on_where_pulumi_is_asked_to(
    project: Project,
) -> None:
    more = f'{WORKLOADS}\njob("refused", namespace="research")\n{SERVICE}\njob("accepted")\n'
    status, printed = project.pulumi(more, "up", "--yes", "--skip-preview", "--continue-on-error")

    assert status != 0
    assert printed.count("metadata.namespace: the fabric is not offered in research") >= 2
    assert "refused: 1 problem, nothing was attached." in printed
    assert "-> use default" in printed
    assert "Traceback" not in printed
    assert "refused" not in project.manifests
    assert "accepted" in project.manifests


def test_workloads_that_exist_are_refused_without_being_touched(project: Project) -> None:
    before = {name: entry["modified"] for name, entry in project.resources().items()}
    status, printed = project.pulumi(WORKLOADS, "up", "--yes", "--skip-preview", namespaces=["research"])

    assert status != 0
    assert "error ATT012 metadata.namespace: the fabric is not offered in default" in printed
    assert "Traceback" not in printed
    found = {name: entry["modified"] for name, entry in project.resources().items()}
    kept = ("plain", "linked", "secret", "classes", "custom", "inner")
    assert {name: found[name] for name in kept} == {name: before[name] for name in kept}
    assert set(kept) <= set(project.manifests)


PAGE = (Path(__file__).parents[2] / "docs" / "workloads.md").read_text(encoding="utf-8")
JOB, _, MPI_JOB = re.findall(r"^```python\n(import pulumi\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("program", "name", "place"), [(JOB, "pretrain", "spec.template"), (MPI_JOB, "all-reduce", WORKER)]
)
def test_a_preview_of_a_program_of_the_page_shows_the_fabric_on_its_workload(
    engine: Engine, root: Path, tmp_path: Path, program: str, name: str, place: str
) -> None:
    shown = Project(engine, tmp_path, root, f"page-{name}")
    kubeconfig = ["config", "set", "--secret", "kubeconfig", KUBECONFIG]
    assert engine.run([*kubeconfig, "--non-interactive", "--stack", shown.name], tmp_path).returncode == 0
    # Charts of the repository, which are found from the program's folder.
    (tmp_path / "sandbox").symlink_to(root / "sandbox")
    text = program.replace("gpu_fabric.components", "components")
    text = text.replace('software={"releaseLine"', 'software={"charts": "bundled", "releaseLine"')
    assert '"bundled"' in text
    (tmp_path / "__main__.py").write_text(f"import sys\n\nsys.path.insert(0, {str(root)!r})\n{text}")
    result = Preview(engine.run(["preview", "--json", "--non-interactive", "--stack", shown.name], tmp_path))

    assert result.status == 0, result.printed
    (step,) = [step for step in result.digest["steps"] if step["urn"].endswith(f"::{name}")]
    template = at(step["newState"]["inputs"], place)
    assert len(json.loads(template["metadata"]["annotations"][NETWORKS])) == 16
