"""Namespaces that the stack creates or uses: whose they are, what they admit, and what they limit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import (
    Cluster,
    Json,
    api_path,
    called,
    field,
    labels_of,
    namespace_of,
)
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.existing_objects import is_going
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan import Plan
from gpu_fabric.plan.tenants import OF_CLASS
from gpu_fabric.spec.places import dotted

_ENFORCE = "pod-security.kubernetes.io/enforce"
_JOBS = ("fabric", "namespaces")
_COMPUTE = re.compile(r"((requests|limits)\.)?(cpu|memory)")
_CRITICAL = frozenset({"system-node-critical", "system-cluster-critical"})
# Charts that give their pods such a class by default, in a namespace of their own.
_WITH_CRITICAL_PODS = ("gpu-operator",)


def namespace_differences(case: Examination) -> Iterator[Finding]:
    """What is wrong with the namespaces."""
    stack, cluster = case.stack, case.cluster
    if not cluster.is_readable("/api/v1/namespaces"):
        return
    for name in stack.every_namespace:
        found = cluster.namespaces.get(name)
        if found is not None:
            yield from _of_one(stack, cluster, name, found)
        elif name not in stack.namespaces:
            yield finding(
                "PRE043",
                dotted(_JOBS),
                f"the cluster has no namespace {name}, in which the stack writes networks and files",
                f"create it before: `kubectl create namespace {name}`",
                seen=Seen(object=f"Namespace {name}", value="missing"),
            )
    yield from _quotas(stack, cluster)
    yield from _limit_ranges(stack, cluster)
    yield from _critical_pods(stack, cluster)


def _of_one(stack: Stack, cluster: Cluster, name: str, found: Json) -> Iterator[Finding]:
    if is_going(found):
        # It is reported as such.
        return
    enforced = labels_of(found).get(_ENFORCE, "")
    if name in stack.namespaces and stack.is_foreign(found):
        # One of another is reported as such.
        return
    wanted = stack.namespaces.get(name, {}).get(_ENFORCE)
    if wanted == "privileged" and enforced not in ("", "privileged"):
        yield finding(
            "PRE044",
            dotted(("software",)),
            f"namespace {name} enforces Pod Security {enforced} now, and privileged pods of the stack run there",
            f"set it back: `kubectl label namespace {name} {_ENFORCE}=privileged --overwrite`",
            seen=Seen(object=f"Namespace {name}", field=f"metadata.labels[{_ENFORCE}]", value=enforced),
        )
    elif wanted is None and enforced in ("baseline", "restricted") and (reason := _needs_privileges(stack, name)):
        yield finding(
            "PRE042",
            dotted(_JOBS),
            f"namespace {name} enforces Pod Security {enforced}, which refuses pods of the fabric: they have {reason}",
            f"allow them: `kubectl label namespace {name} {_ENFORCE}=privileged --overwrite`, or choose another one",
            seen=Seen(object=f"Namespace {name}", field=f"metadata.labels[{_ENFORCE}]", value=enforced),
        )


def _needs_privileges(stack: Stack, name: str) -> str:
    """What pods of jobs have that no profile but `privileged` admits; empty where that is nothing."""
    contract = stack.plan.workload
    if name not in contract.namespaces:
        return ""
    if contract.privileged or contract.host_network:
        return "privileged containers" if contract.privileged else "the host's network"
    return f"the capabilities {', '.join(contract.capabilities)}" if contract.capabilities else ""


def _limits(plan: Plan) -> Iterator[tuple[str, str, int]]:
    """What one pod of a job takes of devices: its name in a quota, in words, and how many."""
    for resource, amount in plan.workload.devices.items():
        yield f"requests.{resource}", resource, amount
    first = [claim.template for claim in plan.workload.claims[:1]]
    for template in {entry.name: entry.object for entry in plan.objects if entry.name in first}.values():
        for request in field(template.manifest(), "spec", "spec", "devices", "requests") or ():
            exactly = request["exactly"]
            yield f"{exactly['deviceClassName']}{OF_CLASS}", f"class {exactly['deviceClassName']}", exactly["count"]


def _quotas(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    limits = tuple(_limits(stack.plan))
    for quota in cluster.items(api_path("v1", "resourcequotas")):
        namespace, hard = namespace_of(quota), field(quota, "spec", "hard") or {}
        name = called("ResourceQuota", quota)
        if namespace in stack.jobs_namespaces:
            for key, resource, amount in limits:
                limit = str(hard.get(key, ""))
                if limit.isdigit() and int(limit) < amount:
                    yield finding(
                        "PRE045",
                        dotted(_JOBS),
                        f"{name} allows {limit} of {resource}, and one pod of a job requests {amount}",
                        f"raise it to {amount} for each node that jobs of the namespace may use",
                        seen=Seen(object=name, field=f"spec.hard[{key}]", value=limit),
                    )
                    break
        own = namespace in stack.namespaces and namespace not in stack.jobs_namespaces
        if own and (limited := [key for key in sorted(hard) if _COMPUTE.fullmatch(key)]):
            yield finding(
                "PRE046",
                dotted(("software",)),
                f"{name} limits {limited[0]}: Kubernetes then refuses every pod in {namespace} that does not state it, "
                "and pods of the operators do not",
                seen=Seen(object=name, field=f"spec.hard[{limited[0]}]", value=str(hard[limited[0]])),
            )


def _critical_pods(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    """Operators whose pods have a class that the cluster admits by quota alone, in namespaces without such a quota."""
    by_namespace = {
        namespace_of(quota): (quota, classes)
        for quota in cluster.items(api_path("v1", "resourcequotas"))
        if (classes := _classes_of(quota))
    }
    if "kube-system" not in by_namespace:
        return
    quota, classes = by_namespace["kube-system"]
    own = {stack.releases[name].namespace: name for name in _WITH_CRITICAL_PODS if name in stack.releases}
    for namespace, chart in own.items():
        stated = [stack.value(chart, part, "priorityClassName") for part in ("operator", "daemonsets")]
        if namespace in by_namespace or not any(name is None or name in _CRITICAL for name in stated):
            continue
        yield finding(
            "PRE048",
            dotted(("software", "gpuOperator")),
            f"{called('ResourceQuota', quota)} is for pods of the classes {' and '.join(sorted(classes))}, as on GKE, "
            f"which refuses such pods in every namespace without a quota for them: so it does in {namespace}",
            f"as soon as `up` has created {namespace}, create a ResourceQuota there with `pods` in `hard`, and these "
            "classes in a `scopeSelector` with `scopeName: PriorityClass`; `up` waits for the pods, and then continues",
            seen=Seen(
                object=called("ResourceQuota", quota),
                field="spec.scopeSelector.matchExpressions[PriorityClass]",
                value=", ".join(sorted(classes)),
            ),
        )


def _classes_of(quota: Json) -> frozenset[str]:
    """The classes of system-critical pods that a quota is for."""
    rows = field(quota, "spec", "scopeSelector", "matchExpressions") or ()
    named = {name for row in rows if row.get("scopeName") == "PriorityClass" for name in row.get("values") or ()}
    return _CRITICAL & named


def _limit_ranges(stack: Stack, cluster: Cluster) -> Iterator[Finding]:
    for item in cluster.items(api_path("v1", "limitranges")):
        if namespace_of(item) not in stack.every_namespace:
            continue
        for limit in field(item, "spec", "limits") or ():
            lowered = {**(limit.get("default") or {}), **(limit.get("max") or {})}
            found = [key for key in ("memory", "cpu") if limit.get("type") == "Container" and key in lowered]
            if found:
                yield finding(
                    "PRE047",
                    dotted(_JOBS if namespace_of(item) in stack.jobs_namespaces else ("software",)),
                    f"{called('LimitRange', item)} limits the {found[0]} of containers that state none to "
                    f"{lowered[found[0]]}: the kernel ends or slows a process that needs more",
                    seen=Seen(
                        object=called("LimitRange", item),
                        field=f"spec.limits[].{found[0]}",
                        value=str(lowered[found[0]]),
                    ),
                )
                break
