"""Finding and reading stack files."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.prepare import plan_spec
from gpu_fabric.render.folder import read_refused, read_rendered
from gpu_fabric.spec.load import load_stack, read_document, stack_file, validate

GOOD = """\
config:
  other:key: value
  gpu-fabric:cluster:
    provider: existing
    kubeconfig: kubeconfig
    pools: [{name: gpu, shape: BM.GPU4.8, nodes: 2}]
  gpu-fabric:fabric:
    addressing: {supernet: 192.168.0.0/16}
"""


def written(folder: Path, text: str, name: str = "lab") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def reasons(root: Path, name: str = "lab") -> str:
    with pytest.raises(ConfigurationError) as refused:
        load_stack(name, root)
    assert [entry.id for entry in refused.value.findings] == ["SPC004"]
    return str(refused.value)


def test_a_stack_file_of_eight_lines_is_enough(tmp_path: Path) -> None:
    spec = load_stack("lab", written(tmp_path, GOOD))
    plan = plan_spec(spec)

    assert (plan.stack, plan.choices.model, plan.choices.layout) == ("lab", "sriov", "per-rail")
    assert (plan.release_line, spec.software.charts) == ("26.4", "upstream")
    assert [toleration.key for toleration in plan.workload.tolerations] == ["nvidia.com/gpu"]


def test_a_stack_is_also_found_among_the_examples(tmp_path: Path) -> None:
    written(tmp_path / "examples", GOOD)

    assert load_stack("lab", tmp_path).name == "lab"
    assert read_document("lab", tmp_path).file == "examples/Pulumi.lab.yaml"


def test_the_root_wins_over_the_examples(tmp_path: Path) -> None:
    written(tmp_path / "examples", GOOD)
    written(tmp_path, GOOD)

    assert stack_file("lab", tmp_path) == tmp_path / "Pulumi.lab.yaml"


def test_a_missing_stack_file_is_answered_with_the_stacks_there_are(tmp_path: Path) -> None:
    written(tmp_path, GOOD, "dev")
    written(tmp_path / "examples", GOOD, "other")

    text = reasons(tmp_path, "devv")

    assert "Pulumi.devv.yaml: 1 problem, nothing was created." in text
    assert "did you mean 'dev'? stacks here: dev, other" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("config: {a: [}", "Pulumi.lab.yaml:1:14: error SPC004: is not YAML"),
        ("config:\n\t- a", "Pulumi.lab.yaml:2:1: error SPC004: is not YAML: a line is indented with a tab"),
        ("", "is empty"),
        ("- a\n", "has no `config:` mapping"),
        ("just text", "has no `config:` mapping"),
        ("config:\n", "has no `config:` mapping"),
        ("config: [a]\n", "has no `config:` mapping"),
        (
            "config:\n  gpu-fabric:fabric: {mtu: 1500}\n  gpu-fabric:fabric: {}\n",
            "Pulumi.lab.yaml:3:3: error SPC004: the key gpu-fabric:fabric is there twice",
        ),
        ("config:\n  gpu-fabric:cluster: &again [*again]\n", "a value that contains itself"),
        ("config: " + "[" * 3000, "nested in each other more than 30 deep"),
        ("config:\n  gpu-fabric:cluster: " + "[" * 300 + "]" * 300, "nested in each other more than 30 deep"),
        ("config:\n  gpu-fabric:software: " + "{a: " * 31 + "1" + "}" * 31, "nested in each other more than 30 deep"),
    ],
)
def test_a_file_that_holds_no_configuration_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    assert reason in reasons(written(tmp_path, text))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.lab.yaml").write_bytes(b"config: \xff\xfe")

    assert "is not text in UTF-8 (byte 9)" in reasons(tmp_path)


def test_a_value_as_deep_as_a_file_may_be_is_read(tmp_path: Path) -> None:
    values = "{a: " * 27 + "1" + "}" * 27
    written(tmp_path, f"{GOOD}  gpu-fabric:software: {{networkOperator: {{values: {values}}}}}\n")

    assert load_stack("lab", tmp_path).software.network_operator.values["a"]


def test_a_file_whose_name_is_no_text_is_refused_and_listed_by_what_can_be_shown(tmp_path: Path) -> None:
    name = os.fsdecode(b"lab-\xff")
    written(tmp_path, GOOD, name)

    assert "Pulumi.lab-\\udcff.yaml: 1 problem" in reasons(tmp_path, name)
    assert "has a name that is not UTF-8" in reasons(tmp_path, name)
    assert reasons(tmp_path, "another").endswith("stacks here: lab-\\udcff")


def test_stacks_that_cannot_be_read_leave_the_plans_of_all_others(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, (root / "Pulumi.dev.yaml").read_text(encoding="utf-8"), "dev")
    written(tmp_path, "config: " + "[" * 3000, "deep")
    written(tmp_path, GOOD, os.fsdecode(b"lab-\xff"))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["plan", "--all", "--out", "plans"])

    assert result.exit_code == 2
    assert result.stderr.startswith("plans: plans of 1 of 3 stacks, ")
    assert read_rendered(tmp_path / "plans" / "dev").stack == "dev"
    for name, reason in (("deep", "30 deep"), ("lab-\\udcff", "not UTF-8")):
        refused = read_refused(tmp_path / "plans" / name)
        assert refused is not None
        assert reason in refused.findings[0].message


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Permissions do not stop root, so the refusal of the operating system is played.
    def denied(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    written(tmp_path, GOOD)
    monkeypatch.setattr(os, "open", denied)

    assert "cannot be read: Permission denied" in reasons(tmp_path)


def test_the_error_names_the_file_to_edit_and_counts_the_problems(tmp_path: Path) -> None:
    root = written(tmp_path / "examples", GOOD.replace("nodes: 2", "nodes: 0").replace("supernet", "super")).parent
    with pytest.raises(ConfigurationError) as refused:
        load_stack("lab", root)

    lines = str(refused.value).splitlines()
    assert lines[0] == "examples/Pulumi.lab.yaml: 2 problems, nothing was created."
    path = "gpu-fabric:cluster.pools[0].nodes"
    assert lines[1] == f"  examples/Pulumi.lab.yaml:6:43: error SPC002 {path}: must be greater than or equal to 1"
    assert lines[2].startswith("      -> allowed: greater than or equal to 1")


@pytest.mark.parametrize(("key", "stranger"), [("webhook-certificate", []), ("other", ["gpu-fabric:other"])])
def test_a_secret_key_is_known_where_the_certificate_of_the_webhooks_names_it(
    tmp_path: Path, key: str, stranger: list[str]
) -> None:
    tls = "{tls: {method: provided, secret: webhook-certificate}}"
    text = f"{GOOD}  gpu-fabric:software: {{spiderpool: {tls}}}\n  gpu-fabric:{key}: {{secure: v1:x}}\n"
    _, problems = validate(read_document("lab", written(tmp_path, text)))

    assert [entry.path for entry in problems] == stranger
