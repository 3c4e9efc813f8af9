"""`gpu-fabric krm`: attach as a function that kustomize and kpt run."""

from __future__ import annotations

from pathlib import Path

import typer

from gpu_fabric.attach.groups import contract_for
from gpu_fabric.attach.text.resource_list import read_resource_list
from gpu_fabric.cli.conversation import refuse, say, text_of
from gpu_fabric.cli.stack_choice import chosen_contracts
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.findings import InputError

_INPUT = "standard input"


def krm() -> None:
    """Attach the fabric as a KRM function: a ResourceList on standard input, the same with results on standard output.

    functionConfig is a ConfigMap, whose data has stack, stackFile or contract, and group, containers, namespace, queue,
    skip, claim.
    """
    try:
        given = read_resource_list(text_of("-"))
        config = given.config()
        if config.contract == "-":
            refuse("functionConfig.data.contract: standard input is the ResourceList; name a file")
        file = None if config.stack_file is None else Path(config.stack_file)
        contracts = chosen_contracts(config.stack, file, config.contract)
        answer = given.attach(contract_for(contracts, config.groups, given.content["items"]), config.options)
    except InputError as error:
        refuse(f"{_INPUT}: {error}; nothing was attached")
    print_document(answer.text)
    if answer.refused is not None:
        say(answer.refused.explanation(_INPUT))
        raise typer.Exit(1)
