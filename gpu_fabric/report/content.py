"""The content of all reports of a plan as plain text: rows and sentences for a terminal, a page or a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import TYPE_CHECKING, Any

from gpu_fabric.base.enumeration import first_to_last
from gpu_fabric.base.enumeration import quantity as quantity
from gpu_fabric.contract.cluster import OtherNodes
from gpu_fabric.contract.fabric import PodClaim, PodDomain
from gpu_fabric.findings import Finding, Severity
from gpu_fabric.k8s.images import find_images
from gpu_fabric.nccl.busbw import Bar
from gpu_fabric.nccl.name_list import exact_note
from gpu_fabric.plan import Plan
from gpu_fabric.plan.cost import PlannedCost, PoolCost

if TYPE_CHECKING:
    from gpu_fabric.plan.clouds.doks import DoksResources, PlannedDoksCluster, PlannedDoksPool, PlannedVpc
    from gpu_fabric.plan.clouds.oke.identity import PlannedPolicy
    from gpu_fabric.plan.clouds.oke.resources import OkeResources

_LINKS = {"ether": "RoCE on Ethernet", "infiniband": "InfiniBand"}
_CREATORS = {
    "node-image": "the node image",
    "daemon-set": "this stack's DaemonSet",
    "sriov-operator": "the SR-IOV operator",
    "externally-managed": "the nodes' provider, handed out by the SR-IOV operator",
}


def overview_rows(plan: Plan) -> dict[str, str]:
    """Name and description of each choice, including the cloud's resources."""
    rows = split_rows(plan) | cloud_rows(plan)
    for pool in plan.cluster.pools:
        counted = f"{pool.nodes} x {pool.shape}, {pool.gpus} GPUs, {pool.nics} RDMA NICs"
        rows[f"pool {pool.name}"] = counted + pool_bounds(plan, pool.name)
    rows |= {f"pool {nodes.name}": other_pool(nodes) for nodes in plan.cluster.other_pools}
    if plan.part == "cluster":
        return rows | cost_rows(plan.cost)
    by_fabric = plan.by_fabric
    for name, one in by_fabric.items():
        own = _before_jobs(one)
        rows |= own if len(by_fabric) == 1 else {f"{key} of {name}": text for key, text in own.items()}
    rows |= {"Multus": "by this stack, in kube-system"} if plan.step("multus") else {}
    for name, one in by_fabric.items():
        own = _of_jobs(one)
        rows |= own if len(by_fabric) == 1 else {f"{key} of {name}": text for key, text in own.items()}
    return rows | {
        "charts": ", ".join(
            f"{release.name} {release.chart.version}" + (" (stand-in)" if release.chart.path else "")
            for release in plan.releases
        )
        or "none",
        **(cost_rows(plan.cost) if plan.part == "all" else {}),
    }


def other_pool(nodes: OtherNodes) -> str:
    """A pool outside the fabric in one line."""
    gpus = f", {nodes.nodes * nodes.gpus_per_node} GPUs" if nodes.gpus_per_node else ", no GPUs"
    scales = nodes.least_nodes != nodes.nodes or nodes.most_nodes != nodes.nodes
    bounds = f", {nodes.least_nodes} to {nodes.most_nodes} nodes by automatic scaling" if scales else ""
    taken = ", which the cloud may take back" if nodes.reclaimable else ""
    return f"{nodes.nodes} x {nodes.machine}{gpus}, outside the fabric{bounds}{taken}"


def _before_jobs(plan: Plan) -> dict[str, str]:
    """What is decided of a fabric for all that attaches to it."""
    choices = plan.choices
    resources = list(dict.fromkeys(rail.resource_name for rail in plan.rails if rail.resource_name is not None))
    advertised = f", resource{_s(resources)} {first_to_last(resources)}" if resources else ""
    return {
        **_cloud(plan),
        "model": f"{choices.model} by {choices.manager}, release line {plan.release_line}",
        **({"functions": f"created by {_CREATORS[choices.virtual_functions]}"} if choices.virtual_functions else {}),
        "links": _links(plan),
        "rails": f"{len(plan.rails)}{advertised}",
        "networks": _networks(plan),
        "addresses": address_summary(plan),
        **({} if plan.workload.purpose == "storage" else {"bar": _bar(plan)}),
    }


def _links(plan: Plan) -> str:
    """The protocol of the NICs, and whether pods share RDMA devices; the cloud's choice where it has its own."""
    own = plan.cluster.profile and plan.cluster.profile.links
    return own or f"{_LINKS[plan.choices.link_type]}, RDMA mode {plan.choices.rdma_mode}"


def _cloud(plan: Plan) -> dict[str, str]:
    """The cloud of an existing cluster: what its nodes have, and what the user installs; nothing without a profile."""
    if (profile := plan.cluster.profile) is None:
        return {}
    rows = {"cloud": f"{profile.title}, which has {', '.join(profile.has)}"}
    return rows | {f"{part} is the user's": how for part, how in profile.lacks.items()}


def _of_jobs(plan: Plan) -> dict[str, str]:
    """What is decided of a fabric for its jobs; nothing for storage, which NCCL does not use."""
    if plan.workload.purpose == "storage":
        return {}
    return {
        **({"jobs": _jobs(plan)} if plan.workload.scheduler_hints.scheduler or plan.step("mpi-operator") else {}),
        "NCCL files": ", ".join(file.config_map for file in plan.nccl.files),
        "NCCL topology": f"{plan.nccl.topology.form or 'no file'}: {plan.nccl.topology.reason}",
    }


def fabric_titles(plan: Plan) -> dict[str, Plan]:
    """The plan of each fabric by the end of its headings: ` of fabric a100`; empty for one fabric alone."""
    return {f" of fabric {name}" if name else "": one for name, one in plan.by_fabric.items()}


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


def _bar(plan: Plan) -> str:
    """The bus bandwidth that a run must reach, and how it follows from the line rate."""
    said = _said(plan.bandwidth.bar, plan.bandwidth.unknown)
    return said + "".join(f"; {each.way}: {_said(each.bar, each.unknown)}" for each in plan.bandwidth.racks)


def _said(bar: Bar | None, unknown: str | None) -> str:
    return f"unknown: {unknown}" if bar is None else f"{bar.explanation} (source: {bar.source})"


def _networks(plan: Plan) -> str:
    names = list(dict.fromkeys(rail.network for rail in plan.rails if rail.network is not None))
    if not names and plan.cluster.profile is not None:
        by_claim = "".join(f"; pods claim NICs by template {claim.template}" for claim in plan.workload.claims)
        return f"none: {plan.cluster.profile.networks}{by_claim}"
    if not names:
        templates = [claim.template for claim in plan.workload.claims]
        return (
            f"none: pods claim NICs by template{_s(templates)} {', '.join(templates)}"
            if templates
            else "none: pods run on the host's own network"
        )
    namespaces = plan.workload.namespaces
    placed = list(
        dict.fromkeys(network.namespace for network in plan.workload.networks if network.namespace is not None)
    )
    injected = f" for pods of {', '.join(namespaces)}" if placed else ""
    return f"{first_to_last(names)} in namespace{_s(placed or namespaces)} {', '.join(placed or namespaces)}{injected}"


def address_summary(plan: Plan) -> str:
    """The address plan in one line."""
    addresses = plan.addresses
    if not addresses.pools:
        giver = "the nodes' own configuration" if plan.choices.provider == "existing" else "the provider"
        return "none planned" + (f": {giver} gives the NICs theirs" if plan.choices.ipam == "host" else "")
    first = addresses.pools[0]
    each = quantity(first.addresses_per_node, "address")
    share = f"/{first.node_prefix_length} ({each})" if first.node_prefix_length is not None else each
    return (
        f"layout {addresses.layout}, {quantity(len(addresses.pools), 'pool')} of {share} a node out of "
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
    nodes = quantity(proof.nodes, "node") + (f" and {' and '.join(extra)}" if extra else "")
    yield f"Proved: {nodes} fit; pools are disjoint from each other and from: {disjoint}."
    for limit in proof.limits:
        yield f"{limit.name.capitalize()}: {limit.value} of at most {limit.limit} {limit.unit}."
    steps = quantity(growth.steps, "more step")
    text = f"Growth: {steps} of {quantity(growth.step, 'node')}, to {growth.max_nodes}; then {growth.ends_at} end"
    if growth.next_supernet:
        text += f", and each pool needs a {growth.next_subnet}, the fabric a supernet of {growth.next_supernet}"
    yield f"{text}."


def _job_networks(plan: Plan) -> str:
    """The networks of a job's pod: what it is attached to, or claims, or what it has anyway."""
    job = plan.workload
    if job.networks:
        return f"{len(job.networks)} interfaces, {job.networks[0].interface} to {job.networks[-1].interface}"
    if job.claims:
        return _claimed(job.claims[0])
    return "the host's own" if plan.cluster.profile is None else "none of the stack's"


def job_rows(plan: Plan) -> dict[str, str]:
    """A summary of what a job's pod needs."""
    job = plan.workload
    return {
        "requests": ", ".join(f"{name}: {amount}" for name, amount in list(job.resources.items())[:3])
        + (f", … ({len(job.resources)} resources)" if len(job.resources) > 3 else ""),
        "networks": _job_networks(plan),
        **({"racks": ", ".join(map(_rack, job.domains))} if job.domains else {}),
        "environment": ", ".join(f"{name}={value}" for name, value in job.environment.items())
        + exact_note(job.environment.values(), "; "),
        "files": ", ".join(f"{file.mount_path} from {file.config_map}" for file in job.files),
        "capability": ", ".join(job.capabilities),
        "/dev/shm": job.shared_memory.size_limit,
        **{f"note {number}": line for number, line in enumerate(job.advice, 1)},
    }


def _claimed(claim: PodClaim) -> str:
    gpus = f"{quantity(claim.gpus, 'GPU')} and " if claim.gpus else ""
    return f"{gpus}{quantity(claim.nics, 'NIC')} by a claim of the template {claim.template}"


def _rack(domain: PodDomain) -> str:
    return f"{domain.name} (a channel by {domain.namespace}/{domain.template}, {quantity(domain.nodes, 'node')})"


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
        for image, _, _ in find_images(content):
            # Without a version it is only a name in a chart's values.
            if ":" in image:
                named.setdefault(image, {})[holder] = None
    for image in sorted(named):
        yield image, ", ".join(named[image])


def findings_by_weight(plan: Plan) -> list[Finding]:
    """The plan's findings, the most severe first."""
    weights = list(Severity)
    return sorted(plan.findings, key=lambda entry: weights.index(entry.severity))


def not_asked_for_rows(plan: Plan) -> dict[str, str]:
    """The keys that the stack file could have and does not, each with what happens without it, and its page."""
    return {row.key: f"{row.without} ({row.page.partition('#')[0]})" for row in plan.not_asked_for}


def _s(things: Sized) -> str:
    return "s" if len(things) > 1 else ""


def number_text(value: int) -> str:
    """Exact up to a million, then as a power of two: IPv6 ranges have up to 38 digits."""
    return str(value) if value < 1_000_000 else f"about 2^{value.bit_length() - 1}"


def cost_rows(cost: PlannedCost) -> dict[str, str]:
    """The total, and every pool's part."""
    rows = {"cost an hour": cost.total_text}
    return rows | {f"cost of {pool.name}": _pool_cost(pool) for pool in cost.pools}


def _pool_cost(pool: PoolCost) -> str:
    if pool.all is None or pool.each is None:
        return f"unknown: {pool.unknown}; cluster.prices may state it"
    nodes = str(pool.nodes) if pool.nodes == pool.most_nodes else f"{pool.nodes} to {pool.most_nodes}"
    seen = f", {pool.as_of.isoformat()}" if pool.as_of is not None else ", no date"
    return f"{pool.all}: {nodes} x {pool.machine} at {pool.each} ({pool.source}{seen})"


_DOKS_ACCESS = {
    "token": "by the API token, which does not expire",
    "exec": "by doctl at every call",
    "raw": "DigitalOcean's own, which expires",
}


def cloud_rows(plan: Plan) -> dict[str, str]:
    """Name and description of all resources at a cloud; empty for an existing cluster."""
    if plan.cluster.oke is not None:
        return oke_rows(plan.cluster.oke)
    cloud = plan.cluster.doks
    return {} if cloud is None else _doks_rows(cloud)


def pool_bounds(plan: Plan, pool: str) -> str:
    """A pool's autoscaling, its construct, and whether an existing pool is adopted; empty if none of them applies."""
    if plan.cluster.oke is not None:
        return _oke_pool(plan.cluster.oke, pool)
    cloud = plan.cluster.doks
    found = [entry for entry in cloud.pools if entry.name == pool] if cloud is not None else []
    return "".join(_bounds(entry) for entry in found)


def _doks_rows(cloud: DoksResources) -> dict[str, str]:
    cluster, system = cloud.cluster, cloud.cluster.node_pool
    version = cluster.version if isinstance(cluster.version, str) else f"the newest {cloud.version_prefix.rstrip('.-')}"
    native = ", VPC-native" if cluster.cluster_subnet and cluster.service_subnet else ""
    rows = {
        "VPC": _vpc(cloud),
        "cluster": f"{cluster.name} in {cluster.region} of DigitalOcean, Kubernetes {version}{native}"
        + _taken_over(cluster.adopts),
        f"pool {system['name']}": f"{system['node_count']} x {system['size']}",
        "kubeconfig": _DOKS_ACCESS[cloud.kubeconfig_mode],
    }
    if cloud.listing is not None:
        project = cloud.project
        rows["project"] = f"{project.name}, a new one" if project else f"{cloud.listing.project}, which exists"
    return {**rows, "protected": "yes" if cloud.protect else "no: destroy and replacement are not refused"}


def _vpc(cloud: DoksResources) -> str:
    if cloud.vpc is None:
        return f"{cloud.vpc_id}, which exists and stays"
    return f"{cloud.vpc.name}, {cloud.vpc.ip_range or 'a range of its choice'}{_taken_over(cloud.vpc.adopts)}"


def _bounds(pool: PlannedDoksPool) -> str:
    scales = f", {pool.min_nodes} to {pool.max_nodes} nodes by automatic scaling" if pool.auto_scale else ""
    return scales + _taken_over(pool.adopts)


def _taken_over(identity: str | None) -> str:
    return f", taken over from {identity}" if identity else ""


_AT_ONCE = ", at the same time"
_CONSTRUCTS = {
    "cluster-network": "a cluster network",
    "compute-cluster": "a managed node pool in a compute cluster",
    "compute-cluster-instances": "single instances in a compute cluster",
    "instance-pool": "an instance pool, without RDMA",
    "gpu-memory-cluster": "GPU memory clusters",
}
_OKE_ACCESS = {
    "none": "none: from within the VCN",
    "bastion-host": "a bastion host, and behind it an operator host",
    "bastion-service": "Oracle's Bastion service",
}


def oke_rows(cloud: OkeResources) -> dict[str, str]:
    """Name and description of all resources at Oracle."""
    cluster, system, identity = cloud.cluster, cloud.system_pool, cloud.identity
    vcn = cloud.network.vcn
    kind = "enhanced" if cluster.type == "ENHANCED_CLUSTER" else "basic"
    endpoint = "public" if cluster.endpoint_config["is_public_ip_enabled"] else "private"
    sign_in = "a token of a secret" if cloud.kubeconfig.mode == "token" else "the OCI command line at every call"
    rows = {
        "VCN": f"{cluster.vcn_id}, which exists and stays"
        if vcn is None
        else f"{vcn.display_name}, {', '.join(vcn.cidr_blocks)}",
        "subnets": ", ".join(subnet.logical_name.removeprefix("subnet-") for subnet in cloud.network.subnets)
        or "none created",
        "cluster": f"{cluster.name} in {cloud.region} of Oracle, Kubernetes {cluster.kubernetes_version}, {kind}, "
        f"{endpoint} API server",
        "policies": f"{len(identity.reasons)} statements" if identity.policies else "an administrator's",
        "pool system": f"{system.node_config_details['size']} x {system.node_shape}",
    }
    rows |= {"kubeconfig": f"by {sign_in}", "access": _OKE_ACCESS[cloud.access.mode]}
    if cloud.adopts:
        rows["taken over"] = f"{', '.join(cloud.adopts)}; none of them is changed while cluster.adopt names it"
    return {**rows, "protected": "yes" if cloud.protect else "no: destroy and replacement are not refused"}


def _oke_pool(cloud: OkeResources, pool: str) -> str:
    found = next(entry for entry in cloud.pools if entry.pool == pool)
    bounds = found.bounds
    scales = "" if bounds is None else f", {bounds.min_nodes} to {bounds.max_nodes} nodes by automatic scaling"
    return f", {_CONSTRUCTS[found.placement]}{scales}"


def oke_steps(cloud: OkeResources) -> Iterator[StepRow]:
    """Title, created resources and following wait of each step, in order."""
    network, groups = cloud.network, cloud.identity.groups
    created = ["the VCN with its gateways"] if network.vcn else []
    created.append(quantity(len(network.subnets), "subnet"))
    created.append(quantity(len(network.security_groups), "security group"))
    yield "network", f"{', '.join(created)} with {quantity(len(network.security_rules), 'rule')}", ""
    early = [policy for policy in cloud.identity.policies if not _is_of_cluster(policy)]
    late = [policy for policy in cloud.identity.policies if _is_of_cluster(policy)]
    counted = [quantity(len(groups), "dynamic group")] if groups else []
    if groups or early:
        yield "identity", ", ".join([*counted, _statements(early)]), ""
    yield "cluster", cloud.cluster.name, f"active, {_minutes(cloud.cluster.create_timeout)} at most"
    if late:
        yield "identity", f"{_statements(late)} for this cluster alone", ""
    system = cloud.system_pool
    yield (
        "system pool",
        f"{system.node_config_details['size']} x {system.node_shape}",
        f"every node active, {_minutes(system.create_timeout)} at most",
    )
    for addon in cloud.addons:
        yield "add-on", addon.addon_name, "its installation"
    for image in cloud.images:
        if image.kind == "core.Image":
            yield "image", f"{image.logical_name} is imported", f"{_minutes(image.create_timeout)} at most"
    for number, pool in enumerate(cloud.pools):
        waits = "its machines, which then join by themselves" if pool.self_managed else "every node active"
        limit = _minutes(pool.records[-1].create_timeout)
        what = f"{pool.pool}: {pool.nodes} x {pool.shape}, {_CONSTRUCTS[pool.placement]}{_AT_ONCE * bool(number)}"
        yield "GPU pool", what, f"{waits}, {limit} at most"
    for beside in cloud.other_pools:
        what = f"{beside.name}: {beside.node_config_details['size']} x {beside.node_shape}{_AT_ONCE}"
        yield "other pool", what, f"every node active, {_minutes(beside.create_timeout)} at most"
    if cloud.access.mode != "none":
        yield "access", f"{_OKE_ACCESS[cloud.access.mode]}{_AT_ONCE}", ""


def _is_of_cluster(policy: PlannedPolicy) -> bool:
    return any(reference.ref == "cluster" for reference in policy.references)


def _statements(policies: list[PlannedPolicy]) -> str:
    return quantity(sum(len(policy.statements) for policy in policies), "statement")


def _minutes(timeout: str | None) -> str:
    return f"{(timeout or '').removesuffix('m')} minutes"


STEP_COLUMNS = ("step", "what", "then wait for")

StepRow = tuple[str, str, str]
"""A title, what is created, and what is then waited for; empty where it is ready when created."""


def step_rows(plan: Plan) -> Iterator[StepRow]:
    """What the cloud creates, then the plan's own steps; some run at the same time, which their rows say."""
    if plan.split is not None and plan.part == "platform":
        what = f"that of stack {plan.split.cluster_stack}, which is not changed"
        yield "cluster", what, "nothing: that stack is up, and as its file says, or this one is refused"
    if plan.cluster.doks is not None:
        yield from _doks_steps(plan.cluster.doks)
    if plan.cluster.oke is not None:
        yield from oke_steps(plan.cluster.oke)
    yield from ((words.title, words.what, words.waits) for step in plan.steps for words in step.words)


def _doks_steps(cloud: DoksResources) -> Iterator[StepRow]:
    if cloud.vpc is not None:
        yield "VPC", f"{_named(cloud.vpc)}: {cloud.vpc.ip_range or 'a range of its choice'}", ""
    cluster, system = cloud.cluster, cloud.cluster.node_pool
    what = f"{_named(cluster)} with pool {system['name']}: {system['node_count']} x {system['size']}"
    yield "cluster", what, f"running, {_minutes(cluster.create_timeout)} at most"
    for number, pool in enumerate(cloud.pools):
        what = f"{_named(pool)}: {pool.node_count} x {pool.size}{_AT_ONCE * bool(number)}"
        yield "GPU pool", what, f"every node running, {_minutes(pool.create_timeout)} at most"
    for pool in cloud.other_pools:
        what = f"{_named(pool)}: {pool.node_count} x {pool.size}{_AT_ONCE}"
        yield "other pool", what, f"every node running, {_minutes(pool.create_timeout)} at most"
    if cloud.listing is not None:
        listed = f"{cloud.listing.project}, which the cluster is listed under"
        yield "project", cloud.project.name if cloud.project else listed, ""


def _named(record: PlannedVpc | PlannedDoksCluster | PlannedDoksPool) -> str:
    return f"{record.name} (taken over)" if record.adopts else record.name
