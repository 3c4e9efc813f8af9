"""The all-reduce test as a job of Volcano and of the MPI operator, and the command that prints it."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from stack_plans import stack_plan
from typer.testing import CliRunner, Result

from gpu_fabric.attach.place import AttachError
from gpu_fabric.cli.app import app
from gpu_fabric.contract import FabricContract
from gpu_fabric.workloads.nccl_test import JobError, JobScheduler, NcclTest, manifest_text, nccl_test

IMAGE = "registry.example/nccl-tests:2.30.4"
FORMS = list(JobScheduler)


@pytest.fixture(scope="module")
def guide(root: Path) -> FabricContract:
    """The OKE guide's stack: four machines with eight H100 and sixteen NICs each."""
    return stack_plan("oke-guide", root).workload


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


def job(contract: FabricContract, form: JobScheduler, **wish: Any) -> dict[str, Any]:
    content: dict[str, Any] = nccl_test(contract, NcclTest(form, IMAGE, **wish)).documents[0]
    return content


def templates(manifest: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The launcher's pod template and the worker's."""
    if manifest["kind"] == "MPIJob":
        roles = manifest["spec"]["mpiReplicaSpecs"]
        return roles["Launcher"]["template"], roles["Worker"]["template"]
    launcher, worker = manifest["spec"]["tasks"]
    return launcher["template"], worker["template"]


def container(template: dict[str, Any]) -> dict[str, Any]:
    (found,) = template["spec"]["containers"]
    content: dict[str, Any] = found
    return content


def script(manifest: dict[str, Any]) -> str:
    text: str = container(templates(manifest)[0])["command"][-1]
    return text


def mpirun(manifest: dict[str, Any]) -> list[str]:
    """The words of the launcher's mpirun, as a shell reads them."""
    words = shlex.split(script(manifest).replace("\\\n", " "))
    return words[words.index("mpirun") :]


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


@pytest.mark.parametrize("form", FORMS)
def test_a_worker_asks_for_a_node_whole_and_for_every_nic_and_no_less_than_its_limit(
    guide: FabricContract, form: JobScheduler
) -> None:
    resources = container(templates(job(guide, form))[1])["resources"]

    assert resources["requests"] == resources["limits"]
    assert resources["limits"]["nvidia.com/gpu"] == "8"
    assert resources["limits"]["nvidia.com/sriov_rdma_vf"] == "16"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("nodes", "ranks"), [(None, 32), (1, 8), (3, 24)])
def test_there_is_a_rank_for_every_gpu(
    guide: FabricContract, form: JobScheduler, nodes: int | None, ranks: int
) -> None:
    words = mpirun(job(guide, form, nodes=nodes))

    assert (option(words, "-np"), option(words, "--map-by")) == (str(ranks), "ppr:8:node")


def test_volcano_starts_the_launcher_and_all_workers_together(guide: FabricContract) -> None:
    spec = job(guide, JobScheduler.VOLCANO, nodes=3)["spec"]

    assert (spec["minAvailable"], spec["tasks"][1]["replicas"], spec["tasks"][1]["minAvailable"]) == (4, 3, 3)
    assert (spec["schedulerName"], spec["queue"], spec["plugins"]) == ("volcano", "default", {"ssh": [], "svc": []})


def test_volcanos_job_is_complete_when_its_launcher_is(guide: FabricContract) -> None:
    launcher = job(guide, JobScheduler.VOLCANO)["spec"]["tasks"][0]

    assert launcher["policies"] == [{"event": "TaskCompleted", "action": "CompleteJob"}]
    assert script(job(guide, JobScheduler.VOLCANO)).rstrip().endswith("-c 1")


def test_the_mpi_operator_starts_the_launcher_when_the_workers_are_ready(guide: FabricContract) -> None:
    spec = job(guide, JobScheduler.MPI_OPERATOR)["spec"]

    assert (spec["slotsPerWorker"], spec["launcherCreationPolicy"]) == (8, "WaitForWorkersReady")
    assert spec["mpiReplicaSpecs"]["Worker"]["replicas"] == 4
    assert "-hostfile" not in mpirun(job(guide, JobScheduler.MPI_OPERATOR))


def test_volcanos_launcher_asks_every_worker_before_it_starts(guide: FabricContract) -> None:
    manifest = job(guide, JobScheduler.VOLCANO)
    worker = manifest["spec"]["tasks"][1]["name"]
    before, _, _ = script(manifest).partition("mpirun")

    assert f"/etc/volcano/{worker}.host" in before
    assert "exit 1" in before
    assert option(mpirun(manifest), "-hostfile") == f"/etc/volcano/{worker}.host"


@pytest.mark.parametrize("form", FORMS)
def test_every_rank_gets_the_fabrics_settings_and_those_of_a_measurement(
    guide: FabricContract, form: JobScheduler
) -> None:
    words = mpirun(job(guide, form))
    handed = dict(words[place + 1].split("=", 1) for place, word in enumerate(words) if word == "-x")

    assert handed.items() >= guide.environment.items()
    assert handed["NCCL_TOPO_FILE"] == "/etc/nccl/topo.xml"
    assert handed["UCX_NET_DEVICES"] == "eth0"
    assert (handed["NCCL_ALGO"], handed["NCCL_DEBUG"], handed["NCCL_DEBUG_SUBSYS"]) == ("Ring", "INFO", "INIT,ENV,NET")


@pytest.mark.parametrize("form", FORMS)
def test_only_the_workers_have_gpus_and_the_launcher_can_run_where_they_do(
    guide: FabricContract, form: JobScheduler
) -> None:
    launcher, worker = templates(job(guide, form))

    assert container(launcher)["resources"] == {"requests": {"cpu": "1"}}
    assert launcher["spec"]["tolerations"] == worker["spec"]["tolerations"]
    assert "nodeSelector" not in launcher["spec"]


@pytest.mark.parametrize("form", FORMS)
def test_nothing_reaches_into_the_host_and_only_the_users_image_runs(guide: FabricContract, form: JobScheduler) -> None:
    text = manifest_text(job(guide, form))

    assert "hostPath" not in text
    assert set(re.findall(r"image: (.*)", text)) == {IMAGE}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stack", ["oke-guide", "host-network", "doks-mi325x"])
def test_a_shell_can_read_every_script(root: Path, form: JobScheduler, stack: str) -> None:
    for template in templates(job(stack_plan(stack, root).workload, form)):
        shell, option, text = container(template)["command"]
        read = subprocess.run([shell, "-n", option, text], capture_output=True, text=True, check=False)
        assert (read.returncode, read.stderr) == (0, "")


@pytest.mark.parametrize("form", FORMS)
def test_on_the_nodes_own_network_ssh_leaves_the_nodes_port_alone(root: Path, form: JobScheduler) -> None:
    manifest = job(stack_plan("host-network", root).workload, form)
    worker = container(templates(manifest)[1])

    assert worker["command"][-1].endswith("-p 2222")
    assert worker["ports"][0]["containerPort"] == 2222
    assert "export OMPI_MCA_plm_rsh_args='-p 2222'" in script(manifest)
    assert "export PRTE_MCA_plm_ssh_args='-p 2222'" in script(manifest)


def test_the_text_is_the_job_with_its_scripts_line_by_line(guide: FabricContract) -> None:
    manifest = job(guide, JobScheduler.VOLCANO)
    text = manifest_text(manifest)

    assert yaml.safe_load(text) == manifest
    assert "\n            exec mpirun" in text
    assert "&id" not in text


def test_the_job_lies_in_a_namespace_of_the_fabric(guide: FabricContract) -> None:
    assert job(guide, JobScheduler.VOLCANO)["metadata"]["namespace"] == "default"
    with pytest.raises(AttachError, match="not offered in research"):
        job(guide, JobScheduler.VOLCANO, namespace="research")


def test_a_job_for_more_nodes_than_there_are_is_refused(guide: FabricContract) -> None:
    with pytest.raises(JobError, match="has 4 GPU nodes, and the job is for 5"):
        job(guide, JobScheduler.VOLCANO, nodes=5)


def test_nics_that_belong_to_dpdk_are_refused(root: Path) -> None:
    with pytest.raises(JobError, match="DPDK"):
        job(stack_plan("sriov-dpdk", root).workload, JobScheduler.VOLCANO)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["job", "nccl-test", *arguments])


@pytest.mark.usefixtures("project")
def test_the_command_prints_the_job_and_nothing_else(guide: FabricContract) -> None:
    result = run("-s", "oke-guide", "--scheduler", "volcano", "--image", IMAGE, "--nodes", "2")

    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout) == job(guide, JobScheduler.VOLCANO, nodes=2)
    assert result.stderr.strip() == "the stack does not install volcano: the cluster must have it"


@pytest.mark.usefixtures("project")
def test_the_command_asks_for_a_scheduler_where_the_stack_brings_none() -> None:
    result = run("-s", "oke-guide", "--image", IMAGE)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "--scheduler volcano or --scheduler mpi-operator" in result.stderr


@pytest.mark.usefixtures("project")
def test_the_command_takes_the_scheduler_and_the_queue_of_the_stack(guide: FabricContract, tmp_path: Path) -> None:
    hints = guide.scheduler_hints.model_copy(update={"scheduler": "volcano", "queue": "night"})
    contract = guide.model_copy(update={"scheduler_hints": hints})
    outputs = tmp_path / "outputs.json"
    outputs.write_text(json.dumps({"fabric": contract.model_dump(mode="json", by_alias=True)}))
    result = run("--contract", str(outputs), "--image", IMAGE)

    assert (result.exit_code, result.stderr) == (0, "")
    assert yaml.safe_load(result.stdout)["spec"]["queue"] == "night"


@pytest.mark.usefixtures("project")
def test_the_command_runs_no_image_that_the_user_did_not_name() -> None:
    result = run("-s", "oke-guide", "--scheduler", "volcano")

    assert result.exit_code == 2
    assert "--image" in result.stderr


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("-s", "oke-guide", "--nodes", "9"), 2, "has 4 GPU nodes"),
        (("-s", "oke-guide", "-n", "research"), 1, "not offered in research"),
        (("-s", "nowhere"), 2, "there is no stack file for 'nowhere'"),
        (("-s", "dev", "--contract", "-"), 2, "not from both"),
        (("--contract", "pyproject.toml"), 2, "pyproject.toml: "),
    ],
)
def test_the_command_says_why_there_is_no_job(arguments: tuple[str, ...], status: int, said: str) -> None:
    result = run(*arguments, "--scheduler", "mpi-operator", "--image", IMAGE)

    assert (result.exit_code, result.stdout) == (status, "")
    assert said in result.stderr
