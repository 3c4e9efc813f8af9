"""`gpu-fabric explain`: explain a rule, a variable of NCCL, or a key of the stack file."""

from __future__ import annotations

from typing import Annotated

import typer

from gpu_fabric.cli.conversation import AsJson, print_json, refuse
from gpu_fabric.cli.stack_choice import StackFile, named_stack, planning, stack_option
from gpu_fabric.findings import examples, former_ids, rules


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
    as_json: AsJson = False,
) -> None:
    """Say what a rule holds, what a variable of NCCL is set to and why, or what a key of the stack file means."""
    choice = named_stack(stack, stack_file)
    asked = name.upper()
    known = former_ids().get(asked, asked)
    if known in rules():
        if as_json:
            example = {} if known not in examples() else examples()[known].model_dump(mode="json", by_alias=True)
            print_json({**rules()[known].model_dump(mode="json", by_alias=True), **example})
        else:
            from gpu_fabric.report.pages.rule_explanation import rule_explanation

            renamed = [f"{asked} is {known} now."] if asked != known else []
            print("\n".join([*renamed, *rule_explanation(known)]))
        return
    # Here, since a rule needs no catalog.
    from gpu_fabric.catalog import catalog
    from gpu_fabric.report.pages.explanation import values_on_stack, variable_explanation

    variable = catalog().nccl_variables.get(known)
    if variable is None:
        _explain_key(name, as_json=as_json)
        return
    with planning(as_json=as_json) as progress:
        planned = None if choice is None else choice.plan(progress)
    if as_json:
        document = variable.model_dump(mode="json", by_alias=True)
        print_json(document if planned is None else {**document, "onStack": list(values_on_stack(variable, planned))})
    else:
        print("\n".join(variable_explanation(variable, planned)))


def _explain_key(name: str, *, as_json: bool) -> None:
    """Print every key of a name; refuse a name of nothing."""
    from gpu_fabric.report.pages.explanation import unknown_name
    from gpu_fabric.report.pages.key_explanation import key_explanation, keys_named, stack_keys

    found = keys_named(name)
    if not found:
        refuse(
            unknown_name(name, dict.fromkeys(key.path.rpartition(".")[2].removesuffix("[]") for key in stack_keys()))
        )
    if as_json:
        print_json([{**key._asdict(), "rules": list(key.rules)} for key in found])
    else:
        print("\n".join(key_explanation(found)))
