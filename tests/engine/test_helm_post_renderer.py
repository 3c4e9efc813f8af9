"""`gpu-fabric attach` as a post-renderer of Helm, on a chart of the test's own."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from attached_pods import NETWORKS, contract_of
from rendered_charts import Helm, only

PROGRAM = Path(sys.executable).with_name("gpu-fabric")
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  annotations: {%s}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: {{ .Values.image }}
          resources: {limits: {nvidia.com/gpu: 8}}
"""
TEMPLATES = {
    "train.yaml": JOB % ("{{ .Release.Name }}  # as the release", ""),
    "warm-up.yaml": JOB % ("warm-up", "helm.sh/hook: pre-install"),
    "service.yaml": "{apiVersion: v1, kind: Service, metadata: {name: front}, spec: {ports: [{port: 80}]}}",
}


@pytest.fixture(scope="module")
def helm() -> Helm:
    return Helm()


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A chart with a job, a job that is a hook, and a service; neither names its namespace."""
    folder = tmp_path / "training"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: training\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text("image: registry.example/train:7\n")
    for name, text in TEMPLATES.items():
        (folder / "templates" / name).write_text(text)
    return folder


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """The outputs of the development stack, whose fabric is offered in `operators` alone: the release's namespace."""
    contract = contract_of("dev").model_copy(update={"namespaces": ("operators",)})
    file = tmp_path / "outputs.json"
    file.write_text(f'{{"fabric": {contract.model_dump_json(by_alias=True, exclude_none=True)}}}')
    return file


def render(helm: Helm, chart: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = ("attach", "-", *arguments)
    given = [word for argument in words for word in ("--post-renderer-args", argument)]
    return helm.template(str(chart), {}, "--post-renderer", str(PROGRAM), *given)


def test_the_jobs_of_a_chart_get_the_fabric_and_keep_their_comments_and_hooks_are_not_given_to_a_post_renderer(
    helm: Helm, chart: Path, outputs: Path
) -> None:
    result = render(helm, chart, "--contract", str(outputs), "-n", "operators")
    assert result.returncode == 0, result.stderr
    found = [document for document in yaml.safe_load_all(result.stdout) if document]
    assert only(found, "Service")
    has_fabric = {one["metadata"]["name"]: NETWORKS in str(one["spec"]) for one in found if one["kind"] == "Job"}
    assert has_fabric == {"training": True, "warm-up": False}
    assert "# as the release" in result.stdout


def test_without_the_releases_namespace_a_chart_is_refused_since_its_manifests_do_not_name_it(
    helm: Helm, chart: Path, outputs: Path
) -> None:
    result = render(helm, chart, "--contract", str(outputs))

    assert result.returncode == 1
    assert "error ATT012 document 2, metadata.namespace: the fabric is not offered in default" in result.stderr
