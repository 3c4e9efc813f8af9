"""What `--format json` prints is what its schema says: of every command, with no key that the schema lacks.

`command_line.run` holds every JSON output of every test by its schema; here is one of each kind of output.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import hold_by_schema, refusal_of, result_of, run
from documented_summaries import PROGRAMS

from gpu_fabric.cli.pages import OUTPUTS

ROOT = Path(__file__).parents[3]
EXPLAINED = ("ADR001", "NCCL_IB_HCA", "fabric.mtu", "nccl-port-error", "invalid VF pci addr is required; ADR001")


def test_every_command_with_a_format_has_a_schema() -> None:
    with_format = {
        name
        for name, command in PROGRAMS["gpu-fabric"].commands.items()
        if any("--format" in parameter.opts for parameter in command.params)
    }

    assert with_format == set(OUTPUTS)


STACKS = ("dev", "oke-h200", "doks-split-cluster", "storage-fabric")
COMMANDS = (("images", "dev"), ("shapes",), ("shapes", "BM.GPU.H100.8"), ("upgrade", "doks-h200"))


@pytest.mark.parametrize("stack", STACKS)
def test_a_plan_is_what_its_schema_says(stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    assert json.loads(run("plan", stack, "--format", "json").stdout)["stack"] == stack


@pytest.mark.parametrize("arguments", COMMANDS)
def test_what_is_printed_without_a_cluster_is_what_its_schema_says(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)

    assert json.loads(run(*arguments, "--format", "json").stdout)


@pytest.mark.parametrize("name", EXPLAINED)
def test_each_kind_of_explanation_is_what_the_schema_says(name: str) -> None:
    assert json.loads(result_of("explain", name, "--format", "json"))


def test_a_refused_stack_file_is_what_every_schema_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Pulumi.dev.yaml").write_text("config:\n  gpu-fabric:cluster: {provider: aws}\n")

    printed = run("plan", "dev", "--format", "json")
    assert (printed.exit_code, list(json.loads(printed.stdout))) == (2, ["file", "findings"])
    for command in OUTPUTS:
        hold_by_schema(command, printed.stdout)


def test_results_differences_and_reviews_are_what_their_schemas_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples/results", tmp_path / "examples/results")
    shutil.copy(ROOT / "Pulumi.dev.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run("plan", "--all", "--out", "base").exit_code == 0
    file = Path("Pulumi.dev.yaml")
    file.write_text(file.read_text().replace("nodes: 3", "nodes: 5"))
    assert run("plan", "--all", "--out", "head").exit_code == 0

    assert json.loads(result_of("review", "base", "head", "--format", "json"))["stacks"][0]["name"] == "dev"
    diff = json.loads(result_of("diff", "base/dev", "head/dev", "--format", "json"))
    assert diff["guard"]["passes"] is True
    verdict = run("verdict", "examples/results/slow.json", "-s", "dev", "--format", "json")
    assert json.loads(verdict.stdout)["passed"] is False
    Path("topo.xml").write_text(result_of("topology", "BM.GPU.H100.8"))
    assert json.loads(result_of("lint", "topo.xml", "--format", "json"))["errors"] == 0


def test_a_key_that_no_record_has_is_noticed() -> None:
    printed = json.loads(result_of("shapes", "BM.GPU.H100.8", "--format", "json"))
    lacking = {key: value for key, value in printed.items() if key != "rails"}

    for changed in ({**printed, "new": 1}, lacking):
        with pytest.raises(AssertionError, match="gpu-fabric shapes"):
            hold_by_schema("shapes", json.dumps(changed))


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every schema of an object with named keys in a schema."""
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    own = [schema] if isinstance(schema, dict) and isinstance(schema.get("properties"), dict) else []
    return [*own, *(found for part in inner for found in objects(part))]


@pytest.mark.parametrize("command", OUTPUTS)
def test_a_schema_is_printed_and_names_every_key(command: str) -> None:
    schema = json.loads(result_of("schema", "output", command))

    others = {each["title"] for each in objects(schema) if each.get("additionalProperties") is not False}
    assert others <= {"Record"}


def test_a_command_without_json_of_its_own_is_refused_with_those_that_have_it() -> None:
    assert "attach prints no JSON of its own; one of: plan, lint, " in refusal_of("schema", "output", "attach")
    for words in (("output",), ("stack", "plan")):
        assert "schema output COMMAND" in refusal_of("schema", *words)
