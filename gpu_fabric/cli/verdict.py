"""`gpu-fabric verdict`: compare a result file of nccl-tests with the bar of a fabric, without a cluster."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from gpu_fabric.base.user_files import argument_content
from gpu_fabric.cli.conversation import Output, print_as, refuse, refuse_stack
from gpu_fabric.cli.plan import plan_document
from gpu_fabric.cli.stack_choice import StackChoice, StackFile, known_groups, named_stack, stack_option
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.nccl.busbw import BarUnknownError, Operation
from gpu_fabric.nccl.verdict import signing
from gpu_fabric.nccl.verdict.bundle import BundleError, is_bundle, read_bundle
from gpu_fabric.nccl.verdict.judging import judge, judge_bundle
from gpu_fabric.nccl.verdict.report import Verdict, verdict_lines
from gpu_fabric.nccl.verdict.result import Expectation, ResultError
from gpu_fabric.nccl.verdict.statement import (
    PLAN,
    Content,
    Statement,
    StatementError,
    envelope_line,
    read_envelope,
    read_statement,
    statement_of,
)
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.prepare import prepare
from gpu_fabric.report.terminal_progress import show_progress
from gpu_fabric.spec.load import validate
from gpu_fabric.spec.stack_text import StackDocument

SIGNED = "verdict.intoto.jsonl"
"""The file of a signed verdict, where the user names no other."""

# A log has the lines of every rank: thousands of them in a large run.
_MOST_OF_A_LOG = 2 << 30


def verdict(
    result: Annotated[Path | None, typer.Argument(help="what nccl-tests wrote with -J FILE, or results.tar.gz")] = None,
    stack: Annotated[str | None, stack_option("the stack whose fabric was measured")] = None,
    stack_file: StackFile = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="FABRIC",
            help="which of the stack's fabrics was measured",
            autocompletion=known_groups,
        ),
    ] = None,
    bar: Annotated[float | None, typer.Option("--bar", help="GB/s to reach, instead of the derived bar")] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", min=2, help="nodes that must have taken part")] = None,
    log: Annotated[Path | None, typer.Option("--log", help="the run's output with NCCL_DEBUG=INFO")] = None,
    operation: Annotated[Operation, typer.Option("--operation", help="what must have run")] = Operation.ALL_REDUCE,
    sign: Annotated[
        str | None,
        typer.Option("--sign", metavar="KEY", help="sign the verdict with this private key: a PEM file, or env:NAME"),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help=f"file of the signed verdict; {SIGNED}")] = None,
    verify: Annotated[
        Path | None, typer.Option("--verify", metavar="FILE", help="verify this signed verdict instead of judging")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="PEM file of the public key that must have signed")] = None,
    output: Output = "text",
) -> None:
    """Judge a result of nccl-tests: pass or fail, with every reason, and the bar explained."""
    if verify is not None:
        if sign is not None or out is not None or bar is not None or log is not None or nodes is not None:
            refuse("--verify takes --key, a result and a stack; leave the other options out")
        if key is None:
            refuse("--verify: name the public key of the signer with --key")
        _verify(verify, key, result, named_stack(stack, stack_file), output)
        return
    if key is not None or (out is not None and sign is None):
        refuse("--key belongs to --verify, and --out to --sign")
    if result is None:
        refuse("Missing argument RESULT: what nccl-tests wrote with -J FILE, or results.tar.gz")
    if bar is not None and not (math.isfinite(bar) and bar > 0):
        refuse(f"--bar {bar:g}: give GB/s, a number above 0")
    choice = named_stack(stack, stack_file)
    if choice is None and bar is None:
        refuse("no bar: name the stack whose fabric was measured with -s or -f, or give --bar in GB/s")
    try:
        with show_progress() as progress:
            document = None if choice is None else choice.read()
            plan = None if document is None else prepare(document, for_up=False, progress=progress).plan
            expected = _expectation(document, plan, group, nodes, bar, operation)
        data = argument_content(result)
        judged = _judge_file(data, expected, log)
        if sign is not None:
            write_signed(judged, Content(result.name, data), _content(plan), sign, out or Path(SIGNED))
    except OSError as error:
        refuse(f"{error.filename}: {error.strerror}")
    except BarUnknownError as error:
        refuse(f"no bar: {error}; give it with --bar, in GB/s")
    except (ResultError, BundleError) as error:
        refuse(f"{str(result).encode('utf-8', 'backslashreplace').decode()}: {error}")
    except ConfigurationError as error:
        refuse_stack(error, output)
    _print(judged, (), output)


def _print(judged: Verdict, first: Iterable[str], output: str) -> None:
    """Print a verdict, with lines before it for people, and end with the status of a failed one."""
    print_as(output, judged, (*first, *verdict_lines(judged)))
    if not judged.passed:
        raise typer.Exit(1)


def _verify(file: Path, key: Path, result: Path | None, choice: StackChoice | None, output: str) -> None:
    try:
        with show_progress() as progress:
            plan = None if choice is None else prepare(choice.read(), for_up=False, progress=progress).plan
        results = None if result is None else Content(result.name, argument_content(result))
        statement = verified(file, key, results, _content(plan))
    except OSError as error:
        refuse(f"{error.filename}: {error.strerror}")
    except ConfigurationError as error:
        refuse_stack(error, output)
    _print(statement.verdict, subject_lines(statement), output)


def _content(plan: Plan | None) -> Content | None:
    return None if plan is None else plan_content(plan.stack, plan_document(plan))


def _expectation(
    document: StackDocument | None,
    whole: Plan | None,
    group: str | None,
    nodes: int | None,
    bar: float | None,
    operation: Operation,
) -> Expectation:
    """The expectation of a stack's fabric, or of the user's bar, on a run; refuses a fabric that the stack lacks."""
    if document is None or whole is None:
        return Expectation((), None, nodes, bar, operation)
    plan = _measured(whole, group)
    fabric = plan.workload.fabric or ""
    run = next((run for run in plan.records(PlannedVerification) if run.fabric == fabric), None)
    if run is not None:
        expected = run.expectation
        wanted = replace(expected, nodes=nodes or expected.nodes, operation=operation)
        return wanted if bar is None else replace(wanted, bar=bar, bars_from="--bar")
    spec, _ = validate(document)
    known = [] if spec is None else [spec.catalog.find(pool.shape) for pool in plan.cluster.pools]
    shapes = {shape.name: shape for shape in known if shape is not None}
    return Expectation(tuple(shapes.values()), len(plan.rails), nodes, bar, operation)


def _measured(plan: Plan, group: str | None) -> Plan:
    """The plan of the fabric that was measured; refuses several compute fabrics without a name."""
    compute = {name: one for name, one in plan.by_fabric.items() if one.workload.purpose is None}
    if group is None and len(compute) == 1:
        return next(iter(compute.values()))
    names = ", ".join(f"--group {name}" for name in compute if name)
    if group is None:
        refuse(f"the stack has several fabrics; name the measured one: {names}")
    if group not in compute or not group:
        refuse(f"the stack has no compute fabric {group}; {f'choose of: {names}' if names else 'leave --group out'}")
    return compute[group]


def _judge_file(data: bytes, expected: Expectation, log: Path | None) -> Verdict:
    whole = is_bundle(data)
    if whole and log is not None:
        refuse("--log: a verification's results have their logs in them")
    with show_progress() as progress:
        progress.step("judging the results")
        if whole:
            return judge_bundle(read_bundle(data), expected)
        return judge(data, expected, None if log is None else argument_content(log, _MOST_OF_A_LOG))


PASSPHRASE = "GPU_FABRIC_SIGNING_PASSPHRASE"
"""The variable with the passphrase of an encrypted key: arguments are shown to all users of a machine."""

_FROM_VARIABLE = "env:"


def write_signed(verdict: Verdict, results: Content, plan: Content | None, key: str, out: Path) -> None:
    """Write the signed statement of a verdict; refuses a key or a file that cannot be used."""
    _require_library()
    if key.startswith(_FROM_VARIABLE):
        name = key.removeprefix(_FROM_VARIABLE)
        pem = os.environ.get(name, "").encode()
        if not pem:
            refuse(f"--sign {key}: the environment has no variable {name}, or it is empty")
    else:
        pem = argument_content(Path(key))
    passphrase = os.environ.get(PASSPHRASE)
    try:
        loaded = signing.private_key(pem, passphrase.encode() if passphrase else None)
    except signing.KeyFileError as error:
        refuse(f"--sign {key}: {error}; the passphrase is read from the variable {PASSPHRASE}")
    payload = statement_of(verdict, results, plan)
    out.write_text(envelope_line(payload, signing.sign(loaded, payload)), encoding="utf-8")


def verified(file: Path, key: Path, results: Content | None, plan: Content | None) -> Statement:
    """The statement in a file, if its signature is the key's and it is about these results and this plan."""
    _require_library()
    try:
        trusted = signing.public_key(argument_content(key))
        statement = read_statement(signing.verify(trusted, read_envelope(argument_content(file))))
    except signing.KeyFileError as error:
        refuse(f"--key {key}: {error}")
    except StatementError as error:
        refuse(f"{file}: {error}")
    if results is not None and results.digest not in statement.subjects.values():
        refuse(f"{file}: it is about other results than {results.name} (SHA-256 {results.digest})")
    if plan is not None and statement.subjects.get(plan.name) != plan.digest:
        names = statement.plan or "no plan: its bar was given by hand"
        refuse(f"{file}: it is not about the {plan.name} as it is now (SHA-256 {plan.digest}), but about {names}")
    return statement


def subject_lines(statement: Statement) -> tuple[str, ...]:
    """What a statement is about, for people."""
    return tuple(f"signed: {name}, SHA-256 {digest}" for name, digest in statement.subjects.items())


def plan_content(stack: str, document: str) -> Content:
    """A plan as a subject: the bytes that `gpu-fabric plan --format json` prints."""
    return Content(f"{PLAN}{stack}", document.encode())


def _require_library() -> None:
    if find_spec("cryptography") is None:
        refuse("signatures need the package cryptography: pip install cryptography")
