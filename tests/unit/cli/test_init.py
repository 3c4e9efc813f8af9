"""`gpu-fabric init`: the stack file that answers make, on a terminal and by options."""

import inspect
import os
from pathlib import Path

import pytest
import yaml
from command_line import refusal_of, run
from terminal_screen import INTERRUPT, Ended, conversation

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.init import init
from gpu_fabric.findings import Severity
from gpu_fabric.new_stack.answers import places
from gpu_fabric.new_stack.questions import offered_shapes, questions
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file
from gpu_fabric.spec.not_asked_for import PURPOSES, optional_keys

COMPARTMENT = "ocid1.compartment.oc1..aaaaaaaaexample"
SCRIPTS = {
    "existing": ("--provider", "existing", "--shape", "BM.GPU.H100.8", "--nodes", "16"),
    "doks": (
        *("--provider", "doks", "--shape", "gpu-h200x8-1128gb-fabric-contracted", "--nodes", "4"),
        *("--region", "nyc2"),
    ),
    "oke": (
        *("--provider", "oke", "--shape", "BM.GPU.H100.8", "--nodes", "4", "--region", "us-ashburn-1"),
        *("--compartment", COMPARTMENT),
    ),
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to write into."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, name: str = "train") -> str:
    return (folder / f"Pulumi.{name}.yaml").read_text(encoding="utf-8")


def planned(folder: Path, name: str = "train") -> Plan:
    return prepare(read_file(folder / f"Pulumi.{name}.yaml"), for_up=False).plan


def nodes(folder: Path, name: str = "train") -> int:
    """The nodes of the stack, which can be planned."""
    assert planned(folder, name).rails
    (pool,) = yaml.safe_load(written(folder, name))["config"]["gpu-fabric:cluster"]["pools"]
    return int(pool["nodes"])


def at_terminal(folder: Path, *arguments: str, says: list[tuple[str, str]]) -> Ended:
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "300"}
    return conversation(folder, "-m", "gpu_fabric", "init", *arguments, says=says, environment=environment)


@pytest.mark.parametrize("provider", SCRIPTS)
def test_a_script_gets_a_file_that_can_be_planned_with_defaults_for_the_rest(provider: str, work: Path) -> None:
    done = run("init", "train", *SCRIPTS[provider])

    assert (done.exit_code, done.stdout) == (0, "")
    plan = planned(work)
    assert (plan.choices.provider, nodes(work)) == (provider, int(SCRIPTS[provider][5]))
    assert "model" not in written(work)
    assert [entry.message for entry in plan.findings if entry.severity is Severity.ERROR] == []
    assert "gpu-fabric plan -s train" in done.stderr


def test_a_secret_is_never_asked_for_and_the_command_that_sets_it_is_named(work: Path) -> None:
    done = run("init", "train", *SCRIPTS["existing"], "--kubeconfig-secret", "admin")

    assert "pulumi config set --secret gpu-fabric:admin -s train < KUBECONFIG" in done.stderr
    assert yaml.safe_load(written(work))["config"]["gpu-fabric:cluster"]["kubeconfigSecret"] == "admin"


def test_what_a_script_did_not_answer_is_listed_at_once_with_option_and_allowed_values() -> None:
    said = refusal_of("init")

    for option in ("NAME", "--provider", "--shape", "--nodes", "--region", "--compartment"):
        assert f" {option}: " in said
    assert "one of: existing, doks, oke" in said
    assert "gpu-fabric shapes" in said
    assert "--kubernetes-version" not in said


def test_regions_with_the_machines_are_what_is_allowed() -> None:
    said = refusal_of("init", "train", *SCRIPTS["doks"][:-2])

    assert "--region: this answer is required" in said
    assert "one of: " + ", ".join(catalog().shapes["gpu-h200x8-1128gb-fabric-contracted"].doks.regions) in said  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "option", "problem"),
    [
        (("--shape", "BM.GPU.H100"), "--shape", "did you mean 'BM.GPU.H100.8'?"),
        (("--nodes", "0"), "--nodes", "greater than or equal to 1"),
        (("--nodes", "three"), "--nodes", "a whole number"),
        (("--pod-range", "10.0.0.1/8"), "--pod-range", "write 10.0.0.0/8"),
        (("--supernet", "10.96.0.0/16"), "--supernet", "overlaps"),
        (("--model", "ipoib"), "--model", "SUP003"),
        (("--model", "sriof"), "--model", "allowed: "),
        (("--kubeconfig", "config"), "--kubeconfig", "a stack of provider oke has no such key"),
        (("--compartment", "mine"), "--compartment", "is not a valid id of a compartment"),
        (("--provider", "aws"), "--provider", "no provider 'aws'"),
    ],
)
def test_a_wrong_option_is_refused_by_the_rule_for_its_key(
    options: tuple[str, str], option: str, problem: str, work: Path
) -> None:
    said = refusal_of("init", "train", *SCRIPTS["oke"], *options)

    assert f"{option}: " in said
    assert problem in said
    assert list(work.iterdir()) == []


def test_a_file_that_exists_stays_as_it_is_without_force(work: Path) -> None:
    (work / "Pulumi.train.yaml").write_text("config: {}\n")

    assert "--force" in refusal_of("init", "train", *SCRIPTS["doks"])
    assert written(work) == "config: {}\n"


def test_replacing_the_sections_keeps_secrets_and_how_they_are_encrypted(work: Path) -> None:
    sealed = {"secure": "v1:abc:def"}
    before = {
        "config": {"gpu-fabric:kubeconfig": sealed, "gpu-fabric:cluster": {"provider": "doks"}},
        "encryptionsalt": "v1:salt",
    }
    (work / "Pulumi.train.yaml").write_text(yaml.safe_dump(before))

    assert run("init", "train", *SCRIPTS["existing"], "--force").exit_code == 0

    after = yaml.safe_load(written(work))
    assert after["encryptionsalt"] == "v1:salt"
    assert after["config"]["gpu-fabric:kubeconfig"] == sealed
    assert after["config"]["gpu-fabric:cluster"]["provider"] == "existing"
    assert "CLU012" not in {entry.id for entry in planned(work).findings}


def test_a_file_that_cannot_be_read_is_refused_with_the_remedy(work: Path) -> None:
    (work / "Pulumi.train.yaml").write_text("config: [")

    assert "move it away" in refusal_of("init", "train", *SCRIPTS["doks"], "--force")


def test_a_terminal_answers_a_wrong_answer_with_the_finding_and_asks_again(work: Path) -> None:
    done = at_terminal(
        work,
        says=[
            ("name of the stack", "no good\n"),
            ("is not a valid name", "train\n"),
            ("cluster comes from", "aws\n"),
            ("allowed: existing, doks, oke", "doks\n"),
            ("machine type", "gpu-h200x8-fabric\n"),
            ("did you mean 'gpu-h200x8-1128gb-fabric-contracted'", "gpu-h200x8-1128gb-fabric-contracted\n"),
            ("number of these nodes", "\n"),
            ("an answer is required", "4\n"),
            ("region of the cluster", "\n"),
            ("Kubernetes version [", "\n"),
            ("cluster's pods", "\n"),
            ("its services", "10.156.0.0/19\n"),
            ("overlaps 10.156.0.0/16", "\n"),
            ("its nodes", "\n"),
            ("what the stack is for", "selling\n"),
            ("use one of: try, research, production", "production\n"),
            ("measures the fabric", "registry.example.com/nccl-tests:1\n"),
        ],
    )

    assert done.status == 0, done.sent
    assert nodes(work) == 4
    assert " DOK026: " in done.sent or " ADR017: " in done.sent
    assert "how NICs get into pods" not in done.sent
    assert "protect: true" in written(work)
    lacking = {row.key for row in planned(work).not_asked_for}
    assert lacking.isdisjoint({"fabric.readiness", "upgrade", "verification.enabled"})


def test_a_terminal_is_not_asked_what_an_option_gave_but_is_told_what_is_wrong_with_it(work: Path) -> None:
    done = at_terminal(
        work,
        *("train", *SCRIPTS["existing"], "--region", "nyc2", "--pod-range", "10.0.0.1/8", "--kubeconfig-secret", "k"),
        says=[
            ("write 10.0.0.0/8", "10.0.0.0/8\n"),
            ("its services", "\n"),
            ("its nodes", "\n"),
            ("how NICs get into pods", "macvlan\n"),
            ("what installs and drives", "spiderpool\n"),
            ("fabric's addresses", "10.9.0.0/16\n"),
            ("overlaps 10.0.0.0/8", "\n"),
            ("what the stack is for", "\n"),
        ],
    )

    assert done.status == 0, done.sent
    choices = planned(work).choices
    assert (choices.model, choices.manager) == ("macvlan", "spiderpool")
    assert "--region: a stack of provider existing has no such key" in done.sent
    assert "machine type" not in done.sent


def test_contexts_of_several_clusters_are_a_question(work: Path) -> None:
    contexts = {name: {"cluster": {"server": f"https://{name}.example"}} for name in ("one", "two")}
    entries = [{"name": name, "context": {"cluster": name, "user": "me"}} for name in contexts]
    clusters = [{"name": name, **entry} for name, entry in contexts.items()]
    (work / "config").write_text(yaml.safe_dump({"contexts": entries, "clusters": clusters, "current-context": "one"}))

    done = at_terminal(
        work,
        *("train", *SCRIPTS["existing"], "--kubeconfig", "config", "--model", "host-network"),
        says=[
            ("context of the kubeconfig", "three\n"),
            ("has no context 'three'", "two\n"),
            ("pods", "\n"),
            ("services", "\n"),
            ("nodes", "\n"),
            ("what the stack is for", "\n"),
        ],
    )

    assert done.status == 0, done.sent
    assert "context: two" in written(work)


@pytest.mark.parametrize("end", [INTERRUPT, "\x04"], ids=["interrupt", "end"])
def test_an_interrupted_conversation_leaves_nothing(end: str, work: Path) -> None:
    done = at_terminal(
        work, *SCRIPTS["oke"], says=[("name of the stack", "train\n"), ("Kubernetes version [1.34.1]: ", end)]
    )

    assert done.status == 130
    assert "nothing was written" in done.sent
    assert "Traceback" not in done.sent
    assert list(work.iterdir()) == []


WRONG = {
    "a wrong answer": ("--nodes", "0"),
    "an answer of another provider": ("--compartment", COMPARTMENT),
    "a shape that no machine has": ("--shape", "BM.GPU.H100"),
    "ranges that overlap": ("--pod-range", "10.0.0.0/16", "--service-range", "10.0.0.0/20"),
    "an unknown option": ("--machines", "4"),
}


@pytest.mark.parametrize("more", WRONG.values(), ids=WRONG)
def test_a_repository_is_not_begun_before_every_answer_for_its_stack_is_right(
    more: tuple[str, ...], work: Path
) -> None:
    assert run("init", "train", "--repository", "deep/acme", *SCRIPTS["existing"], *more).exit_code == 2
    assert list(work.iterdir()) == []


def test_answers_without_a_name_are_not_dropped(work: Path) -> None:
    assert "--provider is an answer for a stack: give its NAME" in refusal_of(
        "init", "--repository", "acme", *SCRIPTS["doks"]
    )
    assert list(work.iterdir()) == []


def test_an_interrupted_conversation_leaves_no_repository(work: Path) -> None:
    done = at_terminal(work, "train", "--repository", "acme", *SCRIPTS["oke"], says=[("Kubernetes version", INTERRUPT)])

    assert (done.status, list(work.iterdir())) == (130, [])
    assert "nothing was written" in done.sent


@pytest.mark.parametrize("name", ["README.md", ".github/workflows/preview.yaml", "Pulumi.train.yaml"])
def test_a_folder_with_a_file_of_the_repository_stays_as_it_is(name: str, work: Path) -> None:
    file = work / "acme" / name
    file.parent.mkdir(parents=True)
    file.write_text("config: {}\n")
    said = refusal_of("init", "train", "--repository", "acme", *SCRIPTS["doks"])

    assert f"{file.name} exists: " in said
    assert [path for path in (work / "acme").rglob("*") if path.is_file()] == [file]
    assert file.read_text() == "config: {}\n"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device", "acme/x"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("method", ["write_bytes", "replace"])
def test_a_repository_that_cannot_be_written_to_its_end_is_taken_back(
    method: str, error: BaseException, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "acme").mkdir()
    (work / "acme/notes.txt").write_text("mine")
    whole, left = getattr(Path, method), iter(range(8))

    def until_the_disk_is_full(path: Path, *arguments: object) -> object:
        if next(left, None) is None:
            raise error
        return whole(path, *arguments)

    monkeypatch.setattr(Path, method, until_the_disk_is_full)
    done = run("init", "train", "--repository", "acme", *SCRIPTS["doks"])

    assert done.exit_code != 0
    assert next(left, None) is None
    assert [path.name for path in (work / "acme").iterdir()] == ["notes.txt"]


def test_a_repository_has_the_stack_of_the_answers_in_place_of_the_templates(work: Path) -> None:
    done = run("init", "dev", "--repository", "acme", *SCRIPTS["doks"])

    assert done.exit_code == 0, done.stderr
    assert planned(work / "acme", "dev").choices.provider == "doks"
    assert "pulumi up -s dev" in written(work / "acme", "dev")
    assert not [path for path in (work / "acme").rglob("*") if path.name.endswith(".new")]


@pytest.mark.parametrize("answer", ["n", "y"])
def test_a_terminal_is_asked_before_a_file_is_replaced(answer: str, work: Path) -> None:
    (work / "Pulumi.train.yaml").write_text("config: {}\n")

    done = at_terminal(
        work,
        *("train", *SCRIPTS["doks"]),
        says=[
            ("Pulumi.train.yaml exists", f"{answer}\n"),
            *([("name of the stack", "other\n")] if answer == "n" else []),
            ("Kubernetes version", "\n"),
            ("pods", "\n"),
            ("services", "\n"),
            ("nodes", "\n"),
            ("what the stack is for", "\n"),
        ],
    )

    assert done.status == 0, done.sent
    assert (written(work) == "config: {}\n") is (answer == "n")
    assert nodes(work, "other" if answer == "n" else "train") == 4


def test_each_question_is_an_option_and_has_a_place_in_the_file() -> None:
    others = {"named", "force", "unasked", "repository"}
    options = {name.replace("_", "-") for name in inspect.signature(init).parameters} - others

    assert options == {question.name for question in questions()} == {*places(), "purpose"}


def test_a_purpose_leaves_out_what_the_manager_refuses(work: Path) -> None:
    servers = ("--provider", "existing", "--shape", "server.dgx-h100.8", "--nodes", "4")
    done = run("init", "train", *servers, "--manager", "dranet", "--purpose", "production")

    assert done.exit_code == 0, done.output
    text = (work / "Pulumi.train.yaml").read_text(encoding="utf-8")
    assert "gpu-fabric:upgrade" in text
    assert "readiness" not in text


@pytest.mark.parametrize(("provider", "shape"), [("existing", "BM.GPU.H100.8"), ("oke", "BM.GPU.GB200-v3.4")])
def test_a_manager_alone_decides_the_model_and_leaves_oracles_nics_whole(provider: str, shape: str, work: Path) -> None:
    options = [*SCRIPTS[provider], "--manager", "dranet"]
    options[options.index("--shape") + 1] = shape
    done = run("init", "train", *options)

    assert done.exit_code == 0, done.output
    assert yaml.safe_load(written(work))["config"]["gpu-fabric:fabric"]["vfsPerNic"] == 0
    assert "host-device by dranet" in done.output


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("provider", SCRIPTS)
def test_a_purpose_writes_what_it_needs_and_names_the_rest(provider: str, purpose: str, work: Path) -> None:
    done = run("init", "train", *SCRIPTS[provider], "--purpose", purpose)

    assert done.exit_code == 0, done.stderr
    needed = {row.key for row in optional_keys() if purpose in row.purposes and row.is_for(provider)}
    lacking = {row.key for row in planned(work).not_asked_for}
    assert needed.isdisjoint(lacking)
    assert ("fabric.readiness" in lacking) is (purpose == "try")
    named = written(work).split("# Off until you write them: ")[1].split(".\n")[0].split(", ")
    assert named
    assert set(named) <= lacking
    assert "use one of: try, research, production" in refusal_of("init", "b", *SCRIPTS[provider], "--purpose", "x")


@pytest.mark.slow
@pytest.mark.parametrize("provider", SCRIPTS)
def test_each_machine_type_that_is_offered_gets_a_file_that_can_be_planned(provider: str, work: Path) -> None:
    for shape in offered_shapes(provider):
        options = [*SCRIPTS[provider], "--shape", shape.name]
        if shape.doks is not None and "--region" in options:
            options += ["--region", (shape.doks.regions or ("nyc2",))[0]]
        done = run("init", "train", *options, "--force")

        assert done.exit_code == 0, f"{shape.name}: {done.stderr}"
        assert f"shape: {shape.name}," in written(work)


OPEN = {
    "existing": {"--pod-range", "--service-range", "--node-range"},
    "doks": set(),
    "oke": {"--availability-domain", "--image", "--api-from"},
}
GIVEN = {
    "existing": (
        *("--pod-range", "10.244.0.0/16"),
        *("--service-range", "10.96.0.0/16", "--node-range", "10.0.0.0/24"),
    ),
    "doks": (),
    "oke": (
        *("--availability-domain", "AD-2", "--image", "ocid1.image.oc1.iad.aaaaexample"),
        *("--api-from", "203.0.113.0/24"),
    ),
}


@pytest.mark.parametrize("provider", SCRIPTS)
def test_what_the_first_plan_would_warn_of_is_named_by_the_options_that_answer_it(provider: str, work: Path) -> None:
    done = run("init", "train", *SCRIPTS[provider])
    named = {question.flag for question in questions() if f"  {question.flag}: " in done.stderr}

    assert named == OPEN[provider]
    warned = {entry.id for entry in planned(work).findings if entry.severity is Severity.WARNING}
    assert {"OKE009", "OKE032"} & warned <= {id for id in warned if f"({id})" in done.stderr}
    done = run("init", "train", "--force", *SCRIPTS[provider], *GIVEN[provider])
    assert "missing for `up`" not in done.stderr
    assert {entry.id for entry in planned(work).findings} & {"OKE009", "OKE032"} == set()


@pytest.mark.parametrize(
    ("more", "line"),
    [((), "26.7"), (("--kubernetes-version", "1.34.1"), "26.7"), (("--kubernetes-version", "1.31.10"), "26.4")],
)
def test_a_new_stack_has_the_newest_line_that_its_kubernetes_has(more: tuple[str, ...], line: str, work: Path) -> None:
    assert run("init", "train", *SCRIPTS["oke"], *more).exit_code == 0

    assert planned(work).release_line == line
