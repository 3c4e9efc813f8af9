"""A plan for people: the whole of it as text, or the summary that ends `make up`."""

from __future__ import annotations

from collections.abc import Sized

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fabric.plan import Plan
from fabric.plan_steps import steps
from fabric.report_cloud import cloud_rows, pool_bounds
from fabric.rules import Severity

_LINKS = {"ether": "RoCE on Ethernet", "infiniband": "InfiniBand"}
_MAKERS = {
    "node-image": "the node image",
    "daemon-set": "this stack's DaemonSet",
    "sriov-operator": "the SR-IOV operator",
    "externally-managed": "the nodes' provider, handed out by the SR-IOV operator",
}
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def plan_report(plan: Plan) -> RenderableType:
    """Everything the plan decides, on a screen or two."""
    return Group(
        _heading(f"Plan of stack {plan.stack}"),
        _overview(plan),
        _heading("Rails"),
        _rails(plan),
        _heading("Addresses"),
        _addresses(plan),
        _heading("Applied, in this order"),
        _order(plan),
        _heading("A job's pod carries"),
        _job(plan),
        *_findings(plan),
    )


def summary(plan: Plan, file: str, options: str = "") -> RenderableType:
    """What `make up` has brought up, and what to do next.

    `file` is the stack's, as seen from the project; `options` are what `make` was given beside the stack.
    """
    return Group(
        _heading(f"Stack {plan.stack} is up"),
        _overview(plan),
        _next_steps(plan, file, options),
    )


def print_report(report: RenderableType, console: Console | None = None) -> None:
    """Print to stdout; wide tables stay whole when the output is a file."""
    target = console or Console()
    if not target.is_terminal:
        target = Console(width=160, file=target.file, no_color=True)
    target.print(report)


def _heading(text: str) -> RenderableType:
    return Text(f"\n{text}", style="bold")


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column)
    return table


def _pairs(rows: dict[str, str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, value in rows.items():
        table.add_row(Text(name, style="dim"), value)
    return table


def _overview(plan: Plan) -> Table:
    choices, rows = plan.choices, cloud_rows(plan)
    for pool in plan.cluster.pools:
        counted = f"{pool.nodes} x {pool.shape}, {pool.gpus} GPUs, {pool.nics} RDMA NICs"
        rows[f"pool {pool.name}"] = counted + pool_bounds(plan, pool.name)
    resources = list(dict.fromkeys(rail.resource_name for rail in plan.rails if rail.resource_name is not None))
    advertised = f", resource{_s(resources)} {_span(resources)}" if resources else ""
    rows |= {
        "model": f"{choices.model} by {choices.manager}, release line {plan.release_line}",
        **({"functions": f"made by {_MAKERS[choices.virtual_functions]}"} if choices.virtual_functions else {}),
        "links": f"{_LINKS[choices.link_type]}, RDMA mode {choices.rdma_mode}",
        "rails": f"{len(plan.rails)}{advertised}",
        "networks": _networks(plan),
        "addresses": _address_summary(plan),
        **({"Multus": "by this stack, in kube-system"} if plan.multus else {}),
        "NCCL files": ", ".join(file.config_map for file in plan.nccl.files),
        "charts": ", ".join(
            f"{release.name} {release.chart.version}" + (" (stand-in)" if release.chart.path else "")
            for release in plan.releases
        )
        or "none",
    }
    return _pairs(rows)


def _networks(plan: Plan) -> str:
    names = list(dict.fromkeys(rail.network for rail in plan.rails if rail.network is not None))
    if not names:
        return "none: pods run on the host's own network"
    namespaces = plan.workload.namespaces
    lie = list(dict.fromkeys(network.namespace for network in plan.workload.networks if network.namespace is not None))
    injected = f" for pods of {', '.join(namespaces)}" if lie else ""
    return f"{_span(names)} in namespace{_s(lie or namespaces)} {', '.join(lie or namespaces)}{injected}"


def _address_summary(plan: Plan) -> str:
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


def _rails(plan: Plan) -> Table:
    table = _table("rail", "NIC", "RDMA device", "interface", "GPU", "resource", "network", "subnet")
    for rail in plan.rails:
        pool = plan.addresses.pool_of(rail.index)
        table.add_row(
            str(rail.index),
            rail.pci or "-",
            rail.rdma_device or "-",
            rail.interface or "-",
            "-" if rail.nearest_gpu is None else str(rail.nearest_gpu),
            rail.resource_name or "-",
            rail.network or "-",
            "-" if pool is None else str(pool.subnet),
        )
    return table


def _addresses(plan: Plan) -> RenderableType:
    addresses = plan.addresses
    if not addresses.pools:
        return Text(_address_summary(plan))
    table = _table("pool", "range", "gateway", "usable", "a node's share", "needed", "headroom", "serves")
    for pool in addresses.pools:
        own = pool.node_prefix_length is not None
        table.add_row(
            pool.name,
            str(pool.space),
            "none" if pool.gateway is None else f"{pool.gateway}{', one a node' if own else ''}",
            _number(pool.usable),
            f"/{pool.node_prefix_length}" if own else str(pool.addresses_per_node),
            _number(pool.needed),
            _number(pool.headroom),
            f"{pool.max_nodes} nodes",
        )
    return Group(table, _shares(plan), _proof(plan))


def _shares(plan: Plan) -> Text:
    """Where the first and the last node lie on the first and the last rail: enough to check a plan by eye."""
    addresses, lines = plan.addresses, Text()
    numbers = addresses.numbers
    names = addresses.node_names or tuple(str(number) for number in numbers)
    for pool in dict.fromkeys((addresses.pools[0], addresses.pools[-1])):
        shares = [f"node {names[0]} {pool.share_text(numbers[0])}"]
        if len(names) > 1:
            shares.append(f"node {names[-1]} {pool.share_text(numbers[-1])}")
        lines.append(f"{pool.name}: {', '.join(shares)}\n")
    return lines


def _proof(plan: Plan) -> Text:
    proof, growth, lines = plan.addresses.proof, plan.addresses.proof.growth, Text()
    disjoint = ", ".join(f"{entry.name} {entry.range}" for entry in proof.disjoint_from) or "nothing stated"
    extra = [f"{proof.spare_nodes} spare"] if proof.spare_nodes else []
    extra += [f"{proof.surge_nodes} surge"] if proof.surge_nodes else []
    nodes = _count(proof.nodes, "node") + (f" and {' and '.join(extra)}" if extra else "")
    lines.append(f"Proved: {nodes} fit; pools are disjoint from each other and from: {disjoint}.\n")
    for limit in proof.limits:
        lines.append(f"{limit.name.capitalize()}: {limit.value} of at most {limit.limit} {limit.unit}.\n")
    steps = _count(growth.steps, "more step")
    lines.append(f"Growth: {steps} of {_count(growth.step, 'node')}, to {growth.max_nodes}; then {growth.ends_at} end")
    if growth.next_supernet:
        lines.append(f", and each pool needs a {growth.next_subnet}, the fabric a supernet of {growth.next_supernet}")
    lines.append(".")
    return lines


def _order(plan: Plan) -> Table:
    table = _table("step", "what", "then wait for")
    for step in steps(plan):
        table.add_row(*step)
    return table


def _job(plan: Plan) -> Table:
    job = plan.workload
    return _pairs(
        {
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
    )


def _findings(plan: Plan) -> list[RenderableType]:
    if not plan.findings:
        return []
    parts: list[RenderableType] = [_heading("Findings")]
    weights = list(Severity)
    for entry in sorted(plan.findings, key=lambda entry: weights.index(entry.severity)):
        severity = (entry.severity.value, _COLOURS[entry.severity])
        parts.append(Text.assemble(severity, f" {entry.id} {entry.path}: {entry.message}"))
        parts.append(Padding(Text(f"-> {entry.remedy}"), (0, 0, 0, 4)))
    return parts


def _kubectl(plan: Plan) -> str:
    kubeconfig = plan.cluster.kubeconfig
    if kubeconfig is None:
        return "kubectl --kubeconfig <kubeconfig>"
    # The sandbox lays a kubectl of its own beside its kubeconfig.
    folder = kubeconfig.rpartition("/")[0]
    return f"{folder}/bin/kubectl" if folder.endswith(".sandbox") else f"kubectl --kubeconfig {kubeconfig}"


def _next_steps(plan: Plan, file: str, options: str) -> RenderableType:
    stack = f"STACK={plan.stack}{options}"
    return Group(
        _heading("Next"),
        _pairs(
            {
                "see the nodes": f"{_kubectl(plan)} get nodes",
                "see what a job must carry": f"make outputs {stack}",
                "see the whole plan": f"make plan STACK={plan.stack}",
                "change something": f"edit {file}, then make preview {stack}",
                "take it down": f"make destroy {stack}",
            }
        ),
    )


def _s(things: Sized) -> str:
    return "s" if len(things) > 1 else ""


def _count(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number} {noun if number == 1 else plural}"


def _number(value: int) -> str:
    """Exact up to a million, then as a power of two: IPv6 ranges have up to 38 digits."""
    return str(value) if value < 1_000_000 else f"about 2^{value.bit_length() - 1}"


def _span(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
