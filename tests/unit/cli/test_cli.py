"""The command line: results on stdout, everything else on stderr, exit status 0 or 2."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
import yaml
from command_line import refusal_of, result_of, run
from each_case import each
from stack_plans import stack_plan

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.app import app
from gpu_fabric.findings import former_ids, rules
from gpu_fabric.nccl.topology import topology_xml
from gpu_fabric.report.pages.key_explanation import keys_named, stack_keys
from gpu_fabric.rules.promises import promise


def command_of(name: str) -> Any:
    """A command of the program, imported."""
    group: Any = typer.main.get_command(app)
    return group.resolve_command(typer.Context(group), [name])[1]


COMMANDS = list(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds nothing but the development stack, as the current one."""
    shutil.copy(root / "Pulumi.dev.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edited(project: Path, old: str, new: str) -> None:
    file = project / "Pulumi.dev.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.usefixtures("project")
def test_the_plan_is_printed_as_json_that_parses() -> None:
    document = json.loads(result_of("plan", "-s", "dev", "--format", "json"))

    assert (document["stack"], document["schemaVersion"], len(document["rails"])) == ("dev", "v1", 16)
    assert "Plan of stack dev" in result_of("plan")
    assert "Stack dev is up" in result_of("plan", "--summary")
    (networks,) = (step["items"] for step in document["steps"] if step["name"] == "networks")
    assert networks[0]["object"]["kind"] == "NetworkAttachmentDefinition"


@pytest.mark.usefixtures("project")
def test_a_missing_kubeconfig_is_refused_only_for_up() -> None:
    text = refusal_of("plan", "--for-up")

    assert "error CLU001 gpu-fabric:cluster.kubeconfig: .sandbox/kubeconfig: no such file" in text
    assert "CLU003" in result_of("plan")


def test_bad_input_is_refused_with_all_problems_and_no_traceback(project: Path) -> None:
    edited(project, "nodes: 3", "nodes: 0\n        node: 3")
    edited(project, "supernet: 192.168.0.0/16", "supernet: 192.168.0.0/28")

    text = refusal_of("plan")

    assert text.startswith("Pulumi.dev.yaml: 3 problems, nothing was created.\n")
    assert "Traceback" not in text
    assert len(text.splitlines()) == 7


@pytest.mark.parametrize(
    "command", [("plan", "--format", "json"), ("explain", "NCCL_IB_HCA", "-s", "dev", "--json"), ("images", "--json")]
)
def test_a_refused_file_is_json_with_the_place_of_every_problem_for_scripts(project: Path, command: list[str]) -> None:
    edited(project, "nodes: 3", "nodes: 0")
    edited(project, "supernet: 192.168.0.0/16", "super: 192.168.0.0/28")
    result = run(*command)
    lines = (project / "Pulumi.dev.yaml").read_text(encoding="utf-8").splitlines()

    assert result.exit_code == 2
    assert result.stderr.startswith("Pulumi.dev.yaml: ")
    document = json.loads(result.stdout)
    found = {entry["path"]: entry for entry in document["findings"]}
    assert document["file"] == "Pulumi.dev.yaml"
    for path, word in (("cluster.pools[0].nodes", "nodes: 0"), ("fabric.addressing.super", "super: ")):
        entry = found[f"gpu-fabric:{path}"]
        assert lines[entry["line"] - 1][entry["column"] - 1 :].startswith(word)
        assert set(entry) == {"file", "line", "column", "id", "severity", "path", "message", "remedy"}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "-s", "dve"), "did you mean 'dev'? stacks here: dev"),
        (("topology", "BM.GPU.H100"), "did you mean 'BM.GPU.H100.8'? `gpu-fabric shapes` lists them"),
        (("topology", "BM.GPU.H200.8"), "no PCI tree of BM.GPU.H200.8 is published, and none is guessed"),
        (("explain", "ADR-001"), "no rule 'ADR-001': did you mean 'ADR001'?"),
        (("explain", "ADR01"), "no rule 'ADR01': did you mean 'ADR001' or 'ADR010' or 'ADR011' or 'ADR012'?"),
        (("explain", "spc"), "no rule 'spc': did you mean 'SPC001' or "),
        (("explain", "ADR999"), "no rule 'ADR999': did you mean 'ADR0"),
        (("explain", "fabric.mtuu"), "no key 'fabric.mtuu': did you mean 'mtu'?"),
        (("explain", "qqqq"), "no rule, variable or key 'qqqq': see docs/rules.md, "),
        (("explain", "nccl_ib_hcas"), "no variable 'nccl_ib_hcas': did you mean 'NCCL_IB_HCA' or "),
        (("explain", "NCCL_IB_HCA", "-s", "nowhere"), "there is no stack file for 'nowhere'"),
    ],
)
def test_what_is_not_known_is_answered_with_what_is(arguments: tuple[str, ...], said: str) -> None:
    assert said in refusal_of(*arguments)


def test_a_rule_or_variable_is_explained_in_any_case_and_as_json() -> None:
    assert result_of("explain", "adr001") == result_of("explain", "ADR001")
    assert json.loads(result_of("explain", "adr001", "--json"))["id"] == "ADR001"
    assert json.loads(result_of("explain", "nccl_ib_hca", "--json"))["name"] == "NCCL_IB_HCA"


@each("key", sorted({key.path for key in stack_keys()}))
def test_every_key_of_the_stack_file_is_explained_by_its_path_and_by_its_name(key: str) -> None:
    (plain,) = {one.plain for one in stack_keys() if one.path == key}
    for name in (key, f"gpu-fabric:{key}", plain.rpartition(".")[2].upper()):
        assert key in {one.path for one in keys_named(name)}, name
    text = result_of("explain", key)
    assert [one.meaning for one in stack_keys() if one.path == key and one.meaning not in text] == []


def test_a_key_is_explained_with_type_default_and_the_rules_about_it() -> None:
    text = result_of("explain", "fabric.vfsPerNic")

    assert text.splitlines()[0] == "gpu-fabric:fabric.vfsPerNic"
    assert "default: " in text.splitlines()[1]
    assert "\nDEV003 (" in text
    (row,) = json.loads(result_of("explain", "fabric.vfspernic", "--json"))
    assert row["path"] == "fabric.vfsPerNic"
    assert row["rules"]


@pytest.mark.parametrize("arguments", [("plan", "--format", "xml"), ("topology",), ("nothing",), ("schema", "plan")])
def test_wrong_usage_is_exit_status_2(arguments: tuple[str, ...]) -> None:
    assert refusal_of(*arguments)


@pytest.mark.parametrize("shape", ["BM.GPU4.8", "BM.GPU.A100-v2.8", "BM.GPU.H100.8"])
def test_a_topology_file_is_printed_byte_for_byte(shape: str) -> None:
    known = catalog()

    assert result_of("topology", shape) == topology_xml(known.shapes[shape], known.topologies[shape])


def test_shapes_are_listed_with_what_they_bring() -> None:
    assert set(json.loads(result_of("shapes", "--json"))) == {*catalog().shapes, *catalog().machines}
    text = result_of("shapes")
    line = next(line for line in text.splitlines() if "BM.GPU.H100.8" in line)

    assert line.split() == ["BM.GPU.H100.8", "oci", "8", "H100", "16", "ConnectX-7", "RoCE", "4220", "preview", "yes"]


@each("rule", sorted(rules()))
def test_every_rule_is_explained(rule: str) -> None:
    lines = result_of("explain", rule).splitlines()
    examples = ("Keys of the stack file: ", "An example of what it finds")
    assert [line for line in lines if not line.startswith(examples)] == [
        f"{rule} ({rules()[rule].severity.value})",
        rules()[rule].title,
        rules()[rule].why,
        f"Found by {', '.join(f'`{name}`' for name in rules()[rule].commands)}.",
        *([f"Holds: {promise(rule)}"] if rules()[rule].is_of_stacks else []),
        f"Source: {rules()[rule].source}.",
    ]


def test_the_id_that_a_rule_had_says_which_one_it_is_now() -> None:
    assert {old: former_ids()[old] for old in ("DOC021", "DOC041", "DOC050", "DOC090")} == {
        **{"DOC021": "PRE090", "DOC041": "PRE093", "DOC050": "PRE020", "DOC090": "PRE101"}
    }
    assert not former_ids().keys() & rules().keys()
    assert result_of("explain", "doc050") == "DOC050 is PRE020 now.\n" + result_of("explain", "PRE020")


@pytest.mark.usefixtures("project")
def test_the_published_contract_schema_accepts_the_development_contract() -> None:
    schema = json.loads(result_of("schema", "contract"))
    contract = stack_plan("dev", Path.cwd()).workload.model_dump(mode="json", by_alias=True, exclude_none=True)

    jsonschema.validate(contract, schema)
    # Fields are only added: a consumer of today accepts a later release.
    jsonschema.validate(contract | {"unheard": 1}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(contract | {"resources": {"nvidia.com/gpu": 8}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({key: value for key, value in contract.items() if key != "schemaVersion"}, schema)


@pytest.mark.usefixtures("project")
def test_the_published_stack_schema_accepts_the_development_stack(project: Path) -> None:
    schema = json.loads(result_of("schema", "stack"))
    document: dict[str, Any] = yaml.safe_load((project / "Pulumi.dev.yaml").read_text(encoding="utf-8"))

    jsonschema.validate(document, schema)
    document["config"]["gpu-fabric:fabric"]["adressing"] = {}
    with pytest.raises(jsonschema.ValidationError, match="adressing"):
        jsonschema.validate(document, schema)


OPTIONS = {name: {option for parameter in command_of(name).params for option in parameter.opts} for name in COMMANDS}
JSON = [name for name, options in OPTIONS.items() if "--format" in options]


@pytest.mark.parametrize("name", JSON)
def test_json_is_asked_for_in_either_way_with_every_command_that_has_it(name: str) -> None:
    def parsed(*words: str) -> dict[str, Any]:
        group: Any = typer.main.get_command(app)
        # Below a context of the program, as in a run: a command keeps the name of its option for help.
        around = group.make_context("gpu-fabric", [name], resilient_parsing=True)
        _, command, rest = group.resolve_command(around, [name, *words])
        return dict(command.make_context(name, rest, parent=around, resilient_parsing=True).params)

    assert parsed("--json") == parsed("--format", "json") == parsed("--format=json") != parsed()
    assert parsed("--format", "text") == parsed()
    assert parsed("--", "--json") != parsed("--json")
    assert "--json" not in OPTIONS[name]


def test_another_format_than_text_and_json_is_refused_where_there_is_none() -> None:
    assert "'yaml' is not one of 'text'," in refusal_of("shapes", "--format", "yaml")


@pytest.mark.parametrize(
    "command",
    [
        *(("plan", "dev", "--format", kind) for kind in ("text", "html")),
        ("explain", "NCCL_SOCKET_IFNAME"),
        ("explain", "NCCL_SOCKET_IFNAME", "-s", "dev"),
        ("reference", "nccl"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("project")
def test_a_name_with_an_equals_sign_is_explained_wherever_people_read_it(command: tuple[str, ...]) -> None:
    text = html.unescape(result_of(*command))

    assert "NCCL_SOCKET_IFNAME==eth0" in text
    assert re.search("that name alone(, | and )not", " ".join(text.split()))


# What a command needs none of; each takes longer to import than the rest of the command.
_PLANNING = {"gpu_fabric.plan.build", "gpu_fabric.rules.registry", "gpu_fabric.spec.load"}
NOT_NEEDED = {
    "--help": {"pydantic", "gpu_fabric.catalog"},
    "lint topology.xml": {*_PLANNING, "gpu_fabric.catalog.chart", "gpu_fabric.catalog.oke", "rich.console"},
    "attach job.yaml --contract fabric.json": {*_PLANNING, "gpu_fabric.catalog", "gpu_fabric.spec.cluster"},
    "explain NCCL_IB_HCA": {*_PLANNING, "rich.console"},
    "explain ADR001": {*_PLANNING, "rich.console", "gpu_fabric.catalog"},
    "plan dev": {
        *("gpu_fabric.attach", "gpu_fabric.changes", "nccl_topology.linter", "gpu_fabric.nccl.verdict"),
        *("gpu_fabric.plan.clouds.doks", "gpu_fabric.plan.clouds.oke.resources"),
        *("gpu_fabric.render", "gpu_fabric.report.drawing", "jinja2", "rich.progress"),
    },
}


@pytest.mark.parametrize("command", NOT_NEEDED)
def test_a_command_does_not_import_what_only_other_commands_need(command: str, root: Path, project: Path) -> None:
    (project / "topology.xml").write_text(result_of("topology", "BM.GPU.H100.8"), encoding="utf-8")
    shutil.copy(root / "examples" / "workloads" / "mpijob.yaml", project / "job.yaml")
    contract = stack_plan("dev", root).workload.model_dump_json(by_alias=True)
    (project / "fabric.json").write_text(contract, encoding="utf-8")
    program = "import sys\nfrom gpu_fabric.cli.app import app\napp(sys.argv[1:], standalone_mode=False)"
    imported = imported_by(root, program, *command.split())

    assert "gpu_fabric.cli.app" in imported
    assert NOT_NEEDED[command] & imported == set()


def test_the_program_does_not_import_what_judges_attaches_and_prints_before_it_is_needed(root: Path) -> None:
    imported = imported_by(root, "import stacks.program")

    assert "stacks.guard" in imported
    assert (
        imported
        & {
            *("gpu_fabric.attach", "gpu_fabric.changes.model", "nccl_topology.linter"),
            *("gpu_fabric.nccl.verdict", "gpu_fabric.plan.clouds.oke.resources", "gpu_fabric.workloads"),
            *("gpu_fabric.k8s.admission", "gpu_fabric.k8s.node_readiness", "gpu_fabric.plan.clouds.oke.machines"),
            *("components.cluster.doks", "components.cluster.oke", "rich.console"),
        }
        == set()
    )


def imported_by(root: Path, program: str, *arguments: str) -> set[str]:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    program += "\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", program, *arguments]
    return set(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr.split())
