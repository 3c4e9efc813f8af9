"""The job that verifies a stack's fabric: its rails, then the whole fabric, by one script in three forms."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.contract import FabricContract
from gpu_fabric.nccl.log_lines import filter_file
from gpu_fabric.on_nodes import program
from gpu_fabric.spec.verification import Launcher
from gpu_fabric.workloads.nccl_test import SSH_PORT_ON_HOSTS, JobScheduler, MpiRun, NcclTest, manifest, nccl_test

SCRIPT = "verification.sh"
_PART = "point_to_point.sh"
POINT_TO_POINT = "point-to-point"
"""Name of the file of what UCX is to measure, in the ConfigMap of the script, and of that of its results."""

COMPONENT = "verification"
COMPONENT_LABEL, RUN_LABEL = "gpu-fabric/component", "gpu-fabric/verification"
"""Labels of the job's pods: the component, and the run."""

KEYS_SECRET = "keys"
"""Suffix of the name of the Secret with the ssh keys, which is created with the job and is not in the plan."""

_FOLDER, _KEYS_FOLDER = "/verification", "/verification-keys"
# On the nodes' own network the usual port is the node's; on other networks any port works.
_PORT = SSH_PORT_ON_HOSTS
_PORT_OF_OPERATORS = 22
# Where Volcano's plug-in `svc` and the MPI operator write the names of the workers.
_HOSTS = {JobScheduler.VOLCANO: "/etc/volcano/mpiworker.host", JobScheduler.MPI_OPERATOR: "/etc/mpi/hostfile"}
_NODE_NAME = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}

# Bytes of a message, and seconds that a test takes at the line rate.
_UCX_SIZE, _UCX_SECONDS = 4 << 20, 2

# The longest that a scheduled run keeps nodes, with the time until its pods find each other; seconds.
_SCHEDULED_AT_MOST = 1200
_HISTORY_FOLDER = "/verification-history"

Manifest = dict[str, Any]


class RailLine(NamedTuple):
    """One rail for the script: its number, its interface and RDMA device in the pod, and the nearest GPU.

    `device` is None if the pod must look it up by the interface.
    """

    number: int
    interface: str
    device: str | None
    gpu: int

    def __str__(self) -> str:
        return f"{self.number} {self.interface} {self.device or '-'} {self.gpu}"


class UcxRun(NamedTuple):
    """What is measured by UCX between two nodes, on each rail: the program in the image, and UCX's variables.

    `memory` is UCX's name of the memory that is written from and to; `rate` is a rail's line rate in GB/s. `ipv6`: the
    pods' first network, over which both sides meet, has no IPv4.
    """

    program: str
    memory: str
    rate: float
    ipv6: bool
    settings: dict[str, str]

    def file(self) -> str:
        """The program, its options, and the variables, a line each, as `point_to_point.sh` reads them."""
        number = max(1, int(self.rate * 1e9 * _UCX_SECONDS / _UCX_SIZE))
        # As NIXL writes (source: ai-dynamo/nixl v1.4.0, src/plugins/ucx/ucx_utils.cpp).
        test = f"-t ucp_put_bw -m {self.memory} -s {_UCX_SIZE} -n {number} -w {max(1, number // 20)}"
        options = f"{test} -f -v{' -6' * self.ipv6}"
        return "".join(f"{line}\n" for line in (self.program, options, *sorted(map("=".join, self.settings.items()))))


class Verification(NamedTuple):
    """A run. `name` is the name of the job and its other objects, `seconds` its limit, `settings` NCCL's variables.

    `rails` is empty if no rail is measured alone. On a rail below `rail_bar` (GB/s), pairs of nodes are measured, too.
    `ucx` is what is measured between two nodes by UCX, if anything is.
    """

    name: str
    namespace: str
    launcher: Launcher
    nodes: int
    image: str
    program: str
    rails: tuple[RailLine, ...]
    rail_bar: float
    seconds: int
    settings: dict[str, str]
    ucx: UcxRun | None = None


def verification_manifests(contract: FabricContract, run: Verification) -> tuple[Manifest, ...]:
    """All objects of a run except the Secret with the keys of a plain Job.

    Raises:
        JobError: the contract has fewer nodes, or its NICs are not NCCL's.
        AttachError: the fabric is not offered in the namespace.
    """
    files = manifest("files", contract, metadata=_metadata(run), data=script_files(contract, run))
    if run.launcher == "job":
        service = manifest("service", contract, metadata=_metadata(run), labels=_labels(run), port=_PORT)
        return (files, service, _plain_job(contract, run))
    return (files, _operators_job(contract, run, JobScheduler(run.launcher)))


def _settings(contract: FabricContract, run: Verification) -> dict[str, str]:
    found = MpiRun(run.nodes, contract.gpus_per_node, run.settings, _PORT, run.program).variables()
    # The ranks' own TCP must not use the rails: a node may not reach all rails of another node.
    front_end = found.get("UCX_NET_DEVICES")
    return found if front_end is None else {**found, "OMPI_MCA_btl_tcp_if_include": front_end}


class Schedule(NamedTuple):
    """A run on idle nodes, again and again. `name` is that of the CronJob, its account and its Service.

    `cron` is in UTC. `bar` is the whole fabric's in GB/s. `files` is the ConfigMap of the script, `history` and
    `present` those that the pods write. `priority` is the class of the pods.
    """

    name: str
    cron: str
    bar: float
    files: str
    history: str
    present: str
    priority: str


def script_files(contract: FabricContract, run: Verification) -> dict[str, str]:
    """The files next to the script, and the script itself."""
    more = {} if run.ucx is None else {POINT_TO_POINT: run.ucx.file()}
    return {
        SCRIPT: program(SCRIPT) if run.ucx is None else script_with_ucx(),
        **more,
        "settings": "".join(f"{name}={value}\n" for name, value in sorted(_settings(contract, run).items())),
        "rails": "".join(f"{rail}\n" for rail in run.rails),
        "log-lines": filter_file(),
    }


def script_with_ucx() -> str:
    """The script with the part that measures by UCX, before the line that starts what it was called for."""
    functions, start, rest = program(SCRIPT).partition("\nmode=$1\n")
    return f"{functions}\n{program(_PART)}{start}{rest}"


def schedule_labels(schedule: Schedule) -> dict[str, str]:
    """The labels of a schedule's pods, by which its Service selects them."""
    return {COMPONENT_LABEL: COMPONENT, RUN_LABEL: schedule.name}


def scheduled_job(contract: FabricContract, run: Verification, schedule: Schedule) -> Manifest:
    """A CronJob with a pod for each node, of which those start whose node is idle.

    Raises:
        AttachError: the fabric is not offered in the namespace.
    """
    seconds = min(run.seconds, _SCHEDULED_AT_MOST)
    container = _worker(contract, run._replace(seconds=seconds), "scheduled", _PORT)
    values = {
        "SERVICE": schedule.name,
        "BAR": f"{schedule.bar:g}",
        "HISTORY": schedule.history,
        "PRESENT": schedule.present,
        "NAMESPACE": run.namespace,
    }
    job_name = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}}
    container["env"] += [
        {"name": "JOB", "valueFrom": job_name},
        *({"name": name, "value": value} for name, value in values.items()),
    ]
    container["volumeMounts"].append({"name": "history", "mountPath": _HISTORY_FOLDER, "readOnly": True})
    job = manifest(
        "scheduled",
        contract,
        job=schedule.name,
        namespace=run.namespace,
        cron=schedule.cron,
        nodes=run.nodes,
        seconds=seconds,
        labels=schedule_labels(schedule),
        priority=schedule.priority,
        container=container,
        files=schedule.files,
        history=schedule.history,
    )
    attached: Manifest = attach(
        [job], contract, AttachOptions(containers=("mpiworker",), libraries=("none",))
    ).documents[0]
    return attached


def service_port() -> int:
    """The port of ssh in the pods of plain Jobs."""
    return _PORT


def _metadata(run: Verification) -> Manifest:
    return {"name": run.name, "namespace": run.namespace, "labels": _labels(run)}


def _labels(run: Verification) -> dict[str, str]:
    return {COMPONENT_LABEL: COMPONENT, RUN_LABEL: run.name}


def _plain_job(contract: FabricContract, run: Verification) -> Manifest:
    """One pod per node; the first one is also the launcher, so that no further node is needed."""
    container = _worker(contract, run, "both", _PORT)
    container["env"] += [{"name": "JOB", "value": run.name}, {"name": "SERVICE", "value": run.name}]
    container["volumeMounts"].append({"name": "keys", "mountPath": _KEYS_FOLDER, "readOnly": True})
    job = manifest(
        "job",
        contract,
        metadata=_metadata(run),
        labels=_labels(run),
        nodes=run.nodes,
        seconds=run.seconds,
        job=run.name,
        keys=KEYS_SECRET,
        container=container,
    )
    attached: Manifest = attach(
        [job], contract, AttachOptions(containers=("mpiworker",), libraries=("none",))
    ).documents[0]
    return attached


def _operators_job(contract: FabricContract, run: Verification, scheduler: JobScheduler) -> Manifest:
    """The NCCL test job with this script in its pods."""
    wish = NcclTest(scheduler, run.image, run.program, run.nodes, run.namespace)
    job: Manifest = nccl_test(contract, wish).documents[0]
    job["metadata"] = _metadata(run)
    spec = job["spec"]
    if scheduler is JobScheduler.VOLCANO:
        launcher_template, worker_template = (task["template"] for task in spec["tasks"])
        # A failed pod ends the job; the launcher stops the workers when it ends.
        spec["policies"] = [{"event": "PodFailed", "action": "AbortJob"}]
    else:
        # Pods are kept, since they contain the messages; each worker ends by itself.
        spec["runPolicy"] = {"cleanPodPolicy": "None", "activeDeadlineSeconds": run.seconds, "backoffLimit": 0}
        replicas = spec["mpiReplicaSpecs"]
        launcher_template, worker_template = (replicas[role]["template"] for role in ("Launcher", "Worker"))
        for role in replicas.values():
            role["restartPolicy"] = "Never"
    port = SSH_PORT_ON_HOSTS if contract.host_network else _PORT_OF_OPERATORS
    launcher = _container(contract, run, "launch", port, [{"name": "HOSTS_FILE", "value": _HOSTS[scheduler]}])
    workers = _worker(contract, run, "worker", port)
    for template, container in ((launcher_template, launcher), (worker_template, workers)):
        pod = template["spec"]
        own = next(entry for entry in pod["containers"] if entry["name"] == container["name"])
        own["command"], own["env"] = container["command"], _merged(own.get("env", []), container["env"])
        own.setdefault("volumeMounts", []).extend(container["volumeMounts"])
        pod.setdefault("volumes", []).extend([{"name": "verification", "configMap": {"name": run.name}}])
        pod["restartPolicy"] = "Never"
        template.setdefault("metadata", {}).setdefault("labels", {}).update(_labels(run))
    return job


def _merged(there: list[Manifest], more: list[Manifest]) -> list[Manifest]:
    names = {entry["name"] for entry in more}
    return [*(entry for entry in there if entry["name"] not in names), *more]


def _worker(contract: FabricContract, run: Verification, mode: str, port: int) -> Manifest:
    """A worker's container; like any job's, it gets its GPUs and devices from the contract."""
    ports = [{"name": "ssh", "containerPort": port, "protocol": "TCP"}]
    return _container(contract, run, mode, port, [_NODE_NAME], ports)


def _container(
    contract: FabricContract,
    run: Verification,
    mode: str,
    port: int,
    variables: list[Manifest],
    ports: list[Manifest] | None = None,
) -> Manifest:
    values = {
        "NODES": run.nodes,
        "GPUS": contract.gpus_per_node,
        "PORT": port,
        "PROGRAM": run.program,
        "RAIL_BAR": f"{run.rail_bar:g}",
        # The script ends before Kubernetes kills it, which would leave no message.
        "LIMIT": run.seconds - 60,
    }
    return manifest(
        "container",
        contract,
        name="mpimaster" if mode == "launch" else "mpiworker",
        image=run.image,
        folder=_FOLDER,
        script=SCRIPT,
        mode=mode,
        variables=[*({"name": name, "value": str(value)} for name, value in values.items()), *variables],
        ports=ports,
    )
