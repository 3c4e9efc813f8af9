"""`gpu-fabric admission`: print policies with which the API server attaches the fabric."""

from __future__ import annotations

from typing import Annotated

import typer
import yaml

from gpu_fabric.attach.admission import MutatingVersion, admission_policies
from gpu_fabric.base.yaml_files import LineDumper
from gpu_fabric.cli.conversation import refuse
from gpu_fabric.cli.stack_choice import ContractFile, Groups, StackFile, StackName, chosen_contracts
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.contract.several import chosen_of
from gpu_fabric.findings import InputError


def admission(
    stack: StackName = None,
    stack_file: StackFile = None,
    contract: ContractFile = None,
    group: Groups = None,
    api_version: Annotated[
        MutatingVersion,
        typer.Option(help="of mutating policies: v1 in Kubernetes 1.36, v1beta1 from 1.34, v1alpha1 from 1.32"),
    ] = "v1",
) -> None:
    """Print admission policies that attach the fabric to labelled pods, and warn of pods without it."""
    contracts = chosen_contracts(stack, stack_file, contract)
    try:
        known = chosen_of(contracts, group or ())
    except InputError as error:
        refuse(str(error))
    if any(claim.gpus for claim in known.claims):
        refuse(
            "pods of this fabric get their GPUs by claims, so that nothing in a pod says that it is for the fabric; "
            "attach manifests instead (gpu-fabric attach), or write claims.gpus: plugin"
        )
    # A pod that says nothing of its nodes would get any one of them.
    others = [name for name, one in contracts.items() if one.purpose is None and one.fabric != known.fabric]
    if shared := [name for name in others if {*contracts[name].namespaces} & {*known.namespaces}]:
        refuse(
            f"pods of {', '.join(known.namespaces)} may be of this fabric or of {', '.join(shared)}, and a policy "
            "cannot choose: give each compute fabric namespaces of its own in the stack, or attach manifests by --group"
        )
    policies = admission_policies(known, api_version)
    print_document(yaml.dump_all(policies, Dumper=LineDumper, sort_keys=False, allow_unicode=True, width=10**9))
