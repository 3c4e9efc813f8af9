"""`gpu-fabric explain`: explain a pasted error text, a rule, a variable of a library, or a key of the stack file."""

from __future__ import annotations

from typing import Annotated

import typer

from gpu_fabric.cli.conversation import Output, print_as, refuse, text_of
from gpu_fabric.cli.stack_choice import StackFile, named_stack, planning, stack_option
from gpu_fabric.findings import examples, former_ids, rules
from gpu_fabric.symptoms import recognised, symptoms


def known_names(incomplete: str) -> list[str]:
    """The rules and variables whose names begin with a text, for the shell's completion."""
    from gpu_fabric.catalog import catalog

    return [name for name in (*rules(), *catalog().variables) if name.startswith(incomplete)]


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|RULE|VARIABLE|KEY",
            help="an error text in quotes, or - for standard input; id of a rule, such as ADR001; a variable, such as "
            "NCCL_IB_HCA or UCX_TLS; or a key, such as mtu or fabric.mtu",
            autocompletion=known_names,
        ),
    ],
    stack: Annotated[str | None, stack_option("also show the variable's value in this stack")] = None,
    stack_file: StackFile = None,
    output: Output = "text",
) -> None:
    """Say what an error text means and what mends it, what a rule holds, what a variable of NCCL, UCX
    and other libraries is set to and why, or what a key of the stack file means.
    """
    choice = named_stack(stack, stack_file)
    if name == "-" or len(name.split()) > 1:
        _explain_text(text_of(name) if name == "-" else name, output)
        return
    asked = name.upper()
    known = former_ids().get(asked, asked)
    if known in rules():
        from gpu_fabric.report.pages.rule_explanation import ExplainedRule, rule_explanation

        renamed = [f"{asked} is {known} now."] if asked != known else []
        example = dict(iter(examples()[known])) if known in examples() else {}
        rule = ExplainedRule.model_construct(**dict(rules()[known]), **example)
        print_as(output, rule, [*renamed, *rule_explanation(known)])
        return
    # Here, since a rule needs no catalog.
    from gpu_fabric.catalog import catalog
    from gpu_fabric.report.pages.explanation import ExplainedVariable, values_on_stack, variable_explanation

    variable = catalog().variables.get(known)
    if variable is None:
        _explain_key(name, output)
        return
    with planning(output) as progress:
        planned = None if choice is None else choice.plan(progress)
    on_stack = None if planned is None else tuple(values_on_stack(variable, planned))
    document = ExplainedVariable.model_construct(**dict(variable), on_stack=on_stack)
    print_as(output, document, variable_explanation(variable, planned))


def _explain_key(name: str, output: str) -> None:
    """Print every key of a name; refuse a name of nothing."""
    from gpu_fabric.report.pages.explanation import unknown_name
    from gpu_fabric.report.pages.key_explanation import ExplainedKey, key_explanation, keys_named, stack_keys

    found = keys_named(name)
    if not found and (row := symptoms().get(name)):
        from gpu_fabric.report.pages.symptom_explanation import symptom_explanation

        print_as(output, row, symptom_explanation(row))
        return
    if not found and recognised(name):
        _explain_text(name, output)
        return
    if not found:
        refuse(
            unknown_name(name, dict.fromkeys(key.path.rpartition(".")[2].removesuffix("[]") for key in stack_keys()))
        )
    keys = [ExplainedKey(**key._asdict(), rules=key.rules) for key in found]
    print_as(output, keys, key_explanation(found))


def _explain_text(text: str, output: str) -> None:
    """Print every symptom of a text; end with status 1 where the table knows none, and say where to look."""
    from gpu_fabric.report.pages.symptom_explanation import (
        ExplainedText,
        SeenSymptom,
        named_rules,
        subjects_of,
        text_explanation,
        unknown_text,
    )

    found, named = recognised(text), named_rules(text)
    document = ExplainedText(
        symptoms=tuple(
            SeenSymptom.model_construct(**dict(entry.symptom), seen=entry.seen, line=entry.line) for entry in found
        ),
        rules=tuple(named),
        speaks_of=tuple(subject.name for subject in subjects_of(text)),
    )
    if not found and not named:
        print_as(output, document, unknown_text(text))
        raise typer.Exit(1)
    print_as(output, document, text_explanation(found, text))
