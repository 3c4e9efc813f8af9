"""`gpu-fabric explain`: explain a rule, a variable of NCCL, or a key of the stack file."""

from __future__ import annotations

from typing import Annotated

import typer

from gpu_fabric.cli.conversation import Output, print_as, refuse
from gpu_fabric.cli.stack_choice import StackFile, named_stack, planning, stack_option
from gpu_fabric.findings import examples, rules


def known_names(incomplete: str) -> list[str]:
    """The rules and variables whose names begin with a text, for the shell's completion."""
    from gpu_fabric.catalog import catalog

    return [name for name in (*rules(), *catalog().nccl_variables) if name.startswith(incomplete)]


def explain(
    name: Annotated[
        str,
        typer.Argument(
            help="id of a rule, such as ADR001; a variable, such as NCCL_IB_HCA; or a key, such as mtu or fabric.mtu",
            autocompletion=known_names,
        ),
    ],
    stack: Annotated[str | None, stack_option("also show the variable's value in this stack")] = None,
    stack_file: StackFile = None,
    output: Output = "text",
) -> None:
    """Say what a rule holds, what a variable of NCCL is set to and why, or what a key of the stack file means."""
    choice = named_stack(stack, stack_file)
    known = name.upper()
    if known in rules():
        from gpu_fabric.report.pages.rule_explanation import rule_explanation

        example = {} if known not in examples() else examples()[known].model_dump(mode="json", by_alias=True)
        print_as(output, {**rules()[known].model_dump(mode="json", by_alias=True), **example}, rule_explanation(known))
        return
    # Here, since a rule needs no catalog.
    from gpu_fabric.catalog import catalog
    from gpu_fabric.report.pages.explanation import values_on_stack, variable_explanation

    variable = catalog().nccl_variables.get(known)
    if variable is None:
        _explain_key(name, output)
        return
    with planning(output) as progress:
        planned = None if choice is None else choice.plan(progress)
    document = variable.model_dump(mode="json", by_alias=True)
    if planned is not None:
        document["onStack"] = list(values_on_stack(variable, planned))
    print_as(output, document, variable_explanation(variable, planned))


def _explain_key(name: str, output: str) -> None:
    """Print every key of a name; refuse a name of nothing."""
    from gpu_fabric.report.pages.explanation import unknown_name
    from gpu_fabric.report.pages.key_explanation import key_explanation, keys_named, stack_keys

    found = keys_named(name)
    if not found:
        refuse(
            unknown_name(name, dict.fromkeys(key.path.rpartition(".")[2].removesuffix("[]") for key in stack_keys()))
        )
    print_as(output, [{**key._asdict(), "rules": list(key.rules)} for key in found], key_explanation(found))
