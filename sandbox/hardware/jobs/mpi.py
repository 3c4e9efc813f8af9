"""The MPI operator: workers, the launcher's Job, how they reach each other, and the job's status. Pure functions.

Source: the controller in the MPI operator's repository, version 0.8.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sandbox.hardware.jobs.keys import new_key
from sandbox.hardware.jobs.turns import (
    Turn,
    condition_of,
    holds,
    is_deleted,
    owned,
    owner_of,
    phase_of,
    pod_of,
    with_condition,
)
from sandbox.kubernetes_api import Object

GROUP = "kubeflow.org/v2beta1"
JOB_LABEL, ROLE_LABEL = "training.kubeflow.org/job-name", "training.kubeflow.org/job-role"
INDEX_LABEL = "training.kubeflow.org/replica-index"
_OPERATOR = {"training.kubeflow.org/operator-name": "mpi-operator"}
_SERVER = ["/usr/sbin/sshd", "-De"]
_ROOT_FOLDER, _CONFIG_FOLDER = "/root/.ssh", "/etc/mpi"
_KEY_FILES = (("ssh-privatekey", "id_rsa"), ("ssh-publickey", "id_rsa.pub"), ("ssh-publickey", "authorized_keys"))
_CONFIG_FILES = (("hostfile", 0o444), ("discover_hosts.sh", 0o555))
# How each implementation learns its hosts, and how many ranks each takes.
_VARIABLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "OpenMPI": (
        ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        ("OMPI_MCA_orte_default_hostfile", f"{_CONFIG_FOLDER}/hostfile"),
        ("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"),
    ),
    "Intel": (
        ("I_MPI_HYDRA_HOST_FILE", f"{_CONFIG_FOLDER}/hostfile"),
        ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-o ConnectionAttempts=10"),
    ),
    "MPICH": (
        ("HYDRA_HOST_FILE", f"{_CONFIG_FOLDER}/hostfile"),
        ("HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10"),
    ),
}
_SLOTS = {"OpenMPI": "OMPI_MCA_orte_set_default_slots", "Intel": "I_MPI_PERHOST"}


class Belongings(NamedTuple):
    """What a job has: its workers, its launcher's Job, and that Job's pods."""

    workers: Sequence[Object]
    launcher: Object | None
    launcher_pods: Sequence[Object] = ()


def is_suspended(job: Object) -> bool:
    """Whether a job is suspended."""
    return bool((job["spec"].get("runPolicy") or {}).get("suspend"))


def replicas(job: Object, role: str) -> int:
    """How many pods a job has of a role."""
    spec = job["spec"]["mpiReplicaSpecs"].get(role)
    return 0 if spec is None else int(spec.get("replicas", 1))


def belongings(job: Object, pods: Sequence[Object], launchers: Sequence[Object]) -> Belongings:
    """What of these objects is the job's."""
    uid = job["metadata"]["uid"]
    launcher = next((item for item in launchers if owner_of(item) == uid), None)
    of_launcher = [pod for pod in pods if launcher and owner_of(pod) == launcher["metadata"]["uid"]]
    return Belongings([pod for pod in pods if owner_of(pod) == uid], launcher, of_launcher)


def actions(job: Object, own: Belongings) -> Turn:
    """What the operator makes and deletes for a job now."""
    turn = Turn()
    if is_deleted(job):
        return turn
    finished = any(holds(job, kind) for kind in ("Succeeded", "Failed"))
    over = own.launcher is not None and any(holds(own.launcher, kind) for kind in ("Complete", "Failed"))
    if finished or over:
        policy = (job["spec"].get("runPolicy") or {}).get("cleanPodPolicy", "None")
        kept = ("Succeeded", "Failed") if policy == "Running" else ()
        gone = own.workers if policy in ("Running", "All") else ()
        turn.deletes.extend(pod for pod in gone if phase_of(pod) not in kept and not is_deleted(pod))
        return turn
    if not job.get("status"):
        turn.creates.extend(_extras(job))
    suspended = is_suspended(job)
    if suspended:
        turn.deletes.extend(pod for pod in own.workers if not is_deleted(pod))
    else:
        wanted = [_worker(job, index) for index in range(replicas(job, "Worker"))]
        turn.ensure(wanted, own.workers)
        names = {pod["metadata"]["name"] for pod in wanted}
        turn.deletes.extend(pod for pod in own.workers if pod["metadata"]["name"] not in names)
    if own.launcher is None:
        ready = [pod for pod in own.workers if holds(pod, "Ready") and not is_deleted(pod)]
        early = job["spec"].get("launcherCreationPolicy", "AtStartup") == "AtStartup"
        # a suspended job has no workers to wait for, and its launcher's Job is suspended with it
        if early or suspended or len(ready) == replicas(job, "Worker"):
            turn.creates.append(_launcher(job))
    elif bool(own.launcher["spec"].get("suspend")) != suspended:
        turn.patches.append((own.launcher, {"spec": {"suspend": suspended}}))
    return turn


def _extras(job: Object) -> list[Object]:
    """The Service of all pods, the file of hosts, and the keys."""
    name, label = job["metadata"]["name"], {"labels": {"app": job["metadata"]["name"]}}
    key = new_key()
    hosts = [f"{name}-worker-{index}" for index in range(replicas(job, "Worker"))]
    if job["spec"].get("runLauncherAsWorker"):
        hosts.insert(0, f"{name}-launcher")
    domain = f"{name}.{job['metadata']['namespace']}.svc"
    sign = " slots=" if _implementation(job) == "OpenMPI" else ":"
    data = {
        "hostfile": "".join(f"{host}.{domain}{sign}{_slots(job)}\n" for host in hosts),
        "discover_hosts.sh": "#!/bin/sh\n",
    }
    keys = {"ssh-privatekey": key.private, "ssh-publickey": key.public}
    service = {"clusterIP": "None", "selector": {**_OPERATOR, JOB_LABEL: name}}
    return [
        owned("Service", "v1", job, name, metadata=label, spec=service),
        owned("ConfigMap", "v1", job, f"{name}-config", metadata=label, data=data),
        owned("Secret", "v1", job, f"{name}-ssh", metadata=label, type="kubernetes.io/ssh-auth", data=keys),
    ]


def _worker(job: Object, index: int) -> Object:
    name = f"{job['metadata']['name']}-worker-{index}"
    pod = pod_of(job, name, job["spec"]["mpiReplicaSpecs"]["Worker"]["template"])
    labels = pod["metadata"].get("labels", {})
    pod["metadata"]["labels"] = {**labels, **_labels(job, "worker"), INDEX_LABEL: str(index)}
    spec, container = pod["spec"], pod["spec"]["containers"][0]
    _common(job, spec, name, "Worker")
    search = f"{job['metadata']['name']}.{job['metadata']['namespace']}.svc.cluster.local"
    dns = spec.get("dnsConfig") or {}
    spec["dnsConfig"] = {**dns, "searches": [*dns.get("searches", ()), search]}
    if not container.get("command") and not container.get("args"):
        container["command"] = _SERVER
    container["env"] = [*container.get("env", ()), {"name": "K_MPI_JOB_ROLE", "value": "worker"}]
    return pod


def _launcher(job: Object) -> Object:
    name, policy = f"{job['metadata']['name']}-launcher", job["spec"].get("runPolicy") or {}
    template = copy.deepcopy(job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"])
    given = template.get("metadata") or {}
    metadata = {key: given[key] for key in ("labels", "annotations") if given.get(key)}
    metadata["labels"] = {**metadata.get("labels", {}), **_labels(job, "launcher")}
    spec, container = template["spec"], template["spec"]["containers"][0]
    _common(job, spec, name, "Launcher")
    implementation = _implementation(job)
    variables = [("K_MPI_JOB_ROLE", "launcher"), *_VARIABLES[implementation]]
    if implementation in _SLOTS:
        variables.append((_SLOTS[implementation], str(_slots(job))))
    if not job["spec"].get("runLauncherAsWorker"):
        # the launcher is to see no GPU, whatever its image or its node would show it
        variables += [("NVIDIA_VISIBLE_DEVICES", ""), ("NVIDIA_DRIVER_CAPABILITIES", "")]
    container["env"] = [*container.get("env", ()), *({"name": key, "value": value} for key, value in variables)]
    items = [{"key": key, "path": key, "mode": mode} for key, mode in _CONFIG_FILES]
    config = {"name": f"{job['metadata']['name']}-config", "items": items}
    _mount(spec, {"name": "mpi-job-config", "configMap": config}, _CONFIG_FOLDER)
    body: Object = {"template": {"metadata": metadata, "spec": spec}}
    body |= {key: policy[key] for key in ("ttlSecondsAfterFinished", "activeDeadlineSeconds") if key in policy}
    body |= {key: policy[key] for key in ("backoffLimit",) if key in policy}
    if is_suspended(job):
        body["suspend"] = True
    label = {"labels": {"app": job["metadata"]["name"]}}
    return owned("Job", "batch/v1", job, name, metadata=label, spec=body)


def _common(job: Object, spec: Object, name: str, role: str) -> None:
    spec["hostname"], spec["subdomain"] = name, job["metadata"]["name"]
    if spec.get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    asked = job["spec"]["mpiReplicaSpecs"][role].get("restartPolicy") or ("Never" if role == "Worker" else "OnFailure")
    spec["restartPolicy"] = "Never" if asked == "ExitCode" else asked
    folder = job["spec"].get("sshAuthMountPath", _ROOT_FOLDER)
    secret: Object = {
        "secretName": f"{job['metadata']['name']}-ssh",
        "items": [{"key": key, "path": path} for key, path in _KEY_FILES],
    }
    if folder == _ROOT_FOLDER:
        secret["defaultMode"] = 0o600
    _mount(spec, {"name": "ssh-auth", "secret": secret}, folder)


def _mount(spec: Object, volume: Object, folder: str) -> None:
    container = spec["containers"][0]
    spec["volumes"] = [*spec.get("volumes", ()), volume]
    mount: Mapping[str, Any] = {"name": volume["name"], "mountPath": folder}
    container["volumeMounts"] = [*container.get("volumeMounts", ()), mount]


def _labels(job: Object, role: str) -> dict[str, str]:
    return {**_OPERATOR, JOB_LABEL: job["metadata"]["name"], ROLE_LABEL: role}


def _implementation(job: Object) -> str:
    return str(job["spec"].get("mpiImplementation", "OpenMPI"))


def _slots(job: Object) -> int:
    return int(job["spec"].get("slotsPerWorker", 1))


_COUNTS = {"Running": "active", "Succeeded": "succeeded", "Failed": "failed"}


def play(job: Object, own: Belongings, now: str) -> Turn:
    """What the operator does about a job now."""
    turn = actions(job, own)
    if not is_deleted(job):
        turn.status(job, status_of(job, own, now))
    return turn


def status_of(job: Object, own: Belongings, now: str) -> Object:
    """A job's status, from its pods and its launcher's Job."""
    before = job.get("status") or {}
    name = f"MPIJob {job['metadata']['namespace']}/{job['metadata']['name']}"
    conditions = list(before.get("conditions") or ())
    status = {key: before[key] for key in ("startTime", "completionTime") if key in before}

    def say(kind: str, value: str, reason: str, message: str) -> None:
        nonlocal conditions
        wanted = {"type": kind, "status": value, "reason": reason, "message": message}
        present = next((entry for entry in conditions if entry["type"] == kind), None)
        if present is None or any(present.get(key) != wanted[key] for key in wanted):
            conditions = with_condition(conditions, {**wanted, "lastUpdateTime": now}, now)

    if not conditions:
        say("Created", "True", "MPIJobCreated", f"{name} is created.")
    suspended, workers = is_suspended(job), _counts(own, "Worker")
    if suspended:
        say("Suspended", "True", "MPIJobSuspended", "MPIJob suspended")
        say("Running", "False", "MPIJobSuspended", f"{name} is suspended.")
    else:
        if holds(job, "Suspended"):
            say("Suspended", "False", "MPIJobResumed", "MPIJob resumed")
            status["startTime"] = now
        status.setdefault("startTime", now)
    launcher = own.launcher
    ended = next((kind for kind in ("Complete", "Failed") if launcher and holds(launcher, kind)), None)
    if launcher and ended:
        status.setdefault("completionTime", (launcher.get("status") or {}).get("completionTime", now))
        # the job's running is over; what it was before is kept if it never ran
        if any(entry["type"] == "Running" for entry in conditions):
            say("Running", "False", "MPIJobRunning", f"{name} is running.")
        if ended == "Complete":
            say("Succeeded", "True", "MPIJobSucceeded", f"{name} successfully completed.")
        else:
            why = condition_of(launcher, "Failed") or {}
            say("Failed", "True", why.get("reason") or "MPIJobFailed", why.get("message") or f"{name} has failed")
    elif not suspended and own.launcher_pods and _all_run(job, own):
        say("Running", "True", "MPIJobRunning", f"{name} is running.")
    replica_statuses = {"Worker": workers}
    if launcher:
        replica_statuses["Launcher"] = {"succeeded": 1} if ended == "Complete" else _counts(own, "Launcher")
    return {**status, "conditions": conditions, "replicaStatuses": replica_statuses}


def _all_run(job: Object, own: Belongings) -> bool:
    workers = [pod for pod in own.workers if phase_of(pod) == "Running"]
    launchers = [pod for pod in own.launcher_pods if phase_of(pod) == "Running"]
    return bool(launchers) and len(workers) == replicas(job, "Worker")


def _counts(own: Belongings, role: str) -> dict[str, int]:
    pods = own.workers if role == "Worker" else own.launcher_pods
    counts = Counter(phase_of(pod) for pod in pods if not is_deleted(pod))
    return {name: counts[phase] for phase, name in _COUNTS.items() if counts[phase]}
