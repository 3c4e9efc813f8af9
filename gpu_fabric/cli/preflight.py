"""`gpu-fabric preflight`: a stack's plan against its cluster as it is, before `up` changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpu_fabric.cli.conversation import Output, print_as, refuse
from gpu_fabric.cli.kubectl import ClusterError
from gpu_fabric.cli.live_cluster import BundleFile, Context, Kubeconfig, cluster_of, read_bundle, read_cluster
from gpu_fabric.cli.programs import AccountError, CloudCommand
from gpu_fabric.cli.stack_choice import StackArgument, StackFile, StackName, chosen_stack, plan_stack
from gpu_fabric.report.terminal_progress import show_progress

if TYPE_CHECKING:
    from gpu_fabric.findings import Finding

# The command line of each cloud, by the provider's name in a stack file.
_PROGRAMS = {"doks": "doctl", "oke": "oci"}


def preflight(
    named: StackArgument = None,
    stack: StackName = None,
    stack_file: StackFile = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    account: Annotated[
        bool, typer.Option("--account", help="compare with the account at the cloud, by `doctl` or `oci`")
    ] = False,
    bundle_file: BundleFile = None,
    output: Output = "text",
) -> None:
    """Compare a plan with its cluster or its account as it is, and change nothing: what `up` would run into."""
    choice, bundle = chosen_stack(stack, stack_file, named), read_bundle(bundle_file)
    document, spec, plan = plan_stack(choice, output, bundle)
    if account and spec.cluster.provider not in _PROGRAMS:
        refuse("--account is for a cluster that the stack creates; this one exists")
    # An account can be asked before there is a cluster.
    with_cluster = not account or kubeconfig is not None or context is not None
    if plan.part == "cluster" and with_cluster:
        refuse(f"stack {plan.stack} creates a cluster only; compare the stack with part platform with that cluster")
    kubectl = cluster_of(spec, document.root, kubeconfig, context) if with_cluster and bundle is None else None
    from gpu_fabric.live.account_judging import account_differences
    from gpu_fabric.live.judging import differences
    from gpu_fabric.live.stack import Stack
    from gpu_fabric.live.text import preflight_document, preflight_lines

    cluster = bundle.cluster if bundle else None if kubectl is None else read_cluster(kubectl)
    found: tuple[Finding, ...] = ()
    try:
        with show_progress() as progress:
            if account:
                progress.step("reading the account")
                ask = CloudCommand(_PROGRAMS[spec.cluster.provider])
                found = tuple(account_differences(spec, plan, ask))
            if cluster is not None:
                progress.step("reading the cluster")
                found = (*found, *differences(Stack(spec, plan), cluster))
    except (AccountError, ClusterError) as error:
        refuse(str(error))
    print_as(output, preflight_document(plan.stack, cluster, found), preflight_lines(plan.stack, cluster, found))
    if found:
        raise typer.Exit(1)
