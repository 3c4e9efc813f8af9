"""`gpu-fabric contract`: what jobs of a stack's fabric carry, as JSON or in the form of another system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Annotated

import typer
import yaml

from gpu_fabric.attach.libraries import library_environment, refuse_unknown_libraries
from gpu_fabric.attach.racks import NO_RACK, of_rack, unknown_rack
from gpu_fabric.base.yaml_files import LineDumper
from gpu_fabric.cli.conversation import print_json, refuse
from gpu_fabric.cli.stack_choice import ContractFile, Groups, StackFile, StackName, chosen_contract
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.consumer import Consumer, ConsumerForm, consumer_form, form_of
from gpu_fabric.findings import Finding
from gpu_fabric.findings.finding import refusal

_WIDTH = 120


def contract(
    consumer: Annotated[
        Consumer | None, typer.Option("--for", help="print it in YAML, as this system takes it; as JSON if left out")
    ] = None,
    stack: StackName = None,
    stack_file: StackFile = None,
    contract: ContractFile = None,
    group: Groups = None,
    library: Annotated[
        list[str] | None,
        typer.Option(
            "--library",
            metavar="NAME",
            help="with --for: library other than NCCL whose settings are printed (ucx, nixl, nvshmem, deepep, "
            "mooncake, gloo; none), instead of those by which the system's pods send as a rule; more than once",
        ),
    ] = None,
    rack: Annotated[
        str | None,
        typer.Option(
            "--rack", metavar="NAME", help="with --for: rack whose nodes the pods use by NVLink, or none for the rails"
        ),
    ] = None,
) -> None:
    """Print what jobs of a stack's fabric carry: the contract, or values and configuration of a system made of it."""
    known = chosen_contract(stack, stack_file, contract, group or ())
    if consumer is None:
        if library:
            refuse("the contract has the settings of all libraries: leave out --library, or write --for")
        if rack:
            refuse("the contract has all racks: leave out --rack, or write --for")
        print_json(known)
        return
    wrong: list[Finding] = []
    refuse_unknown_libraries(library or (), wrong)
    if wrong:
        refuse(refusal(wrong, "--library", "printed"))
    if unknown := unknown_rack(known, rack):
        refuse("; ".join(unknown))
    names = library or form_of(consumer).libraries
    more = library_environment(known, names)
    form = consumer_form(consumer, of_rack(known, rack), more)
    sentences = (*_libraries(names if more else ()), *_racks(known, rack))
    comment = "".join(f"{line}\n" for line in _comment(form, known.stack, sentences))
    print_document(comment + yaml.dump(form.form, Dumper=LineDumper, sort_keys=False, width=_WIDTH))


def _libraries(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"It has the settings of {' and '.join(names)}, with what those send by; --library changes that."


def _racks(contract: FabricContract, rack: str | None) -> Iterator[str]:
    racks = [domain.name for domain in contract.domains]
    if not racks:
        return
    chosen = rack or racks[0]
    others = [*(name for name in racks if name != chosen), *((NO_RACK,) if chosen != NO_RACK else ())]
    if chosen == NO_RACK:
        yield f"Its pods use the rails, without NVLink between nodes; --rack takes {' or '.join(others)}."
    else:
        yield f"Its pods have the channel of {chosen} and run in this rack; --rack takes {' or '.join(others)} as well."


def _comment(form: ConsumerForm, stack: str, more: Sequence[str]) -> Iterator[str]:
    """What a reader of the form must know, as a comment before it."""
    sentences = [f"The fabric of stack {stack} for {form.title}: for {form.into}.", *more]
    sentences += [f"{word}: {meaning}." for word, meaning in form.replace.items()]
    sentences += [f"{note[0].upper()}{note[1:]}." for note in form.notes]
    for sentence in (*sentences, f"Source of the form: {form.source}."):
        yield from wrap(sentence, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
