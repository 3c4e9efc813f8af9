"""`python -m fabric verdict`: a result file of nccl-tests against the bar of a fabric, with no cluster at hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from fabric.cli_input import refuse
from fabric.cli_progress import shown_progress
from fabric.nccl.busbw import Operation
from fabric.nccl.verdict import (
    BarUnknownError,
    BundleError,
    Expectation,
    ResultError,
    Verdict,
    is_bundle,
    judge,
    judge_bundle,
    read_bundle,
    stack_expectation,
    verdict_lines,
)
from fabric.rules import ConfigurationError


def verdict(
    result: Annotated[Path, typer.Argument(help="what nccl-tests wrote with -J FILE, or results.tar.gz")],
    stack: Annotated[str | None, typer.Option("-s", "--stack", help="the stack whose fabric was measured")] = None,
    bar: Annotated[float | None, typer.Option("--bar", help="GB/s to reach, instead of the derived bar")] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", min=2, help="nodes that must have taken part")] = None,
    log: Annotated[Path | None, typer.Option("--log", help="the run's output with NCCL_DEBUG=INFO")] = None,
    operation: Annotated[Operation, typer.Option("--operation", help="what must have run")] = Operation.ALL_REDUCE,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Judge a result of nccl-tests: pass or fail, with every reason, and the bar explained."""
    if bar is not None and not (math.isfinite(bar) and bar > 0):
        refuse(f"--bar {bar:g}: give GB/s, a number above 0")
    if stack is None and bar is None:
        refuse("no bar: name the stack whose fabric was measured with -s, or give --bar in GB/s")
    try:
        with shown_progress() as progress:
            expected = stack_expectation(
                stack, root=Path.cwd(), nodes=nodes, bar=bar, operation=operation, progress=progress
            )
        judged = _judged(result.read_bytes(), expected, log)
    except OSError as error:
        refuse(f"{error.filename}: {error.strerror}")
    except BarUnknownError as error:
        refuse(f"no bar: {error}; give it with --bar, in GB/s")
    except (ResultError, BundleError) as error:
        refuse(f"{str(result).encode('utf-8', 'backslashreplace').decode()}: {error}")
    except ConfigurationError as error:
        refuse(str(error))
    print(judged.model_dump_json(by_alias=True, indent=2) if as_json else "\n".join(verdict_lines(judged)))
    if not judged.passed:
        raise typer.Exit(1)


def _judged(data: bytes, expected: Expectation, log: Path | None) -> Verdict:
    whole = is_bundle(data)
    if whole and log is not None:
        refuse("--log: a verification's results have their logs in them")
    with shown_progress() as progress:
        progress.step("judging the results")
        if whole:
            return judge_bundle(read_bundle(data), expected)
        return judge(data, expected, None if log is None else log.read_bytes())
