"""`gpu-fabric drift`: a stack that was up against its cluster as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpu_fabric.base.clock import utc
from gpu_fabric.cli.conversation import Output, print_as, refuse
from gpu_fabric.cli.kubectl import ClusterError
from gpu_fabric.cli.live_cluster import (
    STANDARD_INPUT,
    BundleFile,
    Context,
    cluster_of,
    kubeconfig_file,
    read_bundle,
    read_cluster,
)
from gpu_fabric.cli.stack_choice import StackArgument, StackFile, StackName, chosen_stack, plan_stack
from gpu_fabric.report.terminal_progress import show_progress


def drift(
    named: StackArgument = None,
    stack: StackName = None,
    stack_file: StackFile = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(help="the kubeconfig, - for standard input; by default the stack file's, where it names a file"),
    ] = None,
    context: Context = None,
    bundle_file: BundleFile = None,
    output: Output = "text",
) -> None:
    """Compare a stack that was up with its cluster, and change nothing: objects, releases, addresses, nodes."""
    choice, bundle = chosen_stack(stack, stack_file, named), read_bundle(bundle_file)
    document, spec, plan = plan_stack(choice, output, bundle)
    if plan.part == "cluster":
        refuse(f"stack {plan.stack} creates a cluster only; compare the stack with part platform with that cluster")
    if kubeconfig == STANDARD_INPUT:
        # It is the stack's own, whose file may have several contexts.
        context = context or plan.cluster.context
    from gpu_fabric.findings import Severity
    from gpu_fabric.live.addresses import STATE_GRACE_S
    from gpu_fabric.live.drift_and_damages import drift as drift_of
    from gpu_fabric.live.stack import Stack
    from gpu_fabric.live.text import preflight_document, preflight_lines

    with kubeconfig_file(kubeconfig) as file:
        cluster = bundle.cluster if bundle else read_cluster(cluster_of(spec, document.root, file, context))
        overdue = bundle.overdue if bundle else utc(ago=STATE_GRACE_S)
        try:
            with show_progress() as progress:
                progress.step("reading the cluster")
                found = drift_of(Stack(spec, plan), cluster, overdue)
                lines = list(preflight_lines(plan.stack, cluster, found, "no drift"))
                document_of_all = preflight_document(plan.stack, cluster, found)
        except ClusterError as error:
            refuse(str(error))
    print_as(output, document_of_all, lines)
    if any(entry.severity is not Severity.NOTE for entry in found):
        raise typer.Exit(1)
