"""A plan for people: the whole of it as text, or the summary that ends `make up`."""

from __future__ import annotations

from collections.abc import Sized

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fabric.plan import Plan
from fabric.rules import Severity

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


def summary(plan: Plan) -> RenderableType:
    """What `make up` has brought up, and what to do next."""
    return Group(
        _heading(f"Stack {plan.stack} is up"),
        _overview(plan),
        _next_steps(plan),
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
    proof, rows = plan.addresses.proof, {}
    for pool in plan.cluster.pools:
        rows[f"pool {pool.name}"] = f"{pool.nodes} x {pool.shape}, {pool.gpus} GPUs, {pool.nics} RDMA NICs"
    resources = sorted({rail.resource_name for rail in plan.rails})
    rows |= {
        "model": f"{plan.model} by {plan.manager}, release line {plan.release_line}",
        "rails": f"{len(plan.rails)}, device-plugin resource{_s(resources)} {_span(resources)}",
        "networks": f"{_span(sorted({rail.network for rail in plan.rails}))} in namespace"
        f"{_s(plan.workload.namespaces)} {', '.join(plan.workload.namespaces)}",
        "pools": f"{len(plan.addresses.pools)} of {plan.addresses.pools[0].addresses_per_node} "
        f"address{'es' if plan.addresses.pools[0].addresses_per_node > 1 else ''} a node "
        f"out of {plan.addresses.supernet}, room for {proof.max_nodes} nodes",
        "NCCL files": ", ".join(file.config_map for file in plan.nccl.files),
        "charts": ", ".join(
            f"{release.name} {release.chart.version}" + (" (stand-in)" if release.chart.path else "")
            for release in (plan.gpu_operator, plan.network_operator)
        ),
    }
    return _pairs(rows)


def _rails(plan: Plan) -> Table:
    table = _table("rail", "NIC", "RDMA device", "interface", "GPU", "resource", "network", "subnet")
    for rail in plan.rails:
        pool = plan.addresses.pool_of(rail.index)
        table.add_row(
            str(rail.index),
            rail.pci,
            rail.rdma_device,
            rail.interface,
            str(rail.nearest_gpu),
            rail.resource_name,
            rail.network,
            str(pool.subnet),
        )
    return table


def _addresses(plan: Plan) -> RenderableType:
    table = _table("pool", "subnet", "gateway", "usable", "per node", "needed", "headroom", "serves")
    for pool in plan.addresses.pools:
        table.add_row(
            pool.name,
            str(pool.subnet),
            str(pool.gateway or "none"),
            str(pool.usable),
            str(pool.addresses_per_node),
            str(pool.needed),
            str(pool.headroom),
            f"{pool.max_nodes} nodes",
        )
    proof = plan.addresses.proof
    disjoint = ", ".join(f"{entry.name} {entry.range}" for entry in proof.disjoint_from) or "nothing stated"
    nodes = f"{proof.nodes} nodes" + (f" and {proof.spare_nodes} spare" if proof.spare_nodes else "")
    lines = Text()
    lines.append(f"Proved: {nodes} fit; pools are disjoint from each other and from: {disjoint}.\n")
    lines.append(f"Beyond {proof.max_nodes} nodes each pool needs a {proof.next_subnet}")
    lines.append(f", and so the fabric a supernet of {proof.next_supernet} or larger.")
    return Group(table, lines)


def _order(plan: Plan) -> Table:
    table = _table("step", "what", "then wait for")
    gpu, network = plan.gpu_operator, plan.network_operator
    table.add_row("namespaces", ", ".join(entry.name for entry in plan.namespaces), "")
    table.add_row(
        "GPU Operator",
        f"chart {gpu.chart.name} {gpu.chart.version} in {gpu.namespace}",
        f"its pods, and {plan.gpu_operator_ready.name} {_condition(plan.gpu_operator_ready.wait_for)}",
    )
    beside = "" if plan.network_operator_needs_nfd else ", at the same time"
    table.add_row(
        "Network Operator",
        f"chart {network.chart.name} {network.chart.version} in {network.namespace}{beside}",
        "its pods",
    )
    table.add_row("policy", plan.policy.name, _condition(plan.policy.wait_for))
    table.add_row("IP pools", f"{len(plan.ip_pools)} {plan.ip_pools[0].object.kind}", "")
    table.add_row("networks", f"{len(plan.networks)} {plan.networks[0].object.kind}", "")
    table.add_row("NCCL files", f"{len(plan.nccl_config_maps)} ConfigMap{_s(plan.nccl_config_maps)}", "")
    return table


def _condition(wait_for: str | None) -> str:
    return "" if wait_for is None else wait_for.removeprefix("jsonpath=")


def _job(plan: Plan) -> Table:
    job = plan.workload
    return _pairs(
        {
            "requests": ", ".join(f"{name}: {amount}" for name, amount in list(job.resources.items())[:3])
            + (f", … ({len(job.resources)} resources)" if len(job.resources) > 3 else ""),
            "networks": f"{len(job.networks)} interfaces, {job.networks[0].interface} to {job.networks[-1].interface}",
            "environment": ", ".join(f"{name}={value}" for name, value in job.environment.items()),
            "files": ", ".join(f"{file.mount_path} from {file.config_map}" for file in job.files),
            "capability": ", ".join(job.capabilities),
            "/dev/shm": job.shared_memory.size_limit,
        }
    )


def _findings(plan: Plan) -> list[RenderableType]:
    if not plan.findings:
        return []
    parts: list[RenderableType] = [_heading("Findings")]
    for entry in plan.findings:
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


def _next_steps(plan: Plan) -> RenderableType:
    name = plan.stack
    return Group(
        _heading("Next"),
        _pairs(
            {
                "see the nodes": f"{_kubectl(plan)} get nodes",
                "see what a job must carry": f"make outputs STACK={name}",
                "see the whole plan": f"make plan STACK={name}",
                "change something": f"edit Pulumi.{name}.yaml, then make preview STACK={name}",
                "take it down": f"make destroy STACK={name}",
            }
        ),
    )


def _s(things: Sized) -> str:
    return "s" if len(things) > 1 else ""


def _span(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
