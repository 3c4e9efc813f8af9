"""What Volcano makes for a job: its PodGroup, its pods, and what the plug-ins `svc` and `ssh` add. Pure functions.

Source: the controller of jobs and its plug-ins in Volcano's repository, and the documentation of both.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandbox.hardware.jobs.keys import new_key
from sandbox.hardware.jobs.room import requests_of, summed, written
from sandbox.hardware.jobs.turns import owned, pod_of
from sandbox.kubernetes_api import Object

GROUP = "batch.volcano.sh/v1alpha1"
SCHEDULING = "scheduling.volcano.sh/v1beta1"
JOB_LABEL, TASK_LABEL = "volcano.sh/job-name", "volcano.sh/task-spec"
VERSION_ANNOTATION = "volcano.sh/job-version"
_HOSTS_FOLDER = "/etc/volcano"
_KEYS_FOLDER = "/root/.ssh"
DEFAULT_QUEUE = "default"
"""The queue that is there without anybody making it."""

# The scheduler's name where neither the job nor the template has one.
_SCHEDULER = "volcano"


def tasks_of(job: Object) -> list[tuple[str, Object]]:
    """A job's tasks by name; one without a name has that of its place."""
    return [(task.get("name") or f"default{index}", task) for index, task in enumerate(job["spec"].get("tasks") or ())]


def least(task: Mapping[str, Any]) -> int:
    """How many pods a task needs to start: all, unless it sets a smaller number."""
    replicas = int(task.get("replicas", 1))
    return int(task.get("minAvailable", replicas))


def min_available(job: Object) -> int:
    """How many pods a job needs to start: its own number, else the sum of its tasks'."""
    return int(job["spec"].get("minAvailable") or sum(least(task) for _, task in tasks_of(job)))


def queue_of(job: Object) -> str:
    """The queue that a job is in."""
    return str(job["spec"].get("queue") or DEFAULT_QUEUE)


def gang(job: Object) -> list[Object]:
    """The specs of the pods that must all fit before any is made: each task's share, then others in order."""
    needed = min_available(job)
    tasks = [task for _, task in tasks_of(job)]
    shares = [least(task) for task in tasks]
    if sum(shares) > needed:
        shares = [0] * len(tasks)
    for index, task in enumerate(tasks):
        shares[index] += min(int(task.get("replicas", 1)) - shares[index], needed - sum(shares))
    return [task["template"]["spec"] for task, share in zip(tasks, shares, strict=True) for _ in range(share)]


def pod_group(job: Object) -> Object:
    """The PodGroup of a job, whose name has the job's uid in it."""
    asked = summed(requests_of(spec) for spec in gang(job))
    spec = {
        "minMember": min_available(job),
        "minTaskMember": {name: least(task) for name, task in tasks_of(job)},
        "minResources": {name: written(amount) for name, amount in sorted(asked.items())},
        "queue": queue_of(job),
    }
    if "priorityClassName" in job["spec"]:
        spec["priorityClassName"] = job["spec"]["priorityClassName"]
    given = job["metadata"]
    metadata = {key: given[key] for key in ("labels", "annotations") if given.get(key)}
    return owned("PodGroup", SCHEDULING, job, group_name(job), metadata=metadata, spec=spec)


def group_name(job: Object) -> str:
    """The name of a job's PodGroup."""
    return f"{job['metadata']['name']}-{job['metadata']['uid']}"


def pods(job: Object, version: int) -> Iterator[Object]:
    """Every pod of a job, with what its plug-ins add; `version` counts the job's restarts."""
    for name, task in tasks_of(job):
        for index in range(int(task.get("replicas", 1))):
            yield _pod(job, name, task, index, version)


def extras(job: Object) -> list[Object]:
    """What a job's plug-ins make beside its pods."""
    plugins, name = job["spec"].get("plugins") or {}, job["metadata"]["name"]
    found: list[Object] = []
    if "svc" in plugins:
        found += _of_svc(job, plugins["svc"] or ())
    if "ssh" in plugins:
        key = new_key()
        config = base64.b64encode(_ssh_config(job).encode()).decode()
        data = {"id_rsa": key.private, "id_rsa.pub": key.public, "authorized_keys": key.public, "config": config}
        found.append(owned("Secret", "v1", job, f"{name}-ssh", data=data))
    return found


def _pod(job: Object, task: str, definition: Object, index: int, version: int) -> Object:
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    pod = pod_of(job, f"{name}-{task}-{index}", definition["template"])
    metadata, spec = pod["metadata"], pod["spec"]
    labels = {
        JOB_LABEL: name,
        TASK_LABEL: task,
        "volcano.sh/job-namespace": namespace,
        "volcano.sh/queue-name": queue_of(job),
        "volcano.sh/task-index": str(index),
    }
    annotations = {
        **{key: labels[key] for key in labels if key != "volcano.sh/job-namespace"},
        VERSION_ANNOTATION: str(version),
        "volcano.sh/template-uid": f"{name}-{task}",
        "scheduling.k8s.io/group-name": group_name(job),
    }
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
    spec.setdefault("schedulerName", job["spec"].get("schedulerName") or _SCHEDULER)
    plugins = job["spec"].get("plugins") or {}
    if "svc" in plugins:
        spec.setdefault("hostname", metadata["name"])
        spec.setdefault("subdomain", name)
        variables = [
            {"name": key, "valueFrom": {"configMapKeyRef": {"name": f"{name}-svc", "key": key}}}
            for key in _hosts(job)
            if key.startswith("VC_")
        ]
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            container["env"] = [*container.get("env", ()), *variables]
        volume: Object = {"name": f"{name}-svc", "configMap": {"name": f"{name}-svc"}}
        _mount(spec, volume, {"mountPath": _HOSTS_FOLDER})
    if "ssh" in plugins:
        files = {"id_rsa": "id_rsa", "id_rsa.pub": "id_rsa.pub", "authorized_keys": "authorized_keys"}
        items = [{"key": key, "path": f".ssh/{path}"} for key, path in {**files, "config": "config"}.items()]
        secret = {"secretName": f"{name}-ssh", "items": items, "defaultMode": 0o600}
        _mount(spec, {"name": f"{name}-ssh", "secret": secret}, {"mountPath": _KEYS_FOLDER, "subPath": ".ssh"})
    return pod


def _mount(spec: Object, volume: Object, mount: Object) -> None:
    spec["volumes"] = [*spec.get("volumes", ()), volume]
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        container["volumeMounts"] = [*container.get("volumeMounts", ()), {**mount, "name": volume["name"]}]


def _of_svc(job: Object, arguments: Sequence[str]) -> list[Object]:
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    own = {JOB_LABEL: name, "volcano.sh/job-namespace": namespace}
    early = "--publish-not-ready-addresses=true" in arguments
    service = {"clusterIP": "None", "selector": own, "publishNotReadyAddresses": early}
    found = [
        owned("ConfigMap", "v1", job, f"{name}-svc", data=_hosts(job)),
        owned("Service", "v1", job, name, spec=service),
    ]
    if "--disable-network-policy=true" not in arguments:
        pods_of_job = {"matchLabels": own}
        rule = {"from": [{"podSelector": pods_of_job}]}
        policy = {"podSelector": pods_of_job, "ingress": [rule], "policyTypes": ["Ingress"]}
        found.append(owned("NetworkPolicy", "networking.k8s.io/v1", job, name, spec=policy))
    return found


def _names(job: Object) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The host names and the domains of every task's pods."""
    for name, task in tasks_of(job):
        spec = task["template"]["spec"]
        domain = spec.get("subdomain") or job["metadata"]["name"]
        made = [f"{job['metadata']['name']}-{name}-{index}" for index in range(int(task.get("replicas", 1)))]
        yield name, [(host, domain) for host in ([spec["hostname"]] if spec.get("hostname") else made)]


def _hosts(job: Object) -> dict[str, str]:
    data = {}
    for task, names in _names(job):
        hosts, key = [f"{host}.{domain}" for host, domain in names], task.replace("-", "_")
        data[f"{key}.host"] = "\n".join(hosts)
        data[f"VC_{key.upper()}_HOSTS"] = ",".join(hosts)
        data[f"VC_{key.upper()}_NUM"] = str(len(hosts))
    return data


def _ssh_config(job: Object) -> str:
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for _, names in _names(job):
        for host, domain in names:
            lines += [f"Host {host}", f"  HostName {host}.{domain}"]
    return "\n".join(lines) + "\n"
