"""The content of all reports of a plan as plain text: rows and sentences for a terminal, a page or a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Any

from gpu_fabric.findings import Finding, Severity
from gpu_fabric.plan import Plan
from gpu_fabric.report.cloud import cloud_rows, pool_bounds
from gpu_fabric.report.cost import cost_rows

_LINKS = {"ether": "RoCE on Ethernet", "infiniband": "InfiniBand"}
_MAKERS = {
    "node-image": "the node image",
    "daemon-set": "this stack's DaemonSet",
    "sriov-operator": "the SR-IOV operator",
    "externally-managed": "the nodes' provider, handed out by the SR-IOV operator",
}


def overview_rows(plan: Plan) -> dict[str, str]:
    """Name and description of each choice, including the cloud's resources."""
    choices, rows = plan.choices, split_rows(plan) | cloud_rows(plan)
    for pool in plan.cluster.pools:
        counted = f"{pool.nodes} x {pool.shape}, {pool.gpus} GPUs, {pool.nics} RDMA NICs"
        rows[f"pool {pool.name}"] = counted + pool_bounds(plan, pool.name)
    if plan.part == "cluster":
        return rows | cost_rows(plan.cost)
    resources = list(dict.fromkeys(rail.resource_name for rail in plan.rails if rail.resource_name is not None))
    advertised = f", resource{_s(resources)} {_span(resources)}" if resources else ""
    return rows | {
        "model": f"{choices.model} by {choices.manager}, release line {plan.release_line}",
        **({"functions": f"made by {_MAKERS[choices.virtual_functions]}"} if choices.virtual_functions else {}),
        "links": f"{_LINKS[choices.link_type]}, RDMA mode {choices.rdma_mode}",
        "rails": f"{len(plan.rails)}{advertised}",
        "networks": _networks(plan),
        "addresses": address_summary(plan),
        **({"Multus": "by this stack, in kube-system"} if plan.step("multus") else {}),
        **({"jobs": _jobs(plan)} if plan.workload.scheduler_hints.scheduler or plan.step("mpi-operator") else {}),
        "NCCL files": ", ".join(file.config_map for file in plan.nccl.files),
        "NCCL topology": f"{plan.nccl.topology.form or 'no file'}: {plan.nccl.topology.reason}",
        "charts": ", ".join(
            f"{release.name} {release.chart.version}" + (" (stand-in)" if release.chart.path else "")
            for release in plan.releases
        )
        or "none",
        **(cost_rows(plan.cost) if plan.part == "all" else {}),
    }


def split_rows(plan: Plan) -> dict[str, str]:
    """The part of a split stack; empty if the stack creates both parts."""
    if plan.split is None:
        return {}
    cluster = plan.split.cluster
    if plan.part == "cluster":
        return {"part": "the cluster alone: what runs on it is another stack's"}
    place = f"{cluster.name} in {cluster.region}, Kubernetes {cluster.kubernetes_version}"
    return {
        "part": f"the platform alone, on the cluster of stack {plan.split.cluster_stack}, which has the machines' cost",
        "cluster": place,
    }


def _jobs(plan: Plan) -> str:
    """The schedulers of jobs, their queues, and the topology level that keeps pods together."""
    hints = plan.workload.scheduler_hints
    known = [f"{scheduler} (queue {queue})" for scheduler, queue in hints.queues.items()]
    if hints.scheduler is not None and hints.scheduler not in hints.queues:
        known.append(f"{hints.scheduler} of the cluster")
    if plan.step("mpi-operator"):
        known.append("the MPI operator")
    close = [f"; together below {level}" for level in hints.annotations.values()]
    return ", ".join(known) + "".join(close)


def _networks(plan: Plan) -> str:
    names = list(dict.fromkeys(rail.network for rail in plan.rails if rail.network is not None))
    if not names:
        return "none: pods run on the host's own network"
    namespaces = plan.workload.namespaces
    lie = list(dict.fromkeys(network.namespace for network in plan.workload.networks if network.namespace is not None))
    injected = f" for pods of {', '.join(namespaces)}" if lie else ""
    return f"{_span(names)} in namespace{_s(lie or namespaces)} {', '.join(lie or namespaces)}{injected}"


def address_summary(plan: Plan) -> str:
    """The address plan in one line."""
    addresses = plan.addresses
    if not addresses.pools:
        return "none planned" + (": the provider gives the NICs theirs" if plan.choices.ipam == "host" else "")
    first = addresses.pools[0]
    each = _count(first.addresses_per_node, "address")
    share = f"/{first.node_prefix_length} ({each})" if first.node_prefix_length is not None else each
    return (
        f"layout {addresses.layout}, {_count(len(addresses.pools), 'pool')} of {share} a node out of "
        f"{addresses.supernet} by {addresses.ipam}, room for {addresses.proof.growth.max_nodes} nodes"
    )


RAIL_COLUMNS = ("rail", "NIC", "RDMA device", "interface", "GPU", "resource", "network", "subnet")


def rail_rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    """A row per rail; unpublished and missing values are a dash."""
    for rail in plan.rails:
        pool = plan.addresses.pool_of(rail.index)
        yield (
            str(rail.index),
            rail.pci or "-",
            rail.rdma_device or "-",
            rail.interface or "-",
            "-" if rail.nearest_gpu is None else str(rail.nearest_gpu),
            rail.resource_name or "-",
            rail.network or "-",
            "-" if pool is None else str(pool.subnet),
        )


POOL_COLUMNS = ("pool", "range", "gateway", "usable", "a node's share", "needed", "headroom", "serves")


def pool_rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    """A row per address pool."""
    for pool in plan.addresses.pools:
        own = pool.node_prefix_length is not None
        yield (
            pool.name,
            str(pool.space),
            "none" if pool.gateway is None else f"{pool.gateway}{', one a node' if own else ''}",
            number_text(pool.usable),
            f"/{pool.node_prefix_length}" if own else str(pool.addresses_per_node),
            number_text(pool.needed),
            number_text(pool.headroom),
            f"{pool.max_nodes} nodes",
        )


def share_lines(plan: Plan) -> Iterator[str]:
    """The shares of the first and the last node on the first and the last rail: enough to check a plan by eye."""
    addresses, numbers = plan.addresses, plan.addresses.numbers
    names = addresses.node_names or tuple(str(number) for number in numbers)
    for pool in dict.fromkeys((addresses.pools[0], addresses.pools[-1])):
        shares = [f"node {names[0]} {pool.share_text(numbers[0])}"]
        if len(names) > 1:
            shares.append(f"node {names[-1]} {pool.share_text(numbers[-1])}")
        yield f"{pool.name}: {', '.join(shares)}"


def proof_lines(plan: Plan) -> Iterator[str]:
    """The address proof as sentences: the nodes fit, the values and their limits, and the room to grow."""
    proof, growth = plan.addresses.proof, plan.addresses.proof.growth
    disjoint = ", ".join(f"{entry.name} {entry.range}" for entry in proof.disjoint_from) or "nothing stated"
    extra = [f"{proof.spare_nodes} spare"] if proof.spare_nodes else []
    extra += [f"{proof.surge_nodes} surge"] if proof.surge_nodes else []
    nodes = _count(proof.nodes, "node") + (f" and {' and '.join(extra)}" if extra else "")
    yield f"Proved: {nodes} fit; pools are disjoint from each other and from: {disjoint}."
    for limit in proof.limits:
        yield f"{limit.name.capitalize()}: {limit.value} of at most {limit.limit} {limit.unit}."
    steps = _count(growth.steps, "more step")
    text = f"Growth: {steps} of {_count(growth.step, 'node')}, to {growth.max_nodes}; then {growth.ends_at} end"
    if growth.next_supernet:
        text += f", and each pool needs a {growth.next_subnet}, the fabric a supernet of {growth.next_supernet}"
    yield f"{text}."


def job_rows(plan: Plan) -> dict[str, str]:
    """A summary of what a job's pod needs."""
    job = plan.workload
    return {
        "requests": ", ".join(f"{name}: {amount}" for name, amount in list(job.resources.items())[:3])
        + (f", … ({len(job.resources)} resources)" if len(job.resources) > 3 else ""),
        "networks": f"{len(job.networks)} interfaces, {job.networks[0].interface} to {job.networks[-1].interface}"
        if job.networks
        else "the host's own",
        "environment": ", ".join(f"{name}={value}" for name, value in job.environment.items()),
        "files": ", ".join(f"{file.mount_path} from {file.config_map}" for file in job.files),
        "capability": ", ".join(job.capabilities),
        "/dev/shm": job.shared_memory.size_limit,
        **{f"note {number}": line for number, line in enumerate(job.advice, 1)},
    }


CHART_COLUMNS = ("chart", "version", "namespace", "from")
IMAGE_COLUMNS = ("image", "named by")


def chart_rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    """A row per chart, in the order in which they are installed."""
    for release in plan.releases:
        chart = release.chart
        place = f"{chart.path}, a stand-in" if chart.path else chart.repository or "-"
        yield (chart.name, chart.version, release.namespace, place)


def image_rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    """A row per image that the stack's objects or chart values name; the charts' defaults are not included."""
    named: dict[str, dict[str, None]] = {}
    holders: list[tuple[str, Any]] = [(f"values of chart {entry.name}", entry.values) for entry in plan.releases]
    holders += [(f"{entry.object.kind} {entry.name}", entry.object.manifest()) for entry in plan.objects]
    for holder, content in holders:
        for image in _images(content):
            named.setdefault(image, {})[holder] = None
    for image in sorted(named):
        yield image, ", ".join(named[image])


def _images(value: Any) -> Iterator[str]:
    """Image references anywhere in a manifest: complete ones, and those that policies split into three fields."""
    if isinstance(value, dict):
        image, repository, version = (value.get(field) for field in ("image", "repository", "version"))
        if isinstance(image, str):
            reference = f"{repository}/{image}:{version}" if repository and version else image
            # Without a version it is only a name in a chart's values.
            if ":" in reference:
                yield reference
        for inner in value.values():
            yield from _images(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _images(inner)


def by_weight(plan: Plan) -> list[Finding]:
    """The plan's findings, the most severe first."""
    weights = list(Severity)
    return sorted(plan.findings, key=lambda entry: weights.index(entry.severity))


def _s(things: Sized) -> str:
    return "s" if len(things) > 1 else ""


def _count(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number} {noun if number == 1 else plural}"


def number_text(value: int) -> str:
    """Exact up to a million, then as a power of two: IPv6 ranges have up to 38 digits."""
    return str(value) if value < 1_000_000 else f"about 2^{value.bit_length() - 1}"


def _span(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
