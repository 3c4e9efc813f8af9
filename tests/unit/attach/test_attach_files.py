"""`gpu-fabric attach` over folders and several files: one input, all problems at once, all files written or none."""

import json
import shutil
from pathlib import Path

import pytest
from attached_pods import MANIFESTS, NETWORKS, text_of
from typer.testing import CliRunner, Result

from gpu_fabric.cli.app import app
from gpu_fabric.plan import Plan

VALUES = "image:\n  repository: registry.example/train\nreplicas: 2\n"
TEMPLATED = "{{- if .Values.enabled }}\nreplicas: {{ .Values.replicas }}\n{{- end }}\n"
SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: front}
spec:
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec:
      containers: [{name: front, image: registry.example/front:1}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dev_plan: Plan) -> Path:
    """A folder with the outputs of the development stack, and manifests in `k8s`, as the current one."""
    contract = dev_plan.workload.model_dump_json(by_alias=True, exclude_none=True)
    (tmp_path / "outputs.json").write_text(f'{{"fabric": {contract}}}')
    for name, target in {"job.yaml": "train/job.yml", "job.json": "job.json", "pod.yaml": "pod.yaml"}.items():
        (tmp_path / "k8s" / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(MANIFESTS / name, tmp_path / "k8s" / target)
    (tmp_path / "k8s/front.yaml").write_text(SERVER)
    (tmp_path / "k8s/values.yaml").write_text(VALUES)
    (tmp_path / "k8s/notes.txt").write_text("kind: Pod\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["attach", *arguments, "--contract", "outputs.json"])


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_folder_is_gone_through_and_each_manifest_is_as_if_it_was_attached_alone(project: Path) -> None:
    before = files(project / "k8s")
    result = run("k8s", "--in-place")

    assert (result.exit_code, result.stdout) == (0, "")
    after = files(project / "k8s")
    assert {name for name in after if after[name] != before[name]} == {"job.json", "pod.yaml", "train/job.yml"}
    for name, original in {"job.json": "job.json", "pod.yaml": "pod.yaml", "train/job.yml": "job.yaml"}.items():
        (project / original).write_text(text_of(original))
        assert after[name] == run(original).stdout


@pytest.mark.usefixtures("project")
def test_a_workload_that_asks_for_no_gpus_is_refused_alone_and_left_as_it_is_beside_others_that_do() -> None:
    assert run("k8s/front.yaml").exit_code == 1
    assert run("k8s/front.yaml", "k8s/pod.yaml", "--in-place").exit_code == 0
    assert Path("k8s/front.yaml").read_text() == SERVER


def test_what_is_not_a_kubernetes_object_is_left_out_of_a_folder_and_said(project: Path) -> None:
    (project / "k8s/chart.yaml").write_text(TEMPLATED)
    result = run("k8s", "--out", "built")

    assert result.exit_code == 0
    assert set(files(project / "built")) == {"front.yaml", "job.json", "pod.yaml", "train/job.yml"}
    left_out = [line for line in result.stderr.splitlines() if "no Kubernetes object" in line]
    assert left_out == [
        f"k8s/{name}: contains no Kubernetes object, and is left out" for name in ("chart.yaml", "values.yaml")
    ]


def test_a_broken_manifest_in_a_folder_is_refused_and_not_left_out(project: Path) -> None:
    (project / "k8s/broken.yaml").write_text("apiVersion: v1\nkind: Pod\nspec: [\n")
    result = run("k8s", "--out", "built")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("k8s/broken.yaml: error ATT001: line 3: no YAML: ")
    assert not (project / "built").exists()


@pytest.mark.usefixtures("project")
def test_a_file_that_is_named_is_refused_where_it_is_not_a_kubernetes_object() -> None:
    result = run("k8s/pod.yaml", "k8s/values.yaml", "--check")

    assert result.exit_code == 1
    assert "k8s/values.yaml: 1 problem, nothing was attached." in result.stderr


def test_the_problems_of_all_files_are_said_at_once_and_nothing_is_written(project: Path) -> None:
    before = files(project / "k8s")
    result = run("k8s", "--in-place", "-n", "other", "-c", "no-such")

    assert (result.exit_code, result.stdout) == (1, "")
    assert files(project / "k8s") == before
    assert [line for line in result.stderr.splitlines() if line.endswith("nothing was attached.")] == [
        "all 5 files: 1 problem, nothing was attached.",
        "k8s/job.json: 1 problem, nothing was attached.",
        "k8s/pod.yaml: 1 problem, nothing was attached.",
        "k8s/train/job.yml: 1 problem, nothing was attached.",
    ]
    assert result.stderr.count("  error ATT012 document 1, metadata.namespace: the fabric is not offered in other") == 3


@pytest.mark.usefixtures("project")
def test_a_container_is_found_in_whichever_file_it_is() -> None:
    result = run("k8s/pod.yaml", "k8s/front.yaml", "-c", "front", "--out", "built")

    assert result.exit_code == 0
    assert all(NETWORKS in text for text in files(Path("built")).values())


@pytest.mark.usefixtures("project")
def test_notes_have_their_file_and_the_number_of_the_document_in_it() -> None:
    shutil.copy(MANIFESTS / "several-documents.yaml", "k8s")
    result = run("k8s", "--out", "built")

    assert "k8s/several-documents.yaml: note ATT063 document 5, spec.template.spec.containers[0]: " in result.stderr


@pytest.mark.usefixtures("project")
def test_files_that_are_attached_already_stay_and_a_check_names_those_that_are_not() -> None:
    first = run("k8s", "--check")
    run("k8s", "--in-place")
    before = {path: path.stat().st_mtime_ns for path in Path("k8s").rglob("*")}
    again = run("k8s", "--in-place")

    assert (first.exit_code, first.stdout, first.stderr.count("the fabric is not attached")) == (1, "", 3)
    assert {path: path.stat().st_mtime_ns for path in Path("k8s").rglob("*")} == before
    assert (again.exit_code, run("k8s", "--check").exit_code) == (0, 0)


@pytest.mark.parametrize("names", [["deep.json"], ["deep.json", "k8s/pod.yaml"]])
def test_manifests_that_are_nested_too_deeply_are_refused(project: Path, names: list[str]) -> None:
    text = '{"apiVersion": "v1", "kind": "Pod", "spec": ' + '{"a": ' * 480 + "1" + "}" * 480 + "}"
    (project / "deep.json").write_text(text)
    result = run(*names, "--check")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "nested too deeply" in result.stderr


def test_hidden_folders_and_links_to_folders_are_not_gone_through(project: Path) -> None:
    shutil.copytree(project / "k8s/train", project / "k8s/.git")
    (project / "k8s/link").symlink_to(project / "k8s/train")

    assert run("k8s", "--out", "built").exit_code == 0
    assert set(files(project / "built")) == {"front.yaml", "job.json", "pod.yaml", "train/job.yml"}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["k8s"], "folders and several files are not printed: write --in-place, --out DIR or --check"),
        (["k8s/pod.yaml", "k8s/job.json"], "folders and several files are not printed"),
        (["k8s", "--in-place", "--out", "built"], "--check, --in-place and --out exclude each other"),
        (["-", "k8s", "--in-place"], "standard input is read alone"),
        (["-", "--out", "built"], "standard input is read alone"),
        (["k8s", "--out", "k8s/built"], "--out k8s/built is inside k8s"),
        (["k8s/pod.yaml", "--out", "k8s"], "k8s/pod.yaml would be written over; write --in-place for that"),
        (["k8s/pod.yaml", "pod.yaml", "--out", "built"], "k8s/pod.yaml and pod.yaml would both be written to"),
        (["empty", "--in-place"], "empty: there is no file that ends with .yaml, .yml, .json"),
        (["k8s", "nowhere.yaml", "--in-place"], "nowhere.yaml: No such file or directory"),
        (["k8s", "--out", "outputs.json"], "outputs.json"),
    ],
)
def test_wrong_usage_is_refused_and_nothing_is_written(project: Path, arguments: list[str], said: str) -> None:
    (project / "empty").mkdir()
    shutil.copy(MANIFESTS / "pod.yaml", project)
    before = files(project)
    result = run(*arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert files(project) == before


def test_one_file_is_written_in_place_too(project: Path) -> None:
    printed = run("k8s/job.json").stdout
    result = run("k8s/job.json", "--in-place")

    assert (result.exit_code, result.stdout) == (0, "")
    assert (project / "k8s/job.json").read_text() == printed
    assert json.loads(printed)["kind"] == "Job"
