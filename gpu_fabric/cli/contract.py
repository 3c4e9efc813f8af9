"""`gpu-fabric contract`: what jobs of a stack's fabric carry, as JSON or in the form of another system."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Annotated

import typer
import yaml

from gpu_fabric.base.yaml_files import LineDumper
from gpu_fabric.cli.conversation import print_json
from gpu_fabric.cli.stack_choice import ContractFile, Groups, StackFile, StackName, chosen_contract
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.contract.consumer import Consumer, ConsumerForm, consumer_form

_WIDTH = 120


def contract(
    consumer: Annotated[
        Consumer | None, typer.Option("--for", help="print it in YAML, as this system takes it; as JSON if left out")
    ] = None,
    stack: StackName = None,
    stack_file: StackFile = None,
    contract: ContractFile = None,
    group: Groups = None,
) -> None:
    """Print what jobs of a stack's fabric carry: the contract, or values and configuration of a system made of it."""
    known = chosen_contract(stack, stack_file, contract, group or ())
    if consumer is None:
        print_json(known)
        return
    form = consumer_form(consumer, known)
    comment = "".join(f"{line}\n" for line in _comment(form, known.stack))
    print_document(comment + yaml.dump(form.form, Dumper=LineDumper, sort_keys=False, width=_WIDTH))


def _comment(form: ConsumerForm, stack: str) -> Iterator[str]:
    """What a reader of the form must know, as a comment before it."""
    sentences = [f"The fabric of stack {stack} for {form.title}: for {form.into}."]
    sentences += [f"{word}: {meaning}." for word, meaning in form.replace.items()]
    sentences += [f"{note[0].upper()}{note[1:]}." for note in form.notes]
    for sentence in (*sentences, f"Source of the form: {form.source}."):
        yield from wrap(sentence, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
